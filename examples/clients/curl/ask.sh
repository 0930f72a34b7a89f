#!/bin/sh
# Sends a request of 2026-07-28. Requests are self-contained, so there is no session.
#   . ./ask.sh; ask METHOD PARAMS [NAME] [CURL OPTIONS]     PARAMS is JSON without its braces; NAME is the URI of a read

ask() {
    method=$1 params=$2 name=${3-}
    shift 2; [ $# -eq 0 ] || shift
    curl --silent --show-error --no-buffer "$URL" "$@" \
        --header 'content-type: application/json' \
        --header 'accept: application/json, text/event-stream' \
        --header 'mcp-protocol-version: 2026-07-28' \
        --header "mcp-method: $method" \
        ${name:+--header "mcp-name: $name"} \
        --data @- <<JSON
{ "jsonrpc": "2.0", "id": 1, "method": "$method", "params": { $params${params:+,} "_meta": { ${META:+$META,}
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {} } } }
JSON
    echo
}
