#!/usr/bin/env bash
# Builds RPM packages for Fedora and its relatives. They contain the same files as the Debian packages,
# which images/guest-package.sh and images/host-package.sh build, in the directories that Fedora uses.
# The specifications are in images/rpm/.
#
#   images/rpm.sh [--out DIR]
#
# Writes the packages to DIR (default: target/rpm) and prints their paths. The build is reproducible
# bit for bit.
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

out="$REPO_DIR/target/rpm"
while [ "$#" -gt 0 ]; do
    case "$1" in
        --out) out="${2:?--out needs a directory}" && shift 2 ;;
        *) die "unknown argument '$1': see the comment at the top of $0" ;;
    esac
done
ensure_packages rpm
mkdir -p "$out"
umask 022
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

for name in guest host; do
    deb="$("$IMAGES_DIR/$name-package.sh" --out "$work")"
    tree="$work/$name" package="virtio-cuda-$name"
    dpkg-deb -x "$deb" "$tree"
    # All files have the time of the last commit that changed their sources.
    SOURCE_DATE_EPOCH="$(stat -c %Y "$tree/usr/share/doc/$package/copyright")"
    export SOURCE_DATE_EPOCH
    quietly "$work/rpmbuild.log" rpmbuild -bb --target x86_64 --define "_topdir $work/build" \
        --define "_rpmdir $work/rpms" --define "version $(dpkg-deb -f "$deb" Version)" \
        --define "date $(LC_ALL=C date -u -d "@$SOURCE_DATE_EPOCH" "+%a %b %d %Y")" \
        --define "tree $tree" --define '_libdir /usr/lib64' --define '_docdir /usr/share/doc' \
        --define '_mandir /usr/share/man' --define '_binary_payload w6.xzdio' \
        --define '_buildhost localhost' --define 'use_source_date_epoch_as_buildtime 1' \
        --define 'clamp_mtime_to_source_date_epoch 1' --define 'debug_package %{nil}' --define '_build_id_links none' \
        --define '__os_install_post %{nil}' \
        "$IMAGES_DIR/rpm/$package.spec"
    rpm="$(echo "$work/rpms/x86_64/$package"-*.rpm)"
    mv "$rpm" "$out/"
    log "packed $out/$(basename -- "$rpm") ($(du -h "$out/$(basename -- "$rpm")" | cut -f1))"
    printf '%s\n' "$out/$(basename -- "$rpm")"
done
