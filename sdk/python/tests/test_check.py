"""Native tests of the checks: one row for each mistake, with the exact message."""

import array
import enum
import inspect
import sys
import unittest
from collections import deque
from pathlib import Path

from larder_provider import (
    Completion,
    Content,
    Description,
    Details,
    Entry,
    EntryPage,
    Freshness,
    Icon,
    Match,
    NotFound,
    Provider,
    Reading,
    Request,
    Template,
    TemplatePage,
    Variable,
    export,
)
from larder_provider.check import call
from larder_provider.checks import show
from larder_provider.errors import WrongValue, to_error
from larder_provider.provider import description

LONG = "x" * 100


class Kind(str, enum.Enum):
    FILE = "file"


class FineEntry(Entry):
    pass


def provider(name, method):
    """A provider with this method."""
    return type("Test", (Provider,), {name: staticmethod(method)})()


def wrong(name, result, *arguments):
    """The message about a wrong result, without the place of the function."""
    try:
        call(provider(name, lambda *_: result), name, *arguments)
    except WrongValue as error:
        text, place = str(error).rsplit(" (", 1)
        assert place.startswith(__file__), place
        return text.removeprefix(f"{name} returned a wrong value: ")
    return "no error"


def entry(**fields):
    return [Entry("a://x", "x", **fields)]


def details(**fields):
    return entry(details=Details(**fields))


async def coroutine():
    pass


async def async_generator():
    yield Entry("a://x", "x")


ENTRIES = "the result must be a list of entries or an EntryPage"
CONTENTS = "the result must be a Content, a list of contents or a Reading"
VERSIONS = "the result must be a list of length 2, with a str or None for each URI"
SIZE = "`size` of entry 0 (uri 'a://x') must be an int from 0 to 2^64 - 1, but is"
TTL = "`freshness.ttl_ms` must be an int from 0 to 2^64 - 1, but is"

