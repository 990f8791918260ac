#!/usr/bin/env bash
# Carries out the command of a comment. Of the comment nothing is read here: gbench-ci asks GitHub for it.
set -euo pipefail

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
unset GITHUB_TOKEN GH_TOKEN

arguments=(accept)
option() {
    [[ -z $2 ]] || arguments+=("--$1=$2")
}
option name "$GBENCH_NAME"
option artifact "$GBENCH_ARTIFACT"
option fail-on "$GBENCH_FAIL_ON"
option expect "$GBENCH_EXPECT"
option pages "$GBENCH_PAGES"
if is_true allow-forks "$GBENCH_ALLOW_FORKS"; then
    arguments+=(--allow-forks)
fi
exec "$GBENCH_BINARY" "${arguments[@]}"
