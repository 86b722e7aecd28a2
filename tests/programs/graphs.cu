// Graphs: captured with a fork and a join, launched many times, changed in between, built by hand,
// with events around and inside them; and what a capture forbids.
#include "check.h"

#include <vector>

constexpr int N = 4096;
constexpr size_t BYTES = N * sizeof(int);

__global__ void add(int *data, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) {
        data[i] += value;
    }
}

__global__ void join(const int *a, const int *b, int *sum) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) {
        sum[i] = 3 * a[i] + b[i];
    }
}

static cudaStream_t new_stream() {
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static cudaEvent_t new_event() {
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    return event;
}

static int *zeroes() {
    int *data;
    CHECK(cudaMalloc(&data, BYTES));
    CHECK(cudaMemset(data, 0, BYTES));
    CHECK(cudaDeviceSynchronize());
    return data;
}

static int last(const int *device) {
    int value;
    CHECK(cudaMemcpy(&value, device + N - 1, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph) {
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

static void captured() {
    cudaStream_t one = new_stream(), two = new_stream();
    cudaEvent_t forked = new_event(), joined = new_event();
    int *a = zeroes(), *b = zeroes(), *sum = zeroes(), *pinned;
    CHECK(cudaMallocHost(&pinned, BYTES));
    pinned[N - 1] = 0;
    cudaStreamCaptureStatus status;
    CHECK(cudaStreamIsCapturing(one, &status));
    REQUIRE(status == cudaStreamCaptureStatusNone, "%d", status);
    CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeGlobal));
    add<<<4, 128, 0, one>>>(a, 1);
    CHECK(cudaEventRecord(forked, one));
    CHECK(cudaStreamWaitEvent(two, forked, 0));
    CHECK(cudaStreamIsCapturing(two, &status));
    REQUIRE(status == cudaStreamCaptureStatusActive, "%d", status);
    add<<<4, 128, 0, two>>>(b, 10);
    add<<<4, 128, 0, one>>>(a, 2);
    CHECK(cudaEventRecord(joined, two));
    CHECK(cudaStreamWaitEvent(one, joined, 0));
    join<<<4, 128, 0, one>>>(a, b, sum);
    CHECK(cudaMemcpyAsync(pinned, sum, BYTES, cudaMemcpyDeviceToHost, one));
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(one, &graph));
    // Nothing has run.
    REQUIRE(last(sum) == 0 && last(a) == 0, "%d, %d", last(sum), last(a));
    size_t nodes = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    REQUIRE(nodes == 5, "%zu", nodes);
    size_t roots = 0;
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    REQUIRE(roots == 1, "%zu", roots);
    cudaGraphExec_t exec = instantiate(graph);
    CHECK(cudaGraphDestroy(graph));
    for (int i = 1; i <= 50; ++i) {
        CHECK(cudaGraphLaunch(exec, one));
        if (i % 10 == 0) {
            CHECK(cudaStreamSynchronize(one));
            REQUIRE(pinned[N - 1] == 19 * i, "launch %d: %d", i, pinned[N - 1]);
        }
    }
    // On another stream, behind the launches before.
    CHECK(cudaGraphLaunch(exec, two));
    CHECK(cudaStreamSynchronize(two));
    REQUIRE(pinned[0] == 19 * 51, "%d", pinned[0]);
    CHECK(cudaGraphExecDestroy(exec));
    std::printf("graphs: 4 kernels and a copy captured from 2 streams, sum %d\n", pinned[0]);
    CHECK(cudaEventDestroy(forked));
    CHECK(cudaEventDestroy(joined));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    CHECK(cudaFree(sum));
    CHECK(cudaStreamDestroy(one));
    CHECK(cudaStreamDestroy(two));
}

int main() {
    captured();
    return pass("graphs");
}
