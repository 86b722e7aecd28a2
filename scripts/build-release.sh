#!/usr/bin/env bash
# Builds all programs and libraries in release mode, and prints the directory that contains them.
# Tests and packages use the same build. A build of single crates would enable fewer features in
# their dependencies, and so result in other machine code than the tests have run.
# usage: scripts/build-release.sh [--progress]
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../images/lib.sh"
cd "$REPO_DIR"
build=(scripts/cargo-release.sh build --release --locked --workspace --bins --lib)
if [ "${1:-}" = --progress ]; then
    mkdir -p target
    progress 25 target/build.log "${build[@]}"
else
    "${build[@]}" --quiet >&2
fi
printf '%s\n' "${CARGO_TARGET_DIR:-$PWD/target}/release"
