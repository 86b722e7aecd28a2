#!/usr/bin/env bash
# Runs vectoradd and mandelbrot in QEMU under TCG on a host with a GPU. scripts/stage-gpu.sh must
# have staged the kernel, the initramfs, and QEMU. Prints one line per program.
# usage: qemu.sh DIST OUT
set -uo pipefail
dist=$1 out=$2
. "$dist/tests/lib.sh"
work=$(mktemp -d)
chmod 755 "$work"
trap 'stop_device; rm -rf "$work"' EXIT
start_device "$dist" "$work/socket" "$out/qemu-device.log" --driver-library auto --memory-max 4G ||
    exit 1
mkdir "$work/qemu"
tar -C "$work/qemu" -xzf "$dist/qemu/qemu.tar.gz" || exit 1
failed=0
for name in vectoradd mandelbrot; do
    "$dist/programs/static/$name" >"$work/native" 2>/dev/null
    start=$(date +%s%N)
    verdict=PASS
    "$dist/bin/vcuda-run" --vmm qemu --accel tcg --qemu "$work"/qemu/*/bin/qemu-system-x86_64 \
        --kernel "$dist/qemu/vmlinuz" --initrd "$dist/qemu/initramfs.cpio.gz" \
        --module "qemu=$dist/qemu/virtio_cuda.ko" --libcuda "$dist/guest/libcuda.so.1" \
        --socket "$work/socket" --mem 1G --timeout 200 --log "$out/qemu-$name.log" -- \
        "$dist/programs/static/$name" >"$work/guest" 2>"$out/qemu-$name.err" || verdict=FAIL
    cmp -s "$work/native" "$work/guest" || verdict='FAIL: the output differs from that without the device'
    [ "$verdict" = PASS ] || failed=1
    printf '%-15s qemu-tcg %6d ms  %s\n' "$name" $((($(date +%s%N) - start) / 1000000)) "$verdict"
done
exit $failed
