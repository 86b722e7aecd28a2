//! The system call filter of a process that serves a VM.
//!
//! The broker knows these processes by their process IDs. A child process of a worker could outlive
//! the session, the VM and the broker, and its use of the GPU would be charged to no VM. So the
//! filter refuses to create processes. It also refuses what no process of a VM needs and what has
//! been a way to attack kernels. Other system calls stay allowed, because NVIDIA's driver needs many
//! of them, and the set may change with the driver's version.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

/// System calls that fail with EPERM whatever their arguments.
const REFUSED: [libc::c_long; 60] = [
    // They start programs or processes, or access other processes.
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    // The numbers of the last five calls above in the x32 ABI.
    520,
    521,
    539,
    540,
    545,
    libc::SYS_tkill,
    libc::SYS_pidfd_send_signal,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_kcmp,
    // They run code in the kernel, or make it wait for this process.
    libc::SYS_bpf,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    // The kernel keeps keys in one place for all users.
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // They change namespaces, mounts, or the root directory, or find files without a path.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    // They change settings of the whole host, and need privileges that the process doesn't have.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_iopl,
    libc::SYS_ioperm,
];

/// From the kernel's `fcntl.h` and `sockios.h`.
const F_SETOWN_EX: u64 = 15;
const FIOSETOWN: u64 = 0x8901;
const SIOCSPGRP: u64 = 0x8902;

/// The numbers of ioctls of NVIDIA's devices: control operations, operations that are wrapped in
/// another ioctl, and those that libcuda doesn't use and that aren't restricted to the caller's own
/// objects, or change settings (nv_escape.h and nv-ioctl-numbers.h). The driver reads only the low 8
/// bits, and all of them have arguments whose size is in the bits above.
const CONTROL: u64 = 0x2a;
const WRAPPED: u64 = 0xd3;
const NEVER_USED: [u64; 9] = [0x28, 0x32, 0x33, 0x37, 0x38, 0x39, 0x41, 0x4d, 0x5f];

/// The bit that marks a system call of the x32 ABI (x86-64 with 32-bit pointers). To a filter, such
/// calls have the x86-64 architecture. Not all kernels support that ABI.
const X32: libc::c_long = 0x4000_0000;

/// The reason why a filter can't be installed.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The library can't compile or install it.
    #[error(transparent)]
    Library(#[from] seccompiler::Error),
    /// The kernel refuses it.
    #[error("{0}")]
    Kernel(#[from] io::Error),
}

impl From<BackendError> for FilterError {
    fn from(error: BackendError) -> Self {
        Self::Library(error.into())
    }
}

/// Installs the filters permanently on all threads of this process: first those of
/// [`install_early`]. The process can still start threads. If this fails, it must not serve a VM.
pub fn install() -> Result<(), FilterError> {
    install_early()?;
    finish()
}

/// Installs all that doesn't prevent the process from switching to its VM's user. It takes most of
/// the time, so a worker does this before it gets a session.
pub fn install_early() -> Result<(), FilterError> {
    // Within one filter, all refused calls fail with the same error, so two errors need two
    // filters.
    for filter in [refused()?, unknown()?] {
        seccompiler::apply_filter_all_threads(&filter)?;
    }
    Ok(())
}

/// Installs the rest, after [`install_early`] and after switching to the VM's user.
pub fn finish() -> Result<(), FilterError> {
    Ok(seccompiler::apply_filter_all_threads(&refused_at_last()?)?)
}

/// Does the same as [`finish`], and makes control operations of NVIDIA's driver, on all threads, wait
/// until whoever has the returned listener has answered them.
pub fn finish_with_listener() -> Result<OwnedFd, FilterError> {
    finish()?;
    Ok(listen(&supervised()?)?)
}

/// A worker is killed when the broker dies, and must not be able to disable that. Switching users
/// disables it, too, so until then, the worker must be able to enable it again.
fn refused_at_last() -> Result<BpfProgram, BackendError> {
    let parents_end = libc::PR_SET_PDEATHSIG as u64;
    let rule = first_argument(SeccompCmpOp::Eq, parents_end)?;
    program(vec![(libc::SYS_prctl, vec![rule])], libc::EPERM)
}

/// Returns the filter that makes control operations wait.
fn supervised() -> Result<BpfProgram, BackendError> {
    let rules = BTreeMap::from([(libc::SYS_ioctl, vec![of_nvidia(CONTROL)?])]);
    // The library has no action for notifications, so another one is replaced.
    let (replaced, allow) = (SeccompAction::Trace(0), SeccompAction::Allow);
    let filter = SeccompFilter::new(rules, allow, replaced, TargetArch::x86_64)?;
    let mut filter: BpfProgram = filter.try_into()?;
    for instruction in &mut filter {
        let returns = instruction.code == (libc::BPF_RET | libc::BPF_K) as u16;
        if returns && instruction.k == libc::SECCOMP_RET_TRACE {
            instruction.k = libc::SECCOMP_RET_USER_NOTIF;
        }
    }
    Ok(filter)
}

/// Returns a rule for ioctls of NVIDIA's devices with this number. Ioctls without a size in their
/// number, such as all those of nvidia-uvm, aren't affected.
fn of_nvidia(number: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![
        condition(1, SeccompCmpOp::MaskedEq(0xff), number)?,
        condition(1, SeccompCmpOp::Gt, 0xffff)?,
    ])
}

