//! Takes the session's memory off the GPUs when the broker orders that, and puts it back.
//!
//! The contents of each mapping are copied to host memory. Then the mapping's physical memory is
//! released, so that others can allocate it, and only the addresses stay the session's. To return,
//! the worker creates new physical memory, maps it at the same addresses, and copies the contents
//! back. In between, no call of the session runs (`commands/stop.rs`), so nothing can use the
//! addresses, and the plan of the memory doesn't change.
//!
//! Memory that is shared with other sessions stays on the GPU, as does memory that the guest manages
//! itself. So does what only the driver knows: arrays, modules, contexts, and local memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use cuda_api::sys::CU_MEMHOSTREGISTER_PORTABLE;
use host_ipc::residency::{Order, Place, Report};
use protocol::ids::ContextId;

use super::access::grant;
use super::allocate::give_back_now;
use super::physical::properties;
use super::plan::Mapping;
use super::staging::Staging;
use crate::calls::commands::cx::Cx;
use crate::calls::commands::shared::Shared;
use crate::calls::contexts::charges::owe_clearing;
use crate::calls::gate::pass::Pass;
use crate::calls::lock;
use crate::driver::{CuError, CuResult};
use crate::end::end;

/// How long a session's work may take to end after its calls were ordered to stop.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often the thread checks whether the broker has changed its mind.
const CHECK: Duration = Duration::from_millis(20);

/// Memory that is away from the GPUs.
struct Moved {
    /// The mappings that haven't returned, each with the offset of its contents in `contents`.
    mappings: Vec<(Mapping, usize)>,
    contents: Staging,
}

