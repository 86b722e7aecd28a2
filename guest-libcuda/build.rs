//! Gives the library its name, and keeps it loaded.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // A thread of its own may be running at dlclose, and a session can't be started again.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
