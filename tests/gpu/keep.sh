#!/usr/bin/env bash
# Keeps what accept.sh found on a real card: copies the table, the manifest, doctor's words, verdicts and records to
# fixtures/gpu/DEVICE-DATE/.
#
#   tests/gpu/keep.sh OUTPUT_FOLDER [FIXTURES_FOLDER]
#
# Folders, variables of the environment, the host's name and the serial numbers of cards are left out of the texts. Records of more than 200 KiB are kept as their tables
# (CSV) alone, and no table of more. A stand-in's output is refused.
set -eu
export LC_ALL=C.UTF-8
from=${1:?give the output folder of accept.sh}
fixtures=${2:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/fixtures/gpu}
largest=204800
manifest=$(<"$from/manifest.json")
pattern='"model": *\{[^}]*"known": *"([^"]*)"'
if ! [[ $manifest =~ $pattern ]]; then
    echo "failed: $from/manifest.json does not name a GPU"
    exit 2
fi
model=${BASH_REMATCH[1]}
if [[ $model == *[Ss]tand-in* || $(<"$from/table.md") == *stand-in* ]]; then
    echo "refused: $model is a stand-in; only what a real card gave is kept"
    exit 1
fi
pattern='On ([0-9]{4}-[0-9]{2}-[0-9]{2}),'
date=undated
[[ $(<"$from/table.md") =~ $pattern ]] && date=${BASH_REMATCH[1]}
slug=${model,,}
slug=${slug//[^a-z0-9]/-}
target=$fixtures/$slug-$date
mkdir -p "$target"/{records,verdicts}
mapfile -t places <"$from/places.txt"

# kept FILE TARGET: without what tells whose machine it was.
kept() {
    local text place serial='GPU-[0-9a-f]{8}-[0-9a-f-]{27}' variables='"environment": *\{[^}]+\}'
    text=$(<"$1")
    for place in "${places[@]:2}"; do
        [[ ${#place} -lt 2 ]] || text=${text//"$place"/PLACE}
    done
    # A short name could be a part of any word.
    text=${text//"\"${places[0]}\""/'"machine"'}
    # Whoever builds a kernel names it.
    text=${text//"${places[1]}"/"${places[1]%%-*}"}
    while [[ $text =~ $variables ]]; do text=${text//"${BASH_REMATCH[0]}"/'"environment": {}'}; done
    while [[ $text =~ $serial ]]; do text=${text//"${BASH_REMATCH[0]}"/GPU-0}; done
    printf '%s\n' "$text" >"$2"
}

left=()
for file in "$from"/table.md "$from"/doctor.txt "$from"/manifest.json "$from"/verdicts/*.{json,md} "$from"/records/*.{json,csv}; do
    [[ -f $file ]] || continue
    name=${file#"$from"/}
    if (($(stat -c %s "$file") > largest)); then
        left+=("$name")
    else
        kept "$file" "$target/$name"
    fi
done
{
    printf '# %s, %s\n\n' "$model" "$date"
    printf "What \`tests/gpu/accept.sh\` left on real hardware, as \`tests/gpu/keep.sh\` kept it: without folders, variables of the\n"
    printf "environment, the host's name and serial numbers.\n"
    ((${#left[@]} == 0)) || printf '\nToo large to be kept: %s.\n' "${left[*]}"
} >"$target/README.md"
echo "kept in $target"
