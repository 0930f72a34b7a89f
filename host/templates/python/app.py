"""@NAME@: a provider of greetings. Put your own resources in their place.

All imports have to stand at the top: they are done when the component is built.
"""

from larder_provider import Content, Description, Entry, NotFound, Provider, Template, export, paginate, setting

# The URIs are yours to choose; clients see them as they are written here.
HELLO = "@NAME@://hello"
HELLO_WHO = "@NAME@://hello/{who}"


class Greetings(Provider):
    def describe(self):
        # What people read in lists, and what a model is told about when to use this.
        return Description(title="Greetings", summary="Says hello.")

    def list(self, query):
        # What there is, sorted by URI.
        return paginate([Entry(HELLO, "hello", mime_type="text/plain")], query)

    def templates(self, cursor):
        # Families of resources that are too many to list.
        return [Template(HELLO_WHO, "a greeting", mime_type="text/plain")]

    def read(self, request):
        if request.uri == HELLO:
            who = "world"
        elif request.template == HELLO_WHO:
            # The value of the variable, decoded.
            who = request.var("who")
        else:
            # Errors are raised; any other exception is a failure, with its traceback in the log.
            raise NotFound
        # Settings stand in the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
        return Content(f"{setting('greeting', 'Hello')}, {who}!\n", mime_type="text/plain")


export(Greetings)
