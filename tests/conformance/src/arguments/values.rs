//! Numbers and enumerations: arguments that are passed by value.

use super::call::Argument;
use super::code::PTX;
use super::memory::{PAGE, VIRTUAL};
use super::objects::Objects;
use crate::cuda::Outcome;
use cuda_api::description::{canonical, enumeration};

impl Objects<'_> {
    /// Returns a valid argument for a parameter of the entry point.
    pub fn argument(&mut self, name: &str, type_: &str) -> Outcome<Argument> {
        let word = match type_ {
            "f32" => return Ok(Argument::Float(1.0)),
            "CUipcMemHandle" | "CUipcEventHandle" => return Ok(Argument::Structure(vec![0; 8])),
            // A location on the first device.
            "CUmemLocation" => 1,
            "CUdevice" => 0,
            _ if super::call::is_function(type_) => super::call::function(type_),
            _ if type_.starts_with('*') => self.pointer(name, type_)?,
            "CUdeviceptr" => self.address()?,
            // The low 32 bits, because the first versions of calls have 32-bit addresses.
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

    /// Returns a value of an enumeration.
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
            // 3 is the synchronization policy of a stream, and 8 the priority of a node.
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
            // No process has this number.
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
            // A context with such parameters needs NVIDIA's Multi-Process Service (MPS), so pass
            // none.
            "numParams" if self.named("Ctx") => 0,
            // The default texture unit.
            "texunit" => u64::from(u32::MAX),
            // A capture needs dependencies of its own.
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
