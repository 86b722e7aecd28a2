// Computes exact results with kernels of random lengths, each mode in another way, and prints a
// digest. The digest is the same natively, in a VM, and in a VM whose kernels are evicted.
//
//   evicted --mode MODE [--work-ms MS] [--longest-ms MS] [--seed N] [--rate R] …
//
// MODE is one of
//   kernels      kernels in four streams that read one another's results
//   cooperative  kernels with barriers across the grid
//   shared       kernels that keep 227 KB of shared memory in each block
//   local        kernels with a deep stack of arrays
//   printf       kernels that print while they run
//   managed      managed memory that the host and kernels change in turn
//   copies       copies in all directions, of pinned and pageable memory, beside kernels
//   graphs       graphs of kernels, copies, and memsets
//   memory       memory and modules that come and go beside long kernels
//   peercopies   copies between two GPUs
//   peers        kernels that read and write another GPU's memory
//   fault        a long kernel whose last write is invalid, and the error that it causes
//   contexts     creates and destroys contexts for --seconds (default 5), as fast as it can or at most
//                --per-second R; prints their number instead of a digest
// --work-ms (default 700) is how long the kernels take together, and --longest-ms (default 100) how
// long one of them takes at most, natively at --rate. The exit status is 77 if the device doesn't
// support the mode. For --blocks, --threads, and --rate, see saturate.
#include "driver.h"
#include "evicted.h"

#include <cooperative_groups.h>

#include <sys/mman.h>

#include <atomic>
#include <sstream>
#include <thread>

namespace cg = cooperative_groups;

__device__ static unsigned my_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

static __global__ void step(unsigned *data, unsigned iterations) {
    const unsigned i = my_index();
    data[i] = advance(data[i], iterations);
}

static __global__ void combine(unsigned *to, const unsigned *from, unsigned iterations) {
    const unsigned i = my_index();
    to[i] = advance(to[i] + from[i] * 3, iterations);
}

static int kernels(const Plan &plan) {
    constexpr int STREAMS = 4;
    const size_t words = plan.threads();
    unsigned *data[STREAMS], *sum = filled(words);
    cudaStream_t stream[STREAMS];
    cudaEvent_t done = new_event(), joined = new_event();
    for (int i = 0; i < STREAMS; ++i) {
        data[i] = filled(words, i + 1);
        stream[i] = new_stream();
    }
    unsigned at = 0;
    for (const unsigned iterations : plan.kernels()) {
        const int one = at % STREAMS, other = (at + 1) % STREAMS;
        step<<<plan.shape.blocks, plan.shape.threads, 0, stream[one]>>>(data[one], iterations / 2);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(done, stream[one]));
        CHECK(cudaStreamWaitEvent(stream[other], done, 0));
        combine<<<plan.shape.blocks, plan.shape.threads, 0, stream[other]>>>(data[other], data[one],
                                                                            iterations / 2);
        CHECK(cudaGetLastError());
        // The first stream may write again only after the second has read.
        CHECK(cudaEventRecord(joined, stream[other]));
        CHECK(cudaStreamWaitEvent(stream[one], joined, 0));
        ++at;
    }
    CHECK(cudaDeviceSynchronize());
    Digest digest;
    for (int i = 0; i < STREAMS; ++i) {
        combine<<<plan.shape.blocks, plan.shape.threads>>>(sum, data[i], 1);
        CHECK(cudaGetLastError());
    }
    digest.add_device(sum, words * sizeof *sum);
    return digest.print();
}

// Between two barriers, each block changes its words and then adds those of the next block.
static __global__ void rounds(unsigned *data, unsigned *next, unsigned iterations, unsigned each) {
    const cg::grid_group grid = cg::this_grid();
    const unsigned i = my_index(), words = gridDim.x * blockDim.x;
    for (unsigned done = 0; done < iterations; done += each) {
        data[i] = advance(data[i], each);
        grid.sync();
        next[i] = data[(i + blockDim.x) % words];
        grid.sync();
        data[i] += next[i];
    }
}

