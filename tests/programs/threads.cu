// Several host threads in one context. Each uses its own data and its own stream, or CUDA's
// per-thread default stream. Errors are reported only to the thread that caused them.
#include "check.h"

#include <thread>
#include <vector>

constexpr int HOST_THREADS = 6, ROUNDS = 12, N = 4000;

__global__ void advance(uint32_t *data, int n, uint32_t salt) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        data[i] = data[i] * 1664525u + salt + i;
    }
}

static uint64_t work(int number) {
    // Some threads use the special handle for the calling thread's default stream; the others
    // create a stream.
    cudaStream_t stream = cudaStreamPerThread;
    if (number % 2 == 0) {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    }
    std::vector<uint32_t> expected(N), result(N);
    uint32_t state = 100 + number;
    for (uint32_t &value : expected) {
        value = next_random(state);
    }
    uint32_t *data;
    CHECK(cudaMalloc(&data, N * sizeof(uint32_t)));
    CHECK(cudaMemcpyAsync(data, expected.data(), N * sizeof(uint32_t), cudaMemcpyHostToDevice,
                          stream));
    CHECK(cudaStreamSynchronize(stream));
    for (int round = 0; round < ROUNDS; ++round) {
        const uint32_t salt = number * 1000 + round;
        advance<<<blocks_for(N, 128), 128, 0, stream>>>(data, N, salt);
        CHECK(cudaGetLastError());
        for (int i = 0; i < N; ++i) {
            expected[i] = expected[i] * 1664525u + salt + i;
        }
        if (number == 3) {
            // Cause an error in this thread only. The other threads check cudaGetLastError.
            EXPECT_ERROR(cudaMemcpyAsync(data, data, 4, static_cast<cudaMemcpyKind>(77), stream),
                         cudaErrorInvalidMemcpyDirection);
            EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidMemcpyDirection);
        }
        if (round % 4 == 3) {
            CHECK(cudaMemcpyAsync(result.data(), data, N * sizeof(uint32_t), cudaMemcpyDeviceToHost,
                                  stream));
            CHECK(cudaStreamSynchronize(stream));
            REQUIRE(result == expected, "thread %d, round %d", number, round);
        }
    }
    CHECK(cudaFree(data));
    if (number % 2 == 0) {
        CHECK(cudaStreamDestroy(stream));
    }
    return checksum(result.data(), N * sizeof(uint32_t));
}

int main() {
    // Don't make any CUDA calls before this point, so that the threads initialize CUDA at the same
    // time.
    uint64_t sums[HOST_THREADS];
    std::vector<std::thread> threads;
    for (int number = 0; number < HOST_THREADS; ++number) {
        threads.emplace_back([number, &sums] { sums[number] = work(number); });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    CHECK(cudaDeviceSynchronize());
    for (int number = 0; number < HOST_THREADS; ++number) {
        std::printf("threads: %d, checksum %016llx\n", number,
                    static_cast<unsigned long long>(sums[number]));
    }
    return pass("threads");
}
