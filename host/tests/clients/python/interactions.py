"""The checks of tools and prompts with the Python SDK, and the list of what it did."""

import asyncio
import time

from mcp import Client, MCPError
from mcp.client.subscriptions import PromptsListChanged, ToolsListChanged
from mcp.types import (
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    PromptListChangedNotification,
    PromptReference,
    ToolListChangedNotification,
)

# A call that was cancelled must end within this time. It would run five times as long.
CANCELLATION_SECONDS = 30
NOTIFICATION_SECONDS = 30


def assert_in(part, whole):
    if part not in whole:
        raise AssertionError(f"{part!r} is not in {whole!r}")


class Answers:
    """What the client answers to each method, and the methods that it was asked."""

    def __init__(self):
        self.by_method, self.asked = {}, []

    def callbacks(self):
        return {
            "elicitation_callback": self.elicit,
            "sampling_callback": self.sample,
            "list_roots_callback": self.roots,
        }

    def answer(self, method, mode, result):
        self.asked.append((method, mode))
        return result.model_validate(self.by_method[method])

    async def elicit(self, context, params):
        return self.answer("elicitation/create", params.mode, ElicitResult)

    async def sample(self, context, params):
        return self.answer("sampling/createMessage", None, CreateMessageResult)

    async def roots(self, context):
        return self.answer("roots/list", None, ListRootsResult)


class ListChanges:
    """The notifications that were received, in either era."""

    def __init__(self):
        self.queues = {"tools": asyncio.Queue(), "prompts": asyncio.Queue()}

    async def message(self, message):
        match message:
            case ToolListChangedNotification():
                self.queues["tools"].put_nowait(True)
            case PromptListChangedNotification():
                self.queues["prompts"].put_nowait(True)

    async def events(self, subscription):
        async for event in subscription:
            match event:
                case ToolsListChanged():
                    self.queues["tools"].put_nowait(True)
                case PromptsListChanged():
                    self.queues["prompts"].put_nowait(True)


