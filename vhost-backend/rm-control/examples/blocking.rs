//! Finds out which functions of libcuda block while a kernel of the process runs, and while that
//! kernel is evicted from the GPU, and whether launches by another thread block during the call.
//! Prints a table.
//!
//! `cargo run --release -p rm-control --example blocking -- [FUNCTION]`, on a machine with an
//! NVIDIA GPU.

use std::error::Error;
use std::ffi::{CStr, c_int, c_ulong, c_void};
use std::sync::mpsc;
use std::time::Duration;

use rm_control::self_test::{Cuda, Kernel};
use rm_control::{Client, recorder};

/// A call that takes longer than this is considered to block.
const AT_ONCE: Duration = Duration::from_millis(150);
/// The time after which a kernel ends by itself.
const LIMIT: Duration = Duration::from_secs(5);
const HOST_BYTES: usize = 1 << 20;

/// Takes the place of libc's function, so that libcuda's calls are recorded.
///
/// # Safety
/// The same as for `ioctl(2)`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    // SAFETY: the caller guarantees what ioctl(2) requires.
    unsafe { recorder::ioctl(fd, request, argument) }
}

/// A handle or address, as a number, so that threads can share it.
type Word = usize;

/// A handle of libcuda, whose functions are called by name with words as arguments. This works
/// because x86-64 and aarch64 pass integers and pointers of all types as words.
#[derive(Clone, Copy)]
struct Library(Word);

