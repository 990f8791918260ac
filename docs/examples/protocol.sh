#!/bin/sh
# Times a sort of n lines; needs a `date` that knows nanoseconds.
say() { printf '%s\n' "$1" >>"${GBENCH_EVENTS:-/dev/stdout}"; }
n=${GBENCH_PARAM_N:-20000}
say '{"event": "stage", "stage": "setup"}'
input=$(mktemp) && trap 'rm -f "$input"' EXIT
seq "$n" >"$input"
say "{\"event\": \"metadata\", \"items\": $n}"
sort -r "$input" >/dev/null # warm-up
say '{"event": "stage", "stage": "measure"}'
iteration=0
while [ "$iteration" -lt "${GBENCH_ITERATIONS:-5}" ]; do
    begin=$(date +%s%N)
    sort -r "$input" >/dev/null
    end=$(date +%s%N)
    say "{\"event\": \"sample\", \"value\": $((end - begin)), \"unit\": \"ns\", \"iteration\": $iteration}"
    iteration=$((iteration + 1))
done
say '{"event": "end"}'
