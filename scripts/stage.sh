#!/usr/bin/env bash
# Copies the build's output to a directory that the tests use, and that can be copied to another
# machine:
#   bin/        host programs, and bin/softgpu/libcuda.so.1
#   guest/      guest libraries and driver
#   uml/        the user-mode Linux kernel
#   programs/   CUDA programs
#   tests/      scripts that run the CUDA programs
# The binaries are stripped; those in target/release have symbols.
# usage: scripts/stage.sh DIR
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../images/lib.sh"
[ "$#" -eq 1 ] || die "usage: stage.sh DIR"
dist="$1"
built="$REPO_DIR/target/release"
mkdir -p "$dist"/{bin/softgpu,guest,uml,tests}
for program in vcudad vcudactl vhost-device-cuda vhost-cuda-spawner vhost-cuda-supervisor vhost-cuda-worker vcuda-run; do
    install -s "$built/$program" "$dist/bin/$program"
done
install -s "$built/libsoftgpu.so" "$dist/bin/softgpu/libcuda.so.1"
install -s "$built/libguest_libcuda.so" "$dist/guest/libcuda.so.1"
install -s "$built/libguest_libnvidia_ml.so" "$dist/guest/libnvidia-ml.so.1"
install -p -m 644 "$REPO_DIR/target/kmod/uml/virtio_cuda.ko" "$dist/guest/virtio_cuda.ko"
install -p "$CACHE/uml/current/linux" "$dist/uml/linux"
rm -rf "$dist/programs"
mkdir -p "$dist/programs"
cp -rp "$REPO_DIR"/target/programs/{static,shared,quota,cudart12,lib} "$dist/programs/"
strip "$dist"/programs/{static,shared,quota,cudart12/*}/*
cp -p "$REPO_DIR/tests/programs/run.sh" "$dist/programs/run.sh"
make -s -C "$REPO_DIR/tests/programs" list >"$dist/programs/list"
install -s "$built"/{call-cost,cuda-conformance} "$dist/tests/"
install -p "$REPO_DIR"/tests/{matrix,conformance,lib}.sh "$REPO_DIR"/tests/gpu/*.{sh,py} "$dist/tests/"
rm -rf "$dist/tests/programs"
cp -rp "$REPO_DIR/tests/gpu/programs" "$dist/tests/programs"
git -C "$REPO_DIR" describe --always --dirty >"$dist/commit" 2>/dev/null || echo unknown >"$dist/commit"
log "staged in $dist ($(du -sh "$dist" | cut -f 1))"
