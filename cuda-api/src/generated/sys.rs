// Generated from NVIDIA's headers by cuda-api/generate. Do not edit.

#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]
#![allow(
    missing_docs,
    unpredictable_function_pointer_comparisons,
    clippy::all,
    clippy::undocumented_unsafe_blocks
)]

use core::ffi::{c_char, c_void};

pub const CUDA_VERSION: u32 = 13000;

pub const CU_IPC_HANDLE_SIZE: u32 = 64;

pub const CU_COMPUTE_ACCELERATED_TARGET_BASE: u32 = 65536;

pub const CU_COMPUTE_FAMILY_TARGET_BASE: u32 = 131072;

pub const CU_GRAPH_COND_ASSIGN_DEFAULT: u32 = 1;

pub const CU_GRAPH_KERNEL_NODE_PORT_DEFAULT: u32 = 0;

pub const CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC: u32 = 1;

pub const CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER: u32 = 2;

pub const CU_MEMHOSTALLOC_PORTABLE: u32 = 1;

pub const CU_MEMHOSTALLOC_DEVICEMAP: u32 = 2;

pub const CU_MEMHOSTALLOC_WRITECOMBINED: u32 = 4;

pub const CU_MEMHOSTREGISTER_PORTABLE: u32 = 1;

pub const CU_MEMHOSTREGISTER_DEVICEMAP: u32 = 2;

pub const CU_MEMHOSTREGISTER_IOMEMORY: u32 = 4;

pub const CU_MEMHOSTREGISTER_READ_ONLY: u32 = 8;

pub const CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL: u32 = 1;

pub const CU_TENSOR_MAP_NUM_QWORDS: u32 = 16;

pub const CUDA_EXTERNAL_MEMORY_DEDICATED: u32 = 1;

pub const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_SKIP_NVSCIBUF_MEMSYNC: u32 = 1;

pub const CUDA_EXTERNAL_SEMAPHORE_WAIT_SKIP_NVSCIBUF_MEMSYNC: u32 = 2;

pub const CUDA_NVSCISYNC_ATTR_SIGNAL: u32 = 1;

pub const CUDA_NVSCISYNC_ATTR_WAIT: u32 = 2;

pub const CU_MEM_CREATE_USAGE_TILE_POOL: u32 = 1;

pub const CU_MEM_CREATE_USAGE_HW_DECOMPRESS: u32 = 2;

pub const CU_MEM_POOL_CREATE_USAGE_HW_DECOMPRESS: u32 = 2;

pub const CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC: u32 = 1;

pub const CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC: u32 = 2;

pub const CUDA_ARRAY3D_LAYERED: u32 = 1;

pub const CUDA_ARRAY3D_2DARRAY: u32 = 1;

pub const CUDA_ARRAY3D_SURFACE_LDST: u32 = 2;

pub const CUDA_ARRAY3D_CUBEMAP: u32 = 4;

pub const CUDA_ARRAY3D_TEXTURE_GATHER: u32 = 8;

pub const CUDA_ARRAY3D_DEPTH_TEXTURE: u32 = 16;

pub const CUDA_ARRAY3D_COLOR_ATTACHMENT: u32 = 32;

pub const CUDA_ARRAY3D_SPARSE: u32 = 64;

pub const CUDA_ARRAY3D_DEFERRED_MAPPING: u32 = 128;

pub const CUDA_ARRAY3D_VIDEO_ENCODE_DECODE: u32 = 256;

pub const CU_TRSA_OVERRIDE_FORMAT: u32 = 1;

pub const CU_TRSF_READ_AS_INTEGER: u32 = 1;

pub const CU_TRSF_NORMALIZED_COORDINATES: u32 = 2;

pub const CU_TRSF_SRGB: u32 = 16;

pub const CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION: u32 = 32;

pub const CU_TRSF_SEAMLESS_CUBEMAP: u32 = 64;

pub const CU_LAUNCH_KERNEL_REQUIRED_BLOCK_DIM: u32 = 1;

pub const CU_LAUNCH_PARAM_END_AS_INT: u32 = 0;

pub const CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT: u32 = 1;

pub const CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT: u32 = 2;

pub const CU_PARAM_TR_DEFAULT: i32 = -1;

pub const CUDA_EGL_INFINITE_TIMEOUT: u32 = 4294967295;

pub type VdpDevice = u32;

pub type VdpFuncId = u32;

pub type VdpOutputSurface = u32;

pub type VdpVideoSurface = u32;

pub type VdpStatus = i32;

pub type VdpGetProcAddress = ::core::option::Option<
    unsafe extern "C" fn(
        device: VdpDevice,
        function_id: VdpFuncId,
        function_pointer: *mut *mut c_void,
    ) -> VdpStatus,
>;

pub type cuuint32_t = u32;

pub type cuuint64_t = u64;

pub type CUdeviceptr = u64;

pub type CUdevice = i32;

#[repr(C)]
#[derive(Debug)]
pub struct CUctx_st {
    _unused: [u8; 0],
}

pub type CUcontext = *mut CUctx_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUmod_st {
    _unused: [u8; 0],
}

pub type CUmodule = *mut CUmod_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUfunc_st {
    _unused: [u8; 0],
}

pub type CUfunction = *mut CUfunc_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUlib_st {
    _unused: [u8; 0],
}

pub type CUlibrary = *mut CUlib_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUkern_st {
    _unused: [u8; 0],
}

pub type CUkernel = *mut CUkern_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUarray_st {
    _unused: [u8; 0],
}

pub type CUarray = *mut CUarray_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUmipmappedArray_st {
    _unused: [u8; 0],
}

pub type CUmipmappedArray = *mut CUmipmappedArray_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUtexref_st {
    _unused: [u8; 0],
}

pub type CUtexref = *mut CUtexref_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUsurfref_st {
    _unused: [u8; 0],
}

pub type CUsurfref = *mut CUsurfref_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUevent_st {
    _unused: [u8; 0],
}

pub type CUevent = *mut CUevent_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUstream_st {
    _unused: [u8; 0],
}

pub type CUstream = *mut CUstream_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUgraphicsResource_st {
    _unused: [u8; 0],
}

pub type CUgraphicsResource = *mut CUgraphicsResource_st;

pub type CUtexObject = u64;

pub type CUsurfObject = u64;

#[repr(C)]
#[derive(Debug)]
pub struct CUextMemory_st {
    _unused: [u8; 0],
}

pub type CUexternalMemory = *mut CUextMemory_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUextSemaphore_st {
    _unused: [u8; 0],
}

pub type CUexternalSemaphore = *mut CUextSemaphore_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUgraph_st {
    _unused: [u8; 0],
}

pub type CUgraph = *mut CUgraph_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUgraphNode_st {
    _unused: [u8; 0],
}

pub type CUgraphNode = *mut CUgraphNode_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUgraphExec_st {
    _unused: [u8; 0],
}

pub type CUgraphExec = *mut CUgraphExec_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUmemPoolHandle_st {
    _unused: [u8; 0],
}

pub type CUmemoryPool = *mut CUmemPoolHandle_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUuserObject_st {
    _unused: [u8; 0],
}

pub type CUuserObject = *mut CUuserObject_st;

pub type CUgraphConditionalHandle = u64;

#[repr(C)]
#[derive(Debug)]
pub struct CUgraphDeviceUpdatableNode_st {
    _unused: [u8; 0],
}

pub type CUgraphDeviceNode = *mut CUgraphDeviceUpdatableNode_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUasyncCallbackEntry_st {
    _unused: [u8; 0],
}

pub type CUasyncCallbackHandle = *mut CUasyncCallbackEntry_st;

#[repr(C)]
#[derive(Debug)]
pub struct CUgreenCtx_st {
    _unused: [u8; 0],
}