static int cooperative(const Plan &plan) {
    int supported = 0, resident = 0, count = 0;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
    if (!supported) {
        std::fprintf(stderr, "evicted: the device has no cooperative launches\n");
        return UNSUPPORTED;
    }
    CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, rounds, plan.shape.threads, 0));
    const unsigned blocks = std::min<unsigned>(plan.shape.blocks, count * resident);
    const size_t words = static_cast<size_t>(blocks) * plan.shape.threads;
    unsigned *data = filled(words), *next = filled(words);
    unsigned each = 1000;
    for (unsigned iterations : plan.kernels()) {
        void *arguments[] = {&data, &next, &iterations, &each};
        CHECK(cudaLaunchCooperativeKernel(rounds, dim3(blocks), dim3(plan.shape.threads), arguments));
    }
    Digest digest;
    digest.add_device(data, words * sizeof *data);
    return digest.print();
}

constexpr unsigned SHARED_BYTES = 227 << 10, SHARED_WORDS = SHARED_BYTES / 4;

// Fills the block's shared memory, changes words of it while the kernel runs, and adds all of them up
// at the end. Each thread changes only its own words, until a barrier.
static __global__ void keep(unsigned *data, unsigned iterations, unsigned each) {
    extern __shared__ unsigned kept[];
    const unsigned i = my_index();
    unsigned x = data[i];
    for (unsigned at = threadIdx.x; at < SHARED_WORDS; at += blockDim.x) {
        kept[at] = x + at * 2654435761u;
    }
    __syncthreads();
    unsigned at = threadIdx.x;
    for (unsigned done = 0; done < iterations; done += each) {
        kept[at] = advance(kept[at] + x, each);
        x += kept[at];
        at = at + blockDim.x < SHARED_WORDS ? at + blockDim.x : threadIdx.x;
    }
    __syncthreads();
    // Read the words of another thread.
    for (unsigned at = (threadIdx.x + 1) % blockDim.x; at < SHARED_WORDS; at += blockDim.x) {
        x = x * 31 + kept[at];
    }
    data[i] = x;
}

static int shared(const Plan &plan) {
    int count, most;
    CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    if (static_cast<unsigned>(most) < SHARED_BYTES) {
        std::fprintf(stderr, "evicted: a block can have only %d bytes of shared memory\n", most);
        return UNSUPPORTED;
    }
    CHECK(cudaFuncSetAttribute(keep, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED_BYTES));
    const unsigned blocks = std::min<unsigned>(plan.shape.blocks, count);
    const size_t words = static_cast<size_t>(blocks) * plan.shape.threads;
    unsigned *data = filled(words);
    for (const unsigned iterations : plan.kernels()) {
        keep<<<blocks, plan.shape.threads, SHARED_BYTES>>>(data, iterations, 200);
        CHECK(cudaGetLastError());
    }
    Digest digest;
    digest.add_device(data, words * sizeof *data);
    return digest.print();
}

constexpr unsigned FRAME = 48, DEPTH = 32, STACK_BYTES = 16 << 10;

// Each call keeps an array on the stack while the deeper ones run.
static __device__ __noinline__ unsigned deep(unsigned depth, unsigned x, unsigned iterations) {
    unsigned kept[FRAME];
    for (unsigned i = 0; i < FRAME; ++i) {
        kept[i] = x + i * depth;
    }
    x = advance(x, iterations);
    kept[x % FRAME] += depth;
    if (depth > 0) {
        x += deep(depth - 1, x, iterations);
    }
    for (unsigned i = 0; i < FRAME; ++i) {
        x = x * 31 + kept[(i + x) % FRAME];
    }
    return x;
}

static __global__ void __launch_bounds__(1024)
    recurse(unsigned *data, unsigned iterations, unsigned each) {
    const unsigned i = my_index();
    unsigned x = data[i];
    for (unsigned done = 0; done < iterations; done += each * DEPTH) {
        x = deep(DEPTH - 1, x, each);
    }
    data[i] = x;
}

static int local(const Plan &plan) {
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, STACK_BYTES));
    const size_t words = plan.threads();
    unsigned *data = filled(words);
    for (const unsigned iterations : plan.kernels()) {
        // Most of the time is spent on accesses to the arrays, which are in memory, so run only an
        // eighth of the iterations.
        recurse<<<plan.shape.blocks, plan.shape.threads>>>(data, iterations / 8, 100);
        CHECK(cudaGetLastError());
    }
    Digest digest;
    digest.add_device(data, words * sizeof *data);
    return digest.print();
}

