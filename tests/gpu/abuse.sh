# shellcheck shell=bash
# The rows of quotas.sh with operations that may take GPU time without being charged for it. quotas.sh
# sources this file.

# The operations, in the order of their rows. Launches from the device need machine code, which softgpu
# can't execute.
abuse_kinds() {
    local all='alloc create pool small array texture register pinned hostcopy hostset reads context green streams'
    all+=' image graph stack l2 programs'
    [ "$driver" = softgpu ] || all+=' children'
    echo "${kinds:-$all}"
}

# abuse KIND VM: starts loads that repeat this operation, one for each of the --attackers.
abuse() {
    local number
    for number in $(seq "$attackers"); do
        case $1 in
            children) load "$1-$number" "$2" abusedynamic "${shape[@]}" --rate "$rate" --seconds "$seconds" ;;
            programs)
                start_programs "$2" >"$out/$row-$1-$number.json" 2>"$out/$row-$1-$number.err" &
                load_pids+=($!) load_names+=("$1-$number")
                ;;
            *) load "$1-$number" "$2" abuse --kind "$1" --seconds "$seconds" ;;
        esac
    done
}

# operations_of KIND: prints the operations per second of all loads of this kind.
operations_of() {
    local number sum=0
    for number in $(seq "$attackers"); do sum=$(calc "$sum + $(field "$1-$number" per_second)"); done
    echo "$sum"
}

# start_programs VM: starts short programs one after another.
start_programs() {
    local count=0
    sleep_until "$at"
    while [ "$(date +%s%N)" -lt $((at + seconds * 1000000000)) ]; do
        in_vm "$1" timeout 60 "$programs/abuse" --kind l2 --seconds 0 >/dev/null || return 1
        count=$((count + 1))
    done
    echo "{\"per_second\":$(calc "$count / ($(date +%s%N) - $at) * 1e9")}"
}

# charged VM: prints the GPU time that the VM has been charged for so far, in ns.
charged() {
    "$dist/bin/vcudactl" --socket "$work/control.sock" --json vm show "$1" | sed -n 's/.*"gpu_ns": \([0-9]*\).*/\1/p'
}

# sleep_until TIME: sleeps until TIME, in ns since 1970.
sleep_until() {
    local left=$(($1 - $(date +%s%N)))
    [ "$left" -le 0 ] || sleep "$(calc "$left / 1e9")"
}

# charged_meanwhile VM: prints the percentage of the measured time for which the VM is charged.
charged_meanwhile() {
    local before
    sleep_until "$at"
    before=$(charged "$1")
    sleep_until $((at + seconds * 1000000000))
    calc "($(charged "$1") - $before) / $seconds / 1e7"
}

# abused KIND WHAT NAME REFERENCE: checks that load NAME, in VM a, gets 90% of REFERENCE, which ran
# alone, beside the loads of KIND, in VM b. All have been started. Natively, there is no bar.
abused() {
    local what="$2 beside $1" charged='' f
    [ "$row" = abuse-native ] || charged=", charged for $(charged_meanwhile b)% of the time"
    if ! wait_loads; then
        result "$what" "failed: $(tail -qn 1 "$out/$row-$1"-*.err "$out/$row-$3.err" | tr '\n' ' ')" '' 0
        return
    fi
    f=$(of_alone "$3" "$4")
    charged="$f% of alone (beside $(operations_of "$1") a second$charged)"
    if [ "$row" = abuse-native ]; then
        note "$what" "$charged"
    else
        result "$what" "$charged" 'at least 90%' "$f >= 90"
    fi
}

# abused_kernels A B: measures kernels in VM A beside each operation in VM B.
abused_kernels() {
    local kind
    saturate_alone alone "$1" 20us || return 1
    for kind in $(abuse_kinds); do
        meet_in "$lead"
        abuse "$kind" "$2"
        saturate "beside-$kind" "$1" 20us --seconds "$seconds"
        abused "$kind" 'kernels of 20 us' "beside-$kind" alone
    done
    saturate_alone again "$1" 20us || return 1
    note 'kernels of 20 us alone, at the end' "$(of_alone again alone)% of the first time"
}

row_abuse() {
    local kind lead=2
    start_broker < <(echo "warm_workers = $((attackers + 1))"; vm a "$memory" 'compute.weight = 99'
        vm b "memory.max = \"$((6 * attackers))G\"" 'compute.weight = 1') || return 1
    abused_kernels a b || return 1
    # Clearing memory may also take memory bandwidth, which the kernels above don't need, so measure
    # memsets, too.
    alone alone-memset a operations --kind memset --seconds "$alone_seconds" || return 1
    for kind in alloc array; do
        [[ " $(abuse_kinds) " = *" $kind "* ]] || continue
        meet_in "$lead"
        abuse "$kind" b
        load "memset-$kind" a operations --kind memset --seconds "$seconds"
        abused "$kind" 'memsets of 256 MiB' "memset-$kind" alone-memset
    done
}

row_abuse-native() {
    local lead=2
    abused_kernels native native
}
