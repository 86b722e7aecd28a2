//! The number of calls for which a program waits for the host. Each costs tens of microseconds in a
//! VM, so it must not grow unnoticed.

use virtio_cuda_tests::{A, Host};

/// Programs, with the number of calls that wait. A smaller number is an improvement: lower it here.
const WORKLOADS: &[(&str, u64)] = &[
    ("vectoradd", 14),
    ("saxpy", 12),
    ("matmul", 14),
    ("reduction", 14),
    ("scan", 16),
    ("transpose", 12),
    // A copy to the device waits for the kernels before it, as with NVIDIA's driver.
    ("constant", 17),
    ("streams", 35),
    ("events", 26),
    ("graphs", 70),
    ("manykernels", 58),
];

/// Conformance cases with an entry point, the number of its calls, and the number that wait.
const CASES: &[(&str, &str, u64, u64)] = &[
    // Four maps, 50 errors that aren't remembered.
    ("tensor_map::equal_descriptions_have_equal_maps", "cuTensorMapEncodeTiled", 251, 54),
    // 34 allocations are too long for slabs, of which each combination of flags has some.
    ("host_memory::small_allocations_of_host_memory_are_separate", "cuMemHostAlloc", 300, 53),
    ("host_memory::small_allocations_of_host_memory_are_separate", "cuMemFreeHost", 266, 9),
];

#[test]
fn entry_points_wait_for_the_host_no_more_often_than_before() {
    let host = Host::start(&[A]);
    let mut wrong = Vec::new();
    for (case, entry_point, calls, most) in CASES {
        let arguments = ["--run-one", "--legacy", case];
        let mut command = host.command(A, "../../tests/cuda-conformance", &arguments);
        let output = command.env("VIRTIO_CUDA_STATS", "1").output().unwrap();
        let table = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{case}: {output:?}\n{}", host.log());
        let row = table.lines().find_map(|line| line.strip_prefix(&format!("{entry_point} ")));
        let columns: Vec<f64> =
            row.into_iter().flat_map(str::split_whitespace).flat_map(str::parse).collect();
        let [waited, _, posted, _, local, ..] = columns[..] else {
            panic!("{case}: no row for {entry_point} in\n{table}")
        };
        if (waited + posted + local, waited) != (*calls as f64, waited.min(*most as f64)) {
            wrong.push(format!(
                "{case}: expected {calls} calls, at most {most} that wait:\n{table}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn programs_wait_for_the_host_no_more_often_than_before() {
    let host = Host::start(&[A]);
    let mut wrong = Vec::new();
    for (program, most) in WORKLOADS {
        let output = host.command(A, program, &[]).env("VIRTIO_CUDA_STATS", "1").output().unwrap();
        let table = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{program}: {table}\n{}", host.log());
        // The columns of the last row: waited, posted, and local calls, each with their time.
        let totals = table.lines().find_map(|line| line.strip_prefix("total "));
        let waited =
            totals.and_then(|columns| columns.split_whitespace().next()?.parse::<u64>().ok());
        match waited {
            Some(waited) if waited <= *most => {}
            _ => wrong.push(format!("{program}: expected at most {most} waited calls:\n{table}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
