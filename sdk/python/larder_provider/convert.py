"""Converts values between the types of the SDK and the generated types. Only available in components."""

from dataclasses import fields
from functools import cache, wraps
from operator import attrgetter

from componentize_py_types import Err
from wit_world.imports import provider_types as types

from . import errors, host
from .values import Content


def guarded(name: str):
    """Converts exceptions to errors of the contract. An uncaught exception would be a trap. `SystemExit` is converted
    like any other exception."""

    def decorator(method):
        @wraps(method)
        def wrapper(self, argument):
            try:
                return method(self, argument)
            except BaseException as error:
                raise Err(_error(errors.to_error(error, name, host.error))) from None

        return wrapper

    return decorator


def _error(error: errors.Error):
    match error:
        case errors.NotFound():
            return types.Error_NotFound()
        case errors.NotModified():
            return types.Error_NotModified()
        case errors.Invalid():
            return types.Error_Invalid(message(error))
        case errors.Denied():
            return types.Error_Denied(message(error))
        case errors.Unavailable():
            return types.Error_Unavailable(message(error))
        case _:
            return types.Error_Failed(message(error))


def message(error) -> str:
    return host.valid_unicode(errors.message(error))


def convert(target: type, value):
    """Converts a record between an SDK type and a generated type with the same field names."""
    return target(*[None if field is None else plain(field) for field in _fields(target)(value)])


@cache
def _fields(target: type):
    """A function that returns the fields of a value in the order of this type."""
    return attrgetter(*(field.name for field in fields(target)))


def plain(value):
    """Converts a text, or a sequence of texts or pairs: to a list, with tuples as pairs."""
    if isinstance(value, (list, tuple)):
        return [host.valid_unicode(tuple(item) if isinstance(item, list) else item) for item in value]
    return host.valid_unicode(value)


def convert_listed(target: type, value):
    """Converts an entry or a template."""
    converted = convert(target, value)
    if converted.details is not None:
        converted.details = convert(types.Details, converted.details)
        converted.details.audience = roles(converted.details.audience)
        converted.details.icons = icons(converted.details.icons)
    return converted


def roles(values) -> list:
    return [types.Role[role.upper()] for role in values]


def icons(values) -> list:
    converted = [convert(types.Icon, icon) for icon in values]
    for icon in converted:
        icon.theme = icon.theme and types.Theme[icon.theme.upper()]
    return converted


def content(value: Content):
    return types.Content(plain(value.uri), plain(value.mime_type), body(value.body), plain(value.metadata))


def body(value):
    if isinstance(value, str):
        return types.Body_Text(host.valid_unicode(value))
    return types.Body_Blob(bytes(memoryview(value)))


def freshness(result):
    found = result.freshness
    return found and types.Freshness(found.ttl_ms, types.Scope[found.scope.upper()])
