//! Made from `api.table` by `cargo xtask codegen`; not to be edited.
//!
//! One structure for each call, and one for its answer.

use crate::codec::{Answer, Array, Call, DecodeError, Names, Reader, Word, Writer};
use crate::ids::*;
use crate::structs::*;
use crate::table::{Charges, Entry, Order};

/// All entries, by number.
pub const ENTRIES: &[Entry] = &[
    Entry {
        number: 1,
        name: "vcudaFacts",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 2,
        name: "vcudaTakeOutput",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 3,
        name: "vcudaNop",
        waited: false,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 4,
        name: "vcudaPing",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 5,
        name: "cuDeviceGetLuid",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 6,
        name: "cuDeviceGetTexture1DLinearMaxWidth",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 10,
        name: "vcudaPrimaryCtxRetain",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Context,
    },
    Entry {
        number: 11,
        name: "vcudaPrimaryCtxRelease",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::Context,
        charges: Charges::None,
    },
    Entry {
        number: 12,
        name: "vcudaPrimaryCtxReset",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::Session,
        charges: Charges::None,
    },
    Entry {
        number: 13,
        name: "vcudaPrimaryCtxSetFlags",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 14,
        name: "vcudaCtxCreate",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Context,
    },
    Entry {
        number: 15,
        name: "vcudaCtxDestroy",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::Context,
        charges: Charges::None,
    },
    Entry {
        number: 16,
        name: "cuCtxSynchronize",
        waited: true,
        blocking: false,
        pending: true,
        gated: false,
        order: Order::Context,
        charges: Charges::None,
    },
    Entry {
        number: 17,
        name: "cuCtxGetLimit",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 18,
        name: "cuCtxSetLimit",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Context,
        charges: Charges::Limit,
    },
    Entry {
        number: 19,
        name: "cuCtxGetStreamPriorityRange",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 20,
        name: "cuCtxGetCacheConfig",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 21,
        name: "cuCtxSetCacheConfig",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 22,
        name: "cuCtxGetSharedMemConfig",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 23,
        name: "cuCtxSetSharedMemConfig",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 24,
        name: "cuCtxResetPersistingL2Cache",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 25,
        name: "cuProfilerStart",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 26,
        name: "cuProfilerStop",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 30,
        name: "cuMemAlloc_v2",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Memory,
    },
    Entry {
        number: 31,
        name: "cuMemFree_v2",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::Allocation,
        charges: Charges::None,
    },
    Entry {
        number: 32,
        name: "cuMemGetInfo_v2",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 33,
        name: "vcudaCopyIn",
        waited: false,
        blocking: false,
        pending: false,
        gated: true,
        order: Order::Stream,
        charges: Charges::None,
    },
    Entry {
        number: 34,
        name: "vcudaCopyInStaged",
        waited: true,
        blocking: false,
        pending: true,
        gated: true,
        order: Order::Stream,
        charges: Charges::None,
    },
    Entry {
        number: 35,
        name: "vcudaCopyOut",
        waited: true,
        blocking: false,
        pending: true,
        gated: true,
        order: Order::Stream,
        charges: Charges::None,
    },
    Entry {
        number: 36,
        name: "vcudaCopyOutStaged",
        waited: true,
        blocking: false,
        pending: true,
        gated: true,
        order: Order::Stream,
        charges: Charges::None,
    },
    Entry {
        number: 37,
        name: "vcudaCopy",
        waited: false,
        blocking: false,
        pending: false,
        gated: true,
        order: Order::Stream,
        charges: Charges::None,
    },
    Entry {
        number: 38,
        name: "vcudaCopy2D",
        waited: false,
        blocking: false,
        pending: false,
        gated: true,
        order: Order::Stream,
        charges: Charges::None,
    },
    Entry {
        number: 39,
        name: "vcudaMemset",
        waited: false,
        blocking: false,
        pending: false,
        gated: true,
        order: Order::Stream,
        charges: Charges::None,
    },
    Entry {
        number: 40,
        name: "vcudaHostRegister",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 41,
        name: "vcudaHostUnregister",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::Session,
        charges: Charges::None,
    },
    Entry {
        number: 42,
        name: "cuMemAllocAsync",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Pool,
        charges: Charges::Memory,
    },
    Entry {
        number: 43,
        name: "cuMemFreeAsync",
        waited: false,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Stream,
        charges: Charges::None,
    },
    Entry {
        number: 50,
        name: "cuStreamCreateWithPriority",
        waited: false,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Stream,
    },
    Entry {
        number: 51,
        name: "cuStreamDestroy_v2",
        waited: false,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Stream,
        charges: Charges::None,
    },
    Entry {
        number: 52,
        name: "cuStreamSynchronize",
        waited: true,
        blocking: false,
        pending: true,
        gated: false,
        order: Order::Wait,
        charges: Charges::None,
    },
    Entry {
        number: 53,
        name: "cuStreamQuery",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Query,
        charges: Charges::None,
    },
    Entry {
        number: 54,
        name: "cuStreamWaitEvent",
        waited: false,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Stream,
        charges: Charges::None,
    },
    Entry {
        number: 55,
        name: "cuStreamGetAttribute",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 56,
        name: "cuStreamSetAttribute",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Wait,
        charges: Charges::None,
    },
    Entry {
        number: 60,
        name: "cuEventCreate",
        waited: false,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 61,
        name: "cuEventDestroy_v2",
        waited: false,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Stream,
        charges: Charges::None,
    },
    Entry {
        number: 62,
        name: "cuEventRecordWithFlags",
        waited: false,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Stream,
        charges: Charges::None,
    },
    Entry {
        number: 63,
        name: "cuEventQuery",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Query,
        charges: Charges::None,
    },
    Entry {
        number: 64,
        name: "cuEventSynchronize",
        waited: true,
        blocking: false,
        pending: true,
        gated: false,
        order: Order::Wait,
        charges: Charges::None,
    },
    Entry {
        number: 65,
        name: "cuEventElapsedTime_v2",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Query,
        charges: Charges::None,
    },
    Entry {
        number: 70,
        name: "vcudaBlobPut",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 71,
        name: "vcudaModuleLoad",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Module,
    },
    Entry {
        number: 72,
        name: "cuModuleUnload",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::Session,
        charges: Charges::None,
    },
    Entry {
        number: 73,
        name: "vcudaModuleGetFunction",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Module,
    },
    Entry {
        number: 74,
        name: "vcudaModuleGetGlobal",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 75,
        name: "vcudaLibraryLoad",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 76,
        name: "cuLibraryUnload",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::Session,
        charges: Charges::None,
    },
    Entry {
        number: 77,
        name: "vcudaLibraryGetKernel",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 78,
        name: "cuLibraryGetModule",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Module,
    },
    Entry {
        number: 79,
        name: "vcudaLibraryGetGlobal",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Module,
    },
    Entry {
        number: 80,
        name: "cuKernelGetFunction",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Module,
    },
    Entry {
        number: 81,
        name: "cuFuncGetAttribute",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Module,
    },
    Entry {
        number: 82,
        name: "cuFuncSetAttribute",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::Function,
        charges: Charges::Module,
    },
    Entry {
        number: 83,
        name: "cuKernelGetAttribute",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 84,
        name: "cuKernelSetAttribute",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::Function,
        charges: Charges::None,
    },
    Entry {
        number: 85,
        name: "cuFuncSetCacheConfig",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Function,
        charges: Charges::Module,
    },
    Entry {
        number: 86,
        name: "cuKernelSetCacheConfig",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Function,
        charges: Charges::None,
    },
    Entry {
        number: 87,
        name: "cuLibraryGetKernelCount",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 88,
        name: "vcudaLibraryKernelNames",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 89,
        name: "cuModuleGetLoadingMode",
        waited: true,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::None,
    },
    Entry {
        number: 90,
        name: "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Module,
    },
    Entry {
        number: 91,
        name: "cuOccupancyAvailableDynamicSMemPerBlock",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Module,
    },
    Entry {
        number: 92,
        name: "cuFuncLoad",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Module,
    },
    Entry {
        number: 93,
        name: "cuFuncIsLoaded",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Module,
    },
    Entry {
        number: 94,
        name: "vcudaOccupancyClusters",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Module,
    },
    Entry {
        number: 100,
        name: "vcudaLaunch",
        waited: false,
        blocking: false,
        pending: false,
        gated: true,
        order: Order::Stream,
        charges: Charges::Local,
    },
    Entry {
        number: 101,
        name: "vcudaLaunchCooperative",
        waited: false,
        blocking: false,
        pending: false,
        gated: true,
        order: Order::Stream,
        charges: Charges::Local,
    },
    Entry {
        number: 102,
        name: "vcudaHostFunc",
        waited: false,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Stream,
        charges: Charges::None,
    },
    Entry {
        number: 110,
        name: "vcudaGraphInstantiate",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::None,
        charges: Charges::Graph,
    },
    Entry {
        number: 111,
        name: "cuGraphExecDestroy",
        waited: false,
        blocking: false,
        pending: false,
        gated: false,
        order: Order::Context,
        charges: Charges::None,
    },
    Entry {
        number: 112,
        name: "cuGraphLaunch",
        waited: false,
        blocking: false,
        pending: false,
        gated: true,
        order: Order::Stream,
        charges: Charges::Local,
    },
    Entry {
        number: 113,
        name: "cuGraphUpload",
        waited: false,
        blocking: false,
        pending: false,
        gated: true,
        order: Order::Stream,
        charges: Charges::None,
    },
    Entry {
        number: 114,
        name: "vcudaGraphExecUpdate",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::Context,
        charges: Charges::Local,
    },
    Entry {
        number: 115,
        name: "vcudaGraphExecNodeSet",
        waited: true,
        blocking: true,
        pending: false,
        gated: false,
        order: Order::Context,
        charges: Charges::Local,
    },
];

/// Call 1, `vcudaFacts`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaFacts {}
impl<'a> Call<'a> for VcudaFacts {
    const OPCODE: u32 = 1;
    const NAME: &'static str = "vcudaFacts";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = VcudaFactsAnswer;

