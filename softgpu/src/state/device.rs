//! The driver's process-wide state, and the simulated devices.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{LazyLock, OnceLock};

use cuda_api::callback;
use cuda_api::devices::visible;
use cuda_api::error::{CuError, CuResult};

use super::device_memory::{DeviceMemory, MAX_DEVICES, SharedCounts};
use crate::exec::memory::Ranges;

/// The CUDA version that the driver API reports.
pub(crate) const DRIVER_VERSION: i32 = 13000;

/// The compute capabilities of all GPUs that CUDA 13.0 supports, as the number in `sm_NN`.
const CAPABILITIES: [u32; 12] = [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121];
/// The compute capability of the devices if `SOFTGPU_COMPUTE_CAPABILITY` isn't set.
const DEFAULT_CAPABILITY: u32 = 90;

/// The address ranges that kernels may access.
pub(crate) static RANGES: LazyLock<Ranges> = LazyLock::new(Ranges::default);

/// A simulated GPU.
pub(crate) struct Device {
    /// Index of the device in this process.
    pub(crate) ordinal: i32,
    /// Index of the device on the host. It differs from `ordinal` if the process can use only some
    /// of the devices.
    pub(crate) place: i32,
    pub(crate) memory: DeviceMemory,
    /// Number of multiprocessors.
    pub(crate) processors: u32,
    /// Compute capability, as the number in `sm_NN`.
    pub(crate) capability: u32,
    pub(crate) uuid: [u8; 16],
}

/// The process-wide state of the driver, which `cuInit` creates.
pub(crate) struct Driver {
    pub(crate) devices: Vec<Device>,
}

impl Driver {
    /// Returns the device with the given index in this process.
    pub(crate) fn device(&self, ordinal: i32) -> CuResult<&Device> {
        usize::try_from(ordinal)
            .ok()
            .and_then(|i| self.devices.get(i))
            .ok_or(CuError::INVALID_DEVICE)
    }
}

static DRIVER: OnceLock<Driver> = OnceLock::new();
/// 0 before `cuInit`, 1 after it, and 2 in a forked child, where every call fails.
static PHASE: AtomicU8 = AtomicU8::new(0);

extern "C" fn forked() {
    PHASE.store(2, Ordering::Relaxed);
}

/// Returns the driver state. Fails if `cuInit` hasn't succeeded, in a forked child, and in a host
/// function that runs in a stream.
pub(crate) fn driver() -> CuResult<&'static Driver> {
    callback::not_running()?;
    if PHASE.load(Ordering::Acquire) == 1
        && let Some(driver) = DRIVER.get()
    {
        return Ok(driver);
    }
    Err(CuError::NOT_INITIALIZED)
}

/// Implements `cuInit`: creates the devices on the first call.
pub(crate) fn init() -> CuResult<&'static Driver> {
    if PHASE.load(Ordering::Acquire) == 2 {
        return Err(CuError::NOT_INITIALIZED);
    }
    let driver = match DRIVER.get() {
        Some(driver) => driver,
        None => {
            let devices = devices()?;
            DRIVER.get_or_init(|| {
                // SAFETY: the handler only stores to an atomic.
                unsafe { libc::pthread_atfork(None, None, Some(forked)) };
                Driver { devices }
            })
        }
    };
    if driver.devices.is_empty() {
        return Err(CuError::NO_DEVICE);
    }
    PHASE.store(1, Ordering::Release);
    Ok(driver)
}

/// Returns the devices that are visible to the program.
fn devices() -> CuResult<Vec<Device>> {
    let count = number("SOFTGPU_DEVICES").unwrap_or(1).min(MAX_DEVICES as u64);
    let memory = number("SOFTGPU_MEMORY").unwrap_or_else(|| host_memory() / 2);
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let uuids: Vec<[u8; 16]> = (0..count as i32).map(uuid).collect();
    let wanted = std::env::var_os("CUDA_VISIBLE_DEVICES");
    let wanted = wanted.as_ref().map(|value| value.to_string_lossy());
    let visible = visible(wanted.as_deref(), &uuids)?;
    let shared = SharedCounts::from_env()?;
    let devices = visible.into_iter().enumerate().map(|(ordinal, place)| Device {
        ordinal: ordinal as i32,
        place: place as i32,
        memory: DeviceMemory::new(memory & !0xffff, place, shared.as_ref()),
        processors,
        capability: capability(),
        uuid: uuids[place],
    });
    Ok(devices.collect())
}

/// Returns a device's UUID, which is the same in every process on a host but differs between hosts.
fn uuid(ordinal: i32) -> [u8; 16] {
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut mix = |byte: u8| {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        hash
    };
    machine.bytes().for_each(|b| {
        mix(b);
    });
    let mut uuid = *b"softgpu\0\0\0\0\0\0\0\0\0";
    for (i, byte) in uuid[7..].iter_mut().enumerate() {
        *byte = (mix(i as u8 ^ (ordinal as u8) << 4) >> 32) as u8;
    }
    uuid
}

/// Returns the compute capability of all devices. `SOFTGPU_COMPUTE_CAPABILITY` sets it.
pub(crate) fn capability() -> u32 {
    static CAPABILITY: OnceLock<u32> = OnceLock::new();
    *CAPABILITY.get_or_init(|| {
        let Ok(text) = std::env::var("SOFTGPU_COMPUTE_CAPABILITY") else {
            return DEFAULT_CAPABILITY;
        };
        parse_capability(&text).unwrap_or_else(|| {
            crate::log::line(&format!(
                "SOFTGPU_COMPUTE_CAPABILITY={text} is not a compute capability that CUDA 13.0 \
                 supports; using 9.0"
            ));
            DEFAULT_CAPABILITY
        })
    })
}

fn parse_capability(text: &str) -> Option<u32> {
    let (major, minor) = text.trim().split_once('.')?;
    let number = major.parse::<u32>().ok()?.checked_mul(10)?;
    let number = number.checked_add(minor.parse().ok().filter(|minor| *minor < 10)?)?;
    CAPABILITIES.contains(&number).then_some(number)
}

fn host_memory() -> u64 {
    // SAFETY: sysconf has no preconditions.
    let (pages, size) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    u64::try_from(pages).unwrap_or(0) * u64::try_from(size).unwrap_or(0)
}

/// Reads a size from an environment variable, with an optional suffix K, M, G or T.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let parsed = parse_size(&text);
    if parsed.is_none() {
        crate::log::line(&format!("{name}={text} is not a size; use a number such as 4G"));
    }
    parsed
}

fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches(['B', 'b']).trim_end_matches(['i', 'I']);
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        b'g' | b'G' => (&text[..text.len() - 1], 30),
        b't' | b'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    #[test]
    fn test_compute_capabilities() {
        for (text, want) in [
            ("12.1", Some(121)),
            ("9.0", Some(90)),
            ("9", None),
            ("9.15", None),
            ("5.0", None),
            ("", None),
        ] {
            assert_eq!(super::parse_capability(text), want, "{text}");
        }
    }

    #[test]
    fn test_sizes() {
        for (text, want) in [
            ("4G", Some(4 << 30)),
            ("512MiB", Some(512 << 20)),
            ("7", Some(7)),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(super::parse_size(text), want, "{text}");
        }
    }
}
