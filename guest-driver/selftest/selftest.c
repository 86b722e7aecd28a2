// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * virtio-cuda: tests the driver's interface. Run it as root in a guest that has
 * a device. Prints one line per check, and "selftest: PASS" at the end.
 *
 *   selftest [DEVICE]          runs all tests that leave the device bound
 *   selftest unbind [DEVICE]   unbinds and rebinds it while a session is live
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <uapi/virtio_cuda.h>

#define MIB (1UL << 20)
#define PINNED_WINDOW 0x300000000000UL
#define RING (64UL << 10)
#define ARENA (192UL << 10)
#define RING_REGION (VIRTIO_CUDA_RING_HEADER_BYTES + RING + ARENA)
#define PINNED_MAX "/sys/module/virtio_cuda/parameters/pinned_max"
#define DRIVER "/sys/bus/virtio/drivers/virtio_cuda"

static const char *device = "/dev/virtio-cuda0";
static int checks, failures;

static bool check(bool good, const char *format, ...)
{
	int saved = errno;
	va_list args;

	printf("%sok %d - ", good ? "" : "not ", ++checks);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	if (good)
		printf("\n");
	else
		printf(" (errno %d, %s)\n", saved, strerror(saved));
	fflush(stdout);
	failures += !good;
	return good;
}

