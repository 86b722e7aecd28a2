//! What a configuration file may say, and how it is refused.

use super::*;

const GOOD: &str = r#"
driver_library = "softgpu"
warm_workers = 3

[defaults]
memory.max = "4G"
sessions.max = 8
cpu.max = "200000 100000"

[[vm]]
name = "alpha"
socket = "/run/virtio-cuda/alpha.sock"

[[vm]]
name = "beta"
socket = "/run/virtio-cuda/beta.sock"
memory.max = "512M"
memory.host_max = "2G"
uid = 4711
pids.max = 100
env.allow = ["CUDA_LAUNCH_BLOCKING"]
"#;

#[test]
fn defaults_hold_where_a_vm_says_nothing() {
    let config = Config::parse(GOOD).unwrap();
    assert_eq!(config.driver_library, DriverLibrary::Softgpu);
    assert_eq!(config.warm_workers, 3);
    let [alpha, beta] = config.vms.as_slice() else { panic!("two VMs") };
    assert_eq!((alpha.memory_max, beta.memory_max), (4 << 30, 512 << 20));
    assert_eq!((alpha.limits.max_sessions, beta.limits.max_sessions), (8, 8));
    assert_eq!((alpha.uid, alpha.gid), (Some(FIRST_UID), Some(FIRST_UID)));
    assert_eq!((beta.uid, beta.gid), (Some(4711), Some(4711)));
    assert_eq!(beta.cpu_max.as_deref(), Some("200000 100000"));
    assert_eq!((beta.pids_max, beta.host_memory_max), (Some(100), Some(2 << 30)));
    assert_eq!(alpha.env_allow, ALLOWED_ENV);
    assert_eq!(beta.env_allow, ["CUDA_LAUNCH_BLOCKING"]);
}

#[test]
fn mistakes_are_refused_by_name_and_on_one_line() {
    let vm = "[[vm]]\nname = \"a\"\nsocket = \"/run/a\"\nmemory.max = \"1G\"\n";
    let cases = [
        (format!("{vm}colour = 1"), "colour"),
        (format!("{vm}memory.min = 1"), "min"),
        (format!("warm_worker = 1\n{vm}"), "warm_worker"),
        (format!("[defaults]\nname = \"x\"\n{vm}"), "name"),
        (format!("{vm}sessions.max = 0"), "sessions.max"),
        (format!("{vm}cpu.max = \"lots\""), "cpu.max"),
        (format!("{vm}uid = 0"), "root"),
        (format!("{vm}socket_mode = \"99\""), "socket_mode"),
        (format!("{vm}{vm}"), "two VMs"),
        (vm.replace("1G", "1Q"), "1Q"),
        (vm.replace("memory.max = \"1G\"", ""), "memory.max is missing"),
        (vm.replace("name = \"a\"", "name = \"../a\""), "name"),
        (vm.replace("name = \"a\"\n", ""), "name"),
        (format!("driver_library = \"\"\n{vm}"), "auto, softgpu"),
        (String::new(), "no [[vm]]"),
        ("[[vm]\n".into(), "line 1"),
    ];
    for (text, expected) in cases {
        let error = Config::parse(&text).expect_err(&text).to_string();
        assert!(error.contains(expected), "{expected:?} is not in {error:?}");
        assert!(!error.contains('\n'), "{error:?}");
    }
}

#[test]
fn two_vms_never_share_a_user() {
    let two = GOOD.replace("name = \"alpha\"", "name = \"alpha\"\nuid = 4711");
    assert!(Config::parse(&two).unwrap_err().to_string().contains("4711"));
}
