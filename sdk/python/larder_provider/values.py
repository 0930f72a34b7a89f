"""What providers are asked, and what they answer. What may be left out has a default."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote

from .errors import Invalid, NotFound, NotModified

Pairs = list[tuple[str, str]]

# As many suggestions as MCP lets an answer have.
SUGGESTIONS = 100


@dataclass
class Description:
    """What a provider says about itself, for people and for the model."""

    title: str | None = None
    version: str | None = None
    summary: str | None = None
    instructions: str | None = None
    # URI prefixes that are this provider's own, beyond what it lists.
    claims: list[str] = field(default_factory=list)


@dataclass
class Icon:
    src: str
    mime_type: str | None = None
    sizes: list[str] = field(default_factory=list)


@dataclass
class Details:
    """What few entries and templates have."""

    kind: str | None = None
    audience: list[Literal["user", "assistant"]] = field(default_factory=list)
    # From 0 (optional) to 1 (required).
    priority: float | None = None
    # RFC 3339.
    last_modified: str | None = None
    icons: list[Icon] = field(default_factory=list)
    # Key and JSON text.
    metadata: Pairs = field(default_factory=list)


@dataclass
class Entry:
    """One readable thing, as a list shows it."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None
    # Anything that differs whenever the content differs.
    version: str | None = None
    details: Details | None = None


@dataclass
class Template:
    """A family of readable things, by an RFC 6570 URI template."""

    uri_template: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    details: Details | None = None


@dataclass
class Freshness:
    """How long an answer may be reused, and by whom."""

    ttl_ms: int
    scope: Literal["everyone", "caller"] = "everyone"


@dataclass
class Content:
    """A piece of what was read: text, if it is a `str`, and bytes otherwise."""

    body: str | bytes
    mime_type: str | None = None
    # Where it is not the one that was asked for.
    uri: str | None = None
    metadata: Pairs = field(default_factory=list)


@dataclass
class Reading:
    """An answer with a version or a freshness. Without either, a `Content`, or a list of them, will do."""

    contents: Content | Sequence[Content]
    version: str | None = None
    freshness: Freshness | None = None


@dataclass
class EntryPage:
    """A page of a list. Where one page is all there is, a list of entries will do."""

    entries: list[Entry] = field(default_factory=list)
    next_cursor: str | None = None
    freshness: Freshness | None = None


@dataclass
class TemplatePage:
    """A page of templates. Where one page is all there is, a list of templates will do."""

    templates: list[Template] = field(default_factory=list)
    next_cursor: str | None = None
    freshness: Freshness | None = None


@dataclass
class Match:
    """Which template a URI belongs to, and the decoded values of its variables."""

    uri_template: str
    variables: Pairs = field(default_factory=list)

    @classmethod
    def greedy(cls, uri_template: str, uri: str) -> "Match | None":
        """What a template makes of a URI if its last variable takes the rest of the path, slashes included. For an own
        `match_uri`; where there is none, `Provider.greedy` is enough. Its expressions are plain ones: `{name}`."""
        literals, names = re.split(r"{\w+}", uri_template), re.findall(r"{(\w+)}", uri_template)
        if not names or any(character in "".join(literals) for character in "{}"):
            return None
        # An earlier variable takes as much as it can, up to a slash.
        values = ["([^/]+)"] * (len(names) - 1) + ["(.+)"]
        pattern = "".join(re.escape(text) + value for text, value in zip(literals, [*values, ""]))
        found = re.fullmatch(pattern, uri, re.DOTALL)
        try:
            return found and cls(uri_template, [(n, unquote(v, errors="strict")) for n, v in zip(names, found.groups())])
        except UnicodeDecodeError:
            return None


@dataclass
class Request:
    """What is to be read."""

    uri: str
    matched: Match | None = None
    # The version that the caller holds.
    known_version: str | None = None

    @property
    def template(self) -> str | None:
        """The template that the URI belongs to, if any."""
        return self.matched and self.matched.uri_template

    def var(self, name: str) -> str:
        """The value of a variable. `NotFound` where no template matched, `Invalid` where the URI leaves it out."""
        if self.matched is None:
            raise NotFound
        for value in self.vars(name):
            return value
        raise Invalid(f"the URI has no value for `{name}`")

    def vars(self, name: str) -> list[str]:
        """All values of a variable."""
        return [value for key, value in (self.matched.variables if self.matched else []) if key == name]

    def unless_known(self, version: str) -> None:
        """Ends the read where the caller already holds this version."""
        if self.known_version == version:
            raise NotModified


@dataclass
class Query:
    """Which page of the list is wanted."""

    cursor: str | None = None
    limit: int = 100
    uri_prefix: str | None = None
    kind: str | None = None

    def wants(self, entry: Entry) -> bool:
        """Whether the hints of this query want such an entry."""
        kind = entry.details.kind if entry.details else None
        return entry.uri.startswith(self.uri_prefix or "") and self.kind in (None, kind)


@dataclass
class CompletionRequest:
    """Which variable of which template is being typed."""

    uri_template: str
    variable: str
    # What has been typed so far.
    prefix: str = ""
    # Variables that are already filled in.
    filled: Pairs = field(default_factory=list)


@dataclass
class Completion:
    """Suggestions."""

    values: list[str] = field(default_factory=list)
    total: int | None = None
    more: bool = False

    @classmethod
    def matching(cls, candidates: Iterable[str], prefix: str) -> "Completion":
        """Those of the candidates that begin with what has been typed, as many as an answer may have."""
        found = [value for value in candidates if value.startswith(prefix)]
        return cls(found[:SUGGESTIONS], len(found), len(found) > SUGGESTIONS)