/* Checks that the ioctl @cmd fails and sets errno to @error. */
static void refused(int fd, unsigned long cmd, void *arg, int error,
		    const char *what)
{
	int ret = ioctl(fd, cmd, arg);

	check(ret == -1 && errno == error, "%s: %s", what, strerror(error));
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void nap(int ms)
{
	usleep(ms * 1000);
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool good = fd >= 0 && write(fd, text, strlen(text)) ==
		    (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return good;
}

static bool read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd >= 0 ? read(fd, text, size - 1) : -1;

	if (fd >= 0)
		close(fd);
	return len > 0;
}

static int open_device(void)
{
	int fd = open(device, O_RDWR | O_CLOEXEC);

	if (fd < 0) {
		printf("Bail out! %s: %s\n", device, strerror(errno));
		exit(1);
	}
	return fd;
}

static struct virtio_cuda_ioc_start start_args(void)
{
	return (struct virtio_cuda_ioc_start){
		.ring_bytes = RING, .arena_bytes = ARENA,
	};
}

/* Starts a session and maps its ring. */
static int open_session(void **ring, struct virtio_cuda_ioc_start *out)
{
	struct virtio_cuda_ioc_start p = start_args();
	int fd = open_device();
	void *map;

	if (ioctl(fd, VIRTIO_CUDA_IOC_START, &p)) {
		check(false, "START");
		close(fd);
		return -1;
	}
	map = mmap(NULL, RING_REGION, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   p.mmap_offset);
	if (map == MAP_FAILED) {
		check(false, "map the ring");
		close(fd);
		return -1;
	}
	if (ring)
		*ring = map;
	if (out)
		*out = p;
	return fd;
}

static int alloc(int fd, uint64_t vaddr, uint64_t len,
		 struct virtio_cuda_ioc_alloc *out)
{
	*out = (struct virtio_cuda_ioc_alloc){ .vaddr = vaddr, .len = len };
	return ioctl(fd, VIRTIO_CUDA_IOC_ALLOC, out);
}

/*
 * Retries ALLOC for up to ten seconds, until the memory of other sessions has
 * been freed.
 */
static bool alloc_within(int fd, uint64_t vaddr, uint64_t len,
			 struct virtio_cuda_ioc_alloc *out)
{
	double end = now() + 10;

	while (alloc(fd, vaddr, len, out)) {
		if (errno != EDQUOT || now() > end)
			return false;
		nap(10);
	}
	return true;
}

static int release(int fd, uint32_t region)
{
	struct virtio_cuda_ioc_release p = { .region = region };

	return ioctl(fd, VIRTIO_CUDA_IOC_RELEASE, &p);
}

static bool mapped(void *addr)
{
	unsigned char vec;

	return !mincore(addr, 4096, &vec);
}

static bool zero(const char *bytes, size_t len)
{
	while (len--)
		if (*bytes++)
			return false;
	return true;
}

static int exit_status(pid_t pid)
{
	int status;

	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- Before START ------------------------------------------------------ */

static void test_new(void)
{
	struct virtio_cuda_ioc_alloc a = { .vaddr = PINNED_WINDOW,
					   .len = 4096 };
	struct virtio_cuda_ioc_wait w = { .timeout_ms = 10 };
	struct virtio_cuda_ioc_info info;
	struct virtio_cuda_ioc_submit sub = {};
	int fd = open_device();

	memset(&info, 0xaa, sizeof(info));
	check(!ioctl(fd, VIRTIO_CUDA_IOC_INFO, &info) &&
	      info.config.magic == VIRTIO_CUDA_MAGIC &&
	      info.config.version_major == VIRTIO_CUDA_VERSION_MAJOR,
	      "INFO returns the config space");
	refused(fd, VIRTIO_CUDA_IOC_INFO, (void *)8, EFAULT,
		"INFO to a bad address");
	refused(fd, _IO(VIRTIO_CUDA_IOC_TYPE, 99), NULL, ENOTTY,
		"unknown ioctl number");
	refused(fd, _IOWR(VIRTIO_CUDA_IOC_TYPE, 2, char[3]), &a, ENOTTY,
		"known ioctl number with another size");
	refused(fd, VIRTIO_CUDA_IOC_ALLOC, &a, ENOTCONN, "ALLOC before START");
	refused(fd, VIRTIO_CUDA_IOC_KICK, NULL, ENOTCONN, "KICK before START");
	refused(fd, VIRTIO_CUDA_IOC_WAIT, &w, ENOTCONN, "WAIT before START");
	refused(fd, VIRTIO_CUDA_IOC_SUBMIT, &sub, ENOTCONN,
		"SUBMIT before START");
	check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED &&
	      errno == EINVAL, "mmap fails before START");
	close(fd);
}

static void refused_start(int fd, struct virtio_cuda_ioc_start p, int error,
			  const char *what)
{
	refused(fd, VIRTIO_CUDA_IOC_START, &p, error, what);
}

static void test_start(void)
{
	static const char env[] = "CUDA_LAUNCH_BLOCKING=1\0NONSENSE=\0";
	struct virtio_cuda_ioc_start p;
	int fd = open_device();

#define BAD(field, value, error) do {					\
	p = start_args();						\
	p.field = value;						\
	refused_start(fd, p, error, "START with " #field " = " #value);	\
} while (0)
	BAD(reserved, 1, EINVAL);
	BAD(ring_bytes, 0, EINVAL);
	BAD(ring_bytes, 2048, EINVAL);
	BAD(ring_bytes, 4096 + 4096 + 4096, EINVAL);
	BAD(ring_bytes, 32 << 20, EINVAL);
	BAD(arena_bytes, 100, EINVAL);
	BAD(arena_bytes, -4096UL, EINVAL);
	BAD(arena_bytes, 1UL << 50, EINVAL);
	BAD(env_len, VIRTIO_CUDA_IOC_ENV_MAX + 1, EINVAL);
	BAD(env_len, 8, EFAULT);
#undef BAD
	p = start_args();
	p.env = (uintptr_t)"no sign";
	p.env_len = 8;
	refused_start(fd, p, EINVAL, "START with an environment without '='");
	refused(fd, VIRTIO_CUDA_IOC_START, (void *)8, EFAULT,
		"START from a bad address");

	p = start_args();
	p.env = (uintptr_t)env;
	p.env_len = sizeof(env) - 1;
	check(!ioctl(fd, VIRTIO_CUDA_IOC_START, &p) && p.session &&
	      p.mmap_offset, "START after all these failures");
	refused_start(fd, start_args(), EBUSY, "START twice");
	close(fd);
}

/* ---- Mappings ---------------------------------------------------------- */

static void test_map(void)
{
	struct virtio_cuda_ioc_start p1, p2;
	char *ring1, *ring2;
	int fd1 = open_session((void **)&ring1, &p1);
	int fd2 = open_session((void **)&ring2, &p2);
	struct virtio_cuda_ioc_alloc a;
	void *map;

	if (fd1 < 0 || fd2 < 0)
		return;
	check(p1.session != p2.session, "two files have different session ids");
	/*
	 * Check only the end of the arena, because the worker may write to the
	 * rest of the region.
	 */
	check(zero(ring1 + RING_REGION - 4096, 4096), "new pages are zeroed");
	memset(ring1 + RING_REGION - 4096, 0x5a, 4096);
	check(zero(ring2 + RING_REGION - 4096, 4096),
	      "two sessions have different rings");

	map = mmap(NULL, RING_REGION, PROT_READ, MAP_PRIVATE, fd1,
		   p1.mmap_offset);
	check(map == MAP_FAILED && errno == EINVAL, "a private mapping fails");
	map = mmap(NULL, RING_REGION + 4096, PROT_READ, MAP_SHARED, fd1,
		   p1.mmap_offset);
	check(map == MAP_FAILED && errno == EINVAL, "a mapping beyond the end fails");
	map = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd1,
		   p1.mmap_offset + RING_REGION - 4096);
	check(map == MAP_FAILED && errno == EINVAL,
	      "a mapping across the end fails");
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd1, 0);
	check(map == MAP_FAILED && errno == EINVAL, "a mapping of region 0 fails");

	if (!check(!alloc(fd1, PINNED_WINDOW, MIB, &a), "ALLOC"))
		return;
	map = mmap(NULL, MIB, PROT_READ, MAP_SHARED, fd2, a.mmap_offset);
	check(map == MAP_FAILED && errno == EINVAL,
	      "another file can't map the region");
	check(release(fd2, a.region) == -1 && errno == EINVAL,
	      "another file can't release the region");

	/*
	 * Drop a mapped page of the ring and access it again, which causes a
	 * fault.
	 */
	madvise(ring1 + RING_REGION - 4096, 4096, MADV_DONTNEED);
	check(ring1[RING_REGION - 1] == 0x5a,
	      "a dropped page keeps its contents");
	check(mremap(ring1, RING_REGION, RING_REGION + 4096, MREMAP_MAYMOVE) ==
	      MAP_FAILED, "a mapping can't grow");
	check(madvise(ring1, RING_REGION, MADV_DOFORK) || true,
	      "MADV_DOFORK has no effect");
	close(fd1);
	close(fd2);
	munmap(ring1, RING_REGION);
	munmap(ring2, RING_REGION);
}

