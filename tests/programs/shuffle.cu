// Warp operations: shuffles in every direction and with different widths, votes, hardware
// reductions, and a shuffle in half of a warp.
#include "check.h"

#include <vector>

constexpr unsigned ALL = 0xffffffffu;
constexpr int WARPS = 8;
constexpr int THREADS = WARPS * 32;

// The results of a thread. The host computes the same from the values of the whole warp. The
// structure must not have padding, because its bytes are checksummed.
struct Found {
    int from_lane, up, down, across, narrow, sum, half, flag_mask;
    int any_all, odd, reduced_sum, reduced_least, reduced_most, bits_and, bits_or, bits_xor;
    long long wide;
    double real;
};
static_assert(sizeof(Found) == 16 * sizeof(int) + 16, "padding");

__global__ void exchange(const int *values, Found *found) {
    const int thread = threadIdx.x, lane = thread % 32;
    const int value = values[thread];
    Found mine = {};
    mine.from_lane = __shfl_sync(ALL, value, (lane * 7 + 3) % 32);
    mine.up = __shfl_up_sync(ALL, value, 3);
    mine.down = __shfl_down_sync(ALL, value, 5);
    mine.across = __shfl_xor_sync(ALL, value, 17);
    mine.narrow = __shfl_down_sync(ALL, value, 2, 8);
    mine.wide = __shfl_xor_sync(ALL, value * 10000000000LL, 1);
    mine.real = __shfl_up_sync(ALL, value * 0.5, 1);
    int sum = value;
    for (int distance = 16; distance > 0; distance /= 2) {
        sum += __shfl_xor_sync(ALL, sum, distance);
    }
    mine.sum = sum;
    // The two halves of a warp diverge, and each half shuffles separately.
    if (lane < 16) {
        mine.half = __shfl_sync(0x0000ffffu, value, 15 - lane);
    } else {
        mine.half = -__shfl_sync(0xffff0000u, value, lane ^ 1);
    }
    __syncwarp();
    mine.flag_mask = static_cast<int>(__ballot_sync(ALL, value % 3 == 0));
    mine.any_all = __any_sync(ALL, value > 990) * 2 + __all_sync(ALL, value > 10);
    mine.odd = __popc(__ballot_sync(ALL, value & 1));
    mine.reduced_sum = __reduce_add_sync(ALL, value);
    mine.reduced_least = __reduce_min_sync(ALL, value - 500);
    mine.reduced_most = __reduce_max_sync(ALL, value - 500);
    mine.bits_and = static_cast<int>(__reduce_and_sync(ALL, static_cast<unsigned>(value | 64)));
    mine.bits_or = static_cast<int>(__reduce_or_sync(ALL, static_cast<unsigned>(value & ~128)));
    mine.bits_xor = static_cast<int>(__reduce_xor_sync(ALL, static_cast<unsigned>(value)));
    found[thread] = mine;
}

static Found expected_at(const int *warp, int lane) {
    const int value = warp[lane];
    Found e = {};
    e.from_lane = warp[(lane * 7 + 3) % 32];
    // A lane that would read beyond its warp, or its part of the warp, keeps its own value.
    e.up = lane >= 3 ? warp[lane - 3] : value;
    e.down = lane + 5 < 32 ? warp[lane + 5] : value;
    e.across = warp[lane ^ 17];
    e.narrow = lane % 8 + 2 < 8 ? warp[lane + 2] : value;
    e.wide = warp[lane ^ 1] * 10000000000LL;
    e.real = (lane >= 1 ? warp[lane - 1] : value) * 0.5;
    e.half = lane < 16 ? warp[15 - lane] : -warp[lane ^ 1];
    e.reduced_least = e.reduced_most = warp[0] - 500;
    e.bits_and = -1;
    bool any = false, all = true;
    for (int i = 0; i < 32; ++i) {
        const int other = warp[i];
        e.sum += other;
        e.flag_mask |= static_cast<int>(static_cast<unsigned>(other % 3 == 0) << i);
        any |= other > 990;
        all &= other > 10;
        e.odd += other & 1;
        e.reduced_sum += other;
        e.reduced_least = other - 500 < e.reduced_least ? other - 500 : e.reduced_least;
        e.reduced_most = other - 500 > e.reduced_most ? other - 500 : e.reduced_most;
        e.bits_and &= other | 64;
        e.bits_or |= other & ~128;
        e.bits_xor ^= other;
    }
    e.any_all = any * 2 + all;
    return e;
}

int main() {
    std::vector<int> values(THREADS);
    std::vector<Found> found(THREADS);
    uint32_t state = 9;
    for (int &value : values) {
        value = static_cast<int>(next_random(state) % 1000);
    }
    // In one warp, make all lanes pass the vote.
    for (int lane = 0; lane < 32; ++lane) {
        values[lane] = 11 + lane;
    }

    int *device_values;
    Found *device_found;
    CHECK(cudaMalloc(&device_values, THREADS * sizeof(int)));
    CHECK(cudaMalloc(&device_found, THREADS * sizeof(Found)));
    CHECK(cudaMemcpy(device_values, values.data(), THREADS * sizeof(int), cudaMemcpyHostToDevice));
    exchange<<<1, THREADS>>>(device_values, device_found);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(found.data(), device_found, THREADS * sizeof(Found), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(device_values));
    CHECK(cudaFree(device_found));

    for (int thread = 0; thread < THREADS; ++thread) {
        const Found got = found[thread];
        const Found e = expected_at(&values[thread / 32 * 32], thread % 32);
#define SAME(member) REQUIRE(got.member == e.member, "in thread %d", thread)
        SAME(from_lane);
        SAME(up);
        SAME(down);
        SAME(across);
        SAME(narrow);
        SAME(wide);
        SAME(real);
        SAME(sum);
        SAME(half);
        SAME(flag_mask);
        SAME(any_all);
        SAME(odd);
        SAME(reduced_sum);
        SAME(reduced_least);
        SAME(reduced_most);
        SAME(bits_and);
        SAME(bits_or);
        SAME(bits_xor);
#undef SAME
    }
    std::printf("shuffle: %d warps, checksum %016llx\n", WARPS,
                static_cast<unsigned long long>(checksum(found.data(), THREADS * sizeof(Found))));
    return pass("shuffle");
}
