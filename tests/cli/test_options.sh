#!/usr/bin/env bash
# Help, version, and the command line itself.
# shellcheck source=tests/cli/kit.sh
. "$(dirname "$0")/kit.sh"
need_python
floats in.f32 '[(i * 37 % 101 - 50) / 7 for i in range(1000)]'

works 'version' "$TITHE" --version
holds 'version' out '^tithe [0-9]*\.[0-9]*\.[0-9]*$'
works 'help' "$TITHE" --help
holds 'help' out Examples
for verb in list check encode decode inspect report; do
    grep -q "^  $verb " out || fail "help does not name $verb"
done
for verb in list check encode decode inspect report; do
    works "$verb --help" "$TITHE" "$verb" --help
    holds "$verb --help" out '^Examples:'
    holds "$verb --help" out '^  --json FILE'
    awk 'length > 100 { exit 1 }' out || fail "$verb --help is wider than 100 columns"
    works "help wins over mistakes" "$TITHE" "$verb" --no-such-option --help
done

refused 'no verb' 'list, check, encode, decode, inspect' "$TITHE"
refused 'unknown verb' 'nearest is encode.*list, check, encode, decode, inspect' "$TITHE" enocde
refused 'unknown option' 'nearest is --seed' "$TITHE" encode raw in.f32 OUT --sede 3
refused 'unknown option with =' 'nearest is --rank' "$TITHE" encode raw in.f32 OUT --rnak=3
refused 'single dash' 'nearest is' "$TITHE" encode raw in.f32 OUT -s 3
refused 'abbreviation' "no option '--see', the nearest is --seed" "$TITHE" encode raw in.f32 OUT --see 3
refused 'abbreviation with =' "no option '--see'" "$TITHE" encode raw in.f32 OUT --see=3
refused 'words of dashes' "no option '--sede', the nearest is --seed" "$TITHE" encode raw in.f32 OUT -sede 3
refused 'no name' "no option '--'" "$TITHE" encode raw in.f32 OUT --=3
refused 'a flag with a value' "--no-map takes no value; leave '=yes' out" "$TITHE" plan --no-map=yes
refused 'an empty codec' 'semicolons between them' "$TITHE" plan --params 1000 --codec 'natural;;f16'
refused 'a codec without a level' "the level of 'topk'" "$TITHE" plan --params 1000 --codec topk
refused 'a codec of the data' 'depends on the data' "$TITHE" plan --params 1000 --codec threshold:lambda=1 --no-codec
refused 'codecs of no paper' '--count paper' "$TITHE" plan --params 1000 --codec natural --count paper
refused '-- as value' '--json needs a value' "$TITHE" encode raw in.f32 OUT --json -- more
refused 'too few' 'usage: tithe encode SPEC IN OUT' "$TITHE" encode raw in.f32
refused 'too many' "'more' is one argument too many" "$TITHE" encode raw in.f32 OUT more
refused 'no value' '--seed S' "$TITHE" encode raw in.f32 OUT --seed
refused 'another option as value' '--json needs a value' "$TITHE" encode raw in.f32 OUT --json --seed 3
refused 'empty value' 'not empty' "$TITHE" encode raw in.f32 OUT --json=
for bad in -1 +1 ' 1' 1x 0x10 1.5 1e3 '' 18446744073709551616 99999999999999999999999; do
    refused "--seed '$bad'" "seed takes a whole number from 0 to 18,446,744,073,709,551,615" \
        "$TITHE" encode raw in.f32 OUT "--seed=$bad"
done
refused 'rank too large' 'from 0 to 4,294,967,295' "$TITHE" encode raw in.f32 OUT --rank 4294967296
refused 'type' 'f32|f64' "$TITHE" encode raw in.f32 OUT --type f16
refused 'list --n 0' 'from 1 to' "$TITHE" list --n 0

# Both spellings, and options anywhere.
works 'plain' "$TITHE" encode randk:k=10 in.f32 a --seed 7 --step 3
works '=' "$TITHE" encode --seed=7 randk:k=10 --step=3 in.f32 b
works 'the last one wins' "$TITHE" encode --seed 1 randk:k=10 in.f32 c --seed 18446744073709551615 --step 3 --seed 7
same 'spellings' a b
same 'the last one wins' a c
works 'in any order, whatever the environment' env POSIXLY_CORRECT=1 "$TITHE" encode randk:k=10 --seed 7 in.f32 --step 3 g
same 'in any order, whatever the environment' a g
cp in.f32 -- --odd
works '-- ends options' "$TITHE" encode --seed 7 --step 3 -- randk:k=10 --odd d
same '-- ends options' a d

# Standard input and output; the JSON alone.
"$TITHE" encode randk:k=10 - - --seed 7 --step 3 < in.f32 > e 2> err || fail 'encode - - failed'
same 'encode - -' a e
works 'decode to a file' "$TITHE" decode a back.f32 --seed 7
"$TITHE" decode - - --seed 7 < a > back2.f32 2> err || fail 'decode - - failed'
same 'decode - -' back.f32 back2.f32
works 'encode --json -' "$TITHE" encode topk:k=10 in.f32 f --json -
json 'encode --json -' 'j["bytes"] > 0 and j["n"] == 1000'
works 'decode --json -' "$TITHE" decode f back.f32 --json -
json 'decode --json -' 'j["n"] == 1000 and j["entries"] == 10 and j["step"] == 0 and j["type"] == "f32"'
works 'inspect --json -' "$TITHE" inspect f --json -
json 'inspect --json -' 'j["kind"] == "frame"'
works 'list --json -' "$TITHE" list --json -
json 'list --json -' 'len(j) > 10'
works 'json and text' "$TITHE" encode topk:k=10 in.f32 f --json info.json
holds 'json and text' out 'smaller'
python3 -m json.tool info.json > /dev/null || fail 'info.json is no JSON'
refused 'two on standard output' 'both' "$TITHE" encode raw in.f32 - --json -
refused 'two on standard output' 'both' "$TITHE" decode f - --json -
if [ -e /dev/full ]; then
    "$TITHE" list > /dev/full 2> err
    [ $? -eq 2 ] || fail 'a full disk looks like success'
fi

# A device is written, not replaced; a link is followed; permissions stay.
works 'to a device' "$TITHE" encode raw in.f32 /dev/null
[ -c /dev/null ] || fail '/dev/null was replaced'
echo old > real
chmod 640 real
ln -s real link
works 'through a link' "$TITHE" encode randk:k=10 in.f32 link --seed 7 --step 3
[ -L link ] || fail 'the link was replaced'
same 'through a link' a real
[ "$(stat -c %a real)" = 640 ] || fail 'permissions changed'
works 'in place' "$TITHE" encode randk:k=10 in.f32 in.f32 --seed 7 --step 3
same 'in place' a in.f32
finish
