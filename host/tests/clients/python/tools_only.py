"""A client that only supports tools: it reads this repository's documents and searches in them, in each era and over
each transport, with no request but `tools/list` and `tools/call`.

    python tools_only.py URL FOLDER COMMAND [ARGUMENT...]

The command starts a server on stdio. It and the server at the URL serve the folder as /docs.
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

TOOLS = ["list_resources", "list_resource_templates", "read_resource", "search_resources", "search", "fetch"]
README = "file:///docs/README.md"
# More than the checks need on a loaded machine.
TIMEOUT_SECONDS = 240

passed, failed = 0, 0


async def check(label, coroutine):
    global passed, failed
    try:
        await coroutine
        passed += 1
        print(f"ok    {label}", flush=True)
    except Exception as error:  # the checks after a failed one must still run
        failed += 1
        print(f"FAIL  {label}: {type(error).__name__}: {error}", flush=True)


def assert_equal(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} is not {expected!r}")


async def call(client, name, **arguments):
    """Calls a tool. The SDK compares the structured result with the output schema."""
    result = await client.call_tool(name, arguments)
    assert_equal(bool(result.is_error), False)
    return result


async def structured(client, name, **arguments):
    result = await call(client, name, **arguments)
    [block] = result.content
    assert_equal(json.loads(block.text), result.structured_content)
    return result.structured_content


async def check_tools(client):
    tools = (await client.list_tools()).tools
    assert_equal([tool.name for tool in tools], TOOLS)
    assert_equal(all(tool.annotations.read_only_hint for tool in tools), True)


async def check_list(client, folder):
    """All documents are in the list, page by page."""
    found, cursor = [], None
    while True:
        more = {"cursor": cursor} if cursor else {}
        page = await structured(client, "list_resources", uri_prefix="file:///docs/", limit=3, **more)
        found += [resource["uri"] for resource in page["resources"]]
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    documents = [path for path in folder.rglob("*") if path.is_file()]
    assert_equal(len(set(found)), len(found))
    assert_equal(len(found) >= len(documents) > 3, True)
    templates = await structured(client, "list_resource_templates")
    assert_equal(len(templates["resourceTemplates"]) > 0, True)


async def check_read(client, folder):
    text = (folder / "README.md").read_text()
    result = await call(client, "read_resource", uri=README)
    assert_equal([block.text for block in result.content], [text])
    assert_equal(result.structured_content["contents"][0]["text"], text)
    document = await structured(client, "fetch", id=README)
    assert_equal((document["id"], document["text"], document["url"]), (README, text, README))


async def check_search(client):
    for query in ["readme", "README.md"]:
        found = await structured(client, "search_resources", query=query, uri_prefix="file:///docs/")
        assert_equal(README in [result["uri"] for result in found["results"]], True)
    results = (await structured(client, "search", query="readme"))["results"]
    assert_equal(all(result["title"] and result["url"] for result in results), True)
    [one] = [result["id"] for result in results if result["id"] == README]
    await check_read_of(client, one)


async def check_read_of(client, uri):
    assert_equal(len((await structured(client, "fetch", id=uri))["text"]) > 0, True)


async def check_error(client):
    result = await client.call_tool("read_resource", {"uri": "file:///docs/no-such-document.md"})
    assert_equal(bool(result.is_error), True)
    assert_equal("There is no resource" in result.content[0].text, True)


def transport_to(server):
    """Returns the transport to a stdio server, or to a URL with a token."""
    if not isinstance(server, str):
        return server
    headers = {"Authorization": f"Bearer {os.environ['LARDER_TOKEN']}"}
    return streamable_http_client(server, http_client=create_mcp_http_client(headers=headers))


async def session(label, server, mode, folder):
    async with Client(transport_to(server), mode=mode) as client:
        await check(f"{label}: tools", check_tools(client))
        await check(f"{label}: list", check_list(client, folder))
        await check(f"{label}: read", check_read(client, folder))
        await check(f"{label}: search", check_search(client))
        await check(f"{label}: an error", check_error(client))


async def main():
    url, folder, command, *arguments = sys.argv[1:]
    stdio = StdioServerParameters(command=command, args=arguments)
    for mode in ["auto", "legacy"]:
        for transport, server in [("http", url), ("stdio", stdio)]:
            label = f"tools only, python {mode}, {transport}"
            await check(f"{label}: connect and close", session(label, server, mode, Path(folder)))


asyncio.run(asyncio.wait_for(main(), TIMEOUT_SECONDS))
print(f"{passed} checks passed, {failed} failed")
sys.exit(0 if passed and not failed else 1)
