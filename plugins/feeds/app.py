"""Provides feeds of the web (RSS, Atom, JSON Feed) and their entries as Markdown.

The feeds are a setting, so a client can read no other address. All imports are at the top of the file: they run when the
component is built.
"""

import hashlib
import json
import re
from datetime import timedelta

import json_feed
import xml_feed
from feed import BadFeed, Feed, Item
from html_text import markdown, plain
from larder_provider import (
    Completion,
    Content,
    Description,
    Details,
    Entry,
    EntryPage,
    Error,
    Failed,
    Freshness,
    Hit,
    NotFound,
    Provider,
    Reading,
    Setting,
    Size,
    Template,
    export,
    paginate,
    warn,
)
from store import Limits, Stored, get_all

PREFIX = "feeds://"
FEED = "feeds://{feed}"
ENTRY = "feeds://{feed}/{entry}"
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
MAX_FEEDS = 100
MAX_EXCERPT = 300
# The longest text of one resource in characters.
MAX_CONTENT = 500_000


class Feeds(Provider):
    feeds = Setting(str, "The feeds: a table of names and URLs.", required=True)
    interval = Setting(
        timedelta,
        "How long a feed is not requested again, if its server does not announce a longer time.",
        default=timedelta(minutes=5),
    )
    timeout = Setting(timedelta, "The time limit of one request.", default=timedelta(seconds=5))
    max_bytes = Setting(Size, "The maximum size of a feed.", default=Size(2 << 20))

    def describe(self):
        try:
            names = ", ".join(self.addresses())
        except Error as error:
            return Description(title="Feeds", summary=f"cannot start: {error}")
        return Description(
            title="Feeds",
            version="0.1.0",
            summary=f"News feeds: {names}",
            instructions=f"Read {PREFIX}NAME for the latest entries of a feed. The feeds are {names}.",
        )

    def list(self, query):
        results = self.get(self.addresses())
        listed = use_each(results, all_entries, "its entries are not listed")
        missing = [name for name in results if name not in listed]
        entries = [entry for found in listed.values() for entry in found]
        entries += [Entry(PREFIX + name, name, mime_type="text/markdown", details=Details(kind="feed")) for name in missing]
        left = min([self.interval.total_seconds(), *(results[name].left() for name in listed)])
        entries.sort(key=lambda entry: entry.uri)
        page = paginate(entries, query)
        return EntryPage(page.entries, page.next_cursor, Freshness(int(left * 1000)))

    def templates(self, cursor):
        return [
            Template(FEED, "a feed", description="The latest entries of a feed", mime_type="text/markdown"),
            Template(ENTRY, "an entry", description="An entry of a feed", mime_type="text/markdown"),
        ]

    def read(self, request):
        name, slug = split(request.uri)
        result = self.get_one(name)
        feed = parse(result)
        version = version_of(feed, slug, result)
        request.unless_known(version)
        text = feed_text(name, feed) if slug is None else item_text(find(feed, slug))
        if len(text) > MAX_CONTENT:
            text = text[:MAX_CONTENT] + "\n\n… (shortened)\n"
        freshness = Freshness(int(result.left() * 1000))
        return Reading(Content(text, mime_type="text/markdown"), version, freshness)

    def complete(self, request):
        if request.variable == "feed":
            return Completion.matching(sorted(self.addresses()), request.prefix)
        if request.variable != "entry":
            raise NotFound
        name = dict(request.filled).get("feed")
        if name not in self.addresses():
            return Completion()
        return Completion.matching(parse(self.get_one(name)).unique_items(), request.prefix)

    def versions(self, uris):
        addresses = self.addresses()
        parts = [split_or_none(uri) for uri in uris]
        names = {part[0] for part in parts if part and part[0] in addresses}
        results = self.get({name: addresses[name] for name in sorted(names)})
        feeds = use_each(results, lambda _, result: (parse(result), result), "its versions are not known")
        return [version_or_none(feeds.get(part[0]), part[1]) if part else None for part in parts]

    def search(self, query):
        words = query.text.casefold().split()
        each = use_each(self.get(self.addresses()), lambda name, result: matching(name, parse(result), words), "it is not searched")
        found = [one for matches in each.values() for one in matches]
        # The best first, and the latest of those that are as good.
        found.sort(key=lambda one: one[:2], reverse=True)
        hits = [Hit(entry, text) for _, _, entry, text in found]
        return [hit for hit in hits if matches(hit.entry, query)][: query.limit]

    def addresses(self) -> dict[str, str]:
        """The configured feeds by their names."""
        try:
            feeds = json.loads(self.feeds)
        except ValueError:
            feeds = None
        if not isinstance(feeds, dict) or not feeds or len(feeds) > MAX_FEEDS:
            raise Failed(f"the setting `feeds` must be a table of 1 to {MAX_FEEDS} names and URLs")
        for name, url in feeds.items():
            if not NAME.fullmatch(name):
                raise Failed(f"the setting `feeds`: `{name}` must consist of lower-case letters, digits and `-`")
            if not (isinstance(url, str) and url.startswith(("https://", "http://"))):
                raise Failed(f"the setting `feeds`: the value of `{name}` is not a URL")
        return feeds

    def get(self, addresses: dict[str, str]) -> dict[str, Stored | Error]:
        limits = Limits(self.interval.total_seconds(), self.timeout.total_seconds(), self.max_bytes)
        return get_all(addresses, limits)

    def get_one(self, name: str) -> Stored:
        """The response of one feed."""
        url = self.addresses().get(name)
        if url is None:
            raise NotFound
        result = self.get({name: url})[name]
        if isinstance(result, Error):
            raise result
        return result


