//! Accesses to memory that belongs to one block or one lane: shared memory, local memory, and
//! parameters. No other thread of the host accesses it.

use super::lanes::each_lane;
use super::memory::Fault;
use crate::ptx::ir::{Lanes, WARP};

/// How a memory is divided between the lanes of a warp.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Division {
    /// All lanes access the same bytes. The value is the size of the memory in bytes.
    Common(usize),
    /// Each lane has its own part of this size in bytes. Lane 0's part comes first.
    PerLane(usize),
}

impl Division {
    /// Returns the index of the first byte that each lane accesses. Fails if an access of `bytes`
    /// bytes isn't aligned to its size, or isn't inside the memory.
    pub(crate) fn indices(
        self,
        addresses: &Lanes,
        mask: u32,
        bytes: u64,
    ) -> Result<[usize; WARP], Fault> {
        let (len, stride) = match self {
            Self::Common(len) => (len, 0),
            Self::PerLane(len) => (len, len),
        };
        let (mut high, mut bits) = (0, 0);
        each_lane!(mask, i, {
            high = high.max(addresses[i]);
            bits |= addresses[i];
        });
        if bits & (bytes - 1) != 0 {
            return Err(Fault::Misaligned);
        }
        if high.checked_add(bytes).is_none_or(|end| end > len as u64) {
            return Err(Fault::IllegalAddress);
        }
        let mut indices = [0; WARP];
        each_lane!(mask, i, {
            indices[i] = addresses[i] as usize + i * stride;
        });
        Ok(indices)
    }
}

/// Loads a value of `size` bytes for each lane. Sign-extends it if `signed` is set.
pub(crate) fn load(
    register: &mut Lanes,
    memory: &[u8],
    indices: &[usize; WARP],
    mask: u32,
    (size, signed): (u8, bool),
) {
    macro_rules! as_type {
        ($type:ty) => {
            each_lane!(mask, i, {
                let bytes = memory[indices[i]..].first_chunk();
                let bytes = bytes.expect("the whole access was checked");
                register[i] = <$type>::from_le_bytes(*bytes) as u64;
            })
        };
    }
    match (size, signed) {
        (1, false) => as_type!(u8),
        (1, true) => as_type!(i8),
        (2, false) => as_type!(u16),
        (2, true) => as_type!(i16),
        (4, false) => as_type!(u32),
        (4, true) => as_type!(i32),
        _ => as_type!(u64),
    }
}

/// Stores a value of `size` bytes for each lane. If lanes write to the same address, the highest
/// lane's value remains.
pub(crate) fn store(
    memory: &mut [u8],
    values: &Lanes,
    indices: &[usize; WARP],
    mask: u32,
    size: u8,
) {
    macro_rules! as_type {
        ($type:ty) => {
            each_lane!(mask, i, {
                let bytes = memory[indices[i]..].first_chunk_mut();
                let bytes = bytes.expect("the whole access was checked");
                *bytes = (values[i] as $type).to_le_bytes();
            })
        };
    }
    match size {
        1 => as_type!(u8),
        2 => as_type!(u16),
        4 => as_type!(u32),
        _ => as_type!(u64),
    }
}
