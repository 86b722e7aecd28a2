#!/usr/bin/env bash
# Runs nvcc 13.0. If it's missing, downloads it from PyPI first (105 MB).
#
#   nvcc.sh ARGUMENTS...   runs nvcc with these arguments
#   nvcc.sh --print-dir    prints the toolchain's directory, which contains bin/, include/, lib/,
#                          and cudart12/lib/
#
# The toolchain is kept outside the checkout, in ${VIRTIO_CUDA_CACHE:-~/.cache/virtio-cuda}.
# nvcc-requirements.txt lists the packages and their hashes.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
requirements=$here/nvcc-requirements.txt
cache=${VIRTIO_CUDA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/virtio-cuda}
# The directory's name depends on the pinned versions, so a changed version is downloaded again.
dir=$cache/cuda-toolchain-$(sha256sum "$requirements" | cut -c1-12)

say() { echo "nvcc.sh: $*" >&2; }

install_missing() {
    local missing=()
    python3 -m pip --version >/dev/null 2>&1 || missing+=(python3 python3-pip)
    command -v g++ >/dev/null || missing+=(g++)
    [ ${#missing[@]} -eq 0 ] && return
    say "installing ${missing[*]}"
    local sudo=()
    [ "$(id -u)" -eq 0 ] || sudo=(sudo)
    "${sudo[@]}" apt-get update -qq >&2
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

fetch() {
    install_missing
    local work=$dir.new
    rm -rf "$work"
    mkdir -p "$work"
    say "downloading nvcc 13.0 from PyPI to $dir (105 MB, once)"
    python3 -m pip download --quiet --no-deps --only-binary=:all: --require-hashes \
        --dest "$work/wheels" --requirement "$requirements" >&2
    local wheel
    for wheel in "$work"/wheels/*.whl; do
        python3 -m zipfile -e "$wheel" "$work/unpacked"
    done
    rm -r "$work/wheels"
    mv "$work/unpacked/nvidia/cu13"/* "$work/"
    mv "$work/unpacked/nvidia/cuda_runtime" "$work/cudart12"
    # Keep the licenses with the files that they cover.
    mkdir "$work/licenses"
    local info
    for info in "$work"/unpacked/*.dist-info; do
        cp "$info/licenses/License.txt" "$work/licenses/$(basename "$info" .dist-info).txt"
    done
    rm -r "$work/unpacked"
    # Python's zipfile drops the execute bits, and the wheels lack the file names that a linker
    # needs.
    chmod +x "$work"/bin/* "$work"/nvvm/bin/*
    ln -s lib "$work/lib64"
    ln -s libcudart.so.13 "$work/lib/libcudart.so"
    ln -s libcudart.so.12 "$work/cudart12/lib/libcudart.so"
    rm -rf "$dir"
    mv "$work" "$dir"
    say "done"
}

if [ ! -d "$dir" ]; then
    mkdir -p "$cache"
    # Two builds running at the same time must not write to the same directory.
    exec 9>"$cache/cuda-toolchain.lock"
    flock 9
    [ -d "$dir" ] || fetch
    exec 9>&-
fi

if [ "${1:-}" = --print-dir ]; then
    echo "$dir"
    exit
fi
exec "$dir/bin/nvcc" "$@"
