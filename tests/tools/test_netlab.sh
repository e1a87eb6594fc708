#!/usr/bin/env bash
# Two hosts at 100 Mbit/s with 5 ms one way: the probe finds both, and nothing is left behind.
set -euo pipefail
netlab=$TITHE_SOURCE/tools/netlab
[ -n "$TITHE" ] || { echo 'SKIP: no command was built' && exit 77; }
[ "$(id -u)" -eq 0 ] || { echo 'SKIP: not root, and namespaces need root' && exit 77; }
for tool in ip tc ethtool; do command -v $tool > /dev/null || { echo "SKIP: no $tool" && exit 77; }; done
ip netns add tithe-try 2> /dev/null || { echo 'SKIP: namespaces cannot be made here' && exit 77; }
ip netns del tithe-try
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$netlab" --rate 100mbit --delay 5ms zmq "$TITHE" probe --transport zmq --workers 2 --seconds 3 --json - > "$work/link" 2> "$work/errors" ||
    { cat "$work/errors" && grep -q 'built without' "$work/errors" && echo 'SKIP: built without ZeroMQ' && exit 77; }
python3 - "$work/link" << 'EOF2'
import json, sys
link = json.load(open(sys.argv[1], encoding="utf-8"))
print(f"latency {link['latency_s'] * 1e3:.2f} ms, bandwidth {link['bandwidth_Bps'] * 8e-6:.1f} Mbit/s")
# TCP leaves 95.6 % of the rate to the payload; other programs may be at work here
assert 0.8 * 95.6e6 < 8 * link["bandwidth_Bps"] < 1.1 * 100e6, "bandwidth"
assert 4.9e-3 < link["latency_s"] < 7e-3, "latency"
EOF2
[ -z "$(ip netns list | grep '^nl[0-9]' || true)" ] || { echo 'namespaces are left behind' && exit 1; }

"$netlab" --hosts 1 first true 2> "$work/out" && { echo 'one host was taken' && exit 1; }
grep -q -- '--hosts takes' "$work/out"
"$netlab" --rate fast first true 2> "$work/out" && { echo 'a wrong rate was taken' && exit 1; }
grep -q -- '--rate takes' "$work/out"
echo 'netlab works'
