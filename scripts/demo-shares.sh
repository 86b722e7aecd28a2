# shellcheck shell=bash
# The part of the demo in which two VMs share a GPU at 30/70, each with a memory quota.
# scripts/demo.sh sources this file and defines $work, $out, $dist, $driver, the quotas, and fail.

# Prints the lines of vcudad.toml for the two VMs.
share_vms() {
    local share
    for share in 30 70; do
        printf '[[vm]]\nname = "vm%s"\nsocket = "%s/vm%s.sock"\nmemory.max = "%s"\ncompute.weight = %s\n' \
            "$share" "$work" "$share" "$share_quota" "$share"
    done
}

# share_number VM NAME: prints the number NAME from the JSON line at the end of the VM's output.
share_number() { sed -n "s/.*\"$2\":\([0-9.]*\).*/\1/p" "$out/vm$1.txt"; }

# How long both VMs load the GPU, in seconds. Both also need the host's CPUs, and for a second or
# so, the host's scheduler may prefer one of them.
share_seconds=10

# Boots both VMs, has both load the GPU during the same seconds, and prints their shares.
show_shares() {
    local share pids=() shape='' work30 work70 got total
    # softgpu computes on the CPU, so one block with one warp is enough to keep it busy.
    [ "$driver" != softgpu ] || shape='--blocks 1 --threads 32 --kernel-us 200'
    # The VMs wait until both have booted, which takes longer on a busy host.
    cat >"$work/share.sh" <<SH
set -e
./static/deviceinfo alloc 2G | grep -E 'total memory|allocation'
touch "$work/ready\$1"
until [ -e "$work/start" ]; do sleep 0.1; done
exec ./quota/saturate $shape --rate $share_rate --seconds $share_seconds --start-at "\$(cat "$work/start")"
SH
    for share in 30 70; do
        "$dist/bin/vcuda-run" --vmm uml --socket "$work/vm$share.sock" --mem 512M --cpus 1 \
            --timeout 60 --log "$out/vm$share-console.log" --uml-kernel "$dist/uml/linux" \
            --module "$dist/guest/virtio_cuda.ko" --env LD_LIBRARY_PATH="$dist/guest" \
            --cwd "$dist/programs" -- /bin/sh "$work/share.sh" "$share" \
            >"$out/vm$share.txt" 2>"$out/vm$share.log" &
        pids+=($!)
    done
    until [ -e "$work/ready30" ] && [ -e "$work/ready70" ]; do
        kill -0 "${pids[0]}" 2>/dev/null && kill -0 "${pids[1]}" 2>/dev/null || break
        sleep 0.1
    done
    echo $(($(date +%s%N) + 3000000000)) >"$work/start.new"
    mv "$work/start.new" "$work/start"
    for share in 30 70; do
        wait "${pids[0]}" || fail "vm$share failed"
        pids=("${pids[@]:1}")
    done

    # Both VMs use the same rate, so their amounts of work can be compared.
    work30=$(share_number 30 done) work70=$(share_number 70 done)
    total=$((work30 + work70))
    [ "$total" -gt 0 ] || fail 'the two VMs did no work'
    for share in 30 70; do
        got=$(awk "BEGIN { printf \"%.1f\", 100 * $([ $share = 30 ] && echo "$work30" || echo "$work70") / $total }")
        printf 'demo:   vm%s: assigned %s%% of the GPU, got %s%%; %s; %s beyond its %s\n' "$share" "$share" \
            "$got" "$(grep -o 'total memory.*' "$out/vm$share.txt")" \
            "$(grep -o 'allocation.*' "$out/vm$share.txt")" "$share_quota"
        grep -q 'refused (cudaErrorMemoryAllocation)' "$out/vm$share.txt" ||
            fail "the memory quota of vm$share did not hold"
        awk "BEGIN { exit !($got >= $share - 10 && $got <= $share + 10) }" ||
            fail "vm$share got $got% of the GPU instead of $share%"
    done
}
