"""Completes a variable of a template. The values of the other variables are sent along.

run: echo://say/{word} word hel lang=en
prints: hello, help, lang=en
"""

import asyncio
import sys

from mcp import Client
from mcp.types import ResourceTemplateReference


async def main(url, template, name, value, *filled):
    async with Client(url) as client:
        answer = await client.complete(
            ResourceTemplateReference(type="ref/resource", uri=template),
            {"name": name, "value": value},
            dict(pair.split("=") for pair in filled),
        )
        print(", ".join(answer.completion.values))


asyncio.run(main(*sys.argv[1:]))
