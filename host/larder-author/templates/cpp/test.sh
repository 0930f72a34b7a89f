#!/bin/sh
# Tests the component with `larder read`. `make test` builds it first.
set -u
plugins=$(mktemp -d) || exit 1
trap 'rm -rf "$plugins"' EXIT
cp @NAME@.wasm "$plugins" || exit 1

check() {
  got=$("${LARDER:-larder}" read "$1" --plugins "$plugins")
  if [ "$got" != "$2" ]; then
    echo "$1: got '$got', want '$2'" >&2
    exit 1
  fi
}

check @NAME@://hello "Hello, world!"
check @NAME@://hello/Ada "Hello, Ada!"
check @NAME@://nothing ""
echo "ok"
