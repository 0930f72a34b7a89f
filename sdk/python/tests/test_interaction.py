"""Native tests of tools, prompts, searches and input: what authors declare and return, with the exact messages."""

import json
import unittest
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from larder_provider import (
    APP_PAGE,
    Annotations,
    AppPage,
    Argument,
    ArgumentQuery,
    Audio,
    Completion,
    Content,
    Embedded,
    Entry,
    Freshness,
    Hints,
    Hit,
    Hits,
    Icon,
    Image,
    InputRequest,
    InputResponse,
    Invalid,
    Link,
    Message,
    NeedsInput,
    NotFound,
    Prompt,
    PromptPage,
    PromptRequest,
    PromptResult,
    Provider,
    Reading,
    SearchQuery,
    Text,
    Tool,
    ToolCall,
    ToolError,
    ToolPage,
    ToolResult,
    answers,
    ask,
    export,
    prompt,
    provided_input,
    tool,
)
from larder_provider.check import call
from larder_provider.errors import WrongValue
from larder_provider.input import checked_requests, providing


@dataclass
class Sum:
    value: float


@dataclass
class Form:
    version: Annotated[str, "Such as 1.2.0"]


class Calculator(Provider):
    @tool(title="Add", read_only=True)
    def add(self, a: Annotated[float, "One."], b: float = 1, *, from_: str | None = None) -> Sum:
        """Adds two numbers.

        Really."""
        return Sum(a + b)

    @tool
    def greet(self, name: str):
        if name == "nobody":
            raise ToolError("Nobody is here.")
        return [f"Hello, {name}!", Image(b"x", "image/png")]

    @tool(name="list", description="Lists numbers.", destructive=False)
    def numbers(self) -> list[int]:
        return [1, 2]

    @tool
    def both(self) -> ToolResult[Sum]:
        return ToolResult("3", Sum(3))

    @tool
    def nothing(self) -> None:
        pass

    @prompt(title="Announce")
    def announce(self, version: Annotated[str, "Which."], count: int = 1, loud: Literal["yes", "no"] | None = None):
        """Announces."""
        return f"{version} {count!r} {loud}"

    @announce.complete("version")
    def _versions(self, query):
        return ["0.1", "0.2", "1.0"]


def called(provider, name, /, **arguments):
    return call(provider, "call_tool", ToolCall(name, arguments))


