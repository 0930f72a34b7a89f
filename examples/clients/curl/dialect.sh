#!/bin/sh
# A resource with what it holds, for clients of servers that had `resources/get`. The operator turns it on:
# `[server] dialects = ["resources-get"]`. No other client meets it.
#   prints: "name":"static-text","version":"1"},"contents":{"contentType":"text/plain","content":"This is
#   prints: "code":-32602
URL=${1:-http://127.0.0.1:7878/mcp}
. "$(dirname "$0")/ask.sh"

ask resources/get '"uri": "test://static-text"'
ask resources/get '"uri": "test://nothing"'
