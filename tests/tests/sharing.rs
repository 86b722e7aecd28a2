//! Tests memory that several processes of a VM share (CUDA IPC). It is charged to the VM once,
//! until the last process has closed it. Processes of other VMs can't open it.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use virtio_cuda_tests::nvml::Nvml;
use virtio_cuda_tests::{A, B, Host, Vm, dist, eventually, roomy};

/// The size of the memory that the exporter shares, in bytes.
const BYTES: u64 = 4 << 20;

/// A guest process that plays a peer role of the conformance cases.
struct Peer {
    child: Child,
    channel: UnixStream,
}

impl Peer {
    fn start(host: &Host, vm: Vm, role: &str) -> Self {
        let (channel, theirs) = UnixStream::pair().unwrap();
        channel.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let child = Command::new(dist().join("tests/cuda-conformance"))
            .args(["--peer", role])
            .env("LD_LIBRARY_PATH", dist().join("guest"))
            .env("VIRTIO_CUDA_SOCKET", host.socket(vm))
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self { child, channel }
    }

    /// Starts a process that exports memory. Returns the process and the handle of the memory.
    fn exporter(host: &Host, vm: Vm) -> (Self, [u8; 64]) {
        let mut peer = Self::start(host, vm, "ipc::exporter");
        let mut handle = [0; 64];
        peer.channel
            .read_exact(&mut handle)
            .unwrap_or_else(|error| panic!("{error}: {}", host.log()));
        (peer, handle)
    }

    /// Starts a process that opens the memory with this handle and keeps it open.
    fn holder(host: &Host, vm: Vm, handle: [u8; 64]) -> Self {
        let mut peer = Self::start(host, vm, "ipc::holder");
        peer.channel.write_all(&handle).unwrap();
        peer
    }

    /// Waits until the process has reached its next step.
    fn wait(&mut self) -> std::io::Result<()> {
        self.channel.read_exact(&mut [0])
    }

    /// Lets the process finish. Returns whether it succeeded, and its messages.
    fn end(mut self) -> (bool, String) {
        let _ = self.channel.write_all(&[1]);
        let output = self.child.wait_with_output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        // Remove the lines with counts of calls. They are meant for the runner of the conformance
        // cases.
        let messages: Vec<_> = text.lines().filter(|line| !line.starts_with('\u{1}')).collect();
        (output.status.success(), messages.join("\n"))
    }
}

#[test]
fn shared_memory_is_charged_once_until_the_last_process_has_closed_it() {
    let (vm, _) = roomy(A);
    let host = Host::start(&[vm]);
    let (free, _) = host.settled_memory(vm);
    let used = || free - host.memory(vm).0;
    let mib = BYTES / (1 << 20);
    let (exporter, handle) = Peer::exporter(&host, vm);
    let context = used().checked_sub(mib).expect("the memory is charged");
    let mut holders: Vec<_> = (0..2).map(|_| Peer::holder(&host, vm, handle)).collect();
    for holder in &mut holders {
        holder.wait().unwrap();
    }
    assert_eq!(used(), mib + 3 * context, "{}", host.log());
    assert_eq!(exporter.end(), (true, String::new()));
    let settles = |expected| eventually(Duration::from_secs(20), || used() == expected);
    assert!(settles(mib + 2 * context), "{} MiB are in use", used());
    let (last, mut killed) = (holders.remove(0), holders.remove(0));
    // Killing a process that has the memory open also closes the memory.
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert!(settles(mib + context), "{} MiB are in use", used());
    assert_eq!(last.end(), (true, String::new()));
    assert!(settles(0), "{} MiB are in use", used());
}

#[test]
fn a_handle_is_worth_nothing_in_another_vm() {
    let host = Host::start(&[roomy(A).0, roomy(B).0]);
    let (exporter, handle) = Peer::exporter(&host, A);
    let mut other = Peer::holder(&host, B, handle);
    assert!(other.wait().is_err());
    let (succeeded, messages) = other.end();
    assert!(!succeeded);
    let refused = "cuIpcOpenMemHandle returned CUDA_ERROR_INVALID_VALUE";
    assert!(messages.contains(refused), "{messages}");
    let mut same = Peer::holder(&host, A, handle);
    same.wait().unwrap();
    assert_eq!(same.end(), (true, String::new()));
    assert_eq!(exporter.end(), (true, String::new()));
}

