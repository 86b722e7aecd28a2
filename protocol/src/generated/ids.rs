//! Made from the kinds of handles in xtask by `cargo xtask codegen`; not to be edited.
//!
//! Ids of handles: the guest mints them, the worker knows the driver's handles.

use crate::codec::{DecodeError, Word};

macro_rules! ids {
($($(#[$doc:meta])* $name:ident)*) => { $(
$(#[$doc])*
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct $name(pub u64);

impl Word for $name {
fn to_word(self) -> u64 {
self.0
}
fn from_word(word: u64) -> Result<Self, DecodeError> {
Ok(Self(word))
}
}

impl From<u64> for $name {
fn from(id: u64) -> Self {
Self(id)
}
}

impl core::fmt::Display for $name {
fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
self.0.fmt(f)
}
}
)* };
}

ids! {
/// Id of a context.
ContextId
/// Id of a stream.
StreamId
/// Id of an event.
EventId
/// Id of a module.
ModuleId
/// Id of a library.
LibraryId
/// Id of a kernel.
KernelId
/// Id of a function or a kernel.
FuncId
/// Id of a function.
FunctionId
/// Id of an executable graph.
GraphExecId
/// Id of a blob.
BlobId
}
