//! A simulated broker and simulated workers for a device that runs in this process.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use host_ipc::doorbell::doorbell;
use host_ipc::eventfd::{eventfd, notify};
use host_ipc::frames;
use host_ipc::messages::{
    BrokerToDevice, DeviceSetup, DeviceToBroker, Ending, Exported, Limits, VmFacts, WorkerToDevice,
};
use host_ipc::process::set_nonblocking;
use host_ipc::seqpacket;

use crate::input::Input;

const LIMITS: Limits = Limits {
    max_sessions: 4,
    max_regions: 8,
    max_segments: 16,
    pinned_max: 1 << 24,
    max_plain: 4096,
    max_connections: 16,
};

/// A simulated worker: the ends of the sockets and the eventfd that its device process uses to
/// communicate with it.
struct Worker {
    request: u64,
    stream: OwnedFd,
    wake: OwnedFd,
    _chime: OwnedFd,
}

/// The broker of the device, which runs until the process ends.
pub struct Broker {
    /// The socket to which front ends connect.
    pub socket: PathBuf,
    workers: Arc<Mutex<Vec<Worker>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|error| error.into_inner())
}

impl Broker {
    /// Starts the device and its broker on separate threads.
    pub fn start() -> std::io::Result<Self> {
        let name = format!("virtio-cuda-fuzz-{}", std::process::id());
        let socket = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket)?;
        let (ours, theirs) = seqpacket::pair()?;
        let setup = DeviceSetup { name: "fuzz".into(), limits: LIMITS };
        seqpacket::send(&ours, &BrokerToDevice::Setup(setup), &[listener.as_fd()])?;
        std::thread::spawn(move || {
            let ended = vhost_device_cuda::run_in_a_test(theirs);
            panic!("the device ended: {ended:?}");
        });
        let workers = Arc::new(Mutex::new(Vec::new()));
        let of_broker = workers.clone();
        std::thread::spawn(move || serve(&ours, &of_broker));
        Ok(Self { socket, workers })
    }

    /// Makes a worker wake the guest, exit, or send a message, which may be invalid.
    pub fn work(&self, input: &mut Input<'_>) {
        let mut workers = lock(&self.workers);
        let Some(last) = workers.len().checked_sub(1) else { return };
        let at = input.below(last + 1);
        let request = u64::from(input.byte() % 16);
        let token = [u64::from(input.byte() % 4); 4];
        let message = match input.below(9) {
            0 => return notify(&workers[at].wake),
            1 => return drop(workers.remove(at)),
            2 => WorkerToDevice::Broken { reason: "a\nb".repeat(input.below(200)) },
            3 => {
                WorkerToDevice::Export { request, token, thing: Exported::Event { handle: [7; 8] } }
            }
            4 => WorkerToDevice::Import { request, token },
            5 => WorkerToDevice::Withdraw { token },
            6 => WorkerToDevice::Fetch { request, token },
            7 => WorkerToDevice::Fetched { request, found: input.one_in(2) },
            _ => WorkerToDevice::Done { request, status: input.pick(&[0, 1, 99]) },
        };
        let frame = frames::frame(&message, input.bytes(64)).unwrap_or_default();
        let frame = if input.one_in(16) { input.bytes(64) } else { &frame };
        // SAFETY: the buffer is readable for its length. If the socket is full, because the device
        // doesn't read, the bytes are dropped.
        unsafe {
            let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
            libc::send(workers[at].stream.as_raw_fd(), frame.as_ptr().cast(), frame.len(), flags);
        }
    }

    /// Checks that the device hasn't requested more workers than its limits allow.
    pub fn check(&self) {
        let count = lock(&self.workers).len();
        let max = (LIMITS.max_sessions * LIMITS.max_connections) as usize;
        assert!(count <= max, "the device has asked for {count} workers");
    }
}

fn serve(socket: &OwnedFd, workers: &Mutex<Vec<Worker>>) {
    while let Ok(Some((message, _))) = seqpacket::receive::<DeviceToBroker>(socket) {
        let answered = match message {
            DeviceToBroker::Start { request, .. } => start(socket, request, workers),
            DeviceToBroker::End { request } | DeviceToBroker::Abort { request, .. } => {
                lock(workers).retain(|worker| worker.request != request);
                let how = Ending::Died("ended".into());
                seqpacket::send(socket, &BrokerToDevice::Ended { request, how }, &[])
            }
            DeviceToBroker::Stopped(_)
            | DeviceToBroker::Refused(_)
            | DeviceToBroker::FrontEnds(_) => Ok(()),
            DeviceToBroker::Query { request } => {
                let facts = VmFacts::default();
                seqpacket::send(socket, &BrokerToDevice::Facts { request, facts }, &[])
            }
        };
        answered.expect("the device receives the broker's answer");
    }
}

fn start(socket: &OwnedFd, request: u64, workers: &Mutex<Vec<Worker>>) -> std::io::Result<()> {
    let (ours, theirs) = seqpacket::stream_pair()?;
    let (button, chime) = doorbell()?;
    let wake = eventfd()?;
    set_nonblocking(&ours)?;
    let fds = [theirs.as_fd(), button.as_fd(), wake.as_fd()];
    seqpacket::send(socket, &BrokerToDevice::Started { request, pid: 1 }, &fds)?;
    lock(workers).push(Worker { request, stream: ours, wake, _chime: chime });
    Ok(())
}
