// Enlarges an image through a texture with linear filtering, adds the layers of a layered texture,
// reads bytes as numbers from a repeated texture, and writes an image through a surface.
#include "check.h"

#include <vector>

constexpr int WIDTH = 130;
constexpr int HEIGHT = 70;
constexpr int LAYERS = 5;

// Stores the image with twice the width and height. The coordinates are multiples of a quarter, so
// filtering is exact.
__global__ void enlarge(cudaTextureObject_t image, float *out) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 2 * WIDTH && y < 2 * HEIGHT) {
        out[y * 2 * WIDTH + x] = tex2D<float>(image, (x + 0.5f) / 2, (y + 0.5f) / 2);
    }
}

// Adds the layers at each place.
__global__ void add_layers(cudaTextureObject_t layers, int *out) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < WIDTH && y < HEIGHT) {
        int sum = 0;
        for (int layer = 0; layer < LAYERS; ++layer) {
            sum += tex2DLayered<int>(layers, x + 0.5f, y + 0.5f, layer) * (layer + 1);
        }
        out[y * WIDTH + x] = sum;
    }
}

// Counts how many texels are 1 in each component. Each component is 0 or 1.
__global__ void count_ones(cudaTextureObject_t bits, int *counts) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    // The texture has 64 texels and repeats.
    const float4 texel = tex1D<float4>(bits, (i + 0.5f) / 64);
    atomicAdd(&counts[0], static_cast<int>(texel.x));
    atomicAdd(&counts[1], static_cast<int>(texel.y));
    atomicAdd(&counts[2], static_cast<int>(texel.z));
    atomicAdd(&counts[3], static_cast<int>(texel.w));
}

// Adds to each pixel of a surface its left neighbor, which is 0 outside, and stores the sum in
// another surface, upside down.
__global__ void add_neighbors(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int bytes = sizeof(uint2);
    if (x < WIDTH && y < HEIGHT) {
        uint2 pixel = surf2Dread<uint2>(from, x * bytes, y);
        const uint2 left = surf2Dread<uint2>(from, (x - 1) * bytes, y, cudaBoundaryModeZero);
        pixel.x += left.x;
        pixel.y += left.y;
        surf2Dwrite(pixel, to, x * bytes, HEIGHT - 1 - y);
    }
}

static const dim3 THREADS(16, 16);

static dim3 blocks(int width, int height) {
    return dim3(blocks_for(width, THREADS.x), blocks_for(height, THREADS.y));
}

static cudaResourceDesc resource(cudaArray_t array) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

static cudaTextureObject_t texture(cudaArray_t array, const cudaTextureDesc &description) {
    const cudaResourceDesc described = resource(array);
    cudaTextureObject_t object;
    CHECK(cudaCreateTextureObject(&object, &described, &description, nullptr));
    return object;
}

static cudaTextureDesc clamped(cudaTextureFilterMode filter) {
    cudaTextureDesc description = {};
    for (cudaTextureAddressMode &mode : description.addressMode) {
        mode = cudaAddressModeClamp;
    }
    description.filterMode = filter;
    description.readMode = cudaReadModeElementType;
    return description;
}

static float pixel(const std::vector<float> &image, int x, int y) {
    x = x < 0 ? 0 : x >= WIDTH ? WIDTH - 1 : x;
    y = y < 0 ? 0 : y >= HEIGHT ? HEIGHT - 1 : y;
    return image[y * WIDTH + x];
}

static void check_filtering() {
    std::vector<float> image(WIDTH * HEIGHT), large(4 * image.size());
    uint32_t state = 11;
    for (float &value : image) {
        value = static_cast<float>(next_random(state) % 4096);
    }
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    float *out;
    const size_t row = WIDTH * sizeof(float);
    CHECK(cudaMallocArray(&array, &format, WIDTH, HEIGHT));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), row, row, HEIGHT, cudaMemcpyHostToDevice));
    CHECK(cudaMalloc(&out, large.size() * sizeof(float)));
    const cudaTextureObject_t object = texture(array, clamped(cudaFilterModeLinear));
    enlarge<<<blocks(2 * WIDTH, 2 * HEIGHT), THREADS>>>(object, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(large.data(), out, large.size() * sizeof(float), cudaMemcpyDeviceToHost));
    for (int y = 0; y < 2 * HEIGHT; ++y) {
        for (int x = 0; x < 2 * WIDTH; ++x) {
            // The nearest pixel has three quarters of the weight in each dimension.
            const int near_x = x / 2, far_x = near_x + (x % 2 ? 1 : -1);
            const int near_y = y / 2, far_y = near_y + (y % 2 ? 1 : -1);
            const float expected =
                (9 * pixel(image, near_x, near_y) + 3 * pixel(image, far_x, near_y) +
                 3 * pixel(image, near_x, far_y) + pixel(image, far_x, far_y)) /
                16;
            const float got = large[y * 2 * WIDTH + x];
            REQUIRE(got == expected, "(%d, %d) is %g, not %g", x, y, got, expected);
        }
    }
    std::printf("textures: filtered %dx%d, checksum %016llx\n", 2 * WIDTH, 2 * HEIGHT,
                static_cast<unsigned long long>(
                    checksum(large.data(), large.size() * sizeof(float))));
    CHECK(cudaDestroyTextureObject(object));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(out));
}

