#!/bin/sh
# Reads with reports of progress: the answer becomes a stream. Then reads what takes long, and goes away before the
# answer: that cancels it, as a broken connection and Ctrl-C do.
#   run: echo://progress sleep://ms/600000
#   prints: "progressToken":"p","progress":1.0,"total":3.0,"message":"step 1"
#   prints: "progress":3.0
#   prints: "text":"done
#   prints: curl: (28)
URL=$1
. "$(dirname "$0")/ask.sh"

META='"progressToken": "p"' ask resources/read "\"uri\": \"$2\"" "$2"
ask resources/read "\"uri\": \"$3\"" "$3" --max-time 1 2>&1
