#!/usr/bin/env bash
# Prepares the folder DIR for Containerfile and Containerfile.plugins, from the files of a release: prepare.sh FILES DIR
set -euo pipefail
files=$1
folder=$2
unpack() {
    mkdir -p "$2"
    tar --zstd -xf "$1" --strip-components=1 -C "$2"
}
unpack "$files"/larder-[0-9]*-x86_64-unknown-linux-gnu.tar.zst "$folder/amd64"
unpack "$files"/larder-[0-9]*-aarch64-unknown-linux-gnu.tar.zst "$folder/arm64"
unpack "$files"/larder-components-*.tar.zst "$folder"
cp /etc/ssl/certs/ca-certificates.crt "$folder"
