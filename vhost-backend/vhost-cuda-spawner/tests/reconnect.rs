//! Tests of a spawner to which brokers connect, one after another.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use host_ipc::seqpacket;
use host_ipc::spawner::{
    Answer, Call, End, Event, Kept, NewVm, PROTOCOL, Permit, Program, ToSpawner, VM_UIDS, Welcome,
};

const LIBRARY: &str = "/nonexistent/libcuda.so.1";

/// A spawner that listens on a socket in its directory.
struct Spawner {
    child: Child,
    folder: tempfile::TempDir,
}

impl Spawner {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_vhost-cuda-spawner"))
            .arg("--listen")
            .arg(folder.path().join("socket"))
            .spawn()
            .unwrap();
        Self { child, folder }
    }

    fn connect(&self) -> Broker {
        let (path, since) = (self.folder.path().join("socket"), Instant::now());
        let stream = loop {
            match UnixStream::connect(&path) {
                Ok(stream) => break stream,
                Err(_) => assert!(since.elapsed() < Duration::from_secs(60)),
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        let (welcome, fds) = seqpacket::receive::<Welcome>(&stream).unwrap().unwrap();
        assert_eq!(welcome.protocol, PROTOCOL);
        let [calls, events] = <[OwnedFd; 2]>::try_from(fds).unwrap();
        Broker { calls, events, library: welcome.library }
    }

    fn vm(&self) -> NewVm {
        NewVm {
            name: "a".into(),
            uid: Some(*VM_UIDS.start()),
            socket: self.folder.path().join("a.sock"),
            socket_mode: 0o600,
            socket_group: None,
            limits: None,
        }
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A broker, with its ends of the sockets to the spawner.
struct Broker {
    calls: OwnedFd,
    events: OwnedFd,
    library: Option<PathBuf>,
}

impl Broker {
    fn send(&self, message: &ToSpawner, fds: &[BorrowedFd]) {
        seqpacket::send(&self.calls, message, fds).unwrap();
    }

    fn call_with(&self, call: Call, fds: &[BorrowedFd]) -> (Answer, Vec<OwnedFd>) {
        self.send(&ToSpawner::Call(call), fds);
        seqpacket::receive(&self.calls).unwrap().unwrap()
    }

    fn call(&self, call: Call) -> bool {
        !matches!(self.call_with(call, &[]).0, Answer::Refused(_))
    }

    fn permit(&self, folder: &Path) -> bool {
        self.call(Call::Permit(Permit::SocketFolder(folder.to_owned())))
    }

    fn event(&self) -> Event {
        seqpacket::receive(&self.events).unwrap().unwrap().0
    }
}

#[test]
fn a_new_connection_starts_without_what_the_earlier_one_was_permitted() {
    let spawner = Spawner::start();
    let folder = spawner.folder.path();
    let first = spawner.connect();
    assert!(first.permit(folder) && first.call(Call::Seal { library: LIBRARY.into() }));
    assert!(!first.permit(folder) && first.call(Call::AddVm(spawner.vm())));
    let second = spawner.connect();
    assert!(seqpacket::receive::<Answer>(&first.calls).unwrap().is_none(), "it's disconnected");
    assert_eq!(second.library, None, "there is no record");
    let b = || NewVm { name: "b".into(), socket: folder.join("b.sock"), ..spawner.vm() };
    assert!(!second.call(Call::AddVm(b())));
    assert!(second.permit(folder) && second.call(Call::Seal { library: LIBRARY.into() }));
    assert!(second.call(Call::AddVm(b())));
    // The VM that the first broker added still exists.
    assert!(second.call(Call::Listener { vm: "a".into() }) && folder.join("a.sock").exists());
    assert!(second.call(Call::EndAll));
    assert!(!second.call(Call::Listener { vm: "a".into() }) && !folder.join("a.sock").exists());
}

#[test]
fn the_next_broker_gets_processes_descriptors_and_the_record() {
    let spawner = Spawner::start();
    let first = spawner.connect();
    assert!(first.call(Call::Seal { library: LIBRARY.into() }));
    let null = File::open("/dev/null").unwrap();
    let fds = [null.as_fd(); 3];
    // The worker exits at once, because there is no driver library at this path.
    let program = Program::Worker { visible: String::new(), devices: Vec::new(), session: None };
    first.send(&ToSpawner::Start { id: 7, program }, &fds[..2]);
    assert!(matches!(first.event(), Event::Started { id: 7, .. }));
    first.send(&ToSpawner::Keep { id: 7, what: Kept::Process }, &fds[..2]);
    first.send(&ToSpawner::Keep { id: 7, what: Kept::Scheduler }, &fds);
    first.send(&ToSpawner::Keep { id: 7, what: Kept::Device }, &fds);
    first.send(&ToSpawner::Drop { id: 7, what: Kept::Device }, &[]);
    // The spawner doesn't keep a set with a wrong number of descriptors, or a set for a process
    // that doesn't exist.
    first.send(&ToSpawner::Keep { id: 7, what: Kept::Device }, &fds[..1]);
    first.send(&ToSpawner::Keep { id: 8, what: Kept::Device }, &fds);
    let mut record = tempfile::tempfile().unwrap();
    record.write_all(b"record").unwrap();
    first.call_with(Call::KeepRecord, &[record.as_fd()]);
    assert!(matches!(first.event(), Event::Ended { id: 7, how: End::Exited(_) }));
    drop(first);

    let second = spawner.connect();
    assert_eq!(second.library.as_deref(), Some(Path::new(LIBRARY)));
    let next = |after| second.call_with(Call::NextProcess { after }, &[]);
    let (answer, fds) = next(0);
    let Answer::Process { id: 7, end: Some(_), kept, .. } = answer else { panic!("{answer:?}") };
    assert_eq!((kept, fds.len()), (vec![Kept::Process, Kept::Scheduler], 1 + 2 + 3));
    assert!(matches!(next(7).0, Answer::Done));
    second.send(&ToSpawner::Forget { id: 7 }, &[]);
    assert!(matches!(next(0).0, Answer::Done));
    assert_eq!(second.call_with(Call::TakeRecord, &[]).1.len(), 1);
    assert!(second.call_with(Call::TakeRecord, &[]).1.is_empty(), "it's given up");
    assert_eq!(spawner.connect().library, None);
}
