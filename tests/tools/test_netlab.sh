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
export NETLAB_NAME=test$$ # others may have a lab too
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
[ -z "$(ip netns list | grep "^$NETLAB_NAME" || true)" ] || { echo 'namespaces are left behind' && exit 1; }

"$netlab" --hosts 1 first true 2> "$work/out" && { echo 'one host was taken' && exit 1; }
grep -q -- '--hosts takes' "$work/out"
"$netlab" --rate fast first true 2> "$work/out" && { echo 'a wrong rate was taken' && exit 1; }
grep -q -- '--rate takes' "$work/out"
for wrong in speed=3 'net.core.rmem_max=1; reboot' net.ipv4.no_such_thing=1; do
    "$netlab" --sysctl "$wrong" first true 2> "$work/out" && { echo "--sysctl '$wrong' was taken" && exit 1; }
    [ "$(wc -l < "$work/out")" -eq 1 ]
done
[ "$("$netlab" --sysctl net.ipv4.tcp_notsent_lowat=98765 first sysctl -n net.ipv4.tcp_notsent_lowat)" = 98765 ]
echo 'netlab works'