class Declarations(unittest.TestCase):
    maxDiff = None

    def test_tools_are_listed_in_order(self):
        add, greet, numbers, both, nothing = call(Calculator(), "tools", None).tools
        text = {"anyOf": [{"type": "string"}, {"type": "null"}]}
        properties = {
            "a": {"type": "number", "description": "One."},
            "b": {"type": "number", "default": 1},
            "from": text,
        }
        schema = {"type": "object", "properties": properties, "required": ["a"], "additionalProperties": False}
        output = {"type": "object", "properties": {"value": {"type": "number"}}, "required": ["value"]}
        description = "Adds two numbers.\n\nReally."
        self.assertEqual(add, Tool("add", schema, "Add", description, output, Hints(read_only=True)))
        self.assertEqual((greet.name, greet.title, greet.description, greet.output_schema), ("greet", None, None, None))
        result = {"type": "array", "items": {"type": "integer"}}
        wrapped = {"type": "object", "properties": {"result": result}, "required": ["result"]}
        empty = {"type": "object", "properties": {}, "additionalProperties": False}
        self.assertEqual(numbers, Tool("list", empty, None, "Lists numbers.", wrapped, Hints(destructive=False)))
        self.assertEqual((both.output_schema, nothing.output_schema), (output, None))

    def test_prompts_are_listed_with_their_arguments(self):
        arguments = [Argument("version", "Which.", True), Argument("count"), Argument("loud")]
        self.assertEqual(call(Calculator(), "prompts", None).prompts, [Prompt("announce", "Announce", "Announces.", arguments)])

    def test_a_subclass_inherits_and_replaces(self):
        class Derived(Calculator):
            @tool
            def greet(self, name: str) -> str:
                """Shouts."""
                return name.upper()

            add = None

        tools = call(Derived(), "tools", None).tools
        self.assertEqual([each.name for each in tools], ["greet", "list", "both", "nothing"])
        self.assertEqual(called(Derived(), "greet", name="a").content, [Text("A")])

    def test_the_method_itself_can_be_called(self):
        self.assertEqual(Calculator().add(1, b=2), Sum(3))

    def rejected(self, message, members):
        with self.assertRaises(TypeError) as raised:
            export(type("Test", (Provider,), members))
        self.assertEqual(str(raised.exception).rsplit(f" ({__file__}:", 1)[0], message)

    def test_wrong_declarations_are_rejected(self):
        def wrong(self, when: set[int]):
            pass

        def many(self, *names: str):
            pass

        def good(self):
            pass

        kinds = "use str, int, float, bool, list, dict[str, …], Literal, Enum, a dataclass or a TypedDict"
        unsupported = f"`when`: the type `set[int]` has no JSON form: {kinds}"
        self.rejected(f"@tool `wrong`: {unsupported}", {"a": tool(wrong)})
        self.rejected(f"@prompt `wrong`: {unsupported}", {"a": prompt(wrong)})
        self.rejected("@tool `many`: `names`: a parameter must have a name that clients can use", {"a": tool(many)})
        self.rejected("Test has two methods with @tool and the name 'good'", {"a": tool(good), "b": tool(good)})
        hint = "rename the method, and write @tool(name='good') to keep the name"
        self.rejected(f"`search` is a method of every provider: {hint}", {"search": tool(good)})
        declares = "Test declares a wrong value:"
        self.rejected(f"{declares} `title` of tool 0 (name 'good') must be a str, but is 5", {"a": tool(title=5)(good)})
        message = f"{declares} `hints.read_only` of tool 0 (name 'good') must be a bool, but is 1"
        self.rejected(message, {"a": tool(read_only=1)(good)})
        message = f"{declares} `app_page` of tool 0 (name 'good') must be a str, but is 5"
        self.rejected(message, {"a": tool(app_page=5)(good)})
        message = f"{declares} `for_apps_only` of tool 0 (name 'good') must be a bool, but is 1"
        self.rejected(message, {"a": tool(for_apps_only=1)(good)})
        message = f"{declares} `icons[0]` of prompt 0 (name 'good') must be an Icon, but is 'a:b'"
        self.rejected(message, {"a": prompt(icons=["a:b"])(good)})

    def test_wrong_prompts_are_rejected(self):
        def nested(self, names: list[str]):
            pass

        message = "@prompt `nested`: `names` must be a text, a number, a boolean or a choice"
        self.rejected(message, {"a": prompt(nested)})
        method = prompt(Calculator.announce.function)
        method.complete("verison")(lambda self, query: [])
        self.rejected("@prompt `announce` has no argument `verison` to complete", {"a": method})

    def test_only_methods_are_decorated(self):
        with self.assertRaises(TypeError) as raised:
            tool(title="x")(5)
        self.assertEqual(str(raised.exception), "@tool must decorate a method, but decorates 5")
        self.assertRaises(TypeError, prompt, staticmethod(len))

    def test_a_method_named_list_hides_the_type(self):
        def results(self) -> "list[str]":
            pass

        # As if the annotation was evaluated in the class.
        results.__globals__["hidden"] = None
        results.__annotations__["return"] = "hidden[str]"
        with self.assertRaisesRegex(TypeError, r"in a class with a method `list`, write `Sequence\[…\]`"):
            export(type("Test", (Provider,), {"results": tool(results)}))

    def test_all_names_of_calculator_are_accepted(self):
        export(Calculator)