/// Why an order could not be carried out.
#[derive(Debug, thiserror::Error)]
enum MoveError {
    #[error("the session's work on the GPU hasn't ended after {} s", PATIENCE.as_secs())]
    Busy,
    #[error("the broker has withdrawn the order")]
    Withdrawn,
    #[error("can't allocate {0} bytes of host memory for the copies: {1}")]
    Host(usize, std::io::Error),
    #[error("{0} failed: {1}")]
    Driver(&'static str, CuError),
}

impl MoveError {
    /// Returns whether retrying the order might succeed.
    fn may_pass(&self) -> bool {
        matches!(self, Self::Driver(_, CuError::OUT_OF_MEMORY))
    }
}

/// Starts the thread that carries out the broker's orders. If the thread can't be started, the
/// session's memory stays on the GPUs.
pub(in crate::calls) fn start_moving(shared: &Arc<Shared>) {
    let of = shared.clone();
    let thread = std::thread::Builder::new().name("residency".into());
    if let Err(error) = thread.spawn(move || obey(&of)) {
        let session = &shared.session.label;
        tracing::warn!(session, "can't start a thread to move the session's memory: {error}");
    }
}

/// Carries out the broker's orders. Never returns.
fn obey(shared: &Arc<Shared>) {
    let words = &shared.session.gate.page.residency;
    let (mut known, mut moved) = (Order::default(), None);
    // Whether the last order failed, so that repeated failures are logged once.
    let mut has_failed = false;
    loop {
        known = words.next_order(known);
        let done = match known.place {
            Place::Away if moved.is_none() => leave(shared, known).map(|left| moved = Some(left)),
            Place::OnGpu => bring_back(shared, &mut moved),
            Place::Away => Ok(()),
        };
        if let Err(error) = &done {
            let session = &shared.session.label;
            if !has_failed && !matches!(error, MoveError::Withdrawn) {
                tracing::warn!(session, order = known.number, "can't move the memory: {error}");
            }
            if moved.is_some() && !error.may_pass() {
                // The memory can't return, so end the session instead of making it wait forever.
                end(&format!("the session's memory couldn't be put back on the GPU: {error}"));
            }
        }
        has_failed = done.is_err();
        for device in 0..shared.devices {
            let mappings = moved.iter().flat_map(|moved| &moved.mappings);
            let away = mappings.filter(|(mapping, _)| mapping.device == device);
            let bytes = away.map(|(mapping, _)| mapping.len).sum();
            words.set_away(device as usize, bytes);
        }
        let place = if moved.is_some() { Place::Away } else { Place::OnGpu };
        words.set_report(Report { number: known.number, place, failed: done.is_err() });
        shared.session.ledger.report_residency();
    }
}

/// Stops the session's calls, and takes its memory off the GPUs. If that fails, all memory that the
/// program uses is still on the GPUs, and the calls resume.
fn leave(shared: &Arc<Shared>, order: Order) -> Result<Moved, MoveError> {
    let (stop, waker) = (&shared.stop, &shared.session.waker);
    let began = Instant::now();
    stop.request();
    waker.wake();
    let stopped = loop {
        if stop.wait(CHECK) {
            break Ok(());
        }
        if let Err(withdrawn) = still(shared, order) {
            break Err(withdrawn);
        }
        if began.elapsed() > PATIENCE {
            break Err(MoveError::Busy);
        }
    };
    let left = stopped.and_then(|()| send_away(shared, order));
    if left.is_err() {
        stop.end();
        waker.wake();
    }
    left
}

/// Fails if the broker has given another order since.
fn still(shared: &Shared, order: Order) -> Result<(), MoveError> {
    let now = shared.session.gate.page.residency.order();
    if now == order { Ok(()) } else { Err(MoveError::Withdrawn) }
}

/// Returns a context on a GPU in which the driver can be called, if the session has one.
fn context_on(shared: &Arc<Shared>, device: i32) -> Option<ContextId> {
    let tables = lock(&shared.tables);
    let mut on_device = tables.contexts.iter().filter(|(_, context)| context.device == device);
    on_device.find(|(_, context)| !context.ending).map(|(id, _)| id)
}

/// Copies the session's memory to the host and releases it. If that fails, all memory that the
/// program uses stays.
fn send_away(shared: &Arc<Shared>, order: Order) -> Result<Moved, MoveError> {
    let cx = Cx { shared, thread: u32::MAX, ctx: ContextId::NONE };
    // Memory that the worker only keeps for later allocations is freed.
    let kept = lock(&shared.memory.plan).take_kept();
    kept.into_iter().for_each(|mapping| give_back_now(&cx, mapping));
    let mut mappings = lock(&shared.memory.plan).movable();
    mappings.retain(|mapping| context_on(shared, mapping.device).is_some());
    let mut size = 0;
    let place = |mapping: Mapping| {
        let offset = size;
        size += mapping.len as usize;
        (mapping, offset)
    };
    let mappings: Vec<_> = mappings.into_iter().map(place).collect();
    let contents = Staging::new(size).map_err(|error| MoveError::Host(size, error))?;
    let mut left = Moved { mappings, contents };
    let pass = pass(shared)?;
    for device in left.devices() {
        copy_from(&cx, &pass, device, &left, order)?;
    }
    still(shared, order)?;
    left.mappings.retain(|(mapping, _)| release(&cx, *mapping));
    Ok(left)
}

/// Copies the contents of all mappings on a GPU to the host.
fn copy_from(
    cx: &Cx<'_>,
    pass: &Pass,
    device: i32,
    left: &Moved,
    order: Order,
) -> Result<(), MoveError> {
    const WHAT: &str = "copying to the host";
    enter(cx, device)?;
    let registered = register(cx, &left.contents);
    let mut of_device = left.mappings.iter().filter(|(of, _)| of.device == device);
    let begun = of_device.try_for_each(|(mapping, offset)| {
        still(cx.shared, order)?;
        let (to, len) = (left.contents.at(*offset), mapping.len as usize);
        // SAFETY: the plan lists the mapping, and no other thread changes it while the session is
        // stopped. `contents` has `len` bytes at the offset, and lives until the wait below.
        let begun = unsafe {
            let legacy = std::ptr::null_mut();
            cx.driver().cuMemcpyDtoHAsync(pass, to, mapping.addr, len, legacy)
        };
        begun.map_err(|error| MoveError::Driver(WHAT, error))
    });
    let waited = wait(cx, WHAT);
    if registered {
        unregister(cx, &left.contents);
    }
    begun.and(waited)
}

impl Moved {
    /// Returns the GPUs from which memory is away.
    fn devices(&self) -> Vec<i32> {
        let mut devices: Vec<_> = self.mappings.iter().map(|(of, _)| of.device).collect();
        devices.sort_unstable();
        devices.dedup();
        devices
    }
}

fn pass(shared: &Shared) -> Result<Pass, MoveError> {
    Pass::while_stopped(&shared.stop).ok_or(MoveError::Withdrawn)
}

/// Makes a context of the session on a GPU current on this thread.
fn enter(cx: &Cx<'_>, device: i32) -> Result<(), MoveError> {
    let ctx = context_on(cx.shared, device).ok_or(CuError::INVALID_CONTEXT);
    let entered = ctx.and_then(|ctx| cx.within(ctx).enter());
    entered.map(drop).map_err(|error| MoveError::Driver("entering a context", error))
}

/// Waits for this thread's copies in the current context.
fn wait(cx: &Cx<'_>, what: &'static str) -> Result<(), MoveError> {
    // SAFETY: a null stream is valid, and means the legacy stream.
    let waited = unsafe { cx.driver().cuStreamSynchronize(std::ptr::null_mut()) };
    waited.map_err(|error| MoveError::Driver(what, error))
}

/// Registers the host memory with the driver, for faster copies. Returns whether it's registered.
fn register(cx: &Cx<'_>, contents: &Staging) -> bool {
    if contents.len() == 0 {
        return false;
    }
    // SAFETY: the memory is this process's own, and stays mapped until it has been unregistered; if
    // that fails, `unregister` makes it stay for ever.
    let done = unsafe {
        let at = contents.at(0);
        cx.driver().cuMemHostRegister(at, contents.len(), CU_MEMHOSTREGISTER_PORTABLE)
    };
    done.is_ok()
}

fn unregister(cx: &Cx<'_>, contents: &Staging) {
    // SAFETY: the memory was registered, and no copy uses it any more.
    if let Err(error) = unsafe { cx.driver().cuMemHostUnregister(contents.at(0)) } {
        contents.leak();
        tracing::warn!("host memory of the worker stays registered: {error}");
    }
}

/// Unmaps and releases the physical memory of a mapping whose contents were copied. The addresses
/// remain reserved for the session. Returns whether the memory was unmapped.
fn release(cx: &Cx<'_>, mapping: Mapping) -> bool {
    let Mapping { addr, len, handle, .. } = mapping;
    // SAFETY: the plan lists the mapping, so it exists, and no call uses it while the session is
    // stopped. The handle isn't used after this: it's replaced before the calls run again.
    let unmapped = unsafe { cx.driver().cuMemUnmap(addr, len as usize) };
    if let Err(error) = unmapped {
        tracing::warn!("{len} bytes stay on the GPU: they can't be unmapped: {error}");
        return false;
    }
    // SAFETY: as above. Nothing is mapped from the handle any more.
    if let Err(error) = unsafe { cx.driver().cuMemRelease(handle) } {
        tracing::warn!("{len} bytes stay on the GPU: they can't be released: {error}");
    }
    true
}

/// Puts the session's memory back on the GPUs, and lets the calls resume. If that fails, `moved`
/// holds the memory that isn't back yet.
fn bring_back(shared: &Arc<Shared>, moved: &mut Option<Moved>) -> Result<(), MoveError> {
    if let Some(left) = moved {
        restore(shared, left)?;
    }
    *moved = None;
    shared.stop.end();
    shared.session.waker.wake();
    Ok(())
}

fn restore(shared: &Arc<Shared>, left: &mut Moved) -> Result<(), MoveError> {
    let cx = Cx { shared, thread: u32::MAX, ctx: ContextId::NONE };
    let pass = pass(shared)?;
    for device in left.devices() {
        enter(&cx, device)?;
        let registered = register(&cx, &left.contents);
        let restored = restore_on(&cx, &pass, device, left);
        let waited = wait(&cx, "copying to the GPU");
        if registered {
            unregister(&cx, &left.contents);
        }
        let count = restored.as_ref().map_or_else(|(count, _)| *count, |count| *count);
        waited?;
        let mut back = 0;
        left.mappings.retain(|(mapping, _)| {
            let is_back = mapping.device == device && back < count;
            back += usize::from(is_back);
            !is_back
        });
        restored.map_err(|(_, error)| error)?;
    }
    Ok(())
}

/// Creates and maps memory for all mappings on a GPU, in order, and begins to copy their contents.
/// Returns the number of mappings, also with an error.
fn restore_on(
    cx: &Cx<'_>,
    pass: &Pass,
    device: i32,
    left: &Moved,
) -> Result<usize, (usize, MoveError)> {
    let of_device = left.mappings.iter().filter(|(mapping, _)| mapping.device == device);
    let mut count = 0;
    for (mapping, offset) in of_device {
        let (from, len) = (left.contents.at(*offset), mapping.len as usize);
        let failed = |what| move |error| (count, MoveError::Driver(what, error));
        let new = map_again(cx, mapping).map_err(failed("allocating the memory again"))?;
        // SAFETY: the memory was just mapped. `contents` has `len` bytes at the offset, and lives
        // until the caller has waited for the copy.
        let begun = unsafe {
            cx.driver().cuMemcpyHtoDAsync(pass, mapping.addr, from, len, std::ptr::null_mut())
        };
        if begun.is_err() {
            // Nothing was copied, so the memory is still away.
            release(cx, new);
        }
        begun.map_err(failed("copying to the GPU"))?;
        count += 1;
    }
    Ok(count)
}

/// Creates physical memory for a mapping, maps it at the mapping's addresses, and records its handle.
/// Returns the new mapping.
fn map_again(cx: &Cx<'_>, mapping: &Mapping) -> CuResult<Mapping> {
    let Mapping { addr, len, device, .. } = *mapping;
    let driver = cx.driver();
    let accessors = cx.shared.memory.peers.accessors();
    let mut handle = 0;
    // SAFETY: the pointers are to local variables. The addresses are the session's, and nothing is
    // mapped there, because `release` has unmapped it.
    unsafe {
        driver.cuMemCreate(&mut handle, len as usize, &properties(device), 0)?;
        owe_clearing(cx, device, len);
        let mapped = driver.cuMemMap(addr, len as usize, 0, handle, 0);
        if let Err(error) = mapped {
            let _ = driver.cuMemRelease(handle);
            return Err(error);
        }
        if let Err(error) = grant(cx, &Mapping { handle, ..*mapping }, &accessors) {
            let _ = driver.cuMemUnmap(addr, len as usize);
            let _ = driver.cuMemRelease(handle);
            return Err(error);
        }
    }
    lock(&cx.shared.memory.plan).set_handle(addr, handle);
    Ok(Mapping { handle, ..*mapping })
}