    fn encode(&self, _writer: &mut Writer) {}
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::new(bytes).finish()?;
        Ok(Self {})
    }
}

/// The answer to `vcudaFacts`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VcudaFactsAnswer {
    /// `driver_version`.
    pub driver_version: u32,
    /// `devices`.
    pub devices: Vec<DeviceFacts>,
}
impl Answer for VcudaFactsAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.driver_version.to_word());
        writer.array(&self.devices);
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl VcudaFactsAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            driver_version: <u32>::from_word(reader.word()?)?,
            devices: reader.vec(crate::limits::DEVICES_MAX)?,
        })
    }
}

/// Call 2, `vcudaTakeOutput`.
///
/// Returns the output of kernels since the last call, in order, at most OUTPUT_MAX bytes at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaTakeOutput {}
impl<'a> Call<'a> for VcudaTakeOutput {
    const OPCODE: u32 = 2;
    const NAME: &'static str = "vcudaTakeOutput";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = VcudaTakeOutputAnswer;

    fn encode(&self, _writer: &mut Writer) {}
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::new(bytes).finish()?;
        Ok(Self {})
    }
}

/// The answer to `vcudaTakeOutput`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VcudaTakeOutputAnswer {
    /// `text`.
    pub text: Vec<u8>,
}
impl Answer for VcudaTakeOutputAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.bytes(self.text.as_ref());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl VcudaTakeOutputAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { text: reader.bytes()?.to_vec() })
    }
}

/// Call 3, `vcudaNop`.
///
/// These do nothing: they measure the cost of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaNop {}
impl<'a> Call<'a> for VcudaNop {
    const OPCODE: u32 = 3;
    const NAME: &'static str = "vcudaNop";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, _writer: &mut Writer) {}
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::new(bytes).finish()?;
        Ok(Self {})
    }
}

/// Call 4, `vcudaPing`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaPing {}
impl<'a> Call<'a> for VcudaPing {
    const OPCODE: u32 = 4;
    const NAME: &'static str = "vcudaPing";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, _writer: &mut Writer) {}
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::new(bytes).finish()?;
        Ok(Self {})
    }
}

/// Call 5, `cuDeviceGetLuid`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuDeviceGetLuid {
    /// `dev`.
    pub dev: i32,
}
impl<'a> Call<'a> for CuDeviceGetLuid {
    const OPCODE: u32 = 5;
    const NAME: &'static str = "cuDeviceGetLuid";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = CuDeviceGetLuidAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dev.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuDeviceGetLuid {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { dev: <i32>::from_word(reader.word()?)? })
    }
}

/// The answer to `cuDeviceGetLuid`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuDeviceGetLuidAnswer {
    /// `luid`.
    pub luid: [u8; 8],
    /// `deviceNodeMask`.
    pub device_node_mask: u32,
}
impl Answer for CuDeviceGetLuidAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.packed(&self.luid);
        writer.word(self.device_node_mask.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuDeviceGetLuidAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { luid: reader.packed()?, device_node_mask: <u32>::from_word(reader.word()?)? })
    }
}

/// Call 6, `cuDeviceGetTexture1DLinearMaxWidth`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuDeviceGetTexture1DLinearMaxWidth {
    /// `format`.
    pub format: u32,
    /// `numChannels`.
    pub num_channels: u32,
    /// `dev`.
    pub dev: i32,
}
impl<'a> Call<'a> for CuDeviceGetTexture1DLinearMaxWidth {
    const OPCODE: u32 = 6;
    const NAME: &'static str = "cuDeviceGetTexture1DLinearMaxWidth";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = CuDeviceGetTexture1DLinearMaxWidthAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.format.to_word());
        writer.word(self.num_channels.to_word());
        writer.word(self.dev.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuDeviceGetTexture1DLinearMaxWidth {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            format: <u32>::from_word(reader.word()?)?,
            num_channels: <u32>::from_word(reader.word()?)?,
            dev: <i32>::from_word(reader.word()?)?,
        })
    }
}

/// The answer to `cuDeviceGetTexture1DLinearMaxWidth`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuDeviceGetTexture1DLinearMaxWidthAnswer {
    /// `maxWidthInElements`.
    pub max_width_in_elements: usize,
}
impl Answer for CuDeviceGetTexture1DLinearMaxWidthAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.max_width_in_elements.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuDeviceGetTexture1DLinearMaxWidthAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { max_width_in_elements: <usize>::from_word(reader.word()?)? })
    }
}

/// Call 10, `vcudaPrimaryCtxRetain`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaPrimaryCtxRetain {
    /// `dev`.
    pub dev: i32,
    /// Id of the new context.
    pub ctx: ContextId,
}
impl<'a> Call<'a> for VcudaPrimaryCtxRetain {
    const OPCODE: u32 = 10;
    const NAME: &'static str = "vcudaPrimaryCtxRetain";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dev.to_word());
        writer.word(self.ctx.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaPrimaryCtxRetain {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            dev: <i32>::from_word(reader.word()?)?,
            ctx: <ContextId>::from_word(reader.word()?)?,
        })
    }
}

/// Call 11, `vcudaPrimaryCtxRelease`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaPrimaryCtxRelease {
    /// `dev`.
    pub dev: i32,
    /// The context that ends.
    pub ctx: ContextId,
}
impl<'a> Call<'a> for VcudaPrimaryCtxRelease {
    const OPCODE: u32 = 11;
    const NAME: &'static str = "vcudaPrimaryCtxRelease";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dev.to_word());
        writer.word(self.ctx.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaPrimaryCtxRelease {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            dev: <i32>::from_word(reader.word()?)?,
            ctx: <ContextId>::from_word(reader.word()?)?,
        })
    }
}

/// Call 12, `vcudaPrimaryCtxReset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaPrimaryCtxReset {
    /// `dev`.
    pub dev: i32,
}
impl<'a> Call<'a> for VcudaPrimaryCtxReset {
    const OPCODE: u32 = 12;
    const NAME: &'static str = "vcudaPrimaryCtxReset";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dev.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaPrimaryCtxReset {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { dev: <i32>::from_word(reader.word()?)? })
    }
}

/// Call 13, `vcudaPrimaryCtxSetFlags`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaPrimaryCtxSetFlags {
    /// `dev`.
    pub dev: i32,
    /// `flags`.
    pub flags: u32,
}
impl<'a> Call<'a> for VcudaPrimaryCtxSetFlags {
    const OPCODE: u32 = 13;
    const NAME: &'static str = "vcudaPrimaryCtxSetFlags";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dev.to_word());
        writer.word(self.flags.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaPrimaryCtxSetFlags {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            dev: <i32>::from_word(reader.word()?)?,
            flags: <u32>::from_word(reader.word()?)?,
        })
    }
}

/// Call 14, `vcudaCtxCreate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaCtxCreate {
    /// `dev`.
    pub dev: i32,
    /// `flags`.
    pub flags: u32,
    /// Id of the new context.
    pub ctx: ContextId,
}
impl<'a> Call<'a> for VcudaCtxCreate {
    const OPCODE: u32 = 14;
    const NAME: &'static str = "vcudaCtxCreate";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dev.to_word());
        writer.word(self.flags.to_word());
        writer.word(self.ctx.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaCtxCreate {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            dev: <i32>::from_word(reader.word()?)?,
            flags: <u32>::from_word(reader.word()?)?,
            ctx: <ContextId>::from_word(reader.word()?)?,
        })
    }
}

/// Call 15, `vcudaCtxDestroy`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaCtxDestroy {
    /// The context that ends.
    pub ctx: ContextId,
}
impl<'a> Call<'a> for VcudaCtxDestroy {
    const OPCODE: u32 = 15;
    const NAME: &'static str = "vcudaCtxDestroy";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.ctx.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaCtxDestroy {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { ctx: <ContextId>::from_word(reader.word()?)? })
    }
}

/// Call 16, `cuCtxSynchronize`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuCtxSynchronize {}
impl<'a> Call<'a> for CuCtxSynchronize {
    const OPCODE: u32 = 16;
    const NAME: &'static str = "cuCtxSynchronize";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, _writer: &mut Writer) {}
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::new(bytes).finish()?;
        Ok(Self {})
    }
}

/// Call 17, `cuCtxGetLimit`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuCtxGetLimit {
    /// `limit`.
    pub limit: u32,
}
impl<'a> Call<'a> for CuCtxGetLimit {
    const OPCODE: u32 = 17;
    const NAME: &'static str = "cuCtxGetLimit";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = CuCtxGetLimitAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.limit.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuCtxGetLimit {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { limit: <u32>::from_word(reader.word()?)? })
    }
}

/// The answer to `cuCtxGetLimit`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuCtxGetLimitAnswer {
    /// `pvalue`.
    pub pvalue: usize,
}
impl Answer for CuCtxGetLimitAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.pvalue.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuCtxGetLimitAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { pvalue: <usize>::from_word(reader.word()?)? })
    }
}

/// Call 18, `cuCtxSetLimit`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuCtxSetLimit {
    /// `limit`.
    pub limit: u32,
    /// `value`.
    pub value: usize,
}
impl<'a> Call<'a> for CuCtxSetLimit {
    const OPCODE: u32 = 18;
    const NAME: &'static str = "cuCtxSetLimit";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.limit.to_word());
        writer.word(self.value.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuCtxSetLimit {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            limit: <u32>::from_word(reader.word()?)?,
            value: <usize>::from_word(reader.word()?)?,
        })
    }
}

/// Call 19, `cuCtxGetStreamPriorityRange`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuCtxGetStreamPriorityRange {}
impl<'a> Call<'a> for CuCtxGetStreamPriorityRange {
    const OPCODE: u32 = 19;
    const NAME: &'static str = "cuCtxGetStreamPriorityRange";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = CuCtxGetStreamPriorityRangeAnswer;

    fn encode(&self, _writer: &mut Writer) {}
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::new(bytes).finish()?;
        Ok(Self {})
    }
}

