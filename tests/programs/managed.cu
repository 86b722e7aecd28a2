// Managed variables: the host and kernels read and write them, under the same address.
#include "check.h"

__managed__ int counter = 5;
__managed__ int table[3000] = {7, 8, 9};
__managed__ int *place;

__global__ void scale(int factor) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < 3000)
        table[i] *= factor;
    if (i == 0) {
        counter += 1;
        place = &table[counter];
    }
}

__global__ void add(int *values, int n, int amount) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] += amount;
}

int main() {
    // The initial values are there before the first kernel runs.
    REQUIRE(counter == 5, "%d", counter);
    REQUIRE(table[0] == 7 && table[2] == 9 && table[3] == 0, "%d %d", table[0], table[3]);

    // Kernels see the host's writes, and the host sees theirs after it has waited.
    for (int i = 0; i < 3000; ++i)
        table[i] = i;
    scale<<<12, 256>>>(3);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < 3000; ++i)
        REQUIRE(table[i] == 3 * i, "table[%d] is %d", i, table[i]);
    REQUIRE(counter == 6, "%d", counter);
    REQUIRE(place == &table[6] && *place == 18, "%p %p", (void *)place, (void *)table);

    // Launches two kernels before it waits, after the host has written the counter.
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    counter = 100;
    scale<<<12, 256, 0, stream>>>(2);
    scale<<<12, 256, 0, stream>>>(2);
    CHECK(cudaStreamSynchronize(stream));
    REQUIRE(counter == 102 && table[2999] == 12 * 2999, "%d %d", counter, table[2999]);

    // A kernel gets the address as an argument.
    add<<<12, 256, 0, stream>>>(table, 3000, 1);
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaEventSynchronize(event));
    REQUIRE(table[1] == 13, "%d", table[1]);

    // Copies from and to a managed variable.
    int values[3];
    table[2] = 77;
    CHECK(cudaMemcpy(values, table, sizeof values, cudaMemcpyDefault));
    REQUIRE(values[1] == 13 && values[2] == 77, "%d %d", values[1], values[2]);
    values[0] = 55;
    CHECK(cudaMemcpyToSymbol(table, values, sizeof(int), sizeof(int)));
    REQUIRE(table[1] == 55 && table[2] == 77, "%d %d", table[1], table[2]);
    CHECK(cudaMemset(table, 0, sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    REQUIRE(table[0] == 0 && table[1] == 55, "%d %d", table[0], table[1]);

    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, &counter));
    REQUIRE(attributes.type == cudaMemoryTypeManaged, "%d", attributes.type);
    REQUIRE(attributes.devicePointer == &counter && attributes.hostPointer == &counter, "%p",
            attributes.devicePointer);
    EXPECT_ERROR(cudaFree(&counter), cudaErrorInvalidValue);
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(stream));
    return pass("managed");
}