static __global__ void print(unsigned *data, unsigned kernel, unsigned iterations) {
    const unsigned i = my_index();
    unsigned x = data[i];
    for (unsigned part = 0; part < 4; ++part) {
        x = advance(x, iterations / 4);
        if (threadIdx.x == 0 && blockIdx.x % 32 == 0) {
            printf("kernel %u block %u part %u: %08x\n", kernel, blockIdx.x, part, x);
        }
    }
    data[i] = x;
}

static int printed(const Plan &plan) {
    // While kernels print, standard output is a file in memory.
    const int file = memfd_create("printf", 0), kept = dup(STDOUT_FILENO);
    REQUIRE(file >= 0 && kept >= 0, "cannot create a file in memory for the output");
    std::fflush(stdout);
    dup2(file, STDOUT_FILENO);
    const size_t words = plan.threads();
    unsigned *data = filled(words), kernel = 0;
    for (const unsigned iterations : plan.kernels()) {
        print<<<plan.shape.blocks, plan.shape.threads>>>(data, kernel, iterations);
        CHECK(cudaGetLastError());
        if (kernel++ % 8 == 7) {
            CHECK(cudaDeviceSynchronize());
        }
    }
    CHECK(cudaDeviceSynchronize());
    std::fflush(stdout);
    dup2(kept, STDOUT_FILENO);

    std::string text(static_cast<size_t>(lseek(file, 0, SEEK_END)), '\0');
    REQUIRE(pread(file, &text[0], text.size(), 0) == static_cast<ssize_t>(text.size()),
            "cannot read the output");
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    // The order of blocks isn't defined.
    std::sort(lines.begin(), lines.end());
    const size_t expected = 4 * kernel * ((plan.shape.blocks + 31) / 32);
    REQUIRE(lines.size() == expected, "%zu lines instead of %zu", lines.size(), expected);
    Digest digest;
    for (const auto &line : lines) {
        digest.add(line.c_str(), line.size() + 1);
    }
    digest.add_device(data, words * sizeof *data);
    return digest.print();
}

static int managed(const Plan &plan) {
    const size_t words = plan.threads();
    unsigned *data;
    CHECK(cudaMallocManaged(&data, words * sizeof *data));
    for (size_t i = 0; i < words; ++i) {
        data[i] = static_cast<unsigned>(i);
    }
    unsigned kernel = 0;
    for (const unsigned iterations : plan.kernels()) {
        step<<<plan.shape.blocks, plan.shape.threads>>>(data, iterations);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        // The host reads and changes some of the words, and different ones after each kernel.
        for (size_t i = kernel++ % 61; i < words; i += 61) {
            data[i] = data[i] * 31 + data[(i * 7) % words];
        }
    }
    Digest digest;
    digest.add(data, words * sizeof *data);
    CHECK(cudaFree(data));
    return digest.print();
}

static __global__ void scramble(unsigned *data, size_t words, unsigned iterations) {
    const size_t i = my_index(), step = static_cast<size_t>(gridDim.x) * blockDim.x;
    for (size_t at = i; at < words; at += step) {
        data[at] = data[at] * 5 + 1;
    }
    data[i] = advance(data[i], iterations);
}

static int copies(const Plan &plan) {
    const size_t words = std::max<size_t>(plan.threads(), 1 << 16), bytes = words * sizeof(unsigned);
    constexpr int LANES = 3;
    unsigned *device[LANES], *other[LANES], *pinned[LANES];
    std::vector<unsigned> pageable[LANES];
    cudaStream_t stream[LANES];
    for (int lane = 0; lane < LANES; ++lane) {
        device[lane] = filled(words, lane);
        other[lane] = filled(words, lane + LANES);
        pageable[lane].assign(words, lane);
        stream[lane] = new_stream();
        CHECK(cudaMallocHost(&pinned[lane], bytes));
        for (size_t i = 0; i < words; ++i) {
            pinned[lane][i] = static_cast<unsigned>(i) * (lane + 3);
        }
    }
    Digest digest;
    unsigned kernel = 0;
    for (const unsigned iterations : plan.kernels()) {
        const int lane = kernel % LANES;
        // The kernels of the other streams run during these copies.
        CHECK(cudaMemcpyAsync(device[lane], pinned[lane], bytes / 2, cudaMemcpyHostToDevice, stream[lane]));
        scramble<<<plan.shape.blocks, plan.shape.threads, 0, stream[lane]>>>(device[lane], words,
                                                                             iterations);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(other[lane], device[lane], bytes, cudaMemcpyDeviceToDevice, stream[lane]));
        CHECK(cudaMemcpyAsync(pinned[lane], other[lane], bytes, cudaMemcpyDeviceToHost, stream[lane]));
        CHECK(cudaMemcpyAsync(other[lane], pageable[lane].data(), bytes, cudaMemcpyHostToDevice,
                              stream[lane]));
        CHECK(cudaMemsetAsync(other[lane], kernel & 0xff, bytes / 4, stream[lane]));
        if (++kernel % LANES == 0) {
            for (const cudaStream_t each : stream) {
                CHECK(cudaStreamSynchronize(each));
            }
            for (int each = 0; each < LANES; ++each) {
                CHECK(cudaMemcpy(pageable[each].data(), device[(each + 1) % LANES], bytes,
                                 cudaMemcpyDeviceToHost));
            }
            digest.add(pageable[kernel % LANES].data(), std::min<size_t>(bytes, 1 << 16));
        }
    }
    CHECK(cudaDeviceSynchronize());
    for (int lane = 0; lane < LANES; ++lane) {
        digest.add(pinned[lane], bytes);
        digest.add(pageable[lane].data(), bytes);
        digest.add_device(other[lane], bytes);
    }
    return digest.print();
}

