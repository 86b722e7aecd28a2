//! Modules, functions, and launches.

pub(crate) mod cooperative;
pub(crate) mod function;
pub(crate) mod image;
pub mod launch;
pub(crate) mod legacy_launch;
pub(crate) mod library;
pub(crate) mod link;
pub(crate) mod module;
pub(crate) mod occupancy;
