#!/usr/bin/env bash
# Adds to what scripts/stage.sh laid out what tests/gpu/run.sh needs beside it: the test programs
# as executables. usage: scripts/stage-gpu.sh FOLDER
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../images/lib.sh"
[ "$#" -eq 1 ] || die "usage: stage-gpu.sh FOLDER"
cd "$REPO_DIR"
for test in sudden_ends isolation quota; do
    program="$(cargo test --locked --release --quiet --no-run -p virtio-cuda-tests --test "$test" \
        --message-format=json | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)"
    install -p "$program" "$1/tests/$test"
    strip "$1/tests/$test"
done
log "ready to be carried: $1 ($(du -sh "$1" | cut -f 1))"
