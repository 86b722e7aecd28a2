//! Green contexts: parts of a device's multiprocessors (SMs).
//!
//! | module | contents |
//! |---|---|
//! | [`resource`] | sets of SMs, and the `CUdevResource` that represents one |
//! | [`provision`] | descriptors of sets of SMs, and the entry points that split SMs |
//! | [`entries`] | the exports |
//!
//! A set of SMs is described by the arguments of the split that makes it. Each library repeats the
//! split when it creates a green context, so a program can't choose individual SMs.

pub mod entries;
pub mod provision;
pub mod resource;

pub use provision::{Descriptors, Library, Provision};
pub use resource::{Part, Parts, Resource, Sms, Split};
