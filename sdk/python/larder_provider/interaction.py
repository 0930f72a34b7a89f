"""Types of tools, prompts and searches. Optional fields have defaults."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, get_args

from .checks import Mismatch, boolean, list_of, one_of, optional, record, text, texts
from .values import Content, Entry, Freshness, Icon, Pairs

T = TypeVar("T")

# The media type of the page of an app.
APP_PAGE = "text/html;profile=mcp-app"

AppPermission = Literal["camera", "microphone", "geolocation", "clipboardWrite"]


@dataclass
class Annotations:
    audience: list[Literal["user", "assistant"]] = field(default_factory=list)
    # From 0 (optional) to 1 (required).
    priority: float | None = None
    # RFC 3339.
    last_modified: str | None = None


@dataclass
class Block:
    """The base class of one piece of content of a tool result or a prompt message."""

    annotations: Annotations | None = field(default=None, kw_only=True)
    # Keys with JSON text.
    metadata: Pairs = field(default_factory=list, kw_only=True)


@dataclass
class Text(Block):
    text: str


@dataclass
class Image(Block):
    data: bytes
    mime_type: str


@dataclass
class Audio(Block):
    data: bytes
    mime_type: str


@dataclass
class Link(Block):
    """A reference to a resource."""

    entry: Entry


@dataclass
class Embedded(Block):
    """A resource with its content. The content needs a `uri`."""

    content: Content


@dataclass
class ToolResult(Generic[T]):
    """The result of a tool that returns more than a text or a value. `ToolResult[T]` as the return annotation declares
    the type of `structured`."""

    # Without content, it is the JSON text of `structured`.
    content: str | Block | Sequence[str | Block] = ()
    structured: T | None = None
    # The tool failed, and the content explains it to the model. See also `ToolError`.
    is_error: bool = False
    # Keys with JSON text.
    metadata: Pairs = field(default_factory=list)


@dataclass
class Hints:
    """Properties of a tool that a client may assume; None means unspecified."""

    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None
    # The call may take long enough to be handled as a task.
    long_running: bool | None = None


@dataclass
class Tool:
    """A tool in a list. `@tool` creates it from a method."""

    name: str
    # JSON Schema (2020-12) of the arguments: an object.
    input_schema: dict[str, Any]
    title: str | None = None
    description: str | None = None
    output_schema: dict[str, Any] | None = None
    hints: Hints = field(default_factory=Hints)
    icons: list[Icon] = field(default_factory=list)
    # Keys with JSON text.
    metadata: Pairs = field(default_factory=list)
    # The page that clients show for calls of the tool: the URI of a resource of this provider, `ui://…`. See `AppPage`.
    app_page: str | None = None
    # Only the page of an app can call the tool; models do not see it.
    for_apps_only: bool = False

    @property
    def app_metadata(self) -> Pairs:
        """The metadata of the app that shows the tool."""
        visibility = ["app"] if self.for_apps_only else None
        return _ui_metadata(resourceUri=self.app_page, visibility=visibility)


@dataclass
class AppPage:
    """The page of an app: HTML, and what the page uses in the browser. The host passes on only what the operator grants
    (`apps` in `[provider.NAME]`, or requested in `NAME.toml`)."""

    html: str
    # Domains such as `https://api.example.com`, to which the page sends requests.
    connects_to: Sequence[str] = ()
    # Domains from which the page loads images, scripts, styles, fonts and media.
    loads_from: Sequence[str] = ()
    # Domains whose frames the page shows.
    frames: Sequence[str] = ()
    # Capabilities of the browser.
    permissions: Sequence[AppPermission] = ()
    # Whether the client should show a border around the page; None if that does not matter.
    prefers_border: bool | None = None

    def content(self) -> Content:
        """The content for the resource that a tool names with `app_page`."""
        try:
            _app_page(self)
        except Mismatch as mismatch:
            mismatch.item = "the page"
            raise TypeError(str(mismatch)) from None
        lists = {"connectDomains": self.connects_to, "resourceDomains": self.loads_from, "frameDomains": self.frames}
        csp = {name: list(domains) for name, domains in lists.items() if domains}
        permissions = {permission: {} for permission in self.permissions}
        metadata = _ui_metadata(csp=csp or None, permissions=permissions or None, prefersBorder=self.prefers_border)
        return Content(self.html, APP_PAGE, metadata=metadata)


_app_page = record(
    AppPage,
    html=text,
    connects_to=texts,
    loads_from=texts,
    frames=texts,
    permissions=list_of(one_of(*get_args(AppPermission))),
    prefers_border=optional(boolean),
)


def _ui_metadata(**members) -> Pairs:
    """The metadata of an app: the members that have a value."""
    ui = {name: value for name, value in members.items() if value is not None}
    return [("ui", json.dumps(ui, ensure_ascii=False))] if ui else []


@dataclass
class ToolPage:
    """A page of tools. For a single page, return a list of tools."""

    tools: list[Tool] = field(default_factory=list)
    next_cursor: str | None = None
    freshness: Freshness | None = None


@dataclass
class ToolCall:
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass
class Argument:
    """An argument of a prompt."""

    name: str
    description: str | None = None
    required: bool = False
    title: str | None = None


@dataclass
class Prompt:
    """A prompt in a list. `@prompt` creates it from a method."""

    name: str
    title: str | None = None
    description: str | None = None
    arguments: list[Argument] = field(default_factory=list)
    icons: list[Icon] = field(default_factory=list)
    # Keys with JSON text.
    metadata: Pairs = field(default_factory=list)


@dataclass
class PromptPage:
    """A page of prompts. For a single page, return a list of prompts."""

    prompts: list[Prompt] = field(default_factory=list)
    next_cursor: str | None = None
    freshness: Freshness | None = None


@dataclass
class PromptRequest:
    name: str
    arguments: dict[str, str] = field(default_factory=dict)


@dataclass
class Message:
    """A message of a prompt."""

    content: str | Block
    role: Literal["user", "assistant"] = "user"


@dataclass
class PromptResult:
    """The result of a prompt with a description. Without one, return a text, a block, a message or a list of them."""

    messages: str | Block | Message | Sequence[str | Block | Message]
    description: str | None = None
    # Keys with JSON text.
    metadata: Pairs = field(default_factory=list)


@dataclass
class ArgumentQuery:
    """A request for suggestions for an argument of a prompt."""

    prompt: str
    argument: str
    # The text that has been typed so far.
    prefix: str = ""
    # Arguments that are already filled in.
    filled: dict[str, str] = field(default_factory=dict)


@dataclass
class SearchQuery:
    text: str
    # The maximum number of results.
    limit: int = 20
    uri_prefix: str | None = None
    kind: str | None = None

    def wants(self, entry: Entry) -> bool:
        """Whether an entry matches the hints of this query."""
        kind = entry.details.kind if entry.details else None
        return entry.uri.startswith(self.uri_prefix or "") and self.kind in (None, kind)


@dataclass
class Hit:
    """A result of a search."""

    entry: Entry
    # A passage that shows why the entry matches.
    excerpt: str | None = None


@dataclass
class Hits:
    """The results of a search, best first. Without a freshness, return a list of hits."""

    hits: list[Hit] = field(default_factory=list)
    freshness: Freshness | None = None
