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

# Boots both VMs, has both load the GPU during the same three seconds, and prints their shares.
show_shares() {
    local share pids=() at shape='' work30 work70 got total
    # softgpu computes on the CPU, so one block with one warp is enough to keep it busy.
    [ "$driver" != softgpu ] || shape='--blocks 1 --threads 32 --kernel-us 200'
    at=$(($(date +%s%N) + 4000000000))
    cat >"$work/share.sh" <<SH
set -e
./static/deviceinfo alloc 2G | grep -E 'total memory|allocation'
exec ./quota/saturate $shape --rate $share_rate --seconds 3 --start-at $at
SH
    for share in 30 70; do
        "$dist/bin/vcuda-run" --vmm uml --socket "$work/vm$share.sock" --mem 512M --cpus 1 \
            --timeout 60 --log "$out/vm$share-console.log" --uml-kernel "$dist/uml/linux" \
            --module "$dist/guest/virtio_cuda.ko" --env LD_LIBRARY_PATH="$dist/guest" \
            --cwd "$dist/programs" -- /bin/sh "$work/share.sh" \
            >"$out/vm$share.txt" 2>"$out/vm$share.log" &
        pids+=($!)
    done
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
