#!/bin/sh
# Waits for changes of a resource and of the list.
#   run: file:///docs/news.md
#   prints: now change the file
#   prints: updated       file:///docs/news.md
#   prints: now add a file
#   prints: list changed
URL=$1 uri=$2

# prompt TEXT: prints the output of larder, and this text when larder is watching.
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
