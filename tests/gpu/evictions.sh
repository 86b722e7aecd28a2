#!/usr/bin/env bash
# Checks that programs whose kernels are evicted get the same results as natively, that failures beside
# evicted programs hurt nobody else, and how long evictions take, on a Linux host with an NVIDIA GPU.
# Needs root but no network.
#
#   tests/gpu/evictions.sh [--dist DIR] [--out DIR] [--evictions N] [--seconds S]
#                          [--driver auto|softgpu|PATH] [--jail auto|required|off]
#                          [--python PYTHON] [ROW...]
#
# ROW is one or more of
#   results   programs that run at the same time, as sessions of one VM, beside a VM with a kernel that
#             never ends: each run's digest is compared with that of a native run. Ends after
#             --evictions (default 10000) evictions of sessions, or after --seconds (default 60)
#   requests  the same programs, one at a time, beside a latency VM with 50 requests a second: with a
#             single session, the VM also has short time slices
#   faults    beside evicted programs: an illegal access, a killed program, a killed broker, and a
#             stopped broker
#   contexts  how long evictions take while another VM creates contexts
# By default, the script runs all of them. An eviction counts for each session that had work on the GPU:
# the broker's log lists these sessions. With softgpu, kernels have a single block, and the programs
# that need clusters or dynamic parallelism are skipped. PyTorch's programs are skipped if --python
# (default python3) doesn't have it. Prints `row | case | measured | bar | pass` for each case, and
# finally a Markdown table, which is also in table.md in the --out directory. The exit status is 0 if
# all bars were met.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dist=$here/../../target/dist out='' evictions=10000 seconds=60 driver=auto jail=auto python=python3 rows=()
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --out) out=${2:?--out needs a directory}; shift 2 ;;
        --evictions) evictions=${2:?--evictions needs a number}; shift 2 ;;
        --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
        --driver) driver=${2:?--driver needs a library}; shift 2 ;;
        --jail) jail=${2:?--jail needs auto, required, or off}; shift 2 ;;
        --python) python=${2:?--python needs a program}; shift 2 ;;
        -*) echo "evictions.sh: unknown argument $1; see the comment at the top of the script" >&2; exit 2 ;;
        *) rows+=("$1"); shift ;;
    esac
done
[ -x "$dist/bin/vcudad" ] || { echo "evictions.sh: $dist contains no staged files: run make stage-gpu" >&2; exit 2; }
dist=$(cd "$dist" && pwd)
programs=$dist/programs/quota
out=${out:-$(mktemp -d)}
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out"/table.md "$out"/*-vcudad.log "$out"/*.pids "$out"/*.runs
work=$(mktemp -d)
chmod 755 "$work"
row=evictions failures=0 settle=1
# load.sh expects these variables. Here, no load starts to count its work at an agreed time.
# shellcheck disable=SC2034
at=0 lead=0
. "$here/load.sh"
# The broker logs each eviction, with the sessions and how long it took.
export RUST_LOG=info,vcudad::gpu::compute::evictor=trace,vcudad::sessions=trace

if [ "$driver" = softgpu ]; then
    shape=(--blocks 1 --threads 32) work_ms=100 longest_ms=40 hold=256 native_tries=0
    export SOFTGPU_DEVICES=2 SOFTGPU_MEMORY=64G
    gpus=2 gpu=softgpu version=none
else
    shape=() work_ms=400 longest_ms=100 hold=8192 native_tries=2
    gpus=$(nvidia-smi -L | grep -c '^GPU') || { echo "evictions.sh: nvidia-smi shows no GPU" >&2; exit 2; }
    gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)
    version=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)
fi

# The processes and jobs of the programs that `start` started, by name.
declare -A pid_of=() job_of=()

# start NAME VM COMMAND...: starts a program, whose output goes to $out/$row-NAME.txt.
start() {
    local name=$1 vm=$2
    shift 2
    rm -f "$work/$name.pid"
    in_vm "$vm" bash -c 'echo $$ >"$0"; exec "$@"' "$work/$name.pid" "$@" \
        >"$out/$row-$name.txt" 2>"$out/$row-$name.err" &
    job_of[$name]=$!
    until [ -s "$work/$name.pid" ]; do sleep 0.01; done
    pid_of[$name]=$(<"$work/$name.pid")
}