def use_each(results: dict[str, Stored | Error], use, consequence: str) -> dict:
    """What `use` returns for each feed. A feed that fails in any way takes away only itself, and the log names it: its
    author is not the operator, and could otherwise remove the feeds of others."""
    found = {}
    for name, result in results.items():
        try:
            found[name] = use(name, result)
        except Exception as error:
            warn(f"{name}: {str(error) or 'not found'}; {consequence}")
    return found


def parse(result: Stored | Error) -> Feed:
    """Parses a response. Raises the error if there is none."""
    if isinstance(result, Error):
        raise result
    try:
        is_json = result.body.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
        return (json_feed if is_json else xml_feed).parse(result.body)
    except BadFeed as error:
        raise Failed(f"the feed cannot be read: {error}") from None
    except Exception as error:
        raise Failed(f"the feed cannot be read: {type(error).__name__}: {error}") from error


def split(uri: str) -> tuple[str, str | None]:
    """The name of the feed in a URI, and the slug of its entry, if it has one."""
    name, slash, slug = uri.removeprefix(PREFIX).partition("/")
    if not uri.startswith(PREFIX) or not name or (slash and not slug):
        raise NotFound
    return name, slug if slash else None


def split_or_none(uri: str):
    try:
        return split(uri)
    except NotFound:
        return None


def find(feed: Feed, slug: str) -> Item:
    item = feed.unique_items().get(slug)
    if item is None:
        raise NotFound
    return item


def version_of(feed: Feed, slug: str | None, result: Stored) -> str:
    """The version of a feed depends on its content, and that of an entry only on the entry."""
    return hashlib.sha256(result.body).hexdigest()[:16] if slug is None else find(feed, slug).version


def version_or_none(found: tuple[Feed, Stored] | None, slug: str | None) -> str | None:
    try:
        return found and version_of(found[0], slug, found[1])
    except NotFound:
        return None


def feed_entry(name: str, feed: Feed, result: Stored) -> Entry:
    return Entry(
        PREFIX + name,
        name,
        title=plain(feed.title) or None,
        description=plain(feed.summary)[:MAX_EXCERPT] or None,
        mime_type="text/markdown",
        version=version_of(feed, None, result),
        details=Details(kind="feed"),
    )


def all_entries(name: str, result: Stored | Error) -> list[Entry]:
    feed = parse(result)
    return [feed_entry(name, feed, result), *item_entries(name, feed)]


def item_entries(name: str, feed: Feed):
    return [item_entry(name, slug, item) for slug, item in feed.unique_items().items()]


def item_entry(name: str, slug: str, item: Item) -> Entry:
    return Entry(
        f"{PREFIX}{name}/{slug}",
        slug,
        title=plain(item.title)[:MAX_EXCERPT] or None,
        description=plain((item.summary or item.content)[: 2 * MAX_EXCERPT])[:MAX_EXCERPT] or None,
        mime_type="text/markdown",
        version=item.version,
        details=Details(kind="feed-entry", last_modified=item.date),
    )


def feed_text(name: str, feed: Feed) -> str:
    lines = [f"# {plain(feed.title) or name}", ""]
    lines += [text for text in (feed.link, markdown(feed.summary)) if text] + [""]
    for slug, item in feed.unique_items().items():
        date = f" ({item.date[:10]})" if item.date else ""
        title = plain(item.title).translate(str.maketrans("[]", "()")) or slug
        lines.append(f"- [{title}]({PREFIX}{name}/{slug}){date}")
    return "\n".join(lines) + "\n"


def item_text(item: Item) -> str:
    facts = [
        ("Link", item.link),
        ("Author", plain(item.author)),
        ("Date", item.date or ""),
        ("Tags", ", ".join(plain(tag) for tag in item.tags)),
        *(("Attachment", url) for url in item.attachments),
    ]
    lines = [f"{label}: {' '.join(value.split())}" for label, value in facts if value]
    body = markdown(item.content or item.summary)
    return f"# {plain(item.title) or 'Untitled'}\n\n" + "  \n".join(lines) + f"\n\n{body}\n"


def matching(name: str, feed: Feed, words: list[str]) -> list[tuple[int, str, Entry, str]]:
    """The entries that contain all words: their ranks, dates and excerpts."""
    items = [(rank_of(item, words), slug, item) for slug, item in feed.unique_items().items()]
    return [(rank, item.date or "", item_entry(name, slug, item), excerpt(item, words)) for rank, slug, item in items if rank]


def rank_of(item: Item, words: list[str]) -> int:
    """How well an entry matches: 0 if it does not contain all words. A title counts more than a text."""
    title, text = item.title.casefold(), f"{item.summary} {item.content} {' '.join(item.tags)}".casefold()
    ranks = [3 * title.count(word) + min(text.count(word), 3) for word in words]
    return sum(ranks) if ranks and all(ranks) else 0


def excerpt(item: Item, words: list[str]) -> str:
    text = plain(item.content or item.summary)
    at = max(0, text.casefold().find(words[0]) - MAX_EXCERPT // 3)
    return text[at : at + MAX_EXCERPT]


def matches(entry: Entry, query) -> bool:
    kind = entry.details.kind if entry.details else None
    return entry.uri.startswith(query.uri_prefix or "") and query.kind in (None, kind)


export(Feeds)
