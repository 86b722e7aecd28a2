// Allocates until no memory is left. The error must be cudaErrorMemoryAllocation, agree with
// cudaMemGetInfo, and not affect later calls. All memory must be free again at the end.
#include "check.h"

#include <vector>

constexpr size_t MIB = 1 << 20;

// Allocations are rounded up to whole granules, so allocate at least two granules at a time.
constexpr size_t GRANULE = 2 * MIB, SMALLEST = 2 * GRANULE;

__global__ void square(unsigned *data, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        data[i] = i * i;
    }
}

// Runs a kernel on memory at `data` and checks its results.
static void use(unsigned *data) {
    const unsigned n = 1000;
    unsigned result[n];
    square<<<blocks_for(n, 128), 128>>>(data, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(result, data, sizeof result, cudaMemcpyDeviceToHost));
    for (unsigned i = 0; i < n; ++i) {
        REQUIRE(result[i] == i * i, "element %u is %u", i, result[i]);
    }
}

static size_t free_memory() {
    size_t free, total;
    CHECK(cudaMemGetInfo(&free, &total));
    REQUIRE(free <= total, "%zu free of %zu", free, total);
    return free;
}

int main() {
    // Let the runtime allocate its own memory before anything is measured.
    unsigned *first;
    CHECK(cudaMalloc(&first, MIB));
    use(first);
    size_t free_at_start, total;
    CHECK(cudaMemGetInfo(&free_at_start, &total));

    std::vector<unsigned *> held;
    unsigned *pointer;
    EXPECT_ERROR(cudaMalloc(&pointer, total + MIB), cudaErrorMemoryAllocation);
    // The error is reported once and doesn't affect the context.
    EXPECT_ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError());
    std::printf("outofmemory: an allocation larger than the device memory is refused\n");

    // Halve the size after each refusal, so that few calls are needed even on a large device.
    size_t allocated = 0;
    for (size_t size = total; size >= SMALLEST;) {
        const cudaError_t result = cudaMalloc(&pointer, size);
        if (result == cudaSuccess) {
            held.push_back(pointer);
            allocated += size;
        } else {
            check_error(result, cudaErrorMemoryAllocation, "cudaMalloc", __FILE__, __LINE__);
            EXPECT_ERROR(cudaGetLastError(), cudaErrorMemoryAllocation);
            size /= 2;
        }
    }
    const size_t free_when_full = free_memory();
    std::fprintf(stderr, "%zu MiB in %zu allocations; free: %zu MiB before, %zu MiB after\n",
                 allocated / MIB, held.size(), free_at_start / MIB, free_when_full / MIB);
    // Allow for page tables, which take memory too.
    const size_t slack = SMALLEST + GRANULE * held.size() + free_at_start / 256;
    REQUIRE(allocated <= free_at_start, "%zu allocated of %zu free", allocated, free_at_start);
    REQUIRE(free_at_start - allocated < slack, "only %zu of %zu could be allocated", allocated,
            free_at_start);
    const size_t taken = free_at_start - free_when_full;
    REQUIRE(taken >= allocated && taken - allocated < slack, "%zu taken for %zu", taken, allocated);
    std::printf("outofmemory: everything that was free could be allocated\n");

    use(first);
    use(held.back());
    use(held.front());
    std::printf("outofmemory: kernels run when memory is full\n");

    for (unsigned *allocation : held) {
        CHECK(cudaFree(allocation));
    }
    const size_t free_at_end = free_memory();
    REQUIRE(free_at_end + slack >= free_at_start, "%zu free, %zu before", free_at_end,
            free_at_start);
    CHECK(cudaMalloc(&pointer, free_at_start / 2));
    use(pointer);
    CHECK(cudaFree(pointer));
    CHECK(cudaFree(first));
    std::printf("outofmemory: freed memory can be allocated again\n");
    return pass("outofmemory");
}
