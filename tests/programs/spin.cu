// Keeps a device busy until the program is killed, for tests of the cleanup afterwards.
//
//   spin [hold=MIB] loop [SECONDS]   launches short kernels, forever or for some seconds
//   spin [hold=MIB] loop input       the same until end of file on standard input
//   spin [hold=MIB] forever          launches one kernel that never ends
//   spin [hold=MIB] late             the same behind a host function, which waits for end of file on
//                                    standard input
//   spin hold=MIB idle [SECONDS]     holds memory and does nothing
//
// With fill=MIB instead of hold=MIB, it writes to all of the memory.
//
// Prints "spin: ready" when it has started.
#include "check.h"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <string>

__global__ void step(unsigned *counter, unsigned rounds) {
    for (unsigned i = 0; i < rounds; ++i) {
        atomicAdd(counter, 1u);
    }
}

__global__ void never_end(volatile unsigned *word) {
    // No thread ever writes this word, but the compiler can't know that, so it can't remove the
    // loop, and the kernel never ends.
    while (*word != 0xffffffffu) {
    }
}

static int usage() {
    std::fprintf(stderr, "usage: spin [hold=MIB | fill=MIB] loop [SECONDS | input] | forever | late | idle [SECONDS]\n");
    return 2;
}

static void say_ready() {
    std::printf("spin: ready\n");
    std::fflush(stdout);
}

static void read_input(void *) {
    char byte;
    while (read(0, &byte, 1) > 0) {
    }
}

int main(int argc, char **argv) {
    int next = 1;
    size_t hold = 0;
    const bool fill = next < argc && std::strncmp(argv[next], "fill=", 5) == 0;
    if (fill || (next < argc && std::strncmp(argv[next], "hold=", 5) == 0)) {
        hold = std::strtoull(argv[next++] + 5, nullptr, 10) << 20;
    }
    if (next >= argc || argc > next + 2) {
        return usage();
    }
    const std::string mode = argv[next];
    const bool by_input = next + 1 < argc && std::strcmp(argv[next + 1], "input") == 0;
    const double seconds = next + 1 < argc && !by_input ? std::atof(argv[next + 1]) : 1e9;
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    const auto time_left = [&] {
        pollfd input = {STDIN_FILENO, POLLIN, 0};
        return by_input ? poll(&input, 1, 0) == 0 : std::chrono::steady_clock::now() < end;
    };

    unsigned *counter;
    void *held = nullptr;
    CHECK(cudaMalloc(&counter, sizeof *counter));
    CHECK(cudaMemset(counter, 0, sizeof *counter));
    if (hold != 0) {
        CHECK(cudaMalloc(&held, hold));
        // Write to both ends, so that the memory can't be allocated lazily.
        CHECK(cudaMemset(held, 1, 1));
        CHECK(cudaMemset(static_cast<char *>(held) + hold - 1, 1, 1));
        if (fill) {
            CHECK(cudaMemset(held, 1, hold));
        }
    }
    if (mode == "loop") {
        unsigned launches = 0, counted;
        const unsigned blocks = 4, threads = 32, rounds = 10;
        do {
            for (int i = 0; i < 16; ++i, ++launches) {
                step<<<blocks, threads>>>(counter, rounds);
                CHECK(cudaGetLastError());
            }
            CHECK(cudaMemcpy(&counted, counter, sizeof counted, cudaMemcpyDeviceToHost));
            REQUIRE(counted == launches * blocks * threads * rounds, "%u after %u launches",
                    counted, launches);
            if (launches == 16) {
                say_ready();
            }
        } while (time_left());
    } else if (mode == "forever" || mode == "late") {
        if (mode == "late") {
            CHECK(cudaLaunchHostFunc(nullptr, read_input, nullptr));
        }
        never_end<<<1, 1>>>(counter);
        CHECK(cudaGetLastError());
        // The kernel must still be running when the host queries it, which means that it hasn't
        // failed.
        EXPECT_ERROR(cudaStreamQuery(nullptr), cudaErrorNotReady);
        say_ready();
        CHECK(cudaDeviceSynchronize());
        REQUIRE(false, "the endless kernel has ended");
    } else if (mode == "idle") {
        CHECK(cudaDeviceSynchronize());
        say_ready();
        while (time_left()) {
            usleep(20000);
        }
    } else {
        return usage();
    }
    CHECK(cudaFree(held));
    CHECK(cudaFree(counter));
    return pass("spin");
}
