#!/bin/sh
# Watches in a session of 2025-11-25. Broken connections are resumed.
#   run: file:///docs/news.md
#   prints: now change the file
#   prints: updated       file:///docs/news.md
URL=$1

larder watch "$2" --count 1 --protocol 2025-11-25 --url "$URL" 2>&1 | while read -r line; do
    echo "$line"
    case $line in
        *watching*) echo "now change the file" ;;
    esac
done
