use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use syscalls::Sysno;

use super::*;
use crate::child;

/// A bit in the numbers of the x32 ABI (x86-64 with 32-bit pointers). The kernel passes x32 calls
/// to a filter with the architecture x86-64.
const X32: c_long = 0x4000_0000;
/// The operations on objects of NVIDIA's driver: RM_FREE, RM_CONTROL, RM_ALLOC, and RM_DUP_OBJECT.
const OF_OBJECTS: [&str; 4] =
    ["ioctl 0xc0104629", "ioctl 0xc020462a", "ioctl 0xc030462b", "ioctl 0xc01c4634"];

const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
const NOTIFIED: u32 = libc::SECCOMP_RET_USER_NOTIF;

/// Interprets a filter's program as the kernel does, and returns its result.
fn run(filter: &Filter, architecture: u32, number: c_long, arguments: [u64; 6]) -> u32 {
    let mut call = vec![number as u32, architecture, 0, 0];
    call.extend(arguments.iter().flat_map(|argument| [*argument as u32, (argument >> 32) as u32]));
    let (mut at, mut loaded) = (0, 0);
    loop {
        let sock_filter { code, jt, jf, k } = filter.0[at];
        let code = u32::from(code);
        at += 1;
        let holds = match code {
            _ if code == libc::BPF_LD | libc::BPF_W | libc::BPF_ABS => {
                loaded = call[k as usize / 4];
                continue;
            }
            _ if code == libc::BPF_ALU | libc::BPF_AND | libc::BPF_K => {
                loaded &= k;
                continue;
            }
            _ if code == libc::BPF_JMP | libc::BPF_JA => {
                at += k as usize;
                continue;
            }
            _ if code == libc::BPF_RET | libc::BPF_K => return k,
            _ if code == libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K => loaded == k,
            _ if code == libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K => loaded >= k,
            _ => panic!("unexpected instruction {code:#x}"),
        };
        at += usize::from(if holds { jt } else { jf });
    }
}

fn outcome(filter: &Filter, number: c_long, arguments: [u64; 6]) -> u32 {
    const X86_64: u32 = 0xc000_003e;
    run(filter, X86_64, number, arguments)
}

/// Parses a line of a recorded list: the call's name and, if the list restricts an argument, the
/// argument's value.
fn recorded(line: &str) -> (c_long, [u64; 6]) {
    let (name, argument) = line.split_once(' ').unwrap_or((line, "0x0"));
    let number: Sysno = name.parse().unwrap_or_else(|_| panic!("{name} isn't a system call"));
    let value = u64::from_str_radix(argument.trim_start_matches("0x"), 16).unwrap();
    let index = match name {
        "fcntl" | "ioctl" | "setsockopt" => 1,
        _ => 0,
    };
    let mut arguments = [0; 6];
    arguments[index] = value;
    (number.id().into(), arguments)
}

#[track_caller]
fn assert_allowed(filter: &Filter, operations: u32, list: &str) {
    assert!(list.lines().count() > 30, "the list isn't complete");
    for line in list.lines() {
        let (number, arguments) = recorded(line);
        // Operations on objects wait for the supervisor.
        let expected = if OF_OBJECTS.contains(&line) { operations } else { ALLOWED };
        let outcome = outcome(filter, number, arguments);
        assert_eq!(outcome, expected, "{line}");
    }
}

#[test]
fn workers_may_make_all_calls_that_were_recorded_on_an_h200() {
    let list = include_str!("../../recorded/worker-h200.txt");
    assert_allowed(&Filter::of_worker(Unlisted::Refuse), ALLOWED, list);
    assert_allowed(&Filter::of_worker(Unlisted::AskSupervisor), NOTIFIED, list);
}

#[test]
fn workers_may_make_all_calls_that_were_recorded_with_softgpu() {
    let list = include_str!("../../recorded/worker-softgpu.txt");
    assert_allowed(&Filter::of_worker(Unlisted::Refuse), ALLOWED, list);
    assert_allowed(&Filter::of_worker(Unlisted::AskSupervisor), NOTIFIED, list);
}

