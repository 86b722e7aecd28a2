// A program with machine code for another GPU (compute capability 7.5), and without PTX. Every use
// of a kernel fails, but not the calls that need no kernel.
#include "check.h"

__device__ int variable;

__global__ void increment(int *value) {
    *value += 1;
}

int main() {
    int *device, value = 41;
    CHECK(cudaMalloc(&device, sizeof value));
    CHECK(cudaMemcpy(device, &value, sizeof value, cudaMemcpyHostToDevice));
    for (int attempt = 0; attempt < 2; ++attempt) {
        increment<<<1, 1>>>(device);
        EXPECT_ERROR(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
    }
    cudaFuncAttributes attributes;
    EXPECT_ERROR(cudaFuncGetAttributes(&attributes, increment), cudaErrorNoKernelImageForDevice);
    EXPECT_ERROR(cudaMemcpyToSymbol(variable, &value, sizeof value),
                 cudaErrorNoKernelImageForDevice);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorNoKernelImageForDevice);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
    REQUIRE(value == 41, "%d", value);
    CHECK(cudaFree(device));
    return pass("nokernelimage");
}
