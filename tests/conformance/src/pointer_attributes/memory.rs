//! The kinds of memory in the table, and a pointer to each.

use crate::cuda::{Called, Cuda, Failure, Outcome, cu, get};
use crate::kernels::FILL;
use crate::peer::Peer;
use cuda_api::sys::{
    CUDA_MEM_ALLOC_NODE_PARAMS, CUcontext, CUipcMemHandle, CUmemAccess_flags, CUmemAccessDesc,
    CUmemAllocationHandleType, CUmemAllocationProp, CUmemAllocationType, CUmemLocation,
    CUmemLocationType, CUmemPoolProps,
};
use std::ptr::{null, null_mut};

/// A pointer to memory of some kind, and the values that its attributes can have.
pub struct Pointer {
    pub address: u64,
    base: u64,
    size: usize,
    /// The start and the size of the mapping that contains the address. `None` unless the program
    /// has mapped the memory with the virtual memory API.
    mapping: Option<(u64, usize)>,
    context: CUcontext,
    pool: u64,
    free: Box<dyn Fn(&Cuda) -> Called>,
}

/// The name of a kind of memory, and a function that returns a pointer to such memory.
pub type Kind = (&'static str, fn(&Cuda) -> Outcome<Pointer>);

pub const KINDS: &[Kind] = &[
    ("device", |cuda| {
        let base = cuda.alloc(BYTES)?;
        pointer(cuda, base, move |cuda| cu!(cuda, cuMemFree_v2(base)))
    }),
    ("stream", |cuda| {
        let base = get!(cuda, cuMemAllocAsync(@, BYTES, null_mut()))?;
        let pool = get!(cuda, cuDeviceGetDefaultMemPool(@, 0))?;
        let found = pointer(cuda, base, move |cuda| cu!(cuda, cuMemFree_v2(base)))?;
        Ok(Pointer { pool: pool as u64, ..found })
    }),
    ("pool", pool),
    ("managed", |cuda| {
        let base = get!(cuda, cuMemAllocManaged(@, BYTES, 1))?;
        pointer(cuda, base, move |cuda| cu!(cuda, cuMemFree_v2(base)))
    }),
    ("host", |cuda| {
        let base = get!(cuda, cuMemHostAlloc(@, BYTES, 2))?;
        pointer(cuda, base as u64, move |cuda| cu!(cuda, cuMemFreeHost(base)))
    }),
    ("registered", |cuda| {
        let base = map()?;
        cu!(cuda, cuMemHostRegister_v2(base as *mut _, BYTES, 2))?;
        pointer(cuda, base, move |cuda| {
            cu!(cuda, cuMemHostUnregister(base as *mut _))?;
            unmap(base)
        })
    }),
    ("variable", |cuda| {
        let (module, _) = cuda.kernel(FILL, c"fill")?;
        let (mut base, mut size) = (0, 0);
        cu!(cuda, cuModuleGetGlobal_v2(&mut base, &mut size, module, c"step".as_ptr()))?;
        let found = pointer(cuda, base, move |cuda| cu!(cuda, cuModuleUnload(module)))?;
        Ok(Pointer { address: base, size, ..found })
    }),
    ("graph", graph),
    ("imported", imported),
    ("reserved", |cuda| {
        let base = get!(cuda, cuMemAddressReserve(@, 2 * CHUNK, 0, 0, 0))?;
        let free = move |cuda: &Cuda| cu!(cuda, cuMemAddressFree(base, 2 * CHUNK));
        Ok(Pointer { size: 2 * CHUNK, ..pointer(cuda, base, free)? })
    }),
    ("mapped", mapped),
    ("freed", |cuda| {
        let base = cuda.alloc(BYTES)?;
        cu!(cuda, cuMemFree_v2(base))?;
        pointer(cuda, base, |_| Ok(()))
    }),
    ("freed-host", |cuda| {
        let base = get!(cuda, cuMemHostAlloc(@, BYTES, 2))?;
        cu!(cuda, cuMemFreeHost(base))?;
        pointer(cuda, base as u64, |_| Ok(()))
    }),
    ("unregistered", |cuda| {
        let base = map()?;
        cu!(cuda, cuMemHostRegister_v2(base as *mut _, BYTES, 2))?;
        cu!(cuda, cuMemHostUnregister(base as *mut _))?;
        pointer(cuda, base, move |_| unmap(base))
    }),
    ("unknown", |cuda| {
        let base = map()?;
        pointer(cuda, base, move |_| unmap(base))
    }),
    ("null", |cuda| Ok(Pointer { address: 0, ..pointer(cuda, 0, |_| Ok(()))? })),
];

const BYTES: usize = 1 << 16;
const CHUNK: usize = 2 << 20;
const DEVICE: CUmemLocation =
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };

impl Pointer {
    /// Returns a name for an attribute's value that differs between runs, such as `address`.
    /// Returns other values as numbers.
    pub fn name(&self, attribute: &str, value: u64) -> String {
        let (start, length) = self.mapping.unwrap_or((0, 0));
        let name = match value {
            0 => "",
            _ if attribute.ends_with("_ID") => "id",
            _ if value == self.address => "address",
            _ if value == self.base => "base",
            _ if value == self.size as u64 => "size",
            _ if value == start => "mapping",
            _ if value == length as u64 => "mapping's size",
            _ if value == self.context as u64 => "context",
            _ if value == self.pool => "pool",
            _ => "",
        };
        if name.is_empty() { value.to_string() } else { name.to_owned() }
    }

