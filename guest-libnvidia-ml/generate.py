#!/usr/bin/env python3
"""Makes src/generated/symbols.rs, the names that a libnvidia-ml.so.1 exports.

    guest-libnvidia-ml/generate.py NVML_H           writes it
    guest-libnvidia-ml/generate.py --check NVML_H   fails if it would change

NVML_H is NVIDIA's public nvml.h (a copy is in github.com/NVIDIA/go-nvml, gen/nvml/nvml.h). Every
function that it declares, and every versioned name that one of its macros stands for, is exported
by NVIDIA's library.
"""

import argparse
import re
import sys
from pathlib import Path

OUT = Path(__file__).resolve().parent / "src" / "generated" / "symbols.rs"
# Exported and called by nvidia-smi, yet in no header.
UNDOCUMENTED = ["nvmlInternalGetExportTable"]


def names(header):
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    found = set(re.findall(r"DECLDIR\s*(?:const\s+)?(?:char\s*\*\s*)?(nvml[A-Z]\w*)\s*\(", text))
    found |= set(re.findall(r"#\s*define\s+nvml[A-Z]\w*\s+(nvml[A-Z]\w*_v\d+)\s*$", text, flags=re.M))
    return sorted(found | set(UNDOCUMENTED))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("header", type=Path, help="nvml.h")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    args = parser.parse_args()
    header = args.header.read_text(encoding="utf-8", errors="replace")
    version = re.search(r"#define NVML_API_VERSION\s+(\d+)", header).group(1)
    lines = [f"// Made by guest-libnvidia-ml/generate.py from nvml.h of version {version}. Do not edit.\n\n"]
    lines.append("/// Every exported name.\npub const ALL: &[&str] = &[\n")
    lines += [f'    "{name}",\n' for name in names(header)]
    lines.append("];\n")
    text = "".join(lines)
    if args.check:
        if not OUT.exists() or OUT.read_text(encoding="utf-8") != text:
            sys.exit(f"generate.py: {OUT} is not what the header gives, run it without --check")
    else:
        OUT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
