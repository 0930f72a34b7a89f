"""The parts of checks: each describes one kind of value. Used for results, and for declarations."""

import sys
from collections.abc import Callable, Iterable, Mapping

_MAX_SHOWN = 60
_MAX_FLOAT = sys.float_info.max

# A check raises a `Mismatch` if a value does not have the expected type.
Check = Callable[[object], None]


class Mismatch(Exception):
    """A value does not have the expected type."""

    def __init__(self, problem: str):
        self.problem = problem
        # Where the value is: the fields and indexes below the result or below the item of a list.
        self.path = ""
        # The item of a list that contains the value, such as `entry 3 (uri 'a://x')`.
        self.item = ""

    def within(self, step: str) -> "Mismatch":
        """Adds the field or index that contains the value."""
        if not self.item:
            self.path = step + ("." if self.path and not self.path.startswith("[") else "") + self.path
        return self

    def __str__(self) -> str:
        path = self.path and f"`{self.path}`"
        return f"{' of '.join(filter(None, [path, self.item])) or 'the result'} {self.problem}"


def show(value) -> str:
    """A short form of a value, for messages."""
    match value:
        case None | bool() | float():
            return shorten(repr(value))
        case int():
            return f"{value:d}" if value.bit_length() < 128 else f"an int of {value.bit_length()} bits"
        case str() | bytes():
            literal = repr(value[:_MAX_SHOWN])
            return shorten(literal, literal[-1])
        case type():
            return shorten(f"the class {value.__name__}")
        case bytearray() | dict() | frozenset() | list() | set() | tuple():
            end = f" of {len(value)} item{'' if len(value) == 1 else 's'}"
            return shorten(with_article(type(value)) + end, end)
        case _:
            return shorten(with_article(type(value)))


def with_article(value_type: type) -> str:
    name = value_type.__name__
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def shorten(shown: str, end: str = "") -> str:
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[: _MAX_SHOWN - 1 - len(end)]}…{end}"


def expected(type_name: str, value) -> Mismatch:
    return Mismatch(f"must be {type_name}, but is {show(value)}")


def text(value) -> None:
    if not isinstance(value, str):
        raise expected("a str", value)


def optional_text(value) -> None:
    if not (value is None or isinstance(value, str)):
        raise expected("a str", value)


def integer(value) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 64:
        raise expected("an int from 0 to 2^64 - 1", value)


def number(value) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not -_MAX_FLOAT <= value <= _MAX_FLOAT:
        raise expected("a finite float", value)


def boolean(value) -> None:
    if not isinstance(value, bool):
        raise expected("a bool", value)


def bytes_or_text(value) -> None:
    if not isinstance(value, (str, bytes)):
        try:
            memoryview(value)
        except TypeError:
            raise expected("a str or bytes", value) from None


def one_of(*names: str) -> Check:
    def check(value) -> None:
        if not (isinstance(value, str) and value in names):
            raise expected(" or ".join(map(repr, names)), value)

    return check


def optional(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def list_of(check: Check, type_name: str = "a list") -> Check:
    def check_list(value) -> None:
        if not isinstance(value, (list, tuple)):
            raise expected(type_name, value)
        each(value, check, lambda index, mismatch: mismatch.within(f"[{index}]"))

    return check_list


def each(values: list | tuple, check: Check, locate: Callable[[int, Mismatch], Mismatch]) -> None:
    index = 0
    try:
        for index, item in enumerate(values):
            check(item)
    except Mismatch as mismatch:
        raise locate(index, mismatch) from None


def items(value, type_name: str, noun: str, check: Check, *names: str) -> list:
    """A list whose items are named in messages: by a noun, the index, and the first of these fields."""
    if isinstance(value, (str, bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
        raise expected(type_name, value)
    found = value if isinstance(value, list) else list(value)

    def locate(index: int, mismatch: Mismatch) -> Mismatch:
        values = ((name, getattr(found[index], name, None)) for name in names)
        name = next((f" ({name} {show(value)})" for name, value in values if isinstance(value, str)), "")
        mismatch.item = mismatch.item or f"{noun} {index}{name}"
        return mismatch

    each(found, check, locate)
    return found


def record(record_type: type, **fields: Check) -> Check:
    type_name = with_article(record_type)
    checks = tuple(fields.items())

    def check(value) -> None:
        if not isinstance(value, record_type):
            raise expected(type_name, value)
        name = ""
        try:
            for name, check_field in checks:
                check_field(getattr(value, name))
        except Mismatch as mismatch:
            raise mismatch.within(name) from None

    return check


def pair(value) -> None:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise expected("a tuple of two strs", value)
    texts(value)


texts = list_of(text)
pairs = list_of(pair, "a list of tuples")


def field(name: str, check: Callable[[object], list], value) -> list:
    try:
        return check(value)
    except Mismatch as mismatch:
        raise mismatch.within(name) from None


def unchanged(check: Check) -> Callable:
    def result(value, *_arguments):
        check(value)
        return value

    return result
