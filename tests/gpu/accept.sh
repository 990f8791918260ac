#!/usr/bin/env bash
# The GPU acceptance: everything that gbench-ci does with a GPU, on a machine that has one and no network.
#
#   tests/gpu/accept.sh [GBENCH_CI_BINARY] [OUTPUT_FOLDER]
#   tests/gpu/accept.sh --prepare FOLDER [GBENCH_CI_BINARY] [ARCH]
#
# Exit 0: everything held. Exit 77: no GPU can be used here, and why. Anything else: a step failed. OUTPUT_FOLDER gets table.md (a line a
# step), doctor.txt, manifest.json, nvidia-smi.txt, records/, verdicts/ and logs/. It takes less than 8 minutes, and changes no clocks,
# power limits or modes; it only reads them.
#
# Needs bash 5 and coreutils. python3, torch, cuBLAS and git are used where they are; a step that needs one says so. Where the
# machine has no compiler (NVRTC) or no git, `--prepare` makes what they are needed for on another machine: take FOLDER along with the
# binary in it, or set GBENCH_CUBINS and ACCEPT_REPOSITORIES to its folders `cubins` and `repositories`.
#
# ACCEPT_SECONDS (470) is for everything. ACCEPT_ROUNDS (10) is for the twelve cases against themselves: 20 processes a case.
# ACCEPT_QUICK=1 takes small shapes and few cases. ACCEPT_STAND_IN=1 plants slowdowns for the stand-in driver, too (tests/gpu_accept.rs).
set -u
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=accept_lib.sh
. "$here/accept_lib.sh"
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

# The repositories of the comparisons: one as a user makes it, with `init`, and one of twelve cases.
committed() { # committed FOLDER NAME: everything as a commit with a tag
    (
        cd "$1" || exit 1
        export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=accept GIT_AUTHOR_EMAIL=accept@localhost
        export GIT_COMMITTER_NAME=accept GIT_COMMITTER_EMAIL=accept@localhost
        { [[ -d .git ]] || git init -q; } && git add -A && git commit -q --allow-empty -m "$2" && git tag "$2"
    )
}

# On the stand-in a kernel lasts as long as this file of the tree says.
planted() { # planted FOLDER SETTINGS
    [[ -z ${ACCEPT_STAND_IN-} ]] || printf 'twins=none noise=0.002 process_noise=0.002 %s\n' "$2" >"$1/stand_in.txt"
}

# A file with one text in place of another.
replaced() { # replaced FILE OLD NEW
    local text
    text=$(<"$1")
    printf '%s\n' "${text//"$2"/"$3"}" >"$1"
}