static void test_alloc(void)
{
	struct virtio_cuda_ioc_alloc a;
	int fd = open_session(NULL, NULL);
	char *map;

	if (fd < 0)
		return;
#define BAD(at, bytes, error) do {					\
	a = (struct virtio_cuda_ioc_alloc){ .vaddr = at, .len = bytes };\
	refused(fd, VIRTIO_CUDA_IOC_ALLOC, &a, error,			\
		"ALLOC of " #bytes " at " #at);				\
} while (0)
	BAD(PINNED_WINDOW, 0, EINVAL);
	BAD(PINNED_WINDOW, 4095, EINVAL);
	BAD(PINNED_WINDOW + 8, 4096, EINVAL);
	BAD(-4096UL, 8192, EINVAL);
	BAD(PINNED_WINDOW, 1UL << 60, EINVAL);
	BAD(PINNED_WINDOW, 1UL << 40, ENOMEM);
	BAD(0x1000, 4096, EINVAL);
#undef BAD
	a = (struct virtio_cuda_ioc_alloc){ .vaddr = PINNED_WINDOW,
					    .len = 4096, .reserved = 1 };
	refused(fd, VIRTIO_CUDA_IOC_ALLOC, &a, EINVAL,
		"ALLOC with reserved set");

	if (!check(!alloc(fd, PINNED_WINDOW, 8 * MIB, &a), "ALLOC 8 MiB"))
		return;
	map = mmap((void *)PINNED_WINDOW, 8 * MIB, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_FIXED_NOREPLACE, fd, a.mmap_offset);
	if (!check(map == (void *)PINNED_WINDOW, "map the region at its address"))
		return;
	check(zero(map, 8 * MIB), "the region's pages are zeroed");
	memset(map, 0xc3, 8 * MIB);
	check(!release(fd, a.region), "RELEASE while the region is mapped");
	check((unsigned char)map[8 * MIB - 1] == 0xc3,
	      "the mapping keeps the pages");
	munmap(map, 8 * MIB);
	check(release(fd, a.region) == -1 && errno == EINVAL,
	      "RELEASE twice");
	check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, a.mmap_offset) ==
	      MAP_FAILED && errno == EINVAL, "mmap fails after RELEASE");
	close(fd);
}

static void refused_pin(int fd, void *at, size_t len, int error,
			const char *what)
{
	struct virtio_cuda_ioc_pin p = { .vaddr = (uintptr_t)at, .len = len };

	refused(fd, VIRTIO_CUDA_IOC_PIN, &p, error, what);
}

