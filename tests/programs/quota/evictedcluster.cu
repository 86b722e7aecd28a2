// Like evicted, with clusters of thread blocks, distributed shared memory, and copies by the tensor
// memory accelerator (TMA). Needs compute capability 9.0.
//
//   evictedcluster [--work-ms MS] [--longest-ms MS] [--seed N] [--rate R] …
//
// In each round, a block loads a tile with TMA, changes it, sends it to the next block of the cluster
// with a bulk copy, adds the tile that it has received and one that it reads from a third block, and
// stores the result with TMA. For the options, see evicted.
#include "driver.h"
#include "evicted.h"

#include <cooperative_groups.h>
#include <cuda.h>

namespace cg = cooperative_groups;

constexpr unsigned CLUSTER = 8, THREADS = 256, TILE = 64, TILE_WORDS = TILE * TILE;
constexpr unsigned TILE_BYTES = TILE_WORDS * sizeof(unsigned);

static __device__ unsigned shared_address(const void *pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

// Returns the address of the same variable in another block of the cluster.
static __device__ unsigned in_block(unsigned address, unsigned rank) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
    return there;
}

static __device__ void start_barrier(unsigned barrier) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
}

// Announces the bytes that will arrive in this phase.
static __device__ void expect(unsigned barrier, unsigned bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

static __device__ void wait_for(unsigned barrier, unsigned parity) {
    unsigned done = 0;
    while (!done) {
        asm volatile("{ .reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p; }"
                     : "=r"(done)
                     : "r"(barrier), "r"(parity)
                     : "memory");
    }
}

// Makes earlier writes of this thread visible to copies that it starts later.
static __device__ void before_copies() {
    asm volatile("fence.proxy.async;" ::: "memory");
}

static __global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(THREADS)
    exchange(const __grid_constant__ CUtensorMap map, unsigned rounds, unsigned each) {
    __shared__ alignas(128) unsigned tile[TILE_WORDS];
    __shared__ alignas(128) unsigned received[TILE_WORDS];
    __shared__ alignas(8) unsigned long long barriers[2];
    const cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank();
    const unsigned loaded = shared_address(&barriers[0]), arrived = shared_address(&barriers[1]);
    const unsigned long long tensor = reinterpret_cast<unsigned long long>(&map);
    const unsigned row = blockIdx.x * TILE;
    const unsigned *third = cluster.map_shared_rank(received, (rank + 3) % CLUSTER);
    if (threadIdx.x == 0) {
        start_barrier(loaded);
        start_barrier(arrived);
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster.sync();
    for (unsigned round = 0; round < rounds; ++round) {
        const unsigned parity = round & 1;
        if (threadIdx.x == 0) {
            expect(arrived, TILE_BYTES);
            expect(loaded, TILE_BYTES);
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier"
                         "::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(tile)),
                         "l"(tensor), "r"(0), "r"(row), "r"(loaded)
                         : "memory");
        }
        wait_for(loaded, parity);
        for (unsigned i = threadIdx.x; i < TILE_WORDS; i += THREADS) {
            tile[i] = advance(tile[i] + round, each);
        }
        before_copies();
        __syncthreads();
        if (threadIdx.x == 0) {
            const unsigned next = (rank + 1) % CLUSTER;
            asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
                         "[%0], [%1], %2, [%3];" ::"r"(in_block(shared_address(received), next)),
                         "r"(shared_address(tile)), "r"(TILE_BYTES), "r"(in_block(arrived, next))
                         : "memory");
        }
        wait_for(arrived, parity);
        // When all blocks have received a tile, all have sent theirs, so the tile can change.
        cluster.sync();
        for (unsigned i = threadIdx.x; i < TILE_WORDS; i += THREADS) {
            tile[i] += received[i] * 3 + third[i] * 5;
        }
        before_copies();
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
                         "[%0, {%1, %2}], [%3];" ::"l"(tensor),
                         "r"(0), "r"(row), "r"(shared_address(tile))
                         : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
            asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
            before_copies();
        }
        // Wait until the other blocks have read this block's memory.
        cluster.sync();
    }
}

int main(int argc, char **argv) {
    Options options(argc, argv);
    const Plan plan(options);
    options.finish();
    int count, major, clusters = 0;
    CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    CHECK(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, 0));
    if (major < 9 || !clusters) {
        std::fprintf(stderr, "evictedcluster: the device has no clusters\n");
        return UNSUPPORTED;
    }
    const unsigned blocks = std::max(CLUSTER, count * 4 / CLUSTER * CLUSTER);
    const size_t words = static_cast<size_t>(blocks) * TILE_WORDS;
    unsigned *data = filled(words);
    const auto encode = driver_function<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    alignas(64) CUtensorMap map;
    const cuuint64_t dims[] = {TILE, static_cast<cuuint64_t>(blocks) * TILE};
    const cuuint64_t strides[] = {TILE * sizeof(unsigned)};
    const cuuint32_t box[] = {TILE, TILE}, steps[] = {1, 1};
    const CUresult encoded =
        encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, data, dims, strides, box, steps,
               CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
               CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    REQUIRE(encoded == CUDA_SUCCESS, "%d", encoded);
    // Each thread changes several words in a round.
    const unsigned each = 50, round = each * (TILE_WORDS / THREADS);
    for (const unsigned iterations : plan.kernels()) {
        exchange<<<blocks, THREADS>>>(map, std::max(1u, iterations / round), each);
        CHECK(cudaGetLastError());
    }
    Digest digest;
    digest.add_device(data, words * sizeof *data);
    return digest.print();
}
