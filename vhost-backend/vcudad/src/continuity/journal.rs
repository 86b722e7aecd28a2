//! The record of a broker whose spawner outlives it. The broker keeps the record current, so that
//! another broker can continue even if this one crashes or is killed.
//!
//! The record is a memory file, of which the spawner has a descriptor. The first line says whose
//! message the broker is handling, the second is the state, and each further line is a change of
//! that state. Events that the VMs' processes cause only add lines. The broker writes a new file
//! with the current state when the added lines are longer than the state, and when operators or the
//! configuration file change something.
//!
//! The broker may end at any moment. The next broker ignores an incomplete last line. It ends the
//! session or the device process whose message the broker was handling, because the effects of that
//! message may be missing from the record.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};

use crate::processes::spawner::Spawner;
use crate::watches::Source;
use host_ipc::messages::WorkerId;
use memory_ledger::VmId;

/// Length of the first line, which is replaced in place.
const FIRST_LINE: usize = 64;
/// A new file is due when the changes are longer than the state by more than this, in bytes.
const SLACK: u64 = 1 << 20;

/// Whose message a broker was handling when it wrote its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Handling {
    /// The broker has handed over, and left everything in order.
    Done,
    /// The broker wasn't handling a message of a process that a guest may have taken over. The next
    /// broker can handle the same event again, with the same result.
    Nothing,
    Device(VmId),
    Worker(WorkerId),
    /// A message of the supervisor of workers. It isn't known which worker it's about.
    Supervisor,
}

impl Handling {
    pub(crate) fn of(source: Source) -> Self {
        match source {
            Source::DeviceSocket(vm) => Self::Device(vm),
            Source::WorkerSocket(worker) => Self::Worker(worker),
            Source::Supervisor => Self::Supervisor,
            _ => Self::Nothing,
        }
    }

    /// Returns the first line of a record.
    pub(crate) fn line(self) -> [u8; FIRST_LINE] {
        let mut line = [b' '; FIRST_LINE];
        // The longest text is `{"Worker":18446744073709551615}`, so the text fits in the line.
        let text = serde_json::to_vec(&self).unwrap_or_default();
        line[..text.len()].copy_from_slice(&text);
        line[FIRST_LINE - 1] = b'\n';
        line
    }
}

/// The record of this broker's state.
pub(crate) struct Journal {
    /// `None` if there is no record, because nothing outlives the broker or the record couldn't be
    /// written.
    spawner: Option<Spawner>,
    file: Option<File>,
    /// Length of the file, in bytes.
    end: u64,
    /// The encoded state in the file, without later changes.
    state: Vec<u8>,
    handling: Handling,
}

impl Journal {
    pub(crate) fn new(spawner: &Spawner) -> Self {
        Self {
            spawner: spawner.outlives_broker().then(|| spawner.clone()),
            file: None,
            end: 0,
            state: Vec::new(),
            handling: Handling::Nothing,
        }
    }

    /// Returns true if there is a record.
    pub(crate) fn is_on(&self) -> bool {
        self.spawner.is_some()
    }

    /// Updates the first line, which says whose message is being handled.
    pub(crate) fn mark(&mut self, handling: Handling) {
        if std::mem::replace(&mut self.handling, handling) == handling {
            return;
        }
        let written = self.file.as_ref().map(|file| file.write_all_at(&handling.line(), 0));
        if let Some(Err(error)) = written {
            self.give_up(&error.to_string());
        }
    }

    /// Adds changes to the file. Returns false if the whole state must be written instead.
    pub(crate) fn add(&mut self, changes: &[impl Serialize]) -> bool {
        let (Some(file), false) = (&self.file, changes.is_empty()) else { return true };
        if self.end > self.state.len() as u64 * 2 + SLACK {
            return false;
        }
        let mut text = Vec::new();
        let encoded = changes.iter().try_for_each(|change| {
            serde_json::to_writer(&mut text, change)?;
            text.push(b'\n');
            io::Result::Ok(())
        });
        match encoded.and_then(|()| file.write_all_at(&text, self.end)) {
            Ok(()) => self.end += text.len() as u64,
            Err(error) => self.give_up(&error.to_string()),
        }
        true
    }

