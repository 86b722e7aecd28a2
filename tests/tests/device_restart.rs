//! Checks that programs get an error when a worker, a VM's device process, or the spawner ends, or
//! when vcudad isn't restarted in time. New programs must work as soon as the process has been
//! replaced. VM A's guest is user-mode Linux. VM B's programs run without a guest.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use virtio_cuda_tests::{A, B, Host, Vm, dist, eventually, kill_9};

/// Maximum time until programs get an error after the device process has ended. It allows for a
/// busy machine.
const LIMIT: Duration = Duration::from_secs(3);

/// A user-mode Linux guest. Its shell runs the commands of a test, one at a time. The guest's root
/// is the host's file system, so the test passes the commands in files.
struct Guest {
    run: Child,
    folder: PathBuf,
    commands: u32,
}

impl Guest {
    fn start(host: &Host) -> Self {
        let folder = host.dir().join("guest");
        fs::create_dir_all(&folder).unwrap();
        let script = "n=0; while :; do n=$((n + 1)); while [ ! -e $n.run ]; do sleep 0.05; done; \
                      . ./$n.run; done";
        let run = host
            .uml(A)
            .args(["--timeout", "300", "--cwd"])
            .arg(&folder)
            .arg("--log")
            .arg(folder.join("console"))
            .args(["--", "/bin/sh", "-c", script])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { run, folder, commands: 0 }
    }

    fn send(&mut self, command: &str) {
        self.commands += 1;
        let new = self.folder.join("new");
        fs::write(&new, command).unwrap();
        fs::rename(new, self.folder.join(format!("{}.run", self.commands))).unwrap();
    }

    /// Starts a program in the background in the guest. The program's output goes to the file
    /// `NAME`, and its exit status to `NAME.end`.
    fn spawn(&mut self, name: &str, program: &str) {
        let programs = dist().join("programs/static");
        let program = format!("{}/{program}", programs.display());
        self.send(&format!(
            "{{ VIRTIO_CUDA_LOG=error {program} >{name} 2>&1; echo $? >{name}.status; mv {name}.status {name}.end; }} &"
        ));
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).unwrap_or_default()
    }

    fn wait_for_text(&self, name: &str, text: &str) {
        let found = eventually(Duration::from_secs(60), || self.text(name).contains(text));
        assert!(found, "{name}: {}\n{}", self.text(name), self.console());
    }

    /// Waits until a program in the guest has exited. Returns its exit status.
    fn wait(&self, name: &str) -> i32 {
        let end = format!("{name}.end");
        self.wait_for_text(&end, "\n");
        self.text(&end).trim().parse().unwrap()
    }

    /// Waits until a program in the guest has got CUDA_ERROR_DEVICE_UNAVAILABLE from a call.
    fn fails(&self, name: &str) {
        assert_ne!(self.wait(name), 0, "{name}: {}", self.text(name));
        assert!(self.text(name).contains("cudaErrorDevicesUnavailable"), "{}", self.text(name));
    }

    fn passes(&mut self, name: &str, program: &str) {
        self.spawn(name, program);
        assert_eq!(self.wait(name), 0, "{name}: {}\n{}", self.text(name), self.console());
    }

    fn console(&self) -> String {
        self.text("console")
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // Use SIGTERM, so that vcuda-run stops the guest.
        // SAFETY: kill takes no pointers. The child hasn't been reaped, so its pid is valid.
        unsafe { libc::kill(self.run.id() as i32, libc::SIGTERM) };
        let _ = self.run.wait();
    }
}

/// A running program of a VM that has no guest.
struct Program(Child);

impl Program {
    /// Starts `spin loop`, and waits until it runs.
    fn start(host: &Host, vm: Vm) -> Self {
        let mut command = host.command(vm, "spin", &["hold=64", "loop"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "spin: ready\n", "{}", host.log());
        Self(child)
    }

    fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// Waits until the program has ended because a call returned CUDA_ERROR_DEVICE_UNAVAILABLE.
    fn fails(mut self) {
        let ended = eventually(Duration::from_secs(60), || !self.is_running());
        assert!(ended, "the program hangs");
        let output = self.0.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("cudaErrorDevicesUnavailable"), "{output:?}");
    }
}

/// Waits until new programs work in VM A's guest and in VM B, which has no guest.
fn new_programs_work(host: &Host, guest: &mut Guest) {
    let works = eventually(Duration::from_secs(30), || {
        guest.spawn("late", "vectoradd");
        let status = guest.wait("late");
        let _ = fs::remove_file(guest.folder.join("late.end"));
        status == 0
    });
    assert!(works, "{}\n{}", guest.text("late"), guest.console());
    let works = || host.run(B, "vectoradd", &[]).status.success();
    assert!(eventually(Duration::from_secs(30), works), "{}", host.log());
}

