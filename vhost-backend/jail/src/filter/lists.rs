//! The system calls that each kind of process may make.
//!
//! The lists contain the calls that driver libraries and the project's programs were recorded to
//! make (`recorded/`). They also contain calls that driver libraries, these programs, the C
//! library, or Rust's library may make in rarer cases, such as after an error, if these calls
//! affect only the process itself, or files and sockets that it can open anyway.

use libc::{EPERM, c_int, c_long};

use super::driver;
use super::program::{Calls, Condition, Outcome, equal};

/// How a worker's filter treats system calls that aren't on its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unlisted {
    /// An unlisted call fails with EPERM.
    Refuse,
    /// An unlisted call waits for the supervisor, which refuses it, logs it, and counts it.
    /// Operations on objects of NVIDIA's driver also wait for the supervisor, which performs
    /// permitted ones for the worker.
    AskSupervisor,
}

/// Calls that manage the memory of the process itself. The process's resource limits decide whether
/// it can lock memory.
const MEMORY: [c_long; 15] = [
    libc::SYS_brk,
    libc::SYS_get_mempolicy,
    libc::SYS_madvise,
    libc::SYS_mbind,
    libc::SYS_memfd_create,
    libc::SYS_mincore,
    libc::SYS_mlock,
    libc::SYS_mlock2,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_msync,
    libc::SYS_munlock,
    libc::SYS_munmap,
    libc::SYS_set_mempolicy,
];

/// Calls for threads, their synchronization, and the end of the process. `of_vm` permits clone,
/// which starts threads, only with certain flags.
const THREADS: [c_long; 17] = [
    libc::SYS_arch_prctl,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_futex,
    libc::SYS_futex_waitv,
    libc::SYS_get_robust_list,
    libc::SYS_getcpu,
    libc::SYS_gettid,
    libc::SYS_membarrier,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
];

/// Calls for handling signals that the process receives.
const SIGNALS: [c_long; 8] = [
    libc::SYS_pause,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_sigaltstack,
];

/// Calls for clocks and timers.
const TIME: [c_long; 15] = [
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_nanosleep,
    libc::SYS_time,
    libc::SYS_timer_create,
    libc::SYS_timer_delete,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_gettime,
    libc::SYS_timer_settime,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_gettime,
    libc::SYS_timerfd_settime,
    libc::SYS_times,
];

/// Calls that return facts about the process and the host.
const FACTS: [c_long; 18] = [
    libc::SYS_capget,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getgroups,
    libc::SYS_getpgrp,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getpriority,
    libc::SYS_getrandom,
    libc::SYS_getresgid,
    libc::SYS_getresuid,
    libc::SYS_getrlimit,
    libc::SYS_getrusage,
    libc::SYS_getuid,
    libc::SYS_sched_getscheduler,
    libc::SYS_sysinfo,
    libc::SYS_uname,
];

