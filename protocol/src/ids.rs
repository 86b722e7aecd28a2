//! Ids of handles: the guest mints them, the worker knows the driver's handles. Each kind has a
//! type of its own.

pub use crate::id_types::*;

/// The lowest id that a guest mints. Those below are CUDA's own or kept free.
pub const FIRST_ID: u64 = 16;

impl StreamId {
    /// The null stream: what it means depends on the entry point.
    pub const DEFAULT: Self = Self(0);
    /// `CU_STREAM_LEGACY`.
    pub const LEGACY: Self = Self(1);
    /// `CU_STREAM_PER_THREAD`.
    pub const PER_THREAD: Self = Self(2);

    /// Whether CUDA has it in every context, so that nobody created it.
    pub const fn is_cudas(self) -> bool {
        self.0 <= Self::PER_THREAD.0
    }
}

impl ContextId {
    /// No context is current.
    pub const NONE: Self = Self(0);
}

impl BlobId {
    /// The bytes are inline.
    pub const INLINE: Self = Self(0);
}

impl FuncId {
    /// As a kernel, for calls that take only those. The worker checks that it is one.
    pub const fn as_kernel(self) -> KernelId {
        KernelId(self.0)
    }
}

impl From<FunctionId> for FuncId {
    fn from(id: FunctionId) -> Self {
        Self(id.0)
    }
}

impl From<KernelId> for FuncId {
    fn from(id: KernelId) -> Self {
        Self(id.0)
    }
}
