#!/usr/bin/env bash
# Builds the user-mode Linux kernel that the tests boot as a VM without KVM.
#
#   images/uml-kernel.sh [--debug]            build if needed
#   images/uml-kernel.sh [--debug] --print    … and print the directory of the kernel
#
# With --debug, the kernel detects invalid memory accesses (KASAN), leaks (kmemleak), undefined
# behavior (UBSAN), and violations of the rules for locks (lockdep). It runs several times slower.
#
# Result, under $VIRTIO_CUDA_CACHE/uml/VERSION-REVISION/ (and the link uml/current), or with --debug
# under $VIRTIO_CUDA_CACHE/uml/VERSION-REVISION-debug/ (and the link uml/debug):
#   linux     the kernel, stripped
#   build/    the build tree for modules:
#             make -C …/uml/current/build ARCH=um M=$PWD modules
#
# The source is Debian's linux-source package in trixie-backports. The minimum version is 7.2, which
# has both seccomp mode (added in 6.16) and SMP for user-mode Linux.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

LEAST=7.2
# Prefer the tested series over the newest.
PREFERRED=linux-source-7.2
SUITE=trixie-backports
# Increase this when the configuration below changes. Cached kernels are then rebuilt.
CONFIG_REVISION=3

UML="$CACHE/uml"
link="$UML/current" debug=
if [ "${1:-}" = --debug ]; then
    link="$UML/debug" debug=-debug
    shift
fi

finish() {
    if [ "${1:-}" = --print ]; then
        readlink -f "$link"
    fi
    exit 0
}

is_current() {
    [ -x "$link/linux" ] && [ "$(cat "$link/revision" 2>/dev/null)" = "$CONFIG_REVISION" ]
}

if is_current; then
    log "user-mode Linux $(basename -- "$(readlink "$link")") is up to date: $link/linux"
    finish "${1:-}"
fi

mkdir -p "$UML"
exec 8>"$link.lock"
flock 8
if is_current; then
    finish "${1:-}"
fi

ensure_packages gcc make flex bison bc libelf-dev xz-utils zstd kmod

apt_setup trixie "$SUITE"
apt_refresh
package="$PREFERRED"
if [ -z "$(apt_version "$package")" ]; then
    # The metapackage linux-source depends on the newest version.
    package="$(apt-cache show -a linux-source | sed -n 's/^Depends: \(linux-source-[0-9.]*\).*/\1/p' |
        sort -V | tail -n 1)"
fi
[ -n "$package" ] || die "no linux-source package in $SUITE"
version="$(apt_version "$package")"
require_version "$package" "$version" "$LEAST"
deb="$(fetch_deb "$package")"

# Build in a new directory, because the current revision may be in use.
name="$version-$CONFIG_REVISION$debug"
out="$UML/$name"
build="$out/build"
rm -rf "$out"
mkdir -p "$build"

log "unpacking $package $version (a minute)"
# Leave out large parts of the source that this build doesn't need. (Keep all architectures, because
# Kconfig reads them.)
dpkg-deb --fsys-tarfile "$deb" | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
    tar -xJ -C "$build" --strip-components=1 \
        --exclude='*/arch/*/boot/dts/*' --exclude='*/Documentation/*/*' \
        --exclude='*/tools/testing/*' --exclude='*/drivers/gpu/drm/amd/include/*'

log "configuring"
quietly "$out/config.log" make -s -C "$build" ARCH=um defconfig
config() { "$build/scripts/config" --file "$build/.config" "$@"; }
config --set-str LOCALVERSION "-virtio-cuda" -d LOCALVERSION_AUTO
# Features of the virtual machine: several CPUs, vhost-user devices, and the host's file system as
# root.
config -e SMP --set-val NR_CPUS 16 -e VIRTIO_UML -e HOSTFS -e MODULES -e MODULE_UNLOAD -d MODVERSIONS \
    -e BLK_DEV_INITRD -e DEVTMPFS -e DEVTMPFS_MOUNT -d UML_TIME_TRAVEL_SUPPORT
# Features that programs expect.
config -e PROC_FS -e SYSFS -e TMPFS -e TMPFS_XATTR -e SHMEM -e MEMFD_CREATE -e FUTEX \
    -e EPOLL -e EVENTFD -e SIGNALFD -e TIMERFD -e INOTIFY_USER -e UNIX98_PTYS -e OVERLAY_FS \
    -e FUSE_FS -e VIRTIO_FS -e UNIX -e PACKET -e USERFAULTFD -e ADVISE_SYSCALLS -e MEMBARRIER
