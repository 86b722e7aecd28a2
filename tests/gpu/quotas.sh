#!/usr/bin/env bash
# Measures how precisely quotas are enforced on programs that don't know about quotas, on a Linux
# host with an NVIDIA GPU. Needs root but no network. The reference for each row (a single program,
# through the device or directly on the GPU) is measured in the same run.
#
#   tests/gpu/quotas.sh [--dist DIR] [--out DIR] [--seconds S] [--driver auto|softgpu|PATH]
#                       [--jail auto|required|off] [--kinds "KIND..."] [--attackers N] [ROW...]
#
# ROW is one or more of
#   shares       two saturating VMs at 30/70, with short kernels, long kernels, graphs, a mix of
#                kernels and copies, and small kernels against large ones
#   ten          ten VMs at 10% each
#   extremes     two saturating VMs at 1/99
#   cap          a cap of 25% with the GPU otherwise idle
#   unsaturated  two VMs that don't saturate the GPU, compared with the driver's time-slicing
#   loop         a VM that doesn't saturate the GPU beside one that does
#   throughput   the total work of two saturating VMs, compared with one
#   copies       a VM that copies beside one that saturates the GPU
#   alone        a single VM with the scheduler on, compared with the scheduler off
#   latency      a VM with class = "latency" beside a batch VM
#   memory       10,000 random sequences of allocations, compared with NVML
#   modules      10,000 generated modules, compared with NVML
#   limits       a program that tries for a minute to exceed its VM's quota in all ways that it knows
#   amounts      the driver's memory for graphs, stacks, streams, and kernels with printf, malloc, or
#                launches, directly on the GPU, compared with what VMs are charged for it, without a bar
#   operations   a VM that saturates the GPU beside one with a weight of 1% that repeats operations
#                which aren't kernels; and whether one VM's data stays in the L2 cache
#   abuse        the same beside operations for which the driver may use the GPU by itself: those of
#                tests/programs/quota/abuse.cu, starts of programs (programs), and launches from the
#                device (children), or those in --kinds; each in one session, or in --attackers
#   abuse-native the same with native processes instead of VMs, without a bar (only if named)
#   long         VMs whose kernels outlast their windows: shares, a cap, ten VMs, a kernel that never
#                ends, and a changed weight
#   sessions     a VM with one session beside a VM with eight, with long kernels
#   late         a VM beside a kernel that never ends, which begins when a host function returns after
#                its VM's turn
#   request      a latency VM's requests beside kernels of 1 ms, 100 ms, and one that never ends
#   contexts     the same requests beside a kernel that never ends, while a third VM creates and
#                destroys contexts in a loop, or starts programs in a loop
#   noise        a noisy neighbor
#   weight       a weight changed under load
#   second       a latency VM's requests beside kernels of 1 ms, on the batch VM's second GPU
#   gang         two VMs on the same two GPUs, with interdependent kernels (takes 60 s)
#   torch        PyTorch with and without the device, if it's installed
# By default, the script runs every row for which the machine has enough GPUs. --seconds (default
# 10) is the time during which work is counted. With softgpu, kernels have a single block and the
# numbers aren't meaningful, so such a run only tests the script itself. Prints `row | case |
# measured | bar | pass` for each case, and finally a Markdown table, which is also in table.md in
# the --out directory. The exit status is 0 if all bars were met.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dist=$here/../../target/dist out='' seconds=10 driver=auto jail=auto kinds='' attackers=1 rows=()
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --out) out=${2:?--out needs a directory}; shift 2 ;;
        --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
        --driver) driver=${2:?--driver needs a library}; shift 2 ;;
        --jail) jail=${2:?--jail needs auto, required, or off}; shift 2 ;;
        --attackers) attackers=${2:?--attackers needs a number}; shift 2 ;;
        --kinds) kinds=${2:?--kinds needs a list}; shift 2 ;;
        -*) echo "quotas.sh: unknown argument $1; see the comment at the top of the script" >&2; exit 2 ;;
        *) rows+=("$1"); shift ;;
    esac
done
[ -x "$dist/bin/vcudad" ] || { echo "quotas.sh: $dist contains no staged files: run make stage-gpu" >&2; exit 2; }
dist=$(cd "$dist" && pwd)
programs=$dist/programs/quota
out=${out:-$(mktemp -d)}
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out"/table.md
work=$(mktemp -d)
chmod 755 "$work"
row=quotas at=0 failures=0
# Seconds from the start of a load until its work is counted, and from the start of a broker until
# its warm workers are ready.
lead=3 settle=2
. "$here/load.sh"
. "$here/latency.sh"
. "$here/abuse.sh"
trap 'kill "${load_pids[@]}" 2>/dev/null; stop_broker; rm -rf "$work"' EXIT

if [ "$driver" = softgpu ]; then
    shape=(--blocks 1 --threads 32) small=(--blocks 1 --threads 32)
    export SOFTGPU_DEVICES=2 SOFTGPU_MEMORY=64G
    gpus=2 gpu=softgpu version=none
