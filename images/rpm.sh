#!/usr/bin/env bash
# Builds RPM packages for Fedora and its relatives. They contain the same files as the Debian packages,
# which images/guest-package.sh and images/host-package.sh build, in the directories that Fedora uses.
# The specifications are in images/rpm/.
#
#   images/rpm.sh [--out DIR] [--release N] [--try]
#
#   --out DIR     where to write the packages (default: target/rpm)
#   --release N   the packages' release (default: 1)
#   --try         installs, upgrades, tests, and erases both packages with rpm in a Debian 13 container
#                 with systemd running; needs root and the output of `make build` in target/dist
#
# Prints the packages' paths. The build is reproducible bit for bit.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

out="$REPO_DIR/target/rpm" release=1 try=''
while [ "$#" -gt 0 ]; do
    case "$1" in
        --out) out="${2:?--out needs a directory}" && shift 2 ;;
        --release) release="${2:?--release needs a number}" && shift 2 ;;
        --try) try=1 && shift ;;
        *) die "unknown argument '$1': see the comment at the top of $0" ;;
    esac
done
ensure_packages rpm
mkdir -p "$out"
umask 022
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

# pack NAME RELEASE DIR: packs the files in $work/NAME as an RPM in DIR, and prints its path.
pack() {
    local package="virtio-cuda-$1" tree="$work/$1" rpm
    # All files have the time of the last commit that changed their sources.
    SOURCE_DATE_EPOCH="$(stat -c %Y "$tree/usr/share/doc/$package/copyright")"
    export SOURCE_DATE_EPOCH
    quietly "$work/rpmbuild.log" rpmbuild -bb --target x86_64 --define "_topdir $work/build" \
        --define "_rpmdir $work/rpms" --define "version $(cat "$tree.version")" --define "release $2" \
        --define "date $(LC_ALL=C date -u -d "@$SOURCE_DATE_EPOCH" "+%a %b %d %Y")" \
        --define "tree $tree" --define '_libdir /usr/lib64' --define '_docdir /usr/share/doc' \
        --define '_mandir /usr/share/man' --define '_binary_payload w6.xzdio' \
        --define '_buildhost localhost' --define 'use_source_date_epoch_as_buildtime 1' \
        --define 'clamp_mtime_to_source_date_epoch 1' --define 'debug_package %{nil}' --define '_build_id_links none' \
        --define '__os_install_post %{nil}' \
        "$IMAGES_DIR/rpm/$package.spec"
    rpm="$3/$package-$(cat "$tree.version")-$2.x86_64.rpm"
    mv "$work/rpms/x86_64/$(basename -- "$rpm")" "$rpm"
    log "packed $rpm ($(du -h "$rpm" | cut -f1))"
    printf '%s\n' "$rpm"
}

for name in guest host; do
    deb="$("$IMAGES_DIR/$name-package.sh" --out "$work")"
    dpkg-deb -x "$deb" "$work/$name"
    dpkg-deb -f "$deb" Version >"$work/$name.version"
    pack "$name" "$release" "$out"
done
[ -n "$try" ] || exit 0
mkdir "$work/old" "$work/new"
for name in guest host; do
    cp "$out/virtio-cuda-$name-$(cat "$work/$name.version")-$release.x86_64.rpm" "$work/old/"
    pack "$name" "$((release + 1))" "$work/new" >/dev/null
done
"$IMAGES_DIR/rpm/try" "$work/old" "$work/new"
