"""Exports a provider as a component."""

import sys

from .check import RESULTS
from .checks import Mismatch, show
from .declared import DeclaredMethod
from .interaction_results import INTERACTION_RESULTS
from .location import defined_at
from .prompts import declared_prompts
from .provider import Provider
from .settings import declared_settings
from .tools import declared_tools

# The modules that `guest` imports exist only when componentize-py builds a component.
try:
    from . import guest
except ImportError:
    guest = None


def export(provider: type[Provider]) -> None:
    """Exports a provider class as a component. Call it once, in the module that is passed to componentize-py. The class
    itself can be defined in any module."""
    if not (isinstance(provider, type) and issubclass(provider, Provider)):
        raise TypeError("export a class that extends Provider")
    _check_class(provider)
    _check_declarations(provider)
    if guest:
        # componentize-py looks for the classes in the calling module.
        sys._getframe(1).f_globals.update(guest.classes(provider()))


def _check_class(provider: type[Provider]) -> None:
    """Rejects a class with values in place of methods, and one whose methods would never be called, because their names
    are misspelt."""
    names = {name for each in provider.__mro__ if each not in Provider.__mro__ for name in vars(each)}
    missing = [name for name in RESULTS if name not in names]
    for name in sorted(names):
        value = getattr(provider, name)
        if name in RESULTS:
            if isinstance(value, DeclaredMethod):
                hint = f"rename the method, and write {value.decorator}(name={value.name!r}) to keep the name"
                raise TypeError(f"`{name}` is a method of every provider: {hint}{defined_at(value)}")
            if not callable(value):
                raise TypeError(f"`{name}` of {provider.__name__} must be a method, but is {show(value)}")
        elif callable(value) and not name.startswith("_") and (near := _misspelt(name, missing)):
            hint = "begin the name with `_` if it is not meant for Larder"
            message = f"{provider.__name__} has the method `{name}`: did you mean `{near}`? ({hint})"
            raise TypeError(message + defined_at(value))


def _check_declarations(provider: type[Provider]) -> None:
    """Rejects tools, prompts and settings with values of wrong types."""
    for name, declared in [("tools", declared_tools), ("prompts", declared_prompts)]:
        try:
            RESULTS[name](declared(provider))
        except Mismatch as mismatch:
            raise TypeError(f"{provider.__name__} declares a wrong value: {mismatch}") from None
    names = [setting.name for setting in declared_settings(provider)]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise TypeError(f"{provider.__name__} has two settings with the name {show(repeated)}")


# Names of the contract that authors might use instead of those of the SDK.
_CONTRACT_NAMES = {
    "list_resources": "list",
    "list_templates": "templates",
    "read_resource": "read",
    "list_tools": "tools",
    "list_prompts": "prompts",
}


def _misspelt(name: str, known: list[str]) -> str | None:
    """Returns the known name of which a name looks like a misspelling."""
    if _CONTRACT_NAMES.get(name) in known:
        return _CONTRACT_NAMES[name]
    distances = ((_distance(_normalize(name), _normalize(other)), other) for other in known)
    near = [(edits, other) for edits, other in distances if edits <= _max_distance(other)]
    return min(near)[1] if near else None


def _max_distance(known: str) -> int:
    # Not every provider has tools, prompts or a search, and may have helper functions with similar names.
    return 1 if len(known) < 6 or known in INTERACTION_RESULTS else 2


def _normalize(name: str) -> str:
    return name.lower().replace("_", "")


def _distance(a: str, b: str) -> int:
    """The number of characters to insert, delete, replace or exchange with their neighbour."""
    rows = [list(range(len(b) + 1))]
    for i in range(1, len(a) + 1):
        rows.append([i])
        for j in range(1, len(b) + 1):
            replaced = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1])
            edits = min(rows[i - 1][j] + 1, rows[i][j - 1] + 1, replaced)
            if i > 1 and j > 1 and a[i - 1] == b[j - 2] and a[i - 2] == b[j - 1]:
                edits = min(edits, rows[i - 2][j - 2] + 1)
            rows[i].append(edits)
    return rows[-1][-1]
