//! Tests the device as a front end sees it: sessions, rings, submitted commands, and guests that
//! violate the protocol.

use std::io::{Read, Write};
use std::os::fd::FromRawFd;

use host_test_support::{
    BASE, Descriptor, Device, FREE, Guest, QUEUE_SIZE, create, create_with, submit, wait_for,
};
use protocol::plain::Plain;
use protocol::uapi::{self, Event, Hdr, RegionAttach, RegionDetach, Resp};
use protocol::windows::FILES;
use vhost::VhostBackend;
use vhost::vhost_user::VhostUserFrontend;

const CUDA_ERROR_NOT_SUPPORTED: u32 = 801;
/// A call number that will never be assigned.
const NO_CALL: u32 = u32::MAX;
const WORKER: &str = "vhost-cuda-worker";

fn ended(session: u32, value: u32) -> Event {
    Event { kind: uapi::EVENT_ENDED, session, value, reserved: 0 }
}

#[test]
fn the_config_space_holds_the_limits_and_can_be_read_in_parts() {
    let device = Device::start(&["--sessions-max", "3"]);
    let mut guest = Guest::connect(&device.socket);
    let config = guest.limits();
    assert_eq!((config.magic, config.version_major, config.max_sessions), (uapi::MAGIC, 2, 3));
    assert_eq!(
        config.capabilities,
        uapi::CAP_RING | uapi::CAP_PINNED | uapi::CAP_USER | uapi::CAP_QUERY | uapi::CAP_FILES
    );
    assert_eq!(guest.config(12, 4), 3u32.to_le_bytes());
    // QEMU reads as many bytes as its `config_size` option says, which may exceed the device's 64
    // bytes.
    assert_eq!(guest.config(0, 256)[64..], [0; 192]);
}

#[test]
fn commands_go_through_the_ring_or_the_command_queue() {
    let device = Device::start(&[]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(7), uapi::OK);
    assert_eq!(guest.create(7), uapi::ERR_EXISTS);
    let mut ring = guest.attach_ring(7, FREE);
    for _ in 0..100 {
        assert_eq!(ring.call(&mut guest, NO_CALL).result, CUDA_ERROR_NOT_SUPPORTED);
    }
    let (status, reply) = guest.submit(7, NO_CALL, 16);
    assert_eq!((status, reply.unwrap().result), (uapi::OK, CUDA_ERROR_NOT_SUPPORTED));
    // A posted error is reported once, in the next reply.
    if ring.push(NO_CALL, 0, 0, 0) {
        guest.doorbell(7);
    }
    assert_eq!(ring.call(&mut guest, NO_CALL).posted_error, CUDA_ERROR_NOT_SUPPORTED);
    assert_eq!(ring.call(&mut guest, NO_CALL).posted_error, 0);
    assert_eq!(guest.destroy(7), uapi::OK);
    assert_eq!(guest.doorbell(7), uapi::ERR_NO_SESSION);
}

