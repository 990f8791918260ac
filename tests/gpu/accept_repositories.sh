# shellcheck shell=bash
# The repositories that the comparisons of accept.sh take their commits from. The caller sets `binary` and `here`.
# shellcheck disable=SC2154 # so they are assigned

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

# One repository as a user makes it, with `init`, and one of twelve cases.
make_repositories() { # make_repositories FOLDER LOG
    local saxpy=$1/saxpy cases=$1/cases text
    mkdir -p "$saxpy/kernels" "$cases"
    cp "$here/kernels/saxpy.cu" "$saxpy/kernels/" && cp "$here/kernels/cases.cu" "$cases/" || return
    cp "$here/suites/cases.toml" "$cases/gbench.toml" || return
    (cd "$saxpy" && "$binary" init) >>"$2" 2>&1 || return
    cp "$saxpy/gbench.toml" "$1/init.toml"
    printf '.gbench/\nartifacts/\n' | tee "$saxpy/.gitignore" >"$cases/.gitignore"
    # The stand-in computes its times: other work of the machine does not touch them.
    [[ -z ${ACCEPT_STAND_IN-} ]] || printf '\n[gate]\nwatch = false\n' | tee -a "$saxpy/gbench.toml" >>"$cases/gbench.toml"
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
    committed "$cases" planted || return
    replaced "$cases/cases.cu" 'TURNS_OF_FIVE 21000' 'TURNS_OF_FIVE 2000'
    committed "$cases" wrong
}
