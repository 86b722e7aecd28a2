#!/usr/bin/env bash
# A core set of the CUDA programs in QEMU under TCG: a Debian disk on which the guest package was
# installed with apt boots, and the programs print the same as on softgpu alone.
#   tests/qemu/run.sh [--dist DIR] [--log DIR]
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
dist=$root/target/dist logs=
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a folder}; shift 2 ;;
        --log) logs=${2:?--log needs a folder}; shift 2 ;;
        *) echo "run.sh: unknown argument $1; see its head" >&2; exit 2 ;;
    esac
done
dist=$(cd "$dist" && pwd)
# One of each kind: copies, shared memory, atomics, printf, warps, streams, globals, errors, quota.
core=(vectoradd reduction scan mandelbrot histogram printf shuffle streams constant illegaladdress
    outofmemory processes)

"$root/images/qemu.sh"
disk=$("$root/images/disk.sh" --print)
work=$(mktemp -d)
chmod 755 "$work"
logs=${logs:-$work}
"$dist/bin/vhost-device-cuda" --socket-path "$work/socket" --driver-library softgpu \
    --memory-max 1G >"$logs/qemu-device.log" 2>&1 &
device=$!
trap 'kill $device; wait $device || true; rm -rf "$work"' EXIT
for _ in $(seq 300); do [ -S "$work/socket" ] && break; sleep 0.1; done

export OUT=$dist/programs
LD_LIBRARY_PATH=$dist/bin/softgpu "$OUT/run.sh" --keep "$work/reference" "${core[@]}" >/dev/null
"$dist/bin/vcuda-run" --vmm qemu --accel tcg --disk "$disk" --socket "$work/socket" \
    --mem 2G --cpus 2 --timeout 1200 --log "$logs/qemu.log" \
    --file "$OUT:/root/programs" --file "$work/reference:/root/reference" --env OUT=/root/programs \
    --env TIMEOUT=300 -- \
    /bin/bash /root/programs/run.sh --compare /root/reference "${core[@]}" || {
    tail -n 20 "$logs/qemu.log" "$logs/qemu-device.log" >&2
    exit 1
}
