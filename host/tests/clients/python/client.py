"""The Python SDK, in each way it chooses an era.

    python client.py URL FOLDER COMMAND [ARGUMENT...]     the command serves on stdio, and
    whoever serves shows the folder as /docs
"""

import asyncio
import base64
import json
import os
import sys
import warnings
from pathlib import Path

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import (
    ResourceListChangedNotification,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
)

EXPECTED = json.loads((Path(__file__).parent.parent / "expected.json").read_text())
NUMBERED = EXPECTED["numbered"]
EXPECTED["resources"] += [
    {"uri": f"{NUMBERED['prefix']}{n:0{NUMBERED['digits']}}", "mimeType": NUMBERED["mimeType"]}
    for n in range(1, NUMBERED["count"] + 1)
]
# Above what it takes on a loaded machine, below what a person waits for.
GIVE_UP_SECONDS = 240
# Above what a loaded machine needs for one change.
HEARD_WITHIN_SECONDS = 30
# subscribe is deprecated in the era that replaced it, and still right in the other.
warnings.simplefilter("ignore")

passed, failed = 0, 0


async def check(label, checking):
    global passed, failed
    try:
        await checking
        passed += 1
        print(f"ok    {label}", flush=True)
    except Exception as error:  # a failed check must not hide the ones after it
        failed += 1
        print(f"FAIL  {label}: {type(error).__name__}: {error}", flush=True)


def same(seen, wanted):
    if seen != wanted:
        raise AssertionError(f"{seen!r} is not {wanted!r}")


async def pages(ask, items):
    found, cursor = [], None
    for _ in range(100):
        page = await ask(cursor=cursor, cache_mode="bypass")
        same(len(items(page)) <= EXPECTED["page_size"], True)
        found += items(page)
        if page.next_cursor is None:
            return found
        same(page.next_cursor == cursor, False)
        cursor = page.next_cursor
    raise AssertionError("the pages do not end")


async def lists(client):
    found = await pages(client.list_resources, lambda page: page.resources)
    seen = sorted((entry.uri, entry.mime_type) for entry in found)
    same(seen, sorted((entry["uri"], entry["mimeType"]) for entry in EXPECTED["resources"]))
    same(all(entry.name for entry in found), True)


async def templates(client):
    found = await pages(client.list_resource_templates, lambda page: page.resource_templates)
    same(sorted(template.uri_template for template in found), sorted(EXPECTED["templates"]))


async def reads(client, want):
    [content] = (await client.read_resource(want["uri"], cache_mode="bypass")).contents
    same((content.uri, content.mime_type), (want["uri"], want["mimeType"]))
    if "text" in want:
        same(content.text, want["text"])
    if "json" in want:
        same({**json.loads(content.text), **want["json"]}, json.loads(content.text))
    if "blob_starts" in want:
        same(content.blob[: len(want["blob_starts"])], want["blob_starts"])
        base64.b64decode(content.blob, validate=True)


async def not_found(client, code):
    try:
        await client.read_resource(EXPECTED["missing"])
    except MCPError as error:
        same(error.code, code)
        same(error.data, {"uri": EXPECTED["missing"]})
        return
    raise AssertionError("a resource that does not exist was read")


async def completes(client, want):
    ref = ResourceTemplateReference(type="ref/resource", uri=want["template"])
    answer = await client.complete(ref, {"name": want["variable"], "value": want["prefix"]})
    same(answer.completion.values, want["values"])


async def watches(client, modern):
    uri = EXPECTED["watched"]
    if not modern:
        await client.subscribe_resource(uri)
        await client.unsubscribe_resource(uri)
        await client.send_ping()
        return
    async with client.listen(resources_list_changed=True, resource_subscriptions=[uri]) as listening:
        same(list(listening.honored.resource_subscriptions), [uri])
        same(listening.honored.resources_list_changed, True)


