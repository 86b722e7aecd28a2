//! Runs code in a child process, for targets that take over their process. The child's coverage
//! counts as this process's: both share the memory of libFuzzer's counters.

use std::ffi::c_int;
use std::sync::Once;

/// Maximum run time of a child, in seconds.
const LIMIT: u32 = 60;
/// Maximum size of a child's private memory, in bytes.
const MEMORY: u64 = 4 << 30;

/// Runs `body` in a child process. Panics if the child is killed by a signal, exits, or takes too
/// long.
pub fn run(body: impl FnOnce()) {
    static SHARED: Once = Once::new();
    SHARED.call_once(share_counters);
    // SAFETY: this process has no threads except libFuzzer's, which holds no locks that the child
    // needs.
    match unsafe { libc::fork() } {
        -1 => panic!("cannot fork: {}", std::io::Error::last_os_error()),
        0 => {
            // SAFETY: the calls only set this process's limits. The limit's address is valid.
            unsafe {
                libc::signal(libc::SIGALRM, libc::SIG_DFL);
                libc::alarm(LIMIT);
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                let limit = libc::rlimit { rlim_cur: MEMORY, rlim_max: MEMORY };
                libc::setrlimit(libc::RLIMIT_DATA, &limit);
            }
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            // SAFETY: _exit takes no pointers. Exit handlers belong to the parent.
            unsafe { libc::_exit(if ended.is_ok() { DONE } else { 1 }) }
        }
        child => wait(child),
    }
}

/// The exit code of a child that has finished. Code under test that exits by itself is unlikely to
/// use it.
const DONE: c_int = 84;

fn wait(child: libc::pid_t) {
    let mut status = 0;
    loop {
        // SAFETY: the pointer is to a local variable.
        let waited = unsafe { libc::waitpid(child, &mut status, 0) };
        if waited == child {
            break;
        }
        let error = std::io::Error::last_os_error();
        assert_eq!(error.kind(), std::io::ErrorKind::Interrupted, "cannot wait: {error}");
    }
    let exited = libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status));
    let killed = libc::WIFSIGNALED(status).then(|| libc::WTERMSIG(status));
    assert!(killed != Some(libc::SIGALRM), "the input takes longer than {LIMIT} s");
    assert!(exited == Some(DONE), "the child exited with {exited:?}, or signal {killed:?}");
}

/// Shares the pages of libFuzzer's counters with children. The first and the last page may also
/// contain other variables, so they aren't shared.
#[cfg(fuzzing)]
fn share_counters() {
    unsafe extern "C" {
        #[link_name = "__start___sancov_cntrs"]
        static START: u8;
        #[link_name = "__stop___sancov_cntrs"]
        static END: u8;
    }
    const PAGE: usize = 4096;
    let (start, end) = ((&raw const START) as usize, (&raw const END) as usize);
    let (start, end) = (start.next_multiple_of(PAGE), end / PAGE * PAGE);
    let Some(len) = end.checked_sub(start).filter(|len| *len > 0) else { return };
    // SAFETY: the pages belong to the array of counters alone. The new pages get the same contents,
    // and this process has no other thread that runs instrumented code yet.
    unsafe {
        let place = start as *mut u8;
        let contents = std::slice::from_raw_parts(place, len).to_vec();
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let mapped =
            libc::mmap(place.cast(), len, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
        assert!(mapped != libc::MAP_FAILED, "cannot share the counters");
        std::ptr::copy_nonoverlapping(contents.as_ptr(), place, len);
    }
}

#[cfg(not(fuzzing))]
fn share_counters() {}
