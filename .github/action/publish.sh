#!/usr/bin/env bash
# Tells GitHub: that measuring began, or what came of it. The only script that is given a token.
set -euo pipefail

# shellcheck source=common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
unset GITHUB_TOKEN GH_TOKEN

arguments=(publish)
option() {
    [[ -z $2 ]] || arguments+=("--$1=$2")
}
option name "$GBENCH_NAME"
option label "$GBENCH_LABEL"

# After `workflow_run: requested` nothing has been measured yet.
case $GBENCH_PHASE-${GITHUB_EVENT_NAME:-}-$GBENCH_EVENT_ACTION in
end-workflow_run-requested | end-workflow_run-in_progress) exec "$GBENCH_BINARY" "${arguments[@]}" --start ;;
esac
if [[ $GBENCH_PHASE == begin ]]; then
    # A check that could not be begun is no reason to measure nothing: it is tried again at the end, which then counts.
    "$GBENCH_BINARY" "${arguments[@]}" --start ||
        annotate warning "the check could not be begun (exit code $?): measuring goes on, the lines above say what is missing"
    exit 0
fi

option comment "$GBENCH_COMMENT"
option pages "$GBENCH_PAGES"
option artifact "$GBENCH_ARTIFACT"
option fail-on "$GBENCH_FAIL_ON"
option expect "$GBENCH_EXPECT"
option measured "$GBENCH_MEASURED"
# A history in this checkout is one to read, when measuring: nobody would push it. Pull requests write none.
case ${GITHUB_EVENT_NAME:-}-$GBENCH_HISTORY in
pull_request-* | merge_group-* | workflow_run-*) ;;
*-github:*) option history "$GBENCH_HISTORY" ;;
esac
if is_true allow-forks "$GBENCH_ALLOW_FORKS"; then
    arguments+=(--allow-forks)
fi
if is_true issue "$GBENCH_ISSUE"; then
    case ${GITHUB_EVENT_NAME:-} in
    pull_request | merge_group | workflow_run) ;;
    *) arguments+=(--issue) ;;
    esac
fi
if [[ $GBENCH_COMMAND == compare ]]; then
    # Also a gate that failed early, or was ended from outside, has a check that was begun.
    case $GBENCH_ENDED-$GBENCH_OUTCOME in
    -cancelled) GBENCH_ENDED=143 ;;
    -*) GBENCH_ENDED=70 ;;
    esac
    option ended "$GBENCH_ENDED"
    if [[ -n $GBENCH_FOLDER ]]; then
        arguments+=("$GBENCH_FOLDER")
    fi
else
    # A job of its own has a summary of its own.
    arguments+=(--summary)
    if [[ ${GITHUB_EVENT_NAME:-} != workflow_run ]]; then
        parts=$(latest_parts "$GBENCH_ARTIFACTS")
        if ((parts == 0)); then
            # No job left anything: that is an answer, too, and somebody waits for it.
            arguments+=(--ended=4)
        else
            arguments+=("$GBENCH_ARTIFACTS")
        fi
    fi
fi
exec "$GBENCH_BINARY" "${arguments[@]}"
