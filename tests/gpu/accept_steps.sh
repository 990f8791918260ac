# shellcheck shell=bash
# The steps of accept.sh, by the functions of accept_lib.sh. Each sets `figure`, and fails by `fail` or is left out by `skip`.
# shellcheck disable=SC2034,SC2154 # what the three files share

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

# Machine code for the gate's own kernels alone: those of a user are compiled where they run.
nvrtc='' cubins=''
compile() {
    limited "$binary" __cubins "$arch" "$work/cubins" >"$out/cubins.jsonl" 2>"$out/logs/compile.txt"
    local code=$? lines
    if ((code == 0)); then
        nvrtc=yes
        cubins=$work/cubins
        mapfile -t lines <"$out/cubins.jsonl"
        figure="${#lines[@]} kernels by $(field compiler "${lines[0]}")"
        return
    fi
    ((code == 5)) || fail "exit code $code" || return
    cubins=${given_cubins:-$beside/cubins}
    if [[ -d $cubins ]]; then
        skip "no NVRTC that fits ($(tail -n 1 "$out/logs/compile.txt")); the suite's kernels were compiled on another machine"
    else
        cubins=
        skip "no NVRTC that fits ($(tail -n 1 "$out/logs/compile.txt")), and no folder of machine code"
    fi
}