else
    shape=() small=(--blocks 8 --threads 256)
    gpus=$(nvidia-smi -L | grep -c '^GPU') || { echo "quotas.sh: nvidia-smi shows no GPU" >&2; exit 2; }
    gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
    version=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)
fi
alone_seconds=$(awk "BEGIN { s = $seconds / 2; print (s > 5 ? 5 : s) }")
memory='memory.max = "6G"'

# Calibrates the iterations per microsecond for both grid shapes, directly on the idle GPU, so that
# kernels have the same length in all processes.
calibrated() {
    rate=$(in_vm native "$programs/saturate" --calibrate 1 "${shape[@]}") &&
        small_rate=$(in_vm native "$programs/saturate" --calibrate 1 "${small[@]}")
}

# saturate NAME VM KIND [ARGUMENT...]: starts a load of this kind.
saturate() {
    local name=$1 vm=$2 kind=$3
    shift 3
    case $kind in
        20us) set -- --kernel-us 20 "$@" ;;
        400us) set -- --kernel-us 400 "$@" ;;
        1ms) set -- --kernel-us 1000 "$@" ;;
        graphs) set -- --mode graphs --kernel-us 20 "$@" ;;
        mix) set -- --mode mix --kernel-us 50 "$@" ;;
        small) set -- --kernel-us 20 "$@" ;;
        copies) set -- --mode copies "$@" ;;
    esac
    if [ "$kind" = small ]; then
        load "$name" "$vm" saturate "${small[@]}" --rate "$small_rate" "$@"
    else
        load "$name" "$vm" saturate "${shape[@]}" --rate "$rate" "$@"
    fi
}

# saturate_alone NAME VM KIND: runs a load of this kind without other loads, as a reference.
saturate_alone() {
    meet_in "$lead"
    saturate "$@" --seconds "$alone_seconds"
    wait_loads
}

# of_alone NAME REFERENCE: prints a load's rate in percent of REFERENCE, which ran alone.
of_alone() { calc "100 * $(field "$1" per_second) / $(field "$2" per_second)"; }

# split CASE NAME_A REFERENCE_A NAME_B REFERENCE_B SHARE_A: checks that load NAME_A's share of the work of
# two loads is SHARE_A. The references ran alone.
split() {
    local what=$1 promised=$6 fa fb share
    fa=$(of_alone "$2" "$3") fb=$(of_alone "$4" "$5")
    share=$(calc "100 * $fa / ($fa + $fb)")
    result "$what" "$share / $(calc "100 - $share") (work: $fa + $fb = $(calc "$fa + $fb")% of alone)" \
        "$promised ± 1" "$share >= $promised - 1 && $share <= $promised + 1"
}

# pair CASE KIND_A KIND_B SHARE_A: runs loads of both kinds at once in VMs a and b, and checks that
# a's share of the work is SHARE_A.
pair() {
    local what=$1 a=$2 b=$3 promised=$4
    saturate_alone "alone-$a" b "$a" || return 1
    [ "$a" = "$b" ] || saturate_alone "alone-$b" b "$b" || return 1
    meet_in "$lead"
    saturate "$a-a" a "$a" --seconds "$seconds"
    saturate "$b-b" b "$b" --seconds "$seconds"
    wait_loads || return 1
    split "$what" "$a-a" "alone-$a" "$b-b" "alone-$b" "$promised"
}

row_shares() {
    start_broker < <(echo 'warm_workers = 2'; vm a "$memory" 'compute.weight = 30'; vm b "$memory" 'compute.weight = 70') || return 1
    pair '30/70, kernels of 20 us' 20us 20us 30
    pair '30/70, kernels of 400 us' 400us 400us 30
    pair '30/70, graphs of 50 kernels' graphs graphs 30
    pair '30/70, kernels, copies and memsets' mix mix 30
    pair '30/70, small kernels against large' small 400us 30
}

row_ten() {
    local i least=1000 most=0 sum=0 f
    start_broker < <(echo 'warm_workers = 10'; for i in 0 1 2 3 4 5 6 7 8 9; do vm "t$i" "$memory"; done) || return 1
    saturate_alone alone t0 20us --wait poll || return 1
    # Ten VMs start at once, so allow more time.
    meet_in $((2 * lead))
    for i in 0 1 2 3 4 5 6 7 8 9; do saturate "$i" "t$i" 20us --wait poll --seconds "$seconds"; done
    wait_loads || return 1
    for i in 0 1 2 3 4 5 6 7 8 9; do
        f=$(of_alone "$i" alone)
        sum=$(calc "$sum + $f")
        least=$(calc "$f < $least ? $f : $least") most=$(calc "$f > $most ? $f : $most")
    done
    result 'ten VMs at equal weights' "$least to $most (sum $sum% of alone)" '10 ± 1' \
        "$least >= 9 && $most <= 11"
}

