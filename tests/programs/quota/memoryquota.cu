// Compares the charge for each way of allocating device memory with NVML's measurement.
//
//   memoryquota [QUOTA-MIB] [nvml=PATH]
//
// With a quota, the device's total memory must equal the quota, no allocation may exceed it, and 64
// threads that allocate at once must not exceed it together. With nvml=, the library at that path
// (the host's, not a guest's) reports the memory of the worker that executes this program's calls.
// The test identifies the worker by its memory, which grows with an allocation. Each charge must be
// at least the memory used, and equal to it for plain allocations. The table goes to standard
// error. Without a quota, nothing else may use the device at the same time.
#include "../check.h"

#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

constexpr long long MIB = 1 << 20;
constexpr long long GRANULE = 2 * MIB;

// ---- The charge and NVML's measurement ----------------------------------------------------------

static long long charged() {
    size_t free, total;
    CHECK(cudaMemGetInfo(&free, &total));
    return (long long)(total - free);
}

// The parts of NVML that this program uses.
struct Process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
struct Nvml {
    int (*processes)(void *device, unsigned *count, Process *infos) = nullptr;
    void *device = nullptr;
    unsigned pid = 0;
};
static Nvml nvml;

static std::vector<Process> processes() {
    std::vector<Process> list(256);
    unsigned count = (unsigned)list.size();
    const int result = nvml.processes(nvml.device, &count, list.data());
    REQUIRE(result == 0, "nvmlDeviceGetComputeRunningProcesses: %d", result);
    list.resize(count);
    return list;
}

// Returns the worker's memory, or -1 without NVML.
static long long witnessed() {
    if (nvml.pid == 0) {
        return -1;
    }
    for (const Process &process : processes()) {
        if (process.pid == nvml.pid) {
            return (long long)process.used;
        }
    }
    return 0;
}

template <typename F> static F symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    REQUIRE(found != nullptr, "no %s", name);
    return reinterpret_cast<F>(found);
}

static void open_nvml(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library != nullptr, "%s", dlerror());
    REQUIRE(symbol<int (*)()>(library, "nvmlInit_v2")() == 0, "nvmlInit_v2");
    cudaDeviceProp prop;
    CHECK(cudaGetDeviceProperties(&prop, 0));
    char uuid[64] = "GPU-", *at = uuid + 4;
    for (int i = 0; i < 16; ++i) {
        at += std::sprintf(at, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x",
                           (unsigned char)prop.uuid.bytes[i]);
    }
    auto by_uuid = symbol<int (*)(const char *, void **)>(library, "nvmlDeviceGetHandleByUUID");
    REQUIRE(by_uuid(uuid, &nvml.device) == 0, "no GPU %s", uuid);
    nvml.processes = symbol<decltype(nvml.processes)>(library,
                                                      "nvmlDeviceGetComputeRunningProcesses_v3");
    const auto before = processes();
    void *mark;
    const long long bytes = 74 * MIB;
    CHECK(cudaMalloc(&mark, bytes));
    for (const Process &process : processes()) {
        for (const Process &old : before) {
            if (old.pid == process.pid && (long long)(process.used - old.used) == bytes) {
                nvml.pid = process.pid;
            }
        }
    }
    CHECK(cudaFree(mark));
    REQUIRE(nvml.pid != 0, "no process's memory has grown by %lld MiB", bytes / MIB);
}

static void row_line(const char *name, long long charged, long long seen) {
    std::fprintf(stderr, "| %-44s | %8.1f |", name, charged / (double)MIB);
    if (nvml.pid != 0) {
        std::fprintf(stderr, " %8.1f |\n", seen / (double)MIB);
    } else {
        std::fprintf(stderr, " |\n");
    }
}

// ---- One row of the table -----------------------------------------------------------------------

struct Row {
    const char *name;
    long long charged_before = charged(), seen_before = witnessed();

    explicit Row(const char *name) : name(name) {}

    // If `exact`, the charge must equal the memory used; otherwise, it must be at least that.
    void end(bool exact) {
        CHECK(cudaDeviceSynchronize());
        const long long more = charged() - charged_before;
        const long long seen = witnessed();
        row_line(name, more, seen - seen_before);
        if (seen < 0) {
            return;
        }
        const long long taken = seen - seen_before;
        REQUIRE(more + GRANULE >= taken, "%s: charged %lld, taken %lld", name, more, taken);
        REQUIRE(!exact || more == taken, "%s: charged %lld, taken %lld", name, more, taken);
    }
};

