#!/usr/bin/env bash
# Runs another project's tests on several paths, and compares which of them pass.
#
#   tests/suites.sh [OPTION]... SUITE PATH...
#
# SUITE is numba (numba-cuda's tests, from PyPI), cuda-bindings or cuda-core (both from a checkout of
# https://github.com/NVIDIA/cuda-python at the tag cuda-core-v0.5.1), or a directory of tests that
# pytest can run, such as PyTorch's test. PATH is softgpu, native, vhost-user, or uml; see
# tests/matrix.sh. The first path is the reference: a test that passes there must pass on the others.
#
#   --tests DIR         the checkout of cuda-python
#   --except LIST       a file that lists tests that may pass on the first path only, one a line
#                       (default for cuda-python's suites: tests/suites/cuda-python/exceptions.txt)
#   --dist DIR          the staged files (default: target/dist)
#   --driver LIBRARY    the device's driver library: auto, softgpu (default), or a path
#   --memory-max SIZE   the device's memory quota (default: 8G)
#   --python PROGRAM    a Python that has pytest with pytest-xdist and pytest-timeout, and what the
#                       suite needs (default: one with the packages in tests/suites/requirements.txt,
#                       or cuda-python/requirements.txt, from PyPI, kept in
#                       ${VIRTIO_CUDA_CACHE:-~/.cache/virtio-cuda})
#   --files LIST        a file that lists the test files to run, relative to the suite
#   --shards N          run about one of N tests, always the same ones
#   --floor N           the number of tests that must pass on each path
#   --jobs N            the number of tests that run at the same time (default: one for each core)
#   --results DIR       keep each path's outcomes and output
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/lib.sh"
dist=$here/../target/dist driver=softgpu memory=8G python= tests= except= files= shards=1 floor=0 jobs=$(nproc) results=
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --driver) driver=${2:?--driver needs a library}; shift 2 ;;
        --memory-max) memory=${2:?--memory-max needs a size}; shift 2 ;;
        --python) python=${2:?--python needs a program}; shift 2 ;;
        --tests) tests=$(realpath "${2:?--tests needs a directory}"); shift 2 ;;
        --except) except=$(realpath "${2:?--except needs a file}"); shift 2 ;;
        --files) files=$(realpath "${2:?--files needs a file}"); shift 2 ;;
        --shards) shards=${2:?--shards needs a number}; shift 2 ;;
        --floor) floor=${2:?--floor needs a number}; shift 2 ;;
        --jobs) jobs=${2:?--jobs needs a number}; shift 2 ;;
        --results) results=${2:?--results needs a directory}; shift 2 ;;
        -*) echo "suites.sh: unknown option $1; see the comment at the top of the script" >&2; exit 2 ;;
        *) break ;;
    esac
done
[ $# -ge 2 ] || { echo "suites.sh: name a suite and one or more paths; see the comment at the top of the script" >&2; exit 2; }
suite=$1
shift
dist=$(cd "$dist" && pwd)
case $suite in
    cuda-bindings | cuda-core)
        [ -d "$tests/${suite/-/_}/tests" ] || { echo "suites.sh: $suite needs --tests with a checkout of cuda-python" >&2; exit 2; }
        requirements=suites/cuda-python/requirements.txt
        ;;
    *) requirements=suites/requirements.txt ;;
esac
[ -n "$python" ] || python=$(python_environment suites "$here/$requirements")

plugins=$here/suites/plugins
options=(-p outcomes -p shards)
case $suite in
    numba)
        plugins=$plugins:$here/suites/numba
        # The package's folder has no __init__.py.
        options+=(-p numba_fixtures -o consider_namespace_packages=true)
        suite=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/numba_cuda/numba/cuda/tests
        label=numba
        ;;
    cuda-bindings | cuda-core)
        plugins=$plugins:$here/suites/cuda-python:$tests/cuda_python_test_helpers
        # The headers that the tests' kernels include.
        CUDA_PATH=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia/cu13
        export CUDA_PATH
        except=${except:-$here/suites/cuda-python/exceptions.txt}
        label=$suite
        suite=$tests/${suite/-/_}/tests
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
            start_device "$dist" "$work/socket" "$work/device.log" --driver-library "$driver" --memory-max "$memory"
            ;;
        *) echo "suites.sh: unknown path $path" >&2; exit 2 ;;
    esac
    mkdir "$work/run-$path"
    (
        cd "$work/run-$path"
        export OUTCOMES=$work/$label-$path.txt SHARDS=$shards NUMBA_CACHE_DIR=$work/run-$path
        export PYTHONPATH=$plugins${PYTHONPATH:+:$PYTHONPATH}
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
        [ -z "$except" ] || worse=$(grep -vxFf <(sed -e '/^#/d' -e '/^$/d' "$except") <<<"$worse" || true)
        [ -z "$worse" ] || { echo "suites.sh: these tests pass on $first, but not on $path:"; echo "$worse"; failed=1; }
    fi
    if [ "$(count passed)" -lt "$floor" ]; then
        echo "suites.sh: at least $floor tests must pass on $path; these failed:"
        sed -n 's/^failed //p' "$work/$label-$path.txt"
        failed=1
    fi
done
exit $failed