/// The answer to `cuCtxGetStreamPriorityRange`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuCtxGetStreamPriorityRangeAnswer {
    /// `leastPriority`.
    pub least_priority: i32,
    /// `greatestPriority`.
    pub greatest_priority: i32,
}
impl Answer for CuCtxGetStreamPriorityRangeAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.least_priority.to_word());
        writer.word(self.greatest_priority.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuCtxGetStreamPriorityRangeAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            least_priority: <i32>::from_word(reader.word()?)?,
            greatest_priority: <i32>::from_word(reader.word()?)?,
        })
    }
}

/// Call 20, `cuCtxGetCacheConfig`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuCtxGetCacheConfig {}
impl<'a> Call<'a> for CuCtxGetCacheConfig {
    const OPCODE: u32 = 20;
    const NAME: &'static str = "cuCtxGetCacheConfig";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = CuCtxGetCacheConfigAnswer;

    fn encode(&self, _writer: &mut Writer) {}
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::new(bytes).finish()?;
        Ok(Self {})
    }
}

/// The answer to `cuCtxGetCacheConfig`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuCtxGetCacheConfigAnswer {
    /// `pconfig`.
    pub pconfig: u32,
}
impl Answer for CuCtxGetCacheConfigAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.pconfig.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuCtxGetCacheConfigAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { pconfig: <u32>::from_word(reader.word()?)? })
    }
}

/// Call 21, `cuCtxSetCacheConfig`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuCtxSetCacheConfig {
    /// `config`.
    pub config: u32,
}
impl<'a> Call<'a> for CuCtxSetCacheConfig {
    const OPCODE: u32 = 21;
    const NAME: &'static str = "cuCtxSetCacheConfig";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.config.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuCtxSetCacheConfig {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { config: <u32>::from_word(reader.word()?)? })
    }
}

/// Call 22, `cuCtxGetSharedMemConfig`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuCtxGetSharedMemConfig {}
impl<'a> Call<'a> for CuCtxGetSharedMemConfig {
    const OPCODE: u32 = 22;
    const NAME: &'static str = "cuCtxGetSharedMemConfig";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = CuCtxGetSharedMemConfigAnswer;

    fn encode(&self, _writer: &mut Writer) {}
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::new(bytes).finish()?;
        Ok(Self {})
    }
}

/// The answer to `cuCtxGetSharedMemConfig`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuCtxGetSharedMemConfigAnswer {
    /// `pConfig`.
    pub p_config: u32,
}
impl Answer for CuCtxGetSharedMemConfigAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.p_config.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuCtxGetSharedMemConfigAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { p_config: <u32>::from_word(reader.word()?)? })
    }
}

/// Call 23, `cuCtxSetSharedMemConfig`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuCtxSetSharedMemConfig {
    /// `config`.
    pub config: u32,
}
impl<'a> Call<'a> for CuCtxSetSharedMemConfig {
    const OPCODE: u32 = 23;
    const NAME: &'static str = "cuCtxSetSharedMemConfig";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.config.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuCtxSetSharedMemConfig {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { config: <u32>::from_word(reader.word()?)? })
    }
}

/// Call 24, `cuCtxResetPersistingL2Cache`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuCtxResetPersistingL2Cache {}
impl<'a> Call<'a> for CuCtxResetPersistingL2Cache {
    const OPCODE: u32 = 24;
    const NAME: &'static str = "cuCtxResetPersistingL2Cache";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, _writer: &mut Writer) {}
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::new(bytes).finish()?;
        Ok(Self {})
    }
}

/// Call 25, `cuProfilerStart`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuProfilerStart {}
impl<'a> Call<'a> for CuProfilerStart {
    const OPCODE: u32 = 25;
    const NAME: &'static str = "cuProfilerStart";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, _writer: &mut Writer) {}
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::new(bytes).finish()?;
        Ok(Self {})
    }
}

/// Call 26, `cuProfilerStop`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuProfilerStop {}
impl<'a> Call<'a> for CuProfilerStop {
    const OPCODE: u32 = 26;
    const NAME: &'static str = "cuProfilerStop";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, _writer: &mut Writer) {}
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::new(bytes).finish()?;
        Ok(Self {})
    }
}

/// Call 30, `cuMemAlloc_v2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuMemAllocV2 {
    /// `bytesize`.
    pub bytesize: usize,
}
impl<'a> Call<'a> for CuMemAllocV2 {
    const OPCODE: u32 = 30;
    const NAME: &'static str = "cuMemAlloc_v2";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = CuMemAllocV2Answer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.bytesize.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuMemAllocV2 {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { bytesize: <usize>::from_word(reader.word()?)? })
    }
}

/// The answer to `cuMemAlloc_v2`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuMemAllocV2Answer {
    /// `dptr`.
    pub dptr: u64,
}
impl Answer for CuMemAllocV2Answer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dptr.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuMemAllocV2Answer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { dptr: <u64>::from_word(reader.word()?)? })
    }
}

/// Call 31, `cuMemFree_v2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuMemFreeV2 {
    /// `dptr`.
    pub dptr: u64,
}
impl<'a> Call<'a> for CuMemFreeV2 {
    const OPCODE: u32 = 31;
    const NAME: &'static str = "cuMemFree_v2";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dptr.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuMemFreeV2 {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { dptr: <u64>::from_word(reader.word()?)? })
    }
}

/// Call 32, `cuMemGetInfo_v2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuMemGetInfoV2 {}
impl<'a> Call<'a> for CuMemGetInfoV2 {
    const OPCODE: u32 = 32;
    const NAME: &'static str = "cuMemGetInfo_v2";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = CuMemGetInfoV2Answer;

    fn encode(&self, _writer: &mut Writer) {}
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::new(bytes).finish()?;
        Ok(Self {})
    }
}

/// The answer to `cuMemGetInfo_v2`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuMemGetInfoV2Answer {
    /// `free`.
    pub free: usize,
    /// `total`.
    pub total: usize,
}
impl Answer for CuMemGetInfoV2Answer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.free.to_word());
        writer.word(self.total.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuMemGetInfoV2Answer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            free: <usize>::from_word(reader.word()?)?,
            total: <usize>::from_word(reader.word()?)?,
        })
    }
}

/// Call 33, `vcudaCopyIn`.
///
/// Copies at most INLINE_COPY_MAX bytes of pageable memory, inline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaCopyIn<'a> {
    /// `dst`, an address of device-visible memory.
    pub dst: u64,
    /// `data`.
    pub data: &'a [u8],
    /// Id of a stream.
    pub h_stream: StreamId,
}
impl<'a> Call<'a> for VcudaCopyIn<'a> {
    const OPCODE: u32 = 33;
    const NAME: &'static str = "vcudaCopyIn";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dst.to_word());
        writer.bytes(self.data.as_ref());
        writer.word(self.h_stream.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl<'a> VcudaCopyIn<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            dst: <u64>::from_word(reader.word()?)?,
            data: reader.bytes()?,
            h_stream: <StreamId>::from_word(reader.word()?)?,
        })
    }
}

/// Call 34, `vcudaCopyInStaged`.
///
/// Copies from the arena; answered when those bytes of the arena may be reused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaCopyInStaged {
    /// `dst`, an address of device-visible memory.
    pub dst: u64,
    /// `arena`.
    pub arena: u64,
    /// `len`.
    pub len: usize,
    /// Id of a stream.
    pub h_stream: StreamId,
}
impl<'a> Call<'a> for VcudaCopyInStaged {
    const OPCODE: u32 = 34;
    const NAME: &'static str = "vcudaCopyInStaged";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dst.to_word());
        writer.word(self.arena.to_word());
        writer.word(self.len.to_word());
        writer.word(self.h_stream.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaCopyInStaged {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            dst: <u64>::from_word(reader.word()?)?,
            arena: <u64>::from_word(reader.word()?)?,
            len: <usize>::from_word(reader.word()?)?,
            h_stream: <StreamId>::from_word(reader.word()?)?,
        })
    }
}

/// Call 35, `vcudaCopyOut`.
///
/// Copies at most INLINE_COPY_MAX bytes to pageable memory, inline; answered when the copy is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaCopyOut {
    /// `src`, an address of device-visible memory.
    pub src: u64,
    /// `len`.
    pub len: usize,
    /// Id of a stream.
    pub h_stream: StreamId,
}
impl<'a> Call<'a> for VcudaCopyOut {
    const OPCODE: u32 = 35;
    const NAME: &'static str = "vcudaCopyOut";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = VcudaCopyOutAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.src.to_word());
        writer.word(self.len.to_word());
        writer.word(self.h_stream.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaCopyOut {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            src: <u64>::from_word(reader.word()?)?,
            len: <usize>::from_word(reader.word()?)?,
            h_stream: <StreamId>::from_word(reader.word()?)?,
        })
    }
}

/// The answer to `vcudaCopyOut`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VcudaCopyOutAnswer {
    /// `data`.
    pub data: Vec<u8>,
}
impl Answer for VcudaCopyOutAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.bytes(self.data.as_ref());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl VcudaCopyOutAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { data: reader.bytes()?.to_vec() })
    }
}

/// Call 36, `vcudaCopyOutStaged`.
///
/// Copies to the arena; answered when the copy is done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaCopyOutStaged {
    /// `src`, an address of device-visible memory.
    pub src: u64,
    /// `arena`.
    pub arena: u64,
    /// `len`.
    pub len: usize,
    /// Id of a stream.
    pub h_stream: StreamId,
}
impl<'a> Call<'a> for VcudaCopyOutStaged {
    const OPCODE: u32 = 36;
    const NAME: &'static str = "vcudaCopyOutStaged";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.src.to_word());
        writer.word(self.arena.to_word());
        writer.word(self.len.to_word());
        writer.word(self.h_stream.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaCopyOutStaged {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            src: <u64>::from_word(reader.word()?)?,
            arena: <u64>::from_word(reader.word()?)?,
            len: <usize>::from_word(reader.word()?)?,
            h_stream: <StreamId>::from_word(reader.word()?)?,
        })
    }
}

