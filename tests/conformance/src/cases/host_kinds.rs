//! Registered host memory of each kind, such as private, shared, and static memory. It's used by
//! copies, kernels, forked children, and other processes that share it.

use super::cases;
use crate::cuda::parameter;
use crate::cuda::{Cuda, Failure, Outcome, cu, ensure, same};
use crate::kernels::FILL;
use std::cell::UnsafeCell;
use std::ffi::CStr;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::null_mut;

/// The number of words in an area of memory. Only [`REGISTERED`] is registered: two whole pages,
/// and parts of the pages before and after them.
const WORDS: usize = 5 * 1024;
const REGISTERED: std::ops::Range<usize> = 1000..4500;

#[repr(align(4096))]
struct Static(UnsafeCell<[u32; WORDS]>);

// SAFETY: each of the variables is used by only one case, on one thread.
unsafe impl Sync for Static {}

static ZEROS: Static = Static(UnsafeCell::new([0; WORDS]));
static VALUES: Static = Static(UnsafeCell::new([5; WORDS]));

fn map(flags: i32, file: Option<&OwnedFd>) -> Outcome<*mut u32> {
    let (access, fd) =
        (libc::PROT_READ | libc::PROT_WRITE, file.map_or(-1, |file| file.as_raw_fd()));
    // SAFETY: no existing mapping is replaced.
    let at = unsafe { libc::mmap(null_mut(), WORDS * 4, access, flags, fd, 0) };
    ensure!(at != libc::MAP_FAILED, "mmap: {}", std::io::Error::last_os_error());
    Ok(at.cast())
}

/// Takes ownership of a new file descriptor, and sets the file's size to that of an area.
fn sized(fd: i32) -> Outcome<OwnedFd> {
    ensure!(fd >= 0, "cannot create a file: {}", std::io::Error::last_os_error());
    // SAFETY: the descriptor was just created, so nothing else owns it. ftruncate accepts any
    // descriptor.
    let (file, done) = unsafe { (OwnedFd::from_raw_fd(fd), libc::ftruncate(fd, WORDS as i64 * 4)) };
    ensure!(done == 0, "ftruncate: {}", std::io::Error::last_os_error());
    Ok(file)
}

fn memfd() -> Outcome<OwnedFd> {
    // SAFETY: the name is a C string.
    sized(unsafe { libc::memfd_create(c"kinds".as_ptr(), libc::MFD_CLOEXEC) })
}

/// A forked child that checks and changes memory when the parent lets it continue.
struct Child {
    pid: libc::pid_t,
    go: std::fs::File,
}

impl Child {
    /// Forks a child. When the child continues, it checks that each registered word is `expected`,
    /// and overwrites the words with 77.
    fn fork(at: *mut u32, expected: u32) -> Outcome<Self> {
        let mut ends = [0; 2];
        // SAFETY: the array has two elements.
        ensure!(unsafe { libc::pipe(ends.as_mut_ptr()) } == 0, "cannot create a pipe");
        // SAFETY: the pipe's descriptors are new, so nothing else owns them. The child calls only
        // functions that glibc allows after a fork, including malloc.
        unsafe {
            let pid = libc::fork();
            ensure!(pid >= 0, "cannot fork");
            if pid == 0 {
                let mut byte = 0u8;
                let read = libc::read(ends[0], (&raw mut byte).cast(), 1);
                let right = read == 1 && Self::run(at, expected);
                libc::_exit(if right { 0 } else { 1 });
            }
            libc::close(ends[0]);
            Ok(Self { pid, go: std::fs::File::from_raw_fd(ends[1]) })
        }
    }

    fn run(at: *mut u32, expected: u32) -> bool {
        // Check that the child can allocate memory.
        drop(std::hint::black_box(vec![1u8; 100_000]));
        let words = REGISTERED.map(|index| at.wrapping_add(index));
        // SAFETY: the area contains these words, and the child has only this thread.
        words.fold(true, |right, word| unsafe {
            let found = word.read_volatile();
            word.write_volatile(77);
            right && found == expected
        })
    }

    /// Lets the child continue, and waits for it to exit. Fails if the child found other values.
    fn finish(mut self) -> Outcome {
        self.go.write_all(b"!").map_err(|error| Failure::new(error.to_string()))?;
        let mut status = 0;
        // SAFETY: the process ID is that of this process's child, and the status is stored in a
        // local variable.
        let ended = unsafe { libc::waitpid(self.pid, &mut status, 0) };
        ensure!(ended == self.pid && status == 0, "the child ended with status {status:#x}");
        Ok(())
    }
}

