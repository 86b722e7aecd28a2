#!/usr/bin/env bash
# Runs Debian's lintian on packages; fails if it reports errors or warnings.
# usage: images/lint-packages.sh FILE…
set -euo pipefail
. "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
[ "$#" -gt 0 ] || die "usage: lint-packages.sh FILE…"
ensure_packages lintian
lintian --allow-root --fail-on error,warning "$@" >&2
log "lintian found no errors or warnings in: ${*##*/}"
