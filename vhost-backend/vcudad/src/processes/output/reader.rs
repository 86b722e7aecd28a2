//! The thread that reads the output of child processes.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::{Duration, Instant};

use host_ipc::apart::Apart;
use host_ipc::eventfd::drain;
use host_ipc::logging::FORWARDED;
use host_ipc::seqpacket;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::budget::Budget;
use super::lines::Lines;

/// Bytes that are read from a process before the next process's turn.
const READ: usize = 4096;
/// Maximum number of reads after a process has exited.
const LAST_READS: usize = 64;
/// How often to check whether a VM that is at its limit may log again.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };

/// The number of a process whose output is read. It's never used again, unlike process IDs.
pub(super) type OutputId = u64;

/// A message to the thread.
pub(super) enum Message {
    Started(OutputId, Source),
    /// The process has this process ID.
    Named(OutputId, u32),
    /// The process now belongs to this VM.
    Assigned(OutputId, Arc<str>),
    Reaped(OutputId),
}

/// A process and its output.
pub(super) struct Source {
    socket: Apart,
    program: &'static str,
    /// The process ID, or 0 until it's known.
    pid: u32,
    vm: Option<Arc<str>>,
    lines: Lines,
    /// Whether the process can still write. It may close its end before it exits.
    is_open: bool,
}

impl Source {
    pub(super) fn new(socket: Apart, program: &'static str, vm: Option<Arc<str>>) -> Self {
        Self { socket, program, pid: 0, vm, lines: Lines::default(), is_open: true }
    }

    /// Reads once. Returns the finished lines, or `None` if there is nothing to read now.
    fn read(&mut self) -> Option<Vec<String>> {
        let mut bytes = [0; READ];
        match seqpacket::read_plain(&self.socket, &mut bytes) {
            Ok(len) if len > 0 => Some(self.lines.add(&bytes[..len])),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Ok(_) | Err(_) => {
                self.is_open = false;
                None
            }
        }
    }

    /// Logs a line of the process. The process has put the level at the start of the line.
    fn log(&self, line: &str) {
        let text = line.trim_start();
        let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
        let (vm, program, pid) = (self.vm.as_deref(), self.program, self.pid);
        // tracing's macros need a constant level, so there's a call for each level.
        match first {
            "ERROR" => tracing::error!(target: FORWARDED, vm, program, pid, message = rest),
            "WARN" => tracing::warn!(target: FORWARDED, vm, program, pid, message = rest),
            "INFO" => tracing::info!(target: FORWARDED, vm, program, pid, message = rest),
            "DEBUG" => tracing::debug!(target: FORWARDED, vm, program, pid, message = rest),
            "TRACE" => tracing::trace!(target: FORWARDED, vm, program, pid, message = rest),
            // Lines without a level come from a panic or from the driver.
            _ => tracing::warn!(target: FORWARDED, vm, program, pid, message = text),
        }
    }
}

/// The state of the thread that reads output.
pub(super) struct Reader {
    messages: Receiver<Message>,
    bell: Arc<OwnedFd>,
    sources: HashMap<OutputId, Source>,
    /// The budgets, by the names of the VMs. All workers without a VM share one budget.
    budgets: HashMap<Option<Arc<str>>, Budget>,
}

impl Reader {
    pub(super) fn new(messages: Receiver<Message>, bell: Arc<OwnedFd>) -> Self {
        Self { messages, bell, sources: HashMap::new(), budgets: HashMap::new() }
    }

    /// Handles messages and output until the broker has dropped its end of the message channel.
    pub(super) fn run(&mut self) {
        loop {
            let ready = self.wait();
            drain(&*self.bell);
            loop {
                match self.messages.try_recv() {
                    Ok(message) => self.handle(message),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return,
                }
            }
            for id in ready {
                self.read(id);
            }
        }
    }

    /// Waits until there is a message, or output of a VM that isn't at its limit. Returns the
    /// processes with output.
    fn wait(&mut self) -> Vec<OutputId> {
        let now = Instant::now();
        self.forget_budgets(now);
        let mut fds = vec![PollFd::new(&self.bell, PollFlags::IN)];
        let mut ids = Vec::new();
        let mut timeout = None;
        for (id, source) in self.sources.iter().filter(|(_, source)| source.is_open) {
            if budget(&mut self.budgets, &source.vm, now).is_open(now) {
                fds.push(PollFd::new(&source.socket, PollFlags::IN));
                ids.push(*id);
            } else {
                timeout = Some(&PAUSE);
            }
        }
        if poll(&mut fds, timeout).is_err() {
            // poll failed because memory is short or a signal arrived. Don't retry at full speed.
            std::thread::sleep(Duration::from_millis(100));
            return Vec::new();
        }
        let ready = fds[1..].iter().zip(ids).filter(|(fd, _)| !fd.revents().is_empty());
        ready.map(|(_, id)| id).collect()
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Started(id, source) => drop(self.sources.insert(id, source)),
            Message::Named(id, pid) => {
                if let Some(source) = self.sources.get_mut(&id) {
                    source.pid = pid;
                }
            }
            Message::Assigned(id, vm) => {
                if let Some(source) = self.sources.get_mut(&id) {
                    source.vm = Some(vm);
                }
            }
            Message::Reaped(id) => {
                if let Some(source) = self.sources.remove(&id) {
                    self.log_last(source);
                }
            }
        }
    }

    /// Reads from a process once, and logs the lines.
    fn read(&mut self, id: OutputId) {
        let Some(source) = self.sources.get_mut(&id) else { return };
        let now = Instant::now();
        let budget = budget(&mut self.budgets, &source.vm, now);
        // Check the budget again: another process of the VM may have used it up since `wait`.
        if !budget.is_open(now) {
            return;
        }
        let Some(lines) = source.read() else { return };
        let count = budget.count(lines.len(), now);
        lines[..count].iter().for_each(|line| source.log(line));
        if count < lines.len() {
            source.log(&omitted(lines.len() - count));
        }
        if budget.report_limit(now) {
            let vm = source.vm.as_deref();
            tracing::warn!(vm, "too many log lines of its processes; reading them slowly");
        }
    }

    /// Logs the rest of a process's output after it has exited.
    fn log_last(&mut self, mut source: Source) {
        let mut lines = Vec::new();
        for _ in 0..LAST_READS {
            match source.read() {
                Some(more) => lines.extend(more),
                None => break,
            }
        }
        lines.extend(source.lines.finish());
        let now = Instant::now();
        let count = budget(&mut self.budgets, &source.vm, now).count_last(lines.len(), now);
        let first = lines.len() - count;
        if first > 0 && count > 0 {
            source.log(&omitted(first));
        }
        lines[first..].iter().for_each(|line| source.log(line));
    }

    /// Forgets the budgets that are the same as new ones, if there are many budgets.
    fn forget_budgets(&mut self, now: Instant) {
        if self.budgets.len() > 2 * self.sources.len() + 16 {
            self.budgets.retain(|_, budget| !budget.is_full(now));
        }
    }
}

/// Returns the line that replaces omitted lines.
fn omitted(count: usize) -> String {
    format!("WARN {count} lines were omitted")
}

fn budget<'a>(
    budgets: &'a mut HashMap<Option<Arc<str>>, Budget>,
    vm: &Option<Arc<str>>,
    now: Instant,
) -> &'a mut Budget {
    budgets.entry(vm.clone()).or_insert_with(|| Budget::new(now))
}
