// Compares the device memory that CUDA and NVML report to a program.
//
//   memoryseen [MIB]   allocates MIB (256) in steps and frees them; cudaMemGetInfo, the device's
//                      properties and NVML must always agree
//   memoryseen full    allocates until no memory is left, compares, prints `memoryseen: full`, and
//                      holds the memory until end of file on standard input
//   memoryseen list    prints a line per GPU and per process on it; uses only NVML, no CUDA calls. A
//                      process that has used the GPU in the last second has another line
//
// NVML is the libnvidia-ml.so.1 that the loader finds. On a host, NVML also counts the driver's own
// memory, so the numbers agree only in a guest.
#include "check.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstring>
#include <vector>

constexpr size_t MIB = 1 << 20;

// Structures as defined by NVML.
struct Memory {
    unsigned long long total, free, used;
};
struct Process {
    unsigned int pid;
    unsigned long long used;
    unsigned int gpu_instance, compute_instance;
};
struct Utilization {
    unsigned int gpu, memory;
};
struct ProcessUse {
    unsigned int pid;
    unsigned long long at_us;
    unsigned int sm, memory, encoder, decoder;
};
using Device = struct OpaqueDevice *;
constexpr int NOT_SUPPORTED = 3;
constexpr int NOT_FOUND = 6;
constexpr int INSUFFICIENT_SIZE = 7;

// Calls an NVML function.
template <class... Args> auto nvml(const char *name) {
    static void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    REQUIRE(library != nullptr, "%s", dlerror());
    auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
    REQUIRE(function != nullptr, "%s", name);
    return function;
}

static Device nvml_device(unsigned int index) {
    Device device;
    const int result =
        nvml<unsigned int, Device *>("nvmlDeviceGetHandleByIndex_v2")(index, &device);
    REQUIRE(result == 0, "nvmlDeviceGetHandleByIndex_v2 returned %d", result);
    return device;
}

static Memory nvml_memory(Device device) {
    Memory memory;
    const int result = nvml<Device, Memory *>("nvmlDeviceGetMemoryInfo")(device, &memory);
    REQUIRE(result == 0, "nvmlDeviceGetMemoryInfo returned %d", result);
    return memory;
}

static void nvml_init() {
    const int result = nvml<>("nvmlInit_v2")();
    REQUIRE(result == 0, "nvmlInit_v2 returned %d", result);
}

// Returns the bytes in use. All sources must agree.
static size_t compare(const char *when) {
    size_t free, total;
    CHECK(cudaMemGetInfo(&free, &total));
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    const Memory memory = nvml_memory(nvml_device(0));
    std::fprintf(stderr, "%s: CUDA %zu of %zu bytes, NVML %llu of %llu\n", when, total - free,
                 total, memory.used, memory.total);
    REQUIRE(properties.totalGlobalMem == total, "totalGlobalMem is %zu",
            properties.totalGlobalMem);
    REQUIRE(memory.total == total && memory.used == total - free, "%s", when);
    REQUIRE(memory.free == free, "%s", when);
    return total - free;
}

static void steps(size_t mib) {
    const size_t before = compare("at first");
    std::vector<void *> parts(4);
    size_t used = before;
    for (void *&part : parts) {
        CHECK(cudaMalloc(&part, mib * MIB / parts.size()));
        const size_t now = compare("after an allocation");
        REQUIRE(now >= used, "%zu bytes, and %zu before", now, used);
        used = now;
    }
    REQUIRE(used >= before + mib * MIB, "%zu MiB were allocated", mib);
    for (void *part : parts) {
        CHECK(cudaFree(part));
        compare("after a free");
    }
}

static void fill() {
    void *part;
    for (size_t size = 256 * MIB; size >= MIB; size /= 2) {
        while (cudaMalloc(&part, size) == cudaSuccess) {
        }
        EXPECT_ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);
    }
    compare("full");
    std::printf("memoryseen: full\n");
    std::fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
}

