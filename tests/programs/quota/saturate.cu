// Keeps a GPU saturated for some seconds, and prints how much work was done.
//
//   saturate [--mode kernels|graphs|mix|copies] [--kernel-us US] [--seconds S] [--start-at UNIX_NS] …
//
//   --blocks N, --threads N  the grid; 0 blocks (the default) fill the GPU
//   --rate R                 iterations per microsecond, from `saturate --calibrate 1`
//   --asleep 1               kernels sleep instead of computing, so that on softgpu, they don't
//                            take longer when the CPU is busy
//   --start-at stdin         prints `ready` when it's ready, and reads the time from standard input
//   --in-flight N            maximum number of queued launches (256)
//   --batch-us US            counts work, with events, in batches of about this length (1000)
//   --graph-kernels K        number of kernels in a graph (50)
//   --wait spin|poll         how to wait for events; poll sleeps 0.1 ms between checks
//   --warmup S, --cooldown S load before and after the counted time (0.5, 0.3), so that if several
//                            processes have the same --start-at, all of them load the GPU during
//                            the counted time
//   --hold MIB               memory to hold during the run
//   --slot-ms MS, --slot I   works only in every other slot of this length, starting with the first
//                            (0) or second (1), so that two processes with the same --start-at take
//                            turns
//
// Work is measured in microseconds of kernel time at --rate. Copies are assumed to run at 50 GB/s.
// The last line is JSON: done (us), per_second (us/s), per_100ms (a list), and the options.
#include "work.h"

struct Load {
    std::string mode;
    Shape shape;
    double kernel_us, rate;
    bool asleep;
    unsigned graph_kernels;
    unsigned *sink;
    cudaStream_t stream;
    cudaGraphExec_t graph = nullptr;
    void *host = nullptr, *device = nullptr;
    static constexpr size_t copied = 1 << 20;

    void kernel(double us) {
        if (asleep) {
            sleep_for<<<shape.blocks, shape.threads, 0, stream>>>(static_cast<unsigned>(us * 1e3));
        } else {
            fixed_work<<<shape.blocks, shape.threads, 0, stream>>>(iterations_for(us, rate), sink);
        }
        CHECK(cudaGetLastError());
    }

    void prepare() {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        if (mode == "graphs") {
            cudaGraph_t captured;
            CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
            for (unsigned i = 0; i < graph_kernels; ++i) {
                kernel(kernel_us);
            }
            CHECK(cudaStreamEndCapture(stream, &captured));
            CHECK(cudaGraphInstantiate(&graph, captured, 0));
            CHECK(cudaGraphDestroy(captured));
        } else if (mode == "mix" || mode == "copies") {
            CHECK(cudaMallocHost(&host, copied));
            CHECK(cudaMalloc(&device, copied));
        }
    }

    // Returns the work of one launch, in microseconds.
    double work() const {
        if (mode == "copies") {
            return copied / 50e3;
        }
        return mode == "graphs" ? graph_kernels * kernel_us : mode == "mix" ? 8 * kernel_us : kernel_us;
    }
    unsigned launches() const { return mode == "mix" ? 12 : 1; }

    void launch() {
        if (mode == "graphs") {
            CHECK(cudaGraphLaunch(graph, stream));
            return;
        }
        if (mode == "kernels") {
            kernel(kernel_us);
            return;
        }
        CHECK(cudaMemcpyAsync(device, host, copied, cudaMemcpyHostToDevice, stream));
        if (mode == "copies") {
            return;
        }
        for (int i = 0; i < 4; ++i) {
            kernel(kernel_us * 0.5);
            kernel(kernel_us * 1.5);
        }
        CHECK(cudaMemsetAsync(device, 1, copied, stream));
        CHECK(cudaMemsetAsync(device, 2, copied / 2, stream));
        CHECK(cudaMemcpyAsync(host, device, copied, cudaMemcpyDeviceToHost, stream));
    }
};

// Waits for one of this process's slots. Slots are counted from a time long before the start.
static void wait_for_slot(int64_t start, int64_t length, int64_t own) {
    const int64_t base = start - 1000 * length, at = (now_ns() - base) / length;
    if (at % 2 != own) {
        sleep_until(base + (at + 1) * length);
    }
}

