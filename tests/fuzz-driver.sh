#!/usr/bin/env bash
# Attacks the guest driver in user-mode Linux: processes of an unprivileged user perform random
# ioctls, mmaps, and other operations on the device, on memory that changes meanwhile, and are killed.
# Prints how often each operation had which result.
#
#   tests/fuzz-driver.sh [--dist DIR] [--seconds N] [--seed S] [--debug]
#
#   --dist DIR    the staged build (target/dist)
#   --seconds N   how long to attack (15)
#   --seed S      determines the operations of each thread (random, printed)
#   --debug       in a kernel that detects invalid memory accesses, leaks, and wrong use of locks
#                 (images/uml-kernel.sh --debug builds it)
#
# Fails if the kernel prints a warning, an operation has a result that the uAPI header rules out, a
# CUDA program fails meanwhile, or anything is left afterwards. See tests/src/bin/driver-fuzz/main.rs.
# The kernel's messages and the device's log are in target/fuzz-driver.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
. tests/lib.sh

dist=target/dist seconds=15 seed=$RANDOM debug=
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
        --seed) seed=${2:?--seed needs a number}; shift 2 ;;
        --debug) debug=yes; shift ;;
        *) echo "fuzz-driver.sh: unknown argument $1; see the comment at the top of the script" >&2; exit 2 ;;
    esac
done
dist=$(cd "$dist" && pwd)
out="${CARGO_TARGET_DIR:-$PWD/target}/fuzz-driver"
mkdir -p "$out"

bin=$(scripts/build-release.sh)
kernel=$dist/uml/linux module=$dist/guest/virtio_cuda.ko
if [ -n "$debug" ]; then
    kernel=$(images/uml-kernel.sh --debug --print)/linux
    images/kmod-build.sh uml-debug guest-driver "$out/kmod"
    module=$out/kmod/virtio_cuda.ko
fi

work=$(mktemp -d)
trap 'stop_device; rm -rf "$work"' EXIT
rm -f "$out"/*.log
# The device must have room for the sessions of all attackers and for the program that must pass. A
# session can attach little memory, so that the attackers can't use all that the driver allows.
start_device "$dist" "$work/socket" "$out/device.log" --driver-library softgpu --sessions-max 64 \
    --pinned-max 32M --memory-max 1G
echo "attacking the driver for $seconds s with seed $seed"
status=0
"$dist/bin/vcuda-run" --vmm uml --socket "$work/socket" --uml-kernel "$kernel" --module "$module" \
    --mem 1G --cpus 2 --timeout $((seconds * 3 + 600)) --log "$out/kernel.log" \
    --env LD_LIBRARY_PATH="$dist/guest" -- \
    "$bin/driver-fuzz" --seconds "$seconds" --seed "$seed" \
    --module "$module" --heartbeat "$dist/programs/static/vectoradd" || status=$?
# The kernel's warnings since the attack began, each with the lines that follow. User-mode Linux itself
# reads a process's mappings without a lock when it unmaps files' pages: "suspicious RCU usage".
warnings='BUG|WARNING|KASAN|UBSAN|ODEBUG|Oops|Kernel panic|INFO: |refcount_t|corruption|Bad (page|rss)|kmemleak|leaking|did not confirm|refused to end'
if sed '1,/driver-fuzz: the attack begins/d; /suspicious RCU usage/d' "$out/kernel.log" |
    grep -E -A 40 "$warnings"; then
    echo "wrong: the kernel has printed a warning" >&2
    status=1
fi
[ "$status" = 0 ] || echo "logs: $out/kernel.log $out/device.log" >&2
exit "$status"
