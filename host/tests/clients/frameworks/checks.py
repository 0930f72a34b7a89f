"""The checks for each agent framework. Frameworks list tools and prompts whatever the server's capabilities are, and
an error to one list fails the whole agent.

    python with_FRAMEWORK.py DOCUMENTS_URL FIXTURES_URL PROGRAM DOCUMENTS_CONFIG FIXTURES_CONFIG

The server of the documents has neither tools nor prompts, the one of the fixtures has both. Each is tested at its
URL, and over stdio as `PROGRAM serve --stdio --config CONFIG`. The script of a framework defines a class that is
created for a server and is an asynchronous context manager. `tools` returns names, `call` and `prompt` a text that
contains the result. Optional are `prompts` (names), `prompt`, `resources` (URIs), `read` (a text), and the static
method `tools_of_all`, which connects to several servers at once.
"""

import asyncio
import os
import sys
from dataclasses import dataclass

DOCUMENTS = {"file:///docs/notes.md": "# Notes\n", "file:///docs/%C3%BCber%20uns.txt": "Über uns\n"}
TOOL, TOOL_TEXT = "test_simple_text", "This is a simple text response for testing."
PROMPT, PROMPT_TEXT = "test_simple_prompt", "This is a simple prompt for testing."
# More than one request, including the start of a server, needs on a loaded machine.
REQUEST_TIMEOUT_SECONDS = 60
# More than all checks need on a loaded machine.
TIMEOUT_SECONDS = 240

passed, failed = 0, 0


@dataclass
class Server:
    """A server at a URL or, if there is none, one that is started."""

    url: str | None
    command: str
    args: list[str]

    @property
    def headers(self):
        return {"Authorization": f"Bearer {os.environ['LARDER_TOKEN']}"}


async def check(label, coroutine):
    global passed, failed
    try:
        await coroutine
        passed += 1
        print(f"ok    {label}", flush=True)
    except Exception as error:  # the checks after a failed one must still run
        failed += 1
        print(f"FAIL  {label}: {describe(error)}", flush=True)


def describe(error):
    # The task groups of the SDK wrap errors, also several times.
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def assert_equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


def assert_contains(actual, expected):
    if expected not in actual:
        raise AssertionError(f"{expected!r} is not in {actual!r}")


async def check_documents(framework, server):
    """Neither tools nor prompts: the lists are empty, and that is not an error."""
    async with framework(server) as agent:
        assert_equal(await agent.tools(), [])
        if hasattr(agent, "prompts"):
            assert_equal(await agent.prompts(), [])
        if hasattr(agent, "resources"):
            assert_equal(sorted(await agent.resources()), sorted(DOCUMENTS))
        if hasattr(agent, "read"):
            for uri, text in DOCUMENTS.items():
                assert_equal(await agent.read(uri), text)


async def check_fixtures(framework, server):
    async with framework(server) as agent:
        assert_contains(await agent.tools(), TOOL)
        assert_contains(await agent.call(TOOL), TOOL_TEXT)
        if hasattr(agent, "prompts"):
            assert_contains(await agent.prompts(), PROMPT)
        if hasattr(agent, "prompt"):
            assert_contains(await agent.prompt(PROMPT), PROMPT_TEXT)


async def check_all(name, framework):
    documents_url, fixtures_url, program, documents_config, fixtures_config = sys.argv[1:]
    command = ["serve", "--stdio", "--config"]
    for transport in ["HTTP", "stdio"]:
        is_http = transport == "HTTP"
        documents = Server(documents_url if is_http else None, program, [*command, documents_config])
        fixtures = Server(fixtures_url if is_http else None, program, [*command, fixtures_config])
        await check(f"{name}, {transport}: resources only", check_documents(framework, documents))
        await check(f"{name}, {transport}: tools and prompts", check_fixtures(framework, fixtures))
        if hasattr(framework, "tools_of_all"):
            await check(f"{name}, {transport}: both servers", check_both(framework, [documents, fixtures]))


async def check_both(framework, servers):
    assert_contains(await framework.tools_of_all(servers), TOOL)


def run(name, framework):
    asyncio.run(asyncio.wait_for(check_all(name, framework), TIMEOUT_SECONDS))
    print(f"{passed} checks passed, {failed} failed")
    sys.exit(0 if passed and not failed else 1)