# built_in COMMAND: with the machine code of the gate's own kernels.
built_in() {
    # shellcheck disable=SC2034 # the gate reads it
    if [[ -n $cubins ]]; then local -x GBENCH_CUBINS=$cubins; fi
    "$@"
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
    local suite=(--suite micro --component gpu --processes 2 --iterations 10 --burnin-seconds 0.15) without=() line words
    mkdir -p "$work/micro" && cd "$work/micro" || return
    if [[ -n $quick ]]; then
        place micro micro_quick.toml || return
        suite=()
    fi
    ran micro 0 "${suite[@]}" || return
    while IFS= read -r line; do
        [[ $line == '['*': skipped: '* ]] || continue
        line=${line#*] }
        without+=("$line")
        case $line in *impl=cublas* | *'compute capability 8.0'*) ;; *) fail "$line" || return ;; esac
    done <"$out/logs/micro.txt"
    words=$(flat "$out/logs/micro.txt")
    [[ $words =~ ([0-9]+(\ of\ [0-9]+)?)\ cases?\ measured ]] && figure="${BASH_REMATCH[1]} cases, answers right"
    ((${#without[@]} == 0)) || figure+="; skipped ${#without[@]}, of them ${without[0]}"
}

hot_cold() {
    place hot_cold hot_cold.toml && ran hot_cold 0 "${usual[@]}" || return
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
    local dtype own cublas torch flop=$((2 * 4096 * 4096 * 4096)) ratio bad='' held=''
    # Samples that follow each other closely bring half types to the card's power limit, torch's with their pauses do not: an H200 then runs
    # the same cycles at 1450 to 1620 instead of 1980 MHz.
    if said "$out/logs/product.txt" '*clocks were held down*sw_power_cap*'; then held=yes; fi
    for dtype in f32 f16 bf16; do
        own=$(median_ps "$work/product.jsonl" "beside/product[[]*dtype=$dtype,*impl=own*") || fail "no time of our $dtype" || return
        cublas=$(median_ps "$work/product.jsonl" "beside/product[[]*dtype=$dtype,*impl=cublas*") || fail "no time of cuBLAS's $dtype" || return
        torch=$(median_ps "$work/product.jsonl" "beside/product_torch[[]*dtype=$dtype,*") || fail "no time of torch's $dtype" || return
        ratio=$((torch * 1000 / cublas))
        figure+="${figure:+; }$dtype: own $((flop / own)), cuBLAS $((flop / cublas)), torch $((flop / torch)) TFLOP/s, "
        figure+="cuBLAS over torch $(thousandths "$ratio")"
        if [[ -n $held && $dtype != f32 ]]; then
            figure+=' (not judged: the power limit held the clocks down)'
        else
            ((ratio >= 970 && ratio <= 1030)) || bad=yes
        fi
    done
    [[ -z $bad ]] || fail "more than 3 % apart: $figure"
}

# What the gate samples of the card while a kernel runs.
sampled() {
    place sampled hot_cold.toml && ran sampled 0 "${usual[@]}" --monitor-interval 20ms --monitor-output timeline.json || return
    cp timeline.json "$out/logs/timeline.json"
    local record page watts pattern
    record=$(<"$out/records/sampled.json")
    pattern='"source": *"NVML"'
    [[ $record =~ $pattern ]] || fail 'NVML gave no sample' || return
    page=$(<"$out/logs/timeline.json")
    local word
    for word in sm_clock power temperature utilization total_memory guid; do
        [[ $page == *"\"$word\":"* ]] || fail "the timeline has no $word" || return
    done
    figure='the cost of sampling is not known'
    [[ $record != *'"gaps"'* ]] || fail 'the card did not answer' || return
    pattern='"cost": *([0-9.e-]+)'
    [[ $record =~ $pattern ]] && figure="sampling took ${BASH_REMATCH[1]} of a processor"
    pattern='"watts": *([0-9]+)'
    if [[ $record =~ $pattern ]]; then
        watts=${BASH_REMATCH[1]}
        figure+="; $watts W"
    else
        figure+='; no mean power'
    fi
    [[ $record != *'"energy_per_iteration"'* ]] || figure+=', energy of an iteration'
}

faults() {
    [[ -n $nvrtc ]] || skip 'no NVRTC' || return
    place faults faults.toml kernels/checked.cu copy_driver.py && ran faults 4 || return
    local words
    words=$(flat "$out/logs/faults.txt")
    [[ $words == *'faults/wrong[n=65536] - invalid'* ]] || fail 'the wrong kernel is not invalid' || return
    [[ $words == *'faults/too_large - failed why the buffers need'* ]] || fail 'too much memory is no failure' || return
    median_ps "$work/faults.jsonl" 'faults/right*' >/dev/null || fail 'the right kernel is not measured' || return
    [[ $words == *'faults/beyond[n=65536] - invalid'* ]] || fail 'the kernel that writes beyond its buffer is not invalid' || return
    figure='wrong answer and write beyond a buffer: invalid; no memory: failed; the case beside them: measured'
    if command -v python3 >/dev/null; then
        [[ $words == *'too_large_for_the_card[mib=1048576] - failed why cuMemAlloc: out of device memory'* ]] ||
            fail '1 TiB of the card is no failure' || return
    else
        figure+='; 1 TiB of the card skipped: there is no python3'
    fi
}

# Structs and tensor maps by value, constants, clusters, cooperative launches, all of a block's shared memory, sustained load, images of
# nvcc; each but the sustained one is held against a reference that knows its inputs.
kinds() {
    [[ -z ${ACCEPT_STAND_IN-} ]] || skip 'nothing computes its answers here' || return
    [[ -n $nvrtc ]] || skip 'no NVRTC' || return
    local code line name time not='' lacks=''
    place kinds kinds.toml kernels/kinds.cu || return
    gate kinds run
    code=$?
    keep kinds "$(newest .)"
    lines "$out/records/kinds.json" "$work/kinds.jsonl" || fail "exit code $code; its record cannot be read" || return
    for name in struct constant cluster cooperative tensor_map all_shared sustained 'image*cubin' 'image*fatbin' 'image*ptx'; do
        time=$(median_ps "$work/kinds.jsonl" "kinds/$name*") || { not+="${not:+, }$name" && continue; }
        figure+="${figure:+; }${name//'*'/ } $(microseconds "$time")"
    done
    while IFS= read -r line; do
        [[ $line == *': skipped: '* ]] && lacks+="; ${line#*] }"
    done <"$out/logs/kinds.txt"
    [[ -z $not ]] || fail "no time of $not (exit code $code$lacks); $figure"
}

# What tools print about kernels on this card, and whether the gate reads it.
formats() {
    torch_here || return
    local file read='' not=''
    mkdir -p "$out/tools" "$work/formats" && cd "$work/formats" || return
    limited python3 "$here/tools.py" "$out/tools" >"$out/tools/stdout.txt" 2>"$out/logs/formats.txt"
    if command -v ncu >/dev/null; then
        cp "$here/launches_torch.py" . || return
        limited ncu --csv --launch-count 6 --metrics gpu__time_duration.sum,dram__bytes.sum python3 launches_torch.py >"$out/tools/ncu.csv" 2>>"$out/logs/formats.txt"
        limited ncu --csv --page raw --launch-count 4 python3 launches_torch.py >"$out/tools/ncu_raw.csv" 2>>"$out/logs/formats.txt"
    fi
    for file in "$out"/tools/triton/*.csv "$out"/tools/*.{json,csv}; do
        [[ -f $file && ${file##*/} != results.csv ]] || continue
        if gate formats ingest "$file"; then read+=" ${file##*/}"; else not+=" ${file##*/}"; fi
    done
    figure="read:$read"
    [[ -z $not ]] || fail "not read:$not; $figure"
}

