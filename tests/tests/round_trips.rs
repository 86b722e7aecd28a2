//! Checks the number of calls for which a program waits for the host. Each of these calls costs
//! tens of microseconds in a VM, so an increase must not go unnoticed.

use virtio_cuda_tests::{A, Host};

/// Programs, each with the number of calls that wait. If a change reduces a number, lower it here.
const WORKLOADS: &[(&str, u64)] = &[
    ("vectoradd", 14),
    ("saxpy", 12),
    ("matmul", 14),
    ("reduction", 14),
    ("scan", 16),
    ("transpose", 12),
    // As with NVIDIA's driver, a copy to the device waits for the kernels before it.
    ("constant", 17),
    ("streams", 35),
    ("events", 26),
    ("graphs", 70),
    ("manykernels", 58),
];

/// The maximum cost of all calls of an entry point in one conformance case.
struct Cost {
    case: &'static str,
    entry_point: &'static str,
    calls: u64,
    /// The maximum number of calls that wait for a reply. `posted` is that of calls that only send
    /// a command.
    waited: u64,
    posted: u64,
    /// The maximum size of all commands and replies together, in bytes.
    bytes: u64,
}

const COSTS: &[Cost] = &[
    // The calls that wait are one for each of four different maps, and 50 that fail, because the
    // guest library doesn't cache errors.
    Cost {
        case: "tensor_map::equal_descriptions_have_equal_maps",
        entry_point: "cuTensorMapEncodeTiled",
        calls: 251,
        waited: 54,
        posted: 0,
        bytes: 12_608,
    },
    // The guest library takes small pieces of page-locked memory from slabs that it has already
    // registered. 34 of the allocations wait for the host because they are too large for a slab.
    // Each other allocation waits only if it needs a new slab, of which each combination of flags
    // has its own.
    Cost {
        case: "host_memory::small_allocations_of_host_memory_are_separate",
        entry_point: "cuMemHostAlloc",
        calls: 300,
        waited: 53,
        posted: 0,
        bytes: 4_240,
    },
    Cost {
        case: "host_memory::small_allocations_of_host_memory_are_separate",
        entry_point: "cuMemFreeHost",
        calls: 266,
        waited: 9,
        posted: 0,
        bytes: 464,
    },
    // Half of the calls set parameters that the node already has. For these, the guest library
    // sends nothing.
    Cost {
        case: "graph_kernel::many_nodes_are_changed_between_launches",
        entry_point: "cuGraphExecKernelNodeSetParams_v2",
        calls: 200,
        waited: 0,
        posted: 100,
        bytes: 16_000,
    },
];

#[test]
fn entry_points_cost_no_more_than_before() {
    let host = Host::start(&[A]);
    let mut wrong = Vec::new();
    for Cost { case, entry_point, calls, waited, posted, bytes } in COSTS {
        let arguments = ["--run-one", "--legacy", case];
        let mut command = host.command(A, "../../tests/cuda-conformance", &arguments);
        let output = command.env("VIRTIO_CUDA_STATS", "1").output().unwrap();
        let table = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{case}: {output:?}\n{}", host.log());
        let row = table.lines().find_map(|line| line.strip_prefix(&format!("{entry_point} ")));
        let columns: Vec<u64> = row
            .into_iter()
            .flat_map(str::split_whitespace)
            .filter_map(|column| column.parse().ok())
            .collect();
        // Parse only the columns with numbers of calls and of bytes, because the columns with times
        // aren't integers.
        let [has_waited, has_posted, local, has_bytes] = columns[..] else {
            panic!("{case}: no row for {entry_point} in\n{table}")
        };
        if has_waited + has_posted + local != *calls
            || has_waited > *waited
            || has_posted > *posted
            || has_bytes > *bytes
        {
            wrong.push(format!(
                "{case}: {calls} calls, expected at most {waited} that wait, {posted} that post, and \
                 {bytes} bytes:\n{table}"
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
        // The last row contains the numbers of waited, posted, and local calls, each followed by
        // their time.
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
