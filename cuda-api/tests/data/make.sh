#!/usr/bin/env bash
# Makes the fatbins that cuda-api/tests/fatbin.rs reads, one for each way to compress.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
nvcc=$here/../../../tests/programs/nvcc.sh
cd "$here"

make_one() { # NAME COMPRESSION
    "$nvcc" -fatbin "-compress-mode=$2" \
        -gencode arch=compute_75,code=compute_75 -gencode arch=compute_90,code=sm_90 \
        -Wno-deprecated-gpu-targets -o "$1.fatbin" twice.cu
}

make_one plain none
make_one lz4 speed
make_one zstd size
