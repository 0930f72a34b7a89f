#!/bin/sh
# The extension `resources-get` in a session: returns a resource together with its content, and sends the content with
# updates. It is for clients of older servers. Enable it with `extensions = ["resources-get"]`.
#   run: file:///docs/news.md
#   prints: "contents":{"contentType":"text/markdown","content":"
#   prints: "code":-31001
#   prints: {"jsonrpc":"2.0","id":1,"result":{}}
#   prints: now change the file
#   prints: "method":"notifications/resources/content_changed"
#   prints: {"jsonrpc":"2.0","id":1,"result":{}}
#   prints: "code":-32002
URL=$1 uri=$2
session= connected=

# send BODY [CURL OPTIONS]
send() {
    body=$1
    shift
    curl --silent --show-error "$URL" --header 'content-type: application/json' \
        --header 'accept: application/json, text/event-stream' ${session:+--header "mcp-session-id: $session"} "$@" \
        --data "$body"
}

# ask METHOD PARAMS
ask() {
    send '{"jsonrpc":"2.0","id":1,"method":"'"$1"'","params":'"$2"'}'
    echo
}

about='{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"extension","version":"1"}}'
session=$(send '{"jsonrpc":"2.0","id":1,"method":"initialize","params":'"$about"'}' --output /dev/null --dump-header - |
    tr -d '\r' | sed -n 's/^[Mm][Cc][Pp]-[Ss]ession-[Ii][Dd]: //p')
send '{"jsonrpc":"2.0","method":"notifications/initialized"}'

got=$(ask resources/get '{"uri":"'"$uri"'"}')
printf '%s\n' "$got"
version=$(printf '%s\n' "$got" | sed -n 's/.*"version":"\([^"]*\)"},"contents".*/\1/p')
ask resources/get '{"uri":"'"$uri"'","version":"'"$version"'"}'

ask resources/subscribe '{"uris":["'"$uri"'"]}'
curl --silent --no-buffer "$URL" --header 'accept: text/event-stream' --header "mcp-session-id: $session" |
    while read -r line; do
        case $line in
            id:*) [ -n "$connected" ] || echo "now change the file"; connected=yes ;;
            data:*content_changed*) echo "${line#data: }"; exit ;;
        esac
    done
ask resources/unsubscribe '{"uris":["'"$uri"'"]}'

ask resources/get '{"uri":"file:///docs/nothing"}'
curl --silent --request DELETE "$URL" --header "mcp-session-id: $session"
