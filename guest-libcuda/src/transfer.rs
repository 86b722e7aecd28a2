//! Copies of contiguous bytes. If the program can access the source and the destination, the
//! calling thread copies. If the GPU can access them, the worker copies. Otherwise, one of them is
//! pageable memory and the other is device memory. The data is then sent in commands or replies if
//! it's short, and through the arena if it's longer ([`staged`]).

use crate::driver::Driver;
use crate::error::{CuError, CuResult};
use crate::memory::{Place, Route};
use crate::program::{bytes_at, copy_to, copy_within};
use crate::session::{Pending, Work};
use crate::settled;
use crate::staged;
pub use crate::staged::Copy;
use crate::thread;
use protocol::calls::{VcudaCopy, VcudaCopyIn, VcudaCopyOut, VcudaCopyOutAnswer};
use protocol::codec::Answer;
use protocol::ids::StreamId;
use protocol::limits::INLINE_COPY_MAX;
use std::collections::VecDeque;

/// Copies between any two kinds of memory.
///
/// # Safety
///
/// If the source or destination is in pageable memory, it must be valid for `copy.len` bytes.
pub unsafe fn copy(driver: &Driver, copy: Copy) -> CuResult {
    // SAFETY: the caller promises that pageable memory is valid for `copy.len` bytes.
    unsafe { copy_between(driver, copy, Sides::default()) }
}

/// The sides of a copy that must be memory that the GPU can access, because the entry point's name
/// says so.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sides {
    pub dst_on_device: bool,
    pub src_on_device: bool,
}

impl Sides {
    /// Returns where the memory of a copy is. Fails if the GPU can't access an address that must be
    /// accessible to it.
    pub fn places(
        self,
        driver: &Driver,
        dst: u64,
        src: u64,
        len: usize,
    ) -> CuResult<(Place, Place)> {
        let place = |address, on_device| {
            let place = driver.memory.place(address, len as u64)?;
            let reachable = address != 0 && !(on_device && place == Place::Pageable);
            if reachable { Ok(place) } else { Err(CuError::INVALID_VALUE) }
        };
        Ok((place(dst, self.dst_on_device)?, place(src, self.src_on_device)?))
    }
}

/// Copies between any two kinds of memory, as [`copy`] does, but fails if the GPU can't access an
/// address that must be accessible to it.
///
/// # Safety
///
/// The requirements of [`copy`] apply.
pub unsafe fn copy_between(driver: &Driver, copy: Copy, sides: Sides) -> CuResult {
    if copy.len == 0 {
        return Ok(());
    }
    let (dst, src) = sides.places(driver, copy.dst, copy.src, copy.len)?;
    match Route::between((dst, copy.dst), (src, copy.src)) {
        Route::OnHost { dst, src } => {
            synchronize(driver, copy.stream)?;
            // SAFETY: both sides are memory of the program. The caller promises that pageable
            // memory is valid, and `places` has checked that other memory is in an allocation.
            unsafe { copy_within(src as usize, dst as usize, copy.len) };
            Ok(())
        }
        Route::OnGpu { dst, src, host } => {
            let wire = VcudaCopy { dst, src, len: copy.len, h_stream: copy.stream };
            driver.session.post(&wire)?;
            // As with NVIDIA's driver, even a blocking copy doesn't wait if the program can access
            // neither side.
            if copy.blocking && host { synchronize(driver, copy.stream) } else { Ok(()) }
        }
        // SAFETY: the caller promises that a pageable source is valid to read.
        Route::Up { dst, src } => unsafe { upload(driver, Copy { dst, src, ..copy }) },
        // SAFETY: the caller promises that a pageable destination is valid to write.
        Route::Down { dst, src } => unsafe {
            let sent = driver.session.sent();
            download(driver, Copy { dst, src, ..copy })
                .inspect(|()| settled::note(sent, Some(copy.stream)))
        },
    }
}

/// Waits for all work in a stream.
pub fn synchronize(driver: &Driver, stream: StreamId) -> CuResult {
    let sent = driver.session.sent();
    let result = driver.session.wait_for_work(Work::Stream(stream), thread::spins());
    driver.flush_output();
    result.inspect(|()| settled::note(sent, Some(stream)))
}

