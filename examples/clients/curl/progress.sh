#!/bin/sh
# Reads with reports of progress: the answer becomes a stream. Ctrl-C cancels it, as a broken connection does.
#   run: echo://progress
#   prints: "progressToken":"p","progress":1.0,"total":3.0,"message":"step 1"
#   prints: "progress":3.0
#   prints: "text":"done
URL=$1
. "$(dirname "$0")/ask.sh"

META='"progressToken": "p"' ask resources/read "\"uri\": \"$2\"" "$2"
