"""@NAME@: a provider of greetings. Put your own resources in their place.

All imports have to stand at the top: they are done when the component is built.
"""

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.resource_provider import Description, EntryPage, Reading, TemplatePage
from wit_world.imports import provider_host
from wit_world.imports.provider_types import Body_Text, Content, Entry, Error_NotFound, Template

# The URIs are yours to choose; clients see them as they are written here.
HELLO = "@NAME@://hello"
HELLO_WHO = "@NAME@://hello/{who}"


class ResourceProvider(exports.ResourceProvider):
    def describe(self):
        # What people read in lists, and what a model is told about when to use this.
        return Description(
            title="Greetings", version=None, summary="Says hello.", instructions=None, claims=[]
        )

    def list_resources(self, query):
        # What there is, sorted by URI.
        entry = Entry(HELLO, "hello", None, None, "text/plain", None, None, None)
        return EntryPage([entry], next_cursor=None, freshness=None)

    def list_templates(self, cursor):
        # Families of resources that are too many to list.
        template = Template(HELLO_WHO, "a greeting", None, None, "text/plain", None)
        return TemplatePage([template], next_cursor=None, freshness=None)

    def match_uri(self, uri):
        return None

    def read_resource(self, request):
        if request.uri == HELLO:
            who = "world"
        elif request.matched and request.matched.uri_template == HELLO_WHO:
            # The values of the variables, decoded.
            who = dict(request.matched.variables)["who"]
        else:
            # Errors are raised, with what the contract calls them.
            raise Err(Error_NotFound())
        # Settings stand in the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
        greeting = provider_host.setting("greeting") or "Hello"
        content = Content(None, "text/plain", Body_Text(f"{greeting}, {who}!\n"), [])
        return Reading([content], version=None, freshness=None)
