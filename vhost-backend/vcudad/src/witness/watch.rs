//! The threads that ask the witness, and hand on what it says.
//!
//! The event loop waits for nobody, NVML least of all: readings and faults wait in a bounded queue
//! until it comes for them, rung by an eventfd.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::{Fault, FaultKind, Faults, Reading, Witness, WitnessError};
use host_ipc::eventfd::{drain, eventfd};

/// How often all GPUs are read.
pub const INTERVAL: Duration = Duration::from_secs(1);
/// What waits for the event loop at most; the newest is kept.
const MAX_WAITING: usize = 256;

/// What the witness said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Testimony {
    /// What is taken on the GPU of that UUID.
    Reading(String, Reading),
    /// A fault.
    Fault(Fault),
}

#[derive(Default)]
struct Queue {
    waiting: Mutex<VecDeque<Testimony>>,
}

fn lock(queue: &Queue) -> MutexGuard<'_, VecDeque<Testimony>> {
    queue.waiting.lock().unwrap_or_else(|error| error.into_inner())
}

/// Both threads. They end with the process.
pub struct Watch {
    queue: Arc<Queue>,
    bell: Arc<OwnedFd>,
}

impl Watch {
    /// Begins to read these GPUs, and to wait for faults.
    pub fn start(
        witness: Arc<dyn Witness>,
        uuids: Vec<String>,
        interval: Duration,
    ) -> io::Result<Self> {
        let watch = Self { queue: Arc::default(), bell: Arc::new(eventfd()?) };
        let teller = watch.teller();
        match witness.faults() {
            Ok(mut faults) => {
                let teller = watch.teller();
                std::thread::Builder::new()
                    .name("gpu-faults".into())
                    .spawn(move || while teller.wait_for_fault(faults.as_mut()) {})?;
            }
            Err(error) => tracing::warn!("cannot detect GPU faults: {error}"),
        }
        std::thread::Builder::new().name("witness".into()).spawn(move || {
            let mut lost = vec![false; uuids.len()];
            loop {
                for (uuid, lost) in uuids.iter().zip(&mut lost) {
                    teller.read(witness.as_ref(), uuid, lost);
                }
                std::thread::sleep(interval);
            }
        })?;
        Ok(watch)
    }

    /// Readable when there is something to take.
    pub fn bell(&self) -> RawFd {
        self.bell.as_raw_fd()
    }

    /// What the witness said since the last time.
    pub fn take(&self) -> Vec<Testimony> {
        drain(&self.bell);
        lock(&self.queue).drain(..).collect()
    }

    fn teller(&self) -> Teller {
        Teller { queue: self.queue.clone(), bell: self.bell.clone() }
    }
}

struct Teller {
    queue: Arc<Queue>,
    bell: Arc<OwnedFd>,
}

impl Teller {
    fn tell(&self, testimony: Testimony) {
        {
            let mut waiting = lock(&self.queue);
            if waiting.len() >= MAX_WAITING {
                waiting.pop_front();
            }
            waiting.push_back(testimony);
        }
        let one = 1u64.to_ne_bytes();
        // SAFETY: the buffer has the 8 bytes that an eventfd takes.
        unsafe { libc::write(self.bell.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    fn read(&self, witness: &dyn Witness, uuid: &str, lost: &mut bool) {
        match witness.read(uuid) {
            Ok(reading) => {
                *lost = false;
                self.tell(Testimony::Reading(uuid.to_owned(), reading));
            }
            Err(WitnessError::Lost(_)) if !*lost => {
                *lost = true;
                let fault = Fault { uuid: Some(uuid.to_owned()), kind: FaultKind::Lost };
                self.tell(Testimony::Fault(fault));
            }
            Err(error) => tracing::debug!("{error}"),
        }
    }

    /// `false`: no more will come.
    fn wait_for_fault(&self, faults: &mut dyn Faults) -> bool {
        match faults.next() {
            Ok(Some(fault)) => self.tell(Testimony::Fault(fault)),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!("GPU faults are no longer detected: {error}");
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::Held;
    use super::*;

    struct Fake;

    impl Witness for Fake {
        fn uuids(&self) -> Result<Vec<String>, WitnessError> {
            Ok(vec![])
        }
        fn read(&self, uuid: &str) -> Result<Reading, WitnessError> {
            if uuid == "GPU-gone" {
                return Err(WitnessError::Lost(uuid.into()));
            }
            Ok(Reading { used: 5, processes: vec![Held { pid: 1, bytes: 5 }] })
        }
        fn faults(&self) -> Result<Box<dyn Faults>, WitnessError> {
            Ok(Box::new(FakeFaults(2)))
        }
    }

    struct FakeFaults(u64);

    impl Faults for FakeFaults {
        fn next(&mut self) -> Result<Option<Fault>, WitnessError> {
            self.0 = self.0.checked_sub(1).ok_or(WitnessError::Absent("all told".into()))?;
            Ok(Some(Fault { uuid: Some("GPU-a".into()), kind: FaultKind::Xid(79 - self.0) }))
        }
    }

    #[test]
    fn readings_and_faults_ring_the_bell_and_a_lost_gpu_is_told_once() {
        let uuids = vec!["GPU-a".to_owned(), "GPU-gone".to_owned()];
        let watch = Watch::start(Arc::new(Fake), uuids, Duration::from_millis(1)).unwrap();
        let (mut readings, mut faults) = (0, vec![]);
        while readings < 20 || faults.len() < 3 {
            let mut poll = libc::pollfd { fd: watch.bell(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one descriptor.
            assert_eq!(unsafe { libc::poll(&mut poll, 1, 60_000) }, 1, "the bell does not ring");
            for testimony in watch.take() {
                match testimony {
                    Testimony::Reading(uuid, reading) => {
                        assert_eq!((uuid.as_str(), reading.of(1)), ("GPU-a", Some(5)));
                        readings += 1;
                    }
                    Testimony::Fault(fault) => faults.push(fault.kind),
                }
            }
        }
        faults.sort_by_key(|kind| kind.to_string());
        assert_eq!(faults, [FaultKind::Xid(78), FaultKind::Xid(79), FaultKind::Lost]);
    }
}