# Features for tests of the limits that vcudad sets on a host.
config -e CGROUPS -e MEMCG -e CGROUP_PIDS -e CGROUP_SCHED -e FAIR_GROUP_SCHED -e CFS_BANDWIDTH \
    -e PID_NS
# Features for tests of the driver. (Sleep states are unavailable with SMP.)
config -e IKCONFIG -e IKCONFIG_PROC -e DEBUG_FS -d DEBUG_INFO -e MAGIC_SYSRQ
# Leave out drivers for devices that a UML guest never has: they take a third of the build time.
config -d SOUND -d MEDIA_SUPPORT -d USB_SUPPORT -d WIRELESS -d WLAN -d ETHERNET -d SCSI -d MD \
    -d INPUT_TOUCHSCREEN
checks=()
if [ -n "$debug" ]; then
    config --set-str LOCALVERSION "-virtio-cuda-debug"
    checks=(KASAN KASAN_VMALLOC PROVE_LOCKING DEBUG_ATOMIC_SLEEP DEBUG_KMEMLEAK DEBUG_LIST DEBUG_SG
        DEBUG_VM DETECT_HUNG_TASK DEBUG_OBJECTS_WORK DEBUG_NOTIFIERS UBSAN_BOUNDS UBSAN_SHIFT)
    config -e KASAN_OUTLINE -e UBSAN -d UBSAN_TRAP --set-val DEBUG_KMEMLEAK_MEM_POOL_SIZE 40000 \
        -d DEBUG_KMEMLEAK_AUTO_SCAN -e DEBUG_OBJECTS -e DEBUG_OBJECTS_FREE
    for option in "${checks[@]}"; do config -e "$option"; done
fi
quietly "$out/config.log" make -s -C "$build" ARCH=um olddefconfig
for option in SMP VIRTIO_UML HOSTFS MODULES MODULE_UNLOAD BLK_DEV_INITRD DEVTMPFS OVERLAY_FS \
    VIRTIO_FS MEMFD_CREATE TMPFS PROC_FS UNIX98_PTYS MEMCG CGROUP_PIDS CFS_BANDWIDTH PID_NS \
    "${checks[@]}"; do
    grep -q "^CONFIG_$option=y" "$build/.config" ||
        die "CONFIG_$option did not take effect in $build/.config"
done

log "building Linux $version for ARCH=um (5 to 8 minutes on 2 cores)"
progress 100 "$out/build.log" nice -n 5 make -C "$build" ARCH=um -j"$(jobs_n)" \
    KBUILD_BUILD_USER=virtio-cuda KBUILD_BUILD_HOST=virtio-cuda all
progress 100 "$out/prepare.log" make -C "$build" ARCH=um -j"$(jobs_n)" modules_prepare

strip -s -o "$out/linux" "$build/linux"

log "booting the kernel once"
# The root file system is hostfs, so init can be a script on the host.
cat >"$out/boot-check" <<'INIT'
#!/bin/sh
mount -t proc proc /proc
echo "virtio-cuda: guest runs Linux $(cat /proc/sys/kernel/osrelease) on $(grep -c ^processor /proc/cpuinfo) CPUs"
echo o >/proc/sysrq-trigger
sleep 5
INIT
chmod +x "$out/boot-check"
start="$(date +%s%N)"
timeout 60 "$out/linux" mem=256M ncpus=2 seccomp=on root=/dev/root rootfstype=hostfs \
    rootflags=/ rw quiet init="$out/boot-check" con=null con0=null,fd:1 \
    </dev/null >"$out/boot.log" 2>&1 || true
ms=$((($(date +%s%N) - start) / 1000000))
grep -q 'virtio-cuda: guest' "$out/boot.log" ||
    die "the kernel did not run init; its console output is in $out/boot.log"

# To build modules, only the headers, scripts, and symbols are needed. Remove the sources and
# objects.
log "trimming the build tree"
find "$build" \( -path "$build/scripts" -o -path "$build/tools" \) -prune -o \
    -type f \( -name '*.c' -o -name '*.o' -o -name '*.a' -o -name '.*.cmd' -o -name '*.S' \) \
    ! -name 'module.lds*' -print0 | xargs -0 rm -f
rm -f "$build/linux" "$build/vmlinux" "$build/vmlinux.unstripped"

echo "$CONFIG_REVISION" >"$out/revision"
ln -sfn "$name" "$link"
record "uml-kernel$debug" "$version" "$SUITE:$package"
log "ready: $out/linux ($(du -h "$out/linux" | cut -f1)), boots in $ms ms; build tree $(du -sh "$build" | cut -f1)"
finish "${1:-}"