static void test_pin(void)
{
	struct virtio_cuda_ioc_start start;
	struct virtio_cuda_ioc_pin p = {};
	struct virtio_cuda_ioc_info info;
	int fd = open_session(NULL, &start);
	char *own, *fixed;

	if (fd < 0 || ioctl(fd, VIRTIO_CUDA_IOC_INFO, &info))
		return;
	own = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fixed = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	refused_pin(fd, own, 0, EINVAL, "PIN of 0 bytes");
	refused_pin(fd, own + 1, 4096, EINVAL, "PIN at an unaligned address");
	refused_pin(fd, (void *)-4096UL, 8192, EINVAL, "PIN across the end of the address space");
	refused_pin(fd, (void *)8192, 4096, EFAULT, "PIN of unmapped memory");
	refused_pin(fd, fixed, 4096, EFAULT, "PIN of read-only memory");
	munmap(own + MIB, MIB);
	refused_pin(fd, own, 2 * MIB, EFAULT, "PIN with a hole");

	p.vaddr = (uintptr_t)own;
	p.len = MIB;
	if (!(info.config.capabilities & VIRTIO_CUDA_CAP_USER)) {
		refused_pin(fd, own, MIB, EOPNOTSUPP,
			    "PIN on a device without USER");
	} else if (check(!ioctl(fd, VIRTIO_CUDA_IOC_PIN, &p) && p.region,
			 "PIN 1 MiB")) {
		check(mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
			   start.mmap_offset * p.region) == MAP_FAILED,
		      "a USER region can't be mapped");
		check(!release(fd, p.region), "RELEASE the USER region");
	}
	check(release(fd, start.mmap_offset >> 40) == -1 && errno == EINVAL,
	      "RELEASE of the ring fails");
	close(fd);
}

/* ---- WAIT, KICK and SUBMIT --------------------------------------------- */

static void test_wait(void)
{
	struct virtio_cuda_ioc_wait w = {};
	int fd = open_session(NULL, NULL);
	double start;
	int ret;

	if (fd < 0)
		return;
	do {
		w.timeout_ms = 50;
		start = now();
		ret = ioctl(fd, VIRTIO_CUDA_IOC_WAIT, &w);
	} while (!ret);
	check(errno == ETIMEDOUT && now() - start > 0.045 &&
	      now() - start < 2, "WAIT times out");
	refused(fd, VIRTIO_CUDA_IOC_WAIT, (void *)8, EFAULT,
		"WAIT at a bad address");
	check(!ioctl(fd, VIRTIO_CUDA_IOC_KICK, 0), "KICK");
	close(fd);
}

static void test_submit(void)
{
	char room[64] = {};
	struct virtio_cuda_reply *reply = (void *)room;
	struct virtio_cuda_cmd cmd = { .len = sizeof(cmd), .opcode = 0xfffffff0,
				       .flags = VIRTIO_CUDA_CMD_WAITED,
				       .reply_len = sizeof(room) };
	struct virtio_cuda_ioc_submit p;
	int fd = open_session(NULL, NULL);
	const struct virtio_cuda_ioc_submit good = {
		.cmd = (uintptr_t)&cmd, .cmd_len = sizeof(cmd),
		.reply = (uintptr_t)room, .reply_len = sizeof(room),
	};

	if (fd < 0)
		return;
#define BAD(field, value, error) do {					\
	p = good;							\
	p.field = value;						\
	refused(fd, VIRTIO_CUDA_IOC_SUBMIT, &p, error,			\
		"SUBMIT with " #field " = " #value);			\
} while (0)
	BAD(cmd_len, 0, EINVAL);
	BAD(cmd_len, 24, EINVAL);
	BAD(cmd_len, 33, EINVAL);
	BAD(cmd_len, 0xfffffff8, EINVAL);
	BAD(reply_len, 8, EINVAL);
	BAD(reply_len, 0xffffffff, EINVAL);
	BAD(cmd, 8, EFAULT);
#undef BAD
	p = good;
	if (check(!ioctl(fd, VIRTIO_CUDA_IOC_SUBMIT, &p),
		  "SUBMIT of an unknown command gets a reply"))
		check(p.reply_len >= sizeof(*reply) && reply->state == 1 &&
		      reply->result == 801,
		      "the result is CUDA_ERROR_NOT_SUPPORTED (%u)", reply->result);
	close(fd);
}

/* ---- QUERY -------------------------------------------------------------- */

static int query(int fd, void *answer, __u32 *len)
{
	struct virtio_cuda_ioc_query q = { .answer = (uintptr_t)answer,
					   .answer_len = *len };
	int ret;

	do {
		ret = ioctl(fd, VIRTIO_CUDA_IOC_QUERY, &q);
	} while (ret && (errno == EAGAIN || errno == EINTR));
	*len = q.answer_len;
	return ret;
}

