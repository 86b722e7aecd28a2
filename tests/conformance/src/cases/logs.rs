//! The log of failed calls.

use super::cases;
use crate::cuda::{cu, ensure, get, refused, same};
use crate::file::File;
use cuda_api::sys::{CUlimit, CUlogLevel};
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;

/// The messages that the log callback has received.
static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

unsafe extern "C" fn logged(_: *mut c_void, level: CUlogLevel, text: *mut c_char, len: usize) {
    // SAFETY: the library passes a message of this length.
    let text = unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) };
    let text = String::from_utf8_lossy(text).into_owned();
    MESSAGES.lock().unwrap().push(format!("{} {text}", level.0));
}

cases! {
    fn a_failed_call_is_logged(cuda, primary) {
        let mut iterator = get!(cuda, cuLogsCurrent(@, 0))?;
        get!(cuda, cuMemAlloc_v2(@, 16))?;
        refused!(cu!(cuda, cuMemAlloc_v2(null_mut(), 1)), INVALID_VALUE);
        let (mut text, mut size) = (vec![1u8; 4096], 4096);
        let to = text.as_mut_ptr().cast();
        cu!(cuda, cuLogsDumpToMemory(&mut iterator, to, &mut size, 0))?;
        same!(text[size], 0);
        let lines: Vec<_> = text[..size].split_inclusive(|byte| *byte == b'\n').collect();
        let ends = |line: &[u8], end: &str| line.ends_with(format!("[CUDA][E] {end}\n").as_bytes());
        same!(lines.len(), 2);
        ensure!(ends(lines[0], "NULL return value pointer"), "{lines:?}");
        let error = "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemAlloc_v2";
        ensure!(ends(lines[1], error), "{lines:?}");
        size = 4096;
        cu!(cuda, cuLogsDumpToMemory(&mut iterator, to, &mut size, 0))?;
        same!(size, 0);
        // `cuLogsCurrent` ignores its flags, even unknown ones.
        cu!(cuda, cuLogsCurrent(&mut iterator, 1))?;
        refused!(cu!(cuda, cuLogsDumpToMemory(null_mut(), to, &mut size, 1)), INVALID_VALUE);
        size = 10;
        refused!(cu!(cuda, cuLogsDumpToMemory(null_mut(), to, &mut size, 0)), INVALID_VALUE);
    }

    fn callbacks_receive_messages_until_they_are_unregistered(cuda, primary) {
        let handle = get!(cuda, cuLogsRegisterCallback(Some(logged), null_mut(), @))?;
        refused!(cu!(cuda, cuMemFree_v2(0x1234567)), INVALID_VALUE);
        refused!(cu!(cuda, cuCtxSetLimit(CUlimit(99), 1)), INVALID_VALUE);
        cu!(cuda, cuLogsUnregisterCallback(handle))?;
        refused!(cu!(cuda, cuMemFree_v2(0x1234567)), INVALID_VALUE);
        let seen = MESSAGES.lock().unwrap().clone();
        same!(seen, [
            "0 Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree_v2",
            "0 Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuCtxSetLimit",
        ]);
    }

    fn a_callback_must_be_a_function(cuda, primary) {
        let mut handle = null_mut();
        refused!(cu!(cuda, cuLogsRegisterCallback(None, null_mut(), &mut handle)), INVALID_VALUE);
    }

    fn null_is_neither_an_iterator_nor_a_callback(cuda, primary) {
        refused!(cu!(cuda, cuLogsCurrent(null_mut(), 0)), INVALID_VALUE);
        refused!(cu!(cuda, cuLogsUnregisterCallback(null_mut())), INVALID_VALUE);
    }

    fn the_log_can_be_written_to_a_file(cuda, primary) {
        refused!(cu!(cuda, cuMemFree_v2(0x1234567)), INVALID_VALUE);
        let file = File::absent("calls.log");
        cu!(cuda, cuLogsDumpToFile(null_mut(), file.name().as_ptr(), 0))?;
        let text = file.read();
        ensure!(text.ends_with("from cuMemFree_v2\n"), "the file contains {text:?}");
        let nowhere = c"/nonexistent/x".as_ptr();
        refused!(cu!(cuda, cuLogsDumpToFile(null_mut(), nowhere, 0)), INVALID_VALUE);
    }
}
