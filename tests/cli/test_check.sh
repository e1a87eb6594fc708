#!/usr/bin/env bash
# tithe check: rows with the keys that scripts rely on, in the order of the specs, whatever the threads do.
# shellcheck source=tests/cli/kit.sh
. "$(dirname "$0")/kit.sh"
need_python

specs=('topk:keep=0.1|natural' all\|natural 'randk:keep=0.1|raw' 'threshold:lambda=0.5|raw' 'all|dither:s=5')
works 'check' "$TITHE" check "${specs[@]}"
holds 'check' out 'claims, all hold (5 codecs)$'
for spec in "${specs[@]}"; do grep -qxF -e "$spec" -e "${spec#all|}" -e "${spec%|raw}" out || fail "no heading for $spec"; done

works 'check --json' "$TITHE" check "${specs[@]}" --json -
cp out two.json
json 'rows' 'all({"spec", "claim", "bound", "measured", "holds"} <= set(row) for row in j)' \
    'len(j) >= 10 and all(row["holds"] is True for row in j)' \
    'len([1 for a, b in zip(j, j[1:]) if a["spec"] != b["spec"]]) == 4'
works 'one thread' "$TITHE" check "${specs[@]}" --json - --threads 1
same 'any number of threads' out two.json
works 'another seed' "$TITHE" check "${specs[@]}" --json - --seed 12
differ 'another seed' out two.json
finish