/* Returns whether a response to QUERY is valid and describes at least one GPU. */
static bool makes_sense(const void *answer, __u32 len)
{
	const struct virtio_cuda_facts *facts = answer;
	const struct virtio_cuda_gpu *gpu = (const void *)(facts + 1);

	return len >= sizeof(*facts) + sizeof(*gpu) && facts->gpus >= 1 &&
	       facts->gpu_bytes >= sizeof(*gpu) &&
	       len == sizeof(*facts) + facts->gpus * facts->gpu_bytes +
		      facts->processes * facts->process_bytes &&
	       gpu->name[0] && gpu->memory_total &&
	       gpu->memory_used <= gpu->memory_total;
}

static void *asker(void *arg)
{
	static __thread char room[VIRTIO_CUDA_QUERY_MAX];
	long i, good = 0;
	int fd = open_device();

	(void)arg;
	for (i = 0; i < 500; i++) {
		__u32 len = sizeof(room);

		good += !query(fd, room, &len) && makes_sense(room, len);
	}
	close(fd);
	return (void *)good;
}

static void test_query(void)
{
	static char room[VIRTIO_CUDA_QUERY_MAX];
	struct virtio_cuda_ioc_query q;
	struct virtio_cuda_ioc_info info;
	pthread_t threads[8];
	int fd = open_device(), i;
	__u32 len = sizeof(room);
	long good = 0;
	void *part;

	ioctl(fd, VIRTIO_CUDA_IOC_INFO, &info);
	if (!(info.config.capabilities & VIRTIO_CUDA_CAP_QUERY)) {
		q = (struct virtio_cuda_ioc_query){
			.answer = (uintptr_t)room, .answer_len = sizeof(room),
		};
		refused(fd, VIRTIO_CUDA_IOC_QUERY, &q, EOPNOTSUPP,
			"QUERY on a device without QUERY");
		close(fd);
		return;
	}
	check(!query(fd, room, &len) && makes_sense(room, len),
	      "QUERY without a session returns a GPU");
#define BAD(at, bytes, rest, error) do {				\
	q = (struct virtio_cuda_ioc_query){ .answer = (uintptr_t)(at),	\
		.answer_len = bytes, .reserved = rest };		\
	refused(fd, VIRTIO_CUDA_IOC_QUERY, &q, error,			\
		"QUERY of " #bytes " bytes to " #at);			\
} while (0)
	BAD(room, 0, 0, EINVAL);
	BAD(room, 63, 0, EINVAL);
	BAD(room, 65537, 0, EINVAL);
	BAD(room, 0xffffffff, 0, EINVAL);
	BAD(room, 65536, 1, EINVAL);
	BAD(room, 64, 0, EDQUOT);
	BAD(8, 65536, 0, EFAULT);
#undef BAD
	refused(fd, VIRTIO_CUDA_IOC_QUERY, (void *)8, EFAULT,
		"QUERY at a bad address");
	for (i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, asker, NULL);
	for (i = 0; i < 8; i++) {
		pthread_join(threads[i], &part);
		good += (long)part;
	}
	check(good == 4000, "4000 queries from 8 threads (%ld answered)", good);
	close(fd);
	fd = open_session(NULL, NULL);
	check(fd >= 0, "a session starts after the queries");
	len = sizeof(room);
	check(!query(fd, room, &len) && makes_sense(room, len),
	      "QUERY on a file with a session");
	close(fd);
}

/* ---- Processes --------------------------------------------------------- */

