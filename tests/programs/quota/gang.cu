// Runs kernels on two GPUs that wait for each other, as in a collective operation. Each kernel
// writes a flag in mapped pinned memory and spins until the kernel on the other GPU has written its
// flag.
//
//   gang [--seconds S] [--kernel-us US] [--start-at UNIX_NS] [--devices 0,1] [--hang-after S] …
//
// If the two kernels in a round don't run at the same time, neither ends. If no round completes for
// --hang-after seconds (default 10), the program reports a hang and exits with status 3. --one-gpu
// 1 runs both kernels on one GPU, in two streams, if the machine has only one.
//
// The last line is JSON: rounds, per_second, longest_pause_ms.
#include "work.h"

#include <atomic>
#include <thread>

// Flags are a cache line apart.
constexpr int line = 16;

__global__ void meet(volatile unsigned *flags, int me, unsigned round, unsigned iterations,
                     unsigned *sink) {
    if (threadIdx.x == 0) {
        flags[me * line] = round;
        __threadfence_system();
        // Round numbers increase. They would wrap only after far more rounds than a test runs.
        while (static_cast<int>(flags[(1 - me) * line] - round) < 0) {
        }
    }
    __syncthreads();
    work(iterations, sink);
}

int main(int argc, char **argv) {
    Options options(argc, argv);
    const double seconds = options.number("seconds", 60);
    const double kernel_us = options.number("kernel-us", 200);
    double rate = options.number("rate", 0);
    const double warmup = options.number("warmup", 0.5), cooldown = options.number("cooldown", 0.3);
    const double hang_after = options.number("hang-after", 10);
    const unsigned threads = static_cast<unsigned>(options.number("threads", 256));
    const unsigned in_flight = std::max(1u, static_cast<unsigned>(options.number("in-flight", 16)));
    const bool one_gpu = options.number("one-gpu", 0) != 0;
    int64_t start = options.nanoseconds("start-at");
    options.finish();
    int count;
    CHECK(cudaGetDeviceCount(&count));
    REQUIRE(one_gpu || count >= 2, "needs two GPUs, but found %d", count);

    unsigned *flags;
    CHECK(cudaHostAlloc(&flags, 4096, cudaHostAllocMapped | cudaHostAllocPortable));
    std::memset(flags, 0, 4096);
    unsigned *seen[2], *sink[2];
    cudaStream_t stream[2];
    std::vector<cudaEvent_t> done[2];
    for (int me = 0; me < 2; ++me) {
        CHECK(cudaSetDevice(one_gpu ? 0 : me));
        CHECK(cudaStreamCreateWithFlags(&stream[me], cudaStreamNonBlocking));
        CHECK(cudaHostGetDevicePointer(&seen[me], flags, 0));
        CHECK(cudaMalloc(&sink[me], sizeof **sink));
        done[me].resize(in_flight);
        for (auto &event : done[me]) {
            CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
        }
        // Load the kernel first, because loading may wait for the GPU, on which a kernel may
        // already be waiting for this one.
        meet<<<1, threads, 0, stream[me]>>>(seen[me], me, 0u, 1u, sink[me]);
        CHECK(cudaGetLastError());
        CHECK(cudaStreamSynchronize(stream[me]));
        if (rate == 0) {
            rate = calibrate({1, threads}, sink[me]);
        }
    }

    std::atomic<int64_t> last_round{now_ns()};
    std::atomic<bool> over{false};
    std::thread watchdog([&] {
        while (!over) {
            usleep(100000);
            if (now_ns() - last_round > ns(hang_after)) {
                std::fprintf(stderr, "gang: hang: no round has completed for %g s\n", hang_after);
                _exit(3);
            }
        }
    });

    if (start == 0) {
        start = now_ns() + ns(warmup);
    }
    while (start - ns(warmup) - now_ns() > 0) {
        last_round = now_ns();
        usleep(1000);
    }
    const int64_t end = start + ns(seconds);
    const unsigned iterations = iterations_for(kernel_us, rate);
    int64_t longest = 0, last = start;
    size_t rounds = 0;
    for (unsigned round = 1; now_ns() < end + ns(cooldown); ++round) {
        const size_t slot = round % in_flight;
        if (round > in_flight) {
            for (int me = 0; me < 2; ++me) {
                CHECK(cudaEventSynchronize(done[me][slot]));
            }
            const int64_t now = now_ns();
            last_round = now;
            if (now >= start && now < end) {
                ++rounds;
                longest = std::max(longest, now - last);
                last = now;
            }
        }
        for (int me = 0; me < 2; ++me) {
            CHECK(cudaSetDevice(one_gpu ? 0 : me));
            meet<<<1, threads, 0, stream[me]>>>(seen[me], me, round, iterations, sink[me]);
            CHECK(cudaGetLastError());
            CHECK(cudaEventRecord(done[me][slot], stream[me]));
        }
    }
    for (int me = 0; me < 2; ++me) {
        CHECK(cudaStreamSynchronize(stream[me]));
    }
    over = true;
    watchdog.join();
    std::printf("{\"program\":\"gang\",\"kernel_us\":%g,\"seconds\":%g,\"rounds\":%zu,"
                "\"per_second\":%.1f,\"longest_pause_ms\":%.1f}\n",
                kernel_us, seconds, rounds, rounds / seconds, longest / 1e6);
    return 0;
}
