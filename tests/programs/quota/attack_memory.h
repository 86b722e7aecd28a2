// Attacks with every way to allocate memory, including memory that other processes open.
#pragma once

#include "attack_tenant.h"

class Memory {
  public:
    explicit Memory(Tenant &tenant) : tenant_(tenant) {
    }

    void any() {
        // Sharing takes two processes that try it at the same time, so try it more often.
        if (tenant_.report().processes > 1 && tenant_.random(2)) {
            return tenant_.random(2) ? ipc_own() : ipc_other();
        }
        switch (tenant_.random(8)) {
        case 0:
            return device();
        case 1:
            return pool();
        case 2:
            return managed();
        case 3:
            return arrays();
        case 4:
            return physical();
        case 5:
            return ipc_own();
        case 6:
            return ipc_other();
        default:
            return host();
        }
    }

  private:
    size_t some_bytes() { return (1 + tenant_.random(512)) * MIB; }

    void device() {
        std::vector<CUdeviceptr> all;
        for (int i = 0; i < 16 && !tenant_.over(); ++i) {
            CUdeviceptr memory;
            // Half of the allocations are small, because the driver puts many small allocations
            // into one block.
            const size_t bytes = tenant_.random(2) ? some_bytes() : 1 + tenant_.random(64 << 10);
            if (tenant_.did(ALLOCATE, cuMemAlloc_v2_(&memory, bytes), bytes) == CUDA_SUCCESS) {
                all.push_back(memory);
            }
        }
        for (CUdeviceptr memory : all) {
            tenant_.call(cuMemFree_v2_(memory));
        }
    }

    // Allocates from a pool that keeps all of its memory when allocations are freed.
    void pool() {
        CUmemPoolProps properties{};
        properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        CUmemoryPool pool;
        if (tenant_.did(POOL, cuMemPoolCreate_(&pool, &properties)) != CUDA_SUCCESS) {
            return;
        }
        cuuint64_t keep = UINT64_MAX;
        tenant_.call(cuMemPoolSetAttribute_(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep));
        for (int i = 0; i < 8 && !tenant_.over(); ++i) {
            CUdeviceptr memory;
            const size_t bytes = some_bytes();
            if (tenant_.did(POOL_ALLOCATE,
                            cuMemAllocFromPoolAsync_(&memory, bytes, pool, nullptr), bytes) ==
                CUDA_SUCCESS) {
                tenant_.call(cuMemFreeAsync_(memory, nullptr));
            }
        }
        tenant_.call(cuStreamSynchronize_(nullptr));
        tenant_.call(cuMemPoolDestroy_(pool));
    }

    void managed() {
        CUdeviceptr memory;
        const size_t bytes = some_bytes();
        if (tenant_.did(MANAGED, cuMemAllocManaged_(&memory, bytes, CU_MEM_ATTACH_GLOBAL), bytes) ==
            CUDA_SUCCESS) {
            tenant_.call(cuMemFree_v2_(memory));
        }
    }

    void arrays() {
        CUDA_ARRAY3D_DESCRIPTOR shape{};
        shape.Width = 64 + tenant_.random(1024);
        shape.Height = 64 + tenant_.random(1024);
        shape.Depth = tenant_.random(2) ? 0 : 1 + tenant_.random(64);
        shape.Format = CU_AD_FORMAT_FLOAT;
        shape.NumChannels = 4;
        CUarray array;
        if (tenant_.did(ARRAY, cuArray3DCreate_v2_(&array, &shape)) == CUDA_SUCCESS) {
            CUDA_RESOURCE_DESC resource{};
            resource.resType = CU_RESOURCE_TYPE_ARRAY;
            resource.res.array.hArray = array;
            CUDA_TEXTURE_DESC sampling{};
            CUtexObject texture;
            for (int i = 0; i < 4; ++i) {
                if (tenant_.did(TEXTURE, cuTexObjectCreate_(&texture, &resource, &sampling,
                                                            nullptr)) == CUDA_SUCCESS) {
                    tenant_.call(cuTexObjectDestroy_(texture));
                }
            }
            tenant_.call(cuArrayDestroy_(array));
        }
        CUmipmappedArray levels;
        shape.Depth = 0;
        if (tenant_.did(MIPMAP, cuMipmappedArrayCreate_(&levels, &shape, 4)) == CUDA_SUCCESS) {
            tenant_.call(cuMipmappedArrayDestroy_(levels));
        }
    }

