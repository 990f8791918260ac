#!/usr/bin/env bash
# One verdict from the results of several jobs, which lie below one folder as `gbench-ci-attempt-N-part-K`. Of a part that
# was measured again the last attempt counts.
set -euo pipefail

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
drop_tokens

declare -A latest=()
shopt -s nullglob
for folder in "$GBENCH_ARTIFACTS"/gbench-ci-attempt-*-part-*/; do
    name=$(basename "$folder")
    [[ $name =~ ^gbench-ci-attempt-([0-9]{1,4})-part-([0-9]{1,3})$ ]] || continue
    attempt=$((10#${BASH_REMATCH[1]}))
    part=$((10#${BASH_REMATCH[2]}))
    if ((attempt > ${latest[$part]:-0})); then
        latest[$part]=$attempt
    fi
done
parts=()
for part in "${!latest[@]}"; do
    parts+=("$GBENCH_ARTIFACTS/gbench-ci-attempt-${latest[$part]}-part-$part")
done
((${#parts[@]} > 0)) || {
    annotate error "no job left a result to merge: the logs of the measuring jobs say why"
    output exit-code 4
    exit 4
}

arguments=(merge --output=merged)
if [[ -n $GBENCH_EXPECT ]]; then
    arguments+=("--expect=$GBENCH_EXPECT")
fi
output folder merged
code=0
"$GBENCH_BINARY" "${arguments[@]}" -- "${parts[@]}" || code=$?
output exit-code "$code"
exit "$code"