/// Installs a filter on all threads, and returns its listener.
fn listen(filter: &BpfProgram) -> io::Result<OwnedFd> {
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER
        | libc::SECCOMP_FILTER_FLAG_TSYNC
        | libc::SECCOMP_FILTER_FLAG_TSYNC_ESRCH;
    // Once a call has been received, only a signal that ends the process should interrupt it. Linux
    // before 5.19 can't do that, and repeats a call that another signal interrupted.
    match listen_with(filter, flags | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => listen_with(filter, flags),
        done => done,
    }
}

fn listen_with(filter: &BpfProgram, flags: libc::c_ulong) -> io::Result<OwnedFd> {
    let length = filter.len().try_into().map_err(io::Error::other)?;
    // The kernel's and the library's structures of an instruction are the same.
    let filter = libc::sock_fprog { len: length, filter: filter.as_ptr().cast_mut().cast() };
    let mode = libc::SECCOMP_SET_MODE_FILTER;
    // SAFETY: the structure describes the filter's instructions, which the kernel only reads.
    let fd = unsafe { libc::syscall(libc::SYS_seccomp, mode, flags, &raw const filter) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, so nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}

/// The system calls with which the supervisor performs operations for workers, starts threads, and
/// logs.
const SUPERVISOR: [libc::c_long; 44] = [
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

/// Installs the supervisor's filter permanently on all threads: it allows only what the supervisor
/// uses. Other calls fail with EPERM.
pub fn install_for_supervisor() -> Result<(), FilterError> {
    let rules = SUPERVISOR.into_iter().map(|call| (call, Vec::new())).collect();
    let refused = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, TargetArch::x86_64)?;
    let filter: BpfProgram = filter.try_into()?;
    Ok(seccompiler::apply_filter_all_threads(&filter)?)
}

/// Returns the filter that makes system calls fail with EPERM.
fn refused() -> Result<BpfProgram, BackendError> {
    let mut rules: Vec<_> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    // Starting a thread is allowed, because threads end with their process.
    let no_thread = SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64);
    rules.push((libc::SYS_clone, vec![first_argument(no_thread, 0)?]));
    // Processes of a VM have the same user, but a process can send signals only to itself, and change
    // only its own limits and pages. A process ID of 0 means this process, except that signals to 0
    // go to the whole process group.
    let own = u64::from(std::process::id());
    let signals = [
        libc::SYS_kill,
        libc::SYS_tgkill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_rt_tgsigqueueinfo,
        // The numbers of the last two in the x32 ABI.
        524,
        536,
    ];
    for call in signals {
        rules.push((call, vec![first_argument(SeccompCmpOp::Ne, own)?]));
    }
    for call in [libc::SYS_prlimit64, libc::SYS_move_pages, libc::SYS_migrate_pages, 533] {
        let other = |value| condition(0, SeccompCmpOp::Ne, value);
        rules.push((call, vec![SeccompRule::new(vec![other(0)?, other(own)?])?]));
    }
    let second = |value| SeccompRule::new(vec![condition(1, SeccompCmpOp::Eq, value)?]);
    // They make the kernel send signals.
    let owners = [libc::F_SETOWN as u64, F_SETOWN_EX];
    rules.push((libc::SYS_fcntl, owners.map(second).into_iter().collect::<Result<_, _>>()?));
    let owners = [FIOSETOWN, SIOCSPGRP].map(second);
    let others = [WRAPPED].into_iter().chain(NEVER_USED).map(of_nvidia);
    let ioctls = owners.into_iter().chain(others).collect::<Result<Vec<_>, _>>()?;
    // The number of ioctl in the x32 ABI, in which nobody performs control operations.
    rules.push((514, [ioctls.clone(), vec![of_nvidia(CONTROL)?]].concat()));
    rules.push((libc::SYS_ioctl, ioctls));
    // Only Unix sockets: others reach the network, other VMs (AF_VSOCK), or more of the kernel.
    let other_family = first_argument(SeccompCmpOp::Ne, libc::AF_UNIX as u64)?;
    rules.push((libc::SYS_socket, vec![other_family]));
    program(rules, libc::EPERM)
}

