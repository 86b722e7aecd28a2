//! The system call filter of a worker that serves a session. It prevents the worker from leaving
//! processes behind.
//!
//! The broker knows workers by their process ids. A child process of a worker could outlive its
//! session, its VM and the broker, and its use of the GPU would be charged to nobody. All other
//! system calls stay allowed, because NVIDIA's driver needs many of them, and the set may change
//! with its version.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// Calls that fail with EPERM whatever their arguments: those that start processes or programs, and
/// those that access other processes.
const REFUSED: [libc::c_long; 12] = [
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    // In the x32 ABI, the last five calls have these numbers.
    520,
    521,
    539,
    540,
    545,
];

/// The bit that marks a system call of the x32 ABI (x86-64 with 32-bit pointers), which a filter
/// sees as x86-64. The kernel may or may not support that ABI.
const X32: libc::c_long = 0x4000_0000;

/// Installs the filter on all threads of this process, permanently. The process can still start
/// threads. If the host doesn't support such filters, this logs a warning and the worker continues
/// without one.
pub(super) fn refuse_descendants() {
    if let Err(error) = install() {
        tracing::warn!(
            "cannot install the system call filter; the worker can leave processes behind: {error}"
        );
    }
}

fn install() -> Result<(), Error> {
    // All calls that a filter refuses get the same error, so two errors need two filters. If only
    // one of the filters is installed, programs still work.
    for filter in [refused()?, unknown()?] {
        seccompiler::apply_filter_all_threads(&filter)?;
    }
    Ok(())
}

/// Returns the filter that refuses calls with EPERM.
fn refused() -> Result<BpfProgram, BackendError> {
    let mut rules: Vec<_> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    // Starting a thread is allowed, because threads end with their process.
    let no_thread = SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64);
    rules.push((libc::SYS_clone, vec![first_argument(no_thread, 0)?]));
    // The worker is killed when the broker dies, and must not be able to disable that.
    let parents_end = libc::PR_SET_PDEATHSIG as u64;
    rules.push((libc::SYS_prctl, vec![first_argument(SeccompCmpOp::Eq, parents_end)?]));
    program(rules, libc::EPERM)
}

/// Returns the filter that refuses clone3 with ENOSYS, because its flags are in memory, where a
/// filter can't read them. The C library then falls back to clone.
fn unknown() -> Result<BpfProgram, BackendError> {
    program(vec![(libc::SYS_clone3, Vec::new())], libc::ENOSYS)
}

/// Returns a rule for the first argument. It compares 32 bits, as the kernel does for these
/// arguments.
fn first_argument(is: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Dword, is, value)?])
}

/// Builds the filter that fails these calls with `errno` and allows all others. A system call of
/// the 32-bit ABI, in which the same numbers mean other calls, kills the process: seccompiler
/// checks that before the rules.
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
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Output};
    use std::sync::mpsc::channel;

    use super::*;

    const MARK: &str = "VIRTIO_CUDA_TEST_FILTERED";

    /// Runs a test of this module again in a separate process, because the filter can't be removed
    /// from a process. Returns `None` in that process.
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

    /// Makes a system call with these arguments, followed by zeros, and returns its error.
    fn errno<const N: usize>(call: libc::c_long, arguments: [usize; N]) -> i32 {
        let mut all = [0; 6];
        all[..N].copy_from_slice(&arguments);
        let [a, b, c, d, e, f] = all;
        // SAFETY: the tests pass no memory that the call would write to.
        let result = unsafe { libc::syscall(call, a, b, c, d, e, f) };
        let starts = [libc::SYS_fork, libc::SYS_vfork, libc::SYS_clone].contains(&(call & !X32));
        if result == 0 && starts {
            // This is the child process of a call that was not refused. It must not continue the
            // test.
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
        // A thread that exists before the filter is installed, as threads of the driver library do.
        let (go, wait) = channel::<()>();
        let before = std::thread::spawn(move || {
            wait.recv().unwrap();
            errno(libc::SYS_fork, [])
        });
        refuse_descendants();
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
    fn the_32_bit_abi_does_not_bypass_the_filter() {
        let Some(output) = in_its_own_process("the_32_bit_abi_does_not_bypass_the_filter") else {
            refuse_descendants();
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
        // On a kernel without that ABI, the instruction faults.
        let signal = output.status.signal();
        assert!(matches!(signal, Some(libc::SIGSYS | libc::SIGSEGV)), "{output:?}");
    }
}
