#!/usr/bin/env bash
# Builds a bootable Debian 13 disk image, on which apt installs the guest package and DKMS builds
# the driver.
#
#   images/disk.sh [--deb FILE] [--print] [--try]
#
#   --deb FILE   the guest package (default: images/guest-package.sh builds it)
#   --print      print the disk's path
#   --try        boot the disk in QEMU under TCG, with its own boot loader, and show the driver
#
# Result, under $VIRTIO_CUDA_CACHE/disk/ (links current.qcow2, current.vmlinuz,
# current.initrd): a qcow2 with one ext4 partition, which boots with BIOS and GRUB, or directly:
#   -kernel current.vmlinuz -initrd current.initrd -append "console=ttyS0 root=LABEL=vcuda-root quiet TERM=dumb"
# Root is logged in on the serial console. To run a program in the guest, attach a tar archive that
# contains an executable "run" as a second disk:
#   -drive if=none,id=run,format=raw,readonly=on,file=run.tar -device virtio-blk-pci,drive=run,serial=vcuda-run
# The guest prints the program's output and "virtio-cuda-exit: STATUS" on the serial console and
# powers off. Boot with -snapshot or a qcow2 overlay to leave the image unchanged.
#
# The base system is cached separately, so rebuilding the disk with a new package downloads nothing.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

SUITE=trixie
# Minimum version of the guest's kernel, which is Debian 13's.
LEAST=6.12
PACKAGES=(systemd-sysv udev dbus kmod procps iproute2 e2fsprogs login linux-image-cloud-amd64
    linux-headers-cloud-amd64 dkms initramfs-tools zstd grub-pc-bin grub2-common)

DISK="$CACHE/disk"
parts="$IMAGES_DIR/disk"
deb='' print='' try=''
while [ "$#" -gt 0 ]; do
    case "$1" in
        --deb) deb="${2:?--deb needs a file}" && shift 2 ;;
        --print) print=1 && shift ;;
        --try) try=1 && shift ;;
        *) die "unknown argument '$1': see the comment at the top of $0" ;;
    esac
done
mkdir -p "$DISK"
qemu="$("$IMAGES_DIR/qemu.sh" --print)"
qemu_img="$(dirname -- "$qemu")/qemu-img"
if [ ! -x "$qemu_img" ]; then
    ensure_packages qemu-utils
    qemu_img="$(command -v qemu-img)"
fi
[ -n "$deb" ] || deb="$("$IMAGES_DIR/guest-package.sh")"
[ -s "$deb" ] || die "package '$deb' does not exist"

exec 8>"$DISK/lock"
flock 8

