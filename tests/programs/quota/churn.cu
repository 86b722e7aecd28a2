// Allocates and frees memory at random, and compares cudaMemGetInfo with the memory it holds.
//
//   churn [--sequences N] [--max MIB] [--seed N] [--pause-every N]
//
// A sequence consists of some allocations of 1 byte to --max MiB (default 64), by cudaMalloc or
// cudaMallocAsync, and about as many frees, in random order. After every 1,000 sequences and at the
// end, the program frees everything, and the free memory must be the same as at the start. Refused
// allocations aren't errors. With --pause-every, it prints `held BYTES free BYTES total BYTES`
// after every N sequences and waits for a line on standard input, so that the caller can check the
// memory.
//
// The last line is JSON.
#include "load.h"

#include <iostream>

struct Block {
    void *memory;
    size_t bytes;
    bool async;
};

static size_t total;

static size_t free_now() {
    size_t available;
    CHECK(cudaMemGetInfo(&available, &total));
    REQUIRE(available <= total, "%zu of %zu are free", available, total);
    return available;
}

int main(int argc, char **argv) {
    Options options(argc, argv);
    const unsigned sequences = static_cast<unsigned>(options.number("sequences", 10000));
    const double max_mib = options.number("max", 64);
    const unsigned pause_every = static_cast<unsigned>(options.number("pause-every", 0));
    uint32_t random = static_cast<uint32_t>(options.number("seed", 1));
    options.finish();

    // Return asynchronously allocated memory to the device immediately, so that it's counted as
    // free.
    cudaMemPool_t pool;
    const bool pools = cudaDeviceGetDefaultMemPool(&pool, 0) == cudaSuccess;
    (void)cudaGetLastError();
    const auto chance = [&random] { return next_random(random) / double(1 << 24); };
    std::vector<Block> blocks;
    size_t held = 0;
    uint64_t granted = 0, refused = 0;
    const auto release = [&](size_t index) {
        const Block block = blocks[index];
        CHECK(block.async ? cudaFreeAsync(block.memory, nullptr) : cudaFree(block.memory));
        held -= block.bytes;
        blocks[index] = blocks.back();
        blocks.pop_back();
    };
    const auto release_all = [&] {
        while (!blocks.empty()) {
            release(blocks.size() - 1);
        }
        CHECK(cudaStreamSynchronize(nullptr));
        if (pools) {
            CHECK(cudaMemPoolTrimTo(pool, 0));
        }
    };
    // Load everything that is loaded on first use, including the pool's own memory.
    void *first;
    CHECK(cudaMalloc(&first, 1));
    CHECK(cudaFree(first));
    if (pools) {
        CHECK(cudaMallocAsync(&first, 1, nullptr));
        CHECK(cudaFreeAsync(first, nullptr));
    }
    release_all();
    const size_t at_first = free_now();

    for (unsigned sequence = 1; sequence <= sequences; ++sequence) {
        const unsigned steps = 1 + static_cast<unsigned>(chance() * 8);
        for (unsigned step = 0; step < steps; ++step) {
            // Make all orders of magnitude equally likely.
            const double magnitude = std::log2(max_mib * 1048576) * chance();
            Block block = {nullptr, static_cast<size_t>(std::exp2(magnitude)), pools && chance() < 0.3};
            const cudaError_t result = block.async ? cudaMallocAsync(&block.memory, block.bytes, nullptr)
                                                   : cudaMalloc(&block.memory, block.bytes);
            if (result == cudaErrorMemoryAllocation) {
                (void)cudaGetLastError();
                ++refused;
                continue;
            }
            CHECK(result);
            ++granted;
            held += block.bytes;
            blocks.push_back(block);
        }
        for (unsigned step = 0; step < steps && !blocks.empty(); ++step) {
            release(std::min(blocks.size() - 1, static_cast<size_t>(chance() * blocks.size())));
        }
        const size_t available = free_now();
        REQUIRE(total - available >= held, "%zu bytes are held, and %zu shown as used", held,
                total - available);
        if (pause_every != 0 && sequence % pause_every == 0) {
            CHECK(cudaDeviceSynchronize());
            std::printf("held %zu free %zu total %zu\n", held, available, total);
            std::fflush(stdout);
            std::string line;
            std::getline(std::cin, line);
        }
        if (sequence % 1000 == 0) {
            release_all();
            REQUIRE(free_now() == at_first, "%zu bytes were free at first, and now %zu", at_first,
                    free_now());
        }
    }
    release_all();
    const size_t at_last = free_now();
    REQUIRE(at_last == at_first, "%zu bytes were free at first, and now %zu", at_first, at_last);
    std::printf("{\"program\":\"churn\",\"sequences\":%u,\"granted\":%llu,\"refused\":%llu,"
                "\"free\":%zu,\"total\":%zu}\n",
                sequences, static_cast<unsigned long long>(granted),
                static_cast<unsigned long long>(refused), at_last, total);
    return 0;
}
