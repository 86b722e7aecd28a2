//! Tests for configuration files and the errors that they cause.

use control_api::{Class, GpuRequest, Percent, Sharing, Timespan};

use super::host::Config;
use super::library::DriverLibrary;
use super::policy::OnExcess;
use super::users::choose_uids;
use super::vm::ALLOWED_ENV;
use super::vm_set::check_vms;
use host_ipc::spawner::{MAX_VMS, VM_UIDS};

const GOOD: &str = r#"
driver_library = "softgpu"
warm_workers = 3

[defaults]
memory.max = "4G"
sessions.max = 8
cpu.max = "200000 100000"

[[vm]]
name = "alpha"

[[vm]]
name = "beta"
socket = "/run/vms/beta"
memory.max = "512M"
memory.host_max = "2G"
uid = 4711
pids.max = 100
env.allow = ["CUDA_LAUNCH_BLOCKING"]
"#;

#[test]
fn defaults_apply_unless_a_vm_overrides_them() {
    let config = Config::parse(GOOD).unwrap();
    assert_eq!(config.driver_library, DriverLibrary::Softgpu);
    assert_eq!(config.warm_workers, 3);
    assert_eq!(config.policy.on_memory_excess, OnExcess::End);
    let mut vms = check_vms(&config.vms).unwrap();
    choose_uids(&mut vms, []).unwrap();
    let [alpha, beta] = vms.as_slice() else { panic!("two VMs") };
    let sockets = [alpha, beta].map(|vm| vm.socket.to_str().unwrap());
    assert_eq!(sockets, ["/run/virtio-cuda/alpha.sock", "/run/vms/beta"]);
    assert_eq!((alpha.spec.memory.max, beta.spec.memory.max), (4 << 30, 512 << 20));
    assert_eq!((alpha.limits.max_sessions, beta.limits.max_sessions), (8, 8));
    assert_eq!((alpha.uid, beta.uid), (Some(*VM_UIDS.start()), Some(4711)));
    assert_eq!(beta.spec.cpu.max.as_deref(), Some("200000 100000"));
    assert_eq!((beta.spec.pids.max, beta.spec.memory.host_max), (Some(100), Some(2 << 30)));
    assert_eq!(alpha.env_allow, ALLOWED_ENV);
    assert_eq!(beta.env_allow, ["CUDA_LAUNCH_BLOCKING"]);
}

/// If a VM's socket belonged to a group with which another VM's processes run, these processes
/// could connect to it.
#[test]
fn no_socket_has_a_group_with_which_a_vms_processes_run() {
    let config = |a: &str, b: &str| {
        let vm = |name: &str, more: &str| {
            format!(
                "[[vm]]\nname = \"{name}\"\nsocket = \"/run/{name}\"\nmemory.max = \"1G\"\n{more}\n"
            )
        };
        Config::parse(&format!("{}{}", vm("a", a), vm("b", b)))
    };
    let (user, group) = ("uid = 61001", "socket_group = \"61001\"");
    let own = format!("{user}\n{group}");
    for (a, b) in [(user, group), (group, user), (own.as_str(), "")] {
        let error = config(a, b).unwrap_err().to_string();
        assert!(error.contains("socket_group: processes of VMs run with group 61001"), "{error}");
    }
    assert!(config(group, group).is_ok());
}

/// systemd assigns user IDs in its ranges to services and containers. A service with the same ID as
/// a VM would share the VM's files, and could be sent the VM's signals.
#[test]
fn chosen_user_ids_are_in_no_range_that_others_use() {
    let mut vms = check_vms(&Config::parse(GOOD).unwrap().vms).unwrap();
    choose_uids(&mut vms, []).unwrap();
    let uid = vms[0].uid.unwrap();
    let used = [
        ("accounts of the host", 0..=60_577),
        ("systemd's dynamic users", 61_184..=65_519),
        ("subordinate IDs of users", 100_000..=600_100_000),
        ("systemd's containers", 524_288..=1_879_048_191),
        ("SSSD's ID mapping", 200_000..=2_000_200_000),
        ("systemd's foreign IDs", 2_147_352_576..=2_147_418_111),
        ("negative numbers", 1 << 31..=u32::MAX),
    ];
    for (whose, range) in used {
        assert!(!range.contains(&uid), "{uid}: {whose}");
    }
}

