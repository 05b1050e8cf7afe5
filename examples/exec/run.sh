#!/bin/sh
# Runs a command under policy.yaml, one that the kernel stops, one that the policy denies,
# and shows the record.
set -eu
cd "$(dirname "$0")"
make -s -C ../.. build >&2
PATH=$(cd ../../bin && pwd):$PATH
DURWARD_STATE_DIR=$(mktemp -d)
export DURWARD_STATE_DIR
trap 'rm -rf "$DURWARD_STATE_DIR"' EXIT
show() { printf '\n$ %s\n' "$*"; eval "$*" </dev/null 2>&1 || echo "(exit status $?)"; }

show "durward exec --policy policy.yaml -- sh -c 'echo \$GREETING from \$(basename \$PWD)'"
show "durward exec --policy policy.yaml -- sh -c 'cat /etc/shadow; touch made'"
show "durward exec --policy policy.yaml --timeout 5m -- make all"
show "durward audit tail"
show "durward audit verify"
