// Like evicted, with kernels that launch kernels (dynamic parallelism).
//
//   evicteddynamic [--work-ms MS] [--longest-ms MS] [--seed N] [--rate R] …
//
// A kernel launches one for each part of the data. After those, a kernel runs that combines the parts,
// and then the first one again, several times. For the options, see evicted.
#include "evicted.h"

constexpr unsigned PARTS = 8, GENERATIONS = 4;

static __global__ void change(unsigned *data, unsigned iterations) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    data[i] = advance(data[i], iterations);
}

// Adds the words of the next part to those of each part.
static __global__ void combine(unsigned *to, const unsigned *from, unsigned words) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = to[i] * 3 + from[(i + words / PARTS) % words];
}

static __device__ void check_launch(unsigned *failed) {
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess) {
        *failed = error;
    }
}

static __global__ void launch(unsigned *data, unsigned *next, unsigned blocks, unsigned threads,
                              unsigned iterations, unsigned generation, unsigned *failed) {
    const unsigned part = threadIdx.x;
    change<<<blocks, threads, 0, cudaStreamFireAndForget>>>(data + part * blocks * threads, iterations);
    check_launch(failed);
    if (part == 0) {
        combine<<<blocks * PARTS, threads, 0, cudaStreamTailLaunch>>>(next, data,
                                                                     blocks * PARTS * threads);
        check_launch(failed);
        if (generation > 1) {
            launch<<<1, PARTS, 0, cudaStreamTailLaunch>>>(next, data, blocks, threads, iterations,
                                                          generation - 1, failed);
            check_launch(failed);
        }
    }
}

int main(int argc, char **argv) {
    Options options(argc, argv);
    const Plan plan(options);
    options.finish();
    const unsigned blocks = std::max(1u, plan.shape.blocks / PARTS), threads = plan.shape.threads;
    const size_t words = static_cast<size_t>(blocks) * threads * PARTS;
    unsigned *data = filled(words, 1), *next = filled(words, 2), *failed, error;
    CHECK(cudaMalloc(&failed, sizeof *failed));
    CHECK(cudaMemset(failed, 0, sizeof *failed));
    for (const unsigned iterations : plan.kernels()) {
        launch<<<1, PARTS>>>(data, next, blocks, threads, std::max(1u, iterations / GENERATIONS),
                             GENERATIONS, failed);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&error, failed, sizeof error, cudaMemcpyDeviceToHost));
    REQUIRE(error == 0, "a kernel's launch failed: %s",
            cudaGetErrorName(static_cast<cudaError_t>(error)));
    Digest digest;
    digest.add_device(data, words * sizeof *data);
    digest.add_device(next, words * sizeof *next);
    return digest.print();
}
