#!/usr/bin/env bash
# Runs programs that use PyTorch, JAX, CuPy, Triton and NCCL natively, through vhost-user without a
# VM, and in user-mode Linux, and prints a table that compares their results and run times. Needs
# an NVIDIA GPU and a Python with these packages; a program whose package is missing is skipped.
#
#   tests/gpu/programs.sh [--dist DIR] [--out DIR] [--python PYTHON] [--paths "PATH…"] [NAME…]
#
# NAME is a row of the table. PATHS are native, vhost-user and uml (default: all). --out keeps each
# program's output, and the table in table.md and table.csv. The exit status is 0 if all results are
# equal to native's.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ -f "$here/lib.sh" ]; then . "$here/lib.sh"; else . "$here/../lib.sh"; fi
dist=$here/../../target/dist out= python=python3 paths="native vhost-user uml" names=()
while [ $# -gt 0 ]; do
    case $1 in
        --dist) dist=${2:?--dist needs a directory}; shift 2 ;;
        --out) out=${2:?--out needs a directory}; shift 2 ;;
        --python) python=${2:?--python needs a program}; shift 2 ;;
        --paths) paths=${2:?--paths needs a list}; shift 2 ;;
        -*) echo "programs.sh: unknown option $1; see the comment at the top of the script" >&2; exit 2 ;;
        *) names+=("$1"); shift ;;
    esac
done
dist=$(cd "$dist" && pwd)
work=$(mktemp -d)
out=${out:-$work/out}
mkdir -p "$out"
trap 'stop_device; rm -rf "$work"' EXIT

# One row for each line: name, script, program, and variables for the environment.
rows() {
    cat <<ROWS
resnet50-half torch_programs.py resnet_half
resnet50-half-batch-1 torch_programs.py resnet_half_batch_1
resnet50-half-graph torch_programs.py resnet_half_graph
transformer-float32 torch_programs.py train
transformer-bf16 torch_programs.py train_bf16
transformer-fp16 torch_programs.py train_fp16
gpt-124m-bf16 torch_programs.py gpt
matmul torch_programs.py matmul
fft torch_programs.py fft
linalg torch_programs.py linalg
dataloader torch_programs.py dataloader
torch-compile torch_programs.py compile
allocator torch_programs.py allocator
allocator-expandable torch_programs.py allocator PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
allocator-async torch_programs.py allocator PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync
out-of-memory torch_programs.py out_of_memory
multiprocessing torch_programs.py multiprocessing
profiler torch_programs.py profiler
jax other_programs.py jax XLA_PYTHON_CLIENT_PREALLOCATE=false
cupy other_programs.py cupy
triton other_programs.py triton
nccl other_programs.py nccl
ROWS
}

# Runs a program on a path.
run_row() {
    local path=$1 name=$2 script=$3 program=$4 variable=${5:-PROGRAM=$4}
    local command=("$python" "$here/programs/$script" "$program")
    case $path in
        native) env "$variable" "${command[@]}" ;;
        vhost-user)
            env "$variable" LD_LIBRARY_PATH="$dist/guest${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
                VIRTIO_CUDA_SOCKET="$work/socket" VIRTIO_CUDA_LOG=warn "${command[@]}"
            ;;
        uml)
            "$dist/bin/vcuda-run" --vmm uml --socket "$work/socket" --uml-kernel "$dist/uml/linux" \
                --module "$dist/guest/virtio_cuda.ko" --mem 24G --cpus 2 --timeout 290 \
                --log "$out/$name.uml.console" --env HOME=/tmp --env "$variable" --env PATH="$PATH" \
                --env LD_LIBRARY_PATH="$dist/guest${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
                --env VIRTIO_CUDA_LOG=warn -- "${command[@]}"
            ;;
    esac
}

# Prints a table's cell: the run time that the program printed, or "equal", or the failure.
cell() {
    local file=$1 native=$2 seconds
    if ! grep -q '^passed' "$file"; then
        echo "**fails**"
        return 1
    fi
    if ! diff <(grep '^result:' "$native") <(grep '^result:' "$file") >/dev/null; then
        echo "**differs**"
        return 1
    fi
    seconds=$(sed -n 's/^seconds: //p' "$file")
    echo "${seconds:+$seconds s}${seconds:-equal}" | sed 's/ s.*/ s/'
}

failed=0
if [[ $paths == *vhost-user* || $paths == *uml* ]]; then
    start_device "$dist" "$work/socket" "$out/device.log" --driver-library auto --memory-max 100G \
        --spin-us 200 || exit 2
fi
table="| program |"
rule="|---|"
for path in $paths; do
    table+=" $path |"
    rule+="---|"
done
table+=" native / vhost-user |"$'\n'"$rule---|"
while read -r name script program variable; do
    [ ${#names[@]} -eq 0 ] || [[ " ${names[*]} " == *" $name "* ]] || continue
    line="| $name |"
    for path in $paths; do
        timeout 300 bash -c "$(declare -f run_row); here='$here' dist='$dist' out='$out' work='$work' python='$python'; run_row $path $name $script $program $variable" \
            >"$out/$name.$path" 2>&1 </dev/null
        line+=" $(cell "$out/$name.$path" "$out/$name.native") |" || failed=1
    done
    ratio=$(awk '/^seconds:/ { s[FILENAME] = $2 } END { if (ARGC == 3 && s[ARGV[1]] && s[ARGV[2]])
        printf "%.3f", s[ARGV[1]] / s[ARGV[2]] }' "$out/$name.native" "$out/$name.vhost-user" 2>/dev/null)
    echo "$line $ratio |"
    table+=$'\n'"$line $ratio |"
done < <(rows)
echo "$table" >"$out/table.md"
save_csv "$out/table.md" auto "$dist"
echo
cat "$out/table.md"
exit $failed
