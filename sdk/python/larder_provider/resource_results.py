"""Checks the results of the methods for resources."""

from .checks import (
    boolean,
    bytes_or_text,
    expected,
    field,
    integer,
    items,
    list_of,
    number,
    one_of,
    optional,
    optional_text,
    pairs,
    record,
    text,
    texts,
    unchanged,
)
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
    Variable,
)

icon = record(Icon, src=text, mime_type=optional_text, sizes=texts, theme=optional(one_of("light", "dark")))
_details = record(
    Details,
    kind=optional_text,
    audience=list_of(one_of("user", "assistant")),
    priority=optional(number),
    last_modified=optional_text,
    icons=list_of(icon),
    metadata=pairs,
)
_listed = dict(
    name=text,
    title=optional_text,
    description=optional_text,
    mime_type=optional_text,
    details=optional(_details),
)
entry = record(Entry, uri=text, **_listed, size=optional(integer), version=optional_text)
_template = record(Template, uri_template=text, **_listed)
content = record(Content, body=bytes_or_text, mime_type=optional_text, uri=optional_text, metadata=pairs)
freshness = optional(record(Freshness, ttl_ms=integer, scope=one_of("everyone", "caller")))
completion = record(Completion, values=texts, total=optional(integer), more=boolean)
_variables = list_of(record(Variable, name=text, value=text, key=optional_text), "a list of variables")
_entry_page = record(EntryPage, next_cursor=optional_text, freshness=freshness)
_template_page = record(TemplatePage, next_cursor=optional_text, freshness=freshness)
_reading = record(Reading, version=optional_text, freshness=freshness)


def _entries(value, type_name: str = "a list of entries") -> list[Entry]:
    return items(value, type_name, "entry", entry, "uri", "name")


def _list_result(value, _query) -> EntryPage:
    if not isinstance(value, EntryPage):
        return EntryPage(_entries(value, "a list of entries or an EntryPage"))
    _entry_page(value)
    return EntryPage(field("entries", _entries, value.entries), value.next_cursor, value.freshness)


def _templates(value, type_name: str = "a list of templates") -> list[Template]:
    return items(value, type_name, "template", _template, "uri_template", "name")


def _templates_result(value, _cursor) -> TemplatePage:
    if not isinstance(value, TemplatePage):
        return TemplatePage(_templates(value, "a list of templates or a TemplatePage"))
    _template_page(value)
    return TemplatePage(field("templates", _templates, value.templates), value.next_cursor, value.freshness)


def _contents(value, type_name: str = "a Content or a list of contents") -> list[Content]:
    if isinstance(value, Content):
        content(value)
        return [value]
    return items(value, type_name, "content", content, "uri")


def _read_result(value, _request) -> Reading:
    if not isinstance(value, Reading):
        return Reading(_contents(value, "a Content, a list of contents or a Reading"))
    _reading(value)
    return Reading(field("contents", _contents, value.contents), value.version, value.freshness)


def _versions_result(value, uris) -> list[str | None]:
    type_name = f"a list of length {len(uris)}, with a str or None for each URI"
    versions = items(value, type_name, "version", optional_text)
    if len(versions) != len(uris):
        raise expected(type_name, versions)
    return versions


# For each method of resources: checks its result, with the arguments of the call.
RESOURCE_RESULTS = {
    "describe": unchanged(
        record(
            Description,
            title=optional_text,
            version=optional_text,
            summary=optional_text,
            instructions=optional_text,
            claims=texts,
        )
    ),
    "list": _list_result,
    "templates": _templates_result,
    "greedy": lambda value: items(value, "a list of strs", "template", text),
    "match_uri": unchanged(optional(record(Match, uri_template=text, variables=_variables))),
    "read": _read_result,
    "complete": unchanged(completion),
    "versions": _versions_result,
}