#[test]
fn errors_name_the_key_on_one_line() {
    let vm = "[[vm]]\nname = \"a\"\nsocket = \"/run/a\"\nmemory.max = \"1G\"\n";
    let cases = [
        (format!("{vm}colour = 1"), "colour"),
        (format!("{vm}memory.min = 1"), "min"),
        (format!("warm_worker = 1\n{vm}"), "warm_worker"),
        (format!("[defaults]\nname = \"x\"\n{vm}"), "name"),
        (format!("{vm}sessions.max = 0"), "sessions.max"),
        (format!("{vm}cpu.max = \"lots\""), "cpu.max"),
        (format!("{vm}uid = 0"), "root"),
        (format!("{vm}uid = 4294967295"), "uid: 4294967295 is out of range"),
        (format!("{vm}socket_group = \"4294967295\""), "socket_group: group '4294967295' does not"),
        (format!("{vm}socket_group = \"nobody-here\""), "group 'nobody-here' does not exist"),
        (format!("{vm}socket_group = \"2113929217\""), "socket_group: processes of VMs run with"),
        (format!("socket_folders = [\"here\"]\n{vm}"), "'here' is not an absolute path"),
        (format!("{vm}socket_mode = \"99\""), "socket_mode"),
        (vm.replace("/run/a", ""), "socket"),
        (format!("{vm}{vm}"), "a VM named 'a' already exists"),
        (vm.replace("1G", "1Q"), "1Q"),
        (vm.replace("memory.max = \"1G\"", ""), "memory.max: is missing"),
        (vm.replace("name = \"a\"", "name = \"../a\""), "name"),
        (vm.replace("name = \"a\"\n", ""), "name"),
        (format!("driver_library = \"\"\n{vm}"), "auto, softgpu"),
        (
            format!("driver_library = \"nvidia\"\n{vm}"),
            "\"nvidia\" is neither auto (NVIDIA's library",
        ),
        (format!("{vm}colour = 1"), "expected one of `name`, `socket`, `memory`"),
        (format!("{vm}compute.wieght = 1"), "did you mean `weight`?"),
        (format!("{vm}sessoins.max = 1"), "did you mean `sessions`?"),
        (format!("warm_worker = 1\n{vm}"), "did you mean `warm_workers`?"),
        (format!("[defaults]\nsocket = \"x\"\n{vm}"), "expected one of `memory`"),
        (
            format!("{vm}compute.weight = 0"),
            "compute.weight: 0 is out of range: it must be from 1 to",
        ),
        (format!("{vm}compute.weight = 10001"), "compute.weight: 10001"),
        (format!("{vm}compute.weight = -3"), "it must be a whole number from 1 to 10000"),
        (format!("[defaults]\ncompute.weight = -3\n{vm}"), "line 2: defaults.compute.weight: "),
        (format!("[defaults]\ncompute.weight = -3\n{vm}"), "from 1 to 10000"),
        (format!("{vm}compute.max = 50"), "compute.max: invalid type"),
        (format!("{vm}compute.max = 50"), "from \"1%\" to \"100%\""),
        (format!("{vm}memory.host_max = -1"), "it must be a size from 1048576"),
        (format!("warm_workers = -1\n{vm}"), "line 1: warm_workers: "),
        (format!("warm_workers = -1\n{vm}"), "from 0 to 256"),
        (format!("memory.slack = -1\n{vm}"), "memory.slack: a size can't be negative"),
        (format!("memory.overcommit = true\n{vm}"), "from 1.0 to 100.0"),
        (format!("{vm}compute = [300]"), "vm 'a': compute: is a list"),
        (format!("compute = [1.5]\n{vm}"), "compute: is a list"),
        (format!("[defaults]\nsessions = [5]\n{vm}"), "defaults.sessions: is a list"),
        (
            format!("{vm}compute.max = \"0.99%\""),
            "compute.max: 0.99% is out of range: it must be from 1%",
        ),
        (format!("{vm}compute.max = \"101%\""), "compute.max: 101%"),
        (format!("{vm}compute.max = 25"), "compute.max"),
        (format!("{vm}compute.min = \"30%\"\ncompute.max = \"25%\""), "compute.min: 30% is above"),
        (format!("{vm}compute.kernel_timeout = \"1us\""), "must be from 1ms to 24h"),
        (format!("{vm}compute.kernel_timeout = 2"), "kernel_timeout"),
        (format!("{vm}class = \"fast\""), "fast"),
        (format!("{vm}class = \"fast\""), "line 5: vm 'a': class: "),
        (format!("\n{vm}compute.weight = 0"), "line 6: vm 'a': compute.weight: 0 is out of range"),
        (format!("[defaults]\ncompute.weight = 0\n{vm}"), "line 2: vm 'a': compute.weight: 0"),
        (format!("{vm}\n{vm}"), "line 7: vm 'a': name: a VM named 'a' already exists"),
        (vm.replace("memory.max = \"1G\"", ""), "line 1: vm 'a': memory.max: is missing"),
        (format!("{vm}[compute]\nmin = 1"), "line 6: compute.min: unknown field"),
        (format!("warm_workers = 300\n{vm}"), "line 1: warm_workers is 300"),
        (format!("{vm}gpus = []"), "gpus: 0 GPUs"),
        (format!("{vm}gpus = [\"all\"]"), "'all' is not a GPU"),
        (format!("{vm}gpus = [1, \"1\"]"), "gpus: 1 is listed twice"),
        (format!("{vm}memory.session_max = 0"), "memory.session_max: 0"),
        (
            vm.replace("\"1G\"", "8"),
            "line 4: vm 'a': memory.max: 8 bytes is too small: device memory is allocated in blocks of 2 MiB",
        ),
        (vm.replace("1G", "2047K"), "memory.max: 2096128 bytes is too small"),
        (
            format!("[defaults]\nmemory.session_max = 8\n{vm}"),
            "vm 'a': memory.session_max: 8 bytes",
        ),
        (format!("{vm}mps.active_thread_percentage = \"20%\""), "sharing"),
        (format!("memory.overcommit = 0.5\n{vm}"), "'0.5' is not a ratio"),
        (format!("memory.on_excess = \"kill\"\n{vm}"), "kill"),
        (format!("compute.on_excess = \"kill\"\n{vm}"), "kill"),
        (format!("scheduler = \"maybe\"\n{vm}"), "maybe"),
        (format!("metrics_address = \"0.0.0.0:9400\"\n{vm}"), "loopback"),
        (format!("metrics_address = \"here\"\n{vm}"), "metrics_address"),
        ("[[vm]\n".into(), "line 1"),
        (vm.replace("[[vm]]", "[vm]"), "`[vm]` must be written `[[vm]]`"),
    ];
    for (text, expected) in cases {
        let error = Config::parse(&text).expect_err(&text).to_string();
        assert!(error.contains(expected), "{expected:?} is not in {error:?}");
        assert!(!error.contains('\n'), "{error:?}");
    }
}