impl Library {
    fn symbol(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the library is loaded, and the name is a C string.
        let symbol = unsafe { libc::dlsym(self.0 as *mut c_void, name.as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    }

    /// Calls a function, and returns its CUresult, or -1 if there's no such function.
    ///
    /// # Safety
    /// The arguments must be valid for the function.
    unsafe fn call<const N: usize>(self, name: &CStr, arguments: [Word; N]) -> c_int {
        type Function = unsafe extern "C" fn(
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
            Word,
        ) -> c_int;
        let Some(symbol) = self.symbol(name) else { return -1 };
        let mut a = [0; 11];
        a[..N].copy_from_slice(&arguments);
        // SAFETY: the caller guarantees that the given arguments are valid. The function ignores
        // the surplus arguments.
        unsafe {
            let function = std::mem::transmute::<*mut c_void, Function>(symbol);
            function(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10])
        }
    }

    /// Calls a function that writes the handle or address that it creates to where its first
    /// argument points, and returns this handle or address.
    ///
    /// # Safety
    /// The other arguments must be valid for the function.
    unsafe fn create<const N: usize>(self, name: &CStr, more: [Word; N]) -> Word {
        let mut created: Word = 0;
        let mut arguments = [0; 11];
        arguments[0] = &raw mut created as Word;
        arguments[1..=N].copy_from_slice(&more);
        // SAFETY: the first argument points to a writable word, and the caller guarantees that the
        // others are valid.
        let result = unsafe { self.call(name, arguments) };
        if result != 0 {
            eprintln!("{}: CUDA error {result}", name.to_string_lossy());
        }
        created
    }
}

/// A PTX module with a kernel, a variable, and a second kernel, which isn't used before the call
/// that is tested.
const MODULE: &CStr = c"
.version 6.0
.target sm_50
.address_size 64
.visible .global .align 4 .u32 variable;
.visible .entry empty() { ret; }
.visible .entry other() { ret; }
";

type Setup = fn(Library) -> [Word; 4];
type Action = fn(Library, [Word; 4]) -> c_int;

/// Declares a case: a function that prepares it before the kernel starts, and the call to test.
macro_rules! case {
    ($name:literal, $setup:expr, $call:expr) => {
        (
            $name,
            // SAFETY: the functions below pass valid arguments to the functions that they name.
            (|l| unsafe { $setup(l) }) as Setup,
            // SAFETY: the functions below pass valid arguments to the functions that they name.
            (|l, w| unsafe { $call(l, w) }) as Action,
        )
    };
}

unsafe fn nothing(_: Library) -> [Word; 4] {
    [0; 4]
}

unsafe fn module(l: Library) -> [Word; 4] {
    // SAFETY: the image is a C string.
    let module = unsafe { l.create(c"cuModuleLoadData", [MODULE.as_ptr() as Word]) };
    // SAFETY: the module is live, and the names are C strings.
    let function = unsafe { l.create(c"cuModuleGetFunction", [module, c"empty".as_ptr() as Word]) };
    [module, function, 0, 0]
}

unsafe fn stream(l: Library) -> [Word; 4] {
    // SAFETY: besides the address of the result, these functions take only flags.
    unsafe { [l.create(c"cuStreamCreate", [1]), l.create(c"cuEventCreate", [0]), 0, 0] }
}

unsafe fn memory(l: Library) -> [Word; 4] {
    // SAFETY: besides the address of the result, these functions take only sizes and flags.
    unsafe {
        let device = l.create(c"cuMemAlloc_v2", [1 << 20]);
        [device, l.create(c"cuMemHostAlloc", [1 << 20, 0]), l.create(c"cuStreamCreate", [1]), 0]
    }
}

unsafe fn pages(_: Library) -> [Word; 4] {
    let pages = Box::leak(vec![0u8; 2 * HOST_BYTES].into_boxed_slice());
    [pages.as_ptr().align_offset(4096) + pages.as_ptr() as Word, 0, 0, 0]
}

unsafe fn registered(l: Library) -> [Word; 4] {
    // SAFETY: the pages are leaked, so they stay valid while they are registered.
    unsafe {
        let [pages, ..] = pages(l);
        l.call(c"cuMemHostRegister_v2", [pages, HOST_BYTES, 2]);
        [pages, 0, 0, 0]
    }
}

/// Creates a graph with one kernel node, and instantiates it.
unsafe fn graph(l: Library) -> [Word; 4] {
    // SAFETY: the handles are live.
    unsafe {
        let [stream, ..] = stream(l);
        let [_, function, ..] = module(l);
        l.call(c"cuStreamBeginCapture_v2", [stream, 2]);
        l.call(c"cuLaunchKernel", [function, 1, 1, 1, 1, 1, 1, 0, stream, 0, 0]);
        let mut graph: Word = 0;
        l.call(c"cuStreamEndCapture", [stream, &raw mut graph as Word]);
        [graph, l.create(c"cuGraphInstantiateWithFlags", [graph, 0]), stream, 0]
    }
}

/// Reserves an address range, maps memory there, and gives the GPU access to it. Returns the
/// address and the memory's handle.
unsafe fn mapping(l: Library) -> [Word; 4] {
    // CUmemAllocationProp and CUmemAccessDesc for the first device.
    let properties: [u32; 8] = [1, 0, 1, 0, 0, 0, 0, 0];
    let access: [u32; 3] = [1, 0, 3];
    const SIZE: usize = 2 << 20;
    // SAFETY: the structures have the size and layout that the functions expect.
    unsafe {
        let handle = l.create(c"cuMemCreate", [SIZE, properties.as_ptr() as Word, 0]);
        let address = l.create(c"cuMemAddressReserve", [SIZE, 0, 0, 0]);
        l.call(c"cuMemMap", [address, SIZE, 0, handle, 0]);
        l.call(c"cuMemSetAccess", [address, SIZE, access.as_ptr() as Word, 1]);
        [address, handle, SIZE, 0]
    }
}

unsafe fn array(l: Library) -> [Word; 4] {
    // A CUDA_ARRAY_DESCRIPTOR with 64 × 64 elements of one float each.
    let descriptor: [usize; 3] = [64, 64, 0x20 | 1 << 32];
    // SAFETY: the structure has the size and layout that the function expects.
    unsafe { [l.create(c"cuArrayCreate_v2", [descriptor.as_ptr() as Word]), 0, 0, 0] }
}

unsafe fn texture_of(l: Library, array: Word) -> Word {
    let mut resource = [0usize; 18];
    resource[1] = array;
    let texture = [0usize; 13];
    // SAFETY: the structures are CUDA_RESOURCE_DESC and CUDA_TEXTURE_DESC, of 144 and 104 bytes.
    unsafe {
        l.create(c"cuTexObjectCreate", [resource.as_ptr() as Word, texture.as_ptr() as Word, 0])
    }
}

unsafe fn texture(l: Library) -> [Word; 4] {
    // SAFETY: the array is live.
    unsafe {
        let [array, ..] = array(l);
        [texture_of(l, array), array, 0, 0]
    }
}

extern "C" fn host_function(_: *mut c_void) {}

fn cases() -> Vec<(&'static str, Setup, Action)> {
    vec![
        case!("cuStreamQuery", stream, |l: Library, w: [Word; 4]| l.call(c"cuStreamQuery", [w[0]])),
        case!("cuStreamCreate", nothing, |l: Library, _| {
            c_int::from(l.create(c"cuStreamCreate", [1]) == 0)
        }),
        case!("cuStreamDestroy", stream, |l: Library, w: [Word; 4]| {
            l.call(c"cuStreamDestroy_v2", [w[0]])
        }),
        case!("cuStreamSetAttribute (priority)", stream, |l: Library, w: [Word; 4]| {
            let value = [0usize; 8];
            l.call(c"cuStreamSetAttribute", [w[0], 8, value.as_ptr() as Word])
        }),
        case!("cuEventCreate", nothing, |l: Library, _| {
            c_int::from(l.create(c"cuEventCreate", [0]) == 0)
        }),
        case!("cuEventRecord", stream, |l: Library, w: [Word; 4]| {
            l.call(c"cuEventRecord", [w[1], w[0]])
        }),
        case!("cuEventDestroy", stream, |l: Library, w: [Word; 4]| {
            l.call(c"cuEventDestroy_v2", [w[1]])
        }),
        case!("cuStreamWaitEvent", stream, |l: Library, w: [Word; 4]| {
            l.call(c"cuStreamWaitEvent", [w[0], w[1], 0])
        }),
        case!("cuLaunchHostFunc", stream, |l: Library, w: [Word; 4]| {
            l.call(c"cuLaunchHostFunc", [w[0], host_function as *const () as Word, 0])
        }),
        case!("cuCtxSetLimit (stack)", nothing, |l: Library, _| {
            l.call(c"cuCtxSetLimit", [0, 64 << 10])
        }),
        case!("cuCtxSetLimit (printf)", nothing, |l: Library, _| {
            l.call(c"cuCtxSetLimit", [1, 4 << 20])
        }),
        case!("cuCtxSetLimit (persisting L2)", nothing, |l: Library, _| {
            l.call(c"cuCtxSetLimit", [6, 1 << 20])
        }),
        case!("cuCtxSetCacheConfig", nothing, |l: Library, _| l.call(c"cuCtxSetCacheConfig", [1])),
        case!("cuCtxResetPersistingL2Cache", nothing, |l: Library, _| {
            l.call(c"cuCtxResetPersistingL2Cache", [])
        }),
        case!("cuProfilerStart", nothing, |l: Library, _| l.call(c"cuProfilerStart", [])),
        case!("cuMemGetInfo", nothing, |l: Library, _| {
            let (mut free, mut total): (Word, Word) = (0, 0);
            l.call(c"cuMemGetInfo_v2", [&raw mut free as Word, &raw mut total as Word])
        }),
        case!("cuMemAlloc", nothing, |l: Library, _| {
            c_int::from(l.create(c"cuMemAlloc_v2", [8 << 20]) == 0)
        }),
        case!("cuMemFree", memory, |l: Library, w: [Word; 4]| l.call(c"cuMemFree_v2", [w[0]])),
        case!("cuMemAllocHost", nothing, |l: Library, _| {
            c_int::from(l.create(c"cuMemHostAlloc", [1 << 20, 0]) == 0)
        }),
        case!("cuMemCreate, map, set access", nothing, |l: Library, _| {
            c_int::from(mapping(l)[0] == 0)
        }),
        case!("cuMemSetAccess (read only)", mapping, |l: Library, w: [Word; 4]| {
            let access: [u32; 3] = [1, 0, 1];
            l.call(c"cuMemSetAccess", [w[0], w[2], access.as_ptr() as Word, 1])
        }),
        case!("cuMemUnmap", mapping, |l: Library, w: [Word; 4]| l
            .call(c"cuMemUnmap", [w[0], w[2]])),
        case!("cuMemRelease", mapping, |l: Library, w: [Word; 4]| {
            l.call(c"cuMemRelease", [w[1]])
        }),
        case!("cuMemcpyHtoDAsync, pinned", memory, |l: Library, w: [Word; 4]| {
            l.call(c"cuMemcpyHtoDAsync_v2", [w[0], w[1], 1 << 20, w[2]])
        }),
        case!("cuMemcpyHtoDAsync, pageable", memory, |l: Library, w: [Word; 4]| {
            l.call(c"cuMemcpyHtoDAsync_v2", [w[0], pages(l)[0], 1 << 20, w[2]])
        }),
        case!("cuMemcpyHtoDAsync, pageable, 4 KiB", memory, |l: Library, w: [Word; 4]| {
            l.call(c"cuMemcpyHtoDAsync_v2", [w[0], pages(l)[0], 4096, w[2]])
        }),
        case!("cuMemcpyDtoHAsync, pageable", memory, |l: Library, w: [Word; 4]| {
            l.call(c"cuMemcpyDtoHAsync_v2", [pages(l)[0], w[0], 1 << 20, w[2]])
        }),
        case!("cuMemsetD8Async", memory, |l: Library, w: [Word; 4]| {
            l.call(c"cuMemsetD8Async", [w[0], 1, 1 << 20, w[2]])
        }),
        case!("cuStreamWriteValue32", memory, |l: Library, w: [Word; 4]| {
            l.call(c"cuStreamWriteValue32_v2", [w[2], w[0], 1, 0])
        }),
        case!("cuModuleLoadData", nothing, |l: Library, _| c_int::from(module(l)[0] == 0)),
        case!("cuModuleUnload", module, |l: Library, w: [Word; 4]| {
            l.call(c"cuModuleUnload", [w[0]])
        }),
        case!("cuModuleGetGlobal", module, |l: Library, w: [Word; 4]| {
            let (mut address, mut bytes): (Word, Word) = (0, 0);
            let name = c"variable".as_ptr() as Word;
            l.call(
                c"cuModuleGetGlobal_v2",
                [&raw mut address as Word, &raw mut bytes as Word, w[0], name],
            )
        }),
        case!("cuModuleGetFunction", module, |l: Library, w: [Word; 4]| {
            c_int::from(l.create(c"cuModuleGetFunction", [w[0], c"other".as_ptr() as Word]) == 0)
        }),
        case!("cuFuncLoad", module, |l: Library, w: [Word; 4]| l.call(c"cuFuncLoad", [w[1]])),
        case!("cuFuncSetAttribute", module, |l: Library, w: [Word; 4]| {
            l.call(c"cuFuncSetAttribute", [w[1], 8, 32 << 10])
        }),
        case!(
            "cuLaunchKernel",
            |l: Library| {
                let [module, function, ..] = module(l);
                [module, function, stream(l)[0], 0]
            },
            |l: Library, w: [Word; 4]| {
                l.call(c"cuLaunchKernel", [w[1], 1, 1, 1, 1, 1, 1, 0, w[2], 0, 0])
            }
        ),
        case!("cuGraphInstantiate", graph, |l: Library, w: [Word; 4]| {
            c_int::from(l.create(c"cuGraphInstantiateWithFlags", [w[0], 0]) == 0)
        }),
        case!("cuGraphUpload", graph, |l: Library, w: [Word; 4]| {
            l.call(c"cuGraphUpload", [w[1], w[2]])
        }),
        case!("cuGraphLaunch", graph, |l: Library, w: [Word; 4]| {
            l.call(c"cuGraphLaunch", [w[1], w[2]])
        }),
        case!("cuGraphExecDestroy", graph, |l: Library, w: [Word; 4]| {
            l.call(c"cuGraphExecDestroy", [w[1]])
        }),
        case!("cuArrayCreate", nothing, |l: Library, _| c_int::from(array(l)[0] == 0)),
        case!("cuArrayDestroy", array, |l: Library, w: [Word; 4]| {
            l.call(c"cuArrayDestroy", [w[0]])
        }),
        case!("cuTexObjectCreate", array, |l: Library, w: [Word; 4]| {
            c_int::from(texture_of(l, w[0]) == 0)
        }),
        case!("cuTexObjectDestroy", texture, |l: Library, w: [Word; 4]| {
            l.call(c"cuTexObjectDestroy", [w[0]])
        }),
        case!("cuCtxSynchronize", nothing, |l: Library, _| l.call(c"cuCtxSynchronize", [])),
        case!("cuMemHostRegister", pages, |l: Library, w: [Word; 4]| {
            l.call(c"cuMemHostRegister_v2", [w[0], HOST_BYTES, 2])
        }),
        case!("cuMemHostUnregister", registered, |l: Library, w: [Word; 4]| {
            l.call(c"cuMemHostUnregister", [w[0]])
        }),
        case!("cuCtxCreate, cuCtxDestroy", nothing, |l: Library, _| {
            let context = l.create(c"cuCtxCreate_v2", [0, 0]);
            l.call(c"cuCtxDestroy_v2", [context])
        }),
    ]
}

/// Calls a function on a new thread, and returns a receiver for its result.
fn on_a_thread(
    library: Library,
    context: Word,
    call: impl FnOnce(Library) -> c_int + Send + 'static,
) -> mpsc::Receiver<c_int> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        // SAFETY: the context lives as long as the process.
        unsafe { library.call(c"cuCtxSetCurrent", [context]) };
        let _ = sender.send(call(library));
    });
    receiver
}

