#!/usr/bin/env bash
# Builds the host's Debian package, virtio-cuda-host. It contains vcudad with its systemd unit, the
# device process, the worker, vcudactl with man pages and completions, softgpu, the guest's libcuda
# (for `vcudactl test`), and the vhost-user descriptor, and it creates the groups that own the
# sockets and the user as which vcudad runs. The files from which it's built are in
# images/host-package/.
#
#   images/host-package.sh [--out DIR] [--try] [--boot]
#
#   --out DIR   where to write the package (default: target/host-package)
#   --try       installs, tests and purges the package in a Debian 13 chroot
#   --boot      does the same in a Debian 13 container with systemd running, and tests the service;
#               needs the output of `make build` in target/dist
#
# Builds the programs in release mode, as `make build` does. Prints the package's path. The build is reproducible bit for bit.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

out="$REPO_DIR/target/host-package" try='' boot=''
while [ "$#" -gt 0 ]; do
    case "$1" in
        --out) out="${2:?--out needs a directory}" && shift 2 ;;
        --try) try=1 && shift ;;
        --boot) boot=1 && shift ;;
        *) die "unknown argument '$1': see the comment at the top of $0" ;;
    esac
done
parts="$IMAGES_DIR/host-package"
programs=(vcudad vhost-device-cuda vhost-cuda-spawner vhost-cuda-supervisor vhost-cuda-worker)
version="$(sed -n '/^\[workspace\.package\]/,/^\[/ s/^version = "\(.*\)"$/\1/p' "$REPO_DIR/Cargo.toml")"
log "building the host programs"
bin="$("$REPO_DIR/scripts/build-release.sh")"
for file in "${programs[@]}" vcudactl libsoftgpu.so libguest_libcuda.so; do
    [ -s "$bin/$file" ] || die "the build has no $bin/$file"
done

# All file times in the package are the time of the last commit that changed its sources.
SOURCE_DATE_EPOCH="$(git -C "$REPO_DIR" log -1 --format=%ct -- vhost-backend vcudactl control-api \
    softgpu protocol cuda-api guest-libcuda guest-transport vmm-integration Cargo.lock images/host-package docs \
    2>/dev/null || true)"
SOURCE_DATE_EPOCH="${SOURCE_DATE_EPOCH:-0}"
export SOURCE_DATE_EPOCH

umask 022
stage="$(mktemp -d)"
cleanup() { as_root rm -rf "$stage"; }
trap cleanup EXIT
chmod 755 "$stage"

# The programs find each other because they're in the same directory. Those that users start have
# links in PATH.
lib="$stage/usr/lib/virtio-cuda"
install -d "$lib/softgpu" "$lib/guest" "$stage/usr/bin" "$stage/usr/sbin"
for program in "${programs[@]}"; do
    strip -o "$lib/$program" "$bin/$program"
done
chmod 755 "$lib"/v*
strip --strip-unneeded -o "$lib/softgpu/libcuda.so.1" "$bin/libsoftgpu.so"
strip --strip-unneeded -o "$lib/guest/libcuda.so.1" "$bin/libguest_libcuda.so"
chmod 644 "$lib"/{softgpu,guest}/libcuda.so.1
strip -o "$stage/usr/bin/vcudactl" "$bin/vcudactl"
chmod 755 "$stage/usr/bin/vcudactl"
ln -s ../lib/virtio-cuda/vcudad "$stage/usr/sbin/vcudad"
ln -s ../lib/virtio-cuda/vhost-device-cuda "$stage/usr/bin/vhost-device-cuda"

install -D -m 644 -t "$stage/usr/lib/systemd/system" "$parts"/{vcudad,virtio-cuda-spawner}.service
install -D -m 644 "$parts/vcudad.toml" "$stage/etc/virtio-cuda/vcudad.toml"
install -D -m 644 "$REPO_DIR/vmm-integration/50-vhost-device-cuda.json" \
    "$stage/usr/share/qemu/vhost-user/50-vhost-device-cuda.json"

doc="$stage/usr/share/doc/virtio-cuda-host"
install -D -m 644 "$parts/copyright" "$doc/copyright"
third_party virtio-cuda-host "$doc" "${programs[@]}" vcudactl softgpu guest-libcuda
while read -r page; do
    install -D -m 644 "$REPO_DIR/docs/$page" "$doc/$page"
done < <(cd "$REPO_DIR/docs" && find . -name '*.md' -o -name '*.svg' -o -name '*.json' -o -name '*.yaml')
# Links that lead out of the documentation, to the source code, can't work in the package.
ensure_packages python3
"$IMAGES_DIR/check-links.py" --fix "$doc"
sed -e "s/@VERSION@/$version/" -e "s/@DATE@/$(date -u -R -d "@$SOURCE_DATE_EPOCH")/" \
    "$parts/changelog.in" | gzip -9n >"$doc/changelog.gz"
install -D -m 644 "$parts/lintian-overrides" "$stage/usr/share/lintian/overrides/virtio-cuda-host"

man="$stage/usr/share/man/man1"
install -d "$man"
"$bin/vcudactl" man "$man"
install -m 644 "$parts/vhost-device-cuda.1" "$man"
install -D -m 644 -t "$stage/usr/share/man/man8" "$parts/vcudad.8"
gzip -9n "$man"/* "$stage"/usr/share/man/man8/*
completions() {
    install -d "$stage/$(dirname "$2")"
    "$bin/vcudactl" completions "$1" >"$stage/$2"
}
completions bash usr/share/bash-completion/completions/vcudactl
completions zsh usr/share/zsh/vendor-completions/_vcudactl
completions fish usr/share/fish/vendor_completions.d/vcudactl.fish

# The minimum glibc version is the newest symbol version that the programs use.
libc="$(objdump -T "$bin"/{vcudad,vhost-device-cuda,vhost-cuda-{spawner,supervisor},vhost-cuda-worker,vcudactl,libsoftgpu.so,libguest_libcuda.so} |
    grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)" || true
[ -n "$libc" ] || die "found no glibc symbol versions in the programs in $bin"
install -d "$stage/DEBIAN"
echo /etc/virtio-cuda/vcudad.toml >"$stage/DEBIAN/conffiles"
for script in postinst prerm postrm; do
    install -m 755 "$parts/$script" "$stage/DEBIAN/$script"
done
sed -e "s/@VERSION@/$version/" -e "s/@LIBC@/${libc#GLIBC_}/" \
    -e "s/@SIZE@/$(du -k -s --exclude=DEBIAN "$stage" | cut -f1)/" "$parts/control.in" >"$stage/DEBIAN/control"
(cd "$stage" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"

mkdir -p "$out"
deb="$out/virtio-cuda-host_${version}_amd64.deb"
find "$stage" -newermt "@$SOURCE_DATE_EPOCH" -print0 |
    xargs -0 -r touch --no-dereference --date="@$SOURCE_DATE_EPOCH"
dpkg-deb --root-owner-group -Zxz --build "$stage" "$deb" >&2
log "packed $deb ($(du -h "$deb" | cut -f1))"
[ -z "$try" ] || "$parts/try" "$deb" >&2
[ -z "$boot" ] || "$parts/boot" "$deb" >&2
printf '%s\n' "$deb"
