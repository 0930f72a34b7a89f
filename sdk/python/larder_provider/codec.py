"""Converts between JSON and the types of annotations, and describes the types as JSON Schema (2020-12)."""

import json
import math
from dataclasses import dataclass
from typing import Any

from .checks import Mismatch, expected, shorten, with_article


@dataclass
class SchemaOptions:
    """What a schema is for."""

    # Whether unknown properties are errors, as in arguments.
    closed: bool = False
    # Whether null is listed for optional properties. The forms of MCP have no null.
    nulls: bool = True


class Definitions:
    """The schemas of recursive types, which refer to themselves by name."""

    def __init__(self, options: SchemaOptions):
        self.options = options
        self.schemas: dict[str, dict] = {}
        self.names: dict[int, str] = {}
        self.open: set[int] = set()

    def reference(self, codec: "ObjectCodec") -> dict:
        """Refers to a type whose schema is not complete yet."""
        if id(codec) not in self.names:
            taken = set(self.names.values())
            names = [codec.type_name, *(f"{codec.type_name}{n}" for n in range(2, len(taken) + 3))]
            self.names[id(codec)] = next(name for name in names if name not in taken)
        return {"$ref": f"#/$defs/{self.names[id(codec)]}"}

    def root(self, codec: "Codec") -> dict:
        """The schema of a type, with the definitions that it refers to."""
        schema = codec.schema(self)
        if not self.schemas:
            return schema
        # Clients expect the type of the root.
        kind = {"type": "object"} if "$ref" in schema else {}
        return {**kind, **schema, "$defs": self.schemas}


def json_expected(type_name: str, value) -> Mismatch:
    """A mismatch in the words of JSON, for models and users."""
    return Mismatch(f"must be {type_name}, but is {shorten(json.dumps(value, ensure_ascii=False))}")


class Codec:
    """One type: `decode` accepts JSON, and `encode` returns it. Both raise a `Mismatch`."""

    # How messages name the type: in Python and in JSON.
    name = "any value"
    json_name = "any value"

    def schema(self, definitions: Definitions) -> dict:
        return {}

    def decode(self, value):
        return value

    def encode(self, value):
        return value


class AnyCodec(Codec):
    """Any JSON value."""

    def encode(self, value):
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError):
            raise expected("a JSON value", value) from None
        return value


class ScalarCodec(Codec):
    """A text, a number, a boolean or null."""

    def __init__(self, python_type: type, name: str, json_type: str, json_name: str):
        self.python_type = python_type
        self.name = name
        self.json_type = json_type
        self.json_name = json_name

    def schema(self, definitions):
        return {"type": self.json_type}

    def decode(self, value):
        if self.python_type is int and isinstance(value, float) and value.is_integer():
            # JSON does not distinguish 5.0 from 5.
            value = int(value)
        if not self._accepts(value):
            raise json_expected(self.json_name, value)
        return float(value) if self.python_type is float else value

    def encode(self, value):
        if not self._accepts(value) or (isinstance(value, float) and not math.isfinite(value)):
            raise expected(self.name, value)
        return value

    def _accepts(self, value) -> bool:
        if isinstance(value, bool):
            return self.python_type is bool
        return isinstance(value, (int, float) if self.python_type is float else self.python_type)


NULL = ScalarCodec(type(None), "None", "null", "null")
SCALARS = {
    str: ScalarCodec(str, "a str", "string", "a string"),
    int: ScalarCodec(int, "an int", "integer", "a whole number"),
    float: ScalarCodec(float, "a finite float", "number", "a number"),
    bool: ScalarCodec(bool, "a bool", "boolean", "true or false"),
    type(None): NULL,
    None: NULL,
}


class ListCodec(Codec):
    name = "a list"
    json_name = "an array"

    def __init__(self, item: Codec, build: type):
        self.item = item
        self.build = build

    def schema(self, definitions):
        return {"type": "array", "items": self.item.schema(definitions)}

    def decode(self, value):
        if not isinstance(value, list):
            raise json_expected(self.json_name, value)
        return self.build(_each(value, self.item.decode))

    def encode(self, value):
        if not isinstance(value, (list, tuple)):
            raise expected(self.name, value)
        return _each(value, self.item.encode)


def _each(values, convert) -> list:
    return [at(f"[{index}]", convert, value) for index, value in enumerate(values)]


def at(step: str, convert, value):
    """Converts a part of a value. A mismatch names the part."""
    try:
        return convert(value)
    except Mismatch as mismatch:
        raise mismatch.within(step) from None


class MapCodec(Codec):
    name = "a dict"
    json_name = "an object"

    def __init__(self, value: Codec):
        self.value = value

    def schema(self, definitions):
        values = self.value.schema(definitions)
        return {"type": "object", **({"additionalProperties": values} if values else {})}

    def decode(self, value):
        if not isinstance(value, dict):
            raise json_expected(self.json_name, value)
        return {key: at(key, self.value.decode, item) for key, item in value.items()}

    def encode(self, value):
        if not isinstance(value, dict):
            raise expected(self.name, value)
        for key in value:
            if not isinstance(key, str):
                raise expected("a dict with strs as keys", value)
        return {key: at(key, self.value.encode, item) for key, item in value.items()}


