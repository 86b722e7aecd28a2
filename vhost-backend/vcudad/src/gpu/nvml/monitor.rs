//! The threads that query NVML and queue samples and faults for the event loop.
//!
//! The event loop never waits for NVML. The threads put samples and faults in a bounded queue and
//! wake the event loop through an eventfd. The event loop then empties the queue.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::types::{Fault, FaultKind, FaultSource, MemorySample, Nvml, NvmlError, TimeSample};
use control_api::GpuSensors;
use host_ipc::eventfd::{drain, eventfd, notify};
use host_ipc::gpu::{NvLinks, PcieLinks};

/// How often each GPU's memory is sampled.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of queued events. If the queue is full, the oldest event is dropped.
const MAX_WAITING: usize = 256;

/// A sample or a fault from NVML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NvmlEvent {
    /// A sample of the memory in use on the GPU with this UUID.
    Sample(String, MemorySample),
    /// The time for which processes have used the GPU with this UUID.
    Time(String, TimeSample),
    /// The PCIe links of the GPU with this UUID have changed or were read for the first time.
    Links(String, PcieLinks),
    /// Temperature, power, or clocks of the GPU with this UUID have changed.
    Sensors(String, GpuSensors),
    /// The active NVLinks of the GPU with this UUID, which are read once.
    NvLinks(String, NvLinks),
    /// A GPU fault.
    Fault(Fault),
}

/// The thread that takes samples and the thread that waits for faults. They run until the process
/// exits.
pub(crate) struct NvmlMonitor {
    queue: EventQueue,
}

impl NvmlMonitor {
    /// Starts both threads: every `interval`, one samples the memory and the time of the GPUs
    /// `used` by the broker, and the memory of the `others`. The other thread waits for faults.
    pub(crate) fn start(
        nvml: Arc<dyn Nvml>,
        used: Vec<String>,
        others: Vec<String>,
        interval: Duration,
    ) -> io::Result<Self> {
        let queue = EventQueue { waiting: Arc::default(), bell: Arc::new(eventfd()?) };
        match nvml.faults() {
            Ok(mut faults) => {
                let queue = queue.clone();
                std::thread::Builder::new()
                    .name("gpu-faults".into())
                    .spawn(move || while queue.wait_for_fault(faults.as_mut()) {})?;
            }
            Err(error) => tracing::warn!("cannot detect GPU faults: {error}"),
        }
        let samples = queue.clone();
        std::thread::Builder::new().name("gpu-memory".into()).spawn(move || {
            let mut last = vec![(false, PcieLinks::default(), None); used.len()];
            let mut sensors = vec![GpuSensors::default(); used.len()];
            let mut others_lost = vec![false; others.len()];
            for uuid in &used {
                samples.push(NvmlEvent::NvLinks(uuid.clone(), nvml.nvlinks(uuid)));
            }
            loop {
                for (uuid, (lost, links, since_us)) in used.iter().zip(&mut last) {
                    samples.push_sample(nvml.as_ref(), uuid, lost);
                    samples.push_time(nvml.as_ref(), uuid, since_us);
                    samples.push_links(nvml.as_ref(), uuid, links);
                }
                for (uuid, last) in used.iter().zip(&mut sensors) {
                    samples.push_sensors(nvml.as_ref(), uuid, last);
                }
                for (uuid, lost) in others.iter().zip(&mut others_lost) {
                    samples.push_sample(nvml.as_ref(), uuid, lost);
                }
                std::thread::sleep(interval);
            }
        })?;
        Ok(Self { queue })
    }

    /// Returns an eventfd that is readable while events are queued.
    pub(crate) fn bell(&self) -> RawFd {
        self.queue.bell.as_raw_fd()
    }

    /// Takes the events that were queued since the last call.
    pub(crate) fn take(&self) -> Vec<NvmlEvent> {
        drain(&self.queue.bell);
        self.queue.lock().drain(..).collect()
    }
}

