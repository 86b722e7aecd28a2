# shellcheck shell=bash
# Functions for the scripts that boot_debian (images/lib.sh) runs inside a booted Debian: messages,
# waiting, and CUDA programs. The argument is the prefix of the messages.
set -Eeuo pipefail
package="$1"
say() { echo "$package: $*"; }
fail() {
    say "FAILED: $*"
    systemctl status vcudad virtio-cuda-spawner --no-pager --lines=0 || true
    journalctl -u vcudad -u virtio-cuda-spawner --no-pager | tail -n 60
    exit 1
}
trap 'fail "line $LINENO: $BASH_COMMAND"' ERR
quietly() { "$@" >/tmp/said 2>&1 || { cat /tmp/said; fail "$*"; }; }
of_unit() { systemctl show "${2:-vcudad}" --property="$1" --value; }
of_spawner() { of_unit "$1" virtio-cuda-spawner; }
# until_so SECONDS WHAT COMMAND…: retries COMMAND until it succeeds or SECONDS have passed.
until_so() {
    local end=$((SECONDS + $1)) what="$2"
    shift 2
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || fail "timed out waiting for: $what"
        sleep 0.1
    done
}
# prints PATTERN COMMAND…: succeeds if COMMAND prints a line with PATTERN, whatever its exit status. With
# a pipe to grep -q, a command's failure would count (pipefail), and so would its end by SIGPIPE.
prints() {
    local pattern="$1"
    shift
    "$@" >/tmp/said 2>&1 || true
    grep -q -- "$pattern" /tmp/said
}
op() { runuser -u op -- "$@"; }
# Runs a CUDA program that connects to the VM's socket as a VMM would, with the socket's group.
program() {
    setpriv --reuid=op --regid="$(stat -c %g /run/virtio-cuda/web.sock)" --clear-groups \
        env LD_LIBRARY_PATH=/try VIRTIO_CUDA_SOCKET=/run/virtio-cuda/web.sock "/try/$@"
}
# Starts a program that launches kernels and checks their results until its input ends.
start_long() {
    rm -f /tmp/input /tmp/long
    mkfifo /tmp/input
    program spin hold=16 loop input </tmp/input >/tmp/long 2>&1 &
    long=$!
    exec 7>/tmp/input
    until_so 30 "the long program" grep -q ready /tmp/long
}
# Ends it, and checks its results.
end_long() {
    kill -0 "$long" || fail "a program has ended $1: $(cat /tmp/long)"
    exec 7>&-
    wait "$long" || fail "a program has failed $1: $(cat /tmp/long)"
}
