#!/usr/bin/env bash
# Builds NVIDIA's CUDA samples (https://github.com/NVIDIA/cuda-samples), runs each one on several
# paths, and prints a table.
#
#   tests/samples.sh [OPTION]... SAMPLES PATH...
#
# SAMPLES is a checkout of the repository. PATH is softgpu, native, or vhost-user; see
# tests/matrix.sh. The first path is the reference: a sample that passes there must pass on the
# others, or the exit status is 1. Samples that need a window system or don't build are skipped.
#
#   --dist DIR          the staged files (default: target/dist)
#   --driver LIBRARY    the device's driver library: auto, softgpu (default), or a path
#   --nvcc PROGRAM      the compiler (default: tests/programs/nvcc.sh, which has no libraries besides
#                       cudart, so that samples of other libraries are skipped)
#   --arch ARCH         the compiler's -arch (default: compute_90, which is PTX that softgpu can
#                       execute; use native for a GPU)
#   --only NAME         run only this sample; can be repeated
#   --floor N           the number of samples that must pass on each path
#   --jobs N            the number of samples that are built at the same time (default: one for each
#                       core)
#   --out DIR           keep the programs and their output
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
dist=$here/../target/dist driver=softgpu nvcc=$here/programs/nvcc.sh arch=compute_90
only=() floor=0 jobs=$(nproc) out=
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --driver) driver=${2:?--driver needs a library}; shift 2 ;;
        --nvcc) nvcc=${2:?--nvcc needs a program}; shift 2 ;;
        --arch) arch=${2:?--arch needs an architecture}; shift 2 ;;
        --only) only+=("${2:?--only needs a name}"); shift 2 ;;
        --floor) floor=${2:?--floor needs a number}; shift 2 ;;
        --jobs) jobs=${2:?--jobs needs a number}; shift 2 ;;
        --out) out=${2:?--out needs a directory}; shift 2 ;;
        -*) echo "samples.sh: unknown option $1; see the comment at the top of the script" >&2; exit 2 ;;
        *) break ;;
    esac
done
[ $# -ge 2 ] || { echo "samples.sh: name a checkout and one or more paths; see the comment at the top of the script" >&2; exit 2; }
samples=$1
shift
for path; do
    case $path in
        softgpu | native | vhost-user) ;;
        *) echo "samples.sh: $path is not a path; use softgpu, native, or vhost-user" >&2; exit 2 ;;
    esac
done
[ -d "$samples/Samples" ] || { echo "samples.sh: $samples is no checkout of cuda-samples" >&2; exit 2; }
samples=$(cd "$samples" && pwd)
dist=$(cd "$dist" && pwd)
work=$(mktemp -d)
trap 'stop_device; rm -rf "$work"' EXIT
out=${out:-$work/out}
mkdir -p "$out"
out=$(cd "$out" && pwd)

# The libraries to link with. The samples need no others.
"$nvcc" --version >/dev/null || exit 2
with=(-L"$work" -lcuda -ldl -lpthread -lrt)
ln -s "$dist/guest/libcuda.so.1" "$work/libcuda.so"
if echo | "$nvcc" -x cu -E -include cublas_v2.h - >/dev/null 2>&1; then
    with+=(-lcublas -lcublasLt -lcufft -lcurand -lcusolver -lcusparse -lnvrtc -lnvjpeg -lnvJitLink
        -lnppc -lnppial -lnppicc -lnppidei -lnppif -lnppig -lnppim -lnppist -lnppisu -lnppitc)
fi
# Device code in several files is linked when it's built, so it can't be PTX.
case $arch in
    compute_*) separate= ;;
    *) separate=-rdc=true ;;
esac
libraries=${with[*]}

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
    local flags=(-O2 -arch="$arch" -std=c++17 --extended-lambda -w -Iinc -I"$samples/Common" -I"$samples/Common/UtilNPP")
    for kernel in ./*_kernel.cu; do
        [ -f "$kernel" ] || continue
        "$nvcc" "${flags[@]}" -fatbin -o "$(basename "$kernel" .cu)64.fatbin" "$kernel"
        "$nvcc" "${flags[@]}" -ptx -o "$(basename "$kernel" .cu)64.ptx" "$kernel"
    done
    # A file named *_kernel.cu is part of the program, included by another file, or loaded.
    link "${sources[@]}" || link "${all[@]}"
}

# Compiles and links a sample.
link() {
    # shellcheck disable=SC2086  # several words, or none
    "$nvcc" "${flags[@]}" $separate -Xcompiler -fopenmp -o "$out/$name" "$@" $libraries
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
export samples out dist work nvcc arch separate libraries

cd "$samples/Samples" || exit 2
if [ ${#only[@]} -gt 0 ]; then
    names=$(for name in "${only[@]}"; do ls -d ./*/"$name"; done) || exit 2
else
    names=$(ls -d ./*/*/)
fi
export VIRTIO_CUDA_LOG=warn
xargs -P "$jobs" -I{} bash -c 'build {} >"$out/$(basename {}).build" 2>&1' <<<"$names"
built=$(for sample in $names; do [ ! -x "$out/$(basename "$sample")" ] || echo "$sample"; done)
for path; do
    if [ "$path" = vhost-user ]; then
        start_device "$dist" "$work/socket" "$out/device.log" --driver-library "$driver" \
            --memory-max "$([ "$driver" = softgpu ] && echo 8G || echo 100G)" --spin-us 200 || exit 2
    fi
    xargs -P 4 -I{} bash -c "run_sample $path {}" <<<"$built"
    stop_device
done

{
    printf '| sample |'
    printf ' %s |' "$@"
    printf '\n|---|'
    printf -- '---|%.0s' "$@"
    echo
}
status=0
declare -A passed
for sample in $built; do
    name=$(basename "$sample")
    reference=$(cat "$out/$name.$1.code")
    row="| $name |"
    for path; do
        code=$(cat "$out/$name.$path.code")
        if [ "$code" = 0 ]; then
            passed[$path]=$((${passed[$path]:-0} + 1))
            row+=' passes |'
        elif [ "$reference" = 0 ]; then
            status=1
            why=$(grep -aoE 'virtio-cuda.*not supported' "$out/$name.$path" | sed 's/.*: //' | sort -u | tr '\n' ';')
            row+=" **exit code $code** $why |"
        else
            row+=" exit code $code |"
        fi
    done
    echo "$row"
done
for path; do
    echo "samples on $path: ${passed[$path]:-0} of $(wc -w <<<"$built") passed"
    [ "${passed[$path]:-0}" -ge "$floor" ] || { echo "samples.sh: at least $floor must pass" >&2; status=1; }
done
exit "$status"
