// A fake libnvidia-ml.so.1 for the host, which vcudad loads instead of NVIDIA's. It reports what a
// test specifies.
//
// STAND_IN_NVML names a file, which every call reads again. The file has these lines:
//   gpu UUID BYTES           a GPU; GPUs are numbered from 0
//   process GPU PID BYTES    a process with a context on the GPU, and its memory, until it exits
//   left GPU PID BYTES       the same, but also after it has exited
//   softgpu PATH             the processes and their memory in a SOFTGPU_MEMORY_FILE
//   freed PID                no memory of that process is left
//   hidden GPU BYTES         memory that no process is reported for; the last such line counts
//   busy GPU PID PERCENT     how much of the GPU's time a process uses
//   link GPU GENERATION LANES MAX_GENERATION MAX_LANES
//                            the GPU's current PCIe link, and its fastest one
//   xid GPU NUMBER           an Xid event; events are reported once, in the order of the file
//   ecc GPU                  an uncorrectable memory error, also an event
//   lost GPU                 the GPU no longer responds
// A test may only replace the file as a whole, and new events must come after the old ones.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum {
    SUCCESS = 0,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    TIMEOUT = 10,
    GPU_IS_LOST = 15,
};
enum { EVENT_DOUBLE_BIT_ECC = 2, EVENT_XID = 8 };
enum { MAX_GPUS = 16, MAX_PROCESSES = 64, UUID_SIZE = 96 };

// Structures that NVML defines.
struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
struct utilization {
    unsigned pid;
    unsigned long long at_us;
    unsigned sm, memory, encoder, decoder;
};
struct event {
    void *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

struct gpu {
    char uuid[UUID_SIZE];
    unsigned long long bytes, hidden;
    int lost;
    // Generation and lanes of the current PCIe link, and then those of the fastest possible link. 0
    // if unknown.
    unsigned link[4];
    unsigned count;
    struct process processes[MAX_PROCESSES];
    unsigned busy_count;
    struct utilization busy[MAX_PROCESSES];
};
struct state {
    unsigned count, events;
    struct gpu gpus[MAX_GPUS];
    // The event with the requested number, if it exists.
    struct event event;
};

// Device handles are the GPU's index plus 1, so that they aren't null.
static void *handle(unsigned gpu) { return (void *)(size_t)(gpu + 1); }

static int is_process(unsigned pid) { return kill((pid_t)pid, 0) == 0 || errno != ESRCH; }

static void forget(struct gpu *gpu, unsigned pid) {
    unsigned kept = 0;
    for (unsigned i = 0; i < gpu->count; ++i) {
        if (gpu->processes[i].pid != pid) {
            gpu->processes[kept++] = gpu->processes[i];
        }
    }
    gpu->count = kept;
}

// Adds the processes in a softgpu memory file (softgpu/src/state/device_memory.rs).
static void add_softgpu(struct state *state, const char *path) {
    enum { SLOTS = 1024, DEVICES = 16 };
    static unsigned long long slots[SLOTS][DEVICES];
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || pread(file, slots, sizeof slots, 0) != (ssize_t)sizeof slots) {
        close(file);
        return;
    }
    for (int slot = 0; slot < SLOTS; ++slot) {
        // The process that holds the lock on this byte has the slot.
        struct flock owner = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = slot, .l_len = 1};
        for (unsigned gpu = 0; gpu < state->count && gpu < DEVICES; ++gpu) {
            struct gpu *of = &state->gpus[gpu];
            if (slots[slot][gpu] > 0 && of->count < MAX_PROCESSES &&
                fcntl(file, F_GETLK, &owner) == 0 && owner.l_type != F_UNLCK) {
                const unsigned pid = (unsigned)owner.l_pid;
                of->processes[of->count++] = (struct process){pid, slots[slot][gpu], ~0u, ~0u};
                owner.l_type = F_WRLCK;
            }
        }
    }
    close(file);
}

