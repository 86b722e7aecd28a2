// Counts bytes with atomics: each block in a histogram in shared memory, which it then adds to a
// global one.
#include "check.h"

#include <vector>

constexpr int BINS = 256;

__global__ void histogram(const uint8_t *data, int n, unsigned *bins) {
    __shared__ unsigned mine[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
        mine[bin] = 0;
    }
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&mine[data[i]], 1u);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
        if (mine[bin] != 0) {
            atomicAdd(&bins[bin], mine[bin]);
        }
    }
}

int main() {
    const int n = 500000;
    std::vector<uint8_t> data(n);
    std::vector<unsigned> expected(BINS), bins(BINS);
    uint32_t state = 6;
    for (uint8_t &byte : data) {
        // Use products, which are unevenly distributed: some bins are crowded, and some stay empty.
        byte = static_cast<uint8_t>((next_random(state) % 16) * (next_random(state) % 16));
        ++expected[byte];
    }

    uint8_t *device_data;
    unsigned *device_bins;
    CHECK(cudaMalloc(&device_data, n));
    CHECK(cudaMalloc(&device_bins, BINS * sizeof(unsigned)));
    CHECK(cudaMemcpy(device_data, data.data(), n, cudaMemcpyHostToDevice));
    CHECK(cudaMemset(device_bins, 0, BINS * sizeof(unsigned)));
    histogram<<<24, 192>>>(device_data, n, device_bins);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(bins.data(), device_bins, BINS * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_data));
    CHECK(cudaFree(device_bins));

    for (int bin = 0; bin < BINS; ++bin) {
        REQUIRE(bins[bin] == expected[bin], "bin %d is %u, not %u", bin, bins[bin], expected[bin]);
    }
    std::printf("histogram: %d bytes, checksum %016llx\n", n,
                static_cast<unsigned long long>(checksum(bins.data(), BINS * sizeof(unsigned))));
    return pass("histogram");
}
