// The driver API functions that the attack calls. They are looked up by name, so that the program
// also runs with a driver that lacks some of them: a call of such a function returns
// CUDA_ERROR_NOT_SUPPORTED.
#pragma once

#include "../check.h"

#include <cuda.h>
#include <dlfcn.h>

inline void *libcuda() {
    static void *library = dlopen("libcuda.so.1", RTLD_NOW);
    REQUIRE(library != nullptr, "%s", dlerror());
    return library;
}

#define DRIVER(name, ...)                                                                          \
    template <typename... A> static CUresult name##_(A... arguments) {                             \
        static auto function =                                                                     \
            reinterpret_cast<CUresult (*)(__VA_ARGS__)>(dlsym(libcuda(), #name));                  \
        return function ? function(arguments...) : CUDA_ERROR_NOT_SUPPORTED;                       \
    }

// Functions for contexts.
DRIVER(cuInit, unsigned)
DRIVER(cuCtxCreate_v2, CUcontext *, unsigned, CUdevice)
DRIVER(cuCtxDestroy_v2, CUcontext)
DRIVER(cuCtxSetCurrent, CUcontext)
DRIVER(cuCtxSynchronize, void)
DRIVER(cuCtxSetLimit, CUlimit, size_t)
DRIVER(cuDeviceGetDevResource, CUdevice, CUdevResource *, CUdevResourceType)
DRIVER(cuDevSmResourceSplitByCount, CUdevResource *, unsigned *, const CUdevResource *,
       CUdevResource *, unsigned, unsigned)
DRIVER(cuDevResourceGenerateDesc, CUdevResourceDesc *, CUdevResource *, unsigned)
DRIVER(cuGreenCtxCreate, CUgreenCtx *, CUdevResourceDesc, CUdevice, unsigned)
DRIVER(cuGreenCtxDestroy, CUgreenCtx)
DRIVER(cuCtxFromGreenCtx, CUcontext *, CUgreenCtx)
DRIVER(cuStreamCreate, CUstream *, unsigned)
DRIVER(cuStreamDestroy_v2, CUstream)
DRIVER(cuStreamSynchronize, CUstream)
DRIVER(cuEventCreate, CUevent *, unsigned)
DRIVER(cuEventDestroy_v2, CUevent)
DRIVER(cuEventRecord, CUevent, CUstream)
// Functions for modules and launches.
DRIVER(cuModuleLoadData, CUmodule *, const void *)
DRIVER(cuModuleLoadDataEx, CUmodule *, const void *, unsigned, CUjit_option *, void **)
DRIVER(cuModuleUnload, CUmodule)
DRIVER(cuModuleGetFunction, CUfunction *, CUmodule, const char *)
DRIVER(cuLibraryLoadData, CUlibrary *, const void *, CUjit_option *, void **, unsigned, void *,
       void **, unsigned)
DRIVER(cuLibraryUnload, CUlibrary)
DRIVER(cuLibraryGetKernel, CUkernel *, CUlibrary, const char *)
DRIVER(cuLaunchKernel, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
       unsigned, CUstream, void **, void **)
DRIVER(cuLaunchKernelEx, const CUlaunchConfig *, CUfunction, void **, void **)
DRIVER(cuLaunchCooperativeKernel, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
       unsigned, unsigned, CUstream, void **)
// Functions for graphs.
DRIVER(cuStreamBeginCapture_v2, CUstream, CUstreamCaptureMode)
DRIVER(cuStreamEndCapture, CUstream, CUgraph *)
DRIVER(cuGraphCreate, CUgraph *, unsigned)
DRIVER(cuGraphDestroy, CUgraph)
DRIVER(cuGraphAddKernelNode_v2, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
       const CUDA_KERNEL_NODE_PARAMS *)
DRIVER(cuGraphAddChildGraphNode, CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUgraph)
DRIVER(cuGraphAddMemAllocNode, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
       CUDA_MEM_ALLOC_NODE_PARAMS *)
DRIVER(cuGraphAddMemFreeNode, CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUdeviceptr)
DRIVER(cuGraphAddNode_v2, CUgraphNode *, CUgraph, const CUgraphNode *, const CUgraphEdgeData *,
       size_t, CUgraphNodeParams *)
DRIVER(cuGraphConditionalHandleCreate, CUgraphConditionalHandle *, CUgraph, CUcontext, unsigned,
       unsigned)
DRIVER(cuGraphInstantiateWithFlags, CUgraphExec *, CUgraph, unsigned long long)
DRIVER(cuGraphExecDestroy, CUgraphExec)
DRIVER(cuGraphExecUpdate_v2, CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo *)
DRIVER(cuGraphExecKernelNodeSetParams_v2, CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS *)
DRIVER(cuGraphUpload, CUgraphExec, CUstream)
DRIVER(cuGraphLaunch, CUgraphExec, CUstream)
DRIVER(cuDeviceGraphMemTrim, CUdevice)
// Functions for memory.
DRIVER(cuMemGetInfo_v2, size_t *, size_t *)
DRIVER(cuMemAlloc_v2, CUdeviceptr *, size_t)
DRIVER(cuMemFree_v2, CUdeviceptr)
DRIVER(cuMemAllocManaged, CUdeviceptr *, size_t, unsigned)
DRIVER(cuMemPoolCreate, CUmemoryPool *, const CUmemPoolProps *)
DRIVER(cuMemPoolSetAttribute, CUmemoryPool, CUmemPool_attribute, void *)
DRIVER(cuMemPoolDestroy, CUmemoryPool)
DRIVER(cuMemAllocFromPoolAsync, CUdeviceptr *, size_t, CUmemoryPool, CUstream)
DRIVER(cuMemFreeAsync, CUdeviceptr, CUstream)
DRIVER(cuArray3DCreate_v2, CUarray *, const CUDA_ARRAY3D_DESCRIPTOR *)
DRIVER(cuArrayDestroy, CUarray)
DRIVER(cuMipmappedArrayCreate, CUmipmappedArray *, const CUDA_ARRAY3D_DESCRIPTOR *, unsigned)
DRIVER(cuMipmappedArrayDestroy, CUmipmappedArray)
DRIVER(cuTexObjectCreate, CUtexObject *, const CUDA_RESOURCE_DESC *, const CUDA_TEXTURE_DESC *,
       const CUDA_RESOURCE_VIEW_DESC *)
DRIVER(cuTexObjectDestroy, CUtexObject)
DRIVER(cuMemCreate, CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
       unsigned long long)
DRIVER(cuMemRelease, CUmemGenericAllocationHandle)
DRIVER(cuMemAddressReserve, CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long)
DRIVER(cuMemAddressFree, CUdeviceptr, size_t)
DRIVER(cuMemMap, CUdeviceptr, size_t, size_t, CUmemGenericAllocationHandle, unsigned long long)
DRIVER(cuMemUnmap, CUdeviceptr, size_t)
DRIVER(cuMemSetAccess, CUdeviceptr, size_t, const CUmemAccessDesc *, size_t)
DRIVER(cuMemExportToShareableHandle, void *, CUmemGenericAllocationHandle, CUmemAllocationHandleType,
       unsigned long long)
DRIVER(cuMemImportFromShareableHandle, CUmemGenericAllocationHandle *, void *,
       CUmemAllocationHandleType)
DRIVER(cuIpcGetMemHandle, CUipcMemHandle *, CUdeviceptr)
DRIVER(cuIpcOpenMemHandle_v2, CUdeviceptr *, CUipcMemHandle, unsigned)
DRIVER(cuIpcCloseMemHandle, CUdeviceptr)
DRIVER(cuMemHostRegister_v2, void *, size_t, unsigned)
DRIVER(cuMemHostUnregister, void *)
DRIVER(cuMemHostAlloc, void **, size_t, unsigned)
DRIVER(cuMemFreeHost, void *)