/// Registers memory of one kind, and checks that all accesses to it see the right values. If the
/// memory is shared, `other` is another mapping of the same file.
fn check(cuda: &Cuda, at: *mut u32, other: Option<*mut u32>) -> Outcome {
    cuda.primary()?;
    let (_, add) = cuda.kernel(FILL, c"add")?;
    let pointer = cuda.alloc(WORDS * 4)?;
    let fill = |value: u32| {
        // SAFETY: the area contains these words, and no other thread or child uses them now.
        (0..WORDS).for_each(|index| unsafe { at.add(index).write_volatile(value) });
    };
    let seen = |at: *mut u32, index: usize| {
        // SAFETY: the area contains these words, and no other thread or child writes them now.
        unsafe { at.add(index).read_volatile() }
    };
    let host = at.wrapping_add(REGISTERED.start).cast();
    let (count, mut device) = (REGISTERED.len() as u32, 0);
    let (first, last) = (REGISTERED.start, REGISTERED.end - 1);
    for round in 0..2 {
        fill(5);
        cu!(cuda, cuMemHostRegister_v2(host, REGISTERED.len() * 4, 2))?;
        same!([0, first, last, WORDS - 1].map(|index| seen(at, index)), [5; 4]);
        cu!(cuda, cuMemHostGetDevicePointer_v2(&mut device, host, 0))?;
        // The device must read the values that the program has written, in a copy and in a kernel.
        fill(6);
        cu!(cuda, cuMemcpyHtoDAsync_v2(pointer, host, REGISTERED.len() * 4, null_mut()))?;
        cu!(cuda, cuCtxSynchronize())?;
        ensure!(
            cuda.download::<u32>(pointer, REGISTERED.len())?.iter().all(|word| *word == 6),
            "a copy from the memory differs"
        );
        let value = 1u32;
        let blocks = count.div_ceil(256);
        let mut parameters = [parameter(&device), parameter(&value), parameter(&count)];
        cuda.launch(add, [blocks, 256], null_mut(), &mut parameters)?;
        cu!(cuda, cuCtxSynchronize())?;
        let values = [first - 1, first, last, last + 1].map(|index| seen(at, index));
        same!(values, [6, 7, 7, 6]);
        // The program must read the values that a copy has written. So must a process that shares
        // the memory.
        cu!(cuda, cuMemsetD32_v2(pointer, 8, REGISTERED.len()))?;
        cu!(cuda, cuMemcpyDtoHAsync_v2(host, pointer, REGISTERED.len() * 4, null_mut()))?;
        cu!(cuda, cuCtxSynchronize())?;
        let values = [first - 1, first, last, last + 1].map(|index| seen(at, index));
        same!(values, [6, 8, 8, 6]);
        if let Some(other) = other {
            same!([first, last].map(|index| seen(other, index)), [8; 2]);
            Child::fork(other, 8)?.finish()?;
            same!([first, last].map(|index| seen(at, index)), [77; 2]);
            cu!(cuda, cuMemcpyHtoDAsync_v2(pointer, host, 4, null_mut()))?;
            cu!(cuda, cuCtxSynchronize())?;
            same!(cuda.download::<u32>(pointer, 1)?, [77]);
        }
        // In a forked child, private memory has the values from before the fork. Shared memory has
        // the values that the parent and the device have written since.
        fill(9);
        let child = Child::fork(at, if other.is_some() { 12 } else { 9 })?;
        fill(11);
        cuda.launch(add, [blocks, 256], null_mut(), &mut parameters)?;
        cu!(cuda, cuCtxSynchronize())?;
        child.finish()?;
        let expected = if other.is_some() { 77 } else { 12 };
        same!([first, last].map(|index| seen(at, index)), [expected; 2]);
        same!([first - 1, last + 1].map(|index| seen(at, index)), [11; 2]);
        cuda.launch(add, [blocks, 256], null_mut(), &mut parameters)?;
        cu!(cuda, cuCtxSynchronize())?;
        cu!(cuda, cuMemHostUnregister(host))?;
        let values = [first - 1, first, last, last + 1].map(|index| seen(at, index));
        same!(values, [11, expected + 1, expected + 1, 11]);
        fill(round);
        if let Some(other) = other {
            same!([first, last].map(|index| seen(other, index)), [round; 2]);
        }
    }
    Ok(())
}

fn check_shared(cuda: &Cuda, file: &OwnedFd) -> Outcome {
    check(cuda, map(libc::MAP_SHARED, Some(file))?, Some(map(libc::MAP_SHARED, Some(file))?))
}

fn in_shm(name: &CStr) -> Outcome<OwnedFd> {
    // SAFETY: the name is a C string.
    unsafe {
        let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR;
        sized(libc::open(name.as_ptr(), flags, 0o600))
    }
}

fn name(kind: &str) -> std::ffi::CString {
    let name = format!("/dev/shm/cuda-conformance-{}-{kind}", std::process::id());
    std::ffi::CString::new(name).unwrap_or_default()
}

cases! {
    fn pages_from_mmap(cuda) {
        check(cuda, map(libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, None)?, None)
    }

    fn the_heap(cuda) {
        let mut area = vec![0u32; WORDS];
        check(cuda, area.as_mut_ptr(), None)
    }

    fn the_stack(cuda) {
        let mut area = [0u32; WORDS];
        check(cuda, std::hint::black_box(&mut area).as_mut_ptr(), None)
    }

    fn static_variables(cuda) {
        check(cuda, ZEROS.0.get().cast(), None)?;
        check(cuda, VALUES.0.get().cast(), None)
    }

    fn a_private_mapping_of_a_file(cuda) {
        let file = memfd()?;
        let at = map(libc::MAP_PRIVATE, Some(&file))?;
        check(cuda, at, None)?;
        let fresh = map(libc::MAP_SHARED, Some(&file))?;
        // SAFETY: the mapping contains this word.
        same!(unsafe { fresh.add(REGISTERED.start).read() }, 0);
    }

    fn a_shared_mapping_of_a_memfd(cuda) {
        check_shared(cuda, &memfd()?)
    }

    fn a_shared_mapping_whose_file_is_closed(cuda) {
        let name = name("closed");
        let file = in_shm(&name)?;
        let (at, other) = (map(libc::MAP_SHARED, Some(&file))?, map(libc::MAP_SHARED, Some(&file))?);
        drop(file);
        let checked = check(cuda, at, Some(other));
        // SAFETY: the name is a C string.
        unsafe { libc::unlink(name.as_ptr()) };
        checked
    }

    fn a_shared_mapping_whose_file_is_unlinked(cuda) {
        let name = name("unlinked");
        let file = in_shm(&name)?;
        // SAFETY: the name is a C string.
        unsafe { libc::unlink(name.as_ptr()) };
        check_shared(cuda, &file)
    }
}