made='' why_none=''
repositories() {
    made_repositories && return
    local code=$?
    # The steps that need them say it, too.
    why_none=${reason:-they could not be made}
    return $code
}

made_repositories() {
    [[ -n $nvrtc ]] || skip 'no NVRTC' || return
    if command -v git >/dev/null; then
        make_repositories "$work" "$out/logs/init.txt" || fail 'see logs/init.txt' || return
        figure='init, and commits by git'
    else
        local from=${ACCEPT_REPOSITORIES:-$beside/repositories}
        [[ -d $from ]] || skip 'there is no git, and no prepared folder of repositories' || return
        cp -r "$from/saxpy" "$from/cases" "$from/init.toml" "$work/" || fail 'cannot be copied' || return
        # The suite file that `init` writes here is the prepared one.
        mkdir -p "$work/init/saxpy/kernels" && cp "$here/kernels/saxpy.cu" "$work/init/saxpy/kernels/"
        (cd "$work/init/saxpy" && "$binary" init) >"$out/logs/init.txt" 2>&1 || fail 'init fails' || return
        [[ $(<"$work/init/saxpy/gbench.toml") == "$(<"$work/init.toml")" ]] ||
            fail 'init writes another suite file than the prepared one' || return
        figure='init; there is no git: commits of another machine'
    fi
    made=yes
}

need_repositories() {
    [[ -n $made ]] || skip "there are no repositories ($why_none)"
}

user_run() {
    need_repositories || return
    cd "$work/saxpy" && ran user 0 "${brief[@]}" --processes 2 || return
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
    gate "$name" compare "$@" "${foreign_flags[@]}" --budget "$((left > 5 ? left : 5))s" --quiet \
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
    figure="identical device code; time $(change "$(<"$work/comment.jsonl")")"
}

slower() {
    compared slow "$work/saxpy" 1 base..slow || return
    local line
    line=$(<"$work/slow.jsonl")
    [[ $line == *'"verdict":"regressed"'*'its device code changed: saxpy'* ]] || fail 'the kernel is not named' || return
    figure="red: time $(change "$line") over $(field rounds "$line") rounds, saxpy named"
}

# A tenth of the turns, and so another answer: no improvement.
wrong() {
    [[ -z ${ACCEPT_STAND_IN-} ]] || skip 'nothing computes its answers here' || return
    compared wrong "$work/cases" 4 base..wrong --benchmark cases/loop_five --param n=65536 || return
    local line
    line=$(<"$work/wrong.jsonl")
    [[ $line == *answer-differs* ]] || fail "it is not said that the answers differ: $line" || return
    local base head
    lines "$out/records/wrong-base.json" "$work/wrong_base.jsonl" && lines "$out/records/wrong-head.json" "$work/wrong_head.jsonl" || return
    base=$(median_ps "$work/wrong_base.jsonl" '*loop_five*') && head=$(median_ps "$work/wrong_head.jsonl" '*loop_five*') ||
        fail 'it has no times' || return
    figure="invalid: the answers differ; $(microseconds "$base"), wrong $(microseconds "$head")"
}

