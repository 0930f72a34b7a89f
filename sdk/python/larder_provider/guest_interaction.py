"""Implements the exported functions for tools, prompts, searches and settings. Only available in components, and only
in worlds with these interfaces."""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import prompt_provider, search_provider, settings_provider, tool_provider
from wit_world.imports import interaction_types
from wit_world.imports import provider_types as types

from . import errors, host
from .check import call
from .convert import body, convert, convert_listed, freshness, guarded, icons, plain, roles
from .input import InputResponse, NeedsInput, ProvidedInput, checked_requests, providing
from .interaction import (
    ArgumentQuery,
    Audio,
    Block,
    Embedded,
    Image,
    Link,
    Message,
    Prompt,
    PromptRequest,
    SearchQuery,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from .settings import Setting, declared_settings


def interaction_classes(provider) -> dict[str, type]:
    """The classes that componentize-py looks for."""
    return {
        "ToolProvider": _tools(provider),
        "PromptProvider": _prompts(provider),
        "SearchProvider": _search(provider),
        "SettingsProvider": _settings(provider),
    }


def _tools(provider) -> type:
    class ToolProvider(exports.ToolProvider):
        @guarded("tools")
        def list_tools(self, cursor):
            page = call(provider, "tools", cursor)
            tools = [_tool(tool) for tool in page.tools]
            return tool_provider.ToolPage(tools, host.valid_unicode(page.next_cursor), freshness(page))

        @guarded("call_tool")
        def call_tool(self, request):
            try:
                with providing(_provided(request.input)):
                    result = call(provider, "call_tool", ToolCall(request.name, json.loads(request.arguments)))
            except NeedsInput as needed:
                return tool_provider.ToolAnswer_InputRequired(_input_required("call_tool", needed))
            except errors.ToolError as error:
                result = ToolResult([Text(errors.message(error))], is_error=True)
            return tool_provider.ToolAnswer_Complete(_tool_result(result))

    return ToolProvider


def _prompts(provider) -> type:
    class PromptProvider(exports.PromptProvider):
        @guarded("prompts")
        def list_prompts(self, cursor):
            page = call(provider, "prompts", cursor)
            prompts = [_prompt(prompt) for prompt in page.prompts]
            return prompt_provider.PromptPage(prompts, host.valid_unicode(page.next_cursor), freshness(page))

        @guarded("get_prompt")
        def get_prompt(self, request):
            try:
                with providing(_provided(request.input)):
                    result = call(provider, "get_prompt", PromptRequest(request.name, dict(request.arguments)))
            except NeedsInput as needed:
                return prompt_provider.PromptAnswer_InputRequired(_input_required("get_prompt", needed))
            messages = [_message(message) for message in result.messages]
            converted = prompt_provider.PromptResult(plain(result.description), messages, plain(result.metadata))
            return prompt_provider.PromptAnswer_Complete(converted)

        @guarded("complete_argument")
        def complete_argument(self, query):
            found = ArgumentQuery(query.prompt, query.argument, query.prefix, dict(query.filled))
            return convert(prompt_provider.Suggestions, call(provider, "complete_argument", found))

    return PromptProvider


def _search(provider) -> type:
    class SearchProvider(exports.SearchProvider):
        @guarded("search")
        def search(self, query):
            found = call(provider, "search", convert(SearchQuery, query))
            hits = [
                search_provider.Hit(convert_listed(types.Entry, hit.entry), host.valid_unicode(hit.excerpt))
                for hit in found.hits
            ]
            return search_provider.Hits(hits, freshness(found))

    return SearchProvider


def _settings(provider) -> type:
    class SettingsProvider(exports.SettingsProvider):
        def settings(self):
            return [_declaration(setting) for setting in declared_settings(type(provider))]

    return SettingsProvider


def _declaration(setting: Setting):
    return settings_provider.Declaration(
        host.valid_unicode(setting.name),
        settings_provider.Kind[setting.kind.upper()],
        host.valid_unicode(setting.description),
        host.valid_unicode(setting.default_text),
        setting.required,
        setting.secret,
    )


def _json(value) -> str:
    return host.valid_unicode(json.dumps(value, ensure_ascii=False))


def _tool(tool: Tool):
    return tool_provider.Tool(
        plain(tool.name),
        plain(tool.title),
        plain(tool.description),
        _json(tool.input_schema),
        None if tool.output_schema is None else _json(tool.output_schema),
        convert(tool_provider.Hints, tool.hints),
        icons(tool.icons),
        plain([*tool.metadata, *tool.app_metadata]),
    )


def _tool_result(result: ToolResult):
    blocks = [_block(block) for block in result.content]
    structured = None if result.structured is None else _json(result.structured)
    return tool_provider.ToolResult(blocks, structured, result.is_error, plain(result.metadata))


def _prompt(prompt: Prompt):
    arguments = [convert(prompt_provider.Argument, argument) for argument in prompt.arguments]
    return prompt_provider.Prompt(
        plain(prompt.name),
        plain(prompt.title),
        plain(prompt.description),
        arguments,
        icons(prompt.icons),
        plain(prompt.metadata),
    )


def _message(message: Message):
    return prompt_provider.Message(types.Role[message.role.upper()], _block(message.content))


def _block(block: Block):
    annotations = block.annotations and convert(interaction_types.Annotations, block.annotations)
    if annotations:
        annotations.audience = roles(annotations.audience)
    return interaction_types.Block(_block_value(block), annotations, plain(block.metadata))


def _block_value(block: Block):
    match block:
        case Text():
            return interaction_types.BlockValue_Text(plain(block.text))
        case Image():
            return interaction_types.BlockValue_Image(_media(block))
        case Audio():
            return interaction_types.BlockValue_Audio(_media(block))
        case Link():
            return interaction_types.BlockValue_Link(convert_listed(types.Entry, block.entry))
        case Embedded():
            content = block.content
            return interaction_types.BlockValue_Embedded(
                interaction_types.EmbeddedResource(
                    plain(content.uri), plain(content.mime_type), body(content.body), plain(content.metadata)
                )
            )


def _media(block: Image | Audio):
    return interaction_types.Media(plain(block.mime_type), bytes(memoryview(block.data)))


def _provided(provided) -> ProvidedInput:
    if provided is None:
        return ProvidedInput()
    responses = {response.key: _response(response.outcome) for response in provided.responses}
    return ProvidedInput(responses, provided.state)


def _response(outcome) -> InputResponse:
    value = json.loads(outcome.value)
    return InputResponse(error=value) if isinstance(outcome, Err) else InputResponse(value)


def _input_required(name: str, needed: NeedsInput):
    requests = [
        interaction_types.InputRequest(plain(request.key), plain(request.method), _json(request.params))
        for request in checked_requests(name, needed)
    ]
    return interaction_types.InputRequired(requests, None if needed.state is None else bytes(needed.state))
