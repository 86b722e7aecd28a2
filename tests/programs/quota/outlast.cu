// Runs one long kernel after another, or a single one that never ends, and counts their iterations
// while they run, so that the work of a part of a kernel counts, too.
//
//   outlast [--kernel-us US] [--seconds S] [--start-at UNIX_NS] …
//
// Without --kernel-us, the kernel ends only with the program. Kernels that end are queued two at a
// time. For --blocks, --threads, --rate, --warmup, and --cooldown, see saturate.
//
// Work is measured in microseconds of kernel time at --rate. The last line is JSON: done (us),
// per_second (us/s), per_100ms (a list), and longest_pause_ms, the longest time without progress.
#include "work.h"

// How many iterations a block makes between two reports: about 1 ms. Reads of the host's memory take
// time, so there should be few of them.
static constexpr unsigned long long PART = 18000;

// Makes `parts` times PART iterations. Blocks on the same multiprocessor may run one after another, so each
// of them reports its own number of parts, to `done`, which begins with `base`. Ends early if `stops`
// isn't 0. All three are in the host's memory.
static __global__ void counted(unsigned long long base, unsigned long long parts,
                               volatile unsigned long long *done, const volatile unsigned *stops,
                               unsigned *sink) {
    __shared__ unsigned stop;
    for (unsigned long long i = 1; i <= parts; ++i) {
        work(PART, sink);
        if (threadIdx.x == 0) {
            done[blockIdx.x] = base + i;
            stop = *stops;
        }
        __syncthreads();
        if (stop != 0) {
            return;
        }
        __syncthreads();
    }
}

int main(int argc, char **argv) {
    Options options(argc, argv);
    const double kernel_us = options.number("kernel-us", 0);
    const Shape shape = shape_of(options);
    double rate = options.number("rate", 0);
    const double seconds = options.number("seconds", 10);
    const double warmup = options.number("warmup", 0.5), cooldown = options.number("cooldown", 0.3);
    int64_t start = options.nanoseconds("start-at");
    options.finish();

    unsigned *sink;
    CHECK(cudaMalloc(&sink, sizeof *sink));
    if (rate == 0) {
        rate = calibrate(shape, sink);
    }
    const size_t size = shape.blocks * sizeof(unsigned long long);
    unsigned long long *reports, *reports_seen;
    unsigned *flag, *flag_seen;
    CHECK(cudaHostAlloc(&reports, size, cudaHostAllocMapped));
    CHECK(cudaHostAlloc(&flag, sizeof *flag, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&reports_seen, reports, 0));
    CHECK(cudaHostGetDevicePointer(&flag_seen, flag, 0));
    std::memset(reports, 0, size);
    *flag = 0;
    // The iterations of a block, on average.
    const auto iterations = [&] {
        double sum = 0;
        for (unsigned i = 0; i < shape.blocks; ++i) {
            sum += static_cast<volatile unsigned long long *>(reports)[i];
        }
        return sum * PART / shape.blocks;
    };
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaEvent_t events[2];
    for (auto &event : events) {
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
    unsigned long long base = 0;
    const auto launch = [&](unsigned long long parts) {
        counted<<<shape.blocks, shape.threads, 0, stream>>>(base, parts, reports_seen, flag_seen,
                                                            sink);
        CHECK(cudaGetLastError());
        base += parts;
    };
    // The first launch loads the kernel.
    launch(1);
    CHECK(cudaStreamSynchronize(stream));

    const auto parts = static_cast<unsigned long long>(std::max(1.0, kernel_us * rate / PART));
    if (start == 0) {
        start = now_ns() + ns(warmup);
    }
    REQUIRE(now_ns() <= start, "--start-at was %.3f s ago", (now_ns() - start) / 1e9);
    sleep_until(start - ns(warmup));

    const int64_t end = start + ns(seconds), bin = 100000000;
    std::vector<double> at;
    double last = 0;
    int64_t moved = start, longest = 0;
    for (size_t next = 0; now_ns() < end + ns(cooldown);) {
        if (kernel_us == 0 && next == 0) {
            launch(1ull << 40);
            next = 1;
        } else if (kernel_us != 0) {
            const cudaError_t found = next < 2 ? cudaSuccess : cudaEventQuery(events[next % 2]);
            if (found == cudaSuccess) {
                launch(parts);
                CHECK(cudaEventRecord(events[next++ % 2], stream));
            } else {
                REQUIRE(found == cudaErrorNotReady, "%s", cudaGetErrorName(found));
            }
        }
        const int64_t now = now_ns();
        const double count = iterations();
        if (now >= start && now < end + bin) {
            while (now >= start + static_cast<int64_t>(at.size()) * bin) {
                at.push_back(count);
            }
        }
        if (count != last || now < start) {
            longest = std::max(longest, now < end ? now - std::max(moved, start) : 0);
            last = count;
            moved = now;
        }
        usleep(50);
    }
    const auto bins = static_cast<size_t>(std::ceil(seconds * 10));
    REQUIRE(at.size() > bins, "only %zu of %zu samples were taken", at.size(), bins + 1);
    *static_cast<volatile unsigned *>(flag) = 1;
    CHECK(cudaStreamSynchronize(stream));

    const double done = (at[bins] - at[0]) / rate;
    std::printf("{\"program\":\"outlast\",\"kernel_us\":%g,\"blocks\":%u,\"seconds\":%g,"
                "\"rate\":%.3f,\"done\":%.0f,\"per_second\":%.0f,\"longest_pause_ms\":%.1f,"
                "\"per_100ms\":[",
                kernel_us, shape.blocks, seconds, rate, done, done / seconds, longest / 1e6);
    for (size_t i = 0; i < bins; ++i) {
        std::printf("%s%.0f", i ? "," : "", (at[i + 1] - at[i]) / rate);
    }
    std::printf("]}\n");
    return 0;
}
