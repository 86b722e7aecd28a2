//! Kinds of objects: memory and events that a program shares with another process.

use super::object::{Call, Kind, Object, calls, of_memory};
use crate::cuda::{Called, Cuda, Failure, Outcome, cu, get};
use crate::peer::{Channel, Peer, Role};
use cuda_api::sys::{
    CUevent, CUevent_flags, CUipcEventHandle, CUipcMem_flags, CUipcMemHandle,
    CUpointer_attribute as Pointer,
};
use std::cell::RefCell;
use std::ptr::null_mut;
use std::rc::Rc;
use std::time::{Duration, Instant};

pub(super) const KINDS: &[Kind] = &[
    Kind { name: "exported-memory", create: exported_memory },
    Kind { name: "memory-handle", create: memory_handle },
    Kind { name: "opened-memory", create: opened_memory },
    Kind { name: "event-handle", create: event_handle },
    Kind { name: "opened-event", create: opened_event },
];

pub const ROLES: &[Role] = &[
    Role { name: "ended::exporter", body: exporter },
    Role { name: "ended::opener", body: opener },
];

const BYTES: usize = 4 << 20;
const LAZY: u32 = CUipcMem_flags::CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS.0;
const INTERPROCESS: u32 =
    CUevent_flags::CU_EVENT_INTERPROCESS.0 | CUevent_flags::CU_EVENT_DISABLE_TIMING.0;

/// Maximum time that the host may take to notice that a process has been killed.
const SOON: Duration = Duration::from_secs(10);

/// The orders that an exporter process obeys.
const DESTROY: u8 = 1;
const RESET: u8 = 2;

fn handle_of(cuda: &Cuda, pointer: u64) -> Outcome<CUipcMemHandle> {
    let mut handle = CUipcMemHandle::default();
    cu!(cuda, cuIpcGetMemHandle(&mut handle, pointer))?;
    Ok(handle)
}

fn open(cuda: &Cuda, handle: CUipcMemHandle) -> Result<u64, crate::cuda::CallError> {
    Ok(get!(cuda, cuIpcOpenMemHandle_v2(@, handle, LAZY))?)
}

fn open_event(cuda: &Cuda, handle: CUipcEventHandle) -> Result<CUevent, crate::cuda::CallError> {
    Ok(get!(cuda, cuIpcOpenEventHandle(@, handle))?)
}

/// Peer role: exports memory and an event. When the other process orders it, destroys them or
/// resets this process's primary context.
fn exporter(cuda: &Cuda, channel: &mut Channel) -> Outcome {
    let (device, _) = cuda.primary()?;
    let (pointer, mut event, mut shared) = (cuda.alloc(BYTES)?, null_mut(), Default::default());
    cu!(cuda, cuMemsetD8_v2(pointer, 7, BYTES))?;
    cu!(cuda, cuEventCreate(&mut event, INTERPROCESS))?;
    cu!(cuda, cuEventRecord(event, null_mut()))?;
    cu!(cuda, cuCtxSynchronize())?;
    cu!(cuda, cuIpcGetEventHandle(&mut shared, event))?;
    channel.send(&handle_of(cuda, pointer)?.reserved.map(|byte| byte as u8))?;
    channel.send(&shared.reserved.map(|byte| byte as u8))?;
    // The loop ends when the other process closes the socket, because it doesn't need this process
    // any more.
    while let Ok([order]) = channel.receive::<1>() {
        if order == DESTROY {
            cu!(cuda, cuMemFree_v2(pointer))?;
            cu!(cuda, cuEventDestroy_v2(event))?;
        } else {
            cu!(cuda, cuDevicePrimaryCtxReset_v2(device))?;
        }
        channel.signal()?;
    }
    Ok(())
}

/// Peer role: opens memory of another process, and keeps it open.
fn opener(cuda: &Cuda, channel: &mut Channel) -> Outcome {
    let bytes = channel.receive::<64>()?;
    cuda.primary()?;
    open(cuda, CUipcMemHandle { reserved: bytes.map(|byte| byte as _) })?;
    channel.signal()?;
    let _ = channel.wait();
    Ok(())
}

/// A peer process that exports memory and an event.
struct Exporter {
    peer: Rc<RefCell<Peer>>,
    memory: CUipcMemHandle,
    event: CUipcEventHandle,
}

impl Exporter {
    fn start() -> Outcome<Self> {
        let mut peer = Peer::start("ended::exporter", None)?;
        let memory = peer.channel.receive::<64>()?.map(|byte| byte as _);
        let event = peer.channel.receive::<64>()?.map(|byte| byte as _);
        Ok(Self {
            peer: Rc::new(RefCell::new(peer)),
            memory: CUipcMemHandle { reserved: memory },
            event: CUipcEventHandle { reserved: event },
        })
    }

