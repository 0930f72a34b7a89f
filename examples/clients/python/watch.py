"""Receives notifications of changes of a resource and of the list (2026-07-28).

run: file:///docs/news.md
prints: now change the file
prints: updated file:///docs/news.md
prints: now add a file
prints: the list differs
"""

import asyncio
import sys

from mcp import Client
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated


async def main(url, uri):
    async with Client(url) as client:
        async with client.listen(resources_list_changed=True, resource_subscriptions=[uri]) as listening:
            print("now change the file", flush=True)
            updated = False
            async for event in listening:
                match event:
                    case ResourceUpdated(uri=uri) if not updated:
                        updated = True
                        print(f"updated {uri}", flush=True)
                        print("now add a file", flush=True)
                    case ResourcesListChanged() if updated:
                        print("the list differs")
                        break


asyncio.run(main(*sys.argv[1:]))
