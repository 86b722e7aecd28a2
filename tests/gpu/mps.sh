#!/usr/bin/env bash
# Checks sharing = "mps" on a Linux host with an NVIDIA GPU. VMs that use MPS must run concurrently
# and within their limits, even while the scheduler gives windows to other VMs. Other VMs must not
# use MPS, and must get their share by weight. Nothing may be left behind. Needs root.
#
#   tests/gpu/mps.sh [--dist DIR] [--out DIR] [--seconds S] [--jail auto|required|off]
#
# Prints `row | case | measured | bar | pass` for each case. The exit status is 0 if all bars were
# met, and 77 if MPS isn't installed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dist=$here/../../target/dist out='' seconds=5 driver=auto jail=auto
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --out) out=${2:?--out needs a directory}; shift 2 ;;
        --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
        --jail) jail=${2:?--jail needs auto, required, or off}; shift 2 ;;
        *) echo "mps.sh: unknown argument $1; see the comment at the top of the script" >&2; exit 2 ;;
    esac
done
command -v nvidia-cuda-mps-control >/dev/null || { echo "mps.sh: nvidia-cuda-mps-control is not installed" >&2; exit 77; }
dist=$(cd "$dist" && pwd)
programs=$dist/programs/quota
out=${out:-$(mktemp -d)}
mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
chmod 755 "$work"
row=without at=0 failures=0 lead=4 settle=2
. "$here/load.sh"
trap 'kill "${load_pids[@]}" 2>/dev/null; stop_broker; rm -rf "$work"' EXIT
printf '| row | case | measured | bar | |\n|---|---|---|---|---|\n' >"$out/table.md"

# Prints the number of running MPS servers and daemons. The kernel truncates their names.
mps_processes() { pgrep -c '^nvidia-cuda-mp' || true; }
sms() { in_vm "$1" "$dist/programs/static/deviceinfo" | sed -n 's/.*multiprocessors: //p' | head -n 1; }
before=$(mps_processes)
total=$(sms native)
# Use one block per multiprocessor, so that a block from another process fits beside it.
shape=(--blocks "$total" --threads 256)
rate=$(in_vm native "$programs/saturate" --calibrate 1 "${shape[@]}") || exit 2
saturate() { load "$1" "$2" saturate "${shape[@]}" --rate "$rate" --kernel-us 400 --seconds "$seconds"; }

mps=('memory.max = "6G"' 'sharing = "mps"')
# First without the scheduler: MPS divides the GPU among its clients, and the driver time-slices
# between MPS and other processes.
start_broker < <(printf 'warm_workers = 1\nscheduler = "off"\n'
    vm a "${mps[@]}" 'mps.active_thread_percentage = "50%"'
    vm b "${mps[@]}" 'mps.active_thread_percentage = "50%"' 'mps.pinned_memory_limit = "2G"'
    vm apart 'memory.max = "6G"') || exit 1

note "multiprocessors that a guest sees: natively, without MPS, under MPS at 50%" "$total, $(sms apart), $(sms a)"
result 'a daemon and a server run' "$(mps_processes) processes" 'more than before' "$(mps_processes) > $before"

meet_in "$lead"; saturate alone-a a; wait_loads || exit 1
meet_in "$lead"; saturate alone-b b; wait_loads || exit 1
meet_in "$lead"; saturate a a; saturate b b; wait_loads || exit 1
both=$(calc "100 * $(field a per_second) / $(field alone-a per_second) + 100 * $(field b per_second) / $(field alone-b per_second)")
result 'two at once with one block per multiprocessor, relative to each alone' "$both%" 'at least 150%' "$both >= 150"

meet_in "$lead"; saturate alone-apart apart; wait_loads || exit 1
meet_in "$lead"; saturate shared a; saturate apart apart; wait_loads || exit 1
beside=$(calc "100 * $(field apart per_second) / $(field alone-apart per_second)")
result 'a VM without MPS beside one with MPS gets half' "$beside%" '45 to 60%' "$beside >= 45 && $beside <= 60"