/// Call 37, `vcudaCopy`.
///
/// These two copy between device-visible addresses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaCopy {
    /// `dst`, an address of device-visible memory.
    pub dst: u64,
    /// `src`, an address of device-visible memory.
    pub src: u64,
    /// `len`.
    pub len: usize,
    /// Id of a stream.
    pub h_stream: StreamId,
}
impl<'a> Call<'a> for VcudaCopy {
    const OPCODE: u32 = 37;
    const NAME: &'static str = "vcudaCopy";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dst.to_word());
        writer.word(self.src.to_word());
        writer.word(self.len.to_word());
        writer.word(self.h_stream.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaCopy {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            dst: <u64>::from_word(reader.word()?)?,
            src: <u64>::from_word(reader.word()?)?,
            len: <usize>::from_word(reader.word()?)?,
            h_stream: <StreamId>::from_word(reader.word()?)?,
        })
    }
}

/// Call 38, `vcudaCopy2D`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaCopy2D {
    /// `dst`, an address of device-visible memory.
    pub dst: u64,
    /// `dstPitch`.
    pub dst_pitch: usize,
    /// `src`, an address of device-visible memory.
    pub src: u64,
    /// `srcPitch`.
    pub src_pitch: usize,
    /// `width`.
    pub width: usize,
    /// `height`.
    pub height: usize,
    /// Id of a stream.
    pub h_stream: StreamId,
}
impl<'a> Call<'a> for VcudaCopy2D {
    const OPCODE: u32 = 38;
    const NAME: &'static str = "vcudaCopy2D";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dst.to_word());
        writer.word(self.dst_pitch.to_word());
        writer.word(self.src.to_word());
        writer.word(self.src_pitch.to_word());
        writer.word(self.width.to_word());
        writer.word(self.height.to_word());
        writer.word(self.h_stream.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaCopy2D {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            dst: <u64>::from_word(reader.word()?)?,
            dst_pitch: <usize>::from_word(reader.word()?)?,
            src: <u64>::from_word(reader.word()?)?,
            src_pitch: <usize>::from_word(reader.word()?)?,
            width: <usize>::from_word(reader.word()?)?,
            height: <usize>::from_word(reader.word()?)?,
            h_stream: <StreamId>::from_word(reader.word()?)?,
        })
    }
}

/// Call 39, `vcudaMemset`.
///
/// Sets elements of 1, 2 or 4 bytes. width is in elements; pitch is in bytes, for heights above 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaMemset {
    /// `dst`, an address of device-visible memory.
    pub dst: u64,
    /// `pitch`.
    pub pitch: usize,
    /// `elementSize`.
    pub element_size: u32,
    /// `value`.
    pub value: u32,
    /// `width`.
    pub width: usize,
    /// `height`.
    pub height: usize,
    /// Id of a stream.
    pub h_stream: StreamId,
}
impl<'a> Call<'a> for VcudaMemset {
    const OPCODE: u32 = 39;
    const NAME: &'static str = "vcudaMemset";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dst.to_word());
        writer.word(self.pitch.to_word());
        writer.word(self.element_size.to_word());
        writer.word(self.value.to_word());
        writer.word(self.width.to_word());
        writer.word(self.height.to_word());
        writer.word(self.h_stream.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaMemset {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            dst: <u64>::from_word(reader.word()?)?,
            pitch: <usize>::from_word(reader.word()?)?,
            element_size: <u32>::from_word(reader.word()?)?,
            value: <u32>::from_word(reader.word()?)?,
            width: <usize>::from_word(reader.word()?)?,
            height: <usize>::from_word(reader.word()?)?,
            h_stream: <StreamId>::from_word(reader.word()?)?,
        })
    }
}

/// Call 40, `vcudaHostRegister`.
///
/// Makes an attached PINNED or USER region device-visible; dptr is its address for the GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaHostRegister {
    /// `vaddr`.
    pub vaddr: u64,
    /// `len`.
    pub len: usize,
    /// `flags`.
    pub flags: u32,
}
impl<'a> Call<'a> for VcudaHostRegister {
    const OPCODE: u32 = 40;
    const NAME: &'static str = "vcudaHostRegister";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = VcudaHostRegisterAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.vaddr.to_word());
        writer.word(self.len.to_word());
        writer.word(self.flags.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaHostRegister {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            vaddr: <u64>::from_word(reader.word()?)?,
            len: <usize>::from_word(reader.word()?)?,
            flags: <u32>::from_word(reader.word()?)?,
        })
    }
}

/// The answer to `vcudaHostRegister`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VcudaHostRegisterAnswer {
    /// `dptr`.
    pub dptr: u64,
}
impl Answer for VcudaHostRegisterAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dptr.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl VcudaHostRegisterAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { dptr: <u64>::from_word(reader.word()?)? })
    }
}

/// Call 41, `vcudaHostUnregister`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaHostUnregister {
    /// `vaddr`.
    pub vaddr: u64,
}
impl<'a> Call<'a> for VcudaHostUnregister {
    const OPCODE: u32 = 41;
    const NAME: &'static str = "vcudaHostUnregister";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.vaddr.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaHostUnregister {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { vaddr: <u64>::from_word(reader.word()?)? })
    }
}

/// Call 42, `cuMemAllocAsync`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuMemAllocAsync {
    /// `bytesize`.
    pub bytesize: usize,
    /// Id of a stream.
    pub h_stream: StreamId,
}
impl<'a> Call<'a> for CuMemAllocAsync {
    const OPCODE: u32 = 42;
    const NAME: &'static str = "cuMemAllocAsync";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = CuMemAllocAsyncAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.bytesize.to_word());
        writer.word(self.h_stream.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuMemAllocAsync {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            bytesize: <usize>::from_word(reader.word()?)?,
            h_stream: <StreamId>::from_word(reader.word()?)?,
        })
    }
}

/// The answer to `cuMemAllocAsync`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuMemAllocAsyncAnswer {
    /// `dptr`.
    pub dptr: u64,
}
impl Answer for CuMemAllocAsyncAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dptr.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuMemAllocAsyncAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { dptr: <u64>::from_word(reader.word()?)? })
    }
}

/// Call 43, `cuMemFreeAsync`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuMemFreeAsync {
    /// `dptr`, an address of device-visible memory.
    pub dptr: u64,
    /// Id of a stream.
    pub h_stream: StreamId,
}
impl<'a> Call<'a> for CuMemFreeAsync {
    const OPCODE: u32 = 43;
    const NAME: &'static str = "cuMemFreeAsync";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dptr.to_word());
        writer.word(self.h_stream.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuMemFreeAsync {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            dptr: <u64>::from_word(reader.word()?)?,
            h_stream: <StreamId>::from_word(reader.word()?)?,
        })
    }
}

/// Call 50, `cuStreamCreateWithPriority`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuStreamCreateWithPriority {
    /// Id of the new stream.
    pub ph_stream: StreamId,
    /// `flags`.
    pub flags: u32,
    /// `priority`.
    pub priority: i32,
}
impl<'a> Call<'a> for CuStreamCreateWithPriority {
    const OPCODE: u32 = 50;
    const NAME: &'static str = "cuStreamCreateWithPriority";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.ph_stream.to_word());
        writer.word(self.flags.to_word());
        writer.word(self.priority.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuStreamCreateWithPriority {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            ph_stream: <StreamId>::from_word(reader.word()?)?,
            flags: <u32>::from_word(reader.word()?)?,
            priority: <i32>::from_word(reader.word()?)?,
        })
    }
}

/// Call 51, `cuStreamDestroy_v2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuStreamDestroyV2 {
    /// The stream that ends.
    pub h_stream: StreamId,
}
impl<'a> Call<'a> for CuStreamDestroyV2 {
    const OPCODE: u32 = 51;
    const NAME: &'static str = "cuStreamDestroy_v2";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_stream.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuStreamDestroyV2 {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { h_stream: <StreamId>::from_word(reader.word()?)? })
    }
}

/// Call 52, `cuStreamSynchronize`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuStreamSynchronize {
    /// Id of a stream.
    pub h_stream: StreamId,
}
impl<'a> Call<'a> for CuStreamSynchronize {
    const OPCODE: u32 = 52;
    const NAME: &'static str = "cuStreamSynchronize";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_stream.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuStreamSynchronize {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { h_stream: <StreamId>::from_word(reader.word()?)? })
    }
}

/// Call 53, `cuStreamQuery`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuStreamQuery {
    /// Id of a stream.
    pub h_stream: StreamId,
}
impl<'a> Call<'a> for CuStreamQuery {
    const OPCODE: u32 = 53;
    const NAME: &'static str = "cuStreamQuery";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_stream.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuStreamQuery {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { h_stream: <StreamId>::from_word(reader.word()?)? })
    }
}

/// Call 54, `cuStreamWaitEvent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuStreamWaitEvent {
    /// Id of a stream.
    pub h_stream: StreamId,
    /// Id of an event.
    pub h_event: EventId,
    /// `Flags`.
    pub flags: u32,
}
impl<'a> Call<'a> for CuStreamWaitEvent {
    const OPCODE: u32 = 54;
    const NAME: &'static str = "cuStreamWaitEvent";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_stream.to_word());
        writer.word(self.h_event.to_word());
        writer.word(self.flags.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuStreamWaitEvent {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            h_stream: <StreamId>::from_word(reader.word()?)?,
            h_event: <EventId>::from_word(reader.word()?)?,
            flags: <u32>::from_word(reader.word()?)?,
        })
    }
}

/// Call 55, `cuStreamGetAttribute`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuStreamGetAttribute {
    /// Id of a stream.
    pub h_stream: StreamId,
    /// `attr`.
    pub attr: u32,
}
impl<'a> Call<'a> for CuStreamGetAttribute {
    const OPCODE: u32 = 55;
    const NAME: &'static str = "cuStreamGetAttribute";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = CuStreamGetAttributeAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_stream.to_word());
        writer.word(self.attr.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuStreamGetAttribute {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            h_stream: <StreamId>::from_word(reader.word()?)?,
            attr: <u32>::from_word(reader.word()?)?,
        })
    }
}

