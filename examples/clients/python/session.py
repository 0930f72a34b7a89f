"""Subscribes in a session of 2025-11-25, without an SDK. The connection is closed, and the next one resumes the stream.

run: file:///docs/news.md
prints: now change the file
prints: updated file:///docs/news.md
prints: cut; now change the file
prints: updated file:///docs/news.md
"""

import json
import sys

import httpx2

url, uri = sys.argv[1:]
server = httpx2.Client(timeout=60)
headers = {"accept": "application/json, text/event-stream"}


def ask(method, params, **more):
    return server.post(url, headers=headers, json={"jsonrpc": "2.0", "method": method, "params": params, **more})


def hear(prompt):
    """Waits for an update, and then closes the stream before its end."""
    with server.stream("GET", url, headers={**headers, "accept": "text/event-stream"}) as stream:
        for line in stream.iter_lines():
            if line.startswith("id: "):
                headers["last-event-id"] = line.removeprefix("id: ")
                if prompt:
                    print(prompt, flush=True)
                    prompt = None
            if line.startswith("data: ") and "resources/updated" in line:
                return json.loads(line.removeprefix("data: "))["params"]["uri"]


about = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "session", "version": "1"}}
opened = ask("initialize", about, id=1)
headers |= {"mcp-session-id": opened.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
ask("notifications/initialized", {})
ask("resources/subscribe", {"uri": uri}, id=2)
print("updated", hear("now change the file"), flush=True)
# No connection is open now. Changes are not lost, because the next request contains the ID of the last event.
print("cut; now change the file", flush=True)
print("updated", hear(None))
server.delete(url, headers=headers)
