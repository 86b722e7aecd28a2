#!/usr/bin/env bash
# Writes docs/tested.md from recorded test runs: target/matrix.md from `make matrix`, and from
# tests/gpu/run.sh the matrix.md in its --out folder and its output. Both matrices compare with
# softgpu.
# usage: scripts/tested.sh LOCAL.md GPU.md GPU-OUTPUT.txt
set -euo pipefail
[ $# -eq 3 ] || { echo "usage: tested.sh LOCAL.md GPU.md GPU-OUTPUT.txt" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
local_table=$1 gpu_table=$2 gpu_output=$3
seen=$(grep -E '^[0-9]{4}-.*driver .*commit' "$gpu_output" | tail -n 1)
# Both tables must have the same rows in the same order.
cmp -s <(cut -d '|' -f 2,3 "$local_table") <(cut -d '|' -f 2,3 "$gpu_table") ||
    { echo "tested.sh: the tables' rows differ" >&2; exit 1; }
{
    cat <<MD
# What was tested, where, and when

Every program checks its own results; every path must print the same as softgpu alone, bit for bit. A cell is the time that the whole process took, as seen once; it is no benchmark. Made by \`scripts/tested.sh\`.

- softgpu, vhost-user, uml, qemu: \`make matrix\`, $(date -u +%F), commit $(git -C "$here" describe --always), two cores without a GPU. vhost-user is the device without a VM; uml a user-mode Linux guest through the kernel driver; qemu a Debian 13 guest (QEMU under TCG, kernel 6.12) on whose disk the guest package was installed with apt.
- H200 native, vhost-user, uml, qemu: \`tests/gpu/run.sh\`, $seen. qemu is there for two programs: a kernel 7.2 with an initramfs, under TCG.

MD
    paste -d '|' <(sed 's/|$//' "$local_table") <(cut -d '|' -f 5- "$gpu_table") |
        sed -e '1s/| native | vhost-user | uml |/| H200 native | H200 vhost-user | H200 uml | H200 qemu |/' \
            -e '2s/$/---|/' |
        while IFS= read -r row; do
            name=$(cut -d '|' -f 2,3 <<<"$row" | tr -d ' ')
            case $name in
                'program|cudart' | '---|---') echo "$row" ;;
                *'|static')
                    time=$(awk -v n="${name%|static}" '$1 == n && $2 == "qemu-tcg" && $NF == "PASS" {print $3 " ms"}' "$gpu_output")
                    echo "$row ${time:-} |"
                    ;;
                *) echo "$row  |" ;;
            esac
        done
    cat <<MD

## The rest of that run on the H200
\`\`\`
$(grep -vE '^\|' "$gpu_output" | sed '/^$/d' | cut -c1-160)
\`\`\`

## Not run
- A guest under KVM, with QEMU or with cloud-hypervisor: no host with a working KVM was at hand. \`tests/kvm/run.sh\` is the one command for it. cloud-hypervisor's behaviour towards the device is replayed in vmm-integration/tests.
- The guest driver on Linux 6.1: it is compiled for that, and was run on 6.12 and 7.2.
MD
} >"$here/docs/tested.md"
echo "tested.sh: wrote docs/tested.md"
