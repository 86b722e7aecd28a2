// A driver library that fills its VM's shared memory and writes to its cache, for tests.
//
// Once its worker serves a session, a thread of this library creates in /dev/shm as many nested
// directories as DEPTH, and then as many files as the kernel permits, but at most FILES. It also
// adds an entry to the cache of compiled kernels. It writes to /tmp/report the numbers of entries
// that the cache and /dev/shm contained before, the numbers of directories and files that it
// created, and the error that stopped it. All driver calls go to softgpu, which this library is
// linked with.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 60000, FILES = 200000 };

static int filters_at_load;

// Returns the number of entries in a directory, or -1.
static int entries(const char *path)
{
	DIR *directory = opendir(path);
	int count = 0;
	if (!directory)
		return -1;
	for (struct dirent *entry; (entry = readdir(directory));)
		count += entry->d_name[0] != '.';
	closedir(directory);
	return count;
}

// Creates nested directories, from the innermost one outwards, because creating an entry takes
// Landlock longer the deeper its parent directory is nested.
static int nest(void)
{
	int depth = 0;
	if (mkdir("/dev/shm/d", 0700) == 0)
		depth++;
	while (depth && depth < DEPTH && mkdir("/dev/shm/outer", 0700) == 0 &&
	       rename("/dev/shm/d", "/dev/shm/outer/d") == 0 &&
	       rename("/dev/shm/outer", "/dev/shm/d") == 0)
		depth++;
	return depth;
}

static int create_files(void)
{
	for (int i = 0; i < FILES; i++) {
		char path[64];
		snprintf(path, sizeof(path), "/dev/shm/%d", i);
		int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
		if (fd < 0)
			return i;
		close(fd);
	}
	errno = 0;
	return FILES;
}

// Adds a directory to the cache of compiled kernels. Returns the number of entries that the cache
// contained before, or -1.
static int cache(void)
{
	const char *directory = getenv("CUDA_CACHE_PATH");
	int count = directory ? entries(directory) : -1;
	char path[4096];
	snprintf(path, sizeof(path), "%s/%d", directory ? directory : "", count);
	return mkdir(path, 0700) ? -1 : count;
}

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

static void *fill(void *nothing)
{
	// Wait until the worker has installed its filter, which it does when it gets its session.
	while (filters() == filters_at_load)
		usleep(1000);
	int before = entries("/dev/shm");
	int cached = cache();
	int depth = nest();
	int files = create_files();
	const char *error = errno ? strerrorname_np(errno) : "none";
	FILE *report = fopen("/tmp/report.part", "we");
	fprintf(report, "cached=%d before=%d depth=%d files=%d error=%s", cached, before,
		depth, files, error);
	fclose(report);
	rename("/tmp/report.part", "/tmp/report");
	return nothing;
}

// Workers load the library that contains the probed function cuInit, so this library must define
// cuInit.
unsigned int cuInit(unsigned int flags)
{
	unsigned int (*softgpus)(unsigned int) = dlsym(RTLD_NEXT, "cuInit");
	pthread_t thread;
	filters_at_load = filters();
	pthread_create(&thread, NULL, fill, NULL);
	return softgpus(flags);
}
