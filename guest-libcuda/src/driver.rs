//! The library's global state, created by `cuInit`.

use crate::device::{self, Device};
use crate::error::{CuError, CuResult};
use crate::handles::{self, Handles, Object};
use crate::log::say;
use crate::memory::Memory;
use crate::remembered::Remembered;
use crate::session::Session;
use crate::{output, stats, windows};
use cuda_api::callback;
use parking_lot::Mutex;
use protocol::calls::{CuDeviceCanAccessPeer, VcudaThreadEnd};
use protocol::ids::{ContextId, StreamId};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The state of a process after `cuInit` has succeeded.
pub struct Driver {
    pub session: Session,
    /// The devices that are visible to the program, by ordinal.
    pub devices: Vec<Device>,
    pub handles: Handles,
    pub memory: Memory,
    /// Whether the host knows `VcudaThreadEnd`. The previous release doesn't.
    pub reports_threads: bool,
    /// The result of `cuModuleGetLoadingMode`.
    pub loading_mode: OnceLock<u32>,
    /// The limits of contexts that the program has queried, by context and number.
    pub limits: Remembered<(ContextId, u32), usize>,
}

/// Address ranges in which the program must not map memory.
const WINDOWS: [Range<usize>; 3] = [windows::DEVICE, windows::PINNED, handles::WINDOW];

static DRIVER: OnceLock<Driver> = OnceLock::new();
static INITIALIZING: Mutex<()> = Mutex::new(());
/// Whether this process is a forked child of the process that called `cuInit`.
static FORKED: AtomicBool = AtomicBool::new(false);
/// File descriptors that a forked child must close.
static DESCRIPTORS: [AtomicI32; 4] = [const { AtomicI32::new(-1) }; 4];

/// Returns the driver, if `cuInit` has succeeded in this process. Fails in a function that a stream
/// calls.
#[inline]
pub fn driver() -> CuResult<&'static Driver> {
    if FORKED.load(Ordering::Relaxed) {
        return Err(CuError::NOT_INITIALIZED);
    }
    callback::not_running()?;
    DRIVER.get().ok_or(CuError::NOT_INITIALIZED)
}

/// `cuInit`. After a failure, a later call tries again, since the device may appear.
pub fn init() -> CuResult<&'static Driver> {
    if FORKED.load(Ordering::Relaxed) {
        return Err(CuError::NOT_INITIALIZED);
    }
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    stats::init();
    let _one_at_a_time = INITIALIZING.lock();
    if let Some(driver) = DRIVER.get() {
        return Ok(driver);
    }
    let driver = start()?;
    for (slot, fd) in DESCRIPTORS.iter().zip(driver.session.transport().descriptors()) {
        slot.store(fd, Ordering::Relaxed);
    }
    // SAFETY: the handler only stores to atomics and closes descriptors, which is safe after fork.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    Ok(DRIVER.get_or_init(|| driver))
}

fn start() -> CuResult<Driver> {
    for (index, range) in WINDOWS.iter().enumerate() {
        if let Err(error) = windows::reserve(range.clone()) {
            say!(Error, "can't reserve addresses from {:#x}: {error}", range.start);
            WINDOWS[..index].iter().cloned().for_each(windows::release);
            return Err(CuError::OUT_OF_MEMORY);
        }
    }
    let started = Session::start().map_err(|error| {
        say!(Error, "can't open the device: {error}");
        CuError::NO_DEVICE
    });
    let driver = started.and_then(|session| {
        let end = VcudaThreadEnd { h_stream: StreamId::PER_THREAD };
        let known = session.begin_along(&end, 0)?;
        let devices = device::fetch(&session)?;
        let reports_threads = session.finish(known)?.result() != Err(CuError::NOT_SUPPORTED);
        if devices.is_empty() {
            say!(Error, "CUDA_VISIBLE_DEVICES hides every device");
            return Err(CuError::NO_DEVICE);
        }
        let (handles, memory) = (Handles::default(), Memory::default());
        for device in &devices {
            let context = device.primary_context;
            context.set_handle(handles.insert(Object::Context(context))?);
        }
        Ok(Driver {
            session,
            devices,
            handles,
            memory,
            reports_threads,
            loading_mode: OnceLock::new(),
            limits: Remembered::default(),
        })
    });
    if driver.is_err() {
        WINDOWS.into_iter().for_each(windows::release);
    }
    driver
}

extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
    for slot in &DESCRIPTORS {
        let fd = slot.swap(-1, Ordering::Relaxed);
        if fd >= 0 {
            // SAFETY: this is the child's copy of the descriptor, and no code in the child uses it.
            unsafe { libc::close(fd) };
        }
    }
}

impl Driver {
    /// Returns the device with this ordinal.
    pub fn device(&self, number: i32) -> CuResult<&Device> {
        usize::try_from(number)
            .ok()
            .and_then(|number| self.devices.get(number))
            .ok_or(CuError::INVALID_DEVICE)
    }

    /// Returns whether a device can access another device's memory.
    pub fn can_access(&self, device: i32, holder: i32) -> CuResult<bool> {
        let (dev, peer_dev) = (self.device(device)?.number, self.device(holder)?.number);
        match self.session.call(&CuDeviceCanAccessPeer { dev, peer_dev }) {
            Ok(answer) => Ok(answer.can_access_peer != 0),
            // The previous release of the host side has no peer access.
            Err(CuError::NOT_SUPPORTED) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes the text that kernels have printed to the program's stdout. Call this in entry points
    /// that synchronize, which is when CUDA writes it.
    pub fn flush_output(&self) {
        output::flush(&self.session);
    }
}