/// The queue through which the threads send events to the event loop.
#[derive(Clone)]
struct EventQueue {
    waiting: Arc<Mutex<VecDeque<NvmlEvent>>>,
    bell: Arc<OwnedFd>,
}

impl EventQueue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<NvmlEvent>> {
        self.waiting.lock().unwrap_or_else(|error| error.into_inner())
    }

    fn push(&self, event: NvmlEvent) {
        {
            let mut waiting = self.lock();
            if waiting.len() >= MAX_WAITING {
                waiting.pop_front();
            }
            waiting.push_back(event);
        }
        notify(&*self.bell);
    }

    /// Samples a GPU's memory and queues the sample. If the GPU is lost, queues one fault, and sets
    /// `lost` so that the loss isn't reported again.
    fn push_sample(&self, nvml: &dyn Nvml, uuid: &str, lost: &mut bool) {
        match nvml.sample(uuid) {
            Ok(sample) => {
                *lost = false;
                // If the event loop is late, the queue may contain an earlier sample of this GPU.
                // Drop it, because the ledger has changed since.
                let is_earlier =
                    |event: &NvmlEvent| matches!(event, NvmlEvent::Sample(of, _) if of == uuid);
                self.lock().retain(|event| !is_earlier(event));
                self.push(NvmlEvent::Sample(uuid.to_owned(), sample));
            }
            Err(NvmlError::Lost(_)) if !*lost => {
                *lost = true;
                let fault = Fault { uuid: Some(uuid.to_owned()), kind: FaultKind::Lost };
                self.push(NvmlEvent::Fault(fault));
            }
            Err(error) => tracing::debug!("{error}"),
        }
    }

    /// Reads how much GPU time processes have used since `since_us`, and queues the result.
    fn push_time(&self, nvml: &dyn Nvml, uuid: &str, since_us: &mut Option<u64>) {
        let Some(since) = *since_us else {
            *since_us = Some(now_us());
            return;
        };
        let sample = match nvml.utilization(uuid, since) {
            Ok(utilizations) => TimeSample::new(since, &utilizations),
            Err(error) => return tracing::debug!("{error}"),
        };
        // If the driver has no sample, the GPU was idle. End the interval now, so that the next
        // sample doesn't include the idle time.
        let (sample, end_us) = sample.unwrap_or_else(|| {
            let end_us = now_us().max(since);
            let elapsed = Duration::from_micros(end_us - since);
            (TimeSample { elapsed, processes: Vec::new() }, end_us)
        });
        *since_us = Some(end_us);
        self.push(NvmlEvent::Time(uuid.to_owned(), sample));
    }

    /// Reads a GPU's PCIe links, and queues them if they differ from `last`.
    fn push_links(&self, nvml: &dyn Nvml, uuid: &str, last: &mut PcieLinks) {
        let links = nvml.links(uuid);
        if links != *last {
            *last = links;
            self.push(NvmlEvent::Links(uuid.to_owned(), links));
        }
    }

    /// Reads a GPU's temperature, power, and clocks, and queues them if they differ from `last`.
    fn push_sensors(&self, nvml: &dyn Nvml, uuid: &str, last: &mut GpuSensors) {
        let sensors = nvml.sensors(uuid);
        if sensors != *last {
            *last = sensors;
            self.push(NvmlEvent::Sensors(uuid.to_owned(), sensors));
        }
    }

    /// Waits for a fault and queues it. Returns true if the caller should wait for another fault.
    fn wait_for_fault(&self, faults: &mut dyn FaultSource) -> bool {
        match faults.next() {
            Ok(Some(fault)) => self.push(NvmlEvent::Fault(fault)),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!("GPU faults are no longer detected: {error}");
                return false;
            }
        }
        true
    }
}

