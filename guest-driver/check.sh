#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
#
# Builds the driver with warnings as errors for every tested kernel, runs sparse for the kernels
# that support it, runs checkpatch from the newest kernel's source, and checks the files' layers.
#
#   guest-driver/check.sh [OUT]      OUT: build directory, by default target/guest-driver
#
# Prints one line per check; exits with status 1 if any check failed.
set -euo pipefail

here="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)"
images="$here/../images"
out="${1:-$here/../target/guest-driver}"
mkdir -p "$out"
out="$(readlink -f "$out")"
failed=0

# check NAME CMD...: runs CMD and prints the result; prints CMD's output only if it fails.
check() {
    local name="$1" log="$out/${1//[ .]/-}.log"
    shift
    if "$@" >"$log" 2>&1; then
        echo "ok      $name"
    else
        echo "FAILED  $name (full log: $log)"
        tail -n 40 "$log"
        failed=1
    fi
}

# Copy only the sources, so that no build directory contains objects built for another kernel.
src="$out/source/guest-driver"
rm -rf "$out/source"
mkdir -p "$src" "$out/source/protocol/include/uapi"
cp -p "$here"/*.[ch] "$here/Kbuild" "$here/Makefile" "$src/"
cp -p "$here/../protocol/include/uapi/virtio_cuda.h" "$out/source/protocol/include/uapi/"

build() {
    local series="$1"
    shift
    "$images/kmod-build.sh" "$series" "$src" "$out/$series" W=1 KCFLAGS=-Werror \
        KBUILD_MODPOST_WARN=1 "$@"
}

# make succeeds even if sparse reports problems, so check the output. Kernel 7.2 isn't checked:
# Debian's headers for it lack the script that runs sparse.
sparse() {
    build "$1" C=2 CHECK=sparse 2>&1 | tee "$out/sparse.out" &&
        ! grep -qE '(warning|error):|not available' "$out/sparse.out"
}

# Prints each function that a file uses although its own functions are declared before it in
# virtio_cuda.h. There, the declarations begin with the name of their file.
upward() {
    awk '
        FNR == NR {
            if (match($0, /^\/\* virtio_cuda_[a-z]+\.c:/)) {
                layer[substr($2, 1, length($2) - 1)] = ++layers
                next
            }
            if (layers && match($0, /vcuda_[a-z_]+[(;]/))
                declared[substr($0, RSTART, RLENGTH - 1)] = layers
            next
        }
        FNR == 1 { file = FILENAME; sub(/.*\//, "", file); own = file in layer ? layer[file] : layers + 1 }
        {
            line = $0
            while (match(line, /vcuda_[a-z_]+/)) {
                name = substr(line, RSTART, RLENGTH)
                line = substr(line, RSTART + RLENGTH)
                if (name in declared && declared[name] > own && $1 !~ /^(\/\*|\*)/) {
                    print file ":" FNR ": uses " name ", which is in a higher layer"
                    found = 1
                }
            }
        }
        END { exit !layers || found }' "$here/virtio_cuda.h" "$here"/virtio_cuda_*.c
}

check layers upward
check "selftest" make -s -C "$here/selftest" OUT="$out"
for series in uml 6.1 6.12 7.2; do
    check "build for $series" build "$series"
done
for series in 6.1 6.12; do
    check "sparse for $series" sparse "$series"
done

# Ignore LINUX_VERSION_CODE, because an out-of-tree module must check the kernel version (allowed in
# compat.h only), and BIT_MACRO, because uAPI headers can't use BIT().
checkpatch="$("$images/uml-kernel.sh" --print)/build/scripts/checkpatch.pl"
[ -z "$(grep -l LINUX_VERSION_CODE "$here"/*.[ch] | grep -v '/compat\.h$')" ] ||
    { echo "FAILED  version checks outside compat.h"; failed=1; }
check checkpatch perl "$checkpatch" --no-tree --strict --terse --no-summary \
    --ignore BIT_MACRO,LINUX_VERSION_CODE,CONSTANT_COMPARISON \
    -f "$src"/*.[ch] "$here/selftest/selftest.c" \
    "$here/../protocol/include/uapi/virtio_cuda.h"
exit "$failed"