# finish NAME [SECONDS]: waits for a program and returns its exit status. Kills it after SECONDS (default
# 60), and then returns 124.
finish() {
    local name=$1 late=$((SECONDS + ${2:-60})) status
    while kill -0 "${pid_of[$name]}" 2>/dev/null; do
        if [ $SECONDS -ge $late ]; then
            kill -9 "${pid_of[$name]}"
            wait "${job_of[$name]}" 2>/dev/null
            unset "pid_of[$name]"
            return 124
        fi
        sleep 0.05
    done
    wait "${job_of[$name]}" 2>/dev/null
    status=$?
    unset "pid_of[$name]"
    return $status
}

# Kills all programs that are still running.
stop_all() {
    local name
    for name in "${!pid_of[@]}"; do
        kill -9 "${pid_of[$name]}" 2>/dev/null
        wait "${job_of[$name]}" 2>/dev/null
    done
    pid_of=() job_of=()
}

# On exit, also ends the loops of `repeat` and the program that each of them runs.
clean_up() {
    local pid
    touch "$work/over"
    stop_all
    for pid in $(jobs -p); do
        pkill -9 -P "$pid" 2>/dev/null
    done
    [ ${#brokers[@]} -eq 0 ] || kill -CONT "${brokers[@]}" 2>/dev/null
    stop_broker
    rm -rf "$work"
}
trap clean_up EXIT

# Prints the result of a program that `start` started, or nothing.
result_of() { grep '^result: ' "$out/$row-$1.txt"; }

# number NAME KEY: prints a number from the JSON that a program printed.
number() { sed -n "s/.*\"$2\":\([0-9.]*\).*/\1/p" "$out/$row-$1.txt"; }

# tail_of NAME: prints the last line of a program's errors.
tail_of() { tail -n 1 "$out/$row-$1.err"; }

ctl() { "$dist/bin/vcudactl" --socket "$work/control.sock" "$@"; }

# Prints how often the VM's kernels were evicted, according to the broker.
evictions_of() {
    ctl --json stats | awk -v vm="\"$1\"," '
        $1 == "\"name\":" { found = $2 == vm }
        found && $1 == "\"evictions\":" { sum += $2 }
        END { print sum + 0 }'
}

# await_evictions VM: waits until the VM's kernels have been evicted twice more, for at most 10 s.
await_evictions() {
    local late=$((SECONDS + 10)) enough
    enough=$(($(evictions_of "$1") + 2))
    while [ $SECONDS -lt $late ]; do
        [ "$(evictions_of "$1")" -lt "$enough" ] || return 0
        sleep 0.01
    done
    say "$row: the kernels of VM $1 are not evicted"
    return 1
}

# Prints the id of each guest process whose kernels were evicted, and how often.
evicted_processes() {
    awk '
        /session begins/ {
            worker = pid = $0
            sub(/.* worker=/, "", worker); sub(/ .*/, "", worker)
            sub(/.*guest_pid=/, "", pid); sub(/[^0-9].*/, "", pid)
            process[worker] = pid
        }
        /order=Evict / {
            list = $0
            sub(/.*workers=\[/, "", list); sub(/\].*/, "", list)
            n = split(list, ids, ", ")
            for (i = 1; i <= n; i++) count[process[ids[i]]]++
        }
        END { for (pid in count) print pid, count[pid] }' "$out/$row-vcudad.log"
}

# Prints the number of Xids in the kernel's log, or nothing if it can't be read.
kernel_xids() {
    local log
    log=$(dmesg 2>/dev/null) || return 0
    [ -z "$log" ] || grep -c 'NVRM: Xid' <<<"$log"
}

# Prints the Xids that the broker reported, which it learns from NVML.
broker_xids() { grep -o 'Xid [0-9]*' "$out/$row-vcudad.log" | sort | uniq -c | xargs; }

# command_of NAME: sets `command` to the program with this name. Returns 1 if it's skipped.
command_of() {
    local options=("${shape[@]}" --rate "$rate" --work-ms "$work_ms" --longest-ms "$longest_ms")
    case $1 in
        cluster | dynamic)
            if [ "$driver" = softgpu ]; then
                note "$1" 'skipped: not supported by softgpu'
                return 1
            fi
            command=("$programs/evicted$1" "${options[@]}")
            ;;
        peer*)
            if [ "$gpus" -lt 2 ]; then
                note "$1" 'skipped: there is only one GPU'
                return 1
            fi
            command=("$programs/evicted" --mode "$1" "${options[@]}")
            ;;
        torch-*)
            if [ "$1" = torch-nccl ] && [ "$gpus" -lt 2 ]; then
                note "$1" 'skipped: there is only one GPU'
                return 1
            fi
            if [ "$has_torch" = 0 ]; then
                note "$1" 'skipped: there is no PyTorch'
                return 1
            fi
            command=(env CUBLAS_WORKSPACE_CONFIG=:4096:8 "$python" "$here/torch_evicted.py" --part "${1#torch-}")
            ;;
        *) command=("$programs/evicted" --mode "$1" "${options[@]}") ;;
    esac
}

