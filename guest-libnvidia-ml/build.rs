//! Writes the exports of functions that are not implemented, and sets the library's soname.

#[path = "src/generated/symbols.rs"]
mod symbols;

fn main() -> std::io::Result<()> {
    cuda_api::build::generate_for(cuda_api::build::Exports::of(symbols::ALL, "nvml"))?;
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnvidia-ml.so.1");
    Ok(())
}
