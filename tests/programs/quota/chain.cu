// Executes requests that resemble those to a small neural network: chains of short kernels, with a
// wait at the end of each chain.
//
//   chain [--launch eager|graph] [--per-second R] [--seconds S] [--start-at UNIX_NS] …
//
// A request is 180 kernels of 5 to 40 us (--kernels, --scale), launched one by one or as one graph.
// Between launches, the program spins for --gap-us, to simulate the CPU time that a framework
// needs. With --per-second, the loop is open: requests are due at times that don't depend on how
// long others take, and latency counts from the due time. Without it, the loop is closed: each
// request follows the previous one. For --blocks, --threads, --rate, --warmup, and --cooldown, see
// saturate.
//
// The last line is JSON: requests, per_second, and the mean, p50, p90, p99 and max of the latency
// in milliseconds. `late` is the number of requests that started after they were due.
#include "work.h"

// Kernel lengths similar to inference with a convolutional network: 5 to 40 us, most of them short.
static double length_of(unsigned index) {
    static const double lengths[] = {5, 6, 5, 12, 5, 7, 5, 20, 5, 6, 8, 5, 14, 5, 6, 5, 40, 5};
    return lengths[index % (sizeof lengths / sizeof *lengths)];
}

struct Chain {
    Shape shape;
    double rate, scale;
    unsigned kernels;
    int64_t gap;
    bool as_graph;
    unsigned *sink;
    cudaStream_t stream;
    cudaGraphExec_t graph = nullptr;

    void launch_all(int64_t pause) {
        int64_t next = now_ns();
        for (unsigned i = 0; i < kernels; ++i) {
            fixed_work<<<shape.blocks, shape.threads, 0, stream>>>(
                iterations_for(length_of(i) * scale, rate), sink);
            CHECK(cudaGetLastError());
            if (pause > 0) {
                // Simulate a framework's CPU time, starting after the launch has returned.
                for (next = now_ns() + pause; now_ns() < next;) {
                }
            }
        }
    }

    void prepare() {
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        if (as_graph) {
            cudaGraph_t captured;
            CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
            launch_all(0);
            CHECK(cudaStreamEndCapture(stream, &captured));
            CHECK(cudaGraphInstantiate(&graph, captured, 0));
            CHECK(cudaGraphDestroy(captured));
        }
    }

    void request() {
        if (as_graph) {
            CHECK(cudaGraphLaunch(graph, stream));
        } else {
            launch_all(gap);
        }
        CHECK(cudaStreamSynchronize(stream));
    }
};

int main(int argc, char **argv) {
    Options options(argc, argv);
    Chain chain;
    const std::string launch = options.text("launch", "eager");
    chain.as_graph = launch == "graph";
    chain.shape = shape_of(options);
    chain.rate = options.number("rate", 0);
    chain.scale = options.number("scale", 1);
    chain.kernels = static_cast<unsigned>(options.number("kernels", 180));
    chain.gap = static_cast<int64_t>(options.number("gap-us", 11) * 1000);
    const double per_second = options.number("per-second", 0);
    const double seconds = options.number("seconds", 10);
    const double warmup = options.number("warmup", 0.5), cooldown = options.number("cooldown", 0.3);
    int64_t start = options.nanoseconds("start-at");
    options.finish();
    REQUIRE(launch == "eager" || launch == "graph", "--launch must be eager or graph, not %s",
            launch.c_str());
    REQUIRE(chain.kernels > 0 && seconds > 0, "--kernels and --seconds must be greater than 0");

    CHECK(cudaMalloc(&chain.sink, sizeof *chain.sink));
    if (chain.rate == 0) {
        chain.rate = calibrate(chain.shape, chain.sink);
    }
    chain.prepare();
    for (int i = 0; i < 3; ++i) {
        chain.request();
    }
    if (start == 0) {
        start = now_ns() + ns(warmup);
    }
    if (now_ns() > start) {
        std::fprintf(stderr, "chain: --start-at was %.3f s ago\n", (now_ns() - start) / 1e9);
        return 1;
    }
    const int64_t begin = start - ns(warmup), end = start + ns(seconds);
    sleep_until(begin);

    std::vector<double> latencies;
    size_t late = 0;
    uint32_t random = 1;
    for (size_t index = 0;; ++index) {
        int64_t due = now_ns();
        if (per_second > 0) {
            // Each request is due at a random point in its period, so that requests don't align
            // with any VM's windows.
            const double place = index + 0.5 * next_random(random) / double(1 << 24);
            due = begin + ns(place / per_second);
        }
        if (due >= end + ns(cooldown)) {
            break;
        }
        const bool was_late = due + 100000 < now_ns();
        sleep_until(due);
        chain.request();
        const int64_t now = now_ns();
        // In an open loop, count requests that were due within the measured time, even if they end
        // later. In a closed loop, count requests that ended within it.
        if (due >= start && (per_second > 0 ? due : now) < end) {
            latencies.push_back((now - due) / 1e6);
            late += was_late;
        }
        // If an open loop can't catch up, end it; the latencies show the overload.
        if (now > end + ns(5 + cooldown)) {
            break;
        }
    }
    REQUIRE(!latencies.empty(), "no request ended in %g s", seconds);
    double sum = 0;
    for (const double latency : latencies) {
        sum += latency;
    }
    const double p50 = quantile(latencies, 0.5), p90 = quantile(latencies, 0.9);
    const double p99 = quantile(latencies, 0.99);
    std::printf("{\"program\":\"chain\",\"launch\":\"%s\",\"kernels\":%u,\"seconds\":%g,"
                "\"requests\":%zu,\"per_second\":%.2f,\"late\":%zu,\"mean\":%.3f,\"p50\":%.3f,"
                "\"p90\":%.3f,\"p99\":%.3f,\"max\":%.3f}\n",
                launch.c_str(), chain.kernels, seconds, latencies.size(),
                latencies.size() / seconds, late, sum / latencies.size(), p50, p90, p99,
                latencies.back());
    return 0;
}
