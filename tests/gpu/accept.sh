#!/usr/bin/env bash
# The GPU acceptance: doctor, the manifest and real programs through the protocol, on a machine with a GPU.
#
#   tests/gpu/accept.sh [GBENCH_CI_BINARY] [OUTPUT_FOLDER]
#
# Exit 0: everything held. Exit 77: skipped, with the reason. Anything else: what failed is said. Changes no
# clocks, power limits or modes; it only reads them.
set -u
here=$(cd "$(dirname "$0")" && pwd)
gate=${1:-$here/../../target/release/gbench-ci}
out=${2:-$(mktemp -d)}
mkdir -p "$out"
out=$(cd "$out" && pwd)
if ! [ -x "$gate" ]; then
    echo "failed: there is no binary at $gate; build it with: cargo build --release"
    exit 2
fi
gate=$(cd "$(dirname "$gate")" && pwd)/$(basename "$gate")

"$gate" doctor --require-gpu >"$out/doctor.txt" 2>&1
code=$?
cat "$out/doctor.txt"
if [ "$code" -eq 5 ]; then
    echo "skipped: no GPU can be measured on this machine (see above)"
    exit 77
fi
failures=0
expect() { # expect WHAT WANTED_CODE GOT_CODE
    if [ "$2" -eq "$3" ]; then echo "ok: $1"; else echo "FAILED: $1: exit code $3, not $2"; failures=$((failures + 1)); fi
}
expect "doctor finds the GPU" 0 "$code"

"$gate" manifest show --json >"$out/manifest.json"
expect "the manifest is taken" 0 $?
grep -q '"model"' "$out/manifest.json" && ! grep -q '"gpu": *{ *"failed"' "$out/manifest.json"
expect "the manifest knows the GPU" 0 $?

cp "$here"/*.py "$here/gbench.toml" "$out/" || exit 2
cd "$out" || exit 2
"$gate" run --artifacts runs --export first.json
expect "the suite runs (cases without torch are skipped)" 0 $?
# Where torch is missing, its cases are skipped and the run counts as partial.
"$gate" baseline save gpu || "$gate" baseline save gpu --partial
expect "the run becomes a baseline" 0 $?
"$gate" compare gpu --artifacts runs --json verdict.json
code=$?
# 0: unchanged. 3: too noisy to decide anything. Both are right for two runs of one thing; a red is not.
[ "$code" -eq 3 ] && code=0
expect "two runs of one thing are not called a regression" 0 "$code"
"$gate" report verdict.json --format markdown >verdict.md
expect "the verdict renders" 0 $?
if command -v nvidia-smi >/dev/null; then nvidia-smi -q >nvidia-smi.txt; fi
echo "results in $out"
[ "$failures" -eq 0 ]
