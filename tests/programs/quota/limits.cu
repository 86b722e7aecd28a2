// Tries to get more device memory than the VM's quota: with the limits of contexts, and with
// kernels that need local memory and get to the driver in many ways, from one thread and from
// several.
//
//   limits [--seconds S] [--nvml PATH] [--threads N] [--contexts N] [--seed N]
//
// NVML (the host's library at that path) reports the GPU's used memory, so nothing else may use the
// GPU. Prints as JSON the most memory that was used beyond that at the start, the calls, and the
// refused ones. If the memory grows by 256 MiB or more beyond the device's total (the quota),
// prints the calls before that to standard error, and at the end the number of each result of each
// call.
#include "load.h"

#include <cuda.h>
#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <thread>

constexpr long long MIB = 1 << 20;
constexpr size_t LOCALS[] = {2 << 10, 16 << 10, 48 << 10, 64 << 10, 96 << 10};
constexpr size_t STACKS[] = {512, 1024, 1024, 4 << 10, 32 << 10, 64 << 10, 80 << 10};

static void *libcuda() {
    static void *library = dlopen("libcuda.so.1", RTLD_NOW);
    REQUIRE(library != nullptr, "%s", dlerror());
    return library;
}

// Declares a function of the driver. A call of one that the driver lacks is not supported.
#define DRIVER(name, ...)                                                                          \
    template <typename... A> static CUresult name##_(A... arguments) {                             \
        static auto function =                                                                     \
            reinterpret_cast<CUresult (*)(__VA_ARGS__)>(dlsym(libcuda(), #name));                  \
        return function ? function(arguments...) : CUDA_ERROR_NOT_SUPPORTED;                       \
    }
DRIVER(cuInit, unsigned)
DRIVER(cuCtxCreate_v2, CUcontext *, unsigned, CUdevice)
DRIVER(cuCtxDestroy_v2, CUcontext)
DRIVER(cuCtxSetCurrent, CUcontext)
DRIVER(cuCtxSynchronize, void)
DRIVER(cuCtxSetLimit, CUlimit, size_t)
DRIVER(cuMemGetInfo_v2, size_t *, size_t *)
DRIVER(cuModuleLoadData, CUmodule *, const void *)
DRIVER(cuModuleUnload, CUmodule)
DRIVER(cuModuleGetFunction, CUfunction *, CUmodule, const char *)
DRIVER(cuLibraryLoadData, CUlibrary *, const void *, CUjit_option *, void **, unsigned, void *,
       void **, unsigned)
DRIVER(cuLibraryUnload, CUlibrary)
DRIVER(cuLibraryGetKernel, CUkernel *, CUlibrary, const char *)
DRIVER(cuStreamCreate, CUstream *, unsigned)
DRIVER(cuStreamDestroy_v2, CUstream)
DRIVER(cuLaunchKernel, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
       unsigned, CUstream, void **, void **)
DRIVER(cuLaunchKernelEx, const CUlaunchConfig *, CUfunction, void **, void **)
DRIVER(cuLaunchCooperativeKernel, CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
       unsigned, unsigned, CUstream, void **)
DRIVER(cuStreamBeginCapture_v2, CUstream, CUstreamCaptureMode)
DRIVER(cuStreamEndCapture, CUstream, CUgraph *)
DRIVER(cuGraphCreate, CUgraph *, unsigned)
DRIVER(cuGraphDestroy, CUgraph)
DRIVER(cuGraphAddKernelNode_v2, CUgraphNode *, CUgraph, const CUgraphNode *, size_t,
       const CUDA_KERNEL_NODE_PARAMS *)
DRIVER(cuGraphAddChildGraphNode, CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUgraph)
DRIVER(cuGraphAddNode_v2, CUgraphNode *, CUgraph, const CUgraphNode *, const CUgraphEdgeData *,
       size_t, CUgraphNodeParams *)
DRIVER(cuGraphConditionalHandleCreate, CUgraphConditionalHandle *, CUgraph, CUcontext, unsigned,
       unsigned)
DRIVER(cuGraphInstantiateWithFlags, CUgraphExec *, CUgraph, unsigned long long)
DRIVER(cuGraphExecDestroy, CUgraphExec)
DRIVER(cuGraphExecUpdate_v2, CUgraphExec, CUgraph, CUgraphExecUpdateResultInfo *)
DRIVER(cuGraphExecKernelNodeSetParams_v2, CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS *)
DRIVER(cuGraphUpload, CUgraphExec, CUstream)
DRIVER(cuGraphLaunch, CUgraphExec, CUstream)

// ---- The memory and the calls, for the report ---------------------------------------------------

static std::atomic<bool> over{false};
static std::atomic<long long> calls{0}, refused{0};
// The last steps, for the report.
static std::mutex steps_lock;
static std::vector<std::string> steps;
// The number of each result of each step.
static std::map<std::pair<std::string, int>, long long> results;

static CUresult counted(CUresult result) {
    calls++;
    refused += result != CUDA_SUCCESS;
    return result;
}

static void step(int thread, int context, const char *what, size_t number, CUresult result) {
    char line[128];
    std::snprintf(line, sizeof line, "thread %d, context %d: %s %zu: %d", thread, context, what,
                  number, (int)result);
    std::lock_guard<std::mutex> guard(steps_lock);
    results[{what, (int)result}]++;
    if (steps.size() >= 40) {
        steps.erase(steps.begin());
    }
    steps.push_back(line);
}

struct Nvml {
    struct Memory {
        unsigned long long total, free, used;
    };
    int (*memory)(void *, Memory *) = nullptr;
    void *device = nullptr;

    explicit Nvml(const std::string &path) {
        if (path.empty()) {
            return;
        }
        void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        REQUIRE(library != nullptr, "%s", dlerror());
        auto init = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
        auto get = reinterpret_cast<int (*)(unsigned, void **)>(
            dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
        memory = reinterpret_cast<decltype(memory)>(dlsym(library, "nvmlDeviceGetMemoryInfo"));
        REQUIRE(init && get && memory && init() == 0 && get(0, &device) == 0, "no NVML in %s",
                path.c_str());
    }

    long long used() const {
        Memory now{};
        REQUIRE(!memory || memory(device, &now) == 0, "NVML reports no memory");
        return (long long)now.used;
    }
};

// ---- Kernels ------------------------------------------------------------------------------------

// PTX text with a kernel that uses this much local memory. Each text is different, so that the
// driver knows none of them.
static std::string with_local(size_t bytes, uint64_t salt) {
    char text[2048];
    std::snprintf(text, sizeof text, R"(.version 7.0
.target sm_70
.address_size 64
.visible .global .align 4 .u32 salt = %u;
.visible .entry k(.param .u64 out, .param .u32 n)
{
    .local .align 16 .b8 mine[%zu];
    .reg .pred %%p;
    .reg .b32 %%r<4>;
    .reg .b64 %%d<5>;
    ld.param.u64 %%d1, [out];
    ld.param.u32 %%r1, [n];
    mov.u64 %%d2, mine;
    mov.u32 %%r2, 0;
LOOP:
    setp.ge.u32 %%p, %%r2, %%r1;
    @%%p bra DONE;
    cvt.u64.u32 %%d3, %%r2;
    add.s64 %%d4, %%d2, %%d3;
    st.local.u32 [%%d4], %%r1;
    add.u32 %%r2, %%r2, 4;
    bra LOOP;
DONE:
    setp.eq.u64 %%p, %%d1, 0;
    @%%p bra OUT;
    shr.u32 %%r2, %%r1, 1;
    and.b32 %%r2, %%r2, 0xfffffffc;
    cvt.u64.u32 %%d3, %%r2;
    add.s64 %%d4, %%d2, %%d3;
    ld.local.u32 %%r3, [%%d4];
    st.global.u32 [%%d1], %%r3;
OUT:
    ret;
}
)",
                  (unsigned)salt, bytes);
    return text;
}

static const char *ALLOCATING = R"(.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b64 r) malloc (.param .b64 n);
.visible .entry k(.param .u64 out, .param .u32 n)
{
    .reg .b64 %d<3>;
    mov.u64 %d1, 16;
    {
        .param .b64 n1;
        st.param.b64 [n1], %d1;
        .param .b64 r;
        call.uni (r), malloc, (n1);
        ld.param.b64 %d2, [r];
    }
    ret;
}
)";

