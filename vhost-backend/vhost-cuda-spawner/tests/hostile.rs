//! Tests of the spawner with a compromised broker, which sends requests that must be refused.

use std::fs::File;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use host_ipc::spawner::{
    Answer, Call, CgroupLimits, End, Event, NewSession, NewVm, Part, Permit, ProcessId, Program,
    ToSpawner, VM_UIDS,
};
use host_ipc::{process, seqpacket};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::SendFlags;
use rustix::net::sockopt::set_socket_linger;

/// A spawner, and the broker's ends of its sockets.
struct Spawner {
    child: Child,
    calls: OwnedFd,
    events: OwnedFd,
    last: ProcessId,
}

impl Spawner {
    /// Starts a spawner that permits sockets in `folder`, and seals its policy.
    fn start(folder: &Path) -> Self {
        let mut spawner = Self::unsealed(folder);
        spawner.seal();
        spawner
    }

    fn seal(&mut self) {
        self.call(Call::Seal { library: "/nonexistent/libcuda.so.1".into() }).unwrap();
    }

    fn unsealed(folder: &Path) -> Self {
        let (calls, their_calls) = seqpacket::pair().unwrap();
        let (events, their_events) = seqpacket::pair().unwrap();
        let inherited = |fd: &OwnedFd| {
            fcntl_setfd(fd, FdFlags::empty()).unwrap();
            fd.as_raw_fd().to_string()
        };
        let child = Command::new(env!("CARGO_BIN_EXE_vhost-cuda-spawner"))
            .args(["--calls-fd", &inherited(&their_calls)])
            .args(["--events-fd", &inherited(&their_events)])
            .spawn()
            .unwrap();
        let mut spawner = Self { child, calls, events, last: 0 };
        spawner.call(Call::Permit(Permit::SocketFolder(folder.to_owned()))).unwrap();
        spawner
    }

    fn answer(&self) -> Answer {
        let (answer, _fds) = seqpacket::receive(&self.calls).unwrap().unwrap();
        answer
    }

    /// Makes a call. Returns the part that was refused, if the call fails.
    fn call(&mut self, call: Call) -> Result<(), Part> {
        seqpacket::send(&self.calls, &ToSpawner::Call(call), &[]).unwrap();
        match self.answer() {
            Answer::Refused(refusal) => Err(refusal.part),
            _ => Ok(()),
        }
    }

    fn event(&self) -> Event {
        let (event, _fds) = seqpacket::receive(&self.events).unwrap().unwrap();
        event
    }

    /// Requests the start of a program with the given descriptors, and returns the first event.
    fn start_with(&mut self, program: Program, fds: &[BorrowedFd]) -> Event {
        self.last += 1;
        let id = self.last;
        seqpacket::send(&self.calls, &ToSpawner::Start { id, program }, fds).unwrap();
        self.event()
    }

    /// Requests the start of a program, and checks that the spawner refuses it.
    fn refuses(&mut self, program: Program) {
        let null = File::open("/dev/null").unwrap();
        let text = format!("{program:?}");
        let event = self.start_with(program, &[null.as_fd(); 2]);
        assert!(matches!(event, Event::Ended { how: End::NotStarted(_), .. }), "{text}: {event:?}");
    }

