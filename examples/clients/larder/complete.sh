#!/bin/sh
# Completes a variable of a template. The values of the other variables are sent along.
#   run: echo://say/{word} word hel lang=en
#   prints: hello
#   prints: help
#   prints: lang=en
URL=$1

larder complete "$2" "$3" "$4" --with "$5" --url "$URL"
