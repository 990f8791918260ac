#!/usr/bin/env bash
# Draws docs/images/explain.png, the image of `explain --svg` as a browser shows it, from the made-up comparison in
# fixtures/rounds:
#   docs/images/explain.sh target/release/gbench-ci
# Needs chromium.
set -euo pipefail
gate=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$gate" explain kernels/gemm ../../fixtures/rounds/20261121T110000.000Z-c0ffee --svg "$work/explain.svg" >/dev/null
chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
    --disable-component-update --disable-sync --hide-scrollbars --user-data-dir="$work/profile" \
    --window-size=800,560 --screenshot="$PWD/explain.png" "file://$work/explain.svg" 2>/dev/null
