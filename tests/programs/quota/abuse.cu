// Repeats an operation that may take GPU time without being charged for it.
//
//   abuse --kind KIND [--seconds S] [--start-at NS]
//
//   alloc      allocates and frees 4 GiB, which the driver clears
//   create     creates 2 GiB of physical memory, maps it, unmaps it, and releases it
//   pool       allocates and frees 1 GiB from a memory pool, in a stream
//   small      allocates and frees 64 times 4 MiB
//   array      allocates and frees an array of 4 GiB, and a mipmapped one of 1.3 GiB
//   texture    creates and destroys a texture object
//   register   registers and unregisters 256 MiB of host memory
//   pinned     allocates and frees 256 MiB of pinned memory
//   hostcopy   copies 64 MiB within pinned memory
//   hostset    sets 64 MiB of pinned memory
//   reads      copies 4 bytes from the GPU and records an event behind them, 50 times
//   context    creates and destroys a context
//   green      creates and destroys a green context
//   streams    creates and destroys 32 streams
//   image      loads and unloads machine code with a variable of almost 1 MiB that isn't zero
//   graph      instantiates a graph of 500 nodes and destroys it
//   stack      changes the stack size from 1 to 8 KiB and back
//   l2         resets the persisting lines of the L2 cache
//
// For launches from the device, see abusedynamic. The last line is JSON, with the number of operations
// per second.
#include "driver.h"

#include <cuda.h>

#include <functional>

using Operation = std::function<void()>;

// Finds a driver function. `version` is the CUDA version that introduced the type.
#define FIND(name) find<decltype(&name)>(#name, 12040)
template <typename Function> static Function find(const char *name, unsigned version) {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    CHECK(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result));
    REQUIRE(result == cudaDriverEntryPointSuccess, "the driver has no %s", name);
    return reinterpret_cast<Function>(found);
}

// Ends the program if a call of the driver API fails.
static void check(int result) { REQUIRE(result == CUDA_SUCCESS, "a driver function returned %d", result); }

static constexpr size_t MIB = 1 << 20, GIB = 1 << 30;

static cudaStream_t new_stream() {
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static char *pinned(size_t bytes) {
    void *memory;
    CHECK(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped));
    return static_cast<char *>(memory);
}

static Operation alloc() {
    return [] {
        void *memory;
        CHECK(cudaMalloc(&memory, 4 * GIB));
        CHECK(cudaFree(memory));
    };
}

static Operation pool() {
    return [stream = new_stream()] {
        void *memory;
        CHECK(cudaMallocAsync(&memory, GIB, stream));
        CHECK(cudaFreeAsync(memory, stream));
        CHECK(cudaStreamSynchronize(stream));
    };
}

static Operation small() {
    return [] {
        void *memory[64];
        for (void *&part : memory) {
            CHECK(cudaMalloc(&part, 4 * MIB));
        }
        for (void *part : memory) {
            CHECK(cudaFree(part));
        }
    };
}

static Operation create() {
    const auto make = FIND(cuMemCreate);
    const auto map = FIND(cuMemMap);
    const auto grant = FIND(cuMemSetAccess);
    const auto unmap = FIND(cuMemUnmap);
    const auto release = FIND(cuMemRelease);
    CUdeviceptr address;
    check(FIND(cuMemAddressReserve)(&address, 2 * GIB, 0, 0, 0));
    return [=] {
        CUmemAllocationProp properties = {};
        properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
        properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
        const CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        CUmemGenericAllocationHandle handle;
        check(make(&handle, 2 * GIB, &properties, 0));
        check(map(address, 2 * GIB, 0, handle, 0));
        check(grant(address, 2 * GIB, &access, 1));
        check(unmap(address, 2 * GIB));
        check(release(handle));
    };
}

static Operation array() {
    return [] {
        const cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
        cudaArray_t array;
        CHECK(cudaMallocArray(&array, &format, 16384, 16384));
        CHECK(cudaFreeArray(array));
        cudaMipmappedArray_t mipmapped;
        CHECK(cudaMallocMipmappedArray(&mipmapped, &format, make_cudaExtent(8192, 8192, 0), 14));
        CHECK(cudaFreeMipmappedArray(mipmapped));
    };
}

static Operation texture() {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float4>();
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    CHECK(cudaMallocArray(&resource.res.array.array, &format, 256, 256));
    return [resource] {
        const cudaTextureDesc description = {};
        cudaTextureObject_t texture;
        CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
        CHECK(cudaDestroyTextureObject(texture));
    };
}

static Operation registered() {
    void *const memory = std::aligned_alloc(2 * MIB, 256 * MIB);
    REQUIRE(memory != nullptr, "no memory");
    std::memset(memory, 1, 256 * MIB);
    return [memory] {
        CHECK(cudaHostRegister(memory, 256 * MIB, cudaHostRegisterDefault));
        CHECK(cudaHostUnregister(memory));
    };
}

static Operation host_alloc() {
    return [] { CHECK(cudaFreeHost(pinned(256 * MIB))); };
}

static Operation host_copy() {
    return [stream = new_stream(), from = pinned(64 * MIB), to = pinned(64 * MIB)] {
        CHECK(cudaMemcpyAsync(to, from, 64 * MIB, cudaMemcpyDefault, stream));
        CHECK(cudaStreamSynchronize(stream));
    };
}

