//! No program waits for vcudad while it allocates within its credit, or memory that it has just freed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use virtio_cuda_tests::{A, B, Host, Vm, dist, eventually};

/// Time limit for a step in a test, far longer than any step takes.
const NEVER: Duration = Duration::from_secs(120);
/// How long vcudad is stopped.
const STOP: Duration = Duration::from_secs(10);

/// A program that allocates and frees memory in a loop.
struct Program {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Program {
    fn start(host: &Host, vm: Vm, mib: u32) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_memory-steps"))
            .arg(mib.to_string())
            .env("LD_LIBRARY_PATH", dist().join("guest"))
            .env("VIRTIO_CUDA_SOCKET", host.socket(vm))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(output).lines();
            lines.map_while(Result::ok).try_for_each(|line| send.send(line))
        });
        Self { child, input, lines }
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    fn ask(&mut self, mib: u32) {
        self.say(&format!("ask {mib}"));
    }

    /// Returns the free memory that the program sees.
    fn free(&mut self, host: &Host) -> u64 {
        self.say("free");
        self.until(host, "free").parse().unwrap()
    }

    /// Reads lines until one of them is `wanted`, or begins with it and a space. Returns the rest of
    /// that line.
    fn until(&self, host: &Host, wanted: &str) -> String {
        let start = Instant::now();
        while start.elapsed() < NEVER {
            let Ok(line) = self.lines.recv_timeout(NEVER) else { break };
            match line.strip_prefix(wanted) {
                Some("") => return String::new(),
                Some(rest) if rest.starts_with(' ') => return rest[1..].to_owned(),
                _ => {}
            }
        }
        panic!("the program never printed {wanted:?}\n{}", host.log());
    }

    /// Reads the lines that are printed in this time. Returns the number of steps, the longest pause
    /// before a step, and the other lines.
    fn during(&self, time: Duration) -> (u32, Duration, Vec<String>) {
        let (start, mut last) = (Instant::now(), Instant::now());
        let (mut steps, mut longest, mut others) = (0, Duration::ZERO, Vec::new());
        while let Some(left) = time.checked_sub(start.elapsed()) {
            match self.lines.recv_timeout(left) {
                Ok(line) if line.starts_with("step ") => {
                    steps += 1;
                    longest = longest.max(last.elapsed());
                    last = Instant::now();
                }
                Ok(line) => others.push(line),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => panic!("the program ended"),
            }
        }
        (steps, longest.max(last.elapsed()), others)
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn end(self, host: &Host) {
        let Self { mut child, input, .. } = self;
        drop(input);
        assert!(child.wait().unwrap().success(), "{}", host.log());
    }
}

fn signal(host: &Host, signal: i32) {
    // SAFETY: this takes no pointers.
    assert_eq!(unsafe { libc::kill(host.pid() as i32, signal) }, 0);
}

/// Returns the used and the charged bytes of a VM.
fn accounts(host: &Host, vm: Vm) -> (u64, u64) {
    let gpu = host.ask(&["vm", "show", vm.name])["stats"]["gpus"][0].clone();
    (gpu["memory_used"].as_u64().unwrap(), gpu["memory_charged"].as_u64().unwrap())
}

/// Two programs of one VM, each of which is a session.
#[test]
fn programs_that_allocate_within_their_credit_do_not_wait_for_vcudad() {
    let host = Host::start(&[A, B]);
    let mut programs = [(); 2].map(|()| Program::start(&host, A, 4));
    programs.iter().for_each(|program| drop(program.until(&host, "step 10")));
    programs[0].ask(64);
    programs[0].until(&host, "got 64");
    signal(&host, libc::SIGSTOP);
    // This thread of the program must ask, and no other thread waits for it. Workers don't keep
    // allocations of this size.
    programs[0].ask(200);
    let during = std::thread::scope(|scope| {
        let threads = programs.each_mut().map(|program| scope.spawn(move || program.during(STOP)));
        threads.map(|thread| thread.join().unwrap())
    });
    signal(&host, libc::SIGCONT);
    for (steps, longest, others) in during {
        assert!(steps >= 10, "{steps} steps");
        // The thread that must ask waits until vcudad continues, so its pause is the whole time.
        assert!(longest < STOP && others.is_empty(), "{longest:?} {others:?}");
    }
    programs[0].until(&host, "got 200");
    for program in programs {
        program.until(&host, "step");
        program.end(&host);
    }
    assert!(eventually(NEVER, || accounts(&host, A) == (0, 0)), "{}", host.log());
}

