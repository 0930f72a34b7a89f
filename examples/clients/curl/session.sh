#!/bin/sh
# Subscribes in a session of 2025-11-25. The connection is closed, and the next one resumes the stream.
#   run: file:///docs/news.md
#   prints: now change the file
#   prints: "method":"notifications/resources/updated","params":{"uri":"file:///docs/news.md"}
#   prints: cut; now change the file
#   prints: "method":"notifications/resources/updated","params":{"uri":"file:///docs/news.md"}
URL=$1 uri=$2

# send BODY [CURL OPTIONS]
send() {
    body=$1
    shift
    curl --silent --show-error "$URL" --header 'content-type: application/json' \
        --header 'accept: application/json, text/event-stream' "$@" --data "$body"
}

# Prints the next message and stores its event ID in the file `$kept`.
hear() {
    curl --silent --no-buffer "$URL" --header 'accept: text/event-stream' --header "mcp-session-id: $session" \
        ${last:+--header "last-event-id: $last"} |
        while read -r line; do
            case $line in
                id:*) [ -n "$last" ] || echo "now change the file"; echo "${line#id: }" > "$kept" ;;
                data:*resources/updated*) echo "${line#data: }"; exit ;;
            esac
        done
    last=$(cat "$kept")
}

kept=$(mktemp)
trap 'rm -f "$kept"' EXIT
about='{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"session","version":"1"}}'
session=$(send '{"jsonrpc":"2.0","id":1,"method":"initialize","params":'"$about"'}' --output /dev/null --dump-header - |
    tr -d '\r' | sed -n 's/^[Mm][Cc][Pp]-[Ss]ession-[Ii][Dd]: //p')
send '{"jsonrpc":"2.0","method":"notifications/initialized"}' --header "mcp-session-id: $session"
send '{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"'"$uri"'"}}' \
    --header "mcp-session-id: $session"
echo
last=
hear
# No connection is open now. Changes are not lost, because the next request contains the ID of the last event.
echo "cut; now change the file"
hear
curl --silent --request DELETE "$URL" --header "mcp-session-id: $session"
