//! The state that the threads of a run share.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use virtio_cuda_tests::Vm;

use crate::plan::VMS;
use crate::processes;

/// The uid of the first VM's processes. It's in the range from which the control API allows uids.
const FIRST_UID: u32 = 2_113_929_216 + 40_000;
/// Number of violations that are printed. Further violations are only counted.
const SHOWN: usize = 50;

/// A session, as the control API last reported it.
#[derive(Clone, Copy, Debug)]
pub struct Session {
    pub vm: usize,
    pub id: u64,
    pub worker: i32,
}

/// The processes that the control API last reported.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub sessions: Vec<Session>,
    /// Pairs of a VM's index and the process ID of its device process.
    pub devices: Vec<(usize, i32)>,
}

/// A value of `memory.max` that the test has requested for a VM.
struct Limit {
    vm: usize,
    max: u64,
    /// When the response to the request arrived, or `None` before that.
    done: Option<Instant>,
}

pub struct World {
    pub vms: Vec<Vm>,
    /// The broker's process id.
    pub broker: u32,
    /// The process ID of the broker's spawner.
    pub spawner: u32,
    pub control: PathBuf,
    start: Instant,
    stop: AtomicBool,
    seen: Mutex<Seen>,
    limits: Mutex<Vec<Limit>>,
    violations: Mutex<Vec<String>>,
    journal: Mutex<File>,
}

/// Returns the VMs of a run of the chaos test.
pub fn vms() -> Vec<Vm> {
    (0..VMS)
        .map(|i| Vm {
            // Leak the name, because [`Vm`] needs a static string.
            name: String::leak(format!("chaos-{i:02}")),
            memory_max: "256M",
            uid: FIRST_UID + i as u32,
        })
        .collect()
}

impl World {
    pub fn new(vms: Vec<Vm>, broker: u32, control: PathBuf, journal: File) -> Self {
        Self {
            vms,
            broker,
            spawner: virtio_cuda_tests::spawner_of(broker),
            control,
            start: Instant::now(),
            stop: AtomicBool::new(false),
            seen: Mutex::default(),
            limits: Mutex::default(),
            violations: Mutex::default(),
            journal: Mutex::new(journal),
        }
    }

    /// Returns the index of the VM with this name.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.vms.iter().position(|vm| vm.name == name)
    }

    /// Writes a line with the time to the journal.
    pub fn note(&self, text: &str) {
        let line = format!("{:8.2} s  {text}\n", self.elapsed().as_secs_f64());
        let _ = self.journal.lock().unwrap().write_all(line.as_bytes());
    }

    /// Records and prints a violation of a rule that the test checks.
    pub fn violation(&self, text: &str) {
        self.note(&format!("VIOLATION: {text}"));
        let line = format!("at {:.2} s: {text}", self.elapsed().as_secs_f64());
        let mut all = self.violations.lock().unwrap();
        if all.len() < SHOWN {
            eprintln!("chaos: VIOLATION {line}");
        }
        all.push(line);
    }

    pub fn violations(&self) -> usize {
        self.violations.lock().unwrap().len()
    }

    /// Returns false if the broker has exited, or if there were so many violations that further
    /// ones wouldn't help to find the cause.
    pub fn is_worth_continuing(&self) -> bool {
        processes::runs(self.broker) && self.violations() < SHOWN
    }

    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    pub fn seen(&self) -> Seen {
        self.seen.lock().unwrap().clone()
    }

    pub fn see(&self, seen: Seen) {
        *self.seen.lock().unwrap() = seen;
    }

    /// Performs a request that sets a VM's `memory.max`, and records the value with the time of the
    /// response.
    pub fn with_limit<T>(&self, vm: usize, max: u64, request: impl FnOnce() -> T) -> T {
        self.limits.lock().unwrap().push(Limit { vm, max, done: None });
        let result = request();
        let mut limits = self.limits.lock().unwrap();
        for limit in limits.iter_mut().filter(|limit| limit.vm == vm && limit.done.is_none()) {
            limit.done = Some(Instant::now());
        }
        result
    }

    /// Returns the highest `memory.max` that was requested for a VM and may have been in effect at
    /// or after this time.
    pub fn highest_limit(&self, vm: usize, since: Instant) -> u64 {
        let limits = self.limits.lock().unwrap();
        let recent = limits.iter().filter(|limit| limit.vm == vm);
        let recent = recent.filter(|limit| limit.done.is_none_or(|done| done >= since));
        recent.map(|limit| limit.max).max().unwrap_or(0)
    }

    /// Forgets the limits that were in effect only before this time.
    pub fn forget_limits(&self, before: Instant) {
        let mut limits = self.limits.lock().unwrap();
        limits.retain(|limit| limit.done.is_none_or(|done| done >= before));
    }
}