static int graphs(const Plan &plan) {
    const size_t words = plan.threads(), bytes = words * sizeof(unsigned);
    unsigned *a = filled(words, 1), *b = filled(words, 2), *c = filled(words, 3), *pinned;
    CHECK(cudaMallocHost(&pinned, bytes));
    std::memset(pinned, 1, bytes);
    cudaStream_t one = new_stream(), two = new_stream();
    cudaEvent_t forked = new_event(), joined = new_event();
    std::vector<cudaGraphExec_t> all;
    const std::vector<unsigned> lengths = plan.kernels();
    // A third of the kernels are in graphs that run once, and the others in graphs that run again.
    for (size_t i = 0; i + 1 < lengths.size(); i += 2) {
        cudaGraph_t graph;
        cudaGraphExec_t exec;
        CHECK(cudaStreamBeginCapture(one, cudaStreamCaptureModeThreadLocal));
        CHECK(cudaMemcpyAsync(c, pinned, bytes, cudaMemcpyHostToDevice, one));
        CHECK(cudaEventRecord(forked, one));
        CHECK(cudaStreamWaitEvent(two, forked, 0));
        step<<<plan.shape.blocks, plan.shape.threads, 0, one>>>(a, lengths[i] / 3);
        CHECK(cudaGetLastError());
        step<<<plan.shape.blocks, plan.shape.threads, 0, two>>>(b, lengths[i + 1] / 3);
        CHECK(cudaGetLastError());
        CHECK(cudaMemsetAsync(c, 7, bytes / 8, two));
        CHECK(cudaEventRecord(joined, two));
        CHECK(cudaStreamWaitEvent(one, joined, 0));
        combine<<<plan.shape.blocks, plan.shape.threads, 0, one>>>(a, b, 100);
        CHECK(cudaGetLastError());
        combine<<<plan.shape.blocks, plan.shape.threads, 0, one>>>(a, c, 100);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(b, a, bytes / 2, cudaMemcpyDeviceToDevice, one));
        CHECK(cudaMemcpyAsync(pinned, a, bytes, cudaMemcpyDeviceToHost, one));
        CHECK(cudaStreamEndCapture(one, &graph));
        CHECK(cudaGraphInstantiate(&exec, graph, 0));
        CHECK(cudaGraphDestroy(graph));
        all.push_back(exec);
    }
    uint32_t random = plan.seed;
    for (size_t launch = 0; launch < 3 * all.size(); ++launch) {
        CHECK(cudaGraphLaunch(all[next_random(random) % all.size()], one));
    }
    CHECK(cudaStreamSynchronize(one));
    Digest digest;
    digest.add(pinned, bytes);
    digest.add_device(b, bytes);
    digest.add_device(c, bytes);
    for (const cudaGraphExec_t exec : all) {
        CHECK(cudaGraphExecDestroy(exec));
    }
    return digest.print();
}

// A module with a variable, in PTX.
static const char MODULE[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .global .align 4 .b8 variable[65536];
.visible .entry touch(.param .u64 address) {
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [address];
    cvta.to.global.u64 %rd2, %rd1;
    st.global.u32 [%rd2], 1;
    ret;
}
)";

