//! Sets the library's soname, and prevents dlclose from unloading the library.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // A thread of the library may still be running at dlclose, and a session can't be started a
    // second time in the process.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
