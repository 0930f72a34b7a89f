"""JSON Feed 1.0 and 1.1 (jsonfeed.org)."""

import html
import json

from feed import MAX_ENTRIES, MAX_TEXT, BadFeed, Feed, Item


def parse(document: bytes) -> Feed:
    """Parses a document. Raises `BadFeed` if it is not a feed."""
    try:
        data = json.loads(document)
    except (ValueError, RecursionError) as error:
        raise BadFeed(f"it is not valid JSON: {error}") from None
    if not (isinstance(data, dict) and _text(data, "version").startswith("https://jsonfeed.org/version/")):
        raise BadFeed("it is JSON, but not a JSON Feed")
    items = [_item(item) for item in _list(data, "items")[:MAX_ENTRIES] if isinstance(item, dict)]
    return Feed(_text(data, "title"), _text(data, "home_page_url"), html.escape(_text(data, "description")), "", items)


def _item(item: dict) -> Item:
    authors = [*_list(item, "authors"), item.get("author")]
    attachments = [_text(one, "url") for one in _list(item, "attachments") if isinstance(one, dict)]
    plain = html.escape(_text(item, "content_text")).replace("\n", "<br>")
    return Item(
        id=_text(item, "id"),
        title=_text(item, "title"),
        link=_text(item, "url") or _text(item, "external_url"),
        summary=html.escape(_text(item, "summary")),
        content=_text(item, "content_html") or plain,
        author=", ".join(filter(None, (_text(one, "name") for one in authors if isinstance(one, dict)))),
        published=_text(item, "date_published"),
        updated=_text(item, "date_modified"),
        tags=[tag for tag in _list(item, "tags") if isinstance(tag, str)],
        attachments=list(filter(None, attachments)),
    )


def _text(data: dict, key: str) -> str:
    value = data.get(key)
    # Some feeds have numbers as ids.
    text = value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
    # JSON can contain halves of characters, which no text may contain.
    return text[:MAX_TEXT].encode("utf-8", "replace").decode()


def _list(data: dict, key: str) -> list:
    value = data.get(key)
    return value if isinstance(value, list) else []
