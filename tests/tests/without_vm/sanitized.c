/* Registers a buffer that an address sanitizer watches, in a process that forks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemHostRegister_v2(void *at, size_t size, unsigned flags);
int cuMemHostUnregister(void *at);
int cuMemHostGetDevicePointer_v2(unsigned long long *to, void *at, unsigned flags);
int cuMemsetD8_v2(unsigned long long at, unsigned char value, size_t size);
int cuCtxSynchronize(void);

/* As with NVIDIA's driver, the sanitizer must not protect the gap in its shadow memory. */
const char *__asan_default_options(void)
{
    return "protect_shadow_gap=0:detect_leaks=0:exitcode=9";
}

#define CHECK(what) do { if (!(what)) { printf("wrong: %s\n", #what); return 1; } } while (0)

int main(void)
{
    unsigned char stack[100], *heap = malloc(10000);
    unsigned char *buffers[] = { heap, stack };
    size_t sizes[] = { 10000, sizeof(stack) };
    unsigned long long device;
    void *context;
    int status;

    CHECK(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context));
    for (int i = 0; i < 2; i++) {
        unsigned char *at = buffers[i];
        size_t size = sizes[i];
        memset(at, 1, size);
        CHECK(!cuMemHostRegister_v2(at, size, 2));
        CHECK(!cuMemHostGetDevicePointer_v2(&device, at, 0));
        CHECK(at[0] == 1 && at[size - 1] == 1);
        CHECK(!cuMemsetD8_v2(device, 2, size) && !cuCtxSynchronize());
        CHECK(at[0] == 2 && at[size - 1] == 2);
        pid_t child = fork();
        if (!child) {
            free(malloc(100000));
            status = at[0] == 2 && at[size - 1] == 2 ? 0 : 3;
            memset(at, 4, size);
            _exit(status);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CHECK(at[0] == 2 && at[size - 1] == 2);
        CHECK(!cuMemHostUnregister(at));
        CHECK(at[0] == 2 && at[size - 1] == 2);
    }
    free(heap);
    puts("PASS");
    return 0;
}
