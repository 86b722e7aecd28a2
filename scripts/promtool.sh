#!/usr/bin/env bash
# Runs promtool, which checks metrics and alert rules. Downloads Debian 13's version first if it's
# missing (16 MB).
#
#   promtool.sh ARGUMENTS...   runs promtool with these arguments
#
# The program is kept outside the checkout, in ${VIRTIO_CUDA_CACHE:-~/.cache/virtio-cuda}.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../images/lib.sh"

program="$CACHE/promtool/promtool"

fetch() {
    local deb
    apt_setup trixie
    apt_refresh
    deb="$(fetch_deb promtool)"
    mkdir -p "$CACHE/promtool"
    dpkg-deb --fsys-tarfile "$deb" | tar -x --to-stdout ./usr/bin/promtool >"$program.new"
    chmod +x "$program.new"
    mv "$program.new" "$program"
    record promtool "$(dpkg-deb -f "$deb" Version)" trixie
}

if [ ! -x "$program" ]; then
    (
        # Two scripts running at the same time must not write to the same file.
        flock 9
        [ -x "$program" ] || fetch
    ) 9>"$CACHE/promtool.lock"
fi
exec "$program" "$@"
