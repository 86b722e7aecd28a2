#!/usr/bin/env bash
# Provides a QEMU with vhost-user-test-device-pci: the host's if it's new enough, otherwise a bundle
# made from Debian packages in trixie-backports. The bundle includes the libraries that QEMU needs,
# and runs from any directory.
#
#   images/qemu.sh             find or download QEMU
#   images/qemu.sh --print     … and print the path of qemu-system-x86_64
#   images/qemu.sh --tar       … and print the path of the bundle as tar.zst, for a machine
#                              without network (unpack it anywhere, run bin/qemu-system-x86_64)
#
# The bundle is in $VIRTIO_CUDA_CACHE/qemu/VERSION/ (link qemu/current) and contains
# bin/qemu-system-x86_64 and bin/qemu-img. The minimum version is 10.2, because users can't create
# the generic vhost-user device in earlier versions.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

LEAST=10.2
SUITE=trixie-backports
DEVICE=vhost-user-test-device-pci
# Increase this when the bundle's contents change.
REVISION=1

QEMU="$CACHE/qemu"
mode="${1:-}"

bundle_ready() { [ "$(cat "$QEMU/current/revision" 2>/dev/null)" = "$REVISION" ]; }

answer() {
    case "$mode" in
        --print) printf '%s\n' "$1" ;;
        --tar) readlink -f "$QEMU/current.tar.zst" ;;
        '') ;;
        *) die "unknown argument '$mode': use --print, --tar or none" ;;
    esac
    exit 0
}

# Use the host's QEMU unless a bundle is requested.
if [ "$mode" != --tar ] && host="$(command -v qemu-system-x86_64)"; then
    version="$("$host" --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p')"
    if dpkg --compare-versions "${version:-0}" ge "$LEAST" &&
        "$host" -device help 2>/dev/null | grep -q "\"$DEVICE\""; then
        log "the host's QEMU $version is new enough: $host"
        record qemu "$version" host
        answer "$host"
    fi
    log "the host's QEMU is $version, but $LEAST or newer is required: using Debian's from $SUITE"
fi

if bundle_ready; then
    log "QEMU $(basename -- "$(readlink "$QEMU/current")") is up to date: $QEMU/current"
    answer "$QEMU/current/bin/qemu-system-x86_64"
fi

mkdir -p "$QEMU"
exec 8>"$QEMU/lock"
flock 8
if bundle_ready; then
    answer "$QEMU/current/bin/qemu-system-x86_64"
fi

ensure_packages zstd
apt_setup trixie "$SUITE"
apt_archives "$QEMU/archives"
apt_refresh
version="$(apt-cache policy qemu-system-x86 | awk -v suite="$SUITE" '
    $1 ~ /^[0-9]+:/ { v = $1 } $1 == "***" { v = $2 }
    index($0, suite "/") && v != "" { print v; exit }')"
upstream="${version#*:}"
upstream="${upstream%%[+~-]*}"
require_version qemu-system-x86 "$upstream" "$LEAST"

log "downloading QEMU $version and its dependencies from $SUITE"
apt-get install -y -qq --download-only -t "$SUITE" qemu-system-x86 qemu-utils seabios >&2
out="$QEMU/$upstream"
rm -rf "$out" "$out.root"
mkdir -p "$out/bin" "$out/lib" "$out/libexec" "$out/share/qemu" "$out.root"
log "unpacking"
for deb in "$APT_ARCHIVES"/*.deb; do
    dpkg-deb -x "$deb" "$out.root"
done

root="$out.root"
loader="$(find "$root" -name 'ld-linux-x86-64.so.2' -type f -print -quit)"
[ -n "$loader" ] || die "the packages contain no dynamic loader"
cp -L "$loader" "$out/lib/ld-linux-x86-64.so.2"
libs="$root/usr/lib/x86_64-linux-gnu:$root/lib/x86_64-linux-gnu"
libs="$libs:$(find "$root/usr/lib/x86_64-linux-gnu" -mindepth 1 -maxdepth 1 -type d | tr '\n' ':')"
for program in qemu-system-x86_64 qemu-img; do
    cp "$root/usr/bin/$program" "$out/libexec/$program"
    "$out/lib/ld-linux-x86-64.so.2" --library-path "$libs" --list "$out/libexec/$program" \
        >"$out/libexec/$program.needs"
    if grep 'not found' "$out/libexec/$program.needs" >&2; then
        die "the packages lack libraries that $program needs"
    fi
    sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' "$out/libexec/$program.needs" | while read -r lib; do
        [ -e "$out/lib/$(basename -- "$lib")" ] || cp -L "$lib" "$out/lib/"
    done
    rm "$out/libexec/$program.needs"
    cat >"$out/bin/$program" <<WRAPPER
#!/bin/sh
# Runs the bundled $program with the libraries and firmware next to it.
here=\$(dirname -- "\$(dirname -- "\$(readlink -f -- "\$0")")")
exec "\$here/lib/ld-linux-x86-64.so.2" --library-path "\$here/lib" --argv0 "\$0" \\
    "\$here/libexec/$program" $([ "$program" = qemu-img ] || echo '-L "$here/share/qemu"') "\$@"
WRAPPER
    chmod +x "$out/bin/$program"
done
# Copy the firmware for q35 and microvm, for booting a kernel directly or from a disk, without a
# display and without network boot.
for blob in bios-256k.bin bios-microvm.bin linuxboot_dma.bin linuxboot.bin multiboot_dma.bin \
    kvmvapic.bin vgabios-stdvga.bin pvh.bin efi-virtio.rom; do
    for folder in seabios qemu; do
        if [ -e "$root/usr/share/$folder/$blob" ]; then
            cp -L "$root/usr/share/$folder/$blob" "$out/share/qemu/"
            break
        fi
    done
done
[ -s "$out/share/qemu/bios-256k.bin" ] || die "the seabios package has no bios-256k.bin"
rm -rf "$root" "$APT_ARCHIVES"

log "testing the bundle"
"$out/bin/qemu-system-x86_64" --version >&2
"$out/bin/qemu-system-x86_64" -device help 2>/dev/null | grep -q "\"$DEVICE\"" ||
    die "QEMU $version has no $DEVICE"
"$out/bin/qemu-img" --version >/dev/null

log "packing"
tar -C "$QEMU" -c "$upstream" | zstd -q -19 -T0 -f -o "$QEMU/qemu-$upstream.tar.zst"
echo "$REVISION" >"$out/revision"
ln -sfn "$upstream" "$QEMU/current"
ln -sfn "qemu-$upstream.tar.zst" "$QEMU/current.tar.zst"
record qemu "$version" "$SUITE"
log "ready: $out ($(du -sh "$out" | cut -f1); packed $(du -h "$QEMU/qemu-$upstream.tar.zst" | cut -f1))"
answer "$QEMU/current/bin/qemu-system-x86_64"
