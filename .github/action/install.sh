#!/usr/bin/env bash
# Finds the gbench-ci of this job: one that is named; a release whose SHA-256 stands in checksums.txt; one on the PATH; one
# built from the source that this script is part of, unless the job holds a token. Says which, and why not an earlier one.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_root=$(cd "$here/../.." && pwd)
# shellcheck source=common.sh
source "$here/common.sh"
drop_tokens

case ${GBENCH_COMMAND:-install} in
compare | publish | merge | accept | install) ;;
*) refuse "the input command is none of compare, publish, merge, accept, install: $(one_line "$GBENCH_COMMAND")" ;;
esac
wanted=${GBENCH_VERSION:-}
number='^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$'
[[ -z $wanted || $wanted =~ $number ]] || refuse "the input version is no version like 1.2.3: $(one_line "$wanted")"

new_folder() {
    mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/gbench-ci.XXXXXXXX"
}

digest() {
    local sum
    sum=$(sha256sum <"$1")
    echo "${sum%% *}"
}

# take PATH HOW: the search is over. Fails where the program does not start.
take() {
    local version
    version=$("$1" --version 2>&1 </dev/null) || return 1
    output binary "$1"
    output binary-sha256 "$(digest "$1")"
    say "$version, $2: $1"
    exit 0
}

# 1. Named. It is taken as it is, or nothing is.
named=${GBENCH_BINARY:-${GBENCH_CI_BINARY:-}}
named_sum=${GBENCH_BINARY_SHA256:-}
how="named by the workflow or the environment"
if [[ -n $named_sum ]]; then
    [[ $named_sum =~ ^[0-9a-f]{64}$ ]] || refuse "the input binary-sha256 must be 64 characters, 0 to 9 and a to f: $(one_line "$named_sum")"
    [[ -n $named ]] || refuse "the input binary-sha256 is given without the input binary: name the program, too"
    [[ -f $named ]] || refuse "this gbench-ci is not a file: $(one_line "$named")"
    # A copy is checked and started, so that nobody changes the file in between. An artifact has no executable files either.
    folder=$(new_folder)
    install -m 755 -- "$named" "$folder/gbench-ci"
    is=$(digest "$folder/gbench-ci")
    if [[ $is != "$named_sum" ]]; then
        rm -rf -- "$folder"
        refuse "this gbench-ci has the SHA-256 $is instead of $named_sum, and was not started: $(one_line "$named"). Run the job again that built it; if the sums differ again, find out what writes to the artifact"
    fi
    named=$folder/gbench-ci
    how="$how, its SHA-256 as in the input binary-sha256"
fi
if [[ -n $named ]]; then
    [[ -f $named && -x $named ]] || refuse "this gbench-ci is no program that can be started: $(one_line "$named")"
    named=$(cd "$(dirname -- "$named")" && pwd)/$(basename -- "$named")
    take "$named" "$how" || refuse "this gbench-ci does not start: $(one_line "$named")"
fi

# 2. A release. Only bytes that this source knows the SHA-256 of are unpacked; where they came from does not matter then.
own=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$source_root/Cargo.toml" | head -n 1)
version=${wanted:-$own}
case $(uname -s)-$(uname -m) in
Linux-x86_64) target=x86_64-unknown-linux-gnu ;;
Linux-aarch64 | Linux-arm64) target=aarch64-unknown-linux-gnu ;;
*) target= ;;
esac
name=gbench-ci-$version-$target
folder=$(new_folder)
sum=$(awk -v file="$name.tar.gz" '$2 == file { print $1; exit }' "$here/checksums.txt")

# download URL PROTOCOLS FILE. The user's .curlrc, which may name another place to write to, is not read.
download() {
    curl -q --proto "$2" --proto-redir "$2" --tlsv1.2 --location --fail --silent --show-error --connect-timeout 20 \
        --max-time 300 --max-filesize 268435456 --retry 2 --output "$3" -- "$1"
}

release() {
    local base=${GBENCH_CI_MIRROR:-} protocols='=https,http,file'
    if [[ -z $target ]]; then
        say "no release is built for $(uname -s) $(uname -m)"
        return 1
    fi
    if [[ ! $sum =~ ^[0-9a-f]{64}$ ]]; then
        say "no release is downloaded: this version of the action knows no SHA-256 of $name.tar.gz"
        return 1
    fi
    if [[ -z $base ]]; then
        if [[ -z ${GBENCH_ACTION_REPOSITORY:-} ]]; then
            say "no release is downloaded: the action was not taken from a repository, and GBENCH_CI_MIRROR is not set"
            return 1
        fi
        base=${GITHUB_SERVER_URL:-https://github.com}/$GBENCH_ACTION_REPOSITORY/releases/download
        protocols='=https'
    fi
    local url=$base/v$version/$name.tar.gz
    if ! download "$url" "$protocols" "$folder/archive.tar.gz"; then
        say "the release could not be downloaded: $url"
        return 1
    fi
    local is
    is=$(digest "$folder/archive.tar.gz")
    if [[ $is != "$sum" ]]; then
        rm -rf -- "$folder"
        refuse "the archive is not the one that was released: SHA-256 $is instead of $sum, from $(one_line "$url"). Nothing of it was unpacked"
    fi
    tar -xzf "$folder/archive.tar.gz" --no-same-owner --no-same-permissions -C "$folder" "$name/gbench-ci"
    take "$folder/$name/gbench-ci" "the release, its SHA-256 as in the action's source" ||
        say "the release does not start on this machine"
    return 1
}
release || true

# 3. On the PATH. Another version than the one asked for is passed over.
if found=$(type -P gbench-ci); then
    has=$("$found" --version 2>/dev/null </dev/null) || has=
    if [[ -n $has && (-z $wanted || $has == "gbench-ci $wanted") ]]; then
        take "$found" "found on the PATH" || true
    fi
    say "passed over $found: it says \"$has\", and ${wanted:-any version} is wanted"
fi

# 4. Built here, which takes minutes.
[[ $version == "$own" ]] || refuse "version $version is wanted, and this action's source is version $own: pin the action to the release of $version"
# A build runs the code of every dependency. With a token beside it, that code could act in the workflow's name.
case ${GBENCH_HAS_TOKEN:-false}-${GBENCH_COMMAND:-install} in
true-* | *-publish | *-accept)
    refuse "no gbench-ci was found, and a step with a token builds none: the lines above say why none was found. Pin the action to a release; or put gbench-ci on the runner's PATH; or hand it over: a job without a token runs \`command: install\`, and this step takes its outputs as the inputs \`binary\` and \`binary-sha256\`. \`gbench-ci init --github\` writes such workflows"
    ;;
esac
command -v cargo >/dev/null || refuse "no gbench-ci was found, none could be downloaded, and there is no cargo to build one. Put gbench-ci on the runner's PATH, name it in GBENCH_CI_BINARY, or pin the action to a release"
annotate notice "gbench-ci $own is being built from source, since no finished one was found: the lines above say why. This takes minutes; a gbench-ci on the PATH or a released version of the action takes seconds"
# From the action's folder: there the repository's own .cargo/config.toml and rust-toolchain.toml have no say in how its judge is built.
(cd "$source_root" && CARGO_TARGET_DIR=$folder/target cargo install --quiet --locked --no-track --path "$source_root" --root "$folder" --bin gbench-ci) ||
    refuse "gbench-ci could not be built: the lines above say why"
rm -rf -- "$folder/target"
take "$folder/bin/gbench-ci" "built from the action's source" || refuse "the gbench-ci that was built does not start"
