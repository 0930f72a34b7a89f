"""Checks the results of the methods for tools, prompts and searches."""

import json

from .checks import (
    Mismatch,
    boolean,
    bytes_or_text,
    expected,
    field,
    items,
    list_of,
    number,
    one_of,
    optional,
    optional_text,
    pairs,
    record,
    show,
    text,
    unchanged,
)
from .interaction import (
    Annotations,
    Argument,
    Audio,
    Block,
    Embedded,
    Hints,
    Hit,
    Hits,
    Image,
    Link,
    Message,
    Prompt,
    PromptPage,
    PromptResult,
    Text,
    Tool,
    ToolPage,
    ToolResult,
)
from .resource_results import completion, content, entry, freshness, icon

_role = one_of("user", "assistant")
_annotations = record(Annotations, audience=list_of(_role), priority=optional(number), last_modified=optional_text)
_block_fields = dict(annotations=optional(_annotations), metadata=pairs)


def _bytes(value) -> None:
    if isinstance(value, str):
        raise expected("bytes", value)
    try:
        bytes_or_text(value)
    except Mismatch:
        raise expected("bytes", value) from None


def _embedded_content(value) -> None:
    content(value)
    if value.uri is None:
        raise expected("a str", None).within("uri")


_BLOCKS = {
    Text: record(Text, text=text, **_block_fields),
    Image: record(Image, data=_bytes, mime_type=text, **_block_fields),
    Audio: record(Audio, data=_bytes, mime_type=text, **_block_fields),
    Link: record(Link, entry=entry, **_block_fields),
    Embedded: record(Embedded, content=_embedded_content, **_block_fields),
}


def _block(value) -> None:
    for block_type, check in _BLOCKS.items():
        if isinstance(value, block_type):
            return check(value)
    raise expected("a str or a block such as Text", value)


def _as_block(value):
    return Text(value) if isinstance(value, str) else value


def blocks(value, type_name: str = "a str, a block or a list of them") -> list[Block]:
    """The content of a result: one block or several, or their texts."""
    if isinstance(value, (str, Block)):
        single = _as_block(value)
        _block(single)
        return [single]
    if not isinstance(value, (list, tuple)):
        raise expected(type_name, value)
    return items([_as_block(item) for item in value], type_name, "block", _block)


def json_value(value) -> None:
    """A value that can be written as JSON."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Mismatch(f"must be a JSON value, but is {show(value)} ({error})") from None


def _schema(value) -> None:
    if not isinstance(value, dict):
        raise expected("a dict", value)
    json_value(value)


_hints = record(Hints, **{name: optional(boolean) for name in Hints.__dataclass_fields__})
_listed = dict(name=text, title=optional_text, description=optional_text, icons=list_of(icon), metadata=pairs)
_tool = record(
    Tool,
    **_listed,
    input_schema=_schema,
    output_schema=optional(_schema),
    hints=_hints,
    app_page=optional_text,
    for_apps_only=boolean,
)
_tool_page = record(ToolPage, next_cursor=optional_text, freshness=freshness)
_tool_result = record(ToolResult, structured=json_value, is_error=boolean, metadata=pairs)
_argument = record(Argument, name=text, title=optional_text, description=optional_text, required=boolean)
_prompt = record(Prompt, **_listed, arguments=list_of(_argument))
_prompt_page = record(PromptPage, next_cursor=optional_text, freshness=freshness)
_prompt_result = record(PromptResult, description=optional_text, metadata=pairs)
_hit = record(Hit, entry=entry, excerpt=optional_text)
_hits = record(Hits, freshness=freshness)


def _tools(value, type_name: str = "a list of tools") -> list[Tool]:
    return items(value, type_name, "tool", _tool, "name")


def _tools_result(value, _cursor=None) -> ToolPage:
    if not isinstance(value, ToolPage):
        return ToolPage(_tools(value, "a list of tools or a ToolPage"))
    _tool_page(value)
    return ToolPage(field("tools", _tools, value.tools), value.next_cursor, value.freshness)


def tool_result(value, _call=None) -> ToolResult:
    """The result of a tool. Its `structured` is a JSON value."""
    if not isinstance(value, ToolResult):
        return ToolResult(blocks(value, "a str, a block, a list of them or a ToolResult"))
    _tool_result(value)
    found = field("content", blocks, value.content)
    if not found and value.structured is not None:
        found = [Text(json.dumps(value.structured, ensure_ascii=False))]
    return ToolResult(found, value.structured, value.is_error, value.metadata)


def _prompts(value, type_name: str = "a list of prompts") -> list[Prompt]:
    return items(value, type_name, "prompt", _prompt, "name")


def _prompts_result(value, _cursor=None) -> PromptPage:
    if not isinstance(value, PromptPage):
        return PromptPage(_prompts(value, "a list of prompts or a PromptPage"))
    _prompt_page(value)
    return PromptPage(field("prompts", _prompts, value.prompts), value.next_cursor, value.freshness)


def _message(value) -> None:
    if not isinstance(value, Message):
        raise expected("a str, a block or a Message", value)
    _MESSAGE(value)


_MESSAGE = record(Message, role=_role, content=_block)


def _as_message(value):
    if isinstance(value, Message):
        return Message(_as_block(value.content), value.role)
    return Message(_as_block(value)) if isinstance(value, (str, Block)) else value


def _messages(value, type_name: str = "a str, a block, a Message or a list of them") -> list[Message]:
    if isinstance(value, (str, Block, Message)):
        single = _as_message(value)
        _message(single)
        return [single]
    if not isinstance(value, (list, tuple)):
        raise expected(type_name, value)
    return items([_as_message(item) for item in value], type_name, "message", _message)


def prompt_result(value, _request=None) -> PromptResult:
    """The result of a prompt."""
    if not isinstance(value, PromptResult):
        return PromptResult(_messages(value, "a str, a block, a Message, a list of them or a PromptResult"))
    _prompt_result(value)
    return PromptResult(field("messages", _messages, value.messages), value.description, value.metadata)


def _found(value, type_name: str = "a list of hits") -> list[Hit]:
    return items(value, type_name, "hit", _hit)


def _search_result(value, _query=None) -> Hits:
    if not isinstance(value, Hits):
        return Hits(_found(value, "a list of hits or a Hits"))
    _hits(value)
    return Hits(field("hits", _found, value.hits), value.freshness)


# For each method of tools, prompts and searches: checks its result, with the arguments of the call.
INTERACTION_RESULTS = {
    "tools": _tools_result,
    "call_tool": tool_result,
    "prompts": _prompts_result,
    "get_prompt": prompt_result,
    "complete_argument": unchanged(completion),
    "search": _search_result,
}
