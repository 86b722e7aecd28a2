// Helpers shared by all programs: checks that report the failed call and its location, random
// numbers, checksums, and the last line of output.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

// Ends the program with an error message if a CUDA call fails.
#define CHECK(call) check_success((call), #call, __FILE__, __LINE__)

// Ends the program if a CUDA call returns anything but the expected error.
#define EXPECT_ERROR(call, expected) check_error((call), (expected), #call, __FILE__, __LINE__)

// Ends the program if a condition doesn't hold. The arguments after the condition are a printf
// format and its values.
#define REQUIRE(condition, ...)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: failed: %s: ", __FILE__, __LINE__, #condition);           \
            std::fprintf(stderr, __VA_ARGS__);                                                     \
            std::fputc('\n', stderr);                                                              \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

inline void check_success(cudaError_t result, const char *call, const char *file, int line) {
    if (result != cudaSuccess) {
        std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorName(result),
                     cudaGetErrorString(result));
        std::exit(1);
    }
}

inline void check_error(cudaError_t result, cudaError_t expected, const char *call,
                        const char *file, int line) {
    if (result != expected) {
        std::fprintf(stderr, "%s:%d: %s: got %s, expected %s\n", file, line, call,
                     cudaGetErrorName(result), cudaGetErrorName(expected));
        std::exit(1);
    }
}

// A small random number generator, so that every machine uses the same numbers.
inline uint32_t next_random(uint32_t &state) {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

// Returns an FNV-1a checksum. Programs print checksums of their results, which can be compared
// between machines.
inline uint64_t checksum(const void *data, size_t bytes) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes; ++i) {
        hash = (hash ^ static_cast<const uint8_t *>(data)[i]) * 0x100000001b3u;
    }
    return hash;
}

// Prints the last line of a successful program, and returns its exit status. Use it as `return
// pass("name");`.
inline int pass(const char *name) {
    std::printf("%s: PASS\n", name);
    return 0;
}

// Returns the number of blocks with `threads` threads each that cover `n` elements.
constexpr unsigned blocks_for(size_t n, unsigned threads) {
    return static_cast<unsigned>((n + threads - 1) / threads);
}