/// The answer to `cuStreamGetAttribute`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuStreamGetAttributeAnswer {
    /// `value`.
    pub value: [u64; 8],
}
impl Answer for CuStreamGetAttributeAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.packed(&self.value);
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuStreamGetAttributeAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { value: reader.packed()? })
    }
}

/// Call 56, `cuStreamSetAttribute`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuStreamSetAttribute {
    /// Id of a stream.
    pub h_stream: StreamId,
    /// `attr`.
    pub attr: u32,
    /// `param`.
    pub param: [u64; 8],
}
impl<'a> Call<'a> for CuStreamSetAttribute {
    const OPCODE: u32 = 56;
    const NAME: &'static str = "cuStreamSetAttribute";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_stream.to_word());
        writer.word(self.attr.to_word());
        writer.packed(&self.param);
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuStreamSetAttribute {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            h_stream: <StreamId>::from_word(reader.word()?)?,
            attr: <u32>::from_word(reader.word()?)?,
            param: reader.packed()?,
        })
    }
}

/// Call 60, `cuEventCreate`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuEventCreate {
    /// Id of the new event.
    pub ph_event: EventId,
    /// `Flags`.
    pub flags: u32,
}
impl<'a> Call<'a> for CuEventCreate {
    const OPCODE: u32 = 60;
    const NAME: &'static str = "cuEventCreate";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.ph_event.to_word());
        writer.word(self.flags.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuEventCreate {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            ph_event: <EventId>::from_word(reader.word()?)?,
            flags: <u32>::from_word(reader.word()?)?,
        })
    }
}

/// Call 61, `cuEventDestroy_v2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuEventDestroyV2 {
    /// The event that ends.
    pub h_event: EventId,
}
impl<'a> Call<'a> for CuEventDestroyV2 {
    const OPCODE: u32 = 61;
    const NAME: &'static str = "cuEventDestroy_v2";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_event.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuEventDestroyV2 {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { h_event: <EventId>::from_word(reader.word()?)? })
    }
}

/// Call 62, `cuEventRecordWithFlags`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuEventRecordWithFlags {
    /// Id of an event.
    pub h_event: EventId,
    /// Id of a stream.
    pub h_stream: StreamId,
    /// `flags`.
    pub flags: u32,
}
impl<'a> Call<'a> for CuEventRecordWithFlags {
    const OPCODE: u32 = 62;
    const NAME: &'static str = "cuEventRecordWithFlags";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_event.to_word());
        writer.word(self.h_stream.to_word());
        writer.word(self.flags.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuEventRecordWithFlags {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            h_event: <EventId>::from_word(reader.word()?)?,
            h_stream: <StreamId>::from_word(reader.word()?)?,
            flags: <u32>::from_word(reader.word()?)?,
        })
    }
}

/// Call 63, `cuEventQuery`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuEventQuery {
    /// Id of an event.
    pub h_event: EventId,
}
impl<'a> Call<'a> for CuEventQuery {
    const OPCODE: u32 = 63;
    const NAME: &'static str = "cuEventQuery";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_event.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuEventQuery {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { h_event: <EventId>::from_word(reader.word()?)? })
    }
}

/// Call 64, `cuEventSynchronize`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuEventSynchronize {
    /// Id of an event.
    pub h_event: EventId,
}
impl<'a> Call<'a> for CuEventSynchronize {
    const OPCODE: u32 = 64;
    const NAME: &'static str = "cuEventSynchronize";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_event.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuEventSynchronize {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { h_event: <EventId>::from_word(reader.word()?)? })
    }
}

/// Call 65, `cuEventElapsedTime_v2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuEventElapsedTimeV2 {
    /// Id of an event.
    pub h_start: EventId,
    /// Id of an event.
    pub h_end: EventId,
}
impl<'a> Call<'a> for CuEventElapsedTimeV2 {
    const OPCODE: u32 = 65;
    const NAME: &'static str = "cuEventElapsedTime_v2";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = CuEventElapsedTimeV2Answer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_start.to_word());
        writer.word(self.h_end.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuEventElapsedTimeV2 {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            h_start: <EventId>::from_word(reader.word()?)?,
            h_end: <EventId>::from_word(reader.word()?)?,
        })
    }
}

/// The answer to `cuEventElapsedTime_v2`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuEventElapsedTimeV2Answer {
    /// `pMilliseconds`.
    pub p_milliseconds: f32,
}
impl Answer for CuEventElapsedTimeV2Answer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.p_milliseconds.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuEventElapsedTimeV2Answer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { p_milliseconds: <f32>::from_word(reader.word()?)? })
    }
}

/// Call 70, `vcudaBlobPut`.
///
/// An image longer than INLINE_IMAGE_MAX is sent first, as a blob under an id that the guest chooses, in
/// order and at most BLOB_PIECE_MAX bytes per command. The load that names the blob uses it up. In a
/// load, blob 0 means that the image is inline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaBlobPut<'a> {
    /// Id of a blob.
    pub blob: BlobId,
    /// `total`.
    pub total: u64,
    /// `offset`.
    pub offset: u64,
    /// `data`.
    pub data: &'a [u8],
}
impl<'a> Call<'a> for VcudaBlobPut<'a> {
    const OPCODE: u32 = 70;
    const NAME: &'static str = "vcudaBlobPut";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.blob.to_word());
        writer.word(self.total.to_word());
        writer.word(self.offset.to_word());
        writer.bytes(self.data.as_ref());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl<'a> VcudaBlobPut<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            blob: <BlobId>::from_word(reader.word()?)?,
            total: <u64>::from_word(reader.word()?)?,
            offset: <u64>::from_word(reader.word()?)?,
            data: reader.bytes()?,
        })
    }
}

/// Call 71, `vcudaModuleLoad`.
///
/// error: the JIT's error log, at most logMax bytes; info: its info log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaModuleLoad<'a> {
    /// Id of the new module.
    pub module: ModuleId,
    /// Id of a blob.
    pub blob: BlobId,
    /// `image`.
    pub image: &'a [u8],
    /// `options`.
    pub options: Array<'a, JitOption>,
    /// `logMax`.
    pub log_max: u32,
}
impl<'a> Call<'a> for VcudaModuleLoad<'a> {
    const OPCODE: u32 = 71;
    const NAME: &'static str = "vcudaModuleLoad";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = VcudaModuleLoadAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.module.to_word());
        writer.word(self.blob.to_word());
        writer.bytes(self.image.as_ref());
        writer.array(self.options);
        writer.word(self.log_max.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl<'a> VcudaModuleLoad<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            module: <ModuleId>::from_word(reader.word()?)?,
            blob: <BlobId>::from_word(reader.word()?)?,
            image: reader.bytes()?,
            options: reader.array(crate::limits::JIT_OPTIONS_MAX)?,
            log_max: <u32>::from_word(reader.word()?)?,
        })
    }
}

/// The answer to `vcudaModuleLoad`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VcudaModuleLoadAnswer {
    /// `error`.
    pub error: Vec<u8>,
    /// `info`.
    pub info: Vec<u8>,
}
impl Answer for VcudaModuleLoadAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.bytes(self.error.as_ref());
        writer.bytes(self.info.as_ref());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl VcudaModuleLoadAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { error: reader.bytes()?.to_vec(), info: reader.bytes()?.to_vec() })
    }
}

/// Call 72, `cuModuleUnload`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuModuleUnload {
    /// The module that ends.
    pub hmod: ModuleId,
}
impl<'a> Call<'a> for CuModuleUnload {
    const OPCODE: u32 = 72;
    const NAME: &'static str = "cuModuleUnload";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.hmod.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuModuleUnload {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { hmod: <ModuleId>::from_word(reader.word()?)? })
    }
}

/// Call 73, `vcudaModuleGetFunction`.
///
/// layout: the parameters in order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaModuleGetFunction<'a> {
    /// Id of the new function.
    pub hfunc: FunctionId,
    /// Id of a module.
    pub hmod: ModuleId,
    /// `name`.
    pub name: &'a str,
}
impl<'a> Call<'a> for VcudaModuleGetFunction<'a> {
    const OPCODE: u32 = 73;
    const NAME: &'static str = "vcudaModuleGetFunction";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = VcudaModuleGetFunctionAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.hfunc.to_word());
        writer.word(self.hmod.to_word());
        writer.bytes(self.name.as_bytes());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl<'a> VcudaModuleGetFunction<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            hfunc: <FunctionId>::from_word(reader.word()?)?,
            hmod: <ModuleId>::from_word(reader.word()?)?,
            name: reader.text()?,
        })
    }
}

/// The answer to `vcudaModuleGetFunction`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VcudaModuleGetFunctionAnswer {
    /// `layout`.
    pub layout: Vec<ParameterPlace>,
}
impl Answer for VcudaModuleGetFunctionAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.array(&self.layout);
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl VcudaModuleGetFunctionAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { layout: reader.vec(crate::limits::PARAMETERS_MAX)? })
    }
}

/// Call 74, `vcudaModuleGetGlobal`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaModuleGetGlobal<'a> {
    /// Id of a module.
    pub hmod: ModuleId,
    /// `name`.
    pub name: &'a str,
}
impl<'a> Call<'a> for VcudaModuleGetGlobal<'a> {
    const OPCODE: u32 = 74;
    const NAME: &'static str = "vcudaModuleGetGlobal";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = VcudaModuleGetGlobalAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.hmod.to_word());
        writer.bytes(self.name.as_bytes());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl<'a> VcudaModuleGetGlobal<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { hmod: <ModuleId>::from_word(reader.word()?)?, name: reader.text()? })
    }
}

/// The answer to `vcudaModuleGetGlobal`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VcudaModuleGetGlobalAnswer {
    /// `dptr`.
    pub dptr: u64,
    /// `bytes`.
    pub bytes: usize,
}
impl Answer for VcudaModuleGetGlobalAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dptr.to_word());
        writer.word(self.bytes.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl VcudaModuleGetGlobalAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            dptr: <u64>::from_word(reader.word()?)?,
            bytes: <usize>::from_word(reader.word()?)?,
        })
    }
}

