#!/usr/bin/env bash
# Demonstrates VMs with a GPU: starts the broker, boots a VM and runs CUDA programs in it, then boots
# two VMs that share the GPU at 30/70, and finally one that answers requests beside another one's
# kernel that never ends.
# usage: scripts/demo.sh DIST [START]    (called by `make demo`)
#
# The first VM runs in QEMU if the processor supports virtualization and KVM can boot a guest,
# otherwise in user-mode Linux. VIRTIO_CUDA_DEMO_VMM=qemu or uml forces one of them; if KVM doesn't
# work, QEMU then runs without it. The other VMs always run in user-mode Linux.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
dist=$(cd "${1:?usage: demo.sh DIST [START]}" && pwd)
began=${2:-$(date +%s)}
out=$here/target/demo
quota=1G share_quota=512M
mkdir -p "$out"
rm -f "$out"/*

step_at=$(date +%s%N)
# Prints how long the last step took, and the name of the next step.
step() {
    local now
    now=$(date +%s%N)
    [ -z "${step_name:-}" ] || printf 'demo: … %s: %d ms\n' "$step_name" $(((now - step_at) / 1000000))
    step_name=${1:-} step_at=$now
    [ -z "$step_name" ] || printf 'demo: %s\n' "$step_name"
}
fail() {
    echo "demo: FAIL: $*" >&2
    tail -n 15 "$out"/*.log >&2 || true
    exit 1
}

work=$(mktemp -d)
chmod 755 "$work"
. "$here/scripts/demo-shares.sh"
. "$here/scripts/demo-latency.sh"
broker=
cleanup() {
    [ -z "$broker" ] || kill "$broker" 2>/dev/null || true
    [ -z "$broker" ] || wait "$broker" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

step "starting vcudad: a VM with memory.max = $quota, two that share the GPU at 30/70 and two more, with $share_quota each"
cat >"$work/vcudad.toml" <<TOML
driver_library = "auto"
state_dir = "$work/state"
control_socket = "$work/control.sock"
warm_workers = 2
[[vm]]
name = "demo"
socket = "$work/demo.sock"
memory.max = "$quota"
$(share_vms)
$(latency_vms)
TOML
"$dist/bin/vcudad" --config "$work/vcudad.toml" >"$out/vcudad.log" 2>&1 &
broker=$!
for _ in $(seq 300); do
    [ -S "$work/demo.sock" ] && [ -S "$work/vm30.sock" ] && [ -S "$work/vm70.sock" ] &&
        [ -S "$work/endless.sock" ] && [ -S "$work/latency.sock" ] && break
    kill -0 "$broker" 2>/dev/null || fail "vcudad exited"
    sleep 0.1
done
[ -S "$work/latency.sock" ] || fail "vcudad did not create its sockets"
driver=$(sed -n 's/.*driver=\([a-z]*\).*/\1/p' "$out/vcudad.log" | head -n 1)

# The script that runs in the guest, in the directory of the programs.
cat >"$work/guest.sh" <<'SH'
set -e
echo '--- uname'; uname -srm
echo '--- deviceinfo'; ./deviceinfo
echo '--- vectoradd'; ./vectoradd
echo '--- mandelbrot'; ./mandelbrot "$PICTURE" 640 480
echo '--- allocation beyond the quota'; ./deviceinfo alloc 2G | grep allocation
SH

kind=${VIRTIO_CUDA_DEMO_VMM:-}
if [ -z "$kind" ]; then
    kind=uml
    if [ -w /dev/kvm ] && grep -qwE 'vmx|svm' /proc/cpuinfo; then
        step 'checking whether KVM can boot a guest'
        "$here/images/qemu.sh"
        "$here/images/kernel-debs.sh"
        ! "$dist/bin/vcuda-run" --probe-kvm || kind=qemu
    fi
fi
guest=(--verbose --socket "$work/demo.sock" --mem 1G --cpus 2 --timeout 300 --log "$out/vm.log")
if [ "$kind" = qemu ]; then
    step 'preparing QEMU and the driver for its guest'
    "$here/images/qemu.sh"
    "$here/images/kmod-build.sh" 7.2 "$here/guest-driver" "$here/target/kmod/7.2"
    "$here/images/initramfs.sh" -o "$here/target/demo-initramfs.cpio"
    guest+=(--vmm qemu --initrd "$here/target/demo-initramfs.cpio" --cwd /root/programs
        --module "$here/target/kmod/7.2/virtio_cuda.ko" --libcuda "$dist/guest/libcuda.so.1"
        --file "$work/guest.sh:/root/guest.sh" --fetch "/root/demo.ppm:$out/mandelbrot.ppm"
        --env PICTURE=/root/demo.ppm)
    for program in deviceinfo vectoradd mandelbrot; do
        guest+=(--file "$dist/programs/static/$program:/root/programs/$program")
    done
    guest+=(-- /bin/sh /root/guest.sh)
else
    guest+=(--vmm uml --uml-kernel "$dist/uml/linux" --module "$dist/guest/virtio_cuda.ko"
        --env LD_LIBRARY_PATH="$dist/guest" --env PICTURE="$out/mandelbrot.ppm"
        --cwd "$dist/programs/static" -- /bin/sh "$work/guest.sh")
fi
step 'booting a VM and running CUDA programs in it'
"$dist/bin/vcuda-run" "${guest[@]}" 2>"$out/vcuda-run.log" | tee "$out/guest.txt" |
    sed 's/^/demo:   /' || fail 'the guest failed'
vmm=$(sed -n 's/.*vmm=\([a-z0-9-]*\).*/\1/p' "$out/vcuda-run.log" | head -n 1)

step 'booting two more VMs, which compete for the GPU for ten seconds'
# Calibrate the load while nothing else uses the GPU. Both VMs use this rate.
shape=()
[ "$driver" != softgpu ] || shape=(--blocks 1 --threads 32)
share_rate=$(LD_LIBRARY_PATH=$dist/guest VIRTIO_CUDA_SOCKET=$work/demo.sock \
    "$dist/programs/quota/saturate" --calibrate 1 "${shape[@]}") || fail 'the calibration failed'
show_shares

step 'booting two more VMs: one sends requests, first alone and then beside the kernel of the other'
show_latency

step 'checking the results'
grep -q 'vectoradd: PASS' "$out/guest.txt" || fail 'vectoradd did not pass'
grep -q 'mandelbrot: PASS' "$out/guest.txt" || fail 'mandelbrot did not pass'
grep -q 'total memory: 1024 MiB' "$out/guest.txt" || fail "the guest's total memory is not its quota"
grep -q 'refused (cudaErrorMemoryAllocation)' "$out/guest.txt" || fail 'the memory quota did not hold'
pnmtopng -quiet "$out/mandelbrot.ppm" >"$out/mandelbrot.png"
rm -f "$out/mandelbrot.ppm"
echo "demo: picture: ${out#"$PWD"/}/mandelbrot.png"
step
printf 'demo: total time %d s\n' $(($(date +%s) - began))
echo "demo: PASS (vmm=${vmm:-unknown}, driver=${driver:-unknown})"
