// Streams: pinned copies and kernels on several non-blocking streams at once, and the order between
// the legacy default stream and blocking streams.
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

static void copies_in_parallel() {
    cudaStream_t streams[STREAMS];
    int *pinned[STREAMS], *device[STREAMS];
    for (int s = 0; s < STREAMS; ++s) {
        CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
        CHECK(cudaMallocHost(&pinned[s], BYTES));
        CHECK(cudaMalloc(&device[s], BYTES));
        for (int i = 0; i < N; ++i) {
            pinned[s][i] = s * 1000 + i;
        }
    }
    for (int s = 0; s < STREAMS; ++s) {
        CHECK(cudaMemcpyAsync(device[s], pinned[s], BYTES, cudaMemcpyHostToDevice, streams[s]));
        slow_step<<<1, 128, 0, streams[s]>>>(device[s], 3, s);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(pinned[s], device[s], BYTES, cudaMemcpyDeviceToHost, streams[s]));
    }
    for (int s = 0; s < STREAMS; ++s) {
        CHECK(cudaStreamSynchronize(streams[s]));
        CHECK(cudaStreamQuery(streams[s]));
        for (int i = 0; i < N; ++i) {
            const int expected = (s * 1000 + i) * 3 + s;
            REQUIRE(pinned[s][i] == expected, "stream %d, element %d: %d", s, i, pinned[s][i]);
        }
        CHECK(cudaStreamDestroy(streams[s]));
        CHECK(cudaFreeHost(pinned[s]));
        CHECK(cudaFree(device[s]));
    }
    std::printf("streams: %d streams with pinned copies\n", STREAMS);
}

static void default_stream() {
    cudaStream_t blocking;
    int *data, value;
    CHECK(cudaStreamCreate(&blocking));
    CHECK(cudaMalloc(&data, BYTES));
    fill<<<8, 128, 0, blocking>>>(data, 1);
    slow_step<<<1, 32, 0, blocking>>>(data, 10, 3);
    // The copy runs on the legacy default stream, after all earlier work on the blocking stream.
    CHECK(cudaMemcpy(&value, data + N - 1, sizeof value, cudaMemcpyDeviceToHost));
    REQUIRE(value == N * 10 + 3, "%d, not %d", value, N * 10 + 3);
    slow_step<<<1, 32>>>(data, 2, 1);
    // The blocking stream in turn waits for the default stream.
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
    default_stream();
    return pass("streams");
}
