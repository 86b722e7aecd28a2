// Events: streams that wait for each other's events, elapsed times between events, and queries of
// events whose work hasn't finished.
#include "check.h"

constexpr int STREAMS = 4;
constexpr int N = 20000;
constexpr size_t BYTES = N * sizeof(int);

__global__ void fill(int *data, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) {
        data[i] = value + i;
    }
}

// Runs in one slow block, so that work that doesn't wait for it produces a wrong result.
__global__ void slow_step(int *data, int factor, int term) {
    for (int i = threadIdx.x; i < N; i += blockDim.x) {
        data[i] = data[i] * factor + term;
    }
}

// Runs until the host sets a flag in host memory. Gives up after a while, so that the test fails
// instead of hanging on a device that starts kernels only when the host waits for them.
__global__ void wait_for_host(volatile int *flag) {
    for (int polls = 0; *flag == 0 && polls < 20000000; ++polls) {
    }
}

static void waiting_for_events() {
    cudaStream_t streams[STREAMS];
    cudaEvent_t done[STREAMS + 1];
    int *data, *result;
    CHECK(cudaMalloc(&data, BYTES));
    CHECK(cudaMallocHost(&result, BYTES));
    CHECK(cudaEventCreate(&done[0]));
    for (int s = 0; s < STREAMS; ++s) {
        CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        CHECK(cudaEventCreate(&done[s + 1]));
    }
    // Each stream uses the previous stream's result. Only events order the streams.
    fill<<<8, 128, 0, streams[0]>>>(data, 7);
    CHECK(cudaEventRecord(done[0], streams[0]));
    for (int s = 0; s < STREAMS; ++s) {
        CHECK(cudaStreamWaitEvent(streams[s], done[s], 0));
        slow_step<<<1, 32, 0, streams[s]>>>(data, 2, s);
        CHECK(cudaEventRecord(done[s + 1], streams[s]));
    }
    CHECK(cudaMemcpyAsync(result, data, BYTES, cudaMemcpyDeviceToHost, streams[STREAMS - 1]));
    CHECK(cudaStreamSynchronize(streams[STREAMS - 1]));
    for (int i = 0; i < N; ++i) {
        int expected = 7 + i;
        for (int s = 0; s < STREAMS; ++s) {
            expected = expected * 2 + s;
        }
        REQUIRE(result[i] == expected, "element %d: %d, not %d", i, result[i], expected);
    }
    float before = 0.0f;
    for (int s = 1; s <= STREAMS; ++s) {
        float since;
        CHECK(cudaEventQuery(done[s]));
        CHECK(cudaEventElapsedTime(&since, done[0], done[s]));
        REQUIRE(since > before, "event %d at %g ms, the previous one at %g ms", s, since, before);
        before = since;
    }
    for (int s = 0; s < STREAMS; ++s) {
        CHECK(cudaStreamDestroy(streams[s]));
        CHECK(cudaEventDestroy(done[s + 1]));
    }
    CHECK(cudaEventDestroy(done[0]));
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(result));
    std::printf("events: events order the streams, and event times are in order\n");
}

static void not_ready() {
    cudaStream_t stream;
    cudaEvent_t event;
    volatile int *flag;
    int *flag_on_device;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaHostAlloc((void **)&flag, sizeof(int), cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&flag_on_device, (void *)flag, 0));
    *flag = 0;
    wait_for_host<<<1, 1, 0, stream>>>(flag_on_device);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(event, stream));
    EXPECT_ERROR(cudaStreamQuery(stream), cudaErrorNotReady);
    EXPECT_ERROR(cudaEventQuery(event), cudaErrorNotReady);
    *flag = 1;
    CHECK(cudaEventSynchronize(event));
    CHECK(cudaStreamQuery(stream));
    // "Not ready" isn't an error and must not be recorded as the last error.
    CHECK(cudaGetLastError());
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaFreeHost((void *)flag));
    std::printf("events: queries while a kernel is running and after it has finished\n");
}

int main() {
    waiting_for_events();
    not_ready();
    return pass("events");
}
