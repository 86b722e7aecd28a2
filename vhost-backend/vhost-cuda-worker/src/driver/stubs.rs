//! Test stubs for driver functions. A stub can make a call wait until the test lets it continue,
//! and a test can observe all calls.

use std::collections::HashMap;
use std::ffi::{CStr, c_void};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{LazyLock, Mutex, OnceLock};
use std::time::Duration;

/// For each driver function that has been looked up, its address in the driver library, by name.
static REAL: LazyLock<Mutex<HashMap<String, usize>>> = LazyLock::new(Mutex::default);
/// The functions whose next call must wait, by name.
static STOPS: LazyLock<Mutex<HashMap<&str, Stop>>> = LazyLock::new(Mutex::default);

/// An observer of all calls of functions that have a stub.
pub trait Watch: Send + Sync {
    /// Called before the library's function is called with these arguments, on the same thread.
    fn enters(&self, name: &'static str, arguments: &[u64]);
    /// Called after the library's function has returned.
    fn leaves(&self, name: &'static str, arguments: &[u64], result: u32);
}

static WATCH: OnceLock<Box<dyn Watch>> = OnceLock::new();

/// Makes `watch` observe all calls from now on.
pub fn watch(watch: impl Watch + 'static) {
    assert!(WATCH.set(Box::new(watch)).is_ok(), "the calls are already watched");
}

/// Returns the address, in the driver library, of a function that has been looked up before.
pub fn real(name: &str) -> *mut c_void {
    std::ptr::with_exposed_provenance_mut(REAL.lock().unwrap()[name])
}

/// The channels of a call that must wait. The call signals on the first one that it has arrived,
/// and continues when the second one is closed.
type Stop = (Sender<()>, Receiver<()>);

/// A guard that makes the next call of a function wait until the guard is dropped.
pub struct Stopped {
    came: Receiver<()>,
    _goes: Sender<()>,
}

impl Stopped {
    /// Waits until the function is called.
    pub fn wait(&self) {
        self.came.recv_timeout(Duration::from_secs(60)).expect("the driver was not called");
    }

    /// Returns whether the function is called within a second. Tests use this to show that it
    /// isn't.
    pub fn comes(&self) -> bool {
        self.came.recv_timeout(Duration::from_secs(1)).is_ok()
    }
}

/// Makes the next call of a driver function wait. The function must be in the list of stubs below.
pub fn stop_next(name: &'static str) -> Stopped {
    let ((comes, came), (goes, go)) = (channel(), channel());
    assert!(stub(name).is_some(), "{name} has no stub");
    STOPS.lock().unwrap().insert(name, (comes, go));
    Stopped { came, _goes: goes }
}

/// Returns the address of a driver function's stub, or `real` if the function has none.
pub fn instead_of(name: &CStr, real: *mut c_void) -> *mut c_void {
    let name = name.to_str().unwrap();
    REAL.lock().unwrap().insert(name.to_owned(), real.expose_provenance());
    stub(name).unwrap_or(real)
}

fn pass(name: &str) -> *mut c_void {
    let stop = STOPS.lock().unwrap().remove(name);
    if let Some((comes, go)) = stop {
        // Sending fails if the test has already dropped the guard. In that case, the call just
        // continues.
        let _ = comes.send(());
        let _ = go.recv();
    }
    real(name)
}

macro_rules! stubs {
    ($( fn $name:ident($($arg:ident : $ty:ty),*); )*) => {
        $(
            #[allow(non_snake_case)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> u32 {
                let real = pass(stringify!($name));
                let arguments = [$($arg as u64),*];
                if let Some(watch) = WATCH.get() {
                    watch.enters(stringify!($name), &arguments);
                }
                // SAFETY: the library's function of this name has this type. The arguments are
                // those of the caller, which guarantees that they are valid.
                let result = unsafe {
                    std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($ty),*) -> u32>(real)(
                        $($arg),*
                    )
                };
                if let Some(watch) = WATCH.get() {
                    watch.leaves(stringify!($name), &arguments, result);
                }
                result
            }
        )*

        fn stub(name: &str) -> Option<*mut c_void> {
            match name {
                $( stringify!($name) => Some($name as *mut c_void), )*
                _ => None,
            }
        }
    };
}

type P = *mut c_void;

stubs! {
    fn cuArrayDestroy(array: P);
    fn cuCtxDestroy_v2(ctx: P);
    fn cuCtxSetLimit(limit: u32, value: usize);
    fn cuCtxResetPersistingL2Cache();
    fn cuDevicePrimaryCtxRelease_v2(device: i32);
    fn cuModuleLoadDataEx(module: P, image: P, count: u32, options: P, values: P);
    fn cuModuleUnload(module: P);
    fn cuLibraryLoadData(library: P, image: P, options: P, values: P, count: u32, of: P, have: P, all: u32);
    fn cuLibraryUnload(library: P);
    fn cuEventCreate(event: P, flags: u32);
    fn cuLibraryGetKernel(kernel: P, library: P, name: P);
    fn cuKernelGetFunction(function: P, kernel: P);
    fn cuModuleGetFunction(function: P, module: P, name: P);
    fn cuIpcGetEventHandle(handle: P, event: P);
    fn cuMemcpyDtoHAsync_v2(dst: P, src: u64, len: usize, stream: P);
    fn cuMemCreate(handle: P, size: usize, properties: P, flags: u64);
    fn cuMemHostUnregister(address: P);
    fn cuMemMap(at: u64, size: usize, offset: usize, handle: u64, flags: u64);
    fn cuMemRelease(handle: u64);
    fn cuMemSetAccess(at: u64, size: usize, access: P, count: usize);
    fn cuMemUnmap(at: u64, size: usize);
    fn cuMipmappedArrayDestroy(array: P);
    fn cuStreamSynchronize(stream: P);
    fn cuSurfObjectCreate(object: P, resource: P);
    fn cuLinkAddData_v2(link: P, kind: u32, data: P, len: usize, name: P, count: u32, options: P, values: P);
    fn cuLinkDestroy(link: P);
    fn cuGreenCtxDestroy(green: P);
    fn cuGraphAddEventRecordNode(node: P, graph: P, after: P, count: usize, event: P);
    fn cuGraphInstantiateWithFlags(exec: P, graph: P, flags: u64);
    fn cuGraphCreate(graph: P, flags: u32);
    fn cuGraphAddKernelNode_v2(node: P, graph: P, after: P, count: usize, params: P);
    fn cuGraphExecKernelNodeSetParams_v2(exec: P, node: P, params: P);
    fn cuGraphExecUpdate_v2(exec: P, graph: P, info: P);
    fn cuGraphUpload(exec: P, stream: P);
    fn cuGraphLaunch(exec: P, stream: P);
    fn cuLaunchKernel(f: P, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32, stream: P, params: P, extra: P);
}