static Operation host_set() {
    return [stream = new_stream(), memory = pinned(64 * MIB)] {
        CHECK(cudaMemsetAsync(memory, 1, 64 * MIB, stream));
        CHECK(cudaStreamSynchronize(stream));
    };
}

static Operation reads() {
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    void *memory;
    CHECK(cudaMalloc(&memory, 4));
    return [=, stream = new_stream(), to = pinned(4)] {
        for (int i = 0; i < 50; ++i) {
            CHECK(cudaMemcpyAsync(to, memory, 4, cudaMemcpyDeviceToHost, stream));
            CHECK(cudaEventRecord(event, stream));
        }
        CHECK(cudaStreamSynchronize(stream));
    };
}

static Operation context() {
    // Use the version of the function from CUDA 3.2, which has the fewest parameters.
    const auto make = find<CUresult (*)(CUcontext *, unsigned, CUdevice)>("cuCtxCreate", 3020);
    const auto destroy = FIND(cuCtxDestroy);
    return [=] {
        CUcontext context;
        check(make(&context, 0, 0));
        check(destroy(context));
    };
}

static Operation green() {
    const auto make = FIND(cuGreenCtxCreate);
    const auto destroy = FIND(cuGreenCtxDestroy);
    CUdevResource all;
    CUdevResourceDesc description;
    check(FIND(cuDeviceGetDevResource)(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    check(FIND(cuDevResourceGenerateDesc)(&description, &all, 1));
    return [=] {
        CUgreenCtx context;
        const CUresult made = make(&context, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
        // The driver keeps 4 MiB of each destroyed green context as long as the primary context exists.
        if (made == CUDA_ERROR_OUT_OF_MEMORY) {
            CHECK(cudaDeviceReset());
            return;
        }
        check(made);
        check(destroy(context));
    };
}

static Operation streams() {
    return [] {
        cudaStream_t streams[32];
        for (cudaStream_t &stream : streams) {
            stream = new_stream();
        }
        // The guest library may only have queued the calls that create the streams, so wait until
        // the streams exist.
        CHECK(cudaStreamSynchronize(streams[31]));
        for (const cudaStream_t stream : streams) {
            CHECK(cudaStreamDestroy(stream));
        }
    };
}

static Operation image() {
    // Larger variables wait for the VM's window.
    std::string text = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .global .b64 v[131000] = {1";
    for (int i = 1; i < 131000; ++i) {
        text += ",1";
    }
    text += "};\n.visible .entry k()\n{\nret;\n}\n";
    const Driver driver;
    void *linker, *code;
    size_t bytes;
    check(driver.link(0, nullptr, nullptr, &linker));
    check(driver.add(linker, CU_JIT_INPUT_PTX, text.c_str(), text.size() + 1, "m", 0, nullptr, nullptr));
    check(driver.complete(linker, &code, &bytes));
    return [=] {
        void *module, *kernel;
        check(driver.load(&module, code));
        check(driver.function(&kernel, module, "k"));
        check(driver.unload(module));
    };
}

static Operation graph() {
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0));
    cudaMemsetParams set = {};
    set.elementSize = 1;
    set.width = set.pitch = 4096;
    set.height = 1;
    CHECK(cudaMalloc(&set.dst, set.width));
    cudaGraphNode_t node;
    for (int i = 0; i < 500; ++i) {
        CHECK(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &set));
    }
    return [graph] {
        cudaGraphExec_t exec;
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        CHECK(cudaGraphExecDestroy(exec));
    };
}

static Operation stack() {
    return [] {
        CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 8 << 10));
        CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 1 << 10));
    };
}

static Operation l2() {
    return [] { CHECK(cudaCtxResetPersistingL2Cache()); };
}

int main(int argc, char **argv) {
    const std::map<std::string, Operation (*)()> kinds = {
        {"alloc", alloc},         {"create", create},   {"pool", pool},
        {"small", small},         {"array", array},     {"texture", texture},
        {"register", registered}, {"pinned", host_alloc}, {"hostcopy", host_copy},
        {"hostset", host_set},    {"reads", reads},     {"context", context},
        {"green", green},         {"streams", streams}, {"image", image},
        {"graph", graph},         {"stack", stack},     {"l2", l2},
    };
    Options options(argc, argv);
    const std::string kind = options.text("kind", "");
    const double seconds = options.number("seconds", 5);
    const int64_t start_at = options.nanoseconds("start-at");
    options.finish();
    REQUIRE(kinds.count(kind) == 1, "there is no --kind %s", kind.c_str());
    CHECK(cudaFree(nullptr));
    const Operation operation = kinds.at(kind)();
    operation();
    sleep_until(start_at);
    const int64_t start = now_ns(), until = start + ns(seconds);
    uint64_t done = 0;
    for (; now_ns() < until; ++done) {
        operation();
    }
    std::printf("{\"program\":\"abuse\",\"kind\":\"%s\",\"operations\":%llu,\"per_second\":%.1f}\n", kind.c_str(),
                static_cast<unsigned long long>(done), done / ((now_ns() - start) / 1e9));
    return 0;
}
