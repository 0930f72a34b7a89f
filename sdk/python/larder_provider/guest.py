"""Implements the exported functions of the contract and converts their values. Only available in components."""

from dataclasses import fields
from functools import cache, wraps
from operator import attrgetter

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import resource_provider as out
from wit_world.imports import provider_types as types

try:
    from wit_world.exports import completion_provider
except ImportError:
    completion_provider = None  # not part of every world

from . import errors, host
from .check import call
from .provider import description
from .values import CompletionRequest, Content, Match, Query, Request


def classes(provider) -> dict[str, type]:
    """The classes that componentize-py looks for, depending on the world."""
    classes = {"ResourceProvider": _resources(provider)}
    if completion_provider:
        classes["CompletionProvider"] = _completions(provider)
    if hasattr(exports, "VersionProvider"):
        classes["VersionProvider"] = _versions(provider)
    return classes


def _guarded(name: str):
    """Converts exceptions to errors of the contract. An uncaught exception would be a trap. `SystemExit` is converted
    like any other exception."""

    def decorator(method):
        @wraps(method)
        def wrapper(self, argument):
            try:
                return method(self, argument)
            except BaseException as error:
                raise Err(_error(errors.to_error(error, name, host.error))) from None

        return wrapper

    return decorator


def _resources(provider) -> type:
    class ResourceProvider(exports.ResourceProvider):
        def describe(self):
            try:
                return _convert(out.Description, description(provider))
            except BaseException as error:
                reason = _message(errors.to_error(error, "describe", host.error))
                return out.Description(None, None, f"describe failed: {reason}", None, [])

        @_guarded("list")
        def list_resources(self, query):
            page = call(provider, "list", _convert(Query, query))
            entries = [_convert_listed(types.Entry, entry) for entry in page.entries]
            return out.EntryPage(entries, host.valid_unicode(page.next_cursor), _freshness(page))

        @_guarded("templates")
        def list_templates(self, cursor):
            page = call(provider, "templates", cursor)
            templates = [_convert_listed(types.Template, template) for template in page.templates]
            return out.TemplatePage(templates, host.valid_unicode(page.next_cursor), _freshness(page))

        def match_uri(self, uri):
            try:
                found = call(provider, "match_uri", uri)
                return found and _convert(out.TemplateMatch, found)
            except BaseException as error:
                # `match-uri` cannot return an error, so the URI counts as not matched.
                errors.to_error(error, "match_uri", host.error)
                return None

        @_guarded("read")
        def read_resource(self, request):
            matched = request.matched and _convert(Match, request.matched)
            reading = call(provider, "read", Request(request.uri, matched, request.known_version))
            contents = [_content(content) for content in reading.contents]
            return out.Reading(contents, host.valid_unicode(reading.version), _freshness(reading))

    return ResourceProvider


def _completions(provider) -> type:
    class CompletionProvider(exports.CompletionProvider):
        @_guarded("complete")
        def complete(self, request):
            completion = call(provider, "complete", _convert(CompletionRequest, request))
            return _convert(completion_provider.Completion, completion)

    return CompletionProvider


def _versions(provider) -> type:
    class VersionProvider(exports.VersionProvider):
        @_guarded("versions")
        def versions(self, uris):
            return host.valid_unicode(call(provider, "versions", uris))

    return VersionProvider


def _error(error: errors.Error):
    match error:
        case errors.NotFound():
            return types.Error_NotFound()
        case errors.NotModified():
            return types.Error_NotModified()
        case errors.Invalid():
            return types.Error_Invalid(_message(error))
        case errors.Denied():
            return types.Error_Denied(_message(error))
        case errors.Unavailable():
            return types.Error_Unavailable(_message(error))
        case _:
            return types.Error_Failed(_message(error))


def _message(error) -> str:
    return host.valid_unicode(errors.message(error))


def _convert(target: type, value):
    """Converts a record between an SDK type and a generated type with the same field names."""
    return target(*[None if field is None else _plain(field) for field in _fields(target)(value)])


@cache
def _fields(target: type):
    """A function that returns the fields of a value in the order of this type."""
    return attrgetter(*(field.name for field in fields(target)))


def _plain(value):
    """Converts a text, or a sequence of texts or pairs: to a list, with tuples as pairs."""
    if isinstance(value, (list, tuple)):
        return [host.valid_unicode(tuple(item) if isinstance(item, list) else item) for item in value]
    return host.valid_unicode(value)


def _convert_listed(target: type, value):
    """Converts an entry or a template."""
    converted = _convert(target, value)
    if converted.details is not None:
        converted.details = _convert(types.Details, converted.details)
        converted.details.audience = [types.Role[role.upper()] for role in converted.details.audience]
        converted.details.icons = [_convert(types.Icon, icon) for icon in converted.details.icons]
    return converted


def _content(content: Content):
    body = content.body
    if isinstance(body, str):
        body = types.Body_Text(host.valid_unicode(body))
    else:
        body = types.Body_Blob(bytes(memoryview(body)))
    return types.Content(_plain(content.uri), _plain(content.mime_type), body, _plain(content.metadata))


def _freshness(result):
    freshness = result.freshness
    return freshness and types.Freshness(freshness.ttl_ms, types.Scope[freshness.scope.upper()])