/// Returns the filter that makes clone3 fail with ENOSYS, after which the C library uses clone
/// instead. Calls of clone3 can't be examined, because their flags are in memory, which a filter
/// can't read.
fn unknown() -> Result<BpfProgram, BackendError> {
    program(vec![(libc::SYS_clone3, Vec::new())], libc::ENOSYS)
}

/// Returns a rule that applies if a call's first argument satisfies this comparison with `value`.
/// Only 32 bits are compared, as in the kernel.
fn first_argument(is: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![condition(0, is, value)?])
}

fn condition(argument: u8, is: SeccompCmpOp, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, is, value)
}

/// Builds a filter in which the calls in `rules` fail with `errno` and all others are allowed. A
/// call of the 32-bit ABI, in which numbers have other meanings, kills the process: seccompiler
/// adds that check before the rules.
fn program(
    rules: Vec<(libc::c_long, Vec<SeccompRule>)>,
    errno: libc::c_int,
) -> Result<BpfProgram, BackendError> {
    let both = |(call, rules): (libc::c_long, Vec<SeccompRule>)| {
        [(call, rules.clone()), (call | X32, rules)]
    };
    let rules: BTreeMap<_, _> = rules.into_iter().flat_map(both).collect();
    let answer = SeccompAction::Errno(errno as u32);
    SeccompFilter::new(rules, SeccompAction::Allow, answer, TargetArch::x86_64)?.try_into()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Output};
    use std::sync::mpsc::channel;

    use super::*;

    const MARK: &str = "VIRTIO_CUDA_TEST_FILTERED";

    /// Runs a test of this module in a child process, because a filter can't be removed from a
    /// process. Returns `None` in the child, and the child's output in the parent.
    fn in_its_own_process(test: &str) -> Option<Output> {
        if std::env::var_os(MARK).is_some() {
            return None;
        }
        let (_, module) = module_path!().split_once("::").unwrap();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", &format!("{module}::{test}"), "--nocapture", "--test-threads=1"])
            .env(MARK, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("running 1 test"), "{test} was not run: {output:?}");
        Some(output)
    }

    /// Makes a system call with these arguments, padded with zeros, and returns its error.
    fn errno<const N: usize>(call: libc::c_long, arguments: [usize; N]) -> i32 {
        let mut all = [0; 6];
        all[..N].copy_from_slice(&arguments);
        let [a, b, c, d, e, f] = all;
        // SAFETY: the tests pass no memory that the call would write to.
        let result = unsafe { libc::syscall(call, a, b, c, d, e, f) };
        let starts = [libc::SYS_fork, libc::SYS_vfork, libc::SYS_clone].contains(&(call & !X32));
        if result == 0 && starts {
            // If a call that should be refused created a child process, the child gets here, and
            // must not continue the test.
            // SAFETY: _exit takes no pointers, and the process ends here.
            unsafe { libc::_exit(1) }
        }
        if result >= 0 {
            return 0;
        }
        std::io::Error::last_os_error().raw_os_error().unwrap()
    }

    #[test]
    fn a_filtered_process_can_start_threads_but_not_processes() {
        if let Some(output) =
            in_its_own_process("a_filtered_process_can_start_threads_but_not_processes")
        {
            return assert!(output.status.success(), "{output:?}");
        }
        // Start a thread before the filter is installed, as the driver library does.
        let (go, wait) = channel::<()>();
        let before = std::thread::spawn(move || {
            wait.recv().unwrap();
            errno(libc::SYS_fork, [])
        });
        install().unwrap();
        go.send(()).unwrap();
        assert_eq!(before.join().unwrap(), libc::EPERM);
        assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);

        let signal = libc::SIGCHLD as usize;
        let shares_memory = (libc::CLONE_VM | libc::CLONE_VFORK) as usize | signal;
        let program = c"/bin/true".as_ptr() as usize;
        let arguments = [program, 0];
        let arguments = arguments.as_ptr() as usize;
        assert_eq!(errno(libc::SYS_fork, []), libc::EPERM);
        assert_eq!(errno(libc::SYS_clone, [signal]), libc::EPERM);
        assert_eq!(errno(libc::SYS_clone, [shares_memory]), libc::EPERM);
        assert_eq!(errno(libc::SYS_vfork, []), libc::EPERM);
        assert_eq!(errno(libc::SYS_clone3, []), libc::ENOSYS);
        assert_eq!(errno(libc::SYS_execve, [program, arguments]), libc::EPERM);
        let here = libc::AT_FDCWD as usize;
        assert_eq!(errno(libc::SYS_execveat, [here, program, arguments]), libc::EPERM);
        assert_eq!(errno(libc::SYS_prctl, [libc::PR_SET_PDEATHSIG as usize]), libc::EPERM);
        assert_eq!(errno(libc::SYS_ptrace, [libc::PTRACE_TRACEME as usize]), libc::EPERM);
        let pid = std::process::id() as usize;
        assert_eq!(errno(libc::SYS_process_vm_readv, [pid]), libc::EPERM);
        assert_eq!(errno(libc::SYS_process_vm_writev, [pid]), libc::EPERM);
        assert_eq!(errno(X32 | libc::SYS_fork, []), libc::EPERM);
        assert_eq!(errno(X32 | 520, [program, arguments]), libc::EPERM);
        let error = Command::new("/bin/true").spawn().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    }

    #[test]
    fn a_drivers_control_operations_wait_for_the_listener() {
        let name = "a_drivers_control_operations_wait_for_the_listener";
        if let Some(output) = in_its_own_process(name) {
            return assert!(output.status.success(), "{output:?}");
        }
        install_early().unwrap();
        let listener = finish_with_listener().unwrap();
        let number = |low: usize| 3 << 30 | 32 << 16 | (b'F' as usize) << 8 | low;
        let argument = [0u64; 4];
        let argument = argument.as_ptr() as usize;
        let null = std::fs::File::open("/dev/null").unwrap();
        let null = null.as_raw_fd() as usize;
        let waits = std::thread::spawn(move || {
            errno(libc::SYS_ioctl, [null, number(CONTROL as usize), argument])
        });
        // SAFETY: the structure contains only integers, and the kernel requires zeros.
        let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        let mut answer = libc::seccomp_notif_resp { id: 0, val: 0, error: -libc::EDOM, flags: 0 };
        let listener = listener.as_raw_fd();
        // SAFETY: the arguments are writable and have the sizes that the requests say.
        unsafe {
            assert_eq!(libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_RECV, &mut call), 0);
            answer.id = call.id;
            assert_eq!(libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &mut answer), 0);
        }
        assert_eq!(
            call.data.args[..3],
            [null, number(CONTROL as usize), argument].map(|a| a as u64)
        );
        assert_eq!(waits.join().unwrap(), libc::EDOM);
        // The same operation inside another one, and one that libcuda doesn't use.
        for low in [WRAPPED, NEVER_USED[0]] {
            let refused = errno(libc::SYS_ioctl, [null, number(low as usize), argument]);
            assert_eq!(refused, libc::EPERM, "{low:#x}");
        }
        // Other ioctls reach the file, such as those of nvidia-uvm, which have only a number.
        for other in [CONTROL as usize, number(0x2b)] {
            let result = errno(libc::SYS_ioctl, [null, other, argument]);
            assert_eq!(result, libc::ENOTTY, "{other:#x}");
        }
    }

    #[test]
    fn a_filter_that_cannot_be_installed_is_an_error() {
        if let Some(output) = in_its_own_process("a_filter_that_cannot_be_installed_is_an_error") {
            return assert!(output.status.success(), "{output:?}");
        }
        // As in a container that doesn't allow filters.
        let outer = program(vec![(libc::SYS_seccomp, Vec::new())], libc::EPERM).unwrap();
        seccompiler::apply_filter_all_threads(&outer).unwrap();
        assert!(install().is_err());
    }

    #[test]
    fn the_32_bit_abi_does_not_bypass_the_filter() {
        let Some(output) = in_its_own_process("the_32_bit_abi_does_not_bypass_the_filter") else {
            install().unwrap();
            let getpid_of_i386 = 20;
            // SAFETY: getpid doesn't access memory; the kernel may change r8 to r11.
            unsafe {
                std::arch::asm!(
                    "int 0x80",
                    inout("eax") getpid_of_i386 => _,
                    out("r8") _, out("r9") _, out("r10") _, out("r11") _,
                );
            }
            return;
        };
        // On a kernel without the 32-bit ABI, the instruction faults instead.
        let signal = output.status.signal();
        assert!(matches!(signal, Some(libc::SIGSYS | libc::SIGSEGV)), "{output:?}");
    }
}
