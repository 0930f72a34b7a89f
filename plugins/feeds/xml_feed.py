"""RSS 0.9x, 1.0 and 2.0, and Atom, with the parser expat.

The document comes from the web. It is read as a stream with limits of depth, elements and text, and a document that
declares entities is refused, so that none can expand to more than it is."""

import html
import re
from xml.parsers import expat

from charset import to_utf8
from feed import MAX_ENTRIES, MAX_TEXT, BadFeed, Feed, Item

MAX_DEPTH = 64
MAX_ELEMENTS = 200_000

ATOM = {"http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#"}
RSS = {"", "http://purl.org/rss/1.0/", "http://my.netscape.com/rdf/simple/0.9/", "http://backend.userland.com/rss2"}
CORE = ATOM | RSS
DUBLIN_CORE = {"http://purl.org/dc/elements/1.1/", "http://purl.org/dc/terms/"}
CONTENT = {"http://purl.org/rss/1.0/modules/content/"}
XHTML = "http://www.w3.org/1999/xhtml"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

# The field for each element with a text: its name, and the namespaces in which it has this meaning.
FIELDS = {
    "title": ("title", CORE),
    "link": ("link", RSS),
    "description": ("summary", CORE),
    "subtitle": ("summary", ATOM),
    "tagline": ("summary", ATOM),
    "summary": ("summary", ATOM),
    "content": ("content", ATOM),
    "encoded": ("content", CONTENT),
    "guid": ("id", RSS),
    "id": ("id", ATOM),
    "pubDate": ("published", RSS),
    "published": ("published", ATOM),
    "issued": ("published", ATOM),
    "date": ("published", DUBLIN_CORE),
    "updated": ("updated", ATOM),
    "modified": ("updated", ATOM),
    "lastBuildDate": ("updated", RSS),
    "author": ("author", RSS),
    "name": ("author", ATOM),
    "creator": ("author", DUBLIN_CORE),
    "category": ("tags", RSS),
}
# Elements whose children are fields.
PARENTS = {"rss", "channel", "feed", "RDF", "item", "entry", "author"}
# Entities of HTML that feeds use without a declaration.
HTML_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,30});")
XML_ENTITIES = {b"amp", b"lt", b"gt", b"quot", b"apos"}
UNDEFINED_ENTITY = 11


def parse(document: bytes) -> Feed:
    """Parses a document. Raises `BadFeed` if it is not a feed."""
    document = to_utf8(document)
    try:
        return _Reader().read(document)
    except expat.ExpatError as error:
        if error.code != UNDEFINED_ENTITY:
            raise BadFeed(f"it is not valid XML: {error}") from None
    try:
        return _Reader().read(HTML_ENTITY.sub(_numeric, document))
    except expat.ExpatError as error:
        raise BadFeed(f"it is not valid XML: {error}") from None


def _numeric(entity: re.Match) -> bytes:
    name = entity[1]
    text = html.unescape(f"&{name.decode()};")
    is_known = name not in XML_ENTITIES and not text.startswith("&")
    return "".join(f"&#{ord(character)};" for character in text).encode() if is_known else entity[0]


class _Reader:
    def __init__(self):
        self.feed = Feed()
        self.item: Item | None = None
        self.is_feed = False
        self.elements = 0
        self.stack: list[tuple[str, str]] = []
        # The field whose text is read, the depth of its element, and the text so far.
        self.field: str | None = None
        self.depth = 0
        self.text: list[str] = []
        self.length = 0

    def read(self, document: bytes) -> Feed:
        parser = expat.ParserCreate("UTF-8", " ")
        parser.buffer_text = True
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.EntityDeclHandler = self.entity_declared
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.CharacterDataHandler, parser.SkippedEntityHandler = self.characters, self.entity_skipped
        parser.Parse(document, True)
        if not self.is_feed:
            raise BadFeed("it is neither RSS nor Atom")
        return self.feed

    def entity_declared(self, *_):
        raise BadFeed("it declares entities, which is refused")

    def entity_skipped(self, name: str, is_parameter: bool):
        """An entity whose declaration would be in another document. Those of HTML are known."""
        text = html.unescape(f"&{name};")
        if not is_parameter and not text.startswith("&"):
            self.characters(text)

    def start(self, name: str, attributes: dict[str, str]):
        self.elements += 1
        namespace, _, local = name.rpartition(" ")
        if self.elements > MAX_ELEMENTS:
            raise BadFeed(f"it has more than {MAX_ELEMENTS} elements")
        if len(self.stack) >= MAX_DEPTH:
            raise BadFeed(f"it has more than {MAX_DEPTH} nested elements")
        parent = self.stack[-1][1] if self.stack else None
        if parent is None:
            known = {("rss", ""), ("RDF", RDF), *(("feed", atom) for atom in ATOM)}
            self.is_feed = (local, namespace) in known
        self.stack.append((namespace, local))
        if self.field is not None:
            self.markup(namespace, local, attributes)
        elif local in ("item", "entry") and namespace in CORE and self.item is None:
            self.item = Item()
        elif parent in PARENTS:
            self.start_field(namespace, local, attributes)

    def start_field(self, namespace: str, local: str, attributes: dict[str, str]):
        target = self.item or self.feed
        if namespace in ATOM and local == "link" and attributes.get("href"):
            self.add_link(target, attributes)
        elif namespace in RSS and local == "enclosure" and self.item and attributes.get("url"):
            self.item.attachments.append(attributes["url"])
        elif namespace in ATOM and local == "category" and self.item and attributes.get("term"):
            self.item.tags.append(attributes["term"])
        elif local in FIELDS and namespace in FIELDS[local][1] and hasattr(target, FIELDS[local][0]):
            self.field, self.depth = FIELDS[local][0], len(self.stack)
            self.text, self.length = [], 0

    def add_link(self, target: Feed | Item, attributes: dict[str, str]):
        match attributes.get("rel", "alternate"):
            case "alternate":
                target.link = target.link or attributes["href"]
            case "enclosure" if self.item:
                self.item.attachments.append(attributes["href"])

    def markup(self, namespace: str, local: str, attributes: dict[str, str]):
        """Keeps the tags of XHTML in a text."""
        if namespace == XHTML:
            kept = [key for key in ("href", "src", "alt") if key in attributes]
            values = "".join(f' {key}="{html.escape(attributes[key])}"' for key in kept)
            self.append(f"<{local}{values}>")

    def characters(self, text: str):
        if self.field is not None:
            # Text between the tags of XHTML is escaped again, like all HTML in feeds.
            self.append(html.escape(text) if len(self.stack) > self.depth else text)

    def append(self, text: str):
        self.length += len(text)
        if self.length > MAX_TEXT:
            raise BadFeed(f"it has a text of more than {MAX_TEXT} characters")
        self.text.append(text)

    def end(self, name: str):
        namespace, local = self.stack.pop()
        if self.field is not None and len(self.stack) < self.depth:
            self.set_field("".join(self.text).strip())
        elif self.field is not None and namespace == XHTML:
            self.append(f"</{local}>")
        elif self.item is not None and local in ("item", "entry") and namespace in CORE:
            if len(self.feed.items) < MAX_ENTRIES:
                self.feed.items.append(self.item)
            self.item = None

    def set_field(self, text: str):
        target, field = self.item or self.feed, self.field
        self.field = None
        if field == "tags":
            target.tags.append(text)
        elif text and not getattr(target, field):
            setattr(target, field, text)
