#!/bin/sh
# Reads text and bytes. A missing resource results in exit code 1 and a message on stderr.
#   prints: This is the content of the static text resource.
#   prints: PNG
#   prints: the server returned an error: Resource not found (-32602)
#   prints: the provider `echo` denied the request
URL=${1:-http://127.0.0.1:7878/mcp}

larder read test://static-text --url "$URL"
echo
larder read test://static-binary --url "$URL" | head -c 4 | tr -cd 'A-Z'
echo
larder read test://nowhere --url "$URL" 2>&1 || true
larder read echo://error/denied --url "$URL" 2>&1 || true
