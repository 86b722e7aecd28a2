// Tries to get more device memory than the VM's quota: with limits, contexts, graphs, modules,
// streams, and each way to allocate memory, from one thread, from several, and from several
// processes.
//
//   limits [--seconds S] [--nvml PATH] [--threads N] [--contexts N] [--processes N] [--seed N]
//
// NVML (the host's library at that path) reports the GPU's used memory, so nothing else may use the
// GPU. All calls of CUDA are made in child processes. A child whose context gets a sticky error
// ends, and a new one continues, because everything after the error would be refused.
//
// Prints as JSON the most memory that was used beyond that at the start, the calls, and the number
// of kinds of operations that were hardly ever accepted; and to standard error, for each kind, how
// many operations were tried and accepted, how many lost the context, and the refusals by result.
// An attack that is refused shows nothing, so the caller must check the number of such kinds. If
// the memory grows by 256 MiB or more beyond the device's total (the quota), says so.
#include "attack_contexts.h"
#include "attack_graphs.h"
#include "attack_memory.h"

#include <signal.h>
#include <sys/wait.h>

#include <thread>

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

static void attack(Tenant &tenant) {
    Contexts contexts(tenant);
    Graphs graphs(tenant);
    Memory memory(tenant);
    while (!tenant.over()) {
        tenant.enter_any();
        switch (tenant.random(12)) {
        case 0:
            contexts.several();
            break;
        case 1:
            contexts.limits();
            break;
        case 2:
            contexts.green();
            break;
        case 3:
            contexts.launch();
            break;
        case 4:
            contexts.module();
            break;
        case 5:
            contexts.streams_and_events();
            break;
        case 6:
            tenant.flip();
            break;
        case 7:
            graphs.many();
            break;
        case 8:
            graphs.memory();
            break;
        case 9:
        case 10:
            memory.any();
            break;
        default:
            graphs.one();
        }
    }
}

// Raises and lowers the stack limit of one context, while another thread does the same.
static void flip_only(Tenant &tenant, CUcontext context) {
    tenant.enter(context);
    while (!tenant.over()) {
        tenant.flip();
    }
}

struct Phase {
    const char *name;
    int processes, threads, flipping;
};

[[noreturn]] static void child(Report &report, const Phase &phase, int contexts, uint64_t seed) {
    std::vector<CUcontext> all;
    REQUIRE(cuInit_(0) == CUDA_SUCCESS, "cuInit");
    for (int i = 0; i < contexts; ++i) {
        CUcontext context;
        // The call may be refused, because the other processes may have used all of the quota.
        if (cuCtxCreate_v2_(&context, 0, 0) == CUDA_SUCCESS) {
            all.push_back(context);
        }
    }
    size_t free, total;
    if (all.empty() || cuMemGetInfo_v2_(&free, &total) != CUDA_SUCCESS) {
        _exit(RESTART);
    }
    report.total = (long long)total;
    std::vector<std::thread> running;
    for (int i = 0; i < phase.threads; ++i) {
        running.emplace_back([&, i] {
            Tenant tenant(report, all, i, seed * 100 + i);
            i < phase.flipping ? flip_only(tenant, all[0]) : attack(tenant);
        });
    }
    for (std::thread &thread : running) {
        thread.join();
    }
    for (CUcontext context : all) {
        cuCtxDestroy_v2_(context);
    }
    _exit(0);
}