row_extremes() {
    local fa fb share settled=3
    start_broker < <(echo 'warm_workers = 2'; vm a "$memory" 'compute.weight = 1'; vm b "$memory" 'compute.weight = 99') || return 1
    saturate_alone alone b 20us || return 1
    # Whichever VM starts first has the GPU to itself for a moment. A few milliseconds of that are a
    # debt of half a second at a weight of 1%, so the VMs first run for long enough to pay for it.
    meet_in $((lead + settled))
    saturate a a 20us --warmup "$settled" --seconds "$seconds"
    saturate b b 20us --warmup "$settled" --seconds "$seconds"
    wait_loads || return 1
    fa=$(of_alone a alone) fb=$(of_alone b alone) share=$(calc "100 * $fa / ($fa + $fb)")
    result '1/99' "$share / $(calc "100 - $share") (work: $fa + $fb% of alone)" \
        'within 1 point and 10%: 0.9 to 1.1; at least 89.1' "$share >= 0.9 && $share <= 1.1 && $fb >= 89.1"
}

row_cap() {
    local kind f
    start_broker < <(echo 'warm_workers = 2'; vm free "$memory"; vm capped "$memory" 'compute.max = "25%"') || return 1
    for kind in 20us 400us; do
        saturate_alone "alone-$kind" free "$kind" || return 1
        meet_in "$lead"
        saturate "capped-$kind" capped "$kind" --seconds "$seconds"
        wait_loads || return 1
        f=$(of_alone "capped-$kind" "alone-$kind")
        result "cap of 25%, otherwise idle GPU, kernels of ${kind/us/ us}" "$f% of alone" '25 ± 1' "$f >= 24 && $f <= 26"
    done
}

# chain NAME VM [ARGUMENT...]: starts a load of kernel chains.
chain() {
    local name=$1 vm=$2
    shift 2
    load "$name" "$vm" chain "${chain_shape[@]}" --rate "$chain_rate" "$@"
}

# The kernels of a small network don't fill the GPU, so use the small shape and its calibration.
chain_calibrated() {
    chain_shape=("${small[@]}") chain_rate=$small_rate
}

row_unsaturated() {
    local who a b
    chain_calibrated
    start_broker < <(echo 'warm_workers = 2'; vm a "$memory"; vm b "$memory") || return 1
    alone alone-native native chain "${chain_shape[@]}" --rate "$chain_rate" --seconds "$alone_seconds" || return 1
    alone alone-device a chain "${chain_shape[@]}" --rate "$chain_rate" --seconds "$alone_seconds" || return 1
    note 'a chain of 180 kernels alone, requests/s (mean ms)' \
        "natively $(field alone-native per_second) ($(field alone-native mean)), through the device $(field alone-device per_second) ($(field alone-device mean))"
    for who in native device; do
        meet_in "$lead"
        for vm in a b; do
            if [ $who = native ]; then
                chain "native-$vm" native --seconds "$seconds"
            else
                chain "device-$vm" "$vm" --seconds "$seconds"
            fi
        done
        wait_loads || return 1
    done
    a=$(calc "$(field device-a per_second) / $(field native-a per_second)")
    b=$(calc "$(field device-b per_second) / $(field native-b per_second)")
    result 'two such chains, relative to two native processes' \
        "$a and $b ($(field device-a per_second) and $(field device-b per_second) requests/s, natively $(field native-a per_second) and $(field native-b per_second))" \
        'each at least 0.95' "$a >= 0.95 && $b >= 0.95"
}

# One VM copies 1 MiB blocks from pinned memory while another runs kernels.
row_copies() {
    local fa fb of_kernels weight
    for weight in 50 30; do
        start_broker < <(echo 'warm_workers = 2'; vm a "$memory" "compute.weight = $((100 - weight))"
            vm b "$memory" "compute.weight = $weight") || return 1
        saturate_alone alone-400us a 400us || return 1
        saturate_alone alone-copies b copies || return 1
        meet_in "$lead"
        saturate kernels a 400us --seconds "$seconds"
        saturate copies b copies --seconds "$seconds"
        wait_loads || return 1
        fa=$(of_alone kernels alone-400us) fb=$(of_alone copies alone-copies)
        of_kernels=$(calc "100 * $fb / $fa")
        if [ $weight = 50 ]; then
            result 'copies beside kernels of 400 us, equal weights, each relative to alone' \
                "kernels $fa%, copies $fb%" 'each at least 95%' "$fa >= 95 && $fb >= 95"
        else
            result 'the same with weight 30 for the copies and 70 for the kernels' \
                "kernels $fa%, copies $fb%: $of_kernels% of the kernels" \
                'kernels at least 95%, copies 30/70 (42.9%) of them ± 3' \
                "$fa >= 95 && $of_kernels >= 39.9 && $of_kernels <= 45.9"
        fi
    done
}

