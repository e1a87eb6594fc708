#!/usr/bin/env bash
# Whatever goes wrong: exit status 2, one sentence that says what to do, and no output file.
# shellcheck source=tests/cli/kit.sh
. "$(dirname "$0")/kit.sh"
need_python
floats in.f32 '[(i * 37 % 101 - 50) / 7 for i in range(1000)]'

# Specs.
refused 'unknown selector' 'topk' "$TITHE" encode 'topq:k=5|raw' in.f32 OUT
refused 'unknown quantizer' 'natural' "$TITHE" encode 'topk:k=5|natrual' in.f32 OUT
refused 'missing level' 'keep' "$TITHE" encode topk in.f32 OUT
refused 'unknown parameter' 'keep' "$TITHE" encode topk:keap=0.1 in.f32 OUT
refused 'value out of range' 'keep' "$TITHE" encode topk:keep=2 in.f32 OUT
refused 'not a number' 'keep' "$TITHE" encode topk:keep=some in.f32 OUT
refused 'illegal pair' '' "$TITHE" encode 'sign|topk:k=5' in.f32 OUT
refused 'unknown spec of check' 'topk' "$TITHE" check 'topq:k=5|raw'
refused 'type twice' 'type' "$TITHE" encode raw:type=f64 in.f32 OUT --type f32

# Files.
refused 'missing file' 'none.f32.*No such file' "$TITHE" encode raw none.f32 OUT
refused 'missing frame' 'none.frame.*No such file' "$TITHE" decode none.frame OUT
refused 'missing frame' 'none.frame.*No such file' "$TITHE" inspect none.frame
mkdir folder
refused 'a directory' 'folder.*directory' "$TITHE" encode raw folder OUT
refused 'onto a directory' 'folder.*directory' "$TITHE" encode raw in.f32 folder
refused 'no such directory' 'none/OUT.*No such file' "$TITHE" encode raw in.f32 none/OUT
refused 'a newline in a name' 'No such file' "$TITHE" encode raw $'two\nlines' OUT
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked
    chmod a-w locked
    refused 'unwritable' 'locked/OUT.*Permission denied' "$TITHE" encode raw in.f32 locked/OUT
fi
works 'a frame' "$TITHE" encode 'topk:k=20|natural' in.f32 good.frame
refused 'JSON to nowhere' 'none/info.json' "$TITHE" inspect good.frame --json none/info.json

# Vectors.
head -c 3999 in.f32 > odd.f32
refused 'odd size' '3,999 bytes.*multiple of 4' "$TITHE" encode raw odd.f32 OUT
head -c 4 in.f32 > short.f64
refused 'odd size of f64' 'multiple of 8' "$TITHE" encode raw short.f64 OUT --type f64
for value in nan inf -inf; do
    for spec in raw natural topk:k=5 'topk:k=5|natural' threshold:lambda=1 randk:k=5 stochastic:k=5 mstopk:k=5; do
        floats bad.f32 "[float('$value') if i == 777 else 1.0 + i for i in range(1000)]"
        refused "$value under $spec" '777' "$TITHE" encode "$spec" bad.f32 OUT
    done
done
floats large.f32 '[1.0, 1e6, 2.0]'
refused 'too large for f16' 'f16' "$TITHE" encode f16 large.f32 OUT

