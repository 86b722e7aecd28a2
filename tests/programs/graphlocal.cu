// Has the driver allocate three quarters of the device's memory in each of three contexts, as the local
// memory of a kernel that runs only in a graph. Between instantiating and launching the graph, sets the
// stack limit, which frees the kernel's local memory. Prints one line with `granted` or `refused` for
// each context, and keeps the contexts until its standard input ends.
#include "check.h"

#include <cuda.h>
#include <dlfcn.h>

#include <string>

static void *symbol(const char *name) {
    static void *library = dlopen("libcuda.so.1", RTLD_NOW);
    REQUIRE(library != nullptr, "%s", dlerror());
    void *found = dlsym(library, name);
    REQUIRE(found != nullptr, "%s", dlerror());
    return found;
}

#define DRIVER(name) reinterpret_cast<decltype(&::name)>(symbol(STRING(name)))
#define STRING(name) STRING_OF(name)
#define STRING_OF(name) #name

// Returns PTX whose kernel needs `bytes` of local memory. The index isn't known when it is compiled.
static std::string ptx(size_t bytes) {
    return ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 a) {\n"
           ".local .align 4 .b8 l[" + std::to_string(bytes) + "];\n" + R"(
.reg .b64 %d<5>;
.reg .b32 %r<3>;
ld.param.u64 %d1, [a];
cvta.to.global.u64 %d1, %d1;
ld.global.u32 %r1, [%d1];
and.b32 %r1, %r1, 255;
mul.wide.u32 %d2, %r1, 4;
mov.u64 %d3, l;
add.s64 %d4, %d3, %d2;
st.local.u32 [%d4], %r1;
ld.local.u32 %r2, [%d3+400];
st.global.u32 [%d1+4], %r2;
ret; })";
}

// Returns the first error.
static CUresult run(const std::string &text) {
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUstream stream;
    CUdeviceptr words;
    CUgraph graph;
    CUgraphExec exec;
    void *parameters[] = {&words};
#define TRY(call)                                                                                  \
    if (const CUresult result = (call)) {                                                          \
        return result;                                                                             \
    }
    TRY(DRIVER(cuCtxCreate)(&context, nullptr, 0, 0));
    TRY(DRIVER(cuModuleLoadData)(&module, text.c_str()));
    TRY(DRIVER(cuModuleGetFunction)(&function, module, "k"));
    TRY(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
    TRY(DRIVER(cuMemAlloc)(&words, 8));
    TRY(DRIVER(cuMemsetD8)(words, 0, 8));
    TRY(DRIVER(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    TRY(DRIVER(cuLaunchKernel)(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
    TRY(DRIVER(cuStreamEndCapture)(stream, &graph));
    TRY(DRIVER(cuGraphInstantiateWithFlags)(&exec, graph, 0));
    TRY(DRIVER(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, 1040));
    TRY(DRIVER(cuGraphLaunch)(exec, stream));
    return DRIVER(cuCtxSynchronize)();
}

int main() {
    size_t free, total;
    int processors, threads;
    CHECK(cudaMemGetInfo(&free, &total));
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, 0));
    const size_t each = total / 4 * 3 / processors / threads;
    const std::string text = ptx(each / 64 * 64);
    for (int i = 0; i < 3; i++) {
        const CUresult result = run(text);
        REQUIRE(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY, "result %d", result);
        std::printf("%s%s", i ? " " : "", result == CUDA_SUCCESS ? "granted" : "refused");
    }
    std::printf("\n");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    std::printf("graphlocal: PASS\n");
}