# repeat NAME EXPECTED COMMAND...: runs a program in the victim until $work/over exists or a run fails.
repeat() {
    local name=$1 expected=$2 found status
    shift 2
    until [ -e "$work/over" ]; do
        found=$(PIDS=$out/$row-$name.pids in_vm victim timeout --kill-after 5 150 bash -c 'echo $$ >>"$PIDS"; exec "$@"' \
            bash "$@" 2>"$out/$row-$name.err" | grep '^result: '; exit "${PIPESTATUS[0]}")
        status=$?
        if [ $status != 0 ]; then
            echo "failed $status" >>"$out/$row-$name.runs"
            return
        elif [ "$found" != "$expected" ]; then
            echo "different $found" >>"$out/$row-$name.runs"
        else
            echo same >>"$out/$row-$name.runs"
        fi
    done
}

# The programs that row_results and row_requests run: their names, commands, and native results.
names=()
declare -A commands=() expected=()
both='gpus = ["0"]'

# Runs the programs natively, unless that has been done. They compete for the GPU as processes do
# without virtio-cuda.
run_natively() {
    local name status command
    [ ${#names[@]} = 0 ] || return 0
    [ "$gpus" -lt 2 ] || both='gpus = ["0", "1"]'
    has_torch=0
    [ "$driver" = softgpu ] || ! "$python" -c 'import torch' 2>/dev/null || has_torch=1
    for name in kernels cooperative cluster shared local dynamic printf managed copies graphs memory \
        peercopies peers torch-train torch-matmul torch-fft torch-graphs torch-nccl; do
        command_of "$name" || continue
        commands[$name]=$(printf '%q ' "${command[@]}")
        start "native-$name" native "${command[@]}"
        names+=("$name")
    done
    for name in "${names[@]}"; do
        finish "native-$name" 90
        status=$?
        expected[$name]=$(result_of "native-$name")
        if [ $status = 77 ]; then
            note "$name" "skipped: not supported natively: $(tail_of "native-$name")"
        elif [ $status != 0 ]; then
            result "$name, natively" "exit status $status: $(tail_of "native-$name")" 'succeeds' 0
        fi
    done
}

# compared NAME LEAST: checks that all runs of a program had the results of the native run, and that its
# kernels were evicted at least LEAST times, according to $out/$row-evicted.txt.
compared() {
    local runs same own status
    runs=$(wc -l <"$out/$row-$1.runs") same=$(grep -c '^same' "$out/$row-$1.runs")
    own=$(awk 'NR == FNR { mine[$1]; next } $1 in mine { sum += $2 } END { print sum + 0 }' \
        "$out/$row-$1.pids" "$out/$row-evicted.txt")
    status=$(grep -v '^same' "$out/$row-$1.runs" | head -n 1)
    case $status in
        '') status='the same results' ;;
        'failed 77') status="unsupported: $(tail_of "$1")" ;;
        failed*) status="$status: $(tail_of "$1")" ;;
    esac
    result "$1" "$runs runs, $own evictions: $status" \
        "the same results as natively$([ "$2" = 0 ] || echo ", at least $2 eviction")" \
        "$runs > 0 && $same == $runs && $own >= $2"
}

# no_xids BEFORE: checks that the broker has seen no Xids, and that the kernel's log has no more of them
# than BEFORE.
no_xids() {
    local after
    after=$(kernel_xids)
    result 'Xids' "broker: $(broker_xids); kernel's log: ${1:-not readable} before, ${after:-not readable} after" \
        none "$(grep -c 'Xid [0-9]' "$out/$row-vcudad.log") == 0 && ${after:-0} <= ${1:-0}"
}