/// Waits for all work in a stream, unless this thread has already waited for it and no command has
/// been sent since.
fn settle(driver: &Driver, stream: StreamId) -> CuResult {
    if settled::covers(driver.session.sent(), stream) {
        return Ok(());
    }
    synchronize(driver, stream)
}

/// Copies from pageable memory to the GPU.
///
/// # Safety
///
/// The source must be valid for reading `copy.len` bytes.
unsafe fn upload(driver: &Driver, copy: Copy) -> CuResult {
    let session = &driver.session;
    if copy.len <= INLINE_COPY_MAX {
        if copy.blocking {
            // NVIDIA's driver also waits for the work before such a copy, but not for the copy
            // itself.
            settle(driver, copy.stream)?;
        }
        // SAFETY: the caller promises that the source is valid for `copy.len` bytes.
        let data = unsafe { bytes_at(copy.src as usize, copy.len) };
        return session.post(&VcudaCopyIn { dst: copy.dst, data, h_stream: copy.stream });
    }
    // SAFETY: the caller promises that the source is valid for `copy.len` bytes.
    unsafe { staged::upload(driver, copy) }
}

/// Copies from the GPU to pageable memory.
///
/// # Safety
///
/// The destination must be valid for writing `copy.len` bytes.
unsafe fn download(driver: &Driver, copy: Copy) -> CuResult {
    let result = match copy.len <= INLINE_COPY_MAX {
        // SAFETY: the caller promises that the destination is valid for `copy.len` bytes.
        true => unsafe { download_inline(driver, copy) },
        // SAFETY: the caller promises that the destination is valid for `copy.len` bytes.
        false => unsafe { staged::download(driver, copy) },
    };
    driver.flush_output();
    result?;
    driver.session.report_posted_error()
}

/// Copies short data from the GPU to pageable memory. The data is part of the reply.
///
/// # Safety
///
/// The requirements of [`download`] apply.
unsafe fn download_inline(driver: &Driver, copy: Copy) -> CuResult {
    let call = VcudaCopyOut { src: copy.src, len: copy.len, h_stream: copy.stream };
    let pending = driver.session.begin(&call, copy.len + 16)?;
    let bytes = driver.session.finish(pending)?.into_result()?;
    // SAFETY: the caller promises that the destination is valid for `copy.len` bytes.
    unsafe { store_inline(&bytes, copy) }
}

/// Copies the data in a reply to pageable memory.
///
/// # Safety
///
/// The requirements of [`download`] apply.
unsafe fn store_inline(bytes: &crate::session::Bytes, copy: Copy) -> CuResult {
    let answer = VcudaCopyOutAnswer::decode(bytes.as_bytes()).map_err(|_| CuError::UNKNOWN)?;
    if answer.data.len() != copy.len {
        return Err(CuError::UNKNOWN);
    }
    // SAFETY: the caller promises that the destination is valid for `copy.len` bytes, which is the
    // length of the data.
    unsafe { copy_to(copy.dst as usize, &answer.data) };
    Ok(())
}

/// Copies many short rows from the GPU to pageable memory, with several requests in flight.
///
/// # Safety
///
/// The destination of every row must be valid for writing the row's bytes.
pub unsafe fn download_rows(driver: &Driver, rows: impl Iterator<Item = Copy>) -> CuResult {
    let session = &driver.session;
    let mut own: VecDeque<(Pending, Copy)> = VecDeque::new();
    let mut result = Ok(());
    let finish_first = |own: &mut VecDeque<(Pending, Copy)>| -> CuResult<bool> {
        let Some((pending, row)) = own.pop_front() else { return Ok(false) };
        let bytes = session.finish(pending)?.into_result()?;
        // SAFETY: the caller promises that the destination of every row is valid.
        unsafe { store_inline(&bytes, row) }?;
        Ok(true)
    };
    for row in rows {
        if own.len() >= 16 {
            result = finish_first(&mut own).map(drop);
        }
        if result.is_err() {
            break;
        }
        let call = VcudaCopyOut { src: row.src, len: row.len, h_stream: row.stream };
        result = session.begin(&call, row.len + 16).map(|pending| own.push_back((pending, row)));
    }
    loop {
        match finish_first(&mut own) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => result = result.and(Err(error)),
        }
    }
    driver.flush_output();
    result?;
    session.report_posted_error()
}
