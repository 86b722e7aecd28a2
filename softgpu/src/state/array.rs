//! Arrays and mipmapped arrays. Their elements are stored row by row, without padding.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cuda_api::arrays::{Extent, level};
use cuda_api::error::{CuError, CuResult};
use cuda_api::sys::CUDA_ARRAY3D_DESCRIPTOR;

use super::context::Context;
use super::handles::{Kind, Table};
use super::memory::{self, Memory};

/// All arrays, including the levels of mipmapped arrays that the program has queried.
pub(crate) static ARRAYS: Table<Array> = Table::new(Kind::Array);
/// All mipmapped arrays, by handle.
pub(crate) static MIPMAPS: Table<Mipmap> = Table::new(Kind::Mipmap);

/// An array, or a level of a mipmapped array.
pub(crate) struct Array {
    pub(crate) context: Arc<Context>,
    pub(crate) descriptor: CUDA_ARRAY3D_DESCRIPTOR,
    pub(crate) extent: Extent,
    /// The address of the elements, or 0 if the array has no memory.
    address: AtomicU64,
    /// If this is a level of a mipmapped array, the handle of the mipmapped array.
    pub(crate) mipmap: Option<usize>,
}

/// A mipmapped array, with the memory and the handles of its levels.
pub(crate) struct Mipmap {
    pub(crate) context: Arc<Context>,
    /// The properties of the first level.
    pub(crate) first: CUDA_ARRAY3D_DESCRIPTOR,
    /// The address of each level's elements, or 0 for all levels if the array has no memory.
    pub(crate) levels: Vec<u64>,
    /// The handles of the levels that the program has queried.
    pub(crate) handles: Mutex<BTreeMap<u32, usize>>,
}

fn allocate(context: &Context, extent: &Extent, has_memory: bool) -> CuResult<u64> {
    if !has_memory {
        return Ok(0);
    }
    memory::allocate_as(context, extent.bytes(), Memory::Array)
}

fn extent(descriptor: &CUDA_ARRAY3D_DESCRIPTOR) -> CuResult<Extent> {
    Extent::of(descriptor).ok_or(CuError::INVALID_VALUE)
}

impl Array {
    /// Creates an array whose properties have been checked.
    pub(crate) fn new(
        context: &Arc<Context>,
        descriptor: CUDA_ARRAY3D_DESCRIPTOR,
        has_memory: bool,
    ) -> CuResult<Self> {
        let extent = extent(&descriptor)?;
        let address = allocate(context, &extent, has_memory)?.into();
        Ok(Self { context: context.clone(), descriptor, extent, address, mipmap: None })
    }

    /// Returns the address of the elements. Fails if the array has no memory.
    pub(crate) fn address(&self) -> CuResult<u64> {
        match self.address.load(Ordering::Relaxed) {
            0 => Err(CuError::INVALID_VALUE),
            address => Ok(address),
        }
    }

    /// Frees the elements. The caller guarantees that no work uses them any more.
    pub(crate) fn free(&self) {
        let address = self.address.swap(0, Ordering::Relaxed);
        if self.mipmap.is_none() && address != 0 {
            memory::forget(address);
        }
    }
}

impl Mipmap {
    /// Creates a mipmapped array whose properties have been checked.
    pub(crate) fn new(
        context: &Arc<Context>,
        first: CUDA_ARRAY3D_DESCRIPTOR,
        levels: u32,
        has_memory: bool,
    ) -> CuResult<Self> {
        let mut made =
            Self { context: context.clone(), first, levels: Vec::new(), handles: Mutex::default() };
        for number in 0..levels {
            let allocated = extent(&level(&first, number))
                .and_then(|extent| allocate(context, &extent, has_memory));
            match allocated {
                Ok(address) => made.levels.push(address),
                Err(error) => {
                    made.free();
                    return Err(error);
                }
            }
        }
        Ok(made)
    }

    /// Returns the handle of the array for a level. `own` is the handle of this mipmapped array.
    pub(crate) fn level(&self, own: usize, number: u32) -> CuResult<usize> {
        let address = *self.levels.get(number as usize).ok_or(CuError::INVALID_VALUE)?;
        let mut handles = self.handles.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = handles.get(&number)
            && ARRAYS.find(*known).is_some()
        {
            return Ok(*known);
        }
        let descriptor = level(&self.first, number);
        let handle = ARRAYS.insert(Array {
            context: self.context.clone(),
            descriptor,
            extent: extent(&descriptor)?,
            address: address.into(),
            mipmap: Some(own),
        });
        handles.insert(number, handle);
        Ok(handle)
    }

    /// Frees the elements of all levels. The caller guarantees that no work uses them any more.
    pub(crate) fn free(&self) {
        for handle in self.handles.lock().unwrap_or_else(PoisonError::into_inner).values() {
            if let Some(array) = ARRAYS.remove(*handle) {
                array.free();
            }
        }
        for address in self.levels.iter().filter(|address| **address != 0) {
            memory::forget(*address);
        }
    }
}

/// Removes the arrays of a context that is being destroyed. Their memory is freed together with the
/// context's other memory. Later calls with their handles fail with `error`.
pub(crate) fn forget_context(context: u64, error: CuError) {
    MIPMAPS.end_of_context(error, |mipmap| mipmap.context.id == context);
    for array in ARRAYS.end_of_context(error, |array| array.context.id == context) {
        array.address.store(0, Ordering::Relaxed);
    }
}