row_results() {
    local name command began of_endless=() sum=0 took before
    run_natively
    before=$(kernel_xids)
    start_broker < <(echo 'warm_workers = 4'
        vm victim 'memory.max = "36G"' "$both"; vm endless 'memory.max = "4G"' "$both") || return 1
    start endless endless "$programs/outlast" "${shape[@]}" --rate "$rate" --seconds 600
    of_endless=("${pid_of[endless]}")
    if [ "$gpus" -ge 2 ]; then
        start endless-1 endless env CUDA_VISIBLE_DEVICES=1 "$programs/outlast" "${shape[@]}" --rate "$rate" --seconds 600
        of_endless+=("${pid_of[endless-1]}")
    fi
    rm -f "$work/over"
    began=$SECONDS
    local loops=()
    for name in "${names[@]}"; do
        [ -n "${expected[$name]}" ] || continue
        eval "command=(${commands[$name]})"
        repeat "$name" "${expected[$name]}" "${command[@]}" &
        loops+=($!)
    done
    while [ $((SECONDS - began)) -lt "${seconds%.*}" ] && [ "$sum" -lt "$evictions" ]; do
        sleep 1
        sum=$(evicted_processes | awk -v endless=" ${of_endless[*]} " '!index(endless, " " $1 " ") { sum += $2 } END { print sum + 0 }')
    done
    touch "$work/over"
    # The programs finish their last runs.
    wait "${loops[@]}"
    took=$((SECONDS - began))
    evicted_processes >"$out/$row-evicted.txt"
    for name in "${names[@]}"; do
        [ -n "${expected[$name]}" ] || continue
        compared "$name" 0
    done
    sum=$(awk -v endless=" ${of_endless[*]} " '!index(endless, " " $1 " ") { sum += $2 } END { print sum + 0 }' "$out/$row-evicted.txt")
    result "evictions of sessions with kernels of these programs" \
        "$sum, in $(evictions_of victim) evictions of the VM, in $took s ($(evictions_of endless) of the other VM)" \
        "at least $evictions" "$sum >= $evictions"
    no_xids "$before"
    stop_all
}

row_requests() {
    local name command before began slices
    # Have workers log each change of a time slice.
    local -x RUST_LOG=$RUST_LOG,rm_control::timeslices=trace
    run_natively
    before=$(kernel_xids)
    start_broker < <(echo 'warm_workers = 2'
        vm victim 'memory.max = "36G"' "$both"; vm latency 'memory.max = "4G"' 'class = "latency"') || return 1
    start requests latency "$programs/chain" "${shape[@]}" --rate "$rate" --per-second 50 --seconds 600
    for name in "${names[@]}"; do
        [ -n "${expected[$name]}" ] || continue
        rm -f "$work/over"
        eval "command=(${commands[$name]})"
        began=$SECONDS
        repeat "$name" "${expected[$name]}" "${command[@]}" &
        # After 4 s, no other run begins, but the last run may take longer, and counts.
        while [ $((SECONDS - began)) -lt 4 ]; do sleep 0.2; done
        touch "$work/over"
        wait $!
        evicted_processes >"$out/$row-evicted.txt"
        compared "$name" 1
    done
    kill -0 "${pid_of[requests]}" 2>/dev/null || result 'the latency VM' "$(tail_of requests)" 'still sends requests' 0
    note 'evictions of the VM' "$(evictions_of victim)"
    if [ "$driver" != softgpu ]; then
        slices=$(grep -c 'vm="victim".*timeslices: time slice .*us=100$' "$out/$row-vcudad.log")
        result 'contexts that got short time slices' "$slices" 'at least 1 for each program' "$slices >= ${#names[@]}"
    fi
    no_xids "$before"
    stop_all
}

# Prints the MiB of used memory on the first GPU: with NVML, or on softgpu in the broker's ledger.
used() {
    if [ "$driver" = softgpu ]; then
        ctl --json gpu ls 2>/dev/null | awk '$1 == "\"memory_used\":" { print int($2 / 1048576); found = 1; exit } END { if (!found) print 0 }'
    else
        nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits -i 0
    fi
}

# Starts to record used memory. A single nvidia-smi process can do this every 5 ms.
watch_memory() {
    rm -f "$work/watch.txt"
    if [ "$driver" = softgpu ]; then
        while sleep 0.02; do echo "$(date +%s%3N) $(used)"; done >"$work/watch.txt" &
    else
        nvidia-smi --query-gpu=timestamp,memory.used --format=csv,noheader,nounits -i 0 -lms 5 >"$work/watch.txt" &
    fi
    watcher=$!
    # The recording must have begun.
    until [ -s "$work/watch.txt" ]; do sleep 0.02; done
}