    pub fn free(&self, cuda: &Cuda) -> Outcome {
        Ok((self.free)(cuda)?)
    }
}

/// Returns a pointer to memory of [`BYTES`] bytes. `free` frees the memory.
fn pointer(cuda: &Cuda, base: u64, free: impl Fn(&Cuda) -> Called + 'static) -> Outcome<Pointer> {
    let context = get!(cuda, cuCtxGetCurrent(@))?;
    let (address, free) = (base + 8, Box::new(free));
    Ok(Pointer { address, base, size: BYTES, mapping: None, context, pool: 0, free })
}

/// Maps pages of ordinary host memory.
fn map() -> Outcome<u64> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a null address lets the kernel choose an unused one.
    let at = unsafe { libc::mmap(null_mut(), BYTES, access, flags, -1, 0) };
    if at == libc::MAP_FAILED { Err(Failure::new("cannot map pages")) } else { Ok(at as u64) }
}

/// Unmaps pages that [`map`] returned.
fn unmap(at: u64) -> Called {
    // SAFETY: `map` has mapped these pages, and nothing uses them any more.
    unsafe { libc::munmap(at as *mut _, BYTES) };
    Ok(())
}

fn properties() -> CUmemPoolProps {
    CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        location: DEVICE,
        ..CUmemPoolProps::default()
    }
}

fn pool(cuda: &Cuda) -> Outcome<Pointer> {
    let pool = get!(cuda, cuMemPoolCreate(@, &properties()))?;
    let base = get!(cuda, cuMemAllocFromPoolAsync(@, BYTES, pool, null_mut()))?;
    let found = pointer(cuda, base, move |cuda| {
        cu!(cuda, cuMemFree_v2(base))?;
        cu!(cuda, cuMemPoolDestroy(pool))
    })?;
    Ok(Pointer { pool: pool as u64, ..found })
}

/// Returns a pointer to memory that a graph has allocated.
fn graph(cuda: &Cuda) -> Outcome<Pointer> {
    let (mut graph, mut node, mut exec) = (null_mut(), null_mut(), null_mut());
    let mut request = CUDA_MEM_ALLOC_NODE_PARAMS {
        poolProps: properties(),
        accessDescs: null(),
        accessDescCount: 0,
        bytesize: BYTES,
        dptr: 0,
    };
    cu!(cuda, cuGraphCreate(&mut graph, 0))?;
    cu!(cuda, cuGraphAddMemAllocNode(&mut node, graph, null(), 0, &mut request))?;
    cu!(cuda, cuGraphInstantiateWithFlags(&mut exec, graph, 0))?;
    cu!(cuda, cuGraphLaunch(exec, null_mut()))?;
    cu!(cuda, cuCtxSynchronize())?;
    let base = request.dptr;
    pointer(cuda, base, move |cuda| {
        cu!(cuda, cuMemFree_v2(base))?;
        cu!(cuda, cuGraphExecDestroy(exec))?;
        cu!(cuda, cuGraphDestroy(graph))
    })
}

/// Returns a pointer to memory of another process that this process has opened.
fn imported(cuda: &Cuda) -> Outcome<Pointer> {
    let (mut peer, mut base) = (Peer::start("ended::exporter", None)?, 0);
    let reserved = peer.channel.receive::<64>()?.map(|byte| byte as _);
    peer.channel.receive::<64>()?;
    cu!(cuda, cuIpcOpenMemHandle_v2(&mut base, CUipcMemHandle { reserved }, 1))?;
    let found = pointer(cuda, base, move |cuda| {
        let _exporter = &peer;
        cu!(cuda, cuIpcCloseMemHandle(base))
    })?;
    // The size of the memory that the exporter role allocates.
    Ok(Pointer { size: 4 << 20, ..found })
}

/// Returns a pointer to memory that is mapped in the second half of a reserved address range.
fn mapped(cuda: &Cuda) -> Outcome<Pointer> {
    let (mut base, mut physical) = (0, 0);
    let properties = CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        location: DEVICE,
        ..CUmemAllocationProp::default()
    };
    let access = CUmemAccessDesc {
        location: DEVICE,
        flags: CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    cu!(cuda, cuMemAddressReserve(&mut base, 2 * CHUNK, 0, 0, 0))?;
    cu!(cuda, cuMemCreate(&mut physical, CHUNK, &properties, 0))?;
    let half = base + CHUNK as u64;
    cu!(cuda, cuMemMap(half, CHUNK, 0, physical, 0))?;
    cu!(cuda, cuMemSetAccess(half, CHUNK, &access, 1))?;
    let found = pointer(cuda, base, move |cuda| {
        cu!(cuda, cuMemUnmap(half, CHUNK))?;
        cu!(cuda, cuMemRelease(physical))?;
        cu!(cuda, cuMemAddressFree(base, 2 * CHUNK))
    })?;
    Ok(Pointer { address: half + 8, size: 2 * CHUNK, mapping: Some((half, CHUNK)), ..found })
}
