// Measures how much device memory NVIDIA's driver takes for things that no call allocates, and
// compares it with the worker's charges (vhost-cuda-worker's charges/account.rs). Runs directly on a
// GPU that nothing else uses.
//
//   amounts [--spin N]
//
// Prints a line for each case: the measured bytes, the charged ones, and UNDER if the charge is
// lower. Cases without a charge are questions about the driver. Each case runs in its own process,
// so that none uses what another left. --spin is the length of a kernel that has to be running
// while a limit changes.
#include "attack_api.h"
#include "attack_kernels.h"
#include "load.h"

#include <sys/wait.h>

constexpr long long MIB = 1 << 20, GRANULE = 2 * MIB;
// The worker's constants.
constexpr long long GRAPH_NODE = 2304, BRANCH = 114 << 10, SMALL_GRAPHS = 100 * GRAPH_NODE,
                    STREAM = 560 << 10, PENDING = 9728, RUNTIME = 102 * MIB,
                    HEAP = 8 * MIB + 140 * MIB, GREEN_CONTEXT = 4 * MIB,
                    FIRST_GREEN_CONTEXT = 2 * MIB;

DRIVER(cuDeviceGetAttribute, int *, CUdevice_attribute, CUdevice)
DRIVER(cuDevicePrimaryCtxReset_v2, CUdevice)