int main(int argc, char **argv) {
    Options options(argc, argv);
    Load load;
    load.mode = options.text("mode", "kernels");
    load.kernel_us = options.number("kernel-us", 20);
    load.shape = shape_of(options);
    load.rate = options.number("rate", 0);
    load.graph_kernels = static_cast<unsigned>(options.number("graph-kernels", 50));
    const double seconds = options.number("seconds", 10);
    const double warmup = options.number("warmup", 0.5), cooldown = options.number("cooldown", 0.3);
    const unsigned in_flight = static_cast<unsigned>(options.number("in-flight", 256));
    const double batch_us = options.number("batch-us", 1000);
    const bool only_calibrate = options.number("calibrate", 0) != 0;
    const bool poll = options.text("wait", "spin") == "poll";
    const int64_t slot_ns = ns(options.number("slot-ms", 0) / 1e3);
    const int64_t slot = static_cast<int64_t>(options.number("slot", 0));
    const size_t hold = static_cast<size_t>(options.number("hold", 0)) << 20;
    load.asleep = options.number("asleep", 0) != 0;
    std::string start_at = options.text("start-at", "0");
    options.finish();
    REQUIRE(load.mode == "kernels" || load.mode == "graphs" || load.mode == "mix" ||
                load.mode == "copies",
            "--mode must be kernels, graphs, mix or copies, not %s", load.mode.c_str());
    REQUIRE(load.graph_kernels > 0 && in_flight > 0 && seconds > 0,
            "--graph-kernels, --in-flight and --seconds must be greater than 0");

    CHECK(cudaMalloc(&load.sink, sizeof *load.sink));
    if (load.rate == 0 && !load.asleep) {
        load.rate = calibrate(load.shape, load.sink);
    }
    if (only_calibrate) {
        std::printf("%.3f\n", load.rate);
        return 0;
    }
    void *held = nullptr;
    if (hold != 0) {
        CHECK(cudaMalloc(&held, hold));
        CHECK(cudaMemset(held, 1, hold));
    }
    load.prepare();
    // The first launch loads the kernel.
    load.launch();
    CHECK(cudaStreamSynchronize(load.stream));

    const unsigned per_batch = std::max(1u, static_cast<unsigned>(std::lround(
                                                std::min(batch_us / load.work(),
                                                         in_flight / 2.0 / load.launches()))));
    const size_t batches = std::max(2u, in_flight / (per_batch * load.launches()));
    std::vector<cudaEvent_t> events(batches);
    for (auto &event : events) {
        CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
    if (start_at == "stdin") {
        std::puts("ready");
        std::fflush(stdout);
        char line[32];
        REQUIRE(std::fgets(line, sizeof line, stdin) != nullptr,
                "standard input contains no start time");
        start_at = line;
    }
    int64_t start = std::strtoll(start_at.c_str(), nullptr, 10);
    if (start == 0) {
        start = now_ns() + ns(warmup);
    }
    if (now_ns() > start) {
        std::fprintf(stderr, "saturate: --start-at was %.3f s ago\n", (now_ns() - start) / 1e9);
        return 1;
    }
    sleep_until(start - ns(warmup));

    const int64_t end = start + ns(seconds);
    std::vector<double> per_100ms(static_cast<size_t>(std::ceil(seconds * 10)));
    double done = 0;
    int64_t longest = 0, last = start;
    for (size_t next = 0; now_ns() < end + ns(cooldown); ++next) {
        const cudaEvent_t event = events[next % batches];
        if (next >= batches) {
            if (poll) {
                cudaError_t found;
                while ((found = cudaEventQuery(event)) == cudaErrorNotReady) {
                    usleep(100);
                }
                CHECK(found);
            } else {
                CHECK(cudaEventSynchronize(event));
            }
            const int64_t now = now_ns();
            if (now >= start && now < end) {
                done += per_batch * load.work();
                per_100ms[(now - start) / 100000000] += per_batch * load.work();
                longest = std::max(longest, now - last);
                last = now;
            }
        }
        if (slot_ns > 0) {
            wait_for_slot(start, slot_ns, slot);
        }
        for (unsigned i = 0; i < per_batch; ++i) {
            load.launch();
        }
        CHECK(cudaEventRecord(event, load.stream));
    }
    CHECK(cudaStreamSynchronize(load.stream));

    std::printf("{\"program\":\"saturate\",\"mode\":\"%s\",\"kernel_us\":%g,\"blocks\":%u,"
                "\"seconds\":%g,\"rate\":%.3f,\"done\":%.0f,\"per_second\":%.0f,"
                "\"longest_pause_ms\":%.1f,\"per_100ms\":[",
                load.mode.c_str(), load.kernel_us, load.shape.blocks, seconds, load.rate, done,
                done / seconds, longest / 1e6);
    for (size_t i = 0; i < per_100ms.size(); ++i) {
        std::printf("%s%.0f", i ? "," : "", per_100ms[i]);
    }
    std::printf("]}\n");
    return 0;
}
