"""What tools and prompts have in common: methods that decorators declare."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from .annotations import Codecs, Unsupported
from .checks import show
from .errors import NotFound
from .location import defined_at
from .values import Icon, Pairs


class DeclaredMethod:
    """A decorated method. An instance of the provider has the method itself, so that tests can call it."""

    def __init__(
        self,
        function: Callable,
        *,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[Icon] | tuple[Icon, ...] = (),
        metadata: Pairs | tuple = (),
    ):
        if not inspect.isfunction(function):
            raise TypeError(f"{type(self).decorator} must decorate a method, but decorates {show(function)}")
        functools.update_wrapper(self, function)
        self.function = function
        self.name = function.__name__ if name is None else name
        self.title = title
        self.description = inspect.getdoc(function) if description is None else description
        self.icons = icons
        self.metadata = metadata

    # The decorator, for messages.
    decorator = ""

    def __get__(self, instance, owner=None):
        return self if instance is None else self.function.__get__(instance, owner)

    def codecs(self, create: Callable[[Codecs], Any]):
        """Converts the annotations. A type that cannot be converted is an error when the component is built."""
        try:
            return create(Codecs())
        except Unsupported as error:
            raise TypeError(f"{type(self).decorator} `{self.name}`: {error}{defined_at(self.function)}") from None


def declared(provider: type, kind: type) -> dict[str, Any]:
    """The methods of a class that a decorator declared, by the names that clients see, in the order of declaration."""
    names = {name: None for each in reversed(provider.__mro__) for name in vars(each)}
    methods: dict[str, Any] = {}
    for method in (inspect.getattr_static(provider, name, None) for name in names):
        if isinstance(method, kind):
            if methods.setdefault(method.name, method) is not method:
                message = f"{provider.__name__} has two methods with {kind.decorator} and the name {show(method.name)}"
                raise TypeError(message + defined_at(method.function))
    return methods


def find(provider: type, kind: type, name: str):
    """The method with this name. Raises `NotFound`."""
    method = declared(provider, kind).get(name)
    if method is None:
        raise NotFound
    return method
