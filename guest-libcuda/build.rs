//! Sets the library's soname, and prevents dlclose from unloading the library.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // At dlclose, a thread of the library may still be running, and a session can't be started
    // again.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