# One VM sends requests one after another, beside a VM that always has work.
row_loop() {
    local fa fb
    chain_calibrated
    start_broker < <(echo 'warm_workers = 2'; vm a "$memory"; vm b "$memory") || return 1
    alone alone-chain a chain "${chain_shape[@]}" --rate "$chain_rate" --seconds "$alone_seconds" || return 1
    saturate_alone alone-20us b 20us || return 1
    meet_in "$lead"
    chain chain a --seconds "$seconds"
    saturate beside b 20us --seconds "$seconds"
    wait_loads || return 1
    fa=$(of_alone chain alone-chain) fb=$(of_alone beside alone-20us)
    result 'such a chain in a closed loop beside kernels of 20 us, equal weights' \
        "$fa% and $fb% of alone (mean $(field chain mean) ms)" 'each at least 45%' "$fa >= 45 && $fb >= 45"
}

row_throughput() {
    local fa fb kind
    start_broker < <(echo 'warm_workers = 2'; vm a "$memory"; vm b "$memory") || return 1
    for kind in 20us 400us; do
        saturate_alone "alone-$kind" a "$kind" || return 1
        meet_in "$lead"
        saturate "$kind-a" a "$kind" --seconds "$seconds"
        saturate "$kind-b" b "$kind" --seconds "$seconds"
        wait_loads || return 1
        fa=$(of_alone "$kind-a" "alone-$kind") fb=$(of_alone "$kind-b" "alone-$kind")
        result "two VMs at once, kernels of ${kind/us/ us}, relative to one alone" "$(calc "$fa + $fb")% ($fa + $fb)" 'at least 97%' \
            "$fa + $fb >= 97"
    done
    saturate_alone native-alone native 20us || return 1
    meet_in "$lead"
    saturate native-a native 20us --seconds "$alone_seconds"
    saturate native-b native 20us --seconds "$alone_seconds"
    wait_loads || return 1
    fa=$(of_alone native-a native-alone) fb=$(of_alone native-b native-alone)
    note "the driver's own slicing, kernels of 20 us, two native processes relative to one" "$(calc "$fa + $fb")% ($fa + $fb)"
}

# Two brokers, one without a scheduler, run at the same time. Each measurement with one of them comes
# right after one with the other, so that changes in clock speed affect both.
row_alone() {
    local kind turn mode ratio error
    chain_calibrated
    start_broker < <(echo 'warm_workers = 1'; echo 'scheduler = "off"'; vm off "$memory") || return 1
    another_broker < <(echo 'warm_workers = 1'; vm on "$memory") || return 1
    for kind in 20us chain; do
        for turn in 1 2 3 4; do
            for mode in $([ $((turn % 2)) = 0 ] && echo off on || echo on off); do
                meet_in "$lead"
                case $kind in
                    20us) saturate "$kind-$mode-$turn" "$mode" 20us --seconds "$alone_seconds" ;;
                    chain) chain "$kind-$mode-$turn" "$mode" --seconds "$alone_seconds" ;;
                esac
                wait_loads || return 1
            done
        done
        read -r ratio error < <(python3 - "$out/$row-$kind" <<'END'
import json, math, statistics, sys
rate = lambda mode, turn: json.loads(open(f"{sys.argv[1]}-{mode}-{turn}.json").read().splitlines()[-1])["per_second"]
logs = [math.log(rate("on", turn) / rate("off", turn)) for turn in range(1, 5)]
error = statistics.stdev(logs) / math.sqrt(len(logs))
print(f"{100 * math.exp(statistics.mean(logs)):.2f} {100 * error:.2f}")
END
        )
        result "relative to no scheduler: $([ $kind = chain ] && echo 'the chain' || echo 'kernels of 20 us')" \
            "$ratio% (± $error, the standard error of 4 pairs)" 'at least 99.5%' "$ratio >= 99.5"
    done
    launches_alone
}

