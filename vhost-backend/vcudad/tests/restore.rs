//! Tests that a VM keeps its settings and its GPU when it's removed and restored, and when the
//! broker is restarted.

use std::os::unix::fs::symlink;
use std::path::Path;

use common::{Broker, TWO};
use host_test_support::{Folder, wait_for};
use serde_json::Value;

mod common;

const GIB: u64 = 1 << 30;

fn vm(name: &str, settings: &str) -> String {
    format!("[[vm]]\nname = \"{name}\"\nsocket = \"DIR/{name}\"\nmemory.max = \"1G\"\n{settings}\n")
}

/// Makes the broker read this file, and waits until it has.
fn reload(broker: &Broker, folder: &Path, vms: &str) {
    drop(Broker::command(folder, vms));
    let count = || broker.log().matches("configuration file: ").count();
    let before = count();
    // SAFETY: the child hasn't been reaped, so its process ID can't have been reused.
    unsafe { libc::kill(broker.child.id() as i32, libc::SIGHUP) };
    wait_for("the file", || count() > before);
}

fn show(broker: &Broker, vm: &str) -> Value {
    broker.ask("GET", &format!("/v1/vms/{vm}"), "").1
}

/// Returns the indexes of a VM's GPUs.
fn gpus(broker: &Broker, vm: &str) -> Vec<u64> {
    let shown = show(broker, vm);
    let gpus = shown["stats"]["gpus"].as_array().unwrap().iter();
    gpus.map(|gpu| gpu["gpu"].as_u64().unwrap()).collect()
}

fn restore(broker: &Broker, vm: &str) -> (u16, Value) {
    broker.ask("POST", &format!("/v1/vms/{vm}/restore"), "")
}

fn remove(broker: &Broker, vm: &str) {
    assert_eq!(broker.ask("DELETE", &format!("/v1/vms/{vm}"), "").0, 204);
}

/// Returns the state of a VM, and the reason for it if the VM has failed.
fn state(broker: &Broker, vm: &str) -> (String, String) {
    let shown = show(broker, vm);
    let text = |key: &str| shown[key].as_str().unwrap_or_default().to_owned();
    (text("state"), text("failure"))
}

