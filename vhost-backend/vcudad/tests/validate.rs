//! Tests that `vcudad --check`, a start, a reload, and the control API agree about a configuration
//! file, and that a broker that is started with a bad file continues with the VMs that its spawner
//! has.

use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};

use common::{Broker, Spawner, TWO};
use host_ipc::process::is_root;
use host_test_support::{Folder, Guest, wait_for};

mod common;

/// The status in a response from the device that reports success.
const OK: u32 = 0;

/// The verdict on a file. `Err` contains the message if the file is refused.
type Verdict = Result<(), String>;

/// A file to check, and the error in it.
struct Row {
    name: &'static str,
    /// Turns a good file into this one.
    edit: Box<dyn Fn(&str) -> String>,
    /// A part of the expected message. `None` if the file is good.
    says: Option<&'static str>,
    start: Start,
    /// The name and the settings of a VM that the control API must refuse, too.
    vm: Option<(&'static str, String)>,
}

/// How a start without VMs to continue with ends.
#[derive(Clone, Copy)]
enum Start {
    Fails,
    /// The start works, but the VM that was added at run time fails.
    WithoutX,
    Works,
}

fn row(name: &'static str, says: &'static str, edit: impl Fn(&str) -> String + 'static) -> Row {
    Row { name, edit: Box::new(edit), says: Some(says), start: Start::Fails, vm: None }
}

/// Returns a row for a good file with another setting for the last VM, b.
fn b(name: &'static str, says: &'static str, more: &'static str) -> Row {
    row(name, says, move |text| format!("{text}{more}\n"))
}

/// Returns a row for a good file with another VM, c. The arguments are the VM's socket and memory,
/// and more settings for the file and for the API.
fn c(
    name: &'static str,
    says: &'static str,
    (socket, gib): (&str, u64),
    (toml, json): (&str, &str),
) -> Row {
    let new = format!(
        "[[vm]]\nname = \"c\"\nsocket = \"DIR/{socket}\"\nmemory.max = \"{gib}G\"\n{toml}\n"
    );
    let json =
        format!("\"socket\": \"DIR/{socket}\", \"memory\": {{\"max\": {}}}{json}", gib << 30);
    Row { vm: Some(("c", json)), ..row(name, says, move |text| format!("{text}{new}")) }
}

fn rows(port: u16) -> Vec<Row> {
    let plain = ("", "");
    let without_x = |row: Row| Row { start: Start::WithoutX, ..row };
    let top = |key: String| move |text: &str| format!("{key}\n{text}");
    let mut rows = vec![
        row("unknown key", "line 1: ", top("warm = 1".into())),
        b("unknown key of a VM", "vm 'b': colour", "colour = 1"),
        c(
            "range",
            "vm 'c': compute.weight: 0",
            ("c", 1),
            ("compute.weight = 0", r#", "compute": {"weight": 0}"#),
        ),
        c(
            "group",
            "vm 'c': socket_group: group 'nobody-here'",
            ("c", 1),
            ("socket_group = \"nobody-here\"", r#", "socket_group": "nobody-here""#),
        ),
        c(
            "GPU",
            "vm 'c': gpus: there is no GPU 7",
            ("c", 1),
            ("gpus = [\"7\"]", r#", "gpus": ["7"]"#),
        ),
        b("GPU of a running VM", "vm 'b': gpus: there is no GPU 7", "gpus = [\"7\"]"),
        c(
            "sharing",
            "vm 'c': sharing: softgpu",
            ("c", 1),
            ("sharing = \"mps\"", r#", "sharing": "mps""#),
        ),
        b("sharing of a running VM", "vm 'b': sharing: softgpu", "sharing = \"mps\""),
        c("memory", "vm 'c': memory.max: 100G does not fit", ("c", 100), plain),
        row("memory of a running VM", "vm 'a': memory.max: 13G does not fit", |text| {
            text.replacen("\"1G\"", "\"13G\"", 1)
        }),
        row("overcommit", "vm 'b': memory.max: 9G does not fit", |text| {
            text.replace("overcommit = 1.5", "overcommit = 1.0")
        }),
        c("used socket", "the socket is in use by another process", ("used", 1), plain),
        c("folder", "its directory does not exist", ("gone/c", 1), plain),
        row("folder of a running VM", "its directory does not exist", |text| {
            text.replace("DIR/b", "DIR/gone/b")
        }),
        c("file", "exists and is not a socket", ("file", 1), plain),
        row("file of a running VM", "exists and is not a socket", |text| {
            text.replace("DIR/b", "DIR/file")
        }),
        row(
            "control_group",
            "control_group: group 'nobody-here'",
            top("control_group = \"nobody-here\"".into()),
        ),
        row(
            "read_group",
            "read_group: group 'nobody-here'",
            top("read_group = \"nobody-here\"".into()),
        ),
        row("read_socket", "read_socket: ", top("read_socket = \"DIR/file\"".into())),
        row("same sockets", "read_socket: control_socket has the same path", |text| {
            let (_, rest) = text.split_once("control_socket = ").unwrap();
            format!("read_socket = {}\n{text}", rest.lines().next().unwrap())
        }),
        row("driver_library", "driver_library: /none is missing", |text| {
            text.replace("\"softgpu\"", "\"/none\"")
        }),
        row("control_socket", "control_socket: ", |text| text.replace("/control\"", "/file\"")),
        row("relative state_dir", "isn't an absolute path", |text| {
            let (before, after) = text.split_once("state_dir = \"").unwrap();
            format!("{before}state_dir = \"{}", &after[after.find("state\"").unwrap()..])
        }),
        row("state_dir", "is not a directory", |text| text.replace("/state\"", "/file/state\"")),
        row(
            "metrics_address",
            "metrics_address: ",
            top(format!("metrics_address = \"127.0.0.1:{port}\"")),
        ),
        Row {
            vm: Some(("x", r#""socket": "DIR/c", "memory": {"max": 1073741824}"#.into())),
            ..row("name of x", "vm 'x': name: a VM", |text| {
                text.replace("name = \"b\"", "name = \"x\"")
            })
        },
        without_x(c("socket of x", "already uses", ("x", 1), plain)),
        without_x(row("socket of x for a running VM", "already uses", |text| {
            text.replace("DIR/b", "DIR/x")
        })),
        without_x(c(
            "memory of x",
            "does not fit",
            ("c", 7),
            ("gpus = [\"0\"]", r#", "gpus": ["0"]"#),
        )),
        Row {
            says: None,
            start: Start::Works,
            ..row("good", "", |text| text.replacen("\"1G\"", "\"1G\"\nsessions.max = 5", 1))
        },
    ];
    if !has_controllers() {
        let says = "this host cannot enforce it";
        rows.push(c("cgroup", says, ("c", 1), ("pids.max = 100", r#", "pids": {"max": 100}"#)));
        rows.push(b("cgroup of a running VM", says, "memory.host_max = \"2G\""));
    }
    if is_root() {
        let text = top("user = \"nobody-here\"".into());
        rows.push(row("user", "user 'nobody-here' does not exist", text));
    }
    rows
}

/// Returns true if the host supports limits of a VM's memory or processes. Settings with such
/// limits are then not refused.
fn has_controllers() -> bool {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let mounts = read("/proc/self/mountinfo");
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "));
    let mount = mount.and_then(|line| line.split(' ').nth(4)).unwrap_or("/none");
    let list = read(&format!("{mount}/cgroup.controllers"));
    list.contains("memory") || list.contains("pids")
}

/// A host on which VM x was added at run time.
struct Setup {
    folder: Folder,
    good: String,
    /// A socket on which another process listens.
    _used: UnixListener,
}

impl Setup {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        std::fs::write(folder.join("file"), "").unwrap();
        drop(Broker::command(&folder, TWO));
        let header = std::fs::read_to_string(folder.join("vcudad.toml")).unwrap();
        let header = header.split("[[vm]]").next().unwrap();
        let vms = TWO.replace("DIR/b\"\nmemory.max = \"1G\"", "DIR/b\"\nmemory.max = \"9G\"");
        let good = format!("memory.overcommit = 1.5\n{header}{vms}");
        let setup = Self { _used: UnixListener::bind(folder.join("used")).unwrap(), folder, good };
        let broker = setup.start(&setup.good, None);
        assert_eq!(broker.add("x", r#""memory": {"max": 5368709120}, "gpus": ["0"]"#).0, 201);
        broker.end();
        setup
    }

    fn write(&self, text: &str) {
        let text = text.replace("DIR", &self.folder.display().to_string());
        std::fs::write(self.folder.join("vcudad.toml"), text).unwrap();
    }

    fn command(&self, text: &str) -> Command {
        let command = Broker::command(&self.folder, TWO);
        self.write(text);
        command
    }

    /// Starts a broker. If `spawner` is given, the broker connects to the spawner with this name.
    fn start(&self, text: &str, spawner: Option<&str>) -> Broker {
        let mut command = self.command(text);
        if let Some(spawner) = spawner {
            command.arg("--spawner").arg(self.folder.join(spawner));
        }
        Broker::started(&self.folder, command)
    }

    /// Runs a program that must exit. Returns its status and what it printed.
    fn run(mut command: Command) -> (Option<i32>, String) {
        let output = command.stdout(Stdio::piped()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    }

    fn check(&self, text: &str) -> Verdict {
        let mut command = self.command(text);
        command.arg("--check");
        match Self::run(command) {
            (Some(0), _) => Ok(()),
            (_, text) => Err(text),
        }
    }

    /// Returns the verdict of a start without VMs to continue with.
    fn cold_start(&self, text: &str, start: Start) -> Verdict {
        if let Start::Fails = start {
            let (code, text) = Self::run(self.command(text));
            assert_eq!(code, Some(2), "{text}");
            return Err(text);
        }
        let broker = self.start(text, None);
        let x = broker.ask("GET", "/v1/vms/x", "").1;
        broker.end();
        x["failure"].as_str().map_or(Ok(()), |failure| Err(failure.to_owned()))
    }

    /// Makes the broker read another file. Returns its verdict.
    fn reload(&self, broker: &Broker, text: &str) -> Verdict {
        let before = reads(broker);
        self.write(text);
        // SAFETY: the child hasn't been reaped, so its process ID can't have been reused.
        unsafe { libc::kill(broker.child.id() as i32, libc::SIGHUP) };
        wait_for("the configuration", || reads(broker) > before);
        verdict(broker)
    }

    /// Returns the verdict of the control API about one VM.
    fn add(&self, broker: &Broker, name: &str, settings: &str) -> Verdict {
        let settings = settings.replace("DIR", &self.folder.display().to_string());
        let body = format!("{{\"name\": \"{name}\", {settings}}}");
        match broker.ask("POST", "/v1/vms", &body) {
            (201, _) => Ok(()),
            (_, error) => {
                let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
                Err(format!("vm '{name}': {}: {}", text("field"), text("message")))
            }
        }
    }
}

/// Returns how often the broker has read the file again.
fn reads(broker: &Broker) -> usize {
    let log = broker.log();
    let lines = ["applied the configuration file", "the configuration file was not applied"];
    lines.iter().map(|line| log.matches(line).count()).sum()
}

/// Returns the verdict about the file that the broker has read last.
fn verdict(broker: &Broker) -> Verdict {
    let config = broker.ask("GET", "/v1/stats", "").1["config"].clone();
    assert!(config["read_ms"].is_u64(), "{config}");
    config["refused"].as_str().map_or(Ok(()), |reason| Err(reason.to_owned()))
}

/// The verdicts that differ from the expected ones.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn expect(&mut self, row: &Row, path: &str, verdict: &Verdict) {
        let is_right = match (row.says, verdict) {
            (Some(says), Err(text)) => text.contains(says),
            (None, Ok(())) => true,
            _ => false,
        };
        if !is_right {
            self.0.push(format!("{}: {path}: {verdict:?}", row.name));
        }
    }
}

impl Drop for Wrong {
    fn drop(&mut self) {
        assert!(std::thread::panicking() || self.0.is_empty(), "\n{}", self.0.join("\n"));
    }
}

#[test]
fn a_check_without_vcudad_agrees_with_the_start() {
    let setup = Setup::new("validate-start");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut wrong = Wrong::default();
    for row in rows(taken.local_addr().unwrap().port()) {
        let text = (row.edit)(&setup.good);
        wrong.expect(&row, "check", &setup.check(&text));
        wrong.expect(&row, "start", &setup.cold_start(&text, row.start));
    }
}

#[test]
fn a_check_beside_vcudad_agrees_with_a_reload_and_the_api() {
    let setup = Setup::new("validate-reload");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut wrong = Wrong::default();
    let broker = setup.start(&setup.good, None);
    let before = broker.vms();
    for row in rows(taken.local_addr().unwrap().port()) {
        let text = (row.edit)(&setup.good);
        wrong.expect(&row, "check", &setup.check(&text));
        assert_eq!(broker.vms(), before, "{}", row.name);
        if let Some((name, settings)) = &row.vm {
            wrong.expect(&row, "API", &setup.add(&broker, name, settings));
        }
        wrong.expect(&row, "reload", &setup.reload(&broker, &text));
        if row.says.is_some() && broker.vms() != before {
            wrong.0.push(format!("{}: the reload has changed something", row.name));
        }
        assert_eq!(setup.reload(&broker, &setup.good), Ok(()), "{}", row.name);
    }
    broker.end();
}

#[test]
fn a_restart_with_a_bad_file_continues_with_the_last_good_settings() {
    let setup = Setup::new("validate-restart");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut wrong = Wrong::default();
    let spawner = Spawner::start(&setup.folder.join("spawner"));
    let start = |text: &str| setup.start(text, Some("spawner"));
    let mut broker = start(&setup.good);
    // Settings that were reloaded since the start belong to the last good settings, too.
    let good = setup.good.replacen("\"1G\"", "\"1G\"\ncompute.weight = 200", 1);
    assert_eq!(setup.reload(&broker, &good), Ok(()));
    let mut guest = Guest::connect(&setup.folder.join("a"));
    assert_eq!(guest.create(1), OK);
    let state = |broker: &Broker| {
        let pid =
            |vm: &str| broker.ask("GET", &format!("/v1/vms/{vm}"), "").1["device_pid"].clone();
        (broker.vms(), ["a", "b", "x"].map(pid))
    };
    let before = state(&broker);
    for row in rows(taken.local_addr().unwrap().port()) {
        broker.end();
        broker = start(&(row.edit)(&good));
        wait_for("the second look at the file", || reads(&broker) > 0);
        wrong.expect(&row, "restart", &verdict(&broker));
        if row.says.is_some() {
            assert_eq!(state(&broker), before, "{}", row.name);
            assert!(broker.log().contains("ERROR"), "{}", broker.log());
        }
        assert_eq!(setup.reload(&broker, &good), Ok(()), "{}", row.name);
        assert_eq!(state(&broker), before, "{}", row.name);
    }
    assert_eq!((guest.create(2), guest.destroy(1)), (OK, OK));
    // Without VMs to continue with, a bad file is an error.
    broker.end();
    drop(spawner);
    let _spawner = Spawner::start(&setup.folder.join("spawner"));
    let mut command = setup.command(&format!("warm = 1\n{good}"));
    command.arg("--spawner").arg(setup.folder.join("spawner"));
    let (code, text) = Setup::run(command);
    assert!(code == Some(2) && text.contains("line 1: "), "{text}");
}

/// Root can read the file when it starts vcudad, but not vcudad's user when it reads the file
/// again.
#[test]
fn a_file_that_only_root_can_read_is_reported_by_all_paths() {
    if !is_root() {
        return eprintln!("skipped: not root");
    }
    let setup = Setup::new("validate-mode");
    let _spawner = Spawner::start(&setup.folder.join("spawner"));
    let file = setup.folder.join("vcudad.toml");
    let mode = |mode| std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
    mode(0o600);
    let mut wrong = Wrong::default();
    let says = |says| row("0600", says, str::to_owned);
    let check = says("can't read it");
    wrong.expect(&check, "check without vcudad", &setup.check(&setup.good));
    let mut broker = setup.start(&setup.good, Some("spawner"));
    wrong.expect(&check, "start", &verdict(&broker));
    wrong.expect(&check, "check beside vcudad", &setup.check(&setup.good));
    let refused = says("Permission denied");
    wrong.expect(&refused, "reload", &setup.reload(&broker, &setup.good));
    let before = broker.vms();
    broker.end();
    broker = setup.start(&setup.good, Some("spawner"));
    wait_for("the second look at the file", || reads(&broker) > 0);
    wrong.expect(&refused, "restart", &verdict(&broker));
    assert_eq!(broker.vms(), before);
    mode(0o644);
    assert_eq!(setup.reload(&broker, &setup.good), Ok(()));
    broker.end();
}
