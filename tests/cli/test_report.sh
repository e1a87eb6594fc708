#!/usr/bin/env bash
# tithe report writes one page or says in one sentence why not; tithe inspect explains the same traces.
# shellcheck source=tests/cli/kit.sh
. "$(dirname "$0")/kit.sh"
need_python

printf '# name: one\n# command: tithe train --seed 1\n# baseline: yes\nstep,loss,uplink_bytes\n0,0.7,0\n1,0.5,1200\n' > one.csv
printf '# name: two\nstep,loss,uplink_bytes\n0,0.7,0\n5,0.125,60\n6,0.1' > two.csv # its last line is cut off
printf '# name: bad\nstep,loss\n0,0.7\n1;0.5\n' > bad.csv
printf '# name: none\n' > none.csv

works 'one trace' "$TITHE" report one.csv
holds 'says where' out '^report.html: 1 run;'
holds 'has the command' report.html 'tithe train --seed 1'
works 'several' "$TITHE" report one.csv two.csv none.csv --out page.html --title 'A < B'
holds 'has the title' page.html '<title>A &#60; B</title>'
holds 'has both runs' page.html '"name":"two"'
works 'again over it' "$TITHE" report two.csv --out page.html
works 'JSON' "$TITHE" report one.csv two.csv --out page.html --json -
json 'JSON' 'j["file"] == "page.html"' '[r["name"] for r in j["runs"]] == ["one", "two"]' 'j["runs"][1]["records"] == 2'
works 'the same twice' "$TITHE" report one.csv two.csv --out again.html
same 'the same twice' page.html again.html
works 'from a pipe' "$TITHE" report - --out page.html < two.csv
holds 'from a pipe' page.html '"name":"two"'
works 'to a device' "$TITHE" report one.csv --out /dev/null

refused 'no trace' 'usage: tithe report' "$TITHE" report --out OUT
refused 'a broken line' "bad.csv:4: '1;0.5' in column step is not a number" "$TITHE" report one.csv bad.csv --out OUT
refused 'a missing file' "'nowhere.csv': No such file" "$TITHE" report nowhere.csv --out OUT
refused 'a directory' 'Is a directory' "$TITHE" report . --out OUT
refused 'a page' 'page.html:1: This is no trace' "$TITHE" report page.html --out OUT
refused 'a folder that is not there' 'none/page.html.*No such file' "$TITHE" report one.csv --out none/page.html
refused 'a folder as output' 'Is a directory' "$TITHE" report one.csv --out .
refused 'the output is looked at first' 'none/page.html' "$TITHE" report bad.csv --out none/page.html
refused 'the page over a trace' 'one of the traces' "$TITHE" report one.csv two.csv --out ./two.csv
refused 'page and JSON to standard output' 'cannot both be' "$TITHE" report one.csv --out - --json -
refused 'no value' '--out FILE' "$TITHE" report one.csv --out
if [ "$(id -u)" -ne 0 ]; then
    mkdir closed && chmod a-w closed
    refused 'a closed folder' 'Permission denied' "$TITHE" report one.csv --out closed/page.html
fi
compgen -G '*.part' > /dev/null && fail "left $(echo ./*.part) behind"

works 'inspect' "$TITHE" inspect two.csv
holds 'inspect' out 'the trace of two, 2 records'
holds 'inspect' out '^  loss  *0.7  *0.125  '
printf '# name: "a\\nb"\n# command: one\033[31m\n' > control.csv
works 'inspect, control characters' "$TITHE" inspect control.csv
holds 'inspect, control characters' out 'the trace of a b, '
if LC_ALL=C grep -q "$(printf '\033')" out; then fail 'inspect sends control characters to the terminal'; fi
works 'inspect, no record' "$TITHE" inspect none.csv
holds 'inspect, no record' out 'no record'
works 'inspect, JSON' "$TITHE" inspect one.csv --json -
json 'inspect, JSON' 'j["kind"] == "trace" and j["name"] == "one" and j["records"] == 2' \
    'j["facts"] == {"command": "tithe train --seed 1", "baseline": "yes"}' \
    'j["columns"]["loss"] == {"known": 2, "first": 0.7, "last": 0.5}' 'set(j["columns"]) == {"step", "loss", "uplink_bytes"}'
works 'inspect, from a pipe' "$TITHE" inspect - < two.csv
refused 'inspect, broken' "bad.csv:4: '1;0.5' in column step is not a number" "$TITHE" inspect bad.csv
finish
