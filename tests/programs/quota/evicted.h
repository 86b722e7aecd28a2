// Helpers of the programs whose kernels are evicted: a fixed sequence of kernels of random lengths, and
// a digest of the results.
#pragma once

#include "work.h"

// Continues a chain of dependent operations. It takes as long as `work` takes with the same number
// of iterations.
__device__ inline unsigned advance(unsigned x, unsigned iterations) {
#pragma unroll 1
    for (unsigned i = 0; i < iterations; ++i) {
        x = x * 1664525u + 1013904223u;
        x ^= x >> 7;
    }
    return x;
}

// The options that all programs with evicted kernels have. The results depend only on these
// options, and not on time.
struct Plan {
    Shape shape;
    double rate, work_ms, longest_ms;
    uint32_t seed;

    explicit Plan(Options &options)
        : shape(shape_of(options)), rate(options.number("rate", 18)),
          work_ms(options.number("work-ms", 700)), longest_ms(options.number("longest-ms", 100)),
          seed(static_cast<uint32_t>(options.number("seed", 1))) {}

    size_t threads() const { return static_cast<size_t>(shape.blocks) * shape.threads; }

    // Returns the numbers of iterations of kernels that together take about --work-ms. The kernels'
    // lengths are random, from 0.1 ms to --longest-ms, and short ones are as frequent as long ones.
    std::vector<unsigned> kernels() const {
        std::vector<unsigned> all;
        uint32_t random = seed;
        for (double left = work_ms; left > 0;) {
            const double part = next_random(random) / static_cast<double>(1 << 24);
            const double ms = std::min(left + 0.1, 0.1 * std::pow(longest_ms / 0.1, part));
            all.push_back(iterations_for(ms * 1000, rate));
            left -= ms;
        }
        return all;
    }
};

// A digest of all data that was added to it, in this order.
class Digest {
  public:
    void add(const void *data, size_t bytes) {
        for (size_t i = 0; i < bytes; ++i) {
            hash_ = (hash_ ^ static_cast<const uint8_t *>(data)[i]) * 0x100000001b3u;
        }
    }

    // Adds the contents of device memory.
    void add_device(const void *data, size_t bytes) {
        std::vector<uint8_t> copy(bytes);
        CHECK(cudaMemcpy(copy.data(), data, bytes, cudaMemcpyDeviceToHost));
        add(copy.data(), bytes);
    }

    // Prints the digest as the last line of a successful program.
    int print() const {
        std::printf("result: %016llx\n", static_cast<unsigned long long>(hash_));
        return 0;
    }

  private:
    uint64_t hash_ = 0xcbf29ce484222325u;
};

// The exit status if the device doesn't support the feature that the program tests.
constexpr int UNSUPPORTED = 77;

// Returns device memory of `words` words whose values depend on their positions.
inline unsigned *filled(size_t words, unsigned salt = 0) {
    std::vector<unsigned> values(words);
    for (size_t i = 0; i < words; ++i) {
        values[i] = static_cast<unsigned>(i) * 2654435761u + salt;
    }
    unsigned *data;
    CHECK(cudaMalloc(&data, words * sizeof(unsigned)));
    CHECK(cudaMemcpy(data, values.data(), words * sizeof(unsigned), cudaMemcpyHostToDevice));
    // Wait for the copy: it may return before the data has reached the GPU, because its source is
    // pageable, and non-blocking streams don't wait for it.
    CHECK(cudaDeviceSynchronize());
    return data;
}

inline cudaStream_t new_stream() {
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

inline cudaEvent_t new_event() {
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}