/// Each program sees what the other has allocated as soon as the other's call has returned, also
/// while vcudad is stopped, after another vcudad has taken over, and after another program was
/// killed.
#[test]
fn programs_see_one_anothers_allocations_at_once() {
    let host = Host::start(&[A]);
    let mut programs = [(); 2].map(|()| Program::start(&host, A, 0));
    for program in &mut programs {
        program.until(&host, "ready");
        // The broker grants credit with the first allocation.
        program.ask(2);
        program.until(&host, "got 2");
    }
    let mib = 1 << 20;
    let check = |programs: &mut [Program], rounds: u64| {
        let [first, second] = programs else { panic!("two programs") };
        let before = first.free(&host);
        for round in 0..rounds {
            let (one, other) = match round % 2 {
                0 => (&mut *first, &mut *second),
                _ => (&mut *second, &mut *first),
            };
            one.say("take 2");
            one.until(&host, "took");
            assert_eq!((other.free(&host), one.free(&host)), (before - 2 * mib, before - 2 * mib));
            one.say("give");
            one.until(&host, "gave");
            assert_eq!((other.free(&host), one.free(&host)), (before, before));
        }
    };
    check(&mut programs, 200);
    signal(&host, libc::SIGSTOP);
    check(&mut programs, 200);
    signal(&host, libc::SIGCONT);
    signal(&host, libc::SIGUSR2);
    assert!(eventually(NEVER, || host.log().contains("vcudad took over")), "{}", host.log());
    check(&mut programs, 20);
    // A program that ends takes what it has allocated with it.
    programs[0].say("take 6");
    programs[0].until(&host, "took");
    let [mut first, second] = programs;
    let before = first.free(&host);
    let mut third = Program::start(&host, A, 0);
    third.until(&host, "ready");
    third.say("take 2");
    third.until(&host, "took");
    third.kill();
    assert!(eventually(NEVER, || first.free(&host) == before), "{}", host.log());
    let mut programs = [first, second];
    check(&mut programs, 20);
    programs[0].say("give");
    programs[0].until(&host, "gave");
    programs.into_iter().for_each(|program| program.end(&host));
    assert!(eventually(NEVER, || accounts(&host, A) == (0, 0)), "{}", host.log());
}

#[test]
fn credit_is_charged_to_the_vm_but_no_program_uses_it_and_others_get_it_when_they_need_it() {
    let host = Host::start(&[A]);
    let mut first = Program::start(&host, A, 4);
    let mut second = Program::start(&host, A, 4);
    first.until(&host, "step");
    second.until(&host, "step");
    let (used, charged) = accounts(&host, A);
    let mib = 1 << 20;
    // In each program, one thread has 4 MiB or nothing, and the credit is the rest.
    assert!(used <= 8 * mib && charged <= used + 16 * mib + 8 * mib, "{used} {charged}");
    assert!(charged > used, "{used} {charged}");
    for _ in 0..5 {
        // The VM has 2048 MiB, of which the steps need at most 4 each.
        first.ask(2040);
        first.until(&host, "got 2040");
        second.ask(2040);
        second.until(&host, "got 2040");
        second.ask(2049);
        second.until(&host, "refused 2049");
    }
    first.end(&host);
    second.end(&host);
    assert!(eventually(NEVER, || accounts(&host, A) == (0, 0)), "{}", host.log());
}

const MIB: u64 = 1 << 20;

