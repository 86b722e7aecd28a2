//! Argument values that are addresses of structures that calls read. For structures that calls only
//! write, see the module `pointers`.

use super::memory::{DEVICE, FILE, PAGE, READ_WRITE, VIRTUAL, physical, pool};
use super::objects::{Objects, keep};
use crate::cuda::{Outcome, cu};
use crate::images::{floats, of_array, plain};
use cuda_api::sys::{
    CUDA_ARRAY_DESCRIPTOR, CUDA_BATCH_MEM_OP_NODE_PARAMS, CUDA_HOST_NODE_PARAMS,
    CUDA_KERNEL_NODE_PARAMS, CUDA_LAUNCH_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEMCPY2D,
    CUDA_MEMCPY3D, CUDA_MEMCPY3D_PEER, CUDA_MEMSET_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v2,
    CUarray_format, CUdevResource, CUdevResourceType, CUgraphNodeParams, CUgraphNodeType,
    CUlaunchConfig, CUmemcpyAttributes, CUmemcpySrcAccessOrder, CUmemorytype,
    CUmulticastObjectProp, CUstreamBatchMemOpParams, CUstreamBatchMemOpType,
};
use std::ffi::c_void;
use std::ptr::null;

const MEMORY: CUmemorytype = CUmemorytype::CU_MEMORYTYPE_DEVICE;

unsafe extern "C" fn nothing(_: *mut c_void) {}