# The method, its result, and the message after `… returned a wrong value: `.
MISTAKES = [
    ("list", None, f"{ENTRIES}, but is None; is a `return` missing?"),
    ("list", "a://x", f"{ENTRIES}, but is 'a://x'"),
    ("list", b"a://x", f"{ENTRIES}, but is b'a://x'"),
    ("list", {"a://x": "x"}, f"{ENTRIES}, but is a dict of 1 item"),
    ("list", entry()[0], f"{ENTRIES}, but is an Entry"),
    ("list", TemplatePage(), f"{ENTRIES}, but is a TemplatePage"),
    ("list", Entry, f"{ENTRIES}, but is the class Entry"),
    ("list", 5, f"{ENTRIES}, but is 5"),
    ("list", [None], "entry 0 must be an Entry, but is None"),
    ("list", [*entry(), "a://y"], "entry 1 must be an Entry, but is 'a://y'"),
    ("list", [{"uri": "a://x", "name": "x"}], "entry 0 must be an Entry, but is a dict of 2 items"),
    ("list", [Template("a://{x}", "x")], "entry 0 (name 'x') must be an Entry, but is a Template"),
    ("list", iter([*entry(), None]), "entry 1 must be an Entry, but is None"),
    ("list", [Entry(None, "x")], "`uri` of entry 0 (name 'x') must be a str, but is None"),
    ("list", [Entry(Path("/x"), None)], "`uri` of entry 0 must be a str, but is a PosixPath"),
    ("list", [Entry("a://x", None)], "`name` of entry 0 (uri 'a://x') must be a str, but is None"),
    ("list", [Entry(f"a://{LONG}", 5)], f"`name` of entry 0 (uri 'a://{LONG[:53]}…') must be a str, but is 5"),
    ("list", [Entry("a://x", b"x")], "`name` of entry 0 (uri 'a://x') must be a str, but is b'x'"),
    ("list", [Entry("a://x", LONG.encode())], f"`name` of entry 0 (uri 'a://x') must be a str, but is b'{LONG[:56]}…'"),
    ("list", entry(title=["x"]), "`title` of entry 0 (uri 'a://x') must be a str, but is a list of 1 item"),
    ("list", entry(description=()), "`description` of entry 0 (uri 'a://x') must be a str, but is a tuple of 0 items"),
    ("list", entry(mime_type=5), "`mime_type` of entry 0 (uri 'a://x') must be a str, but is 5"),
    ("list", entry(version=7), "`version` of entry 0 (uri 'a://x') must be a str, but is 7"),
    ("list", entry(size=-1), f"{SIZE} -1"),
    ("list", entry(size=1 << 64), f"{SIZE} 18446744073709551616"),
    ("list", entry(size=-(10**5000)), f"{SIZE} an int of 16610 bits"),
    ("list", entry(size=1.0), f"{SIZE} 1.0"),
    ("list", entry(size=float("nan")), f"{SIZE} nan"),
    ("list", entry(size=True), f"{SIZE} True"),
    ("list", entry(size="5"), f"{SIZE} '5'"),
    ("list", entry(details={}), "`details` of entry 0 (uri 'a://x') must be a Details, but is a dict of 0 items"),
    ("list", details(kind=5), "`details.kind` of entry 0 (uri 'a://x') must be a str, but is 5"),
    ("list", details(audience="user"), "`details.audience` of entry 0 (uri 'a://x') must be a list, but is 'user'"),
    ("list", details(audience=None), "`details.audience` of entry 0 (uri 'a://x') must be a list, but is None"),
    ("list", details(audience=["user", "User"]), "`details.audience[1]` of entry 0 (uri 'a://x') must be 'user' or 'assistant', but is 'User'"),
    ("list", details(audience=[[]]), "`details.audience[0]` of entry 0 (uri 'a://x') must be 'user' or 'assistant', but is a list of 0 items"),
    ("list", details(priority="1"), "`details.priority` of entry 0 (uri 'a://x') must be a finite float, but is '1'"),
    ("list", details(priority=True), "`details.priority` of entry 0 (uri 'a://x') must be a finite float, but is True"),
    ("list", details(priority=float("nan")), "`details.priority` of entry 0 (uri 'a://x') must be a finite float, but is nan"),
    ("list", details(priority=10**400), "`details.priority` of entry 0 (uri 'a://x') must be a finite float, but is an int of 1329 bits"),
    ("list", details(last_modified=5), "`details.last_modified` of entry 0 (uri 'a://x') must be a str, but is 5"),
    ("list", details(icons=Icon("a:b")), "`details.icons` of entry 0 (uri 'a://x') must be a list, but is an Icon"),
    ("list", details(icons=["a:b"]), "`details.icons[0]` of entry 0 (uri 'a://x') must be an Icon, but is 'a:b'"),
    ("list", details(icons=[Icon(None)]), "`details.icons[0].src` of entry 0 (uri 'a://x') must be a str, but is None"),
    ("list", details(icons=[Icon("a:b", 5)]), "`details.icons[0].mime_type` of entry 0 (uri 'a://x') must be a str, but is 5"),
    ("list", details(icons=[Icon("a:b"), Icon("a:b", sizes=["any", 48])]), "`details.icons[1].sizes[1]` of entry 0 (uri 'a://x') must be a str, but is 48"),
    ("list", details(icons=[Icon("a:b", theme="Dark")]), "`details.icons[0].theme` of entry 0 (uri 'a://x') must be 'light' or 'dark', but is 'Dark'"),
    ("list", details(metadata={"a": "1"}), "`details.metadata` of entry 0 (uri 'a://x') must be a list of tuples, but is a dict of 1 item"),
    ("list", details(metadata=["ab"]), "`details.metadata[0]` of entry 0 (uri 'a://x') must be a tuple of two strs, but is 'ab'"),
    ("list", details(metadata=[("a",)]), "`details.metadata[0]` of entry 0 (uri 'a://x') must be a tuple of two strs, but is a tuple of 1 item"),
    ("list", details(metadata=[("a", 1)]), "`details.metadata[0][1]` of entry 0 (uri 'a://x') must be a str, but is 1"),
    ("list", EntryPage(None), "`entries` must be a list of entries, but is None"),
    ("list", EntryPage([Entry("a://x", 5)]), "`name` of entry 0 (uri 'a://x') must be a str, but is 5"),
    ("list", EntryPage([], next_cursor=5), "`next_cursor` must be a str, but is 5"),
    ("list", EntryPage([], freshness=5), "`freshness` must be a Freshness, but is 5"),
    ("list", EntryPage([], freshness=Freshness(None)), f"{TTL} None"),
    ("list", EntryPage([], freshness=Freshness(0.5)), f"{TTL} 0.5"),
    ("list", EntryPage([], freshness=Freshness(5, "all")), "`freshness.scope` must be 'everyone' or 'caller', but is 'all'"),
    ("templates", None, "the result must be a list of templates or a TemplatePage, but is None; is a `return` missing?"),
    ("templates", ["a://{x}"], "template 0 must be a Template, but is 'a://{x}'"),
    ("templates", entry(), "template 0 (name 'x') must be a Template, but is an Entry"),
    ("templates", [Template("a://{x}", None)], "`name` of template 0 (uri_template 'a://{x}') must be a str, but is None"),
    ("templates", [Template(5, "x")], "`uri_template` of template 0 (name 'x') must be a str, but is 5"),
    ("templates", [Template("a://{x}", "x", details=Details(5))], "`details.kind` of template 0 (uri_template 'a://{x}') must be a str, but is 5"),
    ("templates", TemplatePage("x"), "`templates` must be a list of templates, but is 'x'"),
    ("templates", TemplatePage([], next_cursor=5), "`next_cursor` must be a str, but is 5"),
    ("templates", TemplatePage([], freshness=Freshness(-1)), f"{TTL} -1"),
    ("greedy", None, "the result must be a list of strs, but is None; is a `return` missing?"),
    ("greedy", "a://{x}", "the result must be a list of strs, but is 'a://{x}'"),
    ("greedy", ["a://{x}", 5], "template 1 must be a str, but is 5"),
    ("match_uri", "a://{x}", "the result must be a Match, but is 'a://{x}'"),
    ("match_uri", False, "the result must be a Match, but is False"),
    ("match_uri", Match(None), "`uri_template` must be a str, but is None"),
    ("match_uri", Match("a://{x}", {"x": "1"}), "`variables` must be a list of variables, but is a dict of 1 item"),
    ("match_uri", Match("a://{x}", [("x", 1)]), "`variables[0].value` must be a str, but is 1"),
    ("match_uri", Match("a://{x}", ["x"]), "`variables[0]` must be a Variable, but is 'x'"),
    ("match_uri", Match("a://{x}", [Variable("x", "1", 2)]), "`variables[0].key` must be a str, but is 2"),
    ("read", None, f"{CONTENTS}, but is None; is a `return` missing?"),
    ("read", "text", f"{CONTENTS}, but is 'text'"),
    ("read", b"text", f"{CONTENTS}, but is b'text'"),
    ("read", Content(None), "`body` must be a str or bytes, but is None"),
    ("read", Content([1]), "`body` must be a str or bytes, but is a list of 1 item"),
    ("read", Content("", mime_type=5), "`mime_type` must be a str, but is 5"),
    ("read", Content("", uri=b"a://x"), "`uri` must be a str, but is b'a://x'"),
    ("read", Content("", metadata=None), "`metadata` must be a list of tuples, but is None"),
    ("read", [Content(""), "text"], "content 1 must be a Content, but is 'text'"),
    ("read", [Content(5, uri="a://x")], "`body` of content 0 (uri 'a://x') must be a str or bytes, but is 5"),
    ("read", Reading("text"), "`contents` must be a Content or a list of contents, but is 'text'"),
    ("read", Reading(Content("", mime_type=5)), "`contents.mime_type` must be a str, but is 5"),
    ("read", Reading([Content("", mime_type=5)]), "`mime_type` of content 0 must be a str, but is 5"),
    ("read", Reading([], version=3), "`version` must be a str, but is 3"),
    ("read", Reading([], freshness=Freshness("1")), f"{TTL} '1'"),
    ("complete", None, "the result must be a Completion, but is None; is a `return` missing?"),
    ("complete", ["a"], "the result must be a Completion, but is a list of 1 item"),
    ("complete", Completion("a"), "`values` must be a list, but is 'a'"),
    ("complete", Completion(["a", 5]), "`values[1]` must be a str, but is 5"),
    ("complete", Completion([], total=-1), "`total` must be an int from 0 to 2^64 - 1, but is -1"),
    ("complete", Completion([], more=1), "`more` must be a bool, but is 1"),
    ("versions", None, f"{VERSIONS}, but is None; is a `return` missing?"),
    ("versions", "12", f"{VERSIONS}, but is '12'"),
    ("versions", ["1"], f"{VERSIONS}, but is a list of 1 item"),
    ("versions", ["1", 2], "version 1 must be a str, but is 2"),
    ("describe", None, "the result must be a Description, but is None; is a `return` missing?"),
    ("describe", "x", "the result must be a Description, but is 'x'"),
    ("describe", Description(5), "`title` must be a str, but is 5"),
    ("describe", Description(version=1), "`version` must be a str, but is 1"),
    ("describe", Description(summary=[]), "`summary` must be a str, but is a list of 0 items"),
    ("describe", Description(instructions=object()), "`instructions` must be a str, but is an object"),
    ("describe", Description(claims="a://"), "`claims` must be a list, but is 'a://'"),
    ("describe", Description(claims=["a://", None]), "`claims[1]` must be a str, but is None"),
]