    /// Starts a new record with this state, which is encoded as in a handover.
    pub(crate) fn replace(&mut self, state: Vec<u8>) {
        let Some(spawner) = &self.spawner else { return };
        let is_same = self.state == state && self.end == (FIRST_LINE + state.len() + 1) as u64;
        if is_same && self.file.is_some() {
            return;
        }
        match write(spawner, self.handling, &state) {
            Ok(file) => {
                self.end = (FIRST_LINE + state.len() + 1) as u64;
                (self.file, self.state) = (Some(file), state);
            }
            Err(reason) => self.give_up(&reason),
        }
    }

    /// Continues without a record, after an error.
    fn give_up(&mut self, reason: &str) {
        tracing::error!(
            "if vcudad crashes, all sessions will end: cannot write its state: {reason}"
        );
        if let Some(spawner) = self.spawner.take() {
            let _ = spawner.take_record();
        }
        (self.file, self.state) = (None, Vec::new());
    }
}

/// Writes a new file, and has the spawner keep it in place of the current one.
fn write(spawner: &Spawner, handling: Handling, state: &[u8]) -> Result<File, String> {
    let create = || -> io::Result<OwnedFd> {
        let file = File::from(memfd_create("record", MemfdFlags::CLOEXEC)?);
        file.write_all_at(&[&handling.line()[..], state, b"\n"].concat(), 0)?;
        Ok(file.into())
    };
    let file = create().map_err(|error| error.to_string())?;
    spawner.keep_record(&file)?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Returns a record with this state, whose spawner does nothing.
    fn journal(state: &[u8]) -> Journal {
        let (spawner, _ends) = Spawner::idle();
        let file = File::from(memfd_create("record", MemfdFlags::CLOEXEC).unwrap());
        file.write_all_at(&[&Handling::Nothing.line()[..], state, b"\n"].concat(), 0).unwrap();
        let mut journal = Journal::new(&spawner);
        journal.end = (FIRST_LINE + state.len() + 1) as u64;
        (journal.file, journal.state) = (Some(file), state.to_vec());
        journal
    }

    fn text(journal: &Journal) -> String {
        let mut text = String::new();
        let file = File::open(format!("/proc/self/fd/{}", fd(journal))).unwrap();
        file.take(1 << 20).read_to_string(&mut text).unwrap();
        text
    }

    fn fd(journal: &Journal) -> i32 {
        std::os::fd::AsRawFd::as_raw_fd(journal.file.as_ref().unwrap())
    }

    #[test]
    fn the_first_line_says_whose_message_is_being_handled() {
        let mut journal = journal(b"{}");
        for handling in [Handling::Worker(u64::MAX), Handling::Device(VmId(u64::MAX))] {
            journal.mark(handling);
            let first = text(&journal).lines().next().unwrap().to_owned();
            assert_eq!(first.len() + 1, FIRST_LINE);
            assert_eq!(serde_json::from_str::<Handling>(&first).unwrap(), handling);
        }
        journal.mark(Handling::Nothing);
        assert!(text(&journal).starts_with("\"Nothing\" "));
    }

    #[test]
    fn changes_are_added_until_they_are_longer_than_the_state() {
        let mut journal = journal(b"{}");
        assert!(journal.add(&["one", "two"]) && journal.add(&[0; 0]));
        let text = text(&journal);
        let lines: Vec<_> = text.lines().skip(2).collect();
        assert_eq!(lines, ["\"one\"", "\"two\""]);
        let mut left = 1_000_000;
        while journal.add(&["a change"]) {
            left -= 1;
            assert!(left > 0);
        }
    }
}
