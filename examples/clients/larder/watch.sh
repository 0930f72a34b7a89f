#!/bin/sh
# Hears of a resource that differs, and of a list that does.
#   run: file:///docs/news.md
#   prints: now change the file
#   prints: updated       file:///docs/news.md
#   prints: now add a file
#   prints: list changed
URL=$1 uri=$2

# prompt TEXT: passes on what larder says, and says what to do once it watches.
prompt() {
    while read -r line; do
        echo "$line"
        case $line in
            *watching*) echo "$1" ;;
        esac
    done
}

larder watch "$uri" --count 1 --url "$URL" 2>&1 | prompt "now change the file"
larder watch --list --count 1 --url "$URL" 2>&1 | prompt "now add a file"