/// Call 75, `vcudaLibraryLoad`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaLibraryLoad<'a> {
    /// Id of the new library.
    pub library: LibraryId,
    /// Id of a blob.
    pub blob: BlobId,
    /// `image`.
    pub image: &'a [u8],
    /// `options`.
    pub options: Array<'a, JitOption>,
    /// `libraryOptions`.
    pub library_options: Array<'a, LibraryOption>,
    /// `logMax`.
    pub log_max: u32,
}
impl<'a> Call<'a> for VcudaLibraryLoad<'a> {
    const OPCODE: u32 = 75;
    const NAME: &'static str = "vcudaLibraryLoad";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = VcudaLibraryLoadAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.library.to_word());
        writer.word(self.blob.to_word());
        writer.bytes(self.image.as_ref());
        writer.array(self.options);
        writer.array(self.library_options);
        writer.word(self.log_max.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl<'a> VcudaLibraryLoad<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            library: <LibraryId>::from_word(reader.word()?)?,
            blob: <BlobId>::from_word(reader.word()?)?,
            image: reader.bytes()?,
            options: reader.array(crate::limits::JIT_OPTIONS_MAX)?,
            library_options: reader.array(crate::limits::JIT_OPTIONS_MAX)?,
            log_max: <u32>::from_word(reader.word()?)?,
        })
    }
}

/// The answer to `vcudaLibraryLoad`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VcudaLibraryLoadAnswer {
    /// `error`.
    pub error: Vec<u8>,
    /// `info`.
    pub info: Vec<u8>,
}
impl Answer for VcudaLibraryLoadAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.bytes(self.error.as_ref());
        writer.bytes(self.info.as_ref());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl VcudaLibraryLoadAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { error: reader.bytes()?.to_vec(), info: reader.bytes()?.to_vec() })
    }
}

/// Call 76, `cuLibraryUnload`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuLibraryUnload {
    /// The library that ends.
    pub library: LibraryId,
}
impl<'a> Call<'a> for CuLibraryUnload {
    const OPCODE: u32 = 76;
    const NAME: &'static str = "cuLibraryUnload";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.library.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuLibraryUnload {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { library: <LibraryId>::from_word(reader.word()?)? })
    }
}

/// Call 77, `vcudaLibraryGetKernel`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaLibraryGetKernel<'a> {
    /// Id of the new kernel.
    pub p_kernel: KernelId,
    /// Id of a library.
    pub library: LibraryId,
    /// `name`.
    pub name: &'a str,
}
impl<'a> Call<'a> for VcudaLibraryGetKernel<'a> {
    const OPCODE: u32 = 77;
    const NAME: &'static str = "vcudaLibraryGetKernel";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = VcudaLibraryGetKernelAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.p_kernel.to_word());
        writer.word(self.library.to_word());
        writer.bytes(self.name.as_bytes());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl<'a> VcudaLibraryGetKernel<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            p_kernel: <KernelId>::from_word(reader.word()?)?,
            library: <LibraryId>::from_word(reader.word()?)?,
            name: reader.text()?,
        })
    }
}

/// The answer to `vcudaLibraryGetKernel`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VcudaLibraryGetKernelAnswer {
    /// `layout`.
    pub layout: Vec<ParameterPlace>,
}
impl Answer for VcudaLibraryGetKernelAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.array(&self.layout);
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl VcudaLibraryGetKernelAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { layout: reader.vec(crate::limits::PARAMETERS_MAX)? })
    }
}

/// Call 78, `cuLibraryGetModule`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuLibraryGetModule {
    /// Id of the new module.
    pub p_mod: ModuleId,
    /// Id of a library.
    pub library: LibraryId,
}
impl<'a> Call<'a> for CuLibraryGetModule {
    const OPCODE: u32 = 78;
    const NAME: &'static str = "cuLibraryGetModule";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.p_mod.to_word());
        writer.word(self.library.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuLibraryGetModule {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            p_mod: <ModuleId>::from_word(reader.word()?)?,
            library: <LibraryId>::from_word(reader.word()?)?,
        })
    }
}

/// Call 79, `vcudaLibraryGetGlobal`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaLibraryGetGlobal<'a> {
    /// Id of a library.
    pub library: LibraryId,
    /// `name`.
    pub name: &'a str,
}
impl<'a> Call<'a> for VcudaLibraryGetGlobal<'a> {
    const OPCODE: u32 = 79;
    const NAME: &'static str = "vcudaLibraryGetGlobal";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = VcudaLibraryGetGlobalAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.library.to_word());
        writer.bytes(self.name.as_bytes());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl<'a> VcudaLibraryGetGlobal<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { library: <LibraryId>::from_word(reader.word()?)?, name: reader.text()? })
    }
}

/// The answer to `vcudaLibraryGetGlobal`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VcudaLibraryGetGlobalAnswer {
    /// `dptr`.
    pub dptr: u64,
    /// `bytes`.
    pub bytes: usize,
}
impl Answer for VcudaLibraryGetGlobalAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dptr.to_word());
        writer.word(self.bytes.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl VcudaLibraryGetGlobalAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            dptr: <u64>::from_word(reader.word()?)?,
            bytes: <usize>::from_word(reader.word()?)?,
        })
    }
}

/// Call 80, `cuKernelGetFunction`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuKernelGetFunction {
    /// Id of the new function.
    pub p_func: FunctionId,
    /// Id of a kernel.
    pub kernel: KernelId,
}
impl<'a> Call<'a> for CuKernelGetFunction {
    const OPCODE: u32 = 80;
    const NAME: &'static str = "cuKernelGetFunction";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.p_func.to_word());
        writer.word(self.kernel.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuKernelGetFunction {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            p_func: <FunctionId>::from_word(reader.word()?)?,
            kernel: <KernelId>::from_word(reader.word()?)?,
        })
    }
}

/// Call 81, `cuFuncGetAttribute`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuFuncGetAttribute {
    /// `attrib`.
    pub attrib: u32,
    /// Id of a function or a kernel.
    pub hfunc: FuncId,
}
impl<'a> Call<'a> for CuFuncGetAttribute {
    const OPCODE: u32 = 81;
    const NAME: &'static str = "cuFuncGetAttribute";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = CuFuncGetAttributeAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.attrib.to_word());
        writer.word(self.hfunc.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuFuncGetAttribute {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            attrib: <u32>::from_word(reader.word()?)?,
            hfunc: <FuncId>::from_word(reader.word()?)?,
        })
    }
}

/// The answer to `cuFuncGetAttribute`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuFuncGetAttributeAnswer {
    /// `pi`.
    pub pi: i32,
}
impl Answer for CuFuncGetAttributeAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.pi.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuFuncGetAttributeAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { pi: <i32>::from_word(reader.word()?)? })
    }
}

/// Call 82, `cuFuncSetAttribute`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuFuncSetAttribute {
    /// Id of a function or a kernel.
    pub hfunc: FuncId,
    /// `attrib`.
    pub attrib: u32,
    /// `value`.
    pub value: i32,
}
impl<'a> Call<'a> for CuFuncSetAttribute {
    const OPCODE: u32 = 82;
    const NAME: &'static str = "cuFuncSetAttribute";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.hfunc.to_word());
        writer.word(self.attrib.to_word());
        writer.word(self.value.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuFuncSetAttribute {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            hfunc: <FuncId>::from_word(reader.word()?)?,
            attrib: <u32>::from_word(reader.word()?)?,
            value: <i32>::from_word(reader.word()?)?,
        })
    }
}

/// Call 83, `cuKernelGetAttribute`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuKernelGetAttribute {
    /// `attrib`.
    pub attrib: u32,
    /// Id of a kernel.
    pub kernel: KernelId,
    /// `dev`.
    pub dev: i32,
}
impl<'a> Call<'a> for CuKernelGetAttribute {
    const OPCODE: u32 = 83;
    const NAME: &'static str = "cuKernelGetAttribute";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = CuKernelGetAttributeAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.attrib.to_word());
        writer.word(self.kernel.to_word());
        writer.word(self.dev.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuKernelGetAttribute {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            attrib: <u32>::from_word(reader.word()?)?,
            kernel: <KernelId>::from_word(reader.word()?)?,
            dev: <i32>::from_word(reader.word()?)?,
        })
    }
}

/// The answer to `cuKernelGetAttribute`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuKernelGetAttributeAnswer {
    /// `pi`.
    pub pi: i32,
}
impl Answer for CuKernelGetAttributeAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.pi.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuKernelGetAttributeAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { pi: <i32>::from_word(reader.word()?)? })
    }
}

/// Call 84, `cuKernelSetAttribute`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuKernelSetAttribute {
    /// `attrib`.
    pub attrib: u32,
    /// `val`.
    pub val: i32,
    /// Id of a kernel.
    pub kernel: KernelId,
    /// `dev`.
    pub dev: i32,
}
impl<'a> Call<'a> for CuKernelSetAttribute {
    const OPCODE: u32 = 84;
    const NAME: &'static str = "cuKernelSetAttribute";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.attrib.to_word());
        writer.word(self.val.to_word());
        writer.word(self.kernel.to_word());
        writer.word(self.dev.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuKernelSetAttribute {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            attrib: <u32>::from_word(reader.word()?)?,
            val: <i32>::from_word(reader.word()?)?,
            kernel: <KernelId>::from_word(reader.word()?)?,
            dev: <i32>::from_word(reader.word()?)?,
        })
    }
}

/// Call 85, `cuFuncSetCacheConfig`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuFuncSetCacheConfig {
    /// Id of a function or a kernel.
    pub hfunc: FuncId,
    /// `config`.
    pub config: u32,
}
impl<'a> Call<'a> for CuFuncSetCacheConfig {
    const OPCODE: u32 = 85;
    const NAME: &'static str = "cuFuncSetCacheConfig";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.hfunc.to_word());
        writer.word(self.config.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuFuncSetCacheConfig {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            hfunc: <FuncId>::from_word(reader.word()?)?,
            config: <u32>::from_word(reader.word()?)?,
        })
    }
}

