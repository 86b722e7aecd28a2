#!/usr/bin/env bash
# Tests the device under KVM on a machine that needn't have it: QEMU emulates a machine with AMD's
# SVM, a Linux in it has a working /dev/kvm, and QEMU and cloud-hypervisor run guests with it. The
# host's programs run in that Linux, too, with softgpu, and are killed there. Prints one line per case.
#
#   tests/kvm/nested.sh [--dist DIR] [--cloud-hypervisor PATH] [--vmm qemu|cloud-hypervisor]
#                       [--logs DIR] [--tcg] [--short]
#
#   --dist DIR                 the staged build (target/dist)
#   --cloud-hypervisor PATH    version 53 or newer (by default, the one in PATH); without it, its
#                              cases are MISSING
#   --vmm VMM                  run only this VMM's cases
#   --logs DIR                 where to write the machines' consoles, `nested-N.log` (target/nested)
#   --tcg                      run QEMU's cases without KVM, and without a machine around them: QEMU
#                              emulates the guests. The host's programs run on this machine, in
#                              namespaces of their own. Needs root
#   --short                    leave out the cases that kill or restart vcudad, its spawner, and
#                              workers; tests/tests/restart.rs and others have them in user-mode Linux
#
# The exit status is 0 if no case failed, and 1 otherwise. QEMU's emulation of SVM isn't reliable,
# even if a guest only runs busybox: guests end with "KVM internal error", are reset, or stop
# entirely, and the machine that runs them panics or stops. Then, and only then, the cases that haven't
# passed run again: in the same machine at most five times, and in a new one at most four times.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
dist=$root/target/dist logs=${CARGO_TARGET_DIR:-$root/target}/nested vmms='qemu cloud-hypervisor'
tcg='' cases=all series=7.2 limit=3600
# The programs, except vectoradd, that run in each guest.
programs='streams graphs hostfuncs managed threads'
usage() {
    echo "nested.sh: $*; see the comment at the top of the script" >&2
    exit 2
}
cloud_hypervisor=$(command -v cloud-hypervisor) || cloud_hypervisor=''
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --cloud-hypervisor) cloud_hypervisor=${2:?--cloud-hypervisor needs a path}; shift 2 ;;
        --vmm) vmms=${2:?--vmm needs qemu or cloud-hypervisor}; shift 2 ;;
        --logs) logs=${2:?--logs needs a directory}; shift 2 ;;
        --tcg) tcg=yes vmms=qemu; shift ;;
        --short) cases=short limit=900; shift ;;
        *) usage "unknown argument $1" ;;
    esac
done
[ -z "$tcg" ] || [ $cases = all ] || usage '--tcg and --short exclude each other'
for vmm in $vmms; do
    case $vmm in qemu | cloud-hypervisor) ;; *) usage "unknown VMM $vmm" ;; esac
done
[ -z "$cloud_hypervisor" ] || [ -x "$cloud_hypervisor" ] || usage "$cloud_hypervisor does not exist"
[ -x "$dist/bin/vcudad" ] || usage "$dist is not a staged build: run make build"
dist=$(cd "$dist" && pwd)
mkdir -p "$logs"

kernels=$("$root/images/kernel-debs.sh" --print)
qemu=$("$root/images/qemu.sh" --print)
kernel=$(readlink -f "$kernels/$series/vmlinuz")
module=$root/target/kmod/$series/virtio_cuda.ko
"$root/images/kmod-build.sh" "$series" "$root/guest-driver" "$root/target/kmod/$series"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
files=()
for program in vectoradd spin $programs; do
    files+=(-f "$dist/programs/static/$program:/root/$program")
done
"$root/images/initramfs.sh" -o "$work/guest.cpio" -k "$series" -m "$module" \
    -f "$dist/guest/libcuda.so.1:/usr/lib/" -f "$here/nested/guest.sh:/guest.sh" "${files[@]}" \
    -c 'sh /guest.sh'

# The Linux with KVM: its modules, the VMMs, the host's programs, the guests' kernel and initramfs, and
# programs of a VM without a guest.
modules=()
for name in virt/lib/irqbypass arch/x86/kvm/kvm arch/x86/kvm/kvm-amd; do
    xz -dc "$kernels/$series/modules/kernel/$name.ko.xz" >"$work/${name##*/}.ko"
    modules+=(-m "$work/${name##*/}.ko")
done
# Of the host's programs, only those that the cases need.
mkdir -p "$work/bin"
for program in vhost-device-cuda vcudad vhost-cuda-spawner vhost-cuda-supervisor vhost-cuda-worker softgpu; do
    cp -r "$dist/bin/$program" "$work/bin/"
