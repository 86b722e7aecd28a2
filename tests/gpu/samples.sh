#!/usr/bin/env bash
# Builds NVIDIA's CUDA samples (https://github.com/NVIDIA/cuda-samples) with nvcc, runs each one
# natively and through vhost-user without a VM, and prints a table. Samples that need a window
# system or don't build are skipped.
#
#   tests/gpu/samples.sh [--dist DIR] [--out DIR] [--jobs N] SAMPLES [NAME…]
#
# SAMPLES is a checkout of the repository. --out keeps the programs and their output. The exit
# status is 0 if every sample that passes natively passes through the device.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ -f "$here/lib.sh" ]; then . "$here/lib.sh"; else . "$here/../lib.sh"; fi
dist=$here/../../target/dist out= jobs=$(nproc)
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --out) out=${2:?--out needs a directory}; shift 2 ;;
        --jobs) jobs=${2:?--jobs needs a number}; shift 2 ;;
        -*) echo "samples.sh: unknown option $1; see the comment at the top of the script" >&2; exit 2 ;;
        *) break ;;
    esac
done
samples=${1:?"usage: samples.sh [--dist DIR] [--out DIR] [--jobs N] SAMPLES [NAME…]"}
shift
[ -d "$samples/Samples" ] || { echo "samples.sh: $samples is no checkout of cuda-samples" >&2; exit 2; }
samples=$(cd "$samples" && pwd)
dist=$(cd "$dist" && pwd)
work=$(mktemp -d)
out=${out:-$work/out}
mkdir -p "$out"
out=$(cd "$out" && pwd)
trap 'stop_device; rm -rf "$work"' EXIT

# Builds the sample in a directory of Samples/, with the images that it loads at run time.
build() {
    local sample=$1 name
    name=$(basename "$sample")
    cd "$samples/Samples/$sample" || return
    ! grep -qsE 'find_package\((GLUT|OpenGL|EGL|MPI|Vulkan|NVVM)|NvSci' CMakeLists.txt || return
    local all sources
    mapfile -t all < <(ls ./*.cu ./*.cpp ./*.c src/*.cu src/*.cpp 2>/dev/null)
    ! grep -qs helper_multiprocess "${all[@]}" || all+=("$samples/Common/helper_multiprocess.cpp")
    mapfile -t sources < <(printf '%s\n' "${all[@]}" | grep -v '_kernel\.cu$')
    local flags=(-O2 -arch=native -std=c++17 --extended-lambda -w -Iinc -I"$samples/Common" -I"$samples/Common/UtilNPP")
    for kernel in ./*_kernel.cu; do
        [ -f "$kernel" ] || continue
        nvcc "${flags[@]}" -fatbin -o "$(basename "$kernel" .cu)64.fatbin" "$kernel"
        nvcc "${flags[@]}" -ptx -o "$(basename "$kernel" .cu)64.ptx" "$kernel"
    done
    # A file named *_kernel.cu is part of the program, included by another file, or loaded.
    link "${sources[@]}" || link "${all[@]}"
}

# Compiles and links a sample.
link() {
    nvcc "${flags[@]}" -rdc=true -Xcompiler -fopenmp -o "$out/$name" "$@" -lcuda -lcublas \
        -lcublasLt -lcufft -lcurand -lcusolver -lcusparse -lnvrtc -lnvjpeg -lnvJitLink -lnppc \
        -lnppial -lnppicc -lnppidei -lnppif -lnppig -lnppim -lnppist -lnppisu -lnppitc -ldl -lpthread -lrt
}

# Runs a sample on a path in its source directory, where it finds its data.
run_sample() {
    local path=$1 sample=$2 name code=0
    name=$(basename "$sample")
    cd "$samples/Samples/$sample" || return
    run_on "$path" "$dist" "$work" timeout 60 "$out/$name" >"$out/$name.$path" 2>&1 </dev/null || code=$?
    # Exit code 2 says that a sample can't run on this machine.
    echo "$code" >"$out/$name.$path.code"
}
export -f build link run_sample run_on
export samples out dist work

cd "$samples/Samples" || exit 2
if [ $# -gt 0 ]; then
    names=$(for name in "$@"; do ls -d ./*/"$name" 2>/dev/null; done)
else
    names=$(ls -d ./*/*/)
fi
export VIRTIO_CUDA_LOG=warn
xargs -P "$jobs" -I{} bash -c 'build {} >"$out/$(basename {}).build" 2>&1' <<<"$names"
built=$(for sample in $names; do [ ! -x "$out/$(basename "$sample")" ] || echo "$sample"; done)
xargs -P 4 -I{} bash -c 'run_sample native {}' <<<"$built"
start_device "$dist" "$work/socket" "$out/device.log" --driver-library auto --memory-max 100G \
    --spin-us 200 || exit 2
xargs -P 4 -I{} bash -c 'run_sample vhost-user {}' <<<"$built"
stop_device

printf '| sample | native | vhost-user |\n|---|---|---|\n'
passed=0 failed=0
for sample in $built; do
    name=$(basename "$sample")
    native=$(cat "$out/$name.native.code") device=$(cat "$out/$name.vhost-user.code")
    if [ "$native" != 0 ]; then
        echo "| $name | exit code $native | exit code $device |"
    elif [ "$device" = 0 ]; then
        passed=$((passed + 1))
        echo "| $name | passes | passes |"
    else
        failed=$((failed + 1))
        why=$(grep -aoE 'virtio-cuda.*not supported' "$out/$name.vhost-user" | sed 's/.*: //' | sort -u | tr '\n' ';')
        echo "| $name | passes | **exit code $device** $why |"
    fi
done
echo "samples: of $((passed + failed)) that pass natively, $passed pass through the device"
[ "$failed" = 0 ]
