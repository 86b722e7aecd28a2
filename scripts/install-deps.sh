#!/usr/bin/env bash
# Installs everything that building and testing need on Debian 12 or newer, from the machine's own
# apt sources. Takes under a second if nothing is missing. Run it as root or with sudo.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../images/lib.sh"

command -v dpkg-query >/dev/null || die "this script needs Debian, or another system with dpkg and apt"

packages=(
    # Building: Rust's linker, CUDA's host compiler, the kernels and the driver.
    gcc g++ make libc6-dev pkg-config flex bison bc libelf-dev libssl-dev perl git
    # Images.
    mmdebstrap e2fsprogs fdisk cpio kmod zstd xz-utils busybox-static dpkg-dev
    debian-archive-keyring ca-certificates
    # CUDA's compiler comes from PyPI as wheels, into a virtual environment.
    python3 python3-venv python3-pip
    # Checks.
    sparse file util-linux mount procps
)
ensure_packages "${packages[@]}"

# The user installs Rust: rust-toolchain.toml names the version, and rustup downloads it when it is
# first used.
least="$(sed -n 's/^rust-version *= *"\([0-9.]*\)".*/\1/p' "$REPO_DIR/Cargo.toml")"
if ! command -v cargo >/dev/null; then
    die "Rust $least or newer is missing: install rustup (the Rust project's installer, or 'apt-get install rustup' from Debian 13 on), put cargo in PATH, and run this again"
fi
found="$(cd "$REPO_DIR" && rustc --version | cut -d ' ' -f 2)"
require_version rustc "$found" "$least"
record rust "$found" host
log "all build dependencies are installed (rustc $found)"