static void list_uses(Device device, unsigned int gpu) {
    unsigned long long reasons;
    int result = nvml<Device, unsigned long long *>("nvmlDeviceGetCurrentClocksEventReasons")(
        device, &reasons);
    REQUIRE(result == 0 || result == NOT_SUPPORTED, "reasons for the clocks: %d", result);
    if (result == 0) {
        std::printf("reasons on gpu %u: %llu\n", gpu, reasons);
    }
    const auto uses = nvml<Device, ProcessUse *, unsigned int *, unsigned long long>(
        "nvmlDeviceGetProcessUtilization");
    unsigned int count = 64;
    ProcessUse processes[64];
    result = uses(device, processes, &count, 0);
    REQUIRE(result == 0 || result == NOT_FOUND || result == NOT_SUPPORTED,
            "the use by processes: %d", result);
    for (unsigned int p = 0; result == 0 && p < count; ++p) {
        std::printf("process %u on gpu %u: busy %u %%\n", processes[p].pid, gpu, processes[p].sm);
    }
}

static void list() {
    unsigned int devices;
    REQUIRE(nvml<unsigned int *>("nvmlDeviceGetCount_v2")(&devices) == 0, "cannot count the GPUs");
    for (unsigned int i = 0; i < devices; ++i) {
        const Device device = nvml_device(i);
        char name[96], uuid[96];
        REQUIRE((nvml<Device, char *, unsigned int>("nvmlDeviceGetName")(device, name,
                                                                         sizeof name) == 0),
                "GPU %u has a name", i);
        REQUIRE((nvml<Device, char *, unsigned int>("nvmlDeviceGetUUID")(device, uuid,
                                                                         sizeof uuid) == 0),
                "GPU %u has a UUID", i);
        const Memory memory = nvml_memory(device);
        Utilization rates;
        REQUIRE((nvml<Device, Utilization *>("nvmlDeviceGetUtilizationRates")(device, &rates) == 0),
                "GPU %u's utilization is known", i);
        std::printf("gpu %u: %s, %s, used %llu of %llu, busy %u %%\n", i, name, uuid, memory.used,
                    memory.total, rates.gpu);
        const char *links[] = {"nvmlDeviceGetMaxPcieLinkGeneration", "nvmlDeviceGetMaxPcieLinkWidth",
                               "nvmlDeviceGetCurrPcieLinkGeneration",
                               "nvmlDeviceGetCurrPcieLinkWidth"};
        for (const char *link : links) {
            unsigned int value;
            const int result = nvml<Device, unsigned int *>(link)(device, &value);
            REQUIRE(result == 0 || result == NOT_SUPPORTED, "%s returned %d", link, result);
            if (result == 0) {
                std::printf("%s on gpu %u: %u\n", link, i, value);
            }
        }
        const auto running = nvml<Device, unsigned int *, Process *>(
            "nvmlDeviceGetComputeRunningProcesses_v3");
        unsigned int count = 0;
        std::vector<Process> processes;
        int result;
        while ((result = running(device, &count, processes.data())) == INSUFFICIENT_SIZE) {
            processes.resize(count + 8);
            count = processes.size();
        }
        REQUIRE(result == 0, "listing the processes: %d", result);
        for (unsigned int p = 0; p < count; ++p) {
            std::printf("process %u on gpu %u: used %llu\n", processes[p].pid, i,
                        processes[p].used);
        }
        list_uses(device, i);
    }
}

int main(int argc, char **argv) {
    nvml_init();
    const char *what = argc > 1 ? argv[1] : "256";
    if (std::strcmp(what, "list") == 0) {
        list();
    } else if (std::strcmp(what, "full") == 0) {
        fill();
    } else {
        const size_t mib = std::strtoul(what, nullptr, 10);
        REQUIRE(mib > 0, "usage: memoryseen [MIB | full | list]");
        steps(mib);
    }
    REQUIRE(nvml<>("nvmlShutdown")() == 0, "nvmlShutdown");
    return pass("memoryseen");
}
