#!/bin/sh
# Reads with progress notifications: the response is a stream. Then starts a slow read and disconnects before the
# response, which cancels the request, as do a broken connection and Ctrl-C.
#   run: echo://progress sleep://ms/600000
#   prints: "progressToken":"p","progress":1.0,"total":3.0,"message":"step 1"
#   prints: "progress":3.0
#   prints: "text":"done
#   prints: curl: (28)
URL=$1
. "$(dirname "$0")/ask.sh"

META='"progressToken": "p"' ask resources/read "\"uri\": \"$2\"" "$2"
ask resources/read "\"uri\": \"$3\"" "$3" --max-time 1 2>&1