/// Call 86, `cuKernelSetCacheConfig`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuKernelSetCacheConfig {
    /// Id of a kernel.
    pub kernel: KernelId,
    /// `config`.
    pub config: u32,
    /// `dev`.
    pub dev: i32,
}
impl<'a> Call<'a> for CuKernelSetCacheConfig {
    const OPCODE: u32 = 86;
    const NAME: &'static str = "cuKernelSetCacheConfig";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.kernel.to_word());
        writer.word(self.config.to_word());
        writer.word(self.dev.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuKernelSetCacheConfig {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            kernel: <KernelId>::from_word(reader.word()?)?,
            config: <u32>::from_word(reader.word()?)?,
            dev: <i32>::from_word(reader.word()?)?,
        })
    }
}

/// Call 87, `cuLibraryGetKernelCount`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuLibraryGetKernelCount {
    /// Id of a library.
    pub lib: LibraryId,
}
impl<'a> Call<'a> for CuLibraryGetKernelCount {
    const OPCODE: u32 = 87;
    const NAME: &'static str = "cuLibraryGetKernelCount";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = CuLibraryGetKernelCountAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.lib.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuLibraryGetKernelCount {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { lib: <LibraryId>::from_word(reader.word()?)? })
    }
}

/// The answer to `cuLibraryGetKernelCount`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuLibraryGetKernelCountAnswer {
    /// `count`.
    pub count: u32,
}
impl Answer for CuLibraryGetKernelCountAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.count.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuLibraryGetKernelCountAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { count: <u32>::from_word(reader.word()?)? })
    }
}

/// Call 88, `vcudaLibraryKernelNames`.
///
/// names: in the driver's order. The guest then gets the kernels by name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaLibraryKernelNames {
    /// Id of a library.
    pub lib: LibraryId,
}
impl<'a> Call<'a> for VcudaLibraryKernelNames {
    const OPCODE: u32 = 88;
    const NAME: &'static str = "vcudaLibraryKernelNames";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = VcudaLibraryKernelNamesAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.lib.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaLibraryKernelNames {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { lib: <LibraryId>::from_word(reader.word()?)? })
    }
}

/// The answer to `vcudaLibraryKernelNames`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VcudaLibraryKernelNamesAnswer {
    /// `names`.
    pub names: Names,
}
impl Answer for VcudaLibraryKernelNamesAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.bytes(self.names.as_bytes());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl VcudaLibraryKernelNamesAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { names: Names::from_bytes(reader.bytes()?)? })
    }
}

/// Call 89, `cuModuleGetLoadingMode`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuModuleGetLoadingMode {}
impl<'a> Call<'a> for CuModuleGetLoadingMode {
    const OPCODE: u32 = 89;
    const NAME: &'static str = "cuModuleGetLoadingMode";
    const WAITED: bool = true;
    const BLOCKING: bool = false;
    type Answer = CuModuleGetLoadingModeAnswer;

    fn encode(&self, _writer: &mut Writer) {}
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        Reader::new(bytes).finish()?;
        Ok(Self {})
    }
}

/// The answer to `cuModuleGetLoadingMode`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuModuleGetLoadingModeAnswer {
    /// `mode`.
    pub mode: u32,
}
impl Answer for CuModuleGetLoadingModeAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.mode.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuModuleGetLoadingModeAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { mode: <u32>::from_word(reader.word()?)? })
    }
}

/// Call 90, `cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags {
    /// Id of a function or a kernel.
    pub func: FuncId,
    /// `blockSize`.
    pub block_size: i32,
    /// `dynamicSMemSize`.
    pub dynamic_s_mem_size: usize,
    /// `flags`.
    pub flags: u32,
}
impl<'a> Call<'a> for CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags {
    const OPCODE: u32 = 90;
    const NAME: &'static str = "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlagsAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.func.to_word());
        writer.word(self.block_size.to_word());
        writer.word(self.dynamic_s_mem_size.to_word());
        writer.word(self.flags.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            func: <FuncId>::from_word(reader.word()?)?,
            block_size: <i32>::from_word(reader.word()?)?,
            dynamic_s_mem_size: <usize>::from_word(reader.word()?)?,
            flags: <u32>::from_word(reader.word()?)?,
        })
    }
}

/// The answer to `cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlagsAnswer {
    /// `numBlocks`.
    pub num_blocks: i32,
}
impl Answer for CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlagsAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.num_blocks.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuOccupancyMaxActiveBlocksPerMultiprocessorWithFlagsAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { num_blocks: <i32>::from_word(reader.word()?)? })
    }
}

/// Call 91, `cuOccupancyAvailableDynamicSMemPerBlock`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuOccupancyAvailableDynamicSMemPerBlock {
    /// Id of a function or a kernel.
    pub func: FuncId,
    /// `numBlocks`.
    pub num_blocks: i32,
    /// `blockSize`.
    pub block_size: i32,
}
impl<'a> Call<'a> for CuOccupancyAvailableDynamicSMemPerBlock {
    const OPCODE: u32 = 91;
    const NAME: &'static str = "cuOccupancyAvailableDynamicSMemPerBlock";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = CuOccupancyAvailableDynamicSMemPerBlockAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.func.to_word());
        writer.word(self.num_blocks.to_word());
        writer.word(self.block_size.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuOccupancyAvailableDynamicSMemPerBlock {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            func: <FuncId>::from_word(reader.word()?)?,
            num_blocks: <i32>::from_word(reader.word()?)?,
            block_size: <i32>::from_word(reader.word()?)?,
        })
    }
}

/// The answer to `cuOccupancyAvailableDynamicSMemPerBlock`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuOccupancyAvailableDynamicSMemPerBlockAnswer {
    /// `dynamicSmemSize`.
    pub dynamic_smem_size: usize,
}
impl Answer for CuOccupancyAvailableDynamicSMemPerBlockAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.dynamic_smem_size.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuOccupancyAvailableDynamicSMemPerBlockAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { dynamic_smem_size: <usize>::from_word(reader.word()?)? })
    }
}

/// Call 92, `cuFuncLoad`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuFuncLoad {
    /// Id of a function or a kernel.
    pub hfunc: FuncId,
}
impl<'a> Call<'a> for CuFuncLoad {
    const OPCODE: u32 = 92;
    const NAME: &'static str = "cuFuncLoad";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.hfunc.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuFuncLoad {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { hfunc: <FuncId>::from_word(reader.word()?)? })
    }
}

/// Call 93, `cuFuncIsLoaded`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuFuncIsLoaded {
    /// Id of a function or a kernel.
    pub hfunc: FuncId,
}
impl<'a> Call<'a> for CuFuncIsLoaded {
    const OPCODE: u32 = 93;
    const NAME: &'static str = "cuFuncIsLoaded";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = CuFuncIsLoadedAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.hfunc.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuFuncIsLoaded {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { hfunc: <FuncId>::from_word(reader.word()?)? })
    }
}

/// The answer to `cuFuncIsLoaded`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CuFuncIsLoadedAnswer {
    /// `state`.
    pub state: u32,
}
impl Answer for CuFuncIsLoadedAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.state.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl CuFuncIsLoadedAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { state: <u32>::from_word(reader.word()?)? })
    }
}

/// Call 94, `vcudaOccupancyClusters`.
///
/// question: 0 for cuOccupancyMaxActiveClusters, 1 for cuOccupancyMaxPotentialClusterSize. The
/// attributes are those of a launch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaOccupancyClusters<'a> {
    /// `question`.
    pub question: u32,
    /// Id of a function or a kernel.
    pub f: FuncId,
    /// `gridX`.
    pub grid_x: u32,
    /// `gridY`.
    pub grid_y: u32,
    /// `gridZ`.
    pub grid_z: u32,
    /// `blockX`.
    pub block_x: u32,
    /// `blockY`.
    pub block_y: u32,
    /// `blockZ`.
    pub block_z: u32,
    /// `sharedMemBytes`.
    pub shared_mem_bytes: u32,
    /// `attributes`.
    pub attributes: Array<'a, LaunchAttribute>,
}
impl<'a> Call<'a> for VcudaOccupancyClusters<'a> {
    const OPCODE: u32 = 94;
    const NAME: &'static str = "vcudaOccupancyClusters";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = VcudaOccupancyClustersAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.question.to_word());
        writer.word(self.f.to_word());
        writer.word(self.grid_x.to_word());
        writer.word(self.grid_y.to_word());
        writer.word(self.grid_z.to_word());
        writer.word(self.block_x.to_word());
        writer.word(self.block_y.to_word());
        writer.word(self.block_z.to_word());
        writer.word(self.shared_mem_bytes.to_word());
        writer.array(self.attributes);
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl<'a> VcudaOccupancyClusters<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            question: <u32>::from_word(reader.word()?)?,
            f: <FuncId>::from_word(reader.word()?)?,
            grid_x: <u32>::from_word(reader.word()?)?,
            grid_y: <u32>::from_word(reader.word()?)?,
            grid_z: <u32>::from_word(reader.word()?)?,
            block_x: <u32>::from_word(reader.word()?)?,
            block_y: <u32>::from_word(reader.word()?)?,
            block_z: <u32>::from_word(reader.word()?)?,
            shared_mem_bytes: <u32>::from_word(reader.word()?)?,
            attributes: reader.array(crate::limits::LAUNCH_ATTRIBUTES_MAX)?,
        })
    }
}

/// The answer to `vcudaOccupancyClusters`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VcudaOccupancyClustersAnswer {
    /// `clusters`.
    pub clusters: i32,
}
impl Answer for VcudaOccupancyClustersAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.clusters.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl VcudaOccupancyClustersAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { clusters: <i32>::from_word(reader.word()?)? })
    }
}

