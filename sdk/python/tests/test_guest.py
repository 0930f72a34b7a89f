"""Native tests of the exported functions, with bindings like those that componentize-py generates."""

import importlib
import sys
import unittest
from dataclasses import astuple, dataclass, make_dataclass
from enum import Enum
from types import ModuleType, SimpleNamespace
from unittest.mock import patch

from larder_provider import (
    Completion,
    Content,
    Description,
    Details,
    Entry,
    Freshness,
    Icon,
    Invalid,
    Match,
    NotFound,
    Provider,
    Reading,
    Template,
    host,
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


def bindings(optional):
    """The modules that exist in a component, by name."""
    types = records(
        Icon="src mime_type sizes",
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
        Reading="contents version freshness",
    )
    completions = module("completion_provider", **records(Completion="values total more"))
    exports = module(
        "wit_world.exports",
        ResourceProvider=object,
        resource_provider=module("resource_provider", **resources),
        **({"CompletionProvider": object, "VersionProvider": object, "completion_provider": completions} if optional else {}),
    )
    enums = {"Role": Enum("Role", ["USER", "ASSISTANT"]), "Scope": Enum("Scope", ["EVERYONE", "CALLER"])}
    imports = module("wit_world.imports", provider_types=module("provider_types", **types, **enums))
    return {
        "componentize_py_types": module("componentize_py_types", Err=Err),
        "wit_world": module("wit_world", exports=exports, imports=imports),
        "wit_world.exports": exports,
        "wit_world.imports": imports,
    }


class Exports(unittest.TestCase):
    def exported(self, optional=True, **methods):
        """Instances of the exported classes for a provider with these methods, by name."""
        provider = type("Test", (Provider,), {name: staticmethod(method) for name, method in methods.items()})()
        with patch.dict(sys.modules, bindings(optional)):
            guest = importlib.import_module("larder_provider.guest")
        return {name: exported() for name, exported in guest.classes(provider).items()}

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

    def test_correct_values_are_converted(self):
        pairs = [["a", "1"], ("caf\udce9", "2")]
        details = Details("k", ("user",), 1, None, [Icon("a:b", sizes=("any",))], pairs)
        entry = Entry("a://x", "caf\udce9", size=5, details=details)
        methods = {
            "describe": lambda: Description("t", claims=("a://",)),
            "list": lambda query: [entry],
            "templates": lambda cursor: [Template("a://{x}", "x")],
            "read": lambda request: Reading([Content("é"), Content(bytearray(b"x"))], "3", Freshness(5, "caller")),
            "match_uri": lambda uri: Match("a://{x}", pairs),
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
        icon = ("a:b", None, ["any"])
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
        self.assertEqual(astuple(resources.match_uri("a://x")), ("a://{x}", converted))
        completion = SimpleNamespace(uri_template="a://{x}", variable="x", prefix="", filled=[])
        self.assertEqual(astuple(exported["CompletionProvider"].complete(completion)), (["a"], None, False))
        self.assertEqual(exported["VersionProvider"].versions(["a://x", "a://y"]), ["1", None])


if __name__ == "__main__":
    unittest.main()
