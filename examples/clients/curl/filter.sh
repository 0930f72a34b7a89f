#!/bin/sh
# Lists a part: by the beginning of the URI, kind, media type, provider, team or text. Pages keep to it.
#   prints: "resources":[{"uri":"test://static-binary"
#   prints: "code":-32602
URL=${1:-http://127.0.0.1:7878/mcp}
. "$(dirname "$0")/ask.sh"

META='"dev.larder/provider": "conformance", "dev.larder/text": "STATIC"' ask resources/list ''
# A key that the server does not know is an error, and not a list of everything.
META='"dev.larder/colour": "red"' ask resources/list ''
