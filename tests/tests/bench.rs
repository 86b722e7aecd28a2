//! Tests `vcudactl bench`, which measures CUDA calls natively and through a VM. softgpu serves as
//! the native library.

use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use virtio_cuda_tests::{A, Host, Vm, dist, eventually, processes, roomy};

/// A VM whose quota is too small for the measurement that allocates 64 MiB.
const SMALL: Vm = Vm { name: "small", memory_max: "32M", uid: 61_303 };

fn bench(host: &Host, words: &[&str]) -> Output {
    let native = dist().join("bin/softgpu/libcuda.so.1");
    let mut command = host.vcudactl(&[&["bench", "--quick"], words].concat());
    command.arg("--native-library").arg(native).output().unwrap()
}

/// Returns the rows of a run of `vcudactl bench`. The run succeeds even if rows miss their bars.
fn rows(host: &Host, words: &[&str]) -> Vec<Value> {
    let output = bench(host, &[words, &["--json"]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).expect("the report is JSON");
    report["rows"].as_array().unwrap_or_else(|| panic!("{output:?}")).clone()
}

#[test]
fn all_rows_are_measured_on_both_sides() {
    let (a, _) = roomy(A);
    let host = Host::start(&[a]);
    let files = ["bench.json", "bench.md"].map(|name| host.dir().join(name));
    let [json, markdown] = files.each_ref().map(|file| file.to_str().unwrap());
    let all = rows(&host, &["--vm", "a", "--repetitions", "2", "-o", json, "-o", markdown]);
    assert_eq!(all.len(), 79);
    for row in &all {
        assert_eq!(row["error"], Value::Null, "{row}");
        for side in ["native", "device"] {
            let runs = row[format!("{side}_values")].as_array().unwrap();
            assert!(row[side].as_f64().is_some_and(|value| value >= 0.0), "{row}");
            assert_eq!(runs.len(), 2, "{row}");
        }
        assert!(row["ratio"].is_number() || row["native"] == 0.0, "{row}");
        assert_eq!(row["met"].is_boolean(), row["bar"] != "", "{row}");
    }
    let saved: Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(saved["rows"].as_array(), Some(&all));
    // The Markdown table has a header of two lines.
    assert_eq!(std::fs::read_to_string(markdown).unwrap().lines().count(), all.len() + 2);
    // The run's programs were sessions of the VM, and all of them have ended.
    let stats = &host.ask(&["vm", "show", "a"])["stats"];
    assert!(stats["sessions_total"].as_u64().unwrap() >= 10, "{stats}");

    let native = rows(&host, &["--native-only", "--only", "record"]);
    assert!(native.len() == 1 && native[0]["device"].is_null(), "{native:?}");
    let device = rows(&host, &["--vm", "a", "--device-only", "--only", "record", "register"]);
    assert!(device.len() == 2 && device[0]["native"].is_null(), "{device:?}");
    // This row's bar doesn't depend on the native value, so it can be met without one.
    assert_eq!(device[1]["met"], true, "{device:?}");
}

#[test]
fn a_row_that_fails_does_not_end_the_others() {
    let host = Host::start(&[SMALL]);
    let words = ["--vm", "small", "--repetitions", "2", "--only", "alloc", "graph"];
    let all = rows(&host, &words);
    let failed: Vec<_> = all.iter().filter(|row| !row["error"].is_null()).collect();
    assert!(failed.len() == 1 && failed[0]["row"] == "alloc-64M", "{failed:?}");
    let error = failed[0]["error"].as_str().unwrap();
    assert!(
        error.starts_with("device: cuMemAlloc returned CUDA_ERROR_OUT_OF_MEMORY (2)"),
        "{error}"
    );
    assert!(error.contains("the host's setting memory.max"), "{error}");
    assert!(all.iter().filter(|row| row["device"].is_number()).count() == all.len() - 1, "{all:?}");
    let output = bench(&host, &words);
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && err.contains("rows that failed: 1;"), "{err}");

    // Use a native library that can't be loaded, so that none of the native measurements succeeds.
    let words = ["--vm", "small", "--libcuda", "/etc/hostname", "--only", "record", "alloc-4K"];
    let all = rows(&host, &words);
    assert_eq!(all.len(), 2);
    for row in all {
        assert!(row["native"].is_number() && row["device"].is_null(), "{row}");
        assert!(row["error"].as_str().unwrap().starts_with("device: "), "{row}");
    }
}

/// Returns the children of a process.
fn children(of: u32) -> Vec<i32> {
    let says = format!("PPid:\t{of}\n");
    let status = |pid: &i32| std::fs::read_to_string(format!("/proc/{pid}/status"));
    processes().into_iter().filter(|pid| status(pid).is_ok_and(|s| s.contains(&says))).collect()
}

/// Checks that `vcudactl bench` leaves no program behind, even if its programs hang because the
/// device process is stopped.
#[test]
fn no_program_outlives_vcudactl() {
    let (a, _) = roomy(A);
    let host = Host::start(&[a]);
    assert!(eventually(Duration::from_secs(20), || host.device(a).is_some()), "{}", host.log());
    let device = host.device(a).unwrap();
    let stop = |signal| {
        // SAFETY: kill takes no pointers.
        assert_eq!(unsafe { libc::kill(device, signal) }, 0);
    };
    let mut command = host.vcudactl(&["bench", "--vm", "a", "--device-only", "--only", "rate-8"]);
    let mut bench = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut all = Vec::new();
    let started = eventually(Duration::from_secs(60), || {
        all = children(bench.id());
        let more: Vec<i32> = all.iter().flat_map(|pid| children(*pid as u32)).collect();
        let count = more.len();
        all.extend(more);
        count == 8
    });
    stop(libc::SIGSTOP);
    bench.kill().unwrap();
    bench.wait().unwrap();
    let is_running = |pid: &i32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status"));
        status.is_ok_and(|status| !status.contains("\nState:\tZ"))
    };
    let ended = eventually(Duration::from_secs(20), || !all.iter().any(is_running));
    stop(libc::SIGCONT);
    assert!(started, "{all:?}");
    assert!(ended, "{all:?}");
}

#[test]
fn wrong_arguments_are_explained() {
    let host = Host::start(&[A]);
    for (words, code, text) in [
        (&["--vm", "none"][..], 2, "there is no VM named 'none'"),
        (&[], 2, "--vm <NAME>|--socket-path <PATH>|--native-only"),
        (&["--vm", "a", "--only", "syn"], 2, "there is no row 'syn'; the rows are sync-0,"),
        (&["--vm", "a", "-o", "a.txt"], 2, "a.txt: the name must end with .json or .md"),
        (&["--vm", "a", "--libcuda", "/none/lib"], 1, "cannot open /none/lib"),
        (&["--socket-path", "/none/s"], 1, "cannot find /none/s"),
    ] {
        let output = bench(&host, words);
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(code) && err.contains(text), "{words:?}: {err}");
    }
    assert!(host.vcudactl(&["vm", "pause", "a"]).status().unwrap().success());
    let err = String::from_utf8(bench(&host, &["--vm", "a"]).stderr).unwrap();
    assert!(err.contains("is paused by the control API"), "{err}");
}