class Calls(unittest.TestCase):
    def check(self, name, expected, /, **arguments):
        self.assertEqual(called(Calculator(), name, **arguments), expected)

    def test_results_become_content_and_data(self):
        self.check("add", ToolResult([Text('{"value": 3.0}')], {"value": 3.0}), a=1, b=2)
        self.check("greet", ToolResult([Text("Hello, Ada!"), Image(b"x", "image/png")]), name="Ada")
        self.check("list", ToolResult([Text('{"result": [1, 2]}')], {"result": [1, 2]}))
        self.check("both", ToolResult([Text("3")], {"value": 3}))
        self.check("nothing", ToolResult([]))

    def test_wrong_arguments_are_errors_of_the_tool(self):
        for arguments, message in [
            ({}, "`a` is missing"),
            ({"a": "1"}, '`a` must be a number, but is "1"'),
            ({"a": 1, "c": 2}, "`c` is not known"),
            ({"a": 1, "from": 2}, "`from` must be a string or null, but is 2"),
        ]:
            with self.subTest(message), self.assertRaises(ToolError) as raised:
                called(Calculator(), "add", **arguments)
            self.assertEqual(str(raised.exception), message)
        self.assertRaises(ToolError, called, Calculator(), "greet", name="nobody")
        self.assertRaises(NotFound, called, Calculator(), "subtract")

    def test_prompts_decode_texts(self):
        def got(**arguments):
            return call(Calculator(), "get_prompt", PromptRequest("announce", arguments)).messages

        self.assertEqual(got(version="1", count="2", loud="yes"), [Message(Text("1 2 yes"))])
        for arguments, message in [
            ({}, "`version` is missing"),
            ({"version": "1", "count": "x"}, '`count` must be a whole number, but is "x"'),
            ({"version": "1", "loud": "maybe"}, '`loud` must be "yes" or "no", but is "maybe"'),
            ({"version": "1", "tone": ""}, "`tone` is not known"),
        ]:
            with self.subTest(message), self.assertRaises(Invalid) as raised:
                got(**arguments)
            self.assertEqual(str(raised.exception), message)
        self.assertRaises(NotFound, call, Calculator(), "get_prompt", PromptRequest("other"))

    def test_arguments_are_completed(self):
        def completed(argument, prefix=""):
            return call(Calculator(), "complete_argument", ArgumentQuery("announce", argument, prefix)).values

        self.assertEqual(completed("version", "0"), ["0.1", "0.2"])
        self.assertEqual((completed("loud"), completed("loud", "y"), completed("count")), (["yes", "no"], ["yes"], []))
        self.assertRaises(NotFound, completed, "other")
        self.assertRaises(NotFound, call, Calculator(), "complete_argument", ArgumentQuery("other", "version"))


class Weather(Provider):
    @tool(app_page="ui://weather/forecast.html")
    def forecast(self) -> str:
        return ""

    @tool(for_apps_only=True, metadata=[("a", "1")])
    def refresh(self) -> str:
        return ""

    @tool(app_page="ui://weather/forecast.html", for_apps_only=True)
    def select(self) -> str:
        return ""

    def read(self, request):
        page = AppPage("<!doctype html>", connects_to=["https://api.weather.example"])
        return Reading(page.content(), version="1")


PAGE = AppPage(
    "<!doctype html>",
    connects_to=["https://a.example", "wss://b.example"],
    loads_from=("https://c.example",),
    frames=["https://d.example"],
    permissions=["camera", "clipboardWrite"],
    prefers_border=False,
)
PAGE_METADATA = {
    "csp": {
        "connectDomains": ["https://a.example", "wss://b.example"],
        "resourceDomains": ["https://c.example"],
        "frameDomains": ["https://d.example"],
    },
    "permissions": {"camera": {}, "clipboardWrite": {}},
    "prefersBorder": False,
}

# A wrong page, and the message.
PAGE_MISTAKES = [
    (AppPage(b"x"), "`html` of the page must be a str, but is b'x'"),
    (AppPage("x", connects_to="https://a.example"), "`connects_to` of the page must be a list, but is 'https://a.example'"),
    (AppPage("x", loads_from=[5]), "`loads_from[0]` of the page must be a str, but is 5"),
    (AppPage("x", frames=None), "`frames` of the page must be a list, but is None"),
    (
        AppPage("x", permissions=["clipboard-write"]),
        "`permissions[0]` of the page must be 'camera' or 'microphone' or 'geolocation' or 'clipboardWrite', but is 'clipboard-write'",
    ),
    (AppPage("x", prefers_border=1), "`prefers_border` of the page must be a bool, but is 1"),
]


