//! Long copies of pageable memory, and long registered memory. The driver may use several threads
//! for them, while the program copies, forks, and changes the memory.

use super::cases;
use crate::cuda::{Cuda, Failure, Outcome, cu, ensure, get, same};
use cuda_api::sys::CUcontext;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Number of bytes before and after a copy's destination, which the case checks for unwanted
/// changes.
const MARGIN: usize = 5000;
const LARGEST: usize = (17 << 20) + 12_345;

/// A context handle that can be shared between threads.
struct Shared(CUcontext);
// SAFETY: CUDA allows any thread to use a context handle.
unsafe impl Sync for Shared {}

impl Shared {
    fn enter(&self, cuda: &Cuda) -> Outcome {
        Ok(cu!(cuda, cuCtxSetCurrent(self.0))?)
    }
}

/// Returns bytes that depend on their position and the seed, so that neighboring bytes differ.
fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let byte = |index| ((index as u64 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
    (0..len).map(byte).collect()
}

/// Newly mapped memory, whose pages haven't been accessed yet.
struct Fresh {
    at: *mut u8,
    len: usize,
}

impl Fresh {
    fn new(len: usize) -> Outcome<Self> {
        let (access, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: no existing mapping is replaced.
        let at = unsafe { libc::mmap(null_mut(), len, access, flags, -1, 0) };
        ensure!(at != libc::MAP_FAILED, "mmap: {}", std::io::Error::last_os_error());
        Ok(Self { at: at.cast(), len })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping contains these bytes, and every call that wrote them has returned.
        unsafe { std::slice::from_raw_parts(self.at, self.len) }
    }
}

impl Drop for Fresh {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and no reference to it can remain.
        unsafe { libc::munmap(self.at.cast(), self.len) };
    }
}

/// Copies bytes to the device, and back to newly mapped memory, and compares them. `skip` is the
/// offset of the destination in that memory.
fn there_and_back(cuda: &Cuda, device: u64, source: &[u8], skip: usize) -> Outcome {
    let len = source.len();
    cu!(cuda, cuMemcpyHtoD_v2(device, source.as_ptr().cast(), len))?;
    let back = Fresh::new(len + 2 * MARGIN)?;
    let to = back.at.wrapping_add(skip);
    cu!(cuda, cuMemcpyDtoH_v2(to.cast(), device, len))?;
    let (before, rest) = back.bytes().split_at(skip);
    let (copied, after) = rest.split_at(len);
    ensure!(copied == source, "{len} bytes at +{skip} differ");
    ensure!(before.iter().chain(after).all(|byte| *byte == 0), "{len} bytes at +{skip}: margins");
    Ok(())
}

/// Copies bytes to the device and back repeatedly until `stop` is set, but at least three times.
fn copy_until(
    cuda: &Cuda,
    context: &Shared,
    source: &[u8],
    skip: usize,
    stop: &AtomicBool,
) -> Outcome {
    context.enter(cuda)?;
    let device = cuda.alloc(source.len())?;
    let mut rounds = 0;
    while rounds < 3 || !stop.load(Ordering::Relaxed) {
        there_and_back(cuda, device, source, skip)?;
        rounds += 1;
    }
    Ok(cu!(cuda, cuMemFree_v2(device))?)
}

/// Forks a child that checks the first byte of each page and overwrites it. Returns whether the
/// child found `expected` everywhere.
fn child_finds(memory: &Fresh, expected: u8) -> Outcome<bool> {
    // SAFETY: the child only accesses its copy of the memory, and exits.
    unsafe {
        let pid = libc::fork();
        ensure!(pid >= 0, "cannot fork");
        if pid == 0 {
            let right = (0..memory.len).step_by(4096).all(|index| {
                let byte = memory.at.add(index);
                let found = byte.read_volatile();
                byte.write_volatile(99);
                found == expected
            });
            libc::_exit(if right { 0 } else { 1 });
        }
        let mut status = 0;
        ensure!(libc::waitpid(pid, &mut status, 0) == pid, "cannot wait for the child");
        Ok(status == 0)
    }
}

/// Runs `body` while `threads` threads run `work`. When `body` has returned, sets the flag that is
/// the second argument of `work`, and waits for the threads.
fn meanwhile<R>(
    threads: usize,
    work: impl Fn(usize, &AtomicBool) -> Outcome + Sync,
    body: impl FnOnce() -> Outcome<R>,
) -> Outcome<R> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (work, stop) = (&work, &stop);
        let threads: Vec<_> =
            (0..threads).map(|index| scope.spawn(move || work(index, stop))).collect();
        let result = body();
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().map_err(|_| Failure::new("a thread panicked"))??;
        }
        result
    })
}

