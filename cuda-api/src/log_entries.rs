//! The functions that read the log of failed calls.

use crate::args::{Out, Text};
use crate::error::{CuError, CuResult};
use crate::logs;
use crate::sys::{CUlogIterator, CUlogsCallback, CUlogsCallbackHandle};
use std::ffi::{OsStr, c_char, c_void};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

/// Implements `cuLogsRegisterCallback`.
pub fn register(
    function: CUlogsCallback,
    data: *mut c_void,
    handle: Out<CUlogsCallbackHandle>,
) -> CuResult {
    handle.set_if_wanted(logs::register(function, data).ok_or(CuError::INVALID_VALUE)?);
    Ok(())
}

/// Implements `cuLogsUnregisterCallback`.
pub fn unregister(handle: CUlogsCallbackHandle) -> CuResult {
    if logs::unregister(handle) { Ok(()) } else { Err(CuError::INVALID_VALUE) }
}

/// Implements `cuLogsCurrent`. As in NVIDIA's driver, the flags are ignored in all of these
/// functions.
pub fn current(iterator: Out<CUlogIterator>, _flags: u32) -> CuResult {
    iterator.set(logs::buffer().next())
}

/// Returns the log's text from an iterator on, and the new value of the iterator.
fn dump(iterator: Out<CUlogIterator>, room: usize) -> CuResult<(String, CUlogIterator)> {
    let buffer = logs::buffer();
    let from = if iterator.is_wanted() { Some(iterator.read()?) } else { None };
    Ok((buffer.text(from, room)?, buffer.next()))
}

/// Implements `cuLogsDumpToFile`.
pub fn to_file(iterator: Out<CUlogIterator>, path: Text, _flags: u32) -> CuResult {
    let path = OsStr::from_bytes(path.get()?.to_bytes());
    let (text, next) = dump(iterator, usize::MAX)?;
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|_| CuError::INVALID_VALUE)?;
    iterator.set_if_wanted(next);
    Ok(())
}

/// Implements `cuLogsDumpToMemory`.
///
/// # Safety
///
/// There must be as many bytes at `to` as `size` says.
pub unsafe fn to_memory(
    iterator: Out<CUlogIterator>,
    to: Out<c_char>,
    size: Out<usize>,
    _flags: u32,
) -> CuResult {
    to.check()?;
    let room = size.read()?;
    size.set(0)?;
    // Leave room for the zero byte at the end of the text.
    let (text, next) = dump(iterator, room.checked_sub(1).ok_or(CuError::INVALID_VALUE)?)?;
    // SAFETY: the caller promises that there are this many bytes.
    unsafe { to.array(room) }.set_text(text.as_bytes())?;
    iterator.set_if_wanted(next);
    size.set(text.len())
}

/// Exports the entry points of the log. The argument is the library's
/// [`EntryPoint`](crate::entries::EntryPoint).
#[macro_export]
macro_rules! log_entries {
    ($entry_point:ty) => {
        $crate::entries! { $entry_point;
            fn cuLogsRegisterCallback(
                function: $crate::sys::CUlogsCallback, data: *mut ::std::ffi::c_void,
                handle: $crate::args::Out<$crate::sys::CUlogsCallbackHandle>,
            ) {
                $crate::log_entries::register(function, data, handle)
            }
            fn cuLogsUnregisterCallback(handle: $crate::sys::CUlogsCallbackHandle) {
                $crate::log_entries::unregister(handle)
            }
            fn cuLogsCurrent(
                iterator: $crate::args::Out<$crate::sys::CUlogIterator>, flags: u32,
            ) {
                $crate::log_entries::current(iterator, flags)
            }
            fn cuLogsDumpToFile(
                iterator: $crate::args::Out<$crate::sys::CUlogIterator>,
                path: $crate::args::Text, flags: u32,
            ) {
                $crate::log_entries::to_file(iterator, path, flags)
            }
            fn cuLogsDumpToMemory(
                iterator: $crate::args::Out<$crate::sys::CUlogIterator>,
                to: $crate::args::Out<::std::ffi::c_char>, size: $crate::args::Out<usize>,
                flags: u32,
            ) {
                // SAFETY: the program passes a buffer of this size.
                unsafe { $crate::log_entries::to_memory(iterator, to, size, flags) }
            }
        }
    };
}
