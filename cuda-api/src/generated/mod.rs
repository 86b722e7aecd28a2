//! Made by `generate.py` from the headers of a CUDA toolkit.

#[cfg(feature = "runtime")]
pub mod results;
pub mod symbols;
