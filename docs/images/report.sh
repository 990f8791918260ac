#!/usr/bin/env bash
# Draws docs/images/report.png from a Markdown report, as a code host would show it:
#   docs/images/report.sh demo/repository/artifacts/ID/reports/verdict.md
# Needs cmark-gfm and chromium.
set -euo pipefail
report=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
    cat <<'HTML'
<!doctype html><meta charset="utf-8"><style>
body { margin: 0; padding: 28px 36px; width: 808px; background: #fff; color: #1f2328;
       font: 16px/1.5 "Noto Sans", "Liberation Sans", "DejaVu Sans", sans-serif, "Noto Color Emoji"; }
h2 { font-size: 24px; margin: 0 0 14px; padding-bottom: 7px; border-bottom: 1px solid #d1d9e0; }
h3 { font-size: 20px; margin: 22px 0 12px; }
p, ul, pre, table, details { margin: 0 0 14px; }
ul { padding-left: 28px; }
table { border-collapse: collapse; }
th, td { padding: 6px 13px; border: 1px solid #d1d9e0; }
tr:nth-child(2n) td { background: #f6f8fa; }
code { font: 85% "DejaVu Sans Mono", monospace; background: #818b981f; padding: .2em .4em; border-radius: 6px; }
pre { background: #f6f8fa; padding: 14px; border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.4; }
pre code { background: none; padding: 0; }
</style>
HTML
    cmark-gfm --unsafe --extension table "$report"
} >"$work/report.html"
# Tall enough for any demo; what is left over is cut off.
shoot() {
    chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --hide-scrollbars --user-data-dir="$work/profile" \
        "$@" "file://$work/report.html" 2>/dev/null
}
echo '<script>document.title = document.documentElement.scrollHeight</script>' >>"$work/report.html"
height=$(shoot --window-size=880,400 --dump-dom | sed -n 's/.*<title>\([0-9]*\)<.*/\1/p')
shoot --window-size="880,$height" --screenshot="$PWD/report.png"
