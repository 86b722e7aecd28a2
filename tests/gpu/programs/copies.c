/* Measures the speed of pageable copies and of pinned host memory, with the CUDA driver API.
 *
 * gcc -O2 -Wall copies.c -o copies -l:libcuda.so.1
 * ./copies [--quick] [--reps N]
 *
 * Each line contains the name, the median, the best value, and the 90th percentile: in GB/s for
 * copies, and in microseconds for other calls. The program checks the copied bytes and each call's
 * result. A wrong byte or an error ends the program with status 1.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

typedef int CUresult;
typedef int CUdevice;
typedef void *CUcontext;
typedef unsigned long long CUdeviceptr;
CUresult cuInit(unsigned);
CUresult cuDeviceGet(CUdevice *, int);
CUresult cuDeviceGetName(char *, int, CUdevice);
CUresult cuDevicePrimaryCtxRetain(CUcontext *, CUdevice);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuCtxSynchronize(void);
CUresult cuMemAlloc_v2(CUdeviceptr *, size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemcpyHtoD_v2(CUdeviceptr, const void *, size_t);
CUresult cuMemcpyDtoH_v2(void *, CUdeviceptr, size_t);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr, const void *, size_t, void *);
CUresult cuMemcpyDtoHAsync_v2(void *, CUdeviceptr, size_t, void *);
CUresult cuMemsetD8_v2(CUdeviceptr, unsigned char, size_t);
CUresult cuMemHostAlloc(void **, size_t, unsigned);
CUresult cuMemFreeHost(void *);
CUresult cuMemHostRegister_v2(void *, size_t, unsigned);
CUresult cuMemHostUnregister(void *);

#define CHECK(call) do { CUresult r_ = (call); if (r_) { \
    fprintf(stderr, "%s:%d: %s -> %d\n", __FILE__, __LINE__, #call, r_); exit(1); } } while (0)

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_utime.tv_sec + u.ru_stime.tv_sec + (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static double cpu_at;

/* Prints one line: the results in GB/s if bytes > 0, otherwise in microseconds, and the CPU time of
 * this process. */
static void report(const char *name, double *seconds, int n, size_t bytes)
{
    double used = (cpu() - cpu_at) / n * 1e6;
    qsort(seconds, n, sizeof *seconds, by_value);
    double mid = seconds[n / 2], best = seconds[0], bad = seconds[n * 9 / 10];
    if (bytes)
        printf("%-34s %9.2f GB/s  best %9.2f  p90 %9.2f  cpu %9.0f us\n", name, bytes / mid / 1e9,
               bytes / best / 1e9, bytes / bad / 1e9, used);
    else
        printf("%-34s %9.0f us    best %9.0f  p90 %9.0f  cpu %9.0f us\n", name, mid * 1e6, best * 1e6,
               bad * 1e6, used);
    fflush(stdout);
}

static void *fresh(size_t len)
{
    void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return at;
}

static void fill(uint64_t *at, size_t len, uint64_t seed)
{
    for (size_t i = 0; i < len / 8; i++)
        at[i] = (i + seed) * 0x9e3779b97f4a7c15ull;
}

static void verify(const uint64_t *at, size_t len, uint64_t seed, const char *what)
{
    for (size_t i = 0; i < len / 8; i++)
        if (at[i] != (i + seed) * 0x9e3779b97f4a7c15ull) {
            fprintf(stderr, "%s: wrong byte at %zu\n", what, i * 8);
            exit(1);
        }
}

#define MIB ((size_t)1 << 20)
static double times[10000];

