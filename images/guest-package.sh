#!/usr/bin/env bash
# Builds the guest's Debian package, virtio-cuda-guest. It contains the driver's source for DKMS,
# libcuda.so.1, libnvidia-ml.so.1, a udev rule, and a CDI specification. The files from which it's
# built are in images/guest-package/.
#
#   images/guest-package.sh [--out DIR]
#
# Builds both libraries in release mode, as `make build` does, and writes the package to DIR (default:
# target/guest-package). Prints the package's path. The build is reproducible bit for bit.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

out="$REPO_DIR/target/guest-package"
while [ "$#" -gt 0 ]; do
    case "$1" in
        --out) out="${2:?--out needs a directory}" && shift 2 ;;
        *) die "unknown argument '$1': see the comment at the top of $0" ;;
    esac
done

parts="$IMAGES_DIR/guest-package"
driver="$REPO_DIR/guest-driver"
version="$(sed -n 's/^PACKAGE_VERSION="\(.*\)"$/\1/p' "$driver/dkms.conf")"
workspace="$(sed -n '/^\[workspace\.package\]/,/^\[/ s/^version = "\(.*\)"$/\1/p' "$REPO_DIR/Cargo.toml")"
[ "$version" = "$workspace" ] ||
    die "guest-driver/dkms.conf has version '$version', but Cargo.toml has '$workspace': make them equal"

log "building the guest libraries"
built="$("$REPO_DIR/scripts/build-release.sh")"
libcuda="$built/libguest_libcuda.so" nvml="$built/libguest_libnvidia_ml.so"

# check_library FILE SONAME: fails unless FILE exists and has that soname.
check_library() {
    [ -s "$1" ] || die "library '$1' does not exist"
    local soname
    soname="$(objdump -p "$1" | awk '$1 == "SONAME" { print $2 }')"
    [ "$soname" = "$2" ] || die "$1 has the soname '$soname' instead of $2"
}
check_library "$libcuda" libcuda.so.1
check_library "$nvml" libnvidia-ml.so.1

# All file times in the package are the time of the last commit that changed its sources.
SOURCE_DATE_EPOCH="$(git -C "$REPO_DIR" log -1 --format=%ct -- guest-driver guest-libcuda guest-libnvidia-ml guest-transport cuda-api \
    protocol Cargo.lock images/guest-package 2>/dev/null || true)"
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-0}"
export SOURCE_DATE_EPOCH

umask 022
stage="$(mktemp -d)"
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"

# Other packages depend on versions of NVIDIA's driver. Ours is the first one with the CUDA version
# whose interface the library has.
cuda="$(sed -n 's/^pub const CUDA_VERSION: u32 = \(.*\);$/\1/p' "$REPO_DIR/cuda-api/src/generated/symbols.rs")"
case "$cuda" in
    13000) nvidia=580.65.06 ;;
    *) die "NVIDIA's driver for CUDA version '$cuda' is not listed in $0: add it" ;;
esac
# Debian's nvidia-smi requires NVML of exactly its own version, and recommends a kernel driver of that
# version. These are the versions in Debian 12, 13, and 13's backports. tests/guest-apt.sh fails if
# that of Debian 13 is outdated. OpenCL requires libcuda1 of exactly that version; here, 535 must not
# be provided, because Debian 13's nvidia-cuda-dev breaks versions below 550.
provides=', libnvidia-ml1 (= 535.309.01-0+deb12u1), nvidia-kernel-535.309.01, nvidia-kernel-550.163.01'
for debian in 550.163.01-2 550.163.01-4~bpo13+1; do
    provides+=", libcuda1 (= $debian), libnvidia-ml1 (= $debian)"
done

source="$stage/usr/src/virtio-cuda-$version"
install -d "$source/uapi"
install -m 644 -t "$source" "$driver"/*.c "$driver"/*.h "$driver"/Kbuild "$driver"/Makefile "$driver"/dkms.conf
install -m 644 -t "$source/uapi" "$REPO_DIR"/protocol/include/uapi/*.h

install -d "$stage/usr/lib/x86_64-linux-gnu"
strip --strip-unneeded -o "$stage/usr/lib/x86_64-linux-gnu/libcuda.so.1" "$libcuda"
chmod 644 "$stage/usr/lib/x86_64-linux-gnu/libcuda.so.1"
strip --strip-unneeded -o "$stage/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1" "$nvml"
chmod 644 "$stage/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1"
# The linker needs this link for -lcuda.
ln -s libcuda.so.1 "$stage/usr/lib/x86_64-linux-gnu/libcuda.so"

install -D -m 644 "$parts/60-virtio-cuda.rules" "$stage/usr/lib/udev/rules.d/60-virtio-cuda.rules"
install -D -m 644 "$parts/apt.pref" "$stage/usr/share/virtio-cuda-guest/apt.pref"
install -D -m 644 "$parts/modules-load.conf" "$stage/usr/lib/modules-load.d/virtio-cuda.conf"
install -D -m 644 -t "$stage/etc/cdi" "$parts/nvidia.yaml" "$parts/nvidia-smi.yaml"
doc="$stage/usr/share/doc/virtio-cuda-guest"
install -D -m 644 "$parts/copyright" "$doc/copyright"
third_party virtio-cuda-guest "$doc" guest-libcuda guest-libnvidia-ml
sed -e "s/@VERSION@/$version/" -e "s/@DATE@/$(date -u -R -d "@$SOURCE_DATE_EPOCH")/" \
    "$parts/changelog.in" | gzip -9n >"$doc/changelog.gz"
install -D -m 644 "$parts/lintian-overrides" "$stage/usr/share/lintian/overrides/virtio-cuda-guest"

# The minimum glibc version is the newest symbol version that the libraries use.
libc="$(objdump -T "$libcuda" "$nvml" | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)" || true
[ -n "$libc" ] || die "found no glibc symbol versions in the libraries"
install -d "$stage/DEBIAN"
printf '%s\n' /etc/cdi/nvidia.yaml /etc/cdi/nvidia-smi.yaml >"$stage/DEBIAN/conffiles"
install -m 644 -t "$stage/DEBIAN" "$parts"/{triggers,shlibs}
for script in postinst prerm postrm; do
    sed "s/@VERSION@/$version/g" "$parts/$script" >"$stage/DEBIAN/$script"
    chmod 755 "$stage/DEBIAN/$script"
done
sed -e "s/@VERSION@/$version/" -e "s/@LIBC@/${libc#GLIBC_}/" \
    -e "s/@NVIDIA@/$nvidia/g" -e "s/@PROVIDES@/$provides/" \
    -e "s/@SIZE@/$(du -k -s --exclude=DEBIAN "$stage" | cut -f1)/" "$parts/control.in" >"$stage/DEBIAN/control"
(cd "$stage" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"

mkdir -p "$out"
deb="$out/virtio-cuda-guest_${version}_amd64.deb"
find "$stage" -newermt "@$SOURCE_DATE_EPOCH" -print0 |
    xargs -0 -r touch --no-dereference --date="@$SOURCE_DATE_EPOCH"
dpkg-deb --root-owner-group -Zxz --build "$stage" "$deb" >&2
log "packed $deb ($(du -h "$deb" | cut -f1))"
printf '%s\n' "$deb"