// ---- Ways to allocate memory --------------------------------------------------------------------

template <typename F> static F driver(const char *name, unsigned version = 12000) {
    void *function = nullptr;
    cudaDriverEntryPointQueryResult found;
    CHECK(cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found));
    REQUIRE(found == cudaDriverEntryPointSuccess, "no %s", name);
    return reinterpret_cast<F>(function);
}

static void driver_check(CUresult result, const char *what) {
    REQUIRE(result == CUDA_SUCCESS, "%s: CUresult %d", what, (int)result);
}

static CUmodule load(const std::string &ptx) {
    static auto load_data = driver<CUresult (*)(CUmodule *, const void *)>("cuModuleLoadData");
    CUmodule module;
    driver_check(load_data(&module, ptx.c_str()), "cuModuleLoadData");
    return module;
}

static void launch(CUmodule module, const char *name) {
    static auto get = driver<CUresult (*)(CUfunction *, CUmodule, const char *)>(
        "cuModuleGetFunction");
    static auto go = driver<CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned,
                                         unsigned, unsigned, unsigned, CUstream, void **, void **)>(
        "cuLaunchKernel");
    CUfunction function;
    driver_check(get(&function, module, name), "cuModuleGetFunction");
    driver_check(go(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), "cuLaunchKernel");
    CHECK(cudaDeviceSynchronize());
}

static void unload(CUmodule module) {
    static auto unload_it = driver<CUresult (*)(CUmodule)>("cuModuleUnload");
    driver_check(unload_it(module), "cuModuleUnload");
}

static const char *HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n";
static const char *ALLOCATING = R"(
.extern .func (.param .b64 r) malloc (.param .b64 n);
.visible .entry allocating()
{
    .reg .b64 %d<3>;
    mov.u64 %d1, 16;
    {
        .param .b64 n;
        st.param.b64 [n], %d1;
        .param .b64 r;
        call.uni (r), malloc, (n);
        ld.param.b64 %d2, [r];
    }
    ret;
}
)";

template <int BYTES> __global__ void with_local(int *out, int n) {
    int mine[BYTES / 4];
    for (int i = 0; i < BYTES / 4; ++i) {
        mine[i] = i * n;
    }
    // An index unknown to the compiler keeps the array in memory.
    out[0] = mine[(n * 7919) % (BYTES / 4)];
}

static void ways() {
    std::fprintf(stderr, "| what | charged, MiB | NVML, MiB |\n|---|---|---|\n");
    // Let the runtime and this program's kernels allocate their memory before measuring.
    int *out;
    CHECK(cudaMalloc(&out, 4));
    with_local<64><<<1, 1>>>(out, 1);
    CHECK(cudaDeviceSynchronize());
    row_line("a context, with what this program is", charged(), witnessed());
    {
        Row row("100 x 3 MiB allocated");
        std::vector<void *> held(100);
        for (void *&one : held) {
            CHECK(cudaMalloc(&one, 3 * MIB));
        }
        row.end(true);
        Row back("freed again");
        for (void *one : held) {
            CHECK(cudaFree(one));
        }
        back.end(true);
    }
    {
        Row row("1000 x 100 KiB allocated");
        std::vector<void *> held(1000);
        for (void *&one : held) {
            CHECK(cudaMalloc(&one, 100 << 10));
        }
        row.end(true);
        Row back("freed again");
        for (void *one : held) {
            CHECK(cudaFree(one));
        }
        back.end(true);
    }
    {
        Row row("module with 100 MiB of variables");
        CUmodule module = load(std::string(HEAD) + ".visible .global .align 4 .b8 v[104857600];\n"
                                                   ".visible .entry empty() { ret; }\n");
        row.end(false);
        Row back("unloaded");
        unload(module);
        back.end(false);
    }
    {
        Row row("stack limit 4096");
        CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
        row.end(false);
        Row back("stack limit 1024");
        CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 1024));
        back.end(false);
    }
    {
        Row row("a kernel with 8 KiB of local memory");
        with_local<8192><<<1, 1>>>(out, 3);
        CHECK(cudaGetLastError());
        row.end(false);
        Row back("stack limit 1024");
        CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 1024));
        back.end(false);
    }
    {
        Row row("100 streams");
        std::vector<cudaStream_t> streams(100);
        for (cudaStream_t &stream : streams) {
            CHECK(cudaStreamCreate(&stream));
        }
        row.end(false);
        Row back("destroyed");
        for (cudaStream_t stream : streams) {
            CHECK(cudaStreamDestroy(stream));
        }
        back.end(false);
    }
    {
        Row row("a second context");
        CUcontext context;
        auto create = driver<CUresult (*)(CUcontext *, unsigned, CUdevice)>("cuCtxCreate", 3020);
        auto destroy = driver<CUresult (*)(CUcontext)>("cuCtxDestroy");
        auto set = driver<CUresult (*)(CUcontext)>("cuCtxSetCurrent");
        driver_check(create(&context, 0, 0), "cuCtxCreate");
        driver_check(set(nullptr), "cuCtxSetCurrent");
        CHECK(cudaSetDevice(0));
        row.end(false);
        Row back("destroyed");
        driver_check(destroy(context), "cuCtxDestroy");
        CHECK(cudaSetDevice(0));
        back.end(false);
    }
    {
        CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 * MIB));
        Row row("the heap of kernels, 64 MiB");
        launch(load(std::string(HEAD) + ALLOCATING), "allocating");
        row.end(false);
    }
    CHECK(cudaFree(out));
    std::printf("memoryquota: every kind of allocation is charged\n");
}

