// A kernel that writes to unmapped memory: the error appears at the next wait, and all later calls
// of the process return it, because CUDA's errors of this kind are sticky.
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

    // An impossible launch fails immediately, and leaves nothing behind but the last error.
    write_to<<<1, 4096>>>(good, 0);
    EXPECT_ERROR(cudaPeekAtLastError(), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::printf("illegaladdress: a block too large is refused at once\n");

    // An address in the first page, where nothing is ever mapped. The launch itself is valid.
    write_to<<<1, 1>>>(reinterpret_cast<int *>(0x100), 42);
    CHECK(cudaPeekAtLastError());
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    std::printf("illegaladdress: reported by cudaDeviceSynchronize\n");

    // Neither querying the error nor new work repairs the context.
    EXPECT_ERROR(cudaGetLastError(), cudaErrorIllegalAddress);
    int *more;
    EXPECT_ERROR(cudaMalloc(&more, sizeof(int)), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaMemcpy(&read, good, sizeof read, cudaMemcpyDeviceToHost),
                 cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaFree(good), cudaErrorIllegalAddress);
    std::printf("illegaladdress: and by every call after it\n");
    return pass("illegaladdress");
}