# Any program as a benchmark, by nsys.
traced() {
    torch_here || return
    [[ -n ${GBENCH_NSYS-} ]] || command -v nsys >/dev/null || skip 'there is no nsys' || return
    place traced traced.toml launches_torch.py && ran traced 0 || return
    local kernels=0 line
    while IFS= read -r line; do
        [[ $line == *'"metric":"time"'* ]] && kernels=$((kernels + 1))
    done <"$work/traced.jsonl"
    ((kernels > 0)) || fail 'no kernel is a case' || return
    figure="$kernels kernels are cases"
}

# A kernel that is known to write beyond its buffer, and one with shared memory that is right.
sanitized() {
    [[ -n $nvrtc ]] || skip 'no NVRTC' || return
    local code
    place sanitized faults.toml kernels/checked.cu copy_driver.py || return
    gate sanitized profile 'faults/beyond' --profile memcheck --quiet
    code=$?
    ((code != 5)) || skip 'there is no compute-sanitizer' || return
    said "$out/logs/sanitized.txt" 'memcheck found an error: ' || fail "memcheck does not see the write: exit code $code" || return
    need_repositories && cd "$work/cases" || return
    gate sanitized profile 'cases/sum' --param n=1048576 --profile racecheck,memcheck --quiet ||
        fail "the sum: exit code $?: $(last_words sanitized)" || return
    figure='memcheck sees a write beyond a buffer; it and racecheck find nothing in a sum'
}

# The figure of a planted pair, by rows of the two loops; fails where one is not red.
loops() { # loops FILE
    local line red=0
    while IFS= read -r line; do
        [[ $line == *'"metric":"time"'* ]] || continue
        [[ $line == *'"verdict":"regressed"'* ]] && red=$((red + 1))
        figure+="${figure:+; }$(loop_of "$line"): $(change "$line") over $(field rounds "$line") rounds, "
        figure+="noise of a round $(hundredths "$(scaled "$(field noise "$line")" 4)") %"
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
    # So small that hardly a case is certified before all rounds are over, and that any steady difference would be red.
    compared itself "$work/cases" '0 3' base..same "${few[@]}" --rounds "$rounds" --threshold 0.1% || return
    local line cases=0 unchanged=0 most=0 change least=1000 greatest=0
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
        ((change > greatest)) && greatest=$change
    done <"$work/itself.jsonl"
    [[ -n $quick ]] || ((cases == 12)) || fail "$cases of 12 cases" || return
    figure="$cases cases of $((2 * least)) to $((2 * greatest)) fresh processes: none red, $unchanged unchanged within 0.1 %, "
    figure+="$((cases - unchanged)) not decided, the largest change $(hundredths "$most") %"
}

copies() {
    command -v python3 >/dev/null || skip 'there is no python3' || return
    mkdir -p "$work/programs" && cp "$here"/*.py "$here/gbench.toml" "$work/programs/" && cd "$work/programs" || return
    local few=() largest=256
    # On the stand-in the processor copies.
    [[ -z $quick ]] || few=(--param mib=16 --processes 2 --iterations 3 --warmup 1) largest=16
    ran copy 0 --benchmark gpu/copy "${few[@]}" || return
    gate copy baseline save gpu --busy || fail "no baseline: $(last_words copy)" || return
    gate copy compare gpu --benchmark gpu/copy "${few[@]}" --json "$out/verdicts/copy.json" --quiet
    local code=$?
    # 0: unchanged. 3: too noisy to decide anything. Both are right for two runs of one thing.
    ((code == 0 || code == 3)) || fail "two runs of one thing: exit code $code" || return
    gate copy report "$out/verdicts/copy.json" --format markdown -o "$out/verdicts/copy.md" || fail 'it does not render' || return
    figure="$largest MiB in $(microseconds "$(median_ps "$work/copy.jsonl" "*mib=$largest]*")"); two runs agree (exit code $code)"
}

matmul() {
    torch_here || return
    cd "$work/programs" && ran matmul 0 --benchmark gpu/matmul --processes 1 || return
    figure="4096, bf16: $(microseconds "$(median_ps "$work/matmul.jsonl" '*dtype=bf16,n=4096*')")"
}
