#!/usr/bin/env bash
# Runs another project's tests on several paths, and compares which of them pass.
#
#   tests/suites.sh [--dist DIR] [--results DIR] [--jobs N] [--files LIST] [--floor N] SUITE PATH...
#
# SUITE is numba (numba-cuda's tests, from PyPI), or a directory of tests that pytest can run, such as
# cuda-python's cuda_bindings/tests or cuda_core/tests. PATH is softgpu, native, vhost-user, or uml;
# see tests/matrix.sh. The first path is the reference: a test that passes there must pass on the
# others. --files names a file that lists the test files to run, relative to the suite. --floor is the
# number of tests that must pass on each path. --results keeps each path's outcomes and output in a
# directory.
#
# The Python packages come from PyPI (requirements.txt in tests/suites). They're kept outside the
# checkout, in ${VIRTIO_CUDA_CACHE:-~/.cache/virtio-cuda}.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
dist=$here/../target/dist results= jobs=$(nproc) files= floor=0
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --results) results=${2:?--results needs a directory}; shift 2 ;;
        --jobs) jobs=${2:?--jobs needs a number}; shift 2 ;;
        --files) files=$(realpath "${2:?--files needs a file}"); shift 2 ;;
        --floor) floor=${2:?--floor needs a number}; shift 2 ;;
        -*) echo "suites.sh: unknown option $1; see the comment at the top of the script" >&2; exit 2 ;;
        *) break ;;
    esac
done
[ $# -ge 2 ] || { echo "suites.sh: name a suite and one or more paths; see the comment at the top of the script" >&2; exit 2; }
suite=$1
shift
dist=$(cd "$dist" && pwd)
requirements=$here/suites/requirements.txt
cache=${VIRTIO_CUDA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/virtio-cuda}
# The directory's name depends on the pinned versions and on Python's.
name=$({ cat "$requirements"; python3 --version; } | sha256sum | cut -c1-12)
python=$cache/suites-$name/bin/python

install() {
    echo "suites.sh: installing the Python packages of tests/suites/requirements.txt (300 MB, once)" >&2
    rm -rf "$cache/suites-$name"
    python3 -m venv "$cache/suites-$name"
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps --requirement "$requirements" >&2
    touch "$cache/suites-$name/complete"
}
if [ ! -f "$cache/suites-$name/complete" ]; then
    mkdir -p "$cache"
    (
        flock 9
        [ -f "$cache/suites-$name/complete" ] || install
    ) 9>"$cache/suites.lock"
fi

plugins=$here/suites/plugins
options=(-p outcomes)
case $suite in
    numba)
        plugins=$plugins:$here/suites/numba
        # The package's folder has no __init__.py.
        options+=(-p numba_fixtures -o consider_namespace_packages=true)
        suite=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/numba_cuda/numba/cuda/tests
        label=numba
        ;;
    *)
        suite=$(cd "$suite" && pwd)
        label=$(basename "$(dirname "$suite")")-$(basename "$suite")
        ;;
esac
selected=("$suite")
[ -z "$files" ] || mapfile -t selected < <(sed -e '/^#/d' -e '/^$/d' -e "s|^|$suite/|" "$files")

work=$(mktemp -d)
chmod 755 "$work"
cleanup() {
    stop_device
    [ -z "$results" ] || { mkdir -p "$results" && cp "$work"/*.log "$work"/*.txt "$results/" 2>/dev/null; } || true
    rm -rf "$work"
}
trap cleanup EXIT

failed=0 first=$1
for path; do
    case $path in
        softgpu | native) ;;
        vhost-user | uml)
            start_device "$dist" "$work/socket" "$work/device.log" --driver-library softgpu --memory-max 8G
            ;;
        *) echo "suites.sh: unknown path $path" >&2; exit 2 ;;
    esac
    mkdir "$work/run-$path"
    (
        cd "$work/run-$path"
        export OUTCOMES=$work/$label-$path.txt PYTHONPATH=$plugins NUMBA_CACHE_DIR=$work/run-$path
        run_on "$path" "$dist" "$work" "$python" -m pytest --rootdir "$suite" "${options[@]}" \
            -p no:cacheprovider -q --tb=short --numprocesses "$jobs" --dist loadfile --timeout 300 "${selected[@]}"
    ) >"$work/$label-$path.log" 2>&1 || true
    stop_device
    if [ ! -f "$work/$label-$path.txt" ]; then
        echo "$label on $path: no result:"
        tail -n 5 "$work/$label-$path.log"
        failed=1
        continue
    fi
    count() { grep -c "^$1 " "$work/$label-$path.txt" || true; }
    echo "$label on $path: $(count passed) passed, $(count failed) failed, $(count skipped) skipped"
    passed() { sed -n 's/^passed //p' "$1" | sort; }
    if [ "$path" != "$first" ]; then
        worse=$(comm -23 <(passed "$work/$label-$first.txt") <(passed "$work/$label-$path.txt"))
        [ -z "$worse" ] || { echo "suites.sh: these tests pass on $first, but not on $path:"; echo "$worse"; failed=1; }
    fi
    if [ "$(count passed)" -lt "$floor" ]; then
        echo "suites.sh: at least $floor tests must pass on $path; these failed:"
        sed -n 's/^failed //p' "$work/$label-$path.txt"
        failed=1
    fi
done
exit $failed