// Reads the file into `state`, including event number `wanted`.
static void load(struct state *state, unsigned wanted) {
    memset(state, 0, sizeof *state);
    const char *path = getenv("STAND_IN_NVML");
    FILE *file = path ? fopen(path, "re") : NULL;
    if (!file) {
        return;
    }
    char line[256], uuid[UUID_SIZE], name[200];
    while (fgets(line, sizeof line, file)) {
        unsigned gpu, pid, link[4];
        unsigned long long number = 0;
        if (sscanf(line, "gpu %95s %llu", uuid, &number) == 2 && state->count < MAX_GPUS) {
            struct gpu *added = &state->gpus[state->count++];
            strcpy(added->uuid, uuid);
            added->bytes = number;
        } else if (((sscanf(line, "process %u %u %llu", &gpu, &pid, &number) == 3 && is_process(pid)) ||
                    sscanf(line, "left %u %u %llu", &gpu, &pid, &number) == 3) &&
                   gpu < MAX_GPUS && state->gpus[gpu].count < MAX_PROCESSES) {
            struct gpu *of = &state->gpus[gpu];
            of->processes[of->count++] = (struct process){pid, number, ~0u, ~0u};
        } else if (sscanf(line, "softgpu %199s", name) == 1) {
            add_softgpu(state, name);
        } else if (sscanf(line, "freed %u", &pid) == 1) {
            for (gpu = 0; gpu < MAX_GPUS; ++gpu) {
                forget(&state->gpus[gpu], pid);
            }
        } else if (sscanf(line, "hidden %u %llu", &gpu, &number) == 2 && gpu < MAX_GPUS) {
            state->gpus[gpu].hidden = number;
        } else if (sscanf(line, "busy %u %u %llu", &gpu, &pid, &number) == 3 && gpu < MAX_GPUS &&
                   state->gpus[gpu].busy_count < MAX_PROCESSES) {
            struct gpu *of = &state->gpus[gpu];
            of->busy[of->busy_count++] = (struct utilization){.pid = pid, .sm = number};
        } else if (sscanf(line, "link %u %u %u %u %u", &gpu, &link[0], &link[1], &link[2],
                          &link[3]) == 5 &&
                   gpu < MAX_GPUS) {
            memcpy(state->gpus[gpu].link, link, sizeof link);
        } else if (sscanf(line, "lost %u", &gpu) == 1 && gpu < MAX_GPUS) {
            state->gpus[gpu].lost = 1;
        } else if (sscanf(line, "xid %u %llu", &gpu, &number) == 2 ||
                   sscanf(line, "ecc %u", &gpu) == 1) {
            if (state->events++ == wanted) {
                const int type = line[0] == 'x' ? EVENT_XID : EVENT_DOUBLE_BIT_ECC;
                state->event = (struct event){handle(gpu), type, number, ~0u, ~0u};
            }
        }
    }
    fclose(file);
}

// Reads the file, and finds the GPU with a handle in it.
static int find(struct state *state, void *device, struct gpu **gpu) {
    load(state, ~0u);
    const size_t number = (size_t)device;
    if (number == 0 || number > state->count) {
        return INVALID_ARGUMENT;
    }
    *gpu = &state->gpus[number - 1];
    return (*gpu)->lost ? GPU_IS_LOST : SUCCESS;
}

int nvmlInit_v2(void) { return SUCCESS; }

int nvmlShutdown(void) { return SUCCESS; }

const char *nvmlErrorString(int result) {
    return result == GPU_IS_LOST ? "GPU is lost" : "an error in the fake NVML";
}

int nvmlDeviceGetCount_v2(unsigned *count) {
    struct state state;
    load(&state, ~0u);
    *count = state.count;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
    struct state state;
    struct gpu *gpu;
    *device = handle(index);
    return find(&state, *device, &gpu);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device) {
    struct state state;
    load(&state, ~0u);
    for (unsigned i = 0; i < state.count; ++i) {
        if (strcasecmp(state.gpus[i].uuid, uuid) == 0) {
            *device = handle(i);
            return state.gpus[i].lost ? GPU_IS_LOST : SUCCESS;
        }
    }
    return NOT_FOUND;
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned length) {
    struct state state;
    struct gpu *gpu;
    const int result = find(&state, device, &gpu);
    if (result == SUCCESS) {
        snprintf(uuid, length, "%s", gpu->uuid);
    }
    return result;
}

