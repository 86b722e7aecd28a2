#!/usr/bin/env bash
# Builds a container image with the host package in a Debian 13, as an OCI archive in target/container,
# and prints its path. `podman load -i` and `docker load -i` accept it.
#
#   images/container.sh [--out DIR] [--verify] [--try]
#
#   --out DIR   where to write the archive (default: target/container)
#   --verify    builds the archive again, with another umask and temporary directory, and fails if
#               it differs
#   --try       runs the image with podman, softgpu, and one VM, and runs a CUDA program against the
#               VM's socket; needs the output of `make build` in target/dist
#
# Needs root. The build is reproducible bit for bit while Debian's packages stay the same (see
# images/README.md). docs/configuration.md says how to run the image on a host with a GPU.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

out="$REPO_DIR/target/container" verify='' try=''
while [ "$#" -gt 0 ]; do
    case "$1" in
        --out) out="${2:?--out needs a directory}" && shift 2 ;;
        --verify) verify=1 && shift ;;
        --try) try=1 && shift ;;
        *) die "unknown argument '$1': see the comment at the top of $0" ;;
    esac
done
ensure_packages mmdebstrap debian-archive-keyring buildah
# The image must not depend on the caller's umask.
umask 022
work="$(mktemp -d)"
# mmdebstrap makes the package available in the image under this path, and leaves its directory there,
# but it empties the image's /tmp.
package="$(mktemp -d -p /tmp)"
cleanup() { as_root rm -rf "$work" "$package"; }
trap cleanup EXIT
deb="$("$IMAGES_DIR/host-package.sh" --out "$package")"
version="$(dpkg-deb -f "$deb" Version)"
# All times in the image are those of the package, whose newest file has the time of a commit.
SOURCE_DATE_EPOCH="$(dpkg-deb --fsys-tarfile "$deb" | tar -t --full-time -v -f - |
    awk '{ print $4, $5 }' | sort | tail -n 1 | xargs -I{} date -u -d '{}' +%s)"
export SOURCE_DATE_EPOCH

log "building a Debian 13 with the package"
# mmdebstrap copies the host's name, its name servers, and the mirror's address into the image.
# Remove them, so that the image doesn't depend on the host: podman and docker write the first two
# files in each container, and the image has no apt. Remove apt's other files, too, because their
# owners depend on the temporary directory's permissions.
as_root env SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" mmdebstrap --variant=essential --mode=root --quiet \
    --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
    --dpkgopt='path-exclude=/usr/share/locale/*' --include="$deb" \
    --hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount \
    --customize-hook='cd "$1" && rm -r etc/hostname etc/resolv.conf etc/apt/sources.list var/cache/apt var/lib/apt' \
    --skip=cleanup/apt \
    trixie "$work/root.tar" "deb [signed-by=$DEBIAN_KEYRING] $(debian_mirror) trixie main" >&2
log "packing it"
# buildah keeps everything that it needs in the temporary directory.
image() { as_root buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs "$@"; }
container="$(image from scratch)"
image add --quiet "$container" "$work/root.tar" / >/dev/null
image config --entrypoint '["/usr/lib/virtio-cuda/vcudad"]' \
    --cmd '--config /etc/virtio-cuda/vcudad.toml' --stop-signal SIGTERM \
    --label org.opencontainers.image.title=virtio-cuda-host \
    --label "org.opencontainers.image.version=$version" \
    --label org.opencontainers.image.licenses=Apache-2.0 "$container"
image commit --quiet --timestamp "$SOURCE_DATE_EPOCH" "$container" \
    "oci:$work/image:virtio-cuda-host:$version" >/dev/null
# Write the archive with tar, because buildah would give the files in it the current time.
mkdir -p "$out"
archive="$out/virtio-cuda-host_$version.oci.tar"
as_root tar --format=gnu --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --mode=u=rwX,go=rX -c -C "$work/image" blobs index.json oci-layout >"$archive"
log "built $archive ($(du -h "$archive" | cut -f 1), sha256 $(sha256sum "$archive" | cut -d ' ' -f 1))"

if [ -n "$verify" ]; then
    log "building it again"
    mkdir "$work/temporary"
    again="$(umask 077 && TMPDIR="$work/temporary" "$IMAGES_DIR/container.sh" --out "$work/again")"
    cmp "$archive" "$again" || die "the second build differs from the first"
    log "both builds are the same"
fi
printf '%s\n' "$archive"
[ -n "$try" ] || exit 0

dist="$REPO_DIR/target/dist"
for file in guest/libcuda.so.1 programs/static/vectoradd; do
    [ -s "$dist/$file" ] || die "$dist/$file does not exist: run make build"
done
# crun doesn't run on hosts that still have a cgroup v1 hierarchy.
ensure_packages podman runc
pod() {
    as_root podman --root "$work/pods" --runroot "$work/pods-run" --storage-driver vfs \
        --cgroup-manager cgroupfs --runtime runc "$@"
}
trap 'pod rm -f vcudad >/dev/null 2>&1 || true; cleanup' EXIT
pod load -q -i "$archive" >&2
mkdir "$work/config" "$work/sockets"
cat >"$work/config/vcudad.toml" <<'TOML'
driver_library = "softgpu"
[[vm]]
name = "web"
socket = "/run/virtio-cuda/web.sock"
memory.max = "1G"
TOML
# The options in docs/configuration.md, and a limit on files that every host permits.
pod run -d --name vcudad --network none --ulimit nofile=16384:16384 --ulimit nproc=4096:4096 \
    --cap-drop all \
    --cap-add CHOWN,DAC_OVERRIDE,FOWNER,IPC_LOCK,KILL,MKNOD,SETGID,SETUID,SETPCAP,SYS_ADMIN,SYS_CHROOT,SYS_NICE,SYS_PTRACE,SYS_RESOURCE \
    --security-opt seccomp=unconfined -v "$work/config:/etc/virtio-cuda:ro" \
    -v "$work/sockets:/run/virtio-cuda" "virtio-cuda-host:$version" >/dev/null
for _ in $(seq 200); do [ ! -S "$work/sockets/web.sock" ] || break; sleep 0.1; done
as_root env VIRTIO_CUDA_SOCKET="$work/sockets/web.sock" LD_LIBRARY_PATH="$dist/guest" \
    "$dist/programs/static/vectoradd" >&2 || { pod logs vcudad >&2; die 'vectoradd failed'; }
pod exec vcudad vcudactl vm ls >&2
pod stop -t 20 vcudad >/dev/null
[ ! -e "$work/sockets/web.sock" ] || die "the VM's socket is left behind"
log 'a VM of the container runs vectoradd'
