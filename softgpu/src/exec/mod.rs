//! Runs lowered code: grids, blocks, warps and what they touch.

pub mod alu;
pub mod atomics;
pub mod bits;
pub mod block;
pub mod builtin;
pub mod call;
pub mod collective;
pub mod compare;
pub mod cvt;
pub mod float;
pub(crate) mod fused;
pub mod grid;
pub mod heap;
pub mod lanes;
pub mod memory;
pub mod printf;
pub mod round;
pub mod warp;