/// Returns the time in microseconds since 1970.
fn now_us() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_micros().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::types::{ProcessMemory, Utilization};
    use super::*;
    use host_ipc::gpu::PcieLink;

    struct FakeNvml;

    impl Nvml for FakeNvml {
        fn uuids(&self) -> Result<Vec<String>, NvmlError> {
            Ok(vec![])
        }
        fn sample(&self, uuid: &str) -> Result<MemorySample, NvmlError> {
            if uuid == "GPU-gone" {
                return Err(NvmlError::Lost(uuid.into()));
            }
            let processes = vec![ProcessMemory { pid: 1, bytes: 5 }];
            Ok(MemorySample { used: 5, processes, is_complete: true })
        }
        fn utilization(&self, _: &str, since_us: u64) -> Result<Vec<Utilization>, NvmlError> {
            Ok(vec![Utilization { pid: 1, at_us: since_us + 1000, percent: 50 }])
        }
        fn links(&self, _: &str) -> PcieLinks {
            let max = PcieLink { generation: 5, lanes: 16 };
            PcieLinks { max, current: PcieLink { generation: 1, ..max } }
        }
        fn sensors(&self, _: &str) -> GpuSensors {
            GpuSensors { temperature_celsius: Some(40), ..GpuSensors::default() }
        }
        fn nvlinks(&self, _: &str) -> NvLinks {
            NvLinks { to_switches: 18, to_gpus: vec![] }
        }
        fn faults(&self) -> Result<Box<dyn FaultSource>, NvmlError> {
            Ok(Box::new(FakeFaults(2)))
        }
    }

    struct FakeFaults(u64);

    impl FaultSource for FakeFaults {
        fn next(&mut self) -> Result<Option<Fault>, NvmlError> {
            let none_left = || NvmlError::Unavailable("no faults left".into());
            self.0 = self.0.checked_sub(1).ok_or_else(none_left)?;
            Ok(Some(Fault { uuid: Some("GPU-a".into()), kind: FaultKind::Xid(79 - self.0) }))
        }
    }

    #[test]
    fn samples_and_faults_ring_the_bell_and_a_lost_gpu_is_reported_once() {
        let uuids = vec!["GPU-a".to_owned(), "GPU-gone".to_owned()];
        let monitor =
            NvmlMonitor::start(Arc::new(FakeNvml), uuids, vec![], Duration::from_millis(1))
                .unwrap();
        let (mut samples, mut faults) = (0, vec![]);
        let (mut links, mut nvlinks, mut sensors) = (vec![], vec![], vec![]);
        while samples < 20 || faults.len() < 3 {
            let mut poll = libc::pollfd { fd: monitor.bell(), events: libc::POLLIN, revents: 0 };
            // SAFETY: `poll` is a single pollfd, which matches the count of 1.
            assert_eq!(unsafe { libc::poll(&mut poll, 1, 60_000) }, 1, "the bell does not ring");
            for event in monitor.take() {
                match event {
                    NvmlEvent::Sample(uuid, sample) => {
                        assert_eq!((uuid.as_str(), sample.process_bytes(1)), ("GPU-a", Some(5)));
                        samples += 1;
                    }
                    NvmlEvent::Time(_, sample) => {
                        assert_eq!(sample.process_time(1), Duration::from_micros(500));
                    }
                    NvmlEvent::Links(uuid, found) => {
                        assert_eq!((found.max.lanes, found.current.generation), (16, 1));
                        links.push(uuid);
                    }
                    NvmlEvent::NvLinks(uuid, found) => {
                        assert_eq!(found.to_switches, 18);
                        nvlinks.push(uuid);
                    }
                    NvmlEvent::Sensors(uuid, found) => {
                        assert_eq!(found.temperature_celsius, Some(40));
                        sensors.push(uuid);
                    }
                    NvmlEvent::Fault(fault) => faults.push(fault.kind),
                }
            }
        }
        // Links and sensors are reported only when they change.
        assert_eq!(links, ["GPU-a", "GPU-gone"]);
        assert_eq!(sensors, ["GPU-a", "GPU-gone"]);
        assert_eq!(nvlinks, ["GPU-a", "GPU-gone"]);
        faults.sort_by_key(|kind| kind.to_string());
        assert_eq!(faults, [FaultKind::Xid(78), FaultKind::Xid(79), FaultKind::Lost]);
    }
}
