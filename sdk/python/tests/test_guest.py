"""Native tests of the exported functions, with bindings like those that componentize-py generates."""

import importlib
import json
import os
import subprocess
import sys
import unittest
from dataclasses import astuple, dataclass, make_dataclass
from enum import Enum
from pathlib import Path
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

from larder_provider import (
    Annotations,
    Audio,
    Completion,
    Content,
    Description,
    Details,
    Embedded,
    Entry,
    Freshness,
    Hit,
    Icon,
    Image,
    Invalid,
    Link,
    Match,
    Message,
    NotFound,
    PromptResult,
    Provider,
    Reading,
    Setting,
    Size,
    Template,
    Text,
    ToolError,
    Variable,
    ask,
    host,
    prompt,
    tool,
)


@dataclass(frozen=True)
class Err(Exception):
    value: object


def module(name, **members):
    created = ModuleType(name)
    vars(created).update(members)
    return created


def records(**fields):
    return {name: make_dataclass(name, names.split()) for name, names in fields.items()}


ENUMS = {"Role": ["USER", "ASSISTANT"], "Scope": ["EVERYONE", "CALLER"], "Theme": ["LIGHT", "DARK"]}


def bindings(optional):
    """The modules that exist in a component, by name."""
    types = records(
        Icon="src mime_type sizes theme",
        Details="kind audience priority last_modified icons metadata",
        Entry="uri name title description mime_type size version details",
        Template="uri_template name title description mime_type details",
        Content="uri mime_type body metadata",
        Freshness="ttl_ms scope",
        Body_Text="value",
        Body_Blob="value",
        Error_NotFound="",
        Error_NotModified="",
        Error_Invalid="value",
        Error_Denied="value",
        Error_Unavailable="value",
        Error_Failed="value",
    )
    resources = records(
        Description="title version summary instructions claims",
        EntryPage="entries next_cursor freshness",
        TemplatePage="templates next_cursor freshness",
        TemplateMatch="uri_template variables",
        Variable="name key value",
        Reading="contents version freshness",
    )
    completions = module("completion_provider", **records(Completion="values total more"))
    exports = module(
        "wit_world.exports",
        ResourceProvider=object,
        resource_provider=module("resource_provider", **resources),
        **({"CompletionProvider": object, "VersionProvider": object, "completion_provider": completions} if optional else {}),
    )
    enums = {name: Enum(name, names) for name, names in ENUMS.items()}
    imports = module("wit_world.imports", provider_types=module("provider_types", **types, **enums))
    return {
        "componentize_py_types": module("componentize_py_types", Err=Err),
        "wit_world": module("wit_world", exports=exports, imports=imports),
        "wit_world.exports": exports,
        "wit_world.imports": imports,
    }


def interactive_bindings():
    """The modules of a component with tools, prompts, a search and settings, by name."""
    modules = bindings(True)
    exports, imports = modules["wit_world.exports"], modules["wit_world.imports"]
    vars(imports)["interaction_types"] = module(
        "interaction_types",
        **records(
            Annotations="audience priority last_modified",
            Block="value annotations metadata",
            Media="mime_type data",
            EmbeddedResource="uri mime_type body metadata",
            BlockValue_Text="value",
            BlockValue_Image="value",
            BlockValue_Audio="value",
            BlockValue_Link="value",
            BlockValue_Embedded="value",
            InputRequest="key method params",
            InputRequired="requests state",
        ),
    )
    tools = records(
        Hints="read_only destructive idempotent open_world long_running",
        Tool="name title description input_schema output_schema hints icons metadata",
        ToolPage="tools next_cursor freshness",
        ToolResult="content structured is_error metadata",
        ToolAnswer_Complete="value",
        ToolAnswer_InputRequired="value",
    )
    prompts = records(
        Argument="name title description required",
        Prompt="name title description arguments icons metadata",
        PromptPage="prompts next_cursor freshness",
        Message="role content",
        PromptResult="description messages metadata",
        PromptAnswer_Complete="value",
        PromptAnswer_InputRequired="value",
        Suggestions="values total more",
    )
    kinds = Enum("Kind", ["TEXT", "NUMBER", "BOOLEAN", "SIZE", "DURATION"])
    declaration = records(Declaration="name kind description default required secret")
    vars(exports).update(
        ToolProvider=object,
        PromptProvider=object,
        SearchProvider=object,
        SettingsProvider=object,
        tool_provider=module("tool_provider", **tools),
        prompt_provider=module("prompt_provider", **prompts),
        search_provider=module("search_provider", **records(Hit="entry excerpt", Hits="hits freshness")),
        settings_provider=module("settings_provider", Kind=kinds, **declaration),
    )
    return modules


