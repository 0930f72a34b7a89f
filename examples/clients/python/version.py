"""Reads only if the version differs from the known one.

run: test://static-text
prints: version 1
prints: not modified
"""

import asyncio
import sys

from mcp import Client, MCPError


async def main(url, uri):
    async with Client(url) as client:
        held = (await client.read_resource(uri)).meta["dev.larder/version"]
        print(f"version {held}")
        try:
            await client.read_resource(uri, meta={"dev.larder/version": held})
            print("it differs")
        except MCPError as error:
            if error.code != -31001:
                raise
            print("not modified")


asyncio.run(main(*sys.argv[1:]))
