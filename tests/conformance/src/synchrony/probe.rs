//! Writes and reads single bytes of any kind of memory. These accesses don't wait for the stream
//! under test.

use super::memory::{Kind, Spot};
use crate::cuda::{Cuda, Outcome, cu, parameter};
use cuda_api::sys::{CUDA_MEMCPY3D, CUfunction, CUmemorytype as Memory, CUstream};
use std::ffi::CStr;
use std::ptr::null_mut;
use std::sync::atomic::{Ordering, fence};

/// `paint(base, first, second, third, value)` stores a byte at three offsets. `look(base, first,
/// second, third, out)` copies the bytes at three offsets to the first three bytes of `out`.
const KERNELS: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .entry paint(.param .u64 base, .param .u64 first, .param .u64 second, .param .u64 third, .param .u32 value) {
    .reg .b32 %r<2>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [base];
    ld.param.u64 %rd2, [first];
    ld.param.u64 %rd3, [second];
    ld.param.u64 %rd4, [third];
    ld.param.u32 %r1, [value];
    cvta.to.global.u64 %rd1, %rd1;
    add.s64 %rd2, %rd1, %rd2;
    add.s64 %rd3, %rd1, %rd3;
    add.s64 %rd4, %rd1, %rd4;
    st.global.u8 [%rd2], %r1;
    st.global.u8 [%rd3], %r1;
    st.global.u8 [%rd4], %r1;
    ret;
}
.visible .entry look(.param .u64 base, .param .u64 first, .param .u64 second, .param .u64 third, .param .u64 out) {
    .reg .b32 %r<4>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [base];
    ld.param.u64 %rd2, [first];
    ld.param.u64 %rd3, [second];
    ld.param.u64 %rd4, [third];
    ld.param.u64 %rd5, [out];
    cvta.to.global.u64 %rd1, %rd1;
    cvta.to.global.u64 %rd5, %rd5;
    add.s64 %rd2, %rd1, %rd2;
    add.s64 %rd3, %rd1, %rd3;
    add.s64 %rd4, %rd1, %rd4;
    ld.volatile.global.u8 %r1, [%rd2];
    ld.volatile.global.u8 %r2, [%rd3];
    ld.volatile.global.u8 %r3, [%rd4];
    st.global.u8 [%rd5], %r1;
    st.global.u8 [%rd5+1], %r2;
    st.global.u8 [%rd5+2], %r3;
    ret;
}
";

/// The offsets of the three bytes that are written and read.
pub type Marks = [usize; 3];

/// Returns whether all three bytes have this value.
pub fn all(bytes: [u8; 3], value: u8) -> bool {
    bytes == [value; 3]
}

/// Kernels that access memory, and a stream for them that doesn't wait for other streams.
pub struct Probe<'a> {
    cuda: &'a Cuda,
    paint: CUfunction,
    look: CUfunction,
    stream: CUstream,
    /// Memory in which kernels and copies from arrays store the bytes that they read.
    seen: Spot,
    /// A row of memory from which arrays are filled.
    row: Spot,
}

impl<'a> Probe<'a> {
    pub fn new(cuda: &'a Cuda) -> Outcome<Self> {
        let (module, paint) = cuda.kernel(KERNELS, c"paint")?;
        let (mut look, mut stream) = (null_mut(), null_mut());
        cu!(cuda, cuModuleGetFunction(&mut look, module, c"look".as_ptr()))?;
        cu!(cuda, cuStreamCreate(&mut stream, 1))?;
        let seen = Spot::new(cuda, Kind::Pinned)?;
        let row = Spot::new(cuda, Kind::Device)?;
        Ok(Self { cuda, paint, look, stream, seen, row })
    }

    fn launch(&self, kernel: CUfunction, base: u64, marks: Marks, last: u64) -> Outcome {
        let [first, second, third] = marks.map(|mark| mark as u64);
        let mut parameters = [&base, &first, &second, &third, &last].map(parameter);
        self.cuda.launch(kernel, [1, 1], self.stream, &mut parameters)?;
        Ok(cu!(self.cuda, cuStreamSynchronize(self.stream))?)
    }

    /// Copies a row of `len` bytes between linear memory and the start of an array. `into` selects
    /// the direction.
    fn array(&self, array: Spot, memory: Spot, len: usize, into: bool) -> Outcome {
        let (kind, row) = (Memory::CU_MEMORYTYPE_UNIFIED, Memory::CU_MEMORYTYPE_ARRAY);
        let mut copy =
            CUDA_MEMCPY3D { WidthInBytes: len, Height: 1, Depth: 1, ..Default::default() };
        if into {
            (copy.srcMemoryType, copy.srcDevice) = (kind, memory.address);
            (copy.dstMemoryType, copy.dstArray) = (row, array.array);
        } else {
            (copy.srcMemoryType, copy.srcArray) = (row, array.array);
            (copy.dstMemoryType, copy.dstDevice) = (kind, memory.address);
        }
        cu!(self.cuda, cuMemcpy3DAsync_v2(&copy, self.stream))?;
        Ok(cu!(self.cuda, cuStreamSynchronize(self.stream))?)
    }

    /// Stores a value at the marks of a spot.
    pub fn paint(&self, spot: Spot, marks: Marks, value: u8) -> Outcome {
        if spot.kind == Kind::Array {
            let len = marks[2] + 1;
            cu!(self.cuda, cuMemsetD8Async(self.row.address, value, len, self.stream))?;
            return self.array(spot, self.row, len, true);
        }
        if !spot.kind.on_cpu() {
            return self.launch(self.paint, spot.on_gpu, marks, value.into());
        }
        for mark in marks {
            // SAFETY: the marks lie in the spot's memory.
            unsafe { (spot.address as *mut u8).add(mark).write_volatile(value) };
        }
        // This flushes the CPU's write-combining buffers, so that the bytes reach the memory.
        fence(Ordering::SeqCst);
        Ok(())
    }

    /// Reads the marks of a spot with the CPU.
    pub fn on_cpu(&self, spot: Spot, marks: Marks) -> [u8; 3] {
        // SAFETY: the marks lie in the spot's memory.
        marks.map(|mark| unsafe { (spot.address as *const u8).add(mark).read_volatile() })
    }

    /// Reads the marks of a spot with the GPU, in a stream that doesn't wait for other streams.
    pub fn on_gpu(&self, spot: Spot, marks: Marks) -> Outcome<[u8; 3]> {
        if spot.kind == Kind::Array {
            self.array(spot, self.seen, marks[2] + 1, false)?;
            return Ok(self.on_cpu(self.seen, marks));
        }
        self.launch(self.look, spot.on_gpu, marks, self.seen.on_gpu)?;
        Ok(self.on_cpu(self.seen, [0, 1, 2]))
    }

    /// Reads the marks of a spot when the GPU is idle. Uses the CPU if it can access the memory,
    /// and otherwise the GPU.
    pub fn finally(&self, spot: Spot, marks: Marks) -> Outcome<[u8; 3]> {
        if spot.kind.on_cpu() { Ok(self.on_cpu(spot, marks)) } else { self.on_gpu(spot, marks) }
    }
}