// ---- One thread of the attack -------------------------------------------------------------------

struct Shared {
    std::vector<CUcontext> contexts;
    std::atomic<uint64_t> salt{1};
};

class Attack {
  public:
    Attack(Shared &shared, int thread, uint64_t seed)
        : shared_(shared), thread_(thread), state_(seed * 7919 + 1) {
    }

    void run() {
        while (!over) {
            at_ = (int)random(shared_.contexts.size());
            enter(shared_.contexts[at_]);
            switch (random(10)) {
            case 0:
                new_context();
                break;
            case 1:
                heap();
                break;
            case 2:
                other_limits();
                break;
            case 3:
                flip();
                break;
            case 4:
                launch();
                break;
            default:
                graph();
                break;
            }
        }
    }

    // Raises and lowers the stack limit of one context, while another thread does the same.
    void flip_only() {
        at_ = 0;
        enter(shared_.contexts[0]);
        while (!over) {
            flip();
        }
    }

  private:
    size_t random(size_t below) {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return (size_t)(state_ >> 33) % below;
    }

    CUresult did(const char *what, size_t number, CUresult result) {
        step(thread_, at_, what, number, counted(result));
        return result;
    }

    void enter(CUcontext context) {
        context_ = context;
        counted(cuCtxSetCurrent_(context));
    }

