#!/usr/bin/env bash
# Attacks the VMs of a host at random, and checks that nothing is lost and no other VM is harmed.
#
#   tests/chaos.sh [--dist DIR] [--seconds N] [--seed S]
#
#   --dist DIR    the staged build (target/dist)
#   --seconds N   how long to attack (60)
#   --seed S      determines the sequence of actions (random, printed)
#
# There are 50 VMs on softgpu, without guest kernels: their programs connect over vhost-user. In 42
# of them, programs, workers, and device processes are killed, hostile programs flood the device, and
# settings change; the VMs are removed and added again. See tests/src/bin/chaos/main.rs for the
# checks. Needs root. The actions and vcudad's log are in target/chaos.
set -euo pipefail
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."

dist=target/dist seconds=60 seed=$RANDOM
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --seconds) seconds=${2:?--seconds needs a number}; shift 2 ;;
        --seed) seed=${2:?--seed needs a number}; shift 2 ;;
        *) echo "chaos.sh: unknown argument $1; see the comment at the top of the script" >&2; exit 2 ;;
    esac
done
[ "$(id -u)" = 0 ] || { echo "chaos.sh: run it as root, because VMs have users of their own" >&2; exit 2; }
dist=$(cd "$dist" && pwd)

bin=$(scripts/build-release.sh)
# vcudad refuses a change that it can't save within ten seconds, which a busy disk may take, so its
# state is in memory.
TMPDIR=/dev/shm VIRTIO_CUDA_DIST=$dist VIRTIO_CUDA_DRIVER=softgpu \
    "$bin/chaos" --seconds "$seconds" --seed "$seed" --out target/chaos
