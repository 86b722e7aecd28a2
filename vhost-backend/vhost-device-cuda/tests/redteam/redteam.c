// A driver library that attacks the host, for tests.
//
// It simulates a compromised worker: once the worker serves a session, a thread of this library
// tries the attacks that a compromised worker might try, and writes a line for each attempt to
// /tmp/report, with "done" or the error. All driver calls go to softgpu, which this library is
// linked with.
//
// SOFTGPU_REDTEAM contains what an attacker might know about the host: the broker's process ID, and
// a directory with files that a worker must not reach, separated by a colon.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/vm_sockets.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

enum { CUDA_ERROR_OPERATING_SYSTEM = 304, FLOOD = 20000 };

static FILE *report;
static uid_t user_at_load;
static int filters_at_load;

// Reports an attempt, given the result of a function that returns a negative number on failure.
static void tried(const char *what, long result)
{
	fprintf(report, "%s: %s\n", what, result < 0 ? strerrorname_np(errno) : "done");
}

static int write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	int result = write(fd, text, strlen(text));
	int error = errno;
	close(fd);
	errno = error;
	return result;
}

static int list(const char *path)
{
	DIR *directory = opendir(path);
	return directory ? closedir(directory) : -1;
}

static int connect_to(int family, const void *address, socklen_t length)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd < 0 ? -1 : connect(fd, address, length);
}

static void files(const char *directory)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/secret", directory);
	tried("read a file of the host", open(path, O_RDONLY));
	tried("read /etc/passwd", open("/etc/passwd", O_RDONLY));
	tried("list /var/log", list("/var/log"));
	tried("write to a directory of libraries", open("/usr/lib/x", O_CREAT | O_WRONLY, 0600));
	tried("create a file in /", open("/x", O_CREAT | O_WRONLY, 0600));
	tried("create a file in /dev", open("/dev/x", O_CREAT | O_WRONLY, 0600));
	tried("read a file in the host's /dev/shm", open("/dev/shm/redteam-host", O_RDONLY));
	tried("open /dev/mem", open("/dev/mem", O_RDWR));
	tried("open /dev/kmsg", open("/dev/kmsg", O_RDONLY));
	tried("open another GPU", open("/dev/nvidia7", O_RDWR));
	tried("create a device", mknod("/tmp/mem", S_IFCHR | 0600, makedev(1, 1)));
	tried("change the mode of a device", chmod("/dev/null", 0600));
	tried("write a kernel setting", write_to("/proc/sys/kernel/core_pattern", "x"));
	tried("write to sysfs", write_to("/sys/kernel/uevent_helper", "x"));
	tried("open a cgroup", open("/sys/fs/cgroup/cgroup.procs", O_WRONLY));
	tried("leave the root directory", chroot("/proc/1/root"));
	tried("mount", mount("none", "/tmp", "tmpfs", 0, NULL));
	tried("unmount", umount2("/proc", MNT_DETACH));
	tried("open a file by its handle", syscall(SYS_open_by_handle_at, 3, "", O_RDONLY));
}

static void processes(pid_t broker)
{
	char *words[] = { "/bin/true", NULL };
	struct iovec piece = { &piece, sizeof(piece) };
	tried("signal the broker", kill(broker, 0));
	tried("signal all processes", kill(-1, 0));
	tried("signal the process group", kill(0, 0));
	tried("signal another process of the VM", kill(getpid() + 1, 0));
	tried("limit another process of the VM", prlimit(getpid() + 1, RLIMIT_CORE, NULL, NULL));
	tried("have the kernel signal another", fcntl(2, F_SETOWN, getpid() + 1));
	tried("see a process of another user", access("/proc/1/status", F_OK));
	tried("trace the broker", ptrace(PTRACE_ATTACH, broker, NULL, NULL));
	tried("read the broker's memory", process_vm_readv(broker, &piece, 1, &piece, 1, 0));
	tried("open the broker", syscall(SYS_pidfd_open, broker, 0));
	tried("start a process", fork());
	tried("run a program", execv(words[0], words));
	tried("create a user namespace", unshare(CLONE_NEWUSER));
	tried("enter a namespace", setns(0, 0));
	tried("survive the broker", prctl(PR_SET_PDEATHSIG, 0));
}

