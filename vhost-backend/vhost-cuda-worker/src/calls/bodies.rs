//! Names for the generated dispatch to use: the functions that implement calls, and those that look
//! up streams and functions.

pub(super) use super::array_calls::*;
pub(super) use super::array_copy::*;
pub(super) use super::charges::{cu_ctx_set_limit, func};
pub(super) use super::context::*;
pub(super) use super::copy::*;
pub(super) use super::facts::*;
pub(super) use super::graph::*;
pub(super) use super::graph_values::*;
pub(super) use super::green::*;
pub(super) use super::host::*;
pub(super) use super::interprocess::*;
pub(super) use super::kernel::*;
pub(super) use super::launch::*;
pub(super) use super::link::*;
pub(super) use super::memory::*;
pub(super) use super::module::*;
pub(super) use super::printing::*;
pub(super) use super::queue::stream;
pub(super) use super::stream::*;
pub(super) use super::stream_memory::*;
pub(super) use super::tensor_map::*;
pub(super) use super::texture::*;
pub(super) use super::texture_ref::*;
pub(super) use super::thread_streams::*;
pub(super) use super::tpc::*;
