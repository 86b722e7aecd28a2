#!/usr/bin/env bash
# Runs the conformance cases (tests/conformance) on several paths and compares their output.
#
#   tests/conformance.sh [--dist DIR] [--driver LIBRARY] [--gpus N] [--logs DIR] PATH...
#
# PATH is softgpu, native, vhost-user, or uml; see tests/matrix.sh. --driver selects the device's
# driver library (auto, softgpu or a path; default softgpu). --gpus sets the number of softgpu's
# devices, all of which the VM gets (default 1). --logs keeps each path's output and the logs of the
# device and the VM in a directory. With --case PREFIX, only the cases whose names begin with PREFIX
# run; with --containing TEXT, those whose names contain TEXT. The exit status is 0 if all cases passed
# and printed the same on all paths.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
dist=$here/../target/dist driver=softgpu gpus=any logs= containing= paths=() cases=()
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --driver) driver=${2:?--driver needs a library}; shift 2 ;;
        --gpus)
            export SOFTGPU_DEVICES=${2:?--gpus needs a number}
            gpus=$(seq -s , 0 $((SOFTGPU_DEVICES - 1)))
            shift 2
            ;;
        --logs) logs=${2:?--logs needs a directory}; shift 2 ;;
        --case) cases+=("${2:?--case needs a prefix}"); shift 2 ;;
        --containing) containing=${2:?--containing needs a part of a name}; shift 2 ;;
        softgpu | native | vhost-user | uml) paths+=("$1"); shift ;;
        *) echo "conformance.sh: unknown argument $1; see the comment at the top of the script" >&2; exit 2 ;;
    esac
done
[ ${#paths[@]} -gt 0 ] || { echo "conformance.sh: name one or more paths: softgpu native vhost-user uml" >&2; exit 2; }
dist=$(cd "$dist" && pwd)
if [ -n "$containing" ]; then
    mapfile -t -O "${#cases[@]}" cases < <("$dist/tests/cuda-conformance" --list | grep -F -- "$containing")
    [ ${#cases[@]} -gt 0 ] || { echo "conformance.sh: no case's name contains $containing" >&2; exit 2; }
fi
# On small machines, too, threads of the guest library help with long copies.
export VIRTIO_CUDA_COPY_THREADS=${VIRTIO_CUDA_COPY_THREADS:-2}
work=$(mktemp -d)
chmod 755 "$work"
cleanup() {
    stop_device
    [ -z "$logs" ] || { mkdir -p "$logs" && cp "$work"/*.log "$work"/*.txt "$logs/" 2>/dev/null; } || true
    rm -rf "$work"
}
trap cleanup EXIT

failed=0
for path in "${paths[@]}"; do
    case $path in
        vhost-user | uml)
            # softgpu aborts workers that use objects in a way that may crash NVIDIA's driver.
            SOFTGPU_STRICT=1 start_device "$dist" "$work/socket" "$work/device.log" --driver-library "$driver" \
                --gpus "$gpus" --memory-max 4G
            ;;
    esac
    run_on "$path" "$dist" "$work" "$dist/tests/cuda-conformance" ${cases[@]+"${cases[@]}"} \
        >"$work/conformance-$path.txt" 2>"$work/conformance-$path.log" || failed=1
    stop_device
    grep -E 'FAIL' "$work/conformance-$path.txt" || true
    summary=$(tail -n 1 "$work/conformance-$path.txt")
    case $summary in
        "cuda-conformance: "*) echo "conformance on $path: ${summary#cuda-conformance: }" ;;
        *) echo "conformance on $path: no result:"; tail -n 5 "$work/conformance-$path.log"; failed=1 ;;
    esac
    if ! cmp -s "$work/conformance-${paths[0]}.txt" "$work/conformance-$path.txt"; then
        echo "conformance.sh: the output on $path differs from that on ${paths[0]}:"
        diff "$work/conformance-${paths[0]}.txt" "$work/conformance-$path.txt" || true
        failed=1
    fi
done
exit $failed
