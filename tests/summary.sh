#!/usr/bin/env bash
# Prints the last lines of `make test`.   usage: summary.sh TABLE
set -euo pipefail
table=${1:?usage: summary.sh TABLE}
passed=$(grep -o ' [0-9]* ms ' "$table" | wc -l)
failed=$(grep -c 'FAIL' "$table" || true)
echo "matrix: $passed passed, $failed failed"
[ "$failed" = 0 ]
