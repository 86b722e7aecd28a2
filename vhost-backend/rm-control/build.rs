//! Exports the examples' `ioctl` function as a dynamic symbol, so that the libraries that they load
//! call it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-examples=-Wl,--export-dynamic-symbol=ioctl");
}
