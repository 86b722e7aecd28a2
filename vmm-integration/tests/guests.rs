//! Tests with real guests, in user-mode Linux and in QEMU without KVM. The scripts in images/
//! provide and cache the kernels and QEMU.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Runs a script in images/ with --print and returns its output, a path.
fn image(script: &str) -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../images").join(script);
    let output = Command::new(&script).arg("--print").stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{} failed", script.display());
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}

fn uml_kernel() -> &'static Path {
    static KERNEL: OnceLock<PathBuf> = OnceLock::new();
    KERNEL.get_or_init(|| image("uml-kernel.sh").join("linux"))
}

fn vcuda_run() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vcuda-run"));
    command.args(["--no-device", "--timeout", "300"]);
    command
}

fn uml() -> Command {
    let mut command = vcuda_run();
    command.args(["--vmm", "uml", "--mem", "256M", "--uml-kernel"]).arg(uml_kernel());
    command
}

fn shell(mut command: Command, script: &str) -> Output {
    command.args(["--", "/bin/sh", "-c", script]).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the number of entries in a directory, such as the temporary directories of runs.
fn left_behind(base: &Path) -> usize {
    std::fs::read_dir(base).unwrap().count()
}

#[test]
fn test_output_and_exit_code_are_passed_through_unchanged() {
    let output = shell(uml(), "echo out; echo err >&2; uname -r; exit 7");
    assert_eq!(output.status.code(), Some(7), "{}", text(&output.stderr));
    let stdout = text(&output.stdout);
    assert!(stdout.starts_with("out\n7."), "{stdout}");
    assert_eq!(stdout.lines().count(), 2);
    assert_eq!(text(&output.stderr), "err\n");
}

#[test]
fn test_a_command_killed_by_a_signal_gives_128_plus_the_signal() {
    assert_eq!(shell(uml(), "kill -9 $$").status.code(), Some(137));
}

#[test]
fn test_large_output_arrives_complete() {
    let output = shell(uml(), "head -c 20000000 /dev/zero | tr '\\0' 'x'; echo end >&2");
    assert_eq!(output.stdout.len(), 20_000_000);
    assert!(output.stdout.iter().all(|byte| *byte == b'x'));
    assert_eq!(text(&output.stderr), "end\n");
}

#[test]
fn test_the_guest_has_its_own_processes_and_devices() {
    let output = shell(
        uml(),
        "echo $$; ls /dev/shm /proc/1/exe; cat /proc/1/comm; grep -c ^processor /proc/cpuinfo; test -c /dev/null && ls -d /sys/class/net/lo",
    );
    let stdout = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(stdout.contains("\n2\n") && stdout.ends_with("/sys/class/net/lo\n"), "{stdout}");
}

#[test]
fn test_environment_working_directory_and_files_are_as_requested() {
    let folder = tempfile::tempdir().unwrap();
    let cwd = folder.path().display().to_string();
    let mut command = uml();
    command.args(["--cwd", &cwd, "--env", "COLOUR=light blue"]);
    let output = shell(
        command,
        "pwd; echo $COLOUR; echo written > file; env | sort | cut -d= -f1 | tr '\\n' ' '",
    );
    let stdout = text(&output.stdout);
    assert!(stdout.starts_with(&format!("{cwd}\nlight blue\n")), "{stdout}");
    assert!(stdout.ends_with("COLOUR HOME LC_ALL PATH PWD "), "{stdout}");
    assert_eq!(std::fs::read_to_string(folder.path().join("file")).unwrap(), "written\n");
}

#[test]
fn test_a_command_that_cannot_run_gives_127_or_126() {
    for (program, code) in [("/no/such/program", 127), ("/etc/hostname", 126)] {
        let output = uml().args(["--", program]).output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert!(text(&output.stderr).contains(program));
    }
    let output = uml().args(["--cwd", "/no/folder", "--", "/bin/true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(text(&output.stderr).contains("/no/folder"));
}

#[test]
fn test_timeout_ends_the_vm() {
    let base = tempfile::tempdir().unwrap();
    let start = Instant::now();
    let mut command = uml();
    command.env("TMPDIR", base.path()).args(["--timeout", "2"]);
    let output = shell(command, "echo before; sleep 1000");
    assert_eq!(output.status.code(), Some(124));
    assert_eq!(text(&output.stdout), "before\n");
    assert!(start.elapsed() < Duration::from_secs(120));
    assert_eq!(left_behind(base.path()), 0);
}

/// Returns the number of processes that belong to a run. Their command lines contain the path of
/// its directory.
fn processes(base: &Path) -> usize {
    let name = base.to_str().unwrap().as_bytes();
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| line.windows(name.len()).any(|part| part == name))
        .count()
}

fn running_vm(base: &Path) -> std::process::Child {
    let child = uml()
        .env("TMPDIR", base)
        .args(["--", "/bin/sh", "-c", "echo up; sleep 1000"])
        .stdout(Stdio::piped())
        .spawn();
    let mut child = child.unwrap();
    let mut line = [0; 3];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
    assert!(processes(base) > 0);
    child
}

fn gone_soon(base: &Path) {
    let start = Instant::now();
    while processes(base) > 0 {
        assert!(start.elapsed() < Duration::from_secs(60), "the VM is still running");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn test_a_signal_ends_the_vm_and_leaves_nothing() {
    let base = tempfile::tempdir().unwrap();
    let mut child = running_vm(base.path());
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    gone_soon(base.path());
    assert_eq!(left_behind(base.path()), 0);
}

#[test]
fn test_killing_vcuda_run_ends_the_vm() {
    let base = tempfile::tempdir().unwrap();
    let mut child = running_vm(base.path());
    child.kill().unwrap();
    child.wait().unwrap();
    gone_soon(base.path());
    // A killed run can't remove its directory; the next run does.
    assert_eq!(left_behind(base.path()), 1);
    let mut command = uml();
    command.env("TMPDIR", base.path());
    assert!(shell(command, "true").status.success());
    assert_eq!(left_behind(base.path()), 0);
}

#[test]
fn test_a_module_that_does_not_load_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let module = folder.path().join("rubbish.ko");
    std::fs::File::create(&module).unwrap().write_all(b"no module").unwrap();
    let output = uml().arg("--module").arg(&module).args(["--", "/bin/true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("rubbish.ko"), "{}", text(&output.stderr));
}

#[test]
fn test_a_file_that_is_not_a_kernel_is_reported() {
    let mut command = vcuda_run();
    command.args(["--vmm", "uml", "--mem", "64M", "--uml-kernel", "/bin/false", "--", "/bin/true"]);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert!(text(&output.stderr).contains("ended before its command did (exit status: 1)"));
}

#[test]
fn test_a_device_that_does_not_start_is_reported() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_vcuda-run"));
    command.args([
        "--vmm",
        "uml",
        "--start-device",
        "--device-program",
        "/bin/false",
        "--uml-kernel",
    ]);
    let output = command.arg(uml_kernel()).args(["--", "/bin/true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(
        text(&output.stderr),
        "vcuda-run: the device did not start: vhost-device-cuda exited early (exit status: 1)\n"
    );
}

#[test]
fn test_wrong_arguments_give_one_line_and_exit_code_2() {
    for arguments in [
        &["--vmm", "xen", "true"][..],
        &["--no-such-option", "true"],
        &["--socket", "/no/such/socket", "true"],
        &["--no-device"],
        &["--no-device", "--mem", "12", "true"],
        &["true"],
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_vcuda-run")).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert_eq!(text(&output.stderr).lines().count(), 1, "{}", text(&output.stderr));
        assert!(output.stdout.is_empty());
    }
}

fn qemu() -> Command {
    let kernel = image("kernel-debs.sh").join("7.2/vmlinuz");
    let mut command = vcuda_run();
    command.args(["--vmm", "qemu", "--accel", "tcg", "--mem", "512M", "--qemu"]);
    command.arg(image("qemu.sh")).arg("--kernel").arg(kernel);
    command
}

#[test]
fn test_qemu_runs_a_command_and_fetches_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input");
    let bytes: Vec<u8> = (0..1_000_000u32).map(|i| (i * 7 + i / 256) as u8).collect();
    std::fs::write(&input, &bytes).unwrap();
    let copy = folder.path().join("copy");
    let mut command = qemu();
    command.arg("--file").arg(format!("{}:/data/input", input.display()));
    command.arg("--file").arg("/bin/cp");
    command.arg("--fetch").arg(format!("/root/copy:{}", copy.display()));
    let script = "echo out; echo err >&2; /bin/cp /data/input copy; exit 9";
    let output = shell(command, script);
    assert_eq!(output.status.code(), Some(9), "{}", text(&output.stderr));
    assert_eq!((text(&output.stdout), text(&output.stderr)), ("out\n".into(), "err\n".into()));
    assert_eq!(std::fs::read(copy).unwrap(), bytes);
}