static void test_fork(void)
{
	struct virtio_cuda_ioc_wait w = { .timeout_ms = 10 };
	struct virtio_cuda_ioc_start start, again = start_args();
	struct virtio_cuda_ioc_info info;
	struct virtio_cuda_ioc_alloc a;
	void *ring, *map;
	int fd = open_session(&ring, &start);
	pid_t child;

	if (fd < 0 || alloc(fd, PINNED_WINDOW, MIB, &a))
		return;
	map = mmap((void *)PINNED_WINDOW, MIB, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_FIXED_NOREPLACE, fd, a.mmap_offset);
	fflush(stdout);
	child = fork();
	if (!child) {
		failures = 0;
		check(!mapped(ring), "a child doesn't inherit the ring");
		check(!mapped(map), "a child doesn't inherit pinned memory");
		refused(fd, VIRTIO_CUDA_IOC_INFO, &info, EPERM,
			"INFO in a child");
		refused(fd, VIRTIO_CUDA_IOC_START, &again, EPERM,
			"START in a child");
		refused(fd, VIRTIO_CUDA_IOC_ALLOC, &a, EPERM,
			"ALLOC in a child");
		refused(fd, VIRTIO_CUDA_IOC_KICK, NULL, EPERM,
			"KICK in a child");
		refused(fd, VIRTIO_CUDA_IOC_WAIT, &w, EPERM, "WAIT in a child");
		check(mmap(NULL, RING_REGION, PROT_READ, MAP_SHARED, fd,
			   start.mmap_offset) == MAP_FAILED && errno == EPERM,
		      "mmap fails in a child");
		exit(failures);
	}
	failures += exit_status(child);
	checks += 8;
	check(mapped(ring) && !ioctl(fd, VIRTIO_CUDA_IOC_KICK, 0),
	      "the parent's session still works");
	munmap(map, MIB);
	munmap(ring, RING_REGION);
	close(fd);
}

/*
 * Forks a process that starts a session, allocates 6 MiB of pinned memory, and
 * then writes a byte to @tell. If @how is 'c', the process closes the session.
 * If it is 'k', the process waits to be killed. If it is 'f', it also waits to
 * be killed, and first forks a child that keeps the file open.
 */
static pid_t hold(char how, int tell)
{
	struct virtio_cuda_ioc_wait w = {};
	struct virtio_cuda_ioc_alloc a;
	pid_t pid = fork();
	void *ring;
	int fd;

	if (pid)
		return pid;
	/*
	 * Create a process group, so that the forked child can be killed too.
	 */
	setpgid(0, 0);
	fd = open_session(&ring, NULL);
	if (fd < 0 || alloc(fd, PINNED_WINDOW, 6 * MIB, &a))
		exit(1);
	mmap((void *)PINNED_WINDOW, 6 * MIB, PROT_READ | PROT_WRITE,
	     MAP_SHARED | MAP_FIXED_NOREPLACE, fd, a.mmap_offset);
	if (how == 'f' && !fork()) {
		sleep(30);
		exit(0);
	}
	if (write(tell, "x", 1) != 1)
		exit(1);
	if (how == 'c') {
		nap(200);
		munmap((void *)PINNED_WINDOW, 6 * MIB);
		munmap(ring, RING_REGION);
		close(fd);
		nap(2000);
		exit(0);
	}
	while (how == 'k' || how == 'f')
		ioctl(fd, VIRTIO_CUDA_IOC_WAIT, &w);
	exit(0);
}

static void test_limit(void)
{
	static const struct { char how; const char *what; } ends[] = {
		{ 'c', "closing the file frees its memory" },
		{ 'k', "SIGKILL frees its memory" },
		{ 'f', "SIGKILL frees its memory while a child holds the file" },
	};
	struct virtio_cuda_ioc_alloc a, b;
	int fd = open_session(NULL, NULL);
	unsigned long max = 0;
	struct sysinfo info;
	char before[32];
	int tell[2];
	FILE *file;
	size_t i;
	char c;

	if (fd < 0)
		return;
	file = fopen(PINNED_MAX, "re");
	if (!check(file && fscanf(file, "%lu", &max) == 1, "read pinned_max"))
		return;
	fclose(file);
	check(!sysinfo(&info) && max > 0 &&
	      max < info.totalram * info.mem_unit / MIB,
	      "by default, pinned_max is less than the memory");
	snprintf(before, sizeof(before), "%lu", max);
	if (!check(write_file(PINNED_MAX, "8"), "set pinned_max to 8 MiB"))
		return;
	check(alloc(fd, PINNED_WINDOW, 16 * MIB, &a) == -1 && errno == EDQUOT,
	      "ALLOC beyond pinned_max");
	check(!alloc(fd, PINNED_WINDOW, 6 * MIB, &a), "ALLOC within pinned_max");
	check(alloc(fd, PINNED_WINDOW + 16 * MIB, 6 * MIB, &b) == -1 &&
	      errno == EDQUOT, "the limit applies to the sum");
	check(!release(fd, a.region), "RELEASE");
	check(!alloc(fd, PINNED_WINDOW, 6 * MIB, &a), "ALLOC succeeds again after RELEASE");
	check(!release(fd, a.region), "RELEASE again");

	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		pid_t pid;

		if (pipe2(tell, O_CLOEXEC))
			return;
		fflush(stdout);
		pid = hold(ends[i].how, tell[1]);
		close(tell[1]);
		if (read(tell[0], &c, 1) != 1) {
			check(false, "another process starts a session");
			break;
		}
		close(tell[0]);
		check(alloc(fd, PINNED_WINDOW, 6 * MIB, &a) == -1 &&
		      errno == EDQUOT, "the limit includes another process's memory");
		if (ends[i].how != 'c')
			kill(pid, SIGKILL);
		check(alloc_within(fd, PINNED_WINDOW, 6 * MIB, &a),
		      ends[i].what);
		check(!release(fd, a.region), "RELEASE");
		kill(-pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	check(write_file(PINNED_MAX, before), "reset pinned_max");
	close(fd);
}

/* ---- Memory whose pages the process withholds -------------------------- */

struct waiting_pin {
	struct virtio_cuda_ioc_pin args;
	int fd;
	int error;
};

static void *pin_and_wait(void *arg)
{
	struct waiting_pin *pin = arg;

	pin->error = ioctl(pin->fd, VIRTIO_CUDA_IOC_PIN, &pin->args) ? errno : 0;
	return NULL;
}

/*
 * Maps a page that's missing until the caller supplies it through the returned
 * userfaultfd.
 */
static int withheld_page(void **page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	*page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	range.range.start = (uintptr_t)*page;
	range.range.len = 4096;
	if (fd < 0 || *page == MAP_FAILED || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &range))
		return -1;
	return fd;
}