class Apps(unittest.TestCase):
    maxDiff = None

    def test_tools_have_the_metadata_of_apps(self):
        forecast, refresh, select = call(Weather(), "tools", None).tools
        self.assertEqual(forecast.app_metadata, [("ui", '{"resourceUri": "ui://weather/forecast.html"}')])
        self.assertEqual((refresh.metadata, refresh.app_metadata), ([("a", "1")], [("ui", '{"visibility": ["app"]}')]))
        both = {"resourceUri": "ui://weather/forecast.html", "visibility": ["app"]}
        self.assertEqual(json.loads(dict(select.app_metadata)["ui"]), both)
        self.assertEqual(TOOL.app_metadata, [])

    def test_a_page_requests_what_it_uses(self):
        content = PAGE.content()
        self.assertEqual((content.body, content.mime_type, content.uri), ("<!doctype html>", APP_PAGE, None))
        self.assertEqual([key for key, _ in content.metadata], ["ui"])
        self.assertEqual(json.loads(content.metadata[0][1]), PAGE_METADATA)

    def test_a_page_that_uses_nothing_has_no_metadata(self):
        self.assertEqual(AppPage("x").content(), Content("x", "text/html;profile=mcp-app"))
        self.assertEqual(AppPage("x", connects_to=[], permissions=[]).content().metadata, [])

    def test_a_page_is_the_content_of_a_read(self):
        reading = call(Weather(), "read", None)
        metadata = [("ui", '{"csp": {"connectDomains": ["https://api.weather.example"]}}')]
        self.assertEqual(reading.contents, [Content("<!doctype html>", APP_PAGE, metadata=metadata)])

    def test_a_wrong_page_is_named(self):
        for page, message in PAGE_MISTAKES:
            with self.subTest(message), self.assertRaises(TypeError) as raised:
                page.content()
            self.assertEqual(str(raised.exception), message)


def returning(result, annotation: Any = "none"):
    def method(self):
        return result

    method.__annotations__ = {} if annotation == "none" else {"return": annotation}
    return method


def wrong_tool(result, annotation: Any = "none"):
    """The message about a wrong result of a tool, without the place of the function."""
    try:
        called(type("Test", (Provider,), {"t": tool(name="t")(returning(result, annotation))})(), "t")
    except WrongValue as error:
        text, place = str(error).rsplit(" (", 1)
        assert place == f"{__file__}:{returning(None).__code__.co_firstlineno})", place
        return text.removeprefix("t returned a wrong value: ")
    return "no error"


async def coroutine():
    pass


CONTENT = "the result must be a str, a block, a list of them or a ToolResult"
DATA = "annotate the type of the result to return data"

