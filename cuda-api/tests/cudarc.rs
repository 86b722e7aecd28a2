//! Compares this crate's description of the driver API with the one in the cudarc crate, which is
//! generated independently from the same headers.

use cuda_api::{prototypes, sys};
use cudarc::driver::sys as theirs;

/// Checks that structures have the same size, alignment, and member offsets as cudarc's.
macro_rules! same_layout {
    ($($name:ident { $($field:ident),* })*) => {$(
        assert_eq!(size_of::<sys::$name>(), size_of::<theirs::$name>(), stringify!($name));
        assert_eq!(align_of::<sys::$name>(), align_of::<theirs::$name>(), stringify!($name));
        $(assert_eq!(
            std::mem::offset_of!(sys::$name, $field),
            std::mem::offset_of!(theirs::$name, $field),
            concat!(stringify!($name), ".", stringify!($field))
        );)*
    )*};
}

#[test]
fn structures_have_the_same_layout() {
    same_layout! {
        CUuuid { bytes }
        CUDA_MEMCPY2D { srcXInBytes, srcMemoryType, srcHost, srcDevice, dstArray, dstPitch, Height }
        CUDA_MEMCPY3D { srcXInBytes, srcMemoryType, srcLOD, dstHost, dstPitch, Depth }
        CUDA_KERNEL_NODE_PARAMS { func, gridDimX, sharedMemBytes, kernelParams, kern, ctx }
        CUDA_MEMSET_NODE_PARAMS { dst, pitch, value, elementSize, width, height }
        CUDA_HOST_NODE_PARAMS { fn_, userData }
        CUDA_ARRAY3D_DESCRIPTOR { Width, Format, NumChannels, Flags }
        CUlaunchConfig { gridDimX, sharedMemBytes, hStream, attrs, numAttrs }
        CUlaunchAttribute { id, value }
        CUmemAllocationProp { type_, requestedHandleTypes, location, win32HandleMetaData, allocFlags }
        CUmemAccessDesc { location, flags }
        CUmemPoolProps { allocType, handleTypes, location, maxSize, usage }
        CUgraphExecUpdateResultInfo { result, errorNode, errorFromNode }
        CUgraphNodeParams { type_ }
        CUgraphEdgeData { from_port, to_port, type_ }
        CUipcMemHandle { reserved }
        CUipcEventHandle { reserved }
        CUtensorMap { opaque }
    }
}

/// Checks that function types have as many parameters as cudarc's, each of the same size.
#[test]
fn functions_have_the_same_parameters() {
    /// The sizes of a function's parameters.
    trait Sizes {
        fn sizes() -> Vec<usize>;
    }
    macro_rules! sizes {
        ($($($arg:ident)*;)*) => {$(
            sizes!(@for unsafe extern "C" fn($($arg),*) -> R, R $($arg)*);
            sizes!(@for unsafe fn($($arg),*) -> R, R $($arg)*);
        )*};
        (@for $function:ty, $($type:ident)*) => {
            impl<$($type),*> Sizes for $function {
                fn sizes() -> Vec<usize> {
                    vec![$(size_of::<$type>()),*]
                }
            }
        };
    }
    sizes! { ; A; A B; A B C; A B C D; A B C D E; A B C D E F; A B C D E F G; A B C D E F G H;
    A B C D E F G H I; A B C D E F G H I J; A B C D E F G H I J K; }
    fn of<F: Sizes>(_: F) -> Vec<usize> {
        F::sizes()
    }
    macro_rules! same_sizes {
        ($($name:ident($($arg:ident)*))*) => {$(
            assert_eq!(
                <prototypes::$name as Sizes>::sizes(),
                of(theirs::$name as unsafe fn($(same_sizes!(@any $arg)),*) -> _),
                stringify!($name)
            );
        )*};
        (@any $arg:ident) => { _ };
    }
    same_sizes! {
        cuInit(a)
        cuDeviceGetUuid_v2(a b)
        cuDeviceGetAttribute(a b c)
        cuCtxSetLimit(a b)
        cuMemAlloc_v2(a b)
        cuMemcpyHtoDAsync_v2(a b c d)
        cuMemsetD2D32Async(a b c d e f)
        cuMemCreate(a b c d)
        cuMemMap(a b c d e)
        cuModuleLoadDataEx(a b c d e)
        cuLaunchKernel(a b c d e f g h i j k)
        cuLaunchKernelEx(a b c d)
        cuStreamWaitEvent(a b c)
        cuGraphAddKernelNode_v2(a b c d e)
        cuGraphInstantiateWithFlags(a b c)
        cuGetProcAddress_v2(a b c d e)
    }
}

#[test]
fn results_have_the_same_values() {
    macro_rules! same {
        ($($name:ident)*) => {$(
            assert_eq!(sys::CUresult::$name.0, theirs::CUresult::$name as u32);
        )*};
    }
    same! {
        CUDA_SUCCESS CUDA_ERROR_INVALID_VALUE CUDA_ERROR_OUT_OF_MEMORY CUDA_ERROR_NOT_FOUND
        CUDA_ERROR_ILLEGAL_ADDRESS CUDA_ERROR_NOT_SUPPORTED CUDA_ERROR_UNKNOWN
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
    }
}
