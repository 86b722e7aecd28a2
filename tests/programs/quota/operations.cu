// Repeats an operation that isn't a kernel, to find out whether it takes GPU time from other VMs.
//
//   operations --kind events|events-behind-copies|waits|writes|values|hostfuncs|alloc|pool|module|
//       memset|read|fill|persist [--seconds S] [--start-at NS]
//
// events records an event in a stream, 50 times before it waits for the stream; with
// events-behind-copies, the stream copies 1 MiB to the GPU first. waits makes the stream wait for an
// event; writes writes a value to memory, and values waits for a value there that has been written
// before. hostfuncs puts host functions into a stream. alloc allocates and frees 1 GiB; pool does so
// in a stream with 1 MiB from a memory pool. module loads and unloads a module with a variable of 256 MiB; memset writes 256 MiB. read reads
// 24 MiB again and again, which fit into the L2 cache of large GPUs; fill writes 32 MiB again and
// again, and persist does that with an access policy that makes it stay in the L2 cache.
//
// The last line is JSON, with the number of operations per second.
#include "driver.h"

static __global__ void touch(uint4 *memory, size_t count, bool write, unsigned *sink) {
    unsigned sum = 0;
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
        if (write) {
            memory[i] = make_uint4(sum, 1, 2, 3);
        } else {
            sum += memory[i].x;
        }
    }
    if (sum == 0x5eed5eedu) {
        *sink = sum;
    }
}

static void nothing(void *) {}

int main(int argc, char **argv) {
    Options options(argc, argv);
    const std::string kind = options.text("kind", "events");
    const double seconds = options.number("seconds", 5);
    const int64_t start_at = options.nanoseconds("start-at");
    options.finish();
    CHECK(cudaFree(nullptr));
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    const Driver driver;
    const bool write = kind == "fill" || kind == "persist";
    const size_t bytes = kind == "read" ? 24 << 20 : write ? 32 << 20 : 256 << 20;
    uint4 *memory;
    unsigned *sink;
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cudaMalloc(&sink, sizeof *sink));
    if (kind == "persist") {
        int most, window;
        CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, 0));
        CHECK(cudaDeviceGetAttribute(&window, cudaDevAttrMaxAccessPolicyWindowSize, 0));
        CHECK(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, most));
        cudaLaunchAttributeValue value = {};
        value.accessPolicyWindow.base_ptr = memory;
        value.accessPolicyWindow.num_bytes = std::min(bytes, static_cast<size_t>(window));
        value.accessPolicyWindow.hitRatio = 1;
        value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
        value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
        CHECK(cudaStreamSetAttribute(stream, cudaLaunchAttributeAccessPolicyWindow, &value));
    }
    const char *const text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .b8 v[268435456];\n"
                             ".visible .entry k0()\n{\nret;\n}\n";
    void *pinned;
    CHECK(cudaMallocHost(&pinned, 1 << 20));
    const bool copies = kind == "events-behind-copies";
    const uint64_t address = reinterpret_cast<uint64_t>(memory);
    CHECK(cudaMemset(memory, 0, 4096));
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaDeviceSynchronize());
    const auto operation = [&] {
        if (kind == "events" || copies) {
            CHECK(cudaEventRecord(event, stream));
        } else if (kind == "waits") {
            CHECK(cudaStreamWaitEvent(stream, event, 0));
        } else if (kind == "writes") {
            REQUIRE(driver.write(stream, address, 1, 0) == 0, "cuStreamWriteValue32 failed");
        } else if (kind == "values") {
            REQUIRE(driver.wait(stream, address, 0, 0) == 0, "cuStreamWaitValue32 failed");
        } else if (kind == "pool") {
            void *block;
            CHECK(cudaMallocAsync(&block, 1 << 20, stream));
            CHECK(cudaFreeAsync(block, stream));
        } else if (kind == "hostfuncs") {
            CHECK(cudaLaunchHostFunc(stream, nothing, nullptr));
        } else if (kind == "alloc") {
            void *block;
            CHECK(cudaMalloc(&block, 1 << 30));
            CHECK(cudaFree(block));
        } else if (kind == "module") {
            void *module;
            REQUIRE(driver.load(&module, text) == 0, "cuModuleLoadData failed");
            REQUIRE(driver.unload(module) == 0, "cuModuleUnload failed");
        } else if (kind == "memset") {
            CHECK(cudaMemsetAsync(memory, 1, bytes, stream));
        } else {
            touch<<<264, 1024, 0, stream>>>(memory, bytes / sizeof *memory, write, sink);
            CHECK(cudaGetLastError());
        }
    };
    const bool waits = kind == "alloc" || kind == "module";
    sleep_until(start_at);
    const int64_t start = now_ns(), until = start + ns(seconds);
    uint64_t done = 0;
    while (now_ns() < until) {
        if (copies) {
            CHECK(cudaMemcpyAsync(memory, pinned, 1 << 20, cudaMemcpyHostToDevice, stream));
        }
        for (int i = 0; i < (waits ? 1 : 50); ++i, ++done) {
            operation();
        }
        CHECK(cudaStreamSynchronize(stream));
    }
    std::printf("{\"program\":\"operations\",\"per_second\":%.1f}\n", done / ((now_ns() - start) / 1e9));
    return 0;
}