// ---- The quota ----------------------------------------------------------------------------------

static void random_sequences() {
    const long long before = charged(), seen = witnessed();
    uint32_t state = 7;
    std::vector<void *> held;
    for (int step = 0; step < 10000; ++step) {
        if (held.size() > 50 || (!held.empty() && next_random(state) % 2 == 0)) {
            const size_t which = next_random(state) % held.size();
            CHECK(cudaFree(held[which]));
            held[which] = held.back();
            held.pop_back();
        } else {
            const size_t bytes = next_random(state) % 8 == 0 ? next_random(state) % (6 * MIB)
                                                             : next_random(state) % 10000;
            void *one;
            CHECK(cudaMalloc(&one, bytes + 1));
            held.push_back(one);
        }
    }
    const long long more = charged() - before, taken = witnessed() - seen;
    REQUIRE(seen < 0 || more == taken, "charged %lld, taken %lld after 10,000 steps", more, taken);
    for (void *one : held) {
        CHECK(cudaFree(one));
    }
    REQUIRE(charged() == before, "charged %lld, before %lld", charged(), before);
    REQUIRE(witnessed() == seen, "taken %lld, before %lld", witnessed(), seen);
    std::printf("memoryquota: 10,000 random allocations and frees leave nothing behind\n");
}

static void all_at_once(long long quota) {
    const long long before = charged(), seen = witnessed();
    const long long piece = (quota - before) / 200 / GRANULE * GRANULE + GRANULE;
    std::atomic<long long> granted{0};
    std::atomic<bool> done{false};
    long long most = 0;
    std::thread watcher([&] {
        while (seen >= 0 && !done) {
            const long long now = witnessed() - seen;
            most = now > most ? now : most;
        }
    });
    std::vector<std::thread> threads;
    std::vector<std::vector<void *>> held(64);
    for (auto &mine : held) {
        threads.emplace_back([&granted, &mine, piece] {
            void *one;
            while (cudaMalloc(&one, piece) == cudaSuccess) {
                granted += piece;
                mine.push_back(one);
            }
            EXPECT_ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    done = true;
    watcher.join();
    REQUIRE(charged() <= quota, "charged %lld of %lld", charged(), quota);
    REQUIRE(granted <= quota - before, "%lld granted of %lld", granted.load(), quota - before);
    REQUIRE(granted + piece > quota - before, "only %lld granted of %lld", granted.load(),
            quota - before);
    REQUIRE(most <= granted, "%lld were taken at one time, %lld granted", most, granted.load());
    for (auto &mine : held) {
        for (void *one : mine) {
            CHECK(cudaFree(one));
        }
    }
    REQUIRE(charged() == before, "charged %lld, before %lld", charged(), before);
    std::printf("memoryquota: 64 threads at once get all of the quota and no more\n");
}

int main(int argc, char **argv) {
    long long quota = 0;
    CHECK(cudaFree(nullptr));
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        if (argument.rfind("nvml=", 0) == 0) {
            open_nvml(argv[i] + 5);
        } else {
            quota = std::atoll(argv[i]) * MIB;
            REQUIRE(quota > 0, "%s is no number of MiB", argv[i]);
        }
    }
    size_t free, total;
    CHECK(cudaMemGetInfo(&free, &total));
    REQUIRE(quota == 0 || (long long)total == quota, "total is %zu", total);
    ways();
    random_sequences();
    if (quota != 0) {
        all_at_once(quota);
    }
    return pass("memoryquota");
}