#[test]
fn device_processes_may_make_all_calls_that_were_recorded() {
    assert_allowed(&Filter::of_device(), ALLOWED, include_str!("../../recorded/device.txt"));
}

/// Calls that a process of a VM doesn't need, and that could affect other processes or expose more
/// of the kernel. No filter may allow them.
const NEVER: [&str; 94] = [
    "acct",
    "add_key",
    "adjtimex",
    "bpf",
    "chroot",
    "clock_adjtime",
    "clock_settime",
    "copy_file_range",
    "delete_module",
    "execve",
    "execveat",
    "fanotify_init",
    "fanotify_mark",
    "finit_module",
    "fork",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "init_module",
    "inotify_add_watch",
    "inotify_init1",
    "io_setup",
    "io_submit",
    "io_uring_enter",
    "io_uring_register",
    "io_uring_setup",
    "ioperm",
    "iopl",
    "kcmp",
    "kexec_file_load",
    "kexec_load",
    "keyctl",
    "landlock_create_ruleset",
    "lookup_dcookie",
    "memfd_secret",
    "migrate_pages",
    "mknod",
    "mknodat",
    "modify_ldt",
    "mount",
    "mount_setattr",
    "move_mount",
    "move_pages",
    "mq_open",
    "msgctl",
    "msgget",
    "name_to_handle_at",
    "open_by_handle_at",
    "open_tree",
    "perf_event_open",
    "personality",
    "pidfd_getfd",
    "pidfd_open",
    "pidfd_send_signal",
    "pivot_root",
    "pkey_alloc",
    "process_madvise",
    "process_mrelease",
    "process_vm_readv",
    "process_vm_writev",
    "ptrace",
    "quotactl",
    "reboot",
    "remap_file_pages",
    "request_key",
    "sched_setattr",
    "sched_setparam",
    "sched_setscheduler",
    "seccomp",
    "semget",
    "set_mempolicy_home_node",
    "setdomainname",
    "setgroups",
    "sethostname",
    "setns",
    "setpriority",
    "setresgid",
    "setresuid",
    "settimeofday",
    "shmat",
    "shmget",
    "splice",
    "swapoff",
    "swapon",
    "syslog",
    "tee",
    "tkill",
    "umount2",
    "unshare",
    "userfaultfd",
    "vfork",
    "vhangup",
    "vmsplice",
];

#[test]
fn calls_that_reach_others_or_more_of_the_kernel_are_refused_whatever_their_arguments() {
    let filters = [
        (Filter::of_worker(Unlisted::Refuse), REFUSED),
        (Filter::of_worker(Unlisted::AskSupervisor), NOTIFIED),
        (Filter::of_device(), REFUSED),
    ];
    for (filter, expected) in filters {
        for name in NEVER {
            let number: Sysno = name.parse().unwrap();
            for value in [0, 1, u64::MAX] {
                let outcome = outcome(&filter, number.id().into(), [value; 6]);
                assert_eq!(outcome, expected, "{name}");
            }
        }
    }
}

#[test]
fn every_number_that_is_not_listed_is_refused() {
    let (worker, device) = (Filter::of_worker(Unlisted::Refuse), Filter::of_device());
    for filter in [&worker, &device] {
        let own = u64::from(std::process::id());
        let allowed = |number| {
            let values = [0, 1, own, libc::CLONE_THREAD as u64, libc::TCGETS, u64::MAX];
            values.iter().any(|value| outcome(filter, number, [*value; 6]) == ALLOWED)
        };
        let count = (0..1024).filter(|number| allowed(*number)).count();
        // Linux has more than twice as many system calls.
        assert!((150..180).contains(&count), "{count}");
        for number in (0..1024).map(|number| number | X32).chain([512, 0x7fff_ffff, -1]) {
            assert!(!allowed(number), "{number:#x}");
        }
    }
}

