//! The phases of a run of the chaos test.

use std::fs::{self, File};
use std::time::{Duration, Instant};

use virtio_cuda_tests::Host;

use crate::api::Client;
use crate::attacker::Attacker;
use crate::options::Options;
use crate::plan::UNHARMED;
use crate::processes::{self, Resources};
use crate::settle::settled;
use crate::summary::Summary;
use crate::world::{World, vms};
use crate::{bystanders, finish, ledger, watch};
use virtio_cuda_tests::random::Random;

/// Number of threads that run programs in unharmed VMs.
const BYSTANDERS: usize = 2;
/// Time between two pauses of the attacks. In each pause, the figures of the ledger must become
/// consistent.
const ROUND: Duration = Duration::from_secs(20);
/// Runs the chaos test. Returns whether there was no violation.
pub fn run(options: &Options) -> bool {
    processes::adopt_orphans();
    fs::create_dir_all(&options.out).expect("cannot create the output directory");
    let journal = File::create(options.out.join("actions.log")).expect("cannot write the journal");
    // A GPU has enough memory for the initial `memory.max` of all VMs, but not for the highest
    // values that the actions set.
    let env = [("SOFTGPU_DEVICES", "2"), ("SOFTGPU_MEMORY", "8G")];
    let host = Host::start_in(&env, &[]);
    let world = World::new(vms(), host.pid(), host.control(), journal);
    println!("chaos: seed {}, {} s, {} VMs", options.seed, options.seconds, world.vms.len());
    let mut attacker = Attacker::new(&world, &host);
    attacker.restore();
    let start = baseline(&world, &host, &mut attacker.client);

    let mut summary = Summary::default();
    std::thread::scope(|scope| {
        let world = &world;
        let host = &host;
        let watcher = scope.spawn(|| watch::watch(world));
        let holders = bystanders::start_holders(world, host, options.seconds);
        let threads: Vec<_> = (0..BYSTANDERS)
            .map(|i| scope.spawn(move || bystanders::run(world, host, i, BYSTANDERS)))
            .collect();
        let stop = StopOnDrop(world);
        let mut random = Random::new(options.seed);
        let end = Instant::now() + Duration::from_secs(options.seconds);
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !world.is_worth_continuing() {
                break;
            }
            attacker.attack(&mut random, left.min(ROUND));
            agree(world, &mut attacker);
        }
        attacker.programs.kill_all(world);
        summary.holders = bystanders::join_holders(world, holders);
        drop(stop);
        for thread in threads {
            let results = thread.join().expect("a bystander's thread panicked");
            summary.unharmed.passed += results.passed;
            summary.unharmed.failed += results.failed;
            summary.unharmed.longest = summary.unharmed.longest.max(results.longest);
        }
        summary.peaks = watcher.join().expect("the watcher panicked");
    });
    summary.seconds = world.elapsed().as_secs_f64();
    summary.sessions = sessions_total(&mut attacker.client);
    summary.memory = processes::peak_memory(world.broker);
    summary.left = finish::check_running(&world, &mut attacker, &start);
    summary.api = summary.peaks.api.max(attacker.client.worst);
    (summary.counts, summary.programs) = (attacker.counts.clone(), attacker.programs.ends.clone());
    drop(attacker);
    summary.log_lines = host.log().lines().count();
    finish::check_log(&world, summary.log_lines);
    let log = host.log();
    summary.left += &finish::check_stopped(&world, host);

    summary.violations = world.violations();
    let passed = summary.violations == 0;
    print!("{summary}");
    let path = options.out.join("vcudad.log");
    let _ = fs::write(&path, log);
    if !passed {
        println!("chaos: FAIL. Log: {}, actions: actions.log there", path.display());
        println!(
            "chaos: to repeat these actions: tests/chaos.sh --seconds {} --seed {}",
            options.seconds, options.seed
        );
    } else {
        println!("chaos: PASS");
    }
    passed
}

/// Stops the other threads when it's dropped, even if this thread panics.
struct StopOnDrop<'w>(&'w World);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Returns the resources that the broker uses before the attacks, when all VMs exist and there are
/// no sessions.
fn baseline(world: &World, host: &Host, client: &mut Client) -> Resources {
    for vm in &world.vms[..UNHARMED] {
        let output = host.run(*vm, "vectoradd", &[]);
        if !output.status.success() {
            world.violation(&format!("before the attacks: VM {}: {output:?}", vm.name));
        }
    }
    settled(world, "before the attacks", || ledger::check_idle(client));
    finish::wait_for_warm_workers(world, client);
    Resources::of(world.broker)
}

/// Waits until the figures of the ledger are consistent, while programs hold memory.
fn agree(world: &World, attacker: &mut Attacker) {
    attacker.programs.reap(world);
    settled(world, "during a pause", || ledger::check_sums(&mut attacker.client));
}

fn sessions_total(client: &mut Client) -> u64 {
    let text = client.get("/v1/stats").unwrap_or_default();
    text["workers"]["started_total"].as_u64().unwrap_or(0)
}
