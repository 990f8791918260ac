#!/usr/bin/env bash
# The GPU acceptance: everything that gbench-ci does with a GPU, on a machine that has one and no network.
#
#   tests/gpu/accept.sh [GBENCH_CI_BINARY] [OUTPUT_FOLDER]
#   tests/gpu/accept.sh --prepare FOLDER [GBENCH_CI_BINARY] [ARCH]
#
# Exit 0: everything held. Exit 77: no GPU can be used here, and why. Anything else: a step failed. OUTPUT_FOLDER gets table.md (a line a
# step), doctor.txt, manifest.json, nvidia-smi.txt, records/, verdicts/ and logs/. It takes about 10 minutes, and changes no clocks,
# power limits or modes; it only reads them.
#
# Needs bash 5 and coreutils. python3, torch, cuBLAS and git are used where they are; a step that needs one says so. Where the
# machine has no compiler (NVRTC) or no git, `--prepare` makes what they are needed for on another machine: take FOLDER along, with the
# binary in it, or set GBENCH_CUBINS and ACCEPT_REPOSITORIES to its folders `cubins` and `repositories`.
#
# ACCEPT_SECONDS (660) is for everything. ACCEPT_ROUNDS (10) is for the twelve cases against themselves, 20 fresh processes a case,
# fewer where the time is over before.
# ACCEPT_STEPS runs only the steps whose names fit this glob: '@(doctor|manifest|compile|product*)'. A step needs those before it whose
# work it uses.
# ACCEPT_REQUIRE=1 makes a step that is skipped a failure.
# ACCEPT_QUICK=1 takes small shapes and few cases. ACCEPT_STAND_IN=1 plants slowdowns for the stand-in driver, too (tests/gpu_accept.rs).
set -u
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=accept_lib.sh
. "$here/accept_lib.sh"
# shellcheck source=accept_repositories.sh
. "$here/accept_repositories.sh"
# shellcheck source=accept_steps.sh
. "$here/accept_steps.sh"
prepare=
if [[ ${1-} == --prepare ]]; then
    prepare=${2:?--prepare needs a folder}
    shift 2
fi
binary=${1:-$here/../../target/release/gbench-ci}
if ! [[ -x $binary ]]; then
    echo "failed: there is no binary at $binary; build it with: cargo build --release"
    exit 2
fi
binary=$(cd "$(dirname "$binary")" && pwd)/$(basename "$binary")
beside=$(dirname "$binary")
# A folder of machine code that the caller names.
given_cubins=${GBENCH_CUBINS-}
unset GBENCH_CUBINS

if [[ -n $prepare ]]; then
    mkdir -p "$prepare/repositories" && prepare=$(cd "$prepare" && pwd) || exit 2
    "$binary" __cubins "${2:-sm_90}" "$prepare/cubins" >"$prepare/cubins.jsonl" || exit
    make_repositories "$prepare/repositories" "$prepare/init.txt" || exit 2
    echo "in $prepare: cubins/ for ${2:-sm_90}, repositories/"
    exit 0
fi

out=${2:-$(mktemp -d)}
mkdir -p "$out"/{records,verdicts,logs,work} || exit 2
out=$(cd "$out" && pwd)
work=$out/work
seconds=${ACCEPT_SECONDS:-660} quick=${ACCEPT_QUICK-}
rounds=${ACCEPT_ROUNDS:-${quick:+5}}
rounds=${rounds:-10}
# A stand-in may have to share its processor.
patience=${ACCEPT_STAND_IN:+4}
begun=$SECONDS
ends=$((SECONDS + seconds))
title='# The GPU acceptance'
about="On $(date -u +%F), $("$binary" --version).${quick:+ Quick: few cases, small shapes.}${ACCEPT_STAND_IN:+ On a stand-in: no figure was measured on a device.}"
# Of a kernel that is measured in many processes; the others warm up for as long as they need.
brief=(--iterations 20 --burnin-seconds 0.1)
usual=()
[[ -z $quick ]] || brief=(--iterations 6 --burnin-seconds 0.005)
[[ -z $quick ]] || usual=("${brief[@]}")
foreign_flags=("${brief[@]}")
[[ -z $quick ]] || foreign_flags+=(--order-seed 1 --controls 1)
[[ -z ${ACCEPT_STAND_IN-} ]] || export FAKE_CUDA_FILE=stand_in.txt
# What else shows where this ran, for keep.sh: the host's name, its kernel, and folders.
printf '%s\n' "$(uname -n)" "$(uname -r)" "$work" "$out" "$here" "$beside" "${VIRTUAL_ENV-}" "${HOME-}" >"$out/places.txt"

# What tells most comes first, so that a run that is cut short has it: what never ran on a card before, then the gate's own work, then
# figures beside those of others. docs/gpu-acceptance.md explains each line.
step 'doctor' 30 doctor
if [[ -n $reason ]]; then
    cat "$out/doctor.txt"
    echo "skipped: no GPU can be measured on this machine (see above)"
    exit 77
fi
step 'manifest' 20 manifest
step 'compile' 60 compile
step 'one kernel' 30 built_in usable
if [[ -n $reason ]]; then
    cat "$out/logs/usable.txt"
    echo "skipped: no GPU can be used on this machine (see above)"
    exit 77
fi
step 'init, repositories' 20 repositories
step 'a kernel of a user: run' 20 user_run
step 'a slower kernel: red' 50 slower
step 'a faster kernel that is wrong: invalid' 40 wrong
step 'wrong answer, write beyond a buffer, out of memory' 20 faults
step 'kernels of every kind' 45 kinds
step 'hot against cold' 30 built_in hot_cold
step 'kernels of a program, traced' 40 traced
step 'compute-sanitizer' 60 sanitized
step 'a comment more: identical' 30 comment
step 'planted 2 % and 5 %, alternating' 60 alternating
step 'the same pair in lock-step' 60 lockstep
step 'the card sampled' 30 built_in sampled
step "bandwidth and torch's" 40 built_in bandwidth
step 'product by cuBLAS and torch' 90 built_in product
step 'output of tools, read' 60 formats
step 'copy_driver.py' 40 copies
step 'matmul_torch.py' 50 matmul
step 'micro suite, answers checked' 260 built_in micro
step 'twelve cases against themselves' "$seconds" itself
total=$((SECONDS - begun))
result=ok
[[ $failures -eq 0 ]] || result="$failures FAILED"
[[ $skipped -eq 0 ]] || result+=", $skipped skipped"
row total "$result" "$total" ''
echo "$result in $total s; results in $out"
[[ $failures -eq 0 ]]
