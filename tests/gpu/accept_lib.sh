# shellcheck shell=bash
# What the steps of accept.sh are made of: the gate within a step's time, its documents read line by line, and the table.
#
# The caller sets `binary`, `out`, `title` and `about` of the table, `ends` (the second, by SECONDS, at which everything has to be over), and
# `patience`, by which each step's limit is multiplied.
# shellcheck disable=SC2154 # so they are assigned

# Of the step: what the table says of it, why it was skipped, and the second at which its time is over.
figure=
reason=
step_ends=0
failures=0
skipped=0
rows=()

# skip REASON: the step cannot be done here.
skip() {
    reason=$*
    return 77
}

# fail WORDS: the step failed, and why.
fail() {
    figure=$*
    return 1
}

# step NAME SECONDS COMMAND...: one line of the table. The command sets `figure`, and returns 0, or 77 by `skip`.
step() {
    local name=$1 limit=$(($2 * ${patience:-1})) begun=${EPOCHREALTIME/[.,]/} code spent result
    shift 2
    # shellcheck disable=SC2053 # a glob is what is wanted
    [[ $name == ${ACCEPT_STEPS:-*} ]] || return 0
    figure='' reason=''
    step_ends=$((SECONDS + limit < ends ? SECONDS + limit : ends))
    "$@"
    code=$?
    [[ $code -ne 77 || -z ${ACCEPT_REQUIRE-} ]] || code=1 figure="skipped: $reason"
    spent=$(((${EPOCHREALTIME/[.,]/} - begun) / 100000))
    case $code in
    0) result=ok ;;
    77)
        result="skipped: $reason"
        skipped=$((skipped + 1))
        ;;
    *)
        result=FAILED
        failures=$((failures + 1))
        ((SECONDS < step_ends)) || figure="out of time; $figure"
        ;;
    esac
    row "$name" "$result" "$((spent / 10)).$((spent % 10))" "$figure"
    printf '%s: %s: %s s%s\n' "$name" "$result" "$((spent / 10)).$((spent % 10))" "${figure:+: $figure}"
}

# row CELL...: into the table, which is written anew each time, so that an end by force leaves what there is.
row() {
    local cell line='|'
    for cell; do line+=" ${cell//|/\\|} |"; done
    rows+=("$line")
    {
        printf '%s\n\n' "$title" "$about"
        printf '| step | result | seconds | figure |\n|---|---|---|---|\n'
        printf '%s\n' "${rows[@]}"
    } >"$out/table.md"
}

# limited COMMAND...: within the step's time; 124 when it is over.
limited() {
    local left=$((step_ends - SECONDS))
    ((left > 0)) || return 124
    timeout -k 10 "$left" "$@" </dev/null
}

# gate LOG ARGUMENT...: the gate; what it says goes to logs/LOG.txt. Gives its exit code.
gate() {
    local log=$out/logs/$1.txt
    shift
    limited "$binary" "$@" >>"$log" 2>&1
}

# lines DOCUMENT FILE: a verdict or a record, one JSON object a line.
lines() {
    limited "$binary" report "$1" --format jsonl >"$2" 2>>"$out/logs/report.txt"
}

# flat FILE: its words in one line; what the gate prints is wrapped.
flat() {
    local words
    read -r -d '' -a words <"$1"
    printf '%s' "${words[*]}"
}

# said FILE GLOB: whether its words hold these.
said() {
    # shellcheck disable=SC2053 # a glob is what is wanted
    [[ $(flat "$1") == *$2* ]]
}

# field KEY LINE: the first value of a key in a line of JSON; nothing where there is none.
field() {
    local text="\"$1\":\"([^\"]*)\"" number="\"$1\":([^\",}]+)"
    [[ $2 =~ $text || $2 =~ $number ]] && printf '%s' "${BASH_REMATCH[1]}"
}

# scaled NUMBER DIGITS: times 10^DIGITS, as a whole number; 0 of no number.
scaled() {
    local text sign
    printf -v text '%.*f' "$2" "${1:-0}" 2>/dev/null || text=0
    text=${text/./}
    sign=${text%%[0-9]*}
    printf '%s' "$((${sign}10#${text#-}))"
}

# hundredths NUMBER: 1234 as 12.34.
hundredths() {
    local size=${1#-} sign=
    [[ $1 != -* ]] || sign=-
    printf '%s%d.%02d' "$sign" $((size / 100)) $((size % 100))
}

# thousandths NUMBER: 997 as 0.997.
thousandths() {
    printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000))
}

# change LINE: how a row of a verdict changed: +2.03 %; more is worse.
change() {
    local share
    share=$(scaled "$(field slowdown "$1")" 4)
    ((share < 0)) || printf '+'
    printf '%s %%' "$(hundredths "$share")"
}

# median_ps FILE GLOB: the median of the samples of `time` of the cases whose name fits, in whole picoseconds; fails where there is none.
# FILE: a record by `lines`.
median_ps() {
    local line values=() sorted digits=12
    while IFS= read -r line; do
        # shellcheck disable=SC2053 # a glob is what is wanted
        [[ $line == *'"metric":"time"'* && $(field name "$line") == $2 ]] || continue
        [[ $line != *'"unit":"ms"'* ]] || digits=9
        [[ $line =~ \"values\":\[([^]]*)\] ]] && values+=("${BASH_REMATCH[1]}")
    done <"$1"
    ((${#values[@]})) || return 1
    mapfile -t sorted < <(IFS=,; tr ',' '\n' <<<"${values[*]}" | sort -g)
    scaled "${sorted[$((${#sorted[@]} / 2))]}" "$digits"
}

# microseconds PICOSECONDS
microseconds() {
    printf '%s µs' "$(hundredths $(($1 / 10000)))"
}

# keep NAME RUN_FOLDER: the records of a run or of a comparison, and what each says as a table.
keep() {
    local record side
    for record in "$2"/results/record.json "$2"/{base,head,control}/results/record.json; do
        [[ -f $record ]] || continue
        side=${record#"$2"}
        side=${side%/results/record.json}
        side=${side/\//-}
        cp "$record" "$out/records/$1$side.json"
        limited "$binary" report "$record" --format csv >"$out/records/$1$side.csv" 2>>"$out/logs/report.txt"
    done
}

# newest FOLDER: the newest run or comparison in its artifacts, by the time in its name; profiles are beside them.
newest() {
    local run last=
    for run in "$1"/artifacts/2*/; do last=$run; done
    [[ -d $last ]] && printf '%s' "${last%/}"
}
