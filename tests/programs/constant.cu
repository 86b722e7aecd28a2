// Constant memory and module globals: the host writes, reads, and looks up symbols; globals have
// initial values, and keep the values that a kernel writes.
#include "check.h"

constexpr int N = 1000;
constexpr int DEGREE = 5;

__constant__ int coefficients[DEGREE];
__constant__ short small_table[4] = {-3, 1, 4, 1};
__device__ int launches = 40;
__device__ int table[N];
__device__ const unsigned primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ char greeting[16] = "hello";
// A global that contains another global's address, which the loader must fill in.
__device__ int *table_end = &table[N - 1];

__global__ void evaluate() {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) {
        // Every thread reads the same coefficient, and different entries of the small table.
        int value = 0;
        for (int k = DEGREE - 1; k >= 0; --k) {
            value = value * (i % 7) + coefficients[k];
        }
        table[i] = value + small_table[i % 4] * static_cast<int>(primes[i % 8]);
    }
    if (i == 0) {
        ++launches;
        greeting[0] = 'H';
    }
}

__global__ void mark_end() {
    *table_end = -1;
}

static int expected_at(int i, const int *c) {
    const int small[4] = {-3, 1, 4, 1};
    const int prime[8] = {2, 3, 5, 7, 11, 13, 17, 19};
    int value = 0;
    for (int k = DEGREE - 1; k >= 0; --k) {
        value = value * (i % 7) + c[k];
    }
    return value + small[i % 4] * prime[i % 8];
}

int main() {
    size_t bytes;
    CHECK(cudaGetSymbolSize(&bytes, table));
    REQUIRE(bytes == N * sizeof(int), "table has %zu bytes", bytes);
    CHECK(cudaGetSymbolSize(&bytes, coefficients));
    REQUIRE(bytes == DEGREE * sizeof(int), "coefficients have %zu bytes", bytes);

    int c[DEGREE] = {9, -2, 3, 0, 1};
    CHECK(cudaMemcpyToSymbol(coefficients, c, sizeof c));
    evaluate<<<blocks_for(N, 128), 128>>>();
    CHECK(cudaGetLastError());

    int result[N];
    CHECK(cudaMemcpyFromSymbol(result, table, sizeof result));
    for (int i = 0; i < N; ++i) {
        REQUIRE(result[i] == expected_at(i, c), "element %d: %d, not %d", i, result[i],
                expected_at(i, c));
    }
    const uint64_t first = checksum(result, sizeof result);

    // Change one coefficient in the middle. The others keep their values.
    c[3] = 2;
    CHECK(cudaMemcpyToSymbol(coefficients, &c[3], sizeof(int), 3 * sizeof(int)));
    evaluate<<<blocks_for(N, 128), 128>>>();
    mark_end<<<1, 1>>>();
    CHECK(cudaGetLastError());

    // The symbol's address works in ordinary copies.
    int *address;
    CHECK(cudaGetSymbolAddress(reinterpret_cast<void **>(&address), table));
    CHECK(cudaMemcpy(result, address, sizeof result, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N - 1; ++i) {
        REQUIRE(result[i] == expected_at(i, c), "element %d: %d, not %d", i, result[i],
                expected_at(i, c));
    }
    REQUIRE(result[N - 1] == -1, "the last element is %d", result[N - 1]);
    int *end;
    CHECK(cudaMemcpyFromSymbol(&end, table_end, sizeof end));
    REQUIRE(end == address + N - 1, "table_end is %p, the table is at %p", (void *)end,
            (void *)address);

    int count;
    char text[16];
    CHECK(cudaMemcpyFromSymbol(&count, launches, sizeof count));
    CHECK(cudaMemcpyFromSymbol(text, greeting, sizeof text));
    REQUIRE(count == 42, "%d launches counted from 40", count);
    std::printf("constant: %s, %d, checksums %016llx %016llx\n", text, count,
                static_cast<unsigned long long>(first),
                static_cast<unsigned long long>(checksum(result, sizeof result)));
    return pass("constant");
}