# A CPU's launch rate can vary by a third from one tenth of a second to the next, depending on the
# load of other CPUs. The two brokers therefore use the GPU in alternating half seconds, and each
# slot is compared with the other broker's slots before and after it. The result includes the
# remaining noise.
launches_alone() {
    local mode slot=0 slots ratio error
    slots=$((6 * ${seconds%.*}))
    meet_in "$lead"
    for mode in off on; do
        load "launches-$mode" "$mode" saturate "${small[@]}" --rate "$small_rate" --kernel-us 1 \
            --slot-ms 500 --slot "$slot" --seconds "$(calc "($slots + 1) / 2")"
        slot=1
    done
    wait_loads || return 1
    read -r ratio error < <(python3 - "$out/$row-launches-on.json" "$out/$row-launches-off.json" <<'END'
import json, math, statistics, sys
on, off = (json.load(open(path))["per_100ms"] for path in sys.argv[1:])
# Skip the first 100 ms of each slot, in which the load is still starting.
work = lambda bins, slot: sum(bins[5 * slot + 1:5 * slot + 5])
slots = range(1, len(on) // 5 - 1, 2)
logs = [math.log(2 * work(on, at) / (work(off, at - 1) + work(off, at + 1))) for at in slots]
error = statistics.stdev(logs) / math.sqrt(len(logs))
print(f"{100 * math.exp(statistics.mean(logs)):.2f} {100 * error:.2f}")
END
    )
    result 'relative to no scheduler: kernels of 1 us, launched as fast as possible' \
        "$ratio% (± $error, the standard error of $((slots / 2)) alternating half seconds)" \
        'at least 99.5%, within two standard errors' "$ratio + 2 * $error >= 99.5"
}

# outlast NAME VM US [ARGUMENT...]: starts a load of kernels of this length, or of one that never ends
# if US is 0.
outlast() {
    local name=$1 vm=$2 us=$3
    shift 3
    load "$name" "$vm" outlast "${shape[@]}" --rate "$rate" --kernel-us "$us" "$@"
}

outlast_alone() {
    meet_in "$lead"
    outlast "$@" --seconds "$alone_seconds"
    wait_loads
}

row_long() {
    local share us i least=1000 most=0 sum=0 f
    start_broker < <(echo 'warm_workers = 2'; vm a "$memory" 'compute.weight = 30'; vm b "$memory" 'compute.weight = 70') || return 1
    for us in 5000 50000 500000; do
        outlast_alone "alone-$us" b "$us" || return 1
        meet_in "$lead"
        outlast "a-$us" a "$us" --seconds "$seconds"
        outlast "b-$us" b "$us" --seconds "$seconds"
        wait_loads || return 1
        split "30/70, kernels of $((us / 1000)) ms" "a-$us" "alone-$us" "b-$us" "alone-$us" 30
    done
    saturate_alone alone-20us b 20us || return 1
    meet_in "$lead"
    saturate short a 20us --seconds "$seconds"
    outlast long b 500000 --seconds "$seconds"
    wait_loads || return 1
    split '30/70, kernels of 20 us against 500 ms' short alone-20us long alone-500000 30

    start_broker < <(echo 'warm_workers = 2'; vm a "$memory"; vm b "$memory"; vm capped "$memory" 'compute.max = "25%"') || return 1
    meet_in "$lead"
    saturate beside a 20us --seconds $((3 * ${seconds%.*}))
    outlast endless b 0 --seconds $((3 * ${seconds%.*}))
    wait_loads || return 1
    f=$(of_alone beside alone-20us)
    result "kernels of 20 us beside one that never ends, equal weights, $((3 * ${seconds%.*})) s" \
        "$f% of alone (the other: $(of_alone endless alone-500000)%)" '50 ± 1' "$f >= 49 && $f <= 51"
    meet_in "$lead"
    outlast capped capped 200000 --seconds "$seconds"
    wait_loads || return 1
    f=$(of_alone capped alone-500000)
    result 'cap of 25%, otherwise idle GPU, kernels of 200 ms' "$f% of alone" '25 ± 1' "$f >= 24 && $f <= 26"
    meet_in "$lead"
    outlast weight-a a 500000 --seconds 4
    outlast weight-b b 500000 --seconds 4
    local change=$((at + 2000000000)) bins=0 shares=()
    sleep "$(calc "($change - $(date +%s%N)) / 1e9 - 0.01")"
    "$dist/bin/vcudactl" --socket "$work/control.sock" vm set a --compute-weight 25 >"$out/long-set.txt" 2>&1
    wait_loads || return 1
    for i in 21 22 23 24 25 26 27 28 29 30 31 32 33; do
        share=$(calc "100 * $(bin weight-a $i) / ($(bin weight-a $i) + $(bin weight-b $i) + 0.001)")
        shares+=("$share") sum=$(calc "$sum + $share") bins=$((bins + 1))
    done
    result 'weights changed from 100:100 to 25:100, kernels of 500 ms, share per 100 ms' \
        "from 100 ms after it: ${shares[*]}: $(calc "$sum / $bins")" 'average 20 ± 2' \
        "$sum / $bins >= 18 && $sum / $bins <= 22"

    start_broker < <(echo 'warm_workers = 10'; for i in 0 1 2 3 4 5 6 7 8 9; do vm "t$i" "$memory"; done) || return 1
    meet_in $((2 * lead))
    for i in 0 1 2 3 4 5 6 7 8 9; do outlast "$i" "t$i" 20000 --seconds "$seconds"; done
    wait_loads || return 1
    sum=0
    for i in 0 1 2 3 4 5 6 7 8 9; do
        f=$(of_alone "$i" alone-500000)
        sum=$(calc "$sum + $f")
        least=$(calc "$f < $least ? $f : $least") most=$(calc "$f > $most ? $f : $most")
    done
    result 'ten VMs at equal weights, kernels of 20 ms' "$least to $most (sum $sum% of alone)" \
        '10 ± 1, sum at least 95%' "$least >= 9 && $most <= 11 && $sum >= 95"
}

row_sessions() {
    local i f
    start_broker < <(echo 'warm_workers = 2'; vm a "$memory"; vm b "$memory") || return 1
    outlast_alone alone b 100000 || return 1
    meet_in $((2 * lead))
    for i in 1 2 3 4 5 6 7 8; do outlast "$i" a 100000 --seconds "$seconds"; done
    outlast single b 100000 --seconds "$seconds"
    wait_loads || return 1
    f=$(of_alone single alone)
    result 'a single session beside a VM with 8, kernels of 100 ms, equal weights' "$f% of alone" '50 ± 2' "$f >= 48 && $f <= 52"
}

row_late() {
    local f begins=$((lead + 1)) spin
    start_broker < <(echo 'warm_workers = 2'; vm late "$memory" 'compute.weight = 1'; vm other "$memory" 'compute.weight = 99') || return 1
    saturate_alone alone other 20us || return 1
    meet_in "$lead"
    # The host function returns at the end of its input, when the other VM has the GPU.
    sleep "$begins" | in_vm late timeout "$((begins + seconds))" "$dist/programs/static/spin" late >"$out/late-spin.txt" 2>&1 &
    spin=$!
    saturate other other 20us --seconds "$seconds"
    wait_loads || return 1
    wait "$spin"
    [ $? -eq 124 ] || { say "late: the kernel has ended: $(tail -n 2 "$out/late-spin.txt")"; return 1; }
    f=$(of_alone other alone)
    result 'kernels of 20 us, weight 99, beside a kernel that never ends and begins after its turn, behind a host function' \
        "$f% of alone" 'at least 95%' "$f >= 95"
}

row_memory() {
    local line charged used first='' least=0 most=0 drift samples=0
    if [ "$driver" = softgpu ]; then say "memory: softgpu has no NVML"; return 0; fi
    start_broker < <(echo 'warm_workers = 1'; vm a 'memory.max = "8G"') || return 1
    local smi=(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i 0)
    coproc churn { in_vm a "$programs/churn" --sequences 10000 --max 512 --pause-every 400 2>"$out/memory.err"; }
    local from=${churn[0]} to=${churn[1]} pid=$churn_PID
    while read -r -u "$from" line; do
        case $line in
            held*)
                used=$("${smi[@]}")
                # The difference between NVML's used memory and what the VM is charged for, in MiB,
                # compared with the first sample.
                charged=$("$dist/bin/vcudactl" --socket "$work/control.sock" --json vm show a |
                    sed -n 's/.*"memory_charged": \([0-9]*\).*/\1/p' | head -n 1)
                drift=$(calc "$used - $charged / 1048576")
                first=${first:-$drift}
                drift=$(calc "$drift - $first") samples=$((samples + 1))
                least=$(calc "$drift < $least ? $drift : $least") most=$(calc "$drift > $most ? $drift : $most")
                echo "$line nvml $used drift $drift" >>"$out/memory.txt"
                echo >&"$to"
                ;;
            *) echo "$line" >"$out/memory-churn.json" ;;
        esac
    done
    if ! wait "$pid"; then say "memory: churn failed: $(tail -n 2 "$out/memory.err")"; return 1; fi
    result '10,000 random sequences of allocations: no leak, no drift in cudaMemGetInfo' \
        "$(field churn granted) granted, $(field churn refused) refused" 'all free at the end' 1
    result "difference between NVML's memory and the VM's charged memory over $samples samples" \
        "$least to $most MiB" '± 2 MiB' \
        "$least >= -2 && $most <= 2 && $samples > 0"
}