static void test_withheld(void)
{
	struct uffdio_zeropage supply = {};
	struct virtio_cuda_ioc_alloc a;
	struct waiting_pin pin = {};
	struct pollfd fault = {};
	char before[32] = {};
	pthread_t thread;
	void *ring, *page;
	int fd, other;

	fault.fd = withheld_page(&page);
	fault.events = POLLIN;
	if (!check(fault.fd >= 0, "create a page that is withheld"))
		return;
	other = open_session(NULL, NULL);
	fd = open_session(&ring, NULL);
	if (fd < 0 || other < 0 || !read_file(PINNED_MAX, before, sizeof(before)) ||
	    !check(write_file(PINNED_MAX, "20"), "set pinned_max to 20 MiB"))
		return;
	check(!alloc(fd, PINNED_WINDOW, 12 * MIB, &a), "ALLOC");

	pin.fd = fd;
	pin.args.vaddr = (uintptr_t)page;
	pin.args.len = 4096;
	pthread_create(&thread, NULL, pin_and_wait, &pin);
	check(poll(&fault, 1, -1) == 1, "PIN waits for the page");
	/* Unmapping the ring ends the session. */
	munmap(ring, RING_REGION);
	check(alloc_within(other, PINNED_WINDOW, 12 * MIB, &a),
	      "a session's memory is freed while a PIN waits for a page");

	supply.range.start = (uintptr_t)page;
	supply.range.len = 4096;
	check(!ioctl(fault.fd, UFFDIO_ZEROPAGE, &supply), "supply the page");
	pthread_join(thread, NULL);
	errno = pin.error;
	check(pin.error == EPIPE, "PIN notices that the session has ended");
	check(write_file(PINNED_MAX, before), "reset pinned_max");
	close(fd);
	close(other);
	close(fault.fd);
	munmap(page, 4096);
}

/* ---- Invalid ring contents --------------------------------------------- */

static void test_rubbish(void)
{
	struct virtio_cuda_ioc_wait w = { .timeout_ms = 2000 };
	struct virtio_cuda_ring *ring;
	struct virtio_cuda_cmd *cmd;
	int fd, other, ret;

	other = open_session(NULL, NULL);
	fd = open_session((void **)&ring, NULL);
	if (fd < 0 || other < 0)
		return;
	cmd = (void *)((char *)ring + VIRTIO_CUDA_RING_HEADER_BYTES);
	memset(cmd, 0xff, 4096);
	__atomic_store_n(&ring->tail, 4096, __ATOMIC_SEQ_CST);
	ioctl(fd, VIRTIO_CUDA_IOC_KICK, 0);
	do {
		ret = ioctl(fd, VIRTIO_CUDA_IOC_WAIT, &w);
	} while (!ret);
	check(errno == EPIPE, "invalid ring contents end the session");
	refused(fd, VIRTIO_CUDA_IOC_KICK, NULL, EPIPE, "KICK after the end");
	refused(fd, VIRTIO_CUDA_IOC_WAIT, &w, EPIPE, "WAIT after the end");
	w.timeout_ms = 50;
	do {
		ret = ioctl(other, VIRTIO_CUDA_IOC_WAIT, &w);
	} while (!ret);
	check(errno == ETIMEDOUT, "another session is unaffected");
	check(ring->tail == 4096, "the ring stays mapped after the session has ended");
	munmap(ring, RING_REGION);
	close(fd);
	close(other);
}

