//! The macro that exports the copies.

/// Exports the entry points of copies for a [`Library`](crate::copies::Library). The second
/// argument is the library's [`EntryPoint`](crate::entries::EntryPoint), and the third a function
/// that says whether a null stream means the thread's default stream.
#[macro_export]
macro_rules! copy_entries {
    ($library:ty, $entry_point:ty, $is_per_thread:path) => {
        use $crate::args::{In, Out};
        use $crate::copies::batch::{self, Batch};
        use $crate::copies::row::{self, End};
        use $crate::copies::{Library, Sides, When, peer, rectangle};
        use $crate::sys::*;

        $crate::entries! { $entry_point;
            fn cuMemcpy, fn cuMemcpy_ptds(dst: u64, src: u64, len: usize) |null| {
                let per_thread = $is_per_thread(null);
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { <$library>::copy(Sides::Any, dst, src, len, When::Now, per_thread) }
            }
            fn cuMemcpyHtoD_v2, fn cuMemcpyHtoD_v2_ptds(dst: u64, src: u64, len: usize) |null| {
                let per_thread = $is_per_thread(null);
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { <$library>::copy(Sides::ToDevice, dst, src, len, When::Now, per_thread) }
            }
            fn cuMemcpyDtoH_v2, fn cuMemcpyDtoH_v2_ptds(dst: u64, src: u64, len: usize) |null| {
                let per_thread = $is_per_thread(null);
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { <$library>::copy(Sides::FromDevice, dst, src, len, When::Now, per_thread) }
            }
            fn cuMemcpyDtoD_v2, fn cuMemcpyDtoD_v2_ptds(dst: u64, src: u64, len: usize) |null| {
                let per_thread = $is_per_thread(null);
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { <$library>::copy(Sides::OnDevice, dst, src, len, When::Now, per_thread) }
            }
            fn cuMemcpyAsync, fn cuMemcpyAsync_ptsz(
                dst: u64, src: u64, len: usize, stream: CUstream,
            ) |null| {
                let (when, per_thread) = (When::InStream(stream), $is_per_thread(null));
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { <$library>::copy(Sides::Any, dst, src, len, when, per_thread) }
            }
            fn cuMemcpyHtoDAsync_v2, fn cuMemcpyHtoDAsync_v2_ptsz(
                dst: u64, src: u64, len: usize, stream: CUstream,
            ) |null| {
                let (when, per_thread) = (When::InStream(stream), $is_per_thread(null));
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { <$library>::copy(Sides::ToDevice, dst, src, len, when, per_thread) }
            }
            fn cuMemcpyDtoHAsync_v2, fn cuMemcpyDtoHAsync_v2_ptsz(
                dst: u64, src: u64, len: usize, stream: CUstream,
            ) |null| {
                let (when, per_thread) = (When::InStream(stream), $is_per_thread(null));
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { <$library>::copy(Sides::FromDevice, dst, src, len, when, per_thread) }
            }
            fn cuMemcpyDtoDAsync_v2, fn cuMemcpyDtoDAsync_v2_ptsz(
                dst: u64, src: u64, len: usize, stream: CUstream,
            ) |null| {
                let (when, per_thread) = (When::InStream(stream), $is_per_thread(null));
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { <$library>::copy(Sides::OnDevice, dst, src, len, when, per_thread) }
            }
            fn cuMemcpy2D_v2, fn cuMemcpy2D_v2_ptds(copy: In<CUDA_MEMCPY2D>) |null| {
                let (copy, per_thread) = (rectangle::boxed(&copy.get()?), $is_per_thread(null));
                // SAFETY: the memory that the program describes is valid.
                unsafe { <$library>::copy_rectangle(&copy, When::Now, per_thread) }
            }
            fn cuMemcpy2DUnaligned_v2, fn cuMemcpy2DUnaligned_v2_ptds(copy: In<CUDA_MEMCPY2D>) |null| {
                let (copy, per_thread) = (rectangle::boxed(&copy.get()?), $is_per_thread(null));
                // SAFETY: the memory that the program describes is valid.
                unsafe { <$library>::copy_rectangle(&copy, When::Now, per_thread) }
            }
            fn cuMemcpy2DAsync_v2, fn cuMemcpy2DAsync_v2_ptsz(
                copy: In<CUDA_MEMCPY2D>, stream: CUstream,
            ) |null| {
                let (copy, per_thread) = (rectangle::boxed(&copy.get()?), $is_per_thread(null));
                // SAFETY: the memory that the program describes is valid.
                unsafe { <$library>::copy_rectangle(&copy, When::InStream(stream), per_thread) }
            }
            fn cuMemcpy3D_v2, fn cuMemcpy3D_v2_ptds(copy: In<CUDA_MEMCPY3D>) |null| {
                // SAFETY: the memory that the program describes is valid.
                unsafe { <$library>::copy_box(&copy.get()?, When::Now, $is_per_thread(null)) }
            }
            fn cuMemcpy3DAsync_v2, fn cuMemcpy3DAsync_v2_ptsz(
                copy: In<CUDA_MEMCPY3D>, stream: CUstream,
            ) |null| {
                let (when, per_thread) = (When::InStream(stream), $is_per_thread(null));
                // SAFETY: the memory that the program describes is valid.
                unsafe { <$library>::copy_box(&copy.get()?, when, per_thread) }
            }
            fn cuMemcpyHtoA_v2, fn cuMemcpyHtoA_v2_ptds(
                dst: CUarray, dst_x: usize, src: u64, len: usize,
            ) |null| {
                let (dst, src) = (End::Array(dst, dst_x), End::Host(src));
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { row::copy::<$library>(dst, src, len, When::Now, $is_per_thread(null)) }
            }
            fn cuMemcpyAtoH_v2, fn cuMemcpyAtoH_v2_ptds(
                dst: u64, src: CUarray, src_x: usize, len: usize,
            ) |null| {
                let (dst, src) = (End::Host(dst), End::Array(src, src_x));
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { row::copy::<$library>(dst, src, len, When::Now, $is_per_thread(null)) }
            }
            fn cuMemcpyDtoA_v2, fn cuMemcpyDtoA_v2_ptds(
                dst: CUarray, dst_x: usize, src: u64, len: usize,
            ) |null| {
                let (dst, src) = (End::Array(dst, dst_x), End::Device(src));
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { row::copy::<$library>(dst, src, len, When::Now, $is_per_thread(null)) }
            }
            fn cuMemcpyAtoD_v2, fn cuMemcpyAtoD_v2_ptds(
                dst: u64, src: CUarray, src_x: usize, len: usize,
            ) |null| {
                let (dst, src) = (End::Device(dst), End::Array(src, src_x));
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { row::copy::<$library>(dst, src, len, When::Now, $is_per_thread(null)) }
            }
            fn cuMemcpyAtoA_v2, fn cuMemcpyAtoA_v2_ptds(
                dst: CUarray, dst_x: usize, src: CUarray, src_x: usize, len: usize,
            ) |null| {
                let (dst, src) = (End::Array(dst, dst_x), End::Array(src, src_x));
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { row::copy::<$library>(dst, src, len, When::Now, $is_per_thread(null)) }
            }
            fn cuMemcpyHtoAAsync_v2, fn cuMemcpyHtoAAsync_v2_ptsz(
                dst: CUarray, dst_x: usize, src: u64, len: usize, stream: CUstream,
            ) |null| {
                let (dst, src) = (End::Array(dst, dst_x), End::Host(src));
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { row::copy::<$library>(dst, src, len, When::InStream(stream), $is_per_thread(null)) }
            }
            fn cuMemcpyAtoHAsync_v2, fn cuMemcpyAtoHAsync_v2_ptsz(
                dst: u64, src: CUarray, src_x: usize, len: usize, stream: CUstream,
            ) |null| {
                let (dst, src) = (End::Host(dst), End::Array(src, src_x));
                // SAFETY: the program passes addresses that are valid for `len` bytes.
                unsafe { row::copy::<$library>(dst, src, len, When::InStream(stream), $is_per_thread(null)) }
            }
            /// CUDA 12.8's version has the parameter `failed`, which receives the index of the copy
            /// that failed.
            fn cuMemcpyBatchAsync, fn cuMemcpyBatchAsync_ptsz(
                dsts: *mut CUdeviceptr, srcs: *mut CUdeviceptr, sizes: *mut usize, count: usize,
                attributes: *mut CUmemcpyAttributes, first: *mut usize, attribute_count: usize,
                failed: Out<usize>, stream: CUstream,
            ) |null| {
                // SAFETY: the program passes arrays with as many elements as the counts say, and
                // addresses that are valid for as long as `srcAccessOrder` in the attributes
                // requires.
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
                // SAFETY: the program passes arrays with as many elements as the counts say, and
                // addresses that are valid for as long as `srcAccessOrder` in the attributes
                // requires.
                unsafe {
                    let copies = (dsts, srcs, sizes);
                    let batch = Batch::new(copies, count, (attributes, first), attribute_count);
                    batch::linear::<$library>(batch, Out::null(), stream, $is_per_thread(null))
                }
            }
            /// CUDA 12.8's version has the parameter `failed`, which receives the index of the copy
            /// that failed.
            fn cuMemcpy3DBatchAsync, fn cuMemcpy3DBatchAsync_ptsz(
                count: usize, copies: *mut CUDA_MEMCPY3D_BATCH_OP, failed: Out<usize>, flags: u64,
                stream: CUstream,
            ) |null| {
                // SAFETY: the program passes an array with `count` elements, and addresses that are
                // valid for as long as `srcAccessOrder` requires.
                unsafe {
                    let copies = In::from_address(copies as usize);
                    let per_thread = $is_per_thread(null);
                    batch::boxes::<$library>(copies, count, failed, flags, stream, per_thread)
                }
            }
            fn cuMemcpy3DBatchAsync_v2, fn cuMemcpy3DBatchAsync_v2_ptsz(
                count: usize, copies: *mut CUDA_MEMCPY3D_BATCH_OP, flags: u64, stream: CUstream,
            ) |null| {
                // SAFETY: the program passes an array with `count` elements, and addresses that are
                // valid for as long as `srcAccessOrder` requires.
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
