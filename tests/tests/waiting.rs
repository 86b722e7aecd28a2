//! Checks that vcudad reports why each VM waits: in the API, in `vm show` and `top`, and in the
//! metrics.

use std::process::Child;
use std::time::Duration;

use serde_json::{Value, json};
use virtio_cuda_tests::{A, B, Host, Vm, eventually};

/// Time limit for a step in a test, far longer than any step takes.
const NEVER: Duration = Duration::from_secs(60);

const C: Vm = Vm { name: "c", memory_max: "1G", uid: 61_303 };

/// Returns the reason for which a VM waits, as the API reports it.
fn waits_for(host: &Host, vm: Vm) -> Value {
    host.ask(&["vm", "show", vm.name])["stats"]["gpus"][0]["waits_for"].clone()
}

fn print(host: &Host, words: &[&str]) -> String {
    let output = host.vcudactl(words).env("COLUMNS", "200").output().unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}\n{}", host.log());
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the reason for which a VM waits, as the metrics report it. Checks that at most one
/// reason has the value 1.
fn measured(host: &Host, vm: Vm) -> Option<String> {
    let page = host.metrics();
    let start = format!("virtio_cuda_waiting{{vm=\"{}\",gpu=\"0\",reason=\"", vm.name);
    let reasons = page.lines().filter_map(|line| line.strip_prefix(&start)?.split_once("\"} "));
    let (now, others): (Vec<_>, Vec<_>) = reasons.partition(|(_, value)| *value != "0.0");
    assert!(now.len() <= 1 && others.len() >= 6, "{now:?} {others:?}");
    now.first().map(|(reason, value)| {
        assert_eq!(*value, "1.0");
        (*reason).to_owned()
    })
}

/// Waits until the API reports this reason, and then until `vm show`, `top`, and the metrics report
/// it, too. Each of these is polled, because the VM may stop waiting for a moment.
fn shows(host: &Host, vm: Vm, reason: &str, of: Option<Vm>, text: &str) {
    let expected = match of {
        Some(of) => json!({"reason": reason, "vm": of.name}),
        None => json!({"reason": reason}),
    };
    let context = || format!("{}: {reason}\n{}", vm.name, host.log());
    assert!(eventually(NEVER, || waits_for(host, vm) == expected), "{}", context());
    assert!(eventually(NEVER, || measured(host, vm).as_deref() == Some(reason)), "{}", context());
    let is_shown = || {
        let all = print(host, &["vm", "show", vm.name]);
        all.lines()
            .any(|line| line.trim_start().strip_prefix("waits for").map(str::trim) == Some(text))
    };
    assert!(eventually(NEVER, is_shown), "{}", context());
    let is_in_top = || {
        let table = print(host, &["top", "--once", "--interval", "100ms"]);
        let mut rows = table.lines().filter(|line| line.split(' ').next() == Some(vm.name));
        rows.any(|row| row.ends_with(&format!(" {text}")))
    };
    assert!(eventually(NEVER, is_in_top), "{}", context());
}

fn end(mut program: Child) {
    program.kill().unwrap();
    program.wait().unwrap();
}

#[test]
fn a_vm_shows_why_it_waits() {
    // B has 10,000 times the weight of C, so C waits nearly always while B has work.
    let (cap, much, little) =
        ("compute.max = \"10%\"", "compute.weight = 10000", "compute.weight = 1");
    let host = Host::start_with(&[(A, cap), (B, much), (C, little)]);
    assert!([A, B, C].into_iter().all(|vm| waits_for(&host, vm).is_null()), "{}", host.log());
    let (capped, _) = host.spawn(A, "spin", &["loop"]);
    shows(&host, A, "compute_max", None, "compute.max 10%");
    end(capped);

    let (first, _) = host.spawn(B, "spin", &["loop"]);
    let (second, _) = host.spawn(C, "spin", &["loop"]);
    shows(&host, C, "turn", Some(B), "turn of b");

    host.ask(&["vm", "pause", B.name]);
    for _ in 0..3 {
        assert_eq!(waits_for(&host, B), json!({"reason": "paused"}));
        assert_eq!(measured(&host, B).as_deref(), Some("paused"));
    }
    shows(&host, B, "paused", None, "paused");
    // VM C doesn't wait any more, because it has the GPU to itself.
    assert!(eventually(NEVER, || waits_for(&host, C).is_null()), "{}", host.log());
    assert_eq!(measured(&host, A), None);

    host.ask(&["vm", "resume", B.name]);
    shows(&host, C, "turn", Some(B), "turn of b");
    end(first);
    end(second);
    for vm in [A, B, C] {
        assert!(eventually(NEVER, || waits_for(&host, vm).is_null()), "{}", host.log());
    }
}
