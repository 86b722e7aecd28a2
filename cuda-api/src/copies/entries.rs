//! The macro that exports batches of copies and copies between contexts.

/// Exports these entry points for a [`Library`](crate::copies::Library). The second argument is the
/// library's [`EntryPoint`](crate::entries::EntryPoint), and the third a function that says whether
/// a null stream means the thread's default stream.
#[macro_export]
macro_rules! copy_entries {
    ($library:ty, $entry_point:ty, $is_per_thread:path) => {
        use $crate::args::{In, Out};
        use $crate::copies::batch::{self, Batch};
        use $crate::copies::{When, peer};
        use $crate::sys::*;

        $crate::entries! { $entry_point;
            /// CUDA 12.8's version has the parameter `failed`, which receives the index of the copy that
            /// failed.
            fn cuMemcpyBatchAsync, fn cuMemcpyBatchAsync_ptsz(
                dsts: *mut CUdeviceptr, srcs: *mut CUdeviceptr, sizes: *mut usize, count: usize,
                attributes: *mut CUmemcpyAttributes, first: *mut usize, attribute_count: usize,
                failed: Out<usize>, stream: CUstream,
            ) |null| {
                // SAFETY: the program passes arrays with as many elements as the counts say, and
                // addresses that are valid for as long as the attributes say.
                unsafe {
                    let copies = (dsts, srcs, sizes);
                    let batch = Batch::new(copies, count, (attributes, first), attribute_count);
                    batch::linear::<$library>(batch, failed, stream, $is_per_thread(null))
                }
            }
            fn cuMemcpyBatchAsync_v2, fn cuMemcpyBatchAsync_v2_ptsz(
                dsts: *mut CUdeviceptr, srcs: *mut CUdeviceptr, sizes: *mut usize, count: usize,
                attributes: *mut CUmemcpyAttributes, first: *mut usize, attribute_count: usize,
                stream: CUstream,
            ) |null| {
                // SAFETY: as for `cuMemcpyBatchAsync`.
                unsafe {
                    let copies = (dsts, srcs, sizes);
                    let batch = Batch::new(copies, count, (attributes, first), attribute_count);
                    batch::linear::<$library>(batch, Out::null(), stream, $is_per_thread(null))
                }
            }
            /// CUDA 12.8's version has the parameter `failed`, which receives the index of the copy that
            /// failed.
            fn cuMemcpy3DBatchAsync, fn cuMemcpy3DBatchAsync_ptsz(
                count: usize, copies: *mut CUDA_MEMCPY3D_BATCH_OP, failed: Out<usize>, flags: u64,
                stream: CUstream,
            ) |null| {
                // SAFETY: the program passes an array with `count` elements, and addresses that are
                // valid for as long as the access orders say.
                unsafe {
                    let copies = In::from_address(copies as usize);
                    let per_thread = $is_per_thread(null);
                    batch::boxes::<$library>(copies, count, failed, flags, stream, per_thread)
                }
            }
            fn cuMemcpy3DBatchAsync_v2, fn cuMemcpy3DBatchAsync_v2_ptsz(
                count: usize, copies: *mut CUDA_MEMCPY3D_BATCH_OP, flags: u64, stream: CUstream,
            ) |null| {
                // SAFETY: as for `cuMemcpy3DBatchAsync`.
                unsafe {
                    let copies = In::from_address(copies as usize);
                    let per_thread = $is_per_thread(null);
                    batch::boxes::<$library>(copies, count, Out::null(), flags, stream, per_thread)
                }
            }
            fn cuMemcpyPeer, fn cuMemcpyPeer_ptds(
                dst: CUdeviceptr, dst_context: CUcontext, src: CUdeviceptr, src_context: CUcontext,
                len: usize,
            ) |null| {
                let (dst, src) = ((dst, dst_context), (src, src_context));
                peer::linear::<$library>(dst, src, len, When::Now, $is_per_thread(null))
            }
            fn cuMemcpyPeerAsync, fn cuMemcpyPeerAsync_ptsz(
                dst: CUdeviceptr, dst_context: CUcontext, src: CUdeviceptr, src_context: CUcontext,
                len: usize, stream: CUstream,
            ) |null| {
                let (dst, src) = ((dst, dst_context), (src, src_context));
                let (when, per_thread) = (When::InStream(stream), $is_per_thread(null));
                peer::linear::<$library>(dst, src, len, when, per_thread)
            }
            fn cuMemcpy3DPeer, fn cuMemcpy3DPeer_ptds(copy: In<CUDA_MEMCPY3D_PEER>) |null| {
                // SAFETY: the memory that the program describes is valid.
                unsafe { peer::boxed::<$library>(&copy.get()?, When::Now, $is_per_thread(null)) }
            }
            fn cuMemcpy3DPeerAsync, fn cuMemcpy3DPeerAsync_ptsz(
                copy: In<CUDA_MEMCPY3D_PEER>, stream: CUstream,
            ) |null| {
                let (when, per_thread) = (When::InStream(stream), $is_per_thread(null));
                // SAFETY: the memory that the program describes is valid.
                unsafe { peer::boxed::<$library>(&copy.get()?, when, per_thread) }
            }
        }
    };
}
