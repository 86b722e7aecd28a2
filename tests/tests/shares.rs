//! compute.weight and compute.max, and memory beside others. The bars are wide: softgpu
//! computes on the processor, which the test's programs need, too. tests/gpu/quotas.sh has the
//! narrow ones, on a GPU.

use std::process::{Child, Output, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use virtio_cuda_tests::{A, B, Host, Vm};

/// Operations in a microsecond, much as softgpu does them. The same for all, so that work can be
/// compared: `saturate` would measure it beside the others.
const RATE: &str = "10";
/// From a program's start until its work counts: sessions begin in it.
const LEAD: Duration = Duration::from_secs(4);

/// A time at which loads begin to count together.
fn soon() -> String {
    let at = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + LEAD;
    at.as_nanos().to_string()
}

/// Starts a program that loads the GPU of a VM.
fn load(host: &Host, vm: Vm, program: &str, args: &[&str]) -> Child {
    let mut command = host.command_in("quota", vm, program, args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts one that keeps it saturated for some seconds.
fn saturate(host: &Host, vm: Vm, at: &str, seconds: &str) -> Child {
    let size = ["--blocks", "1", "--threads", "32", "--kernel-us", "200", "--rate", RATE];
    let when = ["--start-at", at, "--seconds", seconds];
    load(host, vm, "saturate", &[&size[..], &when[..]].concat())
}

/// What it printed, once it has ended well.
fn ended(host: &Host, child: Child) -> String {
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let says = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{status}: {says}\n{}", host.log());
    String::from_utf8(stdout).unwrap()
}

/// A number of the line of JSON.
fn number(text: &str, name: &str) -> f64 {
    let at = text.find(&format!("\"{name}\":")).unwrap_or_else(|| panic!("no {name} in {text}"));
    let value = text[at + name.len() + 3..].split([',', '}']).next().unwrap_or_default();
    value.parse().unwrap()
}

/// Work in each 100 ms.
fn bins(text: &str) -> Vec<f64> {
    let list = text.split("\"per_100ms\":[").nth(1).unwrap().split(']').next().unwrap();
    list.split(',').map(|value| value.parse().unwrap()).collect()
}

/// The first one's part of both, in percent.
fn share(a: f64, b: f64) -> f64 {
    assert!(a + b > 0.0, "no work was done");
    100.0 * a / (a + b)
}

#[test]
fn two_vms_that_saturate_share_the_gpu_by_weight() {
    let host = Host::start_with(&[(A, "compute.weight = 30"), (B, "compute.weight = 70")]);
    let at = soon();
    let (a, b) = (saturate(&host, A, &at, "3"), saturate(&host, B, &at, "3"));
    let (a, b) = (ended(&host, a), ended(&host, b));
    let part = share(number(&a, "done"), number(&b, "done"));
    assert!((20.0..40.0).contains(&part), "{part}% of 30%\n{}", host.log());
}

#[test]
fn a_vm_gets_no_more_than_its_cap_though_the_gpu_is_idle() {
    let host = Host::start_with(&[(A, "compute.max = \"25%\""), (B, "")]);
    let free = ended(&host, saturate(&host, B, &soon(), "2"));
    let capped = ended(&host, saturate(&host, A, &soon(), "3"));
    let part = 100.0 * number(&capped, "per_second") / number(&free, "per_second");
    assert!((15.0..35.0).contains(&part), "{part}% of 25%\n{}", host.log());
}

#[test]
fn a_changed_weight_is_followed_while_both_run() {
    let host = Host::start(&[A, B]);
    let at = soon();
    let (a, b) = (saturate(&host, A, &at, "4"), saturate(&host, B, &at, "4"));
    std::thread::sleep(LEAD + Duration::from_millis(1500));
    let set = host.vcudactl(&["vm", "set", A.name, "--compute-weight", "25"]).output().unwrap();
    assert!(set.status.success(), "{set:?}\n{}", host.log());
    let (a, b) = (bins(&ended(&host, a)), bins(&ended(&host, b)));
    let of = |from: usize, to: usize| share(a[from..to].iter().sum(), b[from..to].iter().sum());
    let (before, after) = (of(0, 14), of(25, 40));
    assert!((38.0..62.0).contains(&before), "{before}% of 50% before\n{}", host.log());
    assert!((10.0..32.0).contains(&after), "{after}% of 20% after\n{}", host.log());
}

#[test]
fn copies_go_on_while_another_vm_has_the_gpu() {
    let host = Host::start(&[A, B]);
    let at = soon();
    let kernels = saturate(&host, A, &at, "3");
    let how = ["--mode", "copies", "--blocks", "1", "--rate", RATE];
    let copies =
        load(&host, B, "saturate", &[&how[..], &["--start-at", &at, "--seconds", "3"]].concat());
    for output in [ended(&host, kernels), ended(&host, copies)] {
        assert!(number(&output, "done") > 0.0, "{output}");
    }
    let stats = host.ask(&["vm", "show", B.name])["stats"]["gpus"][0].clone();
    let of = |name: &str| stats[name].as_u64().unwrap() as f64 / 1e9;
    // Some come into windows that are open when nobody else has work.
    assert!(of("copied_ns") > 0.5 && of("gpu_ns") >= of("copied_ns"), "{stats}\n{}", host.log());
}

#[test]
fn random_allocations_in_two_vms_leak_nothing() {
    let host = Host::start(&[A, B]);
    let before = (host.memory(A), host.memory(B));
    let churn = |vm: Vm, seed: &str| {
        load(&host, vm, "churn", &["--sequences", "3000", "--max", "512", "--seed", seed])
    };
    let (a, b) = (churn(A, "1"), churn(B, "2"));
    for output in [ended(&host, a), ended(&host, b)] {
        assert!(number(&output, "granted") > 0.0, "{output}");
    }
    assert_eq!((host.memory(A), host.memory(B)), before, "{}", host.log());
}
