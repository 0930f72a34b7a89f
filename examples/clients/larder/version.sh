#!/bin/sh
# Reads only if it differs from the version that is held: then nothing is written but a note, and the exit code is 0.
#   run: test://static-text
#   prints: This is the content of the static text resource.
#   prints: not modified
URL=$1

larder read "$2" --url "$URL"
echo
larder read "$2" --version 1 --url "$URL" 2>&1
