//! Re-exports, for the generated dispatch, the functions that implement calls and those that look
//! up streams and functions.

pub(in crate::calls) use crate::calls::arrays::array_calls::*;
pub(in crate::calls) use crate::calls::arrays::array_copy::*;
pub(in crate::calls) use crate::calls::arrays::tensor_map::*;
pub(in crate::calls) use crate::calls::arrays::texture::*;
pub(in crate::calls) use crate::calls::arrays::texture_ref::*;
pub(in crate::calls) use crate::calls::code::kernel::*;
pub(in crate::calls) use crate::calls::code::launch::*;
pub(in crate::calls) use crate::calls::code::link::*;
pub(in crate::calls) use crate::calls::code::module::*;
pub(in crate::calls) use crate::calls::code::printing::*;
pub(in crate::calls) use crate::calls::contexts::charges::{cu_ctx_set_limit, func};
pub(in crate::calls) use crate::calls::contexts::context::*;
pub(in crate::calls) use crate::calls::contexts::green::*;
pub(in crate::calls) use crate::calls::contexts::tpc::*;
pub(in crate::calls) use crate::calls::facts::*;
pub(in crate::calls) use crate::calls::graphs::graph::*;
pub(in crate::calls) use crate::calls::graphs::graph_values::*;
pub(in crate::calls) use crate::calls::memory::allocations::*;
pub(in crate::calls) use crate::calls::memory::copy::*;
pub(in crate::calls) use crate::calls::memory::host::*;
pub(in crate::calls) use crate::calls::streams::interprocess::*;
pub(in crate::calls) use crate::calls::streams::queue::stream;
pub(in crate::calls) use crate::calls::streams::stream::*;
pub(in crate::calls) use crate::calls::streams::stream_memory::*;
pub(in crate::calls) use crate::calls::streams::thread_streams::*;
