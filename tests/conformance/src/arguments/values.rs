//! Argument values that are numbers or enumeration values.

use super::call::Argument;
use super::code::PTX;
use super::memory::{PAGE, VIRTUAL};
use super::objects::Objects;
use crate::cuda::Outcome;
use cuda_api::description::{canonical, enumeration};

impl Objects<'_> {
    /// Returns a valid argument for a parameter with this name and type.
    pub fn argument(&mut self, name: &str, type_: &str) -> Outcome<Argument> {
        let word = match type_ {
            "f32" => return Ok(Argument::Float(1.0)),
            "CUipcMemHandle" | "CUipcEventHandle" => return Ok(Argument::Structure(vec![0; 8])),
            // The location of type CU_MEM_LOCATION_TYPE_DEVICE (1) with id 0, which is the first
            // device.
            "CUmemLocation" => 1,
            "CUdevice" => 0,
            _ if super::call::is_function(type_) => super::call::function(type_),
            _ if type_.starts_with('*') => self.pointer(name, type_)?,
            "CUdeviceptr" => self.address()?,
            // In the first versions of calls, device addresses have 32 bits, so pass the lower
            // half.
            "CUdeviceptr_v1" => self.address()? & 0xffff_ffff,
            "CUmemGenericAllocationHandle" => self.physical()?,
            _ if enumeration(type_).is_some() => self.choice(type_),
            _ if matches!(canonical(type_), "u8" | "u16" | "u32" | "u64" | "usize" | "i32")
                && !type_.starts_with("CU") =>
            {
                self.number(name)
            }
            _ => self.object(name, type_)?,
        };
        Ok(Argument::Word(word))
    }

    /// Returns a valid value of an enumeration.
    fn choice(&self, type_: &str) -> u64 {
        let sets = self.named("Set");
        match type_ {
            "CUaddress_mode" | "CUfilter_mode" | "CUlimit" | "CUsharedconfig" | "CUfunc_cache" => 0,
            "CUfunction_attribute" => {
                if sets {
                    8
                } else {
                    0
                }
            }
            "CUpointer_attribute" => {
                if sets {
                    6
                } else {
                    2
                }
            }
            "CUstreamCaptureMode" => 2,
            "CUmemPool_attribute" => 4,
            "CUgraphMem_attribute" => 1,
            "CUarray_format" => 0x20,
            "CUtensorMapDataType" => 7,
            "CUflushGPUDirectRDMAWritesScope" => 100,
            // Attribute 3 is the synchronization policy of a stream. Attribute 8 is the priority of
            // a kernel node.
            "CUlaunchAttributeID" | "CUstreamAttrID" => 3,
            "CUkernelNodeAttrID" => 8,
            "CUexecAffinityType" | "CUtensorMapInterleave" | "CUtensorMapSwizzle" => 0,
            "CUtensorMapL2promotion" | "CUtensorMapFloatOOBfill" | "CUtensorMapIm2ColWideMode" => 0,
            "CUflushGPUDirectRDMAWritesTarget" | "CUoutput_mode" => 0,
            "CUmemAllocationGranularity_flags" | "CUmulticastGranularity_flags" => 0,
            _ => 1,
        }
    }

    fn number(&self, name: &str) -> u64 {
        let page = PAGE as u64;
        match name {
            "flags" | "Flags" | "useFlags" => match self.function {
                "cuMemAllocManaged"
                | "cuGreenCtxCreate"
                | "cuGreenCtxStreamCreate"
                | "cuUserObjectCreate"
                | "cuStreamAttachMemAsync"
                | "cuIpcOpenMemHandle"
                | "cuIpcOpenMemHandle_v2"
                | "cuTexRefSetArray"
                | "cuTexRefSetMipmappedArray" => 1,
                _ => 0,
            },
            // A process ID that doesn't exist.
            "pid" => i32::MAX as u64,
            "driverVersion" => 13000,
            "size" if self.named("Link") => PTX.count_bytes() as u64 + 1,
            "size" => VIRTUAL as u64,
            "count" if self.named("Batch") => 1,
            "count" if self.named("Advise") || self.named("Prefetch") || self.named("Range") => {
                page
            }
            "bytesize" | "length" => page,
            "bytes" if self.named("TexRef") => 4096,
            "len" => 64,
            "value" | "val" if self.named("Attribute") || self.named("Limit") => 1024,
            "dataSize" => 4,
            "ByteCount" | "Width" | "WidthInBytes" => 16,
            "dstPitch" | "Pitch" => 512,
            "ElementSizeBytes" | "N" => 4,
            "blockSize" => 32,
            "numbytes" => 8,
            "tensorRank" if self.named("Tiled") => 2,
            "tensorRank" => 3,
            "channelsPerPixel" | "pixelsPerColumn" => 16,
            // An execution affinity needs NVIDIA's Multi-Process Service (MPS), so create the
            // context without affinity parameters.
            "numParams" if self.named("Ctx") => 0,
            // CU_PARAM_TR_DEFAULT, the only texture unit that the API allows.
            "texunit" => u64::from(u32::MAX),
            // New dependencies must be nodes of the graph that is being captured, which doesn't
            // have any, so pass none.
            "numDependencies" if self.named("cuStreamUpdate") => 0,
            "alignment"
            | "offset"
            | "addr"
            | "dstOffset"
            | "srcOffset"
            | "paramIndex"
            | "planeIdx"
            | "level"
            | "sharedMemBytes"
            | "dynamicSMemSize"
            | "blockSizeLimit"
            | "priority"
            | "ordinal"
            | "dim"
            | "minBytesToKeep"
            | "mcOffset"
            | "memOffset"
            | "value"
            | "defaultLaunchValue"
            | "bufferSize"
            | "pixelBoxLowerCornerWidth"
            | "pixelBoxUpperCornerWidth" => 0,
            _ => 1,
        }
    }
}
