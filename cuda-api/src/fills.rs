//! The entry points that fill memory with a value.

use crate::sys::{CUdeviceptr, CUstream};

/// A rectangle of elements, each of which gets the same value.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    pub to: CUdeviceptr,
    /// The distance between rows, in bytes.
    pub pitch: usize,
    pub value: u32,
    /// The size of an element in bytes: 1, 2, or 4.
    pub size: u32,
    /// The width in elements.
    pub width: usize,
    pub height: usize,
    /// The stream, or `None` if the entry point has no stream parameter. It then uses the default
    /// stream, and waits for the fill if the program can access the memory.
    pub stream: Option<CUstream>,
}

/// Exports the entry points that fill memory (`cuMemsetD8_v2` and similar). The first argument is
/// the library's [`EntryPoint`](crate::entries::EntryPoint), and the second a function that
/// performs a [`Fill`], given the meaning of a null stream.
#[macro_export]
macro_rules! fill_entries {
    ($entry_point:ty, $fill:path) => {
        $crate::entries! { $entry_point;
            fn cuMemsetD8_v2, fn cuMemsetD8_v2_ptds(to: u64, value: u8, width: usize) |null| {
                let (pitch, size, height, stream) = (0, 1, 1, None);
                $fill($crate::fills::Fill { to, pitch, value: value.into(), size, width, height, stream }, null)
            }
            fn cuMemsetD8Async, fn cuMemsetD8Async_ptsz(
                to: u64, value: u8, width: usize, stream: $crate::sys::CUstream,
            ) |null| {
                let (pitch, size, height, stream) = (0, 1, 1, Some(stream));
                $fill($crate::fills::Fill { to, pitch, value: value.into(), size, width, height, stream }, null)
            }
            fn cuMemsetD2D8_v2, fn cuMemsetD2D8_v2_ptds(
                to: u64, pitch: usize, value: u8, width: usize, height: usize,
            ) |null| {
                let (size, stream) = (1, None);
                $fill($crate::fills::Fill { to, pitch, value: value.into(), size, width, height, stream }, null)
            }
            fn cuMemsetD2D8Async, fn cuMemsetD2D8Async_ptsz(
                to: u64, pitch: usize, value: u8, width: usize, height: usize,
                stream: $crate::sys::CUstream,
            ) |null| {
                let (size, stream) = (1, Some(stream));
                $fill($crate::fills::Fill { to, pitch, value: value.into(), size, width, height, stream }, null)
            }
            fn cuMemsetD16_v2, fn cuMemsetD16_v2_ptds(to: u64, value: u16, width: usize) |null| {
                let (pitch, size, height, stream) = (0, 2, 1, None);
                $fill($crate::fills::Fill { to, pitch, value: value.into(), size, width, height, stream }, null)
            }
            fn cuMemsetD16Async, fn cuMemsetD16Async_ptsz(
                to: u64, value: u16, width: usize, stream: $crate::sys::CUstream,
            ) |null| {
                let (pitch, size, height, stream) = (0, 2, 1, Some(stream));
                $fill($crate::fills::Fill { to, pitch, value: value.into(), size, width, height, stream }, null)
            }
            fn cuMemsetD2D16_v2, fn cuMemsetD2D16_v2_ptds(
                to: u64, pitch: usize, value: u16, width: usize, height: usize,
            ) |null| {
                let (size, stream) = (2, None);
                $fill($crate::fills::Fill { to, pitch, value: value.into(), size, width, height, stream }, null)
            }
            fn cuMemsetD2D16Async, fn cuMemsetD2D16Async_ptsz(
                to: u64, pitch: usize, value: u16, width: usize, height: usize,
                stream: $crate::sys::CUstream,
            ) |null| {
                let (size, stream) = (2, Some(stream));
                $fill($crate::fills::Fill { to, pitch, value: value.into(), size, width, height, stream }, null)
            }
            fn cuMemsetD32_v2, fn cuMemsetD32_v2_ptds(to: u64, value: u32, width: usize) |null| {
                let (pitch, size, height, stream) = (0, 4, 1, None);
                $fill($crate::fills::Fill { to, pitch, value, size, width, height, stream }, null)
            }
            fn cuMemsetD32Async, fn cuMemsetD32Async_ptsz(
                to: u64, value: u32, width: usize, stream: $crate::sys::CUstream,
            ) |null| {
                let (pitch, size, height, stream) = (0, 4, 1, Some(stream));
                $fill($crate::fills::Fill { to, pitch, value, size, width, height, stream }, null)
            }
            fn cuMemsetD2D32_v2, fn cuMemsetD2D32_v2_ptds(
                to: u64, pitch: usize, value: u32, width: usize, height: usize,
            ) |null| {
                let (size, stream) = (4, None);
                $fill($crate::fills::Fill { to, pitch, value, size, width, height, stream }, null)
            }
            fn cuMemsetD2D32Async, fn cuMemsetD2D32Async_ptsz(
                to: u64, pitch: usize, value: u32, width: usize, height: usize,
                stream: $crate::sys::CUstream,
            ) |null| {
                let (size, stream) = (4, Some(stream));
                $fill($crate::fills::Fill { to, pitch, value, size, width, height, stream }, null)
            }
        }
    };
}
