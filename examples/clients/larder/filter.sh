#!/bin/sh
# Lists a part of the resources, filtered by URI prefix, kind, media type, provider, team or text.
#   prints: test://static-binary
#   prints: test://static-text
#   prints: test://extra/042
URL=${1:-http://127.0.0.1:7878/mcp}

larder list --provider conformance --text STATIC --url "$URL"
larder list --prefix test://extra/042 --url "$URL"
