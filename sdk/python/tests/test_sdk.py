"""Native tests of the SDK, with any Python: `python -m unittest discover -s tests`."""

import math
import sys
import unittest
from collections.abc import Sequence
from types import SimpleNamespace
from unittest.mock import patch

from larder_provider import (
    Completion,
    Content,
    Details,
    Entry,
    Failed,
    Invalid,
    Match,
    NotFound,
    NotModified,
    Provider,
    Query,
    Reading,
    Request,
    Unavailable,
    Variable,
    export,
    host,
    http,
    key_value,
    paginate,
    provider,
)
from larder_provider.errors import to_error
from larder_provider.provider import description


class Pages(unittest.TestCase):
    def check(self, query, expected, cursor):
        kinds = ["even", "odd"]
        entries = [Entry(f"n:{n}", "", details=Details(kind=kinds[n % 2])) for n in range(6)]
        page = paginate(entries, query)
        self.assertEqual(([entry.uri for entry in page.entries], page.next_cursor), (expected, cursor), query)

    def test_a_page_begins_after_the_cursor(self):
        self.check(Query(limit=2), ["n:0", "n:1"], "n:1")
        self.check(Query("n:1", 2), ["n:2", "n:3"], "n:3")
        self.check(Query("n:3", 2), ["n:4", "n:5"], None)
        self.check(Query("n:35", 9), ["n:4", "n:5"], None)
        self.check(Query(limit=0), ["n:0"], "n:0")

    def test_hints_filter_before_the_limit_applies(self):
        self.check(Query(limit=2, kind="odd"), ["n:1", "n:3"], "n:3")
        self.check(Query(limit=2, uri_prefix="n:4"), ["n:4"], None)

    def test_a_page_ends_early_if_its_entries_are_slow(self):
        now = 0.0

        def slow():
            nonlocal now
            for n in range(6):
                # The time before the first entry is the same for each page, so it does not count.
                now += 0.3 if n == 0 else 0.16
                yield Entry(f"n:{n}", "")

        with patch("time.monotonic", lambda: now):
            page = paginate(slow(), Query(limit=9))
        self.assertEqual((len(page.entries), page.next_cursor), (2, "n:1"))


    def test_a_sequence_is_searched_for_the_cursor(self):
        created = []

        class Numbers(Sequence):
            def __len__(self):
                return 50_000

            def __getitem__(self, n):
                if not 0 <= n < len(self):
                    raise IndexError
                created.append(n)
                return Entry(f"n:{n:05}", "")

        page = paginate(Numbers(), Query("n:40000", 3))
        self.assertEqual([entry.uri for entry in page.entries], ["n:40001", "n:40002", "n:40003"])
        self.assertEqual(page.next_cursor, "n:40003")
        self.assertLess(len(created), 30)
        self.assertEqual(paginate(Numbers(), Query("n:49999", 3)).entries, [])

    def test_a_function_begins_after_the_cursor(self):
        created = []

        def numbers(after):
            for n in range(int(after[2:]) if after else 0, 50_000):
                created.append(n)
                yield Entry(f"n:{n:05}", "")

        pages = [paginate(numbers, Query(limit=1000))]
        while pages[-1].next_cursor:
            pages.append(paginate(numbers, Query(pages[-1].next_cursor, 1000)))
        self.assertEqual([entry.uri for page in pages for entry in page.entries], [f"n:{n:05}" for n in range(50_000)])
        # One entry more at both ends of each page.
        self.assertLess(len(created), 50_000 + 2 * len(pages))

    def test_entries_that_are_created_again_for_each_page_are_reported(self):
        now = 0.0

        def slow():
            nonlocal now
            for n in range(6):
                now += 0.08
                yield Entry(f"n:{n}", "")

        with patch("time.monotonic", lambda: now), patch.object(provider, "warn") as warn:
            paginate(slow(), Query("n:1", 1))
            warn.assert_not_called()
            paginate(slow(), Query("n:3", 1))
        self.assertIn("created 4 entries again in 0.4 s", warn.call_args[0][0])


class Requests(unittest.TestCase):
    def test_a_request_returns_the_values_of_its_template(self):
        request = Request("n:7", Match("n:{id}", [("id", "7")]))
        self.assertEqual(request.var("id"), "7")
        self.assertRaises(Invalid, request.var, "other")
        self.assertRaises(NotFound, Request("n:7").var, "id")
        self.assertEqual([request.optional_var(name) for name in ("id", "other")], ["7", None])
        self.assertEqual(request.optional_var("other", "1"), "1")

    def test_lists_and_maps_of_a_template(self):
        values = [("n", "1"), ("n", "2"), Variable("q", "x", "a"), Variable("q", "y", "b")]
        request = Request("n:1,2?a=x&b=y", Match("n:{n*}{?q*}", values))
        self.assertEqual((request.var("n"), request.vars("n"), request.map("n")), ("1,2", ["1", "2"], {}))
        self.assertEqual((request.vars("q"), request.map("q")), (["x", "y"], {"a": "x", "b": "y"}))
        self.assertEqual(Request("n:1").map("q"), {})

    def test_a_known_version_is_not_modified(self):
        self.assertRaises(NotModified, Request("n:7", known_version="3").unless_known, "3")
        Request("n:7", known_version="2").unless_known("3")

    def test_a_completion_has_at_most_a_hundred_values(self):
        found = Completion.matching(map(str, range(150)), "")
        self.assertEqual((len(found.values), found.total, found.more), (100, 150, True))

    def test_the_default_returns_no_versions(self):
        self.assertEqual(Provider().versions(["n:1", "n:2"]), [None, None])


