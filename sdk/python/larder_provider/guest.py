"""The contract's side: its functions, with our values turned into its own and back. Exists only in components."""

from dataclasses import fields

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports import resource_provider as out
from wit_world.imports import provider_types as types

try:
    from wit_world.exports import completion_provider
except ImportError:
    completion_provider = None  # a world need not have it

from . import errors, host
from .provider import about
from .values import CompletionRequest, Content, EntryPage, Match, Query, Reading, Request, TemplatePage


def classes(provider) -> dict[str, type]:
    """The classes that componentize-py looks for, as far as the world that was chosen has them."""
    made = {"ResourceProvider": _resources(provider)}
    if completion_provider:
        made["CompletionProvider"] = _completions(provider)
    if hasattr(exports, "VersionProvider"):
        made["VersionProvider"] = _versions(provider)
    return made


def _resources(provider) -> type:
    class ResourceProvider(exports.ResourceProvider):
        def describe(self):
            try:
                return _same(out.Description, about(provider))
            except Exception as error:
                reason = _told(errors.explained(error, "describe", host.error))
                return out.Description(None, None, f"cannot describe itself: {reason}", None, [])

        @_guarded
        def list_resources(self, query):
            page = provider.list(_same(Query, query))
            page = page if isinstance(page, EntryPage) else EntryPage(list(page))
            entries = [_listed(types.Entry, entry) for entry in page.entries]
            return out.EntryPage(entries, page.next_cursor, _freshness(page))

        @_guarded
        def list_templates(self, cursor):
            page = provider.templates(cursor)
            page = page if isinstance(page, TemplatePage) else TemplatePage(list(page))
            templates = [_listed(types.Template, template) for template in page.templates]
            return out.TemplatePage(templates, page.next_cursor, _freshness(page))

        def match_uri(self, uri):
            try:
                found = provider.match_uri(uri)
                return found and _same(out.TemplateMatch, found)
            except Exception as error:
                # There is no other way to say it: nobody matched.
                errors.explained(error, "match_uri", host.error)
                return None

        @_guarded
        def read_resource(self, request):
            matched = request.matched and _same(Match, request.matched)
            answer = provider.read(Request(request.uri, matched, request.known_version))
            reading = answer if isinstance(answer, Reading) else Reading(answer)
            contents = [reading.contents] if isinstance(reading.contents, Content) else reading.contents
            return out.Reading([_content(content) for content in contents], reading.version, _freshness(reading))

    return ResourceProvider


def _completions(provider) -> type:
    class CompletionProvider(exports.CompletionProvider):
        @_guarded
        def complete(self, request):
            return _same(completion_provider.Completion, provider.complete(_same(CompletionRequest, request)))

    return CompletionProvider


def _versions(provider) -> type:
    class VersionProvider(exports.VersionProvider):
        @_guarded
        def versions(self, uris):
            return host.unicode(list(provider.versions(uris)))

    return VersionProvider


def _guarded(method):
    """Turns what is raised into the contract's errors: what escapes ends the guest."""

    def answer(self, question):
        try:
            return method(self, question)
        except Exception as error:
            raise Err(_error(errors.explained(error, method.__name__, host.error))) from None

    return answer


def _error(error: errors.Error):
    match error:
        case errors.NotFound():
            return types.Error_NotFound()
        case errors.NotModified():
            return types.Error_NotModified()
        case errors.Invalid():
            return types.Error_Invalid(_told(error))
        case errors.Denied():
            return types.Error_Denied(_told(error))
        case errors.Unavailable():
            return types.Error_Unavailable(_told(error))
        case _:
            return types.Error_Failed(_told(error))


def _told(error) -> str:
    return host.unicode(str(error))


def _same(wanted: type, value):
    """The same record in the other world's words: its fields have the same names."""
    return wanted(**{field.name: host.unicode(getattr(value, field.name)) for field in fields(wanted)})


def _listed(wanted: type, value):
    listed = _same(wanted, value)
    if listed.details is not None:
        listed.details = _same(types.Details, listed.details)
        listed.details.audience = [types.Role[role.upper()] for role in listed.details.audience]
        listed.details.icons = [_same(types.Icon, icon) for icon in listed.details.icons]
    return listed


def _content(content: Content):
    body = content.body
    body = types.Body_Text(host.unicode(body)) if isinstance(body, str) else types.Body_Blob(bytes(memoryview(body)))
    return types.Content(*map(host.unicode, (content.uri, content.mime_type, body, content.metadata)))


def _freshness(answer):
    found = answer.freshness
    return found and types.Freshness(found.ttl_ms, types.Scope[found.scope.upper()])
