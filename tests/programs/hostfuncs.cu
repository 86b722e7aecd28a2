// Host functions in streams, with more commands queued behind them than any queue can hold. Each
// function returns on its own, so the program must make progress even if the launching thread is
// blocked.
#include "check.h"

#include <atomic>
#include <chrono>
#include <thread>

// Number of copies that `fill` queues, each of BYTES bytes: 24 MiB in total. They copy from
// pageable memory, so the guest has to send the data along with the commands.
constexpr int COPIES = 1536;
constexpr size_t BYTES = 16 << 10;
constexpr int ROUNDS = 3;

// State shared between a stream's host functions and the thread that fills the stream.
struct Flood {
    std::atomic<int> queued{0};
    // The number of host functions that have run, and the argument of the last one.
    std::atomic<int> calls{0}, last{-1};
};

struct Order {
    Flood *flood;
    int number;
};

// The host function: waits until the launching thread hasn't queued a copy for 100 ms, because it's
// blocked or has nothing more to launch.
static void stay(void *order) {
    const auto [flood, number] = *static_cast<Order *>(order);
    int before;
    do {
        before = flood->queued;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    } while (flood->queued != before);
    flood->last = number;
    flood->calls += 1;
}

__global__ void add(int *sum, const unsigned char *data, int n) {
    int total = 0;
    for (int i = 0; i < n; ++i) {
        total += data[i];
    }
    *sum += total;
}

// Queues copies, each of which overwrites the data of the previous one, and a kernel that reads the
// data of the last copy.
static void fill(cudaStream_t stream, Flood &flood, unsigned char *data, int *sum, int value) {
    unsigned char bytes[BYTES];
    for (int i = 0; i < COPIES; ++i) {
        for (unsigned char &byte : bytes) {
            byte = static_cast<unsigned char>(i + value);
        }
        CHECK(cudaMemcpyAsync(data, bytes, BYTES, cudaMemcpyHostToDevice, stream));
        flood.queued += 1;
    }
    add<<<1, 1, 0, stream>>>(sum, data, 4);
    CHECK(cudaGetLastError());
}

static int sum_of(int value) {
    return 4 * static_cast<unsigned char>(COPIES - 1 + value);
}

// Queues several host functions, each followed by the commands from `fill`.
static void between_floods(const char *what) {
    cudaStream_t stream;
    unsigned char *data;
    int *sum, result = 0, expected = 0;
    Flood flood;
    Order orders[ROUNDS];
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&data, BYTES));
    CHECK(cudaMalloc(&sum, sizeof *sum));
    CHECK(cudaMemset(sum, 0, sizeof *sum));
    CHECK(cudaDeviceSynchronize());
    for (int round = 0; round < ROUNDS; ++round) {
        orders[round] = {&flood, round};
        CHECK(cudaLaunchHostFunc(stream, stay, &orders[round]));
        fill(stream, flood, data, sum, round);
        expected += sum_of(round);
    }
    CHECK(cudaMemcpyAsync(&result, sum, sizeof result, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(flood.calls == ROUNDS && flood.last == ROUNDS - 1, "%s: %d host functions, last %d",
            what, flood.calls.load(), flood.last.load());
    REQUIRE(result == expected, "%s: %d, not %d", what, result, expected);
    CHECK(cudaFree(sum));
    CHECK(cudaFree(data));
    CHECK(cudaStreamDestroy(stream));
}

// Twice, launches a graph that begins with a host function and then queues the commands from
// `fill`.
static void behind_a_graph() {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    unsigned char *data;
    int *sum, result = 0;
    Flood flood;
    Order order{&flood, 7};
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&data, BYTES));
    CHECK(cudaMalloc(&sum, sizeof *sum));
    CHECK(cudaMemset(sum, 0, sizeof *sum));
    CHECK(cudaMemset(data, 1, BYTES));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CHECK(cudaLaunchHostFunc(stream, stay, &order));
    add<<<1, 1, 0, stream>>>(sum, data, 4);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, stream));
    fill(stream, flood, data, sum, 0);
    CHECK(cudaGraphLaunch(exec, stream));
    fill(stream, flood, data, sum, 1);
    CHECK(cudaMemcpyAsync(&result, sum, sizeof result, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    // The second launch reads the data from the copies that were queued after the first launch.
    const int expected = 4 + 2 * sum_of(0) + sum_of(1);
    REQUIRE(flood.calls == 2 && flood.last == 7, "graph: %d calls", flood.calls.load());
    REQUIRE(result == expected, "graph: %d, not %d", result, expected);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(sum));
    CHECK(cudaFree(data));
    CHECK(cudaStreamDestroy(stream));
}

int main() {
    between_floods("one thread");
    std::printf("hostfuncs: %d host functions, each followed by %d copies\n", ROUNDS, COPIES);
    std::thread threads[2];
    for (std::thread &thread : threads) {
        thread = std::thread(between_floods, "two threads");
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    std::printf("hostfuncs: two threads at once\n");
    behind_a_graph();
    std::printf("hostfuncs: as nodes of a graph\n");
    return pass("hostfuncs");
}