# The result of a tool, its annotation, and the message after `… returned a wrong value: `.
TOOL_MISTAKES = [
    (None, "none", f"{CONTENT}, but is None; is a `return` missing?"),
    (None, str, f"{CONTENT}, but is None; is a `return` missing?"),
    (5, "none", f"{CONTENT}, but is 5; {DATA}"),
    (Sum(1), "none", f"{CONTENT}, but is a Sum; {DATA}"),
    ({"a": 1}, str, f"{CONTENT}, but is a dict of 1 item"),
    (["a", 5], "none", "block 1 must be a str or a block such as Text, but is 5"),
    (Text(5), "none", "`text` must be a str, but is 5"),
    ([Text("a"), Text(None)], "none", "`text` of block 1 must be a str, but is None"),
    (Image("x", "image/png"), "none", "`data` must be bytes, but is 'x'"),
    (Image(5, "image/png"), "none", "`data` must be bytes, but is 5"),
    (Audio(b"x", None), "none", "`mime_type` must be a str, but is None"),
    (Link("a://x"), "none", "`entry` must be an Entry, but is 'a://x'"),
    (Link(Entry("a://x", None)), "none", "`entry.name` must be a str, but is None"),
    (Embedded("x"), "none", "`content` must be a Content, but is 'x'"),
    (Embedded(Content("x")), "none", "`content.uri` must be a str, but is None"),
    (Text("x", annotations={}), "none", "`annotations` must be an Annotations, but is a dict of 0 items"),
    (Text("x", annotations=Annotations(["me"])), "none", "`annotations.audience[0]` must be 'user' or 'assistant', but is 'me'"),
    (Text("x", metadata={"a": 1}), "none", "`metadata` must be a list of tuples, but is a dict of 1 item"),
    (ToolResult(5), "none", "`content` must be a str, a block or a list of them, but is 5"),
    (ToolResult(["a", None]), "none", "block 1 must be a str or a block such as Text, but is None"),
    (ToolResult("x", is_error=1), "none", "`is_error` must be a bool, but is 1"),
    (ToolResult("x", metadata="x"), "none", "`metadata` must be a list of tuples, but is 'x'"),
    (None, Sum, "the result must be a Sum, but is None; is a `return` missing?"),
    ({"value": 1}, Sum, "the result must be a Sum, but is a dict of 1 item"),
    (Sum("1"), Sum, "`value` must be a finite float, but is '1'"),
    ([Sum(1), Sum(None)], list[Sum], "`[1].value` must be a finite float, but is None"),
    (ToolResult("x"), ToolResult[Sum], "`structured` must be a Sum, but is None"),
    (ToolResult("x", Sum("1")), ToolResult[Sum], "`structured.value` must be a finite float, but is '1'"),
    (Sum, Sum, "the result must be a Sum, but is the class Sum"),
]


class ToolMistakes(unittest.TestCase):
    maxDiff = None

    def test_a_wrong_result_is_named(self):
        for result, annotation, message in TOOL_MISTAKES:
            with self.subTest(message):
                self.assertEqual(wrong_tool(result, annotation), message)

    def test_data_that_is_not_json_is_named(self):
        message = wrong_tool(ToolResult("x", structured={1, 2}))
        self.assertTrue(message.startswith("`structured` must be a JSON value, but is a set of 2 items"), message)

    def test_a_tool_is_never_async(self):
        message = "the result must not be a coroutine: a method of a provider is never `async`"
        self.assertEqual(wrong_tool(coroutine()), message)

    def test_an_error_needs_no_data(self):
        method = tool(name="t")(returning(ToolResult("no", is_error=True), Sum))
        result = called(type("Test", (Provider,), {"t": method})(), "t")
        self.assertEqual(result, ToolResult([Text("no")], is_error=True))


FOUND = [Hit(Entry("a://x", "x"), "text")]
TOOL = Tool("t", {"type": "object"})
HITS = "the result must be a list of hits or a Hits"
PROMPT = "the result must be a str, a block, a Message, a list of them or a PromptResult"

