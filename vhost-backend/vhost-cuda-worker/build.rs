//! Makes the worker's `ioctl` visible to the driver library: see `src/driver/recorder.rs`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol=ioctl");
}
