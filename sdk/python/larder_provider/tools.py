"""Tools: methods that a model may call."""

import typing
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from .annotations import Codecs, hints_of
from .check import run
from .checks import Mismatch, expected
from .codec import Codec, Definitions, DescribedCodec, MapCodec, ObjectCodec, SchemaOptions, at
from .declared import DeclaredMethod, declared, find
from .errors import ToolError
from .interaction import Block, Hints, Tool, ToolCall, ToolResult
from .interaction_results import blocks, tool_result

_MISSING = object()


class ToolMethod(DeclaredMethod):
    """A method with `@tool`."""

    decorator = "@tool"

    def __init__(self, function: Callable, *, hints: Hints, app_page: str | None, for_apps_only: bool, **options):
        super().__init__(function, **options)
        self.hints = hints
        self.app_page = app_page
        self.for_apps_only = for_apps_only

    @cached_property
    def parameters(self) -> ObjectCodec:
        return self.codecs(lambda codecs: codecs.parameters(self.function))

    @cached_property
    def output(self) -> "Output":
        return self.codecs(lambda codecs: Output(hints_of(self.function).get("return", _MISSING), codecs))

    @property
    def tool(self) -> Tool:
        """The tool as it is listed."""
        return Tool(
            self.name,
            Definitions(SchemaOptions(closed=True)).root(self.parameters),
            self.title,
            self.description,
            self.output.schema(),
            self.hints,
            list(self.icons),
            list(self.metadata),
            self.app_page,
            self.for_apps_only,
        )

    def call(self, provider, arguments: dict[str, Any]) -> ToolResult:
        """Calls the method. Wrong arguments are a `ToolError`."""
        try:
            values = self.parameters.decode(arguments)
        except Mismatch as mismatch:
            raise ToolError(str(mismatch)) from None
        method = self.function.__get__(provider)
        return run(self.name, method, lambda: method(**values), self.output.result)


class Output:
    """What a tool returns: content for the model, or data of a type, or both."""

    def __init__(self, annotation, codecs: Codecs):
        self.is_annotated = annotation is not _MISSING
        self.returns_nothing = annotation in (None, type(None))
        self.codec: Codec | None = None
        if typing.get_origin(annotation) is ToolResult:
            self.codec = codecs.of(typing.get_args(annotation)[0])
        elif self.is_annotated and not _is_content(annotation):
            self.codec = codecs.of(annotation)
        # Legacy clients require an object.
        self.is_wrapped = self.codec is not None and not _is_object(self.codec)

    def schema(self) -> dict | None:
        if self.codec is None:
            return None
        codec = self.codec
        if self.is_wrapped:
            schema = Definitions(SchemaOptions()).root(codec)
            definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
            return {"type": "object", "properties": {"result": schema}, "required": ["result"], **definitions}
        return Definitions(SchemaOptions()).root(codec)

    def result(self, value) -> ToolResult:
        """Checks and converts the value that the method returned."""
        if self.codec is None:
            return self._content(value)
        if not isinstance(value, ToolResult):
            return tool_result(ToolResult(structured=self._encode(value)))
        if value.structured is None and value.is_error:
            return tool_result(value)
        structured = at("structured", self._encode, value.structured)
        return tool_result(ToolResult(value.content, structured, value.is_error, value.metadata))

    def _content(self, value) -> ToolResult:
        if value is None and self.returns_nothing:
            return ToolResult([])
        if not isinstance(value, (str, Block, ToolResult, list, tuple)):
            hint = "" if self.is_annotated or value is None else "; annotate the type of the result to return data"
            mismatch = expected("a str, a block, a list of them or a ToolResult", value)
            raise Mismatch(mismatch.problem + hint)
        return tool_result(value)

    def _encode(self, value):
        encoded = self.codec.encode(value)
        return {"result": encoded} if self.is_wrapped else encoded


def _is_object(codec: Codec) -> bool:
    return isinstance(codec.codec if isinstance(codec, DescribedCodec) else codec, (ObjectCodec, MapCodec))


def _is_content(annotation) -> bool:
    """Whether a result of this type is content for the model, and not data."""
    if annotation in (None, type(None), str, ToolResult, Any, object, list, tuple, Sequence):
        return True
    if isinstance(annotation, type) and issubclass(annotation, Block):
        return True
    arguments = [argument for argument in typing.get_args(annotation) if argument is not Ellipsis]
    # A list of texts is data: its items are not separate blocks for the model.
    is_data = typing.get_origin(annotation) in (typing.Literal, typing.Annotated, dict) or arguments == [str]
    return bool(arguments) and not is_data and all(map(_is_content, arguments))


def tool(
    function: Callable | None = None,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    long_running: bool | None = None,
    icons=(),
    metadata=(),
    app_page: str | None = None,
    for_apps_only: bool = False,
):
    """Declares a method of a provider as a tool. Its parameters become the schema of the arguments, its docstring
    becomes the description, and the type of its result becomes the output schema. `app_page` names the page that clients
    show for its calls (see `AppPage`), and a tool that is `for_apps_only` is called by such a page and not by models."""
    hints = Hints(read_only, destructive, idempotent, open_world, long_running)
    options = dict(name=name, title=title, description=description, icons=icons, metadata=metadata)
    app = dict(app_page=app_page, for_apps_only=for_apps_only)
    decorate = lambda function: ToolMethod(function, hints=hints, **app, **options)
    return decorate if function is None else decorate(function)


def declared_tools(provider: type) -> list[Tool]:
    return [method.tool for method in declared(provider, ToolMethod).values()]


def call_declared_tool(provider, call: ToolCall) -> ToolResult:
    return find(type(provider), ToolMethod, call.name).call(provider, call.arguments)
