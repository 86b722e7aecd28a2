// Graphs that are captured with a fork and a join, launched many times, modified between launches,
// or built by hand; events around a launch; and calls that aren't allowed during a capture.
#include "check.h"

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
    // The captured work hasn't run.
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
    // Launch on another stream, after the earlier launches have completed.
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

static void changed() {
    cudaStream_t stream = new_stream();
    int *data = zeroes(), *other = zeroes();
    cudaGraph_t graphs[3];
    for (int i = 0; i < 3; ++i) {
        CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        add<<<4, 128, 0, stream>>>(i == 1 ? other : data, 1 + i);
        if (i == 2) {
            add<<<4, 128, 0, stream>>>(data, 0);
        }
        CHECK(cudaStreamEndCapture(stream, &graphs[i]));
    }
    cudaGraphExec_t exec = instantiate(graphs[0]);
    CHECK(cudaGraphLaunch(exec, stream));
    cudaGraphExecUpdateResultInfo info;
    CHECK(cudaGraphExecUpdate(exec, graphs[1], &info));
    REQUIRE(info.result == cudaGraphExecUpdateSuccess, "%d", info.result);
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(last(data) == 1 && last(other) == 2, "%d, %d", last(data), last(other));
    EXPECT_ERROR(cudaGraphExecUpdate(exec, graphs[2], &info), cudaErrorGraphExecUpdateFailure);
    cudaGetLastError();
    REQUIRE(info.result == cudaGraphExecUpdateErrorTopologyChanged, "%d", info.result);

    // Update one node, which is identified by its handle in the graph that was instantiated.
    cudaGraphNode_t node;
    size_t count = 1;
    CHECK(cudaGraphGetNodes(graphs[0], &node, &count));
    cudaGraphNodeType type;
    CHECK(cudaGraphNodeGetType(node, &type));
    REQUIRE(count == 1 && type == cudaGraphNodeTypeKernel, "%zu, %d", count, type);
    cudaKernelNodeParams params;
    CHECK(cudaGraphKernelNodeGetParams(node, &params));
    REQUIRE(params.gridDim.x == 4 && params.blockDim.x == 128, "%u", params.gridDim.x);
    REQUIRE(*static_cast<int *>(params.kernelParams[1]) == 1, "the parameter's value");
    int seven = 7;
    void *pointers[] = {&data, &seven};
    params.kernelParams = pointers;
    params.gridDim.x = 2;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    seven = 0;
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(last(data) == 8, "%d", last(data));
    for (cudaGraph_t graph : graphs) {
        CHECK(cudaGraphDestroy(graph));
    }
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaFree(data));
    CHECK(cudaFree(other));
    CHECK(cudaStreamDestroy(stream));
    std::printf("graphs: an executable graph updated from another graph, and one node modified\n");
}

static void CUDART_CB count_call(void *calls) { ++*static_cast<int *>(calls); }

static void built() {
    cudaStream_t stream = new_stream();
    int *data = zeroes(), *pinned, calls = 0;
    CHECK(cudaMallocHost(&pinned, BYTES));
    cudaGraph_t graph, child;
    CHECK(cudaGraphCreate(&child, 0));
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t set, kernel, copy, host, part, empty;
    cudaMemsetParams memset = {};
    memset.dst = data;
    memset.value = 5;
    memset.elementSize = sizeof(int);
    memset.width = N;
    memset.height = 1;
    CHECK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &memset));
    int value = 6;
    void *pointers[] = {&data, &value};
    cudaKernelNodeParams params = {};
    params.func = reinterpret_cast<void *>(add);
    params.gridDim = 8;
    params.blockDim = 64;
    params.kernelParams = pointers;
    CHECK(cudaGraphAddKernelNode(&kernel, child, nullptr, 0, &params));
    CHECK(cudaGraphAddChildGraphNode(&part, graph, &set, 1, child));
    CHECK(cudaGraphDestroy(child));
    CHECK(cudaGraphAddEmptyNode(&empty, graph, nullptr, 0));
    cudaGraphNode_t both[] = {part, empty};
    CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, both, 2, pinned, data, BYTES,
                                   cudaMemcpyDeviceToHost));
    cudaHostNodeParams function = {};
    function.fn = count_call;
    function.userData = &calls;
    CHECK(cudaGraphAddHostNode(&host, graph, &copy, 1, &function));
    size_t nodes = 0, roots = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
    CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
    REQUIRE(nodes == 5 && roots == 2, "%zu nodes, %zu roots", nodes, roots);
    cudaGraphExec_t exec = instantiate(graph);
    for (int i = 0; i < 20; ++i) {
        CHECK(cudaGraphLaunch(exec, stream));
    }
    // Launches in flight continue after the graph is destroyed.
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(pinned[N - 1] == 11 && calls == 20, "%d, %d calls", pinned[N - 1], calls);
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaStreamDestroy(stream));
    std::printf("graphs: built by hand from 5 nodes, one of which is a graph; %d host calls\n",
                calls);
}

static cudaKernelNodeParams addition(void **pointers) {
    cudaKernelNodeParams params = {};
    params.func = reinterpret_cast<void *>(add);
    params.gridDim = 4;
    params.blockDim = 64;
    params.kernelParams = pointers;
    return params;
}

