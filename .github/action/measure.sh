#!/usr/bin/env bash
# Measures the change. The script becomes gbench-ci: the exit code is the gate's, a cancelled job ends it the way Ctrl-C
# does, and no parent is left whose environment holds a token.
set -euo pipefail

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
drop_tokens

arguments=(ci)
# A value is always part of its flag's own argument, so that one which begins with a dash is still a value.
option() {
    [[ -z $2 ]] || arguments+=("--$1=$2")
}
option config "$GBENCH_SUITE"
option base "$GBENCH_BASE"
option fail-on "$GBENCH_FAIL_ON"
option store "$GBENCH_STORE"
option history "$GBENCH_HISTORY"
option artifacts "$GBENCH_ARTIFACTS"
option label "$GBENCH_LABEL"
option shard "$GBENCH_SHARD"
option shard-plan "$GBENCH_SHARD_PLAN"
option budget "$GBENCH_BUDGET"
if is_true allow-forks "$GBENCH_ALLOW_FORKS"; then
    arguments+=(--allow-forks)
fi
exec "$GBENCH_BINARY" "${arguments[@]}"