def instances(provider, modules):
    """Instances of the exported classes, by name."""
    with patch.dict(sys.modules, modules):
        guest = importlib.import_module("larder_provider.guest")
        return {name: exported() for name, exported in guest.classes(provider()).items()}


class Network(unittest.TestCase):
    """In processes of their own, because an audit hook stays."""

    def run_with_bindings(self, *lines):
        """Runs a program while a component is built, without the modules that other tests imported."""
        begin = ["import sys", "import test_guest", "sys.modules.update(test_guest.bindings(True))"]
        begin += ["for name in [name for name in sys.modules if name.startswith(('larder', 'encodings.'))]:"]
        begin += ["    del sys.modules[name]"]
        words = [sys.executable, "-B", "-c", "\n".join([*begin, *lines])]
        here = Path(__file__).parent
        environment = os.environ | {"PYTHONPATH": f"{here}:{here.parent}"}
        return subprocess.run(words, env=environment, capture_output=True, text=True)

    def test_a_socket_at_the_top_level_is_refused(self):
        ran = self.run_with_bindings(
            "import socket",
            "import larder_provider",
            "for use in [lambda: socket.socket(socket.AF_INET6), lambda: socket.getaddrinfo('127.0.0.1', 80)]:",
            "    try:",
            "        use()",
            "        print('used')",
            "    except OSError as error:",
            "        print(str(error).split(':')[0])",
            "class Empty(larder_provider.Provider):",
            "    pass",
            "larder_provider.export(Empty)",
            "socket.socket().close()",
            "print(socket.getaddrinfo('127.0.0.1', 80)[0][4][0])",
        )
        refused = "the network cannot be used at the top level of a module\n"
        self.assertEqual((ran.stdout, ran.stderr), (f"{refused}{refused}127.0.0.1\n", ""))

    def test_a_library_that_used_the_network_before_is_reported(self):
        loaded = ["import socket", "sys.modules['urllib3'] = sys"]
        ran = self.run_with_bindings(*loaded, "import larder_provider")
        self.assertIn("RuntimeError: import `larder_provider` before `urllib3`", ran.stderr)
        ran = self.run_with_bindings(*loaded, "socket.has_ipv6 = False", "import larder_provider")
        self.assertEqual(ran.stderr, "")

    def test_a_component_contains_the_encoding_of_host_names(self):
        ran = self.run_with_bindings(
            "import larder_provider",
            "print([name in sys.modules for name in ('encodings.idna', 'encodings.punycode')])",
        )
        self.assertEqual((ran.stdout, ran.stderr), ("[True, True]\n", ""))