# The arguments of the methods.
ARGUMENTS = {"describe": [], "greedy": [], "versions": [["a://x", "a://y"]]}


class Mistakes(unittest.TestCase):
    maxDiff = None

    def test_a_wrong_value_is_named(self):
        for name, result, message in MISTAKES:
            with self.subTest(message):
                self.assertEqual(wrong(name, result, *ARGUMENTS.get(name, [None])), message)

    def test_a_message_names_the_place_of_the_method(self):
        class Wrong(Provider):
            def list(self, query):
                return [Entry("a://x", 5)]

        line = Wrong.list.__code__.co_firstlineno
        message = f"list returned a wrong value: `name` of entry 0 (uri 'a://x') must be a str, but is 5 ({__file__}:{line})"
        with self.assertRaises(WrongValue) as raised:
            call(Wrong(), "list", None)
        self.assertEqual(str(raised.exception), message)

    def test_a_method_is_never_async(self):
        started = coroutine()
        for result, shown in [(started, "a coroutine"), (async_generator(), "an async_generator")]:
            message = f"the result must not be {shown}: a method of a provider is never `async`"
            self.assertEqual(wrong("list", result, None), message)
        self.assertEqual(inspect.getcoroutinestate(started), inspect.CORO_CLOSED)

    def test_a_method_must_be_callable(self):
        instance = Provider()
        instance.list = entry()
        with self.assertRaises(WrongValue) as raised:
            call(instance, "list", None)
        self.assertEqual(str(raised.exception), "`list` of the provider must be a method, but is a list of 1 item")

    def test_the_results_of_greedy_are_checked_where_they_are_used(self):
        message = r"^greedy returned a wrong value: template 0 must be a str, but is 5 \("
        greedy = provider("greedy", lambda: [5])
        self.assertRaisesRegex(WrongValue, message, description, greedy)
        self.assertRaisesRegex(WrongValue, message, call, greedy, "match_uri", "a://x")

    def test_a_wrong_value_is_logged_without_a_traceback(self):
        log = []
        error = WrongValue("list returned a wrong value")
        self.assertIs(to_error(error, "list", log.append), error)
        self.assertEqual(log, ["list returned a wrong value"])

    def test_an_exception_in_a_generator_is_not_a_wrong_value(self):
        def entries():
            yield Entry("a://x", "x")
            raise NotFound

        self.assertRaises(NotFound, call, provider("list", lambda query: entries()), "list", None)

    def test_a_shown_value_has_at_most_sixty_characters(self):
        class Unprintable:
            def __repr__(self):
                raise ValueError

        cases = [LONG, LONG.encode(), "\x00" * 100, "'" * 100, Unprintable(), type(LONG, (), {})(), type(LONG, (), {}), type(LONG, (list,), {})()]
        for value in [*cases, 10**5000, -(10**37), 1.5e-300, deque(), set(), frozenset(), bytearray(5), Kind.FILE]:
            self.assertLessEqual(len(show(value)), 60)


