// A noisy neighbor: some threads allocate until an allocation fails, and then free everything;
// others flood the GPU with tiny launches on their own streams. Runs forever, or for --seconds S.
//
//   noise [--seconds S] [--start-at UNIX_NS] [--allocators N] [--flooders N] [--block MIB]
//
// The last line is JSON with statistics. Any error except out of memory ends the program.
#include "load.h"

#include <atomic>
#include <thread>

__global__ void tiny(unsigned *counter) {
    if (threadIdx.x == 0) {
        *counter += 1;
    }
}

int main(int argc, char **argv) {
    Options options(argc, argv);
    const double seconds = options.number("seconds", 10);
    const unsigned allocators = static_cast<unsigned>(options.number("allocators", 2));
    const unsigned flooders = static_cast<unsigned>(options.number("flooders", 3));
    const size_t block = static_cast<size_t>(options.number("block", 64)) << 20;
    int64_t start = options.nanoseconds("start-at");
    options.finish();
    REQUIRE(block > 0, "--block must be greater than 0");

    CHECK(cudaFree(nullptr));
    start = start == 0 ? now_ns() : start;
    sleep_until(start);
    const int64_t end = start + ns(seconds);
    std::atomic<uint64_t> launches{0}, granted{0}, refused{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < allocators; ++i) {
        threads.emplace_back([&] {
            while (now_ns() < end) {
                std::vector<void *> held;
                bool full = false;
                while (!full && now_ns() < end) {
                    void *memory;
                    const cudaError_t result = cudaMalloc(&memory, block);
                    if (result == cudaSuccess) {
                        held.push_back(memory);
                        granted += 1;
                    } else {
                        REQUIRE(result == cudaErrorMemoryAllocation, "%s", cudaGetErrorName(result));
                        refused += 1;
                        full = true;
                    }
                }
                // Repeat the refused allocation several times, to generate more load.
                for (int more = 0; full && more < 20; ++more) {
                    void *memory;
                    if (cudaMalloc(&memory, block) == cudaSuccess) {
                        held.push_back(memory);
                        granted += 1;
                    } else {
                        refused += 1;
                    }
                }
                (void)cudaGetLastError();
                for (void *memory : held) {
                    CHECK(cudaFree(memory));
                }
            }
        });
    }
    for (unsigned i = 0; i < flooders; ++i) {
        threads.emplace_back([&] {
            unsigned *counter;
            cudaStream_t stream;
            cudaError_t result;
            // Ignore out-of-memory errors, because the allocating threads may hold all memory at
            // the moment.
            while ((result = cudaMalloc(&counter, sizeof *counter)) == cudaErrorMemoryAllocation) {
                (void)cudaGetLastError();
                usleep(1000);
            }
            CHECK(result);
            CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
            CHECK(cudaMemsetAsync(counter, 0, sizeof *counter, stream));
            uint64_t mine = 0;
            while (now_ns() < end) {
                for (int j = 0; j < 1000; ++j) {
                    tiny<<<1, 32, 0, stream>>>(counter);
                }
                CHECK(cudaGetLastError());
                CHECK(cudaStreamSynchronize(stream));
                mine += 1000;
            }
            unsigned counted;
            CHECK(cudaMemcpyAsync(&counted, counter, sizeof counted, cudaMemcpyDeviceToHost, stream));
            CHECK(cudaStreamSynchronize(stream));
            REQUIRE(counted == static_cast<unsigned>(mine), "%u launches counted of %llu", counted,
                    static_cast<unsigned long long>(mine));
            launches += mine;
        });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    std::printf("{\"program\":\"noise\",\"seconds\":%g,\"launches\":%llu,\"granted\":%llu,"
                "\"refused\":%llu}\n",
                seconds, static_cast<unsigned long long>(launches.load()),
                static_cast<unsigned long long>(granted.load()),
                static_cast<unsigned long long>(refused.load()));
    return 0;
}