make_repositories() { # make_repositories FOLDER LOG
    local saxpy=$1/saxpy cases=$1/cases text
    mkdir -p "$saxpy/kernels" "$cases"
    cp "$here/kernels/saxpy.cu" "$saxpy/kernels/" && cp "$here/kernels/cases.cu" "$cases/" || return
    cp "$here/suites/cases.toml" "$cases/gbench.toml" || return
    (cd "$saxpy" && "$binary" init) >>"$2" 2>&1 || return
    printf '.gbench/\nartifacts/\n' | tee "$saxpy/.gitignore" >"$cases/.gitignore"
    planted "$saxpy" kernel.saxpy=0.02
    committed "$saxpy" base || return
    text=$(<"$saxpy/kernels/saxpy.cu")
    printf '// Nothing but a comment is new.\n\n%s\n' "$text" >"$saxpy/kernels/saxpy.cu"
    committed "$saxpy" comment || return
    cp "$here/kernels/saxpy_strided.cu" "$saxpy/kernels/saxpy.cu"
    planted "$saxpy" kernel.saxpy=0.03
    committed "$saxpy" slow || return
    planted "$cases" 'kernel=0.05 kernel.loop_*=0.2'
    committed "$cases" base && committed "$cases" same || return
    replaced "$cases/cases.cu" 'TURNS_OF_TWO 20000' 'TURNS_OF_TWO 20400'
    replaced "$cases/cases.cu" 'TURNS_OF_FIVE 20000' 'TURNS_OF_FIVE 21000'
    planted "$cases" 'kernel=0.05 kernel.loop_two=0.204 kernel.loop_five=0.21'
    committed "$cases" planted
}

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
seconds=${ACCEPT_SECONDS:-470} rounds=${ACCEPT_ROUNDS:-10} quick=${ACCEPT_QUICK-}
begun=$SECONDS
ends=$((SECONDS + seconds))
title='# The GPU acceptance'
about="On $(date -u +%F), $("$binary" --version).${quick:+ Quick: few cases, small shapes.}${ACCEPT_STAND_IN:+ On a stand-in: no figure was measured on a device.}"
# What else shows where this ran, for keep.sh.
printf '%s\n' "$out" "$here" "$beside" "${HOME-}" "$(uname -n)" >"$out/places.txt"
flags=(--iterations 20 --burnin-seconds 0.1)
[[ -z $quick ]] || flags=(--iterations 6 --burnin-seconds 0.005)
compare_flags=("${flags[@]}")
[[ -z $quick ]] || compare_flags+=(--order-seed 1 --controls 1)
[[ -z ${ACCEPT_STAND_IN-} ]] || export FAKE_CUDA_FILE=stand_in.txt
# Libraries of the Python that is used are found as those of an active environment.
if [[ -z ${VIRTUAL_ENV-}${CONDA_PREFIX-} ]] && command -v python3 >/dev/null; then
    VIRTUAL_ENV=$(timeout 20 python3 -c 'import sys; print(sys.prefix if sys.prefix != sys.base_prefix else "")' 2>/dev/null)
    if [[ -n $VIRTUAL_ENV ]]; then export VIRTUAL_ENV; else unset VIRTUAL_ENV; fi
fi

doctor() {
    limited "$binary" doctor --require-gpu >"$out/doctor.txt" 2>&1
    local code=$?
    ((code != 5)) || skip 'no GPU can be measured' || return
    ((code == 0)) || fail "exit code $code" || return
    while read -r -a words; do
        [[ ${words[*]} == "ok GPU "* ]] && figure=${words[*]:2}
    done <"$out/doctor.txt"
    if command -v nvidia-smi >/dev/null; then limited nvidia-smi -q >"$out/nvidia-smi.txt" 2>&1; fi
    return 0
}

arch=
manifest() {
    limited "$binary" manifest show --json >"$out/manifest.json" 2>"$out/logs/manifest.txt" || fail "exit code $?" || return
    local text pattern='"compute_capability": *\{[^}]*"known": *"([0-9]+)\.([0-9]+)"' model='"model": *\{[^}]*"known": *"([^"]*)"'
    text=$(<"$out/manifest.json")
    [[ $text =~ $model ]] || fail 'it does not know the GPU' || return
    figure=${BASH_REMATCH[1]}
    [[ $text =~ $pattern ]] || fail 'it does not know the compute capability' || return
    arch=sm_${BASH_REMATCH[1]}${BASH_REMATCH[2]}
    figure+=", $arch"
}

nvrtc=
compile() {
    limited "$binary" __cubins "$arch" "$work/cubins" >"$out/cubins.jsonl" 2>"$out/logs/compile.txt"
    local code=$? lines
    if ((code == 0)); then
        nvrtc=yes
        export GBENCH_CUBINS=$work/cubins
        mapfile -t lines <"$out/cubins.jsonl"
        figure="${#lines[@]} kernels by $(field compiler "${lines[0]}")"
        return
    fi
    ((code == 5)) || fail "exit code $code" || return
    [[ -n ${GBENCH_CUBINS-} ]] || GBENCH_CUBINS=$beside/cubins
    if [[ -d $GBENCH_CUBINS ]]; then
        export GBENCH_CUBINS
        skip "no NVRTC; the suite's kernels were compiled on another machine"
    else
        unset GBENCH_CUBINS
        skip 'no NVRTC, and no folder of machine code'
    fi
}

