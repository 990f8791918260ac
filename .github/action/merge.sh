#!/usr/bin/env bash
# One verdict from the results of several jobs. The exit code is that of the merged verdict.
set -euo pipefail

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
drop_tokens

parts=$(latest_parts "$GBENCH_ARTIFACTS")
if ((parts == 0)); then
    output exit-code 4
    annotate error "no job left a result to merge: the logs of the measuring jobs say why"
    exit 4
fi

arguments=(merge --output=merged)
option() {
    [[ -z $2 ]] || arguments+=("--$1=$2")
}
option expect "$GBENCH_EXPECT"
option fail-on "$GBENCH_FAIL_ON"
option measured "$GBENCH_MEASURED"
if is_true partial "$GBENCH_PARTIAL"; then
    arguments+=(--partial)
fi
output folder merged
code=0
"$GBENCH_BINARY" "${arguments[@]}" -- "$GBENCH_ARTIFACTS" || code=$?
output exit-code "$code"
exit "$code"
