// c = a + b with floats: allocation, copies in both directions, and one launch.
#include "check.h"

#include <vector>

__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}

int main() {
    // Not a multiple of the block size, so that some threads in the last block have nothing to do.
    const int n = 500009;
    const size_t bytes = n * sizeof(float);
    std::vector<float> a(n), b(n), c(n);
    uint32_t state = 1;
    for (int i = 0; i < n; ++i) {
        a[i] = next_random(state) / 1024.0f;
        b[i] = next_random(state) / 4096.0f;
    }

    float *device_a, *device_b, *device_c;
    CHECK(cudaMalloc(&device_a, bytes));
    CHECK(cudaMalloc(&device_b, bytes));
    CHECK(cudaMalloc(&device_c, bytes));
    CHECK(cudaMemcpy(device_a, a.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b.data(), bytes, cudaMemcpyHostToDevice));
    add<<<blocks_for(n, 256), 256>>>(device_a, device_b, device_c, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c.data(), device_c, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_c));

    for (int i = 0; i < n; ++i) {
        REQUIRE(c[i] == a[i] + b[i], "element %d is %g, not %g", i, c[i], a[i] + b[i]);
    }
    std::printf("vectoradd: %d elements, checksum %016llx\n", n,
                static_cast<unsigned long long>(checksum(c.data(), bytes)));
    return pass("vectoradd");
}
