// The counters of an attack on the quota, in memory that the attack's processes share.
#pragma once

#include "load.h"

#include <cuda.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <mutex>

constexpr long long MIB = 1 << 20;

// The kinds of operations that the attack performs. ABSURD_LIMIT is a kind that the driver must
// always refuse.
#define KINDS(KIND)                                                                                \
    KIND(CONTEXT, "context") KIND(GREEN, "green context") KIND(STACK, "stack limit")               \
    KIND(HEAP_LIMIT, "heap limit") KIND(PRINTF_LIMIT, "printf limit")                              \
    KIND(PENDING_LIMIT, "pending limit") KIND(ABSURD_LIMIT, "absurd limit")                        \
    KIND(MODULE, "module") KIND(LIBRARY, "library") KIND(JIT, "module with options")               \
    KIND(GLOBALS, "module with globals") KIND(MALLOC, "module with malloc")                        \
    KIND(PRINTF, "module with printf") KIND(LAUNCH, "launch") KIND(LAUNCH_EX, "launch ex")         \
    KIND(COOPERATIVE, "cooperative launch") KIND(KERNEL_NODE, "kernel node")                       \
    KIND(CAPTURE, "capture") KIND(CHILD, "child graph") KIND(CONDITIONAL, "conditional node")      \
    KIND(MEMORY_NODE, "memory node") KIND(INSTANTIATE, "instantiate") KIND(NARROW, "narrow graph") \
    KIND(WIDE, "wide graph") KIND(SET_NODE, "set node") KIND(UPDATE, "graph update")               \
    KIND(UPLOAD, "graph upload") KIND(GRAPH_LAUNCH, "graph launch") KIND(ALLOCATE, "allocation")   \
    KIND(POOL, "pool") KIND(POOL_ALLOCATE, "pool allocation") KIND(MANAGED, "managed memory")      \
    KIND(ARRAY, "array") KIND(MIPMAP, "mipmapped array") KIND(TEXTURE, "texture")                  \
    KIND(PHYSICAL, "physical memory") KIND(MAP, "mapping") KIND(EXPORT, "export")                  \
    KIND(IMPORT, "import") KIND(IPC, "IPC handle") KIND(IPC_OPEN, "IPC open")                      \
    KIND(REGISTER, "host registration") KIND(PINNED, "pinned memory") KIND(STREAM, "stream")       \
    KIND(EVENT, "event")

enum Kind {
#define KIND(id, name) id,
    KINDS(KIND)
#undef KIND
        KIND_COUNT
};

inline const char *name_of(int kind) {
    static const char *const names[] = {
#define KIND(id, name) name,
        KINDS(KIND)
#undef KIND
    };
    return names[kind];
}

// Returns whether a result means that CUDA refuses all further calls in the context or in the
// process.
inline bool is_sticky(CUresult result) {
    switch ((int)result) {
    case 4:   // deinitialized
    case 46:  // device unavailable: the host has ended the session
    case 214: // uncorrectable ECC error
    case 700: // illegal address
    case 702: // launch timeout
    case 710: // assert
    case 714: // hardware stack error
    case 715: // illegal instruction
    case 716: // misaligned address
    case 717: // invalid address space
    case 718: // invalid program counter
    case 719: // launch failed
        return true;
    default:
        return false;
    }
}

struct Report {
    static constexpr int CODES = 1024, SHARED_HANDLES = 8;
    struct Count {
        std::atomic<long long> tried, accepted, restarts, refused[CODES];
    };
    Count counts[KIND_COUNT];
    std::atomic<long long> total, calls;
    // Set when a phase of the attack has ended.
    std::atomic<bool> over;
    std::atomic<uint64_t> salt;
    // The number of processes that take part in this phase.
    std::atomic<int> processes;
    // IPC handles that other processes may open. A handle may be outdated or only partly written,
    // so a process that opens it must expect an error.
    CUipcMemHandle handles[SHARED_HANDLES];
    std::atomic<int> owners[SHARED_HANDLES];

    static Report &shared() {
        void *memory = mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        REQUIRE(memory != MAP_FAILED, "no memory");
        // The new pages contain zeros, which are valid counters with the value 0.
        return *static_cast<Report *>(memory);
    }

    // Returns whether the attack was meaningful for this kind, which requires that most of its
    // operations were accepted. Refusals for lack of memory count less, because they are the aim of
    // many operations.
    bool meaningful(int kind) const {
        const Count &count = counts[kind];
        const long long no_memory = count.refused[CUDA_ERROR_OUT_OF_MEMORY];
        return kind == ABSURD_LIMIT ? count.tried > 0
                                    : count.accepted > 0 && 2 * count.accepted >= count.tried - no_memory &&
                                          10 * count.accepted >= count.tried;
    }
};
