#!/usr/bin/env bash
# Adds the files that tests/gpu/run.sh needs to the output of scripts/stage.sh: the Rust tests as
# executables, and QEMU with a guest kernel.
# usage: scripts/stage-gpu.sh DIR
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../images/lib.sh"
[ "$#" -eq 1 ] || die "usage: stage-gpu.sh DIR"
mkdir -p "$1/qemu"
dist="$(readlink -f "$1")"
cd "$REPO_DIR"

# Ask Cargo for the path of the test's executable, because its name contains a hash.
proofs="$(scripts/cargo-release.sh test --locked --release --quiet --no-run --test proofs \
    --message-format=json | grep -o '"executable":"[^"]*/proofs-[^"]*"' | cut -d '"' -f 4)"
install -s "$proofs" "$dist/tests/proofs"

bundle="$(images/qemu.sh --tar)"
kernels="$(images/kernel-debs.sh --print)"
images/kmod-build.sh 7.2 guest-driver target/kmod/7.2
install -p -m 644 target/kmod/7.2/virtio_cuda.ko "$dist/qemu/virtio_cuda.ko"
strip --strip-debug "$dist/qemu/virtio_cuda.ko"
cp -L "$kernels/7.2/vmlinuz" "$dist/qemu/vmlinuz"
images/initramfs.sh -o "$dist/qemu/initramfs.cpio.gz"
# The GPU machine may not have zstd.
zstd -dc "$bundle" | gzip -9 >"$dist/qemu/qemu.tar.gz"
rm -f "$dist/qemu/qemu.tar.zst"
log "ready to copy to the GPU machine: $dist ($(du -sh "$dist" | cut -f 1))"
