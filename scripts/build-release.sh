#!/usr/bin/env bash
# Builds all programs and libraries in release mode, and prints the directory that contains them.
# Tests and packages use the same build. A build of single crates would enable fewer features in
# their dependencies, and so result in other machine code than the tests have run.
# usage: scripts/build-release.sh [--progress]
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../images/lib.sh"
cd "$REPO_DIR"
# Panic messages contain the paths of the crates' sources, and so does the debug information, from which
# the linker computes the build ID. With fixed prefixes, the build doesn't depend on its directories, and
# doesn't reveal the user's home directory. (gdb: set substitute-path /virtio-cuda DIRECTORY)
read -r -a flags <<<"${RUSTFLAGS:-}"
flags+=("--remap-path-prefix=$REPO_DIR=/virtio-cuda"
    "--remap-path-prefix=${CARGO_TARGET_DIR:-$REPO_DIR/target}=/virtio-cuda/target"
    "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo")
CARGO_ENCODED_RUSTFLAGS="$(IFS=$'\x1f' && printf '%s' "${flags[*]}")"
export CARGO_ENCODED_RUSTFLAGS
build=(cargo build --release --locked --workspace --bins --lib)
if [ "${1:-}" = --progress ]; then
    mkdir -p target
    progress 25 target/build.log "${build[@]}"
else
    "${build[@]}" --quiet >&2
fi
printf '%s\n' "${CARGO_TARGET_DIR:-$PWD/target}/release"
