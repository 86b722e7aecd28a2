//! Ids that represent handles of CUDA objects in commands. The guest chooses the ids, and only the
//! worker knows the driver's handles. Each kind of handle has its own type.

pub use crate::id_types::*;

/// The lowest id that a guest chooses. Lower ids are CUDA's own handle values, ids of default
/// pools, or reserved.
pub const FIRST_ID: u64 = 16;

impl StreamId {
    /// The null stream handle. Whether it means the legacy or the per-thread default stream depends
    /// on the entry point.
    pub const DEFAULT: Self = Self(0);
    /// The id of `CU_STREAM_LEGACY`.
    pub const LEGACY: Self = Self(1);
    /// The id of `CU_STREAM_PER_THREAD`.
    pub const PER_THREAD: Self = Self(2);

    /// Returns whether this is one of CUDA's own streams, which exist in every context without
    /// being created.
    pub const fn is_cudas(self) -> bool {
        self.0 <= Self::PER_THREAD.0
    }
}

impl ContextId {
    /// The id in commands of a thread that has no current context.
    pub const NONE: Self = Self(0);
}

impl PoolId {
    /// Returns the id of a device's default pool. `device` is the worker's device ordinal.
    pub const fn default_of(device: i32) -> Self {
        Self(device as u64)
    }
}

impl BlobId {
    /// The id in a call whose data is part of the command instead of a blob.
    pub const INLINE: Self = Self(0);
}

impl FuncId {
    /// Converts to a kernel's id, for calls that take only kernels. The worker checks that the id
    /// belongs to a kernel.
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
