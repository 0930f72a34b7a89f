"""Reads with progress notifications. Then reads again and cancels the request at the first notification.

run: echo://progress
prints: 1.0 of 3.0: step 1
prints: 3.0 of 3.0: step 3
prints: done
prints: cancelled
"""

import asyncio
import sys

from mcp import Client
from mcp.types import ReadResourceRequest, ReadResourceRequestParams, ReadResourceResult


async def main(url, uri):
    async def read(callback):
        request = ReadResourceRequest(params=ReadResourceRequestParams(uri=uri))
        return await client.session.send_request(request, ReadResourceResult, progress_callback=callback)

    async def show(progress, total, message):
        print(f"{progress} of {total}: {message}")

    async def cancel(progress, total, message):
        reading.cancel()

    async with Client(url) as client:
        print((await read(show)).contents[0].text)
        reading = asyncio.create_task(read(cancel))
        try:
            await reading
        except asyncio.CancelledError:
            print("cancelled")


asyncio.run(main(*sys.argv[1:]))
