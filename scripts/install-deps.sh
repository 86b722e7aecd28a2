#!/usr/bin/env bash
# Installs everything needed to build and test on Debian 12 or newer, from the machine's apt
# sources. Takes less than a second if nothing is missing. Needs root or sudo.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../images/lib.sh"

command -v dpkg-query >/dev/null || die "this script needs Debian, or another system with dpkg and apt"

packages=(
    # To build: Rust's linker, CUDA's host compiler, and tools for the kernels and the driver.
    gcc g++ make libc6-dev pkg-config flex bison bc libelf-dev libssl-dev perl git
    # To build images.
    mmdebstrap e2fsprogs fdisk cpio kmod zstd xz-utils busybox-static dpkg-dev
    debian-archive-keyring ca-certificates
    # To install the CUDA compiler, which comes from PyPI as wheels, in a virtual environment.
    python3 python3-venv python3-pip
    # To convert the demo's picture (pnmtopng).
    netpbm
    # To run checks.
    sparse file util-linux mount procps
)
ensure_packages "${packages[@]}"

# The user must install rustup or Rust. rustup downloads the version in rust-toolchain.toml on first
# use.
least="$(sed -n 's/^rust-version *= *"\([0-9.]*\)".*/\1/p' "$REPO_DIR/Cargo.toml")"
if ! command -v cargo >/dev/null; then
    die "Rust $least or newer is missing: install rustup (the Rust project's installer, or 'apt-get install rustup' from Debian 13 on), put cargo in PATH, and run this again"
fi
found="$(cd "$REPO_DIR" && rustc --version | cut -d ' ' -f 2)"
require_version rustc "$found" "$least"
record rust "$found" host
log "all build dependencies are installed (rustc $found)"
