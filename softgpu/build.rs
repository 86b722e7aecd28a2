//! Sets the library's soname, and prevents dlclose from unloading the library.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // Without this flag, dlclose would unmap the library while its threads may still be running.
    // Also, the program's threads run the library's thread-local destructors when they exit.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
