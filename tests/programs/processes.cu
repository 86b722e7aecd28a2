// Several processes that use CUDA at the same time, and a forked child, which must get an error
// because CUDA's state doesn't survive a fork.
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

constexpr int CHILDREN = 3, N = 5000, ROUNDS = 8;

// Time limit for a child, far more than it needs unless it's stuck.
constexpr unsigned SECONDS = 120;

__global__ void advance(uint32_t *data, int n, uint32_t salt) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        data[i] = (data[i] ^ salt) * 2654435761u + i;
    }
}

static void work(uint32_t salt) {
    std::vector<uint32_t> expected(N, salt), result(N);
    uint32_t *data;
    CHECK(cudaMalloc(&data, N * sizeof(uint32_t)));
    CHECK(cudaMemcpy(data, expected.data(), N * sizeof(uint32_t), cudaMemcpyHostToDevice));
    for (int round = 0; round < ROUNDS; ++round) {
        advance<<<blocks_for(N, 128), 128>>>(data, N, salt + round);
        CHECK(cudaGetLastError());
        for (int i = 0; i < N; ++i) {
            expected[i] = (expected[i] ^ (salt + round)) * 2654435761u + i;
        }
    }
    CHECK(cudaMemcpy(result.data(), data, N * sizeof(uint32_t), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(data));
    REQUIRE(result == expected, "wrong results with salt %u", salt);
}

static void wait_for(pid_t child, const char *what) {
    int status;
    REQUIRE(waitpid(child, &status, 0) == child, "%s", what);
    REQUIRE(!WIFSIGNALED(status), "%s ended by signal %d", what, WTERMSIG(status));
    REQUIRE(WEXITSTATUS(status) == 0, "%s exited with status %d", what, WEXITSTATUS(status));
}

static void run_children(char *self) {
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; ++i) {
        std::string salt = std::to_string(i * 1000 + 17);
        children[i] = fork();
        REQUIRE(children[i] >= 0, "fork");
        if (children[i] == 0) {
            char command[] = "child";
            char *arguments[] = {self, command, salt.data(), nullptr};
            execv("/proc/self/exe", arguments);
            _exit(127);
        }
    }
    // This process uses CUDA at the same time.
    work(5);
    for (pid_t child : children) {
        wait_for(child, "a child");
    }
    std::printf("processes: %d children and their parent\n", CHILDREN);
}

// After the parent has used CUDA, a forked child can't use it without exec.
static void fork_without_exec() {
    const pid_t child = fork();
    REQUIRE(child >= 0, "fork");
    if (child == 0) {
        alarm(SECONDS);
        void *memory;
        const cudaError_t result = cudaMalloc(&memory, 100);
        if (result != cudaErrorInitializationError) {
            std::fprintf(stderr, "cudaMalloc in a forked child: %s\n", cudaGetErrorName(result));
        }
        _exit(result == cudaErrorInitializationError ? 0 : 1);
    }
    wait_for(child, "a forked child");
    std::printf("processes: a forked child gets cudaErrorInitializationError\n");
    // The child must not have affected the parent.
    work(6);
    std::printf("processes: the parent continues\n");
}

int main(int argc, char **argv) {
    if (argc == 3) {
        alarm(SECONDS);
        work(static_cast<uint32_t>(std::atoi(argv[2])));
        return 0;
    }
    // Create children before and after the parent first uses CUDA.
    run_children(argv[0]);
    run_children(argv[0]);
    fork_without_exec();
    return pass("processes");
}
