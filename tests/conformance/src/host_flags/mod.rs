//! The table of the flags of host memory: every value of the flags, and the results of calls.
//!
//! Each row is a value of the flags. In the column `call`, the outcome is the result of the call
//! that allocates or registers memory with these flags. In the other columns, it's the result of a
//! call that uses this memory, or if `call` failed, its error. `flags` is what `cuMemHostGetFlags`
//! stores. `to-memory` is a copy to the memory, and `from-memory` is a copy from it. `kernel` is a
//! kernel that stores a value in the memory.

use crate::cuda::{Called, Cuda, Failure, Outcome, cu, parameter};
use crate::ended;
use crate::kernels::FILL;
use crate::table::Table;
use std::ffi::c_void;
use std::ptr::null_mut;

/// The table of the flags of host memory.
pub const TABLE: Table = Table {
    option: "--host-flags",
    native: include_str!("native.csv"),
    apart: false,
    kinds: || KINDS.iter().map(|(kind, _)| *kind).collect(),
    cells: |_, _| {
        let columns = |flags: u32| COLUMNS.map(|column| (flags.to_string(), column.to_owned()));
        Ok(flags().flat_map(columns).collect())
    },
    run: outcome,
};

const COLUMNS: [&str; 5] = ["call", "flags", "from-memory", "to-memory", "kernel"];
const PAGE: usize = 4096;

/// Returns every combination of the named flags, and values with unknown flags.
fn flags() -> impl Iterator<Item = u32> {
    (0..=16).chain([32, 0x8000, 1 << 31])
}

/// A function that allocates or registers memory with these flags. The inner result is the memory's
/// address, or the error of the call.
type Create = fn(&Cuda, u32) -> Outcome<Result<*mut c_void, u32>>;

const KINDS: &[(&str, Create)] = &[
    ("allocate", |cuda, flags| {
        let mut host = null_mut();
        Ok(code(&cu!(cuda, cuMemHostAlloc(&mut host, PAGE, flags))).map(|()| host))
    }),
    ("register", |cuda, flags| {
        let host = map(libc::PROT_READ | libc::PROT_WRITE)?;
        Ok(code(&cu!(cuda, cuMemHostRegister_v2(host, PAGE, flags))).map(|()| host))
    }),
    // Registers memory with the first version of the call.
    ("register-first", |cuda, flags| {
        let host = map(libc::PROT_READ | libc::PROT_WRITE)?;
        Ok(code(&cu!(cuda, cuMemHostRegister(host, PAGE, flags))).map(|()| host))
    }),
    // Registers memory that the program can read but not write.
    ("register-read-only", |cuda, flags| {
        let host = map(libc::PROT_READ)?;
        Ok(code(&cu!(cuda, cuMemHostRegister_v2(host, PAGE, flags))).map(|()| host))
    }),
];

fn code(called: &Called) -> Result<(), u32> {
    match called {
        Ok(()) => Ok(()),
        Err(failed) => Err(failed.error.0),
    }
}

fn number(called: &Called) -> u32 {
    code(called).err().unwrap_or(0)
}

/// Maps a page of anonymous memory.
fn map(access: i32) -> Outcome<*mut c_void> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a null address lets the kernel choose an unused one.
    let host = unsafe { libc::mmap(null_mut(), PAGE, access, flags, -1, 0) };
    if host == libc::MAP_FAILED { Err(Failure::new("cannot map a page")) } else { Ok(host) }
}

fn outcome(
    cuda: &Cuda,
    kind: &str,
    (flags, column): (&str, &str),
    before: &dyn Fn(),
) -> Outcome<String> {
    let found = KINDS.iter().find(|(name, _)| *name == kind);
    let (_, create) = found.ok_or_else(|| Failure::new(format!("there is no kind {kind}")))?;
    cuda.primary()?;
    let device = cuda.alloc(PAGE)?;
    let (_, fill) = cuda.kernel(FILL, c"fill")?;
    before();
    let host = match create(cuda, flags.parse().map_err(Failure::new)?)? {
        Ok(host) => host,
        Err(error) => return Ok(error.to_string()),
    };
    let stream = null_mut();
    let mut called = match column {
        "call" => 0,
        "flags" => {
            let mut flags = u32::MAX;
            match number(&cu!(cuda, cuMemHostGetFlags(&mut flags, host))) {
                0 => flags,
                error => return Ok(error.to_string()),
            }
        }
        "from-memory" => number(&cu!(cuda, cuMemcpyHtoDAsync_v2(device, host, 64, stream))),
        "to-memory" => number(&cu!(cuda, cuMemcpyDtoHAsync_v2(host, device, 64, stream))),
        _ => {
            let mut at = 0;
            cu!(cuda, cuMemHostGetDevicePointer_v2(&mut at, host, 0))?;
            let (value, count) = (7u32, 1u32);
            let mut parameters = [parameter(&at), parameter(&value), parameter(&count)];
            number(&cuda.launch(fill, [1, 1], stream, &mut parameters))
        }
    };
    if called == 0 {
        called = number(&cu!(cuda, cuCtxSynchronize()));
    }
    Ok(ended::outcome(cuda, called))
}
