#!/bin/sh
# Reads with reports of progress on stderr. Ctrl-C cancels it.
#   run: echo://progress
#   prints: 1 of 3: step 1
#   prints: 3 of 3: step 3
#   prints: done
URL=$1

larder read "$2" --progress --url "$URL" 2>&1