int main(int argc, char **argv)
{
    int quick = 0, reps = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--quick"))
            quick = 1;
        else if (!strcmp(argv[i], "--reps") && i + 1 < argc)
            reps = atoi(argv[++i]);
        else {
            fprintf(stderr, "usage: copies [--quick] [--reps N]\n");
            return 2;
        }
    }
    CUdevice device;
    CUcontext context;
    CUdeviceptr on_gpu;
    char name[128];
    const size_t largest = 256 * MIB;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDeviceGetName(name, sizeof name, device));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuMemAlloc_v2(&on_gpu, largest));
    printf("# %s\n", name);
    uint64_t *from = fresh(largest), *to = fresh(largest);
    fill(from, largest, 1);
    memset(to, 1, largest);

    static const size_t sizes[] = {64 << 10, 256 << 10, 512 << 10, 1 << 20, 4 << 20, 16 << 20,
                                   64 << 20, 256 << 20};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t len = sizes[s];
        int n = reps ? reps : len <= MIB ? 400 : len <= 16 * MIB ? 100 : 12;
        char label[64];
        if (quick)
            n = (n + 3) / 4;
        for (int i = 0; i < 3; i++)
            CHECK(cuMemcpyHtoD_v2(on_gpu, from, len));
        CHECK(cuCtxSynchronize());
        cpu_at = cpu();
        for (int i = 0; i < n; i++) {
            double start = now();
            CHECK(cuMemcpyHtoD_v2(on_gpu, from, len));
            times[i] = now() - start;
        }
        snprintf(label, sizeof label, "pageable HtoD %zu KiB", len >> 10);
        report(label, times, n, len);
        memset(to, 0, len);
        CHECK(cuMemcpyDtoH_v2(to, on_gpu, len));
        cpu_at = cpu();
        for (int i = 0; i < n; i++) {
            double start = now();
            CHECK(cuMemcpyDtoH_v2(to, on_gpu, len));
            times[i] = now() - start;
        }
        snprintf(label, sizeof label, "pageable DtoH %zu KiB", len >> 10);
        report(label, times, n, len);
        verify(to, len, 1, label);
        CHECK(cuMemsetD8_v2(on_gpu, 0, len));
    }
    /* Source and destination at odd addresses. */
    {
        size_t len = 16 * MIB - 4099;
        int n = quick ? 10 : 50;
        CHECK(cuMemsetD8_v2(on_gpu, 0, largest));
        for (int i = 0; i < n; i++) {
            double start = now();
            CHECK(cuMemcpyHtoD_v2(on_gpu + 3, (char *)from + 5, len));
            times[i] = now() - start;
        }
        report("pageable HtoD 16 MiB, odd", times, n, len);
        for (int i = 0; i < n; i++) {
            double start = now();
            CHECK(cuMemcpyDtoH_v2((char *)to + 5, on_gpu + 3, len));
            times[i] = now() - start;
        }
        report("pageable DtoH 16 MiB, odd", times, n, len);
        if (memcmp((char *)to + 5, (char *)from + 5, len)) {
            fprintf(stderr, "odd copy: wrong bytes\n");
            return 1;
        }
    }
    CHECK(cuMemcpyHtoD_v2(on_gpu, from, largest));
    for (size_t len = 16 * MIB; len <= largest; len *= 16) {
        int n = quick ? 3 : 8;
        cpu_at = cpu();
        for (int i = 0; i < n; i++) {
            uint64_t *pages = fresh(len);
            double start = now();
            CHECK(cuMemcpyDtoH_v2(pages, on_gpu, len));
            times[i] = now() - start;
            if (i == 0) {
                verify(pages, len, 1, "fresh pages");
                cpu_at = cpu();
            }
            munmap(pages, len);
        }
        report(len == largest ? "DtoH into fresh pages 256 MiB" : "DtoH into fresh pages 16 MiB", times, n, len);
    }
    munmap(to, largest);

    /* Registered memory: registering and unregistering it, and the two calls separately. */
    {
        size_t len = 64 * MIB;
        static double up[1000], down[1000], use[1000];
        int n = quick ? 6 : 30;
        cpu_at = cpu();
        for (int i = 0; i < n; i++) {
            double start = now();
            CHECK(cuMemHostRegister_v2(from, len, 0));
            up[i] = now() - start;
            start = now();
            for (size_t at = 0; at < len; at += 4096)
                ((volatile char *)from)[at] = ((volatile char *)from)[at];
            use[i] = now() - start;
            start = now();
            CHECK(cuMemHostUnregister(from));
            down[i] = now() - start;
            times[i] = up[i] + down[i];
        }
        report("register + unregister 64 MiB", times, n, 0);
        report("  register", up, n, 0);
        report("  touch each page after it", use, n, 0);
        report("  unregister", down, n, 0);
        verify(from, len, 1, "registered memory");
        cpu_at = cpu();
        for (int i = 0; i < n; i++) {
            void *at;
            double start = now();
            CHECK(cuMemHostAlloc(&at, len, 0));
            up[i] = now() - start;
            start = now();
            for (size_t k = 0; k < len; k += 4096)
                ((volatile char *)at)[k] = 1;
            use[i] = now() - start;
            start = now();
            CHECK(cuMemFreeHost(at));
            down[i] = now() - start;
            times[i] = up[i] + down[i];
        }
        report("hostalloc + free 64 MiB", times, n, 0);
        report("  hostalloc", up, n, 0);
        report("  touch each page after it", use, n, 0);
        report("  free", down, n, 0);
    }
    printf("ok\n");
    return 0;
}