    /// Returns the number of processes that the spawner has started.
    fn children(&self) -> usize {
        let pid = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        children.split_whitespace().count()
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn vm(folder: &Path) -> NewVm {
    NewVm {
        name: "a".into(),
        uid: Some(*VM_UIDS.start()),
        socket: folder.join("a.sock"),
        socket_mode: 0o600,
        socket_group: None,
        limits: None,
    }
}

fn worker(change: impl FnOnce(&mut String, &mut Vec<PathBuf>, &mut NewSession)) -> Program {
    let (mut visible, mut devices) = (String::new(), Vec::new());
    let mut session = NewSession { vm: "a".into(), env: Vec::new(), mps: None, context: true };
    change(&mut visible, &mut devices, &mut session);
    Program::Worker { visible, devices, session: Some(session) }
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let since = Instant::now();
    while !done() {
        assert!(since.elapsed() < Duration::from_secs(60), "timed out waiting for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_vm_that_is_not_permitted_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let mut spawner = Spawner::start(folder.path());
    let mut vms = Vec::new();
    let mut add = |change: &dyn Fn(&mut NewVm)| {
        let mut vm = vm(folder.path());
        change(&mut vm);
        vms.push(vm);
    };
    for name in ["../b", "..", "a/b", "", "a\0"] {
        add(&|vm| vm.name = name.into());
    }
    for socket in [elsewhere.path().join("a"), folder.path().join("../a"), "/etc/cron.d/a".into()] {
        add(&|vm| vm.socket = socket.clone());
    }
    if process::is_root() {
        for uid in [None, Some(0), Some(1000), Some(u32::MAX)] {
            add(&|vm| vm.uid = uid);
        }
    }
    add(&|vm| vm.socket_mode = 0o4777);
    add(&|vm| vm.socket_group = Some(*VM_UIDS.start()));
    add(&|vm| vm.limits = Some(CgroupLimits { cpu: Some("1\n2".into()), ..Default::default() }));
    for vm in vms {
        let text = format!("{vm:?}");
        assert_eq!(spawner.call(Call::AddVm(vm)), Err(Part::Request), "{text}");
    }
    for folder in [folder.path(), elsewhere.path()] {
        assert_eq!(folder.read_dir().unwrap().count(), 0);
    }
}

#[test]
fn a_sealed_spawner_cannot_be_given_more_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let mut spawner = Spawner::start(folder.path());
    for call in [
        Call::Permit(Permit::SocketFolder("/etc".into())),
        Call::Permit(Permit::Socket("/etc/cron.d/a".into())),
        Call::Permit(Permit::Uid(0)),
        Call::Permit(Permit::Control { path: "/etc/cron.d/a".into(), group: None }),
        Call::Permit(Permit::Read { path: "/etc/cron.d/a".into(), group: None }),
        Call::SetJail(false),
        Call::Seal { library: "/tmp/evil.so".into() },
    ] {
        let text = format!("{call:?}");
        assert_eq!(spawner.call(call), Err(Part::Request), "{text}");
    }
    assert_eq!(spawner.call(Call::BindControl), Err(Part::Socket));
    assert_eq!(spawner.call(Call::BindRead), Err(Part::Socket));
}

#[test]
fn a_program_that_is_not_permitted_is_not_started() {
    let folder = tempfile::tempdir().unwrap();
    let mut spawner = Spawner::start(folder.path());
    spawner.call(Call::AddVm(vm(folder.path()))).unwrap();
    spawner.refuses(Program::Device { vm: "b".into() });
    spawner.refuses(Program::Device { vm: "../a".into() });
    spawner.refuses(Program::Probe {
        library: "/tmp/evil.so".into(),
        allow_pageable_memory_access: false,
        visible: None,
        devices: None,
    });
    // The supervisor exists only if workers have a jail, which this test's spawner hasn't created.
    spawner.refuses(Program::Supervisor);
    spawner.refuses(worker(|_, _, session| session.vm = "b".into()));
    for name in ["LD_PRELOAD", "LD_LIBRARY_PATH", "CUDA_MPS_PIPE_DIRECTORY"] {
        let env = vec![(name.to_owned(), "/tmp/evil".to_owned())];
        spawner.refuses(worker(|_, _, session| session.env = env));
    }
    spawner.refuses(worker(|_, devices, _| devices.push("/dev/sda".into())));
    spawner.refuses(worker(|_, devices, _| devices.push("/dev/nvidia0/../mem".into())));
    spawner.refuses(worker(|visible, _, _| visible.push('\0')));
    // Requests with a wrong number of descriptors are refused.
    let null = File::open("/dev/null").unwrap();
    for count in [0, 1, 3, seqpacket::MAX_FDS] {
        let fds = vec![null.as_fd(); count];
        let event = spawner.start_with(Program::Device { vm: "a".into() }, &fds);
        assert!(matches!(event, Event::Ended { .. }), "{count} descriptors: {event:?}");
    }
    assert_eq!(spawner.children(), 0);
}

#[test]
fn senseless_messages_are_refused_and_others_still_work() {
    let folder = tempfile::tempdir().unwrap();
    let mut spawner = Spawner::start(folder.path());
    for bytes in [&[0xff; 64][..], &[3, 200], &[0; 1]] {
        let sent = rustix::net::send(&spawner.calls, bytes, SendFlags::empty());
        assert_eq!(sent, Ok(bytes.len()));
        assert!(matches!(spawner.answer(), Answer::Refused(_)), "{bytes:?}");
    }
    for id in [0, 7, u64::MAX] {
        seqpacket::send(&spawner.calls, &ToSpawner::Kill { id }, &[]).unwrap();
        let call = Call::Join { vm: "a".into(), process: id };
        assert_eq!(spawner.call(call), Err(Part::Request));
    }
    for vm in ["b", "../a"].map(str::to_owned) {
        seqpacket::send(&spawner.calls, &ToSpawner::ClearShared { vm: vm.clone() }, &[]).unwrap();
        assert!(spawner.call(Call::Unbind { vm: vm.clone() }).is_err());
        assert!(spawner.call(Call::RemoveVm { vm }).is_err());
    }
    spawner.call(Call::AddVm(vm(folder.path()))).unwrap();
    assert_eq!(spawner.call(Call::AddVm(vm(folder.path()))), Err(Part::Request));
    let (ours, theirs) = seqpacket::pair().unwrap();
    let null = File::open("/dev/null").unwrap();
    let fds = [theirs.as_fd(), null.as_fd()];
    let event = spawner.start_with(Program::Device { vm: "a".into() }, &fds);
    let Event::Started { id, .. } = event else { panic!("{event:?}") };
    // A second process with the same number is refused.
    spawner.last -= 1;
    let event = spawner.start_with(Program::Device { vm: "a".into() }, &fds);
    assert!(matches!(event, Event::Ended { how: End::NotStarted(_), .. }), "{event:?}");
    seqpacket::send(&spawner.calls, &ToSpawner::Kill { id }, &[]).unwrap();
    assert!(matches!(spawner.event(), Event::Ended { how: End::Exited(9), .. }));
    assert_eq!(spawner.children(), 0);
    drop(ours);
}

#[test]
fn everything_ends_with_the_broker() {
    let folder = tempfile::tempdir().unwrap();
    let mut spawner = Spawner::start(folder.path());
    spawner.call(Call::AddVm(vm(folder.path()))).unwrap();
    let (ours, theirs) = seqpacket::pair().unwrap();
    let null = File::open("/dev/null").unwrap();
    let program = Program::Device { vm: "a".into() };
    let event = spawner.start_with(program, &[theirs.as_fd(), null.as_fd()]);
    let Event::Started { pid, .. } = event else { panic!("{event:?}") };
    assert!(folder.path().join("a.sock").exists());
    spawner.calls = null.into();
    wait_for("the spawner's end", || spawner.child.try_wait().unwrap().is_some());
    assert!(!folder.path().join("a.sock").exists());
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    drop((ours, theirs));
}

/// Creates files in the host's /dev/shm that broke earlier versions, which used /dev/shm: files at
/// the paths that an earlier version of this test's spawner would have used, which any user could
/// have created first, and a leftover directory that is nested so deeply that removing it
/// recursively would overflow the stack.
struct Planted(Vec<PathBuf>);

impl Planted {
    fn new() -> Self {
        let id = std::process::id();
        let names = [format!("new-virtio-cuda-{id}"), format!("virtio-cuda-{id}")];
        let planted = Self(names.map(|name| Path::new("/dev/shm").join(name)).to_vec());
        for path in &planted.0 {
            std::fs::create_dir(path).unwrap();
            std::fs::write(path.join("lock"), "").unwrap();
            let script = "import os\nfor i in range(60000):\n os.mkdir('d')\n os.chdir('d')";
            let nested = Command::new("python3").args(["-c", script]).current_dir(path).status();
            assert!(nested.unwrap().success());
        }
        planted
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        Command::new("rm").arg("-rf").args(&self.0).status().unwrap();
    }
}

/// Returns the number of files in /dev/shm whose names end with one of these process IDs.
fn in_shared_memory(processes: [u32; 2]) -> usize {
    let names = Path::new("/dev/shm").read_dir().unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let is_of = |name: &String| processes.iter().any(|pid| name.ends_with(&format!("-{pid}")));
    names.filter(is_of).count()
}

/// Needs root, because without root there is no jail.
#[test]
fn the_jail_neither_needs_nor_leaves_a_path_in_shared_memory() {
    if !process::is_root() {
        return eprintln!("skipped: not root");
    }
    let planted = Planted::new();
    let folder = tempfile::tempdir().unwrap();
    let mut spawner = Spawner::unsealed(folder.path());
    let processes = [std::process::id(), spawner.child.id()];
    assert_eq!(spawner.call(Call::SetJail(true)), Ok(()));
    spawner.seal();
    spawner.call(Call::AddVm(vm(folder.path()))).unwrap();
    let null = File::open("/dev/null").unwrap();
    let event = spawner.start_with(worker(|_, _, _| ()), &[null.as_fd(); 2]);
    assert!(matches!(event, Event::Started { .. }), "{event:?}");
    assert_eq!(in_shared_memory(processes), planted.0.len());
    // Dropping the spawner kills it with SIGKILL.
    drop(spawner);
    assert_eq!(in_shared_memory(processes), planted.0.len());
}

/// Returns a socket whose last descriptor takes an hour to close, and its peer, which reads
/// nothing.
fn lingering() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (reader, _) = listener.accept().unwrap();
    socket.set_nonblocking(true).unwrap();
    while socket.write(&[0; 1 << 16]).is_ok() {}
    set_socket_linger(&socket, Some(Duration::from_secs(3600))).unwrap();
    (socket, reader)
}

#[test]
fn a_client_that_nobody_accepts_cannot_delay_the_end_of_its_socket() {
    let folder = tempfile::tempdir().unwrap();
    let mut spawner = Spawner::start(folder.path());
    for end in [
        Call::Unbind { vm: "a".into() },
        Call::RemoveVm { vm: "a".into() },
        Call::RetainVms { names: Vec::new() },
        Call::EndAll,
    ] {
        let text = format!("{end:?}");
        spawner.call(Call::AddVm(vm(folder.path()))).unwrap();
        let client = UnixStream::connect(folder.path().join("a.sock")).unwrap();
        let (slow, reader) = lingering();
        seqpacket::send(&client, &7_u8, &[slow.as_fd()]).unwrap();
        drop((slow, client));
        let calls = spawner.calls.try_clone().unwrap();
        let (answered, answer) = std::sync::mpsc::channel();
        seqpacket::send(&calls, &ToSpawner::Call(end), &[]).unwrap();
        std::thread::spawn(move || answered.send(seqpacket::receive::<Answer>(&calls)));
        let answer = answer.recv_timeout(Duration::from_secs(60)).expect(&text).unwrap().unwrap().0;
        assert!(matches!(answer, Answer::Done), "{text}: {answer:?}");
        assert!(!folder.path().join("a.sock").exists(), "{text}");
        // Closing the peer lets the spawner's thread that closes the descriptor finish.
        drop(reader);
        let _ = spawner.call(Call::RemoveVm { vm: "a".into() });
    }
}
