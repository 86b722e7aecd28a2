#!/usr/bin/env bash
# Tests the device under KVM, with QEMU (10.2 or newer) and cloud-hypervisor (52 or newer). Runs
# vectoradd in a guest with each installed VMM, and reports missing VMMs. The exit status is 0 if at
# least one VMM ran and none failed, 1 if one failed, and 3 if none could run.
#
#   tests/kvm/run.sh [--dist DIR] [--driver-library auto|softgpu|PATH] [--logs DIR]
#
# --dist is the output of `make build` (default: target/dist, which is built if it's missing). QEMU,
# the guest kernel, and the guest driver come from images/. VCUDA_ACCEL=tcg runs QEMU without KVM,
# to test this script itself.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/tests/lib.sh"
dist=$root/target/dist library=auto logs='' accel=${VCUDA_ACCEL:-kvm}
least_ch=52
usage() {
    echo "run.sh: $*; see the comment at the top of the script" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --driver-library) library=${2:?--driver-library needs auto, softgpu or a path}; shift 2 ;;
        --logs) logs=${2:?--logs needs a directory}; shift 2 ;;
        *) usage "unknown argument $1" ;;
    esac
done
say() { printf 'kvm: %s\n' "$*"; }

if [ ! -x "$dist/bin/vcuda-run" ]; then
    [ "$dist" = "$root/target/dist" ] || usage "$dist/bin/vcuda-run does not exist"
    say 'building (make build)'
    make -C "$root" --no-print-directory build
fi
dist=$(cd "$dist" && pwd)
kernels=$("$root/images/kernel-debs.sh" --print)
series=7.2
kernel=$(readlink -f "$kernels/$series/vmlinuz")
say "guest: Linux $(cat "$kernels/$series/release")"
"$root/images/kmod-build.sh" "$series" "$root/guest-driver" "$root/target/kmod/$series"
module=$root/target/kmod/$series/virtio_cuda.ko
program=$dist/programs/static/vectoradd
[ -x "$program" ] || usage "$program does not exist: run make programs"

work=$(mktemp -d)
chmod 755 "$work"
cleanup() {
    stop_device
    rm -rf "$work"
}
trap cleanup EXIT
logs=${logs:-$work}
mkdir -p "$logs"

passed=() failed=() missing=()
verdict() { # NAME STATUS TEXT
    case $2 in
        PASS) passed+=("$1") ;;
        FAIL) failed+=("$1") ;;
        *) missing+=("$1") ;;
    esac
    say "$1: $2${3:+ ($3)}"
}

start_for() { # NAME
    : >"$logs/$1-device.log"
    start_device "$dist" "$work/socket" "$logs/$1-device.log" --driver-library "$library" \
        --memory-max 1G
}

qemu=$("$root/images/qemu.sh" --print) ||
    usage 'images/qemu.sh could not provide QEMU 10.2 or newer'
run=("$dist/bin/vcuda-run" --vmm qemu --qemu "$qemu" --kernel "$kernel")
# The reason why an ordinary guest doesn't boot under KVM on this host; empty if it does.
no_kvm=$("${run[@]}" --probe-kvm 2>&1) && no_kvm=''

qemu_test() {
    local name=qemu-$accel
    if [ "$accel" = kvm ] && [ -n "$no_kvm" ]; then
        verdict "$name" MISSING "$no_kvm"
        return
    fi
    start_for "$name"
    if "${run[@]}" --accel "$accel" --socket "$work/socket" --module "$module" \
        --libcuda "$dist/guest/libcuda.so.1" --mem 1G --timeout 180 --log "$logs/$name.log" \
        --verbose -- "$program" >"$logs/$name.out" 2>&1 && grep -q 'vectoradd: PASS' "$logs/$name.out"; then
        verdict "$name" PASS "$(sed -n 's/^vcuda-run: vmm=//p' "$logs/$name.out")"
    else
        tail -n 15 "$logs/$name.out" "$logs/$name-device.log" >&2
        verdict "$name" FAIL
    fi
    stop_device
}

cloud_hypervisor_test() {
    local name=cloud-hypervisor version which=1 line
    if ! command -v cloud-hypervisor >/dev/null; then
        verdict "$name" MISSING "cloud-hypervisor is not in PATH: install version $least_ch or newer"
        return
    fi
    version=$(cloud-hypervisor --version | grep -oE '[0-9]+' | head -n 1)
    if [ "${version:-0}" -lt "$least_ch" ]; then
        verdict "$name" MISSING "version ${version:-?} does not support generic vhost-user devices: install $least_ch or newer"
        return
    fi
    [ "$version" -gt 52 ] || which=2
    if [ -n "$no_kvm" ]; then
        verdict "$name" MISSING "$no_kvm"
        return
    fi
    "$root/images/initramfs.sh" -o "$work/initramfs.cpio" -k "$series" -m "$module" \
        -f "$dist/guest/libcuda.so.1:/usr/lib/" -f "$program:/root/vectoradd" -c /root/vectoradd
    start_for "$name"
    # Use exactly the command that vcuda-run prints for users.
    line=$("$dist/bin/vcuda-run" --vmm cloud-hypervisor --print --socket "$work/socket" \
        --kernel "$kernel" --initrd "$work/initramfs.cpio" --mem 1G |
        grep '^cloud-hypervisor ' | sed -n "${which}p")
    line=${line//\/run\/cloud-hypervisor.sock/$work/api.sock}
    say "$line"
    timeout 120 bash -c "exec $line" </dev/null >"$logs/$name.out" 2>&1 || true
    if grep -q 'vectoradd: PASS' "$logs/$name.out" && grep -q 'virtio-cuda-exit: 0' "$logs/$name.out"; then
        verdict "$name" PASS "version $version"
    else
        tail -n 15 "$logs/$name.out" "$logs/$name-device.log" >&2
        verdict "$name" FAIL "version $version"
    fi
    stop_device
}

qemu_test
cloud_hypervisor_test

say "passed: ${passed[*]:-none}; failed: ${failed[*]:-none}; missing: ${missing[*]:-none}"
[ "${#failed[@]}" -eq 0 ] || exit 1
[ "${#passed[@]}" -gt 0 ] || exit 3