#[test]
fn a_vm_gets_another_gpu_and_keeps_its_other_settings() {
    let folder = Folder::new("restore-gpu");
    let file =
        |gpu: u32| vm("a", &format!("gpus = [\"{gpu}\"]\ncompute.weight = 300")) + &vm("b", "");
    let broker = Broker::start(&folder, &file(0));
    assert_eq!(broker.ask("PATCH", "/v1/vms/a", r#"{"class": "latency"}"#).0, 200);
    reload(&broker, &folder, &file(1));
    assert!(
        broker.log().contains("(vcudactl vm rm --force a; vcudactl vm restore a)"),
        "{}",
        broker.log()
    );
    assert_eq!(gpus(&broker, "a"), [0]);
    remove(&broker, "a");
    let (of_a, why) = state(&broker, "a");
    assert!(of_a == "not_added" && why.contains("vcudactl vm restore a"), "{of_a}: {why}");
    assert_eq!(broker.vms().len(), 1);
    // Commands for the VM return an error that says how to fix the problem.
    for (method, path, body) in [
        ("PATCH", "/v1/vms/a", r#"{"compute": {"weight": 1}}"#),
        ("DELETE", "/v1/vms/a", ""),
        ("POST", "/v1/vms/a/pause", ""),
        ("POST", "/v1/vms/a/restart", ""),
        ("GET", "/v1/vms/a/sessions", ""),
    ] {
        let (status, error) = broker.ask(method, path, body);
        let message = error["message"].as_str().unwrap_or_default();
        assert!(status == 404 && message.contains("vcudactl vm restore a"), "{method} {error}");
    }
    reload(&broker, &folder, &file(1));
    let says = "not added, because removed with vcudactl vm rm: a (to bring them back, run vcudactl vm \
                restore a)";
    assert!(broker.log().contains(says), "{}", broker.log());
    broker.end();
    // The VM stays removed after a restart.
    let broker = Broker::start(&folder, &file(1));
    assert_eq!(state(&broker, "a").0, "not_added");
    let (status, restored) = restore(&broker, "a");
    assert_eq!((status, &restored["origin"]), (200, &"file".into()), "{restored}");
    assert_eq!(restored["settings"]["compute"]["weight"], 300);
    assert_eq!(restored["settings"]["class"], "latency");
    assert_eq!(restored["differs_from_file"].as_object().unwrap().len(), 1, "{restored}");
    assert_eq!(gpus(&broker, "a"), [1]);
    broker.end();
    let broker = Broker::start(&folder, &file(1));
    assert_eq!((state(&broker, "a").0.as_str(), gpus(&broker, "a")), ("running", vec![1]));
    broker.end();
}

#[test]
fn a_vm_that_is_not_in_the_file_gets_its_last_settings() {
    let folder = Folder::new("restore-api");
    let broker = Broker::start(&folder, TWO);
    assert_eq!(broker.add("c", r#""memory": {"max": 1073741824}, "gpus": ["1"]"#).0, 201);
    assert_eq!(broker.ask("PATCH", "/v1/vms/c", r#"{"compute": {"weight": 7}}"#).0, 200);
    let before = show(&broker, "c")["settings"].clone();
    remove(&broker, "c");
    assert_eq!(broker.ask("GET", "/v1/vms/c", "").0, 404);
    broker.end();
    let broker = Broker::start(&folder, TWO);
    assert_eq!(broker.vms().len(), 2);
    // Make the next write of the state fail as if the disk were full.
    let next = folder.join("state/state.json.next");
    symlink("/dev/full", &next).unwrap();
    assert_eq!(restore(&broker, "c").0, 507);
    assert!(!folder.join("c").exists());
    std::fs::remove_file(next).unwrap();
    let (status, restored) = restore(&broker, "c");
    assert_eq!((status, &restored["settings"], &restored["origin"]), (200, &before, &"api".into()));
    for (name, status, says) in [("c", 409, "is not removed"), ("d", 404, "no VM named")] {
        let (found, error) = restore(&broker, name);
        assert!(found == status && error["message"].as_str().unwrap().contains(says), "{error}");
    }
    broker.end();
    let broker = Broker::start(&folder, TWO);
    assert_eq!(show(&broker, "c")["settings"], before);
    broker.end();
}

#[test]
fn another_vm_with_the_name_of_one_in_the_file_differs_from_the_file() {
    let folder = Folder::new("restore-other");
    let file = vm("a", "compute.weight = 300") + &vm("b", "");
    let broker = Broker::start(&folder, &file);
    remove(&broker, "a");
    let (status, added) = broker.add("a", r#""memory": {"max": 1073741824}"#);
    let differs = added["differs_from_file"].as_object().unwrap();
    let keys: Vec<&str> = differs.keys().map(String::as_str).collect();
    assert_eq!((status, keys), (201, vec!["compute.weight"]), "{added}");
    remove(&broker, "a");
    let (status, restored) = restore(&broker, "a");
    assert_eq!((status, &restored["settings"]["compute"]["weight"]), (200, &300.into()));
    broker.end();
}

#[test]
fn a_vm_that_needs_a_restart_of_vcudad_is_listed() {
    let folder = Folder::new("restore-deferred");
    std::fs::create_dir(folder.join("elsewhere")).unwrap();
    let broker = Broker::start(&folder, TWO);
    let file = format!("{TWO}{}", vm("c", "").replace("DIR/c", "DIR/elsewhere/c"));
    reload(&broker, &folder, &file);
    let (of_c, why) = state(&broker, "c");
    assert!(of_c == "not_added" && why.contains("needs a restart of vcudad"), "{of_c}: {why}");
    assert!(why.contains("is not in socket_folders"), "{why}");
    let (status, error) = restore(&broker, "c");
    assert!(
        status == 404 && error["message"].as_str().unwrap().contains("socket_folders"),
        "{error}"
    );
    broker.end();
    let broker = Broker::start(&folder, &file);
    assert_eq!(state(&broker, "c").0, "running");
    broker.end();
}

#[test]
fn a_vm_keeps_its_gpu_as_long_as_that_exists_and_has_room() {
    let folder = Folder::new("restore-place");
    let three = ["x", "y", "z"].map(|name| vm(name, "gpus = [\"any\"]")).concat();
    let weigh = |broker: &Broker, vm: &str, weight: u32| {
        let patch = format!(r#"{{"compute": {{"weight": {weight}}}}}"#);
        assert_eq!(broker.ask("PATCH", &format!("/v1/vms/{vm}"), &patch).0, 200);
    };
    let all = |broker: &Broker| ["x", "y", "z"].map(|vm| gpus(broker, vm)[0]);
    let start = |vms: &str, devices: &str| {
        let mut command = Broker::command(&folder, vms);
        command.env("SOFTGPU_DEVICES", devices);
        Broker::started(&folder, command)
    };
    let broker = start(&three, "2");
    assert_eq!(all(&broker), [0, 1, 0]);
    // With these weights, the VMs would be on other GPUs if they were new.
    weigh(&broker, "x", 10);
    weigh(&broker, "y", 20);
    weigh(&broker, "z", 300);
    assert_eq!(broker.add("w", r#""memory": {"max": 1073741824}"#).0, 201);
    let of_w = gpus(&broker, "w");
    broker.end();
    let broker = start(&three, "2");
    assert_eq!((all(&broker), gpus(&broker, "w")), ([0, 1, 0], of_w.clone()));
    // A VM that is restored keeps its GPU, too.
    remove(&broker, "y");
    weigh(&broker, "z", 1);
    assert_eq!((restore(&broker, "y").0, all(&broker)), (200, [0, 1, 0]));
    assert!(!broker.log().contains("other GPUs than before"), "{}", broker.log());
    broker.end();
    // A new VM that comes first in the file doesn't take the GPU of VM b, but one that requests
    // that GPU does.
    let broker = start(
        &format!(
            "{}{three}",
            vm("new", "gpus = [\"any\"]\nmemory.max = \"6G\"").replace("memory.max = \"1G\"\n", "")
        ),
        "2",
    );
    assert_eq!(all(&broker), [0, 1, 0]);
    broker.end();
    let big = vm("big", "gpus = [\"1\"]").replace("1G", "7.5G");
    let broker = start(&format!("{three}{big}"), "2");
    assert_eq!(all(&broker), [0, 0, 0]);
    let says = "the VM gets other GPUs than before: 1G does not fit: GPU 1 has";
    assert!(broker.log().contains(says), "{}", broker.log());
    broker.end();
    // After another restart, the moved VM stays on the GPU that it has now.
    let broker = start(&three, "2");
    assert_eq!(all(&broker), [0, 0, 0]);
    broker.end();
}

#[test]
fn a_vm_moves_if_its_gpu_is_gone() {
    let folder = Folder::new("restore-gone");
    let start = |devices: &str| {
        let mut command = Broker::command(&folder, TWO);
        command.env("SOFTGPU_DEVICES", devices);
        Broker::started(&folder, command)
    };
    let broker = start("2");
    assert_eq!(gpus(&broker, "b"), [1]);
    assert_eq!(broker.vms()[1].2, GIB);
    broker.end();
    let broker = start("1");
    assert_eq!(gpus(&broker, "b"), [0]);
    let says = "the VM gets other GPUs than before: there is no GPU GPU-";
    assert!(broker.log().contains(says), "{}", broker.log());
    broker.end();
}
