"""Checks of a shipped provider with the Python SDK, once in each era of the protocol.

A provider's `tests/session.py` defines `checks(session, folder)` and ends with `run(checks)`. It is called with the URL
of a server that serves only this provider, and the folder that was prepared for it. A failed check ends the session
and the test. The checks run twice with the same folder, so what they create must have a name of its own:
`session.unique("name")`.
"""

import asyncio
import os
import statistics
import sys
import time
import traceback
import warnings
from contextlib import asynccontextmanager
from pathlib import Path

from mcp import Client, MCPError
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated
from mcp.types import (
    ResourceListChangedNotification,
    ResourceTemplateReference,
    ResourceUpdatedNotification,
)

# More than the checks need on a loaded machine.
TIMEOUT_SECONDS = 400
# More than a loaded machine needs for one notification.
NOTIFICATION_TIMEOUT_SECONDS = 60
MAX_PAGES = 1000
# The SDK deprecates `subscribe`, which the legacy era still needs.
warnings.simplefilter("ignore")

NOT_FOUND = {"auto": -32602, "legacy": -32002}


class Session:
    """A connected client, with one method for each kind of request. `client` is the client of the SDK."""

    def __init__(self, client, mode, notifications):
        self.client, self.mode, self._notifications = client, mode, notifications
        self.passed = 0
        self.read_seconds = []

    def unique(self, name):
        """A name that differs between the two runs of the checks."""
        return f"{self.mode}-{name}"

    def check(self, label, actual, expected=True):
        """Compares two values. Without `expected`, the value must be true."""
        if actual != expected:
            raise AssertionError(f"{label}: {actual!r} is not {expected!r}")
        self.passed += 1
        print(f"ok    {self.mode}: {label}", flush=True)

    async def list(self, prefix=""):
        """All resources whose URI has this prefix, from all pages."""
        pages = self._pages(self.client.list_resources, lambda page: page.resources)
        return [entry for entry in await pages if entry.uri.startswith(prefix)]

    async def uris(self, prefix=""):
        """The URIs of all resources with this prefix, sorted."""
        return sorted(entry.uri for entry in await self.list(prefix))

    async def templates(self):
        """The URIs of all templates, sorted."""
        pages = self._pages(self.client.list_resource_templates, lambda page: page.resource_templates)
        return sorted(template.uri_template for template in await pages)

    async def _pages(self, list_page, items):
        """All items. On a loaded machine, a page may say that a provider did not answer in time: then all pages are
        requested again."""
        deadline = time.monotonic() + NOTIFICATION_TIMEOUT_SECONDS
        while True:
            found, is_complete = await self._pages_once(list_page, items)
            if is_complete or time.monotonic() > deadline:
                return found
            # A provider that was too slow several times is not called for a while.
            await asyncio.sleep(1)

    async def _pages_once(self, list_page, items):
        found, cursor, is_complete = [], None, True
        for _ in range(MAX_PAGES):
            page = await list_page(cursor=cursor, cache_mode="bypass")
            found += items(page)
            is_complete &= "dev.larder/incomplete" not in (page.meta or {})
            if page.next_cursor is None:
                return found, is_complete
            assert page.next_cursor != cursor, "the cursor does not change"
            cursor = page.next_cursor
        raise AssertionError("the pages do not end")

    async def contents(self, uri):
        """The contents of a resource."""
        start = time.perf_counter()
        contents = (await self.client.read_resource(uri, cache_mode="bypass")).contents
        self.read_seconds.append(time.perf_counter() - start)
        return contents

    async def text(self, uri):
        """The text of a resource that has one content."""
        [content] = await self.contents(uri)
        return content.text

    async def complete(self, template, variable, prefix, **filled):
        """The suggested values of a variable of a template."""
        reference = ResourceTemplateReference(type="ref/resource", uri=template)
        argument = {"name": variable, "value": prefix}
        answer = await self.client.complete(reference, argument, context_arguments=filled or None)
        return answer.completion.values

    async def not_found(self, uri):
        """Checks that there is no such resource."""
        code, _ = await self._error(uri)
        self.check(f"not found: {uri}", code, NOT_FOUND[self.mode])

    async def refused(self, uri, *parts):
        """Checks that a read is refused with a message that contains these texts."""
        _, message = await self._error(uri)
        for part in parts:
            self.check(f"refused: {uri}: {message}", part in message)

    async def _error(self, uri):
        try:
            await self.client.read_resource(uri, cache_mode="bypass")
        except MCPError as error:
            return error.code, str(error)
        raise AssertionError(f"{uri} was read")

    async def has_tool(self, name):
        """Whether the server offers this tool."""
        try:
            return any(tool.name == name for tool in (await self.client.list_tools()).tools)
        except MCPError:
            return False

    async def search(self, text):
        """The URIs of the resources that match a text, best first. Waits until no provider exceeds the time for a
        search, which happens on a loaded machine; None if the server cannot search."""
        if not await self.has_tool("search_resources"):
            return None
        deadline = time.monotonic() + NOTIFICATION_TIMEOUT_SECONDS
        while True:
            found, is_complete = await self.search_once(text)
            if is_complete or time.monotonic() > deadline:
                return found
            # A provider that was too slow several times is not called for a while.
            await asyncio.sleep(1)

    async def search_once(self, text):
        """The URIs of the resources that match a text, best first, and whether these are all."""
        answer = await self.client.call_tool("search_resources", {"query": text})
        assert not answer.is_error, answer.content
        found = [hit["uri"] for hit in answer.structured_content["results"]]
        return found, not answer.structured_content.get("incomplete")

    async def finds(self, label, text, is_expected):
        """Checks the URIs that a search finds. It is repeated until they are as expected: on a loaded machine, a provider
        may end its search before it comes to all contents."""
        deadline = time.monotonic() + NOTIFICATION_TIMEOUT_SECONDS
        found, _ = await self.search_once(text)
        while not is_expected(found) and time.monotonic() < deadline:
            await asyncio.sleep(1)
            found, _ = await self.search_once(text)
        self.check(f"{label}: {found[:5]}", is_expected(found))

    @asynccontextmanager
    async def watching(self, *uris):
        """Watches resources. Yields functions that wait for an update of one, and for a change of the list."""
        watched = self._notifications
        if self.mode == "legacy":
            for uri in uris:
                await self.client.subscribe_resource(uri)
            yield watched
            for uri in uris:
                await self.client.unsubscribe_resource(uri)
            return
        changes = self.client.listen(resources_list_changed=True, resource_subscriptions=list(uris))
        async with changes as subscription:
            self.check("all URIs are watched", sorted(subscription.honored.resource_subscriptions), sorted(uris))
            events = asyncio.create_task(watched.events(subscription))
            yield watched
            events.cancel()