# Whether the driver and the compiler, or its work of before, are enough for one case.
usable() {
    mkdir -p "$work/usable" && cd "$work/usable" || return
    gate usable run --suite micro --benchmark micro/launch_latency --processes 1 --iterations 5 --burnin-seconds 0.01
    local code=$?
    ((code != 5)) || skip "$(last_words usable)" || return
    ((code == 0)) || fail "exit code $code: $(last_words usable)"
}

# A folder to run in, with a suite file and what it needs.
place() { # place NAME FILE...
    local folder=$work/$1 suite=$2
    shift 2
    mkdir -p "$folder" && cp "$here/suites/$suite" "$folder/gbench.toml" || return
    local file
    for file; do cp "$here/$file" "$folder/" || return; done
    cd "$folder" || return
}

# ran NAME CODE ARGUMENT...: a run in the current folder; its record is kept, and read into work/NAME.jsonl.
ran() {
    local name=$1 wanted=$2 code
    shift 2
    gate "$name" run "$@"
    code=$?
    keep "$name" "$(newest .)"
    ((code == wanted)) || fail "exit code $code, not $wanted: $(last_words "$name")" || return
    lines "$out/records/$name.json" "$work/$name.jsonl" || fail 'its record cannot be read'
}

# The verdict of a run or a comparison in words.
last_words() {
    local line found=
    while IFS= read -r line; do
        case $line in '✗ '* | '✓ '* | '! '* | '? '* | error:* | hint:*) found+="${found:+ }$line" ;; esac
    done <"$out/logs/$1.txt"
    printf '%s' "${found:-see logs/$1.txt}"
}

