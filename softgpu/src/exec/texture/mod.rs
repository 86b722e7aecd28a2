//! Textures and surfaces: their properties, and the instructions that access them.

pub(crate) mod access;
pub mod coordinate;
pub mod cube;
pub mod format;
pub mod object;
pub mod sample;
pub mod surface;
