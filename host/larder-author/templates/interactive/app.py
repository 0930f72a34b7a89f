"""@NAME@: an example provider that serves greetings, with a tool, a prompt, a search and a setting. Replace them with your
own.

All imports must be at the top of the file: they run when the component is built.
"""

from typing import Annotated

from larder_provider import (
    Content,
    Description,
    Entry,
    Hit,
    NotFound,
    Provider,
    Setting,
    Template,
    export,
    paginate,
    prompt,
    tool,
)

# Choose any URIs. Clients see them unchanged.
HELLO = "@NAME@://hello"
HELLO_WHO = "@NAME@://hello/{who}"
ENTRY = Entry(HELLO, "hello", mime_type="text/plain")


class Greetings(Provider):
    # A setting in the operator's larder.toml: [provider.@NAME@] settings = { greeting = "Hi" }
    greeting = Setting(str, "The first word of a greeting.", default="Hello")

    def describe(self):
        # Shown to users in lists. The summary also tells a model when to use this provider.
        return Description(title="Greetings", summary="Says hello.")

    def list(self, query):
        # The resources, sorted by URI.
        return paginate([ENTRY], query)

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
        return Content(self._greet(who) + "\n", mime_type="text/plain")

    def search(self, query):
        # The best hits first. The host merges those of all providers.
        text = self._greet("world")
        return [Hit(ENTRY, text)] if query.text.lower() in text.lower() else []

    # A function that a model may call. The parameters, the docstring and the type of the result become its schemas. The
    # host checks the arguments.
    @tool(title="Greet somebody", read_only=True, idempotent=True, open_world=False)
    def greet(self, who: Annotated[str, "Who is greeted."]) -> str:
        """Returns a greeting."""
        return self._greet(who)

    # A prompt, which a user selects.
    @prompt(title="Write a welcome")
    def welcome(self, who: Annotated[str, "Who is welcomed."]):
        """Asks for a letter that welcomes somebody."""
        return f"Write a short letter that welcomes {who}. Begin with: {self._greet(who)}"

    # Suggestions for the argument of the prompt: those that begin with the text that was typed.
    @welcome.complete("who")
    def _names(self, query):
        return ["Ada", "Grace"]

    def _greet(self, who):
        return f"{self.greeting}, {who}!"


export(Greetings)
