#!/bin/sh
# Completes a variable of a template. The values of the other variables are sent along.
#   run: echo://say/{word} word hel
#   prints: "values":["hello","help","lang=en"]
URL=$1
. "$(dirname "$0")/ask.sh"

ask completion/complete "
    \"ref\": { \"type\": \"ref/resource\", \"uri\": \"$2\" },
    \"argument\": { \"name\": \"$3\", \"value\": \"$4\" },
    \"context\": { \"arguments\": { \"lang\": \"en\" } }"
