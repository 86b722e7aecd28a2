# shellcheck shell=bash
# What the scripts of the tests share; to be sourced.

# The device's process, while there is one.
device=

# start_device DIST SOCKET LOG ARGUMENT...: starts a device on a socket of its own, and waits for
# it. 1 and the end of its log when it does not start.
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

# Ends it, if there is one, and with it what it started.
stop_device() {
    [ -n "$device" ] || return 0
    kill "$device" 2>/dev/null || true
    wait "$device" 2>/dev/null || true
    device=
}
