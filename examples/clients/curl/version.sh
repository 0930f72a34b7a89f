#!/bin/sh
# Reads only if the version differs from the known one.
#   run: test://static-text
#   prints: "dev.larder/version":"1"
#   prints: "code":-31001
URL=$1
. "$(dirname "$0")/ask.sh"

ask resources/read "\"uri\": \"$2\"" "$2"
META='"dev.larder/version": "1"' ask resources/read "\"uri\": \"$2\"" "$2"
