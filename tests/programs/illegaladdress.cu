// A kernel that writes where no memory is: the error comes when its work is waited for, and stays
// for all later calls of the process, as CUDA's sticky errors do.
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

    // A launch that cannot be fails at once, and leaves nothing behind but the last error.
    write_to<<<1, 4096>>>(good, 0);
    EXPECT_ERROR(cudaPeekAtLastError(), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaGetLastError(), cudaErrorInvalidValue);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    std::printf("illegaladdress: a block too large is refused at once\n");

    // In the first page, where nothing is ever mapped. The launch itself is in order.
    write_to<<<1, 1>>>(reinterpret_cast<int *>(0x100), 42);
    CHECK(cudaPeekAtLastError());
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    std::printf("illegaladdress: reported by cudaDeviceSynchronize\n");

    // Neither asking for the error nor new work makes the context good again.
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
