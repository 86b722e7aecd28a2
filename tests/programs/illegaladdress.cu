// A kernel that writes to unmapped memory. The next wait returns the error, and so do all later
// calls in the process, because this kind of CUDA error is sticky.
#include "check.h"

__global__ void write_to(int *address, int value) {
    *address = value;
}

int main() {
    int *good, read = 0;
    CHECK(cudaMalloc(&good, sizeof(int)));
    write_to<<<1, 1>>>(good, 41);
    CHECK(cudaMemcpy(&read, good, sizeof read, cudaMemcpyDeviceToHost));
    REQUIRE(read == 41, "%d", read);

    // An invalid launch fails immediately, and affects nothing but the last error.
    write_to<<<1, 4096>>>(good, 0);
    EXPECT_ERROR(cudaPeekAtLastError(), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::printf("illegaladdress: a launch with too large a block fails immediately\n");

    // Use an address in the first page, which is never mapped. The launch itself is valid.
    write_to<<<1, 1>>>(reinterpret_cast<int *>(0x100), 42);
    CHECK(cudaPeekAtLastError());
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    std::printf("illegaladdress: cudaDeviceSynchronize reports the error\n");

    // Neither querying the error nor new work repairs the context.
    EXPECT_ERROR(cudaGetLastError(), cudaErrorIllegalAddress);
    int *more;
    EXPECT_ERROR(cudaMalloc(&more, sizeof(int)), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaMemcpy(&read, good, sizeof read, cudaMemcpyDeviceToHost),
                 cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaFree(good), cudaErrorIllegalAddress);
    std::printf("illegaladdress: every later call reports it too\n");
    return pass("illegaladdress");
}
