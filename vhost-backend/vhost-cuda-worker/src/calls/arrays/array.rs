//! Arrays and mipmapped arrays in the driver.

use cuda_api::arrays::Extent;
use cuda_api::sys::{CUDA_ARRAY3D_DESCRIPTOR, CUarray, CUmipmappedArray};
use protocol::ids::{ContextId, MipmapId};

use crate::calls::tables::driver_handle::DriverHandle;

/// An array, or a level of a mipmapped array.
#[derive(Clone)]
pub(in crate::calls) struct Array {
    pub real: DriverHandle<CUarray>,
    pub ctx: ContextId,
    pub extent: Extent,
    /// The number of bytes reserved for the array.
    pub reserved: u64,
    /// The mipmapped array that the array is a level of, if any.
    pub mipmap: Option<MipmapId>,
}

/// A mipmapped array.
#[derive(Clone)]
pub(in crate::calls) struct Mipmap {
    pub real: DriverHandle<CUmipmappedArray>,
    pub ctx: ContextId,
    /// The properties of the first level.
    pub first: CUDA_ARRAY3D_DESCRIPTOR,
    /// The number of bytes reserved for all levels.
    pub reserved: u64,
}
