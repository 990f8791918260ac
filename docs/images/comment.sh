#!/usr/bin/env bash
# Draws docs/images/comment.light.png and comment.dark.png from the Markdown of a comment, as a code host would show it:
#   docs/images/comment.sh COMMENT.md
# With a second argument, a folder, also as a telephone shows it, and with all that is folded: FOLDER/narrow.light.png,
# FOLDER/open.light.png and so on. Snapshots of the tests (.snap) will do as well.
# Needs cmark-gfm and chromium.
set -euo pipefail
comment=$(realpath "$1")
shown=${2:+$(realpath "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# A snapshot has a head between two lines of dashes.
case $comment in
    *.snap) sed '1,/^---$/d' "$comment" >"$work/comment.md" ;;
    *) cp "$comment" "$work/comment.md" ;;
esac
cmark-gfm --unsafe --extension table --extension strikethrough --extension autolink --extension tagfilter \
    "$work/comment.md" >"$work/body.html"

# page SCHEME WIDTH: the comment in a column of that many pixels, with what is folded open if a third argument is given.
page() {
    cat <<HTML
<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><html class="$1"><style>
.light { --text: #1f2328; --muted: #59636e; --page: #fff; --line: #d1d9e0; --soft: #f6f8fa; --code: #818b981f; --link: #0969da; --head: #f6f8fa; }
.dark { --text: #f0f6fc; --muted: #9198a1; --page: #0d1117; --line: #3d444d; --soft: #151b23; --code: #656c7633; --link: #4493f8; --head: #151b23; }
html { background: var(--page); }
body { margin: 0; padding: 16px; width: $2px; box-sizing: border-box; color: var(--text);
       font: 14px/1.5 "Noto Sans", "Liberation Sans", "DejaVu Sans", sans-serif, "Noto Color Emoji"; }
article { border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
header { background: var(--head); border-bottom: 1px solid var(--line); padding: 8px 16px; color: var(--muted); }
header b { color: var(--text); }
main { padding: 16px; overflow-wrap: break-word; }
main > :first-child { margin-top: 0; }
main > :last-child { margin-bottom: 0; }
h3 { font-size: 1.25em; line-height: 1.25; margin: 24px 0 16px; }
h4 { font-size: 1em; line-height: 1.25; margin: 24px 0 16px; }
p, ul, pre, table, details, blockquote { margin: 0 0 16px; }
ul { padding-left: 2em; }
li + li { margin-top: .25em; }
a { color: var(--link); }
blockquote { padding: 0 1em; color: var(--muted); border-left: .25em solid var(--line); }
table { display: block; width: max-content; max-width: 100%; overflow: auto; border-spacing: 0; border-collapse: collapse; }
th, td { padding: 6px 13px; border: 1px solid var(--line); }
tr { background: var(--page); }
tr:nth-child(2n) { background: var(--soft); }
code { font: 85% "DejaVu Sans Mono", monospace; background: var(--code); padding: .2em .4em; border-radius: 6px; white-space: break-spaces; }
pre { background: var(--soft); padding: 16px; border-radius: 6px; overflow: auto; line-height: 1.45; }
pre code { background: none; padding: 0; white-space: pre; }
sub { font-size: 75%; line-height: 1.5; vertical-align: baseline; }
</style><body><article><header><b>github-actions</b> bot commented</header><main>
HTML
    case ${3-} in
        open) sed 's/<details>/<details open>/' "$work/body.html" ;;
        *) cat "$work/body.html" ;;
    esac
    echo '</main></article><script>document.title = Math.ceil(document.documentElement.getBoundingClientRect().height)</script>'
}

# browse ARGUMENT...: chromium over the page.
browse() {
    chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
        --disable-component-update --disable-sync --hide-scrollbars --user-data-dir="$work/profile" \
        "$@" "file://$work/page.html" 2>/dev/null
}

# draw FILE SCHEME WIDTH [open]
draw() {
    page "$2" "$3" "${4-}" >"$work/page.html"
    local height
    height=$(browse --window-size="$3,400" --dump-dom | sed -n 's/.*<title>\([0-9]*\)<.*/\1/p')
    browse --window-size="$3,$height" --screenshot="$1"
}

for scheme in light dark; do
    draw "$PWD/comment.$scheme.png" "$scheme" 812
    if [ -n "$shown" ]; then
        # Chromium has no window below 500 pixels; the column is as narrow all the same.
        draw "$shown/narrow.$scheme.png" "$scheme" 412
        draw "$shown/open.$scheme.png" "$scheme" 812 open
    fi
done
