//! Checks that the usage of VMs is kept across restarts of vcudad, and that it never decreases.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::Value;
use virtio_cuda_tests::{A, B, Host, Vm, eventually};

const NEVER: Duration = Duration::from_secs(60);

/// The metrics that vcudad saves across restarts.
const COUNTERS: [&str; 4] = [
    "gpu_time_seconds_total{",
    "throttled_seconds_total{",
    "windows_total{",
    "memory_byte_seconds_total{",
];

/// Sends an HTTP request, and returns the response. Returns `None` if vcudad isn't running.
fn send(host: &Host, request: &str) -> Option<String> {
    let mut stream = UnixStream::connect(host.control()).ok()?;
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// Returns the value of a metric. If `vm` isn't empty, it's the value for that VM.
fn metric(host: &Host, name: &str, vm: &str) -> Option<f64> {
    let mut page = None;
    eventually(NEVER, || {
        page = send(host, "GET /metrics HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        page.as_ref().is_some_and(|page| page.starts_with("HTTP/1.1 200 "))
    });
    let page = page.unwrap_or_else(|| panic!("no metrics:\n{}", host.log()));
    let of = |line: &&str| {
        line.starts_with(&format!("virtio_cuda_{name}"))
            && (vm.is_empty() || line.contains(&format!("vm=\"{vm}\"")))
    };
    page.lines().find(of)?.rsplit(' ').next()?.parse().ok()
}

fn counters(host: &Host, vm: Vm) -> [f64; 4] {
    COUNTERS.map(|name| metric(host, name, vm.name).unwrap_or_default())
}

/// Waits until each of a VM's counters is higher than the given value, and returns the counters.
fn grown(host: &Host, vm: Vm, than: [f64; 4]) -> [f64; 4] {
    let is_higher = |now: [f64; 4]| now.iter().zip(&than).all(|(now, than)| now > than);
    let mut now = than;
    let is_met = eventually(NEVER, || {
        now = counters(host, vm);
        is_higher(now)
    });
    assert!(is_met, "{now:?} after {than:?}\n{}", host.log());
    now
}

fn check_not_lower(host: &Host, vm: Vm, than: [f64; 4], when: &str) -> [f64; 4] {
    let now = counters(host, vm);
    let is_lower = now.iter().zip(&than).any(|(now, than)| now < than);
    assert!(!is_lower, "{when}: {now:?} after {than:?}\n{}", host.log());
    now
}

/// Starts programs in two VMs. They use the GPU alternately until they are killed.
fn work(host: &Host) -> [Child; 2] {
    [A, B].map(|vm| host.spawn(vm, "spin", &["hold=64", "loop", "input"]).0)
}

fn end(programs: [Child; 2]) {
    for mut program in programs {
        program.kill().unwrap();
        program.wait().unwrap();
    }
}

/// Returns the month, the VM, and the GPU time in nanoseconds of each row of the usage report.
fn rows(host: &Host, since: &str) -> Vec<(String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let row =
        |row: &Value| (text(&row["month"]), text(&row["vm"]), row["gpu_ns"].as_u64().unwrap());
    let usage = host.ask(&["usage", "--since", since]);
    usage["rows"].as_array().unwrap().iter().map(row).collect()
}

fn used(host: &Host, vm: &str) -> u64 {
    let of_vm = rows(host, "1970-01").into_iter().filter(|(_, name, _)| name == vm);
    of_vm.map(|(.., gpu_ns)| gpu_ns).sum()
}

fn saving(host: &Host) -> Value {
    host.ask(&["usage"])["saving"].clone()
}

fn file(host: &Host) -> PathBuf {
    host.dir().join("state/usage.json")
}

#[test]
fn counters_continue_after_a_restart_and_a_crash() {
    let mut host = Host::start(&[A, B]);
    let mut last = [0.0; 4];
    for is_killed in [false, true, true, false] {
        let first = check_not_lower(&host, A, last, "after a start");
        let programs = work(&host);
        // vcudad saves usage before it reports it. Therefore, these values must not be lost when
        // vcudad is killed.
        last = grown(&host, A, first);
        if is_killed {
            host.kill_broker(libc::SIGKILL);
        }
        host.restart(&[A, B]);
        end(programs);
    }
    check_not_lower(&host, A, last, "in the end");
    assert!(used(&host, "a") as f64 / 1e9 >= last[0] - 0.001);
    assert!(host.end().success());
}

#[test]
fn counters_continue_when_another_vcudad_takes_over() {
    let mut host = Host::start_beside_spawner(&[A, B], 60);
    let programs = work(&host);
    let mut last = grown(&host, A, [0.0; 4]);
    for signal in [libc::SIGUSR2, libc::SIGTERM, libc::SIGKILL, libc::SIGUSR2] {
        let count = || host.log().matches("vcudad took over").count();
        let before = count();
        if signal == libc::SIGUSR2 {
            // SAFETY: kill takes no pointers. The broker hasn't been reaped, so its pid is valid.
            unsafe { libc::kill(host.pid() as i32, signal) };
            assert!(eventually(NEVER, || count() > before), "{}", host.log());
        } else {
            host.kill_broker(signal);
            host.start_broker();
        }
        let first = check_not_lower(&host, A, last, &format!("after signal {signal}"));
        last = grown(&host, A, first);
    }
    end(programs);
    assert!(host.end().success());
}

#[test]
fn removed_and_renamed_vms_keep_their_usage() {
    let mut host = Host::start(&[A, B]);
    let programs = work(&host);
    let before = grown(&host, A, [0.0; 4]);
    assert!(host.vcudactl(&["vm", "rm", "--force", "a"]).status().unwrap().success());
    assert_eq!(metric(&host, COUNTERS[0], "a"), None);
    let of_a = used(&host, "a");
    assert!(of_a as f64 / 1e9 >= before[0] - 0.001, "{of_a} after {before:?}");
    end(programs);
    let add = |name: &'static str| {
        let socket = host.dir().join(name);
        let body = format!(
            r#"{{"name": "{name}", "socket": "{}", "memory": {{"max": 2147483648}}}}"#,
            socket.display()
        );
        let length = body.len();
        let head = "host: x\r\nconnection: close\r\ncontent-type: application/json";
        let request = format!("POST /v1/vms HTTP/1.1\r\n{head}\r\ncontent-length: {length}");
        let answer = send(&host, &format!("{request}\r\n\r\n{body}")).unwrap();
        assert!(answer.starts_with("HTTP/1.1 201 "), "{answer}");
        Vm { name, ..A }
    };
    // The usage of a VM with a new name begins at zero.
    let c = add("c");
    assert_eq!(counters(&host, c), [0.0; 4]);
    assert!(host.run(c, "vectoradd", &[]).status.success(), "{}", host.log());
    assert!(eventually(NEVER, || used(&host, "c") > 0), "{}", host.log());
    assert_eq!(used(&host, "a"), of_a);
    assert!(host.vcudactl(&["vm", "rm", "--force", "c"]).status().unwrap().success());
    // A VM that is added again under its earlier name continues with the earlier usage.
    add("a");
    check_not_lower(&host, A, before, "after the VM was added again");
    let of_c = used(&host, "c");
    host.restart(&[A, B]);
    assert_eq!((used(&host, "a"), used(&host, "c")), (of_a, of_c));
    let csv = host.vcudactl(&["usage", "--format", "csv"]).output().unwrap();
    let csv = String::from_utf8(csv.stdout).unwrap();
    assert!(csv.starts_with("month,vm,gpu,gpu_seconds,") && csv.contains(",c,GPU-"), "{csv}");
    assert!(host.end().success());
}

#[test]
fn usage_goes_to_the_month_in_which_it_was() {
    let mut host = Host::start(&[A, B]);
    end(work(&host));
    assert!(eventually(NEVER, || used(&host, "a") > 0));
    let (this_month, ..) = rows(&host, "1970-01").remove(0);
    host.end();
    // Change the month in the saved file, as if A had used the GPU in an earlier month.
    let text = std::fs::read_to_string(file(&host)).unwrap();
    std::fs::write(file(&host), text.replace(&this_month, "2020-02")).unwrap();
    host.restart(&[A, B]);
    let before = used(&host, "a");
    end(work(&host));
    assert!(eventually(NEVER, || used(&host, "a") > before));
    let months = |since| {
        let of_a = rows(&host, since).into_iter().filter(|(_, vm, _)| vm == "a");
        of_a.map(|(month, ..)| month).collect::<Vec<_>>()
    };
    assert_eq!(months("1970-01"), ["2020-02", &this_month]);
    assert_eq!(months("2020-02-29"), ["2020-02", &this_month]);
    assert_eq!(months("2020-03"), [this_month]);
    let (code, error) = host.refused(&["usage", "--since", "2020-02-30"]);
    assert!(code == Some(2) && error.contains("a month, such as 2026-03"), "{error}");
    assert!(host.end().success());
}

#[test]
fn a_file_that_cannot_be_read_is_set_aside_and_vms_are_served() {
    let mut host = Host::start(&[A, B]);
    for (number, text) in ["{\"version\":1,", "{\"version\":9,\"new\":1}"].into_iter().enumerate() {
        host.end();
        std::fs::write(file(&host), text).unwrap();
        host.restart(&[A, B]);
        let says = "was renamed to usage.json.unreadable-";
        let is_logged = || host.log().matches(says).count() == number + 1;
        assert!(eventually(NEVER, is_logged), "{}", host.log());
        assert_eq!(saving(&host)["set_aside"], 1);
        assert_eq!(metric(&host, "usage_files_set_aside_total", ""), Some(1.0));
        let warning = host.vcudactl(&["usage"]).output().unwrap().stderr;
        let warning = String::from_utf8(warning).unwrap();
        assert!(warning.contains("usage.json.unreadable-*"), "{warning}");
        end(work(&host));
        assert!(eventually(NEVER, || used(&host, "a") > 0));
        let state = std::fs::read_dir(host.dir().join("state")).unwrap();
        let aside = state.map(|entry| entry.unwrap().path());
        let aside = aside.filter(|path| path.to_str().unwrap().contains("unreadable"));
        let texts: Vec<_> = aside.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        assert!(texts.len() == number + 1 && texts.contains(&text.to_owned()), "{texts:?}");
    }
    assert!(host.end().success());
}

#[test]
fn a_full_disk_stops_neither_counting_nor_reports() {
    let mut host = Host::start(&[A, B]);
    let next = host.dir().join("state/usage.json.next");
    let _ = std::fs::remove_file(&next);
    symlink("/dev/full", &next).unwrap();
    let programs = work(&host);
    let first = grown(&host, A, [0.0; 4]);
    let failures = || metric(&host, "usage_save_failures_total", "").unwrap();
    assert!(eventually(NEVER, || failures() > 0.0), "{}", host.log());
    let second = grown(&host, A, first);
    assert!(host.log().contains("cannot save the usage of VMs"), "{}", host.log());
    let warning = host.vcudactl(&["usage"]).output().unwrap().stderr;
    assert!(String::from_utf8(warning).unwrap().contains("could not save usage"));
    // Settings can still be saved, because they are in another file.
    let set = host.vcudactl(&["vm", "set", "a", "--compute-weight", "7"]).status();
    assert!(set.unwrap().success(), "{}", host.log());
    std::fs::remove_file(next).unwrap();
    grown(&host, A, second);
    assert!(eventually(NEVER, || saving(&host)["saved_ms"].is_u64()), "{}", host.log());
    assert!(host.log().contains("the usage of VMs is saved again"), "{}", host.log());
    end(programs);
    assert!(host.end().success());
}

#[test]
fn a_disk_that_hangs_delays_reports_but_does_not_prevent_them() {
    let mut host = Host::start(&[A, B]);
    // Replace the file by a named pipe. vcudad then hangs when it opens the pipe for writing, until
    // somebody opens it for reading.
    let next = host.dir().join("state/usage.json.next");
    let _ = std::fs::remove_file(&next);
    assert!(Command::new("mkfifo").args(["-m", "666"]).arg(&next).status().unwrap().success());
    let programs = work(&host);
    let first = grown(&host, A, [0.0; 4]);
    let second = grown(&host, A, first);
    assert!(used(&host, "a") > 0 && saving(&host)["saved_ms"].is_null());
    // Open the pipe, so that vcudad continues. A pipe can't be synced, so saving the usage fails.
    let pipe = File::options().read(true).write(true).open(&next).unwrap();
    std::fs::remove_file(next).unwrap();
    assert!(eventually(NEVER, || saving(&host)["failures"].as_u64() > Some(0)), "{}", host.log());
    drop(pipe);
    grown(&host, A, second);
    assert!(eventually(NEVER, || saving(&host)["saved_ms"].is_u64()), "{}", host.log());
    end(programs);
    assert!(host.end().success());
}