limit=$(in_vm b "$dist/programs/static/deviceinfo" alloc 3G | grep -o 'allocation.*')
result 'an allocation past mps.pinned_memory_limit' "$limit" 'refused' "$([[ $limit == *refused* ]] && echo 1 || echo 0)"

# MPS doesn't guarantee that a client survives another client's fault, so report this without a bar.
meet_in "$lead"; saturate beside-fault a
sleep "$lead"
in_vm b "$dist/programs/static/illegaladdress" >"$out/fault.txt" 2>&1
faulted=$?
wait_loads 2>/dev/null && survived=continues || survived='is lost'
note "after an illegal access in one (its own program: exit code $faulted), a client beside it" "$survived"
in_vm a "$dist/programs/static/vectoradd" >"$out/after.txt" 2>&1
result 'a session after that' "$(tail -n 1 "$out/after.txt")" 'passes' "$([ "$(tail -n 1 "$out/after.txt")" = 'vectoradd: PASS' ] && echo 1 || echo 0)"

# With the scheduler: the two VMs under MPS share their windows.
row=windows
start_broker < <(printf 'warm_workers = 1\n'
    vm a "${mps[@]}" 'compute.weight = 100' 'mps.active_thread_percentage = "50%"'
    vm b "${mps[@]}" 'compute.weight = 100' 'compute.max = "50%"'
    vm apart 'memory.max = "6G"' 'compute.weight = 100') || exit 1

# done_of NAME REFERENCE: prints the rate of a load in percent of a reference load's.
done_of() { calc "100 * $(field "$1" per_second) / $(field "$2" per_second)"; }

capped=$(sms b)
result 'multiprocessors with compute.max = "50%" under MPS' "$capped of $total" 'half, up to 2 more' \
    "$capped >= $total / 2 - 1 && $capped <= $total / 2 + 2"

for name in a b apart; do
    meet_in "$lead"; saturate "alone-$name" "$name"; wait_loads || exit 1
done
meet_in "$lead"; saturate a a; saturate b b; wait_loads || exit 1
fa=$(done_of a alone-a) fb=$(done_of b alone-b)
result 'scheduler on: two at once, each relative to alone' "$fa% and $fb%" 'each at least 75%' "$fa >= 75 && $fb >= 75"

meet_in "$lead"; saturate beside-a a; saturate beside-b b; saturate beside-apart apart; wait_loads || exit 1
fa=$(done_of beside-a alone-a) fb=$(done_of beside-b alone-b) third=$(done_of beside-apart alone-apart)
result 'a VM without MPS beside both, weights 100 and 100 + 100' "$third%" '33 ± 3%' "$third >= 30.33 && $third <= 36.33"
result 'both VMs under MPS beside it, each relative to alone' "$fa% and $fb%" 'each at least 50%, of 67%' "$fa >= 50 && $fb >= 50"

"$dist/bin/vcudactl" --socket "$work/control.sock" vm set apart --compute-weight 600 >>"$out/$row-set.txt" 2>&1 || exit 1
meet_in "$lead"; saturate changed-a a; saturate changed-b b; saturate changed-apart apart; wait_loads || exit 1
third=$(done_of changed-apart alone-apart)
result 'the VM without MPS after its weight was changed to 600' "$third%" '75 ± 3%' "$third >= 72 && $third <= 78"

stop_broker
for _ in $(seq 50); do [ "$(mps_processes)" -gt "$before" ] || break; sleep 0.2; done
result 'after vcudad has exited' "$(mps_processes) processes, $(find /run/virtio-cuda -name 'virtio-cuda-mps-*' 2>/dev/null | wc -l) directories" \
    'as before' "$(mps_processes) == $before && $(find /run/virtio-cuda -name 'virtio-cuda-mps-*' 2>/dev/null | wc -l) == 0"
echo
cat "$out/table.md"
exit $((failures > 0))
