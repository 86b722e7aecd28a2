//! The helpers' threads.

use super::state::{CHANGED, DONE, Helper, LINES, MOST_HELPERS, State, WORK, lock};
use std::sync::{MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// The maximum number of helpers, unless `VIRTIO_CUDA_COPY_THREADS` is set. Including the calling
/// thread, up to five threads copy.
const HELPERS: usize = 4;
/// How long a helper waits for work before it exits.
const IDLE: Duration = Duration::from_secs(1);

/// Returns the maximum number of helpers. Together with the calling thread, they use at most half
/// of the CPUs, rounded up, because the program needs the other CPUs, and so does the worker if
/// there is no VM.
pub fn helpers() -> usize {
    static NUMBER: OnceLock<usize> = OnceLock::new();
    *NUMBER.get_or_init(|| {
        let set = std::env::var("VIRTIO_CUDA_COPY_THREADS").ok();
        // In this crate's tests, use helpers even on machines with few CPUs.
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
        let cpus = if cfg!(test) { 8 } else { cpus };
        number(set.as_deref(), cpus)
    })
}

fn number(set: Option<&str>, cpus: usize) -> usize {
    match set.and_then(|text| text.trim().parse::<usize>().ok()) {
        Some(number) => number.min(MOST_HELPERS),
        None => (cpus.saturating_sub(1) / 2).min(HELPERS),
    }
}

/// While this value exists, no helper starts or exits.
pub struct Kept(());

/// Starts all helpers, and keeps them from exiting as long as the result exists. During that time,
/// the helpers don't allocate, free, or write memory that they share with the program. So jobs can
/// replace pages of the program, and no write by a helper to such pages is lost.
pub fn keep() -> Kept {
    let mut state = lock();
    state.kept += 1;
    let kept = Kept(());
    while state.helpers < helpers() {
        let started = start(state);
        state = lock();
        if !started {
            break;
        }
    }
    loop {
        state = join_exiting(state);
        let exits = state.threads.iter().any(|thread| thread.exits);
        if !exits && state.started >= state.helpers {
            return kept;
        }
        state = CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Waits until the helpers that are exiting have exited, because exiting threads free memory.
fn join_exiting(mut state: MutexGuard<'static, State>) -> MutexGuard<'static, State> {
    for index in 0..MOST_HELPERS {
        let thread = &mut state.threads[index];
        if let Some(handle) = thread.handle.take_if(|_| thread.exits) {
            drop(state);
            let _ = handle.join();
            state = lock();
            state.threads[index] = Helper::default();
            CHANGED.notify_all();
        }
    }
    state
}

impl Drop for Kept {
    fn drop(&mut self) {
        lock().kept -= 1;
    }
}

/// Starts a helper. Returns false if it couldn't be started. In that case, calls copy with fewer
/// helpers or without any.
pub fn start(state: MutexGuard<'static, State>) -> bool {
    let mut state = join_exiting(state);
    if state.helpers >= helpers() {
        return false;
    }
    let Some(index) = state.threads.iter().position(|thread| !thread.exists) else { return false };
    state.threads[index].exists = true;
    state.helpers += 1;
    drop(state);
    let thread = std::thread::Builder::new().name("cuda-copy".into()).stack_size(1 << 20);
    // The helper inherits the mask, so it never runs the program's handlers.
    let mask = block_signals();
    let started = thread.spawn(move || help_all(index));
    set_mask(&mask);
    let mut state = lock();
    match started {
        Ok(handle) => {
            state.threads[index].handle = Some(handle);
            // Notify `keep`, because it may be waiting for the handle of this helper, which may
            // have exited already.
            CHANGED.notify_all();
            true
        }
        Err(_) => {
            state.threads[index] = Helper::default();
            state.helpers -= 1;
            CHANGED.notify_all();
            false
        }
    }
}

fn help_all(index: usize) {
    let mut state = lock();
    state.started += 1;
    CHANGED.notify_all();
    loop {
        let found = (0..LINES)
            .map(|step| (state.next + step) % LINES)
            .find(|line| !state.lines[*line].queued.is_empty());
        if let Some(found) = found {
            let line = &mut state.lines[found];
            let (Some(run), Some(job)) = (line.run, line.queued.pop()) else { continue };
            line.running += 1;
            state.next = found + 1;
            drop(state);
            run(job);
            state = lock();
            let line = &mut state.lines[found];
            line.running -= 1;
            line.done.push(job.tag);
            DONE[found].notify_one();
            continue;
        }
        state.idle += 1;
        let (woken, timeout) =
            WORK.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
        state = woken;
        state.idle -= 1;
        let has_work = state.lines.iter().any(|line| !line.queued.is_empty());
        if timeout.timed_out() && !has_work && state.kept == 0 {
            state.helpers -= 1;
            state.started -= 1;
            state.threads[index].exits = true;
            return;
        }
    }
}

/// Blocks the signals that the kernel can deliver to any thread of the process, so that it delivers
/// them to the program's own threads. Doesn't block signals for invalid accesses, because the
/// program may have handlers for accesses to the memory that is copied. Returns this thread's
/// previous mask.
fn block_signals() -> libc::sigset_t {
    const OWN: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];
    // SAFETY: the signal sets are local, and filled before they are used. Only this thread's mask
    // changes.
    unsafe {
        let (mut set, mut previous) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut set);
        for signal in OWN {
            libc::sigdelset(&mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, &mut previous);
        previous
    }
}

/// Sets this thread's signal mask.
fn set_mask(mask: &libc::sigset_t) {
    // SAFETY: the set is initialized, and only this thread's mask changes.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_cpus_copy_but_not_more_than_five() {
        let of = |cpus| number(None, cpus);
        assert_eq!([1, 2, 3, 4, 8, 9, 224].map(of), [0, 0, 1, 1, 3, 4, 4]);
        assert_eq!(
            [Some("0"), Some(" 7 "), Some("99"), Some("x")].map(|set| number(set, 2)),
            [0, 7, 16, 0]
        );
    }

    #[test]
    fn kept_helpers_have_started() {
        let kept = keep();
        let state = lock();
        assert!(state.kept > 0 && state.started == state.helpers);
        assert_eq!(state.helpers, helpers());
        drop(state);
        drop(kept);
    }
}
