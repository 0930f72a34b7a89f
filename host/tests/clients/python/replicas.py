"""A listener of the legacy era with the Python SDK.

    python replicas.py URL URI...

It writes a line of JSON for each update, and `watching` to stderr when it has subscribed. The SDK reports that a session
is unknown, but does not open another one. So the listener sends pings, and begins again when one fails.
"""

import asyncio
import json
import os
import sys
import warnings

from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.types import ResourceUpdatedNotification

# The SDK deprecates `subscribe`, which the legacy era still needs.
warnings.simplefilter("ignore")


async def print_update(message):
    match message:
        case ResourceUpdatedNotification(params=params):
            print(json.dumps({"event": "updated", "uri": str(params.uri)}), flush=True)


async def listen(url, uris):
    headers = {"Authorization": f"Bearer {os.environ['LARDER_TOKEN']}"}
    transport = streamable_http_client(url, http_client=create_mcp_http_client(headers=headers))
    async with Client(transport, mode="legacy", message_handler=print_update) as client:
        for uri in uris:
            await client.subscribe_resource(uri)
        print("watching", file=sys.stderr, flush=True)
        while True:
            await asyncio.sleep(1)
            await asyncio.wait_for(client.send_ping(), 30)


async def main(url, uris):
    # Until the process is killed.
    while True:
        try:
            await listen(url, uris)
        except Exception as error:
            print(f"begins again: {error!r}", file=sys.stderr, flush=True)
            await asyncio.sleep(0.5)


asyncio.run(main(sys.argv[1], sys.argv[2:]))