# freed SINCE MIB: waits until no more memory than MIB was used after the time SINCE (in ms), for at most
# 10 s. Sets `free_after` to how long that took in ms, or to 99999. Ends the recording.
freed() {
    local since=$1 most=$2 when stamp until=$((SECONDS + 10))
    free_after=99999
    while [ $SECONDS -lt $until ] && [ $free_after = 99999 ]; do
        sleep 0.2
        if [ "$driver" = softgpu ]; then
            when=$(awk -v since="$since" -v most="$most" '$1 >= since && $2 <= most { print $1; exit }' "$work/watch.txt")
            [ -z "$when" ] || free_after=$((when - since))
            continue
        fi
        stamp=$(date -d "@$((since / 1000))" +%Y/%m/%d\ %H:%M:%S).$(printf %03d $((since % 1000)))
        when=$(awk -F ', ' -v since="$stamp" -v most="$most" '$1 >= since && $2 <= most { print $1; exit }' "$work/watch.txt")
        [ -z "$when" ] || free_after=$(($(date -d "${when//\//-}" +%s%3N) - since))
    done
    kill "$watcher" 2>/dev/null
    wait "$watcher" 2>/dev/null
}

# Starts a program in VM $1 that holds memory and runs a kernel that never ends.
start_holder() {
    start holder "$1" "$dist/programs/static/spin" "hold=$hold" forever
    for _ in $(seq 200); do
        ! grep -q ready "$out/$row-holder.txt" || break
        sleep 0.05
    done
    grep -q ready "$out/$row-holder.txt" || { say "faults: spin is not ready: $(tail_of holder)"; return 1; }
    [ "$1" = native ] || await_evictions "$1"
}

# kill_holder VM: measures how long the memory of a killed program takes to be free. Sets `free_after`.
kill_holder() {
    local before at
    before=$(used)
    start_holder "$1" || return 1
    watch_memory
    at=$(date +%s%3N)
    kill -9 "${pid_of[holder]}"
    freed "$at" $((before + 64))
    finish holder
    return 0
}

# worker_of VM: prints the process id of the worker of the VM's latest session.
worker_of() {
    ctl --json session ls | awk -v vm="\"$1\"," '
        $1 == "\"vm\":" { found = $2 == vm }
        found && $1 == "\"worker_pid\":" { pid = $2 + 0 }
        END { print pid }'
}

# exited PID SINCE: waits until a process has exited, for at most 10 s. Prints how long after SINCE (in
# ms) that was. A process whose parent hasn't noticed that it has exited is a zombie.
exited() {
    local state
    for _ in $(seq 1000); do
        state=$(sed -n 's/^State:\t\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null)
        case $state in '' | Z | X) break ;; esac
        sleep 0.01
    done
    echo $(($(date +%s%3N) - $2))
}

# last_bins NAME N: prints the work of the last N bins of 100 ms, and the most of them in a row that had
# none.
last_bins() {
    sed 's/.*"per_100ms":\[\([^]]*\)\].*/\1/' "$out/$row-$1.txt" | tr , '\n' | tail -n "$2" |
        awk '{ sum += $1; idle = $1 > 0 ? 0 : idle + 1; if (idle > most) most = idle } END { print sum + 0, most + 0 }'
}

# A program with long kernels and a known result.
start_known() { start "$1" "$2" "$programs/evicted" --mode cooperative --seed 7 "${shape[@]}" --rate "$rate" --work-ms "$3" --longest-ms "$longest_ms"; }

# known CASE NAME: checks the result of such a program, after it has ended.
known() {
    finish "$2"
    local status=$?
    result "$1" "exit status $status, $(result_of "$2" || tail_of "$2")" "$expected" \
        "$([ $status = 0 ] && [ "$(result_of "$2")" = "$expected" ] && echo 1 || echo 0)"
}

# steady CASE NAME MOST_MS: checks that an outlast program worked until its end, also in its last 2 s, and
# was never without progress for longer than MOST_MS.
steady() {
    finish "$2"
    local status=$? sum=0 idle=0 longest=0
    if [ $status = 0 ]; then
        read -r sum idle < <(last_bins "$2" 20)
        longest=$(number "$2" longest_pause_ms)
    fi
    result "$1" "exit status $status, longest pause $longest ms, in the last 2 s at most $((idle * 100)) ms" \
        "at most $3 ms, and 500 ms in the last 2 s" "$status == 0 && $sum > 0 && $idle < 5 && $longest <= $3"
}

