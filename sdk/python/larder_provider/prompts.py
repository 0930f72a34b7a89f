"""Prompts: messages that a user selects, and suggestions for their arguments."""

import json
from collections.abc import Callable, Iterable
from functools import cached_property

from .check import run
from .checks import Mismatch, expected, items, text
from .codec import NULL, ChoiceCodec, Codec, DescribedCodec, Field, ObjectCodec, ScalarCodec, UnionCodec, json_expected
from .declared import DeclaredMethod, declared, find
from .errors import Invalid, NotFound
from .interaction import Argument, ArgumentQuery, Prompt, PromptRequest, PromptResult
from .interaction_results import prompt_result
from .location import defined_at
from .resource_results import completion
from .values import Completion


class PromptMethod(DeclaredMethod):
    """A method with `@prompt`."""

    decorator = "@prompt"

    def __init__(self, function: Callable, **options):
        super().__init__(function, **options)
        self.completers: dict[str, Callable] = {}

    def complete(self, argument: str) -> Callable:
        """Declares a method that suggests values for an argument. It returns a `Completion`, or all values, of which
        those that begin with the prefix are suggested."""

        def decorate(function: Callable) -> Callable:
            self.completers[argument] = function
            return function

        return decorate

    @cached_property
    def parameters(self) -> ObjectCodec:
        parameters = self.codecs(lambda codecs: codecs.parameters(self.function))
        for field in parameters.fields:
            if not all(isinstance(option, (ScalarCodec, ChoiceCodec)) for option in _options(field.codec)):
                message = f"@prompt `{self.name}`: `{field.name}` must be a text, a number, a boolean or a choice"
                raise TypeError(message + defined_at(self.function))
        for argument, function in self.completers.items():
            if all(field.json_name != argument for field in parameters.fields):
                message = f"@prompt `{self.name}` has no argument `{argument}` to complete"
                raise TypeError(message + defined_at(function))
        return parameters

    @property
    def prompt(self) -> Prompt:
        """The prompt as it is listed."""
        arguments = [Argument(field.json_name, _description(field), field.required) for field in self.parameters.fields]
        return Prompt(self.name, self.title, self.description, arguments, list(self.icons), list(self.metadata))

    def get(self, provider, arguments: dict[str, str]) -> PromptResult:
        """Calls the method. Wrong arguments are `Invalid`."""
        values = _decode(self.parameters, arguments)
        method = self.function.__get__(provider)
        return run(self.name, method, lambda: method(**values), prompt_result)

    def suggest(self, provider, query: ArgumentQuery) -> Completion:
        field = next((field for field in self.parameters.fields if field.json_name == query.argument), None)
        if field is None:
            raise NotFound
        if query.argument not in self.completers:
            return Completion.matching(_choices(field.codec), query.prefix)
        method = self.completers[query.argument].__get__(provider)
        return run(method.__name__, method, lambda: method(query), lambda result: _suggestions(result, query.prefix))


def _decode(parameters: ObjectCodec, arguments: dict[str, str]) -> dict:
    known = {field.json_name: field for field in parameters.fields}
    for name, field in known.items():
        if field.required and name not in arguments:
            raise Invalid(f"`{name}` is missing")
    values = {}
    for name, value in arguments.items():
        if name not in known:
            raise Invalid(f"`{name}` is not known")
        values[known[name].name] = _decode_text(name, known[name].codec, value)
    return values


def _decode_text(name: str, codec: Codec, value: str):
    """Prompts have texts as arguments, so numbers and booleans are written as texts."""
    options = _options(codec)
    for option in options:
        for candidate in _json_values(option, value):
            try:
                return option.decode(candidate)
            except Mismatch:
                continue
    expected_types = " or ".join(option.json_name for option in options)
    raise Invalid(str(json_expected(expected_types, value).within(name)))


def _json_values(codec: Codec, value: str) -> list:
    if isinstance(codec, ScalarCodec) and codec.python_type is str:
        return [value]
    try:
        return [value, json.loads(value)]
    except ValueError:
        return [value]


def _options(codec: Codec) -> list[Codec]:
    """The types of an argument, without null and descriptions."""
    match codec:
        case DescribedCodec():
            return _options(codec.codec)
        case UnionCodec():
            return [each for option in codec.options if option is not NULL for each in _options(option)]
        case _:
            return [codec]


def _choices(codec: Codec) -> list[str]:
    found = [choice for option in _options(codec) if isinstance(option, ChoiceCodec) for _, choice in option.choices]
    return [choice if isinstance(choice, str) else json.dumps(choice) for choice in found]


def _description(field: Field) -> str | None:
    return field.codec.description if isinstance(field.codec, DescribedCodec) else None


def _suggestions(value, prefix: str) -> Completion:
    if isinstance(value, Completion):
        completion(value)
        return value
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise expected("a list of strs or a Completion", value)
    return Completion.matching(items(value, "a list of strs or a Completion", "value", text), prefix)


def prompt(
    function: Callable | None = None,
    /,
    *,
    name: str | None = None,
    title: str | None = None,
    description: str | None = None,
    icons=(),
    metadata=(),
):
    """Declares a method of a provider as a prompt. Its parameters become the arguments, and its docstring becomes the
    description. The decorator `complete` of the result declares a method with suggestions for an argument."""
    options = dict(name=name, title=title, description=description, icons=icons, metadata=metadata)
    decorate = lambda function: PromptMethod(function, **options)
    return decorate if function is None else decorate(function)


def declared_prompts(provider: type) -> list[Prompt]:
    return [method.prompt for method in declared(provider, PromptMethod).values()]


def get_declared_prompt(provider, request: PromptRequest) -> PromptResult:
    return find(type(provider), PromptMethod, request.name).get(provider, request.arguments)


def complete_declared_argument(provider, query: ArgumentQuery) -> Completion:
    return find(type(provider), PromptMethod, query.prompt).suggest(provider, query)
