// C = A * B with tiles in static shared memory, and sizes that aren't multiples of a tile.
// Products are added in the order of k with a fused multiply-add, as in the CPU version below.
#include "check.h"

#include <cmath>
#include <vector>

constexpr int TILE = 16;

__global__ void multiply(const float *a, const float *b, float *c, int rows, int inner,
                         int columns) {
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < inner; start += TILE) {
        const int k_a = start + threadIdx.x;
        const int k_b = start + threadIdx.y;
        // Outside the matrices, the tiles contain zeros, which don't change the sum.
        tile_a[threadIdx.y][threadIdx.x] = row < rows && k_a < inner ? a[row * inner + k_a] : 0.0f;
        tile_b[threadIdx.y][threadIdx.x] =
            k_b < inner && column < columns ? b[k_b * columns + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) {
            sum = fmaf(tile_a[threadIdx.y][k], tile_b[k][threadIdx.x], sum);
        }
        __syncthreads();
    }
    if (row < rows && column < columns) {
        c[row * columns + column] = sum;
    }
}

int main() {
    const int rows = 120, inner = 139, columns = 101;
    std::vector<float> a(rows * inner), b(inner * columns), c(rows * columns);
    uint32_t state = 4;
    for (float &value : a) {
        value = next_random(state) / 8388608.0f - 1.0f;
    }
    for (float &value : b) {
        value = next_random(state) / 8388608.0f - 1.0f;
    }

    float *device_a, *device_b, *device_c;
    CHECK(cudaMalloc(&device_a, a.size() * sizeof(float)));
    CHECK(cudaMalloc(&device_b, b.size() * sizeof(float)));
    CHECK(cudaMalloc(&device_c, c.size() * sizeof(float)));
    CHECK(cudaMemcpy(device_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(device_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));
    const dim3 threads(TILE, TILE);
    const dim3 blocks(blocks_for(columns, TILE), blocks_for(rows, TILE));
    multiply<<<blocks, threads>>>(device_a, device_b, device_c, rows, inner, columns);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(c.data(), device_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_a));
    CHECK(cudaFree(device_b));
    CHECK(cudaFree(device_c));

    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
            float expected = 0.0f;
            for (int k = 0; k < inner; ++k) {
                expected = std::fmaf(a[row * inner + k], b[k * columns + column], expected);
            }
            const float got = c[row * columns + column];
            REQUIRE(got == expected, "(%d, %d) is %.9g, not %.9g", row, column, got, expected);
        }
    }
    std::printf("matmul: %dx%d times %dx%d, checksum %016llx\n", rows, inner, inner, columns,
                static_cast<unsigned long long>(checksum(c.data(), c.size() * sizeof(float))));
    return pass("matmul");
}
