#!/usr/bin/env bash
# Builds a kernel module out of its folder for one of the kernels that tests use.
#
#   images/kmod-build.sh SERIES FOLDER OUT [make arguments]
#
# SERIES is 6.1, 6.12, 7.2 (Debian's) or uml. FOLDER, which has a Kbuild or Makefile with
# obj-m, is copied to OUT and built there; OUT keeps what was compiled, so that a second run
# compiles only what changed. With C=2 CHECK=sparse as make arguments, sparse checks it.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

[ "$#" -ge 3 ] || die "usage: kmod-build.sh 6.1|6.12|7.2|uml FOLDER OUT [make arguments]"
series="$1" folder="$2" out="$3"
shift 3
[ -f "$folder/Kbuild" ] || [ -f "$folder/Makefile" ] || die "'$folder' has neither Kbuild nor Makefile"
mkdir -p "$out"
out="$(readlink -f "$out")"
# Times are kept, so that make sees what changed.
cp -rp "$folder/." "$out/"
# The driver's uAPI header lies in the protocol's folder; installed, it is next to the sources.
if [ -d "$folder/../protocol/include/uapi" ]; then
    cp -rp "$folder/../protocol/include/uapi" "$out/"
fi

if [ "$series" = uml ]; then
    kernel="$("$IMAGES_DIR/uml-kernel.sh" --print)"
    log "building $(basename -- "$(readlink -f "$folder")") for user-mode Linux"
    exec make -s -C "$kernel/build" ARCH=um M="$out" -j"$(jobs_n)" "$@" modules
fi

kernels="$("$IMAGES_DIR/kernel-debs.sh" --print)"
[ -f "$kernels/$series/release" ] || die "there is no kernel '$series': use 6.1, 6.12, 7.2 or uml"
release="$(cat "$kernels/$series/release")"
log "building $(basename -- "$(readlink -f "$folder")") for Linux $release"
enter_root "$kernels/root" "$out:/src" -- \
    make -s -C "/lib/modules/$release/build" M=/src -j"$(jobs_n)" "$@" modules
