"""Types of requests to and results from a provider. Optional fields have defaults."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote

from .errors import Invalid, NotFound, NotModified

Pairs = list[tuple[str, str]]

# The maximum number of values in a completion, as specified by MCP.
MAX_SUGGESTIONS = 100


@dataclass
class Description:
    """Describes a provider for people and for the model."""

    title: str | None = None
    version: str | None = None
    summary: str | None = None
    instructions: str | None = None
    # URI prefixes that belong to this provider, in addition to the URIs that it lists.
    claims: list[str] = field(default_factory=list)


@dataclass
class Icon:
    src: str
    mime_type: str | None = None
    # Sizes such as "48x48" or "any".
    sizes: list[str] = field(default_factory=list)
    # The background that the icon is made for; None if it suits both.
    theme: Literal["light", "dark"] | None = None


@dataclass
class Details:
    """Less common properties of entries and templates."""

    kind: str | None = None
    audience: list[Literal["user", "assistant"]] = field(default_factory=list)
    # From 0 (optional) to 1 (required).
    priority: float | None = None
    # RFC 3339.
    last_modified: str | None = None
    icons: list[Icon] = field(default_factory=list)
    # Keys with JSON text.
    metadata: Pairs = field(default_factory=list)


@dataclass
class Entry:
    """A resource in a list."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    # Any text that changes whenever the content changes.
    version: str | None = None
    details: Details | None = None


@dataclass
class Template:
    """A set of resources, described by an RFC 6570 URI template."""

    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    details: Details | None = None


@dataclass
class Freshness:
    """How long a response may be cached, and for which callers."""

    ttl_ms: int
    scope: Literal["everyone", "caller"] = "everyone"


@dataclass
class Content:
    """One content of a reading: text if the body is a `str`, otherwise bytes."""

    body: str | bytes
    mime_type: str | None = None
    # Only if it differs from the requested URI.
    uri: str | None = None
    metadata: Pairs = field(default_factory=list)


@dataclass
class Reading:
    """The result of a read with a version or a freshness. Without them, return a `Content` or a list of them."""

    contents: Content | Sequence[Content]
    version: str | None = None
    freshness: Freshness | None = None


@dataclass
class EntryPage:
    """A page of a list. For a single page, return a list of entries."""

    entries: list[Entry] = field(default_factory=list)
    next_cursor: str | None = None
    freshness: Freshness | None = None


@dataclass
class TemplatePage:
    """A page of templates. For a single page, return a list of templates."""

    templates: list[Template] = field(default_factory=list)
    next_cursor: str | None = None
    freshness: Freshness | None = None


@dataclass
class Variable:
    """A decoded value of a template variable. A list is several variables with the same name, and a map is several
    variables with the same name and different keys."""

    name: str
    value: str
    # The key within a map; None for a single value and in a list.
    key: str | None = None


@dataclass
class Match:
    """The template that matches a URI, and the values of its variables in the order of the template. Tuples of a name
    and a value become variables."""

    uri_template: str
    variables: list[Variable] = field(default_factory=list)

    def __post_init__(self):
        if isinstance(self.variables, (list, tuple)):
            self.variables = [_variable(item) for item in self.variables]

    @classmethod
    def greedy(cls, uri_template: str, uri: str) -> "Match | None":
        """Matches a URI with a template whose last variable matches the rest of the path, including slashes. It is meant
        for implementations of `match_uri`; otherwise `Provider.greedy` is sufficient. Only simple expressions such as
        `{name}` are supported."""
        literals, names = re.split(r"{\w+}", uri_template), re.findall(r"{(\w+)}", uri_template)
        if not names or any(character in "".join(literals) for character in "{}"):
            return None
        # Every variable except the last matches as much as possible, but no slash.
        values = ["([^/]+)"] * (len(names) - 1) + ["(.+)"]
        pattern = "".join(re.escape(text) + value for text, value in zip(literals, [*values, ""]))
        found = re.fullmatch(pattern, uri, re.DOTALL)
        try:
            return found and cls(uri_template, [(n, unquote(v, errors="strict")) for n, v in zip(names, found.groups())])
        except UnicodeDecodeError:
            return None


def _variable(item):
    return Variable(*item) if isinstance(item, (list, tuple)) and len(item) == 2 else item


@dataclass
class Request:
    """A read request."""

    uri: str
    matched: Match | None = None
    # The version that the caller knows.
    known_version: str | None = None

    @property
    def template(self) -> str | None:
        """The template that matches the URI, if any."""
        return self.matched and self.matched.uri_template

    def var(self, name: str) -> str:
        """The value of a variable; the items of a list are joined with commas, as they are in the URI. Raises
        `NotFound` if no template matched, and `Invalid` if the URI omits it."""
        if self.matched is None:
            raise NotFound
        if not (values := self.vars(name)):
            raise Invalid(f"the URI has no value for `{name}`")
        return ",".join(values)

    def optional_var(self, name: str, default: str | None = None) -> str | None:
        """The value of a variable that the URI may omit, such as `page` of `{?page}`, or the default value. As `var`."""
        return self.var(name) if self.vars(name) else default

    def vars(self, name: str) -> list[str]:
        """All values of a variable that is a list or a map."""
        return [variable.value for variable in self._variables(name)]

    def map(self, name: str) -> dict[str, str]:
        """The keys and values of a variable that is a map, such as the query parameters of `{?query*}`."""
        return {variable.key: variable.value for variable in self._variables(name) if variable.key is not None}

    def _variables(self, name: str) -> list[Variable]:
        return [variable for variable in (self.matched.variables if self.matched else []) if variable.name == name]

    def unless_known(self, version: str) -> None:
        """Raises `NotModified` if the caller already knows this version."""
        if self.known_version == version:
            raise NotModified


@dataclass
class Query:
    """A request for a page of the list."""

    cursor: str | None = None
    limit: int = 100
    uri_prefix: str | None = None
    kind: str | None = None

    def wants(self, entry: Entry) -> bool:
        """Whether an entry matches the hints of this query."""
        kind = entry.details.kind if entry.details else None
        return entry.uri.startswith(self.uri_prefix or "") and self.kind in (None, kind)


@dataclass
class CompletionRequest:
    """A request to complete a variable of a template."""

    uri_template: str
    variable: str
    # The text that has been typed so far.
    prefix: str = ""
    # Variables that are already filled in.
    filled: Pairs = field(default_factory=list)


@dataclass
class Completion:
    """Suggested values."""

    values: list[str] = field(default_factory=list)
    total: int | None = None
    more: bool = False

    @classmethod
    def matching(cls, candidates: Iterable[str], prefix: str) -> "Completion":
        """Returns the candidates that begin with the prefix, truncated to the maximum number of suggestions."""
        found = [value for value in candidates if value.startswith(prefix)]
        return cls(found[:MAX_SUGGESTIONS], len(found), len(found) > MAX_SUGGESTIONS)
