#!/usr/bin/env bash
# Runs every CUDA program on several paths, compares the outputs, and prints a table of run times.
#
#   tests/matrix.sh [--dist DIR] [--driver LIBRARY] [--table FILE.md] PATH...
#
# PATH is one of
#   softgpu     softgpu's libcuda.so.1 in the program's own process, without a device
#   native      the libcuda.so.1 that the loader finds
#   vhost-user  the guest library and a device process, without a VM
#   uml         the guest library in a user-mode Linux guest, through the kernel driver
#   qemu        QEMU under TCG, booted from the disk image that --disk names (images/disk.sh), on
#               which apt has installed the guest package
# The outputs on the first path are the reference for the others. --driver selects the device's
# driver library (auto, softgpu or a path; default softgpu). --table also writes the table to a
# file, FILE.md, as Markdown, and to FILE.csv. --logs is a directory for the logs of the device and the VM.
# The exit status is 0 if every program passed and printed the same output on all paths.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
dist=$here/../target/dist driver=softgpu table= logs= disk= paths=()
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --driver) driver=${2:?--driver needs a library}; shift 2 ;;
        --table) table=${2:?--table needs a file}; shift 2 ;;
        --disk) disk=${2:?--disk needs an image}; shift 2 ;;
        --logs) logs=${2:?--logs needs a directory}; shift 2 ;;
        softgpu | native | vhost-user | uml | qemu) paths+=("$1"); shift ;;
        *) echo "matrix.sh: unknown argument $1; see the comment at the top of the script" >&2; exit 2 ;;
    esac
done
[ ${#paths[@]} -gt 0 ] || { echo "matrix.sh: name one or more paths: softgpu native vhost-user uml qemu" >&2; exit 2; }
[ "${paths[0]}" != qemu ] || { echo "matrix.sh: name another path before qemu, to compare it with" >&2; exit 2; }
dist=$(cd "$dist" && pwd)
mapfile -t programs <"$dist/programs/list"

work=$(mktemp -d)
cleanup() {
    stop_device
    [ -z "$logs" ] || cp "$work"/*.log "$work"/*.txt "$logs/" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

# In a guest with the package, programs also find the device under NVIDIA's name.
guest_script='[ /dev/nvidiactl -ef /dev/virtio-cuda0 ] || {
    echo "matrix.sh: /dev/nvidiactl is not the device" >&2
    exit 1
}
exec /bin/bash /root/programs/run.sh "$@"'

run_path() {
    local path=$1
    local args=(--keep "$work/$path")
    [ "$path" = "${paths[0]}" ] || args+=(--compare "$work/${paths[0]}")
    export OUT=$dist/programs
    case $path in
        qemu)
            "$dist/bin/vcuda-run" --vmm qemu --accel tcg --disk "$disk" --socket "$work/socket" \
                --mem 2G --cpus 2 --timeout 1800 --log "$work/qemu.log" \
                --file "$OUT:/root/programs" --file "$work/${paths[0]}:/root/reference" \
                --env OUT=/root/programs --env TIMEOUT=300 -- \
                /bin/bash -c "$guest_script" run.sh --compare /root/reference "${programs[@]}"
            ;;
        *) run_on "$path" "$dist" "$work" "$OUT/run.sh" "${args[@]}" "${programs[@]}" ;;
    esac
}

failed=0
for path in "${paths[@]}"; do
    echo "matrix.sh: $path"
    case $path in
        vhost-user | uml | qemu)
            start_device "$dist" "$work/socket" "$work/device.log" --driver-library "$driver" \
                --memory-max 4G
            ;;
    esac
    run_path "$path" | tee "$work/$path.txt" || { failed=1; tail -n 5 "$work"/*.log 2>/dev/null || true; }
    stop_device
done

# Prints the table: one row per program and variant, one column per path.
make_table() {
    local path name variant line
    printf '| program | cudart |'
    printf ' %s |' "${paths[@]}"
    printf '\n|---|---|'
    printf -- '---|%.0s' "${paths[@]}"
    printf '\n'
    for name in "${programs[@]}"; do
        for variant in static shared cudart12/static cudart12/shared; do
            [ -x "$dist/programs/$variant/$name" ] || continue
            printf '| %s | %s |' "$name" "$variant"
            for path in "${paths[@]}"; do
                line=$(awk -v n="$name" -v v="$variant" '$1 == n && $2 == v' "$work/$path.txt")
                case $line in
                    *PASS) printf ' %s ms |' "$(awk '{print $3}' <<<"$line")" ;;
                    *) printf ' **FAIL** |' ;;
                esac
            done
            printf '\n'
        done
    done
}
make_table | tee ${table:+"$table"}
[ -z "$table" ] || save_csv "$table" "$driver" "$dist"
pass=$(cat "$work"/*.txt | grep -c 'PASS$' || true)
fail=$(cat "$work"/*.txt | grep -c 'FAIL:' || true)
echo "matrix: $pass passed, $fail failed"
exit $failed
