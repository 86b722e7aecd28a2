//! System calls that a worker which serves a session is refused: it leaves no processes behind.
//!
//! What counts and ends workers knows them by their process ids. A descendant of a worker would
//! outlive its session, its VM and the broker, and what it takes of a GPU would be nobody's. All
//! other calls stay allowed: NVIDIA's driver needs many, and which ones is its own affair.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp,
    SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// Refused with EPERM, whatever their arguments: what starts processes and programs, and what
/// reaches into other processes.
const REFUSED: [libc::c_long; 12] = [
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    // The x32 ABI has numbers of its own for the last five.
    520,
    521,
    539,
    540,
    545,
];

/// Set in the number of a call of the x32 ABI (x86-64 with short pointers), which counts as x86-64
/// to a filter. The kernel may have it or not.
const X32: libc::c_long = 0x4000_0000;

/// Gives all threads of this process the filter, for good. Threads can still be started. Where the
/// host has no such filters that is logged, and the worker goes on, as it does without namespaces.
pub(super) fn refuse_descendants() {
    if let Err(error) = install() {
        tracing::warn!("the worker can leave processes behind: no system call filter: {error}");
    }
}

fn install() -> Result<(), Error> {
    // A filter has one answer to what it refuses, so there are two. The second is harmless alone.
    for filter in [refused()?, unknown()?] {
        seccompiler::apply_filter_all_threads(&filter)?;
    }
    Ok(())
}

/// EPERM for all that is refused.
fn refused() -> Result<BpfProgram, BackendError> {
    let mut rules: Vec<_> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    // A thread ends with its process.
    let no_thread = SeccompCmpOp::MaskedEq(libc::CLONE_THREAD as u64);
    rules.push((libc::SYS_clone, vec![first_argument(no_thread, 0)?]));
    // The worker is killed when the broker ends. It can't call that off.
    let parents_end = libc::PR_SET_PDEATHSIG as u64;
    rules.push((libc::SYS_prctl, vec![first_argument(SeccompCmpOp::Eq, parents_end)?]));
    program(rules, libc::EPERM)
}

/// ENOSYS for clone3, whose flags are in memory, where a filter can't see them. The C library
/// takes clone then.
fn unknown() -> Result<BpfProgram, BackendError> {
    program(vec![(libc::SYS_clone3, Vec::new())], libc::ENOSYS)
}

/// The kernel takes 32 bits of the arguments in question, too.
fn first_argument(is: SeccompCmpOp, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Dword, is, value)?])
}

/// The program that answers these calls so, and allows all others. A call by the 32-bit ABI, whose
/// numbers mean other calls, kills the process: seccompiler puts that before the rules.
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

    /// Runs a test of this module again in a process of its own, which keeps the filter. `None`:
    /// this is that process.
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

    /// The error that a call with these arguments, zeros behind them, is answered with.
    fn errno<const N: usize>(call: libc::c_long, arguments: [usize; N]) -> i32 {
        let mut all = [0; 6];
        all[..N].copy_from_slice(&arguments);
        let [a, b, c, d, e, f] = all;
        // SAFETY: the tests pass nothing that a call would write to.
        let result = unsafe { libc::syscall(call, a, b, c, d, e, f) };
        let starts = [libc::SYS_fork, libc::SYS_vfork, libc::SYS_clone].contains(&(call & !X32));
        if result == 0 && starts {
            // The child of a call that was not refused, before it does anything as this process.
            // SAFETY: the process ends here.
            unsafe { libc::_exit(1) }
        }
        if result >= 0 {
            return 0;
        }
        std::io::Error::last_os_error().raw_os_error().unwrap()
    }

    #[test]
    fn a_filtered_process_starts_threads_and_no_processes() {
        if let Some(output) =
            in_its_own_process("a_filtered_process_starts_threads_and_no_processes")
        {
            return assert!(output.status.success(), "{output:?}");
        }
        // One that is there before the filter, as the driver library's are.
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
    fn the_32_bit_abi_is_no_way_around_the_filter() {
        let Some(output) = in_its_own_process("the_32_bit_abi_is_no_way_around_the_filter") else {
            refuse_descendants();
            let getpid_of_i386 = 20;
            // SAFETY: getpid touches no memory; the kernel may change r8 to r11.
            unsafe {
                std::arch::asm!(
                    "int 0x80",
                    inout("eax") getpid_of_i386 => _,
                    out("r8") _, out("r9") _, out("r10") _, out("r11") _,
                );
            }
            return;
        };
        // A kernel without that ABI makes a fault of it.
        let signal = output.status.signal();
        assert!(matches!(signal, Some(libc::SIGSYS | libc::SIGSEGV)), "{output:?}");
    }
}
