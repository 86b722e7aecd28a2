//! Texture references and surface references, which CUDA has deprecated: variables of a module that
//! kernels name in their texture and surface instructions.
//!
//! [`state`] has the properties of a reference, [`library`] the part that each libcuda implements,
//! [`registry`] the references by handle, and [`entries`] the entry points.

pub mod entries;
pub mod library;
pub mod registry;
pub mod state;