// Runs kernels while another thread allocates, frees, registers, and loads, most of which waits for
// the kernels.
static int memory(const Plan &plan) {
    const size_t words = plan.threads();
    unsigned *data = filled(words);
    const Driver driver;
    std::atomic<bool> over{false};
    std::atomic<unsigned> repeated{0};
    std::thread churn([&] {
        cudaStream_t stream = new_stream();
        // Without a VM, memory that is registered must not share a page with other data.
        constexpr size_t HOST_WORDS = 1 << 18, HOST_BYTES = HOST_WORDS * sizeof(unsigned);
        void *const mapped =
            mmap(nullptr, HOST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        REQUIRE(mapped != MAP_FAILED, "no memory");
        unsigned *const host = static_cast<unsigned *>(mapped);
        uint32_t random = plan.seed;
        do {
            const size_t size = ((next_random(random) % 64) + 1) << 14, count = size / 4;
            unsigned *fresh, *pooled, value = next_random(random);
            CHECK(cudaMalloc(&fresh, size));
            CHECK(cudaMallocAsync(&pooled, size, stream));
            for (size_t i = 0; i < count; ++i) {
                host[i] = value + static_cast<unsigned>(i);
            }
            CHECK(cudaHostRegister(host, HOST_BYTES, cudaHostRegisterDefault));
            CHECK(cudaMemcpyAsync(fresh, host, size, cudaMemcpyHostToDevice, stream));
            CHECK(cudaMemcpyAsync(pooled, fresh, size, cudaMemcpyDeviceToDevice, stream));
            CHECK(cudaStreamSynchronize(stream));
            CHECK(cudaMemsetAsync(fresh, 0, size, stream));
            std::fill(host, host + HOST_WORDS, 0);
            CHECK(cudaMemcpyAsync(host, pooled, size, cudaMemcpyDeviceToHost, stream));
            CHECK(cudaStreamSynchronize(stream));
            for (size_t i = 0; i < count; ++i) {
                REQUIRE(host[i] == value + static_cast<unsigned>(i), "word %zu of %zu is %u", i, count,
                        host[i]);
            }
            CHECK(cudaHostUnregister(host));
            void *module = nullptr;
            REQUIRE(driver.load(&module, MODULE) == 0, "the module can't be loaded");
            CHECK(cudaFreeAsync(pooled, stream));
            CHECK(cudaFree(fresh));
            REQUIRE(driver.unload(module) == 0, "the module can't be unloaded");
            ++repeated;
        } while (!over);
        CHECK(cudaStreamDestroy(stream));
    });
    cudaStream_t stream = new_stream();
    for (const unsigned iterations : plan.kernels()) {
        step<<<plan.shape.blocks, plan.shape.threads, 0, stream>>>(data, iterations);
        CHECK(cudaGetLastError());
    }
    CHECK(cudaStreamSynchronize(stream));
    over = true;
    churn.join();
    std::fprintf(stderr, "evicted: memory: repeated %u times\n", repeated.load());
    Digest digest;
    digest.add_device(data, words * sizeof *data);
    return digest.print();
}

static bool two_gpus() {
    int count;
    CHECK(cudaGetDeviceCount(&count));
    if (count < 2) {
        std::fprintf(stderr, "evicted: there is only one GPU\n");
    }
    return count >= 2;
}

// Kernels on two GPUs, with copies from one to the other in between. If `direct`, kernels also access
// the other GPU's memory.
static int peers(const Plan &plan, bool direct) {
    if (!two_gpus()) {
        return UNSUPPORTED;
    }
    const size_t words = plan.threads(), bytes = words * sizeof(unsigned);
    unsigned *data[2], *other[2];
    cudaStream_t stream[2];
    cudaEvent_t done[2];
    for (int gpu = 0; gpu < 2; ++gpu) {
        int able = 0;
        CHECK(cudaDeviceCanAccessPeer(&able, gpu, 1 - gpu));
        if (direct && !able) {
            std::fprintf(stderr, "evicted: GPU %d can't access the other's memory\n", gpu);
            return UNSUPPORTED;
        }
        CHECK(cudaSetDevice(gpu));
        if (direct) {
            CHECK(cudaDeviceEnablePeerAccess(1 - gpu, 0));
        }
        data[gpu] = filled(words, gpu);
        other[gpu] = filled(words, gpu + 2);
        stream[gpu] = new_stream();
        done[gpu] = new_event();
    }
    for (const unsigned iterations : plan.kernels()) {
        for (int gpu = 0; gpu < 2; ++gpu) {
            CHECK(cudaSetDevice(gpu));
            step<<<plan.shape.blocks, plan.shape.threads, 0, stream[gpu]>>>(data[gpu], iterations);
            CHECK(cudaGetLastError());
            CHECK(cudaEventRecord(done[gpu], stream[gpu]));
        }
        for (int gpu = 0; gpu < 2; ++gpu) {
            CHECK(cudaSetDevice(gpu));
            CHECK(cudaStreamWaitEvent(stream[gpu], done[1 - gpu], 0));
            if (direct) {
                combine<<<plan.shape.blocks, plan.shape.threads, 0, stream[gpu]>>>(
                    other[gpu], data[1 - gpu], iterations / 4);
                CHECK(cudaGetLastError());
            } else {
                CHECK(cudaMemcpyPeerAsync(other[gpu], gpu, data[1 - gpu], 1 - gpu, bytes, stream[gpu]));
            }
            CHECK(cudaEventRecord(done[gpu], stream[gpu]));
        }
        for (int gpu = 0; gpu < 2; ++gpu) {
            CHECK(cudaSetDevice(gpu));
            CHECK(cudaStreamWaitEvent(stream[gpu], done[1 - gpu], 0));
            combine<<<plan.shape.blocks, plan.shape.threads, 0, stream[gpu]>>>(data[gpu], other[gpu], 10);
            CHECK(cudaGetLastError());
        }
    }
    Digest digest;
    for (int gpu = 0; gpu < 2; ++gpu) {
        CHECK(cudaSetDevice(gpu));
        CHECK(cudaStreamSynchronize(stream[gpu]));
        digest.add_device(data[gpu], bytes);
    }
    return digest.print();
}

static __global__ void work_and_fail(unsigned *data, unsigned *nowhere, unsigned iterations) {
    const unsigned i = my_index();
    data[i] = advance(data[i], iterations);
    if (i == 0) {
        *nowhere = data[i];
    }
}

static int fault(const Plan &plan) {
    unsigned *data = filled(plan.threads());
    // The first page is never mapped.
    work_and_fail<<<plan.shape.blocks, plan.shape.threads>>>(
        data, reinterpret_cast<unsigned *>(0x100), iterations_for(plan.work_ms * 1000, plan.rate));
    CHECK(cudaPeekAtLastError());
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_ERROR(cudaFree(data), cudaErrorIllegalAddress);
    Digest digest;
    digest.add("cudaErrorIllegalAddress", 23);
    return digest.print();
}

static int contexts(double seconds, double most_per_second) {
    unsigned created = 0;
    const int64_t start = now_ns(), end = start + ns(seconds);
    for (;; ++created) {
        if (most_per_second > 0) {
            sleep_until(start + ns(created / most_per_second));
        }
        if (now_ns() >= end) {
            break;
        }
        CHECK(cudaFree(nullptr));
        CHECK(cudaDeviceReset());
    }
    std::printf("{\"program\":\"evicted\",\"contexts\":%u,\"per_second\":%.2f}\n", created,
                created / seconds);
    return 0;
}

int main(int argc, char **argv) {
    Options options(argc, argv);
    const std::string mode = options.text("mode", "");
    const double seconds = options.number("seconds", 5);
    if (mode == "contexts") {
        const double most_per_second = options.number("per-second", 0);
        options.finish();
        return contexts(seconds, most_per_second);
    }
    const Plan plan(options);
    options.finish();
    if (mode == "kernels") {
        return kernels(plan);
    } else if (mode == "cooperative") {
        return cooperative(plan);
    } else if (mode == "shared") {
        return shared(plan);
    } else if (mode == "local") {
        return local(plan);
    } else if (mode == "printf") {
        return printed(plan);
    } else if (mode == "managed") {
        return managed(plan);
    } else if (mode == "copies") {
        return copies(plan);
    } else if (mode == "graphs") {
        return graphs(plan);
    } else if (mode == "memory") {
        return memory(plan);
    } else if (mode == "peercopies" || mode == "peers") {
        return peers(plan, mode == "peers");
    } else if (mode == "fault") {
        return fault(plan);
    }
    std::fprintf(stderr, "evicted: unknown mode `%s`; see the comment at the top of the source\n",
                 mode.c_str());
    return 2;
}
