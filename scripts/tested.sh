#!/usr/bin/env bash
# Replaces one of the two tables of our own programs in docs/measurements/programs.md, and its CSV file.
#
#   scripts/tested.sh local MATRIX.md    target/matrix.md from `make matrix`
#   scripts/tested.sh gpu MATRIX.md      matrix.md in the --out directory of tests/gpu/run.sh
#
# The date, the commit, the GPU, and its driver are in the CSV file beside MATRIX.md.
set -euo pipefail
usage() { echo "usage: tested.sh local MATRIX.md | tested.sh gpu MATRIX.md" >&2; exit 2; }
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../docs/measurements" && pwd)
page=$folder/programs.md
[ $# -eq 2 ] || usage
matrix=$2 values=${2%.md}.csv
case $1 in
    local) file=programs-local.csv command='`make matrix`' ;;
    gpu) file=programs-gpu.csv command='`tests/gpu/run.sh`' ;;
    *) usage ;;
esac
[ -f "$matrix" ] && [ -f "$values" ] ||
    { echo "tested.sh: cannot find $matrix and $values: tests/matrix.sh --table writes both" >&2; exit 1; }
field='"\([^"]*\)"'
run=$(sed -n "2s#^$field,$field,$field,$field,.*#*\1, \2, \3, driver \4.* $command. [$file]($file)#p" "$values")
[ -n "$run" ] || { echo "tested.sh: $values contains no results" >&2; exit 1; }

updated=$(mktemp)
trap 'rm -f "$updated"' EXIT
awk -v run="${run/, driver none/}" -v link="[$file]" '
    FNR == NR { table = table $0 "\n"; next }
    /^\*/ && index($0, link) { print run; found = 1; next }
    found && /^\|/ { printf "%s", table; table = ""; replaced = 1; next }
    replaced { found = 0 }
    { print }
    END { exit !replaced }
' "$matrix" "$page" >"$updated" || { echo "tested.sh: $page has no table for $file" >&2; exit 1; }
cp "$updated" "$page"
cp "$values" "$folder/$file"
echo "tested.sh: updated $page and $folder/$file"