# The method, its result, and the message after `… returned a wrong value: `.
MISTAKES = [
    ("search", None, f"{HITS}, but is None; is a `return` missing?"),
    ("search", "x", f"{HITS}, but is 'x'"),
    ("search", [Entry("a://x", "x")], "hit 0 must be a Hit, but is an Entry"),
    ("search", [*FOUND, Hit("a://x")], "`entry` of hit 1 must be an Entry, but is 'a://x'"),
    ("search", [Hit(Entry("a://x", None))], "`entry.name` of hit 0 must be a str, but is None"),
    ("search", [Hit(Entry("a://x", "x"), 5)], "`excerpt` of hit 0 must be a str, but is 5"),
    ("search", Hits("x"), "`hits` must be a list of hits, but is 'x'"),
    ("search", Hits([], Freshness(-1)), "`freshness.ttl_ms` must be an int from 0 to 2^64 - 1, but is -1"),
    ("tools", None, "the result must be a list of tools or a ToolPage, but is None; is a `return` missing?"),
    ("tools", ["t"], "tool 0 must be a Tool, but is 't'"),
    ("tools", [Tool(5, {})], "`name` of tool 0 must be a str, but is 5"),
    ("tools", [Tool("t", "{}")], "`input_schema` of tool 0 (name 't') must be a dict, but is '{}'"),
    ("tools", [Tool("t", {}, hints={})], "`hints` of tool 0 (name 't') must be a Hints, but is a dict of 0 items"),
    ("tools", [Tool("t", {}, icons=[Icon(5)])], "`icons[0].src` of tool 0 (name 't') must be a str, but is 5"),
    ("tools", [Tool("t", {}, output_schema=[])], "`output_schema` of tool 0 (name 't') must be a dict, but is a list of 0 items"),
    ("tools", ToolPage([TOOL], next_cursor=5), "`next_cursor` must be a str, but is 5"),
    ("call_tool", None, f"{CONTENT}, but is None; is a `return` missing?"),
    ("prompts", None, "the result must be a list of prompts or a PromptPage, but is None; is a `return` missing?"),
    ("prompts", [Prompt(None)], "`name` of prompt 0 must be a str, but is None"),
    ("prompts", [Prompt("p", arguments=["a"])], "`arguments[0]` of prompt 0 (name 'p') must be an Argument, but is 'a'"),
    ("prompts", [Prompt("p", arguments=[Argument("a", required=1)])], "`arguments[0].required` of prompt 0 (name 'p') must be a bool, but is 1"),
    ("prompts", PromptPage([], freshness=5), "`freshness` must be a Freshness, but is 5"),
    ("get_prompt", None, f"{PROMPT}, but is None; is a `return` missing?"),
    ("get_prompt", {"a": 1}, f"{PROMPT}, but is a dict of 1 item"),
    ("get_prompt", ["a", 5], "message 1 must be a str, a block or a Message, but is 5"),
    ("get_prompt", Message(5), "`content` must be a str or a block such as Text, but is 5"),
    ("get_prompt", [Message("x", "system")], "`role` of message 0 must be 'user' or 'assistant', but is 'system'"),
    ("get_prompt", [Text(5)], "`content.text` of message 0 must be a str, but is 5"),
    ("get_prompt", PromptResult("x", 5), "`description` must be a str, but is 5"),
    ("get_prompt", PromptResult(None), "`messages` must be a str, a block, a Message or a list of them, but is None"),
    ("complete_argument", ["a"], "the result must be a Completion, but is a list of 1 item"),
    ("complete_argument", Completion([5]), "`values[0]` must be a str, but is 5"),
]


def provider(name, method):
    return type("Test", (Provider,), {name: staticmethod(method)})()


class Mistakes(unittest.TestCase):
    maxDiff = None

    def test_a_wrong_value_is_named(self):
        for name, result, message in MISTAKES:
            with self.subTest(message), self.assertRaises(WrongValue) as raised:
                call(provider(name, lambda *_: result), name, None)
            text, place = str(raised.exception).rsplit(" (", 1)
            self.assertTrue(place.startswith(__file__))
            self.assertEqual(text, f"{name} returned a wrong value: {message}")

    def test_a_wrong_prompt_names_its_method(self):
        class Wrong(Provider):
            @prompt
            def greet(self):
                return 5

            @prompt
            def other(self, a: str):
                pass

            @other.complete("a")
            def _values(self, query):
                return ["a", 5]

        line = Wrong.greet.function.__code__.co_firstlineno
        with self.assertRaises(WrongValue) as raised:
            call(Wrong(), "get_prompt", PromptRequest("greet"))
        self.assertEqual(str(raised.exception), f"greet returned a wrong value: {PROMPT}, but is 5 ({__file__}:{line})")
        with self.assertRaisesRegex(WrongValue, "^_values returned a wrong value: value 1 must be a str, but is 5 "):
            call(Wrong(), "complete_argument", ArgumentQuery("other", "a"))

    def test_correct_values_pass(self):
        for name, result, expected in [
            ("search", FOUND, Hits(FOUND)),
            ("search", iter(FOUND), Hits(FOUND)),
            ("search", Hits(FOUND, Freshness(5)), Hits(FOUND, Freshness(5))),
            ("tools", [TOOL], ToolPage([TOOL])),
            ("call_tool", "x", ToolResult([Text("x")])),
            ("call_tool", ToolResult(structured=[1]), ToolResult([Text("[1]")], [1])),
            ("get_prompt", ["a", Message("b", "assistant")], PromptResult([Message(Text("a")), Message(Text("b"), "assistant")])),
            ("get_prompt", PromptResult("a", "d"), PromptResult([Message(Text("a"))], "d")),
        ]:
            self.assertEqual(call(provider(name, lambda *_: result), name, None), expected)

    def test_the_defaults_are_correct(self):
        self.assertEqual(call(Provider(), "tools", None), ToolPage())
        self.assertEqual(call(Provider(), "prompts", None), PromptPage())
        self.assertEqual(call(Provider(), "search", SearchQuery("x")), Hits())
        self.assertRaises(NotFound, call, Provider(), "call_tool", ToolCall("x"))


