//! Makes calls that cause the driver to take memory for a context, in a worker's session on
//! softgpu, in a child process for each run. After each step, softgpu must not have allocated more
//! memory than the session's account is charged for. At the end, both must be 0.

use std::fmt::Write;
use std::time::Duration;

use crate::child;
use crate::input::Input;
use crate::oracle::Allocated;
use crate::session::{Answer, Session};
use crate::softgpu;
use crate::workload::{Made, Workload, first_calls, last_calls};

/// Maximum number of calls in one run.
const MAX_CALLS: usize = 60;
/// Maximum number of concurrent calls. Each of them is made by a different guest thread.
const THREADS: u32 = 4;
/// How long a call may take. No call waits for another call.
const PATIENCE: Duration = Duration::from_secs(20);
/// The VM's quota of device memory, in bytes for each CPU of this machine, because softgpu has one
/// multiprocessor per CPU, and contexts take memory for each multiprocessor.
const QUOTA: u64 = 512 << 20;
/// The value of CUDA_ERROR_OUT_OF_MEMORY.
const OUT_OF_MEMORY: u32 = 2;

fn quota() -> u64 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as u64) * QUOTA
}

/// Makes softgpu's device memory larger than the VM's quota. Called before any thread starts.
pub fn prepare() {
    let memory = (8 * quota()).to_string();
    softgpu::prepare(&memory);
}

/// Runs the target: makes calls on several guest threads.
pub fn run(bytes: &[u8]) {
    child::run(|| {
        let mut session = Session::start(quota());
        let mut run =
            Run { allocated: Allocated::new(&session), waiting: Vec::new(), made: String::new() };
        for call in first_calls() {
            run.begin(&mut session, &call);
            let answers = run.finish(&mut session);
            assert!(answers.iter().all(|(result, _)| *result == 0), "{}", run.made);
        }
        let mut workload = Workload { input: Input::new(bytes), value: 0 };
        for _ in 0..MAX_CALLS {
            if workload.input.is_empty() {
                break;
            }
            let call = workload.call();
            run.begin(&mut session, &call);
            if workload.input.one_in(4) && run.waiting.len() < THREADS as usize {
                continue;
            }
            let answers = run.finish(&mut session);
            if call.name == "vcudaGraphValueCreate"
                && let Some((0, outputs)) = answers.last()
                && let Some(handle) = outputs.first_chunk()
            {
                workload.value = u64::from_le_bytes(*handle);
            }
        }
        run.finish(&mut session);
        for call in last_calls() {
            run.begin(&mut session, &call);
            run.finish(&mut session);
        }
        let used = session.account().used();
        assert_eq!(used, 0, "bytes are still charged: {}", run.made);
    });
}

/// The state of a run.
struct Run {
    allocated: Allocated,
    /// The calls that have begun and not finished.
    waiting: Vec<(u64, &'static str)>,
    /// A description of the steps of the run so far, for messages.
    made: String,
}

impl Run {
    /// Begins a call on a guest thread that has no other call in progress.
    fn begin(&mut self, session: &mut Session, call: &Made) {
        let Made { name, opcode, context, args } = call;
        let thread = 1 + self.waiting.len() as u32;
        let shown = &args[..args.len().min(64)];
        let _ = write!(self.made, "\n{name} in {context} by {thread} {shown:02x?}");
        self.waiting.push((session.submit((*opcode, thread, *context), args), name));
    }

    /// Waits for the calls that have begun, and then compares the account with the memory that
    /// softgpu has allocated.
    fn finish(&mut self, session: &mut Session) -> Vec<Answer> {
        let mut answers = Vec::new();
        for (number, name) in self.waiting.drain(..) {
            let answer = session.wait(number, PATIENCE);
            let answer = answer.unwrap_or_else(|| panic!("{name} isn't answered: {}", self.made));
            match answer.0 {
                OUT_OF_MEMORY => self.made += "\n    out of memory",
                result => drop(write!(self.made, "\n    {result}")),
            }
            answers.push(answer);
        }
        self.allocated.check(session, || self.made.clone());
        answers
    }
}
