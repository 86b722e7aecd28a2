// A driver library for tests that fails in the jail of workers in the way that SOFTGPU_IN_JAIL
// says. If it doesn't fail, all driver calls go to softgpu, which this library is linked with.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CUDA_ERROR_OPERATING_SYSTEM = 304 };

unsigned int cuInit(unsigned int flags)
{
	unsigned int (*softgpus)(unsigned int) = dlsym(RTLD_NEXT, "cuInit");
	const char *how = getenv("SOFTGPU_IN_JAIL");
	// The jail doesn't contain /etc/passwd.
	if (how && access("/etc/passwd", F_OK) < 0) {
		if (!strcmp(how, "refuse"))
			return CUDA_ERROR_OPERATING_SYSTEM;
		if (!strcmp(how, "crash"))
			abort();
		raise(SIGKILL);
	}
	return softgpus(flags);
}
