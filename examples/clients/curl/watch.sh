#!/bin/sh
# Receives notifications of changes of a resource and of the list (2026-07-28).
#   run: file:///docs/news.md
#   prints: now change the file
#   prints: "method":"notifications/resources/updated"
#   prints: now add a file
#   prints: "method":"notifications/resources/list_changed"
URL=$1 uri=$2 updated=
. "$(dirname "$0")/ask.sh"

ask subscriptions/listen "\"notifications\": { \"resourcesListChanged\": true, \"resourceSubscriptions\": [\"$uri\"] }" |
    while read -r line; do
        case $line in
            data:*) echo "$line" ;;
        esac
        case $line in
            *subscriptions/acknowledged*) echo "now change the file" ;;
            *resources/updated*) updated=yes && echo "now add a file" ;;
            # A list contains sizes, so it may also change with the file.
            *resources/list_changed*) [ -z "$updated" ] || exit 0 ;;
        esac
    done
