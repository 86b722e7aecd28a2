# shellcheck shell=bash
# The rows of quotas.sh with a latency VM, which sends 50 requests a second. quotas.sh sources this file.

# How requests are launched.
declare -A how_options=([eager]='--launch eager' [graph]='--launch graph' [single]='--launch eager --kernels 1')

# batch_beside HOW NAME REFERENCE PERCENT: checks that a batch VM's load NAME got at least PERCENT of the
# GPU time left by 50 requests a second, which take as long as in load alone-HOW.
batch_beside() {
    local left kept
    left=$(calc "100 * (1 - 50 * $(field "alone-$1" mean) / 1000)")
    kept=$(of_alone "$2" "$3")
    result "the batch VM beside it, $1" "$kept% of alone; requests leave $left%" \
        "at least $4% of the rest" "$kept >= $4 / 100 * $left"
}

# requests_alone HOW...: measures 50 requests a second without other loads, as references.
requests_alone() {
    local how
    for how in "$@"; do
        meet_in "$lead"
        chain "alone-$how" latency ${how_options[$how]} --per-second 50 --seconds "$alone_seconds"
        wait_loads || return 1
    done
}

# request_beside HOW NAME WHAT: checks the latency of the requests of load NAME, which ran beside WHAT.
# Load alone-HOW is the reference.
request_beside() {
    local quiet beside
    quiet=$(field "alone-$1" p99) beside=$(field "$2" p99)
    if [ "$1" = single ]; then
        result "a single small kernel beside $3" "p50 $(field "$2" p50) ms, p99 $beside ms (alone $(field alone-single p50) and $quiet)" \
            'p50 under 0.5 ms, p99 under 1.2 ms' "$(field "$2" p50) < 0.5 && $beside < 1.2"
    else
        result "p99 at 50 requests/s beside $3, $1" \
            "$beside ms, alone $quiet ms: $(calc "$beside - $quiet") ms more (p50 $(field "$2" p50), alone $(field "alone-$1" p50))" \
            'alone + 0.8 ms' "$beside <= $quiet + 0.8"
    fi
}

row_latency() {
    local how quiet beside bar
    chain_calibrated
    start_broker < <(echo 'warm_workers = 2'; vm latency "$memory" 'class = "latency"'; vm batch "$memory") || return 1
    saturate_alone alone-batch batch 1ms || return 1
    for how in eager graph; do
        meet_in "$lead"
        chain "alone-$how" latency --launch "$how" --per-second 50 --seconds "$seconds"
        wait_loads || return 1
        meet_in "$lead"
        chain "$how" latency --launch "$how" --per-second 50 --seconds "$seconds"
        saturate "batch-$how" batch 1ms --seconds "$seconds"
        wait_loads || return 1
        quiet=$(field "alone-$how" p99) beside=$(field "$how" p99)
        bar=$([ $how = eager ] && echo 1.10 || echo 1.25)
        # Allow 1 ms, because where kernels can't be evicted, a request may wait for a kernel of the
        # batch VM.
        result "p99 at 50 requests/s beside 1 ms kernels, $how" \
            "$beside ms, alone $quiet ms: $(calc "($beside - 1) / $quiet") × alone + 1 ms (p50 $(field "$how" p50), alone $(field "alone-$how" p50))" \
            "at most $bar × alone + 1 ms" "$beside <= $bar * $quiet + 1"
        batch_beside "$how" "batch-$how" alone-batch 80
    done
}

row_request() {
    local us how length
    chain_calibrated
    start_broker < <(echo 'warm_workers = 2'; vm latency "$memory" 'class = "latency"'; vm batch "$memory") || return 1
    for us in 1000 100000; do outlast_alone "alone-$us" batch "$us" || return 1; done
    requests_alone eager graph single || return 1
    for us in 1000 100000 0; do
        case $us in 0) length='one that never ends' ;; *) length="kernels of $((us / 1000)) ms" ;; esac
        for how in eager graph single; do
            [ $how != single ] || [ $us = 0 ] || continue
            meet_in "$lead"
            chain "$how-$us" latency ${how_options[$how]} --per-second 50 --seconds "$seconds"
            outlast "batch-$how-$us" batch "$us" --seconds "$seconds"
            wait_loads || return 1
            request_beside "$how" "$how-$us" "$length"
            [ $how != single ] || continue
            batch_beside "$how" "batch-$how-$us" "alone-$([ $us = 1000 ] && echo 1000 || echo 100000)" 90
        done
    done
}