/// Formats a call's result for the table, or says that the call blocks.
fn seen(result: &Result<c_int, mpsc::RecvTimeoutError>) -> String {
    match result {
        Ok(0) => "returns".into(),
        Ok(error) => format!("error {error}"),
        Err(_) => "waits".into(),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let only = std::env::args().nth(1);
    let client = Client::open()?;
    recorder::start();
    // SAFETY: the name is a C string. libcuda's initializers may run here.
    let library = unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_NOW) };
    if library.is_null() {
        return Err("cannot load libcuda.so.1".into());
    }
    let library = Library(library as Word);
    // SAFETY: the library is libcuda, and is never unloaded.
    let cuda = unsafe { Cuda::load(|name| library.symbol(name))? };
    let mut uuid = [0u8; 16];
    // SAFETY: the pointer is to a local variable.
    unsafe {
        library.call(c"cuInit", [0]);
        library.call(c"cuDeviceGetUuid", [uuid.as_mut_ptr() as Word, 0]);
    }
    // SAFETY: the device exists, and the pointer that the first call writes is to a local variable.
    let context = unsafe {
        let context = library.create(c"cuDevicePrimaryCtxRetain", [0]);
        library.call(c"cuCtxSetCurrent", [context]);
        context
    };
    let gpu = client.gpus().find(|gpu| gpu.uuid == uuid).ok_or("RM doesn't know the GPU")?.number;
    println!(
        "| call | while the kernel runs | a launch meanwhile | while it's off the GPU | a launch meanwhile |"
    );
    println!("|---|---|---|---|---|");
    for (name, setup, action) in cases() {
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let mut cells = Vec::new();
        for evict in [false, true] {
            // Prepare the case before the kernel starts, because some calls that prepare it would
            // block while the kernel runs.
            let words = setup(library);
            // SAFETY: both functions pass valid arguments to libcuda's functions.
            let (other, other_stream) = unsafe { (module(library)[1], stream(library)[0]) };
            let kernel = Kernel::start(&cuda, 0, LIMIT)?;
            if !kernel.continues(0) {
                return Err("the kernel doesn't start".into());
            }
            let channels = recorder::objects()?.compute_channels(gpu);
            if evict {
                client.disable(gpu, &channels)?;
            }
            let called = on_a_thread(library, context, move |library| action(library, words));
            let result = called.recv_timeout(AT_ONCE);
            cells.push(seen(&result));
            // SAFETY: the function and the stream are live.
            let launched = on_a_thread(library, context, move |l| unsafe {
                l.call(c"cuLaunchKernel", [other, 1, 1, 1, 1, 1, 1, 0, other_stream, 0, 0])
            });
            cells.push(seen(&launched.recv_timeout(AT_ONCE)));
            if evict {
                client.enable(gpu, &channels)?;
            }
            kernel.stop();
            if result.is_err() {
                called.recv_timeout(LIMIT).map_err(|_| format!("{name} never returns"))?;
            }
            // SAFETY: the function takes no arguments.
            unsafe { library.call(c"cuCtxSynchronize", []) };
        }
        println!("| {name} | {} |", cells.join(" | "));
    }
    Ok(())
}