    // Creates physical memory, which stays allocated while a mapping or an imported handle of it
    // exists.
    void physical() {
        CUmemAllocationProp properties{};
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        const size_t bytes = (1 + tenant_.random(64)) * 2 * MIB;
        CUmemGenericAllocationHandle memory, imported;
        CUdeviceptr address = 0;
        int file = -1;
        if (tenant_.did(PHYSICAL, cuMemCreate_(&memory, bytes, &properties, 0), bytes) !=
            CUDA_SUCCESS) {
            return;
        }
        const bool reserved = tenant_.call(cuMemAddressReserve_(&address, bytes, 0, 0, 0));
        const bool mapped =
            reserved && tenant_.did(MAP, cuMemMap_(address, bytes, 0, memory, 0)) == CUDA_SUCCESS;
        if (mapped) {
            CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                   CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
            tenant_.call(cuMemSetAccess_(address, bytes, &access, 1));
        }
        if (tenant_.did(EXPORT, cuMemExportToShareableHandle_(
                                    &file, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)) ==
            CUDA_SUCCESS) {
            tenant_.call(cuMemRelease_(memory));
            if (tenant_.did(IMPORT, cuMemImportFromShareableHandle_(
                                        &imported, reinterpret_cast<void *>((intptr_t)file),
                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)) == CUDA_SUCCESS) {
                tenant_.call(cuMemRelease_(imported));
            }
            close(file);
        } else {
            tenant_.call(cuMemRelease_(memory));
        }
        if (mapped) {
            tenant_.call(cuMemUnmap_(address, bytes));
        }
        if (reserved) {
            tenant_.call(cuMemAddressFree_(address, bytes));
        }
    }

    // Exports memory to the other processes for a short time, and frees it while they may have it
    // open.
    void ipc_own() {
        CUdeviceptr memory;
        CUipcMemHandle handle;
        const size_t bytes = (1 + tenant_.random(64)) * 2 * MIB;
        if (!tenant_.call(cuMemAlloc_v2_(&memory, bytes))) {
            return;
        }
        if (tenant_.did(IPC, cuIpcGetMemHandle_(&handle, memory)) == CUDA_SUCCESS) {
            Report &report = tenant_.report();
            const size_t at = tenant_.random(Report::SHARED_HANDLES);
            int nobody = 0;
            if (report.processes > 1 && report.owners[at].compare_exchange_strong(nobody, -1)) {
                report.handles[at] = handle;
                report.owners[at] = getpid();
                // Wait until another process has opened the memory. This can take long, because the
                // other processes may be in slow calls.
                for (int i = 0; i < 300 && report.owners[at] == getpid() && !tenant_.over(); ++i) {
                    usleep(10000);
                }
                report.owners[at] = 0;
            }
        }
        tenant_.call(cuMemFree_v2_(memory));
    }

    void ipc_other() {
        // Processes export memory only rarely, so wait until one does.
        for (int i = 0; i < 50 && tenant_.report().processes > 1 && !tenant_.over(); ++i) {
            if (open_offers()) {
                return;
            }
            usleep(10000);
        }
    }

    // Opens the memory that other processes have exported. Returns whether there was any.
    bool open_offers() {
        Report &report = tenant_.report();
        bool any = false;
        for (int at = 0; at < Report::SHARED_HANDLES; ++at) {
            int owner = report.owners[at];
            CUdeviceptr memory;
            if (owner <= 0 || owner == getpid()) {
                continue;
            }
            any = true;
            const bool opened =
                tenant_.did(IPC_OPEN,
                            cuIpcOpenMemHandle_v2_(&memory, report.handles[at],
                                                   CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)) ==
                CUDA_SUCCESS;
            // Record that the memory was opened. The owner may free it from now on, even while it
            // is open here.
            report.owners[at].compare_exchange_strong(owner, 0);
            if (opened) {
                tenant_.call(cuIpcCloseMemHandle_(memory));
            }
        }
        return any;
    }

    void host() {
        const size_t bytes = (1 + tenant_.random(16)) * MIB;
        void *own = aligned_alloc(4096, bytes), *pinned;
        if (own != nullptr) {
            // Write to the pages, so that they exist before they are registered.
            std::memset(own, 1, bytes);
            if (tenant_.did(REGISTER,
                            cuMemHostRegister_v2_(own, bytes, CU_MEMHOSTREGISTER_DEVICEMAP)) ==
                CUDA_SUCCESS) {
                tenant_.call(cuMemHostUnregister_(own));
            }
            free(own);
        }
        if (tenant_.did(PINNED, cuMemHostAlloc_(&pinned, bytes, CU_MEMHOSTALLOC_DEVICEMAP)) ==
            CUDA_SUCCESS) {
            tenant_.call(cuMemFreeHost_(pinned));
        }
    }

    Tenant &tenant_;
};
