//! Reads NVIDIA's headers, through libclang and as text.

use bindgen::EnumVariation;
use regex::Regex;
use std::error::Error;
use std::path::Path;
use std::process::Command;

/// The headers that declare functions.
const HEADERS: [&str; 5] = ["cuda.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h", "cudaProfiler.h"];
/// The headers that declare a function pointer type for every version of every function.
const TYPEDEFS: [&str; 5] = [
    "cudaTypedefs.h",
    "cudaGLTypedefs.h",
    "cudaEGLTypedefs.h",
    "cudaVDPAUTypedefs.h",
    "cudaProfilerTypedefs.h",
];

/// Returns the driver API's types and constants, as bindgen writes them.
pub fn cuda(include: &Path) -> Result<syn::File, Box<dyn Error>> {
    // cudaVDPAU.h needs vdpau.h but doesn't include it.
    let names = ["vdpau/vdpau.h"].iter().chain(&HEADERS).chain(&TYPEDEFS);
    let includes: String = names.map(|name| format!("#include <{name}>\n")).collect();
    let bindings = builder(include)?
        .header_contents("all.h", &includes)
        // Include the oldest versions of functions and structures, which libcuda still exports.
        .clang_arg("-D__CUDA_API_VERSION_INTERNAL")
        .allowlist_type("CU.*|cu.*|PFN_cu.*")
        .allowlist_var("CU.*")
        .generate()?;
    Ok(syn::parse_file(&bindings.to_string())?)
}

/// Returns NVML's types, constants and functions, as bindgen writes them.
pub fn nvml(include: &Path) -> Result<syn::File, Box<dyn Error>> {
    let bindings = builder(include)?
        .header_contents("all.h", "#include <nvml.h>\n")
        // With this macro, the header declares the older versions of functions too, instead of
        // mapping their names to newer versions.
        .clang_arg("-DNVML_NO_UNVERSIONED_FUNC_DEFS")
        .allowlist_type("nvml.*")
        .allowlist_var("NVML_.*|nvmlClocksEventReason.*")
        .allowlist_function("nvml.*")
        .generate()?;
    Ok(syn::parse_file(&bindings.to_string())?)
}

/// Returns the options that all bindings share.
fn builder(include: &Path) -> Result<bindgen::Builder, Box<dyn Error>> {
    // The Python package of libclang lacks the compiler's own headers, such as stddef.h.
    let output = Command::new("gcc").arg("-print-file-name=include").output()?;
    let compiler = String::from_utf8(output.stdout)?;
    Ok(bindgen::builder()
        .clang_args(["-x", "c", "--target=x86_64-unknown-linux-gnu"])
        .clang_args(["-isystem", compiler.trim(), "-isystem", "/usr/include/x86_64-linux-gnu"])
        .clang_arg(format!("-I{}", include.display()))
        .clang_arg(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/stand-ins"))
        // Represent enumerations as integers: a guest may pass any number, but a Rust enum can't
        // hold a value without a variant.
        .default_enum_style(EnumVariation::NewType { is_bitfield: false, is_global: false })
        .prepend_enum_name(false)
        .generate_comments(false)
        .derive_default(true)
        .derive_eq(true)
        .layout_tests(true)
        .disable_header_comment()
        .formatter(bindgen::Formatter::None)
        .use_core())
}

/// Returns the contents of a header, with comments removed and continued lines joined.
pub fn text(include: &Path, name: &str) -> Result<String, Box<dyn Error>> {
    let path = include.join(name);
    let bytes = std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let text = String::from_utf8_lossy(&bytes);
    let text = Regex::new(r"(?s)/\*.*?\*/")?.replace_all(&text, "");
    let text = Regex::new(r"//[^\n]*")?.replace_all(&text, "");
    Ok(text.replace("\\\n", " "))
}

/// Returns the contents of the headers that declare functions.
pub fn declarations(include: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    HEADERS.iter().map(|name| text(include, name)).collect()
}

/// Returns the value of CUDA_VERSION.
pub fn cuda_version(include: &Path) -> Result<u32, Box<dyn Error>> {
    let text = text(include, "cuda.h")?;
    let found = Regex::new(r"#define CUDA_VERSION (\d+)")?.captures(&text);
    Ok(found.ok_or("cuda.h defines no CUDA_VERSION")?[1].parse()?)
}

/// Returns the name, type and value of each macro that casts a number to a type. bindgen skips such
/// macros.
pub fn cast_constants(include: &Path) -> Result<Vec<[String; 3]>, Box<dyn Error>> {
    let text = text(include, "cuda.h")?;
    let pattern = Regex::new(r"#define[ \t]+(CU_\w+)[ \t]+\(\((CU\w+)\)(-?\w+)\)")?;
    Ok(pattern
        .captures_iter(&text)
        .map(|found| [1, 2, 3].map(|group| found[group].to_owned()))
        .collect())
}