#define OK(call)                                                                                   \
    do {                                                                                           \
        const CUresult result_ = call;                                                             \
        REQUIRE(result_ == CUDA_SUCCESS, "%s: %d", #call, (int)result_);                           \
    } while (0)

static __global__ void launched() {
}
static __global__ void launching() {
    launched<<<1, 1>>>();
}

static long long free_bytes() {
    size_t free, total;
    OK(cuMemGetInfo_v2_(&free, &total));
    return (long long)free;
}

static long long charge(long long bytes) {
    return bytes <= 0 ? 0 : (bytes + GRANULE - 1) / GRANULE * GRANULE;
}

static void print(const char *what, long long number, long long measured, long long charged) {
    std::printf("%s %lld: measured %lld, charged %lld: %s\n", what, number, measured, charged,
                charged < measured ? "UNDER" : "OK");
}
static void print(const char *question, long long number, long long measured) {
    std::printf("%s %lld: measured %lld\n", question, number, measured);
}

static CUfunction kernel(const char *text) {
    CUmodule module;
    CUfunction f;
    OK(cuModuleLoadData_(&module, text));
    OK(cuModuleGetFunction_(&f, module, "k"));
    return f;
}

static void launch(CUfunction f) {
    OK(cuLaunchKernel_(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
}

// Instantiates and launches a graph of kernels, one after another or side by side.
static CUgraphExec graph(CUfunction f, int nodes, bool chain) {
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode node = nullptr;
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = f;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    OK(cuGraphCreate_(&graph, 0));
    for (int i = 0; i < nodes; ++i) {
        const CUgraphNode before = node;
        OK(cuGraphAddKernelNode_v2_(&node, graph, &before, chain && i > 0, &params));
    }
    OK(cuGraphInstantiateWithFlags_(&exec, graph, 0ull));
    OK(cuGraphLaunch_(exec, nullptr));
    OK(cuCtxSynchronize_());
    OK(cuGraphDestroy_(graph));
    return exec;
}

static void graphs(const char *what, int count, int nodes, bool chain) {
    const CUfunction f = kernel(with_local(64, 1).c_str());
    launch(f);
    OK(cuCtxSynchronize_());
    const long long before = free_bytes();
    std::vector<CUgraphExec> all;
    for (int i = 0; i < count; ++i) {
        all.push_back(graph(f, nodes, chain));
    }
    const long long branches = chain ? 1 : nodes;
    print(what, nodes, before - free_bytes(),
          charge(count * (nodes * GRAPH_NODE + branches * BRANCH) - SMALL_GRAPHS));
    for (CUgraphExec exec : all) {
        OK(cuGraphExecDestroy_(exec));
    }
    print("  kept after cuGraphExecDestroy of", count, before - free_bytes());
}

static void first_kernel(const char *what, const char *text, long long charged) {
    launch(kernel(with_local(64, 1).c_str()));
    OK(cuCtxSynchronize_());
    const long long before = free_bytes();
    const CUfunction f = kernel(text);
    const long long loaded = before - free_bytes();
    launch(f);
    OK(cuCtxSynchronize_());
    print(what, loaded, before - free_bytes(), charged);
}

static long long first_device_launch(size_t pending) {
    OK(cuCtxSetLimit_(CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, pending));
    const long long before = free_bytes();
    launching<<<1, 1>>>();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    return before - free_bytes();
}

static long long threads() {
    int processors, per_processor;
    OK(cuDeviceGetAttribute_(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
    OK(cuDeviceGetAttribute_(&per_processor, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 0));
    return (long long)processors * per_processor;
}

static void stack(size_t bytes) {
    const long long before = free_bytes();
    OK(cuCtxSetLimit_(CU_LIMIT_STACK_SIZE, bytes));
    launch(kernel(with_local(64, 1).c_str()));
    OK(cuCtxSynchronize_());
    const long long per_thread = ((long long)bytes + 15) / 16 * 16;
    print("stack limit", (long long)bytes, before - free_bytes(),
          charge((per_thread - 1024) * threads()));
}

// Measures whether setting the stack limit while a kernel with much local memory runs frees that
// memory.
static void limit_while_running(unsigned spin) {
    std::string text = with_local(64 << 10, 1);
    const std::string end = "setp.lt.u32 %p, %r1, 64;";
    const std::string longer = "setp.lt.u32 %p, %r1, " + std::to_string(spin) + ";";
    text.replace(text.find(end), end.size(), longer);
    const CUfunction f = kernel(text.c_str());
    const long long before = free_bytes();
    launch(f);
    print("local memory of a running kernel, bytes per thread", 64 << 10, before - free_bytes());
    const int64_t began = now_ns();
    OK(cuCtxSetLimit_(CU_LIMIT_STACK_SIZE, size_t{2048}));
    std::printf("  cuCtxSetLimit took %.3f ms\n", (now_ns() - began) / 1e6);
    print("  after a stack limit was set meanwhile", 2048, before - free_bytes());
    OK(cuCtxSynchronize_());
    print("  after the kernel ended", 0, before - free_bytes());
    OK(cuCtxSetLimit_(CU_LIMIT_STACK_SIZE, size_t{1024}));
    print("  after another stack limit", 1024, before - free_bytes());
}

static void green(int count) {
    CUdevResource all{}, part{}, rest{};
    CUdevResourceDesc description;
    unsigned groups = 1;
    const long long before = free_bytes();
    OK(cuDeviceGetDevResource_(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    OK(cuDevSmResourceSplitByCount_(&part, &groups, &all, &rest, 0u, all.sm.smCount / 4));
    for (int i = 0; i < count; ++i) {
        CUgreenCtx own;
        OK(cuDevResourceGenerateDesc_(&description, &part, 1u));
        OK(cuGreenCtxCreate_(&own, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
        OK(cuGreenCtxDestroy_(own));
    }
    print("kept after green contexts, created and destroyed in turn,", count, before - free_bytes(),
          FIRST_GREEN_CONTEXT + count * GREEN_CONTEXT);
    OK(cuDevicePrimaryCtxReset_v2_(0));
    CHECK(cudaFree(nullptr));
    print("  kept after the primary context's reset", count, before - free_bytes());
}

static void streams(int count) {
    const long long before = free_bytes();
    for (int i = 0; i < count; ++i) {
        CUstream stream;
        OK(cuStreamCreate_(&stream, CU_STREAM_NON_BLOCKING));
    }
    print("streams", count, before - free_bytes(), charge((count - 4) * STREAM));
}

// Runs a case in a process with a new context. Returns whether it could be measured.
template <typename Case> static bool measure(Case run) {
    std::fflush(stdout);
    const pid_t pid = fork();
    REQUIRE(pid >= 0, "fork");
    if (pid == 0) {
        // The primary context, which the runtime uses too.
        CHECK(cudaFree(nullptr));
        run();
        std::fflush(stdout);
        _exit(0);
    }
    int status;
    waitpid(pid, &status, 0);
    if (status != 0) {
        std::printf("NOT MEASURED: the case ended with status %#x\n", status);
    }
    return status == 0;
}

int main(int argc, char **argv) {
    Options options(argc, argv);
    const unsigned spin = (unsigned)options.number("spin", 100e6);
    options.finish();
    int failed = 0;
    const auto run = [&](auto one) { failed += !measure(one); };
    run([] { graphs("a chain of nodes", 1, 20000, true); });
    for (int branches : {32, 33, 64, 256}) {
        run([=] { graphs("one graph, branches", 1, branches, false); });
    }
    for (int branches : {1, 16, 32, 33}) {
        run([=] { graphs("100 graphs, branches each", 100, branches, false); });
    }
    for (size_t bytes : {1032, 2056, 16392}) {
        run([=] { stack(bytes); });
    }
    run([] { streams(200); });
    run([] {
        first_kernel("the first kernel with printf, of which at the load", PRINTING, RUNTIME);
    });
    run([] { first_kernel("the first kernel with malloc, of which at the load", ALLOCATING, HEAP); });
    for (size_t pending : {2048, 4096, 16384}) {
        run([=] {
            print("the first device launch, pending launches", (long long)pending,
                  first_device_launch(pending),
                  RUNTIME + charge(((long long)pending - 2048) * PENDING));
        });
    }
    run([=] { limit_while_running(spin); });
    for (int count : {1, 10, 100}) {
        run([=] { green(count); });
    }
    std::printf("%d cases could not be measured\n", failed);
    return 0;
}
