//! The library under test, and macros that call it and check the results.

use cuda_api::error::{CuError, CuResult};
use cuda_api::symbols;
use cuda_api::sys::{CUcontext, CUdevice, CUdeviceptr, CUfunction, CUmodule, CUresult, CUstream};
use libloading::Library;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_void};
use std::fmt::Display;
use std::ptr::null_mut;
use std::sync::{Mutex, PoisonError};

/// The reason why a case failed.
#[derive(Debug)]
pub struct Failure(String);

/// The result of a case, or of a step of one.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    pub fn new(text: impl Display) -> Self {
        Self(text.to_string())
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A call that returned an error.
#[derive(Debug, PartialEq, Eq)]
pub struct CallError {
    pub name: &'static str,
    pub error: CuError,
}

/// The result of a call of an entry point.
pub type Called = Result<(), CallError>;

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self(format!("{} returned {}", error.name, error.error))
    }
}

/// Calls an entry point of the library under test: `cu!(cuda, cuMemFree_v2(pointer))`. The
/// arguments have the types of the prototype in cuda.h. With per-thread default streams, calls the
/// entry point's per-thread variant if it has one.
macro_rules! cu {
    ($cuda:expr, $name:ident($($argument:expr),* $(,)?)) => {{
        let name = $cuda.variant(stringify!($name));
        // SAFETY: `$name` is the type of the entry point's prototype, which is also that of its
        // per-thread variant.
        let function: cuda_api::prototypes::$name = unsafe { $cuda.symbol(name) };
        // SAFETY: a case passes pointers to live variables of the right size, or values that the
        // library must reject according to CUDA's manual.
        $cuda.record(name, unsafe { function($($argument),*) })
    }};
}
pub(crate) use cu;

/// Calls an entry point, and returns the value that it stores. `@` marks the parameter for the
/// address of that value: `get!(cuda, cuStreamCreate(@, 0))`. The value is zero before the call.
macro_rules! get {
    ($cuda:expr, $name:ident($($before:expr,)* @ $(, $after:expr)*)) => {{
        let mut value = std::mem::MaybeUninit::zeroed();
        $crate::cuda::cu!($cuda, $name($($before,)* value.as_mut_ptr() $(, $after)*))
            // SAFETY: the values that entry points return are integers, pointers, or structures of
            // them, so zero is valid.
            .map(|()| unsafe { value.assume_init() })
    }};
}
pub(crate) use get;

/// Fails the case unless a condition holds: `ensure!(free <= total, "free is {free}")`.
macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            let text = format!($($text)+);
            return Err($crate::cuda::Failure::new(format!("{text} ({}:{})", file!(), line!())));
        }
    };
}
pub(crate) use ensure;

/// Fails the case unless two values are equal: `same!(width, 64)`.
macro_rules! same {
    ($left:expr, $right:expr) => {{
        let (left, right) = (&$left, &$right);
        $crate::cuda::ensure!(
            left == right,
            "{} is {}, expected {}",
            stringify!($left),
            $crate::cuda::shown(left),
            $crate::cuda::shown(right)
        );
    }};
}
pub(crate) use same;

/// Formats a value for a message. Truncates long values, such as the contents of a buffer.
pub fn shown(value: &(impl std::fmt::Debug + ?Sized)) -> String {
    const LONGEST: usize = 200;
    let text = format!("{value:?}");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}... ({} characters)", &text[..end], text.len()),
        None => text,
    }
}

/// Fails the case unless a call returned one of these errors: `refused!(called, INVALID_VALUE)`.
macro_rules! refused {
    ($called:expr, $($error:ident)|+) => {{
        let expected = [$(cuda_api::error::CuError::$error),+];
        let what = match &$called {
            Err(failed) if expected.contains(&failed.error) => None,
            Err(failed) => Some(format!("{} returned {}", failed.name, failed.error)),
            Ok(()) => Some(format!("{} succeeded", stringify!($called))),
        };
        if let Some(what) = what {
            $crate::cuda::ensure!(false, "{what}, expected {expected:?}");
        }
    }};
}
pub(crate) use refused;

/// The stream that a null handle means. It matters only for entry points that have a per-thread
/// variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultStream {
    Legacy,
    PerThread,
}

/// The command line options that select a default stream.
pub const LEGACY: &str = "--legacy";
pub const PER_THREAD: &str = "--per-thread";

/// The prefix of the lines in which a process reports which entry points it has called.
pub const CALLS: &str = "\u{1}calls ";

/// How many calls of an entry point succeeded and failed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub succeeded: u64,
    pub failed: u64,
}

/// The library under test, and the counts of the calls that were made.
pub struct Cuda {
    library: Library,
    default_stream: DefaultStream,
    counts: Mutex<BTreeMap<&'static str, Count>>,
}