base_key="$({ printf '%s ' "${PACKAGES[@]}" && cat "$parts/setup"; } | sha256sum | cut -c 1-8)"
base="$DISK/base-$SUITE-$base_key.tar"
if [ ! -s "$base" ]; then
    ensure_packages mmdebstrap debian-archive-keyring
    log "building the base system of Debian $SUITE (2 minutes, downloads 300 MB)"
    mirror="$(debian_mirror)"
    progress 1 "$DISK/base.log" as_root mmdebstrap --variant=minbase --mode=root --format=tar \
        --include="$(IFS=,; echo "${PACKAGES[*]}")" \
        --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/doc/*' \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --aptopt='APT::Install-Recommends "false"' \
        --customize-hook="copy-in '$parts/setup' /root" \
        --customize-hook='chroot "$1" /root/setup && rm "$1/root/setup"' \
        --customize-hook='chroot "$1" dpkg-query -W linux-image-cloud-amd64 dkms systemd >"$1/etc/virtio-cuda-base"' \
        "$SUITE" "$base.new" "deb [signed-by=$DEBIAN_KEYRING] $mirror $SUITE main"
    mv "$base.new" "$base"
fi
versions="$(tar -xOf "$base" ./etc/virtio-cuda-base)"
kernel_version="$(awk '$1 == "linux-image-cloud-amd64" { print $2 }' <<<"$versions")"
require_version linux-image-cloud-amd64 "$kernel_version" "$LEAST"

key="$({ printf '%s' "$versions" && cat "$deb" "$parts"/* "${BASH_SOURCE[0]}"; } | sha256sum | cut -c 1-16)"
name="$SUITE-$key"
if [ ! -s "$DISK/$name.qcow2" ]; then
    ensure_packages e2fsprogs fdisk dpkg-dev
    root="$DISK/root.$$"
    trap 'as_root rm -rf "$root" "$DISK/$name.raw"' EXIT
    log "unpacking the base system"
    as_root mkdir -p "$root"
    as_root tar -xpf "$base" -C "$root" --numeric-owner

    # Put the package into a local archive, so that apt installs it as it would from any other.
    log "installing $(basename -- "$deb") with apt (builds the driver)"
    as_root install -d "$root/srv/virtio-cuda"
    as_root cp "$deb" "$root/srv/virtio-cuda/"
    (cd "$root/srv/virtio-cuda" && dpkg-scanpackages -m . 2>/dev/null | as_root tee Packages >/dev/null)
    echo 'deb [trusted=yes] file:/srv/virtio-cuda ./' | as_root tee "$root/etc/apt/sources.list.d/virtio-cuda.list" >/dev/null
    # apt needs only the local archive, because the base system contains the package's dependencies.
    progress 40 "$DISK/install.log" enter_root "$root" -- sh -euc '
        local="-o Dir::Etc::SourceList=/etc/apt/sources.list.d/virtio-cuda.list -o Dir::Etc::SourceParts=/nonexistent"
        apt-get $local -o APT::Sandbox::User=root update
        apt-get $local -o APT::Sandbox::User=root -o Dpkg::Use-Pty=0 install -y --no-install-recommends virtio-cuda-guest
        dkms status'
    grep -q 'virtio-cuda.*installed' "$DISK/install.log" || die "DKMS did not install the driver; see $DISK/install.log"

    as_root install -m 755 "$parts/virtio-cuda-run" "$root/usr/local/sbin/"
    as_root install -m 644 "$parts/virtio-cuda-run@.service" "$root/etc/systemd/system/"
    as_root install -m 644 "$parts/61-virtio-cuda-run.rules" "$root/etc/udev/rules.d/"

    log "building the initramfs and the boot loader"
    quietly "$DISK/boot.log" enter_root "$root" -- sh -euc '
        update-initramfs -u -k all
        mkdir -p /boot/grub/i386-pc
        cp /usr/lib/grub/i386-pc/*.mod /usr/lib/grub/i386-pc/*.lst /boot/grub/i386-pc/
        kernel="$(basename /boot/vmlinuz-*)"
        # grub-probe needs a mounted file system, so write the configuration by hand.
        cat >/boot/grub/grub.cfg <<CFG
set timeout=0
menuentry Debian {
    linux /boot/$kernel console=ttyS0 root=LABEL=vcuda-root quiet TERM=dumb
    initrd /boot/initrd.img-${kernel#vmlinuz-}
}
CFG'
    as_root cp "$parts/grub.cfg" "$root/boot/grub/first-stage.cfg"
    quietly "$DISK/boot.log" enter_root "$root" -- grub-mkimage -O i386-pc -o /boot/grub/core.img \
        -p /boot/grub -c /boot/grub/first-stage.cfg \
        biosdisk part_msdos ext2 search search_label configfile normal linux echo test
    as_root cp "$root"/boot/vmlinuz-* "$DISK/$name.vmlinuz"
    as_root cp "$root"/boot/initrd.img-* "$DISK/$name.initrd"

    log "writing the disk"
    size_mb=$(($(as_root du -sm "$root" | cut -f1) + 1024))
    # Create one partition, which starts at 1 MiB. Write GRUB's boot sector and core image in front
    # of it, as grub-install would, but without a loop device.
    rm -f "$DISK/$name.raw"
    truncate -s "$((size_mb + 1))M" "$DISK/$name.raw"
    echo 'start=1MiB, type=83, bootable' | sfdisk -q "$DISK/$name.raw"
    as_root mke2fs -q -t ext4 -L vcuda-root -d "$root" -E offset=1048576 "$DISK/$name.raw" "${size_mb}M"
    as_root dd if="$root/usr/lib/grub/i386-pc/boot.img" of="$DISK/$name.raw" bs=440 count=1 conv=notrunc status=none
    as_root dd if="$root/boot/grub/core.img" of="$DISK/$name.raw" bs=512 seek=1 conv=notrunc status=none
    "$qemu_img" convert -f raw -O qcow2 "$DISK/$name.raw" "$DISK/$name.qcow2.new"
    mv "$DISK/$name.qcow2.new" "$DISK/$name.qcow2"
    # Remove disks that have earlier packages.
    for old in "$DISK/$SUITE"-* "$DISK/base-$SUITE"-*; do
        case "$old" in "$DISK/$name".* | "$base") ;; *) rm -f "$old" ;; esac
    done
    log "ready: $DISK/$name.qcow2 ($(du -h "$DISK/$name.qcow2" | cut -f1))"
else
    log "the disk is up to date: $DISK/$name.qcow2"
fi
for suffix in qcow2 vmlinuz initrd; do
    ln -sfn "$name.$suffix" "$DISK/current.$suffix"
done
record disk-kernel "$kernel_version" "$SUITE:linux-image-cloud-amd64"

if [ -n "$try" ]; then
    log "booting the disk with its own boot loader under TCG"
    work="$(mktemp -d)"
    # The program's output and exit status must not get lost if root is logged in meanwhile.
    printf '%s\n' '#!/bin/sh' 'uname -r; modinfo -n virtio_cuda; lsmod | grep virtio_cuda; ldconfig -p | grep -E "libcuda|libnvidia-ml"' \
        'systemd-analyze 2>/dev/null; until pgrep -t ttyS0 -x bash >/dev/null; do sleep 1; done; exit 0' >"$work/run"
    chmod +x "$work/run"
    tar -cf "$work/run.tar" -C "$work" run
    start="$(date +%s%N)"
    timeout 300 "$qemu" -M q35 -accel tcg,thread=multi -cpu max -m 1G -smp 2 -nodefaults -display none \
        -no-reboot -serial stdio -snapshot \
        -drive if=none,id=root,format=qcow2,file="$DISK/$name.qcow2" -device virtio-blk-pci,drive=root \
        -drive if=none,id=run,format=raw,file="$work/run.tar" -device virtio-blk-pci,drive=run,serial=vcuda-run \
        </dev/null | tee "$work/console" >&2
    log "total time $((($(date +%s%N) - start) / 1000000)) ms"
    grep -q 'virtio-cuda-exit: 0' "$work/console" || die "the guest did not run its program; see $work/console"
    rm -rf "$work"
fi
[ -z "$print" ] || printf '%s\n' "$DISK/$name.qcow2"
