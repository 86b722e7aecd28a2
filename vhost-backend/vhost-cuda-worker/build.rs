//! Exports the worker's `ioctl` from the executable, so that the driver library calls it instead of
//! libc's: see `src/driver/recorder.rs`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-link-arg-bins=-Wl,--export-dynamic-symbol=ioctl");
}