/// Has a program allocate and free 64 MiB until its worker keeps them. Then vcudad's accounts contain
/// them, and no program uses them.
fn keep_64(host: &Host, program: &mut Program) {
    let keeps = || {
        program.ask(64);
        program.until(host, "got 64");
        let (used, charged) = accounts(host, A);
        charged - used >= 64 * MIB
    };
    assert!(eventually(NEVER, keeps), "{}", host.log());
}

/// An allocation of this size always asks vcudad, unless the worker has kept the memory. The driver
/// isn't called, either: that's tested in the worker (`calls/tests/kept.rs`).
#[test]
fn freed_memory_is_used_again_without_vcudad() {
    let host = Host::start(&[A]);
    let mut programs = [(); 2].map(|()| Program::start(&host, A, 0));
    programs.iter().for_each(|program| drop(program.until(&host, "ready")));
    keep_64(&host, &mut programs[0]);
    let [first, second] = &mut programs;
    let before = second.free(&host);
    signal(&host, libc::SIGSTOP);
    for _ in 0..100 {
        first.say("take 64");
        first.until(&host, "took 64");
        assert_eq!((first.free(&host), second.free(&host)), (before - 64 * MIB, before - 64 * MIB));
        first.say("give");
        first.until(&host, "gave");
        assert_eq!((first.free(&host), second.free(&host)), (before, before));
    }
    signal(&host, libc::SIGCONT);
    let (used, charged) = accounts(&host, A);
    // Each program may also have credit.
    assert!(used == 0 && charged <= (64 + 2 * 8) * MIB, "{used} {charged}");
    programs.into_iter().for_each(|program| program.end(&host));
    assert!(eventually(NEVER, || accounts(&host, A) == (0, 0)), "{}", host.log());
}

#[test]
fn a_program_keeps_nothing_that_another_one_needs() {
    let host = Host::start(&[A]);
    let [mut first, mut second, mut third] = [(); 3].map(|()| Program::start(&host, A, 0));
    for program in [&first, &second, &third] {
        program.until(&host, "ready");
    }
    for _ in 0..2 {
        // Until the shortage is over, nothing is kept.
        keep_64(&host, &mut first);
        keep_64(&host, &mut third);
        second.ask(2048);
        second.until(&host, "got 2048");
        second.ask(2049);
        second.until(&host, "refused 2049");
        assert!(eventually(NEVER, || accounts(&host, A).1 < 64 * MIB), "{}", host.log());
    }
    // A program that needs it itself gets it, too.
    keep_64(&host, &mut first);
    first.ask(2048);
    first.until(&host, "got 2048");
    [first, second, third].into_iter().for_each(|program| program.end(&host));
    assert!(eventually(NEVER, || accounts(&host, A) == (0, 0)), "{}", host.log());
}

#[test]
fn kept_memory_ends_with_its_context_or_while_its_program_is_idle_or_if_the_limit_is_lowered() {
    let host = Host::start(&[A]);
    let mut program = Program::start(&host, A, 0);
    program.until(&host, "ready");
    keep_64(&host, &mut program);
    program.say("reset");
    program.until(&host, "reset");
    // A program that makes calls isn't idle.
    let is_freed = |program: &mut Program| {
        program.free(&host);
        accounts(&host, A).1 <= 8 * MIB
    };
    let freed = eventually(NEVER, || is_freed(&mut program));
    assert!(freed, "{:?}\n{}", accounts(&host, A), host.log());
    keep_64(&host, &mut program);
    host.ask(&["vm", "set", A.name, "--memory-max", "1G"]);
    let freed = eventually(NEVER, || is_freed(&mut program));
    assert!(freed, "{:?}\n{}", accounts(&host, A), host.log());
    keep_64(&host, &mut program);
    assert!(eventually(NEVER, || accounts(&host, A) == (0, 0)), "{}", host.log());
    keep_64(&host, &mut program);
    program.kill();
    assert!(eventually(NEVER, || accounts(&host, A) == (0, 0)), "{}", host.log());
}
