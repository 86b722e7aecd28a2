#!/usr/bin/env bash
# Boots a guest with libvirt, with the domain in docs/vmm.md, and runs CUDA programs in it, also after
# the guest was suspended and resumed. Needs `virsh` and `libvirtd` (Debian's packages libvirt-daemon,
# libvirt-daemon-driver-qemu, and libvirt-clients). Uses TCG. Root uses the system's libvirt, which the
# script starts if it isn't running; other users use their own. The domain is removed at the end.
#
#   tests/kvm/libvirt.sh [--dist DIR] [--logs DIR]
#
#   --dist DIR   the staged build (target/dist)
#   --logs DIR   where to write the guest's console (target/libvirt)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/tests/lib.sh"
dist=$root/target/dist logs=${CARGO_TARGET_DIR:-$root/target}/libvirt
fail() { echo "libvirt.sh: $*" >&2; exit 1; }
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --logs) logs=${2:?--logs needs a directory}; shift 2 ;;
        *) fail "unknown argument $1; see the comment at the top of the script" ;;
    esac
done
[ -x "$dist/bin/vhost-device-cuda" ] || fail "$dist is not a staged build: run make build"
PATH=$PATH:/usr/sbin
for tool in virsh libvirtd; do
    command -v "$tool" >/dev/null || fail "$tool is missing; see the top of the script"
done
dist=$(cd "$dist" && pwd) series=7.2 name=virtio-cuda-$$
mkdir -p "$logs"
logs=$(cd "$logs" && pwd)
kernel=$(readlink -f "$("$root/images/kernel-debs.sh" --print)/$series/vmlinuz")
qemu=$("$root/images/qemu.sh" --print)
"$root/images/kmod-build.sh" "$series" "$root/guest-driver" "$root/target/kmod/$series"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
programs=(vectoradd streams graphs) files=()
for program in "${programs[@]}"; do
    files+=(-f "$dist/programs/static/$program:/root/$program")
done
"$root/images/initramfs.sh" -o "$work/guest.cpio" -k "$series" \
    -m "$root/target/kmod/$series/virtio_cuda.ko" -f "$dist/guest/libcuda.so.1:/usr/lib/" \
    "${files[@]}" -c "while true; do for p in ${programs[*]}; do /root/\$p; done; sleep 1; done"
uri=qemu:///session
if [ "$(id -u)" = 0 ]; then
    uri=qemu:///system
    # Without systemd, nothing else has started them.
    [ -S /run/libvirt/virtlogd-sock ] || virtlogd --daemon --pid-file "$work/virtlogd.pid"
    [ -S /run/libvirt/libvirt-sock ] || libvirtd --daemon --pid-file "$work/libvirtd.pid"
fi
virsh() { command virsh -q -c "$uri" "$@"; }
cleanup() {
    virsh destroy "$name" >/dev/null 2>&1 || true
    virsh undefine "$name" >/dev/null 2>&1 || true
    for file in "$work"/*.pid; do
        [ ! -f "$file" ] || kill "$(cat "$file")" || true
    done
    stop_device
    rm -rf "$work"
}
trap cleanup EXIT

start_device "$dist" "$work/vcuda.sock" "$logs/device.log" --driver-library softgpu --memory-max 1G

# docs/vmm.md has the parts of this domain that matter for the device.
sed -e "s|@NAME@|$name|; s|@QEMU@|$qemu|; s|@KERNEL@|$kernel|; s|@INITRD@|$work/guest.cpio|" \
    -e "s|/run/virtio-cuda/web.sock|$work/vcuda.sock|; s|@USER@|+$(id -u):+$(id -g)|; s|@CONSOLE@|$logs/console.log|" \
    "$here/libvirt.xml" >"$work/domain.xml"
rm -f "$logs/console.log"
virsh define "$work/domain.xml"
virsh start "$name"

# passes_again N: waits until every program has passed N times.
passes_again() {
    local program deadline=$((SECONDS + 180))
    for program in "${programs[@]}"; do
        until [ "$(grep -ac "$program: PASS" "$logs/console.log" || true)" -ge "$1" ]; do
            [ "$SECONDS" -lt "$deadline" ] || { tail -n 20 "$logs/console.log" >&2; fail "$program didn't pass $1 times"; }
            sleep 0.2
        done
    done
}
passes_again 2
echo "$(libvirtd --version): ${programs[*]}: PASS"
virsh suspend "$name"
count=$(grep -ac 'vectoradd: PASS' "$logs/console.log")
sleep 3
[ "$(grep -ac 'vectoradd: PASS' "$logs/console.log")" -le $((count + 1)) ] || fail 'the suspended guest went on'
virsh resume "$name"
passes_again $((count + 2))
echo 'libvirt: suspend and resume: PASS'
# QEMU refuses, and the guest continues.
! virsh save "$name" "$work/saved" 2>"$work/said" || fail 'the domain was saved'
passes_again $((count + 4))
echo "libvirt: save is refused: PASS ($(head -n 1 "$work/said"))"