vms_of_faults() { echo 'warm_workers = 0'; vm a 'memory.max = "4G"'; vm b 'memory.max = "4G"'; vm c 'memory.max = "12G"'; }

row_faults() {
    local times=() most=0 i expected status at before during took workers=() exits=() name known_ms=$((5 * work_ms))
    start_known native native "$known_ms"
    finish native || { say "faults: $(tail_of native)"; return 1; }
    expected=$(result_of native)

    start_broker < <(vms_of_faults) || return 1
    # An illegal access.
    start a a "$programs/outlast" "${shape[@]}" --rate "$rate" --seconds 8
    start_known b b "$known_ms"
    await_evictions b || return 1
    for i in 1 2; do
        start fault c "$programs/evicted" --mode fault "${shape[@]}" --rate "$rate" --work-ms 60
        finish fault
        result "an illegal access beside evicted programs, $i: the program itself" "exit status $?, $(result_of fault || tail_of fault)" \
            'gets cudaErrorIllegalAddress' "$([ -n "$(result_of fault)" ] && echo 1 || echo 0)"
    done
    start fault c "$dist/programs/static/illegaladdress"
    finish fault
    result 'the program illegaladdress' "exit status $?" 'passes' "$(grep -c PASS "$out/$row-fault.txt")"
    known 'a program with a known result beside it' b
    steady 'a kernel that never ends beside it' a 500
    note 'Xids, according to the broker' "$(broker_xids)"

    # A killed program.
    for ((i = 0; i < native_tries; i++)); do kill_holder native || return 1; times+=("$free_after"); done
    note "kill -9 natively: time until $hold MiB are free" "${times[*]:-not measured} ms"
    times=()
    start a a "$programs/outlast" "${shape[@]}" --rate "$rate" --seconds 60
    start b b "$programs/outlast" "${shape[@]}" --rate "$rate" --kernel-us 200000 --seconds 10
    await_evictions b || return 1
    for i in 1 2 3; do
        kill_holder c || return 1
        times+=("$free_after") most=$((free_after > most ? free_after : most))
    done
    result "kill -9 beside two other VMs: time until $hold MiB are free" "${times[*]} ms" 'at most 1000 ms' "$most <= 1000"
    steady 'a VM beside it' b 500
    kill -9 "${pid_of[a]}"
    finish a

    # A stopped broker.
    start a a "$programs/outlast" "${shape[@]}" --rate "$rate" --seconds 12
    start_holder c || return 1
    workers=("$(worker_of c)")
    start_known b b "$known_ms"
    await_evictions b || return 1
    during=$(used)
    [ "$driver" = softgpu ] || watch_memory
    kill -STOP "${brokers[0]}"
    sleep 0.5
    at=$(date +%s%3N)
    kill -9 "${pid_of[holder]}"
    took=$(exited "${workers[0]}" "$at")
    result 'kill -9 while the broker is stopped: time until the worker has exited' "$took ms" 'at most 1000 ms' "$took <= 1000"
    if [ "$driver" != softgpu ]; then
        freed "$at" $((during - hold + 64))
        result "the same: time until $hold MiB are free" "$free_after ms" 'at most 1000 ms' "$free_after <= 1000"
    fi
    # Continue the broker when it has been stopped for at least 3 s.
    took=$((2500 - ($(date +%s%3N) - at)))
    [ $took -le 0 ] || sleep "$(calc "$took / 1000")"
    kill -CONT "${brokers[0]}"
    finish holder
    known 'a program with a known result, after the broker continues' b
    steady 'a kernel that never ends, after the broker continues' a 4000
    start_known b b "$known_ms"
    known 'a new program, after the broker continues' b

    # The broker is killed. While there is no broker, no GPU memory is used, so measure what the
    # system uses.
    stop_broker
    sleep 1
    before=$(used)
    start_broker < <(vms_of_faults) || return 1
    start a a "$dist/programs/static/spin" forever
    start b b "$programs/outlast" "${shape[@]}" --rate "$rate" --kernel-us 200000 --seconds 600
    await_evictions b || return 1
    start_holder c || return 1
    workers=("$(worker_of a)" "$(worker_of b)" "$(worker_of c)")
    [ "$driver" = softgpu ] || watch_memory
    at=$(date +%s%3N)
    kill -9 "${brokers[0]}"
    wait "${brokers[0]}" 2>/dev/null
    brokers=()
    for i in "${workers[@]}"; do exits+=("$(exited "$i" "$at")"); done
    if [ "$driver" != softgpu ]; then
        freed "$at" $((before + 64))
        result "kill -9 of the broker: time until $hold MiB are free" "$free_after ms" 'at most 1000 ms' "$free_after <= 1000"
    fi
    for name in a b holder; do
        finish "$name" 10
        status=$?
        result "kill -9 of the broker: program $name" "exit status $status: $(tail_of "$name")" 'an error' \
            "$status != 0 && $status != 124"
    done
    most=0
    for i in "${exits[@]}"; do most=$((i > most ? i : most)); done
    result 'kill -9 of the broker: time until the workers have exited' "${exits[*]} ms" 'at most 1000 ms' "$most <= 1000"
    rm -f "$work"/*.sock
    start_broker < <(vms_of_faults) || return 1
    start a a "$programs/outlast" "${shape[@]}" --rate "$rate" --seconds 3
    start_known b b "$known_ms"
    known 'a program with a known result, after the broker has been started again' b
    steady 'a kernel that never ends, after the broker has been started again' a 500
}

# durations ORDER FROM: prints p50, p99, p99.9, the maximum, and the number of the durations, in us, of
# this kind of order in the broker's log from line FROM on.
durations() {
    tail -n "+$2" "$out/$row-vcudad.log" | grep "order=$1 " | sed 's/.* us=\([0-9]*\).*/\1/' | sort -n |
        awk 'function at(part) { i = int(part * NR); if (i < part * NR) i++; return all[i < 1 ? 1 : i] }
            { all[NR] = $1 }
            END { if (NR) print at(0.5), at(0.99), at(0.999), all[NR], NR; else print 0, 0, 0, 0, 0 }'
}