// Runs a phase for some seconds. Returns how many children had to be replaced, or died.
static int run(Report &report, const Phase &phase, int contexts, uint64_t &seed, double seconds) {
    int replaced = 0;
    std::map<pid_t, bool> children;
    const auto begin = [&] {
        const pid_t pid = fork();
        REQUIRE(pid >= 0, "fork");
        if (pid == 0) {
            child(report, phase, contexts, seed);
        }
        seed++;
        children[pid] = true;
    };
    report.over = false;
    report.processes = phase.processes;
    for (int i = 0; i < phase.processes; ++i) {
        begin();
    }
    const int64_t end = now_ns() + ns(seconds), killed = end + ns(20);
    while (!children.empty()) {
        report.over = now_ns() >= end;
        if (now_ns() >= killed) {
            for (const auto &[pid, alive] : children) {
                kill(pid, SIGKILL);
            }
        }
        int status;
        const pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid <= 0) {
            usleep(2000);
            continue;
        }
        children.erase(pid);
        for (std::atomic<int> &owner : report.owners) {
            int dead = pid;
            owner.compare_exchange_strong(dead, 0);
        }
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            replaced++;
            std::fprintf(stderr, "limits: %s: a child ended with status %#x\n", phase.name, status);
            if (!report.over) {
                usleep(100000);
                begin();
            }
        }
    }
    return replaced;
}

// Prints the counts of each kind. Returns the number of kinds that were hardly ever accepted.
static int print_counts(const Report &report) {
    int meaningless = 0;
    for (int kind = 0; kind < KIND_COUNT; ++kind) {
        const Report::Count &count = report.counts[kind];
        const bool meaningful = report.meaningful(kind);
        meaningless += !meaningful;
        std::fprintf(stderr, "%s%s: tried %lld, accepted %lld, lost contexts %lld, refused",
                     meaningful ? "" : "MEANINGLESS ", name_of(kind), count.tried.load(),
                     count.accepted.load(), count.restarts.load());
        for (int code = 0; code < Report::CODES; ++code) {
            if (count.refused[code] > 0) {
                std::fprintf(stderr, " %d: %lld", code, count.refused[code].load());
            }
        }
        std::fprintf(stderr, "\n");
    }
    return meaningless;
}

int main(int argc, char **argv) {
    Options options(argc, argv);
    const double seconds = options.number("seconds", 60);
    const std::string path = options.text("nvml", "");
    const int threads = (int)options.number("threads", 4),
              contexts = (int)options.number("contexts", 4),
              processes = (int)options.number("processes", 3);
    uint64_t seed = (uint64_t)options.number("seed", 1);
    options.finish();
    const Nvml nvml(path);
    const long long before = nvml.used();
    Report &report = Report::shared();
    std::atomic<long long> most{0}, samples{0};
    std::atomic<bool> end{false};
    // Runs in the parent, which doesn't use CUDA, and so can fork.
    std::thread watcher([&] {
        bool reported = false;
        while (!end) {
            const long long now = nvml.used() - before, total = report.total;
            samples++;
            most = std::max(most.load(), now);
            if (total > 0 && now > total + 256 * MIB && !reported) {
                reported = true;
                std::fprintf(stderr, "limits: %lld MiB are used, the quota is %lld MiB\n",
                             now / MIB, total / MIB);
            }
            usleep(200);
        }
    });
    // A quarter of the time each.
    const Phase phases[] = {{"one", 1, 1, 0},
                            {"flip", 1, 3, 2},
                            {"all", 1, threads, 0},
                            {"processes", processes, 2, 0}};
    long long most_of[std::size(phases)];
    int replaced = 0;
    for (size_t i = 0; i < std::size(phases); ++i) {
        most = 0;
        replaced += run(report, phases[i], contexts, seed, seconds / std::size(phases));
        most_of[i] = most;
    }
    end = true;
    watcher.join();
    long long refused = 0, kept = (nvml.used() - before) / MIB;
    for (const Report::Count &count : report.counts) {
        refused += count.tried - count.accepted;
    }
    const int meaningless = print_counts(report);
    std::printf("{\"quota\":%lld", report.total / MIB);
    for (size_t i = 0; i < std::size(phases); ++i) {
        std::printf(",\"most_%s\":%lld", phases[i].name, most_of[i] / MIB);
    }
    std::printf(",\"used_at_end\":%lld,\"samples\":%lld,\"calls\":%lld,\"refused\":%lld,"
                "\"replaced\":%d,\"meaningless\":%d}\n",
                kept, samples.load(), report.calls.load(), refused, replaced, meaningless);
    return 0;
}
