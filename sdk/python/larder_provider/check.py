"""Checks the results of a provider. A value of a wrong type would end the guest in the generated bindings, with a
message that says neither which value nor where it comes from."""

import sys
from collections.abc import Callable, Iterable, Mapping

from .errors import WrongValue
from .location import defined_at
from .values import (
    Completion,
    Content,
    Description,
    Details,
    Entry,
    EntryPage,
    Freshness,
    Icon,
    Match,
    Reading,
    Template,
    TemplatePage,
)

_MAX_SHOWN = 60
_MAX_FLOAT = sys.float_info.max

# A check raises a `_Mismatch` if a value does not have the expected type.
_Check = Callable[[object], None]


class _Mismatch(Exception):
    def __init__(self, problem: str):
        self.problem = problem
        # Where the value is: the fields and indexes below the result or below the item of a list.
        self.path = ""
        # The item of a list that contains the value, such as `entry 3 (uri 'a://x')`.
        self.item = ""

    def within(self, step: str) -> "_Mismatch":
        """Adds the field or index that contains the value."""
        if not self.item:
            self.path = step + ("." if self.path and not self.path.startswith("[") else "") + self.path
        return self

    def __str__(self) -> str:
        path = self.path and f"`{self.path}`"
        return f"{' of '.join(filter(None, [path, self.item])) or 'the result'} {self.problem}"


def call(provider, name: str, *arguments):
    """Calls a method of the provider and checks the result. Iterables become lists."""
    method = getattr(provider, name)
    if not callable(method):
        raise WrongValue(f"`{name}` of the provider must be a method, but is {show(method)}")
    result = method(*arguments)
    try:
        if hasattr(result, "__await__") or hasattr(result, "__aiter__"):
            raise _not_async(result)
        return RESULTS[name](result, *arguments)
    except _Mismatch as mismatch:
        hint = "; is a `return` missing?" if result is None else ""
        raise WrongValue(f"{name} returned a wrong value: {mismatch}{hint}{defined_at(method)}") from None


def _not_async(result) -> _Mismatch:
    if hasattr(result, "close"):
        # Avoids a warning that it was never awaited.
        result.close()
    return _Mismatch(f"must not be {show(result)}: a method of a provider is never `async`")


def show(value) -> str:
    """A short form of a value, for messages."""
    match value:
        case None | bool() | float():
            return _shorten(repr(value))
        case int():
            return f"{value:d}" if value.bit_length() < 128 else f"an int of {value.bit_length()} bits"
        case str() | bytes():
            text = repr(value[:_MAX_SHOWN])
            return _shorten(text, text[-1])
        case type():
            return _shorten(f"the class {value.__name__}")
        case bytearray() | dict() | frozenset() | list() | set() | tuple():
            end = f" of {len(value)} item{'' if len(value) == 1 else 's'}"
            return _shorten(_with_article(type(value)) + end, end)
        case _:
            return _shorten(_with_article(type(value)))


def _with_article(value_type: type) -> str:
    name = value_type.__name__
    return f"{'an' if name[0] in 'AEIOaeio' else 'a'} {name}"


def _shorten(text: str, end: str = "") -> str:
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1 - len(end)]}…{end}"


def _expected(type_name: str, value) -> _Mismatch:
    return _Mismatch(f"must be {type_name}, but is {show(value)}")


def _text(value) -> None:
    if not isinstance(value, str):
        raise _expected("a str", value)


def _optional_text(value) -> None:
    if not (value is None or isinstance(value, str)):
        raise _expected("a str", value)


def _integer(value) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 64:
        raise _expected("an int from 0 to 2^64 - 1", value)


def _number(value) -> None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not -_MAX_FLOAT <= value <= _MAX_FLOAT:
        raise _expected("a finite float", value)


def _boolean(value) -> None:
    if not isinstance(value, bool):
        raise _expected("a bool", value)


def _bytes_or_text(value) -> None:
    if not isinstance(value, (str, bytes)):
        try:
            memoryview(value)
        except TypeError:
            raise _expected("a str or bytes", value) from None


def _one_of(*names: str) -> _Check:
    def check(value) -> None:
        if not (isinstance(value, str) and value in names):
            raise _expected(" or ".join(map(repr, names)), value)

    return check


def _optional(check: _Check) -> _Check:
    return lambda value: None if value is None else check(value)


def _list_of(check: _Check, type_name: str = "a list") -> _Check:
    def check_list(value) -> None:
        if not isinstance(value, (list, tuple)):
            raise _expected(type_name, value)
        _each(value, check, lambda index, mismatch: mismatch.within(f"[{index}]"))

    return check_list


def _each(items: list | tuple, check: _Check, locate: Callable[[int, _Mismatch], _Mismatch]) -> None:
    index = 0
    try:
        for index, item in enumerate(items):
            check(item)
    except _Mismatch as mismatch:
        raise locate(index, mismatch) from None


