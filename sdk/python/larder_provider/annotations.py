"""Finds the codecs of the types that authors write as annotations: of parameters, results, dataclasses, TypedDicts."""

import dataclasses
import enum
import inspect
import keyword
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, Required, Union

from .codec import (
    MISSING,
    NULL,
    SCALARS,
    AnyCodec,
    ChoiceCodec,
    Codec,
    DescribedCodec,
    Field,
    ListCodec,
    MapCodec,
    ObjectCodec,
    UnionCodec,
)


class Unsupported(Exception):
    """A type has no JSON form."""


class Codecs:
    """Creates one codec for each type, so that a type can contain itself."""

    def __init__(self):
        self._objects: dict[type, ObjectCodec] = {}

    def of(self, annotation) -> Codec:
        """The codec of a type."""
        if annotation in (Any, object, inspect.Parameter.empty):
            return AnyCodec()
        if isinstance(annotation, str):
            raise Unsupported(f"the type {annotation!r} is not known")
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is not None:
            return self._generic(annotation, origin, arguments)
        if annotation in (list, Sequence):
            return ListCodec(AnyCodec(), list)
        if annotation in (dict, Mapping):
            return MapCodec(AnyCodec())
        if not isinstance(annotation, type):
            return SCALARS[None] if annotation is None else _unsupported(annotation)
        return self._class(annotation)

    def _generic(self, annotation, origin, arguments) -> Codec:
        if origin is Annotated:
            codec = self.of(arguments[0])
            description = next((text for text in arguments[1:] if isinstance(text, str)), None)
            return DescribedCodec(codec, description) if description else codec
        if origin in (Required, NotRequired):
            return self.of(arguments[0])
        if origin is Literal:
            return ChoiceCodec({value: value for value in arguments})
        if origin in (Union, types.UnionType):
            return UnionCodec([self.of(argument) for argument in arguments])
        if origin in (list, Sequence):
            return ListCodec(self.of(arguments[0]), list)
        if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
            return ListCodec(self.of(arguments[0]), tuple)
        if origin in (dict, Mapping) and arguments[0] is str:
            return MapCodec(self.of(arguments[1]))
        return _unsupported(annotation)

    def _class(self, annotation: type) -> Codec:
        if annotation in SCALARS:
            return SCALARS[annotation]
        if issubclass(annotation, enum.Enum):
            return ChoiceCodec({member: member.value for member in annotation})
        if annotation not in self._objects:
            if typing.is_typeddict(annotation):
                self._add(annotation, ObjectCodec(annotation.__name__, dict, dict), _typed_dict_fields)
            elif dataclasses.is_dataclass(annotation):
                build = lambda fields: annotation(**fields)
                self._add(annotation, ObjectCodec(annotation.__name__, annotation, build), _dataclass_fields)
            else:
                return _unsupported(annotation)
        return self._objects[annotation]

    def _add(self, annotation: type, codec: ObjectCodec, fields: Callable) -> None:
        self._objects[annotation] = codec
        hints = hints_of(annotation)
        for name, required, default in fields(annotation):
            codec.fields.append(self.field(name, hints.get(name, Any), required, default))

    def field(self, name: str, annotation, required: bool, default) -> Field:
        """The property for a field or a parameter."""
        try:
            codec = self.of(annotation)
        except Unsupported as error:
            raise Unsupported(f"`{name}`: {error}") from None
        try:
            default = default if default in (MISSING, None) else codec.encode(default)
        except Exception:
            # The default is used by Python, and only left out of the schema.
            default = MISSING
        return Field(_json_name(name), name, codec, required, default)

    def parameters(self, function: Callable) -> ObjectCodec:
        """The arguments of a method as an object. Decoding returns them as a dict."""
        codec = ObjectCodec(function.__name__, dict, dict)
        hints = hints_of(function)
        _, *parameters = inspect.signature(function).parameters.values()
        for parameter in parameters:
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise Unsupported(f"`{parameter.name}`: a parameter must have a name that clients can use")
            required = parameter.default is parameter.empty
            default = MISSING if required else parameter.default
            codec.fields.append(self.field(parameter.name, hints.get(parameter.name, Any), required, default))
        return codec


def hints_of(annotated) -> dict[str, Any]:
    """The annotations, with names replaced by types."""
    try:
        return typing.get_type_hints(annotated, include_extras=True)
    except NameError as error:
        raise Unsupported(f"{error}: types must be defined in the module, not in a function") from None
    except TypeError as error:
        hint = "in a class with a method `list`, write `Sequence[…]` in place of `list[…]`"
        raise Unsupported(f"{error} ({hint})") from None


def _unsupported(annotation):
    shown = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    hint = "use str, int, float, bool, list, dict[str, …], Literal, Enum, a dataclass or a TypedDict"
    raise Unsupported(f"the type `{shown}` has no JSON form: {hint}")


def _json_name(name: str) -> str:
    """`from_` is `from` in JSON, because `from` cannot be a name in Python."""
    return name[:-1] if name.endswith("_") and keyword.iskeyword(name[:-1]) else name


def _dataclass_fields(annotation: type):
    for field in dataclasses.fields(annotation):
        if field.init:
            has_default = field.default is not dataclasses.MISSING
            required = not has_default and field.default_factory is dataclasses.MISSING
            yield field.name, required, field.default if has_default else MISSING


def _typed_dict_fields(annotation: type):
    for name in hints_of(annotation):
        yield name, name in annotation.__required_keys__, MISSING
