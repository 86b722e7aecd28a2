#!/usr/bin/env bash
# Builds an initramfs for a test guest: busybox, the C library, and the given files.
#
#   images/initramfs.sh -o OUT [-k SERIES] [-m MODULE.ko]... [-f SRC[:DEST]]... [-c COMMAND] [-t]
#
#   -o OUT          output file: .cpio (boots fastest), .cpio.gz or .cpio.zst
#   -k SERIES       the kernel to boot with it, 6.12 or 7.2 (default 7.2)
#   -m MODULE.ko    kernel modules to load at boot, in this order (see images/kmod-build.sh)
#   -f SRC[:DEST]   file or directory to include; DEST defaults to the same path if SRC is
#                   absolute, otherwise to /SRC. Libraries that included programs need are added.
#                   To put libcuda.so.1 in the linker's path: -f …/libcuda.so.1:/usr/lib/
#   -c COMMAND      shell command to run after boot (default: the one on the kernel
#                   command line, otherwise a shell)
#   -t              test the initramfs: boot it in QEMU under TCG, and print COMMAND's output
#
# The kernel command line can override the command, in base64 without line breaks:
#   virtio_cuda.run=ZWNobyBoaQ==
# After the command, the guest prints "virtio-cuda-exit: STATUS" on its console and powers off.
# The kernel to boot is $VIRTIO_CUDA_CACHE/kernels/SERIES/vmlinuz.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

out='' series=7.2 command='' try=''
modules=() files=()
while getopts 'o:k:m:f:c:t' option; do
    case "$option" in
        o) out="$OPTARG" ;;
        k) series="$OPTARG" ;;
        m) modules+=("$OPTARG") ;;
        f) files+=("$OPTARG") ;;
        c) command="$OPTARG" ;;
        t) try=1 ;;
        *) die "unknown option: see the comment at the top of $0" ;;
    esac
done
[ -n "$out" ] || die "-o OUT is missing"
case "$out" in
    *.cpio | *.cpio.gz | *.cpio.zst) ;;
    *) die "'$out' must end in .cpio, .cpio.gz or .cpio.zst" ;;
esac

ensure_packages busybox-static cpio zstd
kernels="$("$IMAGES_DIR/kernel-debs.sh" --print)"
[ -e "$kernels/$series/vmlinuz" ] || die "no kernel image for series '$series': use 6.12 or 7.2"

root="$(mktemp -d)"
trap 'rm -rf "$root"' EXIT
mkdir -p "$root"/{usr/bin,usr/sbin,usr/lib/x86_64-linux-gnu,usr/lib64,etc,proc,sys,dev,tmp,run,root,modules}
for link in bin sbin lib lib64; do
    ln -s "usr/$link" "$root/$link"
done
cp "$(command -v busybox)" "$root/usr/bin/busybox"
for applet in $("$root/usr/bin/busybox" --list); do
    [ "$applet" = busybox ] || ln -s busybox "$root/usr/bin/$applet"
done
echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
printf 'root:x:0:\nvideo:x:44:\n' >"$root/etc/group"

# include SRC DEST: copies a file or directory into the root.
include() {
    local src="$1" dest="$2"
    case "$dest" in */) dest="$dest$(basename -- "$src")" ;; esac
    mkdir -p "$root$(dirname -- "$dest")"
    if [ -d "$src" ]; then
        mkdir -p "$root$dest"
        cp -a "$src/." "$root$dest/"
    else
        cp -L --preserve=mode,timestamps "$src" "$root$dest"
    fi
}

number=10
for module in "${modules[@]}"; do
    [ -f "$module" ] || die "module '$module' does not exist"
    cp "$module" "$root/modules/$number-$(basename -- "$module")"
    number=$((number + 1))