#[test]
fn arguments_are_restricted() {
    let filter = Filter::of_worker(Unlisted::Refuse);
    let own = u64::from(std::process::id());
    let thread = 0x3d_0f00;
    let user = thread | libc::CLONE_NEWUSER as u64;
    let operations = [0xc010_4629, 0xc020_462a, 0xc030_462b];
    let calls = [
        (libc::SYS_clone, 0, vec![thread], vec![libc::SIGCHLD as u64, user]),
        (libc::SYS_kill, 0, vec![own], vec![0, u64::MAX, own + 1]),
        (libc::SYS_tgkill, 0, vec![own], vec![0, own + 1]),
        (libc::SYS_prlimit64, 0, vec![0, own], vec![own + 1]),
        (libc::SYS_socket, 0, vec![1], vec![0, 2, 10, 16, 17, 40]),
        (libc::SYS_socketpair, 0, vec![1], vec![0, 2, 40]),
        (libc::SYS_setsockopt, 1, vec![1], vec![0, 6, 41]),
        // fcntl. Permitted: F_DUPFD_CLOEXEC and F_ADD_SEALS. Refused: F_SETOWN, F_SETSIG,
        // F_SETOWN_EX, F_SETLEASE, and F_NOTIFY.
        (libc::SYS_fcntl, 1, vec![1030, 1033], vec![8, 10, 15, 1024, 1026]),
        // prctl. Permitted: PR_SET_NAME. Refused: PR_SET_PDEATHSIG, PR_SET_DUMPABLE,
        // PR_SET_SECCOMP, PR_SET_MM, and PR_SET_PTRACER.
        (libc::SYS_prctl, 0, vec![15], vec![1, 4, 22, 35, 0x5961_6d61]),
        // ioctl. Permitted: FIONREAD, RM_ALLOC of two sizes, RM_CONTROL, RM_FREE, and nvidia-uvm's
        // FREE. Refused: IOCTL_XFER_CMD, which contains another call, IDLE_CHANNELS, RM_ALLOC with
        // an ioctl type other than 'F', FIOSETOWN, TIOCSTI, and nvidia-uvm's
        // TOOLS_READ_PROCESS_MEMORY and one of its tests.
        (
            libc::SYS_ioctl,
            1,
            vec![0x541b, 0xc030_462b, 0xc020_462b, 0xc020_462a, 0xc010_4629, 34],
            vec![0xc010_46d3, 0xc028_4641, 0xc030_472b, 0x4030_462b, 0x8901, 0x5412, 62, 200],
        ),
    ];
    for (call, index, allowed, refused) in calls {
        for (values, expected) in [(allowed, ALLOWED), (refused, REFUSED)] {
            for value in values {
                let mut arguments = [own; 6];
                arguments[index] = value;
                assert_eq!(outcome(&filter, call, arguments), expected, "{call}: {value:#x}");
            }
        }
    }
    let (asks, device) = (Filter::of_worker(Unlisted::AskSupervisor), Filter::of_device());
    for operation in operations {
        assert_eq!(outcome(&asks, libc::SYS_ioctl, [0, operation, 0, 0, 0, 0]), NOTIFIED);
        assert_eq!(outcome(&device, libc::SYS_ioctl, [0, operation, 0, 0, 0, 0]), REFUSED);
    }
}

#[test]
fn the_32_bit_abi_kills_the_process() {
    const I386: u32 = 0x4000_0003;
    for filter in [Filter::of_worker(Unlisted::AskSupervisor), Filter::of_supervisor()] {
        let killed = run(&filter, I386, libc::SYS_getpid, [0; 6]);
        assert_eq!(killed, libc::SECCOMP_RET_KILL_PROCESS);
    }
}

