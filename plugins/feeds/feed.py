"""What the formats of feeds have in common."""

import hashlib
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

# The maximum number of entries of a feed. The others are ignored.
MAX_ENTRIES = 500
# The maximum length of one text in characters.
MAX_TEXT = 1_000_000


class BadFeed(Exception):
    """The document is not a feed, or not one that can be trusted. The message is for the caller."""


@dataclass
class Item:
    """An entry of a feed. Texts are plain, except `summary` and `content`, which may be HTML."""

    id: str = ""
    title: str = ""
    link: str = ""
    summary: str = ""
    content: str = ""
    author: str = ""
    published: str = ""
    updated: str = ""
    tags: list[str] = field(default_factory=list)
    attachments: list[str] = field(default_factory=list)

    @property
    def slug(self) -> str:
        """A name for URIs. It stays the same if the texts of the entry change."""
        identity = self.id or self.link or f"{self.title}\n{self.published}"
        return hashlib.sha256(identity.encode()).hexdigest()[:16]

    @property
    def version(self) -> str:
        """A text that differs if anything in the entry differs."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]

    @property
    def date(self) -> str | None:
        """The time of the last change in RFC 3339, if it is known."""
        return rfc3339(self.updated) or rfc3339(self.published)


@dataclass
class Feed:
    """A feed. `summary` may be HTML."""

    title: str = ""
    link: str = ""
    summary: str = ""
    updated: str = ""
    items: list[Item] = field(default_factory=list)

    def unique_items(self) -> dict[str, Item]:
        """The entries by their slugs. Of entries with the same identity, the first one counts."""
        found: dict[str, Item] = {}
        for item in self.items[:MAX_ENTRIES]:
            found.setdefault(item.slug, item)
        return found


def rfc3339(text: str) -> str | None:
    """Converts a time of RSS (RFC 822) or Atom (RFC 3339); None if it is neither, or out of range."""
    text = text.strip()
    if not 4 < len(text) < 60:
        return None
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            time = parse(text)
            time = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
            return time.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ") if time.year >= 1970 else None
        except (ValueError, OverflowError, TypeError, IndexError):
            continue
    return None
