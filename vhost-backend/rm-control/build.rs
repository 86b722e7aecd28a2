//! Makes the example's `ioctl` visible to the libraries that it loads.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-examples=-Wl,--export-dynamic-symbol=ioctl");
}
