#!/usr/bin/env bash
# Checks that the guest package and Debian's packages that need NVIDIA's driver can be installed
# together, in a Debian 13 chroot with contrib and non-free. Needs root. Takes about two minutes and
# downloads 60 MB, so it isn't part of `make test`.
#
#   tests/guest-apt.sh DEB
#
# apt must accept each of the packages below, with the packages that it recommends and without them,
# and whether the guest package is installed together with it or before it. In all cases, the guest
# package must stay, and apt must add neither Debian's libcuda1 or libnvidia-ml1 nor NVIDIA's kernel
# driver. Most installations are only simulated, because the packages have gigabytes.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/../images/lib.sh"
deb="$(readlink -f "${1:?usage: guest-apt.sh DEB}")"
ensure_packages mmdebstrap debian-archive-keyring
work="$(mktemp -d)"
trap 'as_root rm -rf "$work"' EXIT
cat >"$work/inside" <<'SH'
set -eu
export DEBIAN_FRONTEND=noninteractive
packages='nvidia-smi nvidia-cuda-toolkit python3-pycuda python3-pynvml libcudart12 hashcat-nvidia
    libhwloc-contrib-plugins gpu-burn libtorch-cuda-2.6'
lib=/usr/lib/x86_64-linux-gnu
say() { echo "guest-apt: $*"; }
fail() { say "FAIL: $*"; exit 1; }
quietly() { "$@" >/tmp/apt.txt 2>&1 || { cat /tmp/apt.txt; fail "$*"; }; }
is_installed() { dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -q '^installed$'; }
# simulate PACKAGE OPTION...: fails unless apt keeps or adds the guest package, and adds PACKAGE and
# nothing that replaces it.
simulate() {
    quietly apt-get install -s "$@"
    ! grep -E '^Remv |^Inst (libcuda1|libnvidia-ml1|nvidia-(open-)?kernel-[^ ]*|firmware-nvidia[^ ]*) ' /tmp/apt.txt ||
        fail "apt-get install $*"
    grep -q "^Inst $1 " /tmp/apt.txt || fail "apt-get install $* doesn't install $1"
}
simulate_all() {
    for package in $packages; do
        simulate "$package" "$@" -o APT::Install-Recommends=true
        simulate "$package" "$@" -o APT::Install-Recommends=false
    done
}

simulate_all /tmp/guest.deb
say 'apt can install each package together with the guest package'
quietly apt-get install -y -qq --no-install-recommends /tmp/guest.deb
simulate_all
say 'apt can install each package beside the guest package'

sum() { sha256sum "$lib"/libcuda.so.1 "$lib"/libnvidia-ml.so.1; }
before="$(sum)"
quietly apt-get install -y -qq -o APT::Install-Recommends=true nvidia-smi libcudart12
is_installed virtio-cuda-guest || fail 'nvidia-smi and libcudart12 removed the guest package'
[ "$(sum)" = "$before" ] || fail 'nvidia-smi or libcudart12 changed the libraries'
for name in libcuda.so.1 libnvidia-ml.so.1; do
    ldconfig -p | grep -q "$name .*/x86_64-linux-gnu/$name" || fail "the linker finds another $name"
done
LD_DEBUG=libs nvidia-smi 2>&1 | grep -q "calling init: .*/x86_64-linux-gnu/libnvidia-ml.so.1" ||
    fail 'nvidia-smi loads another libnvidia-ml.so.1'
say 'installed nvidia-smi and libcudart12; nvidia-smi loads the guest package'\''s library'

# The installation may succeed, because the guest package provides libcuda1.
apt-get install -y -qq libcuda1 >/tmp/apt.txt 2>&1 || true
is_installed virtio-cuda-guest || fail 'installing libcuda1 removed the guest package'
! is_installed libcuda1 || fail 'apt installed libcuda1'
say 'apt does not replace the guest package by libcuda1'

quietly apt-get purge -y -qq virtio-cuda-guest
[ -z "$(ls /etc/apt/preferences.d)" ] || fail "the purge left /etc/apt/preferences.d/$(ls /etc/apt/preferences.d)"
simulate_removed() { apt-get install -s -o APT::Install-Recommends=false libcuda1 | grep -q '^Inst libcuda1 '; }
simulate_removed || fail 'after the purge, apt cannot install libcuda1'
say 'after a purge of the guest package, apt can install libcuda1 again'
SH
as_root mmdebstrap --variant=apt --mode=root --format=null --quiet --skip=cleanup/apt \
    --include=dkms,kmod,libgcc-s1 --aptopt='APT::Install-Recommends "false"' --dpkgopt=force-unsafe-io \
    --customize-hook="copy-in '$work/inside' /tmp" \
    --customize-hook="upload '$deb' /tmp/guest.deb" \
    --customize-hook='chroot "$1" sh /tmp/inside' \
    trixie - "deb [signed-by=$DEBIAN_KEYRING] $(debian_mirror) trixie main contrib non-free" >&2
