//! Sets the library's soname, and prevents dlclose from unloading the library.

fn main() {
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // At dlclose, threads of the library may still be running, and threads of the program call it
    // when they exit.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
