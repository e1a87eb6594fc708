#!/usr/bin/env bash
# tithe list: every variant, and JSON that scripts can rely on.
# shellcheck source=tests/cli/kit.sh
. "$(dirname "$0")/kit.sh"
need_python

selectors='all topk threshold mstopk randk stochastic given'
quantizers='raw f16 bf16 natural sign dither natdither int32'
well_formed='all(set(v) == {"kind", "name", "summary", "paper", "params", "traits"} for v in j)'
params='[p for v in j for p in v["params"]]'
traits='{"unbiased", "contractive", "absolute", "summable", "fixed-size"}'

works 'list' "$TITHE" list
for name in $selectors $quantizers; do holds 'list' out "^  $name "; done
awk 'length > 100 { exit 1 }' out || fail 'list is wider than 100 columns'

works 'list --json' "$TITHE" list --json -
cp out default.json
json 'list' "$well_formed" "{v['name'] for v in j} >= set('$selectors $quantizers'.split())" \
    '{v["kind"] for v in j} == {"selector", "quantizer"}' \
    'len({(v["kind"], v["name"]) for v in j}) == len(j)' \
    'all(v["summary"] and v["paper"] for v in j)' \
    "all(set(v['traits']) <= $traits for v in j)"
json 'parameters' "all(set(p) - {'choices'} == {'name', 'doc', 'default', 'min', 'max'} for p in $params)" \
    "all(p['doc'] for p in $params)" \
    "all(p['default'] in p['choices'] for p in $params if 'choices' in p)" \
    "all(p['min'] <= p['default'] <= p['max'] for p in $params if 'choices' not in p and p['default'] is not None)"
json 'traits' 'next(set(v["traits"]) for v in j if v["name"] == "topk") >= {"contractive"}' \
    'next(set(v["traits"]) for v in j if v["name"] == "natural") >= {"unbiased"}' \
    'next(set(v["traits"]) for v in j if v["name"] == "threshold") >= {"absolute"}'

works 'codecs' "$TITHE" list codecs --json -
same 'codecs is the default' out default.json
works 'selectors' "$TITHE" list selectors --json -
json 'selectors' "{v['name'] for v in j} >= set('$selectors'.split()) and {v['kind'] for v in j} == {'selector'}"
works 'quantizers' "$TITHE" list quantizers --json -
json 'quantizers' "{v['name'] for v in j} >= set('$quantizers'.split()) and {v['kind'] for v in j} == {'quantizer'}"

works 'pairs' "$TITHE" list pairs --json -
json 'pairs' 'len(j) == len({p["selector"] for p in j}) * len({p["quantizer"] for p in j}) >= 49' \
    'all((p["reason"] is None) == p["legal"] for p in j)' \
    'len(j) / 2 < sum(p["legal"] for p in j) < len(j)' \
    'any(p["spec"] == "topk:keep=0.01|raw" and abs(p["delta"] - 0.01) < 1e-9 for p in j)' \
    'any(p["spec"] == "all|natural" and abs(p["omega"] - 0.125) < 1e-9 for p in j)'
works 'pairs' "$TITHE" list pairs --n 100
holds 'pairs' out 'n = 100'
holds 'pairs' out 'topk:keep=0.01|natural'

works 'data' "$TITHE" list data
for name in gen:sparse a9a-like rcv1-like fashion-mnist; do holds 'data' out "^  $name"; done
awk 'length > 110 { exit 1 }' out || fail 'list data is wider than 110 columns'
works 'data' "$TITHE" list data --json -
json 'data' "$well_formed" '{v["kind"] for v in j} == {"data"} and all(v["traits"] == [] for v in j)' \
    '{"gen:sparse", "gen:dense", "a9a-like", "w8a-like", "gisette-like", "rcv1-like", "url-like"} <= {v["name"] for v in j}' \
    'next({p["name"] for p in v["params"]} for v in j if v["name"] == "url-like") == {"scale", "seed"}'

works 'costs' "$TITHE" list costs --json -
json 'costs' "$well_formed" '{v["kind"] for v in j} == {"cost"}' \
    '{v["name"] for v in j} >= {"bits", "affine", "packet", "energy", "table", "alphabeta"}' \
    '{v["name"] for v in j} >= {"802.15.4", "802.15.4-127", "ethernet-udp"}' \
    'all(v["summary"] and v["paper"] for v in j)' \
    'next(v["traits"] for v in j if v["name"] == "packet") == ["unit=B", "packets"]' \
    "all(set(p) - {'choices'} == {'name', 'doc', 'default', 'min', 'max'} for p in $params)"
works 'costs' "$TITHE" list costs
holds 'costs' out 'packet:c0=64,c1=576,payload=512'
awk 'length > 100 { exit 1 }' out || fail 'list costs is wider than 100 columns'
works 'tuners' "$TITHE" list tuners --json -
json 'tuners' "$well_formed" '{v["kind"] for v in j} == {"tuner"}' '{v["name"] for v in j} >= {"fixed", "cat"}'
works 'tuners' "$TITHE" list tuners
holds 'tuners' out '^  cat '

for kind in feedback schemes collectives leaders transports estimators samplings averages step-sizes models; do
    works "$kind" "$TITHE" list "$kind" --json -
    json "$kind" "$well_formed" 'len(j) >= 3' 'all(v["summary"] for v in j)'
    works "$kind" "$TITHE" list "$kind"
done

works 'schemes' "$TITHE" list schemes --json -
json 'schemes' 'next(v["params"][0]["choices"] for v in j if v["name"] == "artopk") == ["round-robin", "variance", "auto"]'
works 'leaders' "$TITHE" list leaders --json -
json 'leaders' '[v["name"] for v in j] == ["round-robin", "variance", "auto"]'

refused 'unknown kind' 'codecs, selectors, quantizers, pairs, costs, tuners, feedback, schemes' "$TITHE" list compressors
finish
