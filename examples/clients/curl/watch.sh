#!/bin/sh
# Hears of a resource that differs and of a list that does (2026-07-28).
#   run: file:///docs/news.md
#   prints: now change the file
#   prints: "method":"notifications/resources/updated"
#   prints: now add a file
#   prints: "method":"notifications/resources/list_changed"
URL=$1 uri=$2
. "$(dirname "$0")/ask.sh"

ask subscriptions/listen "\"notifications\": { \"resourcesListChanged\": true, \"resourceSubscriptions\": [\"$uri\"] }" |
    while read -r line; do
        case $line in
            data:*) echo "$line" ;;
        esac
        case $line in
            *subscriptions/acknowledged*) echo "now change the file" ;;
            *resources/updated*) echo "now add a file" ;;
            *resources/list_changed*) exit ;;
        esac
    done