#[test]
fn programs_get_an_error_when_the_device_process_ends_and_new_programs_work() {
    let host = Host::start(&[A]);
    let mut guest = Guest::start(&host);
    // Repeat the test, because in the second round, the guest's driver has already replaced a
    // device.
    for round in 1..=2 {
        let [runs, waits, sleeps] =
            ["runs", "waits", "sleeps"].map(|name| format!("{name}{round}"));
        guest.spawn(&runs, "spin loop");
        guest.spawn(&waits, "spin forever");
        guest.spawn(&sleeps, "spin hold=16 idle 4");
        for name in [&runs, &waits, &sleeps] {
            guest.wait_for_text(name, "spin: ready");
        }
        let device = host.device(A).expect("the VM has a device process");
        let start = Instant::now();
        kill_9(device);
        guest.fails(&runs);
        guest.fails(&waits);
        let time = start.elapsed();
        println!("round {round}: the programs got an error after {} ms", time.as_millis());
        assert!(time < LIMIT, "{time:?}");
        guest.passes(&format!("new{round}"), "vectoradd");
        // This program has made no call since the device process was killed, so only its next call
        // fails.
        guest.fails(&sleeps);
        // The new device process must start only after all workers of the earlier sessions have
        // ended, because they could still use the guest's pages.
        let log = host.log();
        let starts: Vec<_> = log.match_indices("device process started").collect();
        let ends: Vec<_> = log.match_indices("workers: session ended").collect();
        assert_eq!(starts.len(), round + 1, "{log}");
        assert_eq!(
            ends.iter().filter(|end| end.0 < starts[round].0).count(),
            4 * round - 1,
            "{log}"
        );
    }
    // The workers of all earlier sessions must have ended.
    let left = eventually(Duration::from_secs(10), || host.workers(A).is_empty());
    assert!(left, "{:?}", host.workers(A));
}

#[test]
fn a_program_that_starts_after_the_device_process_was_replaced_works() {
    let host = Host::start(&[A]);
    let mut guest = Guest::start(&host);
    guest.passes("first", "vectoradd");
    let device = host.device(A).expect("the VM has a device process");
    kill_9(device);
    let restarted =
        eventually(Duration::from_secs(10), || host.device(A).is_some_and(|now| now != device));
    assert!(restarted, "{}", host.log());
    // Start programs at short intervals, because the guest's driver needs some time to notice the
    // new device process and to initialize the device again.
    let names: Vec<_> = (0..16).map(|number| format!("later{number}")).collect();
    for name in &names {
        guest.spawn(name, "vectoradd");
        std::thread::sleep(Duration::from_millis(40));
    }
    for name in &names {
        assert_eq!(guest.wait(name), 0, "{name}: {}\n{}", guest.text(name), guest.console());
    }
}

#[test]
fn programs_get_an_error_while_the_broker_is_gone_and_new_programs_work_when_it_is_back() {
    let mut host = Host::start(&[A]);
    let mut guest = Guest::start(&host);
    guest.spawn("runs", "spin loop");
    guest.spawn("waits", "spin forever");
    guest.wait_for_text("runs", "spin: ready");
    guest.wait_for_text("waits", "spin: ready");
    host.end();
    let start = Instant::now();
    guest.fails("runs");
    guest.fails("waits");
    assert!(start.elapsed() < LIMIT, "{:?}", start.elapsed());
    guest.spawn("early", "vectoradd");
    assert_ne!(guest.wait("early"), 0, "{}", guest.text("early"));
    host.restart(&[A]);
    let works = eventually(Duration::from_secs(30), || {
        guest.spawn("late", "vectoradd");
        let status = guest.wait("late");
        let _ = fs::remove_file(guest.folder.join("late.end"));
        status == 0
    });
    assert!(works, "{}\n{}", guest.text("late"), guest.console());
}

#[test]
fn only_the_sessions_of_a_killed_worker_or_device_process_end() {
    let host = Host::start(&[A, B]);
    let mut guest = Guest::start(&host);
    guest.spawn("victim", "spin loop");
    guest.wait_for_text("victim", "spin: ready");
    let [worker] = host.workers(A)[..] else { panic!("{:?}", host.workers(A)) };
    guest.spawn("neighbor", "spin loop 8");
    guest.wait_for_text("neighbor", "spin: ready");
    let mut other = Program::start(&host, B);
    let start = Instant::now();
    kill_9(worker);
    guest.fails("victim");
    println!("worker killed: its program got an error after {} ms", start.elapsed().as_millis());
    guest.passes("new", "vectoradd");
    assert!(other.is_running(), "{}", host.log());

    let start = Instant::now();
    kill_9(host.device(B).expect("the VM has a device process"));
    other.fails();
    println!("device process killed: without a VM, after {} ms", start.elapsed().as_millis());
    assert_eq!(guest.wait("neighbor"), 0, "{}", guest.text("neighbor"));
    new_programs_work(&host, &mut guest);
}

/// Checks the effects of `kill`, which ends vcudad or the spawner. All programs must get an error,
/// and new programs must work as soon as both processes run again.
fn all_sessions_end(name: &str, kill: impl FnOnce(&mut Host)) {
    let mut host = Host::start_beside_spawner(&[A, B], 2);
    let mut guest = Guest::start(&host);
    guest.spawn("runs", "spin loop");
    guest.spawn("waits", "spin forever");
    guest.wait_for_text("runs", "spin: ready");
    guest.wait_for_text("waits", "spin: ready");
    let other = Program::start(&host, B);
    let start = Instant::now();
    kill(&mut host);
    other.fails();
    println!("{name}: without a VM, after {} ms", start.elapsed().as_millis());
    guest.fails("runs");
    guest.fails("waits");
    println!("{name}: in user-mode Linux, after {} ms", start.elapsed().as_millis());
    host.restart(&[A, B]);
    new_programs_work(&host, &mut guest);
}

#[test]
fn programs_get_an_error_when_vcudad_does_not_return() {
    all_sessions_end("vcudad ended, and 2 s later all sessions", |host| {
        assert!(host.kill_broker(libc::SIGTERM).success());
    });
}

#[test]
fn programs_get_an_error_when_the_spawner_is_killed() {
    all_sessions_end("spawner killed", Host::kill_spawner);
}