class CorrectValues(unittest.TestCase):
    def check(self, name, result, expected=None):
        checked = call(provider(name, lambda *_: result), name, *ARGUMENTS.get(name, [None]))
        self.assertEqual(checked, result if expected is None else expected)

    def test_correct_values_pass_unchanged(self):
        pairs = [("a", "1"), ["a", "2"]]
        icons = (Icon("a:b", "image/png", ["any"], "dark"), Icon("a:b"))
        every = Details("file", ["user", "assistant"], 0.5, "", icons, pairs)
        listed = [
            Entry("a://x", ""),
            FineEntry("a://y", "y", "t", "d", "m", (1 << 64) - 1, "", every),
            Entry("a://z", "caf\udce9", size=0, details=Details(Kind.FILE, priority=1)),
        ]
        fresh = Freshness(0, "caller")
        self.check("list", EntryPage(listed, "a://y", fresh))
        for entries in [listed, tuple(listed), deque(listed), iter(listed), dict(enumerate(listed)).values()]:
            self.check("list", entries, EntryPage(listed))
        self.check("list", EntryPage(iter(listed)), EntryPage(listed))
        template = Template("a://{x}", "x", "t", "d", "m", every)
        self.check("templates", TemplatePage([template], "x", fresh))
        self.check("templates", [template], TemplatePage([template]))
        self.check("templates", [], TemplatePage())
        content = Content("text", "m", "a://x", pairs)
        self.check("read", Reading([content], "3", fresh))
        self.check("read", Reading(content, "3"), Reading([content], "3"))
        self.check("read", content, Reading([content]))
        self.check("read", (content, content), Reading([content, content]))
        for body in [b"", bytearray(b"x"), memoryview(b"x"), array.array("B", [1])]:
            self.check("read", Content(body), Reading([Content(body)]))
        self.check("complete", Completion(["a"], 5, True))
        self.check("complete", Completion())
        self.check("versions", ["1", None])
        self.check("versions", ("1", None), ["1", None])
        self.check("describe", Description("t", "v", "s", "i", ["a://"]))
        self.check("describe", Description())
        self.check("greedy", ["a://{x}"])
        self.check("match_uri", Match("a://{x}", pairs))

    def test_no_match_is_correct(self):
        self.assertIsNone(call(provider("match_uri", lambda uri: None), "match_uri", "a://x"))

    def test_the_defaults_are_correct(self):
        defaults = [
            ("list", EntryPage()),
            ("templates", TemplatePage()),
            ("complete", Completion()),
            ("match_uri", None),
        ]
        for name, result in defaults:
            self.assertEqual(call(Provider(), name, None), result)
        self.assertEqual(call(Provider(), "versions", ["a://x"]), [None])
        self.assertEqual(description(Provider()), Description())
        self.assertRaises(NotFound, call, Provider(), "read", Request("a://x"))