class ChoiceCodec(Codec):
    """One of some texts or numbers: the values of a `Literal` or of an `Enum`."""

    def __init__(self, choices: dict[Any, Any]):
        # The JSON value of each Python value. The pairs are compared by type too, because 1 equals True.
        self.choices = list(choices.items())
        self.name = _either(repr(python) for python, _ in self.choices)
        self.json_name = _either(json.dumps(value, ensure_ascii=False) for _, value in self.choices)

    def schema(self, definitions):
        values = [value for _, value in self.choices]
        types = {type(value) for value in values}
        kind = {"type": SCALARS[types.pop()].json_type} if len(types) == 1 else {}
        return {**kind, "enum": values}

    def decode(self, value):
        for python, choice in self.choices:
            if choice == value and type(choice) is type(value):
                return python
        raise json_expected(self.json_name, value)

    def encode(self, value):
        for python, choice in self.choices:
            if python == value and type(python) is type(value):
                return choice
        raise expected(self.name, value)


class UnionCodec(Codec):
    """One of several types. The first type that accepts a value converts it."""

    def __init__(self, options: list[Codec]):
        self.options = options
        self.name = _either(option.name for option in options)
        self.json_name = _either(option.json_name for option in options)

    def schema(self, definitions):
        options = self.options if definitions.options.nulls else [each for each in self.options if each is not NULL]
        schemas = [option.schema(definitions) for option in options]
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}

    def decode(self, value):
        return self._first("decode", value, lambda: json_expected(self.json_name, value))

    def encode(self, value):
        return self._first("encode", value, lambda: expected(self.name, value))

    def _first(self, direction: str, value, mismatch):
        problems = []
        for option in self.options:
            try:
                return getattr(option, direction)(value)
            except Mismatch as problem:
                problems.append(problem)
        # A mismatch within the value says more than the list of types.
        within = [problem for problem in problems if problem.path]
        raise within[0] if len(within) == 1 else mismatch()


def _either(names) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


class DescribedCodec(Codec):
    """A type with a description for its schema: `Annotated[str, "…"]`."""

    def __init__(self, codec: Codec, description: str):
        self.codec = codec
        self.description = description
        self.name = codec.name
        self.json_name = codec.json_name
        self.decode = codec.decode
        self.encode = codec.encode

    def schema(self, definitions):
        return {**self.codec.schema(definitions), "description": self.description}


MISSING = object()


@dataclass
class Field:
    """A property of an object: its name in JSON and in Python."""

    json_name: str
    name: str
    codec: Codec
    required: bool = True
    # Only for the schema; MISSING if there is none.
    default: Any = MISSING


class ObjectCodec(Codec):
    """An object with known properties: a dataclass, a TypedDict, or the arguments of a function."""

    json_name = "an object"

    def __init__(self, type_name: str, python_type: type, build):
        self.type_name = type_name
        self.name = f"a dict with the keys of {type_name}" if python_type is dict else with_article(python_type)
        self.python_type = python_type
        # Creates the value from a dict of its fields by their names in Python.
        self.build = build
        # Added later, because a type can contain itself.
        self.fields: list[Field] = []

    def schema(self, definitions):
        if id(self) in definitions.open:
            return definitions.reference(self)
        definitions.open.add(id(self))
        properties = {field.json_name: _property(field, definitions) for field in self.fields}
        definitions.open.remove(id(self))
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if required := [field.json_name for field in self.fields if field.required]:
            schema["required"] = required
        if definitions.options.closed:
            schema["additionalProperties"] = False
        if id(self) not in definitions.names:
            return schema
        definitions.schemas[definitions.names[id(self)]] = schema
        return definitions.reference(self)

    def decode(self, value):
        if not isinstance(value, dict):
            raise json_expected(self.json_name, value)
        for field in self.fields:
            if field.required and field.json_name not in value:
                raise Mismatch("is missing").within(field.json_name)
        known = {field.json_name: field for field in self.fields}
        if unknown := next((key for key in value if key not in known), None):
            raise Mismatch("is not known").within(unknown)
        return self.build({known[key].name: at(key, known[key].codec.decode, item) for key, item in value.items()})

    def encode(self, value):
        is_dict = self.python_type is dict
        if not isinstance(value, self.python_type):
            raise expected(self.name, value)
        found = value if is_dict else {field.name: getattr(value, field.name) for field in self.fields}
        for field in self.fields:
            if field.required and field.name not in found:
                raise Mismatch("is missing").within(field.name)
        known = {field.name: field for field in self.fields}
        for key in found:
            if key not in known:
                raise Mismatch(f"has the unknown key {key!r}")
        return {known[key].json_name: at(key, known[key].codec.encode, item) for key, item in found.items()}


def _property(field: Field, definitions: Definitions) -> dict:
    schema = field.codec.schema(definitions)
    return schema if field.default in (MISSING, None) else {**schema, "default": field.default}
