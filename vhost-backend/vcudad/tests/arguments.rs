//! Tests that an invalid file or argument causes a one-line error and exit status 2, and that no
//! files are left behind.

use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

use host_ipc::process::is_root;
use host_test_support::Folder;
use host_test_support::refusal::check;

const BROKER: &str = env!("CARGO_BIN_EXE_vcudad");

#[test]
fn bad_files_of_the_broker_are_refused() {
    let folder = Folder::new("files");
    let file = folder.join("vcudad.toml");
    let name = file.display().to_string();
    let socket = folder.join("socket").display().to_string();
    let vm = format!("[[vm]]\nname = \"a\"\nsocket = \"{socket}\"\nmemory.max = \"1G\"\n");
    for (text, says) in [
        (format!("{vm}colour = 1\n"), "colour"),
        (format!("warm = 1\n{vm}"), "warm"),
        (vm.replace("1G", "1Q"), "1Q"),
        ("state_dir = \"\"\ncontrol_socket = \"\"\n".into(), "no [[vm]]"),
        (format!("{vm}compute.weight = 0\n"), "compute.weight: 0"),
        (format!("driver_library = \"/none\"\n{vm}"), "missing"),
    ] {
        std::fs::write(&file, text).unwrap();
        // Don't use the default directories, because another vcudad on this machine may be using
        // them.
        let (state, control) = (folder.join("state"), folder.join("control"));
        let mut arguments = vec!["--config", &name];
        if says != "no [[vm]]" {
            arguments.extend(["--state-dir", state.to_str().unwrap()]);
            arguments.extend(["--control-socket", control.to_str().unwrap()]);
        }
        check(BROKER, &arguments, says);
        assert!(!std::path::Path::new(&socket).exists());
    }
    check(BROKER, &["--config", "/none"], "/none");
    // Turn off the state directory and the control socket with arguments, so that the missing VMs
    // are the only error.
    std::fs::write(&file, "").unwrap();
    let nowhere = ["--config", &name, "--state-dir", "", "--control-socket", ""];
    check(BROKER, &nowhere, "no [[vm]]");
}

/// The broker has no privileges when it asks its successor, so the successor has none, either.
#[test]
fn a_successor_has_the_defaults_of_the_user_who_started_the_broker() {
    if !is_root() {
        return eprintln!("skipped: not root");
    }
    let folder = Folder::new("successor");
    let (program, config) = (folder.join("vcudad"), folder.join("vcudad.toml"));
    std::fs::copy(BROKER, &program).unwrap();
    // By default, a broker that root starts has a control socket, and other brokers have none.
    std::fs::write(&config, "").unwrap();
    for path in [&*folder, &program, &config] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let answer = |more: &[&str]| {
        let mut command = Command::new(&program);
        command.args(["--accepts-handover", "3"]).args(more).arg("--config").arg(&config);
        command.uid(65534).gid(65534);
        loop {
            match command.output() {
                // Try again while the program's file is open for writing: a process that another
                // test has just started may have inherited the descriptor through which the program
                // was copied.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                output => break output.unwrap(),
            }
        }
    };
    let refused = answer(&[]);
    let says = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && says.contains("no [[vm]]"), "{refused:?}");
    let accepted = answer(&["--as-root"]);
    assert!(accepted.status.success(), "{accepted:?}");
}

#[test]
fn a_wrong_log_filter_is_refused() {
    let arguments = ["--config", "/none", "--log-level", "inof"];
    check(BROKER, &arguments, "'inof' is not a level");
    check(BROKER, &["--config", "/none", "--log-format", "xml"], "--log-format");
    let run = |level: &[&str]| {
        let mut command = Command::new(BROKER);
        let command =
            command.args(["--config", "/none"]).args(level).env("RUST_LOG", "vcudad=loud");
        let output = command.output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, text) = run(&[]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.starts_with("vcudad: RUST_LOG: 'vcudad=loud' is not a log filter"), "{text}");
    // With a bad RUST_LOG, a successor wouldn't start, so it must not say that it can take over.
    let (code, text) = run(&["--accepts-handover", "3"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.starts_with("vcudad: RUST_LOG: "), "{text}");
    // The argument overrides RUST_LOG, so the bad filter in RUST_LOG isn't an error.
    let (code, text) = run(&["--log-level", "info"]);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.starts_with("vcudad: cannot read /none"), "{text}");
    // An error at the start is logged in the format that the arguments select.
    let (_, text) = run(&["--log-level", "info", "--log-format", "json"]);
    assert!(text.starts_with('{') && text.contains(r#""level":"ERROR""#), "{text}");
    assert!(text.contains(r#""message":"vcudad: cannot read /none"#), "{text}");
}
