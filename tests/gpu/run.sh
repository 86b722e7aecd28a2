#!/usr/bin/env bash
# Runs the CUDA programs on softgpu, directly on the GPU, through vhost-user without a VM, and in
# user-mode Linux, and compares the outputs. Also runs vectoradd and mandelbrot in QEMU if QEMU was
# staged. Then tests killed processes, isolation, and quotas. Needs a Linux host with NVIDIA driver
# 570 or newer, but no network.
#
#   tests/gpu/run.sh [--dist DIR] [--out DIR]
#
# --dist is the output of `make stage-gpu` (default: target/dist). --out is the directory for
# results and logs (default: a temporary directory). Prints a table at the end. The exit status is 0
# if all tests passed and all outputs are the same.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dist=$here/../../target/dist out=
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --out) out=${2:?--out needs a directory}; shift 2 ;;
        *) echo "run.sh: unknown argument $1; see the comment at the top of the script" >&2; exit 2 ;;
    esac
done
[ -d "$dist/bin" ] || { echo "run.sh: $dist contains no staged files: run make stage-gpu" >&2; exit 2; }
dist=$(cd "$dist" && pwd)
out=${out:-$(mktemp -d)}
mkdir -p "$out"
failed=0
smi() { nvidia-smi --query-gpu="$1" --format=csv,noheader,nounits | head -n 1; }
if ! driver=$(smi driver_version) || [ "${driver%%.*}" -lt 570 ]; then
    echo "run.sh: nvidia-smi reports no NVIDIA driver 570 or newer" >&2
    exit 2
fi
gpu=$(smi name)

echo "== programs: softgpu, native, vhost-user, user-mode Linux"
"$dist/tests/matrix.sh" --dist "$dist" --driver auto --table "$out/matrix.md" --logs "$out" \
    softgpu native vhost-user uml >"$out/matrix.log" 2>&1 || failed=1
tail -n 1 "$out/matrix.log"

if [ -d "$dist/qemu" ]; then
    echo "== vectoradd and mandelbrot in QEMU under TCG"
    "$dist/tests/qemu.sh" "$dist" "$out" || failed=1
fi

echo "== killed processes, isolation, quotas"
# Skip the tests that use the fake NVML or the sizes of softgpu's memory.
VIRTIO_CUDA_DIST=$dist VIRTIO_CUDA_DRIVER=auto "$dist/tests/proofs" --test-threads=1 \
    --skip a_context_that_does_not_fit --skip a_session_that_uses_memory_on_a_gpu \
    --skip local_memory_of_graphs sudden_ends:: isolation:: quota:: \
    >"$out/proofs.log" 2>&1 || failed=1
grep -E '^test |^test result' "$out/proofs.log"

echo "== a kernel that never ends, with most of the memory held"
"$dist/tests/endless.sh" "$dist" "$out" || failed=1

printf '\n%s, %s, driver %s, commit %s\n\n' "$(date -u +%F)" "$gpu" "$driver" "$(cat "$dist/commit")"
cat "$out/matrix.md"
exit $failed