    void stack(size_t bytes) {
        did("stack limit", bytes, cuCtxSetLimit_(CU_LIMIT_STACK_SIZE, bytes));
    }

    void flip() {
        for (int i = 0; i < 8 && !over; ++i) {
            stack(STACKS[random(std::size(STACKS))]);
        }
        stack(1024);
    }

    void other_limits() {
        const size_t value = size_t{1} << random(40);
        const auto limit = static_cast<CUlimit>(3 + random(8));
        did("limit", (size_t)limit, cuCtxSetLimit_(limit, value));
    }

    void heap() {
        CUmodule module;
        did("heap limit", 64, cuCtxSetLimit_(CU_LIMIT_MALLOC_HEAP_SIZE, (64 + random(256)) * MIB));
        if (did("load with malloc", 0, cuModuleLoadData_(&module, ALLOCATING)) == CUDA_SUCCESS) {
            CUfunction f;
            if (cuModuleGetFunction_(&f, module, "k") == CUDA_SUCCESS) {
                start(f, nullptr);
            }
            counted(cuCtxSynchronize_());
            counted(cuModuleUnload_(module));
        }
    }

    // Starts a kernel in one of the three ways. Its local memory is used only a little.
    void start(CUfunction f, CUstream stream) {
        CUdeviceptr out = 0;
        unsigned n = 64;
        void *params[] = {&out, &n};
        CUlaunchAttribute attribute{};
        attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
        CUlaunchConfig config{};
        config.gridDimX = config.gridDimY = config.gridDimZ = 1;
        config.blockDimX = config.blockDimY = config.blockDimZ = 1;
        config.hStream = stream;
        config.attrs = &attribute;
        config.numAttrs = 1;
        void **extra = nullptr;
        switch (random(3)) {
        case 0:
            did("launch", 0, cuLaunchKernel_(f, 1, 1, 1, 1, 1, 1, 0, stream, params, extra));
            break;
        case 1:
            did("launch ex", 0, cuLaunchKernelEx_(&config, f, params, extra));
            break;
        default:
            did("launch cooperative", 0,
                cuLaunchCooperativeKernel_(f, 1, 1, 1, 1, 1, 1, 0, stream, params));
        }
    }

    // A kernel that was never launched, in a module or in a library.
    struct Fresh {
        CUmodule module = nullptr;
        CUlibrary library = nullptr;
        CUfunction f = nullptr;
        CUkernel kernel = nullptr;
        size_t local = 0;
    };

    bool fresh(Fresh &made) {
        made.local = LOCALS[random(std::size(LOCALS))];
        const std::string text = with_local(made.local, shared_.salt++);
        if (random(2) == 0) {
            return did("load", made.local, cuModuleLoadData_(&made.module, text.c_str())) ==
                       CUDA_SUCCESS &&
                   counted(cuModuleGetFunction_(&made.f, made.module, "k")) == CUDA_SUCCESS;
        }
        CUjit_option *options = nullptr;
        void **values = nullptr, *none = nullptr;
        if (did("load library", made.local,
                cuLibraryLoadData_(&made.library, text.c_str(), options, values, 0, none, values,
                                   0)) != CUDA_SUCCESS ||
            counted(cuLibraryGetKernel_(&made.kernel, made.library, "k")) != CUDA_SUCCESS) {
            return false;
        }
        made.f = reinterpret_cast<CUfunction>(made.kernel);
        return true;
    }

    void unload(const Fresh &made) {
        if (made.module != nullptr) {
            counted(cuModuleUnload_(made.module));
        }
        if (made.library != nullptr) {
            counted(cuLibraryUnload_(made.library));
        }
    }

    void launch() {
        Fresh made;
        CUstream stream;
        if (fresh(made) &&
            counted(cuStreamCreate_(&stream, CU_STREAM_NON_BLOCKING)) == CUDA_SUCCESS) {
            start(made.f, stream);
            stack(1024);
            start(made.f, stream);
            counted(cuCtxSynchronize_());
            // The kernel of a library in another context, and a stream of another context.
            enter(shared_.contexts[random(shared_.contexts.size())]);
            start(made.f, random(2) ? nullptr : stream);
            stack(1024);
            counted(cuStreamDestroy_v2_(stream));
        }
        unload(made);
    }

