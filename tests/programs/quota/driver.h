// The parts of the driver API that load generators use. They are looked up by name, so that the
// programs need no libcuda.so.1 to link.
#pragma once

#include "load.h"

template <typename Function> Function driver_function(const char *name) {
    void *found = nullptr;
    cudaDriverEntryPointQueryResult result;
    CHECK(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
    REQUIRE(result == cudaDriverEntryPointSuccess, "the driver has no %s", name);
    return reinterpret_cast<Function>(found);
}

struct Driver {
    int (*load)(void **, const void *) = driver_function<decltype(load)>("cuModuleLoadData");
    int (*unload)(void *) = driver_function<decltype(unload)>("cuModuleUnload");
    int (*function)(void **, void *, const char *) =
        driver_function<decltype(function)>("cuModuleGetFunction");
    int (*link)(unsigned, int *, void **, void **) = driver_function<decltype(link)>("cuLinkCreate");
    int (*add)(void *, int, const void *, size_t, const char *, unsigned, int *, void **) =
        driver_function<decltype(add)>("cuLinkAddData");
    int (*complete)(void *, void **, size_t *) = driver_function<decltype(complete)>("cuLinkComplete");
    int (*end)(void *) = driver_function<decltype(end)>("cuLinkDestroy");
    int (*write)(void *, uint64_t, uint32_t, unsigned) =
        driver_function<decltype(write)>("cuStreamWriteValue32");
    int (*wait)(void *, uint64_t, uint32_t, unsigned) =
        driver_function<decltype(wait)>("cuStreamWaitValue32");
};
