"""Random entries, templates, contents and completions, with invalid values in every field: the Python SDK may not reject
an answer, neither this version nor version 1, which parses each URI with pydantic.

    python random_answers.py URL
"""

import asyncio
import sys

from mcp import Client
from mcp.types import ResourceTemplateReference
from pydantic import AnyUrl, TypeAdapter

# Of thousands of entries, more than these are valid or can be repaired.
MIN_ENTRIES = 1_000
READS = 100
COMPLETED = "random://completed/{variable}"
TIMEOUT_SECONDS = 240
# The type of URIs in version 1 of the SDK.
URL_OF_VERSION_1 = TypeAdapter(AnyUrl)


async def pages(page, items):
    found, cursor = [], None
    while True:
        answer = await page(cursor=cursor, cache_mode="bypass")
        found += items(answer)
        if answer.next_cursor is None:
            return found
        cursor = answer.next_cursor


async def check(mode, url):
    async with Client(url, mode=mode) as client:
        entries = await pages(client.list_resources, lambda page: page.resources)
        assert len(entries) >= MIN_ENTRIES, f"{len(entries)} entries"
        for entry in entries:
            URL_OF_VERSION_1.validate_python(entry.uri)
        templates = await pages(client.list_resource_templates, lambda page: page.resource_templates)
        assert COMPLETED in [template.uri_template for template in templates]
        for entry in entries[:READS]:
            contents = (await client.read_resource(entry.uri, cache_mode="bypass")).contents
            assert contents and all(content.uri == entry.uri for content in contents), entry.uri
        reference = ResourceTemplateReference(type="ref/resource", uri=COMPLETED)
        for value in range(READS):
            await client.complete(reference, {"name": "variable", "value": str(value)})
    print(f"ok    python {mode}: {len(entries)} entries", flush=True)


async def main():
    for mode in ["auto", "legacy"]:
        await check(mode, sys.argv[1])


asyncio.run(asyncio.wait_for(main(), TIMEOUT_SECONDS))
