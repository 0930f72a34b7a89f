#!/bin/sh
# Reads with progress on stderr. Then starts a slow read and kills the client before the response, which cancels the
# request, as Ctrl-C does.
#   run: echo://progress sleep://ms/600000
#   prints: 1 of 3: step 1
#   prints: 3 of 3: step 3
#   prints: done
#   prints: cancelled
URL=$1

larder read "$2" --progress --url "$URL" 2>&1
echo

larder read "$3" --url "$URL" &
sleep 1
kill $!
wait $!
# 128 plus the number of SIGTERM: the client was killed before the read ended.
[ $? -eq 143 ] && echo cancelled