done
files=(-f "$(dirname "$(dirname "$(readlink -f "$qemu")")"):/qemu" -f "$work/bin:/dist/bin"
    -f "$kernel:/guest/vmlinuz" -f "$work/guest.cpio:/guest/initramfs.cpio"
    -f "$dist/guest/libcuda.so.1:/dist/guest/" -f "$dist/programs/static/vectoradd:/root/vectoradd"
    -f "$dist/programs/static/spin:/root/spin" -f "$here/nested/host.sh:/host.sh")
[ -z "$cloud_hypervisor" ] || files+=(-f "$cloud_hypervisor:/usr/bin/cloud-hypervisor")
curl=$(command -v curl) && files+=(-f "$curl:/usr/bin/curl")
"$root/images/initramfs.sh" -o "$work/host.cpio" -k "$series" "${modules[@]}" "${files[@]}" \
    -c "CASES=$cases PROGRAMS='$programs' sh /host.sh $vmms"

# `report` writes the machine's console to the log, and prints the lines of the cases.
report() { sed -u 's|\r||g' | tee "$log" | grep --line-buffered -a '^nested: ' || true; }
has_text() { grep -qa "$1" "$log"; }

# Runs the cases in this machine, with the same files.
run_here() {
    mkdir "$work/root"
    (cd "$work/root" && cpio --quiet -id <"$work/host.cpio")
    # shellcheck disable=SC2016
    timeout "$limit" unshare --mount --pid --fork --kill-child sh -c '
        mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount -t tmpfs tmpfs "$1/dev/shm" &&
            mount -t tmpfs tmpfs "$1/tmp" &&
            exec env -i PATH=/usr/bin:/usr/sbin HOME=/root LD_LIBRARY_PATH=/usr/lib "PROGRAMS=$2" \
                "QEMU_CPU=-accel tcg,thread=multi -cpu max" chroot "$1" sh /host.sh qemu' \
        sh "$work/root" "$programs" </dev/null 2>&1 | report || true
}

# The machine prints a line every 10 s. If it prints nothing for this many seconds, it has stopped.
silence=120

# has_stopped: whether the machine or one of its CPUs has stopped. Lines of guests begin with '|'.
has_stopped() {
    [ $(($(date +%s) - $(stat -c %Y "$log"))) -ge $silence ] ||
        has_text '^\[[ 0-9.]*\] rcu.*detected stalls'
}

end_if_stopped() {
    until has_stopped; do sleep 5; done
    pkill -KILL -F "$work/pid"
}

run_in_machine() {
    : >"$log"
    end_if_stopped &
    local watcher=$!
    # With more features than EPYC has (-cpu max), guests fail more often. The kernel gives PASSED to
    # the first process.
    timeout -k 10 $((limit - SECONDS)) "$qemu" -M q35 -accel tcg,thread=multi -cpu EPYC -m 3G -smp 2 \
        -nodefaults -display none -no-reboot -serial stdio -pidfile "$work/pid" -kernel "$kernel" \
        -initrd "$work/host.cpio" -append "console=ttyS0 quiet panic=-1 PASSED=$passed" \
        </dev/null 2>&1 | report || true
    kill "$watcher" 2>/dev/null || true
    wait "$watcher" 2>/dev/null || true
}

# Prints the cases that have passed in the last machine, separated by commas.
passed_cases() {
    sed -n 's/^nested: \(.*\): \(.*\): PASS.*/\1:\2/p' "$log" | tr ' \n' _,
}

passed='' SECONDS=0
for round in 1 2 3 4 5; do
    log=$logs/nested-$round.log
    if [ -n "$tcg" ]; then run_here; else run_in_machine; fi
    # If the log has neither of these lines, the machine itself has panicked, or was reset without a
    # message.
    ! has_text '^nested: done$' && ! has_text '^virtio-cuda-exit' || break
    [ -z "$tcg" ] && [ $SECONDS -lt "$limit" ] && [ "$round" -lt 5 ] || break
    passed+=$(passed_cases)
    echo 'nested: the machine with KVM ended or stopped; running the other cases in a new one'
done
if ! has_text '^nested: done$'; then
    echo "nested: FAIL: the cases did not end, or took longer than $limit s; the end of $log:"
    grep -va "^host: alive" "$log" | tail -n 40 | sed "s/^/| /"
    exit 1
fi
if has_text '^nested: .*: FAIL'; then
    echo "nested: the log is $log"
    exit 1
fi