#[test]
fn a_guest_that_sleeps_is_woken_once() {
    let device = Device::start(&[]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    let mut ring = guest.attach_ring(1, FREE);
    for _ in 0..20 {
        // The sleep is long enough that the worker sometimes goes to sleep, too.
        std::thread::sleep(std::time::Duration::from_millis(1));
        ring.ring.shared().announce_guest_sleep();
        if ring.push(NO_CALL, uapi::CMD_WAITED, 0, 16) {
            guest.doorbell(1);
        }
        let wake = Event { kind: uapi::EVENT_WAKE, session: 1, value: 0, reserved: 0 };
        assert_eq!(guest.wait_event(), wake);
        wait_for("the reply", || ring.reply(0).is_some());
        assert!(guest.was_called(1));
    }
}

#[test]
fn malformed_requests_are_refused_without_harm() {
    let device = Device::start(&[]);
    let mut guest = Guest::connect_without_hello(&device.socket);
    assert_eq!(guest.create(1), uapi::ERR_INVALID);
    assert_eq!(guest.hello(1), uapi::OK);
    assert_eq!(guest.create(1), uapi::OK);
    for bad in [&b""[..], b"rubbish", &[0xff; 100], &[0; 8]] {
        assert_eq!(guest.control(bad), uapi::ERR_INVALID);
    }
    // Malformed chains: a loop, a descriptor outside guest memory, and parts in the wrong order.
    let d = |addr, len, flags, next| Descriptor { addr, len, flags, next };
    guest.push(0, 0, &[d(BASE, 8, 1, 0)]);
    guest.push(0, 1, &[d(0xdead_0000_0000, 64, 1, 2), d(BASE + FREE as u64, 8, 2, 0)]);
    guest.push(0, 3, &[d(BASE + FREE as u64, 8, 3, 4), d(BASE, 8, 0, 0)]);
    wait_for("their return", || guest.answer_of(0, 3).is_some());
    let status = Resp::from_bytes(&guest.read(FREE, 8)).unwrap().status;
    assert_eq!(status, uapi::ERR_INVALID);
    // A request without room for its response isn't carried out.
    let head = guest.send(0, &create(2), 4);
    assert_eq!(guest.wait(0, head), b"");
    assert_eq!(guest.doorbell(2), uapi::ERR_NO_SESSION);
    let mut ring = guest.attach_ring(1, FREE);
    assert_eq!(ring.call(&mut guest, NO_CALL).result, CUDA_ERROR_NOT_SUPPORTED);
}

/// A guest that continues with another device, after a restart or from a snapshot, finds out from
/// the response to a request that has no effect.
#[test]
fn a_device_shows_that_it_has_replaced_another_one() {
    const NO_SESSION: u32 = u32::MAX;
    let device = Device::start(&[]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.destroy(NO_SESSION), uapi::ERR_NO_SESSION);
    assert_eq!(guest.create(1), uapi::OK);
    assert_eq!(guest.destroy(NO_SESSION), uapi::ERR_NO_SESSION);
    drop(guest);
    let mut restored = Guest::connect_without_hello(&device.socket);
    assert_eq!(restored.destroy(NO_SESSION), uapi::ERR_INVALID);
    assert_eq!(restored.destroy(1), uapi::ERR_INVALID);
    assert_eq!(restored.hello(1), uapi::OK);
    assert_eq!(restored.destroy(NO_SESSION), uapi::ERR_NO_SESSION);
    assert_eq!(restored.create(1), uapi::OK);
}

#[test]
fn an_index_beyond_the_queue_stops_only_that_queue() {
    let device = Device::start(&["--warm-workers", "0"]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    guest.announce(2, QUEUE_SIZE + 1);
    assert_eq!(guest.create(2), uapi::OK);
    // The test kills a worker after this, because the device checks the event queue only when it
    // has an event.
    guest.announce(1, QUEUE_SIZE + 1);
    let victim = device.processes(WORKER)[0];
    // SAFETY: `kill` accesses no memory, and the process belongs to this test.
    unsafe { libc::kill(victim as libc::pid_t, libc::SIGKILL) };
    for queue in [1, 2].repeat(100) {
        guest.announce(queue, QUEUE_SIZE + 1);
    }
    wait_for("the end", || device.processes(WORKER).len() == 1);
    assert_eq!(guest.hello(2), uapi::OK);
    assert_eq!(guest.create(1), uapi::OK);
    // A reset queue works again.
    for queue in [1, 2] {
        guest.reset_queue(queue);
    }
    assert_eq!(guest.doorbell(1), uapi::OK);
    let mut ring = guest.attach_ring(1, FREE);
    assert_eq!(ring.call(&mut guest, NO_CALL).result, CUDA_ERROR_NOT_SUPPORTED);
    guest.announce(0, QUEUE_SIZE + 1);
    let mut other = Guest::connect(&device.socket);
    assert_eq!(other.create(1), uapi::OK);
    wait_for("the log", || device.log().contains("until it is reset"));
    let log = device.log();
    assert!(log.len() < 20_000, "{} bytes", log.len());
}

#[test]
fn a_head_in_use_or_out_of_range_stops_the_queue() {
    let device = Device::start(&["--warm-workers", "0"]);
    let mut guest = Guest::connect(&device.socket);
    for head in [3, QUEUE_SIZE] {
        guest.reset_queue(0);
        assert_eq!(guest.hello(head.into()), uapi::OK);
        assert_eq!(guest.create(1), uapi::OK);
        // Stop the worker, so that it doesn't reply and the request stays in progress.
        let worker = device.processes(WORKER)[0] as libc::pid_t;
        // SAFETY: `kill` accesses no memory, and the process belongs to this test.
        unsafe { libc::kill(worker, libc::SIGSTOP) };
        let out = guest.send_attach(1);
        let head = if head == 3 { out } else { head };
        guest.push(0, head, &[]);
        std::thread::sleep(std::time::Duration::from_millis(50));
        // The queue is now broken, so the device doesn't take later requests from it.
        let behind = guest.send(0, &create(2), 8);
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!(guest.answer_of(0, behind), None);
        // SAFETY: `kill` accesses no memory, and the process belongs to this test.
        unsafe { libc::kill(worker, libc::SIGCONT) };
        assert_eq!(guest.wait(0, out).len(), 8);
        assert_eq!(guest.answer_of(0, out), None);
        assert_eq!(guest.doorbell(1), uapi::OK);
    }
    guest.reset_queue(0);
    assert_eq!(guest.hello(99), uapi::OK);
    wait_for("the log", || device.log().matches("until it is reset").count() == 2);
}

#[test]
fn a_protocol_violation_ends_only_its_session() {
    let device = Device::start(&["--warm-workers", "2"]);
    let mut guest = Guest::connect(&device.socket);
    let mut rings: Vec<_> = (1..=4)
        .map(|session| {
            assert_eq!(guest.create(session), uapi::OK);
            guest.attach_ring(session, FREE + session as usize * 0x10_0000)
        })
        .collect();
    // Each of these violations ends its session: a tail beyond the ring, a reply outside the arena,
    // and a command of length zero.
    let shared = *rings[0].ring.shared();
    shared.tail.store(1 << 40, std::sync::atomic::Ordering::Release);
    guest.doorbell(1);
    assert_eq!(guest.wait_event(), ended(1, uapi::ENDED_PROTOCOL));
    rings[1].push(NO_CALL, uapi::CMD_WAITED, u32::MAX - 7, 64);
    guest.doorbell(2);
    assert_eq!(guest.wait_event(), ended(2, uapi::ENDED_PROTOCOL));
    rings[2].ring.shared().data[0].store(0, std::sync::atomic::Ordering::Relaxed);
    rings[2].ring.shared().tail.store(64, std::sync::atomic::Ordering::Release);
    guest.doorbell(3);
    assert_eq!(guest.wait_event(), ended(3, uapi::ENDED_PROTOCOL));
    assert_eq!(guest.submit(3, NO_CALL, 16).0, uapi::ERR_NO_SESSION);
    for session in 1..=3 {
        assert_eq!(guest.destroy(session), uapi::OK);
    }
    assert_eq!(rings[3].call(&mut guest, NO_CALL).result, CUDA_ERROR_NOT_SUPPORTED);
}

#[test]
fn a_killed_worker_ends_only_its_session() {
    let device = Device::start(&["--warm-workers", "0"]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    let victim = device.processes(WORKER)[0];
    assert_eq!(guest.create(2), uapi::OK);
    let mut ring = guest.attach_ring(2, FREE);
    // SAFETY: `kill` accesses no memory, and the process belongs to this test.
    unsafe { libc::kill(victim as libc::pid_t, libc::SIGKILL) };
    assert_eq!(guest.wait_event(), ended(1, uapi::ENDED_WORKER));
    assert_eq!(guest.submit(1, NO_CALL, 16).0, uapi::ERR_NO_SESSION);
    assert_eq!(guest.create(1), uapi::ERR_EXISTS);
    assert_eq!(guest.destroy(1), uapi::OK);
    assert_eq!(ring.call(&mut guest, NO_CALL).result, CUDA_ERROR_NOT_SUPPORTED);
}

#[test]
fn sessions_max_applies_to_the_whole_vm() {
    let device = Device::start(&["--sessions-max", "2"]);
    let mut first = Guest::connect(&device.socket);
    let mut second = Guest::connect(&device.socket);
    assert_eq!(first.create(1), uapi::OK);
    assert_eq!(second.create(1), uapi::OK);
    assert_eq!(first.create(2), uapi::ERR_LIMIT);
    assert_eq!(second.destroy(1), uapi::OK);
    assert_eq!(first.create(2), uapi::OK);
}

#[test]
fn a_new_epoch_and_a_disconnection_end_all_sessions() {
    let device = Device::start(&["--warm-workers", "0"]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    assert_eq!(guest.create(2), uapi::OK);
    assert_eq!(device.processes(WORKER).len(), 2);
    assert_eq!(guest.hello(2), uapi::OK);
    assert_eq!(device.processes(WORKER).len(), 0);
    assert_eq!(guest.destroy(1), uapi::ERR_NO_SESSION);
    assert_eq!(guest.create(1), uapi::OK);
    drop(guest);
    wait_for("the workers' end", || device.processes(WORKER).is_empty());
    let mut again = Guest::connect(&device.socket);
    assert_eq!(again.create(1), uapi::OK);
}

#[test]
fn a_stopped_queue_is_not_written_and_continues_where_it_was() {
    let device = Device::start(&["--warm-workers", "0"]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    // Stop the VM while the worker of a second session is starting.
    let head = guest.send(0, &create(2), 8);
    let mut base = 0;
    for queue in 0..3 {
        guest.front.set_vring_enable(queue, false).unwrap();
        let next = guest.front.get_vring_base(queue).unwrap() as u16;
        base = if queue == 0 { next } else { base };
        if queue > 0 {
            guest.start_queue(queue, next);
        }
    }
    let early = guest.answer_of(0, head);
    std::thread::sleep(std::time::Duration::from_millis(300));
    if early.is_none() {
        assert_eq!(guest.answer_of(0, head), None);
    }
    guest.start_queue(0, base);
    let answer = early.unwrap_or_else(|| guest.wait(0, head));
    assert_eq!(Resp::from_bytes(&answer).unwrap().status, uapi::OK);
    let mut ring = guest.attach_ring(2, FREE);
    assert_eq!(ring.call(&mut guest, NO_CALL).result, CUDA_ERROR_NOT_SUPPORTED);
    assert_eq!(guest.destroy(1), uapi::OK);
}

/// Sends a request to the control API, once it listens, and returns the response.
fn ask(socket: &std::path::Path, request: &str) -> String {
    let connect = || std::os::unix::net::UnixStream::connect(socket);
    wait_for("the control API", || connect().is_ok());
    let mut stream = connect().unwrap();
    write!(stream, "{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_vm_is_paused_while_its_vmm_has_stopped_its_queues() {
    let folder = tempfile::tempdir().unwrap();
    let control = folder.path().join("control.sock");
    let device = Device::start(&["--control-socket", control.to_str().unwrap()]);
    let is_paused = || ask(&control, "GET /v1/vms").contains("\"paused_by\":[\"vmm\"]");
    let mut guest = Guest::connect(&device.socket);
    let mut running = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    // When it pauses a VM, cloud-hypervisor only disables the queues.
    for enabled in [false, true, false, true] {
        for queue in 0..3 {
            guest.front.set_vring_enable(queue, enabled).unwrap();
        }
        wait_for("the VM's state", || is_paused() != enabled);
    }
    let mut ring = guest.attach_ring(1, FREE);
    assert_eq!(ring.call(&mut guest, NO_CALL).result, CUDA_ERROR_NOT_SUPPORTED);
    // QEMU stops queues with GET_VRING_BASE. The VM doesn't count as paused while another front end
    // with a session is running.
    let stop = |guest: &mut Guest| -> Vec<u16> {
        (0..3).map(|queue| guest.front.get_vring_base(queue).unwrap() as u16).collect()
    };
    assert_eq!(running.create(1), uapi::OK);
    let bases = stop(&mut guest);
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert!(!is_paused());
    assert_eq!(running.destroy(1), uapi::OK);
    wait_for("the pause", is_paused);
    for (queue, base) in bases.into_iter().enumerate() {
        guest.start_queue(queue, base);
    }
    wait_for("the end of the pause", || !is_paused());
    assert_eq!(ring.call(&mut guest, NO_CALL).result, CUDA_ERROR_NOT_SUPPORTED);
    // Unbinding a driver isn't a pause: the driver ends its sessions before it stops the queues.
    assert_eq!(guest.hello(2), uapi::OK);
    stop(&mut guest);
    // When a VMM exits while its VM is stopped, the VM no longer counts as paused.
    assert_eq!(running.create(1), uapi::OK);
    assert!(!is_paused());
    stop(&mut running);
    wait_for("the pause", is_paused);
    drop(running);
    wait_for("the end of the pause", || !is_paused());
}

#[test]
fn without_a_scheduler_a_pause_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let control = folder.path().join("control.sock");
    let arguments = ["--control-socket", control.to_str().unwrap(), "--scheduler", "off"];
    let _device = Device::start(&arguments);
    let vms = ask(&control, "GET /v1/vms");
    let name = vms.split("\"name\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let refused = ask(&control, &format!("POST /v1/vms/{name}/pause"));
    assert!(refused.starts_with("HTTP/1.1 409"), "{refused}");
    assert!(refused.contains("the scheduler is off"), "{refused}");
    let resumed = ask(&control, &format!("POST /v1/vms/{name}/resume"));
    assert!(resumed.starts_with("HTTP/1.1 200"), "{resumed}");
}

#[test]
fn detached_pages_are_unmapped_from_the_worker() {
    let device = Device::start(&["--warm-workers", "0"]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    let worker = device.processes(WORKER)[0];
    let mapped = || {
        let maps = std::fs::read_to_string(format!("/proc/{worker}/maps")).unwrap();
        maps.lines().filter(|line| line.contains("memfd:guest")).count()
    };
    let attach = |guest: &mut Guest, region, kind, vaddr, offset: usize| {
        let attach = uapi::RegionAttach {
            hdr: Hdr { kind: uapi::CTRL_REGION_ATTACH, session: 1 },
            region,
            kind,
            vaddr,
            len: 8192,
            ring_bytes: 0,
            nr_segments: 1,
        };
        guest.attach(attach, &[(BASE + offset as u64, 8192)])
    };
    let window = protocol::windows::PINNED.start;
    assert_eq!(attach(&mut guest, 1, uapi::REGION_PINNED, window, FREE), uapi::OK);
    assert_eq!(attach(&mut guest, 1, uapi::REGION_PINNED, window + 8192, FREE), uapi::ERR_EXISTS);
    assert_eq!(attach(&mut guest, 2, uapi::REGION_PINNED, window + 4096, FREE), uapi::ERR_MEMORY);
    assert_eq!(attach(&mut guest, 3, uapi::REGION_USER, 0x1000_0000, FREE), uapi::OK);
    assert_eq!(attach(&mut guest, 4, uapi::REGION_USER, 0x1000_0000, 1 << 30), uapi::ERR_MEMORY);
    assert_eq!(mapped(), 2);
    let maps = std::fs::read_to_string(format!("/proc/{worker}/maps")).unwrap();
    let place = format!("{window:x}-{:x} rw-s", window + 8192);
    assert!(maps.contains(&place), "{place} is not in\n{maps}");
    for region in [1, 3] {
        let hdr = Hdr { kind: uapi::CTRL_REGION_DETACH, session: 1 };
        let detach = uapi::RegionDetach { hdr, region, reserved: 0 };
        assert_eq!(guest.control(detach.as_bytes()), uapi::OK);
    }
    assert_eq!(mapped(), 0);
    assert_eq!(attach(&mut guest, 1, uapi::REGION_PINNED, window, FREE), uapi::OK);
}

#[test]
fn a_flood_of_commands_is_answered_in_full() {
    let device = Device::start(&[]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    for _ in 0..200 {
        let heads: Vec<u16> = (0..8).map(|_| guest.send(2, &submit(1, NO_CALL, 16), 24)).collect();
        for head in heads {
            assert_eq!(Resp::from_bytes(&guest.wait(2, head)).unwrap().status, uapi::OK);
        }
    }
}

#[test]
fn shutdown_leaves_nothing_behind() {
    let mut device = Device::start(&["--warm-workers", "2"]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    let mut processes = device.processes(WORKER);
    processes.extend(device.processes("vhost-device-cuda"));
    assert!(processes.len() >= 2);
    assert!(device.end().success());
    assert!(!device.socket.exists());
    for pid in processes {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid} is still there");
    }
}

#[test]
fn killing_the_broker_ends_all_processes() {
    let device = Device::start(&[]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    let mut processes = device.processes(WORKER);
    processes.extend(device.processes("vhost-device-cuda"));
    // SAFETY: `kill` accesses no memory, and the process belongs to this test.
    unsafe { libc::kill(device.pid() as libc::pid_t, libc::SIGKILL) };
    let gone = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z "))
    };
    wait_for("their end", || processes.iter().all(gone));
}

#[test]
fn a_killed_device_process_is_replaced() {
    let device = Device::start(&[]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    let process = device.processes("vhost-device-cuda")[0];
    // SAFETY: `kill` accesses no memory, and the process belongs to this test.
    unsafe { libc::kill(process as libc::pid_t, libc::SIGKILL) };
    wait_for("another", || device.processes("vhost-device-cuda").iter().any(|p| *p != process));
    let mut again = Guest::connect(&device.socket);
    assert_eq!(again.create(1), uapi::OK);
}

#[test]
fn a_worker_runs_as_the_vms_user_and_cannot_change_back() {
    let device = Device::start(&["--warm-workers", "0", "--uid", "61001"]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    let worker = device.processes(WORKER)[0];
    let status = std::fs::read_to_string(format!("/proc/{worker}/status")).unwrap();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_default().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(field("NoNewPrivs:"), ["1"]);
    // If the test runs without root, all processes have the same user, so check users only with
    // root.
    // SAFETY: `geteuid` takes no arguments and can't fail.
    if unsafe { libc::geteuid() } == 0 {
        assert_eq!(field("Uid:"), ["61001"; 4]);
        assert_eq!(field("Gid:"), ["61001"; 4]);
        assert_eq!(field("Groups:"), [""; 0]);
        assert_eq!(field("CapEff:"), ["0000000000000000"]);
        let net = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).unwrap();
        assert_ne!(net(&worker.to_string()), net("self"));
    }
}

#[test]
fn the_sockets_group_is_not_that_of_the_vms_processes() {
    use std::os::unix::fs::MetadataExt;
    let device = Device::start(&["--socket-group", "root"]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    assert_eq!(device.socket.metadata().unwrap().gid(), 0);
    drop((guest, device));
    // SAFETY: `geteuid` takes no arguments and can't fail.
    if unsafe { libc::geteuid() } == 0 {
        let device = Device::start(&["--socket-group", "61003"]);
        assert_eq!(device.socket.metadata().unwrap().gid(), 61003);
        drop(device);
        let device = Device::start(&[]);
        assert_eq!(device.socket.metadata().unwrap().gid(), 0);
    }
}

#[test]
fn a_warm_worker_that_gets_a_session_can_start_no_processes() {
    let device = Device::start(&["--warm-workers", "1"]);
    // Once the device responds, the process that tested the driver library has exited.
    let mut guest = Guest::connect(&device.socket);
    wait_for("a warm worker", || device.processes(WORKER).len() == 1);
    let worker = device.processes(WORKER)[0];
    assert_eq!(guest.create(1), uapi::OK);
    // All threads of the worker: the driver library's threads, the worker's own threads, and the
    // main thread.
    let tasks = std::fs::read_dir(format!("/proc/{worker}/task")).unwrap().flatten();
    let filters: Vec<u32> = tasks
        .filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok())
        .map(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("Seccomp_filters:"));
            line.unwrap().trim().parse().unwrap()
        })
        .collect();
    assert!(filters.len() > 1 && filters.iter().all(|count| *count > 0), "{filters:?}");
}

#[test]
fn only_allowed_variables_reach_the_worker() {
    let device = Device::start(&["--warm-workers", "1"]);
    let mut guest = Guest::connect(&device.socket);
    let env = b"CUDA_LAUNCH_BLOCKING=1\0LD_PRELOAD=/tmp/evil.so\0";
    assert_eq!(guest.control(&create_with(1, env)), uapi::OK);
    let environments: Vec<String> = device
        .processes(WORKER)
        .iter()
        .map(|worker| std::fs::read(format!("/proc/{worker}/environ")).unwrap())
        .map(|environment| String::from_utf8_lossy(&environment).into_owned())
        .collect();
    let has = |what: &str| environments.iter().filter(|env| env.contains(what)).count();
    assert_eq!((has("CUDA_LAUNCH_BLOCKING=1\0"), has("LD_PRELOAD")), (1, 0));
    assert_eq!(guest.control(&create_with(2, b"NO_VALUE\0")), uapi::ERR_INVALID);
}

#[test]
fn unsealed_memory_is_accepted_only_from_a_single_front_end() {
    let device = Device::start(&[]);
    let mut sealed = Guest::connect(&device.socket);
    assert_eq!(sealed.create(1), uapi::OK);
    assert!(Guest::connect_unsealed(&device.socket).set_up().is_err());
    assert_eq!(sealed.create(2), uapi::OK);
    drop(sealed);
    let mut alone = None;
    wait_for("the others' leave", || {
        let mut guest = Guest::connect_unsealed(&device.socket);
        let set_up = guest.set_up().is_ok();
        alone = Some(guest);
        set_up
    });
    let mut alone = alone.unwrap();
    assert_eq!(alone.hello(1), uapi::OK);
    assert_eq!(alone.create(1), uapi::OK);
    assert!(Guest::connect_unsealed(&device.socket).set_up().is_err());
    // The front end truncates its memory while its worker is running. The device must still serve
    // the next front end.
    let mut ring = alone.attach_ring(1, FREE);
    ring.push(NO_CALL, 0, 0, 0);
    alone.truncate();
    drop(alone);
    wait_for("the workers' end", || device.processes(WORKER).len() <= 1);
    let mut next = None;
    wait_for("the device", || {
        let mut guest = Guest::connect_unsealed(&device.socket);
        let set_up = guest.set_up().is_ok();
        next = Some(guest);
        set_up
    });
    let mut next = next.unwrap();
    assert_eq!(next.hello(1), uapi::OK);
    assert_eq!(next.create(1), uapi::OK);
}

/// Returns a file in memory that isn't sealed, so that other processes can truncate it.
fn shared_file(len: u64) -> std::fs::File {
    // SAFETY: the name is a C string, and the descriptor is new.
    let file = unsafe {
        let fd = libc::memfd_create(c"shared".as_ptr(), libc::MFD_CLOEXEC);
        std::fs::File::from_raw_fd(fd)
    };
    file.set_len(len).unwrap();
    file
}

/// A program without a VM registers files that it shares with others. Other processes can truncate
/// such files. That must not affect the device process or the VM's other front ends.
#[test]
fn files_for_workers_are_accepted_from_several_front_ends() {
    let device = Device::start(&[]);
    let (mut guest, mut other) = (Guest::connect(&device.socket), Guest::connect(&device.socket));
    assert_eq!((guest.create(1), other.create(1)), (uapi::OK, uapi::OK));
    let file = shared_file(4 << 12);
    guest.share_file(FILES.start, &file, 4 << 12).unwrap();
    guest.share_file(FILES.start + (1 << 20), &file, 4 << 12).unwrap();
    let region = |id, vaddr| RegionAttach {
        hdr: Hdr { kind: uapi::CTRL_REGION_ATTACH, session: 1 },
        region: id,
        kind: uapi::REGION_USER,
        vaddr,
        len: 2 << 12,
        ring_bytes: 0,
        nr_segments: 1,
    };
    let part = (FILES.start + (1 << 12), 2 << 12);
    assert_eq!(guest.attach(region(2, 0x1000_0000), &[part]), uapi::OK);
    // After a registered file has become shorter, another file is still accepted, and the region
    // can be detached.
    file.set_len(0).unwrap();
    guest.share_file(FILES.start + (1 << 30), &shared_file(1 << 12), 1 << 12).unwrap();
    let hdr = Hdr { kind: uapi::CTRL_REGION_DETACH, session: 1 };
    let detach = RegionDetach { hdr, region: 2, reserved: 0 };
    assert_eq!(guest.control(detach.as_bytes()), uapi::OK);
    // The device doesn't read a request in such a file.
    let inside = Descriptor { addr: FILES.start, len: 16, flags: 0, next: 0 };
    guest.push(uapi::QUEUE_CONTROL as usize, 60, &[inside]);
    wait_for("its return", || guest.answer_of(0, 60).is_some());
    assert_eq!((guest.create(2), other.create(2)), (uapi::OK, uapi::OK));
    // At addresses outside the range for registered files, memory still has to be sealed.
    let mut third = Guest::connect(&device.socket);
    assert!(third.share_file(1 << 40, &shared_file(1 << 12), 1 << 12).is_err());
    assert_eq!((guest.create(3), other.create(3)), (uapi::OK, uapi::OK));
}

/// If a file weren't in memory, the driver could have to wait for a file system that the front end
/// provides.
#[test]
fn files_for_workers_must_be_in_memory() {
    let device = Device::start(&[]);
    let mut guest = Guest::connect(&device.socket);
    let disk = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
    assert!(guest.share_file(FILES.start, &disk, 1 << 12).is_err());
    let mut guest = Guest::connect(&device.socket);
    assert!(guest.share_file(FILES.start - 4096, &shared_file(2 << 12), 2 << 12).is_err());
    assert_eq!(Guest::connect(&device.socket).create(1), uapi::OK);
}

#[test]
fn workers_are_killed_first_if_the_host_runs_out_of_memory() {
    let device = Device::start(&[]);
    let mut guest = Guest::connect(&device.socket);
    assert_eq!(guest.create(1), uapi::OK);
    let workers = device.processes(WORKER);
    assert!(!workers.is_empty());
    for worker in workers {
        // A warm worker sets its oom_score_adj shortly after it has started.
        wait_for("the worker's score", || {
            let score = std::fs::read_to_string(format!("/proc/{worker}/oom_score_adj"));
            score.unwrap().trim() == "1000"
        });
    }
}

/// The device refuses the memory of a second front end, and its queues must not access that memory
/// even before the refusal.
#[test]
fn memory_that_is_refused_is_never_accessed() {
    let device = Device::start(&[]);
    let mut other = Guest::connect(&device.socket);
    for attempt in 0..300 {
        let mut guest = Guest::connect_without_hello(&device.socket);
        let after = std::time::Duration::from_micros(attempt % 150);
        assert!(guest.swap_memory_and_truncate(after).is_err());
    }
    assert_eq!(other.create(1), uapi::OK);
}

/// Accesses beyond the end of a file would kill the device process with SIGBUS, and it also serves
/// the other front end.
#[test]
fn memory_that_its_file_lacks_is_refused() {
    let device = Device::start(&[]);
    let mut other = Guest::connect(&device.socket);
    let mut guest = Guest::connect_without_hello(&device.socket);
    assert!(guest.share_more_than_the_file().is_err());
    assert_eq!(other.create(1), uapi::OK);
}

#[test]
fn a_wake_without_a_buffer_is_delivered_with_the_next_one() {
    let device = Device::start(&[]);
    for event_idx in [false, true] {
        let mut guest = if event_idx {
            Guest::connect_with_event_idx(&device.socket)
        } else {
            Guest::connect(&device.socket)
        };
        assert_eq!(guest.create(1), uapi::OK);
        let mut ring = guest.attach_ring(1, FREE);
        for _ in 0..10 {
            // Cause two wakes in a row. The second comes before the driver has made another event
            // buffer available.
            for slot in [0, 64] {
                ring.ring.shared().announce_guest_sleep();
                if ring.push(NO_CALL, uapi::CMD_WAITED, slot, 16) {
                    guest.doorbell(1);
                }
                wait_for("the reply", || ring.reply(slot as usize).is_some());
                std::thread::sleep(std::time::Duration::from_millis(3));
            }
            for _ in 0..2 {
                assert_eq!(guest.wait_event().kind, uapi::EVENT_WAKE, "event_idx {event_idx}");
            }
            assert_eq!(guest.event(), None);
        }
    }
}
