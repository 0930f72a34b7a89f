#!/bin/sh
# Lists a part of the resources, filtered by URI prefix, kind, media type, provider, team or text. All pages use the same filter.
#   prints: "resources":[{"uri":"test://static-binary"
#   prints: "code":-32602
URL=${1:-http://127.0.0.1:7878/mcp}
. "$(dirname "$0")/ask.sh"

META='"dev.larder/provider": "conformance", "dev.larder/text": "STATIC"' ask resources/list ''
# An unknown filter is an error; it is not ignored.
META='"dev.larder/colour": "red"' ask resources/list ''