// Changes kernels before each launch, as a program does whose tensors move: a node, a node of a child
// graph, and a whole graph.
static void changed_often() {
    constexpr int ROUNDS = 50;
    cudaStream_t stream = new_stream();
    int *data = zeroes(), value = 0;
    void *pointers[] = {&data, &value};
    cudaKernelNodeParams params = addition(pointers);
    cudaGraph_t graph, child;
    CHECK(cudaGraphCreate(&child, 0));
    CHECK(cudaGraphCreate(&graph, 0));
    cudaGraphNode_t inner[2], node, part;
    CHECK(cudaGraphAddKernelNode(&inner[0], child, nullptr, 0, &params));
    CHECK(cudaGraphAddKernelNode(&inner[1], child, &inner[0], 1, &params));
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &params));
    CHECK(cudaGraphAddChildGraphNode(&part, graph, &node, 1, child));
    cudaGraphExec_t exec = instantiate(graph);
    int sum = 0;
    for (int i = 1; i <= ROUNDS; ++i) {
        value = i;
        CHECK(cudaGraphExecKernelNodeSetParams(exec, node, &params));
        value = 100 * i;
        CHECK(cudaGraphKernelNodeSetParams(inner[1], &params));
        CHECK(cudaGraphExecChildGraphNodeSetParams(exec, part, child));
        CHECK(cudaGraphLaunch(exec, stream));
        sum += 101 * i;
        // The graph has its own copy of the child graph, which still adds nothing.
        value = 10000;
        CHECK(cudaGraphKernelNodeSetParams(node, &params));
        cudaGraphExecUpdateResultInfo info;
        CHECK(cudaGraphExecUpdate(exec, graph, &info));
        CHECK(cudaGraphLaunch(exec, stream));
        sum += 10000;
    }
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(last(data) == sum, "%d, expected %d", last(data), sum);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphDestroy(child));
    CHECK(cudaFree(data));
    CHECK(cudaStreamDestroy(stream));
    std::printf("graphs: changed before each of %d launches\n", 2 * ROUNDS);
}

static void timed() {
    cudaStream_t stream = new_stream();
    cudaEvent_t before = new_event(), after = new_event();
    int *data = zeroes();
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < 100; ++i) {
        add<<<1, 64, 0, stream>>>(data, 1);
    }
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec = instantiate(graph);
    CHECK(cudaEventRecord(before, stream));
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaEventRecord(after, stream));
    CHECK(cudaEventSynchronize(after));
    float ms = -1;
    CHECK(cudaEventElapsedTime(&ms, before, after));
    REQUIRE(ms > 0 && last(data) == 100, "%f ms, %d", ms, last(data));
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaEventDestroy(before));
    CHECK(cudaEventDestroy(after));
    CHECK(cudaFree(data));
    CHECK(cudaStreamDestroy(stream));
    std::printf("graphs: events around a launch of 100 kernels\n");
}

// Ends a capture that a call has invalidated: this returns an error, and the stream works again.
static void ends_invalid(cudaStream_t stream, int *data) {
    cudaGraph_t graph;
    EXPECT_ERROR(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    REQUIRE(graph == nullptr, "%p", static_cast<void *>(graph));
    cudaGetLastError();
    add<<<4, 128, 0, stream>>>(data, 1);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(stream));
}

static void forbidden() {
    cudaStream_t stream = new_stream(), other = new_stream();
    cudaEvent_t event = new_event();
    int *data = zeroes();
    void *memory = nullptr;

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    EXPECT_ERROR(cudaMalloc(&memory, 1), cudaErrorStreamCaptureUnsupported);
    ends_invalid(stream, data);

    // The thread can allow the call with a relaxed capture mode.
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    CHECK(cudaMalloc(&memory, 1 << 20));
    CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
    REQUIRE(mode == cudaStreamCaptureModeRelaxed, "%d", mode);
    CHECK(cudaMemsetAsync(memory, 0, 1 << 20, stream));
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(memory));

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    EXPECT_ERROR(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
    ends_invalid(stream, data);

    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    EXPECT_ERROR(cudaStreamQuery(stream), cudaErrorStreamCaptureUnsupported);
    ends_invalid(stream, data);

    // Wait for an event from outside the capture, and fork work that is never joined.
    CHECK(cudaEventRecord(event, other));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    EXPECT_ERROR(cudaStreamWaitEvent(stream, event, 0), cudaErrorStreamCaptureIsolation);
    ends_invalid(stream, data);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamWaitEvent(other, event, 0));
    add<<<4, 128, 0, other>>>(data, 1);
    EXPECT_ERROR(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureUnjoined);
    cudaGetLastError();
    add<<<4, 128, 0, other>>>(data, 1);
    CHECK(cudaStreamSynchronize(other));

    // A launch on the legacy stream would have to wait for a blocking stream that is being
    // captured.
    cudaStream_t blocking;
    CHECK(cudaStreamCreate(&blocking));
    CHECK(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed));
    add<<<4, 128>>>(data, 1);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorStreamCaptureImplicit);
    ends_invalid(blocking, data);
    CHECK(cudaStreamDestroy(blocking));

    REQUIRE(last(data) == 6, "%d", last(data));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaFree(data));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamDestroy(other));
    std::printf("graphs: 6 calls that are not allowed during a capture\n");
}

int main() {
    captured();
    changed();
    changed_often();
    built();
    timed();
    forbidden();
    return pass("graphs");
}
