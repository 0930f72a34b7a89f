"""Native tests of the types in annotations: their schemas, and the values that they accept."""

import enum
import unittest
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, Optional, TypedDict

from larder_provider.annotations import Codecs, Unsupported
from larder_provider.checks import Mismatch
from larder_provider.codec import Definitions, SchemaOptions


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: float
    y: Annotated[float, "Upwards."] = 0.5
    from_: str | None = None


@dataclass
class Node:
    name: str
    children: "list[Node]" = field(default_factory=list)


@dataclass
class Counted:
    name: str
    count: int = field(init=False, default=0)


class Options(TypedDict):
    deep: bool
    limit: NotRequired[int]


POINT = {
    "type": "object",
    "properties": {
        "x": {"type": "number"},
        "y": {"type": "number", "description": "Upwards.", "default": 0.5},
        "from": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["x"],
}
NODE = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
    "required": ["name"],
}
OPTIONS = {"type": "object", "properties": {"deep": {"type": "boolean"}, "limit": {"type": "integer"}}, "required": ["deep"]}

SCHEMAS = [
    (str, {"type": "string"}),
    (int, {"type": "integer"}),
    (float, {"type": "number"}),
    (bool, {"type": "boolean"}),
    (None, {"type": "null"}),
    (Any, {}),
    (list, {"type": "array", "items": {}}),
    (list[int], {"type": "array", "items": {"type": "integer"}}),
    (Sequence[str], {"type": "array", "items": {"type": "string"}}),
    (tuple[str, ...], {"type": "array", "items": {"type": "string"}}),
    (dict, {"type": "object"}),
    (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
    (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    (Literal["a", 1], {"enum": ["a", 1]}),
    (Color, {"type": "string", "enum": ["red", "blue"]}),
    (Optional[str], {"anyOf": [{"type": "string"}, {"type": "null"}]}),
    (int | str, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
    (Annotated[int, "How many."], {"type": "integer", "description": "How many."}),
    (Annotated[int, 5], {"type": "integer"}),
    (Point, POINT),
    (Options, OPTIONS),
    (Counted, {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}),
    (Node, {"type": "object", "$ref": "#/$defs/Node", "$defs": {"Node": NODE}}),
    (list[Node], {"type": "array", "items": {"$ref": "#/$defs/Node"}, "$defs": {"Node": NODE}}),
]

UNSUPPORTED = [
    (set, "the type `set` has no JSON form: use str, int, float, bool, list, dict[str, …], Literal, Enum, a dataclass or a TypedDict"),
    (dict[int, str], "the type `dict[int, str]` has no JSON form: use str, int"),
    (tuple[int, str], "the type `tuple[int, str]` has no JSON form: use str, int"),
    (bytes, "the type `bytes` has no JSON form: use str, int"),
]

# The type, a JSON value, and the Python value.
DECODED = [
    (int, 5, 5),
    (int, 5.0, 5),
    (float, 5, 5.0),
    (str | None, None, None),
    (int | str, "5", "5"),
    (list[Color], ["red"], [Color.RED]),
    (tuple[int, ...], [1, 2], (1, 2)),
    (dict[str, Point], {"a": {"x": 1}}, {"a": Point(1.0)}),
    (Point, {"x": 1, "y": 2, "from": "z"}, Point(1.0, 2.0, "z")),
    (Options, {"deep": True}, {"deep": True}),
    (Counted, {"name": "a"}, Counted("a")),
    (Node, {"name": "a", "children": [{"name": "b"}]}, Node("a", [Node("b")])),
    (Any, {"a": [None]}, {"a": [None]}),
]

# The type, a wrong JSON value, and the message.
REJECTED = [
    (str, 5, "the result must be a string, but is 5"),
    (str, None, "the result must be a string, but is null"),
    (int, True, "the result must be a whole number, but is true"),
    (int, 1.5, "the result must be a whole number, but is 1.5"),
    (float, "1", 'the result must be a number, but is "1"'),
    (bool, 1, "the result must be true or false, but is 1"),
    (list[int], {}, "the result must be an array, but is {}"),
    (list[int], [1, "2"], '`[1]` must be a whole number, but is "2"'),
    (dict[str, int], {"a": None}, "`a` must be a whole number, but is null"),
    (Literal["a", "b"], "c", 'the result must be "a" or "b", but is "c"'),
    (Literal[1], True, "the result must be 1, but is true"),
    (Color, "RED", 'the result must be "red" or "blue", but is "RED"'),
    (str | None, 5, "the result must be a string or null, but is 5"),
    (Point, [], "the result must be an object, but is []"),
    (Point, {}, "`x` is missing"),
    (Point, {"x": 1, "z": 2}, "`z` is not known"),
    (Point, {"x": 1, "from_": "z"}, "`from_` is not known"),
    (list[Point], [{"x": "1"}], '`[0].x` must be a number, but is "1"'),
    (Point | None, {"x": "1"}, '`x` must be a number, but is "1"'),
    (Options, {"deep": True, "limit": "1"}, '`limit` must be a whole number, but is "1"'),
    (Node, {"name": "a", "children": [{"name": 5}]}, "`children[0].name` must be a string, but is 5"),
    (str, ["x" * 100], f"the result must be a string, but is [\"{'x' * 57}…"),
]

# The type, a Python value, and the JSON value.
ENCODED = [
    (str, "a", "a"),
    (float, 1, 1),
    (list[Color], (Color.RED,), ["red"]),
    (Point, Point(1, from_="z"), {"x": 1, "y": 0.5, "from": "z"}),
    (Options, {"deep": False}, {"deep": False}),
    (Node, Node("a", [Node("b")]), {"name": "a", "children": [{"name": "b", "children": []}]}),
    (Point | None, None, None),
    (Any, [1], [1]),
]

# The type, a wrong Python value, and the message.
WRONG = [
    (str, 5, "the result must be a str, but is 5"),
    (int, True, "the result must be an int, but is True"),
    (float, float("nan"), "the result must be a finite float, but is nan"),
    (list[str], "abc", "the result must be a list, but is 'abc'"),
    (list[str], ["a", b"b"], "`[1]` must be a str, but is b'b'"),
    (dict[str, int], {1: 1}, "the result must be a dict with strs as keys, but is a dict of 1 item"),
    (Literal["a"], "b", "the result must be 'a', but is 'b'"),
    (Color, "red", "the result must be <Color.RED: 'red'> or <Color.BLUE: 'blue'>, but is 'red'"),
    (Point, {"x": 1}, "the result must be a Point, but is a dict of 1 item"),
    (Point, Point("1"), "`x` must be a finite float, but is '1'"),
    (Point | None, "x", "the result must be a Point or None, but is 'x'"),
    (Options, {}, "`deep` is missing"),
    (Options, {"deep": True, "limt": 1}, "the result has the unknown key 'limt'"),
    (Options, [], "the result must be a dict with the keys of Options, but is a list of 0 items"),
    (Node, Node("a", [Node(5)]), "`children[0].name` must be a str, but is 5"),
    (Any, {1, 2}, "the result must be a JSON value, but is a set of 2 items"),
]


class Types(unittest.TestCase):
    maxDiff = None

    def test_a_type_has_a_schema(self):
        for annotation, schema in SCHEMAS:
            with self.subTest(annotation):
                self.assertEqual(Definitions(SchemaOptions()).root(Codecs().of(annotation)), schema)

    def test_arguments_are_closed_and_forms_have_no_null(self):
        codec = Codecs().of(Point)
        self.assertEqual(Definitions(SchemaOptions(closed=True)).root(codec), {**POINT, "additionalProperties": False})
        form = Definitions(SchemaOptions(nulls=False)).root(codec)
        self.assertEqual(form["properties"]["from"], {"type": "string"})

    def test_other_types_are_rejected(self):
        for annotation, message in UNSUPPORTED:
            with self.subTest(annotation), self.assertRaises(Unsupported) as raised:
                Codecs().of(annotation)
            self.assertTrue(str(raised.exception).startswith(message), raised.exception)

    def test_json_is_decoded(self):
        for annotation, value, expected in DECODED:
            with self.subTest(annotation):
                decoded = Codecs().of(annotation).decode(value)
                self.assertEqual((decoded, type(decoded)), (expected, type(expected)))

    def test_wrong_json_is_named(self):
        for annotation, value, message in REJECTED:
            with self.subTest(message), self.assertRaises(Mismatch) as raised:
                Codecs().of(annotation).decode(value)
            self.assertEqual(str(raised.exception), message)

    def test_values_are_encoded(self):
        for annotation, value, expected in ENCODED:
            with self.subTest(annotation):
                self.assertEqual(Codecs().of(annotation).encode(value), expected)

    def test_wrong_values_are_named(self):
        for annotation, value, message in WRONG:
            with self.subTest(message), self.assertRaises(Mismatch) as raised:
                Codecs().of(annotation).encode(value)
            self.assertEqual(str(raised.exception), message)


if __name__ == "__main__":
    unittest.main()
