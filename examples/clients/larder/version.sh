#!/bin/sh
# Reads only if the version differs from the known one. Otherwise prints a note; the exit code is 0.
#   run: test://static-text
#   prints: This is the content of the static text resource.
#   prints: not modified
URL=$1

larder read "$2" --url "$URL"
echo
larder read "$2" --version 1 --url "$URL" 2>&1
