// Holds memory of several kinds, and checks all of it after each line on standard input. Between two
// lines, its memory may leave the GPU and return.
//
//   away [MIB]    the size of the largest allocation (default 64)
//
// Prints "away: ready", and "away: round N" after each check. At the end of the input, it frees
// everything.
#include "../check.h"

#include <iostream>
#include <string>
#include <vector>

constexpr size_t MIB = 1 << 20;

__device__ uint32_t variable[MIB / 4];

__global__ void add(uint32_t *words, size_t count, uint32_t step) {
    for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
         i += size_t(gridDim.x) * blockDim.x) {
        words[i] += step;
    }
}

struct Block {
    uint32_t *memory;
    size_t words;
    bool async;
};

// A word's value after some rounds.
static uint32_t expected(size_t block, size_t word, uint32_t round) {
    return uint32_t(block * 7919 + word) + round;
}

int main(int argc, char **argv) {
    const size_t largest = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64) * MIB;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    // Make the pool keep its memory.
    cudaMemPool_t pool;
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    uint64_t all = UINT64_MAX;
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));

    std::vector<Block> blocks;
    const auto allocate = [&](size_t bytes, bool async) {
        void *memory;
        CHECK(async ? cudaMallocAsync(&memory, bytes, stream) : cudaMalloc(&memory, bytes));
        blocks.push_back({static_cast<uint32_t *>(memory), bytes / 4, async});
    };
    allocate(largest, false);
    for (int i = 0; i < 20; ++i) {
        allocate(100 << 10, false);
    }
    allocate(3 * MIB + 4, false);
    allocate(5 * MIB, true);
    allocate(64 << 10, true);
    void *address;
    CHECK(cudaGetSymbolAddress(&address, variable));
    blocks.push_back({static_cast<uint32_t *>(address), MIB / 4, false});

    std::vector<uint32_t> host;
    for (size_t block = 0; block < blocks.size(); ++block) {
        host.resize(blocks[block].words);
        for (size_t word = 0; word < host.size(); ++word) {
            host[word] = expected(block, word, 0);
        }
        CHECK(cudaMemcpyAsync(blocks[block].memory, host.data(), host.size() * 4,
                              cudaMemcpyHostToDevice, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    // A graph changes the largest allocation, so it contains an address.
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    add<<<64, 256, 0, stream>>>(blocks[0].memory, blocks[0].words, 1);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));

    std::printf("away: ready\n");
    std::fflush(stdout);
    std::string line;
    for (uint32_t round = 1; std::getline(std::cin, line); ++round) {
        CHECK(cudaGraphLaunch(executable, stream));
        for (size_t block = 1; block < blocks.size(); ++block) {
            add<<<64, 256, 0, stream>>>(blocks[block].memory, blocks[block].words, 1);
        }
        CHECK(cudaGetLastError());
        for (size_t block = 0; block < blocks.size(); ++block) {
            host.assign(blocks[block].words, 0);
            CHECK(cudaMemcpyAsync(host.data(), blocks[block].memory, host.size() * 4,
                                  cudaMemcpyDeviceToHost, stream));
            CHECK(cudaStreamSynchronize(stream));
            for (size_t word = 0; word < host.size(); ++word) {
                REQUIRE(host[word] == expected(block, word, round), "block %zu, word %zu: %u, not %u",
                        block, word, host[word], expected(block, word, round));
            }
        }
        void *more;
        CHECK(cudaMalloc(&more, 4 * MIB));
        CHECK(cudaMemset(more, 0xff, 4 * MIB));
        CHECK(cudaFree(more));
        std::printf("away: round %u\n", round);
        std::fflush(stdout);
    }
    CHECK(cudaGetSymbolAddress(&address, variable));
    for (const Block &block : blocks) {
        if (block.memory != address) {
            CHECK(block.async ? cudaFreeAsync(block.memory, stream) : cudaFree(block.memory));
        }
    }
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
    return pass("away");
}
