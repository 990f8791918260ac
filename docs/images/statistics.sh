#!/usr/bin/env bash
# Draws the images of docs/statistics.md: unit.svg and order.svg from made-up times, red.svg from the made-up comparison in
# fixtures/rounds as `explain --svg` draws it:
#   docs/images/statistics.sh target/release/gbench-ci
# inconclusive.svg is of a real comparison and stays as `explain --svg` drew it.
# With a second argument, a folder, also each of them as a browser shows it, in light and dark: FOLDER/NAME.light.png and
# so on. That needs chromium.
set -euo pipefail
gate=$(realpath "$1")
shown=${2:+$(realpath "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")"
python3 statistics.py .
"$gate" explain kernels/gemm ../../fixtures/rounds/20261121T110000.000Z-c0ffee --svg red.svg >/dev/null
[ -n "$shown" ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for image in unit order red inconclusive; do
    size=$(sed -n '1s/.* width="\([0-9]*\)" height="\([0-9]*\)".*/\1,\2/p' "$image.svg")
    for scheme in light dark; do
        dark=(); [ $scheme = light ] || dark=(--blink-settings=preferredColorScheme=0)
        chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
            --disable-component-update --disable-sync --hide-scrollbars --user-data-dir="$work/profile" "${dark[@]}" \
            --window-size="$size" --screenshot="$shown/$image.$scheme.png" "file://$PWD/$image.svg" 2>/dev/null
    done
done