    /// Returns the ways in which the exporter's objects end. After the exporter was killed, calls
    /// `wait`, which waits until the host has noticed that.
    fn ends(&self, wait: fn(&Cuda, CUipcMemHandle) -> Called) -> Vec<(&'static str, Call)> {
        let [destroyed, reset, killed] = [&self.peer; 3].map(Rc::clone);
        let memory = self.memory;
        calls! {
            "exporter-destroy" => |_cuda| order(&destroyed, DESTROY),
            "exporter-reset" => |_cuda| order(&reset, RESET),
            "exporter-kill" => |cuda| {
                kill(&killed)?;
                wait(cuda, memory)
            },
        }
    }
}

fn kill(peer: &RefCell<Peer>) -> Called {
    peer.borrow_mut().kill();
    Ok(())
}

/// Waits until the memory of a killed process can't be opened any more. With NVIDIA's driver,
/// that's immediately the case. In a guest, it takes until the host notices that the process has
/// ended.
fn forgotten(cuda: &Cuda, memory: CUipcMemHandle) -> Called {
    let deadline = Instant::now() + SOON;
    while let Ok(pointer) = open(cuda, memory)
        && Instant::now() < deadline
    {
        cu!(cuda, cuIpcCloseMemHandle(pointer))?;
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Sends an order to an exporter, and waits until the exporter has obeyed it.
fn order(peer: &RefCell<Peer>, order: u8) -> Called {
    let channel = &mut peer.borrow_mut().channel;
    let obeyed = channel.send(&[order]).and_then(|()| channel.wait());
    obeyed.unwrap_or_else(|failure: Failure| panic!("the exporter has failed: {failure}"));
    Ok(())
}

fn of_shared(pointer: u64) -> Vec<(&'static str, Call)> {
    let which = Pointer::CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    let mut calls = of_memory(pointer, which);
    calls.extend(calls! {
        "free" => |cuda| cu!(cuda, cuMemFree_v2(pointer)),
    });
    calls
}

/// Exports memory of this process, and starts a peer that opens it.
fn exported_memory(cuda: &Cuda) -> Outcome<Object> {
    let pointer = cuda.alloc(BYTES)?;
    let handle = handle_of(cuda, pointer)?;
    let mut peer = Peer::start("ended::opener", None)?;
    peer.channel.send(&handle.reserved.map(|byte| byte as u8))?;
    peer.channel.wait()?;
    let peer = Rc::new(RefCell::new(peer));
    let killed = Rc::clone(&peer);
    let mut calls = of_shared(pointer);
    calls.extend(calls! {
        "get-handle" => |cuda| cu!(cuda, cuIpcGetMemHandle(&mut CUipcMemHandle::default(), pointer)),
    });
    let ends = calls! {
        "opener-kill" => |_cuda| kill(&killed),
        "end" => |cuda| cu!(cuda, cuMemFree_v2(pointer)),
    };
    Ok(Object::new(calls, ends).keeping(peer))
}

fn memory_handle(_: &Cuda) -> Outcome<Object> {
    let exporter = Exporter::start()?;
    let (handle, ends) = (exporter.memory, exporter.ends(forgotten));
    let calls = calls! { "open" => |cuda| open(cuda, handle).map(drop) };
    Ok(Object::new(calls, ends).keeping(exporter))
}

fn opened_memory(cuda: &Cuda) -> Outcome<Object> {
    let exporter = Exporter::start()?;
    let pointer = open(cuda, exporter.memory)?;
    // While this process has the memory open, it can open it again even after the exporter has
    // ended.
    let (mut calls, mut ends) = (of_shared(pointer), exporter.ends(|_, _| Ok(())));
    calls.extend(calls! { "close" => |cuda| cu!(cuda, cuIpcCloseMemHandle(pointer)) });
    ends.extend(calls! { "end" => |cuda| cu!(cuda, cuIpcCloseMemHandle(pointer)) });
    Ok(Object::new(calls, ends).keeping(exporter))
}

fn event_handle(_: &Cuda) -> Outcome<Object> {
    let exporter = Exporter::start()?;
    let (handle, ends) = (exporter.event, exporter.ends(forgotten));
    let calls = calls! { "open" => |cuda| open_event(cuda, handle).map(drop) };
    Ok(Object::new(calls, ends).keeping(exporter))
}

fn opened_event(cuda: &Cuda) -> Outcome<Object> {
    let exporter = Exporter::start()?;
    let event = open_event(cuda, exporter.event)?;
    let calls = calls! {
        "record" => |cuda| cu!(cuda, cuEventRecord(event, null_mut())),
        "query" => |cuda| cu!(cuda, cuEventQuery(event)),
        "synchronize" => |cuda| cu!(cuda, cuEventSynchronize(event)),
        "wait" => |cuda| cu!(cuda, cuStreamWaitEvent(null_mut(), event, 0)),
        "destroy" => |cuda| cu!(cuda, cuEventDestroy_v2(event)),
    };
    let mut ends = exporter.ends(forgotten);
    ends.extend(calls! { "end" => |cuda| cu!(cuda, cuEventDestroy_v2(event)) });
    Ok(Object::new(calls, ends).keeping(exporter))
}
