// Streams and events: pinned asynchronous copies, streams that wait for one another's events,
// times in order, a query while work is under way, and the legacy default stream's ordering.
#include "check.h"

constexpr int STREAMS = 4;
constexpr int N = 20000;

__global__ void fill(int *data, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) {
        data[i] = value + i;
    }
}

// One block that takes its time, so that work which failed to wait for it would be found out.
__global__ void slow_step(int *data, int factor, int term) {
    for (int i = threadIdx.x; i < N; i += blockDim.x) {
        data[i] = data[i] * factor + term;
    }
}

// Runs until the host raises the flag, which lies in the host's memory. It gives up at last, so
// that a device which starts it only when asked to wait is reported and not waited for in vain.
__global__ void wait_for_host(volatile int *flag) {
    for (int polls = 0; *flag == 0 && polls < 20000000; ++polls) {
    }
}

static void copies_in_parallel() {
    cudaStream_t streams[STREAMS];
    int *pinned[STREAMS], *device[STREAMS];
    for (int s = 0; s < STREAMS; ++s) {
        CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        CHECK(cudaMallocHost(&pinned[s], N * sizeof(int)));
        CHECK(cudaMalloc(&device[s], N * sizeof(int)));
        for (int i = 0; i < N; ++i) {
            pinned[s][i] = s * 1000 + i;
        }
    }
    for (int s = 0; s < STREAMS; ++s) {
        CHECK(cudaMemcpyAsync(device[s], pinned[s], N * sizeof(int), cudaMemcpyHostToDevice, streams[s]));
        slow_step<<<1, 128, 0, streams[s]>>>(device[s], 3, s);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(pinned[s], device[s], N * sizeof(int), cudaMemcpyDeviceToHost, streams[s]));
    }
    for (int s = 0; s < STREAMS; ++s) {
        CHECK(cudaStreamSynchronize(streams[s]));
        CHECK(cudaStreamQuery(streams[s]));
        for (int i = 0; i < N; ++i) {
            const int expected = (s * 1000 + i) * 3 + s;
            REQUIRE(pinned[s][i] == expected, "stream %d, element %d: %d, not %d", s, i, pinned[s][i], expected);
        }
        CHECK(cudaStreamDestroy(streams[s]));
        CHECK(cudaFreeHost(pinned[s]));
        CHECK(cudaFree(device[s]));
    }
    std::printf("streams: %d streams with pinned copies\n", STREAMS);
}

static void waiting_for_events() {
    cudaStream_t streams[STREAMS];
    cudaEvent_t done[STREAMS + 1];
    int *data, *result;
    CHECK(cudaMalloc(&data, N * sizeof(int)));
    CHECK(cudaMallocHost(&result, N * sizeof(int)));
    CHECK(cudaEventCreate(&done[0]));
    for (int s = 0; s < STREAMS; ++s) {
        CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        CHECK(cudaEventCreate(&done[s + 1]));
    }
    // Each stream works on what the one before has left; only events order them.
    fill<<<8, 128, 0, streams[0]>>>(data, 7);
    CHECK(cudaEventRecord(done[0], streams[0]));
    for (int s = 0; s < STREAMS; ++s) {
        CHECK(cudaStreamWaitEvent(streams[s], done[s], 0));
        slow_step<<<1, 32, 0, streams[s]>>>(data, 2, s);
        CHECK(cudaEventRecord(done[s + 1], streams[s]));
    }
    CHECK(cudaMemcpyAsync(result, data, N * sizeof(int), cudaMemcpyDeviceToHost, streams[STREAMS - 1]));
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
        REQUIRE(since > before, "event %d at %g ms, the one before at %g ms", s, since, before);
        before = since;
    }
    for (cudaStream_t stream : streams) {
        CHECK(cudaStreamDestroy(stream));
    }
    for (cudaEvent_t event : done) {
        CHECK(cudaEventDestroy(event));
    }
    CHECK(cudaFree(data));
    CHECK(cudaFreeHost(result));
    std::printf("streams: events order streams, and their times follow\n");
}

static void not_ready() {
    cudaStream_t stream;
    cudaEvent_t event;
    int *flag, *flag_on_device;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CHECK(cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&flag_on_device, flag, 0));
    volatile int *raise = flag;
    *raise = 0;
    wait_for_host<<<1, 1, 0, stream>>>(flag_on_device);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(event, stream));
    EXPECT_ERROR(cudaStreamQuery(stream), cudaErrorNotReady);
    EXPECT_ERROR(cudaEventQuery(event), cudaErrorNotReady);
    *raise = 1;
    CHECK(cudaEventSynchronize(event));
    CHECK(cudaStreamQuery(stream));
    // "Not ready" is an answer, and leaves no error behind.
    CHECK(cudaGetLastError());
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaEventDestroy(event));
    CHECK(cudaFreeHost(flag));
    std::printf("streams: a query while a kernel runs, and after it\n");
}

static void default_stream() {
    cudaStream_t blocking;
    int *data, value;
    CHECK(cudaStreamCreate(&blocking));
    CHECK(cudaMalloc(&data, N * sizeof(int)));
    fill<<<8, 128, 0, blocking>>>(data, 1);
    slow_step<<<1, 32, 0, blocking>>>(data, 10, 3);
    // On the legacy default stream: behind all that the blocking stream was given.
    CHECK(cudaMemcpy(&value, data + N - 1, sizeof value, cudaMemcpyDeviceToHost));
    REQUIRE(value == N * 10 + 3, "%d, not %d", value, N * 10 + 3);
    slow_step<<<1, 32>>>(data, 2, 1);
    // And the blocking stream is behind the default stream in turn.
    slow_step<<<1, 32, 0, blocking>>>(data, 1, 5);
    CHECK(cudaMemcpyAsync(&value, data + N - 1, sizeof value, cudaMemcpyDeviceToHost, blocking));
    CHECK(cudaStreamSynchronize(blocking));
    REQUIRE(value == (N * 10 + 3) * 2 + 6, "%d, not %d", value, (N * 10 + 3) * 2 + 6);
    CHECK(cudaStreamDestroy(blocking));
    CHECK(cudaFree(data));
    std::printf("streams: the default stream and a blocking stream wait for each other\n");
}

int main() {
    copies_in_parallel();
    waiting_for_events();
    not_ready();
    default_stream();
    return pass("streams");
}
