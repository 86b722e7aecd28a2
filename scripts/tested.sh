#!/usr/bin/env bash
# Updates the table of our own programs in docs/tested.md, and the list of where its columns come
# from. The other sections of the page are written by hand.
#
#   scripts/tested.sh local MATRIX.md             target/matrix.md from `make matrix`
#   scripts/tested.sh gpu MATRIX.md OUTPUT.txt    matrix.md in the --out directory of
#                                                 tests/gpu/run.sh, and that script's output
#
# Each updates its own columns. A program that the matrix doesn't contain gets empty cells.
set -euo pipefail
usage() { echo "usage: tested.sh local MATRIX.md | tested.sh gpu MATRIX.md OUTPUT.txt" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
page=$here/docs/tested.md
[ $# -ge 2 ] || usage
matrix=$2
case $1 in
    local)
        [ $# -eq 2 ] || usage
        # The columns of the page, and the same ones in the matrix.
        first=3 count=4
        names='softgpu|vhost-user|uml|qemu'
        key='- softgpu, vhost-user, uml, qemu: `make matrix`'
        seen="$(date -u +%F), commit $(git -C "$here" describe --always)"
        ;;
    gpu)
        [ $# -eq 3 ] || usage
        first=7 count=3
        names='softgpu|native|vhost-user|uml'
        key='- H200 native, vhost-user, uml: `tests/gpu/run.sh`'
        seen=$(grep -E '^[0-9]{4}-.*driver .*commit' "$3" | tail -n 1)
        ;;
    *) usage ;;
esac
found=$(sed -n '1s/ //gp' "$matrix" | cut -d '|' -f 4- | sed 's/|$//')
[ "$found" = "$names" ] ||
    { echo "tested.sh: $matrix has the columns $found, expected $names" >&2; exit 1; }

updated=$(mktemp)
trap 'rm -f "$updated"' EXIT
# In both files, a row begins with the program and its variant. The matrix from a GPU has softgpu's
# column first, which isn't used.
awk -F ' *[|] *' -v OFS=' | ' -v first="$first" -v count="$count" -v key="$key" -v seen="$seen" '
    function row(cells, i, text) {
        text = "|"
        for (i = 1; i <= 9; i++) text = text " " cells[i] " |"
        return text
    }
    FNR == NR {
        if ($2 != "program" && $2 !~ /^-/) {
            name = $2 "|" $3
            order[++rows] = name
            for (i = 1; i <= count; i++) new[name, i] = $(NF - 1 - count + i)
        }
        next
    }
    index($0, key) == 1 {
        rest = substr($0, length(key) + 1)
        sub(/^.*commit [0-9a-f]+/, "", rest)
        print key ", " seen rest
        next
    }
    $2 == "program" && $3 == "cudart" { table = 1; print; next }
    table && /^\|---/ { print; next }
    table && /^\|/ {
        name = $2 "|" $3
        for (i = 1; i <= 9; i++) cells[i] = $(i + 1)
        for (i = 1; i <= count; i++) cells[first - 1 + i] = new[name, i]
        known[name] = 1
        print row(cells)
        next
    }
    table {
        for (n = 1; n <= rows; n++) if (!(order[n] in known)) {
            split(order[n], parts, "|")
            for (i = 1; i <= 9; i++) cells[i] = ""
            cells[1] = parts[1]
            cells[2] = parts[2]
            for (i = 1; i <= count; i++) cells[first - 1 + i] = new[order[n], i]
            print row(cells)
        }
        table = 0
    }
    { print }
' "$matrix" "$page" >"$updated"
cp "$updated" "$page"
echo "tested.sh: updated $page"
