//! The bodies of calls, for the generated dispatch.

pub(super) use super::context::*;
pub(super) use super::copy::*;
pub(super) use super::memory::*;
pub(super) use super::stream::*;
