// Launches many kernels of one fatbin, each once.
#include "check.h"

#include <utility>

constexpr int KERNELS = 50;

template <int NUMBER> __global__ void add(int *sums) {
    sums[NUMBER] += NUMBER + static_cast<int>(threadIdx.x);
}

template <int... NUMBERS> void launch_all(int *sums, std::integer_sequence<int, NUMBERS...>) {
    (add<NUMBERS><<<1, 1>>>(sums), ...);
}

int main() {
    int *sums;
    CHECK(cudaMalloc(&sums, KERNELS * sizeof(int)));
    CHECK(cudaMemset(sums, 0, KERNELS * sizeof(int)));
    launch_all(sums, std::make_integer_sequence<int, KERNELS>());
    CHECK(cudaGetLastError());
    int result[KERNELS];
    CHECK(cudaMemcpy(result, sums, sizeof result, cudaMemcpyDeviceToHost));
    for (int i = 0; i < KERNELS; ++i) {
        REQUIRE(result[i] == i, "kernel %d left %d", i, result[i]);
    }
    CHECK(cudaFree(sums));
    return pass("manykernels");
}
