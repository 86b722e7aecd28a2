// A kernel in one process must not be able to read another process's pinned memory.
//
//   pinnedpeek              a child holds a secret, and this process tries to read it
//   pinnedpeek hold         pins memory that contains a secret, prints its address, and waits for
//                           the end of standard input
//   pinnedpeek read ADDR    a kernel reads the word at ADDR; prints the value, or the error's name
//
// `read` exits with status 0 in both cases, because only the caller knows which is correct.
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <string>

constexpr unsigned long long SECRET = 0x5ec2e7a5c0ffee11;

__global__ void peek(const volatile unsigned long long *address, unsigned long long *value) {
    *value = *address;
}

// Prints the value that a kernel reads at the address, or the error that it causes.
static cudaError_t read_word(unsigned long long address, unsigned long long *value) {
    unsigned long long *result;
    CHECK(cudaMalloc(&result, sizeof *result));
    CHECK(cudaMemset(result, 0, sizeof *result));
    peek<<<1, 1>>>(reinterpret_cast<const volatile unsigned long long *>(address), result);
    CHECK(cudaGetLastError());
    return cudaMemcpy(value, result, sizeof *value, cudaMemcpyDeviceToHost);
}

static int hold() {
    const size_t bytes = 1 << 20;
    unsigned long long *pinned, *on_device, seen;
    CHECK(cudaHostAlloc(&pinned, bytes, cudaHostAllocMapped));
    for (size_t i = 0; i < bytes / sizeof *pinned; ++i) {
        pinned[i] = SECRET;
    }
    CHECK(cudaHostGetDevicePointer(&on_device, pinned, 0));
    // Kernels in the owning process can read the memory at this address, so others may try it.
    CHECK(read_word(reinterpret_cast<unsigned long long>(on_device), &seen));
    REQUIRE(seen == SECRET, "its owner's kernel reads %llx", seen);
    std::printf("0x%llx\n", reinterpret_cast<unsigned long long>(on_device));
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    CHECK(cudaFreeHost(pinned));
    return 0;
}

static int read_and_tell(unsigned long long address) {
    unsigned long long value;
    const cudaError_t result = read_word(address, &value);
    if (result == cudaSuccess) {
        std::printf("pinnedpeek: value 0x%llx\n", value);
    } else {
        std::printf("pinnedpeek: error %s\n", cudaGetErrorName(result));
    }
    return 0;
}

static int try_a_childs_secret() {
    int in[2], out[2];
    REQUIRE(pipe(in) == 0 && pipe(out) == 0, "pipe");
    const pid_t child = fork();
    REQUIRE(child >= 0, "fork");
    if (child == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        for (int end : {in[0], in[1], out[0], out[1]}) {
            close(end);
        }
        execl("/proc/self/exe", "pinnedpeek", "hold", nullptr);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    FILE *answer = fdopen(out[0], "r");
    unsigned long long address = 0, value = 0;
    REQUIRE(answer != nullptr && std::fscanf(answer, "%llx", &address) == 1,
            "the child pinned nothing");
    const cudaError_t result = read_word(address, &value);
    close(in[1]);
    int status;
    REQUIRE(waitpid(child, &status, 0) == child && status == 0,
            "the child ended with wait status %d", status);
    // If this process has its own memory at that address, the kernel may read that memory.
    std::fprintf(stderr, "reading 0x%llx: %s, 0x%llx\n", address, cudaGetErrorName(result), value);
    if (result != cudaSuccess) {
        check_error(result, cudaErrorIllegalAddress, "reading the secret", __FILE__, __LINE__);
    }
    REQUIRE(value != SECRET, "a kernel has read another process's pinned memory");
    std::printf("pinnedpeek: another process cannot read the secret\n");
    return pass("pinnedpeek");
}

int main(int argc, char **argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    if (argc == 1) {
        return try_a_childs_secret();
    }
    if (argc == 2 && mode == "hold") {
        return hold();
    }
    if (argc == 3 && mode == "read") {
        return read_and_tell(std::strtoull(argv[2], nullptr, 16));
    }
    std::fprintf(stderr, "usage: pinnedpeek [hold | read ADDR]\n");
    return 2;
}
