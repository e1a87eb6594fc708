# kit.sh - what the shell tests of the command share. Source it first: it changes into an empty directory.
# shellcheck shell=bash
set -u
: "${TITHE:?set TITHE to the tithe binary}"
case $TITHE in /*) ;; *) TITHE=$PWD/$TITHE ;; esac

room=$(mktemp -d)
trap 'chmod -R u+w "$room"; rm -rf "$room"' EXIT
cd "$room" || exit 1

failures=0
checks=0

fail() # sentence
{
    printf 'FAIL: %s\n' "$*"
    failures=$((failures + 1))
}

# what, command...: the command must succeed; its output is in ./out and ./err
works()
{
    local what=$1 status=0
    shift
    checks=$((checks + 1))
    "$@" > out 2> err || status=$?
    [ $status -eq 0 ] || fail "$what: exit status $status, said: $(cat err)"
    [ ! -s err ] || fail "$what: standard error is not empty: $(cat err)"
}

# what, pattern, command...: exit status 2, nothing on standard output, one line on standard error that starts
# with "tithe" and holds the pattern, and no file called OUT* left behind
refused()
{
    local what=$1 pattern=$2 status=0 lines
    shift 2
    checks=$((checks + 1))
    "$@" > out 2> err || status=$?
    lines=$(wc -l < err)
    [ $status -eq 2 ] || fail "$what: exit status $status in place of 2"
    [ "$lines" -eq 1 ] || fail "$what: $lines lines on standard error in place of 1: $(cat err)"
    [ ! -s out ] || fail "$what: standard output is not empty"
    grep -q '^tithe' err || fail "$what: does not start with tithe: $(cat err)"
    grep -qi -e "$pattern" err || fail "$what: '$pattern' is not in: $(cat err)"
    if compgen -G 'OUT*' > /dev/null; then
        fail "$what: left $(echo OUT*) behind"
        rm -rf OUT*
    fi
}

# what, file, pattern
holds()
{
    checks=$((checks + 1))
    grep -q -e "$3" "$2" || fail "$1: '$3' is not in $2: $(head -c 300 "$2")"
}

# what, file, file
same()
{
    checks=$((checks + 1))
    cmp -s "$2" "$3" || fail "$1: $2 and $3 differ"
}

differ()
{
    checks=$((checks + 1))
    if cmp -s "$2" "$3"; then fail "$1: $2 and $3 are the same"; fi
}

need_python()
{
    command -v python3 > /dev/null && return
    echo 'SKIP: python3 is missing'
    exit 77
}

# what, Python expressions over j, the JSON in ./out: all must be true
json()
{
    local what=$1
    shift
    checks=$((checks + $#))
    python3 -c 'import json, math, os, sys
j = json.load(open("out"))
for text in sys.argv[1:]:
    try:
        true = eval("(" + text + ")")
    except Exception as error:
        true, text = False, "%s: %r" % (text, error)
    if not true:
        print(text)' "$@" > json.false 2>&1 || echo 'no JSON' > json.false
    while read -r line; do fail "$what: not true: $line"; done < json.false
}

# file, Python expression that gives a list of numbers [, f or d]
floats()
{
    python3 -c 'import struct, sys
x = list(eval(sys.argv[2]))
open(sys.argv[1], "wb").write(struct.pack("<%d%s" % (len(x), sys.argv[3]), *x))' "$1" "$2" "${3:-f}"
}

finish()
{
    if [ $failures -gt 0 ]; then
        echo "$failures of $checks checks failed"
        exit 1
    fi
    echo "$checks checks passed"
}