micro() {
    local suite=(--suite micro --component gpu --processes 2 --iterations 10 --burnin-seconds 0.15) skipped=() line words
    mkdir -p "$work/micro" && cd "$work/micro" || return
    if [[ -n $quick ]]; then
        place micro micro_quick.toml || return
        suite=()
    fi
    ran micro 0 "${suite[@]}" || return
    while IFS= read -r line; do
        [[ $line == '['*': skipped: '* ]] || continue
        line=${line#*] }
        skipped+=("$line")
        case $line in *impl=cublas* | *'compute capability 8.0'*) ;; *) fail "$line" || return ;; esac
    done <"$out/logs/micro.txt"
    words=$(flat "$out/logs/micro.txt")
    [[ $words =~ ([0-9]+(\ of\ [0-9]+)?)\ cases?\ measured ]] && figure="${BASH_REMATCH[1]} cases, answers right"
    ((${#skipped[@]} == 0)) || figure+="; skipped ${#skipped[@]}, of them ${skipped[0]}"
}

hot_cold() {
    place hot_cold hot_cold.toml && ran hot_cold 0 "${flags[@]}" || return
    local name cold hot
    for name in copy read; do
        cold=$(median_ps "$work/hot_cold.jsonl" "l2/$name*flush_l2=true*") || fail "no time of $name, cold" || return
        hot=$(median_ps "$work/hot_cold.jsonl" "l2/$name*flush_l2=false*") || fail "no time of $name, hot" || return
        figure+="${figure:+; }$name of 4 MiB: cold $(microseconds "$cold"), hot $(microseconds "$hot")"
        # The stand-in has no cache; a hundredth is its noise.
        ((hot * 100 <= cold * 102)) || fail "hot is slower: $figure" || return
    done
}

torch_here() {
    command -v python3 >/dev/null || skip 'there is no python3' || return
    limited python3 -c 'import torch' 2>/dev/null || skip 'there is no torch' || return
    limited python3 -c 'import torch, sys; sys.exit(not torch.cuda.is_available())' 2>/dev/null || skip 'torch sees no GPU'
}

bandwidth() {
    torch_here || return
    place beside beside.toml beside_torch.py && ran bandwidth 0 --benchmark 'beside/copy' --benchmark 'beside/copy_torch' || return
    local own other bytes=$((2 << 28)) ratio
    own=$(median_ps "$work/bandwidth.jsonl" 'beside/copy[[]*') || fail 'no time of our copy' || return
    other=$(median_ps "$work/bandwidth.jsonl" 'beside/copy_torch*') || fail "no time of torch's copy" || return
    ratio=$((other * 1000 / own))
    figure="copy of 256 MiB: own $((bytes * 1000 / own)) GB/s, torch $((bytes * 1000 / other)) GB/s, ratio $(thousandths "$ratio")"
    # A kernel of our own may be better than the driver's copy.
    ((ratio >= 970)) || fail "more than 3 % below: $figure"
}

product() {
    torch_here || return
    [[ $("$binary" list --suite micro --cases 2>/dev/null) == *impl=cublas* ]] || skip 'gpu_flops has no impl=cublas' || return
    place beside beside.toml beside_torch.py || return
    ran product 0 --benchmark beside/product --benchmark beside/product_torch || return
    [[ $(<"$work/product.jsonl") == *impl=cublas* ]] || skip 'there is no cuBLAS' || return
    local dtype own cublas torch flop=$((2 * 4096 * 4096 * 4096)) ratio bad=
    for dtype in f32 f16 bf16; do
        own=$(median_ps "$work/product.jsonl" "beside/product[[]*dtype=$dtype,*impl=own*") || fail "no time of our $dtype" || return
        cublas=$(median_ps "$work/product.jsonl" "beside/product[[]*dtype=$dtype,*impl=cublas*") || fail "no time of cuBLAS's $dtype" || return
        torch=$(median_ps "$work/product.jsonl" "beside/product_torch[[]*dtype=$dtype,*") || fail "no time of torch's $dtype" || return
        ratio=$((torch * 1000 / cublas))
        figure+="${figure:+; }$dtype: own $((flop / own)), cuBLAS $((flop / cublas)), torch $((flop / torch)) TFLOP/s, "
        figure+="cuBLAS over torch $(thousandths "$ratio")"
        ((ratio >= 970 && ratio <= 1030)) || bad=yes
    done
    [[ -z $bad ]] || fail "more than 3 % apart: $figure"
}

faults() {
    place faults faults.toml kernels/checked.cu copy.py && ran faults 4 || return
    local words
    words=$(flat "$out/logs/faults.txt")
    [[ $words == *'faults/wrong[n=65536] - invalid'* ]] || fail 'the wrong kernel is not invalid' || return
    [[ $words == *'faults/too_large - failed why no memory'* ]] || fail 'too much memory is no failure' || return
    median_ps "$work/faults.jsonl" 'faults/right*' >/dev/null || fail 'the right kernel is not measured' || return
    figure='wrong answer: invalid; no memory: failed; the case beside them: measured'
    if command -v python3 >/dev/null; then
        [[ $words == *'too_large_for_the_card[mib=1048576] - failed why cuMemAlloc: out of device memory'* ]] ||
            fail '1 TiB of the card is no failure' || return
    else
        figure+='; 1 TiB of the card skipped: there is no python3'
    fi
}

repositories() {
    [[ -n $nvrtc ]] || skip 'no NVRTC' || return
    if command -v git >/dev/null; then
        make_repositories "$work" "$out/logs/init.txt" || fail 'see logs/init.txt' || return
        figure='init, and commits by git'
    else
        local from=${ACCEPT_REPOSITORIES:-$beside/repositories}
        [[ -d $from ]] || skip 'there is no git, and no prepared folder of repositories' || return
        cp -r "$from/saxpy" "$from/cases" "$work/" || fail 'cannot be copied' || return
        # The suite file that `init` writes here is the prepared one.
        mkdir -p "$work/init/saxpy/kernels" && cp "$here/kernels/saxpy.cu" "$work/init/saxpy/kernels/"
        (cd "$work/init/saxpy" && "$binary" init) >"$out/logs/init.txt" 2>&1 || fail 'init fails' || return
        [[ $(<"$work/init/saxpy/gbench.toml") == "$(<"$work/saxpy/gbench.toml")" ]] ||
            fail 'init writes another suite file than the prepared one' || return
        figure='init; there is no git: commits of another machine'
    fi
    made=yes
}

made=
need_repositories() {
    [[ -n $made ]] || skip 'there are no repositories'
}

user_run() {
    need_repositories || return
    cd "$work/saxpy" && ran user 0 "${flags[@]}" --processes 2 || return
    figure="saxpy of $(microseconds "$(median_ps "$work/user.jsonl" 'saxpy/saxpy*')")"
}

# compared NAME FOLDER CODES ARGUMENT...: a comparison of commits; CODES: the exit codes that are right, with blanks between.
compared() {
    local name=$1 folder=$2 codes=$3 code left
    shift 3
    need_repositories || return
    cd "$folder" || return
    # Rounds end in time to be judged.
    left=$((step_ends - SECONDS - 5))
    gate "$name" compare "$@" "${compare_flags[@]}" --budget "$((left > 5 ? left : 5))s" --quiet \
        --json "$out/verdicts/$name.json" --markdown "$out/verdicts/$name.md"
    code=$?
    keep "$name" "$(newest .)"
    [[ " $codes " == *" $code "* ]] || fail "exit code $code, not ${codes// / or }: $(last_words "$name")" || return
    lines "$out/verdicts/$name.json" "$work/$name.jsonl" || fail 'its verdict cannot be read'
}

comment() {
    compared comment "$work/saxpy" 0 base..comment || return
    [[ $(<"$work/comment.jsonl") == *'"device_code":"identical"'* ]] || fail 'the code is not said to be identical' || return
    said "$out/logs/comment.txt" 'Device code: 1 identical' || fail 'the words do not say identical' || return
    figure="identical device code; time $(percent "$(field slowdown "$(<"$work/comment.jsonl")")") worse"
}

slower() {
    compared slow "$work/saxpy" 1 base..slow || return
    local line
    line=$(<"$work/slow.jsonl")
    [[ $line == *'"verdict":"regressed"'*'its device code changed: saxpy'* ]] || fail 'the kernel is not named' || return
    figure="red: $(percent "$(field slowdown "$line")") worse over $(field rounds "$line") rounds, saxpy named"
}

# The figure of a planted pair, by rows of the two loops; fails where one is not red.
loops() { # loops FILE
    local line red=0
    while IFS= read -r line; do
        [[ $line == *'"metric":"time"'* ]] || continue
        [[ $line == *'"verdict":"regressed"'* ]] && red=$((red + 1))
        figure+="${figure:+; }$(loop_of "$line"): $(percent "$(field slowdown "$line")") worse over $(field rounds "$line") rounds"
        figure+=", noise of a round $(percent "$(field noise "$line")")"
    done <"$1"
    ((red == 2)) || fail "$red of 2 are red: $figure"
}

loop_of() {
    [[ $1 == *loop_two* ]] && printf '2 %% planted' || printf '5 %% planted'
}

pair_seconds=
pair() { # pair NAME WAY
    local begun=${EPOCHREALTIME/[.,]/}
    compared "$1" "$work/cases" 1 base..planted --benchmark 'cases/loop_*' --param n=262144 --rounds 24 --interleave "$2" || return
    pair_seconds=$(((${EPOCHREALTIME/[.,]/} - begun) / 10000))
    loops "$work/$1.jsonl" || return
    figure+="; $(hundredths "$pair_seconds") s"
}

alternating() {
    pair planted alternating
}

lockstep() {
    pair lockstep lockstep || return
    [[ $(<"$out/records/lockstep-head.json") == *'"lockstep":true'* ]] || fail "no process took turns: $figure"
}

itself() {
    local few=()
    [[ -z $quick ]] || few=(--param n=262144)
    compared itself "$work/cases" '0 3' base..same "${few[@]}" --rounds "$rounds" --threshold 1% || return
    local line cases=0 unchanged=0 most=0 change least=1000
    while IFS= read -r line; do
        [[ $line == *'"metric":"time"'* ]] || continue
        cases=$((cases + 1))
        case $(field verdict "$line") in
        unchanged) unchanged=$((unchanged + 1)) ;;
        regressed) fail "red: $line" || return ;;
        esac
        change=$(scaled "$(field slowdown "$line")" 4)
        ((${change#-} > most)) && most=${change#-}
        change=$(field processes "$line")
        ((change < least)) && least=$change
    done <"$work/itself.jsonl"
    [[ -n $quick ]] || ((cases == 12)) || fail "$cases of 12 cases" || return
    figure="$cases cases, at least $((2 * least)) fresh processes each: none red, $unchanged unchanged within 1 %, "
    figure+="$((cases - unchanged)) not decided, the largest change $(hundredths "$most") %"
}

copies() {
    command -v python3 >/dev/null || skip 'there is no python3' || return
    mkdir -p "$work/programs" && cp "$here"/*.py "$here/gbench.toml" "$work/programs/" && cd "$work/programs" || return
    ran copy 0 --benchmark gpu/copy || return
    gate copy baseline save gpu || fail "no baseline: $(last_words copy)" || return
    gate copy compare gpu --benchmark gpu/copy --json "$out/verdicts/copy.json" --quiet
    local code=$?
    # 0: unchanged. 3: too noisy to decide anything. Both are right for two runs of one thing.
    ((code == 0 || code == 3)) || fail "two runs of one thing: exit code $code" || return
    gate copy report "$out/verdicts/copy.json" --format markdown -o "$out/verdicts/copy.md" || fail 'it does not render' || return
    figure="256 MiB in $(microseconds "$(median_ps "$work/copy.jsonl" '*mib=256*')"); two runs agree (exit code $code)"
}

matmul() {
    torch_here || return
    cd "$work/programs" && ran matmul 0 --benchmark gpu/matmul --processes 1 || return
    figure="4096, bf16: $(microseconds "$(median_ps "$work/matmul.jsonl" '*dtype=bf16,n=4096*')")"
}

step 'doctor' 30 doctor
if [[ -n $reason ]]; then
    cat "$out/doctor.txt"
    echo "skipped: no GPU can be measured on this machine (see above)"
    exit 77
fi
step 'manifest' 20 manifest
step 'compile' 60 compile
step 'one kernel' 30 usable
if [[ -n $reason ]]; then
    cat "$out/logs/usable.txt"
    echo "skipped: no GPU can be used on this machine (see above)"
    exit 77
fi
step 'micro suite, answers checked' 200 micro
step 'hot against cold' 30 hot_cold
step 'bandwidth beside torch' 40 bandwidth
step 'product beside cuBLAS and torch' 60 product
unset GBENCH_CUBINS
step 'wrong answer, out of memory' 20 faults
step 'init, repositories' 20 repositories
step 'a kernel of a user: run' 20 user_run
step 'a comment more: identical' 30 comment
step 'a slower kernel: red' 50 slower
step 'planted 2 % and 5 %, alternating' 60 alternating
step 'the same pair in lock-step' 60 lockstep
step 'copy.py' 40 copies
step 'matmul_torch.py' 50 matmul
step 'twelve cases against themselves' "$seconds" itself
total=$((SECONDS - begun))
row total "$([[ $failures -eq 0 ]] && echo ok || echo "$failures FAILED")" "$total" ''
echo "$total s; results in $out"
[[ $failures -eq 0 ]]
