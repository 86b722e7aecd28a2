//! Fills. cuda-api has the entry points.

use cuda_api::error::{CuError, CuResult};
use cuda_api::fills;
use std::ptr::null_mut;

use super::capture;
use super::entry::EntryPoint;
use crate::state::graph::Op;
use crate::state::memory;
use crate::state::stream::lookup;

cuda_api::fill_entries!(EntryPoint, queue);

/// Fills a rectangle. A fill without a stream argument returns only when it has finished if it
/// fills host memory, as a copy does.
fn queue(asked: fills::Fill, per_thread: bool) -> CuResult {
    let fills::Fill { to, pitch, value, size, width, height, stream } = asked;
    let now = stream.is_none();
    let stream = lookup(stream.unwrap_or(null_mut()), per_thread)?;
    if width != 0 && height != 0 {
        let fill = Fill { to, pitch, value, size: size as usize, width, height };
        fill.check()?;
        if capture::captured(&stream)? {
            capture::push(&stream, Op::Memset(fill))?;
        } else {
            stream.now_or_submit(move |errors| {
                if !errors.failed() {
                    fill.run();
                }
            });
        }
    }
    if now && memory::find(to).is_some_and(|found| found.on_host()) {
        super::stream::synchronize(&stream)?;
    }
    Ok(())
}

/// A fill of a rectangle of elements with one value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fill {
    pub(crate) to: u64,
    pub(crate) pitch: usize,
    pub(crate) value: u32,
    /// Element size in bytes: 1, 2 or 4.
    pub(crate) size: usize,
    /// Width in elements.
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Fill {
    /// Checks that the parameters are valid and that the rectangle is accessible device memory.
    pub(crate) fn check(&self) -> CuResult {
        let Self { to, pitch, size, width, height, .. } = *self;
        let invalid = CuError::INVALID_VALUE;
        let bytes = width.checked_mul(size).ok_or(invalid)?;
        if !matches!(size, 1 | 2 | 4)
            || bytes == 0
            || height == 0
            || !to.is_multiple_of(size as u64)
            || (height > 1 && (pitch < bytes || !pitch.is_multiple_of(size)))
        {
            return Err(invalid);
        }
        let rows = pitch.checked_mul(height - 1);
        let span = rows.and_then(|n| n.checked_add(bytes)).ok_or(invalid)?;
        if !memory::writable(to, span as u64) {
            return Err(invalid);
        }
        Ok(())
    }

    /// Performs the fill. [`Self::check`] must have succeeded.
    pub(crate) fn run(&self) {
        let Self { to, pitch, value, size, width, height } = *self;
        for row in 0..height {
            let start = to + (row * pitch) as u64;
            // SAFETY: `check` has verified that the rectangle is accessible and aligned.
            unsafe {
                match size {
                    1 => std::slice::from_raw_parts_mut(start as *mut u8, width).fill(value as u8),
                    2 => {
                        std::slice::from_raw_parts_mut(start as *mut u16, width).fill(value as u16)
                    }
                    _ => std::slice::from_raw_parts_mut(start as *mut u32, width).fill(value),
                }
            }
        }
    }
}