/// The check must not compare each VM with all others, which would take minutes.
#[test]
fn there_is_a_limit_on_the_number_of_vms_and_they_are_checked_quickly() {
    let file = |count: usize| {
        let vms = (0..count).map(|n| format!("[[vm]]\nname = \"v{n}\"\nuid = {}\n", 10_000 + n));
        format!("[defaults]\nmemory.max = \"1G\"\n{}", vms.collect::<String>())
    };
    assert_eq!(Config::parse(&file(MAX_VMS)).unwrap().vms.len(), MAX_VMS);
    let error = Config::parse(&file(MAX_VMS + 1)).unwrap_err().to_string();
    assert!(error.contains("4097 VMs, but vcudad serves at most 4096"), "{error}");
    let twice = format!("{}[[vm]]\nname = \"v\"\nuid = 10007\n", file(MAX_VMS - 1));
    let error = Config::parse(&twice).unwrap_err().to_string();
    assert!(error.contains("vm 'v': uid: VM 'v7' already uses user ID 10007"), "{error}");
}

#[test]
fn two_vms_never_share_a_user() {
    let two = GOOD.replace("name = \"alpha\"", "name = \"alpha\"\nuid = 4711");
    assert!(Config::parse(&two).unwrap_err().to_string().contains("4711"));
}