def _items(value, type_name: str, noun: str, check: _Check, *names: str) -> list:
    """A list whose items are named in messages: by a noun, the index, and the first of these fields."""
    if isinstance(value, (str, bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
        raise _expected(type_name, value)
    items = value if isinstance(value, list) else list(value)

    def locate(index: int, mismatch: _Mismatch) -> _Mismatch:
        texts = ((name, getattr(items[index], name, None)) for name in names)
        name = next((f" ({name} {show(text)})" for name, text in texts if isinstance(text, str)), "")
        mismatch.item = mismatch.item or f"{noun} {index}{name}"
        return mismatch

    _each(items, check, locate)
    return items


def _record(record: type, **fields: _Check) -> _Check:
    type_name = _with_article(record)
    checks = tuple(fields.items())

    def check(value) -> None:
        if not isinstance(value, record):
            raise _expected(type_name, value)
        name = ""
        try:
            for name, check_field in checks:
                check_field(getattr(value, name))
        except _Mismatch as mismatch:
            raise mismatch.within(name) from None

    return check


def _pair(value) -> None:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise _expected("a tuple of two strs", value)
    _texts(value)


_texts = _list_of(_text)
_pairs = _list_of(_pair, "a list of tuples")
_icon = _record(Icon, src=_text, mime_type=_optional_text, sizes=_texts)
_details = _record(
    Details,
    kind=_optional_text,
    audience=_list_of(_one_of("user", "assistant")),
    priority=_optional(_number),
    last_modified=_optional_text,
    icons=_list_of(_icon),
    metadata=_pairs,
)
_listed = dict(
    name=_text,
    title=_optional_text,
    description=_optional_text,
    mime_type=_optional_text,
    details=_optional(_details),
)
_entry = _record(Entry, uri=_text, **_listed, size=_optional(_integer), version=_optional_text)
_template = _record(Template, uri_template=_text, **_listed)
_content = _record(Content, body=_bytes_or_text, mime_type=_optional_text, uri=_optional_text, metadata=_pairs)
_freshness = _optional(_record(Freshness, ttl_ms=_integer, scope=_one_of("everyone", "caller")))
_entry_page = _record(EntryPage, next_cursor=_optional_text, freshness=_freshness)
_template_page = _record(TemplatePage, next_cursor=_optional_text, freshness=_freshness)
_reading = _record(Reading, version=_optional_text, freshness=_freshness)


def _entries(value, type_name: str = "a list of entries") -> list[Entry]:
    return _items(value, type_name, "entry", _entry, "uri", "name")


def _list_result(value, _query) -> EntryPage:
    if not isinstance(value, EntryPage):
        return EntryPage(_entries(value, "a list of entries or an EntryPage"))
    _entry_page(value)
    return EntryPage(_field("entries", _entries, value.entries), value.next_cursor, value.freshness)


def _templates(value, type_name: str = "a list of templates") -> list[Template]:
    return _items(value, type_name, "template", _template, "uri_template", "name")


def _templates_result(value, _cursor) -> TemplatePage:
    if not isinstance(value, TemplatePage):
        return TemplatePage(_templates(value, "a list of templates or a TemplatePage"))
    _template_page(value)
    return TemplatePage(_field("templates", _templates, value.templates), value.next_cursor, value.freshness)


def _contents(value, type_name: str = "a Content or a list of contents") -> list[Content]:
    if isinstance(value, Content):
        _content(value)
        return [value]
    return _items(value, type_name, "content", _content, "uri")


def _read_result(value, _request) -> Reading:
    if not isinstance(value, Reading):
        return Reading(_contents(value, "a Content, a list of contents or a Reading"))
    _reading(value)
    return Reading(_field("contents", _contents, value.contents), value.version, value.freshness)


def _field(name: str, check: Callable[[object], list], value) -> list:
    try:
        return check(value)
    except _Mismatch as mismatch:
        raise mismatch.within(name) from None


def _versions_result(value, uris) -> list[str | None]:
    type_name = f"a list of length {len(uris)}, with a str or None for each URI"
    versions = _items(value, type_name, "version", _optional_text)
    if len(versions) != len(uris):
        raise _expected(type_name, versions)
    return versions


def _unchanged(check: _Check) -> Callable:
    def result(value, *_arguments):
        check(value)
        return value

    return result


# For each method of a provider: checks its result, with the arguments of the call.
RESULTS = {
    "describe": _unchanged(
        _record(
            Description,
            title=_optional_text,
            version=_optional_text,
            summary=_optional_text,
            instructions=_optional_text,
            claims=_texts,
        )
    ),
    "list": _list_result,
    "templates": _templates_result,
    "greedy": lambda value: _items(value, "a list of strs", "template", _text),
    "match_uri": _unchanged(_optional(_record(Match, uri_template=_text, variables=_pairs))),
    "read": _read_result,
    "complete": _unchanged(_record(Completion, values=_texts, total=_optional(_integer), more=_boolean)),
    "versions": _versions_result,
}
