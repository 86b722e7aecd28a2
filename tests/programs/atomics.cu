// Atomic operations in global and shared memory: every operation from many threads, the old values
// that they return, compare-and-swap loops, and fences between blocks.
#include "check.h"

#include <algorithm>
#include <vector>

constexpr int BLOCKS = 24, THREADS = 160, TOTAL = BLOCKS * THREADS;

struct Results {
    int sum, least, most, last_exchanged;
    unsigned anded, ored, xored, wrapped, down;
    unsigned long long wide_sum, wide_most;
    float float_sum;
    double double_sum;
    unsigned long long swapped;
    unsigned finished, seen_by_last;
};

__global__ void operate(Results *r, unsigned *tickets) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    // Use a hash, so that the values aren't in the order of the threads.
    const unsigned mixed = (thread * 2654435761u) >> 8;
    tickets[thread] = atomicAdd(&r->sum, 1);
    atomicMin(&r->least, static_cast<int>(mixed % 100000) - 50000);
    atomicMax(&r->most, static_cast<int>(mixed % 100000) - 50000);
    atomicAnd(&r->anded, mixed | 0x80000000u);
    atomicOr(&r->ored, 1u << (thread % 24));
    atomicXor(&r->xored, mixed);
    atomicInc(&r->wrapped, 99);
    atomicDec(&r->down, 1000);
    atomicAdd(&r->wide_sum, 1ULL << 33);
    atomicMax(&r->wide_most, static_cast<unsigned long long>(mixed) << 20);
    // Add values whose floating-point sums are exact, so that the order of additions doesn't affect
    // the result.
    atomicAdd(&r->float_sum, static_cast<float>(thread % 8));
    atomicAdd(&r->double_sum, thread * 0.25);
    if (thread == 5) {
        atomicExch(&r->last_exchanged, 77);
    }

    // Repeat the compare-and-swap until no other thread intervenes.
    unsigned long long seen = r->swapped, before;
    do {
        before = seen;
        seen = atomicCAS(&r->swapped, before, before + 3);
    } while (seen != before);

    // Count in shared memory first; then each block stores its count once.
    __shared__ unsigned in_block;
    if (threadIdx.x == 0) {
        in_block = 0;
    }
    __syncthreads();
    atomicAdd(&in_block, 1u);
    __syncthreads();
    if (threadIdx.x == 0) {
        tickets[TOTAL + blockIdx.x] = in_block;
        // The block that finishes last must see everything that the other blocks wrote.
        __threadfence();
        if (atomicAdd(&r->finished, 1u) == gridDim.x - 1) {
            unsigned sum = 0;
            for (unsigned block = 0; block < gridDim.x; ++block) {
                sum += static_cast<volatile unsigned *>(tickets)[TOTAL + block];
            }
            r->seen_by_last = sum;
        }
    }
}

int main() {
    Results start = {}, r;
    start.least = 1 << 30;
    start.most = -(1 << 30);
    start.anded = 0xffffffffu;
    Results e = start;
    for (int thread = 0; thread < TOTAL; ++thread) {
        const unsigned mixed = (static_cast<unsigned>(thread) * 2654435761u) >> 8;
        e.sum += 1;
        e.least = std::min(e.least, static_cast<int>(mixed % 100000) - 50000);
        e.most = std::max(e.most, static_cast<int>(mixed % 100000) - 50000);
        e.anded &= mixed | 0x80000000u;
        e.ored |= 1u << (thread % 24);
        e.xored ^= mixed;
        e.wrapped = e.wrapped >= 99 ? 0 : e.wrapped + 1;
        e.down = e.down == 0 || e.down > 1000 ? 1000 : e.down - 1;
        e.wide_sum += 1ULL << 33;
        e.wide_most = std::max(e.wide_most, static_cast<unsigned long long>(mixed) << 20);
        e.float_sum += static_cast<float>(thread % 8);
        e.double_sum += thread * 0.25;
        e.swapped += 3;
    }
    e.last_exchanged = 77;
    e.finished = BLOCKS;
    e.seen_by_last = TOTAL;

    Results *device_results;
    unsigned *device_tickets;
    std::vector<unsigned> tickets(TOTAL + BLOCKS);
    CHECK(cudaMalloc(&device_results, sizeof r));
    CHECK(cudaMalloc(&device_tickets, tickets.size() * sizeof(unsigned)));
    CHECK(cudaMemcpy(device_results, &start, sizeof start, cudaMemcpyHostToDevice));
    operate<<<BLOCKS, THREADS>>>(device_results, device_tickets);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&r, device_results, sizeof r, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(tickets.data(), device_tickets, tickets.size() * sizeof(unsigned),
                     cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_results));
    CHECK(cudaFree(device_tickets));

#define SAME(member) REQUIRE(r.member == e.member, "%g, not %g", double(r.member), double(e.member))
    SAME(sum);
    SAME(least);
    SAME(most);
    SAME(last_exchanged);
    SAME(anded);
    SAME(ored);
    SAME(xored);
    SAME(wrapped);
    SAME(down);
    SAME(wide_sum);
    SAME(wide_most);
    SAME(float_sum);
    SAME(double_sum);
    SAME(swapped);
    SAME(finished);
    SAME(seen_by_last);
#undef SAME
    // The old values are like ticket numbers: each occurs once.
    std::sort(tickets.begin(), tickets.begin() + TOTAL);
    for (int i = 0; i < TOTAL; ++i) {
        REQUIRE(tickets[i] == static_cast<unsigned>(i), "ticket %d is %u", i, tickets[i]);
    }
    std::printf("atomics: %d threads, sum %d, range %d to %d, xor %08x, floats %.1f %.2f\n", TOTAL,
                r.sum, r.least, r.most, r.xored, r.float_sum, r.double_sum);
    return pass("atomics");
}
