#!/bin/sh
# Serves this folder, and says what to try. It listens on $PORT, or else on 8000.
set -eu
cd "$(dirname "$0")"
make -s -C ../.. build >&2
DURWARD_STATE_DIR=$(mktemp -d)
export DURWARD_STATE_DIR
site=http://127.0.0.1:${PORT:=8000}
cat <<END
Try, in another terminal:

curl $site/weekday
curl $site/weekday -H 'Content-Type: application/json' -d '{"command": ["date", "-u", "-d", "2026-11-21", "+%A"]}'
curl $site/weekday -H 'Content-Type: application/json' -d '{"command": ["date", "-f", "/etc/passwd"]}'
DURWARD_STATE_DIR=$DURWARD_STATE_DIR $(cd ../../bin && pwd)/durward audit tail

END
exec ../../bin/durward serve . --port "$PORT"