pub type CUgreenCtx = *mut CUgreenCtx_st;

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUuuid {
    pub bytes: [c_char; 16],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUuuid_st"][::core::mem::size_of::<CUuuid>() - 16usize];
    ["Alignment of CUuuid_st"][::core::mem::align_of::<CUuuid>() - 1usize];
    ["Offset of field: CUuuid_st::bytes"][::core::mem::offset_of!(CUuuid, bytes) - 0usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUmemFabricHandle {
    pub data: [u8; 64],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUmemFabricHandle_st"][::core::mem::size_of::<CUmemFabricHandle>() - 64usize];
    ["Alignment of CUmemFabricHandle_st"][::core::mem::align_of::<CUmemFabricHandle>() - 1usize];
    ["Offset of field: CUmemFabricHandle_st::data"]
        [::core::mem::offset_of!(CUmemFabricHandle, data) - 0usize];
};

impl Default for CUmemFabricHandle {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUipcEventHandle {
    pub reserved: [c_char; 64],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUipcEventHandle_st"][::core::mem::size_of::<CUipcEventHandle>() - 64usize];
    ["Alignment of CUipcEventHandle_st"][::core::mem::align_of::<CUipcEventHandle>() - 1usize];
    ["Offset of field: CUipcEventHandle_st::reserved"]
        [::core::mem::offset_of!(CUipcEventHandle, reserved) - 0usize];
};

impl Default for CUipcEventHandle {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUipcMemHandle {
    pub reserved: [c_char; 64],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUipcMemHandle_st"][::core::mem::size_of::<CUipcMemHandle>() - 64usize];
    ["Alignment of CUipcMemHandle_st"][::core::mem::align_of::<CUipcMemHandle>() - 1usize];
    ["Offset of field: CUipcMemHandle_st::reserved"]
        [::core::mem::offset_of!(CUipcMemHandle, reserved) - 0usize];
};

impl Default for CUipcMemHandle {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUipcMem_flags {
    pub const CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS: CUipcMem_flags = CUipcMem_flags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUipcMem_flags(pub u32);

impl CUmemAttach_flags {
    pub const CU_MEM_ATTACH_GLOBAL: CUmemAttach_flags = CUmemAttach_flags(1);
    pub const CU_MEM_ATTACH_HOST: CUmemAttach_flags = CUmemAttach_flags(2);
    pub const CU_MEM_ATTACH_SINGLE: CUmemAttach_flags = CUmemAttach_flags(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemAttach_flags(pub u32);

impl CUctx_flags {
    pub const CU_CTX_SCHED_AUTO: CUctx_flags = CUctx_flags(0);
    pub const CU_CTX_SCHED_SPIN: CUctx_flags = CUctx_flags(1);
    pub const CU_CTX_SCHED_YIELD: CUctx_flags = CUctx_flags(2);
    pub const CU_CTX_SCHED_BLOCKING_SYNC: CUctx_flags = CUctx_flags(4);
    pub const CU_CTX_BLOCKING_SYNC: CUctx_flags = CUctx_flags(4);
    pub const CU_CTX_SCHED_MASK: CUctx_flags = CUctx_flags(7);
    pub const CU_CTX_MAP_HOST: CUctx_flags = CUctx_flags(8);
    pub const CU_CTX_LMEM_RESIZE_TO_MAX: CUctx_flags = CUctx_flags(16);
    pub const CU_CTX_COREDUMP_ENABLE: CUctx_flags = CUctx_flags(32);
    pub const CU_CTX_USER_COREDUMP_ENABLE: CUctx_flags = CUctx_flags(64);
    pub const CU_CTX_SYNC_MEMOPS: CUctx_flags = CUctx_flags(128);
    pub const CU_CTX_FLAGS_MASK: CUctx_flags = CUctx_flags(255);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUctx_flags(pub u32);

impl CUevent_sched_flags {
    pub const CU_EVENT_SCHED_AUTO: CUevent_sched_flags = CUevent_sched_flags(0);
    pub const CU_EVENT_SCHED_SPIN: CUevent_sched_flags = CUevent_sched_flags(1);
    pub const CU_EVENT_SCHED_YIELD: CUevent_sched_flags = CUevent_sched_flags(2);
    pub const CU_EVENT_SCHED_BLOCKING_SYNC: CUevent_sched_flags = CUevent_sched_flags(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUevent_sched_flags(pub u32);

impl CUstream_flags {
    pub const CU_STREAM_DEFAULT: CUstream_flags = CUstream_flags(0);
    pub const CU_STREAM_NON_BLOCKING: CUstream_flags = CUstream_flags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUstream_flags(pub u32);

impl CUevent_flags {
    pub const CU_EVENT_DEFAULT: CUevent_flags = CUevent_flags(0);
    pub const CU_EVENT_BLOCKING_SYNC: CUevent_flags = CUevent_flags(1);
    pub const CU_EVENT_DISABLE_TIMING: CUevent_flags = CUevent_flags(2);
    pub const CU_EVENT_INTERPROCESS: CUevent_flags = CUevent_flags(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUevent_flags(pub u32);

impl CUevent_record_flags {
    pub const CU_EVENT_RECORD_DEFAULT: CUevent_record_flags = CUevent_record_flags(0);
    pub const CU_EVENT_RECORD_EXTERNAL: CUevent_record_flags = CUevent_record_flags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUevent_record_flags(pub u32);

impl CUevent_wait_flags {
    pub const CU_EVENT_WAIT_DEFAULT: CUevent_wait_flags = CUevent_wait_flags(0);
    pub const CU_EVENT_WAIT_EXTERNAL: CUevent_wait_flags = CUevent_wait_flags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUevent_wait_flags(pub u32);

impl CUstreamWaitValue_flags {
    pub const CU_STREAM_WAIT_VALUE_GEQ: CUstreamWaitValue_flags = CUstreamWaitValue_flags(0);
    pub const CU_STREAM_WAIT_VALUE_EQ: CUstreamWaitValue_flags = CUstreamWaitValue_flags(1);
    pub const CU_STREAM_WAIT_VALUE_AND: CUstreamWaitValue_flags = CUstreamWaitValue_flags(2);
    pub const CU_STREAM_WAIT_VALUE_NOR: CUstreamWaitValue_flags = CUstreamWaitValue_flags(3);
    pub const CU_STREAM_WAIT_VALUE_FLUSH: CUstreamWaitValue_flags =
        CUstreamWaitValue_flags(1073741824);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUstreamWaitValue_flags(pub u32);

impl CUstreamWriteValue_flags {
    pub const CU_STREAM_WRITE_VALUE_DEFAULT: CUstreamWriteValue_flags = CUstreamWriteValue_flags(0);
    pub const CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER: CUstreamWriteValue_flags =
        CUstreamWriteValue_flags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUstreamWriteValue_flags(pub u32);

impl CUstreamBatchMemOpType {
    pub const CU_STREAM_MEM_OP_WAIT_VALUE_32: CUstreamBatchMemOpType = CUstreamBatchMemOpType(1);
    pub const CU_STREAM_MEM_OP_WRITE_VALUE_32: CUstreamBatchMemOpType = CUstreamBatchMemOpType(2);
    pub const CU_STREAM_MEM_OP_WAIT_VALUE_64: CUstreamBatchMemOpType = CUstreamBatchMemOpType(4);
    pub const CU_STREAM_MEM_OP_WRITE_VALUE_64: CUstreamBatchMemOpType = CUstreamBatchMemOpType(5);
    pub const CU_STREAM_MEM_OP_BARRIER: CUstreamBatchMemOpType = CUstreamBatchMemOpType(6);
    pub const CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: CUstreamBatchMemOpType =
        CUstreamBatchMemOpType(3);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUstreamBatchMemOpType(pub u32);

impl CUstreamMemoryBarrier_flags {
    pub const CU_STREAM_MEMORY_BARRIER_TYPE_SYS: CUstreamMemoryBarrier_flags =
        CUstreamMemoryBarrier_flags(0);
    pub const CU_STREAM_MEMORY_BARRIER_TYPE_GPU: CUstreamMemoryBarrier_flags =
        CUstreamMemoryBarrier_flags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUstreamMemoryBarrier_flags(pub u32);

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUstreamBatchMemOpParams {
    pub operation: CUstreamBatchMemOpType,
    pub waitValue: CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st,
    pub writeValue: CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st,
    pub flushRemoteWrites: CUstreamBatchMemOpParams_union_CUstreamMemOpFlushRemoteWritesParams_st,
    pub memoryBarrier: CUstreamBatchMemOpParams_union_CUstreamMemOpMemoryBarrierParams_st,
    pub pad: [u64; 6],
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st {
    pub operation: CUstreamBatchMemOpType,
    pub address: CUdeviceptr,
    pub __bindgen_anon_1:
        CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st__bindgen_ty_1,
    pub flags: u32,
    pub alias: CUdeviceptr,
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st__bindgen_ty_1 {
    pub value: u32,
    pub value64: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st__bindgen_ty_1"]
        [::core::mem::size_of::<
            CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st__bindgen_ty_1,
        >() - 8usize];
    ["Alignment of CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st__bindgen_ty_1"]
        [::core::mem::align_of::<
            CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st__bindgen_ty_1,
        >() - 8usize];
    [
        "Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st__bindgen_ty_1::value",
    ][::core::mem::offset_of!(
        CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st__bindgen_ty_1,
        value
    ) - 0usize];
    [
        "Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st__bindgen_ty_1::value64",
    ][::core::mem::offset_of!(
        CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st__bindgen_ty_1,
        value64
    ) - 0usize];
};

impl Default for CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st"][::core::mem::size_of::<
        CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st,
    >() - 40usize];
    ["Alignment of CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st"]
        [::core::mem::align_of::<CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st>()
            - 8usize];
    ["Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st::operation"]
        [::core::mem::offset_of!(
            CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st,
            operation
        ) - 0usize];
    ["Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st::address"][::core::mem::offset_of!(
        CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st,
        address
    )
        - 8usize];
    ["Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st::flags"][::core::mem::offset_of!(
        CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st,
        flags
    )
        - 24usize];
    ["Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st::alias"][::core::mem::offset_of!(
        CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st,
        alias
    )
        - 32usize];
};

impl Default for CUstreamBatchMemOpParams_union_CUstreamMemOpWaitValueParams_st {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st {
    pub operation: CUstreamBatchMemOpType,
    pub address: CUdeviceptr,
    pub __bindgen_anon_1:
        CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st__bindgen_ty_1,
    pub flags: u32,
    pub alias: CUdeviceptr,
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st__bindgen_ty_1 {
    pub value: u32,
    pub value64: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st__bindgen_ty_1"]
        [::core::mem::size_of::<
            CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st__bindgen_ty_1,
        >() - 8usize];
    ["Alignment of CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st__bindgen_ty_1"]
        [::core::mem::align_of::<
            CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st__bindgen_ty_1,
        >() - 8usize];
    [
        "Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st__bindgen_ty_1::value",
    ][::core::mem::offset_of!(
        CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st__bindgen_ty_1,
        value
    ) - 0usize];
    [
        "Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st__bindgen_ty_1::value64",
    ][::core::mem::offset_of!(
        CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st__bindgen_ty_1,
        value64
    ) - 0usize];
};

impl Default for CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st"][::core::mem::size_of::<
        CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st,
    >() - 40usize];
    ["Alignment of CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st"]
        [::core::mem::align_of::<CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st>(
        ) - 8usize];
    ["Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st::operation"]
        [::core::mem::offset_of!(
            CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st,
            operation
        ) - 0usize];
    ["Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st::address"][::core::mem::offset_of!(
        CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st,
        address
    )
        - 8usize];
    ["Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st::flags"][::core::mem::offset_of!(
        CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st,
        flags
    )
        - 24usize];
    ["Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st::alias"][::core::mem::offset_of!(
        CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st,
        alias
    )
        - 32usize];
};

impl Default for CUstreamBatchMemOpParams_union_CUstreamMemOpWriteValueParams_st {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUstreamBatchMemOpParams_union_CUstreamMemOpFlushRemoteWritesParams_st {
    pub operation: CUstreamBatchMemOpType,
    pub flags: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUstreamBatchMemOpParams_union_CUstreamMemOpFlushRemoteWritesParams_st"]
        [::core::mem::size_of::<
            CUstreamBatchMemOpParams_union_CUstreamMemOpFlushRemoteWritesParams_st,
        >() - 8usize];
    ["Alignment of CUstreamBatchMemOpParams_union_CUstreamMemOpFlushRemoteWritesParams_st"]
        [::core::mem::align_of::<
            CUstreamBatchMemOpParams_union_CUstreamMemOpFlushRemoteWritesParams_st,
        >() - 4usize];
    [
        "Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpFlushRemoteWritesParams_st::operation",
    ][::core::mem::offset_of!(
        CUstreamBatchMemOpParams_union_CUstreamMemOpFlushRemoteWritesParams_st,
        operation
    ) - 0usize];
    [
        "Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpFlushRemoteWritesParams_st::flags",
    ][::core::mem::offset_of!(
        CUstreamBatchMemOpParams_union_CUstreamMemOpFlushRemoteWritesParams_st,
        flags
    ) - 4usize];
};

impl Default for CUstreamBatchMemOpParams_union_CUstreamMemOpFlushRemoteWritesParams_st {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUstreamBatchMemOpParams_union_CUstreamMemOpMemoryBarrierParams_st {
    pub operation: CUstreamBatchMemOpType,
    pub flags: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUstreamBatchMemOpParams_union_CUstreamMemOpMemoryBarrierParams_st"]
        [::core::mem::size_of::<CUstreamBatchMemOpParams_union_CUstreamMemOpMemoryBarrierParams_st>(
        ) - 8usize];
    ["Alignment of CUstreamBatchMemOpParams_union_CUstreamMemOpMemoryBarrierParams_st"]
        [::core::mem::align_of::<CUstreamBatchMemOpParams_union_CUstreamMemOpMemoryBarrierParams_st>(
        ) - 4usize];
    [
        "Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpMemoryBarrierParams_st::operation",
    ][::core::mem::offset_of!(
        CUstreamBatchMemOpParams_union_CUstreamMemOpMemoryBarrierParams_st,
        operation
    ) - 0usize];
    ["Offset of field: CUstreamBatchMemOpParams_union_CUstreamMemOpMemoryBarrierParams_st::flags"]
        [::core::mem::offset_of!(
            CUstreamBatchMemOpParams_union_CUstreamMemOpMemoryBarrierParams_st,
            flags
        ) - 4usize];
};

impl Default for CUstreamBatchMemOpParams_union_CUstreamMemOpMemoryBarrierParams_st {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUstreamBatchMemOpParams_union"]
        [::core::mem::size_of::<CUstreamBatchMemOpParams>() - 48usize];
    ["Alignment of CUstreamBatchMemOpParams_union"]
        [::core::mem::align_of::<CUstreamBatchMemOpParams>() - 8usize];
    ["Offset of field: CUstreamBatchMemOpParams_union::operation"]
        [::core::mem::offset_of!(CUstreamBatchMemOpParams, operation) - 0usize];
    ["Offset of field: CUstreamBatchMemOpParams_union::waitValue"]
        [::core::mem::offset_of!(CUstreamBatchMemOpParams, waitValue) - 0usize];
    ["Offset of field: CUstreamBatchMemOpParams_union::writeValue"]
        [::core::mem::offset_of!(CUstreamBatchMemOpParams, writeValue) - 0usize];
    ["Offset of field: CUstreamBatchMemOpParams_union::flushRemoteWrites"]
        [::core::mem::offset_of!(CUstreamBatchMemOpParams, flushRemoteWrites) - 0usize];
    ["Offset of field: CUstreamBatchMemOpParams_union::memoryBarrier"]
        [::core::mem::offset_of!(CUstreamBatchMemOpParams, memoryBarrier) - 0usize];
    ["Offset of field: CUstreamBatchMemOpParams_union::pad"]
        [::core::mem::offset_of!(CUstreamBatchMemOpParams, pad) - 0usize];
};

impl Default for CUstreamBatchMemOpParams {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_BATCH_MEM_OP_NODE_PARAMS {
    pub ctx: CUcontext,
    pub count: u32,
    pub paramArray: *mut CUstreamBatchMemOpParams,
    pub flags: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_BATCH_MEM_OP_NODE_PARAMS_v1_st"]
        [::core::mem::size_of::<CUDA_BATCH_MEM_OP_NODE_PARAMS>() - 32usize];
    ["Alignment of CUDA_BATCH_MEM_OP_NODE_PARAMS_v1_st"]
        [::core::mem::align_of::<CUDA_BATCH_MEM_OP_NODE_PARAMS>() - 8usize];
    ["Offset of field: CUDA_BATCH_MEM_OP_NODE_PARAMS_v1_st::ctx"]
        [::core::mem::offset_of!(CUDA_BATCH_MEM_OP_NODE_PARAMS, ctx) - 0usize];
    ["Offset of field: CUDA_BATCH_MEM_OP_NODE_PARAMS_v1_st::count"]
        [::core::mem::offset_of!(CUDA_BATCH_MEM_OP_NODE_PARAMS, count) - 8usize];
    ["Offset of field: CUDA_BATCH_MEM_OP_NODE_PARAMS_v1_st::paramArray"]
        [::core::mem::offset_of!(CUDA_BATCH_MEM_OP_NODE_PARAMS, paramArray) - 16usize];
    ["Offset of field: CUDA_BATCH_MEM_OP_NODE_PARAMS_v1_st::flags"]
        [::core::mem::offset_of!(CUDA_BATCH_MEM_OP_NODE_PARAMS, flags) - 24usize];
};

impl Default for CUDA_BATCH_MEM_OP_NODE_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 {
    pub ctx: CUcontext,
    pub count: u32,
    pub paramArray: *mut CUstreamBatchMemOpParams,
    pub flags: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_BATCH_MEM_OP_NODE_PARAMS_v2_st"]
        [::core::mem::size_of::<CUDA_BATCH_MEM_OP_NODE_PARAMS_v2>() - 32usize];
    ["Alignment of CUDA_BATCH_MEM_OP_NODE_PARAMS_v2_st"]
        [::core::mem::align_of::<CUDA_BATCH_MEM_OP_NODE_PARAMS_v2>() - 8usize];
    ["Offset of field: CUDA_BATCH_MEM_OP_NODE_PARAMS_v2_st::ctx"]
        [::core::mem::offset_of!(CUDA_BATCH_MEM_OP_NODE_PARAMS_v2, ctx) - 0usize];
    ["Offset of field: CUDA_BATCH_MEM_OP_NODE_PARAMS_v2_st::count"]
        [::core::mem::offset_of!(CUDA_BATCH_MEM_OP_NODE_PARAMS_v2, count) - 8usize];
    ["Offset of field: CUDA_BATCH_MEM_OP_NODE_PARAMS_v2_st::paramArray"]
        [::core::mem::offset_of!(CUDA_BATCH_MEM_OP_NODE_PARAMS_v2, paramArray) - 16usize];
    ["Offset of field: CUDA_BATCH_MEM_OP_NODE_PARAMS_v2_st::flags"]
        [::core::mem::offset_of!(CUDA_BATCH_MEM_OP_NODE_PARAMS_v2, flags) - 24usize];
};

impl Default for CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUoccupancy_flags {
    pub const CU_OCCUPANCY_DEFAULT: CUoccupancy_flags = CUoccupancy_flags(0);
    pub const CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE: CUoccupancy_flags = CUoccupancy_flags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUoccupancy_flags(pub u32);

impl CUstreamUpdateCaptureDependencies_flags {
    pub const CU_STREAM_ADD_CAPTURE_DEPENDENCIES: CUstreamUpdateCaptureDependencies_flags =
        CUstreamUpdateCaptureDependencies_flags(0);
    pub const CU_STREAM_SET_CAPTURE_DEPENDENCIES: CUstreamUpdateCaptureDependencies_flags =
        CUstreamUpdateCaptureDependencies_flags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUstreamUpdateCaptureDependencies_flags(pub u32);

impl CUasyncNotificationType {
    pub const CU_ASYNC_NOTIFICATION_TYPE_OVER_BUDGET: CUasyncNotificationType =
        CUasyncNotificationType(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUasyncNotificationType(pub u32);

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUasyncNotificationInfo {
    pub type_: CUasyncNotificationType,
    pub info: CUasyncNotificationInfo_st__bindgen_ty_1,
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUasyncNotificationInfo_st__bindgen_ty_1 {
    pub overBudget: CUasyncNotificationInfo_st__bindgen_ty_1__bindgen_ty_1,
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUasyncNotificationInfo_st__bindgen_ty_1__bindgen_ty_1 {
    pub bytesOverBudget: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUasyncNotificationInfo_st__bindgen_ty_1__bindgen_ty_1"]
        [::core::mem::size_of::<CUasyncNotificationInfo_st__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Alignment of CUasyncNotificationInfo_st__bindgen_ty_1__bindgen_ty_1"][::core::mem::align_of::<
        CUasyncNotificationInfo_st__bindgen_ty_1__bindgen_ty_1,
    >() - 8usize];
    ["Offset of field: CUasyncNotificationInfo_st__bindgen_ty_1__bindgen_ty_1::bytesOverBudget"][::core::mem::offset_of!(
        CUasyncNotificationInfo_st__bindgen_ty_1__bindgen_ty_1,
        bytesOverBudget
    )
        - 0usize];
};

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUasyncNotificationInfo_st__bindgen_ty_1"]
        [::core::mem::size_of::<CUasyncNotificationInfo_st__bindgen_ty_1>() - 8usize];
    ["Alignment of CUasyncNotificationInfo_st__bindgen_ty_1"]
        [::core::mem::align_of::<CUasyncNotificationInfo_st__bindgen_ty_1>() - 8usize];
    ["Offset of field: CUasyncNotificationInfo_st__bindgen_ty_1::overBudget"]
        [::core::mem::offset_of!(CUasyncNotificationInfo_st__bindgen_ty_1, overBudget) - 0usize];
};

impl Default for CUasyncNotificationInfo_st__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUasyncNotificationInfo_st"]
        [::core::mem::size_of::<CUasyncNotificationInfo>() - 16usize];
    ["Alignment of CUasyncNotificationInfo_st"]
        [::core::mem::align_of::<CUasyncNotificationInfo>() - 8usize];
    ["Offset of field: CUasyncNotificationInfo_st::type_"]
        [::core::mem::offset_of!(CUasyncNotificationInfo, type_) - 0usize];
    ["Offset of field: CUasyncNotificationInfo_st::info"]
        [::core::mem::offset_of!(CUasyncNotificationInfo, info) - 8usize];
};

impl Default for CUasyncNotificationInfo {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

pub type CUasyncCallback = ::core::option::Option<
    unsafe extern "C" fn(
        info: *mut CUasyncNotificationInfo,
        userData: *mut c_void,
        callback: CUasyncCallbackHandle,
    ),
>;

impl CUarray_format {
    pub const CU_AD_FORMAT_UNSIGNED_INT8: CUarray_format = CUarray_format(1);
    pub const CU_AD_FORMAT_UNSIGNED_INT16: CUarray_format = CUarray_format(2);
    pub const CU_AD_FORMAT_UNSIGNED_INT32: CUarray_format = CUarray_format(3);
    pub const CU_AD_FORMAT_SIGNED_INT8: CUarray_format = CUarray_format(8);
    pub const CU_AD_FORMAT_SIGNED_INT16: CUarray_format = CUarray_format(9);
    pub const CU_AD_FORMAT_SIGNED_INT32: CUarray_format = CUarray_format(10);
    pub const CU_AD_FORMAT_HALF: CUarray_format = CUarray_format(16);
    pub const CU_AD_FORMAT_FLOAT: CUarray_format = CUarray_format(32);
    pub const CU_AD_FORMAT_NV12: CUarray_format = CUarray_format(176);
    pub const CU_AD_FORMAT_UNORM_INT8X1: CUarray_format = CUarray_format(192);
    pub const CU_AD_FORMAT_UNORM_INT8X2: CUarray_format = CUarray_format(193);
    pub const CU_AD_FORMAT_UNORM_INT8X4: CUarray_format = CUarray_format(194);
    pub const CU_AD_FORMAT_UNORM_INT16X1: CUarray_format = CUarray_format(195);
    pub const CU_AD_FORMAT_UNORM_INT16X2: CUarray_format = CUarray_format(196);
    pub const CU_AD_FORMAT_UNORM_INT16X4: CUarray_format = CUarray_format(197);
    pub const CU_AD_FORMAT_SNORM_INT8X1: CUarray_format = CUarray_format(198);
    pub const CU_AD_FORMAT_SNORM_INT8X2: CUarray_format = CUarray_format(199);
    pub const CU_AD_FORMAT_SNORM_INT8X4: CUarray_format = CUarray_format(200);
    pub const CU_AD_FORMAT_SNORM_INT16X1: CUarray_format = CUarray_format(201);
    pub const CU_AD_FORMAT_SNORM_INT16X2: CUarray_format = CUarray_format(202);
    pub const CU_AD_FORMAT_SNORM_INT16X4: CUarray_format = CUarray_format(203);
    pub const CU_AD_FORMAT_BC1_UNORM: CUarray_format = CUarray_format(145);
    pub const CU_AD_FORMAT_BC1_UNORM_SRGB: CUarray_format = CUarray_format(146);
    pub const CU_AD_FORMAT_BC2_UNORM: CUarray_format = CUarray_format(147);
    pub const CU_AD_FORMAT_BC2_UNORM_SRGB: CUarray_format = CUarray_format(148);
    pub const CU_AD_FORMAT_BC3_UNORM: CUarray_format = CUarray_format(149);
    pub const CU_AD_FORMAT_BC3_UNORM_SRGB: CUarray_format = CUarray_format(150);
    pub const CU_AD_FORMAT_BC4_UNORM: CUarray_format = CUarray_format(151);
    pub const CU_AD_FORMAT_BC4_SNORM: CUarray_format = CUarray_format(152);
    pub const CU_AD_FORMAT_BC5_UNORM: CUarray_format = CUarray_format(153);
    pub const CU_AD_FORMAT_BC5_SNORM: CUarray_format = CUarray_format(154);
    pub const CU_AD_FORMAT_BC6H_UF16: CUarray_format = CUarray_format(155);
    pub const CU_AD_FORMAT_BC6H_SF16: CUarray_format = CUarray_format(156);
    pub const CU_AD_FORMAT_BC7_UNORM: CUarray_format = CUarray_format(157);
    pub const CU_AD_FORMAT_BC7_UNORM_SRGB: CUarray_format = CUarray_format(158);
    pub const CU_AD_FORMAT_P010: CUarray_format = CUarray_format(159);
    pub const CU_AD_FORMAT_P016: CUarray_format = CUarray_format(161);
    pub const CU_AD_FORMAT_NV16: CUarray_format = CUarray_format(162);
    pub const CU_AD_FORMAT_P210: CUarray_format = CUarray_format(163);
    pub const CU_AD_FORMAT_P216: CUarray_format = CUarray_format(164);
    pub const CU_AD_FORMAT_YUY2: CUarray_format = CUarray_format(165);
    pub const CU_AD_FORMAT_Y210: CUarray_format = CUarray_format(166);
    pub const CU_AD_FORMAT_Y216: CUarray_format = CUarray_format(167);
    pub const CU_AD_FORMAT_AYUV: CUarray_format = CUarray_format(168);
    pub const CU_AD_FORMAT_Y410: CUarray_format = CUarray_format(169);
    pub const CU_AD_FORMAT_Y416: CUarray_format = CUarray_format(177);
    pub const CU_AD_FORMAT_Y444_PLANAR8: CUarray_format = CUarray_format(178);
    pub const CU_AD_FORMAT_Y444_PLANAR10: CUarray_format = CUarray_format(179);
    pub const CU_AD_FORMAT_YUV444_8bit_SemiPlanar: CUarray_format = CUarray_format(180);
    pub const CU_AD_FORMAT_YUV444_16bit_SemiPlanar: CUarray_format = CUarray_format(181);
    pub const CU_AD_FORMAT_UNORM_INT_101010_2: CUarray_format = CUarray_format(80);
    pub const CU_AD_FORMAT_MAX: CUarray_format = CUarray_format(2147483647);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUarray_format(pub u32);

impl CUaddress_mode {
    pub const CU_TR_ADDRESS_MODE_WRAP: CUaddress_mode = CUaddress_mode(0);
    pub const CU_TR_ADDRESS_MODE_CLAMP: CUaddress_mode = CUaddress_mode(1);
    pub const CU_TR_ADDRESS_MODE_MIRROR: CUaddress_mode = CUaddress_mode(2);
    pub const CU_TR_ADDRESS_MODE_BORDER: CUaddress_mode = CUaddress_mode(3);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUaddress_mode(pub u32);

impl CUfilter_mode {
    pub const CU_TR_FILTER_MODE_POINT: CUfilter_mode = CUfilter_mode(0);
    pub const CU_TR_FILTER_MODE_LINEAR: CUfilter_mode = CUfilter_mode(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUfilter_mode(pub u32);

impl CUdevice_attribute {
    pub const CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: CUdevice_attribute = CUdevice_attribute(1);
    pub const CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X: CUdevice_attribute = CUdevice_attribute(2);
    pub const CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: CUdevice_attribute = CUdevice_attribute(3);
    pub const CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: CUdevice_attribute = CUdevice_attribute(4);
    pub const CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: CUdevice_attribute = CUdevice_attribute(5);
    pub const CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: CUdevice_attribute = CUdevice_attribute(6);
    pub const CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: CUdevice_attribute = CUdevice_attribute(7);
    pub const CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: CUdevice_attribute =
        CUdevice_attribute(8);
    pub const CU_DEVICE_ATTRIBUTE_SHARED_MEMORY_PER_BLOCK: CUdevice_attribute =
        CUdevice_attribute(8);
    pub const CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: CUdevice_attribute = CUdevice_attribute(9);
    pub const CU_DEVICE_ATTRIBUTE_WARP_SIZE: CUdevice_attribute = CUdevice_attribute(10);
    pub const CU_DEVICE_ATTRIBUTE_MAX_PITCH: CUdevice_attribute = CUdevice_attribute(11);
    pub const CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK: CUdevice_attribute =
        CUdevice_attribute(12);
    pub const CU_DEVICE_ATTRIBUTE_REGISTERS_PER_BLOCK: CUdevice_attribute = CUdevice_attribute(12);
    pub const CU_DEVICE_ATTRIBUTE_CLOCK_RATE: CUdevice_attribute = CUdevice_attribute(13);
    pub const CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: CUdevice_attribute = CUdevice_attribute(14);
    pub const CU_DEVICE_ATTRIBUTE_GPU_OVERLAP: CUdevice_attribute = CUdevice_attribute(15);
    pub const CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: CUdevice_attribute = CUdevice_attribute(16);
    pub const CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT: CUdevice_attribute = CUdevice_attribute(17);
    pub const CU_DEVICE_ATTRIBUTE_INTEGRATED: CUdevice_attribute = CUdevice_attribute(18);
    pub const CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY: CUdevice_attribute = CUdevice_attribute(19);
    pub const CU_DEVICE_ATTRIBUTE_COMPUTE_MODE: CUdevice_attribute = CUdevice_attribute(20);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH: CUdevice_attribute =
        CUdevice_attribute(21);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH: CUdevice_attribute =
        CUdevice_attribute(22);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT: CUdevice_attribute =
        CUdevice_attribute(23);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH: CUdevice_attribute =
        CUdevice_attribute(24);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT: CUdevice_attribute =
        CUdevice_attribute(25);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH: CUdevice_attribute =
        CUdevice_attribute(26);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH: CUdevice_attribute =
        CUdevice_attribute(27);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT: CUdevice_attribute =
        CUdevice_attribute(28);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS: CUdevice_attribute =
        CUdevice_attribute(29);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_WIDTH: CUdevice_attribute =
        CUdevice_attribute(27);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_HEIGHT: CUdevice_attribute =
        CUdevice_attribute(28);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_ARRAY_NUMSLICES: CUdevice_attribute =
        CUdevice_attribute(29);
    pub const CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT: CUdevice_attribute = CUdevice_attribute(30);
    pub const CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS: CUdevice_attribute = CUdevice_attribute(31);
    pub const CU_DEVICE_ATTRIBUTE_ECC_ENABLED: CUdevice_attribute = CUdevice_attribute(32);
    pub const CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: CUdevice_attribute = CUdevice_attribute(33);
    pub const CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID: CUdevice_attribute = CUdevice_attribute(34);
    pub const CU_DEVICE_ATTRIBUTE_TCC_DRIVER: CUdevice_attribute = CUdevice_attribute(35);
    pub const CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: CUdevice_attribute = CUdevice_attribute(36);
    pub const CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: CUdevice_attribute =
        CUdevice_attribute(37);
    pub const CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: CUdevice_attribute = CUdevice_attribute(38);
    pub const CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: CUdevice_attribute =
        CUdevice_attribute(39);
    pub const CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: CUdevice_attribute = CUdevice_attribute(40);
    pub const CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: CUdevice_attribute = CUdevice_attribute(41);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH: CUdevice_attribute =
        CUdevice_attribute(42);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS: CUdevice_attribute =
        CUdevice_attribute(43);
    pub const CU_DEVICE_ATTRIBUTE_CAN_TEX2D_GATHER: CUdevice_attribute = CUdevice_attribute(44);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH: CUdevice_attribute =
        CUdevice_attribute(45);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT: CUdevice_attribute =
        CUdevice_attribute(46);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE: CUdevice_attribute =
        CUdevice_attribute(47);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE: CUdevice_attribute =
        CUdevice_attribute(48);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE: CUdevice_attribute =
        CUdevice_attribute(49);
    pub const CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID: CUdevice_attribute = CUdevice_attribute(50);
    pub const CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT: CUdevice_attribute =
        CUdevice_attribute(51);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH: CUdevice_attribute =
        CUdevice_attribute(52);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH: CUdevice_attribute =
        CUdevice_attribute(53);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS: CUdevice_attribute =
        CUdevice_attribute(54);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH: CUdevice_attribute =
        CUdevice_attribute(55);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH: CUdevice_attribute =
        CUdevice_attribute(56);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT: CUdevice_attribute =
        CUdevice_attribute(57);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH: CUdevice_attribute =
        CUdevice_attribute(58);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT: CUdevice_attribute =
        CUdevice_attribute(59);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH: CUdevice_attribute =
        CUdevice_attribute(60);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH: CUdevice_attribute =
        CUdevice_attribute(61);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS: CUdevice_attribute =
        CUdevice_attribute(62);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH: CUdevice_attribute =
        CUdevice_attribute(63);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT: CUdevice_attribute =
        CUdevice_attribute(64);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS: CUdevice_attribute =
        CUdevice_attribute(65);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH: CUdevice_attribute =
        CUdevice_attribute(66);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH: CUdevice_attribute =
        CUdevice_attribute(67);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS: CUdevice_attribute =
        CUdevice_attribute(68);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH: CUdevice_attribute =
        CUdevice_attribute(69);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH: CUdevice_attribute =
        CUdevice_attribute(70);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT: CUdevice_attribute =
        CUdevice_attribute(71);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH: CUdevice_attribute =
        CUdevice_attribute(72);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH: CUdevice_attribute =
        CUdevice_attribute(73);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT: CUdevice_attribute =
        CUdevice_attribute(74);
    pub const CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: CUdevice_attribute =
        CUdevice_attribute(75);
    pub const CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: CUdevice_attribute =
        CUdevice_attribute(76);
    pub const CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH: CUdevice_attribute =
        CUdevice_attribute(77);
    pub const CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(78);
    pub const CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(79);
    pub const CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(80);
    pub const CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: CUdevice_attribute =
        CUdevice_attribute(81);
    pub const CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: CUdevice_attribute =
        CUdevice_attribute(82);
    pub const CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY: CUdevice_attribute = CUdevice_attribute(83);
    pub const CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD: CUdevice_attribute = CUdevice_attribute(84);
    pub const CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID: CUdevice_attribute =
        CUdevice_attribute(85);
    pub const CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(86);
    pub const CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO: CUdevice_attribute =
        CUdevice_attribute(87);
    pub const CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS: CUdevice_attribute =
        CUdevice_attribute(88);
    pub const CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: CUdevice_attribute =
        CUdevice_attribute(89);
    pub const CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(90);
    pub const CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM: CUdevice_attribute =
        CUdevice_attribute(91);
    pub const CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1: CUdevice_attribute =
        CUdevice_attribute(92);
    pub const CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1: CUdevice_attribute =
        CUdevice_attribute(93);
    pub const CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1: CUdevice_attribute =
        CUdevice_attribute(94);
    pub const CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: CUdevice_attribute = CUdevice_attribute(95);
    pub const CU_DEVICE_ATTRIBUTE_COOPERATIVE_MULTI_DEVICE_LAUNCH: CUdevice_attribute =
        CUdevice_attribute(96);
    pub const CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: CUdevice_attribute =
        CUdevice_attribute(97);
    pub const CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES: CUdevice_attribute =
        CUdevice_attribute(98);
    pub const CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(99);
    pub const CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES: CUdevice_attribute =
        CUdevice_attribute(100);
    pub const CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST: CUdevice_attribute =
        CUdevice_attribute(101);
    pub const CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(102);
    pub const CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(102);
    pub const CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(103);
    pub const CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(104);
    pub const CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(105);
    pub const CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: CUdevice_attribute =
        CUdevice_attribute(106);
    pub const CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(107);
    pub const CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE: CUdevice_attribute =
        CUdevice_attribute(108);
    pub const CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE: CUdevice_attribute =
        CUdevice_attribute(109);
    pub const CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(110);
    pub const CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: CUdevice_attribute =
        CUdevice_attribute(111);
    pub const CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(112);
    pub const CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(113);
    pub const CU_DEVICE_ATTRIBUTE_TIMELINE_SEMAPHORE_INTEROP_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(114);
    pub const CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(115);
    pub const CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(116);
    pub const CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS: CUdevice_attribute =
        CUdevice_attribute(117);
    pub const CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING: CUdevice_attribute =
        CUdevice_attribute(118);
    pub const CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES: CUdevice_attribute =
        CUdevice_attribute(119);
    pub const CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH: CUdevice_attribute = CUdevice_attribute(120);
    pub const CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(121);
    pub const CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS: CUdevice_attribute =
        CUdevice_attribute(122);
    pub const CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR: CUdevice_attribute =
        CUdevice_attribute(123);
    pub const CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED: CUdevice_attribute = CUdevice_attribute(124);
    pub const CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED: CUdevice_attribute = CUdevice_attribute(125);
    pub const CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT: CUdevice_attribute =
        CUdevice_attribute(126);
    pub const CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(127);
    pub const CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(128);
    pub const CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS: CUdevice_attribute =
        CUdevice_attribute(129);
    pub const CU_DEVICE_ATTRIBUTE_NUMA_CONFIG: CUdevice_attribute = CUdevice_attribute(130);
    pub const CU_DEVICE_ATTRIBUTE_NUMA_ID: CUdevice_attribute = CUdevice_attribute(131);
    pub const CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED: CUdevice_attribute = CUdevice_attribute(132);
    pub const CU_DEVICE_ATTRIBUTE_MPS_ENABLED: CUdevice_attribute = CUdevice_attribute(133);
    pub const CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID: CUdevice_attribute = CUdevice_attribute(134);
    pub const CU_DEVICE_ATTRIBUTE_D3D12_CIG_SUPPORTED: CUdevice_attribute = CUdevice_attribute(135);
    pub const CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK: CUdevice_attribute =
        CUdevice_attribute(136);
    pub const CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH: CUdevice_attribute =
        CUdevice_attribute(137);
    pub const CU_DEVICE_ATTRIBUTE_VULKAN_CIG_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(138);
    pub const CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID: CUdevice_attribute = CUdevice_attribute(139);
    pub const CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID: CUdevice_attribute =
        CUdevice_attribute(140);
    pub const CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
        CUdevice_attribute = CUdevice_attribute(141);
    pub const CU_DEVICE_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(142);
    pub const CU_DEVICE_ATTRIBUTE_HOST_NUMA_MULTINODE_IPC_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(143);
    pub const CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(144);
    pub const CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(145);
    pub const CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(146);
    pub const CU_DEVICE_ATTRIBUTE_ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED: CUdevice_attribute =
        CUdevice_attribute(147);
    pub const CU_DEVICE_ATTRIBUTE_MAX: CUdevice_attribute = CUdevice_attribute(148);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUdevice_attribute(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUdevprop {
    pub maxThreadsPerBlock: i32,
    pub maxThreadsDim: [i32; 3],
    pub maxGridSize: [i32; 3],
    pub sharedMemPerBlock: i32,
    pub totalConstantMemory: i32,
    pub SIMDWidth: i32,
    pub memPitch: i32,
    pub regsPerBlock: i32,
    pub clockRate: i32,
    pub textureAlign: i32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUdevprop_st"][::core::mem::size_of::<CUdevprop>() - 56usize];
    ["Alignment of CUdevprop_st"][::core::mem::align_of::<CUdevprop>() - 4usize];
    ["Offset of field: CUdevprop_st::maxThreadsPerBlock"]
        [::core::mem::offset_of!(CUdevprop, maxThreadsPerBlock) - 0usize];
    ["Offset of field: CUdevprop_st::maxThreadsDim"]
        [::core::mem::offset_of!(CUdevprop, maxThreadsDim) - 4usize];
    ["Offset of field: CUdevprop_st::maxGridSize"]
        [::core::mem::offset_of!(CUdevprop, maxGridSize) - 16usize];
    ["Offset of field: CUdevprop_st::sharedMemPerBlock"]
        [::core::mem::offset_of!(CUdevprop, sharedMemPerBlock) - 28usize];
    ["Offset of field: CUdevprop_st::totalConstantMemory"]
        [::core::mem::offset_of!(CUdevprop, totalConstantMemory) - 32usize];
    ["Offset of field: CUdevprop_st::SIMDWidth"]
        [::core::mem::offset_of!(CUdevprop, SIMDWidth) - 36usize];
    ["Offset of field: CUdevprop_st::memPitch"]
        [::core::mem::offset_of!(CUdevprop, memPitch) - 40usize];
    ["Offset of field: CUdevprop_st::regsPerBlock"]
        [::core::mem::offset_of!(CUdevprop, regsPerBlock) - 44usize];
    ["Offset of field: CUdevprop_st::clockRate"]
        [::core::mem::offset_of!(CUdevprop, clockRate) - 48usize];
    ["Offset of field: CUdevprop_st::textureAlign"]
        [::core::mem::offset_of!(CUdevprop, textureAlign) - 52usize];
};

impl CUpointer_attribute {
    pub const CU_POINTER_ATTRIBUTE_CONTEXT: CUpointer_attribute = CUpointer_attribute(1);
    pub const CU_POINTER_ATTRIBUTE_MEMORY_TYPE: CUpointer_attribute = CUpointer_attribute(2);
    pub const CU_POINTER_ATTRIBUTE_DEVICE_POINTER: CUpointer_attribute = CUpointer_attribute(3);
    pub const CU_POINTER_ATTRIBUTE_HOST_POINTER: CUpointer_attribute = CUpointer_attribute(4);
    pub const CU_POINTER_ATTRIBUTE_P2P_TOKENS: CUpointer_attribute = CUpointer_attribute(5);
    pub const CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: CUpointer_attribute = CUpointer_attribute(6);
    pub const CU_POINTER_ATTRIBUTE_BUFFER_ID: CUpointer_attribute = CUpointer_attribute(7);
    pub const CU_POINTER_ATTRIBUTE_IS_MANAGED: CUpointer_attribute = CUpointer_attribute(8);
    pub const CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: CUpointer_attribute = CUpointer_attribute(9);
    pub const CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: CUpointer_attribute =
        CUpointer_attribute(10);
    pub const CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: CUpointer_attribute = CUpointer_attribute(11);
    pub const CU_POINTER_ATTRIBUTE_RANGE_SIZE: CUpointer_attribute = CUpointer_attribute(12);
    pub const CU_POINTER_ATTRIBUTE_MAPPED: CUpointer_attribute = CUpointer_attribute(13);
    pub const CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: CUpointer_attribute =
        CUpointer_attribute(14);
    pub const CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: CUpointer_attribute =
        CUpointer_attribute(15);
    pub const CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: CUpointer_attribute = CUpointer_attribute(16);
    pub const CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: CUpointer_attribute = CUpointer_attribute(17);
    pub const CU_POINTER_ATTRIBUTE_MAPPING_SIZE: CUpointer_attribute = CUpointer_attribute(18);
    pub const CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: CUpointer_attribute = CUpointer_attribute(19);
    pub const CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: CUpointer_attribute = CUpointer_attribute(20);
    pub const CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE: CUpointer_attribute =
        CUpointer_attribute(21);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUpointer_attribute(pub u32);

impl CUfunction_attribute {
    pub const CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: CUfunction_attribute =
        CUfunction_attribute(0);
    pub const CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: CUfunction_attribute = CUfunction_attribute(1);
    pub const CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: CUfunction_attribute = CUfunction_attribute(2);
    pub const CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: CUfunction_attribute = CUfunction_attribute(3);
    pub const CU_FUNC_ATTRIBUTE_NUM_REGS: CUfunction_attribute = CUfunction_attribute(4);
    pub const CU_FUNC_ATTRIBUTE_PTX_VERSION: CUfunction_attribute = CUfunction_attribute(5);
    pub const CU_FUNC_ATTRIBUTE_BINARY_VERSION: CUfunction_attribute = CUfunction_attribute(6);
    pub const CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: CUfunction_attribute = CUfunction_attribute(7);
    pub const CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: CUfunction_attribute =
        CUfunction_attribute(8);
    pub const CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: CUfunction_attribute =
        CUfunction_attribute(9);
    pub const CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: CUfunction_attribute =
        CUfunction_attribute(10);
    pub const CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH: CUfunction_attribute =
        CUfunction_attribute(11);
    pub const CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT: CUfunction_attribute =
        CUfunction_attribute(12);
    pub const CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: CUfunction_attribute =
        CUfunction_attribute(13);
    pub const CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: CUfunction_attribute =
        CUfunction_attribute(14);
    pub const CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: CUfunction_attribute =
        CUfunction_attribute(15);
    pub const CU_FUNC_ATTRIBUTE_MAX: CUfunction_attribute = CUfunction_attribute(16);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUfunction_attribute(pub u32);

impl CUfunc_cache {
    pub const CU_FUNC_CACHE_PREFER_NONE: CUfunc_cache = CUfunc_cache(0);
    pub const CU_FUNC_CACHE_PREFER_SHARED: CUfunc_cache = CUfunc_cache(1);
    pub const CU_FUNC_CACHE_PREFER_L1: CUfunc_cache = CUfunc_cache(2);
    pub const CU_FUNC_CACHE_PREFER_EQUAL: CUfunc_cache = CUfunc_cache(3);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUfunc_cache(pub u32);

impl CUsharedconfig {
    pub const CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE: CUsharedconfig = CUsharedconfig(0);
    pub const CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE: CUsharedconfig = CUsharedconfig(1);
    pub const CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE: CUsharedconfig = CUsharedconfig(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUsharedconfig(pub u32);

impl CUshared_carveout {
    pub const CU_SHAREDMEM_CARVEOUT_DEFAULT: CUshared_carveout = CUshared_carveout(-1);
    pub const CU_SHAREDMEM_CARVEOUT_MAX_SHARED: CUshared_carveout = CUshared_carveout(100);
    pub const CU_SHAREDMEM_CARVEOUT_MAX_L1: CUshared_carveout = CUshared_carveout(0);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUshared_carveout(pub i32);

impl CUmemorytype {
    pub const CU_MEMORYTYPE_HOST: CUmemorytype = CUmemorytype(1);
    pub const CU_MEMORYTYPE_DEVICE: CUmemorytype = CUmemorytype(2);
    pub const CU_MEMORYTYPE_ARRAY: CUmemorytype = CUmemorytype(3);
    pub const CU_MEMORYTYPE_UNIFIED: CUmemorytype = CUmemorytype(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemorytype(pub u32);

impl CUcomputemode {
    pub const CU_COMPUTEMODE_DEFAULT: CUcomputemode = CUcomputemode(0);
    pub const CU_COMPUTEMODE_PROHIBITED: CUcomputemode = CUcomputemode(2);
    pub const CU_COMPUTEMODE_EXCLUSIVE_PROCESS: CUcomputemode = CUcomputemode(3);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUcomputemode(pub u32);

impl CUmem_advise {
    pub const CU_MEM_ADVISE_SET_READ_MOSTLY: CUmem_advise = CUmem_advise(1);
    pub const CU_MEM_ADVISE_UNSET_READ_MOSTLY: CUmem_advise = CUmem_advise(2);
    pub const CU_MEM_ADVISE_SET_PREFERRED_LOCATION: CUmem_advise = CUmem_advise(3);
    pub const CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: CUmem_advise = CUmem_advise(4);
    pub const CU_MEM_ADVISE_SET_ACCESSED_BY: CUmem_advise = CUmem_advise(5);
    pub const CU_MEM_ADVISE_UNSET_ACCESSED_BY: CUmem_advise = CUmem_advise(6);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmem_advise(pub u32);

impl CUmem_range_attribute {
    pub const CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: CUmem_range_attribute = CUmem_range_attribute(1);
    pub const CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: CUmem_range_attribute =
        CUmem_range_attribute(2);
    pub const CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: CUmem_range_attribute = CUmem_range_attribute(3);
    pub const CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: CUmem_range_attribute =
        CUmem_range_attribute(4);
    pub const CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: CUmem_range_attribute =
        CUmem_range_attribute(5);
    pub const CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: CUmem_range_attribute =
        CUmem_range_attribute(6);
    pub const CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: CUmem_range_attribute =
        CUmem_range_attribute(7);
    pub const CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: CUmem_range_attribute =
        CUmem_range_attribute(8);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmem_range_attribute(pub u32);

impl CUjit_option {
    pub const CU_JIT_MAX_REGISTERS: CUjit_option = CUjit_option(0);
    pub const CU_JIT_THREADS_PER_BLOCK: CUjit_option = CUjit_option(1);
    pub const CU_JIT_WALL_TIME: CUjit_option = CUjit_option(2);
    pub const CU_JIT_INFO_LOG_BUFFER: CUjit_option = CUjit_option(3);
    pub const CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: CUjit_option = CUjit_option(4);
    pub const CU_JIT_ERROR_LOG_BUFFER: CUjit_option = CUjit_option(5);
    pub const CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: CUjit_option = CUjit_option(6);
    pub const CU_JIT_OPTIMIZATION_LEVEL: CUjit_option = CUjit_option(7);
    pub const CU_JIT_TARGET_FROM_CUCONTEXT: CUjit_option = CUjit_option(8);
    pub const CU_JIT_TARGET: CUjit_option = CUjit_option(9);
    pub const CU_JIT_FALLBACK_STRATEGY: CUjit_option = CUjit_option(10);
    pub const CU_JIT_GENERATE_DEBUG_INFO: CUjit_option = CUjit_option(11);
    pub const CU_JIT_LOG_VERBOSE: CUjit_option = CUjit_option(12);
    pub const CU_JIT_GENERATE_LINE_INFO: CUjit_option = CUjit_option(13);
    pub const CU_JIT_CACHE_MODE: CUjit_option = CUjit_option(14);
    pub const CU_JIT_NEW_SM3X_OPT: CUjit_option = CUjit_option(15);
    pub const CU_JIT_FAST_COMPILE: CUjit_option = CUjit_option(16);
    pub const CU_JIT_GLOBAL_SYMBOL_NAMES: CUjit_option = CUjit_option(17);
    pub const CU_JIT_GLOBAL_SYMBOL_ADDRESSES: CUjit_option = CUjit_option(18);
    pub const CU_JIT_GLOBAL_SYMBOL_COUNT: CUjit_option = CUjit_option(19);
    pub const CU_JIT_LTO: CUjit_option = CUjit_option(20);
    pub const CU_JIT_FTZ: CUjit_option = CUjit_option(21);
    pub const CU_JIT_PREC_DIV: CUjit_option = CUjit_option(22);
    pub const CU_JIT_PREC_SQRT: CUjit_option = CUjit_option(23);
    pub const CU_JIT_FMA: CUjit_option = CUjit_option(24);
    pub const CU_JIT_REFERENCED_KERNEL_NAMES: CUjit_option = CUjit_option(25);
    pub const CU_JIT_REFERENCED_KERNEL_COUNT: CUjit_option = CUjit_option(26);
    pub const CU_JIT_REFERENCED_VARIABLE_NAMES: CUjit_option = CUjit_option(27);
    pub const CU_JIT_REFERENCED_VARIABLE_COUNT: CUjit_option = CUjit_option(28);
    pub const CU_JIT_OPTIMIZE_UNUSED_DEVICE_VARIABLES: CUjit_option = CUjit_option(29);
    pub const CU_JIT_POSITION_INDEPENDENT_CODE: CUjit_option = CUjit_option(30);
    pub const CU_JIT_MIN_CTA_PER_SM: CUjit_option = CUjit_option(31);
    pub const CU_JIT_MAX_THREADS_PER_BLOCK: CUjit_option = CUjit_option(32);
    pub const CU_JIT_OVERRIDE_DIRECTIVE_VALUES: CUjit_option = CUjit_option(33);
    pub const CU_JIT_SPLIT_COMPILE: CUjit_option = CUjit_option(34);
    pub const CU_JIT_NUM_OPTIONS: CUjit_option = CUjit_option(35);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUjit_option(pub u32);

impl CUjit_target {
    pub const CU_TARGET_COMPUTE_30: CUjit_target = CUjit_target(30);
    pub const CU_TARGET_COMPUTE_32: CUjit_target = CUjit_target(32);
    pub const CU_TARGET_COMPUTE_35: CUjit_target = CUjit_target(35);
    pub const CU_TARGET_COMPUTE_37: CUjit_target = CUjit_target(37);
    pub const CU_TARGET_COMPUTE_50: CUjit_target = CUjit_target(50);
    pub const CU_TARGET_COMPUTE_52: CUjit_target = CUjit_target(52);
    pub const CU_TARGET_COMPUTE_53: CUjit_target = CUjit_target(53);
    pub const CU_TARGET_COMPUTE_60: CUjit_target = CUjit_target(60);
    pub const CU_TARGET_COMPUTE_61: CUjit_target = CUjit_target(61);
    pub const CU_TARGET_COMPUTE_62: CUjit_target = CUjit_target(62);
    pub const CU_TARGET_COMPUTE_70: CUjit_target = CUjit_target(70);
    pub const CU_TARGET_COMPUTE_72: CUjit_target = CUjit_target(72);
    pub const CU_TARGET_COMPUTE_75: CUjit_target = CUjit_target(75);
    pub const CU_TARGET_COMPUTE_80: CUjit_target = CUjit_target(80);
    pub const CU_TARGET_COMPUTE_86: CUjit_target = CUjit_target(86);
    pub const CU_TARGET_COMPUTE_87: CUjit_target = CUjit_target(87);
    pub const CU_TARGET_COMPUTE_89: CUjit_target = CUjit_target(89);
    pub const CU_TARGET_COMPUTE_90: CUjit_target = CUjit_target(90);
    pub const CU_TARGET_COMPUTE_100: CUjit_target = CUjit_target(100);
    pub const CU_TARGET_COMPUTE_110: CUjit_target = CUjit_target(110);
    pub const CU_TARGET_COMPUTE_103: CUjit_target = CUjit_target(103);
    pub const CU_TARGET_COMPUTE_120: CUjit_target = CUjit_target(120);
    pub const CU_TARGET_COMPUTE_121: CUjit_target = CUjit_target(121);
    pub const CU_TARGET_COMPUTE_90A: CUjit_target = CUjit_target(65626);
    pub const CU_TARGET_COMPUTE_100A: CUjit_target = CUjit_target(65636);
    pub const CU_TARGET_COMPUTE_110A: CUjit_target = CUjit_target(65646);
    pub const CU_TARGET_COMPUTE_103A: CUjit_target = CUjit_target(65639);
    pub const CU_TARGET_COMPUTE_120A: CUjit_target = CUjit_target(65656);
    pub const CU_TARGET_COMPUTE_121A: CUjit_target = CUjit_target(65657);
    pub const CU_TARGET_COMPUTE_100F: CUjit_target = CUjit_target(131172);
    pub const CU_TARGET_COMPUTE_110F: CUjit_target = CUjit_target(131182);
    pub const CU_TARGET_COMPUTE_103F: CUjit_target = CUjit_target(131175);
    pub const CU_TARGET_COMPUTE_120F: CUjit_target = CUjit_target(131192);
    pub const CU_TARGET_COMPUTE_121F: CUjit_target = CUjit_target(131193);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUjit_target(pub u32);

impl CUjit_fallback {
    pub const CU_PREFER_PTX: CUjit_fallback = CUjit_fallback(0);
    pub const CU_PREFER_BINARY: CUjit_fallback = CUjit_fallback(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUjit_fallback(pub u32);

impl CUjit_cacheMode {
    pub const CU_JIT_CACHE_OPTION_NONE: CUjit_cacheMode = CUjit_cacheMode(0);
    pub const CU_JIT_CACHE_OPTION_CG: CUjit_cacheMode = CUjit_cacheMode(1);
    pub const CU_JIT_CACHE_OPTION_CA: CUjit_cacheMode = CUjit_cacheMode(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUjit_cacheMode(pub u32);

impl CUjitInputType {
    pub const CU_JIT_INPUT_CUBIN: CUjitInputType = CUjitInputType(0);
    pub const CU_JIT_INPUT_PTX: CUjitInputType = CUjitInputType(1);
    pub const CU_JIT_INPUT_FATBINARY: CUjitInputType = CUjitInputType(2);
    pub const CU_JIT_INPUT_OBJECT: CUjitInputType = CUjitInputType(3);
    pub const CU_JIT_INPUT_LIBRARY: CUjitInputType = CUjitInputType(4);
    pub const CU_JIT_INPUT_NVVM: CUjitInputType = CUjitInputType(5);
    pub const CU_JIT_NUM_INPUT_TYPES: CUjitInputType = CUjitInputType(6);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUjitInputType(pub u32);

#[repr(C)]
#[derive(Debug)]
pub struct CUlinkState_st {
    _unused: [u8; 0],
}

pub type CUlinkState = *mut CUlinkState_st;

impl CUgraphicsRegisterFlags {
    pub const CU_GRAPHICS_REGISTER_FLAGS_NONE: CUgraphicsRegisterFlags = CUgraphicsRegisterFlags(0);
    pub const CU_GRAPHICS_REGISTER_FLAGS_READ_ONLY: CUgraphicsRegisterFlags =
        CUgraphicsRegisterFlags(1);
    pub const CU_GRAPHICS_REGISTER_FLAGS_WRITE_DISCARD: CUgraphicsRegisterFlags =
        CUgraphicsRegisterFlags(2);
    pub const CU_GRAPHICS_REGISTER_FLAGS_SURFACE_LDST: CUgraphicsRegisterFlags =
        CUgraphicsRegisterFlags(4);
    pub const CU_GRAPHICS_REGISTER_FLAGS_TEXTURE_GATHER: CUgraphicsRegisterFlags =
        CUgraphicsRegisterFlags(8);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUgraphicsRegisterFlags(pub u32);

impl CUgraphicsMapResourceFlags {
    pub const CU_GRAPHICS_MAP_RESOURCE_FLAGS_NONE: CUgraphicsMapResourceFlags =
        CUgraphicsMapResourceFlags(0);
    pub const CU_GRAPHICS_MAP_RESOURCE_FLAGS_READ_ONLY: CUgraphicsMapResourceFlags =
        CUgraphicsMapResourceFlags(1);
    pub const CU_GRAPHICS_MAP_RESOURCE_FLAGS_WRITE_DISCARD: CUgraphicsMapResourceFlags =
        CUgraphicsMapResourceFlags(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUgraphicsMapResourceFlags(pub u32);

impl CUarray_cubemap_face {
    pub const CU_CUBEMAP_FACE_POSITIVE_X: CUarray_cubemap_face = CUarray_cubemap_face(0);
    pub const CU_CUBEMAP_FACE_NEGATIVE_X: CUarray_cubemap_face = CUarray_cubemap_face(1);
    pub const CU_CUBEMAP_FACE_POSITIVE_Y: CUarray_cubemap_face = CUarray_cubemap_face(2);
    pub const CU_CUBEMAP_FACE_NEGATIVE_Y: CUarray_cubemap_face = CUarray_cubemap_face(3);
    pub const CU_CUBEMAP_FACE_POSITIVE_Z: CUarray_cubemap_face = CUarray_cubemap_face(4);
    pub const CU_CUBEMAP_FACE_NEGATIVE_Z: CUarray_cubemap_face = CUarray_cubemap_face(5);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUarray_cubemap_face(pub u32);

impl CUlimit {
    pub const CU_LIMIT_STACK_SIZE: CUlimit = CUlimit(0);
    pub const CU_LIMIT_PRINTF_FIFO_SIZE: CUlimit = CUlimit(1);
    pub const CU_LIMIT_MALLOC_HEAP_SIZE: CUlimit = CUlimit(2);
    pub const CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH: CUlimit = CUlimit(3);
    pub const CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT: CUlimit = CUlimit(4);
    pub const CU_LIMIT_MAX_L2_FETCH_GRANULARITY: CUlimit = CUlimit(5);
    pub const CU_LIMIT_PERSISTING_L2_CACHE_SIZE: CUlimit = CUlimit(6);
    pub const CU_LIMIT_SHMEM_SIZE: CUlimit = CUlimit(7);
    pub const CU_LIMIT_CIG_ENABLED: CUlimit = CUlimit(8);
    pub const CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED: CUlimit = CUlimit(9);
    pub const CU_LIMIT_MAX: CUlimit = CUlimit(10);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUlimit(pub u32);

impl CUresourcetype {
    pub const CU_RESOURCE_TYPE_ARRAY: CUresourcetype = CUresourcetype(0);
    pub const CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: CUresourcetype = CUresourcetype(1);
    pub const CU_RESOURCE_TYPE_LINEAR: CUresourcetype = CUresourcetype(2);
    pub const CU_RESOURCE_TYPE_PITCH2D: CUresourcetype = CUresourcetype(3);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUresourcetype(pub u32);

pub type CUhostFn = ::core::option::Option<unsafe extern "C" fn(userData: *mut c_void)>;

impl CUaccessProperty {
    pub const CU_ACCESS_PROPERTY_NORMAL: CUaccessProperty = CUaccessProperty(0);
    pub const CU_ACCESS_PROPERTY_STREAMING: CUaccessProperty = CUaccessProperty(1);
    pub const CU_ACCESS_PROPERTY_PERSISTING: CUaccessProperty = CUaccessProperty(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUaccessProperty(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq)]
pub struct CUaccessPolicyWindow {
    pub base_ptr: *mut c_void,
    pub num_bytes: usize,
    pub hitRatio: f32,
    pub hitProp: CUaccessProperty,
    pub missProp: CUaccessProperty,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUaccessPolicyWindow_st"][::core::mem::size_of::<CUaccessPolicyWindow>() - 32usize];
    ["Alignment of CUaccessPolicyWindow_st"]
        [::core::mem::align_of::<CUaccessPolicyWindow>() - 8usize];
    ["Offset of field: CUaccessPolicyWindow_st::base_ptr"]
        [::core::mem::offset_of!(CUaccessPolicyWindow, base_ptr) - 0usize];
    ["Offset of field: CUaccessPolicyWindow_st::num_bytes"]
        [::core::mem::offset_of!(CUaccessPolicyWindow, num_bytes) - 8usize];
    ["Offset of field: CUaccessPolicyWindow_st::hitRatio"]
        [::core::mem::offset_of!(CUaccessPolicyWindow, hitRatio) - 16usize];
    ["Offset of field: CUaccessPolicyWindow_st::hitProp"]
        [::core::mem::offset_of!(CUaccessPolicyWindow, hitProp) - 20usize];
    ["Offset of field: CUaccessPolicyWindow_st::missProp"]
        [::core::mem::offset_of!(CUaccessPolicyWindow, missProp) - 24usize];
};

impl Default for CUaccessPolicyWindow {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_KERNEL_NODE_PARAMS_v1 {
    pub func: CUfunction,
    pub gridDimX: u32,
    pub gridDimY: u32,
    pub gridDimZ: u32,
    pub blockDimX: u32,
    pub blockDimY: u32,
    pub blockDimZ: u32,
    pub sharedMemBytes: u32,
    pub kernelParams: *mut *mut c_void,
    pub extra: *mut *mut c_void,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_KERNEL_NODE_PARAMS_st"]
        [::core::mem::size_of::<CUDA_KERNEL_NODE_PARAMS_v1>() - 56usize];
    ["Alignment of CUDA_KERNEL_NODE_PARAMS_st"]
        [::core::mem::align_of::<CUDA_KERNEL_NODE_PARAMS_v1>() - 8usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_st::func"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v1, func) - 0usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_st::gridDimX"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v1, gridDimX) - 8usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_st::gridDimY"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v1, gridDimY) - 12usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_st::gridDimZ"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v1, gridDimZ) - 16usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_st::blockDimX"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v1, blockDimX) - 20usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_st::blockDimY"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v1, blockDimY) - 24usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_st::blockDimZ"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v1, blockDimZ) - 28usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_st::sharedMemBytes"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v1, sharedMemBytes) - 32usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_st::kernelParams"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v1, kernelParams) - 40usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_st::extra"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v1, extra) - 48usize];
};

impl Default for CUDA_KERNEL_NODE_PARAMS_v1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_KERNEL_NODE_PARAMS {
    pub func: CUfunction,
    pub gridDimX: u32,
    pub gridDimY: u32,
    pub gridDimZ: u32,
    pub blockDimX: u32,
    pub blockDimY: u32,
    pub blockDimZ: u32,
    pub sharedMemBytes: u32,
    pub kernelParams: *mut *mut c_void,
    pub extra: *mut *mut c_void,
    pub kern: CUkernel,
    pub ctx: CUcontext,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_KERNEL_NODE_PARAMS_v2_st"]
        [::core::mem::size_of::<CUDA_KERNEL_NODE_PARAMS>() - 72usize];
    ["Alignment of CUDA_KERNEL_NODE_PARAMS_v2_st"]
        [::core::mem::align_of::<CUDA_KERNEL_NODE_PARAMS>() - 8usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v2_st::func"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS, func) - 0usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v2_st::gridDimX"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS, gridDimX) - 8usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v2_st::gridDimY"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS, gridDimY) - 12usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v2_st::gridDimZ"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS, gridDimZ) - 16usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v2_st::blockDimX"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS, blockDimX) - 20usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v2_st::blockDimY"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS, blockDimY) - 24usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v2_st::blockDimZ"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS, blockDimZ) - 28usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v2_st::sharedMemBytes"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes) - 32usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v2_st::kernelParams"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS, kernelParams) - 40usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v2_st::extra"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS, extra) - 48usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v2_st::kern"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS, kern) - 56usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v2_st::ctx"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS, ctx) - 64usize];
};

impl Default for CUDA_KERNEL_NODE_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_KERNEL_NODE_PARAMS_v3 {
    pub func: CUfunction,
    pub gridDimX: u32,
    pub gridDimY: u32,
    pub gridDimZ: u32,
    pub blockDimX: u32,
    pub blockDimY: u32,
    pub blockDimZ: u32,
    pub sharedMemBytes: u32,
    pub kernelParams: *mut *mut c_void,
    pub extra: *mut *mut c_void,
    pub kern: CUkernel,
    pub ctx: CUcontext,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_KERNEL_NODE_PARAMS_v3_st"]
        [::core::mem::size_of::<CUDA_KERNEL_NODE_PARAMS_v3>() - 72usize];
    ["Alignment of CUDA_KERNEL_NODE_PARAMS_v3_st"]
        [::core::mem::align_of::<CUDA_KERNEL_NODE_PARAMS_v3>() - 8usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v3_st::func"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v3, func) - 0usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v3_st::gridDimX"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v3, gridDimX) - 8usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v3_st::gridDimY"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v3, gridDimY) - 12usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v3_st::gridDimZ"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v3, gridDimZ) - 16usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v3_st::blockDimX"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v3, blockDimX) - 20usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v3_st::blockDimY"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v3, blockDimY) - 24usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v3_st::blockDimZ"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v3, blockDimZ) - 28usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v3_st::sharedMemBytes"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v3, sharedMemBytes) - 32usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v3_st::kernelParams"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v3, kernelParams) - 40usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v3_st::extra"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v3, extra) - 48usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v3_st::kern"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v3, kern) - 56usize];
    ["Offset of field: CUDA_KERNEL_NODE_PARAMS_v3_st::ctx"]
        [::core::mem::offset_of!(CUDA_KERNEL_NODE_PARAMS_v3, ctx) - 64usize];
};

impl Default for CUDA_KERNEL_NODE_PARAMS_v3 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_MEMSET_NODE_PARAMS {
    pub dst: CUdeviceptr,
    pub pitch: usize,
    pub value: u32,
    pub elementSize: u32,
    pub width: usize,
    pub height: usize,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_MEMSET_NODE_PARAMS_st"]
        [::core::mem::size_of::<CUDA_MEMSET_NODE_PARAMS>() - 40usize];
    ["Alignment of CUDA_MEMSET_NODE_PARAMS_st"]
        [::core::mem::align_of::<CUDA_MEMSET_NODE_PARAMS>() - 8usize];
    ["Offset of field: CUDA_MEMSET_NODE_PARAMS_st::dst"]
        [::core::mem::offset_of!(CUDA_MEMSET_NODE_PARAMS, dst) - 0usize];
    ["Offset of field: CUDA_MEMSET_NODE_PARAMS_st::pitch"]
        [::core::mem::offset_of!(CUDA_MEMSET_NODE_PARAMS, pitch) - 8usize];
    ["Offset of field: CUDA_MEMSET_NODE_PARAMS_st::value"]
        [::core::mem::offset_of!(CUDA_MEMSET_NODE_PARAMS, value) - 16usize];
    ["Offset of field: CUDA_MEMSET_NODE_PARAMS_st::elementSize"]
        [::core::mem::offset_of!(CUDA_MEMSET_NODE_PARAMS, elementSize) - 20usize];
    ["Offset of field: CUDA_MEMSET_NODE_PARAMS_st::width"]
        [::core::mem::offset_of!(CUDA_MEMSET_NODE_PARAMS, width) - 24usize];
    ["Offset of field: CUDA_MEMSET_NODE_PARAMS_st::height"]
        [::core::mem::offset_of!(CUDA_MEMSET_NODE_PARAMS, height) - 32usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_MEMSET_NODE_PARAMS_v2 {
    pub dst: CUdeviceptr,
    pub pitch: usize,
    pub value: u32,
    pub elementSize: u32,
    pub width: usize,
    pub height: usize,
    pub ctx: CUcontext,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_MEMSET_NODE_PARAMS_v2_st"]
        [::core::mem::size_of::<CUDA_MEMSET_NODE_PARAMS_v2>() - 48usize];
    ["Alignment of CUDA_MEMSET_NODE_PARAMS_v2_st"]
        [::core::mem::align_of::<CUDA_MEMSET_NODE_PARAMS_v2>() - 8usize];
    ["Offset of field: CUDA_MEMSET_NODE_PARAMS_v2_st::dst"]
        [::core::mem::offset_of!(CUDA_MEMSET_NODE_PARAMS_v2, dst) - 0usize];
    ["Offset of field: CUDA_MEMSET_NODE_PARAMS_v2_st::pitch"]
        [::core::mem::offset_of!(CUDA_MEMSET_NODE_PARAMS_v2, pitch) - 8usize];
    ["Offset of field: CUDA_MEMSET_NODE_PARAMS_v2_st::value"]
        [::core::mem::offset_of!(CUDA_MEMSET_NODE_PARAMS_v2, value) - 16usize];
    ["Offset of field: CUDA_MEMSET_NODE_PARAMS_v2_st::elementSize"]
        [::core::mem::offset_of!(CUDA_MEMSET_NODE_PARAMS_v2, elementSize) - 20usize];
    ["Offset of field: CUDA_MEMSET_NODE_PARAMS_v2_st::width"]
        [::core::mem::offset_of!(CUDA_MEMSET_NODE_PARAMS_v2, width) - 24usize];
    ["Offset of field: CUDA_MEMSET_NODE_PARAMS_v2_st::height"]
        [::core::mem::offset_of!(CUDA_MEMSET_NODE_PARAMS_v2, height) - 32usize];
    ["Offset of field: CUDA_MEMSET_NODE_PARAMS_v2_st::ctx"]
        [::core::mem::offset_of!(CUDA_MEMSET_NODE_PARAMS_v2, ctx) - 40usize];
};

impl Default for CUDA_MEMSET_NODE_PARAMS_v2 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_HOST_NODE_PARAMS {
    pub fn_: CUhostFn,
    pub userData: *mut c_void,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_HOST_NODE_PARAMS_st"][::core::mem::size_of::<CUDA_HOST_NODE_PARAMS>() - 16usize];
    ["Alignment of CUDA_HOST_NODE_PARAMS_st"]
        [::core::mem::align_of::<CUDA_HOST_NODE_PARAMS>() - 8usize];
    ["Offset of field: CUDA_HOST_NODE_PARAMS_st::fn_"]
        [::core::mem::offset_of!(CUDA_HOST_NODE_PARAMS, fn_) - 0usize];
    ["Offset of field: CUDA_HOST_NODE_PARAMS_st::userData"]
        [::core::mem::offset_of!(CUDA_HOST_NODE_PARAMS, userData) - 8usize];
};

impl Default for CUDA_HOST_NODE_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_HOST_NODE_PARAMS_v2 {
    pub fn_: CUhostFn,
    pub userData: *mut c_void,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_HOST_NODE_PARAMS_v2_st"]
        [::core::mem::size_of::<CUDA_HOST_NODE_PARAMS_v2>() - 16usize];
    ["Alignment of CUDA_HOST_NODE_PARAMS_v2_st"]
        [::core::mem::align_of::<CUDA_HOST_NODE_PARAMS_v2>() - 8usize];
    ["Offset of field: CUDA_HOST_NODE_PARAMS_v2_st::fn_"]
        [::core::mem::offset_of!(CUDA_HOST_NODE_PARAMS_v2, fn_) - 0usize];
    ["Offset of field: CUDA_HOST_NODE_PARAMS_v2_st::userData"]
        [::core::mem::offset_of!(CUDA_HOST_NODE_PARAMS_v2, userData) - 8usize];
};

impl Default for CUDA_HOST_NODE_PARAMS_v2 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUgraphConditionalNodeType {
    pub const CU_GRAPH_COND_TYPE_IF: CUgraphConditionalNodeType = CUgraphConditionalNodeType(0);
    pub const CU_GRAPH_COND_TYPE_WHILE: CUgraphConditionalNodeType = CUgraphConditionalNodeType(1);
    pub const CU_GRAPH_COND_TYPE_SWITCH: CUgraphConditionalNodeType = CUgraphConditionalNodeType(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUgraphConditionalNodeType(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_CONDITIONAL_NODE_PARAMS {
    pub handle: CUgraphConditionalHandle,
    pub type_: CUgraphConditionalNodeType,
    pub size: u32,
    pub phGraph_out: *mut CUgraph,
    pub ctx: CUcontext,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_CONDITIONAL_NODE_PARAMS"]
        [::core::mem::size_of::<CUDA_CONDITIONAL_NODE_PARAMS>() - 32usize];
    ["Alignment of CUDA_CONDITIONAL_NODE_PARAMS"]
        [::core::mem::align_of::<CUDA_CONDITIONAL_NODE_PARAMS>() - 8usize];
    ["Offset of field: CUDA_CONDITIONAL_NODE_PARAMS::handle"]
        [::core::mem::offset_of!(CUDA_CONDITIONAL_NODE_PARAMS, handle) - 0usize];
    ["Offset of field: CUDA_CONDITIONAL_NODE_PARAMS::type_"]
        [::core::mem::offset_of!(CUDA_CONDITIONAL_NODE_PARAMS, type_) - 8usize];
    ["Offset of field: CUDA_CONDITIONAL_NODE_PARAMS::size"]
        [::core::mem::offset_of!(CUDA_CONDITIONAL_NODE_PARAMS, size) - 12usize];
    ["Offset of field: CUDA_CONDITIONAL_NODE_PARAMS::phGraph_out"]
        [::core::mem::offset_of!(CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out) - 16usize];
    ["Offset of field: CUDA_CONDITIONAL_NODE_PARAMS::ctx"]
        [::core::mem::offset_of!(CUDA_CONDITIONAL_NODE_PARAMS, ctx) - 24usize];
};

impl Default for CUDA_CONDITIONAL_NODE_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUgraphNodeType {
    pub const CU_GRAPH_NODE_TYPE_KERNEL: CUgraphNodeType = CUgraphNodeType(0);
    pub const CU_GRAPH_NODE_TYPE_MEMCPY: CUgraphNodeType = CUgraphNodeType(1);
    pub const CU_GRAPH_NODE_TYPE_MEMSET: CUgraphNodeType = CUgraphNodeType(2);
    pub const CU_GRAPH_NODE_TYPE_HOST: CUgraphNodeType = CUgraphNodeType(3);
    pub const CU_GRAPH_NODE_TYPE_GRAPH: CUgraphNodeType = CUgraphNodeType(4);
    pub const CU_GRAPH_NODE_TYPE_EMPTY: CUgraphNodeType = CUgraphNodeType(5);
    pub const CU_GRAPH_NODE_TYPE_WAIT_EVENT: CUgraphNodeType = CUgraphNodeType(6);
    pub const CU_GRAPH_NODE_TYPE_EVENT_RECORD: CUgraphNodeType = CUgraphNodeType(7);
    pub const CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL: CUgraphNodeType = CUgraphNodeType(8);
    pub const CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: CUgraphNodeType = CUgraphNodeType(9);
    pub const CU_GRAPH_NODE_TYPE_MEM_ALLOC: CUgraphNodeType = CUgraphNodeType(10);
    pub const CU_GRAPH_NODE_TYPE_MEM_FREE: CUgraphNodeType = CUgraphNodeType(11);
    pub const CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: CUgraphNodeType = CUgraphNodeType(12);
    pub const CU_GRAPH_NODE_TYPE_CONDITIONAL: CUgraphNodeType = CUgraphNodeType(13);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUgraphNodeType(pub u32);

impl CUgraphDependencyType {
    pub const CU_GRAPH_DEPENDENCY_TYPE_DEFAULT: CUgraphDependencyType = CUgraphDependencyType(0);
    pub const CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC: CUgraphDependencyType =
        CUgraphDependencyType(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUgraphDependencyType(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUgraphEdgeData {
    pub from_port: u8,
    pub to_port: u8,
    pub type_: u8,
    pub reserved: [u8; 5],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUgraphEdgeData_st"][::core::mem::size_of::<CUgraphEdgeData>() - 8usize];
    ["Alignment of CUgraphEdgeData_st"][::core::mem::align_of::<CUgraphEdgeData>() - 1usize];
    ["Offset of field: CUgraphEdgeData_st::from_port"]
        [::core::mem::offset_of!(CUgraphEdgeData, from_port) - 0usize];
    ["Offset of field: CUgraphEdgeData_st::to_port"]
        [::core::mem::offset_of!(CUgraphEdgeData, to_port) - 1usize];
    ["Offset of field: CUgraphEdgeData_st::type_"]
        [::core::mem::offset_of!(CUgraphEdgeData, type_) - 2usize];
    ["Offset of field: CUgraphEdgeData_st::reserved"]
        [::core::mem::offset_of!(CUgraphEdgeData, reserved) - 3usize];
};

impl CUgraphInstantiateResult {
    pub const CUDA_GRAPH_INSTANTIATE_SUCCESS: CUgraphInstantiateResult =
        CUgraphInstantiateResult(0);
    pub const CUDA_GRAPH_INSTANTIATE_ERROR: CUgraphInstantiateResult = CUgraphInstantiateResult(1);
    pub const CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE: CUgraphInstantiateResult =
        CUgraphInstantiateResult(2);
    pub const CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED: CUgraphInstantiateResult =
        CUgraphInstantiateResult(3);
    pub const CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED: CUgraphInstantiateResult =
        CUgraphInstantiateResult(4);
    pub const CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED: CUgraphInstantiateResult =
        CUgraphInstantiateResult(5);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUgraphInstantiateResult(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_GRAPH_INSTANTIATE_PARAMS {
    pub flags: u64,
    pub hUploadStream: CUstream,
    pub hErrNode_out: CUgraphNode,
    pub result_out: CUgraphInstantiateResult,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_GRAPH_INSTANTIATE_PARAMS_st"]
        [::core::mem::size_of::<CUDA_GRAPH_INSTANTIATE_PARAMS>() - 32usize];
    ["Alignment of CUDA_GRAPH_INSTANTIATE_PARAMS_st"]
        [::core::mem::align_of::<CUDA_GRAPH_INSTANTIATE_PARAMS>() - 8usize];
    ["Offset of field: CUDA_GRAPH_INSTANTIATE_PARAMS_st::flags"]
        [::core::mem::offset_of!(CUDA_GRAPH_INSTANTIATE_PARAMS, flags) - 0usize];
    ["Offset of field: CUDA_GRAPH_INSTANTIATE_PARAMS_st::hUploadStream"]
        [::core::mem::offset_of!(CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream) - 8usize];
    ["Offset of field: CUDA_GRAPH_INSTANTIATE_PARAMS_st::hErrNode_out"]
        [::core::mem::offset_of!(CUDA_GRAPH_INSTANTIATE_PARAMS, hErrNode_out) - 16usize];
    ["Offset of field: CUDA_GRAPH_INSTANTIATE_PARAMS_st::result_out"]
        [::core::mem::offset_of!(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out) - 24usize];
};

impl Default for CUDA_GRAPH_INSTANTIATE_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUsynchronizationPolicy {
    pub const CU_SYNC_POLICY_AUTO: CUsynchronizationPolicy = CUsynchronizationPolicy(1);
    pub const CU_SYNC_POLICY_SPIN: CUsynchronizationPolicy = CUsynchronizationPolicy(2);
    pub const CU_SYNC_POLICY_YIELD: CUsynchronizationPolicy = CUsynchronizationPolicy(3);
    pub const CU_SYNC_POLICY_BLOCKING_SYNC: CUsynchronizationPolicy = CUsynchronizationPolicy(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUsynchronizationPolicy(pub u32);

impl CUclusterSchedulingPolicy {
    pub const CU_CLUSTER_SCHEDULING_POLICY_DEFAULT: CUclusterSchedulingPolicy =
        CUclusterSchedulingPolicy(0);
    pub const CU_CLUSTER_SCHEDULING_POLICY_SPREAD: CUclusterSchedulingPolicy =
        CUclusterSchedulingPolicy(1);
    pub const CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING: CUclusterSchedulingPolicy =
        CUclusterSchedulingPolicy(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUclusterSchedulingPolicy(pub u32);

impl CUlaunchMemSyncDomain {
    pub const CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT: CUlaunchMemSyncDomain = CUlaunchMemSyncDomain(0);
    pub const CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE: CUlaunchMemSyncDomain = CUlaunchMemSyncDomain(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUlaunchMemSyncDomain(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUlaunchMemSyncDomainMap {
    pub default_: u8,
    pub remote: u8,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUlaunchMemSyncDomainMap_st"]
        [::core::mem::size_of::<CUlaunchMemSyncDomainMap>() - 2usize];
    ["Alignment of CUlaunchMemSyncDomainMap_st"]
        [::core::mem::align_of::<CUlaunchMemSyncDomainMap>() - 1usize];
    ["Offset of field: CUlaunchMemSyncDomainMap_st::default_"]
        [::core::mem::offset_of!(CUlaunchMemSyncDomainMap, default_) - 0usize];
    ["Offset of field: CUlaunchMemSyncDomainMap_st::remote"]
        [::core::mem::offset_of!(CUlaunchMemSyncDomainMap, remote) - 1usize];
};

impl CUlaunchAttributeID {
    pub const CU_LAUNCH_ATTRIBUTE_IGNORE: CUlaunchAttributeID = CUlaunchAttributeID(0);
    pub const CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: CUlaunchAttributeID =
        CUlaunchAttributeID(1);
    pub const CU_LAUNCH_ATTRIBUTE_COOPERATIVE: CUlaunchAttributeID = CUlaunchAttributeID(2);
    pub const CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: CUlaunchAttributeID =
        CUlaunchAttributeID(3);
    pub const CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: CUlaunchAttributeID = CUlaunchAttributeID(4);
    pub const CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: CUlaunchAttributeID =
        CUlaunchAttributeID(5);
    pub const CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: CUlaunchAttributeID =
        CUlaunchAttributeID(6);
    pub const CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT: CUlaunchAttributeID = CUlaunchAttributeID(7);
    pub const CU_LAUNCH_ATTRIBUTE_PRIORITY: CUlaunchAttributeID = CUlaunchAttributeID(8);
    pub const CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: CUlaunchAttributeID = CUlaunchAttributeID(9);
    pub const CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: CUlaunchAttributeID = CUlaunchAttributeID(10);
    pub const CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: CUlaunchAttributeID =
        CUlaunchAttributeID(11);
    pub const CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: CUlaunchAttributeID =
        CUlaunchAttributeID(12);
    pub const CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE: CUlaunchAttributeID =
        CUlaunchAttributeID(13);
    pub const CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: CUlaunchAttributeID =
        CUlaunchAttributeID(14);
    pub const CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING: CUlaunchAttributeID =
        CUlaunchAttributeID(16);
    pub const CU_LAUNCH_ATTRIBUTE_MAX: CUlaunchAttributeID = CUlaunchAttributeID(17);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUlaunchAttributeID(pub u32);

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUstreamAttrValue {
    pub pad: [c_char; 64],
    pub accessPolicyWindow: CUaccessPolicyWindow,
    pub cooperative: i32,
    pub syncPolicy: CUsynchronizationPolicy,
    pub clusterDim: CUlaunchAttributeValue_union__bindgen_ty_1,
    pub clusterSchedulingPolicyPreference: CUclusterSchedulingPolicy,
    pub programmaticStreamSerializationAllowed: i32,
    pub programmaticEvent: CUlaunchAttributeValue_union__bindgen_ty_2,
    pub launchCompletionEvent: CUlaunchAttributeValue_union__bindgen_ty_3,
    pub priority: i32,
    pub memSyncDomainMap: CUlaunchMemSyncDomainMap,
    pub memSyncDomain: CUlaunchMemSyncDomain,
    pub preferredClusterDim: CUlaunchAttributeValue_union__bindgen_ty_4,
    pub deviceUpdatableKernelNode: CUlaunchAttributeValue_union__bindgen_ty_5,
    pub sharedMemCarveout: u32,
    pub nvlinkUtilCentricScheduling: u32,
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUlaunchAttributeValue_union__bindgen_ty_1 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUlaunchAttributeValue_union__bindgen_ty_1"]
        [::core::mem::size_of::<CUlaunchAttributeValue_union__bindgen_ty_1>() - 12usize];
    ["Alignment of CUlaunchAttributeValue_union__bindgen_ty_1"]
        [::core::mem::align_of::<CUlaunchAttributeValue_union__bindgen_ty_1>() - 4usize];
    ["Offset of field: CUlaunchAttributeValue_union__bindgen_ty_1::x"]
        [::core::mem::offset_of!(CUlaunchAttributeValue_union__bindgen_ty_1, x) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union__bindgen_ty_1::y"]
        [::core::mem::offset_of!(CUlaunchAttributeValue_union__bindgen_ty_1, y) - 4usize];
    ["Offset of field: CUlaunchAttributeValue_union__bindgen_ty_1::z"]
        [::core::mem::offset_of!(CUlaunchAttributeValue_union__bindgen_ty_1, z) - 8usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUlaunchAttributeValue_union__bindgen_ty_2 {
    pub event: CUevent,
    pub flags: i32,
    pub triggerAtBlockStart: i32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUlaunchAttributeValue_union__bindgen_ty_2"]
        [::core::mem::size_of::<CUlaunchAttributeValue_union__bindgen_ty_2>() - 16usize];
    ["Alignment of CUlaunchAttributeValue_union__bindgen_ty_2"]
        [::core::mem::align_of::<CUlaunchAttributeValue_union__bindgen_ty_2>() - 8usize];
    ["Offset of field: CUlaunchAttributeValue_union__bindgen_ty_2::event"]
        [::core::mem::offset_of!(CUlaunchAttributeValue_union__bindgen_ty_2, event) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union__bindgen_ty_2::flags"]
        [::core::mem::offset_of!(CUlaunchAttributeValue_union__bindgen_ty_2, flags) - 8usize];
    ["Offset of field: CUlaunchAttributeValue_union__bindgen_ty_2::triggerAtBlockStart"][::core::mem::offset_of!(
        CUlaunchAttributeValue_union__bindgen_ty_2,
        triggerAtBlockStart
    )
        - 12usize];
};

impl Default for CUlaunchAttributeValue_union__bindgen_ty_2 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUlaunchAttributeValue_union__bindgen_ty_3 {
    pub event: CUevent,
    pub flags: i32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUlaunchAttributeValue_union__bindgen_ty_3"]
        [::core::mem::size_of::<CUlaunchAttributeValue_union__bindgen_ty_3>() - 16usize];
    ["Alignment of CUlaunchAttributeValue_union__bindgen_ty_3"]
        [::core::mem::align_of::<CUlaunchAttributeValue_union__bindgen_ty_3>() - 8usize];
    ["Offset of field: CUlaunchAttributeValue_union__bindgen_ty_3::event"]
        [::core::mem::offset_of!(CUlaunchAttributeValue_union__bindgen_ty_3, event) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union__bindgen_ty_3::flags"]
        [::core::mem::offset_of!(CUlaunchAttributeValue_union__bindgen_ty_3, flags) - 8usize];
};

impl Default for CUlaunchAttributeValue_union__bindgen_ty_3 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUlaunchAttributeValue_union__bindgen_ty_4 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUlaunchAttributeValue_union__bindgen_ty_4"]
        [::core::mem::size_of::<CUlaunchAttributeValue_union__bindgen_ty_4>() - 12usize];
    ["Alignment of CUlaunchAttributeValue_union__bindgen_ty_4"]
        [::core::mem::align_of::<CUlaunchAttributeValue_union__bindgen_ty_4>() - 4usize];
    ["Offset of field: CUlaunchAttributeValue_union__bindgen_ty_4::x"]
        [::core::mem::offset_of!(CUlaunchAttributeValue_union__bindgen_ty_4, x) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union__bindgen_ty_4::y"]
        [::core::mem::offset_of!(CUlaunchAttributeValue_union__bindgen_ty_4, y) - 4usize];
    ["Offset of field: CUlaunchAttributeValue_union__bindgen_ty_4::z"]
        [::core::mem::offset_of!(CUlaunchAttributeValue_union__bindgen_ty_4, z) - 8usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUlaunchAttributeValue_union__bindgen_ty_5 {
    pub deviceUpdatable: i32,
    pub devNode: CUgraphDeviceNode,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUlaunchAttributeValue_union__bindgen_ty_5"]
        [::core::mem::size_of::<CUlaunchAttributeValue_union__bindgen_ty_5>() - 16usize];
    ["Alignment of CUlaunchAttributeValue_union__bindgen_ty_5"]
        [::core::mem::align_of::<CUlaunchAttributeValue_union__bindgen_ty_5>() - 8usize];
    ["Offset of field: CUlaunchAttributeValue_union__bindgen_ty_5::deviceUpdatable"][::core::mem::offset_of!(
        CUlaunchAttributeValue_union__bindgen_ty_5,
        deviceUpdatable
    ) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union__bindgen_ty_5::devNode"]
        [::core::mem::offset_of!(CUlaunchAttributeValue_union__bindgen_ty_5, devNode) - 8usize];
};

impl Default for CUlaunchAttributeValue_union__bindgen_ty_5 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUlaunchAttributeValue_union"][::core::mem::size_of::<CUstreamAttrValue>() - 64usize];
    ["Alignment of CUlaunchAttributeValue_union"]
        [::core::mem::align_of::<CUstreamAttrValue>() - 8usize];
    ["Offset of field: CUlaunchAttributeValue_union::pad"]
        [::core::mem::offset_of!(CUstreamAttrValue, pad) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::accessPolicyWindow"]
        [::core::mem::offset_of!(CUstreamAttrValue, accessPolicyWindow) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::cooperative"]
        [::core::mem::offset_of!(CUstreamAttrValue, cooperative) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::syncPolicy"]
        [::core::mem::offset_of!(CUstreamAttrValue, syncPolicy) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::clusterDim"]
        [::core::mem::offset_of!(CUstreamAttrValue, clusterDim) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::clusterSchedulingPolicyPreference"]
        [::core::mem::offset_of!(CUstreamAttrValue, clusterSchedulingPolicyPreference) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::programmaticStreamSerializationAllowed"][::core::mem::offset_of!(
        CUstreamAttrValue,
        programmaticStreamSerializationAllowed
    )
        - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::programmaticEvent"]
        [::core::mem::offset_of!(CUstreamAttrValue, programmaticEvent) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::launchCompletionEvent"]
        [::core::mem::offset_of!(CUstreamAttrValue, launchCompletionEvent) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::priority"]
        [::core::mem::offset_of!(CUstreamAttrValue, priority) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::memSyncDomainMap"]
        [::core::mem::offset_of!(CUstreamAttrValue, memSyncDomainMap) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::memSyncDomain"]
        [::core::mem::offset_of!(CUstreamAttrValue, memSyncDomain) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::preferredClusterDim"]
        [::core::mem::offset_of!(CUstreamAttrValue, preferredClusterDim) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::deviceUpdatableKernelNode"]
        [::core::mem::offset_of!(CUstreamAttrValue, deviceUpdatableKernelNode) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::sharedMemCarveout"]
        [::core::mem::offset_of!(CUstreamAttrValue, sharedMemCarveout) - 0usize];
    ["Offset of field: CUlaunchAttributeValue_union::nvlinkUtilCentricScheduling"]
        [::core::mem::offset_of!(CUstreamAttrValue, nvlinkUtilCentricScheduling) - 0usize];
};

impl Default for CUstreamAttrValue {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUlaunchAttribute {
    pub id: CUlaunchAttributeID,
    pub pad: [c_char; 4],
    pub value: CUstreamAttrValue,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUlaunchAttribute_st"][::core::mem::size_of::<CUlaunchAttribute>() - 72usize];
    ["Alignment of CUlaunchAttribute_st"][::core::mem::align_of::<CUlaunchAttribute>() - 8usize];
    ["Offset of field: CUlaunchAttribute_st::id"]
        [::core::mem::offset_of!(CUlaunchAttribute, id) - 0usize];
    ["Offset of field: CUlaunchAttribute_st::pad"]
        [::core::mem::offset_of!(CUlaunchAttribute, pad) - 4usize];
    ["Offset of field: CUlaunchAttribute_st::value"]
        [::core::mem::offset_of!(CUlaunchAttribute, value) - 8usize];
};

impl Default for CUlaunchAttribute {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUlaunchConfig {
    pub gridDimX: u32,
    pub gridDimY: u32,
    pub gridDimZ: u32,
    pub blockDimX: u32,
    pub blockDimY: u32,
    pub blockDimZ: u32,
    pub sharedMemBytes: u32,
    pub hStream: CUstream,
    pub attrs: *mut CUlaunchAttribute,
    pub numAttrs: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUlaunchConfig_st"][::core::mem::size_of::<CUlaunchConfig>() - 56usize];
    ["Alignment of CUlaunchConfig_st"][::core::mem::align_of::<CUlaunchConfig>() - 8usize];
    ["Offset of field: CUlaunchConfig_st::gridDimX"]
        [::core::mem::offset_of!(CUlaunchConfig, gridDimX) - 0usize];
    ["Offset of field: CUlaunchConfig_st::gridDimY"]
        [::core::mem::offset_of!(CUlaunchConfig, gridDimY) - 4usize];
    ["Offset of field: CUlaunchConfig_st::gridDimZ"]
        [::core::mem::offset_of!(CUlaunchConfig, gridDimZ) - 8usize];
    ["Offset of field: CUlaunchConfig_st::blockDimX"]
        [::core::mem::offset_of!(CUlaunchConfig, blockDimX) - 12usize];
    ["Offset of field: CUlaunchConfig_st::blockDimY"]
        [::core::mem::offset_of!(CUlaunchConfig, blockDimY) - 16usize];
    ["Offset of field: CUlaunchConfig_st::blockDimZ"]
        [::core::mem::offset_of!(CUlaunchConfig, blockDimZ) - 20usize];
    ["Offset of field: CUlaunchConfig_st::sharedMemBytes"]
        [::core::mem::offset_of!(CUlaunchConfig, sharedMemBytes) - 24usize];
    ["Offset of field: CUlaunchConfig_st::hStream"]
        [::core::mem::offset_of!(CUlaunchConfig, hStream) - 32usize];
    ["Offset of field: CUlaunchConfig_st::attrs"]
        [::core::mem::offset_of!(CUlaunchConfig, attrs) - 40usize];
    ["Offset of field: CUlaunchConfig_st::numAttrs"]
        [::core::mem::offset_of!(CUlaunchConfig, numAttrs) - 48usize];
};

impl Default for CUlaunchConfig {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

pub use self::CUlaunchAttributeID as CUkernelNodeAttrID;

impl CUstreamCaptureStatus {
    pub const CU_STREAM_CAPTURE_STATUS_NONE: CUstreamCaptureStatus = CUstreamCaptureStatus(0);
    pub const CU_STREAM_CAPTURE_STATUS_ACTIVE: CUstreamCaptureStatus = CUstreamCaptureStatus(1);
    pub const CU_STREAM_CAPTURE_STATUS_INVALIDATED: CUstreamCaptureStatus =
        CUstreamCaptureStatus(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUstreamCaptureStatus(pub u32);

impl CUstreamCaptureMode {
    pub const CU_STREAM_CAPTURE_MODE_GLOBAL: CUstreamCaptureMode = CUstreamCaptureMode(0);
    pub const CU_STREAM_CAPTURE_MODE_THREAD_LOCAL: CUstreamCaptureMode = CUstreamCaptureMode(1);
    pub const CU_STREAM_CAPTURE_MODE_RELAXED: CUstreamCaptureMode = CUstreamCaptureMode(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUstreamCaptureMode(pub u32);

pub use self::CUlaunchAttributeID as CUstreamAttrID;

impl CUdriverProcAddress_flags {
    pub const CU_GET_PROC_ADDRESS_DEFAULT: CUdriverProcAddress_flags = CUdriverProcAddress_flags(0);
    pub const CU_GET_PROC_ADDRESS_LEGACY_STREAM: CUdriverProcAddress_flags =
        CUdriverProcAddress_flags(1);
    pub const CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM: CUdriverProcAddress_flags =
        CUdriverProcAddress_flags(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUdriverProcAddress_flags(pub u32);

impl CUdriverProcAddressQueryResult {
    pub const CU_GET_PROC_ADDRESS_SUCCESS: CUdriverProcAddressQueryResult =
        CUdriverProcAddressQueryResult(0);
    pub const CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND: CUdriverProcAddressQueryResult =
        CUdriverProcAddressQueryResult(1);
    pub const CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT: CUdriverProcAddressQueryResult =
        CUdriverProcAddressQueryResult(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUdriverProcAddressQueryResult(pub u32);

impl CUexecAffinityType {
    pub const CU_EXEC_AFFINITY_TYPE_SM_COUNT: CUexecAffinityType = CUexecAffinityType(0);
    pub const CU_EXEC_AFFINITY_TYPE_MAX: CUexecAffinityType = CUexecAffinityType(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUexecAffinityType(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUexecAffinitySmCount {
    pub val: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUexecAffinitySmCount_st"][::core::mem::size_of::<CUexecAffinitySmCount>() - 4usize];
    ["Alignment of CUexecAffinitySmCount_st"]
        [::core::mem::align_of::<CUexecAffinitySmCount>() - 4usize];
    ["Offset of field: CUexecAffinitySmCount_st::val"]
        [::core::mem::offset_of!(CUexecAffinitySmCount, val) - 0usize];
};

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUexecAffinityParam {
    pub type_: CUexecAffinityType,
    pub param: CUexecAffinityParam_st__bindgen_ty_1,
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUexecAffinityParam_st__bindgen_ty_1 {
    pub smCount: CUexecAffinitySmCount,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUexecAffinityParam_st__bindgen_ty_1"]
        [::core::mem::size_of::<CUexecAffinityParam_st__bindgen_ty_1>() - 4usize];
    ["Alignment of CUexecAffinityParam_st__bindgen_ty_1"]
        [::core::mem::align_of::<CUexecAffinityParam_st__bindgen_ty_1>() - 4usize];
    ["Offset of field: CUexecAffinityParam_st__bindgen_ty_1::smCount"]
        [::core::mem::offset_of!(CUexecAffinityParam_st__bindgen_ty_1, smCount) - 0usize];
};

impl Default for CUexecAffinityParam_st__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUexecAffinityParam_st"][::core::mem::size_of::<CUexecAffinityParam>() - 8usize];
    ["Alignment of CUexecAffinityParam_st"]
        [::core::mem::align_of::<CUexecAffinityParam>() - 4usize];
    ["Offset of field: CUexecAffinityParam_st::type_"]
        [::core::mem::offset_of!(CUexecAffinityParam, type_) - 0usize];
    ["Offset of field: CUexecAffinityParam_st::param"]
        [::core::mem::offset_of!(CUexecAffinityParam, param) - 4usize];
};

impl Default for CUexecAffinityParam {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUcigDataType {
    pub const CIG_DATA_TYPE_D3D12_COMMAND_QUEUE: CUcigDataType = CUcigDataType(1);
    pub const CIG_DATA_TYPE_NV_BLOB: CUcigDataType = CUcigDataType(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUcigDataType(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUctxCigParam {
    pub sharedDataType: CUcigDataType,
    pub sharedData: *mut c_void,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUctxCigParam_st"][::core::mem::size_of::<CUctxCigParam>() - 16usize];
    ["Alignment of CUctxCigParam_st"][::core::mem::align_of::<CUctxCigParam>() - 8usize];
    ["Offset of field: CUctxCigParam_st::sharedDataType"]
        [::core::mem::offset_of!(CUctxCigParam, sharedDataType) - 0usize];
    ["Offset of field: CUctxCigParam_st::sharedData"]
        [::core::mem::offset_of!(CUctxCigParam, sharedData) - 8usize];
};

impl Default for CUctxCigParam {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUctxCreateParams {
    pub execAffinityParams: *mut CUexecAffinityParam,
    pub numExecAffinityParams: i32,
    pub cigParams: *mut CUctxCigParam,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUctxCreateParams_st"][::core::mem::size_of::<CUctxCreateParams>() - 24usize];
    ["Alignment of CUctxCreateParams_st"][::core::mem::align_of::<CUctxCreateParams>() - 8usize];
    ["Offset of field: CUctxCreateParams_st::execAffinityParams"]
        [::core::mem::offset_of!(CUctxCreateParams, execAffinityParams) - 0usize];
    ["Offset of field: CUctxCreateParams_st::numExecAffinityParams"]
        [::core::mem::offset_of!(CUctxCreateParams, numExecAffinityParams) - 8usize];
    ["Offset of field: CUctxCreateParams_st::cigParams"]
        [::core::mem::offset_of!(CUctxCreateParams, cigParams) - 16usize];
};

impl Default for CUctxCreateParams {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUlibraryOption {
    pub const CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE: CUlibraryOption =
        CUlibraryOption(0);
    pub const CU_LIBRARY_BINARY_IS_PRESERVED: CUlibraryOption = CUlibraryOption(1);
    pub const CU_LIBRARY_NUM_OPTIONS: CUlibraryOption = CUlibraryOption(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUlibraryOption(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUlibraryHostUniversalFunctionAndDataTable {
    pub functionTable: *mut c_void,
    pub functionWindowSize: usize,
    pub dataTable: *mut c_void,
    pub dataWindowSize: usize,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUlibraryHostUniversalFunctionAndDataTable_st"]
        [::core::mem::size_of::<CUlibraryHostUniversalFunctionAndDataTable>() - 32usize];
    ["Alignment of CUlibraryHostUniversalFunctionAndDataTable_st"]
        [::core::mem::align_of::<CUlibraryHostUniversalFunctionAndDataTable>() - 8usize];
    ["Offset of field: CUlibraryHostUniversalFunctionAndDataTable_st::functionTable"][::core::mem::offset_of!(
        CUlibraryHostUniversalFunctionAndDataTable,
        functionTable
    ) - 0usize];
    ["Offset of field: CUlibraryHostUniversalFunctionAndDataTable_st::functionWindowSize"][::core::mem::offset_of!(
        CUlibraryHostUniversalFunctionAndDataTable,
        functionWindowSize
    )
        - 8usize];
    ["Offset of field: CUlibraryHostUniversalFunctionAndDataTable_st::dataTable"]
        [::core::mem::offset_of!(CUlibraryHostUniversalFunctionAndDataTable, dataTable) - 16usize];
    ["Offset of field: CUlibraryHostUniversalFunctionAndDataTable_st::dataWindowSize"][::core::mem::offset_of!(
        CUlibraryHostUniversalFunctionAndDataTable,
        dataWindowSize
    ) - 24usize];
};

impl Default for CUlibraryHostUniversalFunctionAndDataTable {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUresult {
    pub const CUDA_SUCCESS: CUresult = CUresult(0);
    pub const CUDA_ERROR_INVALID_VALUE: CUresult = CUresult(1);
    pub const CUDA_ERROR_OUT_OF_MEMORY: CUresult = CUresult(2);
    pub const CUDA_ERROR_NOT_INITIALIZED: CUresult = CUresult(3);
    pub const CUDA_ERROR_DEINITIALIZED: CUresult = CUresult(4);
    pub const CUDA_ERROR_PROFILER_DISABLED: CUresult = CUresult(5);
    pub const CUDA_ERROR_PROFILER_NOT_INITIALIZED: CUresult = CUresult(6);
    pub const CUDA_ERROR_PROFILER_ALREADY_STARTED: CUresult = CUresult(7);
    pub const CUDA_ERROR_PROFILER_ALREADY_STOPPED: CUresult = CUresult(8);
    pub const CUDA_ERROR_STUB_LIBRARY: CUresult = CUresult(34);
    pub const CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER: CUresult = CUresult(36);
    pub const CUDA_ERROR_DEVICE_UNAVAILABLE: CUresult = CUresult(46);
    pub const CUDA_ERROR_NO_DEVICE: CUresult = CUresult(100);
    pub const CUDA_ERROR_INVALID_DEVICE: CUresult = CUresult(101);
    pub const CUDA_ERROR_DEVICE_NOT_LICENSED: CUresult = CUresult(102);
    pub const CUDA_ERROR_INVALID_IMAGE: CUresult = CUresult(200);
    pub const CUDA_ERROR_INVALID_CONTEXT: CUresult = CUresult(201);
    pub const CUDA_ERROR_CONTEXT_ALREADY_CURRENT: CUresult = CUresult(202);
    pub const CUDA_ERROR_MAP_FAILED: CUresult = CUresult(205);
    pub const CUDA_ERROR_UNMAP_FAILED: CUresult = CUresult(206);
    pub const CUDA_ERROR_ARRAY_IS_MAPPED: CUresult = CUresult(207);
    pub const CUDA_ERROR_ALREADY_MAPPED: CUresult = CUresult(208);
    pub const CUDA_ERROR_NO_BINARY_FOR_GPU: CUresult = CUresult(209);
    pub const CUDA_ERROR_ALREADY_ACQUIRED: CUresult = CUresult(210);
    pub const CUDA_ERROR_NOT_MAPPED: CUresult = CUresult(211);
    pub const CUDA_ERROR_NOT_MAPPED_AS_ARRAY: CUresult = CUresult(212);
    pub const CUDA_ERROR_NOT_MAPPED_AS_POINTER: CUresult = CUresult(213);
    pub const CUDA_ERROR_ECC_UNCORRECTABLE: CUresult = CUresult(214);
    pub const CUDA_ERROR_UNSUPPORTED_LIMIT: CUresult = CUresult(215);
    pub const CUDA_ERROR_CONTEXT_ALREADY_IN_USE: CUresult = CUresult(216);
    pub const CUDA_ERROR_PEER_ACCESS_UNSUPPORTED: CUresult = CUresult(217);
    pub const CUDA_ERROR_INVALID_PTX: CUresult = CUresult(218);
    pub const CUDA_ERROR_INVALID_GRAPHICS_CONTEXT: CUresult = CUresult(219);
    pub const CUDA_ERROR_NVLINK_UNCORRECTABLE: CUresult = CUresult(220);
    pub const CUDA_ERROR_JIT_COMPILER_NOT_FOUND: CUresult = CUresult(221);
    pub const CUDA_ERROR_UNSUPPORTED_PTX_VERSION: CUresult = CUresult(222);
    pub const CUDA_ERROR_JIT_COMPILATION_DISABLED: CUresult = CUresult(223);
    pub const CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY: CUresult = CUresult(224);
    pub const CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC: CUresult = CUresult(225);
    pub const CUDA_ERROR_CONTAINED: CUresult = CUresult(226);
    pub const CUDA_ERROR_INVALID_SOURCE: CUresult = CUresult(300);
    pub const CUDA_ERROR_FILE_NOT_FOUND: CUresult = CUresult(301);
    pub const CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND: CUresult = CUresult(302);
    pub const CUDA_ERROR_SHARED_OBJECT_INIT_FAILED: CUresult = CUresult(303);
    pub const CUDA_ERROR_OPERATING_SYSTEM: CUresult = CUresult(304);
    pub const CUDA_ERROR_INVALID_HANDLE: CUresult = CUresult(400);
    pub const CUDA_ERROR_ILLEGAL_STATE: CUresult = CUresult(401);
    pub const CUDA_ERROR_LOSSY_QUERY: CUresult = CUresult(402);
    pub const CUDA_ERROR_NOT_FOUND: CUresult = CUresult(500);
    pub const CUDA_ERROR_NOT_READY: CUresult = CUresult(600);
    pub const CUDA_ERROR_ILLEGAL_ADDRESS: CUresult = CUresult(700);
    pub const CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: CUresult = CUresult(701);
    pub const CUDA_ERROR_LAUNCH_TIMEOUT: CUresult = CUresult(702);
    pub const CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING: CUresult = CUresult(703);
    pub const CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED: CUresult = CUresult(704);
    pub const CUDA_ERROR_PEER_ACCESS_NOT_ENABLED: CUresult = CUresult(705);
    pub const CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE: CUresult = CUresult(708);
    pub const CUDA_ERROR_CONTEXT_IS_DESTROYED: CUresult = CUresult(709);
    pub const CUDA_ERROR_ASSERT: CUresult = CUresult(710);
    pub const CUDA_ERROR_TOO_MANY_PEERS: CUresult = CUresult(711);
    pub const CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED: CUresult = CUresult(712);
    pub const CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED: CUresult = CUresult(713);
    pub const CUDA_ERROR_HARDWARE_STACK_ERROR: CUresult = CUresult(714);
    pub const CUDA_ERROR_ILLEGAL_INSTRUCTION: CUresult = CUresult(715);
    pub const CUDA_ERROR_MISALIGNED_ADDRESS: CUresult = CUresult(716);
    pub const CUDA_ERROR_INVALID_ADDRESS_SPACE: CUresult = CUresult(717);
    pub const CUDA_ERROR_INVALID_PC: CUresult = CUresult(718);
    pub const CUDA_ERROR_LAUNCH_FAILED: CUresult = CUresult(719);
    pub const CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: CUresult = CUresult(720);
    pub const CUDA_ERROR_TENSOR_MEMORY_LEAK: CUresult = CUresult(721);
    pub const CUDA_ERROR_NOT_PERMITTED: CUresult = CUresult(800);
    pub const CUDA_ERROR_NOT_SUPPORTED: CUresult = CUresult(801);
    pub const CUDA_ERROR_SYSTEM_NOT_READY: CUresult = CUresult(802);
    pub const CUDA_ERROR_SYSTEM_DRIVER_MISMATCH: CUresult = CUresult(803);
    pub const CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: CUresult = CUresult(804);
    pub const CUDA_ERROR_MPS_CONNECTION_FAILED: CUresult = CUresult(805);
    pub const CUDA_ERROR_MPS_RPC_FAILURE: CUresult = CUresult(806);
    pub const CUDA_ERROR_MPS_SERVER_NOT_READY: CUresult = CUresult(807);
    pub const CUDA_ERROR_MPS_MAX_CLIENTS_REACHED: CUresult = CUresult(808);
    pub const CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED: CUresult = CUresult(809);
    pub const CUDA_ERROR_MPS_CLIENT_TERMINATED: CUresult = CUresult(810);
    pub const CUDA_ERROR_CDP_NOT_SUPPORTED: CUresult = CUresult(811);
    pub const CUDA_ERROR_CDP_VERSION_MISMATCH: CUresult = CUresult(812);
    pub const CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED: CUresult = CUresult(900);
    pub const CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: CUresult = CUresult(901);
    pub const CUDA_ERROR_STREAM_CAPTURE_MERGE: CUresult = CUresult(902);
    pub const CUDA_ERROR_STREAM_CAPTURE_UNMATCHED: CUresult = CUresult(903);
    pub const CUDA_ERROR_STREAM_CAPTURE_UNJOINED: CUresult = CUresult(904);
    pub const CUDA_ERROR_STREAM_CAPTURE_ISOLATION: CUresult = CUresult(905);
    pub const CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: CUresult = CUresult(906);
    pub const CUDA_ERROR_CAPTURED_EVENT: CUresult = CUresult(907);
    pub const CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD: CUresult = CUresult(908);
    pub const CUDA_ERROR_TIMEOUT: CUresult = CUresult(909);
    pub const CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE: CUresult = CUresult(910);
    pub const CUDA_ERROR_EXTERNAL_DEVICE: CUresult = CUresult(911);
    pub const CUDA_ERROR_INVALID_CLUSTER_SIZE: CUresult = CUresult(912);
    pub const CUDA_ERROR_FUNCTION_NOT_LOADED: CUresult = CUresult(913);
    pub const CUDA_ERROR_INVALID_RESOURCE_TYPE: CUresult = CUresult(914);
    pub const CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION: CUresult = CUresult(915);
    pub const CUDA_ERROR_KEY_ROTATION: CUresult = CUresult(916);
    pub const CUDA_ERROR_UNKNOWN: CUresult = CUresult(999);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUresult(pub u32);

impl CUdevice_P2PAttribute {
    pub const CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: CUdevice_P2PAttribute =
        CUdevice_P2PAttribute(1);
    pub const CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED: CUdevice_P2PAttribute =
        CUdevice_P2PAttribute(2);
    pub const CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED: CUdevice_P2PAttribute =
        CUdevice_P2PAttribute(3);
    pub const CU_DEVICE_P2P_ATTRIBUTE_ACCESS_ACCESS_SUPPORTED: CUdevice_P2PAttribute =
        CUdevice_P2PAttribute(4);
    pub const CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED: CUdevice_P2PAttribute =
        CUdevice_P2PAttribute(4);
    pub const CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED: CUdevice_P2PAttribute =
        CUdevice_P2PAttribute(5);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUdevice_P2PAttribute(pub u32);

impl CUatomicOperation {
    pub const CU_ATOMIC_OPERATION_INTEGER_ADD: CUatomicOperation = CUatomicOperation(0);
    pub const CU_ATOMIC_OPERATION_INTEGER_MIN: CUatomicOperation = CUatomicOperation(1);
    pub const CU_ATOMIC_OPERATION_INTEGER_MAX: CUatomicOperation = CUatomicOperation(2);
    pub const CU_ATOMIC_OPERATION_INTEGER_INCREMENT: CUatomicOperation = CUatomicOperation(3);
    pub const CU_ATOMIC_OPERATION_INTEGER_DECREMENT: CUatomicOperation = CUatomicOperation(4);
    pub const CU_ATOMIC_OPERATION_AND: CUatomicOperation = CUatomicOperation(5);
    pub const CU_ATOMIC_OPERATION_OR: CUatomicOperation = CUatomicOperation(6);
    pub const CU_ATOMIC_OPERATION_XOR: CUatomicOperation = CUatomicOperation(7);
    pub const CU_ATOMIC_OPERATION_EXCHANGE: CUatomicOperation = CUatomicOperation(8);
    pub const CU_ATOMIC_OPERATION_CAS: CUatomicOperation = CUatomicOperation(9);
    pub const CU_ATOMIC_OPERATION_FLOAT_ADD: CUatomicOperation = CUatomicOperation(10);
    pub const CU_ATOMIC_OPERATION_FLOAT_MIN: CUatomicOperation = CUatomicOperation(11);
    pub const CU_ATOMIC_OPERATION_FLOAT_MAX: CUatomicOperation = CUatomicOperation(12);
    pub const CU_ATOMIC_OPERATION_MAX: CUatomicOperation = CUatomicOperation(13);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUatomicOperation(pub u32);

impl CUatomicOperationCapability {
    pub const CU_ATOMIC_CAPABILITY_SIGNED: CUatomicOperationCapability =
        CUatomicOperationCapability(1);
    pub const CU_ATOMIC_CAPABILITY_UNSIGNED: CUatomicOperationCapability =
        CUatomicOperationCapability(2);
    pub const CU_ATOMIC_CAPABILITY_REDUCTION: CUatomicOperationCapability =
        CUatomicOperationCapability(4);
    pub const CU_ATOMIC_CAPABILITY_SCALAR_32: CUatomicOperationCapability =
        CUatomicOperationCapability(8);
    pub const CU_ATOMIC_CAPABILITY_SCALAR_64: CUatomicOperationCapability =
        CUatomicOperationCapability(16);
    pub const CU_ATOMIC_CAPABILITY_SCALAR_128: CUatomicOperationCapability =
        CUatomicOperationCapability(32);
    pub const CU_ATOMIC_CAPABILITY_VECTOR_32x4: CUatomicOperationCapability =
        CUatomicOperationCapability(64);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUatomicOperationCapability(pub u32);

pub type CUstreamCallback = ::core::option::Option<
    unsafe extern "C" fn(hStream: CUstream, status: CUresult, userData: *mut c_void),
>;

pub type CUoccupancyB2DSize = ::core::option::Option<unsafe extern "C" fn(blockSize: i32) -> usize>;

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_MEMCPY2D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: CUarray,
    pub srcPitch: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: CUarray,
    pub dstPitch: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_MEMCPY2D_st"][::core::mem::size_of::<CUDA_MEMCPY2D>() - 128usize];
    ["Alignment of CUDA_MEMCPY2D_st"][::core::mem::align_of::<CUDA_MEMCPY2D>() - 8usize];
    ["Offset of field: CUDA_MEMCPY2D_st::srcXInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, srcXInBytes) - 0usize];
    ["Offset of field: CUDA_MEMCPY2D_st::srcY"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, srcY) - 8usize];
    ["Offset of field: CUDA_MEMCPY2D_st::srcMemoryType"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, srcMemoryType) - 16usize];
    ["Offset of field: CUDA_MEMCPY2D_st::srcHost"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, srcHost) - 24usize];
    ["Offset of field: CUDA_MEMCPY2D_st::srcDevice"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, srcDevice) - 32usize];
    ["Offset of field: CUDA_MEMCPY2D_st::srcArray"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, srcArray) - 40usize];
    ["Offset of field: CUDA_MEMCPY2D_st::srcPitch"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, srcPitch) - 48usize];
    ["Offset of field: CUDA_MEMCPY2D_st::dstXInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, dstXInBytes) - 56usize];
    ["Offset of field: CUDA_MEMCPY2D_st::dstY"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, dstY) - 64usize];
    ["Offset of field: CUDA_MEMCPY2D_st::dstMemoryType"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, dstMemoryType) - 72usize];
    ["Offset of field: CUDA_MEMCPY2D_st::dstHost"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, dstHost) - 80usize];
    ["Offset of field: CUDA_MEMCPY2D_st::dstDevice"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, dstDevice) - 88usize];
    ["Offset of field: CUDA_MEMCPY2D_st::dstArray"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, dstArray) - 96usize];
    ["Offset of field: CUDA_MEMCPY2D_st::dstPitch"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, dstPitch) - 104usize];
    ["Offset of field: CUDA_MEMCPY2D_st::WidthInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, WidthInBytes) - 112usize];
    ["Offset of field: CUDA_MEMCPY2D_st::Height"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D, Height) - 120usize];
};

impl Default for CUDA_MEMCPY2D {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_MEMCPY3D {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcZ: usize,
    pub srcLOD: usize,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: CUarray,
    pub reserved0: *mut c_void,
    pub srcPitch: usize,
    pub srcHeight: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstZ: usize,
    pub dstLOD: usize,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: CUarray,
    pub reserved1: *mut c_void,
    pub dstPitch: usize,
    pub dstHeight: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
    pub Depth: usize,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_MEMCPY3D_st"][::core::mem::size_of::<CUDA_MEMCPY3D>() - 200usize];
    ["Alignment of CUDA_MEMCPY3D_st"][::core::mem::align_of::<CUDA_MEMCPY3D>() - 8usize];
    ["Offset of field: CUDA_MEMCPY3D_st::srcXInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, srcXInBytes) - 0usize];
    ["Offset of field: CUDA_MEMCPY3D_st::srcY"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, srcY) - 8usize];
    ["Offset of field: CUDA_MEMCPY3D_st::srcZ"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, srcZ) - 16usize];
    ["Offset of field: CUDA_MEMCPY3D_st::srcLOD"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, srcLOD) - 24usize];
    ["Offset of field: CUDA_MEMCPY3D_st::srcMemoryType"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, srcMemoryType) - 32usize];
    ["Offset of field: CUDA_MEMCPY3D_st::srcHost"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, srcHost) - 40usize];
    ["Offset of field: CUDA_MEMCPY3D_st::srcDevice"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, srcDevice) - 48usize];
    ["Offset of field: CUDA_MEMCPY3D_st::srcArray"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, srcArray) - 56usize];
    ["Offset of field: CUDA_MEMCPY3D_st::reserved0"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, reserved0) - 64usize];
    ["Offset of field: CUDA_MEMCPY3D_st::srcPitch"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, srcPitch) - 72usize];
    ["Offset of field: CUDA_MEMCPY3D_st::srcHeight"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, srcHeight) - 80usize];
    ["Offset of field: CUDA_MEMCPY3D_st::dstXInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, dstXInBytes) - 88usize];
    ["Offset of field: CUDA_MEMCPY3D_st::dstY"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, dstY) - 96usize];
    ["Offset of field: CUDA_MEMCPY3D_st::dstZ"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, dstZ) - 104usize];
    ["Offset of field: CUDA_MEMCPY3D_st::dstLOD"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, dstLOD) - 112usize];
    ["Offset of field: CUDA_MEMCPY3D_st::dstMemoryType"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, dstMemoryType) - 120usize];
    ["Offset of field: CUDA_MEMCPY3D_st::dstHost"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, dstHost) - 128usize];
    ["Offset of field: CUDA_MEMCPY3D_st::dstDevice"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, dstDevice) - 136usize];
    ["Offset of field: CUDA_MEMCPY3D_st::dstArray"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, dstArray) - 144usize];
    ["Offset of field: CUDA_MEMCPY3D_st::reserved1"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, reserved1) - 152usize];
    ["Offset of field: CUDA_MEMCPY3D_st::dstPitch"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, dstPitch) - 160usize];
    ["Offset of field: CUDA_MEMCPY3D_st::dstHeight"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, dstHeight) - 168usize];
    ["Offset of field: CUDA_MEMCPY3D_st::WidthInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, WidthInBytes) - 176usize];
    ["Offset of field: CUDA_MEMCPY3D_st::Height"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, Height) - 184usize];
    ["Offset of field: CUDA_MEMCPY3D_st::Depth"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D, Depth) - 192usize];
};

impl Default for CUDA_MEMCPY3D {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_MEMCPY3D_PEER {
    pub srcXInBytes: usize,
    pub srcY: usize,
    pub srcZ: usize,
    pub srcLOD: usize,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr,
    pub srcArray: CUarray,
    pub srcContext: CUcontext,
    pub srcPitch: usize,
    pub srcHeight: usize,
    pub dstXInBytes: usize,
    pub dstY: usize,
    pub dstZ: usize,
    pub dstLOD: usize,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr,
    pub dstArray: CUarray,
    pub dstContext: CUcontext,
    pub dstPitch: usize,
    pub dstHeight: usize,
    pub WidthInBytes: usize,
    pub Height: usize,
    pub Depth: usize,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_MEMCPY3D_PEER_st"][::core::mem::size_of::<CUDA_MEMCPY3D_PEER>() - 200usize];
    ["Alignment of CUDA_MEMCPY3D_PEER_st"][::core::mem::align_of::<CUDA_MEMCPY3D_PEER>() - 8usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::srcXInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, srcXInBytes) - 0usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::srcY"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, srcY) - 8usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::srcZ"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, srcZ) - 16usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::srcLOD"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, srcLOD) - 24usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::srcMemoryType"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, srcMemoryType) - 32usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::srcHost"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, srcHost) - 40usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::srcDevice"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, srcDevice) - 48usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::srcArray"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, srcArray) - 56usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::srcContext"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, srcContext) - 64usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::srcPitch"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, srcPitch) - 72usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::srcHeight"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, srcHeight) - 80usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::dstXInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, dstXInBytes) - 88usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::dstY"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, dstY) - 96usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::dstZ"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, dstZ) - 104usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::dstLOD"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, dstLOD) - 112usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::dstMemoryType"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, dstMemoryType) - 120usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::dstHost"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, dstHost) - 128usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::dstDevice"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, dstDevice) - 136usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::dstArray"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, dstArray) - 144usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::dstContext"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, dstContext) - 152usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::dstPitch"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, dstPitch) - 160usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::dstHeight"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, dstHeight) - 168usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::WidthInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, WidthInBytes) - 176usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::Height"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, Height) - 184usize];
    ["Offset of field: CUDA_MEMCPY3D_PEER_st::Depth"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_PEER, Depth) - 192usize];
};

impl Default for CUDA_MEMCPY3D_PEER {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_MEMCPY_NODE_PARAMS {
    pub flags: i32,
    pub reserved: i32,
    pub copyCtx: CUcontext,
    pub copyParams: CUDA_MEMCPY3D,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_MEMCPY_NODE_PARAMS_st"]
        [::core::mem::size_of::<CUDA_MEMCPY_NODE_PARAMS>() - 216usize];
    ["Alignment of CUDA_MEMCPY_NODE_PARAMS_st"]
        [::core::mem::align_of::<CUDA_MEMCPY_NODE_PARAMS>() - 8usize];
    ["Offset of field: CUDA_MEMCPY_NODE_PARAMS_st::flags"]
        [::core::mem::offset_of!(CUDA_MEMCPY_NODE_PARAMS, flags) - 0usize];
    ["Offset of field: CUDA_MEMCPY_NODE_PARAMS_st::reserved"]
        [::core::mem::offset_of!(CUDA_MEMCPY_NODE_PARAMS, reserved) - 4usize];
    ["Offset of field: CUDA_MEMCPY_NODE_PARAMS_st::copyCtx"]
        [::core::mem::offset_of!(CUDA_MEMCPY_NODE_PARAMS, copyCtx) - 8usize];
    ["Offset of field: CUDA_MEMCPY_NODE_PARAMS_st::copyParams"]
        [::core::mem::offset_of!(CUDA_MEMCPY_NODE_PARAMS, copyParams) - 16usize];
};

impl Default for CUDA_MEMCPY_NODE_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_ARRAY_DESCRIPTOR {
    pub Width: usize,
    pub Height: usize,
    pub Format: CUarray_format,
    pub NumChannels: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_ARRAY_DESCRIPTOR_st"][::core::mem::size_of::<CUDA_ARRAY_DESCRIPTOR>() - 24usize];
    ["Alignment of CUDA_ARRAY_DESCRIPTOR_st"]
        [::core::mem::align_of::<CUDA_ARRAY_DESCRIPTOR>() - 8usize];
    ["Offset of field: CUDA_ARRAY_DESCRIPTOR_st::Width"]
        [::core::mem::offset_of!(CUDA_ARRAY_DESCRIPTOR, Width) - 0usize];
    ["Offset of field: CUDA_ARRAY_DESCRIPTOR_st::Height"]
        [::core::mem::offset_of!(CUDA_ARRAY_DESCRIPTOR, Height) - 8usize];
    ["Offset of field: CUDA_ARRAY_DESCRIPTOR_st::Format"]
        [::core::mem::offset_of!(CUDA_ARRAY_DESCRIPTOR, Format) - 16usize];
    ["Offset of field: CUDA_ARRAY_DESCRIPTOR_st::NumChannels"]
        [::core::mem::offset_of!(CUDA_ARRAY_DESCRIPTOR, NumChannels) - 20usize];
};

impl Default for CUDA_ARRAY_DESCRIPTOR {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_ARRAY3D_DESCRIPTOR {
    pub Width: usize,
    pub Height: usize,
    pub Depth: usize,
    pub Format: CUarray_format,
    pub NumChannels: u32,
    pub Flags: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_ARRAY3D_DESCRIPTOR_st"]
        [::core::mem::size_of::<CUDA_ARRAY3D_DESCRIPTOR>() - 40usize];
    ["Alignment of CUDA_ARRAY3D_DESCRIPTOR_st"]
        [::core::mem::align_of::<CUDA_ARRAY3D_DESCRIPTOR>() - 8usize];
    ["Offset of field: CUDA_ARRAY3D_DESCRIPTOR_st::Width"]
        [::core::mem::offset_of!(CUDA_ARRAY3D_DESCRIPTOR, Width) - 0usize];
    ["Offset of field: CUDA_ARRAY3D_DESCRIPTOR_st::Height"]
        [::core::mem::offset_of!(CUDA_ARRAY3D_DESCRIPTOR, Height) - 8usize];
    ["Offset of field: CUDA_ARRAY3D_DESCRIPTOR_st::Depth"]
        [::core::mem::offset_of!(CUDA_ARRAY3D_DESCRIPTOR, Depth) - 16usize];
    ["Offset of field: CUDA_ARRAY3D_DESCRIPTOR_st::Format"]
        [::core::mem::offset_of!(CUDA_ARRAY3D_DESCRIPTOR, Format) - 24usize];
    ["Offset of field: CUDA_ARRAY3D_DESCRIPTOR_st::NumChannels"]
        [::core::mem::offset_of!(CUDA_ARRAY3D_DESCRIPTOR, NumChannels) - 28usize];
    ["Offset of field: CUDA_ARRAY3D_DESCRIPTOR_st::Flags"]
        [::core::mem::offset_of!(CUDA_ARRAY3D_DESCRIPTOR, Flags) - 32usize];
};

impl Default for CUDA_ARRAY3D_DESCRIPTOR {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_ARRAY_SPARSE_PROPERTIES {
    pub tileExtent: CUDA_ARRAY_SPARSE_PROPERTIES_st__bindgen_ty_1,
    pub miptailFirstLevel: u32,
    pub miptailSize: u64,
    pub flags: u32,
    pub reserved: [u32; 4],
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_ARRAY_SPARSE_PROPERTIES_st__bindgen_ty_1 {
    pub width: u32,
    pub height: u32,
    pub depth: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_ARRAY_SPARSE_PROPERTIES_st__bindgen_ty_1"]
        [::core::mem::size_of::<CUDA_ARRAY_SPARSE_PROPERTIES_st__bindgen_ty_1>() - 12usize];
    ["Alignment of CUDA_ARRAY_SPARSE_PROPERTIES_st__bindgen_ty_1"]
        [::core::mem::align_of::<CUDA_ARRAY_SPARSE_PROPERTIES_st__bindgen_ty_1>() - 4usize];
    ["Offset of field: CUDA_ARRAY_SPARSE_PROPERTIES_st__bindgen_ty_1::width"]
        [::core::mem::offset_of!(CUDA_ARRAY_SPARSE_PROPERTIES_st__bindgen_ty_1, width) - 0usize];
    ["Offset of field: CUDA_ARRAY_SPARSE_PROPERTIES_st__bindgen_ty_1::height"]
        [::core::mem::offset_of!(CUDA_ARRAY_SPARSE_PROPERTIES_st__bindgen_ty_1, height) - 4usize];
    ["Offset of field: CUDA_ARRAY_SPARSE_PROPERTIES_st__bindgen_ty_1::depth"]
        [::core::mem::offset_of!(CUDA_ARRAY_SPARSE_PROPERTIES_st__bindgen_ty_1, depth) - 8usize];
};

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_ARRAY_SPARSE_PROPERTIES_st"]
        [::core::mem::size_of::<CUDA_ARRAY_SPARSE_PROPERTIES>() - 48usize];
    ["Alignment of CUDA_ARRAY_SPARSE_PROPERTIES_st"]
        [::core::mem::align_of::<CUDA_ARRAY_SPARSE_PROPERTIES>() - 8usize];
    ["Offset of field: CUDA_ARRAY_SPARSE_PROPERTIES_st::tileExtent"]
        [::core::mem::offset_of!(CUDA_ARRAY_SPARSE_PROPERTIES, tileExtent) - 0usize];
    ["Offset of field: CUDA_ARRAY_SPARSE_PROPERTIES_st::miptailFirstLevel"]
        [::core::mem::offset_of!(CUDA_ARRAY_SPARSE_PROPERTIES, miptailFirstLevel) - 12usize];
    ["Offset of field: CUDA_ARRAY_SPARSE_PROPERTIES_st::miptailSize"]
        [::core::mem::offset_of!(CUDA_ARRAY_SPARSE_PROPERTIES, miptailSize) - 16usize];
    ["Offset of field: CUDA_ARRAY_SPARSE_PROPERTIES_st::flags"]
        [::core::mem::offset_of!(CUDA_ARRAY_SPARSE_PROPERTIES, flags) - 24usize];
    ["Offset of field: CUDA_ARRAY_SPARSE_PROPERTIES_st::reserved"]
        [::core::mem::offset_of!(CUDA_ARRAY_SPARSE_PROPERTIES, reserved) - 28usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_ARRAY_MEMORY_REQUIREMENTS {
    pub size: usize,
    pub alignment: usize,
    pub reserved: [u32; 4],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_ARRAY_MEMORY_REQUIREMENTS_st"]
        [::core::mem::size_of::<CUDA_ARRAY_MEMORY_REQUIREMENTS>() - 32usize];
    ["Alignment of CUDA_ARRAY_MEMORY_REQUIREMENTS_st"]
        [::core::mem::align_of::<CUDA_ARRAY_MEMORY_REQUIREMENTS>() - 8usize];
    ["Offset of field: CUDA_ARRAY_MEMORY_REQUIREMENTS_st::size"]
        [::core::mem::offset_of!(CUDA_ARRAY_MEMORY_REQUIREMENTS, size) - 0usize];
    ["Offset of field: CUDA_ARRAY_MEMORY_REQUIREMENTS_st::alignment"]
        [::core::mem::offset_of!(CUDA_ARRAY_MEMORY_REQUIREMENTS, alignment) - 8usize];
    ["Offset of field: CUDA_ARRAY_MEMORY_REQUIREMENTS_st::reserved"]
        [::core::mem::offset_of!(CUDA_ARRAY_MEMORY_REQUIREMENTS, reserved) - 16usize];
};

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUDA_RESOURCE_DESC {
    pub resType: CUresourcetype,
    pub res: CUDA_RESOURCE_DESC_st__bindgen_ty_1,
    pub flags: u32,
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUDA_RESOURCE_DESC_st__bindgen_ty_1 {
    pub array: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1,
    pub mipmap: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_2,
    pub linear: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3,
    pub pitch2D: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4,
    pub reserved: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5,
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1 {
    pub hArray: CUarray,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1"]
        [::core::mem::size_of::<CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Alignment of CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1"]
        [::core::mem::align_of::<CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1::hArray"][::core::mem::offset_of!(
        CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1,
        hArray
    ) - 0usize];
};

impl Default for CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_2 {
    pub hMipmappedArray: CUmipmappedArray,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_2"]
        [::core::mem::size_of::<CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Alignment of CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_2"]
        [::core::mem::align_of::<CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_2::hMipmappedArray"][::core::mem::offset_of!(
        CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_2,
        hMipmappedArray
    )
        - 0usize];
};

impl Default for CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_2 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 {
    pub devPtr: CUdeviceptr,
    pub format: CUarray_format,
    pub numChannels: u32,
    pub sizeInBytes: usize,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3"]
        [::core::mem::size_of::<CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3>() - 24usize];
    ["Alignment of CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3"]
        [::core::mem::align_of::<CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3>() - 8usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3::devPtr"][::core::mem::offset_of!(
        CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3,
        devPtr
    ) - 0usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3::format"][::core::mem::offset_of!(
        CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3,
        format
    ) - 8usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3::numChannels"][::core::mem::offset_of!(
        CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3,
        numChannels
    )
        - 12usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3::sizeInBytes"][::core::mem::offset_of!(
        CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3,
        sizeInBytes
    )
        - 16usize];
};

impl Default for CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_3 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 {
    pub devPtr: CUdeviceptr,
    pub format: CUarray_format,
    pub numChannels: u32,
    pub width: usize,
    pub height: usize,
    pub pitchInBytes: usize,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4"]
        [::core::mem::size_of::<CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4>() - 40usize];
    ["Alignment of CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4"]
        [::core::mem::align_of::<CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4>() - 8usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4::devPtr"][::core::mem::offset_of!(
        CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4,
        devPtr
    ) - 0usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4::format"][::core::mem::offset_of!(
        CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4,
        format
    ) - 8usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4::numChannels"][::core::mem::offset_of!(
        CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4,
        numChannels
    )
        - 12usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4::width"][::core::mem::offset_of!(
        CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4,
        width
    ) - 16usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4::height"][::core::mem::offset_of!(
        CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4,
        height
    ) - 24usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4::pitchInBytes"][::core::mem::offset_of!(
        CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4,
        pitchInBytes
    )
        - 32usize];
};

impl Default for CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_4 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5 {
    pub reserved: [i32; 32],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5"]
        [::core::mem::size_of::<CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5>() - 128usize];
    ["Alignment of CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5"]
        [::core::mem::align_of::<CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5>() - 4usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5::reserved"][::core::mem::offset_of!(
        CUDA_RESOURCE_DESC_st__bindgen_ty_1__bindgen_ty_5,
        reserved
    ) - 0usize];
};

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_RESOURCE_DESC_st__bindgen_ty_1"]
        [::core::mem::size_of::<CUDA_RESOURCE_DESC_st__bindgen_ty_1>() - 128usize];
    ["Alignment of CUDA_RESOURCE_DESC_st__bindgen_ty_1"]
        [::core::mem::align_of::<CUDA_RESOURCE_DESC_st__bindgen_ty_1>() - 8usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1::array"]
        [::core::mem::offset_of!(CUDA_RESOURCE_DESC_st__bindgen_ty_1, array) - 0usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1::mipmap"]
        [::core::mem::offset_of!(CUDA_RESOURCE_DESC_st__bindgen_ty_1, mipmap) - 0usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1::linear"]
        [::core::mem::offset_of!(CUDA_RESOURCE_DESC_st__bindgen_ty_1, linear) - 0usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1::pitch2D"]
        [::core::mem::offset_of!(CUDA_RESOURCE_DESC_st__bindgen_ty_1, pitch2D) - 0usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st__bindgen_ty_1::reserved"]
        [::core::mem::offset_of!(CUDA_RESOURCE_DESC_st__bindgen_ty_1, reserved) - 0usize];
};

impl Default for CUDA_RESOURCE_DESC_st__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_RESOURCE_DESC_st"][::core::mem::size_of::<CUDA_RESOURCE_DESC>() - 144usize];
    ["Alignment of CUDA_RESOURCE_DESC_st"][::core::mem::align_of::<CUDA_RESOURCE_DESC>() - 8usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st::resType"]
        [::core::mem::offset_of!(CUDA_RESOURCE_DESC, resType) - 0usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st::res"]
        [::core::mem::offset_of!(CUDA_RESOURCE_DESC, res) - 8usize];
    ["Offset of field: CUDA_RESOURCE_DESC_st::flags"]
        [::core::mem::offset_of!(CUDA_RESOURCE_DESC, flags) - 136usize];
};

impl Default for CUDA_RESOURCE_DESC {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq)]
pub struct CUDA_TEXTURE_DESC {
    pub addressMode: [CUaddress_mode; 3],
    pub filterMode: CUfilter_mode,
    pub flags: u32,
    pub maxAnisotropy: u32,
    pub mipmapFilterMode: CUfilter_mode,
    pub mipmapLevelBias: f32,
    pub minMipmapLevelClamp: f32,
    pub maxMipmapLevelClamp: f32,
    pub borderColor: [f32; 4],
    pub reserved: [i32; 12],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_TEXTURE_DESC_st"][::core::mem::size_of::<CUDA_TEXTURE_DESC>() - 104usize];
    ["Alignment of CUDA_TEXTURE_DESC_st"][::core::mem::align_of::<CUDA_TEXTURE_DESC>() - 4usize];
    ["Offset of field: CUDA_TEXTURE_DESC_st::addressMode"]
        [::core::mem::offset_of!(CUDA_TEXTURE_DESC, addressMode) - 0usize];
    ["Offset of field: CUDA_TEXTURE_DESC_st::filterMode"]
        [::core::mem::offset_of!(CUDA_TEXTURE_DESC, filterMode) - 12usize];
    ["Offset of field: CUDA_TEXTURE_DESC_st::flags"]
        [::core::mem::offset_of!(CUDA_TEXTURE_DESC, flags) - 16usize];
    ["Offset of field: CUDA_TEXTURE_DESC_st::maxAnisotropy"]
        [::core::mem::offset_of!(CUDA_TEXTURE_DESC, maxAnisotropy) - 20usize];
    ["Offset of field: CUDA_TEXTURE_DESC_st::mipmapFilterMode"]
        [::core::mem::offset_of!(CUDA_TEXTURE_DESC, mipmapFilterMode) - 24usize];
    ["Offset of field: CUDA_TEXTURE_DESC_st::mipmapLevelBias"]
        [::core::mem::offset_of!(CUDA_TEXTURE_DESC, mipmapLevelBias) - 28usize];
    ["Offset of field: CUDA_TEXTURE_DESC_st::minMipmapLevelClamp"]
        [::core::mem::offset_of!(CUDA_TEXTURE_DESC, minMipmapLevelClamp) - 32usize];
    ["Offset of field: CUDA_TEXTURE_DESC_st::maxMipmapLevelClamp"]
        [::core::mem::offset_of!(CUDA_TEXTURE_DESC, maxMipmapLevelClamp) - 36usize];
    ["Offset of field: CUDA_TEXTURE_DESC_st::borderColor"]
        [::core::mem::offset_of!(CUDA_TEXTURE_DESC, borderColor) - 40usize];
    ["Offset of field: CUDA_TEXTURE_DESC_st::reserved"]
        [::core::mem::offset_of!(CUDA_TEXTURE_DESC, reserved) - 56usize];
};

impl Default for CUDA_TEXTURE_DESC {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUresourceViewFormat {
    pub const CU_RES_VIEW_FORMAT_NONE: CUresourceViewFormat = CUresourceViewFormat(0);
    pub const CU_RES_VIEW_FORMAT_UINT_1X8: CUresourceViewFormat = CUresourceViewFormat(1);
    pub const CU_RES_VIEW_FORMAT_UINT_2X8: CUresourceViewFormat = CUresourceViewFormat(2);
    pub const CU_RES_VIEW_FORMAT_UINT_4X8: CUresourceViewFormat = CUresourceViewFormat(3);
    pub const CU_RES_VIEW_FORMAT_SINT_1X8: CUresourceViewFormat = CUresourceViewFormat(4);
    pub const CU_RES_VIEW_FORMAT_SINT_2X8: CUresourceViewFormat = CUresourceViewFormat(5);
    pub const CU_RES_VIEW_FORMAT_SINT_4X8: CUresourceViewFormat = CUresourceViewFormat(6);
    pub const CU_RES_VIEW_FORMAT_UINT_1X16: CUresourceViewFormat = CUresourceViewFormat(7);
    pub const CU_RES_VIEW_FORMAT_UINT_2X16: CUresourceViewFormat = CUresourceViewFormat(8);
    pub const CU_RES_VIEW_FORMAT_UINT_4X16: CUresourceViewFormat = CUresourceViewFormat(9);
    pub const CU_RES_VIEW_FORMAT_SINT_1X16: CUresourceViewFormat = CUresourceViewFormat(10);
    pub const CU_RES_VIEW_FORMAT_SINT_2X16: CUresourceViewFormat = CUresourceViewFormat(11);
    pub const CU_RES_VIEW_FORMAT_SINT_4X16: CUresourceViewFormat = CUresourceViewFormat(12);
    pub const CU_RES_VIEW_FORMAT_UINT_1X32: CUresourceViewFormat = CUresourceViewFormat(13);
    pub const CU_RES_VIEW_FORMAT_UINT_2X32: CUresourceViewFormat = CUresourceViewFormat(14);
    pub const CU_RES_VIEW_FORMAT_UINT_4X32: CUresourceViewFormat = CUresourceViewFormat(15);
    pub const CU_RES_VIEW_FORMAT_SINT_1X32: CUresourceViewFormat = CUresourceViewFormat(16);
    pub const CU_RES_VIEW_FORMAT_SINT_2X32: CUresourceViewFormat = CUresourceViewFormat(17);
    pub const CU_RES_VIEW_FORMAT_SINT_4X32: CUresourceViewFormat = CUresourceViewFormat(18);
    pub const CU_RES_VIEW_FORMAT_FLOAT_1X16: CUresourceViewFormat = CUresourceViewFormat(19);
    pub const CU_RES_VIEW_FORMAT_FLOAT_2X16: CUresourceViewFormat = CUresourceViewFormat(20);
    pub const CU_RES_VIEW_FORMAT_FLOAT_4X16: CUresourceViewFormat = CUresourceViewFormat(21);
    pub const CU_RES_VIEW_FORMAT_FLOAT_1X32: CUresourceViewFormat = CUresourceViewFormat(22);
    pub const CU_RES_VIEW_FORMAT_FLOAT_2X32: CUresourceViewFormat = CUresourceViewFormat(23);
    pub const CU_RES_VIEW_FORMAT_FLOAT_4X32: CUresourceViewFormat = CUresourceViewFormat(24);
    pub const CU_RES_VIEW_FORMAT_UNSIGNED_BC1: CUresourceViewFormat = CUresourceViewFormat(25);
    pub const CU_RES_VIEW_FORMAT_UNSIGNED_BC2: CUresourceViewFormat = CUresourceViewFormat(26);
    pub const CU_RES_VIEW_FORMAT_UNSIGNED_BC3: CUresourceViewFormat = CUresourceViewFormat(27);
    pub const CU_RES_VIEW_FORMAT_UNSIGNED_BC4: CUresourceViewFormat = CUresourceViewFormat(28);
    pub const CU_RES_VIEW_FORMAT_SIGNED_BC4: CUresourceViewFormat = CUresourceViewFormat(29);
    pub const CU_RES_VIEW_FORMAT_UNSIGNED_BC5: CUresourceViewFormat = CUresourceViewFormat(30);
    pub const CU_RES_VIEW_FORMAT_SIGNED_BC5: CUresourceViewFormat = CUresourceViewFormat(31);
    pub const CU_RES_VIEW_FORMAT_UNSIGNED_BC6H: CUresourceViewFormat = CUresourceViewFormat(32);
    pub const CU_RES_VIEW_FORMAT_SIGNED_BC6H: CUresourceViewFormat = CUresourceViewFormat(33);
    pub const CU_RES_VIEW_FORMAT_UNSIGNED_BC7: CUresourceViewFormat = CUresourceViewFormat(34);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUresourceViewFormat(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_RESOURCE_VIEW_DESC {
    pub format: CUresourceViewFormat,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub firstMipmapLevel: u32,
    pub lastMipmapLevel: u32,
    pub firstLayer: u32,
    pub lastLayer: u32,
    pub reserved: [u32; 16],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_RESOURCE_VIEW_DESC_st"]
        [::core::mem::size_of::<CUDA_RESOURCE_VIEW_DESC>() - 112usize];
    ["Alignment of CUDA_RESOURCE_VIEW_DESC_st"]
        [::core::mem::align_of::<CUDA_RESOURCE_VIEW_DESC>() - 8usize];
    ["Offset of field: CUDA_RESOURCE_VIEW_DESC_st::format"]
        [::core::mem::offset_of!(CUDA_RESOURCE_VIEW_DESC, format) - 0usize];
    ["Offset of field: CUDA_RESOURCE_VIEW_DESC_st::width"]
        [::core::mem::offset_of!(CUDA_RESOURCE_VIEW_DESC, width) - 8usize];
    ["Offset of field: CUDA_RESOURCE_VIEW_DESC_st::height"]
        [::core::mem::offset_of!(CUDA_RESOURCE_VIEW_DESC, height) - 16usize];
    ["Offset of field: CUDA_RESOURCE_VIEW_DESC_st::depth"]
        [::core::mem::offset_of!(CUDA_RESOURCE_VIEW_DESC, depth) - 24usize];
    ["Offset of field: CUDA_RESOURCE_VIEW_DESC_st::firstMipmapLevel"]
        [::core::mem::offset_of!(CUDA_RESOURCE_VIEW_DESC, firstMipmapLevel) - 32usize];
    ["Offset of field: CUDA_RESOURCE_VIEW_DESC_st::lastMipmapLevel"]
        [::core::mem::offset_of!(CUDA_RESOURCE_VIEW_DESC, lastMipmapLevel) - 36usize];
    ["Offset of field: CUDA_RESOURCE_VIEW_DESC_st::firstLayer"]
        [::core::mem::offset_of!(CUDA_RESOURCE_VIEW_DESC, firstLayer) - 40usize];
    ["Offset of field: CUDA_RESOURCE_VIEW_DESC_st::lastLayer"]
        [::core::mem::offset_of!(CUDA_RESOURCE_VIEW_DESC, lastLayer) - 44usize];
    ["Offset of field: CUDA_RESOURCE_VIEW_DESC_st::reserved"]
        [::core::mem::offset_of!(CUDA_RESOURCE_VIEW_DESC, reserved) - 48usize];
};

impl Default for CUDA_RESOURCE_VIEW_DESC {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[repr(align(128))]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUtensorMap {
    pub opaque: [u64; 16],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUtensorMap_st"][::core::mem::size_of::<CUtensorMap>() - 128usize];
    ["Alignment of CUtensorMap_st"][::core::mem::align_of::<CUtensorMap>() - 128usize];
    ["Offset of field: CUtensorMap_st::opaque"]
        [::core::mem::offset_of!(CUtensorMap, opaque) - 0usize];
};

impl Default for CUtensorMap {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUtensorMapDataType {
    pub const CU_TENSOR_MAP_DATA_TYPE_UINT8: CUtensorMapDataType = CUtensorMapDataType(0);
    pub const CU_TENSOR_MAP_DATA_TYPE_UINT16: CUtensorMapDataType = CUtensorMapDataType(1);
    pub const CU_TENSOR_MAP_DATA_TYPE_UINT32: CUtensorMapDataType = CUtensorMapDataType(2);
    pub const CU_TENSOR_MAP_DATA_TYPE_INT32: CUtensorMapDataType = CUtensorMapDataType(3);
    pub const CU_TENSOR_MAP_DATA_TYPE_UINT64: CUtensorMapDataType = CUtensorMapDataType(4);
    pub const CU_TENSOR_MAP_DATA_TYPE_INT64: CUtensorMapDataType = CUtensorMapDataType(5);
    pub const CU_TENSOR_MAP_DATA_TYPE_FLOAT16: CUtensorMapDataType = CUtensorMapDataType(6);
    pub const CU_TENSOR_MAP_DATA_TYPE_FLOAT32: CUtensorMapDataType = CUtensorMapDataType(7);
    pub const CU_TENSOR_MAP_DATA_TYPE_FLOAT64: CUtensorMapDataType = CUtensorMapDataType(8);
    pub const CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: CUtensorMapDataType = CUtensorMapDataType(9);
    pub const CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ: CUtensorMapDataType = CUtensorMapDataType(10);
    pub const CU_TENSOR_MAP_DATA_TYPE_TFLOAT32: CUtensorMapDataType = CUtensorMapDataType(11);
    pub const CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ: CUtensorMapDataType = CUtensorMapDataType(12);
    pub const CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B: CUtensorMapDataType = CUtensorMapDataType(13);
    pub const CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B: CUtensorMapDataType = CUtensorMapDataType(14);
    pub const CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B: CUtensorMapDataType = CUtensorMapDataType(15);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUtensorMapDataType(pub u32);

impl CUtensorMapInterleave {
    pub const CU_TENSOR_MAP_INTERLEAVE_NONE: CUtensorMapInterleave = CUtensorMapInterleave(0);
    pub const CU_TENSOR_MAP_INTERLEAVE_16B: CUtensorMapInterleave = CUtensorMapInterleave(1);
    pub const CU_TENSOR_MAP_INTERLEAVE_32B: CUtensorMapInterleave = CUtensorMapInterleave(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUtensorMapInterleave(pub u32);

impl CUtensorMapSwizzle {
    pub const CU_TENSOR_MAP_SWIZZLE_NONE: CUtensorMapSwizzle = CUtensorMapSwizzle(0);
    pub const CU_TENSOR_MAP_SWIZZLE_32B: CUtensorMapSwizzle = CUtensorMapSwizzle(1);
    pub const CU_TENSOR_MAP_SWIZZLE_64B: CUtensorMapSwizzle = CUtensorMapSwizzle(2);
    pub const CU_TENSOR_MAP_SWIZZLE_128B: CUtensorMapSwizzle = CUtensorMapSwizzle(3);
    pub const CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B: CUtensorMapSwizzle = CUtensorMapSwizzle(4);
    pub const CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B: CUtensorMapSwizzle =
        CUtensorMapSwizzle(5);
    pub const CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B: CUtensorMapSwizzle = CUtensorMapSwizzle(6);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUtensorMapSwizzle(pub u32);

impl CUtensorMapL2promotion {
    pub const CU_TENSOR_MAP_L2_PROMOTION_NONE: CUtensorMapL2promotion = CUtensorMapL2promotion(0);
    pub const CU_TENSOR_MAP_L2_PROMOTION_L2_64B: CUtensorMapL2promotion = CUtensorMapL2promotion(1);
    pub const CU_TENSOR_MAP_L2_PROMOTION_L2_128B: CUtensorMapL2promotion =
        CUtensorMapL2promotion(2);
    pub const CU_TENSOR_MAP_L2_PROMOTION_L2_256B: CUtensorMapL2promotion =
        CUtensorMapL2promotion(3);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUtensorMapL2promotion(pub u32);

impl CUtensorMapFloatOOBfill {
    pub const CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE: CUtensorMapFloatOOBfill =
        CUtensorMapFloatOOBfill(0);
    pub const CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA: CUtensorMapFloatOOBfill =
        CUtensorMapFloatOOBfill(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUtensorMapFloatOOBfill(pub u32);

impl CUtensorMapIm2ColWideMode {
    pub const CU_TENSOR_MAP_IM2COL_WIDE_MODE_W: CUtensorMapIm2ColWideMode =
        CUtensorMapIm2ColWideMode(0);
    pub const CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128: CUtensorMapIm2ColWideMode =
        CUtensorMapIm2ColWideMode(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUtensorMapIm2ColWideMode(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_POINTER_ATTRIBUTE_P2P_TOKENS {
    pub p2pToken: u64,
    pub vaSpaceToken: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_POINTER_ATTRIBUTE_P2P_TOKENS_st"]
        [::core::mem::size_of::<CUDA_POINTER_ATTRIBUTE_P2P_TOKENS>() - 16usize];
    ["Alignment of CUDA_POINTER_ATTRIBUTE_P2P_TOKENS_st"]
        [::core::mem::align_of::<CUDA_POINTER_ATTRIBUTE_P2P_TOKENS>() - 8usize];
    ["Offset of field: CUDA_POINTER_ATTRIBUTE_P2P_TOKENS_st::p2pToken"]
        [::core::mem::offset_of!(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS, p2pToken) - 0usize];
    ["Offset of field: CUDA_POINTER_ATTRIBUTE_P2P_TOKENS_st::vaSpaceToken"]
        [::core::mem::offset_of!(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS, vaSpaceToken) - 8usize];
};

impl CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS {
    pub const CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE: CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS =
        CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS(0);
    pub const CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ: CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS =
        CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS(1);
    pub const CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE: CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS =
        CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS(3);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_LAUNCH_PARAMS {
    pub function: CUfunction,
    pub gridDimX: u32,
    pub gridDimY: u32,
    pub gridDimZ: u32,
    pub blockDimX: u32,
    pub blockDimY: u32,
    pub blockDimZ: u32,
    pub sharedMemBytes: u32,
    pub hStream: CUstream,
    pub kernelParams: *mut *mut c_void,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_LAUNCH_PARAMS_st"][::core::mem::size_of::<CUDA_LAUNCH_PARAMS>() - 56usize];
    ["Alignment of CUDA_LAUNCH_PARAMS_st"][::core::mem::align_of::<CUDA_LAUNCH_PARAMS>() - 8usize];
    ["Offset of field: CUDA_LAUNCH_PARAMS_st::function"]
        [::core::mem::offset_of!(CUDA_LAUNCH_PARAMS, function) - 0usize];
    ["Offset of field: CUDA_LAUNCH_PARAMS_st::gridDimX"]
        [::core::mem::offset_of!(CUDA_LAUNCH_PARAMS, gridDimX) - 8usize];
    ["Offset of field: CUDA_LAUNCH_PARAMS_st::gridDimY"]
        [::core::mem::offset_of!(CUDA_LAUNCH_PARAMS, gridDimY) - 12usize];
    ["Offset of field: CUDA_LAUNCH_PARAMS_st::gridDimZ"]
        [::core::mem::offset_of!(CUDA_LAUNCH_PARAMS, gridDimZ) - 16usize];
    ["Offset of field: CUDA_LAUNCH_PARAMS_st::blockDimX"]
        [::core::mem::offset_of!(CUDA_LAUNCH_PARAMS, blockDimX) - 20usize];
    ["Offset of field: CUDA_LAUNCH_PARAMS_st::blockDimY"]
        [::core::mem::offset_of!(CUDA_LAUNCH_PARAMS, blockDimY) - 24usize];
    ["Offset of field: CUDA_LAUNCH_PARAMS_st::blockDimZ"]
        [::core::mem::offset_of!(CUDA_LAUNCH_PARAMS, blockDimZ) - 28usize];
    ["Offset of field: CUDA_LAUNCH_PARAMS_st::sharedMemBytes"]
        [::core::mem::offset_of!(CUDA_LAUNCH_PARAMS, sharedMemBytes) - 32usize];
    ["Offset of field: CUDA_LAUNCH_PARAMS_st::hStream"]
        [::core::mem::offset_of!(CUDA_LAUNCH_PARAMS, hStream) - 40usize];
    ["Offset of field: CUDA_LAUNCH_PARAMS_st::kernelParams"]
        [::core::mem::offset_of!(CUDA_LAUNCH_PARAMS, kernelParams) - 48usize];
};

impl Default for CUDA_LAUNCH_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUexternalMemoryHandleType {
    pub const CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD: CUexternalMemoryHandleType =
        CUexternalMemoryHandleType(1);
    pub const CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32: CUexternalMemoryHandleType =
        CUexternalMemoryHandleType(2);
    pub const CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT: CUexternalMemoryHandleType =
        CUexternalMemoryHandleType(3);
    pub const CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP: CUexternalMemoryHandleType =
        CUexternalMemoryHandleType(4);
    pub const CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_RESOURCE: CUexternalMemoryHandleType =
        CUexternalMemoryHandleType(5);
    pub const CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE: CUexternalMemoryHandleType =
        CUexternalMemoryHandleType(6);
    pub const CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D11_RESOURCE_KMT: CUexternalMemoryHandleType =
        CUexternalMemoryHandleType(7);
    pub const CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF: CUexternalMemoryHandleType =
        CUexternalMemoryHandleType(8);
    pub const CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD: CUexternalMemoryHandleType =
        CUexternalMemoryHandleType(9);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUexternalMemoryHandleType(pub u32);

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
    pub type_: CUexternalMemoryHandleType,
    pub handle: CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1,
    pub size: u64,
    pub flags: u32,
    pub reserved: [u32; 16],
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1 {
    pub fd: i32,
    pub win32: CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1,
    pub nvSciBufObject: *const c_void,
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1 {
    pub handle: *mut c_void,
    pub name: *const c_void,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1"][::core::mem::size_of::<
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1,
    >() - 16usize];
    ["Alignment of CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1"]
        [::core::mem::align_of::<CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1>(
        ) - 8usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1::handle"][::core::mem::offset_of!(
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1,
        handle
    )
        - 0usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1::name"][::core::mem::offset_of!(
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1,
        name
    )
        - 8usize];
};

impl Default for CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1"]
        [::core::mem::size_of::<CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1>() - 16usize];
    ["Alignment of CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1"]
        [::core::mem::align_of::<CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1>() - 8usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1::fd"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1, fd) - 0usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1::win32"][::core::mem::offset_of!(
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1,
        win32
    ) - 0usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1::nvSciBufObject"][::core::mem::offset_of!(
        CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1,
        nvSciBufObject
    )
        - 0usize];
};

impl Default for CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st"]
        [::core::mem::size_of::<CUDA_EXTERNAL_MEMORY_HANDLE_DESC>() - 104usize];
    ["Alignment of CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st"]
        [::core::mem::align_of::<CUDA_EXTERNAL_MEMORY_HANDLE_DESC>() - 8usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st::type_"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, type_) - 0usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st::handle"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, handle) - 8usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st::size"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size) - 24usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st::flags"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, flags) - 32usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_HANDLE_DESC_st::reserved"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, reserved) - 36usize];
};

impl Default for CUDA_EXTERNAL_MEMORY_HANDLE_DESC {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_EXTERNAL_MEMORY_BUFFER_DESC {
    pub offset: u64,
    pub size: u64,
    pub flags: u32,
    pub reserved: [u32; 16],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_MEMORY_BUFFER_DESC_st"]
        [::core::mem::size_of::<CUDA_EXTERNAL_MEMORY_BUFFER_DESC>() - 88usize];
    ["Alignment of CUDA_EXTERNAL_MEMORY_BUFFER_DESC_st"]
        [::core::mem::align_of::<CUDA_EXTERNAL_MEMORY_BUFFER_DESC>() - 8usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_BUFFER_DESC_st::offset"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, offset) - 0usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_BUFFER_DESC_st::size"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size) - 8usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_BUFFER_DESC_st::flags"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, flags) - 16usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_BUFFER_DESC_st::reserved"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, reserved) - 20usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC {
    pub offset: u64,
    pub arrayDesc: CUDA_ARRAY3D_DESCRIPTOR,
    pub numLevels: u32,
    pub reserved: [u32; 16],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_st"]
        [::core::mem::size_of::<CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC>() - 120usize];
    ["Alignment of CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_st"]
        [::core::mem::align_of::<CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC>() - 8usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_st::offset"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC, offset) - 0usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_st::arrayDesc"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC, arrayDesc) - 8usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_st::numLevels"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC, numLevels) - 48usize];
    ["Offset of field: CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_st::reserved"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC, reserved) - 52usize];
};

impl Default for CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUexternalSemaphoreHandleType {
    pub const CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD: CUexternalSemaphoreHandleType =
        CUexternalSemaphoreHandleType(1);
    pub const CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32: CUexternalSemaphoreHandleType =
        CUexternalSemaphoreHandleType(2);
    pub const CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT: CUexternalSemaphoreHandleType =
        CUexternalSemaphoreHandleType(3);
    pub const CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE: CUexternalSemaphoreHandleType =
        CUexternalSemaphoreHandleType(4);
    pub const CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_FENCE: CUexternalSemaphoreHandleType =
        CUexternalSemaphoreHandleType(5);
    pub const CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC: CUexternalSemaphoreHandleType =
        CUexternalSemaphoreHandleType(6);
    pub const CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX: CUexternalSemaphoreHandleType =
        CUexternalSemaphoreHandleType(7);
    pub const CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D11_KEYED_MUTEX_KMT:
        CUexternalSemaphoreHandleType = CUexternalSemaphoreHandleType(8);
    pub const CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD:
        CUexternalSemaphoreHandleType = CUexternalSemaphoreHandleType(9);
    pub const CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_WIN32:
        CUexternalSemaphoreHandleType = CUexternalSemaphoreHandleType(10);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUexternalSemaphoreHandleType(pub u32);

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC {
    pub type_: CUexternalSemaphoreHandleType,
    pub handle: CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1,
    pub flags: u32,
    pub reserved: [u32; 16],
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1 {
    pub fd: i32,
    pub win32: CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1,
    pub nvSciSyncObj: *const c_void,
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1 {
    pub handle: *mut c_void,
    pub name: *const c_void,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1"]
        [::core::mem::size_of::<CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1>(
        ) - 16usize];
    ["Alignment of CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1"]
        [::core::mem::align_of::<CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1>(
        ) - 8usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1::handle"]
        [::core::mem::offset_of!(
            CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1,
            handle
        ) - 0usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1::name"][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1,
        name
    )
        - 8usize];
};

impl Default for CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1"]
        [::core::mem::size_of::<CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1>() - 16usize];
    ["Alignment of CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1"]
        [::core::mem::align_of::<CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1>() - 8usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1::fd"][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1,
        fd
    ) - 0usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1::win32"][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1,
        win32
    ) - 0usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1::nvSciSyncObj"][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1,
        nvSciSyncObj
    )
        - 0usize];
};

impl Default for CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st"]
        [::core::mem::size_of::<CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC>() - 96usize];
    ["Alignment of CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st"]
        [::core::mem::align_of::<CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC>() - 8usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st::type_"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, type_) - 0usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st::handle"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, handle) - 8usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st::flags"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, flags) - 24usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_st::reserved"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, reserved) - 28usize];
};

impl Default for CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS {
    pub params: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1,
    pub flags: u32,
    pub reserved: [u32; 16],
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1 {
    pub fence: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_1,
    pub nvSciSync: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_2,
    pub keyedMutex: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_3,
    pub reserved: [u32; 12],
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_1 {
    pub value: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_1"]
        [::core::mem::size_of::<
            CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_1,
        >() - 8usize];
    ["Alignment of CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_1"]
        [::core::mem::align_of::<
            CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_1,
        >() - 8usize];
    [
        "Offset of field: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_1::value",
    ][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_1,
        value
    ) - 0usize];
};

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_2 {
    pub fence: *mut c_void,
    pub reserved: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_2"]
        [::core::mem::size_of::<
            CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_2,
        >() - 8usize];
    ["Alignment of CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_2"]
        [::core::mem::align_of::<
            CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_2,
        >() - 8usize];
    [
        "Offset of field: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_2::fence",
    ][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_2,
        fence
    ) - 0usize];
    [
        "Offset of field: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_2::reserved",
    ][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_2,
        reserved
    ) - 0usize];
};

impl Default for CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_2 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_3 {
    pub key: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_3"]
        [::core::mem::size_of::<
            CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_3,
        >() - 8usize];
    ["Alignment of CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_3"]
        [::core::mem::align_of::<
            CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_3,
        >() - 8usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_3::key"]
        [::core::mem::offset_of!(
            CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1__bindgen_ty_3,
            key
        ) - 0usize];
};

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1"][::core::mem::size_of::<
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1,
    >() - 72usize];
    ["Alignment of CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1"][::core::mem::align_of::<
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1,
    >() - 8usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1::fence"][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1,
        fence
    ) - 0usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1::nvSciSync"][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1,
        nvSciSync
    )
        - 8usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1::keyedMutex"][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1,
        keyedMutex
    )
        - 16usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1::reserved"][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1,
        reserved
    )
        - 24usize];
};

impl Default for CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st"]
        [::core::mem::size_of::<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>() - 144usize];
    ["Alignment of CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st"]
        [::core::mem::align_of::<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS>() - 8usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st::params"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, params) - 0usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st::flags"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, flags) - 72usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_st::reserved"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, reserved) - 76usize];
};

impl Default for CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS {
    pub params: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1,
    pub flags: u32,
    pub reserved: [u32; 16],
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1 {
    pub fence: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_1,
    pub nvSciSync: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_2,
    pub keyedMutex: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_3,
    pub reserved: [u32; 10],
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_1 {
    pub value: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_1"]
        [::core::mem::size_of::<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_1>(
        ) - 8usize];
    ["Alignment of CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_1"]
        [::core::mem::align_of::<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_1>(
        ) - 8usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_1::value"]
        [::core::mem::offset_of!(
            CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_1,
            value
        ) - 0usize];
};

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_2 {
    pub fence: *mut c_void,
    pub reserved: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_2"]
        [::core::mem::size_of::<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_2>(
        ) - 8usize];
    ["Alignment of CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_2"]
        [::core::mem::align_of::<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_2>(
        ) - 8usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_2::fence"]
        [::core::mem::offset_of!(
            CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_2,
            fence
        ) - 0usize];
    [
        "Offset of field: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_2::reserved",
    ][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_2,
        reserved
    ) - 0usize];
};

impl Default for CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_2 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_3 {
    pub key: u64,
    pub timeoutMs: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_3"]
        [::core::mem::size_of::<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_3>(
        ) - 16usize];
    ["Alignment of CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_3"]
        [::core::mem::align_of::<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_3>(
        ) - 8usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_3::key"][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_3,
        key
    )
        - 0usize];
    [
        "Offset of field: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_3::timeoutMs",
    ][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1__bindgen_ty_3,
        timeoutMs
    ) - 8usize];
};

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1"]
        [::core::mem::size_of::<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1>() - 72usize];
    ["Alignment of CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1"]
        [::core::mem::align_of::<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1>() - 8usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1::fence"][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1,
        fence
    ) - 0usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1::nvSciSync"][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1,
        nvSciSync
    )
        - 8usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1::keyedMutex"][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1,
        keyedMutex
    )
        - 16usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1::reserved"][::core::mem::offset_of!(
        CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1,
        reserved
    )
        - 32usize];
};

impl Default for CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st"]
        [::core::mem::size_of::<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>() - 144usize];
    ["Alignment of CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st"]
        [::core::mem::align_of::<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS>() - 8usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st::params"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, params) - 0usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st::flags"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, flags) - 72usize];
    ["Offset of field: CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_st::reserved"]
        [::core::mem::offset_of!(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, reserved) - 76usize];
};

impl Default for CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_EXT_SEM_SIGNAL_NODE_PARAMS {
    pub extSemArray: *mut CUexternalSemaphore,
    pub paramsArray: *const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
    pub numExtSems: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_st"]
        [::core::mem::size_of::<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>() - 24usize];
    ["Alignment of CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_st"]
        [::core::mem::align_of::<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS>() - 8usize];
    ["Offset of field: CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_st::extSemArray"]
        [::core::mem::offset_of!(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, extSemArray) - 0usize];
    ["Offset of field: CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_st::paramsArray"]
        [::core::mem::offset_of!(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, paramsArray) - 8usize];
    ["Offset of field: CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_st::numExtSems"]
        [::core::mem::offset_of!(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, numExtSems) - 16usize];
};

impl Default for CUDA_EXT_SEM_SIGNAL_NODE_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2 {
    pub extSemArray: *mut CUexternalSemaphore,
    pub paramsArray: *const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS,
    pub numExtSems: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2_st"]
        [::core::mem::size_of::<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2>() - 24usize];
    ["Alignment of CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2_st"]
        [::core::mem::align_of::<CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2>() - 8usize];
    ["Offset of field: CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2_st::extSemArray"]
        [::core::mem::offset_of!(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2, extSemArray) - 0usize];
    ["Offset of field: CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2_st::paramsArray"]
        [::core::mem::offset_of!(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2, paramsArray) - 8usize];
    ["Offset of field: CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2_st::numExtSems"]
        [::core::mem::offset_of!(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2, numExtSems) - 16usize];
};

impl Default for CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_EXT_SEM_WAIT_NODE_PARAMS {
    pub extSemArray: *mut CUexternalSemaphore,
    pub paramsArray: *const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
    pub numExtSems: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXT_SEM_WAIT_NODE_PARAMS_st"]
        [::core::mem::size_of::<CUDA_EXT_SEM_WAIT_NODE_PARAMS>() - 24usize];
    ["Alignment of CUDA_EXT_SEM_WAIT_NODE_PARAMS_st"]
        [::core::mem::align_of::<CUDA_EXT_SEM_WAIT_NODE_PARAMS>() - 8usize];
    ["Offset of field: CUDA_EXT_SEM_WAIT_NODE_PARAMS_st::extSemArray"]
        [::core::mem::offset_of!(CUDA_EXT_SEM_WAIT_NODE_PARAMS, extSemArray) - 0usize];
    ["Offset of field: CUDA_EXT_SEM_WAIT_NODE_PARAMS_st::paramsArray"]
        [::core::mem::offset_of!(CUDA_EXT_SEM_WAIT_NODE_PARAMS, paramsArray) - 8usize];
    ["Offset of field: CUDA_EXT_SEM_WAIT_NODE_PARAMS_st::numExtSems"]
        [::core::mem::offset_of!(CUDA_EXT_SEM_WAIT_NODE_PARAMS, numExtSems) - 16usize];
};

impl Default for CUDA_EXT_SEM_WAIT_NODE_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2 {
    pub extSemArray: *mut CUexternalSemaphore,
    pub paramsArray: *const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS,
    pub numExtSems: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2_st"]
        [::core::mem::size_of::<CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2>() - 24usize];
    ["Alignment of CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2_st"]
        [::core::mem::align_of::<CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2>() - 8usize];
    ["Offset of field: CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2_st::extSemArray"]
        [::core::mem::offset_of!(CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2, extSemArray) - 0usize];
    ["Offset of field: CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2_st::paramsArray"]
        [::core::mem::offset_of!(CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2, paramsArray) - 8usize];
    ["Offset of field: CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2_st::numExtSems"]
        [::core::mem::offset_of!(CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2, numExtSems) - 16usize];
};

impl Default for CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

pub type CUmemGenericAllocationHandle = u64;

impl CUmemAllocationHandleType {
    pub const CU_MEM_HANDLE_TYPE_NONE: CUmemAllocationHandleType = CUmemAllocationHandleType(0);
    pub const CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR: CUmemAllocationHandleType =
        CUmemAllocationHandleType(1);
    pub const CU_MEM_HANDLE_TYPE_WIN32: CUmemAllocationHandleType = CUmemAllocationHandleType(2);
    pub const CU_MEM_HANDLE_TYPE_WIN32_KMT: CUmemAllocationHandleType =
        CUmemAllocationHandleType(4);
    pub const CU_MEM_HANDLE_TYPE_FABRIC: CUmemAllocationHandleType = CUmemAllocationHandleType(8);
    pub const CU_MEM_HANDLE_TYPE_MAX: CUmemAllocationHandleType =
        CUmemAllocationHandleType(2147483647);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemAllocationHandleType(pub u32);

impl CUmemAccess_flags {
    pub const CU_MEM_ACCESS_FLAGS_PROT_NONE: CUmemAccess_flags = CUmemAccess_flags(0);
    pub const CU_MEM_ACCESS_FLAGS_PROT_READ: CUmemAccess_flags = CUmemAccess_flags(1);
    pub const CU_MEM_ACCESS_FLAGS_PROT_READWRITE: CUmemAccess_flags = CUmemAccess_flags(3);
    pub const CU_MEM_ACCESS_FLAGS_PROT_MAX: CUmemAccess_flags = CUmemAccess_flags(2147483647);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemAccess_flags(pub u32);

impl CUmemLocationType {
    pub const CU_MEM_LOCATION_TYPE_INVALID: CUmemLocationType = CUmemLocationType(0);
    pub const CU_MEM_LOCATION_TYPE_NONE: CUmemLocationType = CUmemLocationType(0);
    pub const CU_MEM_LOCATION_TYPE_DEVICE: CUmemLocationType = CUmemLocationType(1);
    pub const CU_MEM_LOCATION_TYPE_HOST: CUmemLocationType = CUmemLocationType(2);
    pub const CU_MEM_LOCATION_TYPE_HOST_NUMA: CUmemLocationType = CUmemLocationType(3);
    pub const CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: CUmemLocationType = CUmemLocationType(4);
    pub const CU_MEM_LOCATION_TYPE_MAX: CUmemLocationType = CUmemLocationType(2147483647);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemLocationType(pub u32);

impl CUmemAllocationType {
    pub const CU_MEM_ALLOCATION_TYPE_INVALID: CUmemAllocationType = CUmemAllocationType(0);
    pub const CU_MEM_ALLOCATION_TYPE_PINNED: CUmemAllocationType = CUmemAllocationType(1);
    pub const CU_MEM_ALLOCATION_TYPE_MANAGED: CUmemAllocationType = CUmemAllocationType(2);
    pub const CU_MEM_ALLOCATION_TYPE_MAX: CUmemAllocationType = CUmemAllocationType(2147483647);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemAllocationType(pub u32);

impl CUmemAllocationGranularity_flags {
    pub const CU_MEM_ALLOC_GRANULARITY_MINIMUM: CUmemAllocationGranularity_flags =
        CUmemAllocationGranularity_flags(0);
    pub const CU_MEM_ALLOC_GRANULARITY_RECOMMENDED: CUmemAllocationGranularity_flags =
        CUmemAllocationGranularity_flags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemAllocationGranularity_flags(pub u32);

impl CUmemRangeHandleType {
    pub const CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD: CUmemRangeHandleType = CUmemRangeHandleType(1);
    pub const CU_MEM_RANGE_HANDLE_TYPE_MAX: CUmemRangeHandleType = CUmemRangeHandleType(2147483647);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemRangeHandleType(pub u32);

impl CUmemRangeFlags {
    pub const CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE: CUmemRangeFlags = CUmemRangeFlags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemRangeFlags(pub u32);

impl CUarraySparseSubresourceType {
    pub const CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL: CUarraySparseSubresourceType =
        CUarraySparseSubresourceType(0);
    pub const CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_MIPTAIL: CUarraySparseSubresourceType =
        CUarraySparseSubresourceType(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUarraySparseSubresourceType(pub u32);

impl CUmemOperationType {
    pub const CU_MEM_OPERATION_TYPE_MAP: CUmemOperationType = CUmemOperationType(1);
    pub const CU_MEM_OPERATION_TYPE_UNMAP: CUmemOperationType = CUmemOperationType(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemOperationType(pub u32);

impl CUmemHandleType {
    pub const CU_MEM_HANDLE_TYPE_GENERIC: CUmemHandleType = CUmemHandleType(0);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemHandleType(pub u32);

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUarrayMapInfo {
    pub resourceType: CUresourcetype,
    pub resource: CUarrayMapInfo_st__bindgen_ty_1,
    pub subresourceType: CUarraySparseSubresourceType,
    pub subresource: CUarrayMapInfo_st__bindgen_ty_2,
    pub memOperationType: CUmemOperationType,
    pub memHandleType: CUmemHandleType,
    pub memHandle: CUarrayMapInfo_st__bindgen_ty_3,
    pub offset: u64,
    pub deviceBitMask: u32,
    pub flags: u32,
    pub reserved: [u32; 2],
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUarrayMapInfo_st__bindgen_ty_1 {
    pub mipmap: CUmipmappedArray,
    pub array: CUarray,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUarrayMapInfo_st__bindgen_ty_1"]
        [::core::mem::size_of::<CUarrayMapInfo_st__bindgen_ty_1>() - 8usize];
    ["Alignment of CUarrayMapInfo_st__bindgen_ty_1"]
        [::core::mem::align_of::<CUarrayMapInfo_st__bindgen_ty_1>() - 8usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_1::mipmap"]
        [::core::mem::offset_of!(CUarrayMapInfo_st__bindgen_ty_1, mipmap) - 0usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_1::array"]
        [::core::mem::offset_of!(CUarrayMapInfo_st__bindgen_ty_1, array) - 0usize];
};

impl Default for CUarrayMapInfo_st__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUarrayMapInfo_st__bindgen_ty_2 {
    pub sparseLevel: CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1,
    pub miptail: CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_2,
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1 {
    pub level: u32,
    pub layer: u32,
    pub offsetX: u32,
    pub offsetY: u32,
    pub offsetZ: u32,
    pub extentWidth: u32,
    pub extentHeight: u32,
    pub extentDepth: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1"]
        [::core::mem::size_of::<CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1>() - 32usize];
    ["Alignment of CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1"]
        [::core::mem::align_of::<CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1>() - 4usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1::level"]
        [::core::mem::offset_of!(CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1, level) - 0usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1::layer"]
        [::core::mem::offset_of!(CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1, layer) - 4usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1::offsetX"]
        [::core::mem::offset_of!(CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1, offsetX) - 8usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1::offsetY"]
        [::core::mem::offset_of!(CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1, offsetY) - 12usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1::offsetZ"]
        [::core::mem::offset_of!(CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1, offsetZ) - 16usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1::extentWidth"][::core::mem::offset_of!(
        CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1,
        extentWidth
    ) - 20usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1::extentHeight"][::core::mem::offset_of!(
        CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1,
        extentHeight
    ) - 24usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1::extentDepth"][::core::mem::offset_of!(
        CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_1,
        extentDepth
    ) - 28usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_2 {
    pub layer: u32,
    pub offset: u64,
    pub size: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_2"]
        [::core::mem::size_of::<CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_2>() - 24usize];
    ["Alignment of CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_2"]
        [::core::mem::align_of::<CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_2>() - 8usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_2::layer"]
        [::core::mem::offset_of!(CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_2, layer) - 0usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_2::offset"]
        [::core::mem::offset_of!(CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_2, offset) - 8usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_2::size"]
        [::core::mem::offset_of!(CUarrayMapInfo_st__bindgen_ty_2__bindgen_ty_2, size) - 16usize];
};

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUarrayMapInfo_st__bindgen_ty_2"]
        [::core::mem::size_of::<CUarrayMapInfo_st__bindgen_ty_2>() - 32usize];
    ["Alignment of CUarrayMapInfo_st__bindgen_ty_2"]
        [::core::mem::align_of::<CUarrayMapInfo_st__bindgen_ty_2>() - 8usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_2::sparseLevel"]
        [::core::mem::offset_of!(CUarrayMapInfo_st__bindgen_ty_2, sparseLevel) - 0usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_2::miptail"]
        [::core::mem::offset_of!(CUarrayMapInfo_st__bindgen_ty_2, miptail) - 0usize];
};

impl Default for CUarrayMapInfo_st__bindgen_ty_2 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUarrayMapInfo_st__bindgen_ty_3 {
    pub memHandle: CUmemGenericAllocationHandle,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUarrayMapInfo_st__bindgen_ty_3"]
        [::core::mem::size_of::<CUarrayMapInfo_st__bindgen_ty_3>() - 8usize];
    ["Alignment of CUarrayMapInfo_st__bindgen_ty_3"]
        [::core::mem::align_of::<CUarrayMapInfo_st__bindgen_ty_3>() - 8usize];
    ["Offset of field: CUarrayMapInfo_st__bindgen_ty_3::memHandle"]
        [::core::mem::offset_of!(CUarrayMapInfo_st__bindgen_ty_3, memHandle) - 0usize];
};

impl Default for CUarrayMapInfo_st__bindgen_ty_3 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUarrayMapInfo_st"][::core::mem::size_of::<CUarrayMapInfo>() - 96usize];
    ["Alignment of CUarrayMapInfo_st"][::core::mem::align_of::<CUarrayMapInfo>() - 8usize];
    ["Offset of field: CUarrayMapInfo_st::resourceType"]
        [::core::mem::offset_of!(CUarrayMapInfo, resourceType) - 0usize];
    ["Offset of field: CUarrayMapInfo_st::resource"]
        [::core::mem::offset_of!(CUarrayMapInfo, resource) - 8usize];
    ["Offset of field: CUarrayMapInfo_st::subresourceType"]
        [::core::mem::offset_of!(CUarrayMapInfo, subresourceType) - 16usize];
    ["Offset of field: CUarrayMapInfo_st::subresource"]
        [::core::mem::offset_of!(CUarrayMapInfo, subresource) - 24usize];
    ["Offset of field: CUarrayMapInfo_st::memOperationType"]
        [::core::mem::offset_of!(CUarrayMapInfo, memOperationType) - 56usize];
    ["Offset of field: CUarrayMapInfo_st::memHandleType"]
        [::core::mem::offset_of!(CUarrayMapInfo, memHandleType) - 60usize];
    ["Offset of field: CUarrayMapInfo_st::memHandle"]
        [::core::mem::offset_of!(CUarrayMapInfo, memHandle) - 64usize];
    ["Offset of field: CUarrayMapInfo_st::offset"]
        [::core::mem::offset_of!(CUarrayMapInfo, offset) - 72usize];
    ["Offset of field: CUarrayMapInfo_st::deviceBitMask"]
        [::core::mem::offset_of!(CUarrayMapInfo, deviceBitMask) - 80usize];
    ["Offset of field: CUarrayMapInfo_st::flags"]
        [::core::mem::offset_of!(CUarrayMapInfo, flags) - 84usize];
    ["Offset of field: CUarrayMapInfo_st::reserved"]
        [::core::mem::offset_of!(CUarrayMapInfo, reserved) - 88usize];
};

impl Default for CUarrayMapInfo {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUmemLocation {
    pub type_: CUmemLocationType,
    pub id: i32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUmemLocation_st"][::core::mem::size_of::<CUmemLocation>() - 8usize];
    ["Alignment of CUmemLocation_st"][::core::mem::align_of::<CUmemLocation>() - 4usize];
    ["Offset of field: CUmemLocation_st::type_"]
        [::core::mem::offset_of!(CUmemLocation, type_) - 0usize];
    ["Offset of field: CUmemLocation_st::id"][::core::mem::offset_of!(CUmemLocation, id) - 4usize];
};

impl Default for CUmemLocation {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUmemAllocationCompType {
    pub const CU_MEM_ALLOCATION_COMP_NONE: CUmemAllocationCompType = CUmemAllocationCompType(0);
    pub const CU_MEM_ALLOCATION_COMP_GENERIC: CUmemAllocationCompType = CUmemAllocationCompType(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemAllocationCompType(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUmemAllocationProp {
    pub type_: CUmemAllocationType,
    pub requestedHandleTypes: CUmemAllocationHandleType,
    pub location: CUmemLocation,
    pub win32HandleMetaData: *mut c_void,
    pub allocFlags: CUmemAllocationProp_st__bindgen_ty_1,
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUmemAllocationProp_st__bindgen_ty_1 {
    pub compressionType: u8,
    pub gpuDirectRDMACapable: u8,
    pub usage: u16,
    pub reserved: [u8; 4],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUmemAllocationProp_st__bindgen_ty_1"]
        [::core::mem::size_of::<CUmemAllocationProp_st__bindgen_ty_1>() - 8usize];
    ["Alignment of CUmemAllocationProp_st__bindgen_ty_1"]
        [::core::mem::align_of::<CUmemAllocationProp_st__bindgen_ty_1>() - 2usize];
    ["Offset of field: CUmemAllocationProp_st__bindgen_ty_1::compressionType"]
        [::core::mem::offset_of!(CUmemAllocationProp_st__bindgen_ty_1, compressionType) - 0usize];
    ["Offset of field: CUmemAllocationProp_st__bindgen_ty_1::gpuDirectRDMACapable"][::core::mem::offset_of!(
        CUmemAllocationProp_st__bindgen_ty_1,
        gpuDirectRDMACapable
    ) - 1usize];
    ["Offset of field: CUmemAllocationProp_st__bindgen_ty_1::usage"]
        [::core::mem::offset_of!(CUmemAllocationProp_st__bindgen_ty_1, usage) - 2usize];
    ["Offset of field: CUmemAllocationProp_st__bindgen_ty_1::reserved"]
        [::core::mem::offset_of!(CUmemAllocationProp_st__bindgen_ty_1, reserved) - 4usize];
};

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUmemAllocationProp_st"][::core::mem::size_of::<CUmemAllocationProp>() - 32usize];
    ["Alignment of CUmemAllocationProp_st"]
        [::core::mem::align_of::<CUmemAllocationProp>() - 8usize];
    ["Offset of field: CUmemAllocationProp_st::type_"]
        [::core::mem::offset_of!(CUmemAllocationProp, type_) - 0usize];
    ["Offset of field: CUmemAllocationProp_st::requestedHandleTypes"]
        [::core::mem::offset_of!(CUmemAllocationProp, requestedHandleTypes) - 4usize];
    ["Offset of field: CUmemAllocationProp_st::location"]
        [::core::mem::offset_of!(CUmemAllocationProp, location) - 8usize];
    ["Offset of field: CUmemAllocationProp_st::win32HandleMetaData"]
        [::core::mem::offset_of!(CUmemAllocationProp, win32HandleMetaData) - 16usize];
    ["Offset of field: CUmemAllocationProp_st::allocFlags"]
        [::core::mem::offset_of!(CUmemAllocationProp, allocFlags) - 24usize];
};

impl Default for CUmemAllocationProp {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUmulticastGranularity_flags {
    pub const CU_MULTICAST_GRANULARITY_MINIMUM: CUmulticastGranularity_flags =
        CUmulticastGranularity_flags(0);
    pub const CU_MULTICAST_GRANULARITY_RECOMMENDED: CUmulticastGranularity_flags =
        CUmulticastGranularity_flags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmulticastGranularity_flags(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUmulticastObjectProp {
    pub numDevices: u32,
    pub size: usize,
    pub handleTypes: u64,
    pub flags: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUmulticastObjectProp_st"][::core::mem::size_of::<CUmulticastObjectProp>() - 32usize];
    ["Alignment of CUmulticastObjectProp_st"]
        [::core::mem::align_of::<CUmulticastObjectProp>() - 8usize];
    ["Offset of field: CUmulticastObjectProp_st::numDevices"]
        [::core::mem::offset_of!(CUmulticastObjectProp, numDevices) - 0usize];
    ["Offset of field: CUmulticastObjectProp_st::size"]
        [::core::mem::offset_of!(CUmulticastObjectProp, size) - 8usize];
    ["Offset of field: CUmulticastObjectProp_st::handleTypes"]
        [::core::mem::offset_of!(CUmulticastObjectProp, handleTypes) - 16usize];
    ["Offset of field: CUmulticastObjectProp_st::flags"]
        [::core::mem::offset_of!(CUmulticastObjectProp, flags) - 24usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUmemAccessDesc {
    pub location: CUmemLocation,
    pub flags: CUmemAccess_flags,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUmemAccessDesc_st"][::core::mem::size_of::<CUmemAccessDesc>() - 12usize];
    ["Alignment of CUmemAccessDesc_st"][::core::mem::align_of::<CUmemAccessDesc>() - 4usize];
    ["Offset of field: CUmemAccessDesc_st::location"]
        [::core::mem::offset_of!(CUmemAccessDesc, location) - 0usize];
    ["Offset of field: CUmemAccessDesc_st::flags"]
        [::core::mem::offset_of!(CUmemAccessDesc, flags) - 8usize];
};

impl Default for CUmemAccessDesc {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUgraphExecUpdateResult {
    pub const CU_GRAPH_EXEC_UPDATE_SUCCESS: CUgraphExecUpdateResult = CUgraphExecUpdateResult(0);
    pub const CU_GRAPH_EXEC_UPDATE_ERROR: CUgraphExecUpdateResult = CUgraphExecUpdateResult(1);
    pub const CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED: CUgraphExecUpdateResult =
        CUgraphExecUpdateResult(2);
    pub const CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED: CUgraphExecUpdateResult =
        CUgraphExecUpdateResult(3);
    pub const CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED: CUgraphExecUpdateResult =
        CUgraphExecUpdateResult(4);
    pub const CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED: CUgraphExecUpdateResult =
        CUgraphExecUpdateResult(5);
    pub const CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED: CUgraphExecUpdateResult =
        CUgraphExecUpdateResult(6);
    pub const CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE: CUgraphExecUpdateResult =
        CUgraphExecUpdateResult(7);
    pub const CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED: CUgraphExecUpdateResult =
        CUgraphExecUpdateResult(8);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUgraphExecUpdateResult(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUgraphExecUpdateResultInfo {
    pub result: CUgraphExecUpdateResult,
    pub errorNode: CUgraphNode,
    pub errorFromNode: CUgraphNode,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUgraphExecUpdateResultInfo_st"]
        [::core::mem::size_of::<CUgraphExecUpdateResultInfo>() - 24usize];
    ["Alignment of CUgraphExecUpdateResultInfo_st"]
        [::core::mem::align_of::<CUgraphExecUpdateResultInfo>() - 8usize];
    ["Offset of field: CUgraphExecUpdateResultInfo_st::result"]
        [::core::mem::offset_of!(CUgraphExecUpdateResultInfo, result) - 0usize];
    ["Offset of field: CUgraphExecUpdateResultInfo_st::errorNode"]
        [::core::mem::offset_of!(CUgraphExecUpdateResultInfo, errorNode) - 8usize];
    ["Offset of field: CUgraphExecUpdateResultInfo_st::errorFromNode"]
        [::core::mem::offset_of!(CUgraphExecUpdateResultInfo, errorFromNode) - 16usize];
};

impl Default for CUgraphExecUpdateResultInfo {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUmemPool_attribute {
    pub const CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: CUmemPool_attribute =
        CUmemPool_attribute(1);
    pub const CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: CUmemPool_attribute =
        CUmemPool_attribute(2);
    pub const CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: CUmemPool_attribute =
        CUmemPool_attribute(3);
    pub const CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: CUmemPool_attribute = CUmemPool_attribute(4);
    pub const CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: CUmemPool_attribute = CUmemPool_attribute(5);
    pub const CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: CUmemPool_attribute = CUmemPool_attribute(6);
    pub const CU_MEMPOOL_ATTR_USED_MEM_CURRENT: CUmemPool_attribute = CUmemPool_attribute(7);
    pub const CU_MEMPOOL_ATTR_USED_MEM_HIGH: CUmemPool_attribute = CUmemPool_attribute(8);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemPool_attribute(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUmemPoolProps {
    pub allocType: CUmemAllocationType,
    pub handleTypes: CUmemAllocationHandleType,
    pub location: CUmemLocation,
    pub win32SecurityAttributes: *mut c_void,
    pub maxSize: usize,
    pub usage: u16,
    pub reserved: [u8; 54],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUmemPoolProps_st"][::core::mem::size_of::<CUmemPoolProps>() - 88usize];
    ["Alignment of CUmemPoolProps_st"][::core::mem::align_of::<CUmemPoolProps>() - 8usize];
    ["Offset of field: CUmemPoolProps_st::allocType"]
        [::core::mem::offset_of!(CUmemPoolProps, allocType) - 0usize];
    ["Offset of field: CUmemPoolProps_st::handleTypes"]
        [::core::mem::offset_of!(CUmemPoolProps, handleTypes) - 4usize];
    ["Offset of field: CUmemPoolProps_st::location"]
        [::core::mem::offset_of!(CUmemPoolProps, location) - 8usize];
    ["Offset of field: CUmemPoolProps_st::win32SecurityAttributes"]
        [::core::mem::offset_of!(CUmemPoolProps, win32SecurityAttributes) - 16usize];
    ["Offset of field: CUmemPoolProps_st::maxSize"]
        [::core::mem::offset_of!(CUmemPoolProps, maxSize) - 24usize];
    ["Offset of field: CUmemPoolProps_st::usage"]
        [::core::mem::offset_of!(CUmemPoolProps, usage) - 32usize];
    ["Offset of field: CUmemPoolProps_st::reserved"]
        [::core::mem::offset_of!(CUmemPoolProps, reserved) - 34usize];
};

impl Default for CUmemPoolProps {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUmemPoolPtrExportData {
    pub reserved: [u8; 64],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUmemPoolPtrExportData_st"]
        [::core::mem::size_of::<CUmemPoolPtrExportData>() - 64usize];
    ["Alignment of CUmemPoolPtrExportData_st"]
        [::core::mem::align_of::<CUmemPoolPtrExportData>() - 1usize];
    ["Offset of field: CUmemPoolPtrExportData_st::reserved"]
        [::core::mem::offset_of!(CUmemPoolPtrExportData, reserved) - 0usize];
};

impl Default for CUmemPoolPtrExportData {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUmemcpyFlags {
    pub const CU_MEMCPY_FLAG_DEFAULT: CUmemcpyFlags = CUmemcpyFlags(0);
    pub const CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE: CUmemcpyFlags = CUmemcpyFlags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemcpyFlags(pub u32);

impl CUmemcpySrcAccessOrder {
    pub const CU_MEMCPY_SRC_ACCESS_ORDER_INVALID: CUmemcpySrcAccessOrder =
        CUmemcpySrcAccessOrder(0);
    pub const CU_MEMCPY_SRC_ACCESS_ORDER_STREAM: CUmemcpySrcAccessOrder = CUmemcpySrcAccessOrder(1);
    pub const CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL: CUmemcpySrcAccessOrder =
        CUmemcpySrcAccessOrder(2);
    pub const CU_MEMCPY_SRC_ACCESS_ORDER_ANY: CUmemcpySrcAccessOrder = CUmemcpySrcAccessOrder(3);
    pub const CU_MEMCPY_SRC_ACCESS_ORDER_MAX: CUmemcpySrcAccessOrder =
        CUmemcpySrcAccessOrder(2147483647);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemcpySrcAccessOrder(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUmemcpyAttributes {
    pub srcAccessOrder: CUmemcpySrcAccessOrder,
    pub srcLocHint: CUmemLocation,
    pub dstLocHint: CUmemLocation,
    pub flags: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUmemcpyAttributes_st"][::core::mem::size_of::<CUmemcpyAttributes>() - 24usize];
    ["Alignment of CUmemcpyAttributes_st"][::core::mem::align_of::<CUmemcpyAttributes>() - 4usize];
    ["Offset of field: CUmemcpyAttributes_st::srcAccessOrder"]
        [::core::mem::offset_of!(CUmemcpyAttributes, srcAccessOrder) - 0usize];
    ["Offset of field: CUmemcpyAttributes_st::srcLocHint"]
        [::core::mem::offset_of!(CUmemcpyAttributes, srcLocHint) - 4usize];
    ["Offset of field: CUmemcpyAttributes_st::dstLocHint"]
        [::core::mem::offset_of!(CUmemcpyAttributes, dstLocHint) - 12usize];
    ["Offset of field: CUmemcpyAttributes_st::flags"]
        [::core::mem::offset_of!(CUmemcpyAttributes, flags) - 20usize];
};

impl Default for CUmemcpyAttributes {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUmemcpy3DOperandType {
    pub const CU_MEMCPY_OPERAND_TYPE_POINTER: CUmemcpy3DOperandType = CUmemcpy3DOperandType(1);
    pub const CU_MEMCPY_OPERAND_TYPE_ARRAY: CUmemcpy3DOperandType = CUmemcpy3DOperandType(2);
    pub const CU_MEMCPY_OPERAND_TYPE_MAX: CUmemcpy3DOperandType = CUmemcpy3DOperandType(2147483647);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemcpy3DOperandType(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUoffset3D {
    pub x: usize,
    pub y: usize,
    pub z: usize,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUoffset3D_st"][::core::mem::size_of::<CUoffset3D>() - 24usize];
    ["Alignment of CUoffset3D_st"][::core::mem::align_of::<CUoffset3D>() - 8usize];
    ["Offset of field: CUoffset3D_st::x"][::core::mem::offset_of!(CUoffset3D, x) - 0usize];
    ["Offset of field: CUoffset3D_st::y"][::core::mem::offset_of!(CUoffset3D, y) - 8usize];
    ["Offset of field: CUoffset3D_st::z"][::core::mem::offset_of!(CUoffset3D, z) - 16usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUextent3D {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUextent3D_st"][::core::mem::size_of::<CUextent3D>() - 24usize];
    ["Alignment of CUextent3D_st"][::core::mem::align_of::<CUextent3D>() - 8usize];
    ["Offset of field: CUextent3D_st::width"][::core::mem::offset_of!(CUextent3D, width) - 0usize];
    ["Offset of field: CUextent3D_st::height"]
        [::core::mem::offset_of!(CUextent3D, height) - 8usize];
    ["Offset of field: CUextent3D_st::depth"][::core::mem::offset_of!(CUextent3D, depth) - 16usize];
};

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUmemcpy3DOperand {
    pub type_: CUmemcpy3DOperandType,
    pub op: CUmemcpy3DOperand_st__bindgen_ty_1,
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUmemcpy3DOperand_st__bindgen_ty_1 {
    pub ptr: CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1,
    pub array: CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_2,
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1 {
    pub ptr: CUdeviceptr,
    pub rowLength: usize,
    pub layerHeight: usize,
    pub locHint: CUmemLocation,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1"]
        [::core::mem::size_of::<CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1>() - 32usize];
    ["Alignment of CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1"]
        [::core::mem::align_of::<CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1>() - 8usize];
    ["Offset of field: CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1::ptr"]
        [::core::mem::offset_of!(CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1, ptr) - 0usize];
    ["Offset of field: CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1::rowLength"][::core::mem::offset_of!(
        CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1,
        rowLength
    ) - 8usize];
    ["Offset of field: CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1::layerHeight"][::core::mem::offset_of!(
        CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1,
        layerHeight
    ) - 16usize];
    ["Offset of field: CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1::locHint"][::core::mem::offset_of!(
        CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1,
        locHint
    ) - 24usize];
};

impl Default for CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_2 {
    pub array: CUarray,
    pub offset: CUoffset3D,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_2"]
        [::core::mem::size_of::<CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_2>() - 32usize];
    ["Alignment of CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_2"]
        [::core::mem::align_of::<CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_2>() - 8usize];
    ["Offset of field: CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_2::array"]
        [::core::mem::offset_of!(CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_2, array) - 0usize];
    ["Offset of field: CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_2::offset"][::core::mem::offset_of!(
        CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_2,
        offset
    ) - 8usize];
};

impl Default for CUmemcpy3DOperand_st__bindgen_ty_1__bindgen_ty_2 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUmemcpy3DOperand_st__bindgen_ty_1"]
        [::core::mem::size_of::<CUmemcpy3DOperand_st__bindgen_ty_1>() - 32usize];
    ["Alignment of CUmemcpy3DOperand_st__bindgen_ty_1"]
        [::core::mem::align_of::<CUmemcpy3DOperand_st__bindgen_ty_1>() - 8usize];
    ["Offset of field: CUmemcpy3DOperand_st__bindgen_ty_1::ptr"]
        [::core::mem::offset_of!(CUmemcpy3DOperand_st__bindgen_ty_1, ptr) - 0usize];
    ["Offset of field: CUmemcpy3DOperand_st__bindgen_ty_1::array"]
        [::core::mem::offset_of!(CUmemcpy3DOperand_st__bindgen_ty_1, array) - 0usize];
};

impl Default for CUmemcpy3DOperand_st__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUmemcpy3DOperand_st"][::core::mem::size_of::<CUmemcpy3DOperand>() - 40usize];
    ["Alignment of CUmemcpy3DOperand_st"][::core::mem::align_of::<CUmemcpy3DOperand>() - 8usize];
    ["Offset of field: CUmemcpy3DOperand_st::type_"]
        [::core::mem::offset_of!(CUmemcpy3DOperand, type_) - 0usize];
    ["Offset of field: CUmemcpy3DOperand_st::op"]
        [::core::mem::offset_of!(CUmemcpy3DOperand, op) - 8usize];
};

impl Default for CUmemcpy3DOperand {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUDA_MEMCPY3D_BATCH_OP {
    pub src: CUmemcpy3DOperand,
    pub dst: CUmemcpy3DOperand,
    pub extent: CUextent3D,
    pub srcAccessOrder: CUmemcpySrcAccessOrder,
    pub flags: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_MEMCPY3D_BATCH_OP_st"]
        [::core::mem::size_of::<CUDA_MEMCPY3D_BATCH_OP>() - 112usize];
    ["Alignment of CUDA_MEMCPY3D_BATCH_OP_st"]
        [::core::mem::align_of::<CUDA_MEMCPY3D_BATCH_OP>() - 8usize];
    ["Offset of field: CUDA_MEMCPY3D_BATCH_OP_st::src"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_BATCH_OP, src) - 0usize];
    ["Offset of field: CUDA_MEMCPY3D_BATCH_OP_st::dst"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_BATCH_OP, dst) - 40usize];
    ["Offset of field: CUDA_MEMCPY3D_BATCH_OP_st::extent"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_BATCH_OP, extent) - 80usize];
    ["Offset of field: CUDA_MEMCPY3D_BATCH_OP_st::srcAccessOrder"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_BATCH_OP, srcAccessOrder) - 104usize];
    ["Offset of field: CUDA_MEMCPY3D_BATCH_OP_st::flags"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_BATCH_OP, flags) - 108usize];
};

impl Default for CUDA_MEMCPY3D_BATCH_OP {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_MEM_ALLOC_NODE_PARAMS {
    pub poolProps: CUmemPoolProps,
    pub accessDescs: *const CUmemAccessDesc,
    pub accessDescCount: usize,
    pub bytesize: usize,
    pub dptr: CUdeviceptr,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_MEM_ALLOC_NODE_PARAMS_v1_st"]
        [::core::mem::size_of::<CUDA_MEM_ALLOC_NODE_PARAMS>() - 120usize];
    ["Alignment of CUDA_MEM_ALLOC_NODE_PARAMS_v1_st"]
        [::core::mem::align_of::<CUDA_MEM_ALLOC_NODE_PARAMS>() - 8usize];
    ["Offset of field: CUDA_MEM_ALLOC_NODE_PARAMS_v1_st::poolProps"]
        [::core::mem::offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS, poolProps) - 0usize];
    ["Offset of field: CUDA_MEM_ALLOC_NODE_PARAMS_v1_st::accessDescs"]
        [::core::mem::offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS, accessDescs) - 88usize];
    ["Offset of field: CUDA_MEM_ALLOC_NODE_PARAMS_v1_st::accessDescCount"]
        [::core::mem::offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS, accessDescCount) - 96usize];
    ["Offset of field: CUDA_MEM_ALLOC_NODE_PARAMS_v1_st::bytesize"]
        [::core::mem::offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS, bytesize) - 104usize];
    ["Offset of field: CUDA_MEM_ALLOC_NODE_PARAMS_v1_st::dptr"]
        [::core::mem::offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS, dptr) - 112usize];
};

impl Default for CUDA_MEM_ALLOC_NODE_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_MEM_ALLOC_NODE_PARAMS_v2 {
    pub poolProps: CUmemPoolProps,
    pub accessDescs: *const CUmemAccessDesc,
    pub accessDescCount: usize,
    pub bytesize: usize,
    pub dptr: CUdeviceptr,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_MEM_ALLOC_NODE_PARAMS_v2_st"]
        [::core::mem::size_of::<CUDA_MEM_ALLOC_NODE_PARAMS_v2>() - 120usize];
    ["Alignment of CUDA_MEM_ALLOC_NODE_PARAMS_v2_st"]
        [::core::mem::align_of::<CUDA_MEM_ALLOC_NODE_PARAMS_v2>() - 8usize];
    ["Offset of field: CUDA_MEM_ALLOC_NODE_PARAMS_v2_st::poolProps"]
        [::core::mem::offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS_v2, poolProps) - 0usize];
    ["Offset of field: CUDA_MEM_ALLOC_NODE_PARAMS_v2_st::accessDescs"]
        [::core::mem::offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS_v2, accessDescs) - 88usize];
    ["Offset of field: CUDA_MEM_ALLOC_NODE_PARAMS_v2_st::accessDescCount"]
        [::core::mem::offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS_v2, accessDescCount) - 96usize];
    ["Offset of field: CUDA_MEM_ALLOC_NODE_PARAMS_v2_st::bytesize"]
        [::core::mem::offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS_v2, bytesize) - 104usize];
    ["Offset of field: CUDA_MEM_ALLOC_NODE_PARAMS_v2_st::dptr"]
        [::core::mem::offset_of!(CUDA_MEM_ALLOC_NODE_PARAMS_v2, dptr) - 112usize];
};

impl Default for CUDA_MEM_ALLOC_NODE_PARAMS_v2 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_MEM_FREE_NODE_PARAMS {
    pub dptr: CUdeviceptr,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_MEM_FREE_NODE_PARAMS_st"]
        [::core::mem::size_of::<CUDA_MEM_FREE_NODE_PARAMS>() - 8usize];
    ["Alignment of CUDA_MEM_FREE_NODE_PARAMS_st"]
        [::core::mem::align_of::<CUDA_MEM_FREE_NODE_PARAMS>() - 8usize];
    ["Offset of field: CUDA_MEM_FREE_NODE_PARAMS_st::dptr"]
        [::core::mem::offset_of!(CUDA_MEM_FREE_NODE_PARAMS, dptr) - 0usize];
};

impl CUgraphMem_attribute {
    pub const CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT: CUgraphMem_attribute = CUgraphMem_attribute(0);
    pub const CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: CUgraphMem_attribute = CUgraphMem_attribute(1);
    pub const CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: CUgraphMem_attribute =
        CUgraphMem_attribute(2);
    pub const CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: CUgraphMem_attribute = CUgraphMem_attribute(3);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUgraphMem_attribute(pub u32);

impl CUgraphChildGraphNodeOwnership {
    pub const CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE: CUgraphChildGraphNodeOwnership =
        CUgraphChildGraphNodeOwnership(0);
    pub const CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE: CUgraphChildGraphNodeOwnership =
        CUgraphChildGraphNodeOwnership(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUgraphChildGraphNodeOwnership(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_CHILD_GRAPH_NODE_PARAMS {
    pub graph: CUgraph,
    pub ownership: CUgraphChildGraphNodeOwnership,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_CHILD_GRAPH_NODE_PARAMS_st"]
        [::core::mem::size_of::<CUDA_CHILD_GRAPH_NODE_PARAMS>() - 16usize];
    ["Alignment of CUDA_CHILD_GRAPH_NODE_PARAMS_st"]
        [::core::mem::align_of::<CUDA_CHILD_GRAPH_NODE_PARAMS>() - 8usize];
    ["Offset of field: CUDA_CHILD_GRAPH_NODE_PARAMS_st::graph"]
        [::core::mem::offset_of!(CUDA_CHILD_GRAPH_NODE_PARAMS, graph) - 0usize];
    ["Offset of field: CUDA_CHILD_GRAPH_NODE_PARAMS_st::ownership"]
        [::core::mem::offset_of!(CUDA_CHILD_GRAPH_NODE_PARAMS, ownership) - 8usize];
};

impl Default for CUDA_CHILD_GRAPH_NODE_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_EVENT_RECORD_NODE_PARAMS {
    pub event: CUevent,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EVENT_RECORD_NODE_PARAMS_st"]
        [::core::mem::size_of::<CUDA_EVENT_RECORD_NODE_PARAMS>() - 8usize];
    ["Alignment of CUDA_EVENT_RECORD_NODE_PARAMS_st"]
        [::core::mem::align_of::<CUDA_EVENT_RECORD_NODE_PARAMS>() - 8usize];
    ["Offset of field: CUDA_EVENT_RECORD_NODE_PARAMS_st::event"]
        [::core::mem::offset_of!(CUDA_EVENT_RECORD_NODE_PARAMS, event) - 0usize];
};

impl Default for CUDA_EVENT_RECORD_NODE_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_EVENT_WAIT_NODE_PARAMS {
    pub event: CUevent,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_EVENT_WAIT_NODE_PARAMS_st"]
        [::core::mem::size_of::<CUDA_EVENT_WAIT_NODE_PARAMS>() - 8usize];
    ["Alignment of CUDA_EVENT_WAIT_NODE_PARAMS_st"]
        [::core::mem::align_of::<CUDA_EVENT_WAIT_NODE_PARAMS>() - 8usize];
    ["Offset of field: CUDA_EVENT_WAIT_NODE_PARAMS_st::event"]
        [::core::mem::offset_of!(CUDA_EVENT_WAIT_NODE_PARAMS, event) - 0usize];
};

impl Default for CUDA_EVENT_WAIT_NODE_PARAMS {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUgraphNodeParams {
    pub type_: CUgraphNodeType,
    pub reserved0: [i32; 3],
    pub __bindgen_anon_1: CUgraphNodeParams_st__bindgen_ty_1,
    pub reserved2: i64,
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUgraphNodeParams_st__bindgen_ty_1 {
    pub reserved1: [i64; 29],
    pub kernel: CUDA_KERNEL_NODE_PARAMS_v3,
    pub memcpy: CUDA_MEMCPY_NODE_PARAMS,
    pub memset: CUDA_MEMSET_NODE_PARAMS_v2,
    pub host: CUDA_HOST_NODE_PARAMS_v2,
    pub graph: CUDA_CHILD_GRAPH_NODE_PARAMS,
    pub eventWait: CUDA_EVENT_WAIT_NODE_PARAMS,
    pub eventRecord: CUDA_EVENT_RECORD_NODE_PARAMS,
    pub extSemSignal: CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v2,
    pub extSemWait: CUDA_EXT_SEM_WAIT_NODE_PARAMS_v2,
    pub alloc: CUDA_MEM_ALLOC_NODE_PARAMS_v2,
    pub free: CUDA_MEM_FREE_NODE_PARAMS,
    pub memOp: CUDA_BATCH_MEM_OP_NODE_PARAMS_v2,
    pub conditional: CUDA_CONDITIONAL_NODE_PARAMS,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUgraphNodeParams_st__bindgen_ty_1"]
        [::core::mem::size_of::<CUgraphNodeParams_st__bindgen_ty_1>() - 232usize];
    ["Alignment of CUgraphNodeParams_st__bindgen_ty_1"]
        [::core::mem::align_of::<CUgraphNodeParams_st__bindgen_ty_1>() - 8usize];
    ["Offset of field: CUgraphNodeParams_st__bindgen_ty_1::reserved1"]
        [::core::mem::offset_of!(CUgraphNodeParams_st__bindgen_ty_1, reserved1) - 0usize];
    ["Offset of field: CUgraphNodeParams_st__bindgen_ty_1::kernel"]
        [::core::mem::offset_of!(CUgraphNodeParams_st__bindgen_ty_1, kernel) - 0usize];
    ["Offset of field: CUgraphNodeParams_st__bindgen_ty_1::memcpy"]
        [::core::mem::offset_of!(CUgraphNodeParams_st__bindgen_ty_1, memcpy) - 0usize];
    ["Offset of field: CUgraphNodeParams_st__bindgen_ty_1::memset"]
        [::core::mem::offset_of!(CUgraphNodeParams_st__bindgen_ty_1, memset) - 0usize];
    ["Offset of field: CUgraphNodeParams_st__bindgen_ty_1::host"]
        [::core::mem::offset_of!(CUgraphNodeParams_st__bindgen_ty_1, host) - 0usize];
    ["Offset of field: CUgraphNodeParams_st__bindgen_ty_1::graph"]
        [::core::mem::offset_of!(CUgraphNodeParams_st__bindgen_ty_1, graph) - 0usize];
    ["Offset of field: CUgraphNodeParams_st__bindgen_ty_1::eventWait"]
        [::core::mem::offset_of!(CUgraphNodeParams_st__bindgen_ty_1, eventWait) - 0usize];
    ["Offset of field: CUgraphNodeParams_st__bindgen_ty_1::eventRecord"]
        [::core::mem::offset_of!(CUgraphNodeParams_st__bindgen_ty_1, eventRecord) - 0usize];
    ["Offset of field: CUgraphNodeParams_st__bindgen_ty_1::extSemSignal"]
        [::core::mem::offset_of!(CUgraphNodeParams_st__bindgen_ty_1, extSemSignal) - 0usize];
    ["Offset of field: CUgraphNodeParams_st__bindgen_ty_1::extSemWait"]
        [::core::mem::offset_of!(CUgraphNodeParams_st__bindgen_ty_1, extSemWait) - 0usize];
    ["Offset of field: CUgraphNodeParams_st__bindgen_ty_1::alloc"]
        [::core::mem::offset_of!(CUgraphNodeParams_st__bindgen_ty_1, alloc) - 0usize];
    ["Offset of field: CUgraphNodeParams_st__bindgen_ty_1::free"]
        [::core::mem::offset_of!(CUgraphNodeParams_st__bindgen_ty_1, free) - 0usize];
    ["Offset of field: CUgraphNodeParams_st__bindgen_ty_1::memOp"]
        [::core::mem::offset_of!(CUgraphNodeParams_st__bindgen_ty_1, memOp) - 0usize];
    ["Offset of field: CUgraphNodeParams_st__bindgen_ty_1::conditional"]
        [::core::mem::offset_of!(CUgraphNodeParams_st__bindgen_ty_1, conditional) - 0usize];
};

impl Default for CUgraphNodeParams_st__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUgraphNodeParams_st"][::core::mem::size_of::<CUgraphNodeParams>() - 256usize];
    ["Alignment of CUgraphNodeParams_st"][::core::mem::align_of::<CUgraphNodeParams>() - 8usize];
    ["Offset of field: CUgraphNodeParams_st::type_"]
        [::core::mem::offset_of!(CUgraphNodeParams, type_) - 0usize];
    ["Offset of field: CUgraphNodeParams_st::reserved0"]
        [::core::mem::offset_of!(CUgraphNodeParams, reserved0) - 4usize];
    ["Offset of field: CUgraphNodeParams_st::reserved2"]
        [::core::mem::offset_of!(CUgraphNodeParams, reserved2) - 248usize];
};

impl Default for CUgraphNodeParams {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUflushGPUDirectRDMAWritesOptions {
    pub const CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST: CUflushGPUDirectRDMAWritesOptions =
        CUflushGPUDirectRDMAWritesOptions(1);
    pub const CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_MEMOPS: CUflushGPUDirectRDMAWritesOptions =
        CUflushGPUDirectRDMAWritesOptions(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUflushGPUDirectRDMAWritesOptions(pub u32);

impl CUGPUDirectRDMAWritesOrdering {
    pub const CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE: CUGPUDirectRDMAWritesOrdering =
        CUGPUDirectRDMAWritesOrdering(0);
    pub const CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER: CUGPUDirectRDMAWritesOrdering =
        CUGPUDirectRDMAWritesOrdering(100);
    pub const CU_GPU_DIRECT_RDMA_WRITES_ORDERING_ALL_DEVICES: CUGPUDirectRDMAWritesOrdering =
        CUGPUDirectRDMAWritesOrdering(200);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUGPUDirectRDMAWritesOrdering(pub u32);

impl CUflushGPUDirectRDMAWritesScope {
    pub const CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER: CUflushGPUDirectRDMAWritesScope =
        CUflushGPUDirectRDMAWritesScope(100);
    pub const CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES: CUflushGPUDirectRDMAWritesScope =
        CUflushGPUDirectRDMAWritesScope(200);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUflushGPUDirectRDMAWritesScope(pub u32);

impl CUflushGPUDirectRDMAWritesTarget {
    pub const CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX: CUflushGPUDirectRDMAWritesTarget =
        CUflushGPUDirectRDMAWritesTarget(0);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUflushGPUDirectRDMAWritesTarget(pub u32);

impl CUgraphDebugDot_flags {
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE: CUgraphDebugDot_flags = CUgraphDebugDot_flags(1);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_RUNTIME_TYPES: CUgraphDebugDot_flags =
        CUgraphDebugDot_flags(2);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS: CUgraphDebugDot_flags =
        CUgraphDebugDot_flags(4);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS: CUgraphDebugDot_flags =
        CUgraphDebugDot_flags(8);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS: CUgraphDebugDot_flags =
        CUgraphDebugDot_flags(16);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS: CUgraphDebugDot_flags =
        CUgraphDebugDot_flags(32);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS: CUgraphDebugDot_flags =
        CUgraphDebugDot_flags(64);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_EXT_SEMAS_SIGNAL_NODE_PARAMS: CUgraphDebugDot_flags =
        CUgraphDebugDot_flags(128);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_EXT_SEMAS_WAIT_NODE_PARAMS: CUgraphDebugDot_flags =
        CUgraphDebugDot_flags(256);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES: CUgraphDebugDot_flags =
        CUgraphDebugDot_flags(512);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES: CUgraphDebugDot_flags = CUgraphDebugDot_flags(1024);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS: CUgraphDebugDot_flags =
        CUgraphDebugDot_flags(2048);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS: CUgraphDebugDot_flags =
        CUgraphDebugDot_flags(4096);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS: CUgraphDebugDot_flags =
        CUgraphDebugDot_flags(8192);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO: CUgraphDebugDot_flags =
        CUgraphDebugDot_flags(16384);
    pub const CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS: CUgraphDebugDot_flags =
        CUgraphDebugDot_flags(32768);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUgraphDebugDot_flags(pub u32);

impl CUuserObject_flags {
    pub const CU_USER_OBJECT_NO_DESTRUCTOR_SYNC: CUuserObject_flags = CUuserObject_flags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUuserObject_flags(pub u32);

impl CUuserObjectRetain_flags {
    pub const CU_GRAPH_USER_OBJECT_MOVE: CUuserObjectRetain_flags = CUuserObjectRetain_flags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUuserObjectRetain_flags(pub u32);

impl CUgraphInstantiate_flags {
    pub const CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH: CUgraphInstantiate_flags =
        CUgraphInstantiate_flags(1);
    pub const CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD: CUgraphInstantiate_flags =
        CUgraphInstantiate_flags(2);
    pub const CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH: CUgraphInstantiate_flags =
        CUgraphInstantiate_flags(4);
    pub const CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY: CUgraphInstantiate_flags =
        CUgraphInstantiate_flags(8);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUgraphInstantiate_flags(pub u32);

impl CUdeviceNumaConfig {
    pub const CU_DEVICE_NUMA_CONFIG_NONE: CUdeviceNumaConfig = CUdeviceNumaConfig(0);
    pub const CU_DEVICE_NUMA_CONFIG_NUMA_NODE: CUdeviceNumaConfig = CUdeviceNumaConfig(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUdeviceNumaConfig(pub u32);

impl CUprocessState {
    pub const CU_PROCESS_STATE_RUNNING: CUprocessState = CUprocessState(0);
    pub const CU_PROCESS_STATE_LOCKED: CUprocessState = CUprocessState(1);
    pub const CU_PROCESS_STATE_CHECKPOINTED: CUprocessState = CUprocessState(2);
    pub const CU_PROCESS_STATE_FAILED: CUprocessState = CUprocessState(3);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUprocessState(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUcheckpointLockArgs {
    pub timeoutMs: u32,
    pub reserved0: u32,
    pub reserved1: [u64; 7],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUcheckpointLockArgs_st"][::core::mem::size_of::<CUcheckpointLockArgs>() - 64usize];
    ["Alignment of CUcheckpointLockArgs_st"]
        [::core::mem::align_of::<CUcheckpointLockArgs>() - 8usize];
    ["Offset of field: CUcheckpointLockArgs_st::timeoutMs"]
        [::core::mem::offset_of!(CUcheckpointLockArgs, timeoutMs) - 0usize];
    ["Offset of field: CUcheckpointLockArgs_st::reserved0"]
        [::core::mem::offset_of!(CUcheckpointLockArgs, reserved0) - 4usize];
    ["Offset of field: CUcheckpointLockArgs_st::reserved1"]
        [::core::mem::offset_of!(CUcheckpointLockArgs, reserved1) - 8usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUcheckpointCheckpointArgs {
    pub reserved: [u64; 8],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUcheckpointCheckpointArgs_st"]
        [::core::mem::size_of::<CUcheckpointCheckpointArgs>() - 64usize];
    ["Alignment of CUcheckpointCheckpointArgs_st"]
        [::core::mem::align_of::<CUcheckpointCheckpointArgs>() - 8usize];
    ["Offset of field: CUcheckpointCheckpointArgs_st::reserved"]
        [::core::mem::offset_of!(CUcheckpointCheckpointArgs, reserved) - 0usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUcheckpointGpuPair {
    pub oldUuid: CUuuid,
    pub newUuid: CUuuid,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUcheckpointGpuPair_st"][::core::mem::size_of::<CUcheckpointGpuPair>() - 32usize];
    ["Alignment of CUcheckpointGpuPair_st"]
        [::core::mem::align_of::<CUcheckpointGpuPair>() - 1usize];
    ["Offset of field: CUcheckpointGpuPair_st::oldUuid"]
        [::core::mem::offset_of!(CUcheckpointGpuPair, oldUuid) - 0usize];
    ["Offset of field: CUcheckpointGpuPair_st::newUuid"]
        [::core::mem::offset_of!(CUcheckpointGpuPair, newUuid) - 16usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUcheckpointRestoreArgs {
    pub gpuPairs: *mut CUcheckpointGpuPair,
    pub gpuPairsCount: u32,
    pub reserved: [c_char; 44],
    pub reserved1: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUcheckpointRestoreArgs_st"]
        [::core::mem::size_of::<CUcheckpointRestoreArgs>() - 64usize];
    ["Alignment of CUcheckpointRestoreArgs_st"]
        [::core::mem::align_of::<CUcheckpointRestoreArgs>() - 8usize];
    ["Offset of field: CUcheckpointRestoreArgs_st::gpuPairs"]
        [::core::mem::offset_of!(CUcheckpointRestoreArgs, gpuPairs) - 0usize];
    ["Offset of field: CUcheckpointRestoreArgs_st::gpuPairsCount"]
        [::core::mem::offset_of!(CUcheckpointRestoreArgs, gpuPairsCount) - 8usize];
    ["Offset of field: CUcheckpointRestoreArgs_st::reserved"]
        [::core::mem::offset_of!(CUcheckpointRestoreArgs, reserved) - 12usize];
    ["Offset of field: CUcheckpointRestoreArgs_st::reserved1"]
        [::core::mem::offset_of!(CUcheckpointRestoreArgs, reserved1) - 56usize];
};

impl Default for CUcheckpointRestoreArgs {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUcheckpointUnlockArgs {
    pub reserved: [u64; 8],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUcheckpointUnlockArgs_st"]
        [::core::mem::size_of::<CUcheckpointUnlockArgs>() - 64usize];
    ["Alignment of CUcheckpointUnlockArgs_st"]
        [::core::mem::align_of::<CUcheckpointUnlockArgs>() - 8usize];
    ["Offset of field: CUcheckpointUnlockArgs_st::reserved"]
        [::core::mem::offset_of!(CUcheckpointUnlockArgs, reserved) - 0usize];
};

impl CUmoduleLoadingMode {
    pub const CU_MODULE_EAGER_LOADING: CUmoduleLoadingMode = CUmoduleLoadingMode(1);
    pub const CU_MODULE_LAZY_LOADING: CUmoduleLoadingMode = CUmoduleLoadingMode(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmoduleLoadingMode(pub u32);

impl CUmemDecompressAlgorithm {
    pub const CU_MEM_DECOMPRESS_UNSUPPORTED: CUmemDecompressAlgorithm = CUmemDecompressAlgorithm(0);
    pub const CU_MEM_DECOMPRESS_ALGORITHM_DEFLATE: CUmemDecompressAlgorithm =
        CUmemDecompressAlgorithm(1);
    pub const CU_MEM_DECOMPRESS_ALGORITHM_SNAPPY: CUmemDecompressAlgorithm =
        CUmemDecompressAlgorithm(2);
    pub const CU_MEM_DECOMPRESS_ALGORITHM_LZ4: CUmemDecompressAlgorithm =
        CUmemDecompressAlgorithm(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUmemDecompressAlgorithm(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUmemDecompressParams {
    pub srcNumBytes: usize,
    pub dstNumBytes: usize,
    pub dstActBytes: *mut u32,
    pub src: *const c_void,
    pub dst: *mut c_void,
    pub algo: CUmemDecompressAlgorithm,
    pub padding: [u8; 20],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUmemDecompressParams_st"][::core::mem::size_of::<CUmemDecompressParams>() - 64usize];
    ["Alignment of CUmemDecompressParams_st"]
        [::core::mem::align_of::<CUmemDecompressParams>() - 8usize];
    ["Offset of field: CUmemDecompressParams_st::srcNumBytes"]
        [::core::mem::offset_of!(CUmemDecompressParams, srcNumBytes) - 0usize];
    ["Offset of field: CUmemDecompressParams_st::dstNumBytes"]
        [::core::mem::offset_of!(CUmemDecompressParams, dstNumBytes) - 8usize];
    ["Offset of field: CUmemDecompressParams_st::dstActBytes"]
        [::core::mem::offset_of!(CUmemDecompressParams, dstActBytes) - 16usize];
    ["Offset of field: CUmemDecompressParams_st::src"]
        [::core::mem::offset_of!(CUmemDecompressParams, src) - 24usize];
    ["Offset of field: CUmemDecompressParams_st::dst"]
        [::core::mem::offset_of!(CUmemDecompressParams, dst) - 32usize];
    ["Offset of field: CUmemDecompressParams_st::algo"]
        [::core::mem::offset_of!(CUmemDecompressParams, algo) - 40usize];
    ["Offset of field: CUmemDecompressParams_st::padding"]
        [::core::mem::offset_of!(CUmemDecompressParams, padding) - 44usize];
};

impl Default for CUmemDecompressParams {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUfunctionLoadingState {
    pub const CU_FUNCTION_LOADING_STATE_UNLOADED: CUfunctionLoadingState =
        CUfunctionLoadingState(0);
    pub const CU_FUNCTION_LOADING_STATE_LOADED: CUfunctionLoadingState = CUfunctionLoadingState(1);
    pub const CU_FUNCTION_LOADING_STATE_MAX: CUfunctionLoadingState = CUfunctionLoadingState(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUfunctionLoadingState(pub u32);

impl CUcoredumpSettings {
    pub const CU_COREDUMP_ENABLE_ON_EXCEPTION: CUcoredumpSettings = CUcoredumpSettings(1);
    pub const CU_COREDUMP_TRIGGER_HOST: CUcoredumpSettings = CUcoredumpSettings(2);
    pub const CU_COREDUMP_LIGHTWEIGHT: CUcoredumpSettings = CUcoredumpSettings(3);
    pub const CU_COREDUMP_ENABLE_USER_TRIGGER: CUcoredumpSettings = CUcoredumpSettings(4);
    pub const CU_COREDUMP_FILE: CUcoredumpSettings = CUcoredumpSettings(5);
    pub const CU_COREDUMP_PIPE: CUcoredumpSettings = CUcoredumpSettings(6);
    pub const CU_COREDUMP_GENERATION_FLAGS: CUcoredumpSettings = CUcoredumpSettings(7);
    pub const CU_COREDUMP_MAX: CUcoredumpSettings = CUcoredumpSettings(8);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUcoredumpSettings(pub u32);

impl CUCoredumpGenerationFlags {
    pub const CU_COREDUMP_DEFAULT_FLAGS: CUCoredumpGenerationFlags = CUCoredumpGenerationFlags(0);
    pub const CU_COREDUMP_SKIP_NONRELOCATED_ELF_IMAGES: CUCoredumpGenerationFlags =
        CUCoredumpGenerationFlags(1);
    pub const CU_COREDUMP_SKIP_GLOBAL_MEMORY: CUCoredumpGenerationFlags =
        CUCoredumpGenerationFlags(2);
    pub const CU_COREDUMP_SKIP_SHARED_MEMORY: CUCoredumpGenerationFlags =
        CUCoredumpGenerationFlags(4);
    pub const CU_COREDUMP_SKIP_LOCAL_MEMORY: CUCoredumpGenerationFlags =
        CUCoredumpGenerationFlags(8);
    pub const CU_COREDUMP_SKIP_ABORT: CUCoredumpGenerationFlags = CUCoredumpGenerationFlags(16);
    pub const CU_COREDUMP_SKIP_CONSTBANK_MEMORY: CUCoredumpGenerationFlags =
        CUCoredumpGenerationFlags(32);
    pub const CU_COREDUMP_LIGHTWEIGHT_FLAGS: CUCoredumpGenerationFlags =
        CUCoredumpGenerationFlags(47);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUCoredumpGenerationFlags(pub u32);

#[repr(C)]
#[derive(Debug)]
pub struct CUdevResourceDesc_st {
    _unused: [u8; 0],
}

pub type CUdevResourceDesc = *mut CUdevResourceDesc_st;

impl CUgreenCtxCreate_flags {
    pub const CU_GREEN_CTX_DEFAULT_STREAM: CUgreenCtxCreate_flags = CUgreenCtxCreate_flags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUgreenCtxCreate_flags(pub u32);

impl CUdevSmResourceSplit_flags {
    pub const CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING: CUdevSmResourceSplit_flags =
        CUdevSmResourceSplit_flags(1);
    pub const CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE: CUdevSmResourceSplit_flags =
        CUdevSmResourceSplit_flags(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUdevSmResourceSplit_flags(pub u32);

impl CUdevResourceType {
    pub const CU_DEV_RESOURCE_TYPE_INVALID: CUdevResourceType = CUdevResourceType(0);
    pub const CU_DEV_RESOURCE_TYPE_SM: CUdevResourceType = CUdevResourceType(1);
    pub const CU_DEV_RESOURCE_TYPE_MAX: CUdevResourceType = CUdevResourceType(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUdevResourceType(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct CUdevSmResource {
    pub smCount: u32,
    pub minSmPartitionSize: u32,
    pub smCoscheduledAlignment: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUdevSmResource_st"][::core::mem::size_of::<CUdevSmResource>() - 12usize];
    ["Alignment of CUdevSmResource_st"][::core::mem::align_of::<CUdevSmResource>() - 4usize];
    ["Offset of field: CUdevSmResource_st::smCount"]
        [::core::mem::offset_of!(CUdevSmResource, smCount) - 0usize];
    ["Offset of field: CUdevSmResource_st::minSmPartitionSize"]
        [::core::mem::offset_of!(CUdevSmResource, minSmPartitionSize) - 4usize];
    ["Offset of field: CUdevSmResource_st::smCoscheduledAlignment"]
        [::core::mem::offset_of!(CUdevSmResource, smCoscheduledAlignment) - 8usize];
};

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUdevResource {
    pub type_: CUdevResourceType,
    pub _internal_padding: [u8; 92],
    pub __bindgen_anon_1: CUdevResource_st__bindgen_ty_1,
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUdevResource_st__bindgen_ty_1 {
    pub sm: CUdevSmResource,
    pub _oversize: [u8; 48],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUdevResource_st__bindgen_ty_1"]
        [::core::mem::size_of::<CUdevResource_st__bindgen_ty_1>() - 48usize];
    ["Alignment of CUdevResource_st__bindgen_ty_1"]
        [::core::mem::align_of::<CUdevResource_st__bindgen_ty_1>() - 4usize];
    ["Offset of field: CUdevResource_st__bindgen_ty_1::sm"]
        [::core::mem::offset_of!(CUdevResource_st__bindgen_ty_1, sm) - 0usize];
    ["Offset of field: CUdevResource_st__bindgen_ty_1::_oversize"]
        [::core::mem::offset_of!(CUdevResource_st__bindgen_ty_1, _oversize) - 0usize];
};

impl Default for CUdevResource_st__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUdevResource_st"][::core::mem::size_of::<CUdevResource>() - 144usize];
    ["Alignment of CUdevResource_st"][::core::mem::align_of::<CUdevResource>() - 4usize];
    ["Offset of field: CUdevResource_st::type_"]
        [::core::mem::offset_of!(CUdevResource, type_) - 0usize];
    ["Offset of field: CUdevResource_st::_internal_padding"]
        [::core::mem::offset_of!(CUdevResource, _internal_padding) - 4usize];
};

impl Default for CUdevResource {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl CUlogLevel {
    pub const CU_LOG_LEVEL_ERROR: CUlogLevel = CUlogLevel(0);
    pub const CU_LOG_LEVEL_WARNING: CUlogLevel = CUlogLevel(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUlogLevel(pub u32);

#[repr(C)]
#[derive(Debug)]
pub struct CUlogsCallbackEntry_st {
    _unused: [u8; 0],
}

pub type CUlogsCallbackHandle = *mut CUlogsCallbackEntry_st;

pub type CUlogsCallback = ::core::option::Option<
    unsafe extern "C" fn(
        data: *mut c_void,
        logLevel: CUlogLevel,
        message: *mut c_char,
        length: usize,
    ),
>;

pub type CUlogIterator = u32;

pub type CUdeviceptr_v1 = u32;

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_MEMCPY2D_v1 {
    pub srcXInBytes: u32,
    pub srcY: u32,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr_v1,
    pub srcArray: CUarray,
    pub srcPitch: u32,
    pub dstXInBytes: u32,
    pub dstY: u32,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr_v1,
    pub dstArray: CUarray,
    pub dstPitch: u32,
    pub WidthInBytes: u32,
    pub Height: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_MEMCPY2D_v1_st"][::core::mem::size_of::<CUDA_MEMCPY2D_v1>() - 96usize];
    ["Alignment of CUDA_MEMCPY2D_v1_st"][::core::mem::align_of::<CUDA_MEMCPY2D_v1>() - 8usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::srcXInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, srcXInBytes) - 0usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::srcY"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, srcY) - 4usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::srcMemoryType"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, srcMemoryType) - 8usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::srcHost"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, srcHost) - 16usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::srcDevice"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, srcDevice) - 24usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::srcArray"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, srcArray) - 32usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::srcPitch"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, srcPitch) - 40usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::dstXInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, dstXInBytes) - 44usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::dstY"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, dstY) - 48usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::dstMemoryType"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, dstMemoryType) - 52usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::dstHost"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, dstHost) - 56usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::dstDevice"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, dstDevice) - 64usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::dstArray"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, dstArray) - 72usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::dstPitch"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, dstPitch) - 80usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::WidthInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, WidthInBytes) - 84usize];
    ["Offset of field: CUDA_MEMCPY2D_v1_st::Height"]
        [::core::mem::offset_of!(CUDA_MEMCPY2D_v1, Height) - 88usize];
};

impl Default for CUDA_MEMCPY2D_v1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_MEMCPY3D_v1 {
    pub srcXInBytes: u32,
    pub srcY: u32,
    pub srcZ: u32,
    pub srcLOD: u32,
    pub srcMemoryType: CUmemorytype,
    pub srcHost: *const c_void,
    pub srcDevice: CUdeviceptr_v1,
    pub srcArray: CUarray,
    pub reserved0: *mut c_void,
    pub srcPitch: u32,
    pub srcHeight: u32,
    pub dstXInBytes: u32,
    pub dstY: u32,
    pub dstZ: u32,
    pub dstLOD: u32,
    pub dstMemoryType: CUmemorytype,
    pub dstHost: *mut c_void,
    pub dstDevice: CUdeviceptr_v1,
    pub dstArray: CUarray,
    pub reserved1: *mut c_void,
    pub dstPitch: u32,
    pub dstHeight: u32,
    pub WidthInBytes: u32,
    pub Height: u32,
    pub Depth: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_MEMCPY3D_v1_st"][::core::mem::size_of::<CUDA_MEMCPY3D_v1>() - 144usize];
    ["Alignment of CUDA_MEMCPY3D_v1_st"][::core::mem::align_of::<CUDA_MEMCPY3D_v1>() - 8usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::srcXInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, srcXInBytes) - 0usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::srcY"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, srcY) - 4usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::srcZ"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, srcZ) - 8usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::srcLOD"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, srcLOD) - 12usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::srcMemoryType"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, srcMemoryType) - 16usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::srcHost"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, srcHost) - 24usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::srcDevice"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, srcDevice) - 32usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::srcArray"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, srcArray) - 40usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::reserved0"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, reserved0) - 48usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::srcPitch"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, srcPitch) - 56usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::srcHeight"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, srcHeight) - 60usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::dstXInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, dstXInBytes) - 64usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::dstY"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, dstY) - 68usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::dstZ"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, dstZ) - 72usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::dstLOD"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, dstLOD) - 76usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::dstMemoryType"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, dstMemoryType) - 80usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::dstHost"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, dstHost) - 88usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::dstDevice"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, dstDevice) - 96usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::dstArray"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, dstArray) - 104usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::reserved1"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, reserved1) - 112usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::dstPitch"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, dstPitch) - 120usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::dstHeight"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, dstHeight) - 124usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::WidthInBytes"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, WidthInBytes) - 128usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::Height"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, Height) - 132usize];
    ["Offset of field: CUDA_MEMCPY3D_v1_st::Depth"]
        [::core::mem::offset_of!(CUDA_MEMCPY3D_v1, Depth) - 136usize];
};

impl Default for CUDA_MEMCPY3D_v1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_ARRAY_DESCRIPTOR_v1 {
    pub Width: u32,
    pub Height: u32,
    pub Format: CUarray_format,
    pub NumChannels: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_ARRAY_DESCRIPTOR_v1_st"]
        [::core::mem::size_of::<CUDA_ARRAY_DESCRIPTOR_v1>() - 16usize];
    ["Alignment of CUDA_ARRAY_DESCRIPTOR_v1_st"]
        [::core::mem::align_of::<CUDA_ARRAY_DESCRIPTOR_v1>() - 4usize];
    ["Offset of field: CUDA_ARRAY_DESCRIPTOR_v1_st::Width"]
        [::core::mem::offset_of!(CUDA_ARRAY_DESCRIPTOR_v1, Width) - 0usize];
    ["Offset of field: CUDA_ARRAY_DESCRIPTOR_v1_st::Height"]
        [::core::mem::offset_of!(CUDA_ARRAY_DESCRIPTOR_v1, Height) - 4usize];
    ["Offset of field: CUDA_ARRAY_DESCRIPTOR_v1_st::Format"]
        [::core::mem::offset_of!(CUDA_ARRAY_DESCRIPTOR_v1, Format) - 8usize];
    ["Offset of field: CUDA_ARRAY_DESCRIPTOR_v1_st::NumChannels"]
        [::core::mem::offset_of!(CUDA_ARRAY_DESCRIPTOR_v1, NumChannels) - 12usize];
};

impl Default for CUDA_ARRAY_DESCRIPTOR_v1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct CUDA_ARRAY3D_DESCRIPTOR_v1 {
    pub Width: u32,
    pub Height: u32,
    pub Depth: u32,
    pub Format: CUarray_format,
    pub NumChannels: u32,
    pub Flags: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUDA_ARRAY3D_DESCRIPTOR_v1_st"]
        [::core::mem::size_of::<CUDA_ARRAY3D_DESCRIPTOR_v1>() - 24usize];
    ["Alignment of CUDA_ARRAY3D_DESCRIPTOR_v1_st"]
        [::core::mem::align_of::<CUDA_ARRAY3D_DESCRIPTOR_v1>() - 4usize];
    ["Offset of field: CUDA_ARRAY3D_DESCRIPTOR_v1_st::Width"]
        [::core::mem::offset_of!(CUDA_ARRAY3D_DESCRIPTOR_v1, Width) - 0usize];
    ["Offset of field: CUDA_ARRAY3D_DESCRIPTOR_v1_st::Height"]
        [::core::mem::offset_of!(CUDA_ARRAY3D_DESCRIPTOR_v1, Height) - 4usize];
    ["Offset of field: CUDA_ARRAY3D_DESCRIPTOR_v1_st::Depth"]
        [::core::mem::offset_of!(CUDA_ARRAY3D_DESCRIPTOR_v1, Depth) - 8usize];
    ["Offset of field: CUDA_ARRAY3D_DESCRIPTOR_v1_st::Format"]
        [::core::mem::offset_of!(CUDA_ARRAY3D_DESCRIPTOR_v1, Format) - 12usize];
    ["Offset of field: CUDA_ARRAY3D_DESCRIPTOR_v1_st::NumChannels"]
        [::core::mem::offset_of!(CUDA_ARRAY3D_DESCRIPTOR_v1, NumChannels) - 16usize];
    ["Offset of field: CUDA_ARRAY3D_DESCRIPTOR_v1_st::Flags"]
        [::core::mem::offset_of!(CUDA_ARRAY3D_DESCRIPTOR_v1, Flags) - 20usize];
};

impl Default for CUDA_ARRAY3D_DESCRIPTOR_v1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

pub type GLenum = u32;

pub type GLuint = u32;

impl CUGLDeviceList {
    pub const CU_GL_DEVICE_LIST_ALL: CUGLDeviceList = CUGLDeviceList(1);
    pub const CU_GL_DEVICE_LIST_CURRENT_FRAME: CUGLDeviceList = CUGLDeviceList(2);
    pub const CU_GL_DEVICE_LIST_NEXT_FRAME: CUGLDeviceList = CUGLDeviceList(3);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUGLDeviceList(pub u32);

impl CUGLmap_flags {
    pub const CU_GL_MAP_RESOURCE_FLAGS_NONE: CUGLmap_flags = CUGLmap_flags(0);
    pub const CU_GL_MAP_RESOURCE_FLAGS_READ_ONLY: CUGLmap_flags = CUGLmap_flags(1);
    pub const CU_GL_MAP_RESOURCE_FLAGS_WRITE_DISCARD: CUGLmap_flags = CUGLmap_flags(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUGLmap_flags(pub u32);

pub type EGLint = i32;

pub type EGLImageKHR = *mut c_void;

pub type EGLStreamKHR = *mut c_void;

pub type EGLSyncKHR = *mut c_void;

impl CUeglFrameType {
    pub const CU_EGL_FRAME_TYPE_ARRAY: CUeglFrameType = CUeglFrameType(0);
    pub const CU_EGL_FRAME_TYPE_PITCH: CUeglFrameType = CUeglFrameType(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUeglFrameType(pub u32);

impl CUeglResourceLocationFlags {
    pub const CU_EGL_RESOURCE_LOCATION_SYSMEM: CUeglResourceLocationFlags =
        CUeglResourceLocationFlags(0);
    pub const CU_EGL_RESOURCE_LOCATION_VIDMEM: CUeglResourceLocationFlags =
        CUeglResourceLocationFlags(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUeglResourceLocationFlags(pub u32);

impl CUeglColorFormat {
    pub const CU_EGL_COLOR_FORMAT_YUV420_PLANAR: CUeglColorFormat = CUeglColorFormat(0);
    pub const CU_EGL_COLOR_FORMAT_YUV420_SEMIPLANAR: CUeglColorFormat = CUeglColorFormat(1);
    pub const CU_EGL_COLOR_FORMAT_YUV422_PLANAR: CUeglColorFormat = CUeglColorFormat(2);
    pub const CU_EGL_COLOR_FORMAT_YUV422_SEMIPLANAR: CUeglColorFormat = CUeglColorFormat(3);
    pub const CU_EGL_COLOR_FORMAT_RGB: CUeglColorFormat = CUeglColorFormat(4);
    pub const CU_EGL_COLOR_FORMAT_BGR: CUeglColorFormat = CUeglColorFormat(5);
    pub const CU_EGL_COLOR_FORMAT_ARGB: CUeglColorFormat = CUeglColorFormat(6);
    pub const CU_EGL_COLOR_FORMAT_RGBA: CUeglColorFormat = CUeglColorFormat(7);
    pub const CU_EGL_COLOR_FORMAT_L: CUeglColorFormat = CUeglColorFormat(8);
    pub const CU_EGL_COLOR_FORMAT_R: CUeglColorFormat = CUeglColorFormat(9);
    pub const CU_EGL_COLOR_FORMAT_YUV444_PLANAR: CUeglColorFormat = CUeglColorFormat(10);
    pub const CU_EGL_COLOR_FORMAT_YUV444_SEMIPLANAR: CUeglColorFormat = CUeglColorFormat(11);
    pub const CU_EGL_COLOR_FORMAT_YUYV_422: CUeglColorFormat = CUeglColorFormat(12);
    pub const CU_EGL_COLOR_FORMAT_UYVY_422: CUeglColorFormat = CUeglColorFormat(13);
    pub const CU_EGL_COLOR_FORMAT_ABGR: CUeglColorFormat = CUeglColorFormat(14);
    pub const CU_EGL_COLOR_FORMAT_BGRA: CUeglColorFormat = CUeglColorFormat(15);
    pub const CU_EGL_COLOR_FORMAT_A: CUeglColorFormat = CUeglColorFormat(16);
    pub const CU_EGL_COLOR_FORMAT_RG: CUeglColorFormat = CUeglColorFormat(17);
    pub const CU_EGL_COLOR_FORMAT_AYUV: CUeglColorFormat = CUeglColorFormat(18);
    pub const CU_EGL_COLOR_FORMAT_YVU444_SEMIPLANAR: CUeglColorFormat = CUeglColorFormat(19);
    pub const CU_EGL_COLOR_FORMAT_YVU422_SEMIPLANAR: CUeglColorFormat = CUeglColorFormat(20);
    pub const CU_EGL_COLOR_FORMAT_YVU420_SEMIPLANAR: CUeglColorFormat = CUeglColorFormat(21);
    pub const CU_EGL_COLOR_FORMAT_Y10V10U10_444_SEMIPLANAR: CUeglColorFormat = CUeglColorFormat(22);
    pub const CU_EGL_COLOR_FORMAT_Y10V10U10_420_SEMIPLANAR: CUeglColorFormat = CUeglColorFormat(23);
    pub const CU_EGL_COLOR_FORMAT_Y12V12U12_444_SEMIPLANAR: CUeglColorFormat = CUeglColorFormat(24);
    pub const CU_EGL_COLOR_FORMAT_Y12V12U12_420_SEMIPLANAR: CUeglColorFormat = CUeglColorFormat(25);
    pub const CU_EGL_COLOR_FORMAT_VYUY_ER: CUeglColorFormat = CUeglColorFormat(26);
    pub const CU_EGL_COLOR_FORMAT_UYVY_ER: CUeglColorFormat = CUeglColorFormat(27);
    pub const CU_EGL_COLOR_FORMAT_YUYV_ER: CUeglColorFormat = CUeglColorFormat(28);
    pub const CU_EGL_COLOR_FORMAT_YVYU_ER: CUeglColorFormat = CUeglColorFormat(29);
    pub const CU_EGL_COLOR_FORMAT_YUV_ER: CUeglColorFormat = CUeglColorFormat(30);
    pub const CU_EGL_COLOR_FORMAT_YUVA_ER: CUeglColorFormat = CUeglColorFormat(31);
    pub const CU_EGL_COLOR_FORMAT_AYUV_ER: CUeglColorFormat = CUeglColorFormat(32);
    pub const CU_EGL_COLOR_FORMAT_YUV444_PLANAR_ER: CUeglColorFormat = CUeglColorFormat(33);
    pub const CU_EGL_COLOR_FORMAT_YUV422_PLANAR_ER: CUeglColorFormat = CUeglColorFormat(34);
    pub const CU_EGL_COLOR_FORMAT_YUV420_PLANAR_ER: CUeglColorFormat = CUeglColorFormat(35);
    pub const CU_EGL_COLOR_FORMAT_YUV444_SEMIPLANAR_ER: CUeglColorFormat = CUeglColorFormat(36);
    pub const CU_EGL_COLOR_FORMAT_YUV422_SEMIPLANAR_ER: CUeglColorFormat = CUeglColorFormat(37);
    pub const CU_EGL_COLOR_FORMAT_YUV420_SEMIPLANAR_ER: CUeglColorFormat = CUeglColorFormat(38);
    pub const CU_EGL_COLOR_FORMAT_YVU444_PLANAR_ER: CUeglColorFormat = CUeglColorFormat(39);
    pub const CU_EGL_COLOR_FORMAT_YVU422_PLANAR_ER: CUeglColorFormat = CUeglColorFormat(40);
    pub const CU_EGL_COLOR_FORMAT_YVU420_PLANAR_ER: CUeglColorFormat = CUeglColorFormat(41);
    pub const CU_EGL_COLOR_FORMAT_YVU444_SEMIPLANAR_ER: CUeglColorFormat = CUeglColorFormat(42);
    pub const CU_EGL_COLOR_FORMAT_YVU422_SEMIPLANAR_ER: CUeglColorFormat = CUeglColorFormat(43);
    pub const CU_EGL_COLOR_FORMAT_YVU420_SEMIPLANAR_ER: CUeglColorFormat = CUeglColorFormat(44);
    pub const CU_EGL_COLOR_FORMAT_BAYER_RGGB: CUeglColorFormat = CUeglColorFormat(45);
    pub const CU_EGL_COLOR_FORMAT_BAYER_BGGR: CUeglColorFormat = CUeglColorFormat(46);
    pub const CU_EGL_COLOR_FORMAT_BAYER_GRBG: CUeglColorFormat = CUeglColorFormat(47);
    pub const CU_EGL_COLOR_FORMAT_BAYER_GBRG: CUeglColorFormat = CUeglColorFormat(48);
    pub const CU_EGL_COLOR_FORMAT_BAYER10_RGGB: CUeglColorFormat = CUeglColorFormat(49);
    pub const CU_EGL_COLOR_FORMAT_BAYER10_BGGR: CUeglColorFormat = CUeglColorFormat(50);
    pub const CU_EGL_COLOR_FORMAT_BAYER10_GRBG: CUeglColorFormat = CUeglColorFormat(51);
    pub const CU_EGL_COLOR_FORMAT_BAYER10_GBRG: CUeglColorFormat = CUeglColorFormat(52);
    pub const CU_EGL_COLOR_FORMAT_BAYER12_RGGB: CUeglColorFormat = CUeglColorFormat(53);
    pub const CU_EGL_COLOR_FORMAT_BAYER12_BGGR: CUeglColorFormat = CUeglColorFormat(54);
    pub const CU_EGL_COLOR_FORMAT_BAYER12_GRBG: CUeglColorFormat = CUeglColorFormat(55);
    pub const CU_EGL_COLOR_FORMAT_BAYER12_GBRG: CUeglColorFormat = CUeglColorFormat(56);
    pub const CU_EGL_COLOR_FORMAT_BAYER14_RGGB: CUeglColorFormat = CUeglColorFormat(57);
    pub const CU_EGL_COLOR_FORMAT_BAYER14_BGGR: CUeglColorFormat = CUeglColorFormat(58);
    pub const CU_EGL_COLOR_FORMAT_BAYER14_GRBG: CUeglColorFormat = CUeglColorFormat(59);
    pub const CU_EGL_COLOR_FORMAT_BAYER14_GBRG: CUeglColorFormat = CUeglColorFormat(60);
    pub const CU_EGL_COLOR_FORMAT_BAYER20_RGGB: CUeglColorFormat = CUeglColorFormat(61);
    pub const CU_EGL_COLOR_FORMAT_BAYER20_BGGR: CUeglColorFormat = CUeglColorFormat(62);
    pub const CU_EGL_COLOR_FORMAT_BAYER20_GRBG: CUeglColorFormat = CUeglColorFormat(63);
    pub const CU_EGL_COLOR_FORMAT_BAYER20_GBRG: CUeglColorFormat = CUeglColorFormat(64);
    pub const CU_EGL_COLOR_FORMAT_YVU444_PLANAR: CUeglColorFormat = CUeglColorFormat(65);
    pub const CU_EGL_COLOR_FORMAT_YVU422_PLANAR: CUeglColorFormat = CUeglColorFormat(66);
    pub const CU_EGL_COLOR_FORMAT_YVU420_PLANAR: CUeglColorFormat = CUeglColorFormat(67);
    pub const CU_EGL_COLOR_FORMAT_BAYER_ISP_RGGB: CUeglColorFormat = CUeglColorFormat(68);
    pub const CU_EGL_COLOR_FORMAT_BAYER_ISP_BGGR: CUeglColorFormat = CUeglColorFormat(69);
    pub const CU_EGL_COLOR_FORMAT_BAYER_ISP_GRBG: CUeglColorFormat = CUeglColorFormat(70);
    pub const CU_EGL_COLOR_FORMAT_BAYER_ISP_GBRG: CUeglColorFormat = CUeglColorFormat(71);
    pub const CU_EGL_COLOR_FORMAT_BAYER_BCCR: CUeglColorFormat = CUeglColorFormat(72);
    pub const CU_EGL_COLOR_FORMAT_BAYER_RCCB: CUeglColorFormat = CUeglColorFormat(73);
    pub const CU_EGL_COLOR_FORMAT_BAYER_CRBC: CUeglColorFormat = CUeglColorFormat(74);
    pub const CU_EGL_COLOR_FORMAT_BAYER_CBRC: CUeglColorFormat = CUeglColorFormat(75);
    pub const CU_EGL_COLOR_FORMAT_BAYER10_CCCC: CUeglColorFormat = CUeglColorFormat(76);
    pub const CU_EGL_COLOR_FORMAT_BAYER12_BCCR: CUeglColorFormat = CUeglColorFormat(77);
    pub const CU_EGL_COLOR_FORMAT_BAYER12_RCCB: CUeglColorFormat = CUeglColorFormat(78);
    pub const CU_EGL_COLOR_FORMAT_BAYER12_CRBC: CUeglColorFormat = CUeglColorFormat(79);
    pub const CU_EGL_COLOR_FORMAT_BAYER12_CBRC: CUeglColorFormat = CUeglColorFormat(80);
    pub const CU_EGL_COLOR_FORMAT_BAYER12_CCCC: CUeglColorFormat = CUeglColorFormat(81);
    pub const CU_EGL_COLOR_FORMAT_Y: CUeglColorFormat = CUeglColorFormat(82);
    pub const CU_EGL_COLOR_FORMAT_YUV420_SEMIPLANAR_2020: CUeglColorFormat = CUeglColorFormat(83);
    pub const CU_EGL_COLOR_FORMAT_YVU420_SEMIPLANAR_2020: CUeglColorFormat = CUeglColorFormat(84);
    pub const CU_EGL_COLOR_FORMAT_YUV420_PLANAR_2020: CUeglColorFormat = CUeglColorFormat(85);
    pub const CU_EGL_COLOR_FORMAT_YVU420_PLANAR_2020: CUeglColorFormat = CUeglColorFormat(86);
    pub const CU_EGL_COLOR_FORMAT_YUV420_SEMIPLANAR_709: CUeglColorFormat = CUeglColorFormat(87);
    pub const CU_EGL_COLOR_FORMAT_YVU420_SEMIPLANAR_709: CUeglColorFormat = CUeglColorFormat(88);
    pub const CU_EGL_COLOR_FORMAT_YUV420_PLANAR_709: CUeglColorFormat = CUeglColorFormat(89);
    pub const CU_EGL_COLOR_FORMAT_YVU420_PLANAR_709: CUeglColorFormat = CUeglColorFormat(90);
    pub const CU_EGL_COLOR_FORMAT_Y10V10U10_420_SEMIPLANAR_709: CUeglColorFormat =
        CUeglColorFormat(91);
    pub const CU_EGL_COLOR_FORMAT_Y10V10U10_420_SEMIPLANAR_2020: CUeglColorFormat =
        CUeglColorFormat(92);
    pub const CU_EGL_COLOR_FORMAT_Y10V10U10_422_SEMIPLANAR_2020: CUeglColorFormat =
        CUeglColorFormat(93);
    pub const CU_EGL_COLOR_FORMAT_Y10V10U10_422_SEMIPLANAR: CUeglColorFormat = CUeglColorFormat(94);
    pub const CU_EGL_COLOR_FORMAT_Y10V10U10_422_SEMIPLANAR_709: CUeglColorFormat =
        CUeglColorFormat(95);
    pub const CU_EGL_COLOR_FORMAT_Y_ER: CUeglColorFormat = CUeglColorFormat(96);
    pub const CU_EGL_COLOR_FORMAT_Y_709_ER: CUeglColorFormat = CUeglColorFormat(97);
    pub const CU_EGL_COLOR_FORMAT_Y10_ER: CUeglColorFormat = CUeglColorFormat(98);
    pub const CU_EGL_COLOR_FORMAT_Y10_709_ER: CUeglColorFormat = CUeglColorFormat(99);
    pub const CU_EGL_COLOR_FORMAT_Y12_ER: CUeglColorFormat = CUeglColorFormat(100);
    pub const CU_EGL_COLOR_FORMAT_Y12_709_ER: CUeglColorFormat = CUeglColorFormat(101);
    pub const CU_EGL_COLOR_FORMAT_YUVA: CUeglColorFormat = CUeglColorFormat(102);
    pub const CU_EGL_COLOR_FORMAT_YUV: CUeglColorFormat = CUeglColorFormat(103);
    pub const CU_EGL_COLOR_FORMAT_YVYU: CUeglColorFormat = CUeglColorFormat(104);
    pub const CU_EGL_COLOR_FORMAT_VYUY: CUeglColorFormat = CUeglColorFormat(105);
    pub const CU_EGL_COLOR_FORMAT_Y10V10U10_420_SEMIPLANAR_ER: CUeglColorFormat =
        CUeglColorFormat(106);
    pub const CU_EGL_COLOR_FORMAT_Y10V10U10_420_SEMIPLANAR_709_ER: CUeglColorFormat =
        CUeglColorFormat(107);
    pub const CU_EGL_COLOR_FORMAT_Y10V10U10_444_SEMIPLANAR_ER: CUeglColorFormat =
        CUeglColorFormat(108);
    pub const CU_EGL_COLOR_FORMAT_Y10V10U10_444_SEMIPLANAR_709_ER: CUeglColorFormat =
        CUeglColorFormat(109);
    pub const CU_EGL_COLOR_FORMAT_Y12V12U12_420_SEMIPLANAR_ER: CUeglColorFormat =
        CUeglColorFormat(110);
    pub const CU_EGL_COLOR_FORMAT_Y12V12U12_420_SEMIPLANAR_709_ER: CUeglColorFormat =
        CUeglColorFormat(111);
    pub const CU_EGL_COLOR_FORMAT_Y12V12U12_444_SEMIPLANAR_ER: CUeglColorFormat =
        CUeglColorFormat(112);
    pub const CU_EGL_COLOR_FORMAT_Y12V12U12_444_SEMIPLANAR_709_ER: CUeglColorFormat =
        CUeglColorFormat(113);
    pub const CU_EGL_COLOR_FORMAT_UYVY_709: CUeglColorFormat = CUeglColorFormat(114);
    pub const CU_EGL_COLOR_FORMAT_UYVY_709_ER: CUeglColorFormat = CUeglColorFormat(115);
    pub const CU_EGL_COLOR_FORMAT_UYVY_2020: CUeglColorFormat = CUeglColorFormat(116);
    pub const CU_EGL_COLOR_FORMAT_MAX: CUeglColorFormat = CUeglColorFormat(117);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUeglColorFormat(pub u32);

#[repr(C)]
#[derive(Copy, Clone)]
pub struct CUeglFrame {
    pub frame: CUeglFrame_st__bindgen_ty_1,
    pub width: u32,
    pub height: u32,
    pub depth: u32,
    pub pitch: u32,
    pub planeCount: u32,
    pub numChannels: u32,
    pub frameType: CUeglFrameType,
    pub eglColorFormat: CUeglColorFormat,
    pub cuFormat: CUarray_format,
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union CUeglFrame_st__bindgen_ty_1 {
    pub pArray: [CUarray; 3],
    pub pPitch: [*mut c_void; 3],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUeglFrame_st__bindgen_ty_1"]
        [::core::mem::size_of::<CUeglFrame_st__bindgen_ty_1>() - 24usize];
    ["Alignment of CUeglFrame_st__bindgen_ty_1"]
        [::core::mem::align_of::<CUeglFrame_st__bindgen_ty_1>() - 8usize];
    ["Offset of field: CUeglFrame_st__bindgen_ty_1::pArray"]
        [::core::mem::offset_of!(CUeglFrame_st__bindgen_ty_1, pArray) - 0usize];
    ["Offset of field: CUeglFrame_st__bindgen_ty_1::pPitch"]
        [::core::mem::offset_of!(CUeglFrame_st__bindgen_ty_1, pPitch) - 0usize];
};

impl Default for CUeglFrame_st__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of CUeglFrame_st"][::core::mem::size_of::<CUeglFrame>() - 64usize];
    ["Alignment of CUeglFrame_st"][::core::mem::align_of::<CUeglFrame>() - 8usize];
    ["Offset of field: CUeglFrame_st::frame"][::core::mem::offset_of!(CUeglFrame, frame) - 0usize];
    ["Offset of field: CUeglFrame_st::width"][::core::mem::offset_of!(CUeglFrame, width) - 24usize];
    ["Offset of field: CUeglFrame_st::height"]
        [::core::mem::offset_of!(CUeglFrame, height) - 28usize];
    ["Offset of field: CUeglFrame_st::depth"][::core::mem::offset_of!(CUeglFrame, depth) - 32usize];
    ["Offset of field: CUeglFrame_st::pitch"][::core::mem::offset_of!(CUeglFrame, pitch) - 36usize];
    ["Offset of field: CUeglFrame_st::planeCount"]
        [::core::mem::offset_of!(CUeglFrame, planeCount) - 40usize];
    ["Offset of field: CUeglFrame_st::numChannels"]
        [::core::mem::offset_of!(CUeglFrame, numChannels) - 44usize];
    ["Offset of field: CUeglFrame_st::frameType"]
        [::core::mem::offset_of!(CUeglFrame, frameType) - 48usize];
    ["Offset of field: CUeglFrame_st::eglColorFormat"]
        [::core::mem::offset_of!(CUeglFrame, eglColorFormat) - 52usize];
    ["Offset of field: CUeglFrame_st::cuFormat"]
        [::core::mem::offset_of!(CUeglFrame, cuFormat) - 56usize];
};

impl Default for CUeglFrame {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug)]
pub struct CUeglStreamConnection_st {
    _unused: [u8; 0],
}

pub type CUeglStreamConnection = *mut CUeglStreamConnection_st;

impl CUoutput_mode {
    pub const CU_OUT_KEY_VALUE_PAIR: CUoutput_mode = CUoutput_mode(0);
    pub const CU_OUT_CSV: CUoutput_mode = CUoutput_mode(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct CUoutput_mode(pub u32);

pub type CUDA_ARRAY3D_DESCRIPTOR_v2 = CUDA_ARRAY3D_DESCRIPTOR;

pub type CUDA_ARRAY_DESCRIPTOR_v2 = CUDA_ARRAY_DESCRIPTOR;

pub type CUDA_ARRAY_MEMORY_REQUIREMENTS_v1 = CUDA_ARRAY_MEMORY_REQUIREMENTS;

pub type CUDA_ARRAY_SPARSE_PROPERTIES_v1 = CUDA_ARRAY_SPARSE_PROPERTIES;

pub type CUDA_BATCH_MEM_OP_NODE_PARAMS_v1 = CUDA_BATCH_MEM_OP_NODE_PARAMS;

pub type CUDA_EXTERNAL_MEMORY_BUFFER_DESC_v1 = CUDA_EXTERNAL_MEMORY_BUFFER_DESC;

pub type CUDA_EXTERNAL_MEMORY_HANDLE_DESC_v1 = CUDA_EXTERNAL_MEMORY_HANDLE_DESC;

pub type CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC_v1 = CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC;

pub type CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC_v1 = CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC;

pub type CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS_v1 = CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS;

pub type CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS_v1 = CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS;

pub type CUDA_EXT_SEM_SIGNAL_NODE_PARAMS_v1 = CUDA_EXT_SEM_SIGNAL_NODE_PARAMS;

pub type CUDA_EXT_SEM_WAIT_NODE_PARAMS_v1 = CUDA_EXT_SEM_WAIT_NODE_PARAMS;

pub type CUDA_HOST_NODE_PARAMS_v1 = CUDA_HOST_NODE_PARAMS;

pub type CUDA_KERNEL_NODE_PARAMS_v2 = CUDA_KERNEL_NODE_PARAMS;

pub type CUDA_LAUNCH_PARAMS_v1 = CUDA_LAUNCH_PARAMS;

pub type CUDA_MEMCPY2D_v2 = CUDA_MEMCPY2D;

pub type CUDA_MEMCPY3D_BATCH_OP_v1 = CUDA_MEMCPY3D_BATCH_OP;

pub type CUDA_MEMCPY3D_PEER_v1 = CUDA_MEMCPY3D_PEER;

pub type CUDA_MEMCPY3D_v2 = CUDA_MEMCPY3D;

pub type CUDA_MEMSET_NODE_PARAMS_v1 = CUDA_MEMSET_NODE_PARAMS;

pub type CUDA_MEM_ALLOC_NODE_PARAMS_v1 = CUDA_MEM_ALLOC_NODE_PARAMS;

pub type CUDA_POINTER_ATTRIBUTE_P2P_TOKENS_v1 = CUDA_POINTER_ATTRIBUTE_P2P_TOKENS;

pub type CUDA_RESOURCE_DESC_v1 = CUDA_RESOURCE_DESC;

pub type CUDA_RESOURCE_VIEW_DESC_v1 = CUDA_RESOURCE_VIEW_DESC;

pub type CUDA_TEXTURE_DESC_v1 = CUDA_TEXTURE_DESC;

pub type CUaccessPolicyWindow_v1 = CUaccessPolicyWindow;

pub type CUarrayMapInfo_v1 = CUarrayMapInfo;

pub type CUdevResource_v1 = CUdevResource;

pub type CUdevice_v1 = CUdevice;

pub type CUdeviceptr_v2 = CUdeviceptr;

pub type CUdevprop_v1 = CUdevprop;

pub type CUeglFrame_v1 = CUeglFrame;

pub type CUexecAffinityParam_v1 = CUexecAffinityParam;

pub type CUexecAffinitySmCount_v1 = CUexecAffinitySmCount;

pub type CUextent3D_v1 = CUextent3D;

pub type CUgraphExecUpdateResultInfo_v1 = CUgraphExecUpdateResultInfo;

pub type CUipcEventHandle_v1 = CUipcEventHandle;

pub type CUipcMemHandle_v1 = CUipcMemHandle;

pub type CUkernelNodeAttrValue = CUstreamAttrValue;

pub type CUkernelNodeAttrValue_v1 = CUstreamAttrValue;

pub type CUlaunchAttributeValue = CUstreamAttrValue;

pub type CUmemAccessDesc_v1 = CUmemAccessDesc;

pub type CUmemAllocationProp_v1 = CUmemAllocationProp;

pub type CUmemFabricHandle_v1 = CUmemFabricHandle;

pub type CUmemGenericAllocationHandle_v1 = CUmemGenericAllocationHandle;

pub type CUmemLocation_v1 = CUmemLocation;

pub type CUmemPoolProps_v1 = CUmemPoolProps;

pub type CUmemPoolPtrExportData_v1 = CUmemPoolPtrExportData;

pub type CUmemcpy3DOperand_v1 = CUmemcpy3DOperand;

pub type CUmemcpyAttributes_v1 = CUmemcpyAttributes;

pub type CUmulticastObjectProp_v1 = CUmulticastObjectProp;

pub type CUoffset3D_v1 = CUoffset3D;

pub type CUstreamAttrValue_v1 = CUstreamAttrValue;

pub type CUstreamBatchMemOpParams_v1 = CUstreamBatchMemOpParams;

pub type CUsurfObject_v1 = CUsurfObject;

pub type CUtexObject_v1 = CUtexObject;

pub const CU_STREAM_LEGACY: CUstream = 0x1 as CUstream;
pub const CU_STREAM_PER_THREAD: CUstream = 0x2 as CUstream;
pub const CU_DEVICE_CPU: CUdevice = -1 as CUdevice;
pub const CU_DEVICE_INVALID: CUdevice = -2 as CUdevice;
