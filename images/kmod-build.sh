#!/usr/bin/env bash
# Builds an out-of-tree kernel module for one of the kernels that the tests use.
#
#   images/kmod-build.sh SERIES DIR OUT [make arguments]
#
# SERIES is 6.1, 6.12 or 7.2 (Debian kernels), uml, or uml-debug. DIR must contain a Kbuild or Makefile that
# sets obj-m; it's copied to OUT and built there. OUT keeps the objects, so a second run compiles
# only changed files. To check the module with sparse, add the make arguments C=2 CHECK=sparse.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

[ "$#" -ge 3 ] || die "usage: kmod-build.sh 6.1|6.12|7.2|uml|uml-debug DIR OUT [make arguments]"
series="$1" folder="$2" out="$3"
shift 3
[ -f "$folder/Kbuild" ] || [ -f "$folder/Makefile" ] || die "'$folder' has neither Kbuild nor Makefile"
mkdir -p "$out"
out="$(readlink -f "$out")"
# Preserve file times, so that make recognizes changed files.
cp -rp "$folder/." "$out/"
# The driver's uAPI header is in protocol/. Copy it next to the sources, where the package has it.
if [ -d "$folder/../protocol/include/uapi" ]; then
    cp -rp "$folder/../protocol/include/uapi" "$out/"
fi

case "$series" in
    uml) kernel="$("$IMAGES_DIR/uml-kernel.sh" --print)" ;;
    uml-debug) kernel="$("$IMAGES_DIR/uml-kernel.sh" --debug --print)" ;;
    *) kernel= ;;
esac
if [ -n "$kernel" ]; then
    log "building $(basename -- "$(readlink -f "$folder")") for user-mode Linux"
    exec make -s -C "$kernel/build" ARCH=um M="$out" -j"$(jobs_n)" "$@" modules
fi

kernels="$("$IMAGES_DIR/kernel-debs.sh" --print)"
[ -f "$kernels/$series/release" ] || die "unknown kernel '$series': use 6.1, 6.12, 7.2, uml or uml-debug"
release="$(cat "$kernels/$series/release")"
log "building $(basename -- "$(readlink -f "$folder")") for Linux $release"
enter_root "$kernels/root" "$out:/src" -- \
    make -s -C "/lib/modules/$release/build" M=/src -j"$(jobs_n)" "$@" modules
