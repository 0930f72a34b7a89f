#!/bin/sh
# Reads text and bytes, and shows an error response.
#   prints: "text":"This is the content of the static text resource."
#   prints: "blob":"iVBORw0KGgo
#   prints: "code":-32602,"message":"Resource not found","data":{"uri":"test://nowhere"}
URL=${1:-http://127.0.0.1:7878/mcp}
. "$(dirname "$0")/ask.sh"

for uri in test://static-text test://static-binary test://nowhere; do
    ask resources/read "\"uri\": \"$uri\"" "$uri"
done
