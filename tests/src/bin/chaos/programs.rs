//! Guest programs that run in attacked VMs.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::world::World;

/// A guest program that is running.
struct Program {
    child: Child,
    vm: usize,
    name: String,
    start: Instant,
    end: Instant,
    was_killed: bool,
}

/// The numbers of programs that were started and that ended in each way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends {
    pub started: u64,
    pub passed: u64,
    pub failed: u64,
    pub killed: u64,
}

/// The running programs in attacked VMs. Dropping this value kills them.
#[derive(Default)]
pub struct Programs {
    running: Vec<Program>,
    pub ends: BTreeMap<&'static str, Ends>,
}

impl Programs {
    /// Starts a program. It is killed if it's still running after this number of seconds.
    pub fn start(&mut self, vm: usize, name: String, mut command: Command, seconds: u64) {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let start = Instant::now();
        let end = start + Duration::from_secs(seconds);
        self.of(&name).started += 1;
        self.running.push(Program { child, vm, name, start, end, was_killed: false });
    }

    pub fn count(&self) -> usize {
        self.running.len()
    }

    /// Returns how many of the running programs were started in the last `time`.
    pub fn started_within(&self, time: Duration) -> usize {
        self.running.iter().filter(|program| program.start.elapsed() < time).count()
    }

    /// Sends a signal to one of the running programs, which `which` selects. Returns the program's
    /// VM.
    pub fn signal(&mut self, which: u64, signal: i32) -> Option<usize> {
        let index = usize::try_from(which).ok()?.checked_rem(self.running.len())?;
        let program = &mut self.running[index];
        // SAFETY: kill takes no pointers. The child hasn't been reaped, so its pid is valid.
        unsafe { libc::kill(program.child.id() as i32, signal) };
        program.was_killed = true;
        Some(program.vm)
    }

    /// Kills the programs whose time is over, and counts the programs that have ended.
    pub fn reap(&mut self, world: &World) {
        let now = Instant::now();
        let mut ended = Vec::new();
        self.running.retain_mut(|program| {
            if now >= program.end && !program.was_killed {
                program.was_killed = true;
                let _ = program.child.kill();
            }
            let Ok(Some(status)) = program.child.try_wait() else { return true };
            ended.push((program.name.clone(), program.vm, program.was_killed, status));
            false
        });
        for (name, vm, was_killed, status) in ended {
            let ends = self.of(&name);
            match (was_killed, status.success()) {
                (true, _) => ends.killed += 1,
                (false, true) => ends.passed += 1,
                (false, false) => ends.failed += 1,
            }
            world.note(&format!("{}: {name}: {status}", world.vms[vm].name));
        }
    }

    /// Kills all programs and waits until they have ended.
    pub fn kill_all(&mut self, world: &World) {
        for program in &mut self.running {
            program.was_killed = true;
            let _ = program.child.kill();
        }
        while !self.running.is_empty() {
            self.reap(world);
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn of(&mut self, name: &str) -> &mut Ends {
        let kind = match name {
            "flood" => "hostile",
            "spin" => "long",
            _ => "short",
        };
        self.ends.entry(kind).or_default()
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        for program in &mut self.running {
            let _ = program.child.kill();
            let _ = program.child.wait();
        }
    }
}