static void privileges(void)
{
	errno = EPERM;
	tried("be root while the driver library loads", user_at_load == 0 ? 0 : -1);
	struct rlimit core = { RLIM_INFINITY, RLIM_INFINITY };
	struct sched_param priority = { 10 };
	tried("become root", setresuid(0, 0, 0));
	tried("join root's group", setresgid(0, 0, 0));
	tried("join more groups", setgroups(1, (gid_t[]){ 0 }));
	tried("dump core", setrlimit(RLIMIT_CORE, &core));
	tried("run before all others", sched_setscheduler(0, SCHED_FIFO, &priority));
	tried("raise the priority", setpriority(PRIO_PROCESS, 0, -20));
	prctl(PR_SET_DUMPABLE, 1);
	tried("be killed later than others", write_to("/proc/self/oom_score_adj", "0"));
	tried("be killed later, through a thread",
	      write_to("/proc/thread-self/oom_score_adj", "0"));
}

static void kernel(void)
{
	char room[256] = { 0 };
	tried("load a BPF program", syscall(SYS_bpf, 0, room, sizeof(room)));
	tried("create an io_uring", syscall(SYS_io_uring_setup, 1, room));
	tried("create a userfaultfd", syscall(SYS_userfaultfd, O_CLOEXEC));
	tried("count events", syscall(SYS_perf_event_open, room, 0, -1, -1, 0));
	tried("add a key", syscall(SYS_add_key, "user", "x", "x", 1, -5));
	tried("load a module", syscall(SYS_finit_module, 0, "", 0));
	int ends[2] = { -1, -1 };
	int duplicate = dup(2);
	pipe(ends);
	tried("create System V shared memory", shmget(IPC_PRIVATE, 4096, 0600));
	tried("create a System V semaphore", semget(IPC_PRIVATE, 1, 0600));
	tried("create a System V message queue", msgget(IPC_PRIVATE, 0600));
	tried("read the kernel's log", syscall(SYS_syslog, 10, NULL, 0));
	tried("change the personality", syscall(SYS_personality, 0xffffffff));
	tried("change the segment table", syscall(SYS_modify_ldt, 0, room, sizeof(room)));
	tried("watch files", syscall(SYS_inotify_init1, 0));
	tried("watch a file system", syscall(SYS_fanotify_init, 0, 0));
	tried("move pages into a pipe", vmsplice(ends[1], &(struct iovec){ room, 1 }, 1, 0));
	tried("move data between files", splice(ends[0], NULL, duplicate, NULL, 1, SPLICE_F_NONBLOCK));
	tried("hide memory from the kernel", syscall(SYS_memfd_secret, 0));
	tried("start asynchronous I/O", syscall(SYS_io_setup, 1, &(unsigned long){ 0 }));
	tried("map pages of a file in another order", syscall(SYS_remap_file_pages, room, 0, 0, 0, 0));
	tried("list its own pages' nodes", syscall(SYS_move_pages, 0, 0, NULL, NULL, NULL, 0));
	tried("open itself", syscall(SYS_pidfd_open, getpid(), 0));
	tried("install a filter of its own", syscall(SYS_seccomp, 1, 0, NULL));
	tried("control the CPUs of another process", sched_setaffinity(getppid() + 1, 0, NULL));
	tried("create a message queue", syscall(SYS_mq_open, "x", O_CREAT | O_RDWR, 0600, NULL));
}

static void network(const char *directory)
{
	struct sockaddr_un local = { .sun_family = AF_UNIX };
	struct sockaddr_in loopback = {
		.sin_family = AF_INET,
		.sin_port = htons(9),
		.sin_addr = { htonl(INADDR_LOOPBACK) },
	};
	struct sockaddr_vm other = { .svm_family = AF_VSOCK, .svm_cid = 3, .svm_port = 9 };
	tried("connect to the host", connect_to(AF_INET, &loopback, sizeof(loopback)));
	tried("connect to another VM", connect_to(AF_VSOCK, &other, sizeof(other)));
	tried("open a netlink socket", socket(AF_NETLINK, SOCK_RAW, 0));
	tried("open a packet socket", socket(AF_PACKET, SOCK_RAW, 0));
	snprintf(local.sun_path, sizeof(local.sun_path), "%s/socket", directory);
	tried("connect to the VM's device", connect_to(AF_UNIX, &local, sizeof(local)));
	// Use an abstract socket name, which starts with a zero byte.
	memset(local.sun_path, 0, sizeof(local.sun_path));
	int length = snprintf(local.sun_path + 1, 64, "%s", directory);
	tried("connect to an abstract socket",
	      connect_to(AF_UNIX, &local, offsetof(struct sockaddr_un, sun_path) + 1 + length));
}

// Gives the calling thread a name as NVIDIA's driver library does.
static long name_thread(void)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", gettid());
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	long result = fd < 0 ? -1 : write(fd, "driver", 6);
	if (fd >= 0)
		close(fd);
	return result;
}

static void *named_thread(void *nothing)
{
	return (void *)name_thread();
}

