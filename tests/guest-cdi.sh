#!/usr/bin/env bash
# Checks the guest package's CDI specifications with podman: has it resolve their devices for a user
# in a container, and reads the configuration that it passes to the runtime. No container is started,
# and no device is needed. Needs root.
#
#   tests/guest-cdi.sh
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../images/lib.sh"
ensure_packages podman crun python3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/root" "$work/cdi"
# This machine needn't have the device and the guest libraries, so mount other files in their place.
for spec in nvidia nvidia-smi; do
    sed -e 's|hostPath: /dev/virtio-cuda0|hostPath: /dev/null|' \
        -e 's|^\( *\)path: /dev/virtio-cuda0|&\n\1hostPath: /dev/null|' \
        -e 's|hostPath: /usr/.*|hostPath: /etc/hostname|' \
        "$IMAGES_DIR/guest-package/$spec.yaml" >"$work/cdi/$spec.yaml"
done
# A runtime that only keeps the configuration.
cat >"$work/runtime" <<RUNTIME
#!/bin/sh
case " \$* " in *" create "*) ;; *) exit 0 ;; esac
while [ "\$#" -gt 1 ]; do
    case "\$1" in --bundle | -b) cp "\$2/config.json" "$work/config.json" ;; esac
    shift
done
exit 1
RUNTIME
chmod 755 "$work/runtime"

# resolve DEVICE...: prints the container's device files with their modes, and its mounts.
resolve() {
    rm -f "$work/config.json"
    unshare -m bash -c '
        mkdir -p /etc/cdi /run/cdi && mount -t tmpfs none /etc/cdi && mount -t tmpfs none /run/cdi
        cp "$1"/cdi/*.yaml /etc/cdi && work=$1 && shift
        podman --runtime "$work/runtime" run --rm --network none --user 1000:1000 \
            "${@/#/--device=}" --rootfs "$work/root" /program
    ' - "$work" "$@" >"$work/podman.log" 2>&1 || true
    [ -f "$work/config.json" ] || { cat "$work/podman.log" >&2; return 1; }
    python3 - "$work/config.json" <<'PYTHON'
import json, sys
config = json.load(open(sys.argv[1]))
for device in config["linux"]["devices"]:
    print(f'{device["path"]}={device["fileMode"]:o}')
for mount in config["mounts"]:
    if mount["source"] == "/etc/hostname":
        print(mount["destination"])
PYTHON
}

failed=0
# expect NAME DEVICES FILES: fails unless the container has exactly these files.
expect() {
    local found
    # shellcheck disable=SC2086 # The devices are words.
    if found=$(resolve $2 | sort | xargs) && [ "$found" = "$(xargs -n 1 <<<"$3" | sort | xargs)" ]; then
        echo "ok      $1"
    else
        printf 'FAILED  %s:\n  expected %s\n  found    %s\n' "$1" "$(xargs -n 1 <<<"$3" | sort | xargs)" "$found"
        failed=1
    fi
}
libraries=
for folder in /usr/lib/x86_64-linux-gnu /usr/lib64; do
    libraries+=" $folder/libcuda.so.1 $folder/libnvidia-ml.so.1"
done
both="/dev/virtio-cuda0=666 /dev/nvidiactl=666 $libraries"
expect "all GPUs" nvidia.com/gpu=all "$both"
for gpu in {0..15}; do
    expect "GPU $gpu" "nvidia.com/gpu=$gpu" "$both /dev/nvidia$gpu=666"
done
expect "two GPUs" "nvidia.com/gpu=0 nvidia.com/gpu=3" "$both /dev/nvidia0=666 /dev/nvidia3=666"
expect "a GPU and nvidia-smi" "nvidia.com/gpu=1 nvidia.com/tool=nvidia-smi" \
    "$both /dev/nvidia1=666 /usr/bin/nvidia-smi"
exit $failed