class Exceptions(unittest.TestCase):
    def check(self, method, expected):
        log = []
        try:
            call(provider("read", method), "read", None)
        except BaseException as error:
            actual = to_error(error, "read", log.append)
        self.assertEqual((type(actual).__name__, str(actual)), ("Failed", expected))
        self.assertRegex(log[0], r"^uncaught exception in read:\nTraceback \(most recent call last\):\n")

    def test_a_failure_names_the_place_of_the_exception(self):
        def method(request):
            raise KeyError("x")

        line = method.__code__.co_firstlineno + 1
        self.check(method, f"KeyError: 'x' ({__file__}:{line})")
        # The last place in the author's code, not in the standard library or in the SDK.
        line = (in_library := lambda request: Path(5)).__code__.co_firstlineno
        with self.assertRaises(TypeError) as raised:
            Path(5)
        self.check(in_library, f"TypeError: {raised.exception} ({__file__}:{line})")
        line = (in_sdk := lambda request: request.var("x")).__code__.co_firstlineno
        self.check(in_sdk, f"AttributeError: 'NoneType' object has no attribute 'var' ({__file__}:{line})")

    def test_an_exit_is_a_failure(self):
        line = (method := lambda request: sys.exit(3)).__code__.co_firstlineno
        self.check(method, f"SystemExit: 3 ({__file__}:{line})")

    def test_a_wrong_argument_of_a_type_is_a_failure(self):
        line = (method := lambda request: Entry("a://x", "x", mimetype="")).__code__.co_firstlineno
        self.check(method, f"TypeError: Entry.__init__() got an unexpected keyword argument 'mimetype' ({__file__}:{line})")

    def test_an_exception_without_a_message_is_a_failure(self):
        class Odd(Exception):
            def __str__(self):
                raise ValueError

        def method(request):
            raise Odd

        line = method.__code__.co_firstlineno + 1
        self.check(method, f"Odd: <its message cannot be shown> ({__file__}:{line})")