/// Calls that use open descriptors, or wait for them.
const DESCRIPTORS: [c_long; 38] = [
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_dup,
    libc::SYS_dup2,
    libc::SYS_dup3,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd2,
    libc::SYS_fadvise64,
    libc::SYS_fallocate,
    libc::SYS_fchmod,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_getdents64,
    libc::SYS_lseek,
    libc::SYS_pipe,
    libc::SYS_pipe2,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_pselect6,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_select,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Calls that use files by their paths. The process's jail and its user determine which files it
/// can access.
const PATHS: [c_long; 27] = [
    libc::SYS_access,
    libc::SYS_chdir,
    libc::SYS_chmod,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fchmodat,
    libc::SYS_getcwd,
    libc::SYS_link,
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_newfstatat,
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_rmdir,
    libc::SYS_stat,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_symlink,
    libc::SYS_truncate,
    libc::SYS_umask,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
];

/// Calls that use existing sockets. `of_vm` permits creating sockets only of one kind.
const SOCKETS: [c_long; 15] = [
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_getpeername,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_listen,
    libc::SYS_recvfrom,
    libc::SYS_recvmmsg,
    libc::SYS_recvmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_shutdown,
];

/// The commands of fcntl. The list doesn't contain commands that make the kernel send signals or
/// grant leases.
const FCNTL: [c_int; 15] = [
    libc::F_ADD_SEALS,
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GET_SEALS,
    libc::F_GETFD,
    libc::F_GETFL,
    libc::F_GETLK,
    libc::F_GETPIPE_SZ,
    libc::F_OFD_GETLK,
    libc::F_OFD_SETLK,
    libc::F_OFD_SETLKW,
    libc::F_SETFD,
    libc::F_SETFL,
    libc::F_SETLK,
    libc::F_SETLKW,
];

/// Ioctls for terminals, pipes, and sockets. Programs also use these ioctls to find out the kind of
/// file that a descriptor refers to.
const IOCTLS: [u64; 6] =
    [libc::FIOCLEX, libc::FIONBIO, libc::FIONCLEX, libc::FIONREAD, libc::TCGETS, libc::TIOCGWINSZ];

/// The options of prctl. The list doesn't contain options such as PR_SET_PDEATHSIG, with which a
/// worker could survive the broker.
const PRCTL: [c_int; 7] = [
    libc::PR_GET_DUMPABLE,
    libc::PR_GET_NAME,
    libc::PR_GET_NO_NEW_PRIVS,
    libc::PR_GET_TIMERSLACK,
    libc::PR_SET_NAME,
    libc::PR_SET_TIMERSLACK,
    libc::PR_SET_VMA,
];

/// All flags of clone that create a namespace.
const NAMESPACES: c_int = libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWUTS;

/// Returns the list for processes that handle data from guests: workers and device processes.
/// Ioctls are added separately for each kind.
fn of_vm(unlisted: Outcome) -> Calls {
    let mut calls = Calls::new(unlisted);
    for group in [&MEMORY[..], &THREADS, &SIGNALS, &TIME, &FACTS, &DESCRIPTORS, &PATHS, &SOCKETS] {
        calls.allow(group);
    }
    // The broker knows the processes of a VM by their process IDs. A child process of a worker
    // could outlive the session, the VM, and the broker, and its use of the GPU would be charged to
    // no VM. So a process can start only threads, which end with the process.
    let thread = libc::CLONE_THREAD as u32;
    let mask = thread | NAMESPACES as u32;
    calls.allow_if(libc::SYS_clone, [Condition { argument: 0, mask, value: thread }]);
    // The flags of clone3 are in memory, which a filter can't read. After ENOSYS, the C library
    // uses clone instead.
    calls.fail(libc::SYS_clone3, libc::ENOSYS);
    // All processes of a VM have the same user, so the kernel would let them signal one another.
    // The filter lets a process send signals only to itself, and change only its own limits and
    // CPUs. A process ID of 0 means this process, except that signals to 0 go to the whole process
    // group.
    let own = std::process::id();
    for call in [libc::SYS_kill, libc::SYS_tgkill] {
        calls.allow_if(call, [equal(0, own)]);
    }
    for call in [libc::SYS_prlimit64, libc::SYS_sched_setaffinity] {
        calls.allow_if(call, [equal(0, 0), equal(0, own)]);
    }
    // Sockets of other address families could reach the network, other VMs (AF_VSOCK), or more of
    // the kernel.
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        calls.allow_if(call, [equal(0, libc::AF_UNIX as u32)]);
    }
    calls.allow_if(libc::SYS_setsockopt, [equal(1, libc::SOL_SOCKET as u32)]);
    calls.allow_if(libc::SYS_fcntl, FCNTL.map(|command| equal(1, command as u32)));
    calls.allow_if(libc::SYS_prctl, PRCTL.map(|option| equal(0, option as u32)));
    calls
}

fn generic_ioctls() -> impl Iterator<Item = Condition> {
    IOCTLS.into_iter().map(|request| equal(1, request as u32))
}

/// Returns the list for a worker.
pub(super) fn worker(unlisted: Unlisted) -> Calls {
    let (outcome, objects) = match unlisted {
        Unlisted::Refuse => (Outcome::Fail(EPERM), true),
        Unlisted::AskSupervisor => (Outcome::Notify, false),
    };
    let mut calls = of_vm(outcome);
    calls.allow_if(libc::SYS_ioctl, generic_ioctls().chain(driver::ioctls(objects)));
    calls
}

/// Returns the list for a device process.
pub(super) fn device() -> Calls {
    let mut calls = of_vm(Outcome::Fail(EPERM));
    calls.allow_if(libc::SYS_ioctl, generic_ioctls());
    calls
}

/// The system calls with which the supervisor performs operations for workers, starts threads, and
/// logs.
const SUPERVISOR: [c_long; 44] = [
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_close,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_gettid,
    libc::SYS_ioctl,
    libc::SYS_madvise,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_pidfd_getfd,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_prctl,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_read,
    libc::SYS_readlink,
    libc::SYS_recvmsg,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_set_robust_list,
    libc::SYS_sigaltstack,
    libc::SYS_write,
    libc::SYS_writev,
];

/// Returns the list for the supervisor.
pub(super) fn supervisor() -> Calls {
    let mut calls = Calls::new(Outcome::Fail(EPERM));
    calls.allow(&SUPERVISOR);
    calls
}