#[test]
fn quotas_are_read_and_have_defaults() {
    let text = r#"
        memory.overcommit = 1.5
        compute.overcommit = "2.0"
        scheduler = "off"
        [defaults]
        memory.max = "4G"
        compute.weight = 30
        [[vm]]
        name = "a"
        socket = "/run/a"
        gpus = [1, "any", "GPU-01234567-89AB-cdef-0123-456789abcdef"]
        memory.session_max = "1G"
        compute.max = "25%"
        compute.min = "12.5%"
        compute.kernel_timeout = "500ms"
        class = "latency"
        sharing = "mps"
        mps.active_thread_percentage = "40%"
        [[vm]]
        name = "b"
        socket = "/run/b"
    "#;
    let config = Config::parse(text).unwrap();
    assert_eq!(config.policy.memory_overcommit.of(100), 150);
    assert_eq!((config.policy.memory_slack, config.policy.scheduler), (256 << 20, false));
    let (a, b) = (&config.vms[0], &config.vms[1]);
    let uuid = "GPU-01234567-89AB-cdef-0123-456789abcdef".to_owned();
    assert_eq!(a.gpus, [GpuRequest::Index(1), GpuRequest::Any, GpuRequest::Uuid(uuid)]);
    assert_eq!(a.memory.session_max, Some(1 << 30));
    assert_eq!((a.compute.weight, a.class), (30, Class::Latency));
    assert_eq!((a.compute.max.basis_points(), a.compute.min.basis_points()), (2500, 1250));
    assert_eq!(a.compute.kernel_timeout, Some(Timespan::from_nanos(500_000_000)));
    assert_eq!(a.sharing, Sharing::Mps);
    assert_eq!((&b.gpus, b.sharing), (&vec![GpuRequest::Any], Sharing::Exclusive));
    assert_eq!((b.compute.max, b.compute.min), (Percent::ALL, Percent::NONE));
    assert_eq!((b.class, b.compute.kernel_timeout), (Class::Batch, None));
}

#[test]
fn without_vms_a_control_socket_is_required() {
    let none = Config::parse("").unwrap();
    assert!(none.clone().with_places(true).is_ok());
    assert!(none.with_places(false).unwrap_err().to_string().contains("no [[vm]]"));
    let off = Config::parse("control_socket = \"\"\nstate_dir = \"\"").unwrap();
    assert!(off.with_places(true).unwrap_err().to_string().contains("no [[vm]]"));
}

/// Brokers with their own control sockets must not use the same read socket.
#[test]
fn the_read_socket_has_a_default_only_if_the_control_socket_has_one() {
    let read = |text: &str, is_root: bool| {
        let config = Config::parse(text).unwrap().with_places(is_root).unwrap();
        config.read_socket.map(|path| path.display().to_string())
    };
    let vm = "[[vm]]\nname = \"a\"\nmemory.max = \"1G\"\n";
    for (text, is_root, expected) in [
        ("", true, Some("/run/virtio-cuda/read.sock")),
        ("", false, None),
        ("control_socket = \"/run/a\"\n", true, None),
        ("control_socket = \"\"\n", true, None),
        ("read_socket = \"\"\n", true, None),
        ("control_socket = \"/run/a\"\nread_socket = \"/run/b\"\n", true, Some("/run/b")),
        ("read_socket = \"/run/b\"\n", false, Some("/run/b")),
    ] {
        assert_eq!(read(&format!("{text}{vm}"), is_root).as_deref(), expected, "{text} {is_root}");
    }
}
