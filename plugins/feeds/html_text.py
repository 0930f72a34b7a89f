"""HTML of feeds as Markdown. Scripts, styles and unknown tags are removed, so that no markup remains."""

import re
from html.parser import HTMLParser

BLOCKS = {"p", "div", "section", "article", "header", "footer", "table", "tr", "ul", "ol", "blockquote", "figure", "hr"}
HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
SKIPPED = {"script", "style", "template", "noscript", "iframe", "object", "svg", "head", "title"}
MARKS = {"strong": "**", "b": "**", "em": "*", "i": "*", "code": "`"}
SPACES = re.compile(r"[^\S\n]+")
BREAKS = re.compile(r"[^\S\n]*\n[^\S\n]*")
MANY_BREAKS = re.compile(r"\n{3,}")


def markdown(text: str) -> str:
    """Converts HTML, or plain text, to Markdown."""
    if "<" not in text and "&" not in text:
        return text.strip()
    converter = _Converter()
    converter.feed(text)
    converter.close()
    return MANY_BREAKS.sub("\n\n", "".join(converter.parts)).strip()


def plain(text: str) -> str:
    """The text of HTML in one line."""
    return " ".join(markdown(text).split())


class _Converter(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.skipped = 0
        self.preformatted = 0
        self.links: list[str | None] = []

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if tag in SKIPPED:
            self.skipped += 1
        elif self.skipped:
            return
        elif tag in HEADINGS:
            self.parts.append(f"\n\n{HEADINGS[tag]} ")
        elif tag == "br":
            self.parts.append("\n")
        elif tag == "li":
            self.parts.append("\n- ")
        elif tag == "pre":
            self.preformatted += 1
            self.parts.append("\n\n```\n")
        elif tag == "a":
            self.links.append(_web_address(values.get("href")))
            self.parts.append("[" if self.links[-1] else "")
        elif tag == "img":
            self.parts.append(f"(image: {values['alt']})" if values.get("alt") else "")
        elif tag in BLOCKS:
            self.parts.append("\n\n")
        elif not self.preformatted:
            self.parts.append(MARKS.get(tag, ""))

    def handle_endtag(self, tag):
        if tag in SKIPPED:
            self.skipped = max(0, self.skipped - 1)
        elif self.skipped:
            return
        elif tag == "pre" and self.preformatted:
            self.preformatted -= 1
            self.parts.append("\n```\n\n")
        elif tag == "a" and self.links:
            link = self.links.pop()
            self.parts.append(f"]({link})" if link else "")
        elif tag in BLOCKS or tag in HEADINGS:
            self.parts.append("\n\n")
        elif not self.preformatted:
            self.parts.append(MARKS.get(tag, ""))

    def handle_data(self, data):
        if not self.skipped:
            self.parts.append(data if self.preformatted else SPACES.sub(" ", BREAKS.sub(" ", data)))


def _web_address(url: str | None) -> str | None:
    """The address of a link, if it leads to the web and does not end the link in Markdown."""
    is_web = url is not None and url.lower().startswith(("https://", "http://")) and len(url) < 2000
    return url if is_web and not re.search(r"[\s()<>\\]", url) else None
