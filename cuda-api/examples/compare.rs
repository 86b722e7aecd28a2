//! Compares this crate's tables with a libcuda.so.1, which may be NVIDIA's or another
//! implementation.
//!
//! cargo run -p cuda-api --example compare -- /usr/lib/x86_64-linux-gnu/libcuda.so.1
//!
//! Prints the symbols that the library lacks, and the cases in which its cuGetProcAddress_v2,
//! cuGetErrorName and cuGetErrorString return other results. Fails if there is any difference.
//! Needs no GPU.

use core::ffi::{CStr, c_char, c_int, c_void};
use cuda_api::{error_text, proc_address, symbols};
use std::collections::BTreeSet;
use std::ffi::CString;

type GetProcAddress =
    unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut u32) -> u32;
type GetText = unsafe extern "C" fn(u32, *mut *const c_char) -> u32;

struct Library(*mut c_void);

impl Library {
    fn open(path: &str) -> Self {
        let path = CString::new(path).expect("a path without zeros");
        // SAFETY: the path is a C string; the library's constructors are trusted.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{path:?} can't be loaded");
        Self(handle)
    }

    fn symbol(&self, name: &str) -> *mut c_void {
        let name = CString::new(name).expect("a name without NUL bytes");
        // SAFETY: the handle is open, and the name is a C string.
        unsafe { libc::dlsym(self.0, name.as_ptr()) }
    }

    fn function(&self, name: &str) -> *mut c_void {
        let address = self.symbol(name);
        assert!(!address.is_null(), "the library has no {name}");
        address
    }
}

/// Calls cuGetProcAddress_v2 and returns (result, status, address).
fn ask(function: GetProcAddress, base: &str, version: i32, flags: u64) -> (u32, u32, usize) {
    let name = CString::new(base).expect("a name without NUL bytes");
    let (mut address, mut status) = (core::ptr::null_mut(), u32::MAX);
    // SAFETY: the function has this type, `name` is a C string, and the results go to local
    // variables.
    let result = unsafe { function(name.as_ptr(), &mut address, version, flags, &mut status) };
    (result, status, address.addr())
}

fn text(function: GetText, result: u32) -> Option<&'static CStr> {
    let mut text = core::ptr::null();
    // SAFETY: the function has this type and stores a pointer to a local variable. The text that it
    // points to is a constant of the library, which stays loaded.
    unsafe {
        let error = function(result, &mut text);
        (error == 0 && !text.is_null()).then(|| CStr::from_ptr(text))
    }
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: compare LIBCUDA");
    let library = Library::open(&path);
    // SAFETY: the functions that a libcuda exports under these names have these types.
    let (get_proc_address, error_name, error_string): (GetProcAddress, GetText, GetText) = unsafe {
        (
            core::mem::transmute::<*mut c_void, GetProcAddress>(
                library.function("cuGetProcAddress_v2"),
            ),
            core::mem::transmute::<*mut c_void, GetText>(library.function("cuGetErrorName")),
            core::mem::transmute::<*mut c_void, GetText>(library.function("cuGetErrorString")),
        )
    };
    let mut differences = 0;
    let mut differ = |what: String| {
        differences += 1;
        println!("{what}");
    };

    for symbol in symbols::ALL {
        if library.symbol(symbol.name).is_null() {
            differ(format!("{}: not exported", symbol.name));
        }
    }

    let bases: BTreeSet<_> = symbols::ALL.iter().map(|symbol| symbol.base).collect();
    for base in &bases {
        let sinces = symbols::variants(base).iter().map(|symbol| symbol.since as i32);
        let versions: BTreeSet<_> =
            sinces.flat_map(|since| [-1, since - 1, since, symbols::CUDA_VERSION as i32]).collect();
        for version in versions {
            for flags in 0..=3 {
                let ours = proc_address::resolve(base, version, flags).expect("valid arguments");
                let expected = ours.name().map_or(0, |name| library.symbol(name).addr());
                let theirs = ask(get_proc_address, base, version, flags);
                if theirs != (0, ours.status().0, expected) {
                    let named = symbols::variants(base)
                        .iter()
                        .find(|symbol| library.symbol(symbol.name).addr() == theirs.2);
                    let named = named.map_or("another address", |symbol| symbol.name);
                    differ(format!(
                        "{base} at {version} with flags {flags}: {ours:?} here; there result {}, \
                         status {}, {named}",
                        theirs.0, theirs.1
                    ));
                }
            }
        }
    }

    for result in 0..1001 {
        let here = (error_text::name(result), error_text::description(result));
        let there = (text(error_name, result), text(error_string, result));
        if here != there {
            differ(format!("result {result}: {here:?} here, {there:?} there"));
        }
    }

    // `resolve` doesn't check these arguments, because its callers do, so the two results may
    // differ. Print them without comparing them.
    for (base, version, flags) in [
        ("cuNoSuchFunction", 12000, 0),
        ("cuMemAlloc_v2", 12000, 0),
        ("", 0, 0),
        ("cuInit", 12000, 4),
        ("cuInit", symbols::CUDA_VERSION as i32 + 10, 0),
        ("cuInit", 99990, 0),
    ] {
        let (result, status, address) = ask(get_proc_address, base, version, flags);
        println!(
            "for information: {base:?} at {version} with flags {flags}: result {result}, status \
             {status}, {}; here {:?}",
            if address == 0 { "no address" } else { "an address" },
            proc_address::resolve(base, version, flags)
        );
    }
    println!("{differences} differences in {} symbols of {path}", symbols::ALL.len());
    std::process::exit(i32::from(differences != 0));
}
