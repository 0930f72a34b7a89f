"""Checks of the Python SDK, with each way of choosing the era.

    python client.py URL FOLDER COMMAND [ARGUMENT...]

The command starts a server on stdio. It and the server at the URL serve the folder as /docs.
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

from interactions import Interactions

EXPECTED = json.loads((Path(__file__).parent.parent / "expected.json").read_text())
NUMBERED = EXPECTED["numbered"]
EXPECTED["resources"] += [
    {"uri": f"{NUMBERED['prefix']}{n:0{NUMBERED['digits']}}", "mimeType": NUMBERED["mimeType"]}
    for n in range(1, NUMBERED["count"] + 1)
]
# More than the checks need on a loaded machine.
TIMEOUT_SECONDS = 480
# More than a loaded machine needs for one notification.
NOTIFICATION_TIMEOUT_SECONDS = 30
# The SDK deprecates `subscribe`, which the legacy era still needs.
warnings.simplefilter("ignore")

passed, failed = 0, 0


async def check(label, coroutine):
    global passed, failed
    try:
        await coroutine
        passed += 1
        print(f"ok    {label}", flush=True)
        return True
    except Exception as error:  # the checks after a failed one must still run
        failed += 1
        print(f"FAIL  {label}: {type(error).__name__}: {error}", flush=True)
        return False


def assert_equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


async def pages(list_page, items):
    found, cursor = [], None
    for _ in range(100):
        page = await list_page(cursor=cursor, cache_mode="bypass")
        assert_equal(len(items(page)) <= EXPECTED["page_size"], True)
        found += items(page)
        if page.next_cursor is None:
            return found
        assert_equal(page.next_cursor == cursor, False)
        cursor = page.next_cursor
    raise AssertionError("the pages do not end")


async def check_list(client):
    found = await pages(client.list_resources, lambda page: page.resources)
    actual = sorted((entry.uri, entry.mime_type) for entry in found)
    assert_equal(actual, sorted((entry["uri"], entry["mimeType"]) for entry in EXPECTED["resources"]))
    assert_equal(all(entry.name for entry in found), True)


async def check_templates(client):
    found = await pages(client.list_resource_templates, lambda page: page.resource_templates)
    assert_equal(sorted(template.uri_template for template in found), sorted(EXPECTED["templates"]))


async def check_read(client, expected):
    [content] = (await client.read_resource(expected["uri"], cache_mode="bypass")).contents
    assert_equal((content.uri, content.mime_type), (expected["uri"], expected["mimeType"]))
    if "text" in expected:
        assert_equal(content.text, expected["text"])
    if "json" in expected:
        assert_equal({**json.loads(content.text), **expected["json"]}, json.loads(content.text))
    if "blob_starts" in expected:
        assert_equal(content.blob[: len(expected["blob_starts"])], expected["blob_starts"])
        base64.b64decode(content.blob, validate=True)


async def check_not_found(client, code):
    try:
        await client.read_resource(EXPECTED["missing"])
    except MCPError as error:
        assert_equal(error.code, code)
        assert_equal(error.data, {"uri": EXPECTED["missing"]})
        return
    raise AssertionError("a resource that does not exist was read")


async def check_completion(client, expected):
    ref = ResourceTemplateReference(type="ref/resource", uri=expected["template"])
    answer = await client.complete(ref, {"name": expected["variable"], "value": expected["prefix"]})
    assert_equal(answer.completion.values, expected["values"])


async def check_watch(client, modern):
    uri = EXPECTED["watched"]
    if not modern:
        await client.subscribe_resource(uri)
        await client.unsubscribe_resource(uri)
        await client.send_ping()
        return
    async with client.listen(resources_list_changed=True, resource_subscriptions=[uri]) as subscription:
        assert_equal(list(subscription.honored.resource_subscriptions), [uri])
        assert_equal(subscription.honored.resources_list_changed, True)


class Notifications:
    """The notifications that were received and not yet taken, in either era."""

    def __init__(self):
        self.updates, self.lists = asyncio.Queue(), asyncio.Queue()

    async def message(self, message):
        match message:
            case ResourceUpdatedNotification(params=params):
                self.updates.put_nowait(params.uri)
            case ResourceListChangedNotification():
                self.lists.put_nowait(True)

    async def events(self, subscription):
        async for event in subscription:
            match event:
                case ResourceUpdated(uri=uri):
                    self.updates.put_nowait(uri)
                case ResourcesListChanged():
                    self.lists.put_nowait(True)


async def next_of(queue):
    return await asyncio.wait_for(queue.get(), NOTIFICATION_TIMEOUT_SECONDS)


async def check_update(client, notifications, file, uri):
    file.write_text("after")
    text = None
    while text != "after":
        assert_equal(await next_of(notifications.updates), uri)
        text = (await client.read_resource(uri, cache_mode="bypass")).contents[0].text


async def check_list_change(client, notifications, file, uri):
    file.write_text("new")
    uris = []
    while uri not in uris:
        await next_of(notifications.lists)
        uris = [entry.uri for entry in await pages(client.list_resources, lambda page: page.resources)]


def transport_to(server):
    """Returns the transport to a stdio server, or to a URL with a token."""
    if not isinstance(server, str):
        return server
    headers = {"Authorization": f"Bearer {os.environ['LARDER_TOKEN']}"}
    return streamable_http_client(server, http_client=create_mcp_http_client(headers=headers))


async def check_changes(label, client, notifications, folder, name):
    uri = "file:///docs/"
    await check(f"{label}: resources/updated", check_update(client, notifications, folder / name, uri + name))
    new = f"new-{name}"
    await check(f"{label}: resources/list_changed", check_list_change(client, notifications, folder / new, uri + new))


async def check_notifications(label, server, mode, folder):
    """Must run after all sessions, which expect the initial files only."""
    name = label.replace(", ", "-").replace(" ", "-") + ".txt"
    (folder / name).write_text("before")
    notifications, uri = Notifications(), f"file:///docs/{name}"
    if mode == "legacy":
        async with Client(transport_to(server), mode=mode, message_handler=notifications.message) as client:
            await client.subscribe_resource(uri)
            await check_changes(label, client, notifications, folder, name)
        return
    async with Client(transport_to(server), mode=mode) as client:
        async with client.listen(resources_list_changed=True, resource_subscriptions=[uri]) as subscription:
            assert_equal(list(subscription.honored.resource_subscriptions), [uri])
            events = asyncio.create_task(notifications.events(subscription))
            await check_changes(label, client, notifications, folder, name)
            events.cancel()


async def session_checks(label, client, modern):
    await check(f"{label}: list to the last page", check_list(client))
    await check(f"{label}: templates", check_templates(client))
    for expected in EXPECTED["reads"]:
        await check(f"{label}: read {expected['name']}", check_read(client, expected))
    await check(f"{label}: not found", check_not_found(client, -32602 if modern else -32002))
    for expected in EXPECTED["completions"]:
        await check(f"{label}: complete {expected['variable']} of {expected['template']}", check_completion(client, expected))
    await check(f"{label}: watch", check_watch(client, modern))


async def session(label, server, mode, version):
    async with Client(transport_to(server), mode=mode) as client:
        assert_equal(client.protocol_version, version)
        await session_checks(label, client, mode == "auto")


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
        interactions = Interactions(label, EXPECTED, Path(folder).parent / "fixture", check)
        await check(f"{label}: connect for tools", interactions.check(transport_to(server), mode))
    for label, server, mode, _ in each:
        await check(f"{label}: connect for notifications", check_notifications(label, server, mode, Path(folder)))


asyncio.run(asyncio.wait_for(main(), TIMEOUT_SECONDS))
print(f"{passed} checks passed, {failed} failed")
sys.exit(0 if passed and not failed else 1)
