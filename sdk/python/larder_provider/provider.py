"""The base class of providers, and helper functions for it."""

import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter

from .check import call
from .errors import NotFound
from .host import warn
from .interaction import (
    ArgumentQuery,
    Block,
    Hit,
    Hits,
    Message,
    Prompt,
    PromptPage,
    PromptRequest,
    PromptResult,
    SearchQuery,
    Tool,
    ToolCall,
    ToolPage,
    ToolResult,
)
from .prompts import complete_declared_argument, declared_prompts, get_declared_prompt
from .tools import call_declared_tool, declared_tools
from .values import (
    Completion,
    CompletionRequest,
    Content,
    Description,
    Entry,
    EntryPage,
    Match,
    Query,
    Reading,
    Request,
    Template,
    TemplatePage,
)

# A page ends when its iterator has taken this long since its first entry. The host gives a list for which a client waits
# at least half a second.
_MAX_PAGE_SECONDS = 0.25


class Provider:
    """A provider of resources. Only `read` is required. The instance is created when the component is built, and each
    guest gets a copy: data that `__init__` loads becomes part of the component. State that a call stores may be gone in
    the next call. Results of other types than these are failures."""

    def describe(self) -> Description:
        """Describes this provider for people and for the model."""
        return Description()

    def list(self, query: Query) -> EntryPage | Sequence[Entry]:
        """Returns one page of the list of resources, sorted by URI. See `paginate`."""
        return []

    def templates(self, cursor: str | None) -> TemplatePage | Sequence[Template]:
        """Returns the RFC 6570 templates of this provider."""
        return []

    def greedy(self) -> Sequence[str]:
        """Returns the templates whose last variable also matches slashes, so that `file:///{path}` matches
        `file:///a/b/c`. They need no claims and no `match_uri`."""
        return []

    def match_uri(self, uri: str) -> Match | None:
        """Matches a URI to a template. Called only for URIs within the claims that no template matches by the rules of
        RFC 6570. The default matches the templates of `greedy`."""
        return next(filter(None, (Match.greedy(template, uri) for template in call(self, "greedy"))), None)

    def read(self, request: Request) -> Reading | Content | Sequence[Content]:
        """Reads a resource. After `NotFound`, the host tries other providers."""
        raise NotFound

    def complete(self, request: CompletionRequest) -> Completion:
        """Suggests values for a variable of a template. Called only in the world `full-provider`."""
        return Completion()

    def versions(self, uris: Sequence[str]) -> Sequence[str | None]:
        """Returns the current version of each URI, in order; None if the resource does not exist or its version is known
        only after a `read`, which the host then makes. Called only in the world `full-provider`. Implement it if
        versions are cheaper than reads. The default returns no versions."""
        return [None for _ in uris]

    def search(self, query: SearchQuery) -> Hits | Sequence[Hit]:
        """Searches in the content of this provider, best results first. Called only in the world
        `interactive-provider`."""
        return []

    # The following methods implement `@tool` and `@prompt`. Replace them if the tools or prompts are not known when the
    # component is built.

    def tools(self, cursor: str | None) -> ToolPage | Sequence[Tool]:
        """Returns one page of the list of tools. The default returns the methods with `@tool`."""
        return declared_tools(type(self))

    def call_tool(self, call: ToolCall) -> ToolResult | str | Block | Sequence[str | Block]:
        """Calls a tool. The default calls the method with `@tool` and this name."""
        return call_declared_tool(self, call)

    def prompts(self, cursor: str | None) -> PromptPage | Sequence[Prompt]:
        """Returns one page of the list of prompts. The default returns the methods with `@prompt`."""
        return declared_prompts(type(self))

    def get_prompt(
        self, request: PromptRequest
    ) -> PromptResult | str | Block | Message | Sequence[str | Block | Message]:
        """Returns the messages of a prompt. The default calls the method with `@prompt` and this name."""
        return get_declared_prompt(self, request)

    def complete_argument(self, query: ArgumentQuery) -> Completion:
        """Suggests values for an argument of a prompt. The default uses the methods with `@NAME.complete`."""
        return complete_declared_argument(self, query)


def description(provider: Provider) -> Description:
    """The description of a provider, with the prefixes of its greedy templates as additional claims. Without a claim,
    the host would not call `match_uri` for their URIs."""
    described = call(provider, "describe")
    claims = [template.split("{")[0] for template in call(provider, "greedy")]
    return replace(described, claims=list(dict.fromkeys([*described.claims, *claims])))


def paginate(entries: Iterable[Entry] | Callable[[str | None], Iterable[Entry]], query: Query) -> EntryPage:
    """Returns one page of a list that is sorted by URI: the entries after the query's cursor that match its hints.

    The cursor is the last URI of the previous page. If the list changes between two pages, entries that are in the
    list all the time are neither repeated nor lost. If `entries` is a slow iterator, the page ends early, so that the
    list is not skipped because it is too late.

    Each page is a call of its own. A sequence is searched for the cursor, but an iterator has to create all entries
    before the cursor again, so that a long list takes quadratic time. For a long list, pass a function: it is called
    with the cursor, or None for the first page, and returns the entries after it. It may return earlier entries too."""
    after = query.cursor
    rest = entries(after) if callable(entries) else entries
    if isinstance(rest, Sequence) and after is not None:
        first = bisect_right(rest, after, key=attrgetter("uri"))
        rest = map(rest.__getitem__, range(first, len(rest)))
    limit = max(query.limit, 1)
    page: list[Entry] = []
    start = time.monotonic()
    end = math.inf
    skipped = 0
    for entry in rest:
        if after is not None and entry.uri <= after:
            skipped += 1
        elif query.wants(entry):
            now = time.monotonic()
            if not page:
                _warn_about_skipping(skipped, now - start)
                end = now + _MAX_PAGE_SECONDS
            elif len(page) == limit or now > end:
                return EntryPage(page, next_cursor=page[-1].uri)
            page.append(entry)
    return EntryPage(page)


def _warn_about_skipping(entries: int, seconds: float) -> None:
    """A list that takes this long before its page begins will be too late a few pages later."""
    if entries and seconds > _MAX_PAGE_SECONDS:
        warn(
            f"paginate created {entries} entries again in {seconds:.1f} s to find its cursor: "
            "pass a function that begins after the cursor"
        )