# Indices and segments.
echo '3 5,7' > three.txt
works 'given' "$TITHE" encode given in.f32 given.frame --indices three.txt
refused 'given without indices' '--indices' "$TITHE" encode given in.f32 OUT
refused 'decode without indices' '--indices' "$TITHE" decode given.frame OUT
refused 'indices without given' '--indices' "$TITHE" encode topk:k=5 in.f32 OUT --indices three.txt
refused 'indices without given' '--indices' "$TITHE" decode good.frame OUT --indices three.txt
echo '3 5 1000' > large.txt
refused 'index outside' 'Index 1000 .*1,000 coordinates' "$TITHE" encode given in.f32 OUT --indices large.txt
echo '3 5 4294967299' > larger.txt
refused 'index that wraps' 'Index 4294967299' "$TITHE" encode given in.f32 OUT --indices larger.txt
echo '3 5 3' > twice.txt
refused 'index twice' 'Index 3 stands twice' "$TITHE" encode given in.f32 OUT --indices twice.txt
printf '\001\000\000\000\002\000' > odd.idx
refused 'indices of odd size' '6 bytes' "$TITHE" encode given in.f32 OUT --indices odd.idx
echo '3 5' > two.txt
refused 'other indices than sent' '' "$TITHE" decode given.frame OUT --indices two.txt
refused 'segments do not add up' 'add up to 900.*1,000' "$TITHE" encode topk:k=5,per=layer in.f32 OUT --segments 400,500
refused 'segments' "'x'" "$TITHE" encode topk:k=5,per=layer in.f32 OUT --segments 400,x
refused 'segments' "''" "$TITHE" encode topk:k=5,per=layer in.f32 OUT --segments 400,,600
refused 'segments without layers' 'per=layer' "$TITHE" encode topk:k=5 in.f32 OUT --segments 400,600

# Frames: cut anywhere, with any one bit flipped, with something behind them, or no frames at all.
bytes=$(stat -c %s good.frame)
for ((at = 0; at < bytes; at += 1)); do
    head -c $at good.frame > cut.frame
    refused "cut at $at" '' "$TITHE" decode cut.frame OUT
done
python3 -c 'good = open("good.frame", "rb").read()
for at in range(len(good)):
    for bit in range(8):
        bad = bytearray(good)
        bad[at] ^= 1 << bit
        open("flipped.%d.%d" % (at, bit), "wb").write(bad)'
for file in flipped.*; do
    refused "$file" '' "$TITHE" decode "$file" OUT
done
for file in flipped.*.3; do
    refused "$file, inspected" '' "$TITHE" inspect "$file"
done
cat good.frame three.txt > trailing.frame
refused 'trailing bytes' '' "$TITHE" decode trailing.frame OUT
refused 'no frame' '' "$TITHE" inspect in.f32
works 'randk' "$TITHE" encode randk:k=20 in.f32 drawn.frame --seed 7 --rank 2 --tensor 1 --step 5
works 'the same seed' "$TITHE" decode drawn.frame drawn.f32 --seed 7 --rank 2 --tensor 1
works 'a frame is explained without its seed' "$TITHE" inspect drawn.frame
for other in '--seed 8 --rank 2 --tensor 1' '--seed 7 --rank 3 --tensor 1' '--seed 7 --rank 2' ''; do
    # shellcheck disable=SC2086
    refused "randk with ${other:-nothing}" 'another seed, rank or tensor' "$TITHE" decode drawn.frame OUT $other
done
for mark in '\323' '\320' '\327' '\333'; do # what begins as a frame of a version that is not known may be anything
    printf '%bot a frame at all' "$mark" > other.frame
    refused 'no frame, though it begins like one' 'is not a Tithe frame' "$TITHE" decode other.frame OUT
done
: > empty
refused 'an empty file' '' "$TITHE" inspect empty
refused 'an empty file' '' "$TITHE" decode empty OUT
refused 'another step' 'step 0, not of step 4' "$TITHE" decode good.frame OUT --step 4
echo kept > kept
refused 'a bad frame leaves OUT alone' '' "$TITHE" decode flipped.20.3 kept
[ "$(cat kept)" = kept ] || fail 'a bad frame overwrote the output file'

# A frame of few bytes that stands for more coordinates than there is memory. Where address space cannot be
# limited (sanitizers reserve it by the terabyte) the question cannot be asked.
truncate -s 256M zeros.f32
if { (ulimit -v 150000 && exec "$TITHE" --version); } > /dev/null 2>&1; then
    works 'many zeros' "$TITHE" encode topk:k=1 zeros.f32 huge.frame
    refused 'no memory' '67,108,864 coordinates' bash -c "ulimit -v 150000; '$TITHE' decode huge.frame OUT"
    refused 'no memory' 'memory' bash -c "ulimit -v 150000; '$TITHE' encode raw zeros.f32 OUT"
else
    echo 'SKIP: what happens without memory was not asked: this build does not start with little address space'
fi
finish
