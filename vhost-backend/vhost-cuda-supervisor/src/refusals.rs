//! Logs and counts the calls of a worker that are refused. A compromised worker can make any number
//! of such calls, so only the first ones are logged, and the broker gets only their number, at most
//! once per interval.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use host_ipc::messages::{FromSupervisor, SessionOfVm};
use host_ipc::seqpacket;
use syscalls::Sysno;

use super::perform::Refused;

/// Maximum number of refusals of a worker that are logged.
const LOGGED: u32 = 16;
/// Minimum time between two messages to the broker about the same worker.
const INTERVAL: Duration = Duration::from_secs(1);

/// The refusals of one worker.
pub struct Refusals {
    label: String,
    session: SessionOfVm,
    broker: Arc<OwnedFd>,
    logged: u32,
    system_calls: u64,
    driver_operations: u64,
    first: Option<String>,
    /// Time of the last message to the broker.
    reported: Option<Instant>,
}

impl Refusals {
    /// `broker` is the socket to the broker. `label` names the session in the log.
    pub fn new(label: String, session: SessionOfVm, broker: Arc<OwnedFd>) -> Self {
        Self {
            label,
            session,
            broker,
            logged: 0,
            system_calls: 0,
            driver_operations: 0,
            first: None,
            reported: None,
        }
    }

    /// Records a refused operation of the driver.
    pub fn add_operation(&mut self, refused: Refused) {
        self.driver_operations += 1;
        self.log(|| match refused {
            Refused::Control(command) => format!("the driver operation {command:#x}"),
            Refused::Class(class) => format!("the driver object of class {class:#x}"),
            Refused::TooMany(class) => {
                format!("another driver object of class {class:#x}, because there are too many")
            }
            Refused::Duplicate => "a duplicate of a driver object".into(),
        });
    }

    /// Records a refused system call.
    pub fn add_call(&mut self, number: libc::c_long, arguments: &[u64; 6]) {
        self.system_calls += 1;
        self.log(|| describe(number, arguments));
    }

    fn log(&mut self, what: impl FnOnce() -> String) {
        if self.logged == LOGGED {
            return;
        }
        self.logged += 1;
        let what = what();
        let last = if self.logged == LOGGED { "; further ones are only counted" } else { "" };
        tracing::warn!(session = self.label, "refused {what}{last}");
        if self.logged == 1 {
            self.first = Some(what);
        }
    }

    /// Returns the time until the next report is due, or `None` if there is nothing to report.
    pub fn due(&self) -> Option<Duration> {
        let unreported = self.system_calls + self.driver_operations > 0;
        let since = self.reported.map_or(INTERVAL, |reported| reported.elapsed());
        unreported.then(|| INTERVAL.saturating_sub(since))
    }

    /// Reports the refusals that the broker doesn't know yet, if a report is due.
    pub fn report_if_due(&mut self) {
        if self.due() == Some(Duration::ZERO) {
            self.report();
        }
    }

    fn report(&mut self) {
        let message = FromSupervisor::Refused {
            session: self.session,
            system_calls: std::mem::take(&mut self.system_calls),
            driver_operations: std::mem::take(&mut self.driver_operations),
            first: self.first.take(),
        };
        self.reported = Some(Instant::now());
        if let Err(error) = seqpacket::send(&*self.broker, &message, &[]) {
            tracing::error!(session = self.label, "cannot report refused calls: {error}");
        }
    }
}

impl Drop for Refusals {
    /// Reports the refusals that haven't been reported because the worker has exited.
    fn drop(&mut self) {
        if self.due().is_some() {
            self.report();
        }
    }
}

/// Describes a system call. If a call is permitted only with certain values of an argument, the
/// description includes that argument.
fn describe(number: libc::c_long, arguments: &[u64; 6]) -> String {
    let name = usize::try_from(number).ok().and_then(Sysno::new);
    let name = name.map_or_else(|| format!("number {number}"), |name| name.name().to_owned());
    match number {
        libc::SYS_ioctl | libc::SYS_fcntl | libc::SYS_setsockopt => {
            format!("the system call {name} with the request {:#x}", arguments[1])
        }
        libc::SYS_prctl | libc::SYS_clone | libc::SYS_socket | libc::SYS_socketpair => {
            format!("the system call {name} with the argument {:#x}", arguments[0])
        }
        _ => format!("the system call {name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(socket: &OwnedFd) -> FromSupervisor {
        seqpacket::receive(socket).unwrap().unwrap().0
    }

    #[test]
    fn calls_are_named() {
        let with = |first, second| [first, second, 0, 0, 0, 0];
        assert_eq!(describe(libc::SYS_personality, &with(8, 0)), "the system call personality");
        let request = describe(libc::SYS_ioctl, &with(3, 0xc028_4641));
        assert_eq!(request, "the system call ioctl with the request 0xc0284641");
        assert_eq!(describe(999_999, &with(0, 0)), "the system call number 999999");
    }

    #[test]
    fn a_flood_is_reported_in_two_messages() {
        let (broker, ours) = seqpacket::pair().unwrap();
        let session = SessionOfVm { vm: 3, number: 7 };
        let mut refusals = Refusals::new("vm/7".into(), session, Arc::new(ours));
        assert_eq!(refusals.due(), None);
        refusals.add_operation(Refused::Control(0x2080_110b));
        refusals.report_if_due();
        for _ in 0..100_000 {
            refusals.add_call(libc::SYS_personality, &[0; 6]);
        }
        assert!(refusals.due().is_some());
        assert_eq!(refusals.logged, LOGGED);
        // No report is sent before it is due, even if the test takes longer than the interval.
        drop(refusals);
        let refused = |system_calls, driver_operations, first| FromSupervisor::Refused {
            session,
            system_calls,
            driver_operations,
            first,
        };
        let first = "the driver operation 0x2080110b".to_owned();
        assert_eq!(received(&broker), refused(0, 1, Some(first)));
        assert_eq!(received(&broker), refused(100_000, 0, None));
        assert!(seqpacket::receive::<FromSupervisor>(&broker).unwrap().is_none());
    }
}
