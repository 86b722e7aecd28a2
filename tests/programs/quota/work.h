// A kernel with a fixed amount of work, and calibration of the work per microsecond.
#pragma once

#include "load.h"

// Executes a chain of dependent operations. The amount of work depends only on `iterations` and not
// on a clock, so it is the same even if the driver interrupts the kernel to run another process.
__device__ inline void work(unsigned iterations, unsigned *sink) {
    unsigned x = threadIdx.x + blockIdx.x;
#pragma unroll 1
    for (unsigned i = 0; i < iterations; ++i) {
        x = x * 1664525u + 1013904223u;
        x ^= x >> 7;
    }
    if (x == 0x5eed5eedu) {
        *sink = x;
    }
}

static __global__ void fixed_work(unsigned iterations, unsigned *sink) { work(iterations, sink); }

// A kernel that sleeps for this time instead of computing.
static __global__ void sleep_for(unsigned nanoseconds) {
    for (unsigned left = nanoseconds; left > 0;) {
        const unsigned part = left < 1000000 ? left : 1000000;
        __nanosleep(part);
        left -= part;
    }
}

struct Shape {
    unsigned blocks, threads;
};

// Returns the requested shape. If the options don't specify the number of blocks, uses as many as
// fill the GPU.
inline Shape shape_of(Options &options) {
    Shape shape = {static_cast<unsigned>(options.number("blocks", 0)),
                   static_cast<unsigned>(options.number("threads", 1024))};
    if (shape.blocks == 0) {
        int device, count, resident;
        CHECK(cudaGetDevice(&device));
        CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device));
        CHECK(cudaDeviceGetAttribute(&resident, cudaDevAttrMaxThreadsPerMultiProcessor, device));
        shape.blocks = count * std::max(1u, resident / shape.threads);
    }
    return shape;
}

// Returns the number of iterations of `fixed_work` per microsecond for this shape. Uses the fastest
// of several runs, because other load can only make a run slower. Measured on an idle GPU and
// passed as --rate to all processes, the result makes their kernels equally long.
inline double calibrate(Shape shape, unsigned *sink) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    unsigned iterations = 64;
    double best = 0;
    // Increase the iterations until a kernel takes 2 ms, which also raises the GPU's clock speed.
    for (int measured = 0; measured < 40;) {
        float ms;
        CHECK(cudaEventRecord(begin));
        fixed_work<<<shape.blocks, shape.threads>>>(iterations, sink);
        CHECK(cudaGetLastError());
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        if (ms < 2 && iterations < 1u << 30) {
            iterations *= 2;
            continue;
        }
        best = std::max(best, iterations / (ms * 1000.0));
        ++measured;
    }
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    return best;
}

inline unsigned iterations_for(double us, double rate) {
    return static_cast<unsigned>(std::max(1.0, us * rate));
}
