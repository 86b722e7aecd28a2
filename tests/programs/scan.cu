// Inclusive prefix sum: each block scans its part and writes its total, the totals are scanned in
// the same way, and a final kernel adds the sum of all previous blocks to each block.
#include "check.h"

#include <vector>

constexpr int THREADS = 256;

__global__ void scan_blocks(const unsigned *in, unsigned *out, unsigned *totals, int n) {
    // Alternate between two buffers, so that one barrier per step is enough.
    __shared__ unsigned buffer[2][THREADS];
    const int i = blockIdx.x * THREADS + threadIdx.x;
    int from = 0;
    buffer[from][threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int distance = 1; distance < THREADS; distance *= 2) {
        unsigned value = buffer[from][threadIdx.x];
        if (threadIdx.x >= distance) {
            value += buffer[from][threadIdx.x - distance];
        }
        from = 1 - from;
        buffer[from][threadIdx.x] = value;
        __syncthreads();
    }
    if (i < n) {
        out[i] = buffer[from][threadIdx.x];
    }
    if (totals != nullptr && threadIdx.x == THREADS - 1) {
        totals[blockIdx.x] = buffer[from][threadIdx.x];
    }
}

__global__ void add_before(unsigned *out, const unsigned *scanned_totals, int n) {
    const int i = (blockIdx.x + 1) * THREADS + threadIdx.x;
    if (i < n) {
        out[i] += scanned_totals[blockIdx.x];
    }
}

static void scan(const unsigned *in, unsigned *out, int n) {
    const unsigned blocks = blocks_for(n, THREADS);
    if (blocks == 1) {
        scan_blocks<<<1, THREADS>>>(in, out, nullptr, n);
        CHECK(cudaGetLastError());
        return;
    }
    unsigned *totals;
    CHECK(cudaMalloc(&totals, blocks * sizeof(unsigned)));
    scan_blocks<<<blocks, THREADS>>>(in, out, totals, n);
    CHECK(cudaGetLastError());
    scan(totals, totals, blocks);
    add_before<<<blocks - 1, THREADS>>>(out, totals, n);
    CHECK(cudaGetLastError());
    // The kernels may still be running. They must finish before the freed memory is reused.
    CHECK(cudaFree(totals));
}

int main() {
    // Three levels: 391 blocks, 2 blocks, 1 block.
    const int n = 100003;
    std::vector<unsigned> in(n), out(n);
    uint32_t state = 7;
    for (unsigned &value : in) {
        value = next_random(state);
    }

    unsigned *device_in, *device_out;
    CHECK(cudaMalloc(&device_in, n * sizeof(unsigned)));
    CHECK(cudaMalloc(&device_out, n * sizeof(unsigned)));
    CHECK(cudaMemcpy(device_in, in.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
    scan(device_in, device_out, n);
    CHECK(cudaMemcpy(out.data(), device_out, n * sizeof(unsigned), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_in));
    CHECK(cudaFree(device_out));

    unsigned expected = 0;
    for (int i = 0; i < n; ++i) {
        expected += in[i];
        REQUIRE(out[i] == expected, "element %d is %u, not %u", i, out[i], expected);
    }
    std::printf("scan: %d values, last %u, checksum %016llx\n", n, out[n - 1],
                static_cast<unsigned long long>(checksum(out.data(), n * sizeof(unsigned))));
    return pass("scan");
}