impl Objects<'_> {
    /// Returns the address of a structure of this type.
    pub fn structure(&mut self, type_: &str) -> Outcome<u64> {
        let cuda = self.cuda;
        Ok(match type_ {
            "CUDA_ARRAY3D_DESCRIPTOR" => keep(floats([16, 4, 0], 0)),
            "CUDA_ARRAY_DESCRIPTOR" => keep(CUDA_ARRAY_DESCRIPTOR {
                Width: 16,
                Height: 4,
                Format: CUarray_format::CU_AD_FORMAT_FLOAT,
                NumChannels: 1,
            }),
            // In the first versions of these structures, sizes have 32 bits.
            "CUDA_ARRAY3D_DESCRIPTOR_v1" => keep([16u32, 4, 0, 0x20, 1, 0]),
            "CUDA_ARRAY_DESCRIPTOR_v1" => keep([16u32, 4, 0x20, 1]),
            "CUDA_MEMCPY2D" => keep(CUDA_MEMCPY2D {
                srcMemoryType: MEMORY,
                srcDevice: cuda.alloc(PAGE)?,
                srcPitch: 64,
                dstMemoryType: MEMORY,
                dstDevice: cuda.alloc(PAGE)?,
                dstPitch: 64,
                WidthInBytes: 16,
                Height: 2,
                ..Default::default()
            }),
            "CUDA_MEMCPY3D" => keep(CUDA_MEMCPY3D {
                srcMemoryType: MEMORY,
                srcDevice: cuda.alloc(PAGE)?,
                srcPitch: 64,
                srcHeight: 4,
                dstMemoryType: MEMORY,
                dstDevice: cuda.alloc(PAGE)?,
                dstPitch: 64,
                dstHeight: 4,
                WidthInBytes: 16,
                Height: 2,
                Depth: 1,
                ..Default::default()
            }),
            "CUDA_MEMCPY3D_PEER" => keep(CUDA_MEMCPY3D_PEER {
                srcMemoryType: MEMORY,
                srcDevice: cuda.alloc(PAGE)?,
                srcContext: cuda.primary()?.1,
                srcPitch: 64,
                srcHeight: 4,
                dstMemoryType: MEMORY,
                dstDevice: cuda.alloc(PAGE)?,
                dstContext: cuda.primary()?.1,
                dstPitch: 64,
                dstHeight: 4,
                WidthInBytes: 16,
                Height: 2,
                Depth: 1,
                ..Default::default()
            }),
            "CUmemcpyAttributes" => keep(CUmemcpyAttributes {
                srcAccessOrder: CUmemcpySrcAccessOrder::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
                srcLocHint: DEVICE,
                dstLocHint: DEVICE,
                flags: 0,
            }),
            "CUDA_MEMCPY3D_BATCH_OP" => self.batch_copy()?,
            "CUDA_MEMSET_NODE_PARAMS" => keep(self.fill_parameters()?),
            "CUDA_HOST_NODE_PARAMS" => {
                keep(CUDA_HOST_NODE_PARAMS { fn_: Some(nothing), userData: keep(0u64) as *mut _ })
            }
            "CUDA_KERNEL_NODE_PARAMS" | "CUDA_KERNEL_NODE_PARAMS_v1" => {
                keep(CUDA_KERNEL_NODE_PARAMS {
                    func: self.code("CUfunction")? as *mut _,
                    gridDimX: 1,
                    gridDimY: 1,
                    gridDimZ: 1,
                    blockDimX: 1,
                    blockDimY: 1,
                    blockDimZ: 1,
                    kernelParams: keep([keep(0u64)]) as *mut _,
                    ..Default::default()
                })
            }
            "CUDA_LAUNCH_PARAMS" => keep(CUDA_LAUNCH_PARAMS {
                function: self.code("CUfunction")? as *mut _,
                gridDimX: 1,
                gridDimY: 1,
                gridDimZ: 1,
                blockDimX: 1,
                blockDimY: 1,
                blockDimZ: 1,
                sharedMemBytes: 0,
                hStream: self.stream()? as *mut _,
                kernelParams: keep([keep(0u64)]) as *mut _,
            }),
            "CUlaunchConfig" => keep(CUlaunchConfig {
                gridDimX: 1,
                gridDimY: 1,
                gridDimZ: 1,
                blockDimX: 1,
                blockDimY: 1,
                blockDimZ: 1,
                hStream: self.stream()? as *mut _,
                ..Default::default()
            }),
            "CUDA_MEM_ALLOC_NODE_PARAMS" => keep(CUDA_MEM_ALLOC_NODE_PARAMS {
                poolProps: pool_of_graphs(),
                accessDescs: null(),
                accessDescCount: 0,
                bytesize: PAGE,
                dptr: 0,
            }),
            "CUstreamBatchMemOpParams" => keep(self.write()?),
            "CUDA_BATCH_MEM_OP_NODE_PARAMS" => keep(CUDA_BATCH_MEM_OP_NODE_PARAMS {
                ctx: cuda.primary()?.1,
                count: 1,
                paramArray: keep(self.write()?) as *mut _,
                flags: 0,
            }),
            "CUgraphNodeParams" => {
                let mut parameters = CUgraphNodeParams {
                    type_: CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET,
                    ..Default::default()
                };
                let fill = self.fill_parameters()?;
                parameters.__bindgen_anon_1.memset = CUDA_MEMSET_NODE_PARAMS_v2 {
                    dst: fill.dst,
                    pitch: fill.pitch,
                    value: fill.value,
                    elementSize: fill.elementSize,
                    width: fill.width,
                    height: fill.height,
                    ctx: cuda.primary()?.1,
                };
                keep(parameters)
            }
            "CUmemAllocationProp" => keep(physical()),
            "CUmemAccessDesc" => keep(READ_WRITE),
            "CUmemLocation" => keep(DEVICE),
            "CUmemPoolProps" => keep(pool()),
            "CUmemPoolPtrExportData" => {
                let data = keep([0u8; 64]);
                if self.named("ImportPointer") {
                    let address = self.pool_memory()?;
                    cu!(cuda, cuMemPoolExportPointer(data as *mut _, address))?;
                }
                data
            }
            "CUmulticastObjectProp" => keep(CUmulticastObjectProp {
                numDevices: 1,
                size: VIRTUAL,
                handleTypes: FILE.0 as u64,
                flags: 0,
            }),
            "CUDA_RESOURCE_DESC" => keep(of_array(self.image("CUarray")? as _)),
            "CUDA_TEXTURE_DESC" => keep(plain()),
            // The format (one 32-bit float), and the width, height, and depth of the array that
            // `array` creates.
            "CUDA_RESOURCE_VIEW_DESC" => keep([0x16u64, 16, 4, 0, 0]),
            "CUdevResource" => {
                let mut resource = CUdevResource::default();
                let kind = CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM;
                cu!(cuda, cuDeviceGetDevResource(0, &mut resource, kind))?;
                keep([resource; 2])
            }
            // The UUID of the private function table with which CUDA's runtime manages the primary
            // context.
            "CUuuid" if self.named("ExportTable") => keep([
                0x6bu8, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a, 0x89, 0x87, 0xd9, 0x39, 0x12,
                0xfd, 0x9d, 0xf9,
            ]),
            // CU_JIT_OPTIMIZATION_LEVEL.
            "CUjit_option" => keep([7u32; 2]),
            "CUlibraryOption" => keep([1u32; 2]),
            "CUpointer_attribute" => keep([2u32; 2]),
            // 1 is CU_SYNC_POLICY_AUTO, which is valid for the synchronization policy of a stream.
            "CUstreamAttrValue" => keep([1u32; 16]),
            "CUmem_range_attribute" => keep([1u32; 2]),
            _ => keep([0u64; 16]),
        })
    }

    fn fill_parameters(&mut self) -> Outcome<CUDA_MEMSET_NODE_PARAMS> {
        let dst = self.shared("filled", |objects| objects.cuda.alloc(PAGE))?;
        Ok(CUDA_MEMSET_NODE_PARAMS { dst, pitch: 0, value: 1, elementSize: 4, width: 4, height: 1 })
    }

    /// Returns an operation that writes a 32-bit value.
    fn write(&mut self) -> Outcome<CUstreamBatchMemOpParams> {
        let mut operation = CUstreamBatchMemOpParams { pad: [0; 6] };
        operation.writeValue.operation = CUstreamBatchMemOpType::CU_STREAM_MEM_OP_WRITE_VALUE_32;
        operation.writeValue.address = self.cuda.alloc(PAGE)?;
        Ok(operation)
    }

    fn batch_copy(&mut self) -> Outcome<u64> {
        let location = 1u64;
        let (from, to) = (self.cuda.alloc(PAGE)?, self.cuda.alloc(PAGE)?);
        // Two operands of type 1 (pointer), followed by the extent of the copy. An operand consists
        // of its type, the address, a row length and a layer height of 0, which mean that there is
        // no padding, and the location.
        let operand = |at| [1u64, at, 0, 0, location];
        let mut words = [operand(from), operand(to)].concat();
        words.extend([16u64, 1, 1, 1]);
        let words: [u64; 14] = std::array::from_fn(|at| words[at]);
        Ok(keep(words))
    }
}

/// Returns the properties of memory that a graph allocates. Unlike other pool memory, it can't be
/// exported.
fn pool_of_graphs() -> cuda_api::sys::CUmemPoolProps {
    cuda_api::sys::CUmemPoolProps {
        handleTypes: cuda_api::sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
        ..pool()
    }
}
