"""Lists a part of the resources, filtered by URI prefix, kind, media type, provider, team or text. All pages use the same filter.

run: dev.larder/provider=conformance dev.larder/text=STATIC
prints: test://static-binary
prints: test://static-text
prints: 2 in all
prints: -32602
"""

import asyncio
import sys

from mcp import Client, MCPError


async def main(url, *wanted):
    async with Client(url) as client:
        meta = dict(pair.split("=") for pair in wanted)
        cursor, count = None, 0
        while True:
            page = await client.list_resources(cursor=cursor, meta=meta)
            for resource in page.resources:
                print(resource.uri)
            count += len(page.resources)
            cursor = page.next_cursor
            if cursor is None:
                break
        print(f"{count} in all")
        # An unknown filter is an error; it is not ignored.
        try:
            await client.list_resources(meta={"dev.larder/colour": "red"})
        except MCPError as error:
            print(error.code)


asyncio.run(main(*sys.argv[1:]))
