#!/usr/bin/env bash
# Runs Debian's lintian on Debian packages, and rpmlint on RPM packages; fails if it reports errors or
# warnings. Also fails if a link in the packaged documentation leads nowhere.
# usage: images/lint-packages.sh FILE…
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
[ "$#" -gt 0 ] || die "usage: lint-packages.sh FILE…"
debs=() rpms=()
for file; do
    case "$file" in
        *.rpm) rpms+=("$file") ;;
        *) debs+=("$file") ;;
    esac
done
if [ "${#debs[@]}" -gt 0 ]; then
    ensure_packages lintian
    lintian --allow-root --fail-on error,warning "${debs[@]}" >&2
    log "lintian found no errors or warnings in: ${debs[*]##*/}"
fi
if [ "${#rpms[@]}" -gt 0 ]; then
    ensure_packages rpmlint
    rpmlint --strict --config "$IMAGES_DIR/rpm/rpmlint.toml" "${rpms[@]}" >&2
    log "rpmlint found no errors or warnings in: ${rpms[*]##*/}"
fi

ensure_packages python3
[ "${#rpms[@]}" -eq 0 ] || ensure_packages rpm2cpio cpio
for file; do
    unpacked="$(mktemp -d)"
    case "$file" in
        *.rpm) rpm2cpio "$file" | (cd "$unpacked" && cpio -id --quiet) ;;
        *) dpkg-deb -x "$file" "$unpacked" ;;
    esac
    "$IMAGES_DIR/check-links.py" "$unpacked" || die "links in ${file##*/} lead nowhere"
    rm -rf "$unpacked"
done
log "all links in the documentation lead somewhere"