/// Call 100, `vcudaLaunch`.
///
/// params: the parameter buffer, in the kernel's layout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaLaunch<'a> {
    /// Id of a function or a kernel.
    pub f: FuncId,
    /// `gridX`.
    pub grid_x: u32,
    /// `gridY`.
    pub grid_y: u32,
    /// `gridZ`.
    pub grid_z: u32,
    /// `blockX`.
    pub block_x: u32,
    /// `blockY`.
    pub block_y: u32,
    /// `blockZ`.
    pub block_z: u32,
    /// `sharedMemBytes`.
    pub shared_mem_bytes: u32,
    /// Id of a stream.
    pub h_stream: StreamId,
    /// `params`.
    pub params: &'a [u8],
    /// `attributes`.
    pub attributes: Array<'a, LaunchAttribute>,
}
impl<'a> Call<'a> for VcudaLaunch<'a> {
    const OPCODE: u32 = 100;
    const NAME: &'static str = "vcudaLaunch";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.f.to_word());
        writer.word(self.grid_x.to_word());
        writer.word(self.grid_y.to_word());
        writer.word(self.grid_z.to_word());
        writer.word(self.block_x.to_word());
        writer.word(self.block_y.to_word());
        writer.word(self.block_z.to_word());
        writer.word(self.shared_mem_bytes.to_word());
        writer.word(self.h_stream.to_word());
        writer.bytes(self.params.as_ref());
        writer.array(self.attributes);
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl<'a> VcudaLaunch<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            f: <FuncId>::from_word(reader.word()?)?,
            grid_x: <u32>::from_word(reader.word()?)?,
            grid_y: <u32>::from_word(reader.word()?)?,
            grid_z: <u32>::from_word(reader.word()?)?,
            block_x: <u32>::from_word(reader.word()?)?,
            block_y: <u32>::from_word(reader.word()?)?,
            block_z: <u32>::from_word(reader.word()?)?,
            shared_mem_bytes: <u32>::from_word(reader.word()?)?,
            h_stream: <StreamId>::from_word(reader.word()?)?,
            params: reader.bytes()?,
            attributes: reader.array(crate::limits::LAUNCH_ATTRIBUTES_MAX)?,
        })
    }
}

/// Call 101, `vcudaLaunchCooperative`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaLaunchCooperative<'a> {
    /// Id of a function or a kernel.
    pub f: FuncId,
    /// `gridX`.
    pub grid_x: u32,
    /// `gridY`.
    pub grid_y: u32,
    /// `gridZ`.
    pub grid_z: u32,
    /// `blockX`.
    pub block_x: u32,
    /// `blockY`.
    pub block_y: u32,
    /// `blockZ`.
    pub block_z: u32,
    /// `sharedMemBytes`.
    pub shared_mem_bytes: u32,
    /// Id of a stream.
    pub h_stream: StreamId,
    /// `params`.
    pub params: &'a [u8],
}
impl<'a> Call<'a> for VcudaLaunchCooperative<'a> {
    const OPCODE: u32 = 101;
    const NAME: &'static str = "vcudaLaunchCooperative";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.f.to_word());
        writer.word(self.grid_x.to_word());
        writer.word(self.grid_y.to_word());
        writer.word(self.grid_z.to_word());
        writer.word(self.block_x.to_word());
        writer.word(self.block_y.to_word());
        writer.word(self.block_z.to_word());
        writer.word(self.shared_mem_bytes.to_word());
        writer.word(self.h_stream.to_word());
        writer.bytes(self.params.as_ref());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl<'a> VcudaLaunchCooperative<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            f: <FuncId>::from_word(reader.word()?)?,
            grid_x: <u32>::from_word(reader.word()?)?,
            grid_y: <u32>::from_word(reader.word()?)?,
            grid_z: <u32>::from_word(reader.word()?)?,
            block_x: <u32>::from_word(reader.word()?)?,
            block_y: <u32>::from_word(reader.word()?)?,
            block_z: <u32>::from_word(reader.word()?)?,
            shared_mem_bytes: <u32>::from_word(reader.word()?)?,
            h_stream: <StreamId>::from_word(reader.word()?)?,
            params: reader.bytes()?,
        })
    }
}

/// Call 102, `vcudaHostFunc`.
///
/// The stream waits there until the guest has run its function. The ring's header tells the guest when
/// to run it, and the worker when it has run. (Numbers 103 and 104 were commands for that.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaHostFunc {
    /// Id of a stream.
    pub h_stream: StreamId,
    /// `token`.
    pub token: u64,
}
impl<'a> Call<'a> for VcudaHostFunc {
    const OPCODE: u32 = 102;
    const NAME: &'static str = "vcudaHostFunc";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_stream.to_word());
        writer.word(self.token.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl VcudaHostFunc {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            h_stream: <StreamId>::from_word(reader.word()?)?,
            token: <u64>::from_word(reader.word()?)?,
        })
    }
}

/// Call 110, `vcudaGraphInstantiate`.
///
/// The guest's library captures streams and builds graphs itself. graph: the encoding in
/// protocol::graph, inline or in a blob. Nodes are numbered in its order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaGraphInstantiate<'a> {
    /// Id of the new executable graph.
    pub exec: GraphExecId,
    /// `flags`.
    pub flags: u64,
    /// Id of a blob.
    pub blob: BlobId,
    /// `graph`.
    pub graph: &'a [u8],
}
impl<'a> Call<'a> for VcudaGraphInstantiate<'a> {
    const OPCODE: u32 = 110;
    const NAME: &'static str = "vcudaGraphInstantiate";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.exec.to_word());
        writer.word(self.flags.to_word());
        writer.word(self.blob.to_word());
        writer.bytes(self.graph.as_ref());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl<'a> VcudaGraphInstantiate<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            exec: <GraphExecId>::from_word(reader.word()?)?,
            flags: <u64>::from_word(reader.word()?)?,
            blob: <BlobId>::from_word(reader.word()?)?,
            graph: reader.bytes()?,
        })
    }
}

/// Call 111, `cuGraphExecDestroy`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuGraphExecDestroy {
    /// The executable graph that ends.
    pub h_graph_exec: GraphExecId,
}
impl<'a> Call<'a> for CuGraphExecDestroy {
    const OPCODE: u32 = 111;
    const NAME: &'static str = "cuGraphExecDestroy";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_graph_exec.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuGraphExecDestroy {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { h_graph_exec: <GraphExecId>::from_word(reader.word()?)? })
    }
}

/// Call 112, `cuGraphLaunch`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuGraphLaunch {
    /// Id of an executable graph.
    pub h_graph: GraphExecId,
    /// Id of a stream.
    pub h_stream: StreamId,
}
impl<'a> Call<'a> for CuGraphLaunch {
    const OPCODE: u32 = 112;
    const NAME: &'static str = "cuGraphLaunch";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_graph.to_word());
        writer.word(self.h_stream.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuGraphLaunch {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            h_graph: <GraphExecId>::from_word(reader.word()?)?,
            h_stream: <StreamId>::from_word(reader.word()?)?,
        })
    }
}

/// Call 113, `cuGraphUpload`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CuGraphUpload {
    /// Id of an executable graph.
    pub h_graph: GraphExecId,
    /// Id of a stream.
    pub h_stream: StreamId,
}
impl<'a> Call<'a> for CuGraphUpload {
    const OPCODE: u32 = 113;
    const NAME: &'static str = "cuGraphUpload";
    const WAITED: bool = false;
    const BLOCKING: bool = false;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.h_graph.to_word());
        writer.word(self.h_stream.to_word());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl CuGraphUpload {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            h_graph: <GraphExecId>::from_word(reader.word()?)?,
            h_stream: <StreamId>::from_word(reader.word()?)?,
        })
    }
}

/// Call 114, `vcudaGraphExecUpdate`.
///
/// result: a CUgraphExecUpdateResult; node: the number of a node of the new graph, or its number of
/// nodes if the result names none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaGraphExecUpdate<'a> {
    /// Id of an executable graph.
    pub exec: GraphExecId,
    /// Id of a blob.
    pub blob: BlobId,
    /// `graph`.
    pub graph: &'a [u8],
}
impl<'a> Call<'a> for VcudaGraphExecUpdate<'a> {
    const OPCODE: u32 = 114;
    const NAME: &'static str = "vcudaGraphExecUpdate";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = VcudaGraphExecUpdateAnswer;

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.exec.to_word());
        writer.word(self.blob.to_word());
        writer.bytes(self.graph.as_ref());
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl<'a> VcudaGraphExecUpdate<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            exec: <GraphExecId>::from_word(reader.word()?)?,
            blob: <BlobId>::from_word(reader.word()?)?,
            graph: reader.bytes()?,
        })
    }
}

/// The answer to `vcudaGraphExecUpdate`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VcudaGraphExecUpdateAnswer {
    /// `result`.
    pub result: u32,
    /// `node`.
    pub node: u32,
}
impl Answer for VcudaGraphExecUpdateAnswer {
    fn encode(&self, writer: &mut Writer) {
        writer.word(self.result.to_word());
        writer.word(self.node.to_word());
    }
    fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let answer = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(answer)
    }
}

impl VcudaGraphExecUpdateAnswer {
    fn take(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            result: <u32>::from_word(reader.word()?)?,
            node: <u32>::from_word(reader.word()?)?,
        })
    }
}

/// Call 115, `vcudaGraphExecNodeSet`.
///
/// step: the node's action from the next launch on, of the same kind as before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VcudaGraphExecNodeSet<'a> {
    /// Id of an executable graph.
    pub exec: GraphExecId,
    /// `node`.
    pub node: u32,
    /// `step`.
    pub step: Step<'a>,
}
impl<'a> Call<'a> for VcudaGraphExecNodeSet<'a> {
    const OPCODE: u32 = 115;
    const NAME: &'static str = "vcudaGraphExecNodeSet";
    const WAITED: bool = true;
    const BLOCKING: bool = true;
    type Answer = ();

    fn encode(&self, writer: &mut Writer) {
        writer.word(self.exec.to_word());
        writer.word(self.node.to_word());
        writer.nested(|writer| self.step.encode(writer));
    }
    fn decode(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let call = Self::take(&mut reader)?;
        reader.finish()?;
        Ok(call)
    }
}

impl<'a> VcudaGraphExecNodeSet<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            exec: <GraphExecId>::from_word(reader.word()?)?,
            node: <u32>::from_word(reader.word()?)?,
            step: reader.nested(Step::decode)?,
        })
    }
}
