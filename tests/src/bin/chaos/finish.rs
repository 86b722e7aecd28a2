//! Checks at the end of a run that no process, file, or other resource is left over.

use std::collections::BTreeMap;

use virtio_cuda_tests::{Host, eventually};

use crate::api::Client;
use crate::attacker::Attacker;
use crate::ledger;
use crate::plan::VMS;
use crate::processes::{self, Resources};
use crate::settle::{SETTLE, settled};
use crate::world::World;

/// Limits of the number of lines that vcudad may log: a number of lines at the start, and for each
/// VM, a burst and a number of lines per second. A VM can cause a dozen kinds of lines, each of
/// which has the limits in docs/configuration.md.
const LINES: usize = 1000;
const LINES_AT_ONCE: usize = 1000;
const LINES_PER_SECOND: usize = 30;
/// Maximum resident size that the broker may reach, in KiB.
const MEMORY: u64 = 256 << 10;

/// After the attacks, when no programs run: checks that all VMs are idle, and that the broker has
/// no more descriptors and threads than at the start. Then removes the VMs. Returns a summary of
/// the counts.
pub fn check_running(world: &World, attacker: &mut Attacker, start: &Resources) -> String {
    settled(world, "after the attacks", || ledger::check_idle(&mut attacker.client));
    attacker.restore();
    wait_for_warm_workers(world, &mut attacker.client);
    settled(world, "with all VMs again", || {
        let now = Resources::of(world.broker);
        if now.count() <= start.count() && now.threads <= start.threads {
            return Ok(());
        }
        Err(format!("vcudad's descriptors and threads were {start:?} and are {now:?}"))
    });
    let peak = processes::peak_memory(world.broker);
    if peak > MEMORY {
        world.violation(&format!("vcudad used up to {peak} KiB"));
    }
    for vm in 0..world.vms.len() {
        if !attacker.remove(vm) {
            world.violation(&format!("cannot remove VM {}", world.vms[vm].name));
        }
    }
    settled(world, "without VMs", || without_vms(world));
    let now = Resources::of(world.broker);
    format!("{} descriptors, {} threads at the start and ", start.count(), start.threads)
        + &format!("at most as many at the end; {} without VMs; ", now.count())
}

/// Waits until the only children of the spawner are a device process per VM, the warm workers, the
/// process that keeps their PID namespace alive, and their supervisor.
pub fn wait_for_warm_workers(world: &World, client: &mut Client) {
    settled(world, "with idle VMs", || {
        let stats = client.get("/v1/stats")?;
        let mut counts: BTreeMap<String, u64> = BTreeMap::new();
        for child in processes::children(world.spawner) {
            if child.state == 'Z' {
                return Err(format!("a zombie: {child:?}"));
            }
            *counts.entry(child.name).or_default() += 1;
        }
        let count = |name: &str| counts.get(name).copied().unwrap_or(0);
        let (devices, workers) = (count("vhost-device-cu"), count("vhost-cuda-work"));
        // If workers run in a jail, the spawner has one child of each of these names.
        let helpers = count("vcudad-pid-ns").min(1) + count("vhost-cuda-supe").min(1);
        let others = counts.values().sum::<u64>() - devices - workers - helpers;
        // vcudad keeps two warm workers for each of the two GPUs.
        let warm = stats["workers"]["warm"].as_u64();
        if (devices, workers, others, warm) == (VMS as u64, 4, 0, Some(4)) {
            return Ok(());
        }
        Err(format!("the spawner's children are {counts:?}, and {warm:?} workers are warm"))
    });
}

fn without_vms(world: &World) -> Result<(), String> {
    let devices = processes::children(world.spawner).into_iter();
    let devices: Vec<_> = devices.filter(|child| child.name == "vhost-device-cu").collect();
    let sockets = world.vms.iter().map(|vm| world.control.with_file_name(vm.name));
    let sockets: Vec<_> = sockets.filter(|path| path.exists()).collect();
    let files = processes::files("vm-chaos-");
    if devices.is_empty() && sockets.is_empty() && files.is_empty() {
        return Ok(());
    }
    Err(format!("left over: {devices:?} {sockets:?} {files:?}"))
}

/// Checks that the log has no more lines than the limits allow.
pub fn check_log(world: &World, lines: usize) {
    let seconds = world.elapsed().as_secs() as usize;
    let most = LINES + VMS * (LINES_AT_ONCE + LINES_PER_SECOND * seconds);
    if lines > most {
        world.violation(&format!("{lines} lines in the log; at most {most} are expected"));
    }
}

/// Stops the broker, and checks that it leaves no process and no file behind. Returns a description
/// of those that it left.
pub fn check_stopped(world: &World, mut host: Host) -> String {
    if let Some(status) = host.exited() {
        world.violation(&format!("vcudad has exited: {status}"));
    }
    let status = host.end();
    if status.code() != Some(0) {
        world.violation(&format!("after SIGTERM: vcudad exited with {status}"));
    }
    // This process is a subreaper, so orphans of the broker have become its children, and are found
    // here.
    let mut left = String::new();
    eventually(SETTLE, || {
        left = leftovers(world, &host);
        left.is_empty()
    });
    if left.is_empty() {
        return "nothing after SIGTERM".into();
    }
    world.violation(&format!("after SIGTERM: left over: {left}"));
    left
}

fn leftovers(world: &World, host: &Host) -> String {
    let processes = processes::children(std::process::id());
    let expected = ["log", "state", "vcudad.toml"];
    let entries = std::fs::read_dir(host.dir()).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut files: Vec<_> = names.filter(|name| !expected.contains(&name.as_str())).collect();
    let shared = processes::files(&format!("virtio-cuda-{}", world.broker));
    files.extend(shared.iter().map(|path| path.display().to_string()));
    if processes.is_empty() && files.is_empty() {
        return String::new();
    }
    format!("{processes:?} {files:?}")
}
