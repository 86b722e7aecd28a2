//! Writes the exports that this crate does not define, and gives the library its name.
fn main() -> std::io::Result<()> {
    cuda_api::build::generate()?;
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // dlclose leaves it: a thread of its own may be running, and a session can't be begun again.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    Ok(())
}
