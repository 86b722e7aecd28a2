//! The library's global state, created by `cuInit`.

use crate::device::{self, Device};
use crate::error::{CuError, CuResult};
use crate::handles::{self, Handles, Object};
use crate::log::say;
use crate::memory::Memory;
use crate::remembered::Remembered;
use crate::session::Session;
use crate::tensor_maps::TensorMaps;
use crate::{fork, output, stats, windows};
use cuda_api::callback;
use parking_lot::Mutex;
use protocol::calls::{CuDeviceCanAccessPeer, VcudaThreadEnd};
use protocol::ids::{ContextId, StreamId};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The state of a process after `cuInit` has succeeded.
pub struct Driver {
    pub session: Session,
    /// The devices that are visible to the program, by ordinal.
    pub devices: Vec<Device>,
    pub handles: Handles,
    pub memory: Memory,
    /// Whether the host knows the call `VcudaLaunchEvent`, which the previous release doesn't know.
    /// Set by the first launch that needs the call.
    pub records_in_launches: OnceLock<bool>,
    /// The same for `VcudaLaunchEvents`.
    pub records_two_in_launches: OnceLock<bool>,
    /// The result of `cuModuleGetLoadingMode`.
    pub loading_mode: OnceLock<u32>,
    /// The limits of contexts that the program has queried, by context and number.
    pub limits: Remembered<(ContextId, u32), usize>,
    /// Tensor maps that the worker has encoded.
    pub tensor_maps: TensorMaps,
}

/// The address ranges that this library reserves, so that the program doesn't map memory in them.
const WINDOWS: [Range<usize>; 3] = [windows::DEVICE, windows::PINNED, handles::WINDOW];

static DRIVER: OnceLock<Driver> = OnceLock::new();
static INITIALIZING: Mutex<()> = Mutex::new(());

/// Returns the driver, if `cuInit` has succeeded in this process. Fails in a function that a stream
/// calls.
#[inline]
pub fn driver() -> CuResult<&'static Driver> {
    if fork::is_child() {
        return Err(CuError::NOT_INITIALIZED);
    }
    callback::not_running()?;
    DRIVER.get().ok_or(CuError::NOT_INITIALIZED)
}

/// Implements `cuInit`. After a failure, a later call tries again, since the device may appear.
pub fn init() -> CuResult<&'static Driver> {
    if fork::is_child() {
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
    fork::prepare_with(|| DRIVER.get()?.session.before_fork());
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
    let opened = Session::open(greet).map_err(|error| {
        say!(Error, "can't open the device: {error}");
        CuError::NO_DEVICE
    });
    let driver = opened.and_then(|session| {
        let devices = device::fetch(&session)?;
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
            records_in_launches: OnceLock::new(),
            records_two_in_launches: OnceLock::new(),
            loading_mode: OnceLock::new(),
            limits: Remembered::default(),
            tensor_maps: TensorMaps::default(),
        })
    });
    if driver.is_err() {
        WINDOWS.into_iter().for_each(windows::release);
    }
    driver
}

/// Whether the host knows the call `VcudaThreadEnd`, which the previous release doesn't know.
static REPORTS_THREADS: AtomicBool = AtomicBool::new(false);

/// Sends the first commands of a session.
fn greet(session: &Session) -> CuResult {
    let end = VcudaThreadEnd { h_stream: StreamId::PER_THREAD };
    let known = session.begin_along(&end, 0)?;
    device::check(session)?;
    let known = session.finish(known)?.result() != Err(CuError::NOT_SUPPORTED);
    REPORTS_THREADS.store(known, Ordering::Relaxed);
    Ok(())
}

/// Returns whether the host knows the call `VcudaThreadEnd`.
pub fn reports_threads() -> bool {
    REPORTS_THREADS.load(Ordering::Relaxed)
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
            // The host side of the previous release doesn't support peer access.
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
