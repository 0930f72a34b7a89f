#!/bin/sh
# Reads with reports of progress on stderr. Then reads what takes long, and ends it before the answer: that cancels it,
# as Ctrl-C does.
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
# 128 and the signal's number: it was not the server that ended it.
[ $? -eq 143 ] && echo cancelled