class Exports(unittest.TestCase):
    def exported(self, optional=True, **methods):
        """Instances of the exported classes for a provider with these methods, by name."""
        provider = type("Test", (Provider,), {name: staticmethod(method) for name, method in methods.items()})
        return instances(provider, bindings(optional))

    def setUp(self):
        self.log = []
        self.enterContext(patch.object(host, "error", self.log.append))

    def test_optional_interfaces_are_exported_if_the_world_has_them(self):
        self.assertEqual(list(self.exported()), ["ResourceProvider", "CompletionProvider", "VersionProvider"])
        self.assertEqual(list(self.exported(optional=False)), ["ResourceProvider"])

    def test_wrong_values_and_exceptions_become_errors(self):
        def raises(error):
            def method(*_):
                raise error

            return method

        read = SimpleNamespace(uri="a://x", matched=None, known_version=None)
        query = SimpleNamespace(cursor=None, limit=100, uri_prefix=None, kind=None)
        completion = SimpleNamespace(uri_template="a://{x}", variable="x", prefix="", filled=[])
        exported = {
            "list": ("ResourceProvider", "list_resources", query),
            "templates": ("ResourceProvider", "list_templates", None),
            "read": ("ResourceProvider", "read_resource", read),
            "complete": ("CompletionProvider", "complete", completion),
            "versions": ("VersionProvider", "versions", ["a://x"]),
        }
        for name, (interface, function, argument) in exported.items():
            for method, error, text in [
                (lambda *_: 5, "Error_Failed", f"{name} returned a wrong value: the result must be "),
                (raises(ValueError("x\udce9")), "Error_Failed", "ValueError: x? ("),
                (raises(SystemExit(3)), "Error_Failed", "SystemExit: 3 ("),
                (raises(Invalid("a bad cursor")), "Error_Invalid", "a bad cursor"),
                (raises(NotFound("ignored")), "Error_NotFound", None),
            ]:
                with self.subTest(name=name, error=error, text=text), self.assertRaises(Err) as raised:
                    getattr(self.exported(**{name: method})[interface], function)(argument)
                value = raised.exception.value
                self.assertEqual(type(value).__name__, error)
                self.assertTrue(text is None or value.value.startswith(text), value)

    def test_functions_that_return_no_error_log_it(self):
        provider = self.exported(describe=lambda: 5, match_uri=lambda uri: 5)["ResourceProvider"]
        self.assertRegex(provider.describe().summary, "^describe failed: describe returned a wrong value: the result must be a")
        self.assertIsNone(provider.match_uri("a://x"))
        self.assertEqual([line.split()[0] for line in self.log], ["describe", "match_uri"])
        exits = self.exported(describe=sys.exit, match_uri=sys.exit)["ResourceProvider"]
        self.assertRegex(exits.describe().summary, r"^describe failed: SystemExit")
        self.assertIsNone(exits.match_uri("a://x"))

    def test_the_list_of_templates_reports_a_description_that_failed(self):
        provider = self.exported(describe=lambda: 5)["ResourceProvider"]
        with self.assertRaises(Err) as raised:
            provider.list_templates(None)
        self.assertRegex(raised.exception.value.value, "^describe failed: describe returned a wrong value: ")
        self.assertEqual(provider.list_templates("next").templates, [])

    def test_correct_values_are_converted(self):
        pairs = [["a", "1"], ("caf\udce9", "2")]
        details = Details("k", ("user",), 1, None, [Icon("a:b", sizes=("any",), theme="dark")], pairs)
        entry = Entry("a://x", "caf\udce9", size=5, details=details)
        methods = {
            "describe": lambda: Description("t", claims=("a://",)),
            "list": lambda query: [entry],
            "templates": lambda cursor: [Template("a://{x}", "x")],
            "read": lambda request: Reading([Content("é"), Content(bytearray(b"x"))], "3", Freshness(5, "caller")),
            "match_uri": lambda uri: Match("a://{x}", [*pairs, Variable("b", "3", "k")]),
            "complete": lambda request: Completion(["a"]),
            "versions": lambda uris: ("1", None),
        }
        exported = self.exported(**methods)
        resources = exported["ResourceProvider"]
        query = SimpleNamespace(cursor=None, limit=100, uri_prefix=None, kind=None)
        converted = [("a", "1"), ("caf?", "2")]
        self.assertEqual(astuple(resources.describe()), ("t", None, None, None, ["a://"]))
        page = resources.list_resources(query)
        role = page.entries[0].details.audience[0]
        theme = page.entries[0].details.icons[0].theme
        self.assertEqual(theme.name, "DARK")
        icon = ("a:b", None, ["any"], theme)
        found = ("a://x", "caf?", None, None, None, 5, None, ("k", [role], 1, None, [icon], converted))
        self.assertEqual((role.name, astuple(page)), ("USER", ([found], None, None)))
        template = ("a://{x}", "x", None, None, None, None)
        self.assertEqual(astuple(resources.list_templates(None)), ([template], None, None))
        read = SimpleNamespace(uri="a://x", matched=None, known_version=None)
        reading = resources.read_resource(read)
        self.assertEqual([type(content.body).__name__ for content in reading.contents], ["Body_Text", "Body_Blob"])
        contents = [(None, None, ("é",), []), (None, None, (b"x",), [])]
        scope = reading.freshness.scope
        self.assertEqual((scope.name, astuple(reading)), ("CALLER", (contents, "3", (5, scope))))
        variables = [("a", None, "1"), ("caf?", None, "2"), ("b", "k", "3")]
        self.assertEqual(astuple(resources.match_uri("a://x")), ("a://{x}", variables))
        completion = SimpleNamespace(uri_template="a://{x}", variable="x", prefix="", filled=[])
        self.assertEqual(astuple(exported["CompletionProvider"].complete(completion)), (["a"], None, False))
        self.assertEqual(exported["VersionProvider"].versions(["a://x", "a://y"]), ["1", None])


