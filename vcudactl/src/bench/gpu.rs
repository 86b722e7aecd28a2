//! Resources that the measurements share: the library, a context on the first GPU, a stream, and
//! kernels.

use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;

use super::sample::time;
use crate::cuda::{Cuda, Failed, Handle, Pointer};

/// The flag CU_STREAM_NON_BLOCKING.
const NON_BLOCKING: u32 = 1;
/// The error CUDA_ERROR_NOT_READY.
const NOT_READY: i32 = 600;

/// The kernels, as PTX for every GPU that CUDA 13 supports: `empty` does nothing, `spin` runs for a
/// number of nanoseconds, and `work` performs a number of operations.
const PTX: &str = "\
.version 7.0
.target sm_75
.address_size 64
.visible .entry empty()
{
    ret;
}
.visible .entry spin(.param .u64 ns)
{
    .reg .pred %p<2>;
    .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [ns];
    mov.u64 %rd2, %globaltimer;
AGAIN:
    mov.u64 %rd3, %globaltimer;
    sub.s64 %rd4, %rd3, %rd2;
    setp.lt.u64 %p1, %rd4, %rd1;
    @%p1 bra AGAIN;
    ret;
}
.visible .entry work(.param .u64 out, .param .u32 count)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [count];
    mov.u32 %r2, 1;
NEXT:
    mad.lo.s32 %r2, %r2, %r2, %r1;
    mad.lo.s32 %r2, %r2, %r2, %r1;
    mad.lo.s32 %r2, %r2, %r2, %r1;
    mad.lo.s32 %r2, %r2, %r2, %r1;
    sub.s32 %r1, %r1, 1;
    setp.ne.s32 %p1, %r1, 0;
    @%p1 bra NEXT;
    st.global.u32 [%rd1], %r2;
    ret;
}
";

/// The first GPU, with the library, the stream, and the kernels that all measurements use.
pub(super) struct Gpu {
    pub(super) cuda: Cuda,
    /// The path of the library.
    pub(super) library: PathBuf,
    /// Whether to take few samples and to do little work in each.
    pub(super) quick: bool,
    pub(super) stream: Handle,
    pub(super) empty: Handle,
    pub(super) spin: Handle,
    pub(super) work: Handle,
    /// The address of four bytes of device memory.
    pub(super) word: Pointer,
}

impl Gpu {
    /// Loads the library and creates a context.
    pub(super) fn open(library: &Path, quick: bool) -> Result<Self, Failed> {
        let cuda = load(library)?;
        let (mut context, mut stream, mut word) = (null_mut(), null_mut(), 0);
        // SAFETY: the pointers are to local variables, and each value that a call uses was set by
        // an earlier call that succeeded.
        unsafe {
            cuda.init(0)?;
            cuda.retain(&mut context, 0)?;
            cuda.set_current(context)?;
            cuda.stream_create(&mut stream, NON_BLOCKING)?;
            cuda.alloc(&mut word, 4)?;
        }
        let module = load_image(&cuda, &image(PTX))?;
        let kernel = |name| function(&cuda, module, name);
        let (empty, spin, work) = (kernel(c"empty")?, kernel(c"spin")?, kernel(c"work")?);
        Ok(Self { cuda, library: library.to_owned(), quick, stream, empty, spin, work, word })
    }

    /// Returns the GPU's name and the driver's version.
    pub(super) fn names(&self) -> Result<(String, i32), Failed> {
        let (mut name, mut version) = ([0u8; 256], 0);
        // SAFETY: `name` has 256 bytes, and `version` is writable.
        unsafe {
            self.cuda.device_name(name.as_mut_ptr().cast(), 255, 0)?;
            self.cuda.driver_version(&mut version)?;
        }
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok((name.to_string_lossy().into_owned(), version))
    }

    /// Returns the number of samples or processes to use. It's `count`, but less for a quick run.
    pub(super) fn count(&self, count: usize) -> usize {
        if self.quick { count.min(2) } else { count }
    }

    /// Returns the number of bytes to use. It's `bytes`, but less for a quick run.
    pub(super) fn bytes(&self, bytes: usize) -> usize {
        if self.quick { (bytes / 64).max(4096) } else { bytes }
    }

    /// Launches a kernel of one thread in the stream.
    pub(super) fn launch(&self, kernel: Handle, params: &mut [*mut c_void]) -> Result<(), Failed> {
        let params = params.as_mut_ptr();
        // SAFETY: the callers pass a pointer to a variable for each of the kernel's parameters. The
        // call copies the variables before it returns.
        unsafe { self.cuda.launch(kernel, 1, 1, 1, 1, 1, 1, 0, self.stream, params, null_mut()) }
    }

    /// Launches a kernel that runs for this many microseconds.
    pub(super) fn launch_for(&self, us: u64) -> Result<(), Failed> {
        let mut ns = us * 1000;
        match us {
            0 => self.launch(self.empty, &mut []),
            _ => self.launch(self.spin, &mut [(&raw mut ns).cast()]),
        }
    }

    /// Launches a kernel that performs this many operations.
    pub(super) fn launch_work(&self, operations: u32) -> Result<(), Failed> {
        let (mut word, mut count) = (self.word, (operations / 4).max(1));
        self.launch(self.work, &mut [(&raw mut word).cast(), (&raw mut count).cast()])
    }

    /// Waits until the stream's work has finished.
    pub(super) fn wait(&self) -> Result<(), Failed> {
        // SAFETY: the stream exists as long as the process.
        unsafe { self.cuda.stream_sync(self.stream) }
    }

    /// Waits for the stream by polling it.
    pub(super) fn poll(&self) -> Result<(), Failed> {
        loop {
            // SAFETY: the stream exists as long as the process.
            match unsafe { (self.cuda.stream_query)(self.stream) } {
                0 => return Ok(()),
                NOT_READY => {}
                error => return Err(self.cuda.failed("cuStreamQuery", error)),
            }
        }
    }

    /// Creates an event with these flags.
    pub(super) fn event(&self, flags: u32) -> Result<Handle, Failed> {
        let mut event = null_mut();
        // SAFETY: `event` is writable.
        unsafe { self.cuda.event_create(&mut event, flags) }?;
        Ok(event)
    }

    /// Returns how long it takes to load and unload an image, in microseconds.
    pub(super) fn time_load(&self, image: &[u8]) -> Result<f64, Failed> {
        time(|| {
            let module = load_image(&self.cuda, image)?;
            // SAFETY: the module was just loaded, and nothing uses it.
            unsafe { self.cuda.unload_module(module) }
        })
    }
}

/// Loads the library at a path.
pub(super) fn load(library: &Path) -> Result<Cuda, Failed> {
    Cuda::load(library)
}

/// Returns PTX in the form in which it can be loaded, with a null byte at the end.
pub(super) fn image(ptx: &str) -> Vec<u8> {
    [ptx.as_bytes(), b"\0"].concat()
}

/// Loads an image: PTX from [`image`], or a cubin.
fn load_image(cuda: &Cuda, image: &[u8]) -> Result<Handle, Failed> {
    let mut module = null_mut();
    // SAFETY: `module` is writable. The library finds the end of the image, because PTX ends with a
    // null byte and a cubin's headers describe its size.
    unsafe { cuda.load_module(&mut module, image.as_ptr().cast()) }?;
    Ok(module)
}

fn function(cuda: &Cuda, module: Handle, name: &CStr) -> Result<Handle, Failed> {
    let mut function = null_mut();
    // SAFETY: `function` is writable, the module exists, and the name ends with a null byte.
    unsafe { cuda.function(&mut function, module, name.as_ptr()) }?;
    Ok(function)
}
