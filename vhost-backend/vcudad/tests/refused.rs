//! Tests that refused calls of workers are counted and reported.

use common::{Broker, TWO, build_driver_library};
use host_test_support::{Folder, Guest, wait_for};

mod common;

/// Skipped if not run as root: without root, there is no jail, and refused calls aren't counted.
#[test]
fn refused_calls_of_a_vm_are_counted_and_the_first_one_of_a_session_is_an_event() {
    if !host_ipc::process::is_root() {
        return;
    }
    let folder = Folder::new("refused");
    let libraries = folder.join("libraries");
    std::fs::create_dir(&libraries).unwrap();
    let mut command = Broker::command(&folder, &format!("jail = \"required\"\n{TWO}"));
    command.env("VIRTIO_CUDA_SOFTGPU", build_driver_library("refused", &libraries));
    let broker = Broker::started(&folder, command);
    let events = broker.send("GET", "/v1/events?since_ms=0", "");
    let counts = |vm: &str| {
        let (_, info) = broker.ask("GET", &format!("/v1/vms/{vm}"), "");
        let counts = &info["stats"]["refused_calls"];
        ["system_calls", "driver_operations"].map(|kind| counts[kind].as_u64().unwrap())
    };
    assert_eq!(counts("a"), [0, 0]);
    let mut guest = Guest::connect(&folder.join("a"));
    assert_eq!(guest.create(1), 0);
    wait_for("the counts", || counts("a") == [3, 2]);
    assert_eq!(counts("b"), [0, 0]);

    // A second session adds to the counts.
    assert_eq!(guest.create(2), 0);
    wait_for("the counts", || counts("a") == [6, 4]);
    let metrics = broker.send("GET", "/metrics", "").text();
    for sample in [r#"vm="a",kind="system call"} 6"#, r#"vm="a",kind="driver operation"} 4"#] {
        let sample = format!("virtio_cuda_refused_calls_total{{{sample}");
        assert!(metrics.contains(&sample), "{metrics}");
    }
    drop(guest);
    // There are no other events of these sessions after their ends.
    let told = events.text_when(|text| text.matches("session_ended").count() == 2);
    broker.end();
    let refused = told.lines().filter(|line| line.contains("call_refused"));
    let refused: Vec<&str> = refused.collect();
    assert_eq!(refused.len(), 2, "{told}");
    assert!(refused[0].contains("the system call personality"), "{}", refused[0]);
    let log = std::fs::read_to_string(folder.join("log")).unwrap();
    assert_eq!(log.matches("refused the driver operation 0x2080110b").count(), 4, "{log}");
}
