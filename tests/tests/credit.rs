//! Checks that a program doesn't wait for vcudad while it allocates memory within its credit, or
//! memory that it has just freed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use virtio_cuda_tests::{A, B, Host, Vm, dist, eventually};

/// Time limit for a step in a test, far longer than any step takes.
const NEVER: Duration = Duration::from_secs(120);
/// Time for which a test stops vcudad with SIGSTOP.
const STOP: Duration = Duration::from_secs(10);

/// A `memory-steps` process, which allocates and frees memory in a loop and on request.
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

    /// Returns the free memory in bytes that cuMemGetInfo reports to the program.
    fn free(&mut self, host: &Host) -> u64 {
        self.say("free");
        self.until(host, "free").parse().unwrap()
    }

    /// Reads lines until one of them is `wanted`, or begins with `wanted` and a space. Returns the
    /// text after the space.
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

    /// Reads the lines that the program prints during this time. Returns the number of steps, the
    /// longest pause between steps, and all other lines.
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
    // SAFETY: kill takes no pointers.
    assert_eq!(unsafe { libc::kill(host.pid() as i32, signal) }, 0);
}

/// Returns the used bytes and the charged bytes of a VM on its GPU.
fn accounts(host: &Host, vm: Vm) -> (u64, u64) {
    let gpu = host.ask(&["vm", "show", vm.name])["stats"]["gpus"][0].clone();
    (gpu["memory_used"].as_u64().unwrap(), gpu["memory_charged"].as_u64().unwrap())
}

/// Uses two programs in one VM, so that two sessions have credit.
#[test]
fn programs_that_allocate_within_their_credit_do_not_wait_for_vcudad() {
    let host = Host::start(&[A, B]);
    let mut programs = [(); 2].map(|()| Program::start(&host, A, 4));
    programs.iter().for_each(|program| drop(program.until(&host, "step 10")));
    programs[0].ask(64);
    programs[0].until(&host, "got 64");
    signal(&host, libc::SIGSTOP);
    // This allocation needs vcudad, so the thread that makes it waits. It's larger than the
    // allocations that workers keep. The program's other thread must not wait for it.
    programs[0].ask(200);
    let during = std::thread::scope(|scope| {
        let threads = programs.each_mut().map(|program| scope.spawn(move || program.during(STOP)));
        threads.map(|thread| thread.join().unwrap())
    });
    signal(&host, libc::SIGCONT);
    for (steps, longest, others) in during {
        assert!(steps >= 10, "{steps} steps");
        // A pause of the whole time would mean that a thread has waited until vcudad continued.
        assert!(longest < STOP && others.is_empty(), "{longest:?} {others:?}");
    }
    programs[0].until(&host, "got 200");
    for program in programs {
        program.until(&host, "step");
        program.end(&host);
    }
    assert!(eventually(NEVER, || accounts(&host, A) == (0, 0)), "{}", host.log());
}

/// Checks that each program sees the other's allocations as soon as the other's call has returned.
/// This must also be true while vcudad is stopped, after another vcudad has taken over, and after
/// another program was killed.
#[test]
fn programs_see_one_anothers_allocations_at_once() {
    let host = Host::start(&[A]);
    let mut programs = [(); 2].map(|()| Program::start(&host, A, 0));
    for program in &mut programs {
        program.until(&host, "ready");
        // Make a first allocation, with which the broker grants credit to the program.
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
    // When a program ends, the memory that it has allocated is free again.
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
    // In each program, the thread that makes steps has allocated 4 MiB or nothing. The rest of the
    // charge is credit.
    assert!(used <= 8 * mib && charged <= used + 16 * mib + 8 * mib, "{used} {charged}");
    assert!(charged > used, "{used} {charged}");
    for _ in 0..5 {
        // The quota is 2048 MiB, of which the steps of both programs use at most 8 MiB. The
        // allocation succeeds only if vcudad takes back the credit.
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

/// Makes a program allocate and free 64 MiB until its worker keeps that memory. The memory is then
/// charged to the VM, but no program uses it.
fn keep_64(host: &Host, program: &mut Program) {
    let keeps = || {
        program.ask(64);
        program.until(host, "got 64");
        let (used, charged) = accounts(host, A);
        charged - used >= 64 * MIB
    };
    assert!(eventually(NEVER, keeps), "{}", host.log());
}

/// An allocation of 64 MiB normally needs vcudad, but not if the worker has kept the memory. It
/// doesn't need a call of the driver either, which a test of the worker checks
/// (`calls/tests/kept.rs`).
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
    // The charge consists of the kept memory and of each program's credit, which is at most 8 MiB.
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
        // While memory is short, workers don't keep memory, so this waits until the shortage is
        // over.
        keep_64(&host, &mut first);
        keep_64(&host, &mut third);
        second.ask(2048);
        second.until(&host, "got 2048");
        second.ask(2049);
        second.until(&host, "refused 2049");
        assert!(eventually(NEVER, || accounts(&host, A).1 < 64 * MIB), "{}", host.log());
    }
    // A program can also allocate the memory that its own worker keeps.
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
    // Call cuMemGetInfo while waiting, so that the program isn't idle: the memory must be freed for
    // another reason.
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
