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
# has both seccomp mode (added in 6.16) and SMP for user-mode Linux. The configuration is in uml/.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

LEAST=7.2
# Prefer the tested series over the newest.
PREFERRED=linux-source-7.2
SUITE=trixie-backports
# Increase this when the configuration in uml/ or the build below changes. Cached kernels are then
# rebuilt.
CONFIG_REVISION=4

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

log "unpacking $package $version"
# Don't unpack files that this build doesn't read, such as most drivers. The build does read all
# Kconfig and make files.
dpkg-deb --fsys-tarfile "$deb" | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
    xz -dc -T0 | tar -x -C "$build" --strip-components=1 --exclude-from="$IMAGES_DIR/uml/unneeded"

log "configuring"
fragments=("$IMAGES_DIR/uml/config")
[ -z "$debug" ] || fragments+=("$IMAGES_DIR/uml/debug")
grep -h '^CONFIG' "${fragments[@]}" >"$out/wanted"
echo "CONFIG_LOCALVERSION=\"-virtio-cuda$debug\"" >>"$out/wanted"
quietly "$out/config.log" make -s -C "$build" ARCH=um KCONFIG_ALLCONFIG="$out/wanted" allnoconfig
missing="$(grep -vxFf "$build/.config" "$out/wanted" | xargs || true)"
[ -z "$missing" ] || die "these options did not take effect in $build/.config: $missing"

log "building Linux $version for ARCH=um"
# Compiling takes a quarter less time with less optimization. Not with --debug, whose checks may
# depend on the optimization.
flags=()
[ -n "$debug" ] || flags=(KCFLAGS=-O1)
progress 50 "$out/build.log" nice -n 5 make -C "$build" ARCH=um -j"$(jobs_n)" "${flags[@]}" \
    KBUILD_BUILD_USER=virtio-cuda KBUILD_BUILD_HOST=virtio-cuda linux modules
quietly "$out/prepare.log" make -C "$build" ARCH=um modules_prepare

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