class Interactions:
    """All checks of one client. Other calls of tools must not run meanwhile."""

    def __init__(self, label, expected, state, check):
        self.label, self.expected, self.state, self.run = label, expected, state, check
        self.answers, self.changes, self.done = Answers(), ListChanges(), []

    async def check(self, transport, mode):
        handler = {} if mode == "auto" else {"message_handler": self.changes.message}
        async with Client(transport, mode=mode, **self.answers.callbacks(), **handler) as client:
            await self.all(client, mode)
        print(f"did   {self.label}: {', '.join(self.done)}", flush=True)

    async def step(self, name, coroutine):
        if await self.run(f"{self.label}: {name}", coroutine):
            self.done.append(name)

    async def all(self, client, mode):
        await self.step("list tools", self.lists(client, "tools"))
        await self.step("list prompts", self.lists(client, "prompts"))
        for call in self.expected["calls"]:
            await self.step(f"call ({call['name']})", self.call(client, call))
        await self.step("refuse an unknown tool", self.unknown(client))
        await self.step("progress", self.progress(client))
        await self.step("cancellation", self.cancellation(client))
        for question in self.expected["questions"]:
            await self.step(question["name"], self.question(client, question))
        await self.step("get a prompt", self.prompt(client))
        await self.step("refuse a prompt without its arguments", self.incomplete(client))
        await self.step("complete an argument of a prompt", self.completion(client))
        await self.step("get a prompt that asks", self.asking_prompt(client))
        if mode == "legacy":
            await self.list_changes(client)
            return
        async with client.listen(tools_list_changed=True, prompts_list_changed=True) as subscription:
            events = asyncio.create_task(self.changes.events(subscription))
            await self.list_changes(client)
            events.cancel()

    async def names(self, client, kind):
        names, cursor = [], None
        while True:
            page = await getattr(client, f"list_{kind}")(cursor=cursor, cache_mode="bypass")
            names += [item.name for item in getattr(page, kind)]
            cursor = page.next_cursor
            if cursor is None:
                return names

    async def lists(self, client, kind):
        names = await self.names(client, kind)
        for name in self.expected[kind]:
            assert_in(name, names)

    async def call(self, client, call):
        result = await client.call_tool(call["tool"], call.get("arguments", {}))
        assert bool(result.is_error) == call.get("error", False), result
        assert result.content[0].type == call["type"], result
        if "text" in call:
            assert_in(call["text"], result.content[0].text)

    async def unknown(self, client):
        try:
            await client.call_tool("test_gone", {})
        except MCPError as error:
            assert_in("Unknown tool", str(error))
            return
        raise AssertionError("a tool that does not exist was called")

    async def progress(self, client):
        reports = []

        async def report(progress, total, message):
            reports.append(progress)

        await client.call_tool("test_tool_with_progress", {}, progress_callback=report)
        # The SDK runs the callbacks in tasks of their own.
        deadline = time.monotonic() + NOTIFICATION_SECONDS
        while len(reports) < 3 and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        assert sorted(reports) == [0, 50, 100], reports

    async def cancellation(self, client):
        third = asyncio.Event()

        async def report(progress, total, message):
            if progress >= 2:
                third.set()

        call = asyncio.create_task(client.call_tool("test_long_running", {}, progress_callback=report))
        await asyncio.wait_for(third.wait(), NOTIFICATION_SECONDS)
        call.cancel()
        await asyncio.wait([call])
        assert call.cancelled(), call
        deadline, before = time.monotonic() + CANCELLATION_SECONDS, None
        while True:
            now = (self.state / "running").read_text()
            if now == before:
                return
            assert time.monotonic() < deadline, f"the tool still runs, at {now}"
            before = now
            await asyncio.sleep(1)

    async def question(self, client, question):
        self.answers.by_method[question["method"]] = question["answer"]
        before = len(self.answers.asked)
        result = await client.call_tool(question["tool"], question["arguments"])
        for part in question["text"]:
            assert_in(part, result.content[0].text)
        assert len(self.answers.asked) > before, "the client was not asked"
        method, mode = self.answers.asked[-1]
        assert method == question["method"], method
        assert mode == question.get("mode", mode), mode

    async def prompt(self, client):
        expected = self.expected["prompt"]
        result = await client.get_prompt(expected["name"], expected["arguments"])
        assert_in(expected["text"], result.messages[0].content.text)

    async def incomplete(self, client):
        try:
            await client.get_prompt(self.expected["prompt"]["name"], {})
        except MCPError as error:
            assert_in("is required", str(error))
            return
        raise AssertionError("the prompt was returned")

    async def completion(self, client):
        expected = self.expected["prompt"]
        completion = expected["completion"]
        reference = PromptReference(type="ref/prompt", name=expected["name"])
        argument = {"name": completion["argument"], "value": completion["prefix"]}
        result = await client.complete(reference, argument)
        assert result.completion.values == completion["values"], result

    async def asking_prompt(self, client):
        expected = self.expected["asking_prompt"]
        self.answers.by_method["elicitation/create"] = expected["answer"]
        result = await client.get_prompt(expected["name"], {})
        assert_in(expected["text"], result.messages[0].content.text)

    async def list_changes(self, client):
        for change in self.expected["changes"]:
            await self.step(f"{change['list']}/list_changed", self.list_change(client, **change))

    async def list_change(self, client, list, trigger, entry):
        """The list is changed twice. A change of one list is no change of the other."""
        other = self.changes.queues["prompts" if list == "tools" else "tools"]
        before = other.qsize()
        was_there = entry in await self.names(client, list)
        for now in [not was_there, was_there]:
            await client.call_tool(trigger, {})
            is_there = None
            while is_there != now:
                await asyncio.wait_for(self.changes.queues[list].get(), NOTIFICATION_SECONDS)
                is_there = entry in await self.names(client, list)
        assert other.qsize() == before, "the other list did not change"
