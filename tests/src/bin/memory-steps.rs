//! Allocates and frees device memory in a loop, for tests that check when a program has to wait.
//! Uses the `libcuda.so.1` that the loader finds.
//!
//!   memory-steps MIB    allocates, fills, and frees MIB in each step, or makes no steps if MIB is
//!   0
//!
//! Prints `step N` after each step. On another thread, handles the lines of standard input:
//!
//!   ask MIB     allocates and frees MIB, and prints `got MIB`, or `refused MIB` if there is no
//!   room
//!   take MIB    allocates MIB, and prints `took MIB`
//!   give        frees the memory of the last `take`, and prints `gave`
//!   free        prints `free BYTES`, the result of cuMemGetInfo
//!   reset       destroys the context and creates it again, and prints `reset`
//!
//! Exits at the end of standard input.

use std::ffi::{CStr, c_int, c_uchar, c_uint, c_void};
use std::io::BufRead;
use std::process::ExitCode;

type Handle = *mut c_void;

const OUT_OF_MEMORY: c_uint = 2;

/// The functions of the driver API that the threads call.
#[derive(Clone, Copy)]
struct Cuda {
    set_current: unsafe extern "C" fn(Handle) -> c_uint,
    alloc: unsafe extern "C" fn(*mut u64, usize) -> c_uint,
    fill: unsafe extern "C" fn(u64, c_uchar, usize) -> c_uint,
    free: unsafe extern "C" fn(u64) -> c_uint,
    info: unsafe extern "C" fn(*mut usize, *mut usize) -> c_uint,
    retain: unsafe extern "C" fn(*mut Handle, c_int) -> c_uint,
    reset: unsafe extern "C" fn(c_int) -> c_uint,
}

fn symbol(library: Handle, name: &CStr) -> *mut c_void {
    // SAFETY: the handle comes from dlopen, and the name is a C string.
    let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!symbol.is_null(), "libcuda.so.1 has no {name:?}");
    symbol
}

macro_rules! function {
    ($library:expr, $name:literal, ($($arg:ty),*)) => {
        // SAFETY: the driver API function with this name has the signature of the field that it's
        // stored in.
        unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> c_uint>(
                symbol($library, $name),
            )
        }
    };
}

/// Loads the library and creates a context. Returns the functions and the context's address.
fn open() -> (Cuda, usize) {
    // SAFETY: the name is a C string. The user of this program selects the library, and trusts its
    // initializers.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null(), "cannot load libcuda.so.1");
    let init = function!(library, c"cuInit", (c_uint));
    let cuda = Cuda {
        set_current: function!(library, c"cuCtxSetCurrent", (Handle)),
        alloc: function!(library, c"cuMemAlloc_v2", (*mut u64, usize)),
        fill: function!(library, c"cuMemsetD8_v2", (u64, c_uchar, usize)),
        free: function!(library, c"cuMemFree_v2", (u64)),
        info: function!(library, c"cuMemGetInfo_v2", (*mut usize, *mut usize)),
        retain: function!(library, c"cuDevicePrimaryCtxRetain", (*mut Handle, c_int)),
        reset: function!(library, c"cuDevicePrimaryCtxReset_v2", (c_int)),
    };
    // SAFETY: the function takes no pointers.
    assert_eq!(unsafe { init(0) }, 0, "cuInit");
    (cuda, cuda.retain())
}

impl Cuda {
    fn enter(&self, ctx: usize) {
        // SAFETY: the context hasn't been destroyed.
        assert_eq!(unsafe { (self.set_current)(ctx as Handle) }, 0, "cuCtxSetCurrent");
    }

    /// Allocates memory. Returns `None` if there is no room.
    fn take(&self, bytes: usize) -> Option<u64> {
        let mut at = 0;
        // SAFETY: the pointer is to a local variable.
        match unsafe { (self.alloc)(&mut at, bytes) } {
            0 => Some(at),
            OUT_OF_MEMORY => None,
            error => panic!("cuMemAlloc: {error}"),
        }
    }

    /// Frees memory that `take` returned, once.
    fn give(&self, at: u64) {
        // SAFETY: `take` has allocated the memory, it's freed only once, and nothing uses it any
        // more.
        assert_eq!(unsafe { (self.free)(at) }, 0, "cuMemFree");
    }

    /// Allocates memory, fills it if `fills`, and frees it. Returns false if there is no room.
    fn step(&self, bytes: usize, fills: bool) -> bool {
        let Some(at) = self.take(bytes) else { return false };
        if fills {
            // SAFETY: the memory was just allocated.
            assert_eq!(unsafe { (self.fill)(at, 1, bytes) }, 0, "cuMemsetD8");
        }
        self.give(at);
        true
    }

    /// Retains the primary context, and returns its address.
    fn retain(&self) -> usize {
        let mut ctx = std::ptr::null_mut();
        // SAFETY: the pointer is to a local variable, and device 0 is the first one.
        assert_eq!(unsafe { (self.retain)(&mut ctx, 0) }, 0, "cuDevicePrimaryCtxRetain");
        ctx as usize
    }

    /// Destroys the primary context and creates it again. The other thread must not use the
    /// context.
    fn reset(&self) {
        // SAFETY: device 0 is the first one.
        assert_eq!(unsafe { (self.reset)(0) }, 0, "cuDevicePrimaryCtxReset");
        self.enter(self.retain());
    }

    fn free_memory(&self) -> usize {
        let (mut free, mut total) = (0, 0);
        // SAFETY: the pointers are to local variables.
        assert_eq!(unsafe { (self.info)(&mut free, &mut total) }, 0, "cuMemGetInfo");
        free
    }
}

fn mib(text: &str) -> usize {
    text.trim().parse::<usize>().expect("a number of MiB") << 20
}

fn main() -> ExitCode {
    let Some(bytes) = std::env::args().nth(1).map(|text| mib(&text)) else {
        eprintln!("usage: memory-steps MIB");
        return ExitCode::from(2);
    };
    let (cuda, ctx) = open();
    std::thread::spawn(move || {
        cuda.enter(ctx);
        let mut taken = Vec::new();
        for line in std::io::stdin().lock().lines() {
            let line = line.expect("standard input");
            match line.split_once(' ').unwrap_or((&line, "")) {
                ("ask", size) if cuda.step(mib(size), false) => println!("got {size}"),
                ("ask", size) => println!("refused {size}"),
                ("take", size) => {
                    taken.push(cuda.take(mib(size)).expect("room"));
                    println!("took {size}");
                }
                ("give", _) => {
                    cuda.give(taken.pop().expect("it has taken some"));
                    println!("gave");
                }
                ("reset", _) => {
                    cuda.reset();
                    println!("reset");
                }
                ("free", _) => println!("free {}", cuda.free_memory()),
                _ => panic!("{line}"),
            }
        }
        std::process::exit(0);
    });
    cuda.enter(ctx);
    if bytes == 0 {
        println!("ready");
        // This thread has nothing more to do. The other thread ends the process.
        loop {
            std::thread::park();
        }
    }
    for number in 1u64.. {
        assert!(cuda.step(bytes, true), "no room");
        println!("step {number}");
    }
    ExitCode::SUCCESS
}