class Notifications:
    """The notifications that were received and not yet waited for, in either era."""

    def __init__(self):
        self._updates, self._list_changed, self._received = set(), False, asyncio.Condition()

    async def updated(self, uri):
        """Waits until this resource was updated."""
        await self._wait(lambda: uri in self._updates, f"no update of {uri}")
        self._updates.remove(uri)

    async def list_changed(self):
        """Waits until the list of resources changed."""
        await self._wait(lambda: self._list_changed, "no change of the list")
        self._list_changed = False

    async def _wait(self, condition, message):
        try:
            async with asyncio.timeout(NOTIFICATION_TIMEOUT_SECONDS), self._received:
                await self._received.wait_for(condition)
        except TimeoutError:
            raise AssertionError(message) from None

    async def _receive(self, uri):
        """Records an update of a resource, or a change of the list."""
        async with self._received:
            if uri is None:
                self._list_changed = True
            else:
                self._updates.add(uri)
            self._received.notify_all()

    async def message(self, message):
        match message:
            case ResourceUpdatedNotification(params=params):
                await self._receive(str(params.uri))
            case ResourceListChangedNotification():
                await self._receive(None)

    async def events(self, subscription):
        async for event in subscription:
            match event:
                case ResourceUpdated(uri=uri):
                    await self._receive(uri)
                case ResourcesListChanged():
                    await self._receive(None)


def replace(path, text):
    """Writes a file in one step, so that nobody reads a part of it. Meanwhile, there is a hidden file beside it."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text)
    new.replace(path)


async def eventually(label, condition):
    """Waits until an asynchronous condition is true. For changes that no notification announces."""
    deadline = time.monotonic() + NOTIFICATION_TIMEOUT_SECONDS
    while not await condition():
        assert time.monotonic() < deadline, f"timed out: {label}"
        await asyncio.sleep(0.1)


def run(checks):
    """Runs the checks in both eras and ends the process."""
    url, folder = sys.argv[1], Path(sys.argv[2])
    try:
        passed, times = asyncio.run(asyncio.wait_for(_run(checks, url, folder), TIMEOUT_SECONDS))
    except BaseException:
        traceback.print_exc()
        sys.exit(1)
    median = f", {statistics.median(times) * 1000:.1f} ms for a read (median of {len(times)})" if times else ""
    print(f"{passed} checks passed{median}")
    sys.exit(0 if passed else 1)


async def _run(checks, url, folder):
    passed, times = 0, []
    for mode in ["auto", "legacy"]:
        notifications = Notifications()
        handler = notifications.message if mode == "legacy" else None
        async with Client(url, mode=mode, message_handler=handler) as client:
            session = Session(client, mode, notifications)
            await checks(session, folder)
        passed += session.passed
        times += session.read_seconds
    return passed, times


def variable(name):
    """A variable that the Rust side of the test set, such as the URL of a server."""
    return os.environ[name]
