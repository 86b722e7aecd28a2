// SPDX-License-Identifier: GPL-2.0 OR Apache-2.0
/*
 * Tests the limits per user of the virtio-cuda driver, with two users. Must be
 * run as root in a guest that has a device. Prints TAP.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uapi/virtio_cuda.h>

#define DEVICE "/dev/virtio-cuda0"
#define PARAMETERS "/sys/module/virtio_cuda/parameters/"
#define MIB (1UL << 20)
#define RING (64UL << 10)
#define ARENA (1UL << 20)
#define REGION (VIRTIO_CUDA_RING_HEADER_BYTES + RING + ARENA)

static int checks, failures;

static bool check(bool good, const char *what)
{
	checks++;
	failures += !good;
	printf("%s %d - %s\n", good ? "ok" : "not ok", checks, what);
	fflush(stdout);
	return good;
}

static void set(const char *parameter, const char *text)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), PARAMETERS "%s", parameter);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		check(false, parameter);
	close(fd);
}

/* ---- Processes of users ------------------------------------------------ */

enum command { START, ALLOC, CLOSE, LOCK_LIMIT };

struct request {
	enum command command;
	unsigned long value;
};

/*
 * A child process that makes requests as a certain user. It has one file open
 * at a time.
 */
struct process {
	pid_t pid;
	int requests;
	int answers;
};

static int start(int *fd)
{
	struct virtio_cuda_ioc_start p = {
		.ring_bytes = RING, .arena_bytes = ARENA,
	};

	*fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (*fd < 0 || ioctl(*fd, VIRTIO_CUDA_IOC_START, &p))
		return errno;
	/*
	 * Keep the ring mapped: in user-mode Linux, unmapping it ends the
	 * session.
	 */
	return mmap(NULL, REGION, PROT_READ | PROT_WRITE, MAP_SHARED, *fd,
		    p.mmap_offset) == MAP_FAILED ? errno : 0;
}

static int answer(const struct request *request, int *fd)
{
	struct rlimit limit = { request->value, request->value };
	struct virtio_cuda_ioc_alloc a = {
		.vaddr = 0x300000000000, .len = request->value,
	};
	struct virtio_cuda_ioc_release r = {};

	switch (request->command) {
	case START:
		return start(fd);
	case ALLOC:
		/*
		 * Release large regions immediately. Keep smaller ones, because
		 * some tests check the total size.
		 */
		if (ioctl(*fd, VIRTIO_CUDA_IOC_ALLOC, &a))
			return errno;
		r.region = a.region;
		return request->value < 16 * MIB ? 0 :
			ioctl(*fd, VIRTIO_CUDA_IOC_RELEASE, &r) ? errno : 0;
	case CLOSE:
		exit(0);
	case LOCK_LIMIT:
		return setrlimit(RLIMIT_MEMLOCK, &limit) ? errno : 0;
	}
	return -1;
}

static struct process run_as(uid_t uid)
{
	struct process process = {};
	int requests[2], answers[2], fd = -1, error;
	struct request request;

	if (pipe2(requests, O_CLOEXEC) || pipe2(answers, O_CLOEXEC))
		exit(1);
	process.pid = fork();
	process.requests = requests[1];
	process.answers = answers[0];
	if (process.pid) {
		close(requests[0]);
		close(answers[1]);
		return process;
	}
	close(requests[1]);
	if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))
		exit(1);
	while (read(requests[0], &request, sizeof(request)) == sizeof(request)) {
		error = answer(&request, &fd);
		if (write(answers[1], &error, sizeof(error)) != sizeof(error))
			exit(1);
	}
	exit(0);
}

/* Makes a process carry out a command. Returns 0 or an error number. */
static int ask(struct process *process, enum command command,
	       unsigned long value)
{
	struct request request = { command, value };
	int error = -1;

	if (write(process->requests, &request, sizeof(request)) < 0 ||
	    read(process->answers, &error, sizeof(error)) != sizeof(error))
		return -1;
	return error;
}