static void check_layers() {
    std::vector<int> layers(WIDTH * HEIGHT * LAYERS), sums(WIDTH * HEIGHT);
    uint32_t state = 12;
    for (int &value : layers) {
        value = static_cast<int>(next_random(state) % 1000) - 500;
    }
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    const cudaExtent extent = make_cudaExtent(WIDTH, HEIGHT, LAYERS);
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, extent, cudaArrayLayered));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(layers.data(), WIDTH * sizeof(int), WIDTH, HEIGHT);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    int *out;
    CHECK(cudaMalloc(&out, sums.size() * sizeof(int)));
    const cudaTextureObject_t object = texture(array, clamped(cudaFilterModePoint));
    add_layers<<<blocks(WIDTH, HEIGHT), THREADS>>>(object, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(sums.data(), out, sums.size() * sizeof(int), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < sums.size(); ++i) {
        int expected = 0;
        for (int layer = 0; layer < LAYERS; ++layer) {
            expected += layers[layer * sums.size() + i] * (layer + 1);
        }
        REQUIRE(sums[i] == expected, "the sum at %zu is %d, not %d", i, sums[i], expected);
    }
    std::printf("textures: %d layers, checksum %016llx\n", LAYERS,
                static_cast<unsigned long long>(checksum(sums.data(), sums.size() * sizeof(int))));
    CHECK(cudaDestroyTextureObject(object));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(out));
}

static void check_bytes() {
    constexpr int TEXELS = 64, REPEATS = 4;
    std::vector<uchar4> texels(TEXELS);
    uint32_t state = 13;
    int expected[4] = {}, counts[4];
    for (uchar4 &texel : texels) {
        unsigned char *const components[] = {&texel.x, &texel.y, &texel.z, &texel.w};
        for (int i = 0; i < 4; ++i) {
            const int one = next_random(state) % 2;
            *components[i] = one ? 255 : 0;
            expected[i] += one * REPEATS;
        }
    }
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, TEXELS));
    const size_t row = TEXELS * sizeof(uchar4);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, texels.data(), row, row, 1, cudaMemcpyHostToDevice));
    cudaTextureDesc description = clamped(cudaFilterModePoint);
    description.addressMode[0] = cudaAddressModeWrap;
    description.normalizedCoords = 1;
    description.readMode = cudaReadModeNormalizedFloat;
    const cudaTextureObject_t object = texture(array, description);
    int *out;
    CHECK(cudaMalloc(&out, sizeof(counts)));
    CHECK(cudaMemset(out, 0, sizeof(counts)));
    count_ones<<<REPEATS, TEXELS>>>(object, out);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(counts, out, sizeof(counts), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 4; ++i) {
        REQUIRE(counts[i] == expected[i], "component %d: %d, not %d", i, counts[i], expected[i]);
    }
    std::printf("textures: %d, %d, %d, %d ones\n", counts[0], counts[1], counts[2], counts[3]);
    CHECK(cudaDestroyTextureObject(object));
    CHECK(cudaFreeArray(array));
    CHECK(cudaFree(out));
}

static void check_surfaces() {
    std::vector<uint2> image(WIDTH * HEIGHT), result(image.size());
    uint32_t state = 14;
    for (uint2 &value : image) {
        value.x = next_random(state);
        value.y = next_random(state);
    }
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<uint2>();
    cudaArray_t arrays[2];
    cudaSurfaceObject_t surfaces[2];
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaMallocArray(&arrays[i], &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
        const cudaResourceDesc described = resource(arrays[i]);
        CHECK(cudaCreateSurfaceObject(&surfaces[i], &described));
    }
    const size_t row = WIDTH * sizeof(uint2);
    CHECK(cudaMemcpy2DToArray(arrays[0], 0, 0, image.data(), row, row, HEIGHT,
                              cudaMemcpyHostToDevice));
    add_neighbors<<<blocks(WIDTH, HEIGHT), THREADS>>>(surfaces[0], surfaces[1]);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy2DFromArray(result.data(), row, arrays[1], 0, 0, row, HEIGHT,
                                cudaMemcpyDeviceToHost));
    for (int y = 0; y < HEIGHT; ++y) {
        for (int x = 0; x < WIDTH; ++x) {
            uint2 expected = image[y * WIDTH + x];
            if (x > 0) {
                expected.x += image[y * WIDTH + x - 1].x;
                expected.y += image[y * WIDTH + x - 1].y;
            }
            const uint2 got = result[(HEIGHT - 1 - y) * WIDTH + x];
            REQUIRE(got.x == expected.x && got.y == expected.y, "(%d, %d) is %u, %u, not %u, %u", x,
                    y, got.x, got.y, expected.x, expected.y);
        }
    }
    std::printf("textures: surface %dx%d, checksum %016llx\n", WIDTH, HEIGHT,
                static_cast<unsigned long long>(checksum(result.data(), row * HEIGHT)));
    for (int i = 0; i < 2; ++i) {
        CHECK(cudaDestroySurfaceObject(surfaces[i]));
        CHECK(cudaFreeArray(arrays[i]));
    }
}

int main() {
    check_filtering();
    check_layers();
    check_bytes();
    check_surfaces();
    return pass("textures");
}
