// Device printf. The output is captured, compared with the output of the host's printf, and printed
// in sorted order, because the order of threads isn't defined.
#include "check.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#define FORMATS                                                                                    \
    LINE("integers %d %i %5d|%-5d|%05d|%+d\n", -42, 42, 42, 42, 42, 42)                            \
    LINE("unsigned %u %x %X %#x %o\n", 4000000000u, 0xbeefu, 0xbeefu, 0xbeefu, 8u)                 \
    LINE("64 bits %lld %llu %llx\n", -9000000000000LL, 18000000000000000000ULL, 1ULL << 40)        \
    LINE("floats %f %.3f %8.2f|%-8.2f|%e %g\n", 1.5f, 3.14159265, 2.5, 2.5, 12345.678, 1e-5)       \
    LINE("text %s %c %10s|%-10s| 100%%\n", "word", 'x', "right", "left")                           \
    LINE("no arguments\n")

__global__ void all_formats(){
#define LINE(...) printf(__VA_ARGS__);
    FORMATS
#undef LINE
}

__global__ void from_every_thread() {
    if (threadIdx.x % 2 == 1) {
        printf("thread %u of block %u: %d\n", threadIdx.x, blockIdx.x,
               static_cast<int>(blockIdx.x * 100 + threadIdx.x));
    }
}

static std::string host_formats() {
    std::string all;
    char line[256];
#define LINE(...)                                                                                  \
    std::snprintf(line, sizeof line, __VA_ARGS__);                                                 \
    all += line;
    FORMATS
#undef LINE
    return all;
}

// Redirects standard output to a file while kernels print, so that it can be read back.
class Capture {
  public:
    Capture() : file_(fdopen(memfd_create("printf", 0), "r+")), kept_(dup(STDOUT_FILENO)) {
        REQUIRE(file_ != nullptr && kept_ >= 0, "cannot create a file in memory for the output");
        std::fflush(stdout);
        dup2(fileno(file_), STDOUT_FILENO);
    }

    // Returns the output so far and restores standard output.
    std::string finish() {
        std::fflush(stdout);
        dup2(kept_, STDOUT_FILENO);
        close(kept_);
        std::string text;
        char part[4096];
        std::rewind(file_);
        for (size_t got; (got = std::fread(part, 1, sizeof part, file_)) > 0;) {
            text.append(part, got);
        }
        std::fclose(file_);
        return text;
    }

  private:
    FILE *file_;
    int kept_;
};

int main() {
    Capture formats;
    all_formats<<<1, 1>>>();
    cudaError_t result = cudaDeviceSynchronize();
    std::string text = formats.finish();
    CHECK(result);
    REQUIRE(text == host_formats(), "the device printed\n%s\nnot\n%s", text.c_str(),
            host_formats().c_str());
    std::fputs(text.c_str(), stdout);

    Capture threads;
    from_every_thread<<<3, 40>>>();
    result = cudaDeviceSynchronize();
    text = threads.finish();
    CHECK(result);
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        lines.push_back(line);
    }
    std::sort(lines.begin(), lines.end());
    std::vector<std::string> expected;
    for (int block = 0; block < 3; ++block) {
        for (int thread = 1; thread < 40; thread += 2) {
            char line[64];
            std::snprintf(line, sizeof line, "thread %d of block %d: %d", thread, block,
                          block * 100 + thread);
            expected.push_back(line);
        }
    }
    std::sort(expected.begin(), expected.end());
    REQUIRE(lines == expected, "%zu lines, not %zu, or others:\n%s", lines.size(), expected.size(),
            text.c_str());
    for (const std::string &line : lines) {
        std::puts(line.c_str());
    }
    return pass("printf");
}
