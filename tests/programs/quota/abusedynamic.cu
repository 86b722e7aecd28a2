// Like abuse, with a kernel that launches kernels (dynamic parallelism).
//
//   abusedynamic [--seconds S] [--start-at NS] [--generations N] [--kernel-us US] …
//
// A kernel launches 8 kernels at once, which together fill the GPU, and after them itself, 1,000 times
// (--generations). The program launches it again and again. For --blocks, --threads, and --rate, see
// saturate. An operation is a launch from the device.
//
// The last line is JSON, with the number of operations per second.
#include "work.h"

constexpr unsigned PARTS = 8;

static __global__ void parent(unsigned generations, unsigned blocks, unsigned threads, unsigned iterations,
                              unsigned *sink) {
    fixed_work<<<blocks, threads, 0, cudaStreamFireAndForget>>>(iterations, sink);
    if (threadIdx.x == 0 && generations > 1) {
        parent<<<1, PARTS, 0, cudaStreamTailLaunch>>>(generations - 1, blocks, threads, iterations, sink);
    }
    if (cudaGetLastError() != cudaSuccess) {
        *sink = 1;
    }
}

int main(int argc, char **argv) {
    Options options(argc, argv);
    const Shape shape = shape_of(options);
    const double seconds = options.number("seconds", 5), rate = options.number("rate", 18);
    const double kernel_us = options.number("kernel-us", 20);
    const unsigned generations = static_cast<unsigned>(options.number("generations", 1000));
    const int64_t start_at = options.nanoseconds("start-at");
    options.finish();
    unsigned *sink, failed;
    CHECK(cudaMalloc(&sink, sizeof *sink));
    CHECK(cudaMemset(sink, 0, sizeof *sink));
    const auto operation = [&] {
        parent<<<1, PARTS>>>(generations, std::max(1u, shape.blocks / PARTS), shape.threads,
                             iterations_for(kernel_us, rate), sink);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
    };
    operation();
    sleep_until(start_at);
    const int64_t start = now_ns(), until = start + ns(seconds);
    uint64_t done = 0;
    for (; now_ns() < until; done += uint64_t(generations) * (PARTS + 1)) {
        operation();
    }
    CHECK(cudaMemcpy(&failed, sink, sizeof failed, cudaMemcpyDeviceToHost));
    REQUIRE(failed == 0, "a launch from the device failed");
    std::printf("{\"program\":\"abusedynamic\",\"operations\":%llu,\"per_second\":%.1f}\n",
                static_cast<unsigned long long>(done), done / ((now_ns() - start) / 1e9));
    return 0;
}
