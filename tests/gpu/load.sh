# shellcheck shell=bash
# Functions shared by quotas.sh, mps.sh, and evictions.sh. They start a broker with VMs, run loads in the VMs or
# directly on the GPU, and print results. The scripts source this file after setting $here, $dist, $out,
# $driver, $row, $work, $programs, $seconds, $lead and $settle.

if [ -f "$here/lib.sh" ]; then . "$here/lib.sh"; else . "$here/../lib.sh"; fi

# The process ids and names of the running loads.
load_pids=() load_names=()
brokers=()

say() { echo "$*" >&2; }

# Stops running brokers, starts a broker with the configuration from standard input, in which @W@ is
# replaced by the directory for sockets, and waits for the sockets of all its VMs.
start_broker() {
    stop_broker
    another_broker
}

# Like start_broker, but starts an additional broker, whose control socket has a number in its name.
another_broker() {
    local number=${#brokers[@]} config socket broker
    [ "$number" -gt 0 ] || number=
    config=$work/vcudad$number.toml
    {
        printf 'jail = "%s"\n' "${jail:-auto}"
        printf 'driver_library = "%s"\ncontrol_socket = "%s/control%s.sock"\nstate_dir = "%s"\n' \
            "$driver" "$work" "$number" "$(mktemp -d "$work/state-XXXXXX")"
        sed "s|@W@|$work|g"
    } >"$config"
    cp "$config" "$out/$row$number.toml"
    "$dist/bin/vcudad" --config "$config" >>"$out/$row-vcudad.log" 2>&1 &
    broker=$!
    brokers+=("$broker")
    for socket in $(sed -n 's/^socket = "\(.*\)"/\1/p' "$config"); do
        for _ in $(seq 600); do
            [ ! -S "$socket" ] || continue 2
            kill -0 "$broker" 2>/dev/null || break 2
            sleep 0.05
        done
    done
    if ! kill -0 "$broker" 2>/dev/null || [ ! -S "$socket" ]; then
        say "vcudad did not start:"
        tail -n 10 "$out/$row-vcudad.log" >&2
        return 1
    fi
    # Wait until warm workers have created their contexts, so that this time isn't measured.
    sleep "$settle"
}

# Stops all brokers.
stop_broker() {
    [ ${#brokers[@]} -gt 0 ] || return 0
    kill "${brokers[@]}" 2>/dev/null
    wait "${brokers[@]}" 2>/dev/null
    brokers=()
}

# vm NAME [LINE...]: prints the configuration of a VM. Unless a line sets `gpus`, the VM is on the
# first GPU, so that all VMs compete for it.
vm() {
    printf '[[vm]]\nname = "%s"\nsocket = "@W@/%s.sock"\n' "$1" "$1"
    shift
    [[ "$*" = *gpus\ =* ]] || printf 'gpus = ["0"]\n'
    printf '%s\n' "${@:-}"
}

# in_vm VM COMMAND...: runs a command with that VM's device. If VM is `native`, runs it directly on
# the GPU.
in_vm() {
    local vm=$1
    shift
    if [ "$vm" != native ]; then
        LD_LIBRARY_PATH=$dist/guest VIRTIO_CUDA_SOCKET=$work/$vm.sock "$@"
    elif [ "$driver" = softgpu ]; then
        LD_LIBRARY_PATH=$dist/bin/softgpu "$@"
    else
        "$@"
    fi
}

# meet_in SECONDS: sets the time at which the next loads start to count work, so that they start
# together.
meet_in() { at=$(($(date +%s%N) + $1 * 1000000000)); }

# load NAME VM PROGRAM ARGUMENT...: starts a load, which writes its output to $out/$row-NAME.json.
load() {
    local name=$1 vm=$2 program=$3
    shift 3
    in_vm "$vm" timeout --kill-after 5 "$((seconds + 60))" "$programs/$program" --start-at "$at" "$@" \
        >"$out/$row-$name.json" 2>"$out/$row-$name.err" &
    load_pids+=($!) load_names+=("$name")
}

# Waits for all loads. If any failed, prints their names and errors, and returns 1.
wait_loads() {
    local i failed=0
    for i in "${!load_pids[@]}"; do
        if ! wait "${load_pids[$i]}"; then
            say "$row: ${load_names[$i]} failed: $(tail -n 2 "$out/$row-${load_names[$i]}.err")"
            failed=1
        fi
    done
    load_pids=() load_names=()
    return $failed
}

# alone NAME VM PROGRAM ARGUMENT...: runs a single load until it exits.
alone() {
    meet_in "$lead"
    load "$@" || return 1
    wait_loads
}

# field NAME KEY: prints the number KEY from the output of load NAME.
field() { sed -n "s/.*\"$2\":\([0-9.]*\).*/\1/p" "$out/$row-$1.json"; }

# calc EXPRESSION: prints the value of an expression with two decimals.
calc() { awk "BEGIN { printf \"%.2f\", ($1) }"; }
holds() { awk "BEGIN { exit !($1) }"; }

# record CASE MEASURED BAR VERDICT: saves a row in table.md, and the whole table in table.csv.
record() {
    printf '| %s | %s | %s | %s | %s |\n' "$row" "$@" >>"$out/table.md"
    save_csv "$out/table.md" "$driver" "$dist"
}

# result CASE MEASURED BAR CONDITION: prints and saves a row of the table. It passes if CONDITION
# holds.
result() {
    local verdict=FAIL
    if holds "$4"; then verdict=pass; else failures=$((failures + 1)); fi
    printf '%s | %s | %s | %s | %s\n' "$row" "$1" "$2" "$3" "$verdict"
    record "$1" "$2" "$3" "$verdict"
}

# note CASE MEASURED: prints and saves a row without a bar, for reference.
note() {
    printf '%s | %s | %s | |\n' "$row" "$1" "$2"
    record "$1" "$2" '' ''
}
