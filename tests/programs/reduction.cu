// Computes the sum, minimum and maximum of a million integers: each block reduces its part as a
// tree in dynamic shared memory, and a second launch reduces the results of the blocks.
#include "check.h"

#include <algorithm>
#include <climits>
#include <vector>

struct Summary {
    long long sum;
    int least;
    int most;
};

__device__ Summary combine(const Summary &a, const Summary &b) {
    return {a.sum + b.sum, min(a.least, b.least), max(a.most, b.most)};
}

// Reduces the values `mine` of all threads in the block into shared[0]. blockDim.x must be a power
// of two.
__device__ void reduce_block(Summary mine, Summary *shared) {
    shared[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            shared[threadIdx.x] = combine(shared[threadIdx.x], shared[threadIdx.x + half]);
        }
        __syncthreads();
    }
}

__global__ void reduce_values(const int *values, int n, Summary *blocks) {
    extern __shared__ Summary shared[];
    Summary mine = {0, INT_MAX, INT_MIN};
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        mine = combine(mine, {values[i], values[i], values[i]});
    }
    reduce_block(mine, shared);
    if (threadIdx.x == 0) {
        blocks[blockIdx.x] = shared[0];
    }
}

__global__ void reduce_blocks(const Summary *blocks, int n, Summary *result) {
    extern __shared__ Summary shared[];
    Summary mine = {0, INT_MAX, INT_MIN};
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        mine = combine(mine, blocks[i]);
    }
    reduce_block(mine, shared);
    if (threadIdx.x == 0) {
        *result = shared[0];
    }
}

int main() {
    const int n = 1000003, blocks = 48, threads = 256;
    std::vector<int> values(n);
    uint32_t state = 3;
    Summary expected = {0, INT_MAX, INT_MIN};
    for (int &value : values) {
        // The sum of these values exceeds 32 bits.
        value = static_cast<int>(next_random(state) * 64) + 5;
        expected.sum += value;
        expected.least = std::min(expected.least, value);
        expected.most = std::max(expected.most, value);
    }

    int *device_values;
    Summary *device_blocks, *device_result, result;
    CHECK(cudaMalloc(&device_values, n * sizeof(int)));
    CHECK(cudaMalloc(&device_blocks, blocks * sizeof(Summary)));
    CHECK(cudaMalloc(&device_result, sizeof(Summary)));
    CHECK(cudaMemcpy(device_values, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
    const size_t shared = threads * sizeof(Summary);
    reduce_values<<<blocks, threads, shared>>>(device_values, n, device_blocks);
    CHECK(cudaGetLastError());
    reduce_blocks<<<1, threads, shared>>>(device_blocks, blocks, device_result);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&result, device_result, sizeof(Summary), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_values));
    CHECK(cudaFree(device_blocks));
    CHECK(cudaFree(device_result));

    REQUIRE(result.sum == expected.sum, "%lld, not %lld", result.sum, expected.sum);
    REQUIRE(result.least == expected.least, "%d, not %d", result.least, expected.least);
    REQUIRE(result.most == expected.most, "%d, not %d", result.most, expected.most);
    std::printf("reduction: %d values, sum %lld, least %d, most %d\n", n, result.sum, result.least,
                result.most);
    return pass("reduction");
}
