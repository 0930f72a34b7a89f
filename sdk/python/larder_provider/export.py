"""From the functions of a component to the methods of a provider."""

import sys

from .provider import Provider

# componentize-py makes these modules when it builds a component.
try:
    from . import guest
except ImportError:
    guest = None


def export(provider: type[Provider]) -> None:
    """Makes a component out of a provider, once, in the module that componentize-py is given. The provider itself may
    be of any module."""
    if not (isinstance(provider, type) and issubclass(provider, Provider)):
        raise TypeError("export a class that extends Provider")
    if guest:
        # Of whoever calls: componentize-py looks there.
        sys._getframe(1).f_globals.update(guest.classes(provider()))
