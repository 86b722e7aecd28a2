#!/usr/bin/env bash
# Runs the built CUDA programs with the libcuda.so.1 that the loader finds, and prints a table.
#
#   run.sh [--keep DIR] [--compare DIR] [PROGRAM...]
#
# Without names, runs all programs in `make list`, in all variants that were built (static and
# shared cudart 13.0, and for some 12.9). --keep writes the standard output of each program to
# DIR/VARIANT/NAME. --compare compares it with the output that an earlier run wrote there. OUT=DIR
# is the directory of the programs, and TIMEOUT=SECONDS the time limit per program (default 120).
# The exit status is 0 if all programs passed.
#
# For example, on softgpu alone: LD_LIBRARY_PATH=<directory of its libcuda.so.1> run.sh
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${OUT:-$here/../../target/programs}
keep= compare= failed=0
while [ $# -gt 0 ]; do
    case $1 in
        --keep) keep=${2:?--keep needs a directory}; shift 2 ;;
        --compare) compare=${2:?--compare needs a directory}; shift 2 ;;
        -*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
        *) break ;;
    esac
done
[ -d "$out/static" ] || { echo "run.sh: $out contains no programs: run make in $here first" >&2; exit 2; }
if [ $# -gt 0 ]; then
    programs=("$@")
else
    mapfile -t programs < <(make -s -C "$here" list)
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Runs a program and prints its row in the table.
run() {
    local variant=$1 name=$2 verdict=PASS code=0 start end
    start=$(date +%s%N)
    timeout "${TIMEOUT:-120}" "$out/$variant/$name" >"$scratch/out" 2>"$scratch/err" </dev/null || code=$?
    end=$(date +%s%N)
    if [ $code -eq 124 ]; then
        verdict="FAIL: still running after ${TIMEOUT:-120} s"
    elif [ $code -ne 0 ]; then
        verdict="FAIL: exit code $code: $(tail -n 1 "$scratch/err")"
    elif [ "$(tail -n 1 "$scratch/out")" != "$name: PASS" ]; then
        verdict="FAIL: the last line is not '$name: PASS'"
    elif [ -n "$compare" ] && ! cmp -s "$scratch/out" "$compare/$variant/$name"; then
        verdict="FAIL: the output differs from that in $compare"
    fi
    [ "$verdict" = PASS ] || failed=$((failed + 1))
    if [ -n "$keep" ]; then
        mkdir -p "$keep/$variant"
        cp "$scratch/out" "$keep/$variant/$name"
    fi
    printf '%-15s %-16s %6d ms  %s\n' "$name" "$variant" $(((end - start) / 1000000)) "$verdict"
}

for name in "${programs[@]}"; do
    for variant in static shared cudart12/static cudart12/shared; do
        # Only a few programs are built with cudart 12.9.
        if [ -x "$out/$variant/$name" ]; then
            run "$variant" "$name"
        elif [ "$variant" = static ]; then
            echo "run.sh: $out contains no program $name" >&2
            exit 2
        fi
    done
done
if [ $failed -gt 0 ]; then
    echo "run.sh: $failed failed"
    exit 1
fi
echo "run.sh: all passed"
