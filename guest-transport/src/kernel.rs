//! The transport that uses the kernel driver through `/dev/virtio-cuda0`.

use crate::error::TransportError;
use crate::facts::Snapshot;
use crate::mapping::{Mapping, map_fixed, reserve_fixed};
use crate::refusal::Request;
use crate::transport::{BUSY_TRIES, Started, Transport, check_config, is_pinned};
use protocol::plain::Plain;
use protocol::uapi::{
    Config, IOC_ALLOC, IOC_INFO, IOC_KICK, IOC_PIN, IOC_QUERY, IOC_RELEASE, IOC_START, IOC_SUBMIT,
    IOC_WAIT, IocAlloc, IocInfo, IocPin, IocQuery, IocRelease, IocStart, IocSubmit, IocWait,
    QUERY_MAX, RING_HEADER_BYTES,
};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to retry opening a device that the driver is replacing.
const REPLACE_TIME: Duration = Duration::from_secs(2);
const REPLACE_PAUSE: Duration = Duration::from_millis(50);

/// An open device file. The driver creates one session per open file.
pub struct Kernel {
    file: File,
    config: Config,
}

impl Kernel {
    /// Opens the device file, and reads the config space with an ioctl. If the driver is
    /// initializing the device again because the device process has been replaced, waits until it
    /// has finished.
    pub fn open(path: PathBuf) -> Result<Self, TransportError> {
        let first = Self::try_open(&path);
        match &first {
            Err(TransportError::Ended { .. }) => {}
            // While user-mode Linux replaces the device, the file doesn't exist, or opening it
            // fails with ENODEV.
            Err(TransportError::Open { source, .. })
                if matches!(source.raw_os_error(), Some(libc::ENOENT | libc::ENODEV))
                    && is_driver_loaded() => {}
            _ => return first,
        }
        let end = Instant::now() + REPLACE_TIME;
        loop {
            std::thread::sleep(REPLACE_PAUSE);
            match Self::try_open(&path) {
                Err(TransportError::Ended { .. } | TransportError::Open { .. })
                    if Instant::now() < end => {}
                Err(TransportError::Open { .. }) => return first,
                result => return result,
            }
        }
    }

    fn try_open(path: &Path) -> Result<Self, TransportError> {
        let file = File::options()
            .read(true)
            .write(true)
            .custom_flags(libc::O_CLOEXEC)
            .open(path)
            .map_err(|source| TransportError::Open { path: path.into(), source })?;
        let mut info = IocInfo::zeroed();
        ioctl(&file, IOC_INFO, &mut info, "reading the device's config space")?;
        let config = check_config(path, info.config)?;
        Ok(Self { file, config })
    }

    /// Adds an explanation to a refusal by the driver or by the host.
    fn explained(&self, error: TransportError, request: Request) -> TransportError {
        let error = error.explained(request, &self.config).with_limits_of_guest(request);
        error.with_limits_of_host(|| Snapshot::process_limits_of(self))
    }
}

/// Returns true if the driver is loaded. Usually, that means that there is a device.
fn is_driver_loaded() -> bool {
    let modules = std::fs::read_to_string("/proc/modules").unwrap_or_default();
    modules.lines().any(|line| line.split(' ').next() == Some("virtio_cuda"))
}

/// Calls an ioctl that takes a structure. Retries if a signal arrives or the device is busy.
fn ioctl<T: Plain>(
    file: &File,
    number: u64,
    argument: &mut T,
    what: &'static str,
) -> Result<(), TransportError> {
    let mut tries = 0;
    loop {
        // SAFETY: `argument` has the type that this request expects and outlives the call.
        let result = unsafe {
            libc::ioctl(file.as_raw_fd(), number as libc::Ioctl, std::ptr::from_mut(argument))
        };
        if result >= 0 {
            return Ok(());
        }
        let source = std::io::Error::last_os_error();
        match source.raw_os_error() {
            Some(libc::EINTR) => continue,
            // This session has too many requests in flight (VIRTIO_CUDA_ERR_BUSY).
            Some(libc::EAGAIN) if tries < BUSY_TRIES => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(1));
            }
            Some(libc::ENODEV | libc::EPIPE | libc::ESHUTDOWN) => {
                return Err(TransportError::Ended { why: "the device or its worker is gone" });
            }
            // An older driver returns ENOTTY for requests that it doesn't know.
            Some(libc::EOPNOTSUPP | libc::ENOTTY) => {
                return Err(TransportError::Unsupported { what });
            }
            _ => return Err(TransportError::System { what, source }),
        }
    }
}