row_contexts() {
    local from phase order p50 p99 p999 most count created
    start_broker < <(echo 'warm_workers = 0'; vm a 'memory.max = "4G"'; vm b 'memory.max = "4G"'; vm c 'memory.max = "8G"') || return 1
    start a a "$programs/outlast" "${shape[@]}" --rate "$rate" --seconds 600
    start b b "$programs/outlast" "${shape[@]}" --rate "$rate" --kernel-us 200000 --seconds 600
    sleep 2
    for phase in quiet contexts; do
        from=$(($(wc -l <"$out/$row-vcudad.log") + 1))
        if [ $phase = quiet ]; then
            sleep 5
            created='nobody creates contexts'
        else
            start c1 c "$programs/evicted" --mode contexts --seconds 20
            start c2 c "$programs/evicted" --mode contexts --seconds 20
            finish c1 || { say "contexts: $(tail_of c1)"; return 1; }
            finish c2 || { say "contexts: $(tail_of c2)"; return 1; }
            created="a VM creates $(calc "$(number c1 per_second) + $(number c2 per_second)") contexts/s"
        fi
        for order in Evict Restore; do
            read -r p50 p99 p999 most count < <(durations "$order" "$from")
            result "${order,}, while $created" "p50 $p50, p99 $p99, p99.9 $p999, at most $most us ($count times)" \
                'measured; at most 1 s' "$count > 0 && $most < 1000000"
        done
    done
    stop_all
}

[ ${#rows[@]} -gt 0 ] || rows=(results requests faults contexts)
printf '| row | case | measured | bar | |\n|---|---|---|---|---|\n' >"$out/table.md"
rate=$(in_vm native "$programs/saturate" --calibrate 1 "${shape[@]}") ||
    { echo "evictions.sh: cannot run CUDA programs directly on the GPU" >&2; exit 2; }
for row in "${rows[@]}"; do
    if ! declare -F "row_$row" >/dev/null; then
        echo "evictions.sh: no row $row; see the comment at the top of the script" >&2
        exit 2
    fi
    began_row=$SECONDS
    if ! "row_$row"; then
        result 'could not be measured' "see $row-*.err and $row-vcudad.log" '' 0
    fi
    stop_all
    stop_broker
    say "evictions.sh: $row took $((SECONDS - began_row)) s"
done
printf '\n%s, %s, driver %s, commit %s\n\n' "$(date -u +%F)" "$gpu" "$version" "$(cat "$dist/commit" 2>/dev/null)"
cat "$out/table.md"
exit $((failures > 0))
