#!/usr/bin/env bash
# Prints the last line of `make test`, which counts the results in TABLE. Fails if TABLE contains
# failures.
# usage: summary.sh TABLE
set -euo pipefail
table=${1:?usage: summary.sh TABLE}
passed=$(grep -o ' [0-9]* ms ' "$table" | wc -l)
failed=$(grep -c 'FAIL' "$table" || true)
echo "matrix: $passed passed, $failed failed"
[ "$failed" = 0 ]
