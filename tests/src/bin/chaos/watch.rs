//! Polls the control API during the whole run and checks its figures.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::api::Client;
use crate::ledger;
use crate::world::{Seen, Session, World};

const PAUSE: Duration = Duration::from_millis(150);

/// The highest values that were observed during a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Peaks {
    pub sessions: usize,
    pub samples: u64,
    pub memory: u64,
    pub api: Duration,
}

/// A VM's use and limit on one GPU in the previous sample.
#[derive(Clone, Copy)]
struct Before {
    used: u64,
    max: u64,
}

/// Polls the control API until the run stops.
pub fn watch(world: &World) -> Peaks {
    let mut client = Client::new(&world.control);
    let mut peaks = Peaks::default();
    let mut accounts = BTreeMap::new();
    let mut last = Instant::now();
    while !world.is_stopping() && world.is_worth_continuing() {
        let start = Instant::now();
        if let Err(error) = sample(world, &mut client, &mut accounts, last, &mut peaks) {
            world.violation(&error);
        }
        world.forget_limits(last);
        last = start;
        std::thread::sleep(PAUSE);
    }
    peaks.api = client.worst;
    peaks
}

fn sample(
    world: &World,
    client: &mut Client,
    before: &mut BTreeMap<(String, u64), Before>,
    last: Instant,
    peaks: &mut Peaks,
) -> Result<(), String> {
    let stats = client.get("/v1/stats")?;
    ledger::check_stats(&stats)?;
    let mut now = BTreeMap::new();
    let mut total = 0;
    for account in ledger::accounts(&stats) {
        let key = (account.vm.clone(), account.gpu);
        // `memory.max` can be set below the VM's current use. In that case, the use may exceed the
        // limit, but it must not grow.
        let old = before.get(&key).map_or(0, |old| old.used.max(old.max));
        let vm = world.index(&account.vm);
        let set = vm.map_or(0, |vm| world.highest_limit(vm, last));
        let most = account.max.max(old).max(set);
        if account.used > most {
            let (vm, used) = (&account.vm, account.used);
            world.violation(&format!("VM {vm} uses {used} bytes; its memory.max is {most}"));
        }
        total += account.used;
        now.insert(key, Before { used: account.used, max: account.max });
    }
    *before = now;
    let (sessions, vms) = (client.get("/v1/sessions")?, client.get("/v1/vms")?);
    client.get("/v1/gpus")?;
    let seen = seen(world, &sessions, &vms);
    peaks.samples += 1;
    peaks.sessions = peaks.sessions.max(seen.sessions.len());
    peaks.memory = peaks.memory.max(total);
    world.see(seen);
    Ok(())
}

fn seen(world: &World, sessions: &Value, vms: &Value) -> Seen {
    let session = |value: &Value| {
        Some(Session {
            vm: world.index(value["vm"].as_str()?)?,
            id: value["id"].as_u64()?,
            worker: value["worker_pid"].as_i64()? as i32,
        })
    };
    let device = |value: &Value| {
        Some((world.index(value["name"].as_str()?)?, value["device_pid"].as_i64()? as i32))
    };
    Seen {
        sessions: sessions.as_array().into_iter().flatten().filter_map(session).collect(),
        devices: vms.as_array().into_iter().flatten().filter_map(device).collect(),
    }
}
