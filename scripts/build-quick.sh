#!/usr/bin/env bash
# Builds everything that the demo runs, with little optimization, and copies it to a directory, in the
# layout of scripts/stage.sh. The kernel, the programs of this project, and the CUDA programs are built
# at the same time, because each of them has to wait for downloads.
#
#   scripts/build-quick.sh DIR           everything for `make demo`
#   scripts/build-quick.sh --case DIR    only the programs of this project that `make case` needs
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../images/lib.sh"
host=(vcudad vhost-device-cuda vhost-cuda-spawner vhost-cuda-supervisor vhost-cuda-worker)
case "${1:-}" in
    --case)
        parts=(rust) tests=(cuda-conformance)
        shift
        # Whoever tries a case builds again soon.
        export CARGO_INCREMENTAL=1
        ;;
    *) parts=(kernel cuda rust) tests=() host+=(vcudactl vcuda-run) ;;
esac
[ "$#" -eq 1 ] || die "usage: build-quick.sh [--case] DIR"
dist="$1"
cd "$REPO_DIR"
packages=("${host[@]/#vcuda-run/vmm-integration}" "${tests[@]}" softgpu guest-libcuda)
cuda=(static/{deviceinfo,vectoradd,mandelbrot,spin} quota/{saturate,chain})
logs=target/quick-logs
mkdir -p "$logs"

kernel() {
    images/uml-kernel.sh
    images/kmod-build.sh uml guest-driver target/kmod/uml
}
cuda() { make --no-print-directory -s -C tests/programs "${cuda[@]/#/$PWD/target/programs/}"; }
rust() {
    progress 25 "$logs/cargo.log" cargo build --profile quick --locked --bins --lib \
        "${packages[@]/#/--package=}"
    log "host programs, guest library, and softgpu are built"
}

# Each build has its own process group, so that all of its processes can be killed.
set -m
declare -A builds=()
trap 'for build in "${!builds[@]}"; do kill -- "-$build" 2>/dev/null || true; done' EXIT
for build in "${parts[@]}"; do
    "$build" </dev/null &
    builds[$!]=$build
done
while [ ${#builds[@]} -gt 0 ]; do
    wait -n -p ended || die "the build of ${builds[$ended]} failed; see the messages above"
    unset "builds[$ended]"
done

mkdir -p "$dist"/{bin/softgpu,guest}
install "${host[@]/#/target/quick/}" "$dist/bin/"
install target/quick/libsoftgpu.so "$dist/bin/softgpu/libcuda.so.1"
install target/quick/libguest_libcuda.so "$dist/guest/libcuda.so.1"
if [ ${#tests[@]} -gt 0 ]; then
    mkdir -p "$dist/tests"
    install "${tests[@]/#/target/quick/}" "$dist/tests/"
    exit
fi
mkdir -p "$dist"/{uml,programs/static,programs/quota}
install -m 644 target/kmod/uml/virtio_cuda.ko "$dist/guest/virtio_cuda.ko"
install "$CACHE/uml/current/linux" "$dist/uml/linux"
for program in "${cuda[@]}"; do
    install "target/programs/$program" "$dist/programs/$program"
done
