#!/usr/bin/env bash
# Counts the instructions that a call costs between the guest's library and the worker: encoding,
# writing to the ring, reading from it, and decoding. Fails if the total of a call differs from that
# in instructions.txt by more than 2%, in either direction.
#
#   tests/performance/instructions.sh [--update]
#
#   --update    write the counts to instructions.txt instead
#
# Valgrind's tool Callgrind counts them, so the result doesn't depend on the machine's speed or load.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../images/lib.sh"
expected=$here/instructions.txt update=
case ${1:-} in
    '') ;;
    --update) update=1 ;;
    *) die "unknown argument $1; see the comment at the top of the script" ;;
esac
ensure_packages valgrind
cd "$here/../.."
scripts/cargo-release.sh build --locked --release --quiet -p call-instructions
program=${CARGO_TARGET_DIR:-target}/release/call-instructions
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The C library chooses among several memcpy by what the processor supports. Without these features,
# it chooses the same one everywhere.
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX_Fast_Unaligned_Load,-AVX2,-AVX512VL,-ERMS,-FSRM

{
    echo '# Instructions per call; tests/performance/instructions.sh --update writes this file.'
    for call in launch copy allocation; do
        valgrind --tool=callgrind --callgrind-out-file="$work/$call" "$program" "$call" 2>"$work/log" ||
            { cat "$work/log" >&2; die "Callgrind failed"; }
        callgrind_annotate --inclusive=yes --threshold=100 "$work/$call" |
            sed -nE 's|^ *([0-9,]+) .*performance/src/main\.rs:call_instructions::([a-z_]+) .*|\2 \1|p' |
            awk -v call="$call" '$1 != "main" {
                gsub(",", "", $2)
                count = int($2 / 1000 + 0.5)
                print call, $1, count
                total += count
            } END { print call, "total", total + 0 }' | LC_ALL=C sort
    done
} >"$work/counts"
if [ -n "$update" ]; then
    cp "$work/counts" "$expected"
    exit
fi
awk '/^#/ { next }
    NR == FNR { expected[$1 " " $2] = $3; next }
    {
        key = $1 " " $2
        measured[key] = $3
        allowed = expected[key] * 0.02
        differs = $3 - expected[key] > allowed || expected[key] - $3 > allowed
        if (!(key in expected) || ($2 == "total" && differs)) {
            printf "instructions.sh: %s: %d instructions, expected %d\n", key, $3, expected[key]
            failed = 1
        }
    }
    END {
        for (key in expected) if (!(key in measured)) {
            printf "instructions.sh: %s was not measured\n", key
            failed = 1
        }
        exit failed
    }' "$expected" "$work/counts" >&2 || {
    cat "$work/counts" >&2
    die "the cost of calls has changed; if that is intended, run tests/performance/instructions.sh --update, and say why in the commit"
}