HINT = "(begin the name with `_` if it is not meant for Larder)"


class Classes(unittest.TestCase):
    def rejected(self, message, **members):
        with self.assertRaises(TypeError) as raised:
            export(type("Test", (Provider,), members))
        self.assertEqual(str(raised.exception).removesuffix(f" ({__file__}:{self.line})"), message)

    def method(self, *_):
        pass

    line = method.__code__.co_firstlineno

    def test_misspelt_methods_are_rejected(self):
        misspelt = {
            "lists": "list",
            "lsit": "list",
            "List": "list",
            "list_resources": "list",
            "completes": "complete",
            "template": "templates",
            "list_templates": "templates",
            "version": "versions",
            "matchUri": "match_uri",
            "match_url": "match_uri",
            "descibe": "describe",
        }
        for name, near in misspelt.items():
            with self.subTest(name):
                message = f"Test has the method `{name}`: did you mean `{near}`? {HINT}"
                self.rejected(message, read=self.method, **{name: Classes.method})
        self.rejected(f"Test has the method `reads`: did you mean `read`? {HINT}", reads=Classes.method)
        self.rejected(f"Test has the method `read_resource`: did you mean `read`? {HINT}", read_resource=Classes.method)

    def test_misspelt_methods_of_a_base_class_are_rejected(self):
        class Shared:
            def lists(self):
                pass

        class Derived(Shared, Provider):
            pass

        line = Shared.lists.__code__.co_firstlineno
        with self.assertRaises(TypeError) as raised:
            export(Derived)
        message = f"Derived has the method `lists`: did you mean `list`? {HINT} ({__file__}:{line})"
        self.assertEqual(str(raised.exception), message)

    def test_methods_must_be_methods(self):
        self.rejected("`greedy` of Test must be a method, but is a list of 1 item", greedy=["a://{x}"])
        self.rejected("`list` of Test must be a method, but is a property", list=property(Classes.method))

    def test_other_members_are_accepted(self):
        class Fine(Provider):
            # Not a method.
            version = "1"
            lists = ["a"]

            def list(self, query):
                return []

            def read(self, request):
                pass

            # Not misspelt: the methods exist.
            def last(self):
                pass

            def reads(self):
                pass

            def _template(self):
                pass

            def load(self):
                pass

            @staticmethod
            def description():
                pass

        class WithoutList(Provider):
            def read(self, request):
                pass

            # Two characters differ from `list`.
            def line(self):
                pass

        export(Fine)
        export(WithoutList)


if __name__ == "__main__":
    unittest.main()
