# shellcheck shell=bash
# Functions shared by the test scripts, which source this file.

# The process id of the device while it's running.
device=

# start_device DIST SOCKET LOG ARGUMENT...: starts a device process that listens on SOCKET, and
# waits until it's ready. If it doesn't start, prints the end of its log and returns 1.
start_device() {
    local dist=$1 socket=$2 log=$3
    shift 3
    "$dist/bin/vhost-device-cuda" --socket-path "$socket" "$@" >>"$log" 2>&1 &
    device=$!
    for _ in $(seq 600); do
        [ ! -S "$socket" ] || return 0
        kill -0 "$device" 2>/dev/null || break
        sleep 0.1
    done
    echo "${0##*/}: the device did not start:" >&2
    tail -n 20 "$log" >&2
    return 1
}

# Stops the device and the processes that it started, if it's running.
stop_device() {
    [ -n "$device" ] || return 0
    kill "$device" 2>/dev/null || true
    wait "$device" 2>/dev/null || true
    device=
}

# run_on PATH DIST WORK COMMAND ARGUMENT...: runs a command with the libcuda.so.1 of a path: softgpu,
# native, vhost-user, or uml. For the last two, a device must be listening on WORK/socket. In
# user-mode Linux, the command gets the variable OUT, if it is set.
run_on() {
    local path=$1 dist=$2 work=$3
    shift 3
    case $path in
        softgpu) LD_LIBRARY_PATH=$dist/bin/softgpu "$@" ;;
        native) "$@" ;;
        vhost-user) LD_LIBRARY_PATH=$dist/guest VIRTIO_CUDA_SOCKET=$work/socket "$@" ;;
        uml)
            "$dist/bin/vcuda-run" --vmm uml --socket "$work/socket" --uml-kernel "$dist/uml/linux" \
                --module "$dist/guest/virtio_cuda.ko" --mem 2G --cpus 2 --log "$work/uml.log" \
                --env LD_LIBRARY_PATH="$dist/guest" ${OUT:+--env "OUT=$OUT"} -- "$@"
            ;;
    esac
}

# The GPU and its driver, on which the calling script measures; save_csv sets this.
measured_on=()

# save_csv FILE.md DRIVER DIST: converts a Markdown table to CSV, as in docs/measurements, in the file
# FILE.csv. Each row begins with the date, the commit of the files in DIST, the GPU, its driver, and the
# command line of the calling script. DRIVER is the driver library that the script uses.
save_csv() {
    local table=$1 driver=$2 dist=$3 command
    if [ ${#measured_on[@]} -eq 0 ]; then
        measured_on=(softgpu none)
        # The first GPU's name, and the driver's version.
        [ "$driver" = softgpu ] || mapfile -t measured_on < <(
            { nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || echo 'unknown, unknown'; } |
                head -n 1 | sed 's/, /\n/'
        )
    fi
    command=$(tr '\0' ' ' </proc/$$/cmdline)
    command=${command#*bash } command=${command% }
    run="$(date -u +%F)|$(cat "$dist/commit" 2>/dev/null)|${measured_on[0]}|${measured_on[1]}|$command" awk '
        function quoted(text) {
            gsub(/"/, "\"\"", text)
            return "\"" text "\""
        }
        /^\|[-|]+$/ { next }
        {
            heading = ++rows == 1
            sub(/^\| */, "")
            sub(/ *\|$/, "")
            count = split((heading ? "date|commit|gpu|driver|command" : ENVIRON["run"]) "|" $0, cells, / *\| */)
            for (i = 1; i <= count; i++) {
                # In Markdown, the column of the verdict has no heading.
                if (heading && cells[i] == "") cells[i] = "result"
                printf "%s%s", (i == 1 ? "" : ","), quoted(cells[i])
            }
            print ""
        }' "$table" >"${table%.md}.csv"
}

# python_environment NAME REQUIREMENTS: prints a Python that has the packages in a file of pinned
# versions. The first call installs them from PyPI, into a virtual environment in
# ${VIRTIO_CUDA_CACHE:-~/.cache/virtio-cuda}.
python_environment() {
    local cache=${VIRTIO_CUDA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/virtio-cuda} environment
    # The directory's name depends on the pinned versions and on Python's.
    environment=$cache/$1-$({ cat "$2"; python3 --version; } | sha256sum | cut -c1-12)
    mkdir -p "$cache"
    # Bash ignores `set -e` in $(python_environment …), so && joins what must succeed.
    (
        flock 9
        [ ! -f "$environment/complete" ] || exit 0
        echo "${0##*/}: installing the Python packages of tests/${2##*/tests/} (once)" >&2
        rm -rf "$environment"
        python3 -m venv "$environment" >&2 &&
            "$environment/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --requirement "$2" >&2 &&
            touch "$environment/complete"
    ) 9>"$cache/$1.lock" || {
        echo "${0##*/}: cannot install the Python packages of tests/${2##*/tests/} from PyPI into $environment" >&2
        return 1
    }
    printf '%s\n' "$environment/bin/python"
}