row_modules() {
    local line used nvml first='' charged most=0 largest=0 samples=0
    if [ "$driver" = softgpu ]; then say "modules: softgpu has no NVML"; return 0; fi
    start_broker < <(echo 'warm_workers = 0'; vm a 'memory.max = "16G"') || return 1
    coproc generate { in_vm a "$programs/modules" 2>"$out/modules.err"; }
    local from=${generate[0]} to=${generate[1]} pid=$generate_PID
    while read -r -u "$from" line; do
        case $line in
            used*)
                nvml=$(nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i 0)
                used=$(calc "${line#used } / 1048576")
                # The first sample is without modules.
                first=${first:-$(calc "$nvml - $used")}
                charged=$(calc "$nvml - $used - ($first)") samples=$((samples + 1))
                most=$(calc "$charged > $most ? $charged : $most")
                largest=$(calc "$used > $largest ? $used : $largest")
                echo "$line nvml $nvml uncharged $charged" >>"$out/modules.txt"
                echo >&"$to"
                ;;
            *) echo "$line" >"$out/modules-generate.json" ;;
        esac
    done
    if ! wait "$pid"; then say "modules: failed: $(tail -n 2 "$out/modules.err")"; return 1; fi
    result "$(field generate modules) generated modules in batches of 250: memory in NVML that isn't charged" \
        "at most $most MiB in $samples samples ($(field generate refused) refused; charged up to $largest MiB)" \
        'none' "$most <= 0 && $samples > 10"
}

