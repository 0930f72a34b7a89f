"""The extension `resources-get` in a session: returns a resource together with its content, and sends the content with
updates. The SDK does not support it, but can send any method and receive any notification. Enable it with
`extensions = ["resources-get"]`.

run: file:///docs/news.md
prints: news.md is text/markdown
prints: not modified
prints: now change the file
prints: news.md has another version
prints: unsubscribed
prints: Resource not found (-32002)
"""

import asyncio
import sys

from mcp import Client, MCPError
from mcp.client.extension import ClientExtension, NotificationBinding
from mcp.types import Request
from pydantic import BaseModel, TypeAdapter


class Changed(BaseModel):
    resource: dict


class ResourcesGet(ClientExtension):
    identifier = "dev.larder/resources-get"

    def __init__(self):
        self.received = asyncio.Queue()

    def notifications(self):
        return [NotificationBinding(
            method="notifications/resources/content_changed", params_type=Changed, handler=self.received.put
        )]


async def main(url, uri):
    extension = ResourcesGet()
    async with Client(url, mode="legacy", extensions=[extension]) as client:

        async def ask(method, **params):
            request = Request[dict, str](method=method, params=params)
            return await client.session.send_request(request, TypeAdapter(dict))

        got = await ask("resources/get", uri=uri)
        resource, contents = got["resource"], got["contents"]
        print(f"{resource['name']} is {contents['contentType']}")
        try:
            await ask("resources/get", uri=uri, version=resource["version"])
            print("it differs")
        except MCPError as error:
            if error.code != -31001:
                raise
            print("not modified")

        await ask("resources/subscribe", uris=[uri])
        print("now change the file", flush=True)
        changed = (await extension.received.get()).resource
        same = changed["version"] == resource["version"]
        print(f"{changed['name']} has {'the same' if same else 'another'} version")
        await ask("resources/unsubscribe", uris=[uri])
        print("unsubscribed")

        try:
            await ask("resources/get", uri="file:///docs/nothing")
        except MCPError as error:
            print(f"{error.message} ({error.code})")


asyncio.run(main(*sys.argv[1:]))
