//! Argument values that are addresses, memory handles, or memory pools.

use super::objects::{Objects, keep};
use crate::cuda::{Failure, Outcome, cu};
use cuda_api::sys::{
    CUmemAccess_flags, CUmemAccessDesc, CUmemAllocationHandleType as Handles, CUmemAllocationProp,
    CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemPoolProps, CUmemoryPool,
};
use std::ffi::c_void;
use std::ptr::null_mut;

/// The size of allocations in bytes.
pub const PAGE: usize = 4096;
/// The size in bytes of physical memory and of reserved address ranges.
pub const VIRTUAL: usize = 2 << 20;
pub const FILE: Handles = Handles::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
pub const DEVICE: CUmemLocation =
    CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: 0 };
pub const READ_WRITE: CUmemAccessDesc = CUmemAccessDesc {
    location: DEVICE,
    flags: CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
};

/// Returns the properties with which physical memory is created.
pub fn physical() -> CUmemAllocationProp {
    CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        requestedHandleTypes: FILE,
        location: DEVICE,
        ..CUmemAllocationProp::default()
    }
}

/// Returns the properties with which a memory pool is created.
pub fn pool() -> CUmemPoolProps {
    CUmemPoolProps {
        allocType: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        handleTypes: FILE,
        location: DEVICE,
        ..CUmemPoolProps::default()
    }
}

impl Objects<'_> {
    /// Returns the address of device-accessible memory of the kind that the entry point requires.
    pub fn address(&mut self) -> Outcome<u64> {
        let (cuda, mut address) = (self.cuda, 0);
        let managed = ["Advise", "Prefetch", "Discard", "RangeGet", "AttachMem"];
        match self.function {
            "cuMemAddressReserve" => {}
            "cuMemMap" | "cuMemAddressFree" => address = self.reserved()?,
            "cuMemUnmap" | "cuMemSetAccess" | "cuMemGetAccess" => address = self.mapped()?,
            "cuMemFreeAsync" => {
                let stream = self.stream()? as *mut _;
                cu!(cuda, cuMemAllocAsync(&mut address, PAGE, stream))?;
            }
            "cuMemPoolExportPointer" => {
                self.exported_pool()?;
                address = self.pool_memory()?;
            }
            "cuMemGetHandleForAddressRange" => address = cuda.alloc(VIRTUAL)?,
            "cuGraphAddMemFreeNode" => address = self.graph_memory()?,
            _ if managed.iter().any(|part| self.named(part)) => {
                cu!(cuda, cuMemAllocManaged(&mut address, PAGE, 1))?;
            }
            _ => address = cuda.alloc(PAGE)?,
        }
        Ok(address)
    }

    /// Returns the address of host memory of the kind that the entry point requires.
    pub fn host(&mut self) -> Outcome<u64> {
        let (cuda, mut host): (_, *mut c_void) = (self.cuda, null_mut());
        if self.named("HostRegister") || self.named("HostUnregister") {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            // SAFETY: a null address lets the kernel choose an unused one.
            host = unsafe { libc::mmap(null_mut(), PAGE, access, flags, -1, 0) };
            if host == libc::MAP_FAILED {
                return Err(Failure::new("cannot map a page"));
            }
            if self.named("HostUnregister") {
                cu!(cuda, cuMemHostRegister_v2(host, PAGE, 0))?;
            }
        } else {
            cu!(cuda, cuMemHostAlloc(&mut host, PAGE, 2))?;
        }
        Ok(host as u64)
    }

    /// Returns the address of memory that was allocated from the pool.
    pub fn pool_memory(&mut self) -> Outcome<u64> {
        let (cuda, mut address) = (self.cuda, 0);
        let (pool, stream) = (self.pool()? as *mut _, self.stream()? as *mut _);
        cu!(cuda, cuMemAllocFromPoolAsync(&mut address, PAGE, pool, stream))?;
        Ok(address)
    }

    /// Returns a pool that was imported from the exported pool of this process.
    pub fn imported_pool(&mut self) -> Outcome<u64> {
        let (cuda, mut pool, file) = (self.cuda, null_mut(), self.exported_pool()?);
        cu!(cuda, cuMemPoolImportFromShareableHandle(&mut pool, file as *mut _, FILE, 0))?;
        Ok(pool as u64)
    }

    pub fn pool(&mut self) -> Outcome<u64> {
        self.shared("pool", |objects| {
            let (cuda, mut made): (_, CUmemoryPool) = (objects.cuda, null_mut());
            cu!(cuda, cuMemPoolCreate(&mut made, &pool()))?;
            Ok(made as u64)
        })
    }

    /// Exports the pool, and returns the file descriptor.
    pub fn exported_pool(&mut self) -> Outcome<u64> {
        let (cuda, pool, file) = (self.cuda, self.pool()? as *mut _, keep(-1i32));
        cu!(cuda, cuMemPoolExportToShareableHandle(file as *mut _, pool, FILE, 0))?;
        // SAFETY: `keep` returns the address of memory that is never freed, and the call has stored
        // the descriptor there.
        Ok(unsafe { *(file as *const i32) } as u64)
    }

    /// Returns the handle of physical memory.
    pub fn physical(&mut self) -> Outcome<u64> {
        self.shared("physical", |objects| {
            let (cuda, mut handle) = (objects.cuda, 0);
            cu!(cuda, cuMemCreate(&mut handle, VIRTUAL, &physical(), 0))?;
            Ok(handle)
        })
    }

    /// Exports the physical memory, and returns the file descriptor.
    pub fn exported_memory(&mut self) -> Outcome<u64> {
        let (cuda, handle, file) = (self.cuda, self.physical()?, keep(-1i32));
        cu!(cuda, cuMemExportToShareableHandle(file as *mut _, handle, FILE, 0))?;
        // SAFETY: `keep` returns the address of memory that is never freed, and the call has stored
        // the descriptor there.
        Ok(unsafe { *(file as *const i32) } as u64)
    }

    fn reserved(&mut self) -> Outcome<u64> {
        let (cuda, mut address) = (self.cuda, 0);
        cu!(cuda, cuMemAddressReserve(&mut address, VIRTUAL, 0, 0, 0))?;
        Ok(address)
    }

    pub fn mapped(&mut self) -> Outcome<u64> {
        let (cuda, address, handle) = (self.cuda, self.reserved()?, self.physical()?);
        cu!(cuda, cuMemMap(address, VIRTUAL, 0, handle, 0))?;
        cu!(cuda, cuMemSetAccess(address, VIRTUAL, &READ_WRITE, 1))?;
        Ok(address)
    }
}
