#!/usr/bin/env bash
# Builds all programs and libraries in release mode, and prints the directory that contains them.
# Tests and packages use the same build. A build of single crates would enable fewer features in
# their dependencies, and so result in other machine code than the tests have run.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
cargo build --release --locked --workspace --bins --lib --quiet >&2
printf '%s\n' "${CARGO_TARGET_DIR:-$PWD/target}/release"