static void *kicker(void *arg)
{
	int fd = *(int *)arg, i;

	for (i = 0; i < 2000; i++)
		ioctl(fd, VIRTIO_CUDA_IOC_KICK, 0);
	return NULL;
}

static void test_flood(void)
{
	pthread_t threads[4];
	int fd = open_session(NULL, NULL), i;
	double start = now();

	if (fd < 0)
		return;
	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, kicker, &fd);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	check(!ioctl(fd, VIRTIO_CUDA_IOC_KICK, 0), "8000 doorbells in %.2f s",
	      now() - start);
	close(fd);
	for (i = 0; i < 20; i++) {
		pid_t pid = fork();

		if (!pid) {
			struct virtio_cuda_ioc_alloc a;

			fd = open_session(NULL, NULL);
			while (fd >= 0 && !alloc(fd, PINNED_WINDOW, MIB, &a))
				release(fd, a.region);
			exit(1);
		}
		nap(5 + i * 3);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	fd = open_session(NULL, NULL);
	check(fd >= 0, "a session starts after 20 were killed");
	close(fd);
}

/* ---- Unbind ------------------------------------------------------------ */

static void *waiter(void *arg)
{
	struct virtio_cuda_ioc_wait w = {};
	int fd = *(int *)arg;

	while (!ioctl(fd, VIRTIO_CUDA_IOC_WAIT, &w))
		;
	return (void *)(intptr_t)errno;
}

/* Finds the name of the device under DRIVER, such as "virtio0". */
static bool bound_name(char *name, size_t size)
{
	FILE *list = popen("basename -a " DRIVER "/virtio*", "r");
	bool good = list && fgets(name, size, list);

	if (list)
		pclose(list);
	name[strcspn(name, "\n")] = 0;
	return good && !strchr(name, '*');
}

static void test_unbind(void)
{
	struct virtio_cuda_ioc_alloc a;
	struct virtio_cuda_ioc_info info;
	pthread_t thread;
	char name[64];
	void *error;
	char *map;
	int fd;

	fd = open_session(NULL, NULL);
	if (fd < 0 || !check(bound_name(name, sizeof(name)), "find the device"))
		return;
	if (!check(!alloc(fd, PINNED_WINDOW, 2 * MIB, &a), "ALLOC"))
		return;
	map = mmap((void *)PINNED_WINDOW, 2 * MIB, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_FIXED_NOREPLACE, fd, a.mmap_offset);
	map[0] = 7;
	pthread_create(&thread, NULL, waiter, &fd);
	nap(100);
	check(write_file(DRIVER "/unbind", name), "unbind %s", name);
	pthread_join(thread, &error);
	errno = (intptr_t)error;
	check(errno == ENODEV, "WAIT wakes with ENODEV");
	refused(fd, VIRTIO_CUDA_IOC_KICK, NULL, ENODEV, "KICK");
	refused(fd, VIRTIO_CUDA_IOC_ALLOC, &a, ENODEV, "ALLOC");
	refused(fd, VIRTIO_CUDA_IOC_INFO, &info, ENODEV, "INFO");
	check(map[0] == 7, "mapped memory stays accessible");
	check(access(device, F_OK), "the device node is gone");
	check(write_file(DRIVER "/bind", name), "bind the device again");
	nap(100);
	refused(fd, VIRTIO_CUDA_IOC_KICK, NULL, ENODEV,
		"KICK on the old session still fails");
	munmap(map, 2 * MIB);
	close(fd);
	fd = open_session(NULL, NULL);
	check(fd >= 0, "a new session starts");
	close(fd);
}

int main(int argc, char **argv)
{
	bool unbind = argc > 1 && !strcmp(argv[1], "unbind");

	if (argc > 1 + unbind)
		device = argv[1 + unbind];
	if (unbind) {
		test_unbind();
	} else {
		test_new();
		test_start();
		test_map();
		test_alloc();
		test_pin();
		test_wait();
		test_submit();
		test_query();
		test_fork();
		test_limit();
		test_withheld();
		test_rubbish();
		test_flood();
	}
	printf("1..%d\n", checks);
	printf("selftest: %s\n", failures ? "FAIL" : "PASS");
	return !!failures;
}