impl Transport for Kernel {
    fn config(&self) -> Config {
        self.config
    }

    fn start(
        &self,
        env: &[u8],
        ring_bytes: u32,
        arena_bytes: u64,
    ) -> Result<Started, TransportError> {
        let mut start = IocStart {
            env: env.as_ptr() as u64,
            env_len: env.len() as u32,
            ring_bytes,
            arena_bytes,
            ..IocStart::zeroed()
        };
        ioctl(&self.file, IOC_START, &mut start, "a session")
            .map_err(|error| self.explained(error, Request::Session))?;
        let len = RING_HEADER_BYTES + ring_bytes as usize + arena_bytes as usize;
        let region = Mapping::shared(self.file.as_raw_fd(), start.mmap_offset, len)?;
        Ok(Started { region, session: start.session })
    }

    fn alloc_pinned(&self, vaddr: usize, len: usize) -> Result<u32, TransportError> {
        let mut alloc = IocAlloc { vaddr: vaddr as u64, len: len as u64, ..IocAlloc::zeroed() };
        ioctl(&self.file, IOC_ALLOC, &mut alloc, "pinned memory")
            .map_err(|error| self.explained(error, Request::Region))?;
        // SAFETY: the caller of `alloc_pinned` owns the range.
        let mapped = unsafe { map_fixed(vaddr, self.file.as_raw_fd(), alloc.mmap_offset, len) };
        if let Err(error) = mapped {
            self.release(alloc.region, vaddr, len)?;
            return Err(error);
        }
        Ok(alloc.region)
    }

    fn pin_user(&self, vaddr: usize, len: usize) -> Result<u32, TransportError> {
        let mut pin = IocPin { vaddr: vaddr as u64, len: len as u64, ..IocPin::zeroed() };
        ioctl(&self.file, IOC_PIN, &mut pin, "to pin the program's memory")
            .map_err(|error| self.explained(error, Request::Region))?;
        Ok(pin.region)
    }

    fn release(&self, region: u32, vaddr: usize, len: usize) -> Result<(), TransportError> {
        if is_pinned(vaddr) {
            // SAFETY: the range is in the pinned window, which only this library uses, and the
            // caller of `release` owns the range and no longer uses it.
            unsafe { reserve_fixed(vaddr, len)? };
        }
        let mut release = IocRelease { region, reserved: 0 };
        ioctl(&self.file, IOC_RELEASE, &mut release, "releasing a region")
    }

    fn kick(&self) -> Result<(), TransportError> {
        // SAFETY: the request takes no argument.
        if unsafe { libc::ioctl(self.file.as_raw_fd(), IOC_KICK as libc::Ioctl) } < 0 {
            return Err(TransportError::last("ringing the doorbell"));
        }
        Ok(())
    }

    fn wait(&self, seen: u32, timeout: Option<Duration>) -> Result<u32, TransportError> {
        let timeout_ms = timeout.map_or(0, |t| t.as_millis().clamp(1, u32::MAX.into()) as u32);
        let mut wait = IocWait { seen, timeout_ms };
        match ioctl(&self.file, IOC_WAIT, &mut wait, "waiting for the worker") {
            Ok(()) => Ok(wait.seen),
            Err(TransportError::System { source, .. })
                if source.raw_os_error() == Some(libc::ETIMEDOUT) =>
            {
                Ok(seen)
            }
            Err(error) => Err(error),
        }
    }

    fn submit(&self, command: &[u8], reply: &mut [u8]) -> Result<usize, TransportError> {
        let mut submit = IocSubmit {
            cmd: command.as_ptr() as u64,
            reply: reply.as_mut_ptr() as u64,
            cmd_len: command.len() as u32,
            reply_len: reply.len() as u32,
        };
        ioctl(&self.file, IOC_SUBMIT, &mut submit, "sending a command")?;
        Ok(submit.reply_len as usize)
    }

    fn query(&self, answer: &mut [u8]) -> Result<usize, TransportError> {
        let mut query = IocQuery {
            answer: answer.as_mut_ptr() as u64,
            answer_len: answer.len().min(QUERY_MAX) as u32,
            reserved: 0,
        };
        ioctl(&self.file, IOC_QUERY, &mut query, "querying the GPUs")?;
        Ok(query.answer_len as usize)
    }

    fn max_reply(&self) -> usize {
        self.config.max_plain as usize
    }

    fn descriptors(&self) -> Vec<i32> {
        vec![self.file.as_raw_fd()]
    }
}