cases! {
    fn copies_of_all_lengths_and_alignments_arrive_and_nothing_else_changes(cuda, primary) {
        let device = cuda.alloc(LARGEST + 64)?;
        let source = pattern(LARGEST + 64, 1);
        let around = [16 << 10, 128 << 10, 512 << 10, 1 << 20, 8 << 20, 16 << 20];
        let lengths = around.into_iter().flat_map(|len| [len - 1, len, len + 1, len + 4097]);
        for (round, len) in lengths.chain([LARGEST]).enumerate() {
            let (from, to, skip) = (round % 7, round as u64 % 5 * 3, [0, 1, 4095, 4096][round % 4]);
            cu!(cuda, cuMemsetD8_v2(device, 0xee, LARGEST + 64))?;
            there_and_back(cuda, device + 8 + to, &source[from..from + len], skip)?;
            let ends = [device + 7 + to, device + 8 + to + len as u64];
            for end in ends {
                same!((len, cuda.download::<u8>(end, 1)?), (len, vec![0xee]));
            }
        }
    }

    fn threads_copy_at_the_same_time(cuda, primary = (_, context)) {
        let context = Shared(context);
        let copy = |index: usize, stop: &AtomicBool| -> Outcome {
            let source = pattern((3 << 20) + index * 4099, 100 + index as u64);
            copy_until(cuda, &context, &source, index, stop)
        };
        meanwhile(11, copy, || {
            let source = pattern(LARGEST, 7);
            let device = cuda.alloc(source.len())?;
            (0..3).try_for_each(|round| there_and_back(cuda, device, &source, round))
        })
    }

    fn forks_do_not_disturb_copies(cuda, primary = (_, context)) {
        let context = Shared(context);
        let copy = |index: usize, stop: &AtomicBool| -> Outcome {
            copy_until(cuda, &context, &pattern(5 << 20, index as u64), 3, stop)
        };
        meanwhile(2, copy, || {
            for round in 0..10 {
                let memory = Fresh::new(1 << 20)?;
                // SAFETY: the mapping has these bytes.
                unsafe { memory.at.write_bytes(round, memory.len) };
                ensure!(child_finds(&memory, round)?, "a child doesn't find its memory");
                ensure!(memory.bytes().iter().all(|byte| *byte == round), "a child's write is seen");
            }
            Ok(())
        })
    }

    /// The program changes the memory during a copy. Each byte of the copy must have a value that
    /// the memory had.
    fn memory_may_change_during_a_copy(cuda, primary = (_, context)) {
        let context = Shared(context);
        let words: Vec<AtomicU64> = (0..1 << 20).map(|_| AtomicU64::new(0)).collect();
        let change = |_: usize, stop: &AtomicBool| -> Outcome {
            for value in 1.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let value = u64::from_ne_bytes([value % 7; 8]);
                words.iter().for_each(|word| word.store(value, Ordering::Relaxed));
            }
            Ok(())
        };
        meanwhile(1, change, || {
            context.enter(cuda)?;
            let device = cuda.alloc(words.len() * 8)?;
            for _ in 0..5 {
                cu!(cuda, cuMemcpyHtoD_v2(device, words.as_ptr().cast(), words.len() * 8))?;
                let seen = cuda.download::<u8>(device, words.len() * 8)?;
                ensure!(seen.iter().all(|byte| *byte < 7), "a byte has a value from elsewhere");
            }
            Ok(())
        })
    }

    /// The program registers, copies, and unregisters memory while other threads copy, allocate,
    /// and exit.
    fn long_registered_memory_keeps_its_bytes(cuda, primary = (_, context)) {
        let context = Shared(context);
        let copy = |index: usize, stop: &AtomicBool| -> Outcome {
            copy_until(cuda, &context, &pattern(2 << 20, index as u64), index, stop)
        };
        meanwhile(2, copy, || {
            let device = cuda.alloc(LARGEST)?;
            for (len, skip) in [(LARGEST - MARGIN, 77), (9 << 20, 0), (2 << 20, 4096), (3 << 20, 1)] {
                let memory = Fresh::new(LARGEST)?;
                let source = pattern(memory.len, len as u64);
                // SAFETY: the mapping has these bytes.
                unsafe { memory.at.copy_from(source.as_ptr(), source.len()) };
                let host = memory.at.wrapping_add(skip);
                for round in 1..4u8 {
                    cu!(cuda, cuMemHostRegister_v2(host.cast(), len, 0))?;
                    ensure!(memory.bytes() == source, "{len} bytes differ after they were registered");
                    cu!(cuda, cuMemcpyHtoDAsync_v2(device, host.cast(), len, null_mut()))?;
                    cu!(cuda, cuCtxSynchronize())?;
                    ensure!(
                        cuda.download::<u8>(device, len)? == source[skip..skip + len],
                        "a copy from {len} registered bytes differs"
                    );
                    cu!(cuda, cuMemsetD8_v2(device, round, len))?;
                    cu!(cuda, cuMemcpyDtoHAsync_v2(host.cast(), device, len, null_mut()))?;
                    cu!(cuda, cuCtxSynchronize())?;
                    cu!(cuda, cuMemHostUnregister(host.cast()))?;
                    let (before, rest) = memory.bytes().split_at(skip);
                    let (copied, after) = rest.split_at(len);
                    ensure!(copied.iter().all(|byte| *byte == round), "{len} unregistered bytes");
                    ensure!(
                        before == &source[..skip] && after == &source[skip + len..],
                        "bytes beside {len} unregistered ones"
                    );
                    // SAFETY: the mapping contains these bytes, and nothing else uses them now.
                    unsafe { memory.at.copy_from(source.as_ptr(), source.len()) };
                }
            }
            Ok(())
        })
    }

    fn a_child_has_a_copy_of_long_registered_memory(cuda, primary) {
        let memory = Fresh::new(9 << 20)?;
        // SAFETY: the mapping has these bytes.
        unsafe { memory.at.write_bytes(5, memory.len) };
        cu!(cuda, cuMemHostRegister_v2(memory.at.cast(), memory.len, 0))?;
        ensure!(child_finds(&memory, 5)?, "a child doesn't find the registered memory");
        ensure!(memory.bytes().iter().all(|byte| *byte == 5), "the child's writes are seen");
        cu!(cuda, cuMemHostUnregister(memory.at.cast()))?;
        ensure!(child_finds(&memory, 5)?, "a child doesn't find the unregistered memory");
        ensure!(memory.bytes().iter().all(|byte| *byte == 5), "the child's writes are seen later");
    }

    fn pinned_memory_does_not_contain_what_was_registered_before(cuda, primary) {
        let len = 9 << 20;
        for _ in 0..3 {
            let memory = Fresh::new(len)?;
            // SAFETY: the mapping has these bytes.
            unsafe { memory.at.write_bytes(7, len) };
            cu!(cuda, cuMemHostRegister_v2(memory.at.cast(), len, 0))?;
            cu!(cuda, cuMemHostUnregister(memory.at.cast()))?;
            let host = get!(cuda, cuMemHostAlloc(@, len, 0))?;
            // SAFETY: the memory has these bytes, and nothing else uses it.
            let bytes = unsafe { std::slice::from_raw_parts_mut(host.cast::<u8>(), len) };
            ensure!(!bytes.contains(&7), "the memory has old contents");
            bytes.fill(3);
            cu!(cuda, cuMemFreeHost(host))?;
        }
    }
}
