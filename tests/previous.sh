#!/usr/bin/env bash
# Runs programs with an older guest and today's host, and with today's guest and an older host.
#
#   tests/previous.sh [--dist DIR] [--kernel] [COMMIT]
#
#   COMMIT        a tag or commit, by default the newest tag before this commit. It's built in a
#                 worktree, with a target directory that is kept for the next time
#                 (target/previous); the first build takes some minutes
#   --dist DIR    the staged build of today (target/dist)
#   --kernel      also run them in user-mode Linux, with the older guest driver and today's host, and
#                 the other way around
#
# Prints a line for each combination and program. The exit status is 0 if all programs passed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/tests/lib.sh"
dist=$root/target/dist commit='' paths='vhost-user' limit=120
programs=(vectoradd streams events graphs threads managed textures printf outofmemory processes)
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --kernel) paths='vhost-user uml'; shift ;;
        -*) echo "previous.sh: unknown argument $1; see the comment at the top of the script" >&2; exit 2 ;;
        *) commit=$1; shift ;;
    esac
done
commit=${commit:-$(git -C "$root" describe --tags --abbrev=0 HEAD^ 2>/dev/null)} ||
    { echo 'previous.sh: there is no tag yet; name a commit' >&2; exit 2; }
commit=$(git -C "$root" rev-parse --short "$commit^{commit}")
dist=$(cd "$dist" && pwd)

previous=$root/target/previous
mkdir -p "$previous"
work=$(mktemp -d)
# Processes of VMs have other users.
chmod 755 "$work"
cleanup() {
    stop_device
    git -C "$root" worktree remove --force "$work/source" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

# build: writes the older programs and libraries to target/previous/COMMIT, in the form of target/dist.
build() {
    local old=$previous/$commit built=$previous/target/release
    git -C "$root" worktree add --quiet --detach "$work/source" "$commit"
    echo "previous.sh: building $commit"
    (cd "$work/source" && CARGO_TARGET_DIR=$previous/target cargo build --release --locked --quiet \
        --workspace --bins --lib --exclude xtask)
    mkdir -p "$old.new/bin/softgpu" "$old.new/guest"
    for program in vcudad vhost-device-cuda vhost-cuda-spawner vhost-cuda-supervisor vhost-cuda-worker vcuda-run; do
        # Not every version has all of them.
        [ ! -x "$built/$program" ] || cp "$built/$program" "$old.new/bin/"
    done
    cp "$built/libsoftgpu.so" "$old.new/bin/softgpu/libcuda.so.1"
    cp "$built/libguest_libcuda.so" "$old.new/guest/libcuda.so.1"
    mv "$old.new" "$old"
}
[ -d "$previous/$commit" ] || build
old=$previous/$commit
if [ "$paths" != vhost-user ]; then
    # It must suit today's kernel.
    mkdir "$work/driver"
    git -C "$root" archive "$commit" guest-driver protocol/include | tar -x -C "$work/driver"
    "$root/images/kmod-build.sh" uml "$work/driver/guest-driver" "$work/kmod"
    cp "$work/kmod/virtio_cuda.ko" "$old/guest/"
fi

failed=0
# run NAME HOST GUEST: runs all programs with these versions.
run() {
    local name=$1 guest=$work/$1 path program status
    # The guest's files in the form of target/dist.
    mkdir "$guest"
    ln -s "$3/guest" "$guest/guest"
    ln -s "$dist/bin" "$guest/bin"
    ln -s "$dist/uml" "$guest/uml"
    for path in $paths; do
        start_device "$2" "$work/socket" "$work/device.log" --driver-library softgpu --memory-max 1G || { failed=1; return; }
        for program in "${programs[@]}"; do
            status=0
            run_on "$path" "$guest" "$work" timeout "$limit" "$dist/programs/static/$program" \
                >"$work/output" 2>&1 </dev/null || status=$?
            if [ "$status" = 0 ]; then
                echo "previous: $name: $path: $program: PASS"
            else
                failed=1
                [ "$status" != 124 ] || echo "it did not end within $limit s" >>"$work/output"
                tail -n 5 "$work/output"
                echo "previous: $name: $path: $program: FAIL"
            fi
        done
        stop_device
        rm -f "$work/socket"
    done
}

run "guest of $commit, host of today" "$dist" "$old"
run "guest of today, host of $commit" "$old" "$dist"
exit $failed
