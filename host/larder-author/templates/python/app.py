"""@NAME@: an example provider that serves greetings. Replace them with your own resources.

All imports must be at the top of the file: they run when the component is built.
"""

from larder_provider import Content, Description, Entry, NotFound, Provider, Template, export, paginate, setting

# Choose any URIs. Clients see them unchanged.
HELLO = "@NAME@://hello"
HELLO_WHO = "@NAME@://hello/{who}"


class Greetings(Provider):
    def describe(self):
        # Shown to users in lists. The summary also tells a model when to use this provider.
        return Description(title="Greetings", summary="Says hello.")

    def list(self, query):
        # The resources, sorted by URI.
        return paginate([Entry(HELLO, "hello", mime_type="text/plain")], query)

    def templates(self, cursor):
        # URI templates, for resources that are too many to list.
        return [Template(HELLO_WHO, "a greeting", mime_type="text/plain")]

    def read(self, request):
        if request.uri == HELLO:
            who = "world"
        elif request.template == HELLO_WHO:
            # The decoded value of the variable.
            who = request.var("who")
        else:
            # Raise the errors of the SDK. Any other exception counts as a failure, and its traceback is logged.
            raise NotFound
        # Settings come from the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
        return Content(f"{setting('greeting', 'Hello')}, {who}!\n", mime_type="text/plain")


export(Greetings)