// Makes an ioctl as on NVIDIA's devices, on a file that isn't one of them. `size` is the size of
// the argument, whose last 4 bytes contain the driver's status.
static long driver_call(int number, unsigned int size, unsigned int operation, void *parameters,
			unsigned int length)
{
	unsigned char argument[64] = { 0 };
	int fd = open("/dev/null", O_RDWR);
	memcpy(argument + 8, &operation, sizeof(operation));
	memcpy(argument + 16, &parameters, sizeof(parameters));
	memcpy(argument + 24, &length, sizeof(length));
	long result = ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 'F', number, size), argument);
	if (result == 0 && argument[28] != 0) {
		errno = EACCES;
		return -1;
	}
	return result;
}

// Allocates an object with these parameters.
static long allocate(unsigned int class, void *parameters)
{
	struct {
		unsigned int client, parent, object, class;
		void *parameters, *rights;
		unsigned int size, flags, status, unused;
	} argument = { 0xc1d00001, 0xc1d00001, 0, class, parameters, NULL, 0, 0, 0, 0 };
	int fd = open("/dev/null", O_RDWR);
	long result = ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, 'F', 0x2b, sizeof(argument)), &argument);
	if (result == 0 && argument.status != 0) {
		errno = EACCES;
		return -1;
	}
	return result;
}

// Tries driver operations. All of them fail, even permitted ones, because the supervisor finds that
// the file isn't one of NVIDIA's devices.
static void driver_operations(void)
{
	static unsigned char parameters[16384];
	tried("stop channels of the GPU",
	      driver_call(0x2a, 32, 0x2080110b, parameters, 536));
	tried("restart a runlist", driver_call(0x2a, 32, 0xa06f0111, parameters, 8));
	tried("allocate a client", allocate(0x41, NULL));
	unsigned int debugged[] = { 0, 0xc1d00002, 0x5c00001d };
	tried("debug an object of another client", allocate(0x83de, debugged));
	tried("allocate a privileged object", allocate(0x2082, parameters));
	tried("wrap an operation in another call", driver_call(0xd3, 16, 0x2080110b, parameters, 536));
	int device = open("/dev/null", O_RDWR);
	tried("allocate an object of another kind", driver_call(0x28, 32, 0, NULL, 0));
	tried("read another process's memory through nvidia-uvm", ioctl(device, 62, parameters));
	tried("count another process's page faults", ioctl(device, 56, parameters));
	tried("run a test of nvidia-uvm", ioctl(device, 200, parameters));
	tried("type into a terminal", ioctl(device, TIOCSTI, "x"));
	tried("idle channels of the GPU", driver_call(0x41, 40, 0, NULL, 0));
	tried("pass an argument of another size",
	      driver_call(0x2a, 48, 0x2080110b, parameters, 536));
	tried("pass a pointer to the supervisor",
	      driver_call(0x2a, 32, 0x80170d, parameters, 4096));
	tried("pass a wild pointer", driver_call(0x2a, 32, 0x201, (void *)8, 128));
	tried("pass a file that isn't a GPU", driver_call(0x2a, 32, 0x201, parameters, 128));
}

// Tries operations that driver libraries need, which must succeed.
static void permitted(void)
{
	tried("(allowed) name a thread", name_thread());
	tried("(allowed) read its own memory map", open("/proc/self/maps", O_RDONLY));
	tried("(allowed) share memory within the VM",
	      open("/dev/shm/redteam-left", O_CREAT | O_RDWR, 0600));
	tried("(allowed) create a temporary file", open("/tmp/x", O_CREAT | O_RDWR, 0600));
	tried("(allowed) change its own stderr", fcntl(2, F_SETFL, O_NONBLOCK));
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

static void *attack(void *nothing)
{
	static char known[4096];
	snprintf(known, sizeof(known), "%s", getenv("SOFTGPU_REDTEAM"));
	char *directory = strchr(known, ':');
	*directory++ = 0;
	// Wait until the worker has installed its filter, which it does when it gets its session.
	while (filters() == filters_at_load)
		usleep(1000);
	report = fopen("/tmp/report.part", "we");
	files(directory);
	processes(atoi(known));
	kernel();
	network(directory);
	privileges();
	driver_operations();
	permitted();
	// Make a large number of refused calls, which the log and the broker must withstand.
	for (int i = 0; i < FLOOD; i++)
		syscall(SYS_personality, 0xffffffff);
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
	void *named;
	pthread_create(&thread, NULL, named_thread, NULL);
	pthread_join(thread, &named);
	if ((long)named < 0)
		return CUDA_ERROR_OPERATING_SYSTEM;
	user_at_load = getuid();
	filters_at_load = filters();
	pthread_create(&thread, NULL, attack, NULL);
	return softgpus(flags);
}
