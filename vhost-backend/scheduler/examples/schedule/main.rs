//! Simulates scenarios, prints the results as a table, and draws charts of some scenarios into a
//! directory. Run it with `cargo run --release -p gpu-scheduler --example schedule -- docs/design`.

use std::fs;
use std::path::Path;

use gpu_scheduler::*;

#[path = "../../src/simulator/mod.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod simulator;
#[allow(dead_code, reason = "the other example uses more of it")]
mod svg;

use simulator::{Load, Machine, World};

/// The GPUs, share and program of a VM in a scenario.
type Player = (&'static [u32], Share, Load);

fn weight(weight: u32) -> Share {
    Share { weight, ..Share::default() }
}

fn saturate(kernel: Nanos) -> Load {
    Load::Saturate { kernel }
}

const CHAIN: Load = Load::Chain { kernel: 14 * US, gap: 6 * US };
const REQUESTS: Load = Load::Requests { period: 20 * MS, count: 180, kernel: 10 * US, gap: 4 * US };

fn machine() -> Machine {
    Machine { in_flight: 128, ..Machine::default() }
}

fn world(gpus: u32) -> World {
    World::new(Settings::default(), machine(), gpus, 1)
}

/// The results of a scenario.
struct Results {
    /// For each VM, the percentage of its first GPU's time that it used.
    parts: Vec<f64>,
    /// The sum of `parts` of the VMs whose first GPU is GPU 0.
    total: f64,
    /// The 99th percentile of a VM's response times, if it gets requests.
    late: String,
}

/// Runs a one-second warm-up and ten more seconds, which are measured.
fn measure(mut world: World, players: &[Player]) -> Results {
    let vms: Vec<_> =
        players.iter().map(|(gpus, share, load)| world.add(gpus, *share, *load)).collect();
    world.run(SEC);
    world.latencies.clear();
    let done = |world: &World| -> Vec<f64> {
        let of = |vm, gpu| world.done(vm, gpu) + world.moved(vm, gpu) as f64;
        vms.iter().zip(players).map(|(vm, (gpus, ..))| of(*vm, gpus[0])).collect()
    };
    let before = done(&world);
    world.run(11 * SEC);
    let parts: Vec<f64> =
        done(&world).iter().zip(before).map(|(after, before)| (after - before) / 1e8).collect();
    let on_first = parts.iter().zip(players).filter(|(_, (gpus, ..))| gpus[0] == 0);
    let late = vms
        .iter()
        .find(|vm| world.latencies.contains_key(&vm.0))
        .map(|vm| format!("{:.2} ms", world.percentile(*vm, 0.99) as f64 / 1e6));
    let total = on_first.map(|(part, _)| part).sum();
    Results { parts, total, late: late.unwrap_or_default() }
}

/// Prints a row of the table.
fn row(name: &str, world: World, players: &[Player]) {
    let Results { parts, total, late } = measure(world, players);
    let parts: Vec<_> = parts.iter().map(|part| format!("{part:.2}")).collect();
    println!("| {name} | {} | {total:.2} | {late} |", parts.join(" / "));
}

fn table() {
    let capped = |max| Share { max, ..weight(100) };
    let min = |min, weight| Share { min, weight, ..Share::default() };
    let latency = Share { class: Class::Latency, ..weight(100) };
    let pair = |a: Nanos, b: Nanos| {
        vec![(&[0u32][..], weight(30), saturate(a)), (&[0][..], weight(70), saturate(b))]
    };
    println!("| scenario | each VM, % of its first GPU | GPU 0 total, % | p99 latency |");
    println!("|---|---|---|---|");
    row("30/70, 20 us kernels", world(1), &pair(20 * US, 20 * US));
    row("30/70, 400 us", world(1), &pair(400 * US, 400 * US));
    row("30/70, 20 us against 400 us", world(1), &pair(20 * US, 400 * US));
    row("30/70, 20 us against 5 ms", world(1), &pair(20 * US, 5 * MS));
    let one = [(&[0u32][..], weight(1), saturate(20 * US)), (&[0], weight(99), saturate(20 * US))];
    row("1/99, 20 us", world(1), &one);
    let ten: Vec<Player> = (0..10).map(|_| (&[0u32][..], weight(10), saturate(20 * US))).collect();
    row("ten at 10", world(1), &ten);
    row("cap 25%, alone, 20 us", world(1), &[(&[0], capped(2500), saturate(20 * US))]);
    row("cap 25%, alone, 5 ms", world(1), &[(&[0], capped(2500), saturate(5 * MS))]);
    row("cap 1%, alone, 20 us", world(1), &[(&[0], capped(100), saturate(20 * US))]);
    let mins = [
        (&[0u32][..], min(5000, 1), saturate(20 * US)),
        (&[0], min(3000, 1), saturate(400 * US)),
        (&[0], weight(10_000), saturate(20 * US)),
    ];
    row("min 50% and 30% at weight 1, beside weight 10000", world(1), &mins);
    let chains: [Player; 2] = [(&[0], weight(100), CHAIN), (&[0], weight(100), CHAIN)];
    row("two chains with gaps", world(1), &chains);
    row("the same, the driver's own slicing", world(1).unscheduled(), &chains);
    row(
        "chain beside 100 us kernels",
        world(1),
        &[(&[0], weight(100), CHAIN), (&[0], weight(100), saturate(100 * US))],
    );
    let requests = Load::Eager { count: 180, launch: 8 * US, pause: 80 * US };
    row(
        "requests with pauses of 80 us, beside 100 us kernels",
        world(1),
        &[(&[0], weight(100), requests), (&[0], weight(100), saturate(100 * US))],
    );
    row(
        "30/70, copies of 500 us against 20 us kernels",
        world(1),
        &[
            (&[0], weight(30), Load::Copies { copy: 500 * US }),
            (&[0], weight(70), saturate(20 * US)),
        ],
    );
    row("latency VM alone", world(1), &[(&[0], latency, REQUESTS)]);
    let beside = [(&[0u32][..], weight(100), saturate(MS)), (&[0], latency, REQUESTS)];
    row("batch VM of 1 ms kernels beside the latency VM", world(1), &beside);
    let both: &[u32] = &[0, 1];
    let gangs = [
        (both, weight(30), Load::Collective { kernel: 50 * US }),
        (both, weight(70), Load::Collective { kernel: 50 * US }),
    ];
    row("two VMs with the same two GPUs, 30/70", world(2), &gangs);
    let mixed = [
        (both, weight(100), Load::Collective { kernel: 50 * US }),
        (&[0][..], weight(100), saturate(50 * US)),
        (&[1][..], weight(100), saturate(50 * US)),
    ];
    row("one VM with two GPUs, one on each", world(2), &mixed);
}

/// Prints a table that compares the scheduler with one that only evicts.
fn compare() {
    let latency = Share { class: Class::Latency, ..weight(100) };
    let pair = |kernel| vec![(&[0u32][..], weight(30), kernel), (&[0][..], weight(70), kernel)];
    let equal = |a, b| vec![(&[0u32][..], weight(100), a), (&[0][..], weight(100), b)];
    let beside =
        |kernel| vec![(&[0u32][..], weight(100), saturate(kernel)), (&[0][..], latency, REQUESTS)];
    let ten = |kernel| (0..10).map(|_| (&[0u32][..], weight(10), saturate(kernel))).collect();
    let eager = Load::Eager { count: 180, launch: 8 * US, pause: 80 * US };
    let scenarios: [(&str, Vec<Player>); 10] = [
        ("30/70, 20 us kernels", pair(saturate(20 * US))),
        ("30/70, 400 us", pair(saturate(400 * US))),
        ("30/70, 5 ms", pair(saturate(5 * MS))),
        ("ten at 10, 20 us", ten(20 * US)),
        ("ten at 10, 20 ms", ten(20 * MS)),
        ("two chains with gaps", equal(CHAIN, CHAIN)),
        ("chain beside 100 us kernels", equal(CHAIN, saturate(100 * US))),
        ("requests with pauses of 80 us, beside 100 us kernels", equal(eager, saturate(100 * US))),
        ("1 ms kernels beside a latency VM", beside(MS)),
        ("a kernel that never ends beside a latency VM", beside(3600 * SEC)),
    ];
    println!("\n| scenario | windows and evictions | only evictions | the same, 15 to 20 ms |");
    println!("|---|---|---|---|");
    let with =
        |evict_stops| World::new(Settings::default(), Machine { evict_stops, ..machine() }, 1, 1);
    let designs: [fn(World) -> World; 3] =
        [|world| world, |world| world.evict_only(4 * MS), |world| world.evict_only(15 * MS)];
    for (name, players) in scenarios {
        print!("| {name} |");
        for design in designs {
            let Results { parts, total, late } = measure(design(with(false)), &players);
            let stops = measure(design(with(true)), &players).total;
            match parts[..] {
                [a, b] => print!(" {a:.1} + {b:.1} = {total:.1} ({stops:.1})"),
                _ => {
                    let least = parts.iter().copied().fold(f64::MAX, f64::min);
                    let most = parts.iter().copied().fold(0.0, f64::max);
                    print!(" {least:.1} to {most:.1}, sum {total:.1} ({stops:.1})");
                }
            }
            print!("{} |", if late.is_empty() { late } else { format!(", p99 {late}") });
        }
        println!();
    }
}

/// Simulates an hour in which a thousand VMs use four GPUs.
fn hour() {
    let start = std::time::Instant::now();
    let mut world = world(4);
    for vm in 0..1000u32 {
        let period = 10 * SEC + u64::from(vm) * 29 * MS;
        let load = Load::Requests { period, count: 3, kernel: 300 * US, gap: 50 * US };
        world.add(&[[0], [1], [2], [3]][(vm % 4) as usize], weight(1 + vm % 100), load);
    }
    world.run(3600 * SEC);
    let requests: usize = world.latencies.values().map(Vec::len).sum();
    let events = world.events;
    println!(
        "\n1000 VMs on 4 GPUs, one simulated hour: {requests} requests, {events} events, in {:.1?}",
        start.elapsed()
    );
}

/// Draws the VMs' shares over time. VM B starts at 1 s, and the weights change at 3 s.
fn draw_weights(folder: &Path) -> std::io::Result<()> {
    let mut world = world(1);
    let mut vms = vec![world.add(&[0], weight(30), saturate(20 * US))];
    let mut lines = vec![svg::Line::new("A: weight 30, then 70"), svg::Line::new("B: 70, then 30")];
    for step in 1..=50u64 {
        if step == 11 {
            vms.push(world.add(&[0], weight(70), saturate(400 * US)));
        }
        if step == 31 {
            world.change(vms[0], 0, weight(70));
            world.change(vms[1], 0, weight(30));
        }
        let before: Vec<f64> = vms.iter().map(|vm| world.done(*vm, 0)).collect();
        world.run(step * 100 * MS);
        for (at, before) in before.into_iter().enumerate() {
            lines[at].points.push((step as f64 / 10.0, (world.done(vms[at], 0) - before) / 1e6));
        }
    }
    let title = "30/70, 20 us against 400 us kernels; B comes at 1 s, weights change at 3 s";
    fs::write(folder.join("scheduler-weights.svg"), svg::lines(title, &lines, 5.0))
}

/// Draws the VMs' shares over time. One VM has a cap of 25%, and is alone until a second VM starts
/// at 2 s.
fn draw_cap(folder: &Path) -> std::io::Result<()> {
    let mut world = world(1);
    let mut vms = vec![world.add(&[0], Share { max: 2500, ..weight(100) }, saturate(100 * US))];
    let mut lines = vec![svg::Line::new("A: cap 25%"), svg::Line::new("B: no cap, from 2 s")];
    for step in 1..=50u64 {
        if step == 21 {
            vms.push(world.add(&[0], weight(100), saturate(100 * US)));
        }
        let before: Vec<f64> = vms.iter().map(|vm| world.done(*vm, 0)).collect();
        world.run(step * 100 * MS);
        for (at, before) in before.into_iter().enumerate() {
            lines[at].points.push((step as f64 / 10.0, (world.done(vms[at], 0) - before) / 1e6));
        }
    }
    fs::write(folder.join("scheduler-cap.svg"), svg::lines("A cap of 25%", &lines, 5.0))
}

/// Draws when each VM's gate was open, over 100 ms.
fn draw_spans(
    folder: &Path,
    file: &str,
    title: &str,
    gpus: u32,
    players: &[Player],
) -> std::io::Result<()> {
    let mut world = world(gpus);
    let vms: Vec<_> =
        players.iter().map(|(gpus, share, load)| world.add(gpus, *share, *load)).collect();
    world.run(2 * SEC);
    world.spans = Some(Vec::new());
    world.run(2 * SEC + 200 * MS);
    let mut rows = Vec::new();
    for gpu in 0..gpus {
        for (at, vm) in vms.iter().enumerate() {
            let spans =
                world.spans.iter().flatten().filter(|s| s.vm == *vm && s.gpu == GpuKey(gpu));
            let ms = |time: Nanos| (time as f64 - 2.05e9) / 1e6;
            let bars: Vec<_> = spans
                .map(|span| (ms(span.from).max(0.0), ms(span.to).min(100.0)))
                .filter(|(from, to)| from < to)
                .map(|period| svg::Bar::new(period, svg::colour(at)))
                .collect();
            if players[at].0.contains(&gpu) {
                let name = format!("{} on GPU {gpu}", ["A", "B", "C"][at]);
                rows.push(svg::Row { name, bars, marks: Vec::new() });
            }
        }
    }
    fs::write(folder.join(file), svg::bars(title, &rows, 100.0))
}

fn main() -> std::io::Result<()> {
    let Some(folder) = std::env::args().nth(1) else {
        table();
        compare();
        hour();
        return Ok(());
    };
    let folder = Path::new(&folder);
    table();
    draw_weights(folder)?;
    draw_cap(folder)?;
    let latency = Share { class: Class::Latency, ..weight(100) };
    let beside = [(&[0u32][..], weight(100), saturate(MS)), (&[0], latency, REQUESTS)];
    let title = "A: batch, 1 ms kernels; B: latency, a request each 20 ms";
    draw_spans(folder, "scheduler-latency.svg", title, 1, &beside)?;
    let both: &[u32] = &[0, 1];
    let gang = [
        (both, weight(100), Load::Collective { kernel: 50 * US }),
        (&[0][..], weight(100), saturate(50 * US)),
        (&[1][..], weight(100), saturate(50 * US)),
    ];
    let title = "A: kernels on two GPUs that wait for one another; B and C: one GPU each";
    draw_spans(folder, "scheduler-gang.svg", title, 2, &gang)
}
