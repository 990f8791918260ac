# shellcheck shell=bash
# What the action's scripts share. Every value comes from outside, a branch's name among them: it is an argument or the
# text of a message, never a command of the shell or of the runner.

# Text without what nobody sees and what turns the reading order around: U+200B to U+200F, U+2028 to U+202E and U+2060 to
# U+206F, byte by byte, whatever the locale is.
seen() {
    local LC_ALL=C text=$1
    text=${text//$'\xe2\x80'[$'\x8b'-$'\x8f'$'\xa8'-$'\xae']/?}
    printf '%s' "${text//$'\xe2\x81'[$'\xa0'-$'\xaf']/?}"
}

# One line of text that the runner takes for no command, and that moves no cursor.
one_line() {
    local text
    text=$(seen "${1//[[:cntrl:]]/?}")
    text=${text//'##['/'# #['}
    printf '%s' "${text//'::'/': :'}"
}

say() {
    printf 'gbench-ci action: %s\n' "$(one_line "$1")"
}

# annotate LEVEL TEXT: a message that is shown beside the job, too.
annotate() {
    local text
    text=$(seen "$2")
    text=${text//'%'/'%25'}
    text=${text//$'\r'/'%0D'}
    text=${text//$'\n'/'%0A'}
    printf '::%s title=gbench-ci::%s\n' "$1" "${text//[[:cntrl:]]/?}"
}

# Exit code 2 is that of a usage error, as in gbench-ci itself.
refuse() {
    annotate error "$1"
    exit 2
}

# is_true NAME VALUE: of an input that is `true` or `false`.
is_true() {
    case $2 in
    true) return 0 ;;
    false | '') return 1 ;;
    *) refuse "the input $1 is neither \`true\` nor \`false\`: $(one_line "$2")" ;;
    esac
}

# output NAME VALUE: of a step. A value with a line break could bring in outputs of its own.
output() {
    [[ $2 != *[[:cntrl:]]* ]] || refuse "the $1 has a line break or another control character in it"
    printf '%s=%s\n' "$1" "$2" >>"$GITHUB_OUTPUT"
}

# What lets somebody act in the workflow's name. Nothing that is measured has a use for it, and a process that began with
# it shows it to others of its user for as long as it lives.
drop_tokens() {
    unset GITHUB_TOKEN GH_TOKEN GBENCH_TOKEN GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN ACTIONS_RUNTIME_TOKEN \
        ACTIONS_ID_TOKEN_REQUEST_TOKEN INPUT_TOKEN
}

# latest_parts FOLDER: of the results `gbench-ci-attempt-N-part-K` below it, removes those of a part that was measured again
# in a later attempt. Prints how many parts are left.
latest_parts() {
    local -A latest=()
    local folder part attempt pattern='/gbench-ci-attempt-([0-9]{1,4})-part-([0-9]{1,3})$'
    for folder in "$1"/gbench-ci-attempt-*; do
        [[ -d $folder && $folder =~ $pattern ]] || continue
        attempt=$((10#${BASH_REMATCH[1]})) part=$((10#${BASH_REMATCH[2]}))
        if ((attempt > ${latest[$part]:-0})); then
            latest[$part]=$attempt
        fi
    done
    for folder in "$1"/gbench-ci-attempt-*; do
        [[ -d $folder && $folder =~ $pattern ]] || continue
        attempt=$((10#${BASH_REMATCH[1]})) part=$((10#${BASH_REMATCH[2]}))
        ((attempt == latest[$part])) || rm -rf -- "$folder"
    done
    local count=${#latest[@]}
    if ((count == 0)); then
        # Where only one result is there, it is unpacked without a folder of its own.
        for folder in "$1"/*/job.json "$1"/*/reports; do
            [[ ! -e $folder ]] || count=1
        done
    fi
    echo "$count"
}