int nvmlDeviceGetMemoryInfo_v2(void *device, struct memory_v2 *memory) {
    struct state state;
    struct gpu *gpu;
    const int result = find(&state, device, &gpu);
    if (result == SUCCESS) {
        memory->total = gpu->bytes;
        memory->reserved = 0;
        memory->used = gpu->hidden;
        for (unsigned i = 0; i < gpu->count; ++i) {
            memory->used += gpu->processes[i].used;
        }
        memory->free = memory->total - memory->used;
    }
    return result;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count,
                                            struct process *processes) {
    struct state state;
    struct gpu *gpu;
    const int result = find(&state, device, &gpu);
    if (result != SUCCESS) {
        return result;
    }
    const unsigned room = *count;
    *count = gpu->count;
    if (gpu->count > room) {
        return INSUFFICIENT_SIZE;
    }
    if (gpu->count > 0) {
        memcpy(processes, gpu->processes, gpu->count * sizeof *processes);
    }
    return SUCCESS;
}

// Returns an empty list, because no process uses graphics.
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *count,
                                             struct process *processes) {
    struct state state;
    struct gpu *gpu;
    (void)processes;
    *count = 0;
    return find(&state, device, &gpu);
}

int nvmlDeviceGetProcessUtilization(void *device, struct utilization *utilizations,
                                    unsigned *count, unsigned long long since_us) {
    struct state state;
    struct gpu *gpu;
    (void)since_us;
    const int result = find(&state, device, &gpu);
    if (result != SUCCESS) {
        return result;
    }
    const unsigned room = utilizations ? *count : 0;
    *count = gpu->busy_count;
    if (gpu->busy_count == 0) {
        return NOT_FOUND;
    }
    if (gpu->busy_count > room) {
        return INSUFFICIENT_SIZE;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (unsigned i = 0; i < gpu->busy_count; ++i) {
        utilizations[i] = gpu->busy[i];
        utilizations[i].at_us = now.tv_sec * 1000000ull + now.tv_nsec / 1000;
    }
    return SUCCESS;
}

static int link_value(void *device, int index, unsigned *value) {
    struct state state;
    struct gpu *gpu;
    const int result = find(&state, device, &gpu);
    if (result == SUCCESS) {
        *value = gpu->link[index];
    }
    return result == SUCCESS && *value == 0 ? NOT_SUPPORTED : result;
}

int nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *generation) {
    return link_value(device, 0, generation);
}

int nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *lanes) {
    return link_value(device, 1, lanes);
}

int nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *generation) {
    return link_value(device, 2, generation);
}

int nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *lanes) {
    return link_value(device, 3, lanes);
}

int nvmlDeviceGetSupportedEventTypes(void *device, unsigned long long *types) {
    (void)device;
    *types = EVENT_DOUBLE_BIT_ECC | EVENT_XID;
    return SUCCESS;
}

// An event set is a bit mask of GPUs. Each event is reported once, by the first wait on a set that
// contains its GPU.
int nvmlEventSetCreate(void **set) {
    *set = calloc(1, sizeof(unsigned));
    return SUCCESS;
}

int nvmlEventSetFree(void *set) {
    free(set);
    return SUCCESS;
}

int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set) {
    struct state state;
    struct gpu *gpu;
    (void)types;
    const int result = find(&state, device, &gpu);
    if (result == SUCCESS) {
        *(unsigned *)set |= 1u << ((size_t)device - 1);
    }
    return result;
}

int nvmlEventSetWait_v2(void *set, struct event *event, unsigned timeout_ms) {
    static unsigned told;
    const unsigned gpus = *(unsigned *)set;
    for (unsigned waited = 0;; waited += 10) {
        struct state state;
        load(&state, told);
        if (state.events > told) {
            ++told;
            *event = state.event;
            return SUCCESS;
        }
        for (unsigned i = 0; i < state.count; ++i) {
            if (state.gpus[i].lost && gpus >> i & 1) {
                return GPU_IS_LOST;
            }
        }
        if (waited >= timeout_ms) {
            return TIMEOUT;
        }
        usleep(10000);
    }
}
