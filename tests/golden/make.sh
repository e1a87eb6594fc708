#!/usr/bin/env bash
# Makes the golden files anew: input/ and bad/ from make.py, good/ by the command on the inputs.
# Run it only when the format changes on purpose; its diff is the change. Needs a built command and python3.
#
#   tests/golden/make.sh [COMMAND]         COMMAND is build/tithe unless stated
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
command=${1:-$here/../../build/tithe}
[ -x "$command" ] || { echo "make.sh: $command is not there: build it first (make)" >&2; exit 2; }
rm -rf "$here/good" "$here/bad" "$here/input"
mkdir -p "$here/good" "$here/bad" "$here/input"
python3 "$here/make.py" "$command" "$here"
