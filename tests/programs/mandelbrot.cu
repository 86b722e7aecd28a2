// Computes the Mandelbrot set, with long loops that diverge within a warp.
//
//   mandelbrot [FILE.ppm [WIDTH HEIGHT]]
//
// Writes the picture to the file, and prints its checksum. Multiplications and additions are
// rounded separately (no fused multiply-add), so that every device computes the same picture.
#include "check.h"

#include <cerrno>
#include <cstring>
#include <vector>

constexpr int MOST_ITERATIONS = 160;

struct View {
    int width, height;
    double left, top, step;
};

struct Pixel {
    uint8_t red, green, blue;
};

// Prevents the device compiler from fusing a * b + c. (The host compiler has an option for that.)
__host__ __device__ inline double times(double a, double b) {
#ifdef __CUDA_ARCH__
    return __dmul_rn(a, b);
#else
    return a * b;
#endif
}

__host__ __device__ inline double plus(double a, double b) {
#ifdef __CUDA_ARCH__
    return __dadd_rn(a, b);
#else
    return a + b;
#endif
}

__host__ __device__ inline int iterations_at(double c_real, double c_imaginary) {
    double real = 0.0, imaginary = 0.0;
    for (int i = 0; i < MOST_ITERATIONS; ++i) {
        const double real_squared = times(real, real);
        const double imaginary_squared = times(imaginary, imaginary);
        if (plus(real_squared, imaginary_squared) > 4.0) {
            return i;
        }
        const double product = times(real, imaginary);
        imaginary = plus(plus(product, product), c_imaginary);
        real = plus(plus(real_squared, -imaginary_squared), c_real);
    }
    return MOST_ITERATIONS;
}

// Computes a color with integer polynomials: blue at the edges, then yellow, then black.
__host__ __device__ inline Pixel colour_of(int iterations) {
    if (iterations == MOST_ITERATIONS) {
        return {0, 0, 0};
    }
    // Use the square root of the count, because low counts cover most of the picture.
    const int square = 255 * 255 * iterations / MOST_ITERATIONS;
    int64_t t = 0;
    for (int bit = 128; bit > 0; bit /= 2) {
        if ((t + bit) * (t + bit) <= square) {
            t += bit;
        }
    }
    const int64_t u = 255 - t;
    const int64_t scale = 255 * 255 * 255;
    return {static_cast<uint8_t>(9 * u * t * t * t / scale),
            static_cast<uint8_t>(15 * u * u * t * t / scale),
            static_cast<uint8_t>(35 + 8 * u * u * u * t / scale)};
}

__host__ __device__ inline Pixel pixel_at(const View &view, int x, int y) {
    const double real = plus(view.left, times(x, view.step));
    const double imaginary = plus(view.top, -times(y, view.step));
    return colour_of(iterations_at(real, imaginary));
}

__global__ void mandelbrot(View view, Pixel *picture) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < view.width && y < view.height) {
        picture[y * view.width + x] = pixel_at(view, x, y);
    }
}

static void write_ppm(const char *path, const View &view, const std::vector<Pixel> &picture) {
    FILE *file = std::fopen(path, "wb");
    REQUIRE(file != nullptr, "cannot write %s: %s", path, std::strerror(errno));
    std::fprintf(file, "P6\n%d %d\n255\n", view.width, view.height);
    const size_t written = std::fwrite(picture.data(), sizeof(Pixel), picture.size(), file);
    const bool closed = std::fclose(file) == 0;
    REQUIRE(written == picture.size() && closed, "cannot write all of %s", path);
}

int main(int argc, char **argv) {
    View view = {240, 160, 0, 0, 0};
    if (argc == 4) {
        view.width = std::atoi(argv[2]);
        view.height = std::atoi(argv[3]);
    }
    if ((argc != 1 && argc != 2 && argc != 4) || view.width < 1 || view.height < 1 ||
        view.width > 16384 || view.height > 16384) {
        std::fprintf(stderr, "usage: mandelbrot [FILE.ppm [WIDTH HEIGHT]], sizes up to 16384\n");
        return 2;
    }
    view.step = 2.4 / view.height;
    view.left = -0.65 - view.step * view.width / 2;
    view.top = 1.2;

    std::vector<Pixel> picture(static_cast<size_t>(view.width) * view.height);
    const size_t bytes = picture.size() * sizeof(Pixel);
    Pixel *device_picture;
    CHECK(cudaMalloc(&device_picture, bytes));
    const dim3 threads(16, 8);
    const dim3 blocks(blocks_for(view.width, threads.x), blocks_for(view.height, threads.y));
    mandelbrot<<<blocks, threads>>>(view, device_picture);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(picture.data(), device_picture, bytes, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_picture));

    for (int y = 0; y < view.height; ++y) {
        for (int x = 0; x < view.width; ++x) {
            const Pixel got = picture[static_cast<size_t>(y) * view.width + x];
            const Pixel expected = pixel_at(view, x, y);
            REQUIRE(std::memcmp(&got, &expected, sizeof got) == 0,
                    "pixel (%d, %d) is %d,%d,%d, not %d,%d,%d", x, y, got.red, got.green, got.blue,
                    expected.red, expected.green, expected.blue);
        }
    }
    if (argc > 1) {
        write_ppm(argv[1], view, picture);
    }
    std::printf("mandelbrot: %dx%d, checksum %016llx\n", view.width, view.height,
                static_cast<unsigned long long>(checksum(picture.data(), bytes)));
    return pass("mandelbrot");
}
