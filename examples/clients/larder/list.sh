#!/bin/sh
# Lists all resources and the templates. `--json` prints JSON for programs.
#   prints: test://extra/001
#   prints: test://static-text
#   prints: test://template/{id}/data
#   prints: "uri": "test://extra/001"
URL=${1:-http://127.0.0.1:7878/mcp}

larder list --url "$URL"
larder templates --url "$URL"
larder list --limit 1 --json --url "$URL"
