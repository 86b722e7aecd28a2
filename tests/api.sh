#!/usr/bin/env bash
# Checks the control API and the metrics of a running vcudad with other projects' tools.
#
#   tests/api.sh [--dist DIR] [--seconds N] [--seed N] [--report DIR]
#
#   --dist DIR     the staged build (target/dist)
#   --seconds N    how long to send generated requests (30)
#   --seed N       determines the requests (1)
#   --report DIR   keep vcudad's log and Schemathesis' report
#
# The host has a VM with sessions, two without, and one that has failed, on softgpu. Schemathesis
# (https://schemathesis.io) sends it requests that it generates from docs/api/openapi.json, valid and
# invalid ones: vcudad must answer them as the description says, and never with an internal error.
# Prometheus' promtool checks the metrics, the alert rules, and which alerts fire. The first run
# installs both into ${VIRTIO_CUDA_CACHE:-~/.cache/virtio-cuda}, from PyPI and Debian 13.
set -euo pipefail

fail() {
    echo "api.sh: $1" >&2
    exit 2
}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
dist=$here/../target/dist seconds=30 seed=1 report=
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
        --seed) seed=${2:?--seed needs a number}; shift 2 ;;
        --report) report=${2:?--report needs a directory}; shift 2 ;;
        *) fail "unknown argument $1; see the comment at the top of the script" ;;
    esac
done
dist=$(cd "$dist" && pwd)
python=$(python_environment api "$here/api/requirements.txt")
"$here/../scripts/promtool.sh" --version >/dev/null || fail "cannot install promtool from Debian 13's archive"

work=$(mktemp -d)
chmod 755 "$work"
mkdir "$work/sockets" "$work/report"
pids=()
cleanup() {
    # The loops that start sessions must not start another one while vcudad ends.
    kill "${pids[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
    [ -z "$report" ] || { mkdir -p "$report" && cp -r "$work"/{vcudad.log,report} "$report/"; } || true
    rm -rf "$work"
}
trap cleanup EXIT
ctl() { "$dist/bin/vcudactl" --socket "$work/control" "$@"; }

cat >"$work/vcudad.toml" <<TOML
driver_library = "softgpu"
control_socket = "$work/control"
state_dir = ""
socket_folders = ["$work/sockets"]
[defaults]
memory.max = "256M"
[[vm]]
name = "busy"
socket = "$work/sockets/busy"
[[vm]]
name = "idle"
socket = "$work/sockets/idle"
[[vm]]
name = "spare"
socket = "$work/sockets/spare"
[[vm]]
name = "broken"
socket = "$work/sockets/broken"
TOML
SOFTGPU_DEVICES=2 SOFTGPU_MEMORY=16G "$dist/bin/vcudad" --config "$work/vcudad.toml" 2>"$work/vcudad.log" &
vcudad=$!
pids+=("$vcudad")
for _ in $(seq 300); do
    ! ctl version >/dev/null 2>&1 || break
    kill -0 "$vcudad" 2>/dev/null || { cat "$work/vcudad.log" >&2; fail "vcudad did not start"; }
    sleep 0.1
done

# A VM fails if its device process exits 5 times within a minute.
for _ in $(seq 300); do
    pid=$(ctl vm show broken --json | sed -n 's/.*"device_pid": \([0-9]*\).*/\1/p')
    [ -z "$pid" ] || kill -9 "$pid" 2>/dev/null || true
    ! ctl vm show broken --json | grep -q '"state": "failed"' || break
    sleep 0.1
done
ctl vm show broken --json | grep -q '"state": "failed"' || fail "the VM 'broken' did not fail"

# Keeps two sessions open in the VM "busy", also if the test ends them.
keep_busy() {
    trap 'kill $! 2>/dev/null; exit' TERM
    while :; do
        LD_LIBRARY_PATH=$dist/guest VIRTIO_CUDA_SOCKET=$work/sockets/busy \
            "$dist/programs/static/spin" hold=8 idle >/dev/null 2>&1 &
        wait $! || true
        sleep 0.2
    done
}
for _ in 1 2; do
    keep_busy &
    pids+=($!)
done
for _ in $(seq 300); do
    [ "$(ctl session ls --quiet | wc -l)" -lt 2 ] || break
    sleep 0.1
done
[ "$(ctl session ls --quiet | wc -l)" = 2 ] || fail "the sessions did not start"

"$python" "$here/api/bridge.py" "$work/control" >"$work/port" &
pids+=($!)
for _ in $(seq 300); do
    [ ! -s "$work/port" ] || break
    sleep 0.1
done
url=http://127.0.0.1:$(cat "$work/port")

failed=0
# get PATH: prints a response.
get() { "$python" -c 'import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode(), end="")' "$url$1"; }

echo "api.sh: metrics and alert rules"
get /metrics >"$work/metrics"
"$here/../scripts/promtool.sh" check metrics <"$work/metrics" || failed=1
"$here/../scripts/promtool.sh" check rules "$here/../docs/prometheus/virtio-cuda.yaml" || failed=1
"$here/../scripts/promtool.sh" test rules "$here/prometheus/alerts.yaml" || failed=1

stream() { "$python" "$here/api/streams.py" "$url" "$here/../docs/api/openapi.json" "$1" || failed=1; }

echo "api.sh: requests to the control API"
stream trace
(
    # Schemathesis writes files to the current directory.
    cd "$work"
    SOCKETS=$work/sockets PYTHONPATH=$here/api SCHEMATHESIS_HOOKS=hooks "${python%/*}/schemathesis" \
        --config-file "$here/api/schemathesis.toml" run "$here/../docs/api/openapi.json" --url "$url" \
        --seed "$seed" --max-time "$seconds" --report junit --report-dir "$work/report" --no-color
) || failed=1

# `stream events` needs an ended session. If any session is left, end it, because the requests above
# may not have ended one.
read -r vm session < <(ctl session ls --quiet) || true
[ -z "${session:-}" ] || ctl session kill "$vm" "$session" >/dev/null || failed=1
stream events

kill -0 "$vcudad" 2>/dev/null || { echo "api.sh: vcudad has exited" >&2; failed=1; }
if grep -E 'panicked|internal error' "$work/vcudad.log" >&2; then
    failed=1
fi
[ "$failed" = 0 ] || tail -n 20 "$work/vcudad.log" >&2
exit "$failed"