class Asks(Provider):
    @tool
    def draft(self) -> str:
        answer = ask("version", "Which version?", Form, state="digest")
        return answer.content.version if answer.accepted else answer.action

    @tool
    def twice(self) -> str:
        first = ask("first", "First?", Form, state="1")
        second = ask("second", "Second?", Form)
        return f"{first.content.version} {second.content.version} {second.state}"


def accepted(**content):
    return {"action": "accept", "content": content}


class Input(unittest.TestCase):
    def needed(self, name, responses=None, state=None):
        with self.assertRaises(NeedsInput) as raised, answers(responses, state):
            called(Asks(), name)
        return raised.exception

    def answered(self, name, responses, state=None):
        with answers(responses, state):
            return called(Asks(), name).content[0].text

    def test_a_first_call_asks(self):
        needed = self.needed("draft")
        properties = {"version": {"type": "string", "description": "Such as 1.2.0"}}
        form = {"type": "object", "properties": properties, "required": ["version"]}
        params = {"mode": "form", "message": "Which version?", "requestedSchema": form}
        self.assertEqual(needed.requests, [InputRequest("version", "elicitation/create", params)])
        self.assertEqual(needed.state, b"digest")

    def test_a_second_call_has_the_answer(self):
        self.assertEqual(self.answered("draft", {"version": accepted(version="1.0.0")}), "1.0.0")
        for action in ["decline", "cancel"]:
            self.assertEqual(self.answered("draft", {"version": {"action": action}}), action)
        self.assertEqual(self.answered("draft", {"version": InputResponse(error={"code": -1})}), "error")
        self.assertEqual(provided_input().responses, {})

    def test_a_wrong_answer_is_an_error_of_the_tool(self):
        for content, message in [({}, "`version` is missing"), ({"version": 5}, "`version` must be a string, but is 5")]:
            with self.assertRaises(ToolError) as raised:
                self.answered("draft", {"version": accepted(**content)})
            self.assertEqual(str(raised.exception), f"the answer is wrong: {message}")

    def test_further_questions_keep_the_earlier_answers(self):
        first = self.needed("twice")
        self.assertEqual(first.state, b"1")
        second = self.needed("twice", {"first": accepted(version="a")}, first.state)
        self.assertEqual([request.key for request in second.requests], ["second"])
        self.assertEqual(self.answered("twice", {"second": accepted(version="b")}, second.state), "a b b'1'")

    def test_wrong_requests_are_named(self):
        for needed, message in [
            (NeedsInput(["a"]), "request 0 must be an InputRequest, but is 'a'"),
            (NeedsInput([InputRequest(5, "x")]), "`key` of request 0 must be a str, but is 5"),
            (NeedsInput([InputRequest("a", "x", "{}")]), "`params` of request 0 (key 'a') must be a dict, but is '{}'"),
            (NeedsInput([], 5), "`state` must be bytes or a str, but is 5"),
        ]:
            with self.assertRaises(WrongValue) as raised:
                checked_requests("call_tool", needed)
            self.assertEqual(str(raised.exception), f"call_tool raised NeedsInput with a wrong value: {message}")

    def test_input_is_only_for_one_call(self):
        with self.assertRaises(ZeroDivisionError), providing(provided_input()):
            1 / 0
        self.assertIsNone(provided_input().state)


if __name__ == "__main__":
    unittest.main()
