// New device memory must not contain another process's data.
//
//   leak               a child fills memory and exits, then this process searches for its data
//   leak fill [MIB]    fills memory with the pattern and exits without freeing it
//   leak look [MIB]    allocates memory, and fails if it contains the pattern
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

constexpr size_t MIB = 1 << 20, CHUNK = 16 * MIB, DEFAULT_MIB = 64;
constexpr int PATTERN_BYTE = 0xc3;
constexpr uint32_t PATTERN_WORD = 0xc3c3c3c3;

static void fill(size_t bytes) {
    void *memory;
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cudaMemset(memory, PATTERN_BYTE, bytes));
    CHECK(cudaDeviceSynchronize());
    // Exits with the memory still allocated, as a killed process would.
    _exit(0);
}

static int look(size_t bytes) {
    char *memory;
    CHECK(cudaMalloc(&memory, bytes));
    std::vector<uint32_t> words(CHUNK / sizeof(uint32_t));
    size_t nonzero = 0, pattern = 0;
    for (size_t at = 0; at < bytes; at += CHUNK) {
        const size_t part = std::min(CHUNK, bytes - at);
        CHECK(cudaMemcpy(words.data(), memory + at, part, cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < part / sizeof(uint32_t); ++i) {
            nonzero += words[i] != 0;
            pattern += words[i] == PATTERN_WORD;
        }
    }
    CHECK(cudaFree(memory));
    std::fprintf(stderr, "%zu MiB: %zu words are not zero\n", bytes / MIB, nonzero);
    REQUIRE(pattern == 0, "found %zu words from another process in %zu MiB of new memory", pattern,
            bytes / MIB);
    std::printf("leak: %zu MiB of new memory contain no data from another process\n", bytes / MIB);
    return pass("leak");
}

// Runs `leak fill` in a child process and waits until the child exits. The driver then frees the
// child's memory, so it can give the same physical memory to this process, which has never written
// to it.
static void fill_in_child() {
    const pid_t child = fork();
    REQUIRE(child >= 0, "fork");
    if (child == 0) {
        execl("/proc/self/exe", "leak", "fill", nullptr);
        _exit(127);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0,
            "the child that fills memory ended with wait status %d", status);
}

int main(int argc, char **argv) {
    if (argc == 1) {
        fill_in_child();
        return look(DEFAULT_MIB * MIB);
    }
    const size_t mib = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : DEFAULT_MIB;
    const std::string mode = argv[1];
    if (argc <= 3 && mib > 0 && mode == "fill") {
        fill(mib * MIB);
    } else if (argc <= 3 && mib > 0 && mode == "look") {
        return look(mib * MIB);
    }
    std::fprintf(stderr, "usage: leak [fill|look [MIB]]\n");
    return 2;
}
