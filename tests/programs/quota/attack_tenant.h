// One thread of an attack: its random numbers, its current context, and its kernels.
#pragma once

#include "attack_api.h"
#include "attack_kernels.h"
#include "attack_report.h"

// The exit status of a process that can't continue, because its context has a sticky error. A new
// process must take its place.
constexpr int RESTART = 3;
constexpr size_t LOCALS[] = {2 << 10, 16 << 10, 48 << 10, 64 << 10, 96 << 10};
constexpr size_t STACKS[] = {512, 1024, 1024, 4 << 10, 32 << 10, 64 << 10, 80 << 10};

class Tenant {
  public:
    Tenant(Report &report, const std::vector<CUcontext> &contexts, int thread, uint64_t seed)
        : report_(report), contexts_(contexts), thread_(thread), state_(seed * 7919 + 1) {
    }

    bool over() const { return report_.over; }

    size_t random(size_t below) {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return (size_t)(state_ >> 33) % below;
    }

    // Counts an operation and its result. If the result is a sticky error, prints the last
    // operations, one of which caused it, and ends the process.
    CUresult did(Kind kind, CUresult result, size_t number = 0) {
        Report::Count &count = report_.counts[kind];
        count.tried++;
        if (result == CUDA_SUCCESS) {
            count.accepted++;
        } else {
            count.refused[(unsigned)result % Report::CODES]++;
        }
        remember(name_of(kind), number, result);
        last_ = kind;
        return checked(result);
    }

    // Checks the result of a call that only prepares an attack, without counting it.
    bool call(CUresult result) {
        if (result != CUDA_SUCCESS) {
            remember("supporting call", 0, result);
        }
        return checked(result) == CUDA_SUCCESS;
    }

    void enter(CUcontext context) {
        current_ = context;
        call(cuCtxSetCurrent_(context));
    }
    void enter_any() { enter(contexts_[random(contexts_.size())]); }
    CUcontext current() const { return current_; }
    Report &report() { return report_; }

    void stack(size_t bytes) { did(STACK, cuCtxSetLimit_(CU_LIMIT_STACK_SIZE, bytes), bytes); }
    void flip() {
        for (int i = 0; i < 8 && !over(); ++i) {
            stack(STACKS[random(std::size(STACKS))]);
        }
        stack(1024);
    }

    // A new kernel that wasn't launched before, in a module or in a library.
    struct Fresh {
        CUcontext context = nullptr;
        CUmodule module = nullptr;
        CUlibrary library = nullptr;
        CUfunction f = nullptr;
        bool is_kernel = false;
    };

    bool load(Fresh &made, Kind kind, const char *text) {
        made.context = current_;
        return did(kind, cuModuleLoadData_(&made.module, text)) == CUDA_SUCCESS &&
               call(cuModuleGetFunction_(&made.f, made.module, "k"));
    }

    bool fresh(Fresh &made, size_t local = 0) {
        local = local ? local : LOCALS[random(std::size(LOCALS))];
        const std::string text = with_local(local, report_.salt++);
        if (random(2) == 0) {
            return load(made, MODULE, text.c_str());
        }
        CUjit_option *options = nullptr;
        void **values = nullptr, *none = nullptr;
        CUkernel kernel;
        made.context = current_;
        if (did(LIBRARY, cuLibraryLoadData_(&made.library, text.c_str(), options, values, 0, none,
                                            values, 0)) != CUDA_SUCCESS ||
            !call(cuLibraryGetKernel_(&kernel, made.library, "k"))) {
            return false;
        }
        made.f = reinterpret_cast<CUfunction>(kernel);
        made.is_kernel = true;
        return true;
    }

    // Unloads a kernel when no kernel runs in the contexts that may use it. Otherwise, its code
    // would disappear while it runs, which is a launch failure (719). A module's kernel runs only
    // in the module's context, but a library's kernel may run in any context.
    void unload(const Fresh &made) {
        const CUcontext back = current_;
        if (made.library != nullptr) {
            for (CUcontext context : contexts_) {
                enter(context);
                call(cuCtxSynchronize_());
            }
        }
        enter(made.context);
        call(cuCtxSynchronize_());
        if (made.module != nullptr) {
            call(cuModuleUnload_(made.module));
        }
        if (made.library != nullptr) {
            call(cuLibraryUnload_(made.library));
        }
        enter(back);
    }

    // Starts a kernel in one of three ways, chosen at random: with cuLaunchKernel,
    // cuLaunchKernelEx, or cuLaunchCooperativeKernel.
    void start(CUfunction f, CUstream stream) {
        CUlaunchAttribute attribute{};
        attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
        CUlaunchConfig config{};
        config.gridDimX = config.gridDimY = config.gridDimZ = 1;
        config.blockDimX = config.blockDimY = config.blockDimZ = 1;
        config.hStream = stream;
        config.attrs = &attribute;
        config.numAttrs = 1;
        void **none = nullptr;
        switch (random(3)) {
        case 0:
            did(LAUNCH, cuLaunchKernel_(f, 1, 1, 1, 1, 1, 1, 0, stream, none, none));
            break;
        case 1:
            did(LAUNCH_EX, cuLaunchKernelEx_(&config, f, none, none));
            break;
        default:
            did(COOPERATIVE, cuLaunchCooperativeKernel_(f, 1, 1, 1, 1, 1, 1, 0, stream, none));
        }
    }

  private:
    CUresult checked(CUresult result) {
        report_.calls++;
        if (is_sticky(result)) {
            report_.counts[last_].restarts++;
            std::lock_guard<std::mutex> guard(lock());
            std::fprintf(stderr, "limits: the context is lost (%d), after:\n", (int)result);
            for (const std::string &line : steps()) {
                std::fprintf(stderr, "  %s\n", line.c_str());
            }
            _exit(RESTART);
        }
        return result;
    }

    // Protects the list of the last operations of all threads of this process.
    static std::mutex &lock() {
        static std::mutex lock;
        return lock;
    }
    static std::vector<std::string> &steps() {
        static std::vector<std::string> steps;
        return steps;
    }
    void remember(const char *what, size_t number, CUresult result) {
        char line[128];
        std::snprintf(line, sizeof line, "thread %d, context %p: %s %zu: %d", thread_,
                      (void *)current_, what, number, (int)result);
        std::lock_guard<std::mutex> guard(lock());
        if (steps().size() >= 40) {
            steps().erase(steps().begin());
        }
        steps().push_back(line);
    }

    Report &report_;
    const std::vector<CUcontext> &contexts_;
    int thread_;
    uint64_t state_;
    CUcontext current_ = nullptr;
    Kind last_ = CONTEXT;
};
