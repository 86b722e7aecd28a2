// Prints the device as a program sees it.
//
//   deviceinfo                 name, compute capability, memory
//   deviceinfo list            the same without the free memory, so without using the GPU
//   deviceinfo alloc SIZE      also tries one allocation: SIZE in bytes, or with suffix K, M or G
//
// A refused allocation is a valid result, so the exit status is 0.
#include "check.h"

#include <cstring>

constexpr double MIB = 1 << 20;

// Returns 0 if the text isn't a size.
static size_t parse_size(const char *text) {
    char *end;
    const double number = std::strtod(text, &end);
    const char *units = "KMG";
    double scale = 1;
    if (*end != '\0') {
        const char *unit = std::strchr(units, *end);
        if (unit == nullptr || end[1] != '\0') {
            return 0;
        }
        for (const char *u = units; u <= unit; ++u) {
            scale *= 1024;
        }
    }
    return number > 0 ? static_cast<size_t>(number * scale) : 0;
}

int main(int argc, char **argv) {
    const size_t size = argc == 3 && std::strcmp(argv[1], "alloc") == 0 ? parse_size(argv[2]) : 0;
    const bool list = argc == 2 && std::strcmp(argv[1], "list") == 0;
    if (argc != 1 && size == 0 && !list) {
        std::fprintf(stderr, "usage: deviceinfo [list | alloc SIZE], such as 300M\n");
        return 2;
    }
    int devices, driver, runtime;
    CHECK(cudaGetDeviceCount(&devices));
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    std::printf("CUDA driver %d.%d, runtime %d.%d, devices: %d\n", driver / 1000,
                driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, devices);
    for (int device = 0; device < devices; ++device) {
        cudaDeviceProp properties;
        CHECK(cudaGetDeviceProperties(&properties, device));
        std::printf("device %d: %s\n", device, properties.name);
        std::printf("  compute capability: %d.%d\n", properties.major, properties.minor);
        std::printf("  multiprocessors: %d\n", properties.multiProcessorCount);
        std::printf("  total memory: %.0f MiB\n", properties.totalGlobalMem / MIB);
        if (!list) {
            size_t free, total;
            CHECK(cudaSetDevice(device));
            CHECK(cudaMemGetInfo(&free, &total));
            std::printf("  free memory: %.0f of %.0f MiB\n", free / MIB, total / MIB);
        }
    }
    if (size != 0) {
        void *memory;
        const cudaError_t result = cudaMalloc(&memory, size);
        if (result != cudaSuccess && result != cudaErrorMemoryAllocation) {
            CHECK(result);
        }
        std::printf("allocation of %.0f MiB: %s\n", size / MIB,
                    result == cudaSuccess ? "granted" : "refused (cudaErrorMemoryAllocation)");
        if (result == cudaSuccess) {
            CHECK(cudaFree(memory));
        }
    }
    return pass("deviceinfo");
}