impl Cuda {
    /// Loads the `libcuda.so.1` that the loader finds.
    pub fn load(default_stream: DefaultStream) -> Outcome<Self> {
        // SAFETY: the user of this program selects the library, and trusts its initializers.
        let library = unsafe { Library::new("libcuda.so.1") }.map_err(Failure::new)?;
        Ok(Self { library, default_stream, counts: Mutex::default() })
    }

    /// Returns the stream that a null handle means.
    pub fn default_stream(&self) -> DefaultStream {
        self.default_stream
    }

    /// Returns the name of the exported function for an entry point. With per-thread default
    /// streams, it's the per-thread variant if there is one.
    pub fn variant(&self, name: &'static str) -> &'static str {
        if self.default_stream == DefaultStream::Legacy {
            return name;
        }
        ["_ptds", "_ptsz"]
            .iter()
            .find_map(|suffix| symbols::by_name(&format!("{name}{suffix}")))
            .map_or(name, |symbol| symbol.name)
    }

    /// Returns the function with this name.
    ///
    /// # Safety
    ///
    /// `F` must be the type of the function's prototype.
    pub unsafe fn symbol<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the caller guarantees that the function has the type `F`.
        match unsafe { self.library.get::<F>(name) } {
            Ok(function) => *function,
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns whether the library is NVIDIA's, which is the only one with an interface for
    /// debuggers. Some cases skip invalid calls for which NVIDIA's library crashes, but others
    /// return errors.
    pub fn is_nvidias(&self) -> bool {
        ["cudbgApiInit", "cudbgGetAPI", "cudbgIpcFlag"].iter().any(|name| {
            // SAFETY: the symbol's address isn't used, so its type doesn't matter.
            unsafe { self.library.get::<*const c_void>(*name) }.is_ok()
        })
    }

    /// Counts a call as succeeded or failed, and converts its result.
    pub fn record(&self, name: &'static str, result: CUresult) -> Called {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(name).or_default();
        let result: CuResult = CuError::check(result);
        match result {
            Ok(()) => count.succeeded += 1,
            Err(_) => count.failed += 1,
        }
        result.map_err(|error| CallError { name, error })
    }

    /// Returns how often each entry point succeeded and failed.
    pub fn counts(&self) -> BTreeMap<&'static str, Count> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Initializes the library, and makes the first device's primary context current.
    pub fn primary(&self) -> Outcome<(CUdevice, CUcontext)> {
        let (mut device, mut context) = (0, null_mut());
        cu!(self, cuInit(0))?;
        cu!(self, cuDeviceGet(&mut device, 0))?;
        cu!(self, cuDevicePrimaryCtxRetain(&mut context, device))?;
        cu!(self, cuCtxSetCurrent(context))?;
        Ok((device, context))
    }

    /// Returns the value of an attribute of a device.
    pub fn attribute(
        &self,
        device: CUdevice,
        attribute: cuda_api::sys::CUdevice_attribute,
    ) -> Outcome<i32> {
        let mut value = 0;
        cu!(self, cuDeviceGetAttribute(&mut value, attribute, device))?;
        Ok(value)
    }

    /// Allocates device memory.
    pub fn alloc(&self, bytes: usize) -> Outcome<CUdeviceptr> {
        let mut pointer = 0;
        cu!(self, cuMemAlloc_v2(&mut pointer, bytes))?;
        Ok(pointer)
    }

    /// Copies values to device memory.
    pub fn upload<T: Copy>(&self, to: CUdeviceptr, values: &[T]) -> Outcome {
        Ok(cu!(self, cuMemcpyHtoD_v2(to, values.as_ptr().cast(), size_of_val(values)))?)
    }

    /// Copies values from device memory.
    pub fn download<T: Copy + Default>(&self, from: CUdeviceptr, count: usize) -> Outcome<Vec<T>> {
        let mut values = vec![T::default(); count];
        let bytes = size_of_val(&values[..]);
        cu!(self, cuMemcpyDtoH_v2(values.as_mut_ptr().cast(), from, bytes))?;
        Ok(values)
    }

    /// Loads a module from PTX and returns one of its kernels.
    pub fn kernel(&self, ptx: &CStr, name: &CStr) -> Outcome<(CUmodule, CUfunction)> {
        let (mut module, mut function) = (null_mut(), null_mut());
        cu!(self, cuModuleLoadData(&mut module, ptx.as_ptr().cast()))?;
        cu!(self, cuModuleGetFunction(&mut function, module, name.as_ptr()))?;
        Ok((module, function))
    }

    /// Launches a kernel with one-dimensional blocks. Each parameter is the address of a value.
    pub fn launch(
        &self,
        function: CUfunction,
        [grid, block]: [u32; 2],
        stream: CUstream,
        parameters: &mut [*mut c_void],
    ) -> Called {
        let parameters = parameters.as_mut_ptr();
        cu!(
            self,
            cuLaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, parameters, null_mut())
        )
    }
}

/// Returns the address of a kernel parameter.
pub fn parameter<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}
