// Transposes a matrix through padded tiles in shared memory, and copies it with pitched rows.
#include "check.h"

#include <vector>

constexpr int TILE = 32;
constexpr int ROWS = 8;

// `pitch` is the length of an input row in elements, which may be more than `width`.
__global__ void transpose(const uint32_t *in, size_t pitch, uint32_t *out, int width, int height) {
    // The extra column puts the elements of a tile's column into different banks.
    __shared__ uint32_t tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS) {
        if (x < width && y + i < height) {
            tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * pitch + x];
        }
    }
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int i = 0; i < TILE; i += ROWS) {
        if (x < height && y + i < width) {
            out[(y + i) * height + x] = tile[threadIdx.x][threadIdx.y + i];
        }
    }
}

int main() {
    const int width = 517, height = 389;
    const size_t count = static_cast<size_t>(width) * height;
    std::vector<uint32_t> in(count), out(count);
    uint32_t state = 5;
    for (uint32_t &value : in) {
        value = next_random(state);
    }

    uint32_t *device_in, *device_out;
    size_t pitch;
    const size_t row = width * sizeof(uint32_t);
    CHECK(cudaMallocPitch(&device_in, &pitch, row, height));
    REQUIRE(pitch >= row && pitch % sizeof(uint32_t) == 0, "pitch %zu for rows of %zu", pitch, row);
    CHECK(cudaMalloc(&device_out, count * sizeof(uint32_t)));
    CHECK(cudaMemcpy2D(device_in, pitch, in.data(), row, row, height, cudaMemcpyHostToDevice));
    const dim3 blocks(blocks_for(width, TILE), blocks_for(height, TILE));
    transpose<<<blocks, dim3(TILE, ROWS)>>>(device_in, pitch / sizeof(uint32_t), device_out, width,
                                            height);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), device_out, count * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            const uint32_t got = out[x * height + y], expected = in[y * width + x];
            REQUIRE(got == expected, "(%d, %d) is %u, not %u", x, y, got, expected);
        }
    }

    // The pitched original can be copied back unchanged.
    std::vector<uint32_t> back(count);
    CHECK(cudaMemcpy2D(back.data(), row, device_in, pitch, row, height, cudaMemcpyDeviceToHost));
    REQUIRE(back == in, "the pitched copy has changed");
    CHECK(cudaFree(device_in));
    CHECK(cudaFree(device_out));
    std::printf("transpose: %dx%d, checksum %016llx\n", width, height,
                static_cast<unsigned long long>(checksum(out.data(), count * sizeof(uint32_t))));
    return pass("transpose");
}
