"""Lists all pages of resources, and the templates.

prints: a page of 20
prints: test://static-text
prints: template test://template/{id}/data
"""

import asyncio
import sys

from mcp import Client


async def main(url="http://127.0.0.1:7878/mcp"):
    async with Client(url) as client:
        cursor = None
        while True:
            page = await client.list_resources(cursor=cursor)
            print(f"a page of {len(page.resources)}")
            for resource in page.resources:
                print(resource.uri)
            cursor = page.next_cursor
            if cursor is None:
                break
        for template in (await client.list_resource_templates()).resource_templates:
            print(f"template {template.uri_template}")


asyncio.run(main(*sys.argv[1:]))
