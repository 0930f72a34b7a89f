"""What a provider is: a class of which only `read` has to be written."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .errors import NotFound
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


class Provider:
    """A provider of resources. It is made when the component is built, and copied for each guest: what
    `__init__` reads is part of the component, and nothing that a call keeps is sure to be there at the next."""

    def describe(self) -> Description:
        """What this provider is, for people and for the model."""
        return Description()

    def list(self, query: Query) -> EntryPage | Sequence[Entry]:
        """One page of what there is, sorted by URI. `paginate` makes pages."""
        return []

    def templates(self, cursor: str | None) -> TemplatePage | Sequence[Template]:
        """Families of resources, by RFC 6570 template."""
        return []

    def greedy(self) -> Sequence[str]:
        """Those of the templates whose last variable takes slashes as well, so that `file:///{path}` reads
        `file:///a/b/c`. They need no claims, and no `match_uri`."""
        return []

    def match_uri(self, uri: str) -> Match | None:
        """Whose template a URI inside our claims belongs to, where matching by RFC 6570 found nothing. Unless written,
        that of `greedy`."""
        return next(filter(None, (Match.greedy(template, uri) for template in self.greedy())), None)

    def read(self, request: Request) -> Reading | Content | Sequence[Content]:
        """What a URI holds. `NotFound` lets another provider try."""
        raise NotFound

    def complete(self, request: CompletionRequest) -> Completion:
        """Suggestions for a variable of a template. Asked only in the world `full-provider`."""
        return Completion()

    def versions(self, uris: Sequence[str]) -> Sequence[str | None]:
        """The current version of each URI, in order; None where it names nothing, or where only `read` can tell:
        the host reads those. Asked only in the world `full-provider`. Write it where there is a cheaper way than
        reading; unless written, it knows none."""
        return [None for _ in uris]


def about(provider: Provider) -> Description:
    """What a provider says of itself, with what its greedy templates claim: it is asked only for what it claims."""
    said = provider.describe()
    claims = [template.split("{")[0] for template in provider.greedy()]
    return replace(said, claims=list(dict.fromkeys([*said.claims, *claims])))


def paginate(entries: Iterable[Entry], query: Query) -> EntryPage:
    """One page of a list that is sorted by URI: what follows the query's cursor, filtered by its hints.

    The cursor is the last URI of the page before, so a list that grows or shrinks between two pages neither
    repeats nor loses what was there throughout."""
    limit = max(query.limit, 1)
    page: list[Entry] = []
    for entry in entries:
        if (query.cursor is None or entry.uri > query.cursor) and query.wants(entry):
            if len(page) == limit:
                return EntryPage(page, next_cursor=page[-1].uri)
            page.append(entry)
    return EntryPage(page)