/// Makes a system call with these arguments, padded with zeros, and returns its error.
fn errno<const N: usize>(call: libc::c_long, arguments: [usize; N]) -> i32 {
    let mut all = [0; 6];
    all[..N].copy_from_slice(&arguments);
    let [a, b, c, d, e, f] = all;
    // SAFETY: the tests pass only integers, or pointers to memory that the call doesn't write.
    let result = unsafe { libc::syscall(call, a, b, c, d, e, f) };
    let starts = [libc::SYS_fork, libc::SYS_vfork, libc::SYS_clone].contains(&(call & !X32));
    if result == 0 && starts {
        // If a call that should be refused created a child process, the child process reaches this
        // line, and must not continue the test.
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
        child::run(module_path!(), "a_filtered_process_can_start_threads_but_not_processes")
    {
        return assert!(output.status.success(), "{output:?}");
    }
    // Start a thread before the filter is installed, as the driver library does, to test that the
    // filter applies to this thread, too.
    let (go, wait) = channel::<()>();
    let before = std::thread::spawn(move || {
        wait.recv().unwrap();
        errno(libc::SYS_fork, [])
    });
    Filter::of_device().install().unwrap();
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
    assert_eq!(errno(libc::SYS_prctl, [libc::PR_SET_PDEATHSIG as usize]), libc::EPERM);
    assert_eq!(errno(X32 | libc::SYS_fork, []), libc::EPERM);
    assert_eq!(errno(X32 | 520, [program, arguments]), libc::EPERM);
    let error = Command::new("/bin/true").spawn().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
}

#[test]
fn unlisted_calls_and_operations_on_objects_wait_for_the_listener() {
    const NAME: &str = "unlisted_calls_and_operations_on_objects_wait_for_the_listener";
    let number = |low: usize| 3 << 30 | 32 << 16 | (b'F' as usize) << 8 | low;
    let wait = [
        (libc::SYS_ioctl, [0, number(0x29), 3]),
        (libc::SYS_ioctl, [0, number(0x2a), 3]),
        (libc::SYS_ioctl, [0, number(0x2b), 3]),
        (libc::SYS_ioctl, [0, number(0x34), 3]),
        (libc::SYS_ioctl, [0, number(0x41), 3]),
        (libc::SYS_personality, [1, 2, 3]),
    ];
    if child::is_child() {
        let listener = Filter::of_worker(Unlisted::AskSupervisor).install_with_listener().unwrap();
        println!("fd={}", listener.as_raw_fd());
        for (call, arguments) in wait {
            println!("error={}", errno(call, arguments));
        }
        // Permitted ioctls don't wait for the supervisor: one of nvidia-uvm, whose request is a
        // bare number, and one of nvidiactl. They reach the file, which doesn't support them.
        for other in [23, number(0x4e)] {
            assert_eq!(errno(libc::SYS_ioctl, [0, other, 3]), libc::ENOTTY, "{other:#x}");
        }
        // When the test has closed its listener, as if the supervisor had exited, unlisted calls
        // fail.
        std::io::stdin().read_line(&mut String::new()).unwrap();
        drop(listener);
        return println!("error={}", errno(libc::SYS_personality, [1]));
    }
    let mut child = child::command(module_path!(), NAME)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = |word: &str| -> i32 {
        let line = lines.find_map(|line| Some(line.unwrap().split_once(word)?.1.to_owned()));
        line.unwrap().parse().unwrap()
    };
    let fd = next("fd=");
    let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
    let listener = pidfd_getfd(process, fd, PidfdGetfdFlags::empty()).unwrap();
    for (call, arguments) in wait {
        // SAFETY: the structure contains only integers, and the kernel requires zeros.
        let mut received: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        let mut answer = libc::seccomp_notif_resp { id: 0, val: 0, error: -libc::EDOM, flags: 0 };
        // SAFETY: `received` and `answer` are writable, and have the sizes that the requests
        // specify.
        unsafe {
            let listener = listener.as_raw_fd();
            assert_eq!(libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_RECV, &mut received), 0);
            answer.id = received.id;
            assert_eq!(libc::ioctl(listener, libc::SECCOMP_IOCTL_NOTIF_SEND, &mut answer), 0);
        }
        assert_eq!(c_long::from(received.data.nr), call);
        assert_eq!(received.data.args[..3], arguments.map(|argument| argument as u64));
        assert_eq!(next("error="), libc::EDOM);
    }
    drop(listener);
    drop(child.stdin.take());
    assert_eq!(next("error="), libc::ENOSYS);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_filter_that_cannot_be_installed_is_an_error() {
    if let Some(output) =
        child::run(module_path!(), "a_filter_that_cannot_be_installed_is_an_error")
    {
        return assert!(output.status.success(), "{output:?}");
    }
    // Simulate a container that doesn't allow filters: the first filter doesn't allow the system
    // call that installs another one.
    Filter::of_device().install().unwrap();
    assert!(Filter::of_device().install().is_err());
    assert!(Filter::of_worker(Unlisted::AskSupervisor).install_with_listener().is_err());
}