done
for file in "${files[@]}"; do
    src="${file%%:*}"
    [ -e "$src" ] || die "file '$src' does not exist"
    case "$file" in
        *:*) dest="${file#*:}" ;;
        /*) dest="$src" ;;
        *) dest="/$src" ;;
    esac
    include "$src" "$dest"
done

# Add the host libraries that included programs need, at their host paths. Skip libraries that were
# included explicitly, such as libcuda.so.1.
find "$root" -type f ! -name busybox ! -path "$root/modules/*" -print0 |
    while IFS= read -r -d '' file; do
        [ "$(head -c 4 "$file" | tr -d '\0')" = $'\177ELF' ] || continue
        { ldd "$file" 2>/dev/null || true; } | grep -oE '/[^ ]+' || true
    done | sort -u | while read -r lib; do
    case "$lib" in "$root"*) continue ;; esac
    name="$(basename -- "$lib")"
    if [ -f "$lib" ] && [ -z "$(find "$root/usr" -name "$name" -print -quit)" ]; then
        mkdir -p "$root$(dirname -- "$lib")"
        cp -L "$lib" "$root$lib"
    fi
done
# Add libraries that are now part of glibc, because programs built elsewhere may still need them.
for name in libpthread.so.0 libdl.so.2 librt.so.1 libm.so.6 libgcc_s.so.1; do
    lib="/lib/x86_64-linux-gnu/$name"
    if [ -f "$lib" ] && [ ! -e "$root/usr/lib/x86_64-linux-gnu/$name" ]; then
        cp -L "$lib" "$root/usr/lib/x86_64-linux-gnu/$name"
    fi
done

printf '%s\n' "$command" >"$root/etc/virtio-cuda-run"
cat >"$root/init" <<'INIT'
#!/bin/sh
# The test guest's init: mounts file systems, loads modules, and runs one command.
export PATH=/usr/bin:/usr/sbin HOME=/root LD_LIBRARY_PATH=/usr/lib
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev 2>/dev/null
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs tmpfs /tmp
mount -t devpts devpts /dev/pts
ip link set lo up 2>/dev/null
for module in /modules/*.ko; do
    [ -e "$module" ] || continue
    insmod "$module" || echo "virtio-cuda: cannot load $module"
done
run="$(cat /etc/virtio-cuda-run)"
for word in $(cat /proc/cmdline); do
    case "$word" in
        virtio_cuda.run=*) run="$(printf %s "${word#virtio_cuda.run=}" | base64 -d)" ;;
    esac
done
echo "virtio-cuda-up: $(cut -d ' ' -f 1 /proc/uptime)"
cd /root
if [ -n "$run" ]; then
    setsid cttyhack sh -c "$run"
    echo "virtio-cuda-exit: $?"
else
    setsid cttyhack sh
fi
sync
poweroff -f
INIT
chmod +x "$root/init"

mkdir -p "$(dirname -- "$out")"
(cd "$root" && find . -print0 | cpio --null --quiet -o -H newc -R 0:0) |
    case "$out" in
        *.gz) gzip -6 ;;
        *.zst) zstd -q -10 -T0 ;;
        *) cat ;;
    esac >"$out.new"
mv "$out.new" "$out"
log "built $out ($(du -h "$out" | cut -f1)) for Linux $(cat "$kernels/$series/release")"

if [ -n "$try" ]; then
    qemu="$("$IMAGES_DIR/qemu.sh" --print)"
    log "booting $out"
    start="$(date +%s%N)"
    timeout 120 "$qemu" -M q35 -accel tcg -cpu max -m 1G -smp 2 -nodefaults -display none -no-reboot \
        -serial stdio -kernel "$kernels/$series/vmlinuz" -initrd "$out" \
        -append "console=ttyS0 quiet panic=-1" </dev/null | tee "$out.console"
    log "up after $(sed -n 's/.*virtio-cuda-up: \([0-9.]*\).*/\1/p' "$out.console") s of guest time, total time $((($(date +%s%N) - start) / 1000000)) ms"
    grep -q 'virtio-cuda-exit: 0' "$out.console" || die "the guest's command did not succeed; see $out.console"
fi
