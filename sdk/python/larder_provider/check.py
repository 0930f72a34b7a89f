"""Checks the results of a provider. A value of a wrong type would end the guest in the generated bindings, with a
message that says neither which value nor where it comes from."""

from collections.abc import Callable

from .checks import Mismatch, show
from .errors import WrongValue
from .interaction_results import INTERACTION_RESULTS
from .location import defined_at
from .resource_results import RESOURCE_RESULTS

# For each method of a provider: checks its result, with the arguments of the call.
RESULTS = RESOURCE_RESULTS | INTERACTION_RESULTS


def call(provider, name: str, *arguments):
    """Calls a method of the provider and checks the result. Iterables become lists."""
    method = getattr(provider, name)
    if not callable(method):
        raise WrongValue(f"`{name}` of the provider must be a method, but is {show(method)}")
    return run(name, method, lambda: method(*arguments), lambda result: RESULTS[name](result, *arguments))


def run(name: str, method: Callable, invoke: Callable[[], object], check: Callable[[object], object]):
    """Invokes a method and returns the checked result. Messages contain the name and the place of the method."""
    result = invoke()
    try:
        if hasattr(result, "__await__") or hasattr(result, "__aiter__"):
            raise _not_async(result)
        return check(result)
    except Mismatch as mismatch:
        hint = "; is a `return` missing?" if result is None else ""
        raise WrongValue(f"{name} returned a wrong value: {mismatch}{hint}{defined_at(method)}") from None


def _not_async(result) -> Mismatch:
    if hasattr(result, "close"):
        # Avoids a warning that it was never awaited.
        result.close()
    return Mismatch(f"must not be {show(result)}: a method of a provider is never `async`")
