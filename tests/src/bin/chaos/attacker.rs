//! Performs the actions of the plan, which attack VMs, processes, and sessions.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};
use virtio_cuda_tests::Host;

use crate::api::Client;
use crate::plan::{Action, MEMORY_MAX, UNHARMED};
use crate::processes;
use crate::programs::Programs;
use crate::world::{Session, World};
use virtio_cuda_tests::random::Random;

/// The pause between two actions.
const PAUSE: Duration = Duration::from_millis(50);
/// Maximum number of programs that run in attacked VMs at the same time.
const PROGRAMS: usize = 190;
/// Maximum number of programs that are started within [`RECENT`]. The limit is necessary because
/// each start takes CPU time in the program, in vcudad, and in a worker.
const STARTS: usize = 8;
const RECENT: Duration = Duration::from_secs(1);

pub struct Attacker<'w> {
    world: &'w World,
    host: &'w Host,
    pub client: Client,
    pub programs: Programs,
    /// For each kind of action, how often it was performed, and how often it was skipped because no
    /// VM, program, or process existed on which it could be performed.
    pub counts: BTreeMap<&'static str, (u64, u64)>,
    exists: Vec<bool>,
}

impl<'w> Attacker<'w> {
    pub fn new(world: &'w World, host: &'w Host) -> Self {
        Self {
            world,
            host,
            client: Client::new(&world.control),
            programs: Programs::default(),
            counts: BTreeMap::new(),
            exists: vec![false; world.vms.len()],
        }
    }

    /// Performs actions for this time.
    pub fn attack(&mut self, random: &mut Random, time: Duration) {
        let end = Instant::now() + time;
        while Instant::now() < end && self.world.is_worth_continuing() {
            let action = Action::draw(random);
            if action.starts_program() {
                self.wait_for_starts();
            }
            self.programs.reap(self.world);
            let had_object = self.perform(&action);
            self.world.note(&format!("{action:?}{}", if had_object { "" } else { ": no object" }));
            let (performed, without) = self.counts.entry(action.kind()).or_default();
            *(if had_object { performed } else { without }) += 1;
            std::thread::sleep(PAUSE);
        }
    }