static void end(struct process *process)
{
	struct request request = { CLOSE, 0 };

	if (write(process->requests, &request, sizeof(request)) < 0)
		kill(process->pid, SIGKILL);
	waitpid(process->pid, NULL, 0);
	close(process->requests);
	close(process->answers);
}

/*
 * Retries START while the user has too many sessions. A session that has been
 * closed counts until it has ended.
 */
static int start_soon(struct process *process)
{
	int error, tries;

	for (tries = 0; tries < 1000; tries++) {
		error = ask(process, START, 0);
		if (error != EDQUOT)
			break;
		usleep(10000);
	}
	return error;
}

/* ---- Tests ------------------------------------------------------------- */

static void test_mode(void)
{
	struct stat found;

	check(!stat(DEVICE, &found) && (found.st_mode & 0777) == 0666,
	      "every user may open the device");
}

static void test_sessions(void)
{
	struct process first = run_as(1001), again = run_as(1001);
	struct process other = run_as(1002), root = run_as(0);

	/*
	 * Allow each user 1% of the device's maximum number of sessions, which
	 * is one session after rounding up.
	 */
	set("user_share", "1");
	check(!ask(&first, START, 0), "a user starts a session");
	check(ask(&again, START, 0) == EDQUOT,
	      "the user can't start more than its part");
	check(!ask(&other, START, 0), "another user starts a session");
	check(!ask(&root, START, 0), "root starts a session");
	end(&first);
	check(!start_soon(&again), "the user starts another one when it has ended");
	end(&again);
	end(&other);
	end(&root);
	set("user_share", "75");
}

static void test_pinned(void)
{
	struct process first = run_as(1001), again = run_as(1001);
	struct process other = run_as(1002), root = run_as(0);
	bool started = !ask(&first, START, 0) && !ask(&again, START, 0) &&
		!ask(&other, START, 0) && !ask(&root, START, 0);

	if (!check(started, "sessions of three users"))
		return;
	set("pinned_max", "60");
	set("user_share", "50");
	check(ask(&first, ALLOC, 32 * MIB) == EDQUOT,
	      "a user can't share more than its part");
	check(!ask(&first, ALLOC, 20 * MIB), "a user shares memory and releases it");
	check(!ask(&first, ALLOC, 15 * MIB), "a user shares memory");
	check(ask(&again, ALLOC, 16 * MIB) == EDQUOT,
	      "the limit includes the user's other processes");
	check(!ask(&other, ALLOC, 15 * MIB), "another user shares as much");
	check(!ask(&root, ALLOC, 18 * MIB), "root can share the rest");
	check(ask(&root, ALLOC, 32 * MIB) == EDQUOT,
	      "root is limited together with all others");
	end(&first);
	end(&again);
	end(&other);
	end(&root);
	set("user_share", "75");
}

static void test_memlock(void)
{
	struct process user = run_as(1001), root = run_as(0);

	check(!ask(&user, LOCK_LIMIT, 8 * MIB) &&
	      !ask(&root, LOCK_LIMIT, 8 * MIB) && !ask(&user, START, 0) &&
	      !ask(&root, START, 0), "sessions with a limit on locked memory");
	check(!ask(&user, ALLOC, 20 * MIB),
	      "by default, RLIMIT_MEMLOCK doesn't apply");
	set("memlock", "Y");
	check(ask(&user, ALLOC, 20 * MIB) == EDQUOT, "memlock applies it");
	check(!ask(&user, ALLOC, 4 * MIB), "memory within RLIMIT_MEMLOCK");
	check(ask(&user, ALLOC, 4 * MIB) == EDQUOT,
	      "RLIMIT_MEMLOCK applies to the sum");
	check(!ask(&root, ALLOC, 20 * MIB), "CAP_IPC_LOCK exempts from it");
	set("memlock", "N");
	end(&user);
	end(&root);
}

int main(void)
{
	test_mode();
	test_sessions();
	test_pinned();
	test_memlock();
	printf("1..%d\n", checks);
	printf("selftest: %s\n", failures ? "FAIL" : "PASS");
	return !!failures;
}