# Softgpu has no NVML, so a run with it only shows that the operations are accepted.
row_limits() {
    local nvml=() phase most quota=24 slack=256
    if [ "$driver" != softgpu ]; then
        # The host's library, because the program runs with the guest's.
        nvml=(--nvml "$(ldconfig -p | awk '/libnvidia-ml\.so\.1 .*x86-64/ { print $NF; exit }')")
    fi
    start_broker < <(echo 'warm_workers = 0'; vm a "memory.max = \"${quota}G\"") || return 1
    if ! in_vm a timeout --kill-after 5 240 "$programs/limits" --seconds 60 "${nvml[@]}" \
        >"$out/limits-attack.json" 2>"$out/limits.err"; then
        say "limits: failed: $(tail -n 2 "$out/limits.err")"
        return 1
    fi
    grep '^MEANINGLESS' "$out/limits.err" >&2
    result 'attack on the quota: calls' "$(field attack calls), $(field attack refused) operations refused" \
        'both' "$(field attack calls) > 1000 && $(field attack refused) > 0"
    note 'attack on the quota: processes that lost a context' "$(field attack replaced)"
    result 'attack on the quota: kinds of operations that were mostly refused' \
        "$(field attack meaningless)" 'none' "$(field attack meaningless) == 0"
    [ "$driver" != softgpu ] || return 0
    for phase in one flip all processes; do
        most=$(field attack "most_$phase")
        result "attack on the quota, $phase: the most memory in NVML" "$most MiB" \
            "at most $((quota * 1024 + slack)) MiB" "$most > 1024 && $most <= $quota * 1024 + $slack"
    done
}

row_amounts() {
    local spin=()
    [ "$driver" != softgpu ] || spin=(--spin 1000)
    if ! in_vm native timeout --kill-after 5 120 "$programs/amounts" "${spin[@]}" \
        >"$out/amounts.txt" 2>"$out/amounts.err"; then
        say "amounts: failed: $(tail -n 2 "$out/amounts.err")"
        return 1
    fi
    cat "$out/amounts.txt" >&2
    note 'the driver takes more than is charged' "$(grep -c 'UNDER$' "$out/amounts.txt") cases"
    note 'not measured' "$(grep -c '^NOT MEASURED' "$out/amounts.txt") cases"
}

row_operations() {
    local kind f fill
    start_broker < <(echo 'warm_workers = 2'; vm a 'memory.max = "6G"' 'compute.weight = 99'
        vm b 'memory.max = "6G"' 'compute.weight = 1') || return 1
    saturate_alone alone a 20us || return 1
    for kind in events events-behind-copies waits writes values hostfuncs alloc pool module memset; do
        meet_in "$lead"
        load "$kind" b operations --kind "$kind" --seconds "$seconds"
        saturate "beside-$kind" a 20us --seconds "$seconds"
        wait_loads || return 1
        f=$(of_alone "beside-$kind" alone)
        result "kernels of 20 us beside $kind, weights 99 and 1" \
            "$f% of alone (beside $(field "$kind" per_second) a second)" 'at least 96%' "$f >= 96"
    done
    start_broker < <(echo 'warm_workers = 2'; vm a "$memory"; vm b "$memory") || return 1
    for kind in fill persist; do
        meet_in "$lead"
        load "read-$kind" a operations --kind read --seconds "$seconds"
        load "$kind" b operations --kind "$kind" --seconds "$seconds"
        wait_loads || return 1
    done
    fill=$(field read-fill per_second)
    f=$(calc "100 * $(field read-persist per_second) / $fill")
    result 'reads of 24 MiB beside writes that persist in the L2 cache, relative to other writes' \
        "$f% ($(field read-persist per_second) and $fill a second)" 'at least 95%' "$f >= 95"
}

row_noise() {
    local f
    start_broker < <(echo 'warm_workers = 2'; vm a "$memory"; vm noisy 'memory.max = "2G"') || return 1
    saturate_alone alone a 20us || return 1
    meet_in "$lead"
    load noise noisy noise --seconds $((seconds + 2))
    saturate beside a 20us --seconds "$seconds"
    wait_loads || return 1
    f=$(of_alone beside alone)
    result 'a 50% share beside a noisy neighbor' \
        "$f% of alone (beside $(field noise launches) launches, $(field noise refused) refused allocations)" \
        'at least 47%' "$f >= 47"
}

# bin NAME INDEX: prints the work in a 100 ms bin. The first index is 1.
bin() { sed 's/.*"per_100ms":\[\([^]]*\)\].*/\1/' "$out/$row-$1.json" | cut -d , -f "$2"; }

