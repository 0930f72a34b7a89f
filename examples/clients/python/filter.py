"""Lists a part: by the beginning of the URI, kind, media type, provider, team or text. Pages keep to it.

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
        # A key that the server does not know is an error, and not a list of everything.
        try:
            await client.list_resources(meta={"dev.larder/colour": "red"})
        except MCPError as error:
            print(error.code)


asyncio.run(main(*sys.argv[1:]))
