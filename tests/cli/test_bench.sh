#!/usr/bin/env bash
# tithe bench: every row that scripts look for, with the keys they read. How fast it was is nobody's business here.
# shellcheck source=tests/cli/kit.sh
. "$(dirname "$0")/kit.sh"
need_python

kernels='memcpy read read8 natural.encode natural.decode_add bf16.encode topk.select@0.001 topk.select@0.01
    topk.select@0.1 threshold.select@0.01 dither4.encode dither4.decode_add natdither4.encode ec+natural
    ec+threshold@0.01 ec+topk@0.01 indices.encode@0.01 indices.decode@0.01'
hard='ties zeros sorted narrow sample-defeating'
keys='name n data isa threads seconds xM xR bits_per_index entropy_bits'
rows='j["results"]'

works 'bench' "$TITHE" bench --n 2^14 --rounds 3 --threads 1 --json -
json 'bench' '{"cpu", "disturbed", "results"} <= set(j) and isinstance(j["cpu"], str)' \
    'j["disturbed"] in (True, False)' \
    "all(set('$keys'.split()) <= set(row) for row in $rows)" \
    "all(row['seconds'] > 0 and row['xM'] > 0 and row['xR'] > 0 for row in $rows)" \
    "all(row['n'] == 16384 and row['threads'] == 1 for row in $rows)"
for data in gaussian lognormal; do
    json "$data" "{row['name'] for row in $rows if row['data'] == '$data'} >= set('''$kernels'''.split())"
done
json 'hard inputs' \
    "{row['data'] for row in $rows if row['name'] == 'topk.select@0.01'} == set('gaussian lognormal $hard'.split())" \
    "len({(row['name'], row['data']) for row in $rows}) == len($rows)"
json 'indices' "all(0.9 * row['entropy_bits'] < row['bits_per_index'] < 1.2 * row['entropy_bits']
    for row in $rows if row['name'].startswith('indices.'))" \
    "all(row['bits_per_index'] is None for row in $rows if row['name'] in ('memcpy', 'natural.encode'))" \
    "all(row['xM'] == 1 for row in $rows if row['name'] == 'memcpy')" \
    "all(row['xR'] == 1 for row in $rows if row['name'] == 'read')"

# A length that no vector unit divides, on more threads than there are cores, with each set of kernels: the results
# are compared with the right ones before anything is timed.
works 'odd' "$TITHE" bench --n 300007 --rounds 1 --threads 1,3 --isa all --data gaussian,sorted --json -
json 'threads' "{row['threads'] for row in $rows if row['name'] == 'natural.encode'} == {1, 3}" \
    "'ref' in {row['isa'] for row in $rows}" \
    "{row['threads'] for row in $rows if row['name'] == 'indices.encode@0.01'} == {1}"

works 'codecs' "$TITHE" bench codecs --n 2^14 --rounds 1 --threads 1 --data gaussian --json -
json 'codecs' "{row['name'] for row in $rows} >= {way + ' ' + spec for way in ('encode', 'decode_add')
    for spec in ('all|raw', 'all|f16', 'all|bf16', 'all|natural', 'all|sign', 'all|dither:s=7,bucket=512',
                 'topk:keep=0.01', 'topk:keep=0.01|natural', 'threshold@0.01', 'randk:keep=0.01',
                 'stochastic:keep=0.01', 'mstopk:keep=0.01')}" \
    "all((row['bytes'] or 0) > 0 for row in $rows if ' ' in row['name'])"

works 'rows' "$TITHE" bench kernels --n 2^12,5000 --rounds 1 --rows 'top*0.01' --data gaussian --threads 1 --json OUT.json
holds 'rows' out 'n = 2^12, gaussian'
holds 'rows' out '^  topk.select@0.01 '
awk 'length > 110 { exit 1 }' out || fail 'the table is wider than 110 columns'
cp OUT.json out && rm OUT.json
json 'rows' "[row['name'] for row in $rows] == 2 * ['memcpy', 'read', 'read8', 'topk.select@0.01', 'ec+topk@0.01']"

works 'tuner' "$TITHE" bench tuner --n 5000,200000 --rounds 1 --threads 1,2 --json -
json 'tuner' "{row['name'] for row in $rows} >= set('cat.affine cat.packet cat.sq cat.sort cat+encode put.encode put.cat put.late'.split())" \
    "{row['data'] for row in $rows} == {'gaussian', 'lognormal'}"

works 'exchange' "$TITHE" bench exchange --n 20000 --rounds 1 --threads 1,2 --json -
json 'exchange' "{row['name'] for row in $rows} >= {way + '@' + ranks for way in ('dense', 'gather', 'star', 'allreduce.ring')
    for ranks in '24'}"

refused 'suite' 'kernels, codecs, tuner, exchange and switch' "$TITHE" bench speed
refused 'data' 'gaussian, lognormal' "$TITHE" bench --data cauchy
refused 'isa' 'one of .*ref' "$TITHE" bench --isa sse9
refused 'row' 'No row matches' "$TITHE" bench --rows nothing --n 2^12
refused 'length' 'such as 2^20' "$TITHE" bench --n 2^20,x
refused 'length 0' 'such as 2^20' "$TITHE" bench --n 0
refused 'threads' 'from 1 to 256' "$TITHE" bench --threads 0
finish

# Measured on whatever else runs here: only that each backend has its rows, or says why not.
works 'bench switch' "$TITHE" bench switch --json -
json 'bench switch' "{row['name'] for row in $rows} >= {'switch.udp'}" \
    "all({'name', 'n', 'data', 'seconds', 'values_per_second', 'gate', 'met'} <= set(row) for row in $rows)" \
    "all(row['skipped'] or row['seconds'] > 0 and row['values_per_second'] > 0 for row in $rows)" \
    "len([row for row in $rows if row['name'] == 'switch.udp']) == 5"
