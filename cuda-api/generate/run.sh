#!/usr/bin/env bash
# Generates cuda-api/src/generated/, the Rust description of CUDA, from NVIDIA's headers.
#
#   run.sh           writes the files
#   run.sh --check   fails if any file would change
#
# The first run downloads the headers and libclang (70 MB) from PyPI into
# ${VIRTIO_CUDA_CACHE:-~/.cache/virtio-cuda}. requirements.txt pins their versions.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
requirements=$here/requirements.txt
cache=${VIRTIO_CUDA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/virtio-cuda}
# The directory name includes a hash of the pinned versions, so a new pin is fetched again.
dir=$cache/cuda-headers-$(sha256sum "$requirements" | cut -c1-12)

fetch() {
    local work=$dir.new wheel
    rm -rf "$work"
    mkdir -p "$work"
    echo "generate: fetching NVIDIA's headers and libclang from PyPI into $dir (once)" >&2
    python3 -m pip download --quiet --no-deps --only-binary=:all: --require-hashes \
        --dest "$work/wheels" --requirement "$requirements" >&2
    for wheel in "$work"/wheels/*.whl; do
        python3 -m zipfile -e "$wheel" "$work/unpacked"
    done
    mv "$work/unpacked/nvidia/cu13/include" "$work/include"
    mv "$work"/unpacked/libclang-*.data/platlib/clang/native "$work/lib"
    # Keep the licenses with the files that they cover.
    mkdir "$work/licenses"
    for wheel in "$work"/unpacked/nvidia_*.dist-info; do
        cp "$wheel/licenses/License.txt" "$work/licenses/$(basename "$wheel" .dist-info).txt"
    done
    rm -r "$work/wheels" "$work/unpacked"
    mv "$work" "$dir"
}

if [ ! -d "$dir" ]; then
    mkdir -p "$cache"
    # Concurrent runs must not fetch into the same directory.
    exec 9>"$cache/cuda-headers.lock"
    flock 9
    [ -d "$dir" ] || fetch
    exec 9>&-
fi
# Without --package, cargo selects the same features as a workspace build.
cd "$here/../.."
LIBCLANG_PATH=$dir/lib exec cargo run --quiet --locked --bin cuda-api-generate -- "$dir/include" "$@"
