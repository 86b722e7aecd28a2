// Resets the device: memory and streams are gone, module globals have their initial values again, and
// the program continues in a new context, also in a thread that used the old one.
#include "check.h"

#include <thread>
#include <vector>

constexpr int N = 1 << 18;
constexpr int ROUNDS = 3;

__device__ int launches = 40;

__global__ void fill(unsigned *data, unsigned factor) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = i * factor;
    if (i == 0) {
        ++launches;
    }
}

static uint64_t compute(unsigned factor) {
    unsigned *data;
    cudaStream_t stream;
    CHECK(cudaMalloc(&data, N * sizeof(unsigned)));
    CHECK(cudaStreamCreate(&stream));
    fill<<<N / 256, 256, 0, stream>>>(data, factor);
    CHECK(cudaGetLastError());
    std::vector<unsigned> result(N);
    CHECK(cudaMemcpyAsync(result.data(), data, N * sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    for (unsigned i = 0; i < N; ++i) {
        REQUIRE(result[i] == i * factor, "element %u: %u", i, result[i]);
    }
    return checksum(result.data(), N * sizeof(unsigned));
}

static int count() {
    int value;
    CHECK(cudaMemcpyFromSymbol(&value, launches, sizeof value));
    return value;
}

int main() {
    constexpr size_t large = 256 << 20;
    size_t before = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        const uint64_t first = compute(2 * round + 3);
        REQUIRE(count() == 41, "%d launches counted from 40", count());
        uint64_t second = 0;
        std::thread([&] { second = compute(2 * round + 5); }).join();
        REQUIRE(count() == 42, "%d launches counted from 40", count());
        void *never_freed;
        CHECK(cudaMalloc(&never_freed, large));
        size_t available, total;
        CHECK(cudaMemGetInfo(&available, &total));
        if (round == 0) {
            before = available;
        }
        REQUIRE(available + large / 2 > before, "%zu bytes are free, %zu before", available, before);
        std::printf("reset: round %d, checksums %016llx %016llx\n", round,
                    static_cast<unsigned long long>(first), static_cast<unsigned long long>(second));
        CHECK(cudaDeviceReset());
    }
    return pass("reset");
}