/// Runs conformance cases to cover what the other tests in this file don't: pools, exported file
/// descriptors, and events.
#[test]
fn the_cases_of_sharing_pass_in_a_vm_and_leave_nothing_charged() {
    let (vm, _) = roomy(A);
    let host = Host::start(&[vm]);
    let (free, _) = host.settled_memory(vm);
    let output = Command::new(dist().join("tests/cuda-conformance"))
        .args(["ipc::", "pool_sharing::"])
        .env("LD_LIBRARY_PATH", dist().join("guest"))
        .env("VIRTIO_CUDA_SOCKET", host.socket(vm))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", host.log());
    assert!(text.contains("pool_sharing::"), "no case ran: {text}");
    let settled = eventually(Duration::from_secs(20), || host.memory(vm).0 == free);
    assert!(settled, "{} MiB are free, not {free}", host.memory(vm).0);
}

/// The driver reports shared memory for only one of the processes that have it open, but each
/// session is charged for all of it. A session could therefore allocate the same amount again
/// without exceeding its own charge. Only the sum over all of the VM's sessions reveals that.
#[test]
fn sessions_that_share_memory_together_use_no_more_than_is_charged() {
    let (vm, _) = roomy(A);
    let mut host = Host::start(&[vm, B]);
    host.configure("memory.slack = \"1M\"");
    let mut nvml = Nvml::install(&mut host, &[vm, B]);
    let (mut other, _) = host.spawn(B, "spin", &["loop"]);
    let (_exporter, handle) = Peer::exporter(&host, vm);
    let mut holders: Vec<_> = (0..2).map(|_| Peer::holder(&host, vm, handle)).collect();
    holders.iter_mut().for_each(|holder| holder.wait().unwrap());
    let workers = host.workers(vm);
    assert_eq!(workers.len(), 3);
    let charged = host.ask(&["vm", "show", vm.name])["stats"]["gpus"][0]["memory_used"].clone();
    assert!(charged.as_u64().unwrap() + (1 << 20) < 3 * BYTES, "{charged}");

    nvml.say(&format!("process 0 {} {BYTES}", workers[0]));
    let samples = || host.ask(&["gpu", "ls"])[0]["memory_driver"].as_u64() == Some(BYTES);
    assert!(eventually(Duration::from_secs(60), samples), "{}", host.log());
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(host.workers(vm), workers, "{}", host.log());

    nvml.say(&format!("process 0 {} {BYTES}\nprocess 0 {} {BYTES}", workers[1], workers[2]));
    let ended = eventually(Duration::from_secs(60), || host.workers(vm).len() == 1);
    let (why, log) = ("for the VM's sessions", host.log());
    assert!(ended && log.contains(why), "{log}");
    assert_eq!(other.try_wait().unwrap(), None, "{log}");
    other.kill().unwrap();
    other.wait().unwrap();
}

/// Starts a program in VM A, for whose worker the fake NVML reports memory. After that, makes NVML
/// report memory that belongs to no process. A driver does that for exported memory that its
/// creator has released. Returns the program.
fn hide_memory(host: &mut Host, nvml: &mut Nvml) -> Child {
    let (program, _) = host.spawn(A, "spin", &["loop"]);
    nvml.say(&format!("process 0 {} 1", host.workers(A)[0]));
    let seen = || host.ask(&["gpu", "ls"])[0]["memory_driver"].as_u64() == Some(1);
    assert!(eventually(Duration::from_secs(60), seen), "{}", host.log());
    nvml.say("hidden 0 1073741824");
    let found = || host.log().contains("reports for no process");
    assert!(eventually(Duration::from_secs(60), found), "{}", host.log());
    program
}

#[test]
fn memory_that_is_reported_for_no_process_is_found() {
    let mut host = Host::start(&[A, B]);
    let mut nvml = Nvml::install(&mut host, &[A, B]);
    let (mut other, _) = host.spawn(B, "spin", &["loop"]);
    let mut program = hide_memory(&mut host, &mut nvml);
    // The hidden memory may belong to either VM, so neither may be ended. That includes VM B after
    // its worker has ended, because B's device process may hold a descriptor of the memory.
    other.kill().unwrap();
    other.wait().unwrap();
    let ended = || host.workers(B).is_empty();
    assert!(eventually(Duration::from_secs(60), ended), "{}", host.log());
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(program.try_wait().unwrap(), None, "{}", host.log());
    program.kill().unwrap();
    program.wait().unwrap();
}

#[test]
fn the_only_vm_that_can_have_hidden_memory_ends() {
    let mut host = Host::start(&[A, B]);
    let mut nvml = Nvml::install(&mut host, &[A, B]);
    let device = host.ask(&["vm", "show", A.name])["device_pid"].clone();
    let mut program = hide_memory(&mut host, &mut nvml);
    let now = || host.ask(&["vm", "show", A.name])["device_pid"].clone();
    let ended = || host.workers(A).is_empty() && now().is_u64() && now() != device;
    assert!(eventually(Duration::from_secs(60), ended), "{}", host.log());
    let _ = program.kill();
    program.wait().unwrap();
}