@dataclass
class Sum:
    value: float


@dataclass
class Form:
    version: str


class Everything(Provider):
    folder = Setting(str, "A folder.", default="caf\udce9")
    limit = Setting(Size, "A limit.", required=True, secret=True)

    @tool(title="t", read_only=True, icons=[Icon("a:b", theme="dark")], metadata=[["a", "1"]])
    def add(self, a: float) -> Sum:
        """Adds."""
        return Sum(a + 1)

    @tool
    def blocks(self):
        annotations = Annotations(["user"], 0.5)
        link = Link(Entry("a://x", "x", details=Details(audience=["user"])))
        embedded = Embedded(Content(b"z", "m", "a://y"))
        return [Text("caf\udce9", annotations=annotations), Image(b"x", "image/png"), Audio(bytearray(b"y"), "audio/wav"), link, embedded]

    @tool
    def fails(self):
        raise ToolError("no caf\udce9")

    @tool(app_page="ui://caf\udce9", for_apps_only=True, metadata=[("a", "1")])
    def wrong(self):
        return 5

    @tool
    def asks(self) -> str:
        answer = ask("version", "Which?", Form, state="s")
        return f"{answer.action} {answer.content} {answer.state}"

    @prompt
    def announce(self, version: str):
        """Announces."""
        if version == "0":
            ask("version", "Which?", Form)
        return PromptResult([f"Version {version}", Message("OK", "assistant")], "d")

    @announce.complete("version")
    def _versions(self, query):
        return [f"1{''.join(query.filled)}", "2"]

    def search(self, query):
        return [Hit(Entry("a://x", query.text), "caf\udce9")]


def tool_call(name, arguments="{}", provided=None):
    return SimpleNamespace(name=name, arguments=arguments, input=provided)


