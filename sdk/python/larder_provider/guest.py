"""Implements the exported functions of the contract and converts their values. Only available in components."""

# Python looks these up by name when a program connects to a host by its name. A component has only what was imported
# when it was built.
import encodings.idna
import encodings.punycode
import sys

from wit_world import exports
from wit_world.exports import resource_provider as out
from wit_world.imports import provider_types as types

try:
    from wit_world.exports import completion_provider
except ImportError:
    completion_provider = None  # not part of every world

try:
    from .guest_interaction import interaction_classes
except ImportError:
    interaction_classes = None  # not part of every world

from . import errors, host
from .check import call
from .convert import content, convert, convert_listed, freshness, guarded, message
from .prompts import declared_prompts
from .provider import description
from .tools import declared_tools
from .values import CompletionRequest, Match, Query, Request, Variable

# What Python's audit hooks call the beginning of a use of the network.
_NETWORK_EVENTS = {
    "socket.__new__",
    "socket.getaddrinfo",
    "socket.gethostbyaddr",
    "socket.gethostbyname",
    "socket.getnameinfo",
}
# Libraries that open a socket while they are imported.
_PROBES_NETWORK = "urllib3"

_is_exported = False


def _refuse_network(event: str, arguments: tuple) -> None:
    """Refuses the network until the provider is exported. The C library keeps a handle from its first use, which would
    become part of the component, where it is not valid: every later connection would end the guest."""
    if event in _NETWORK_EVENTS and not _is_exported:
        raise OSError("the network cannot be used at the top level of a module: it runs when the component is built")


if _PROBES_NETWORK in sys.modules and sys.modules["socket"].has_ipv6:
    raise RuntimeError(
        f"import `larder_provider` before `{_PROBES_NETWORK}`, which `requests` imports: `{_PROBES_NETWORK}` opens a "
        "socket while it is imported, and no socket would work in the component"
    )
sys.addaudithook(_refuse_network)


def classes(provider) -> dict[str, type]:
    """The classes that componentize-py looks for, depending on the world."""
    global _is_exported
    _is_exported = True
    classes = {"ResourceProvider": _resources(provider)}
    if completion_provider:
        classes["CompletionProvider"] = _completions(provider)
    if hasattr(exports, "VersionProvider"):
        classes["VersionProvider"] = _versions(provider)
    if interaction_classes:
        return classes | interaction_classes(provider)
    if declared_tools(type(provider)) or declared_prompts(type(provider)):
        raise TypeError("tools and prompts need the world `interactive-provider`: build with `-w interactive-provider`")
    return classes


def _resources(provider) -> type:
    class ResourceProvider(exports.ResourceProvider):
        def describe(self):
            about, problem = _describe(provider, host.error)
            return about or out.Description(None, None, problem, None, [])

        @guarded("list")
        def list_resources(self, query):
            page = call(provider, "list", convert(Query, query))
            entries = [convert_listed(types.Entry, entry) for entry in page.entries]
            return out.EntryPage(entries, host.valid_unicode(page.next_cursor), freshness(page))

        @guarded("templates")
        def list_templates(self, cursor):
            if cursor is None:
                _check_description(provider)
            page = call(provider, "templates", cursor)
            templates = [convert_listed(types.Template, template) for template in page.templates]
            return out.TemplatePage(templates, host.valid_unicode(page.next_cursor), freshness(page))

        def match_uri(self, uri):
            try:
                found = call(provider, "match_uri", uri)
                return found and _template_match(found)
            except BaseException as error:
                # `match-uri` cannot return an error, so the URI counts as not matched.
                errors.to_error(error, "match_uri", host.error)
                return None

        @guarded("read")
        def read_resource(self, request):
            reading = call(provider, "read", Request(request.uri, _match(request.matched), request.known_version))
            contents = [content(each) for each in reading.contents]
            return out.Reading(contents, host.valid_unicode(reading.version), freshness(reading))

    return ResourceProvider


def _describe(provider, log):
    """The description, or None and what is wrong with it."""
    try:
        return convert(out.Description, description(provider)), None
    except BaseException as error:
        return None, f"describe failed: {message(errors.to_error(error, 'describe', log))}"


def _check_description(provider):
    """`describe` cannot return an error. The next function that the host calls returns it, so that the host reports it."""
    _, problem = _describe(provider, lambda text: None)
    if problem:
        raise errors.Failed(problem)


def _match(matched) -> Match | None:
    return matched and Match(matched.uri_template, [convert(Variable, each) for each in matched.variables])


def _template_match(match: Match):
    variables = [convert(out.Variable, each) for each in match.variables]
    return out.TemplateMatch(host.valid_unicode(match.uri_template), variables)


def _completions(provider) -> type:
    class CompletionProvider(exports.CompletionProvider):
        @guarded("complete")
        def complete(self, request):
            completion = call(provider, "complete", convert(CompletionRequest, request))
            return convert(completion_provider.Completion, completion)

    return CompletionProvider


def _versions(provider) -> type:
    class VersionProvider(exports.VersionProvider):
        @guarded("versions")
        def versions(self, uris):
            return host.valid_unicode(call(provider, "versions", uris))

    return VersionProvider