row_second() {
    local how
    if [ "$gpus" -lt 2 ]; then say "second: there is only one GPU"; return 0; fi
    chain_calibrated
    start_broker < <(echo 'warm_workers = 2'
        vm latency "$memory" 'gpus = ["1"]' 'class = "latency"'; vm batch "$memory" 'gpus = ["0", "1"]') || return 1
    # CUDA_VISIBLE_DEVICES selects the VM's second GPU, on which the worker creates a context only
    # after the program's session has begun.
    CUDA_VISIBLE_DEVICES=1 outlast_alone alone-1000 batch 1000 || return 1
    for how in eager graph; do
        requests_alone "$how" || return 1
        meet_in "$lead"
        chain "$how" latency ${how_options[$how]} --per-second 50 --seconds "$seconds"
        CUDA_VISIBLE_DEVICES=1 outlast "batch-$how" batch 1000 --seconds "$seconds"
        wait_loads || return 1
        request_beside "$how" "$how" "kernels of 1 ms on the batch VM's second GPU"
        batch_beside "$how" "batch-$how" alone-1000 90
    done
}

# Starts short programs one after another in a VM for this many seconds, and prints their number per
# second. They don't destroy their context before they exit.
short_programs() {
    local vm=$1 lasts=$2 started=$SECONDS count=0
    while [ $((SECONDS - started)) -lt "$lasts" ]; do
        in_vm "$vm" "$programs/evicted" --mode kernels --work-ms 5 --longest-ms 1 "${small[@]}" --rate "$small_rate" \
            >/dev/null || return 1
        count=$((count + 1))
    done
    echo "{\"per_second\":$(calc "$count / $lasts")}"
}

# create NAME COMMAND...: starts COMMAND twice. Each of the processes creates contexts, and prints
# how many per second.
create() {
    local name=$1 number
    shift
    pids=()
    for number in 1 2; do
        "$@" >"$out/contexts-$name-$number.json" 2>"$out/contexts-$name-$number.err" &
        pids+=($!)
    done
}

# created NAME: waits for the commands of `create`, and sets `number` to the number per second of both.
created() {
    wait "${pids[@]}" || { say "contexts: $(tail -n 2 "$out/contexts-$1-"*.err)"; return 1; }
    number=$(calc "$(field "$1-1" per_second) + $(field "$1-2" per_second)")
}

row_contexts() {
    local kind how number pids lasts=$((seconds + 2 * lead))
    chain_calibrated
    start_broker < <(echo 'warm_workers = 2'; vm latency "$memory" 'class = "latency"'; vm batch "$memory"; vm creator 'memory.max = "8G"') || return 1
    requests_alone eager graph single || return 1
    for kind in contexts programs; do for how in eager graph single; do
        if [ $kind = contexts ]; then
            create "$kind-$how" in_vm creator "$programs/evicted" --mode contexts --seconds $lasts
        else
            create "$kind-$how" short_programs creator $lasts
        fi
        meet_in $((lead + 1))
        chain "$kind-$how" latency ${how_options[$how]} --per-second 50 --seconds "$seconds"
        outlast "$kind-batch-$how" batch 0 --seconds "$seconds"
        wait_loads && created "$kind-$how" || return 1
        request_beside "$how" "$kind-$how" "one that never ends, and $number $kind/s"
        [ $kind-$how = contexts-single ] || continue
        # For comparison: how much the driver and the GPU themselves delay requests while contexts
        # are created.
        create native in_vm native "$programs/evicted" --mode contexts --seconds $lasts --per-second "$(calc "$number / 2")"
        meet_in "$lead"
        chain native native ${how_options[single]} --per-second 50 --seconds "$seconds"
        wait_loads && created native || return 1
        note "the same natively, without the one that never ends, beside $number $kind/s" \
            "p50 $(field native p50) ms, p99 $(field native p99) ms"
    done; done
}
