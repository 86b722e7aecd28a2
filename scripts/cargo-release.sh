#!/usr/bin/env bash
# Runs cargo with the flags of the release build, so that builds of the same crates share their
# results.
# usage: scripts/cargo-release.sh COMMAND ARGUMENT...    for example: test --release
set -euo pipefail
repo="$(dirname -- "$(dirname -- "$(readlink -f "$0")")")"
# Panic messages contain the paths of the crates' sources, and so does the debug information, from which
# the linker computes the build ID. With fixed prefixes, the build doesn't depend on its directories, and
# doesn't reveal the user's home directory. (gdb: set substitute-path /virtio-cuda DIRECTORY)
read -r -a flags <<<"${RUSTFLAGS:-}"
flags+=("--remap-path-prefix=$repo=/virtio-cuda"
    "--remap-path-prefix=${CARGO_TARGET_DIR:-$repo/target}=/virtio-cuda/target"
    "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo")
CARGO_ENCODED_RUSTFLAGS="$(IFS=$'\x1f' && printf '%s' "${flags[*]}")"
export CARGO_ENCODED_RUSTFLAGS
exec cargo "$@"
