"""Reads text and bytes, and distinguishes errors.

run: test://static-text test://static-binary test://nowhere echo://error/denied
prints: test://static-text: This is the content
prints: test://static-binary: image/png of
prints: test://nowhere: there is no such resource
prints: echo://error/denied: -32603 denied
"""

import asyncio
import base64
import sys

from mcp import Client, MCPError


async def main(url, *uris):
    async with Client(url) as client:
        for uri in uris:
            try:
                for piece in (await client.read_resource(uri)).contents:
                    if hasattr(piece, "text"):
                        print(f"{uri}: {piece.text}")
                    else:
                        print(f"{uri}: {piece.mime_type} of {len(base64.b64decode(piece.blob))} bytes")
            except MCPError as error:
                # The code is -32602 in 2026-07-28 and -32002 before. In both cases, the data contains only the URI.
                if error.data == {"uri": uri}:
                    print(f"{uri}: there is no such resource")
                else:
                    print(f"{uri}: {error.code} {(error.data or {}).get('kind')}")


asyncio.run(main(*sys.argv[1:]))
