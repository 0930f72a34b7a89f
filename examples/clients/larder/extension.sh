#!/bin/sh
# The extension `resources-get`: returns a resource together with its content, and sends the content with updates.
# `larder request` sends any method. Enable the extension with `extensions = ["resources-get"]`.
#   run: file:///docs/news.md
#   prints: "contents":{"contentType":"text/markdown","content":"
#   prints: "code":-31001
#   prints: {}
#   prints: now change the file
#   prints: "method":"notifications/resources/content_changed"
#   prints: {}
#   prints: "code":-32602
URL=$1 uri=$2

got=$(larder request resources/get "{\"uri\": \"$uri\"}" --url "$URL")
printf '%s\n' "$got"
version=$(printf '%s\n' "$got" | sed -n 's/.*"version":"\([^"]*\)"},"contents".*/\1/p')
larder request resources/get "{\"uri\": \"$uri\", \"version\": \"$version\"}" --url "$URL" 2>&1

larder request resources/subscribe "{\"uris\": [\"$uri\"]}" \
    --listen --count 1 --then resources/unsubscribe --url "$URL" |
    { read -r answer; echo "$answer"; echo "now change the file"; cat; }

larder request resources/get '{"uri": "file:///docs/nothing"}' --url "$URL" 2>&1 || true
