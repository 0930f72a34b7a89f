"""The SDK by itself, with any Python: `python -m unittest discover -s tests`."""

import sys
import unittest
from types import SimpleNamespace
from unittest.mock import patch

from larder_provider import (
    Completion,
    Content,
    Details,
    Entry,
    Invalid,
    Match,
    NotFound,
    NotModified,
    Provider,
    Query,
    Reading,
    Request,
    export,
    host,
    http,
    paginate,
)
from larder_provider.errors import explained
from larder_provider.provider import about


class Pages(unittest.TestCase):
    def check(self, query, expected, cursor):
        kinds = ["even", "odd"]
        entries = [Entry(f"n:{n}", "", details=Details(kind=kinds[n % 2])) for n in range(6)]
        page = paginate(entries, query)
        self.assertEqual(([entry.uri for entry in page.entries], page.next_cursor), (expected, cursor), query)

    def test_a_page_holds_what_follows_its_cursor(self):
        self.check(Query(limit=2), ["n:0", "n:1"], "n:1")
        self.check(Query("n:1", 2), ["n:2", "n:3"], "n:3")
        self.check(Query("n:3", 2), ["n:4", "n:5"], None)
        self.check(Query("n:35", 9), ["n:4", "n:5"], None)
        self.check(Query(limit=0), ["n:0"], "n:0")

    def test_hints_filter_before_the_page_is_cut(self):
        self.check(Query(limit=2, kind="odd"), ["n:1", "n:3"], "n:3")
        self.check(Query(limit=2, uri_prefix="n:4"), ["n:4"], None)


class Answers(unittest.TestCase):
    def test_a_request_gives_the_values_of_its_template(self):
        request = Request("n:7", Match("n:{id}", [("id", "7")]))
        self.assertEqual(request.var("id"), "7")
        self.assertRaises(Invalid, request.var, "other")
        self.assertRaises(NotFound, Request("n:7").var, "id")

    def test_what_the_caller_holds_ends_the_read(self):
        self.assertRaises(NotModified, Request("n:7", known_version="3").unless_known, "3")
        Request("n:7", known_version="2").unless_known("3")

    def test_an_answer_has_no_more_than_a_hundred_suggestions(self):
        found = Completion.matching(map(str, range(150)), "")
        self.assertEqual((len(found.values), found.total, found.more), (100, 150, True))

    def test_no_version_is_known_unless_written(self):
        self.assertEqual(Provider().versions(["n:1", "n:2"]), [None, None])


class Greedy(unittest.TestCase):
    def check(self, template, uri, expected):
        found = Match.greedy(template, uri)
        self.assertEqual(found and found.variables, expected, (template, uri))

    def test_the_last_variable_takes_the_rest(self):
        self.check("file:///{path}", "file:///a/b/c", [("path", "a/b/c")])
        self.check("file:///{path}", "file:///a%20b/%e2%82%ac%", [("path", "a b/€%")])
        self.check("git://{repo}/{path}", "git://r/a/b", [("repo", "r"), ("path", "a/b")])
        self.check("x:{a}-{b}.md", "x:1-2-3/4.md", [("a", "1-2"), ("b", "3/4")])
        self.check("file:///{path}", "file:///", None)
        self.check("n:///{path}", "n:///%ff", None)
        self.check("git://{repo}/{path}", "git://r", None)
        self.check("x:{a}/{+b}", "x:1/2", None)
        self.check("x:{a,b}", "x:1/2", None)
        self.check("x:y", "x:y", None)

    def test_a_greedy_provider_claims_and_matches(self):
        class Files(Provider):
            def greedy(self):
                return ["n:///{path}", "n:///{a}/{b}"]

        self.assertEqual(about(Files()).claims, ["n:///"])
        self.assertEqual(Files().match_uri("n:///a/b").uri_template, "n:///{path}")
        self.assertIsNone(Provider().match_uri("n:///a/b"))


class Errors(unittest.TestCase):
    def check(self, error, name, text, logged=False):
        log = []
        met = explained(error, "read", log.append)
        self.assertEqual((type(met).__name__, str(met), bool(log)), (name, text, logged))

    def test_an_exception_becomes_what_it_means(self):
        self.check(Invalid("a bad cursor"), "Invalid", "a bad cursor")
        self.check(FileNotFoundError(2, "x"), "NotFound", "")
        self.check(PermissionError("x"), "Denied", "x")
        self.check(TimeoutError("x"), "Unavailable", "x")

    def test_one_that_means_nothing_is_a_failure_with_its_traceback_in_the_log(self):
        self.check(KeyError("x"), "Failed", "KeyError: 'x'", logged=True)
        self.check(MemoryError(), "Failed", "MemoryError", logged=True)

    def test_a_status_becomes_what_it_means(self):
        self.assertEqual(http.Response(204).accepted().status, 204)
        for status, name in [(304, "NotModified"), (404, "NotFound"), (403, "Denied"), (503, "Unavailable")]:
            with self.assertRaises(Exception) as met:
                http.Response(status).accepted()
            self.assertEqual(type(met.exception).__name__, name)

    def test_half_a_character_is_not_told(self):
        self.assertEqual(host.unicode([("é", "caf\udce9"), None]), [("é", "caf?"), None])

    def test_a_component_is_made_in_the_module_that_exports_it(self):
        made = SimpleNamespace(classes=lambda provider: {"ResourceProvider": type(provider)})
        module = {"export": export, "Provider": Provider}
        with patch.object(sys.modules["larder_provider.export"], "guest", made):
            exec("export(Provider)", module)
        self.assertIs(module["ResourceProvider"], Provider)

    def test_only_a_provider_can_be_exported(self):
        self.assertRaises(TypeError, export, object)


if __name__ == "__main__":
    unittest.main()
