//! The kinds of memory that a copy or a memset can have as its source or destination.

use crate::cuda::{Cuda, Outcome, cu, get};
use cuda_api::sys::{
    CUDA_ARRAY_DESCRIPTOR, CUarray, CUarray_format, CUmemAccess_flags, CUmemAccessDesc,
    CUmemAllocationProp, CUmemAllocationType, CUmemLocation, CUmemLocationType,
};
use std::ffi::CStr;
use std::ptr::null_mut;

/// Size of each allocation in bytes. It suffices for the largest copy with its gaps and its offset.
const BYTES: usize = (4 << 20) + (64 << 10);
/// Number of elements in each array. An element has 16 bytes.
const ELEMENTS: usize = (1 << 16) + 1;

const VARIABLE: &CStr = c"
.version 7.0
.target sm_70
.address_size 64
.visible .global .attribute(.managed) .align 16 .b8 variable[20000];
";

/// A kind of memory, as the source or the destination of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Pageable,
    /// Allocated by `cuMemHostAlloc`.
    Pinned,
    /// Pageable memory that was registered with `cuMemHostRegister`.
    Registered,
    WriteCombined,
    Managed,
    /// The memory of a managed variable. It's smaller than allocations of the other kinds.
    Variable,
    /// Allocated by `cuMemAlloc`.
    Device,
    /// Physical memory from `cuMemCreate` that is mapped with `cuMemMap`.
    Mapped,
    Array,
}

use Kind::*;

impl Kind {
    pub const HOST: &'static [Kind] = &[Pageable, Pinned, Registered, WriteCombined, Managed];
    pub const DEVICE: &'static [Kind] =
        &[Pinned, Registered, WriteCombined, Managed, Device, Mapped];
    pub const LINEAR: &'static [Kind] =
        &[Pageable, Pinned, Registered, WriteCombined, Managed, Device, Mapped];

    /// Returns the letter that represents the kind in a table.
    pub fn letter(self) -> char {
        match self {
            Pageable => 'p',
            Pinned => 'h',
            Registered => 'r',
            WriteCombined => 'w',
            Managed => 'm',
            Variable => 'g',
            Device => 'd',
            Mapped => 'v',
            Array => 'a',
        }
    }

    /// Returns whether the CPU can read and write the memory.
    pub fn on_cpu(self) -> bool {
        self == Variable || Self::HOST.contains(&self)
    }

    /// Returns whether the GPU can read and write the memory.
    pub fn on_gpu(self) -> bool {
        self != Pageable
    }
}

/// Memory of one kind that a copy can use as its source or destination.
#[derive(Clone, Copy)]
pub struct Spot {
    pub kind: Kind,
    /// The address that the program passes to a copy.
    pub address: u64,
    /// The address that kernels use for this memory.
    pub on_gpu: u64,
    pub array: CUarray,
}

impl Spot {
    pub fn new(cuda: &Cuda, kind: Kind) -> Outcome<Self> {
        let mut spot = Self { kind, address: 0, on_gpu: 0, array: null_mut() };
        let mut host = null_mut();
        match kind {
            Pageable | Registered => host = Box::leak(pages()).as_mut_ptr().cast(),
            Pinned => cu!(cuda, cuMemHostAlloc(&mut host, BYTES, 0))?,
            WriteCombined => cu!(cuda, cuMemHostAlloc(&mut host, BYTES, 4))?,
            Managed => cu!(cuda, cuMemAllocManaged(&mut spot.address, BYTES, 1))?,
            Variable => spot.address = variable(cuda)?,
            Device => spot.address = cuda.alloc(BYTES)?,
            Mapped => spot.address = mapped(cuda)?,
            Array => spot.array = array(cuda)?,
        }
        if !host.is_null() {
            spot.address = host as u64;
        }
        spot.on_gpu = spot.address;
        match kind {
            Registered => {
                cu!(cuda, cuMemHostRegister_v2(host, BYTES, 2))?;
                cu!(cuda, cuMemHostGetDevicePointer_v2(&mut spot.on_gpu, host, 0))?;
            }
            Pinned | WriteCombined => {
                cu!(cuda, cuMemHostGetDevicePointer_v2(&mut spot.on_gpu, host, 0))?;
            }
            _ => {}
        }
        Ok(spot)
    }

    /// Returns the part of the memory that starts after `bytes` bytes.
    pub fn skip(self, bytes: usize) -> Self {
        let bytes = bytes as u64;
        Self { address: self.address + bytes, on_gpu: self.on_gpu + bytes, ..self }
    }
}

/// A page of memory, aligned to its size.
#[derive(Clone)]
#[repr(align(4096))]
struct Page(#[expect(dead_code)] [u8; 4096]);

fn pages() -> Box<[Page]> {
    vec![Page([0; 4096]); BYTES.div_ceil(4096)].into()
}

fn variable(cuda: &Cuda) -> Outcome<u64> {
    let (mut library, mut address, mut bytes) = (null_mut(), 0, 0);
    let (image, none) = (VARIABLE.as_ptr().cast(), null_mut());
    cu!(
        cuda,
        cuLibraryLoadData(&mut library, image, null_mut(), none, 0, null_mut(), null_mut(), 0)
    )?;
    let name = c"variable".as_ptr();
    cu!(cuda, cuLibraryGetManaged(&mut address, &mut bytes, library, name))?;
    Ok(address)
}

fn mapped(cuda: &Cuda) -> Outcome<u64> {
    let type_ = CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
    let prop = CUmemAllocationProp {
        type_: CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
        location: CUmemLocation { type_, id: 0 },
        ..CUmemAllocationProp::default()
    };
    let flags = CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    let access = CUmemAccessDesc { location: prop.location, flags };
    let bytes = BYTES.next_multiple_of(2 << 20);
    let address = get!(cuda, cuMemAddressReserve(@, bytes, 0, 0, 0))?;
    let handle = get!(cuda, cuMemCreate(@, bytes, &prop, 0))?;
    cu!(cuda, cuMemMap(address, bytes, 0, handle, 0))?;
    cu!(cuda, cuMemSetAccess(address, bytes, &access, 1))?;
    Ok(address)
}

fn array(cuda: &Cuda) -> Outcome<CUarray> {
    let (mut array, words) = (null_mut(), CUarray_format::CU_AD_FORMAT_UNSIGNED_INT32);
    let descriptor =
        CUDA_ARRAY_DESCRIPTOR { Width: ELEMENTS, Height: 0, Format: words, NumChannels: 4 };
    cu!(cuda, cuArrayCreate_v2(&mut array, &descriptor))?;
    Ok(array)
}
