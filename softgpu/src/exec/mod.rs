//! The interpreter, which runs lowered code in grids, blocks and warps.

pub(crate) mod access;
pub(crate) mod address;
pub mod alu;
pub mod atomics;
pub mod bits;
pub mod block;
pub mod block_state;
pub mod builtin;
pub mod call;
pub mod collective;
pub mod compare;
pub mod cvt;
pub mod eviction;
pub mod float;
pub mod fp8;
pub(crate) mod fused;
pub mod grid;
pub mod heap;
pub mod lanes;
pub mod launch;
pub mod memory;
pub mod printf;
pub(crate) mod private;
pub mod round;
pub mod texture;
pub mod warp;
