"""Decodes documents of the web, whose authors choose the encoding.

A component contains only the modules that were imported when it was built, so all codecs are imported here. They make the
component 0.5 MiB larger (of 20 MiB). The tables of Chinese, Japanese and Korean are not a part of that: each component in
Python contains them."""

import codecs
import importlib
import re
from encodings.aliases import aliases

from feed import BadFeed

CODECS = {
    name: importlib.import_module(f"encodings.{name}").getregentry()
    for name in [
        "utf_8", "utf_16", "utf_16_le", "utf_16_be", "utf_32",
        *(f"cp{number}" for number in [1250, 1251, 1252, 1253, 1254, 1255, 1256, 1257, 1258, 437, 850, 852, 866, 874]),
        *(f"iso8859_{number}" for number in [2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16]),
        "koi8_r", "koi8_u", "mac_roman", "mac_cyrillic",
        "gb18030", "big5hkscs", "cp932", "euc_jp", "iso2022_jp", "cp949", "iso2022_kr",
    ]
}  # fmt: skip
# Encodings that browsers read as another one, which contains all of their characters and more.
LARGER = {
    "ascii": "cp1252",
    "latin_1": "cp1252",
    "iso8859_9": "cp1254",
    "iso8859_11": "cp874",
    "tis_620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "cp950": "big5hkscs",
    "shift_jis": "cp932",
    "sjis": "cp932",
    "euc_kr": "cp949",
}
OTHER_NAMES = {"windows_31j": "cp932", "iso_8859_8_i": "iso8859_8", "macintosh": "mac_roman"}
# The beginnings of documents that decide the encoding, whatever the document declares.
BEGINNINGS = [
    (codecs.BOM_UTF8, "utf_8"),
    (codecs.BOM_UTF32_LE, "utf_32"),
    (codecs.BOM_UTF32_BE, "utf_32"),
    (codecs.BOM_UTF16_LE, "utf_16"),
    (codecs.BOM_UTF16_BE, "utf_16"),
    (b"<\0", "utf_16_le"),
    (b"\0<", "utf_16_be"),
]
DECLARATION = re.compile(rb"""\s*<\?xml\s[^>]{0,200}?\bencoding\s*=\s*["']([^"'<>]{1,1000})""")
MAX_NAME = 40


def to_utf8(document: bytes) -> bytes:
    """Converts an XML document to UTF-8. Bytes that are not valid are replaced, except those of UTF-8: these are left to
    the parser. Raises `BadFeed` if the encoding is not known."""
    codec = _codec(document)
    if codec == "utf_8":
        return document
    text, _ = CODECS[codec].decode(document, "replace")
    return text.encode("utf-8", "replace")


def codec_of(name: str) -> str | None:
    """The codec for the name of an encoding; None if it is not known."""
    name = re.sub(r"[^a-z0-9]", "_", name.strip().lower())
    for candidate in (name, name.removeprefix("x_"), name.replace("windows_", "cp")):
        codec = OTHER_NAMES.get(candidate) or aliases.get(candidate, candidate)
        codec = LARGER.get(codec, codec)
        if codec in CODECS:
            return codec
    return None


def _codec(document: bytes) -> str:
    for beginning, codec in BEGINNINGS:
        if document.startswith(beginning):
            return codec
    declared = DECLARATION.match(document)
    if not declared:
        return "utf_8"
    name = declared[1].decode("latin-1")
    codec = codec_of(name)
    if codec is None:
        raise BadFeed(f"its encoding `{name[:MAX_NAME]}` is not known")
    # A document whose declaration can be read as ASCII has none of these, whatever it declares.
    return "utf_8" if codec in ("utf_16", "utf_16_le", "utf_16_be", "utf_32") else codec
