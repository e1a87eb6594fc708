#!/usr/bin/env bash
# tithe inspect: the sections add up, and what it says is what encode said.
# shellcheck source=tests/cli/kit.sh
. "$(dirname "$0")/kit.sh"
need_python
floats in.f32 '[(i * 37 % 101 - 50) / 7 * 1.01 ** (i % 300) for i in range(5000)]'
floats in.f64 '[(i * 37 % 101 - 50) / 7 for i in range(5000)]' d
echo '1 2 3 4999' > four.txt

sums='j["bytes"] == j["header_bytes"] + -(-j["index_bits"] // 8) + -(-j["value_bits"] // 8) + j["checksum_bytes"]'
for spec in raw f16 bf16 natural sign dither:s=7 natdither:s=7 'topk:k=50|raw' 'topk:k=2500|natural' 'topk:k=4990|sign' \
    threshold:lambda=100 'mstopk:k=100|sign' 'randk:k=100|natural' stochastic:k=100 'topk:k=1|raw'; do
    works "$spec" "$TITHE" encode "$spec" in.f32 frame --step 9 --seed 3 --json encoded.json
    works "$spec" "$TITHE" inspect frame
    holds "$spec" out 'CRC-32C'
    works "$spec" "$TITHE" inspect frame --json -
    json "$spec" "$sums" 'j["bytes"] == os.path.getsize("frame")' \
        'all(json.load(open("encoded.json"))[key] == j[key]
             for key in "bytes entries index_bits value_bits header_bytes n dense_bytes".split())' \
        'j["step"] == 9 and j["n"] == 5000 and j["type"] == "f32" and j["version"] == (2 if "randk" in j["spec"] else 1)' \
        'j["form"] == "self-contained" and j["scale"] in ("unbiased", "contractive")' \
        'j["index_coding"] in ("none", "fixed", "bitmap", "golomb")' \
        '(j["golomb_m"] is None) == (j["index_coding"] != "golomb")' \
        '(j["index_bits"] == 0) == (j["index_coding"] == "none")' \
        'j["checksum_bytes"] == 4 and j["header_bytes"] + 4 <= 24' \
        'abs(j["bits_per_entry"] - (j["index_bits"] + j["value_bits"]) / j["entries"]) < 1e-9'
done
works 'entropy' "$TITHE" encode topk:k=50 in.f32 frame
works 'entropy' "$TITHE" inspect frame --json -
json 'entropy' 'abs(j["index_entropy_bits"] - math.log2(math.comb(5000, 50))) < 1e-6' \
    'j["index_bits"] < 1.1 * j["index_entropy_bits"] + 8'

works 'given' "$TITHE" encode 'given|natural' in.f32 frame --indices four.txt
works 'given' "$TITHE" inspect frame --json -
json 'given needs no indices' "j['entries'] == 4 and j['index_bits'] == 0 and j['value_bits'] > 0 and $sums"
works 'f64' "$TITHE" encode raw in.f64 frame --type f64
works 'f64' "$TITHE" inspect frame --json -
json 'f64' 'j["type"] == "f64" and j["dense_bytes"] == 40000 and j["value_bits"] == 320000'
: > empty
works 'n = 0' "$TITHE" encode 'topk:k=5|natural' empty frame
works 'n = 0' "$TITHE" inspect frame
works 'n = 0' "$TITHE" inspect frame --json -
json 'n = 0' "j['n'] == 0 and j['entries'] == 0 and j['bits_per_entry'] is None and $sums"
finish