    fn wait_for_starts(&mut self) {
        while self.programs.started_within(RECENT) >= STARTS {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns the sessions of attacked VMs.
    fn sessions(&self) -> Vec<Session> {
        let all = self.world.seen().sessions.into_iter();
        all.filter(|session| session.vm >= UNHARMED).collect()
    }

    /// Performs an action. Returns false if it was skipped, because there was no object to perform
    /// it on.
    fn perform(&mut self, action: &Action) -> bool {
        let spawner = self.world.spawner;
        match action {
            Action::Run { vm, program, args, seconds } => {
                let args: Vec<&str> = args.iter().map(String::as_str).collect();
                let command = self.host.command(self.world.vms[*vm], program, &args);
                self.start(*vm, program, command, *seconds)
            }
            Action::Flood { vm, kind, seed, seconds } => {
                let own = std::env::current_exe().expect("/proc is mounted");
                let mut command = Command::new(own);
                command.args(["flood", kind.name()]).arg(self.host.socket(self.world.vms[*vm]));
                command.args([seed.to_string(), seconds.to_string()]);
                self.start(*vm, "flood", command, seconds + 5)
            }
            Action::KillProgram { which, signal } => {
                self.programs.signal(*which, *signal).is_some()
            }
            Action::KillWorker { which, signal } => {
                let Some(session) = pick(&self.sessions(), *which) else { return false };
                processes::signal(spawner, session.worker, "vhost-cuda-work", *signal)
            }
            Action::KillDevice { which } => {
                let devices = self.world.seen().devices.into_iter();
                let devices: Vec<_> = devices.filter(|(vm, _)| *vm >= UNHARMED).collect();
                let Some((_, pid)) = pick(&devices, *which) else { return false };
                processes::signal(spawner, pid, "vhost-device-cu", libc::SIGKILL)
            }
            Action::EndSession { which } => {
                let Some(session) = pick(&self.sessions(), *which) else { return false };
                let vm = self.world.vms[session.vm].name;
                let path = format!("/v1/vms/{vm}/sessions/{}", session.id);
                self.ask(Method::DELETE, &path, None)
            }
            Action::Remove { vm } => self.exists[*vm] && self.remove(*vm),
            Action::Add { which } => {
                let absent = (0..self.exists.len()).filter(|vm| !self.exists[*vm]);
                let absent: Vec<usize> = absent.collect();
                pick(&absent, *which).is_some_and(|vm| self.add(vm))
            }
            Action::Replace { vm } => self.exists[*vm] && self.remove(*vm) && self.add(*vm),
            Action::SwapOut { vm } => {
                let path = format!("/v1/vms/{}/swap-out", self.world.vms[*vm].name);
                self.ask(Method::POST, &path, None)
            }
            Action::Set { vm, patch } => {
                let path = format!("/v1/vms/{}", self.world.vms[*vm].name);
                let max = patch["memory"]["max"].as_u64();
                self.with_limit(*vm, max, |this| this.ask(Method::PATCH, &path, Some(patch)))
            }
        }
    }

    fn start(&mut self, vm: usize, name: &str, command: Command, seconds: u64) -> bool {
        let has_room = self.programs.count() < PROGRAMS;
        if has_room {
            self.programs.start(vm, name.to_owned(), command, seconds);
        }
        has_room
    }

    /// Removes a VM from vcudad. Returns whether that succeeded.
    pub fn remove(&mut self, vm: usize) -> bool {
        let path = format!("/v1/vms/{}", self.world.vms[vm].name);
        let done = self.ask(Method::DELETE, &path, None);
        self.exists[vm] &= !done;
        done
    }

    /// Adds a VM to vcudad. Returns whether that succeeded.
    pub fn add(&mut self, vm: usize) -> bool {
        let (name, uid) = (self.world.vms[vm].name, self.world.vms[vm].uid);
        let socket = self.host.socket(self.world.vms[vm]);
        let spec = json!({
            "name": name, "socket": socket, "uid": uid, "memory": {"max": MEMORY_MAX}
        });
        let add = |this: &mut Self| this.ask(Method::POST, "/v1/vms", Some(&spec));
        let done = self.with_limit(vm, Some(MEMORY_MAX), add);
        self.exists[vm] |= done;
        done
    }

    /// Adds all VMs that were removed, and restores the initial settings of all VMs.
    pub fn restore(&mut self) {
        for vm in 0..self.world.vms.len() {
            if vm >= UNHARMED && self.exists[vm] && !self.remove(vm) {
                self.world.violation(&format!("cannot remove VM {}", self.world.vms[vm].name));
            }
        }
        for vm in 0..self.world.vms.len() {
            if !self.exists[vm] && !self.add(vm) {
                self.world.violation(&format!("cannot add VM {}", self.world.vms[vm].name));
            }
        }
    }

    fn with_limit<T>(
        &mut self,
        vm: usize,
        max: Option<u64>,
        request: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let world = self.world;
        match max {
            Some(max) => world.with_limit(vm, max, || request(self)),
            None => request(self),
        }
    }

    /// Sends a request. vcudad may refuse it, because the VM or session may have just ended or the
    /// GPUs may be full. An internal error of vcudad is a violation.
    fn ask(&mut self, method: Method, path: &str, body: Option<&Value>) -> bool {
        let said = format!("{method} {path}");
        match self.client.ask(method, path, body) {
            Err(error) => {
                self.world.violation(&error);
                false
            }
            Ok(answer) => {
                let refused = [404, 409, 507].contains(&answer.status);
                if !refused && !(200..300).contains(&answer.status) {
                    let (status, body) = (answer.status, answer.body);
                    self.world.violation(&format!("{said}: HTTP {status}: {body}"));
                }
                !refused
            }
        }
    }
}

fn pick<T: Copy>(all: &[T], which: u64) -> Option<T> {
    let index = usize::try_from(which).ok()?.checked_rem(all.len())?;
    Some(all[index])
}