row_weight() {
    local change took share i late=0 sum=0 bins=0 shares=() before=()
    start_broker < <(echo 'warm_workers = 2'; vm a "$memory"; vm b "$memory") || return 1
    meet_in "$lead"
    saturate a a 20us --seconds 4
    saturate b b 20us --seconds 4
    # Change the shares from 50/50 to 20/80 at exactly 2 s.
    change=$((at + 2000000000))
    sleep "$(calc "($change - $(date +%s%N)) / 1e9 - 0.01")"
    "$dist/bin/vcudactl" --socket "$work/control.sock" vm set a --compute-weight 25 \
        >"$out/weight-set.txt" 2>&1 || { say "weight: $(cat "$out/weight-set.txt")"; kill "${load_pids[@]}"; return 1; }
    took=$(calc "($(date +%s%N) - $change) / 1e6")
    wait_loads || return 1
    for i in 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33; do
        share=$(calc "100 * $(bin a $i) / ($(bin a $i) + $(bin b $i) + 0.001)")
        if [ "$i" -le 20 ]; then before+=("$share"); continue; fi
        shares+=("$share")
        # Check bins that start 100 ms or more after the change. VM a has only one or two windows
        # per 100 ms, so a single bin need only differ from the old share; the average must match
        # the new share.
        [ "$i" -ge 22 ] || continue
        sum=$(calc "$sum + $share") bins=$((bins + 1))
        holds "$share <= 35" || late=$((late + 1))
    done
    result 'weights changed from 100:100 to 25:100 under load, share per 100 ms' \
        "before ${before[*]}; after ${shares[*]}: $(calc "$sum / $bins") (vcudactl finished $took ms after the 2 s mark)" \
        'after 100 ms, no bin as before; average 20 ± 2' "$late == 0 && $sum / $bins >= 18 && $sum / $bins <= 22"
}

row_gang() {
    local fa fb share
    seconds=$([ "$driver" = softgpu ] && echo "$seconds" || echo 60)
    start_broker < <(echo 'warm_workers = 0'
      vm a "$memory" 'gpus = ["0", "1"]' 'compute.weight = 30'
      vm b "$memory" 'gpus = ["0", "1"]' 'compute.weight = 70') || return 1
    gang_rate=$(in_vm native "$programs/saturate" --calibrate 1 --blocks 1 --threads 256)
    alone alone b gang --rate "$gang_rate" --seconds "$alone_seconds" || return 1
    meet_in $((2 * lead))
    load a a gang --rate "$gang_rate" --seconds "$seconds"
    load b b gang --rate "$gang_rate" --seconds "$seconds"
    wait_loads || return 1
    fa=$(of_alone a alone) fb=$(of_alone b alone) share=$(calc "100 * $fa / ($fa + $fb)")
    result "30/70 on the same two GPUs, interdependent kernels, $seconds s" \
        "$share / $(calc "100 - $share"), no hang (work: $(calc "$fa + $fb")% of alone; longest pause $(field a longest_pause_ms) ms)" \
        '30 ± 2' "$share >= 28 && $share <= 32"
}

row_torch() {
    local mode native device
    if ! python3 -c 'import torch' 2>/dev/null; then say "torch: PyTorch is not installed"; return 0; fi
    start_broker < <(echo 'warm_workers = 1'; vm a 'memory.max = "16G"') || return 1
    for mode in eager graph; do
        in_vm native python3 "$here/torch_chain.py" "$mode" "$alone_seconds" \
            >"$out/torch-native-$mode.json" 2>"$out/torch-native-$mode.err" || { tail -n 3 "$out/torch-native-$mode.err" >&2; return 1; }
        in_vm a python3 "$here/torch_chain.py" "$mode" "$alone_seconds" \
            >"$out/torch-device-$mode.json" 2>"$out/torch-device-$mode.err" || { tail -n 3 "$out/torch-device-$mode.err" >&2; return 1; }
        native=$(field "native-$mode" mean) device=$(field "device-$mode" mean)
        note "PyTorch, batch 1, $mode, ms a request" "natively $native, through the device $device"
    done
}

[ ${#rows[@]} -gt 0 ] || {
    rows=(shares ten extremes cap unsaturated loop throughput copies alone latency memory modules limits amounts operations abuse long sessions late request contexts noise weight torch)
    [ "$gpus" -lt 2 ] || rows+=(second gang)
}
printf '| row | case | measured | bar | |\n|---|---|---|---|---|\n' >"$out/table.md"
calibrated || { echo "quotas.sh: cannot run CUDA programs directly on the GPU" >&2; exit 2; }
chain_calibrated
for row in "${rows[@]}"; do
    if ! declare -F "row_$row" >/dev/null; then
        echo "quotas.sh: no row $row; see the comment at the top of the script" >&2
        exit 2
    fi
    began=$(date +%s)
    if ! "row_$row"; then
        result "could not be measured" "see $row-*.err and $row-vcudad.log" '' 0
        kill "${load_pids[@]}" 2>/dev/null
        wait_loads 2>/dev/null
    fi
    stop_broker
    say "quotas.sh: $row took $(($(date +%s) - began)) s"
done
printf '\n%s, %s, driver %s, commit %s, %s s each\n\n' "$(date -u +%F)" "$gpu" "$version" \
    "$(cat "$dist/commit" 2>/dev/null)" "$seconds"
cat "$out/table.md"
exit $((failures > 0))
