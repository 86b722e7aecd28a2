#!/usr/bin/env bash
# Runs the built CUDA programs with the libcuda.so.1 that the loader finds, and prints a table.
#
#   run.sh [--keep DIR] [--compare DIR] [PROGRAM...]
#
# Without names, it runs all programs of `make list` with static and shared cudart 13.0, and those
# that were also built with 12.9. --keep writes each program's standard output to DIR/VARIANT/NAME.
# --compare compares it with the output that an earlier run kept there. OUT=DIR is the programs'
# folder, and TIMEOUT=SECONDS the limit for each (default 120). The exit code is 0 if all passed.
#
# For example, on softgpu alone: LD_LIBRARY_PATH=<folder of its libcuda.so.1> run.sh
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${OUT:-$here/../../target/programs}
keep= compare= failed=0
while [ $# -gt 0 ]; do
    case $1 in
        --keep) keep=${2:?--keep needs a folder}; shift 2 ;;
        --compare) compare=${2:?--compare needs a folder}; shift 2 ;;
        -*) echo "run.sh: unknown option $1" >&2; exit 2 ;;
        *) break ;;
    esac
done
[ -d "$out/static" ] || { echo "run.sh: no programs in $out: run make in $here first" >&2; exit 2; }
if [ $# -gt 0 ]; then
    programs=("$@")
else
    mapfile -t programs < <(make -s -C "$here" list)
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Runs a program and prints its line of the table.
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
        verdict="FAIL: no line '$name: PASS'"
    elif [ -n "$compare" ] && ! cmp -s "$scratch/out" "$compare/$variant/$name"; then
        verdict="FAIL: prints other than in $compare"
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
            echo "run.sh: no program $name in $out" >&2
            exit 2
        fi
    done
done
if [ $failed -gt 0 ]; then
    echo "run.sh: $failed failed"
    exit 1
fi
echo "run.sh: all passed"
