#!/usr/bin/env bash
# Fuzzes everything that parses data from a guest or from a client of the control API, and prints a
# table: what was run, how much code it reached, and what it found.
#
#   tests/fuzz.sh [--seconds N] [--jobs N] [--seed S] [--out DIR] [--program PATH] [TARGET...]
#   tests/fuzz.sh --bundle FILE
#
#   --seconds N   how long to run each target (15)
#   --jobs N      how many targets to run at a time (2)
#   --seed S      where libFuzzer's random numbers begin (0: differs from run to run)
#   --out DIR     where to put logs, findings, and inputs that reach new code (target/fuzz-runs)
#   --program PATH  use this program, which was built earlier, instead of building it
#   --bundle FILE   write an archive (.tar.xz) that contains this script, the program, and the
#                 corpora, to fuzz on a machine without Rust. There, unpack it and run
#                 tests/fuzz.sh --program bin/virtio-cuda-fuzz
#   TARGET        one of the directories in fuzz/corpus (all)
#
# Fails if a target finds something, and says how to reproduce it. Inputs that reach new code are
# kept in DIR/corpus for the next run. The engine is libFuzzer, which the crate libfuzzer-sys
# builds from source. Rust's stable compiler instruments the code with LLVM's coverage pass.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

seconds=15 jobs=2 seed=0 targets=() program= bundle= out="${CARGO_TARGET_DIR:-target}/fuzz-runs"
while [ $# -gt 0 ]; do
    case "$1" in
        --seconds) seconds="$2"; shift 2 ;;
        --jobs) jobs="$2"; shift 2 ;;
        --seed) seed="$2"; shift 2 ;;
        --out) out="$2"; shift 2 ;;
        --program) program="$2"; shift 2 ;;
        --bundle) bundle="$2"; shift 2 ;;
        -*) sed -n '2,/^set/{/^#/s/^# \?//p}' "$0" >&2; exit 2 ;;
        *) targets+=("$1"); shift ;;
    esac
done
if [ ${#targets[@]} -eq 0 ]; then
    for folder in fuzz/corpus/*/; do targets+=("$(basename "$folder")"); done
fi
for target in "${targets[@]}"; do
    [ -d "fuzz/corpus/$target" ] || { echo "there is no target '$target' in fuzz/corpus" >&2; exit 2; }
done

# Builds the program and softgpu's library, which must be next to it, and sets `program`.
build() {
    # The options that cargo-fuzz passes for a build without a sanitizer. softgpu's library takes
    # libFuzzer's functions from the program that loads it, so the program must export them.
    local flags=(
        --cfg fuzzing
        -Cpasses=sancov-module
        -Cllvm-args=-sanitizer-coverage-level=4
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
        -Cllvm-args=-sanitizer-coverage-pc-table
        -Cllvm-args=-sanitizer-coverage-trace-compares
        -Cllvm-args=-simplifycfg-branch-fold-threshold=0
        -Clink-arg=-rdynamic
    )
    # With a target, Cargo doesn't apply the options to build scripts and procedural macros.
    local triple=x86_64-unknown-linux-gnu built="${CARGO_TARGET_DIR:-target}/fuzz-build"
    CARGO_TARGET_DIR="$built" RUSTFLAGS="${flags[*]}" cargo build --locked --quiet --profile fuzz \
        --target "$triple" -p virtio-cuda-fuzz -p softgpu
    program="$built/$triple/fuzz/virtio-cuda-fuzz"
}
[ -n "$program" ] || build
program="$(realpath "$program")"
out="$(realpath -m "$out")"
if [ -n "$bundle" ]; then
    folder="$(mktemp -d)"
    mkdir "$folder/bin" "$folder/tests"
    strip -o "$folder/bin/virtio-cuda-fuzz" "$program"
    strip -o "$folder/bin/libsoftgpu.so" "$(dirname "$program")/libsoftgpu.so"
    cp tests/fuzz.sh "$folder/tests/"
    tar -C "$folder" -cJf "$bundle" bin tests -C "$PWD" fuzz/corpus
    rm -rf "$folder"
    exit
fi

# Runs one target. libFuzzer writes an input that fails to a file in the target's directory.
run() {
    local target="$1" work="$out/$1" temporary
    temporary="$(mktemp -d)"
    mkdir -p "$out/corpus/$target" "$work"
    rm -f "$work"/*
    local options=(
        -seed="$seed" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=4096 -print_final_stats=1
        # Short inputs make only a few calls, so begin with long ones.
        -max_len=2048 -len_control=0
        -artifact_prefix="$work/"
    )
    [ ! -f "fuzz/corpus/$target.dict" ] || options+=(-dict="fuzz/corpus/$target.dict")
    TMPDIR="$temporary" VIRTIO_CUDA_FUZZ_TARGET="$target" "$program" "${options[@]}" \
        "$out/corpus/$target" "fuzz/corpus/$target" >"$work/log" 2>&1 || echo "$?" >"$work/failed"
    rm -rf "$temporary"
}
running=0
for target in "${targets[@]}"; do
    if [ "$running" -ge "$jobs" ]; then
        wait -n
        running=$((running - 1))
    fi
    run "$target" &
    running=$((running + 1))
done
wait

failed=0
printf '%-16s %12s %10s %8s %9s  %s\n' target executions per_second seconds coverage findings
for target in "${targets[@]}"; do
    work="$out/$target"
    executions="$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log" | tail -1)"
    coverage="$(sed -n 's/^#.* cov: \([0-9]*\) .*/\1/p' "$work/log" | tail -1)"
    took="$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$work/log" | tail -1)"
    findings=none
    if [ -e "$work/failed" ]; then
        findings="yes (see below)"
        failed=1
    fi
    printf '%-16s %12s %10s %8s %9s  %s\n' "$target" "${executions:-?}" \
        "$((${executions:-0} / ${took:-$seconds}))" "${took:-?}" "${coverage:-?}" "$findings"
done
[ "$failed" -eq 0 ] || for target in "${targets[@]}"; do
    work="$out/$target"
    [ -e "$work/failed" ] || continue
    echo
    echo "$target: $(grep -a -m1 -A1 -E 'panicked at|ERROR: libFuzzer' "$work/log" | tr '\n' ' ' | tr -cd '[:print:]')"
    for input in "$work"/*-*; do
        [ -e "$input" ] || continue
        echo "  reproduce: VIRTIO_CUDA_FUZZ_TARGET=$target $program $input"
    done
    echo "  log: $work/log"
done
exit "$failed"
