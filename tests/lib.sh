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
