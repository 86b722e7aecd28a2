//! Programs that must not notice that another vcudad replaces the running one.

use std::process::Child;
use std::time::Duration;

use crate::{A, B, Host, Vm, dist, eventually, roomy};

/// A VM whose programs run in user-mode Linux.
const C: Vm = Vm { name: "c", memory_max: "1G", uid: 61_303 };

/// Returns the VMs in which the programs run.
pub fn vms() -> [Vm; 3] {
    [roomy(A).0, roomy(B).0, roomy(C).0]
}

/// Running programs: one in each of the VMs A and B, an endless kernel in VM B, and programs that
/// run one after another in VM C. All of them except the endless kernel check their results.
pub struct Programs {
    /// The free and total memory of VMs A and B before the programs were started, in MiB.
    idle: [(u64, u64); 2],
    /// The free and total memory of VMs A and B while the programs run, in MiB.
    held: [(u64, u64); 2],
    /// For VMs A and B, the worker of each session, and the bytes that are charged to it.
    sessions: [Vec<(u64, u64)>; 2],
    finite: [Child; 2],
    endless: Child,
    guest: Child,
}

impl Programs {
    /// Starts the programs, and records the state that must not change.
    pub fn start(host: &Host) -> Self {
        let idle = [host.settled_memory(A), host.memory(B)];
        let (spin, ready) = (dist().join("programs/static/spin"), host.dir().join("ready"));
        let script = format!(
            "while [ ! -e {stop} ]; do {spin} hold=32 loop 2 || exit 1; echo >>{ready}; done",
            stop = stop(host),
            spin = spin.display(),
            ready = ready.display()
        );
        let guest = host.uml(C).args(["--", "/bin/sh", "-c", &script]).spawn().unwrap();
        let runs = eventually(Duration::from_secs(120), || ready.exists());
        assert!(runs, "the guest's program did not start:\n{}", host.log());
        let finite = [(A, "hold=512"), (B, "hold=64")]
            .map(|(vm, hold)| host.spawn(vm, "spin", &[hold, "loop", "input"]).0);
        // Both VMs use the GPU, so this endless kernel is evicted repeatedly.
        let (endless, _) = host.spawn(B, "spin", &["forever"]);
        let held = [host.memory(A), host.memory(B)];
        let is_quiet = || (sessions(host, A).len(), sessions(host, B).len()) == (1, 2);
        assert!(eventually(Duration::from_secs(60), is_quiet), "{}", host.log());
        let sessions = [sessions(host, A), sessions(host, B)];
        Self { idle, held, sessions, finite, endless, guest }
    }

    /// Checks that nothing has changed for the programs and in the operator's view, and that a new
    /// program works.
    pub fn check(&mut self, host: &Host) {
        let now = || [sessions(host, A), sessions(host, B)];
        let same = eventually(Duration::from_secs(60), || now() == self.sessions);
        assert!(same, "{:?} instead of {:?}\n{}", now(), self.sessions, host.log());
        assert_eq!([host.memory(A), host.memory(B)], self.held, "{}", host.log());
        assert!(host.run(A, "vectoradd", &[]).status.success(), "{}", host.log());
        let all = self.finite.iter_mut().chain([&mut self.endless, &mut self.guest]);
        for program in all {
            assert!(program.try_wait().unwrap().is_none(), "{}", host.log());
        }
    }

    /// Ends the programs, checks that they got the right results, and checks that their memory was
    /// freed.
    pub fn end(mut self, host: &Host) {
        self.endless.kill().unwrap();
        self.endless.wait().unwrap();
        std::fs::write(stop(host), "").unwrap();
        for program in &mut self.finite {
            drop(program.stdin.take());
        }
        for program in self.finite.iter_mut().chain([&mut self.guest]) {
            assert!(program.wait().unwrap().success(), "{}", host.log());
        }
        let is_free = || [host.look(A).ok(), host.look(B).ok()] == self.idle.map(Some);
        assert!(eventually(Duration::from_secs(60), is_free), "{}", host.log());
    }
}

fn stop(host: &Host) -> String {
    host.dir().join("stop").display().to_string()
}

/// Returns the process ID of the worker and the charged bytes for each of a VM's sessions.
fn sessions(host: &Host, vm: Vm) -> Vec<(u64, u64)> {
    let list = host.ask(&["session", "ls", "--vm", vm.name]);
    let session = |one: &serde_json::Value| {
        let charged = one["memory"].as_array().unwrap().iter();
        let charged = charged.map(|gpu| gpu["bytes"].as_u64().unwrap()).sum();
        (one["worker_pid"].as_u64().unwrap(), charged)
    };
    let mut list: Vec<_> = list.as_array().unwrap().iter().map(session).collect();
    list.sort_unstable();
    list
}
