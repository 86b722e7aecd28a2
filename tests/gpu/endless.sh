#!/usr/bin/env bash
# Kills (-9) a process that runs an endless kernel and holds 100 GiB (or most of the memory), and
# measures how long it takes until NVML reports the memory as free, both directly on the GPU and
# through the device.
# usage: endless.sh DIST OUT
set -uo pipefail
dist=$1 out=$2
. "$dist/tests/lib.sh"
used() { nvidia-smi --query-gpu=memory.used --format=csv,noheader,nounits | head -n 1; }
total=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | head -n 1)
hold=$((total * 10 / 14 < 102400 ? total * 10 / 14 : 102400))
program=$dist/programs/static/spin

# Starts the program, kills it, and prints the milliseconds until NVML reports the memory as free.
measure() {
    local before at pid watcher when free=
    before=$(used)
    "$@" "$program" "hold=$hold" forever >"$out/spin.txt" 2>&1 &
    pid=$!
    for _ in $(seq 600); do grep -q ready "$out/spin.txt" && break; sleep 0.1; done
    if [ "$(used)" -lt $((before + hold)) ]; then
        echo "endless.sh: the program does not hold its memory: $(cat "$out/spin.txt")" >&2
        return 1
    fi
    # Let one nvidia-smi process poll every 5 ms. Starting it for each poll would take ten times as
    # long.
    nvidia-smi --query-gpu=timestamp,memory.used --format=csv,noheader,nounits -i 0 -lms 5 \
        >"$out/watch.txt" &
    watcher=$!
    sleep 1
    at=$(date +%s%3N)
    kill -9 "$pid"
    for _ in $(seq 60); do
        sleep 1
        when=$(awk -F ', ' -v most=$((before + 64)) '$2 <= most {print $1; exit}' "$out/watch.txt")
        [ -z "$when" ] || { free=$(date -d "${when//\//-}" +%s%3N); break; }
    done
    kill "$watcher"
    wait "$pid" "$watcher" 2>/dev/null || true
    [ -n "$free" ] || { echo "endless.sh: not free after a minute" >&2; return 1; }
    echo $((free - at))
}

work=$(mktemp -d)
chmod 755 "$work"
trap 'stop_device; rm -rf "$work"' EXIT
start_device "$dist" "$work/socket" "$out/endless-device.log" --memory-max "$((total - 2048))M" \
    --warm-workers 0 || exit 1
# Alternate, with five runs of each, because the driver's own time varies.
native=() through=()
for _ in 1 2 3 4 5; do
    native+=("$(measure env)") || exit 1
    through+=("$(measure env LD_LIBRARY_PATH="$dist/guest" VIRTIO_CUDA_SOCKET="$work/socket")") || exit 1
done
echo "kill -9 with $hold MiB held and an endless kernel, milliseconds until the memory is free:"
echo "  without the device  ${native[*]}"
echo "  through the device  ${through[*]}"
