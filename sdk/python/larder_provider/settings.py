"""Settings that a provider declares. The host checks the configuration with them."""

import math
import re
from datetime import timedelta
from typing import Generic, TypeVar, overload

from .checks import show
from .errors import Failed
from .host import setting

T = TypeVar("T")


class Size(int):
    """A number of bytes. In the configuration: `64MiB`, `512 KiB`, `1GB`, or a plain number."""


_SIZES = {
    "": 1,
    "B": 1,
    "kB": 1000,
    "KB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
}
_MICROSECONDS = {
    "us": 1,
    "ms": 1000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "w": 604_800_000_000,
}
_LONG_UNITS = {
    name: unit
    for unit, names in {
        "us": "usec",
        "ms": "msec millis",
        "s": "sec secs second seconds",
        "m": "min mins minute minutes",
        "h": "hr hrs hour hours",
        "d": "day days",
        "w": "week weeks",
    }.items()
    for name in names.split()
}
_SIZE = re.compile(rf"([0-9]+)\s*({'|'.join(_SIZES)})", re.ASCII)
_DURATION = re.compile(r"(?:[0-9]+\s*[a-z]+\s*)+", re.ASCII)


class Setting(Generic[T]):
    """Declares a setting as a class attribute of a provider. The attribute of an instance is its value:

        class Notes(Provider):
            folder = Setting(str, "The folder with the notes.", default="notes")
            timeout = Setting(timedelta, "How long to wait for the server.", default=timedelta(seconds=5))

    The type is str, int, float, bool, `Size` or `timedelta`. Without a default, the value of an absent setting is
    None."""

    def __init__(
        self,
        type: type[T] = str,
        description: str = "",
        *,
        default: T | None = None,
        required: bool = False,
        secret: bool = False,
        name: str | None = None,
    ):
        """`secret` means that the value should come from a secret. `name` is the name in the configuration, if it is
        not the name of the attribute."""
        if type not in _KINDS:
            kinds = "str, int, float, bool, Size or timedelta"
            raise TypeError(f"the type of a setting must be {kinds}, but is {show(type)}")
        for option, value in [("description", description), ("name", "" if name is None else name)]:
            if not isinstance(value, str):
                raise TypeError(f"`{option}` of a setting must be a str, but is {show(value)}")
        for option, value in [("required", required), ("secret", secret)]:
            if not isinstance(value, bool):
                raise TypeError(f"`{option}` of a setting must be a bool, but is {show(value)}")
        if required and default is not None:
            raise TypeError("a setting cannot be required and have a default")
        self.type = type
        self.kind = _KINDS[type]
        self.description = description
        self.default = default if default is None else _checked_default(type, default)
        self.required = required
        self.secret = secret
        self.name = name

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = self.name or name

    @overload
    def __get__(self, instance: None, owner: type) -> "Setting[T]": ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance, owner):
        if instance is None:
            return self
        text = setting(self.name)
        if text is not None:
            return self._parse(text)
        if self.required:
            raise Failed(f"the setting `{self.name}` is required")
        return self.default

    def _parse(self, text: str) -> T:
        try:
            return _PARSERS[self.type](text)
        except (ValueError, OverflowError):
            value = "" if self.secret else f", but is {show(text)}"
            raise Failed(f"the setting `{self.name}` must be {_EXPECTED[self.type]}{value}") from None

    @property
    def default_text(self) -> str | None:
        """The default as it would be written in the configuration."""
        return None if self.default is None else _write(self.default)


def declared_settings(provider: type) -> list[Setting]:
    """The settings of a class, in the order of their declaration."""
    names = {name: None for each in reversed(provider.__mro__) for name in vars(each)}
    values = (getattr(provider, name, None) for name in names)
    return [value for value in values if isinstance(value, Setting)]


def _checked_default(type: type, default):
    converted = default
    if type is Size and isinstance(default, str):
        converted = _PARSERS[Size](default) if _SIZE.fullmatch(default) else None
    elif type in (float, Size) and isinstance(default, int) and not isinstance(default, bool):
        converted = type(default)
    is_type = isinstance(converted, type) and (type is bool or not isinstance(converted, bool))
    if not is_type or _is_out_of_range(converted):
        raise TypeError(f"`default` of a setting must be {_EXPECTED[type]}, but is {show(default)}")
    return converted


def _is_out_of_range(value) -> bool:
    match value:
        case float():
            return not math.isfinite(value)
        case Size():
            return not 0 <= value < 1 << 64
        case timedelta():
            return value < timedelta()
        case _:
            return False


def _integer(text: str) -> int:
    if not re.fullmatch(r"[-+]?[0-9]+", text, re.ASCII):
        raise ValueError(text)
    return int(text)


def _number(text: str) -> float:
    # `float` alone accepts infinity as well.
    if not re.fullmatch(r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?", text, re.ASCII):
        raise ValueError(text)
    return float(text)


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(text)
    return text == "true"


def _size(text: str) -> Size:
    found = _SIZE.fullmatch(text)
    if not found:
        raise ValueError(text)
    return Size(int(found[1]) * _SIZES[found[2]])


def _duration(text: str) -> timedelta:
    if text == "0":
        return timedelta()
    if not _DURATION.fullmatch(text):
        raise ValueError(text)
    parts = re.findall(r"([0-9]+)\s*([a-z]+)", text)
    units = [_LONG_UNITS.get(unit, unit) for _, unit in parts]
    if not all(unit in _MICROSECONDS for unit in units):
        raise ValueError(text)
    return timedelta(microseconds=sum(int(part[0]) * _MICROSECONDS[unit] for part, unit in zip(parts, units)))


def _write(value) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case timedelta():
            count = value // timedelta(microseconds=1)
            name = next(name for name in ["d", "h", "m", "s", "ms", "us"] if count % _MICROSECONDS[name] == 0)
            return f"{count // _MICROSECONDS[name]}{name}" if count else "0s"
        case Size():
            name = next(name for name in ["GiB", "MiB", "KiB", "B"] if value % _SIZES[name] == 0)
            return f"{value // _SIZES[name]}{name}" if value else "0B"
        case _:
            return str(value)


# The names of the contract.
_KINDS = {str: "text", int: "number", float: "number", bool: "boolean", Size: "size", timedelta: "duration"}
_PARSERS = {str: str, int: _integer, float: _number, bool: _boolean, Size: _size, timedelta: _duration}
_EXPECTED = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Size: "a size such as 64MiB",
    timedelta: "a duration such as 10s or 1m 30s",
}
