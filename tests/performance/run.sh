#!/usr/bin/env bash
# Measures how long calls take. Runs the same program on softgpu directly, through vhost-user
# without a VM, and in a user-mode Linux guest. In the guest, a posted call must take less than
# 1 us, and a waited call less than 5 us.
#
#   tests/performance/run.sh [--dist DIR] [--driver LIBRARY]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../lib.sh"
dist=$here/../../target/dist driver=softgpu
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --driver) driver=${2:?--driver needs a library}; shift 2 ;;
        *) echo "run.sh: unknown argument $1; see the comment at the top of the script" >&2; exit 2 ;;
    esac
done
dist=$(cd "$dist" && pwd)
work=$(mktemp -d)
chmod 755 "$work"
trap 'stop_device; rm -rf "$work"' EXIT
start_device "$dist" "$work/socket" "$work/log" --driver-library "$driver" --memory-max 4G \
    --spin-us 200

echo "-- directly"
if [ "$driver" = softgpu ]; then
    LD_LIBRARY_PATH=$dist/bin/softgpu "$dist/tests/call-cost"
else
    "$dist/tests/call-cost"
fi
echo "-- vhost-user"
LD_LIBRARY_PATH=$dist/guest VIRTIO_CUDA_SOCKET=$work/socket VIRTIO_CUDA_SPIN_US=200 \
    "$dist/tests/call-cost"
echo "-- user-mode Linux (limits: 1000 and 5000 ns)"
"$dist/bin/vcuda-run" --vmm uml --socket "$work/socket" --uml-kernel "$dist/uml/linux" \
    --module "$dist/guest/virtio_cuda.ko" --mem 1G --cpus 1 --log "$work/uml.log" \
    --env LD_LIBRARY_PATH="$dist/guest" --env VIRTIO_CUDA_SPIN_US=200 -- \
    "$dist/tests/call-cost" 1000 5000