    CUDA_KERNEL_NODE_PARAMS node_of(const Fresh &made, void **params) {
        CUDA_KERNEL_NODE_PARAMS node{};
        (made.kernel ? (void *&)node.kern : (void *&)node.func) = made.f;
        node.gridDimX = node.gridDimY = node.gridDimZ = 1;
        node.blockDimX = node.blockDimY = node.blockDimZ = 1;
        node.kernelParams = params;
        return node;
    }

    // Puts a new kernel into a graph, instantiates it, lowers the limit, and launches it.
    void graph() {
        Fresh made, small;
        CUgraph graph = nullptr, inner = nullptr;
        CUgraphExec exec = nullptr;
        CUgraphNode node = nullptr;
        CUstream stream = nullptr;
        CUdeviceptr out = 0;
        unsigned n = 64;
        void *params[] = {&out, &n};
        const CUgraphNode *none = nullptr;
        const size_t way = random(6);
        if (!fresh(made) ||
            counted(cuStreamCreate_(&stream, CU_STREAM_NON_BLOCKING)) != CUDA_SUCCESS) {
            unload(made);
            return;
        }
        counted(cuGraphCreate_(&graph, 0));
        CUDA_KERNEL_NODE_PARAMS kernel = node_of(made, params);
        switch (way) {
        case 0:
            did("kernel node", made.local,
                cuGraphAddKernelNode_v2_(&node, graph, none, 0, &kernel));
            break;
        case 1: {
            counted(cuGraphDestroy_(graph));
            graph = nullptr;
            counted(cuStreamBeginCapture_v2_(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
            start(made.f, stream);
            did("capture", made.local, cuStreamEndCapture_(stream, &graph));
            break;
        }
        case 2: {
            counted(cuGraphCreate_(&inner, 0));
            counted(cuGraphAddKernelNode_v2_(&node, inner, none, 0, &kernel));
            did("child graph", made.local, cuGraphAddChildGraphNode_(&node, graph, none, 0, inner));
            counted(cuGraphDestroy_(inner));
            break;
        }
        case 3: {
            CUgraphConditionalHandle handle = 0;
            counted(cuGraphConditionalHandleCreate_(&handle, graph, context_, 1,
                                                    CU_GRAPH_COND_ASSIGN_DEFAULT));
            CUgraphNodeParams branch{};
            branch.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
            branch.conditional.handle = handle;
            branch.conditional.type = CU_GRAPH_COND_TYPE_IF;
            branch.conditional.size = 1;
            branch.conditional.ctx = context_;
            const CUgraphEdgeData *edges = nullptr;
            if (did("conditional node", made.local,
                    cuGraphAddNode_v2_(&node, graph, none, edges, 0, &branch)) == CUDA_SUCCESS) {
                counted(cuGraphAddKernelNode_v2_(&node, branch.conditional.phGraph_out[0], none, 0,
                                                 &kernel));
            }
            break;
        }
        default: {
            // Begins with a small kernel, and gets the other one later.
            const std::string text = with_local(64, shared_.salt++);
            if (cuModuleLoadData_(&small.module, text.c_str()) == CUDA_SUCCESS &&
                cuModuleGetFunction_(&small.f, small.module, "k") == CUDA_SUCCESS) {
                CUDA_KERNEL_NODE_PARAMS other = node_of(small, params);
                did("small node", 64, cuGraphAddKernelNode_v2_(&node, graph, none, 0, &other));
            }
        }
        }
        if (graph != nullptr &&
            did("instantiate", way, cuGraphInstantiateWithFlags_(&exec, graph, 0ull)) ==
                CUDA_SUCCESS) {
            if (way == 4) {
                did("set node", made.local,
                    cuGraphExecKernelNodeSetParams_v2_(exec, node, &kernel));
            } else if (way == 5) {
                CUgraphExecUpdateResultInfo info{};
                counted(cuGraphCreate_(&inner, 0));
                counted(cuGraphAddKernelNode_v2_(&node, inner, none, 0, &kernel));
                did("update", made.local, cuGraphExecUpdate_v2_(exec, inner, &info));
                counted(cuGraphDestroy_(inner));
            }
            for (int i = 0; i < 2; ++i) {
                stack(1024);
                if (random(2) == 0) {
                    // Launches from a thread whose current context is another one.
                    enter(shared_.contexts[random(shared_.contexts.size())]);
                }
                if (random(3) == 0) {
                    did("upload", made.local, cuGraphUpload_(exec, stream));
                }
                did("launch graph", made.local, cuGraphLaunch_(exec, stream));
                counted(cuCtxSynchronize_());
            }
        }
        if (exec != nullptr) {
            counted(cuGraphExecDestroy_(exec));
        }
        if (graph != nullptr) {
            counted(cuGraphDestroy_(graph));
        }
        counted(cuStreamDestroy_v2_(stream));
        unload(made);
        unload(small);
    }

    // A context that exists for a while.
    void new_context() {
        CUcontext own;
        if (did("create context", 0, cuCtxCreate_v2_(&own, 0, 0)) != CUDA_SUCCESS) {
            return;
        }
        context_ = own;
        at_ = -1;
        flip();
        launch_in(own);
        counted(cuCtxDestroy_v2_(own));
    }

    void launch_in(CUcontext own) {
        Fresh made;
        if (fresh(made)) {
            stack(1024);
            start(made.f, nullptr);
            enter(own);
            counted(cuCtxSynchronize_());
        }
        unload(made);
    }

    Shared &shared_;
    int thread_, at_ = 0;
    uint64_t state_;
    CUcontext context_ = nullptr;
};

int main(int argc, char **argv) {
    Options options(argc, argv);
    const double seconds = options.number("seconds", 60);
    const std::string path = options.text("nvml", "");
    const int threads = (int)options.number("threads", 4),
              contexts = (int)options.number("contexts", 4);
    const uint64_t seed = (uint64_t)options.number("seed", 1);
    options.finish();
    const Nvml nvml(path);
    const long long before = nvml.used();
    REQUIRE(cuInit_(0) == CUDA_SUCCESS, "cuInit");
    Shared shared;
    for (int i = 0; i < contexts; ++i) {
        CUcontext context;
        REQUIRE(cuCtxCreate_v2_(&context, 0, 0) == CUDA_SUCCESS, "cannot create context %d", i);
        shared.contexts.push_back(context);
    }
    size_t free = 0, total = 0;
    REQUIRE(cuMemGetInfo_v2_(&free, &total) == CUDA_SUCCESS, "cuMemGetInfo");
    std::atomic<long long> most{0}, samples{0};
    std::atomic<bool> end{false};
    std::thread watcher([&] {
        bool reported = false;
        while (!end) {
            const long long now = nvml.used() - before;
            samples++;
            most = std::max(most.load(), now);
            if (now > (long long)total + 256 * MIB && !reported) {
                reported = true;
                std::lock_guard<std::mutex> guard(steps_lock);
                std::fprintf(stderr, "limits: %lld MiB are used, the quota is %lld MiB, after:\n",
                             now / MIB, (long long)total / MIB);
                for (const std::string &line : steps) {
                    std::fprintf(stderr, "  %s\n", line.c_str());
                }
            }
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
    });
    // A third of the time each: one thread; two that change one limit, and one that launches; all.
    const char *phases[] = {"one", "flip", "all"};
    long long most_of[3];
    for (int phase = 0; phase < 3; ++phase) {
        over = false;
        most = 0;
        std::vector<std::thread> running;
        const int count = phase == 0 ? 1 : phase == 1 ? 3 : threads;
        for (int i = 0; i < count; ++i) {
            running.emplace_back([&, i] {
                Attack attack(shared, i, seed * 100 + 10 * phase + i);
                phase == 1 && i < 2 ? attack.flip_only() : attack.run();
            });
        }
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds / 3));
        over = true;
        for (std::thread &thread : running) {
            thread.join();
        }
        most_of[phase] = most;
    }
    // When nothing runs, the charge must be what is used.
    for (CUcontext context : shared.contexts) {
        counted(cuCtxSetCurrent_(context));
        counted(cuCtxSynchronize_());
        counted(cuCtxSetLimit_(CU_LIMIT_STACK_SIZE, size_t{1024}));
    }
    counted(cuMemGetInfo_v2_(&free, &total));
    const long long charged = (long long)(total - free) / MIB, used = (nvml.used() - before) / MIB;
    end = true;
    watcher.join();
    for (const auto &[key, count] : results) {
        std::fprintf(stderr, "%s: result %d: %lld\n", key.first.c_str(), key.second, count);
    }
    std::printf("{\"quota\":%lld", (long long)total / MIB);
    for (int phase = 0; phase < 3; ++phase) {
        std::printf(",\"most_%s\":%lld", phases[phase], most_of[phase] / MIB);
    }
    std::printf(",\"charged_at_end\":%lld,\"used_at_end\":%lld,\"samples\":%lld,\"calls\":%lld,"
                "\"refused\":%lld}\n",
                charged, used, samples.load(), calls.load(), refused.load());
    return 0;
}
