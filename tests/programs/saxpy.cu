// y = a * x + y with a grid-stride loop, launched twice, so that the second launch uses the result
// of the first. The multiply-add is explicitly fused. The CPU's fmaf rounds the same way, so the
// results are equal.
#include "check.h"

#include <cmath>
#include <vector>

__global__ void saxpy(int n, float a, const float *x, float *y) {
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) {
        y[i] = fmaf(a, x[i], y[i]);
    }
}

int main() {
    const int n = 200003;
    const size_t bytes = n * sizeof(float);
    std::vector<float> x(n), y(n), result(n);
    uint32_t state = 2;
    for (int i = 0; i < n; ++i) {
        x[i] = next_random(state) / 65536.0f - 128.0f;
        y[i] = next_random(state) / 65536.0f - 128.0f;
    }

    float *device_x, *device_y;
    CHECK(cudaMalloc(&device_x, bytes));
    CHECK(cudaMalloc(&device_y, bytes));
    CHECK(cudaMemcpy(device_x, x.data(), bytes, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_y, y.data(), bytes, cudaMemcpyHostToDevice));
    const float factors[] = {2.5f, -0.3f};
    for (float a : factors) {
        // Use fewer threads than elements, so that each thread handles several.
        saxpy<<<40, 192>>>(n, a, device_x, device_y);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaMemcpy(result.data(), device_y, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_x));
    CHECK(cudaFree(device_y));

    for (int i = 0; i < n; ++i) {
        float expected = y[i];
        for (float a : factors) {
            expected = std::fmaf(a, x[i], expected);
        }
        REQUIRE(result[i] == expected, "element %d is %.9g, not %.9g", i, result[i], expected);
    }
    std::printf("saxpy: %d elements, checksum %016llx\n", n,
                static_cast<unsigned long long>(checksum(result.data(), bytes)));
    return pass("saxpy");
}
