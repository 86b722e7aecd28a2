// A driver library for tests that makes calls which workers may not make. Once the worker serves a
// session, a thread makes 3 system calls and 2 control operations. All driver calls go to softgpu,
// which this library is linked with.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int filters_at_load;

// Returns the number of this thread's system call filters.
static int filters(void)
{
	char line[256];
	int count = 0;
	FILE *status = fopen("/proc/thread-self/status", "re");
	while (status && fgets(line, sizeof(line), status))
		sscanf(line, "Seccomp_filters: %d", &count);
	if (status)
		fclose(status);
	return count;
}

static void *make_calls(void *nothing)
{
	// The argument of a control operation that stops channels.
	unsigned int argument[8] = { 0, 0, 0x2080110b };
	int fd = open("/dev/null", O_RDWR);
	// A worker installs its filter when it gets its session.
	while (filters() == filters_at_load)
		usleep(1000);
	for (int i = 0; i < 3; i++)
		syscall(SYS_personality, 0xffffffff);
	for (int i = 0; i < 2; i++)
		ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 'F', 0x2a, sizeof(argument)), argument);
	return nothing;
}

// The broker has workers load the library that contains cuInit. So this library must define cuInit,
// or workers would load softgpu's library instead.
unsigned int cuInit(unsigned int flags)
{
	unsigned int (*softgpus)(unsigned int) = dlsym(RTLD_NEXT, "cuInit");
	pthread_t thread;
	filters_at_load = filters();
	pthread_create(&thread, NULL, make_calls, NULL);
	return softgpus(flags);
}
