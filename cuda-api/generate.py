#!/usr/bin/env python3
"""Makes src/generated/ from the headers of a CUDA toolkit.

    cuda-api/generate.py INCLUDE_DIR           writes src/generated/*.rs
    cuda-api/generate.py --check INCLUDE_DIR   fails if they would change

INCLUDE_DIR is the folder with cuda.h and cudaTypedefs.h (13.0's are in the wheel
nvidia-cuda-runtime==13.0.96 of PyPI, under nvidia/cu13/include).

cudaTypedefs.h has one typedef for every function and every ABI version of it,
PFN_<base>_v<CUDA version>[_ptds|_ptsz]. The exported name follows from them: the k-th version
of a base is <base>_v<k> (the first has no suffix), and a per-thread variant adds its suffix to the
name of the version that it varies. The declarations and macros of cuda.h and its companions are
used to check the result: each name that they mention must come out of the rule.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

HEADERS = ["cuda.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h"]
TYPEDEFS = [
    "cudaTypedefs.h",
    "cudaGLTypedefs.h",
    "cudaEGLTypedefs.h",
    "cudaVDPAUTypedefs.h",
    "cudaProfilerTypedefs.h",
]
# Exported and resolvable, yet in no header.
UNDOCUMENTED = [("cuGetExportTable", 3000)]
# In the typedef headers for all systems, exported on Windows or Tegra alone.
ELSEWHERE = {"cuWGLGetDevice", "cuEventCreateFromEGLSync"}
OUT = Path(__file__).resolve().parent / "src" / "generated"


def read(path):
    """The text of a header without comments, its continued lines joined."""
    text = path.read_text(encoding="utf-8", errors="replace")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text).replace("\\\n", " ")


def versions(include):
    """{base: {"" | "_ptds" | "_ptsz": sorted CUDA versions}}"""
    found = {}
    for header in TYPEDEFS:
        for base, version, suffix in re.findall(
            r"CUDAAPI\s*\*\s*PFN_(cu\w+?)_v(\d+)(_ptds|_ptsz)?\s*\)", read(include / header)
        ):
            found.setdefault(base, {}).setdefault(suffix, set()).add(int(version))
    for base, version in UNDOCUMENTED:
        found.setdefault(base, {}).setdefault("", set()).add(version)
    return {
        base: {suffix: sorted(v) for suffix, v in by.items()}
        for base, by in found.items()
        if base not in ELSEWHERE
    }


def symbols(found):
    """[(base, since, per_thread, name)], sorted."""
    result = []
    for base, by_suffix in found.items():
        plain = by_suffix[""]
        names = {v: base if k == 0 else f"{base}_v{k + 1}" for k, v in enumerate(plain)}
        result += [(base, v, False, name) for v, name in names.items()]
        for suffix in ("_ptds", "_ptsz"):
            for version in by_suffix.get(suffix, []):
                varied = max(v for v in plain if v <= version)
                result.append((base, version, True, names[varied] + suffix))
    return sorted(result)


def mentioned(include):
    """Every exported name that the headers declare or map another name to."""
    names, inline = set(), set()
    for header in HEADERS:
        text = read(include / header)
        names |= set(re.findall(r"CUresult\s+CUDAAPI\s+(cu[A-Z]\w*)\s*\(", text))
        for _, macro, target in re.findall(
            r"#\s*define\s+(cu[A-Z]\w*)[ \t]+(?:__CUDA_API_(PTDS|PTSZ)\()?(cu[A-Z]\w*)", text
        ):
            names.add(target)
            if macro:
                names.add(f"{target}_{macro.lower()}")
        # Helpers that live in the header itself are not exported.
        inline |= set(re.findall(r"static\s+inline\s+CUresult\s+(?:CUDAAPI\s+)?(cu[A-Z]\w*)", text))
    return names - inline - ELSEWHERE


def results(include):
    """[(value, name)] of CUresult."""
    body = re.search(r"typedef enum cudaError_enum \{(.*?)\}", read(include / "cuda.h"), re.S)
    pairs = re.findall(r"(CUDA_\w+)\s*=\s*(\d+)", body.group(1))
    return sorted((int(value), name) for name, value in pairs)


def cuda_version(include):
    return int(re.search(r"#define CUDA_VERSION (\d+)", read(include / "cuda.h")).group(1))


def rustfmt(text):
    done = subprocess.run(
        ["rustfmt", "--edition", "2024"],
        input=text, stdout=subprocess.PIPE, text=True, check=True, cwd=OUT,
    )
    return done.stdout


def generate(include):
    """{file name: text}"""
    table = symbols(versions(include))
    missing = mentioned(include) - {name for *_, name in table}
    if missing:
        sys.exit(f"generate.py: the headers name what the typedefs do not give: {sorted(missing)}")
    version = cuda_version(include)
    head = f"// Made by cuda-api/generate.py from the headers of CUDA {version}. Do not edit.\n\n"

    lines = [head, "use crate::symbols::Symbol;\n\n"]
    lines.append("/// The CUDA version whose headers the table was made from.\n")
    lines.append(f"pub const CUDA_VERSION: u32 = {version};\n\n")
    lines.append("const fn s(name: &'static str, base: &'static str, since: u32, per_thread: bool)")
    lines.append(" -> Symbol { Symbol { name, base, since, per_thread } }\n\n")
    lines.append("/// Every exported symbol, by base name, then by version.\n")
    lines.append("#[rustfmt::skip]\n")
    lines.append("pub static ALL: &[Symbol] = &[\n")
    for base, since, per_thread, name in table:
        flag = "true" if per_thread else "false"
        lines.append(f'    s("{name}", "{base}", {since}, {flag}),\n')
    lines.append("];\n")

    errors = [head, "/// Every value of CUresult and its name.\n"]
    errors.append("#[rustfmt::skip]\n")
    errors.append("pub static ALL: &[(u32, &core::ffi::CStr)] = &[\n")
    errors += [f'    ({value}, c"{name}"),\n' for value, name in results(include)]
    errors.append("];\n")
    return {"symbols.rs": rustfmt("".join(lines)), "results.rs": rustfmt("".join(errors))}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("include", type=Path, help="the folder with cuda.h")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    args = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    stale = []
    for name, text in generate(args.include).items():
        path = OUT / name
        if args.check:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(str(path))
        else:
            path.write_text(text, encoding="utf-8")
    if stale:
        sys.exit(f"generate.py: not what the headers give, run it without --check: {stale}")


if __name__ == "__main__":
    main()