class Interaction(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.log = []
        self.enterContext(patch.object(host, "error", self.log.append))
        self.exported = instances(Everything, interactive_bindings())
        self.tools, self.prompts = self.exported["ToolProvider"], self.exported["PromptProvider"]

    def test_the_interfaces_are_exported_if_the_world_has_them(self):
        optional = ["CompletionProvider", "VersionProvider", "ToolProvider", "PromptProvider", "SearchProvider", "SettingsProvider"]
        self.assertEqual(list(self.exported), ["ResourceProvider", *optional])

    def test_tools_need_the_world(self):
        with self.assertRaises(TypeError) as raised:
            instances(Everything, bindings(True))
        self.assertRegex(str(raised.exception), "^tools and prompts need the world `interactive-provider`")

    def test_tools_are_listed(self):
        page = self.tools.list_tools(None)
        self.assertEqual([tool.name for tool in page.tools], ["add", "blocks", "fails", "wrong", "asks"])
        add = page.tools[0]
        self.assertEqual((add.title, add.description, astuple(add.hints)), ("t", "Adds.", (True, None, None, None, None)))
        self.assertEqual((json.loads(add.input_schema)["required"], json.loads(add.output_schema)["required"]), (["a"], ["value"]))
        self.assertEqual((add.icons[0].theme.name, add.metadata), ("DARK", [("a", "1")]))
        self.assertEqual((page.tools[1].output_schema, page.tools[1].metadata), (None, []))
        app = '{"resourceUri": "ui://caf?", "visibility": ["app"]}'
        self.assertEqual(page.tools[3].metadata, [("a", "1"), ("ui", app)])

    def called(self, *arguments):
        answer = self.tools.call_tool(tool_call(*arguments))
        self.assertEqual(type(answer).__name__, "ToolAnswer_Complete")
        return answer.value

    def test_tools_are_called(self):
        result = self.called("add", '{"a": 1}')
        self.assertEqual((json.loads(result.structured), result.is_error), ({"value": 2.0}, False))
        values = [block.value for block in self.called("blocks").content]
        text, image, audio, link, embedded = values
        self.assertEqual([type(value).__name__.removeprefix("BlockValue_") for value in values], ["Text", "Image", "Audio", "Link", "Embedded"])
        self.assertEqual((text.value, astuple(image.value), astuple(audio.value)), ("caf?", ("image/png", b"x"), ("audio/wav", b"y")))
        self.assertEqual((link.value.details.audience[0].name, astuple(embedded.value)), ("USER", ("a://y", "m", (b"z",), [])))
        annotations = self.called("blocks").content[0].annotations
        self.assertEqual((annotations.audience[0].name, annotations.priority, annotations.last_modified), ("USER", 0.5, None))

    def test_errors_of_a_tool_are_results(self):
        for name, arguments, text in [("fails", "{}", "no caf?"), ("add", "{}", "`a` is missing")]:
            result = self.called(name, arguments)
            self.assertEqual((result.content[0].value.value, result.is_error, result.structured), (text, True, None))

    def failure(self, function, argument):
        with self.assertRaises(Err) as raised:
            function(argument)
        return type(raised.exception.value).__name__, *astuple(raised.exception.value)

    def test_other_errors_are_errors_of_the_contract(self):
        self.assertEqual(self.failure(self.tools.call_tool, tool_call("other")), ("Error_NotFound",))
        name, text = self.failure(self.tools.call_tool, tool_call("wrong"))
        self.assertEqual(name, "Error_Failed")
        self.assertRegex(text, r"^wrong returned a wrong value: the result must be a str, a block, .*test_guest\.py:\d+\)$")
        missing = SimpleNamespace(name="announce", arguments=[], input=None)
        self.assertEqual(self.failure(self.prompts.get_prompt, missing), ("Error_Invalid", "`version` is missing"))

    def test_a_tool_that_asks_is_called_twice(self):
        answer = self.tools.call_tool(tool_call("asks"))
        self.assertEqual(type(answer).__name__, "ToolAnswer_InputRequired")
        request = answer.value.requests[0]
        self.assertEqual((request.key, request.method, answer.value.state), ("version", "elicitation/create", b"s"))
        for outcome, text in [
            (SimpleNamespace(value='{"action": "accept", "content": {"version": "1"}}'), "accept Form(version='1') b's'"),
            (SimpleNamespace(value='{"action": "decline"}'), "decline None b's'"),
            (Err('{"code": -1}'), "error None b's'"),
        ]:
            provided = SimpleNamespace(responses=[SimpleNamespace(key="version", outcome=outcome)], state=b"s")
            self.assertEqual(self.called("asks", "{}", provided).content[0].value.value, text)

    def test_prompts(self):
        listed = self.prompts.list_prompts(None).prompts[0]
        self.assertEqual((listed.name, listed.description), ("announce", "Announces."))
        self.assertEqual([astuple(argument) for argument in listed.arguments], [("version", None, None, True)])
        got = self.prompts.get_prompt(SimpleNamespace(name="announce", arguments=[("version", "1")], input=None))
        messages = [(message.role.name, message.content.value.value) for message in got.value.messages]
        self.assertEqual((got.value.description, messages), ("d", [("USER", "Version 1"), ("ASSISTANT", "OK")]))
        asks = self.prompts.get_prompt(SimpleNamespace(name="announce", arguments=[("version", "0")], input=None))
        self.assertEqual(type(asks).__name__, "PromptAnswer_InputRequired")
        query = SimpleNamespace(prompt="announce", argument="version", prefix="1", filled=[("a", "b")])
        self.assertEqual(astuple(self.prompts.complete_argument(query)), (["1a"], 1, False))

    def test_search_and_settings(self):
        query = SimpleNamespace(text="t", limit=5, uri_prefix=None, kind=None)
        hit = self.exported["SearchProvider"].search(query).hits[0]
        self.assertEqual((hit.entry.uri, hit.entry.name, hit.excerpt), ("a://x", "t", "caf?"))
        declared = self.exported["SettingsProvider"].settings()
        expected = [("folder", "TEXT", "A folder.", "caf?", False, False), ("limit", "SIZE", "A limit.", None, True, True)]
        found = [(each.name, each.kind.name, each.description, each.default, each.required, each.secret) for each in declared]
        self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
