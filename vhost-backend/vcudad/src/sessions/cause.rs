//! Why a session ended, as logs and events say it.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use control_api::EndReason;
use serde::{Deserialize, Serialize};

use crate::processes::process::describe;
use host_ipc::messages::Abort;
use host_ipc::spawner::End;

/// Why a session ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cause {
    pub(crate) reason: EndReason,
    /// A description for people.
    pub(crate) text: String,
    /// The user who ended the session through the control API, if a user did that.
    pub(crate) uid: Option<u32>,
}

impl Cause {
    pub(crate) fn new(reason: EndReason, text: impl Into<String>) -> Self {
        Self { reason, text: text.into(), uid: None }
    }

    /// Returns the cause of a session's end if the guest program has exited or closed the device.
    pub(crate) fn exited() -> Self {
        Self::new(EndReason::Exited, "the program exited or closed the device")
    }

    pub(crate) fn operator(uid: Option<u32>) -> Self {
        Self { uid, ..Self::new(EndReason::KilledByOperator, "an operator ended it") }
    }

    pub(crate) fn vm_removed() -> Self {
        Self::new(EndReason::VmRemoved, "the VM was removed")
    }

    pub(crate) fn device_ended() -> Self {
        Self::new(EndReason::DeviceEnded, "the VM's device process ended")
    }

    /// Returns true unless the guest itself has ended the session.
    pub(crate) fn is_failure(&self) -> bool {
        let by_guest = [EndReason::Exited, EndReason::Disconnected, EndReason::GuestReset];
        !by_guest.contains(&self.reason)
    }

    /// Returns the cause of a session's end if another broker ended while it was doing something
    /// that concerned the session.
    pub(crate) fn broker_ended(text: impl Into<String>) -> Self {
        Self::new(EndReason::VcudadEnded, text)
    }

    /// Returns the cause of a session's end if a kernel has exceeded the VM's kernel_timeout.
    pub(crate) fn kernel_timeout() -> Self {
        Self::new(EndReason::Limit, "a kernel ran longer than compute.kernel_timeout")
    }

    pub(crate) fn worker_failed(text: impl Into<String>) -> Self {
        Self::new(EndReason::WorkerFailed, text)
    }

    /// Returns the cause of a session's end if its worker has ended by itself, or was killed by
    /// somebody other than the broker.
    pub(crate) fn of_process(how: &End) -> Self {
        let status = match how {
            End::Exited(status) => ExitStatus::from_raw(*status),
            End::NotStarted(_) => {
                return Self::worker_failed(format!("its worker {}", describe(how)));
            }
        };
        match status.signal() {
            Some(libc::SIGKILL) => Self::new(
                EndReason::Killed,
                "its worker was killed by signal 9, but not by vcudad; if the VM has reached \
                 memory.host_max, or the host is out of memory, the kernel's log says so",
            ),
            Some(_) => Self::new(EndReason::Killed, format!("its worker {}", describe(how))),
            // The device process has closed the connection.
            None if status.success() => Self::exited(),
            None => Self::worker_failed(format!("its worker {}", describe(how))),
        }
    }
}

impl From<Abort> for Cause {
    fn from(why: Abort) -> Self {
        match why {
            Abort::Disconnected => Self::new(
                EndReason::Disconnected,
                "the front end disconnected: the VM, or the program without a VM, has ended",
            ),
            Abort::GuestReset => Self::new(EndReason::GuestReset, "the guest reset the device"),
            Abort::Violation => {
                Self::new(EndReason::ProtocolViolation, "the guest process violated the protocol")
            }
            Abort::Worker => Self::worker_failed("the device process can't use its worker"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_that_the_broker_did_not_cause_is_explained() {
        let cause = |status| Cause::of_process(&End::Exited(status));
        assert_eq!(cause(0), Cause::exited());
        for (status, reason, text) in [
            (libc::SIGKILL, EndReason::Killed, "memory.host_max"),
            (libc::SIGSEGV, EndReason::Killed, "signal 11"),
            (libc::SIGBUS, EndReason::Killed, "SIGBUS"),
            (1 << 8, EndReason::WorkerFailed, "exited with code 1"),
        ] {
            let cause = cause(status);
            assert_eq!(cause.reason, reason);
            assert!(cause.text.contains(text), "{cause:?}");
        }
        let cause = Cause::of_process(&End::NotStarted("no program".into()));
        assert_eq!(cause.reason, EndReason::WorkerFailed);
    }
}
