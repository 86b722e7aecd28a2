#!/usr/bin/env bash
# Downloads the Debian kernels that the driver is built and tested with: headers and compilers for
# 6.1 (bookworm), 6.12 (trixie, cloud) and 7.2 (trixie-backports, cloud), and the kernel images of
# the last two. Nothing is installed on the host. Kernel headers require a specific compiler
# (gcc-12, gcc-14), and their tools require trixie's C library, so the packages are unpacked into a
# chroot in the cache, in which images/kmod-build.sh compiles.
#
#   images/kernel-debs.sh            download and unpack
#   images/kernel-debs.sh --print    … and print the directory of the kernels
#
# Result, under $VIRTIO_CUDA_CACHE/kernels/:
#   root/                     the chroot, with /lib/modules/RELEASE/build
#   SERIES/release            the kernel's release, for SERIES in 6.1, 6.12, 7.2
#   SERIES/vmlinuz, modules   links to the kernel image and its modules (6.12 and 7.2)
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

# Increase this when the list of packages changes.
REVISION=1
# Minimum version of each series.
declare -A LEAST=([6.1]=6.1.100 [6.12]=6.12.30 [7.2]=7.2.6)

KERNELS="$CACHE/kernels"
mode="${1:-}"

finish() {
    [ "$mode" != --print ] || printf '%s\n' "$KERNELS"
    exit 0
}
ready() { [ "$(cat "$KERNELS/revision" 2>/dev/null)" = "$REVISION" ]; }

if ready; then
    log "kernels are up to date: $(cat "$KERNELS"/*/release | tr '\n' ' ')"
    finish
fi
mkdir -p "$KERNELS"
exec 8>"$KERNELS/lock"
flock 8
! ready || finish

apt_setup bookworm trixie trixie-backports
apt_archives "$KERNELS/archives"
apt_refresh

# newest REGEX: of the packages whose whole name matches, prints the one with the highest version.
newest() { apt-cache pkgnames linux-headers- | grep -xE "$1" | sort -V | tail -n 1; }
declare -A HEADERS=(
    [6.1]="$(newest 'linux-headers-6\.1\.0-[0-9]+-amd64')"
    [6.12]="$(newest 'linux-headers-6\.12\.[0-9]+\+deb13-cloud-amd64')"
    [7.2]="$(newest 'linux-headers-7\.2\.[0-9]+\+deb13-cloud-amd64')"
)
packages=(base-files bash dash coreutils sed grep mawk findutils make perl-base kmod tar
    diffutils xz-utils debianutils libc-bin sparse)
for series in 6.1 6.12 7.2; do
    package="${HEADERS[$series]}"
    [ -n "$package" ] || die "the Debian mirror has no kernel headers of the $series series"
    version="$(apt_version "$package")"
    require_version "$package" "$version" "${LEAST[$series]}"
    log "Linux $series: $package $version"
    packages+=("$package")
    record "linux-$series" "$version" "$package"
done
packages+=("linux-image-${HEADERS[6.12]#linux-headers-}")
for part in binary modules; do
    packages+=("linux-$part-${HEADERS[7.2]#linux-headers-}")
done

log "downloading ${#packages[@]} packages and their dependencies (about 250 MB)"
apt-get install -y -qq --download-only "${packages[@]}" >&2

root="$KERNELS/root"
rm -rf "$root" "$root.new"
mkdir -p "$root.new"
log "unpacking"
unpack() { dpkg-deb --fsys-tarfile "$1" | tar -x -C "$root.new" --keep-directory-symlink; }
# Unpack base-files first, because it creates the links /bin, /lib, … into /usr, which the other
# packages must follow.
unpack "$(ls "$APT_ARCHIVES"/base-files_*.deb)"
for deb in "$APT_ARCHIVES"/*.deb; do
    unpack "$deb"
done
ln -sf mawk "$root.new/usr/bin/awk"
mkdir -p "$root.new/proc" "$root.new/dev" "$root.new/src"
mv "$root.new" "$root"

for series in 6.1 6.12 7.2; do
    release="${HEADERS[$series]#linux-headers-}"
    mkdir -p "$KERNELS/$series"
    echo "$release" >"$KERNELS/$series/release"
    [ -d "$root/usr/lib/modules/$release" ] || die "no /usr/lib/modules/$release after unpacking"
    if [ "$series" != 6.1 ]; then
        vmlinuz="$root/boot/vmlinuz-$release"
        [ -s "$vmlinuz" ] || vmlinuz="$root/usr/lib/modules/$release/vmlinuz"
        [ -s "$vmlinuz" ] || die "the packages contain no kernel image for $release"
        ln -sfn "$vmlinuz" "$KERNELS/$series/vmlinuz"
        ln -sfn "$root/usr/lib/modules/$release" "$KERNELS/$series/modules"
    fi
done
rm -rf "$APT_ARCHIVES"
echo "$REVISION" >"$KERNELS/revision"
log "ready: $KERNELS ($(du -sh "$root" | cut -f1)): $(cat "$KERNELS"/*/release | tr '\n' ' ')"
finish