class Greedy(unittest.TestCase):
    def check(self, template, uri, expected):
        found = Match.greedy(template, uri)
        variables = found and [(variable.name, variable.value) for variable in found.variables]
        self.assertEqual(variables, expected, (template, uri))

    def test_the_last_variable_matches_slashes(self):
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

        self.assertEqual(description(Files()).claims, ["n:///"])
        self.assertEqual(Files().match_uri("n:///a/b").uri_template, "n:///{path}")
        self.assertIsNone(Provider().match_uri("n:///a/b"))


class Errors(unittest.TestCase):
    def check(self, error, name, text, logged=False):
        log = []
        actual = to_error(error, "read", log.append)
        self.assertEqual((type(actual).__name__, str(actual), bool(log)), (name, text, logged))

    def test_known_exceptions_are_mapped_to_errors(self):
        self.check(Invalid("a bad cursor"), "Invalid", "a bad cursor")
        self.check(FileNotFoundError(2, "x"), "NotFound", "")
        self.check(PermissionError("x"), "Denied", "x")
        self.check(TimeoutError("x"), "Unavailable", "x")

    def test_a_missing_file_leaves_a_trace(self):
        def opened(path, name):
            try:
                open(path)
            except FileNotFoundError as error:
                return to_error(error, name, self.fail)

        with patch.object(host, "debug") as debug:
            self.assertIsInstance(opened("/gone/x", "read"), NotFound)
        logged = r"^read: not found, because of FileNotFoundError: .*'/gone/x' \(.*test_sdk.py:"
        self.assertRegex(debug.call_args[0][0], logged)
        # In a component, only granted folders exist.
        with patch.object(host, "warn") as warn, patch("os.path.isdir", lambda folder: folder == "/notes"):
            self.assertIsInstance(opened("/gone/x", "read"), NotFound)
            self.assertIn("'/gone/x'; no granted folder contains it (", warn.call_args[0][0])
            failed = opened("/gone", "list")
            self.assertIsInstance(failed, Failed)
            self.assertRegex(str(failed), r"'/gone'; no granted folder contains it \(.*test_sdk.py:")
            self.assertNotIn("granted", str(opened("/notes/a/b", "list")))

    def test_unknown_exceptions_are_failures_with_a_logged_traceback(self):
        self.check(KeyError("x"), "Failed", "KeyError: 'x'", logged=True)
        self.check(MemoryError(), "Failed", "MemoryError", logged=True)

    def test_status_codes_are_mapped_to_errors(self):
        self.assertEqual(http.Response(204).accepted().status, 204)
        for status, name in [(304, "NotModified"), (404, "NotFound"), (403, "Denied"), (503, "Unavailable")]:
            with self.assertRaises(Exception) as raised:
                http.Response(status).accepted()
            self.assertEqual(type(raised.exception).__name__, name)

    def test_requests_without_a_host_are_unavailable(self):
        self.assertRaises(Unavailable, http.get, "a://x")
        found = http.send_all([http.Request("a://x"), http.Request("a://y", "PUT", {"a": "b"}, b"x", 0.5)])
        self.assertEqual([type(error) for error in found], [Unavailable] * 2)
        self.assertEqual(host.time_left(), math.inf)

    def test_without_a_host_values_are_in_memory(self):
        shared = key_value.shared
        shared.set("a/2", "zwei")
        shared.set("a/1", b"one")
        self.assertEqual((shared.get("a/1"), shared.get_text("a/2"), shared.get("b")), (b"one", "zwei", None))
        self.assertEqual((list(shared.keys("a/")), list(key_value.caller.keys())), (["a/1", "a/2"], []))
        self.assertFalse(shared.compare_and_swap("a/1", None, "uno"))
        self.assertTrue(shared.compare_and_swap("a/1", "one", "uno"))
        self.assertTrue(shared.compare_and_swap("a/1", "uno", None))
        shared.delete("a/2")
        self.assertEqual(list(shared.keys()), [])

    def test_lone_surrogates_are_replaced(self):
        self.assertEqual(host.valid_unicode([("é", "caf\udce9"), None]), [("é", "caf?"), None])

    def test_export_adds_the_classes_to_the_calling_module(self):
        guest = SimpleNamespace(classes=lambda provider: {"ResourceProvider": type(provider)})
        module = {"export": export, "Provider": Provider}
        with patch.object(sys.modules["larder_provider.export"], "guest", guest):
            exec("export(Provider)", module)
        self.assertIs(module["ResourceProvider"], Provider)

    def test_only_a_provider_can_be_exported(self):
        self.assertRaises(TypeError, export, object)


if __name__ == "__main__":
    unittest.main()