class Heard:
    """What was heard and not yet taken, in either era."""

    def __init__(self):
        self.updates, self.lists = asyncio.Queue(), asyncio.Queue()

    async def message(self, message):
        match message:
            case ResourceUpdatedNotification(params=params):
                self.updates.put_nowait(params.uri)
            case ResourceListChangedNotification():
                self.lists.put_nowait(True)

    async def events(self, listening):
        async for event in listening:
            match event:
                case ResourceUpdated(uri=uri):
                    self.updates.put_nowait(uri)
                case ResourcesListChanged():
                    self.lists.put_nowait(True)


async def next_of(queue):
    return await asyncio.wait_for(queue.get(), HEARD_WITHIN_SECONDS)


async def hears_update(client, heard, file, uri):
    file.write_text("after")
    text = None
    while text != "after":
        same(await next_of(heard.updates), uri)
        text = (await client.read_resource(uri, cache_mode="bypass")).contents[0].text


async def hears_list(client, heard, file, uri):
    file.write_text("new")
    uris = []
    while uri not in uris:
        await next_of(heard.lists)
        uris = [entry.uri for entry in await pages(client.list_resources, lambda page: page.resources)]


def reach(server):
    """A server on a pipe, or at a URL, which wants a token."""
    if not isinstance(server, str):
        return server
    headers = {"Authorization": f"Bearer {os.environ['LARDER_TOKEN']}"}
    return streamable_http_client(server, http_client=create_mcp_http_client(headers=headers))


async def changes(label, client, heard, folder, name):
    uri = "file:///docs/"
    await check(f"{label}: resources/updated", hears_update(client, heard, folder / name, uri + name))
    new = f"new-{name}"
    await check(f"{label}: resources/list_changed", hears_list(client, heard, folder / new, uri + new))


async def hears(label, server, mode, folder):
    """It comes after all sessions, which see just the files that were there at first."""
    name = label.replace(", ", "-").replace(" ", "-") + ".txt"
    (folder / name).write_text("before")
    heard, uri = Heard(), f"file:///docs/{name}"
    if mode == "legacy":
        async with Client(reach(server), mode=mode, message_handler=heard.message) as client:
            await client.subscribe_resource(uri)
            await changes(label, client, heard, folder, name)
        return
    async with Client(reach(server), mode=mode) as client:
        async with client.listen(resources_list_changed=True, resource_subscriptions=[uri]) as listening:
            same(list(listening.honored.resource_subscriptions), [uri])
            events = asyncio.create_task(heard.events(listening))
            await changes(label, client, heard, folder, name)
            events.cancel()


async def everything(label, client, modern):
    await check(f"{label}: list to the last page", lists(client))
    await check(f"{label}: templates", templates(client))
    for want in EXPECTED["reads"]:
        await check(f"{label}: read {want['name']}", reads(client, want))
    await check(f"{label}: not found", not_found(client, -32602 if modern else -32002))
    for want in EXPECTED["completions"]:
        await check(f"{label}: complete {want['variable']} of {want['template']}", completes(client, want))
    await check(f"{label}: watch", watches(client, modern))


async def session(label, server, mode, version):
    async with Client(reach(server), mode=mode) as client:
        same(client.protocol_version, version)
        await everything(label, client, mode == "auto")


async def main():
    url, folder, command, *arguments = sys.argv[1:]
    stdio = StdioServerParameters(command=command, args=arguments)
    each = [
        (f"python {mode}, {transport}", server, mode, version)
        for mode, version in [("auto", "2026-07-28"), ("legacy", "2025-11-25")]
        for transport, server in [("http", url), ("stdio", stdio)]
    ]
    for label, server, mode, version in each:
        await check(f"{label}: connect and close", session(label, server, mode, version))
    for label, server, mode, _ in each:
        await check(f"{label}: connect and hear", hears(label, server, mode, Path(folder)))


asyncio.run(asyncio.wait_for(main(), GIVE_UP_SECONDS))
print(f"{passed} checks passed, {failed} failed")
sys.exit(0 if passed and not failed else 1)
