# shellcheck shell=bash
# The part of the demo in which a VM answers requests beside another VM's kernel that never ends.
# scripts/demo.sh sources this file and defines $work, $out, $dist, $share_rate, $share_quota, $shape,
# and fail.

# Prints the lines of vcudad.toml for the two VMs.
latency_vms() {
    printf '[[vm]]\nname = "endless"\nsocket = "%s/endless.sock"\nmemory.max = "%s"\n' "$work" "$share_quota"
    printf '[[vm]]\nname = "latency"\nsocket = "%s/latency.sock"\nmemory.max = "%s"\nclass = "latency"\n' \
        "$work" "$share_quota"
}

# latency_boot VM: boots a VM in the background, which runs the script $work/VM.sh.
latency_boot() {
    "$dist/bin/vcuda-run" --vmm uml --socket "$work/$1.sock" --mem 512M --cpus 1 --timeout 60 \
        --log "$out/$1-console.log" --uml-kernel "$dist/uml/linux" --module "$dist/guest/virtio_cuda.ko" \
        --env LD_LIBRARY_PATH="$dist/guest" --cwd "$dist/programs" -- /bin/sh "$work/$1.sh" \
        >"$out/$1.txt" 2>"$out/$1.log" &
    pid=$!
}

# latency_number LINE NAME: prints the number NAME from the given JSON line of the latency VM.
latency_number() { grep '^{' "$out/latency.txt" | sed -n "$1s/.*\"$2\":\([0-9.]*\).*/\1/p"; }

# latency_until WHAT PID COMMAND...: waits until a command succeeds. Fails if the process exits before
# that.
latency_until() {
    local what=$1 pid=$2
    shift 2
    until "$@"; do
        kill -0 "$pid" 2>/dev/null || "$@" || fail "$what"
        sleep 0.02
    done
}

# Boots both VMs, has one of them send requests, first alone and then beside the other one's kernel,
# and prints how long they took and how often the kernel was evicted.
show_latency() {
    local pid endless latency evictions control=("$dist/bin/vcudactl" --socket "$work/control.sock")
    local requests="./quota/chain ${shape[*]} --rate $share_rate --launch graph --kernels 40 --per-second 50 --warmup 0.2 --cooldown 0"
    # A VM waits for a file in $work, which it shares with this host.
    cat >"$work/latency.sh" <<SH
set -e
until [ -e "$work/both-run" ]; do sleep 0.02; done
$requests --seconds 0.8
until [ -e "$work/endless-runs" ]; do sleep 0.02; done
$requests --seconds 1.6
SH
    cat >"$work/endless.sh" <<SH
echo booted
until [ -e "$work/alone-done" ]; do sleep 0.02; done
exec ./static/spin forever
SH
    latency_boot latency
    latency=$pid
    latency_boot endless
    endless=$pid
    latency_until 'the other VM did not boot' "$endless" grep -q booted "$out/endless.txt"
    touch "$work/both-run"
    latency_until 'the latency VM failed' "$latency" grep -q '^{' "$out/latency.txt"
    touch "$work/alone-done"
    latency_until 'the kernel that never ends did not start' "$endless" grep -q ready "$out/endless.txt"
    touch "$work/endless-runs"
    wait "$latency" || fail 'the latency VM failed'
    kill -0 "$endless" 2>/dev/null || fail 'the kernel that never ends has ended'
    evictions=$("${control[@]}" --json vm show endless | sed -n 's/.*"evictions": *\([0-9]*\).*/\1/p' | head -n 1)
    evictions=${evictions:-0}
    kill "$endless"
    wait "$endless" || true
    printf 'demo:   latency VM beside a kernel that never ends: median %.1f ms, p99 %.1f ms (alone %.1f ms); evicted %d times\n' \
        "$(latency_number 2 p50)" "$(latency_number 2 p99)" "$(latency_number 1 p50)" "$evictions"
    # Fail if the GPU supports evictions, but there were none: then the requests have waited for
    # half a second, until they ran at the same time as the kernel.
    [ "$evictions" -gt 0 ] || ! "${control[@]}" gpu ls | grep -q yes || fail 'the kernel was not evicted'
}
