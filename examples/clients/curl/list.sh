#!/bin/sh
# Lists all pages of resources, and the templates.
#   prints: "uri":"test://extra/001"
#   prints: "nextCursor":
#   prints: "uri":"test://static-text"
#   prints: "uriTemplate":"test://template/{id}/data"
URL=${1:-http://127.0.0.1:7878/mcp}
. "$(dirname "$0")/ask.sh"

cursor=
while :; do
    page=$(ask resources/list "$cursor")
    echo "$page"
    next=$(echo "$page" | sed -n 's/.*"nextCursor":"\([^"]*\)".*/\1/p')
    [ -n "$next" ] || break
    cursor="\"cursor\": \"$next\""
done
ask resources/templates/list ''
