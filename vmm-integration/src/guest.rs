//! The guest side: runs as `vcuda-run guest-init JOB`, which is the guest's first process, or as
//! `vcuda-run guest-agent JOB`, which the guest's own init starts.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use crate::error::{EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND};
use crate::frame::{Frame, MAX_PAYLOAD};
use crate::job::Job;

/// How long a driver may take to create the device node.
const DEVICE_WAIT: Duration = Duration::from_secs(10);
/// A device name of NVIDIA's driver, which is made a link to the device. JAX doesn't look for GPUs
/// if this name doesn't exist.
const NVIDIACTL: &str = "/dev/nvidiactl";
/// Maximum time to wait, after the command has exited, for output from children that it left
/// running.
const DRAIN_WAIT: Duration = Duration::from_secs(2);

type Channel = Arc<Mutex<File>>;

/// Runs as the guest's first process: mounts file systems, runs the job, and powers off. Never
/// returns.
pub fn init(job: &Path) -> ! {
    if std::process::id() != 1 {
        eprintln!("vcuda-run: guest-init must be the first process of a guest");
        std::process::exit(2);
    }
    mount_all();
    loopback_up();
    if let Err(why) = read_job(job).and_then(|job| work(&job)) {
        // Write to the console, because the serial line to the host may not be open.
        eprintln!("vcuda-run: {why}");
    }
    // SAFETY: these system calls take no pointers.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
        libc::_exit(1)
    }
}

/// Runs the job in a guest that has its own init. The caller powers off.
pub fn agent(job: &Path) -> i32 {
    match read_job(job).and_then(|job| work(&job)) {
        Ok(()) => 0,
        Err(why) => {
            eprintln!("vcuda-run: {why}");
            1
        }
    }
}

fn read_job(path: &Path) -> Result<Job, String> {
    let text = fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    serde_json::from_slice(&text).map_err(|e| format!("{} is not a valid job: {e}", path.display()))
}

/// Mounts the file systems that programs expect, unless they're already mounted.
fn mount_all() {
    for (kind, target, options) in [
        ("proc", "/proc", ""),
        ("sysfs", "/sys", ""),
        ("devtmpfs", "/dev", "mode=0755"),
        ("devpts", "/dev/pts", "mode=0620,ptmxmode=0666"),
        ("tmpfs", "/dev/shm", "mode=1777"),
    ] {
        // With hostfs, /dev is the host's until devtmpfs is mounted on it. Creating a directory
        // before that would create it on the host. So devtmpfs comes first in this list.
        if target.starts_with("/dev/") {
            let _ = fs::create_dir(target);
        }
        if let Err(error) = mount(kind, target, options)
            && error.raw_os_error() != Some(libc::EBUSY)
        {
            eprintln!("vcuda-run: cannot mount {kind} on {target}: {error}");
        }
    }
    for (link, target) in [
        ("/dev/fd", "/proc/self/fd"),
        ("/dev/stdin", "/proc/self/fd/0"),
        ("/dev/stdout", "/proc/self/fd/1"),
        ("/dev/stderr", "/proc/self/fd/2"),
    ] {
        let _ = std::os::unix::fs::symlink(target, link);
    }
}

fn mount(kind: &str, target: &str, options: &str) -> io::Result<()> {
    let [kind, target, options] = [kind, target, options].map(|text| CString::new(text).unwrap());
    // SAFETY: the pointers are to zero-terminated strings that outlive the call.
    let result = unsafe {
        libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast())
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Brings up the loopback interface.
fn loopback_up() {
    // SAFETY: all-zero bytes are a valid `ifreq`, and `request` outlives the ioctl. The name "lo"
    // fits and stays zero-terminated.
    unsafe {
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l' as libc::c_char;
        request.ifr_name[1] = b'o' as libc::c_char;
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket >= 0 {
            libc::ioctl(socket, libc::SIOCSIFFLAGS, &request);
            libc::close(socket);
        }
    }
}

/// Opens the serial line to the host in raw mode, so that every byte arrives unchanged.
fn open_channel(path: &Path) -> io::Result<File> {
    wait_until_there(path);
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(path)?;
    // SAFETY: all-zero bytes are a valid termios, tcgetattr fills it before it's used, and the
    // descriptor is open.
    unsafe {
        let mut termios: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(file.as_raw_fd(), &mut termios) == 0 {
            libc::cfmakeraw(&mut termios);
            libc::cfsetspeed(&mut termios, libc::B115200);
            termios.c_cflag |= libc::CLOCAL;
            if libc::tcsetattr(file.as_raw_fd(), libc::TCSANOW, &termios) != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(file)
}

fn send(channel: &Channel, frame: &Frame) -> Result<(), String> {
    let mut file = channel.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    file.write_all(&frame.encode()).map_err(|e| format!("cannot write to the host: {e}"))
}

/// Runs the job and reports the result to the host.
fn work(job: &Job) -> Result<(), String> {
    // Load the modules before opening the serial line to the host, because one of them may be its
    // driver.
    let prepared = prepare(job);
    let file = open_channel(&job.channel)
        .map_err(|e| format!("cannot open the line to the host, {}: {e}", job.channel.display()))?;
    let channel = Arc::new(Mutex::new(file));
    let outcome = prepared.and_then(|()| {
        send(&channel, &Frame::Up(uptime_ms()))?;
        run(job, &channel)
    });
    let last = match outcome {
        Ok(code) => {
            for (index, path) in job.fetch.iter().enumerate() {
                send_file(&channel, index as u32, path)?;
            }
            Frame::Exit(code)
        }
        Err(why) => Frame::Failed(why),
    };
    send(&channel, &last)?;
    let file = channel.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    // SAFETY: tcdrain takes no pointers, and the descriptor is open.
    unsafe { libc::tcdrain(file.as_raw_fd()) };
    Ok(())
}

fn uptime_ms() -> u32 {
    let text = fs::read_to_string("/proc/uptime").unwrap_or_default();
    let seconds: f64 = text.split(' ').next().and_then(|s| s.parse().ok()).unwrap_or(0.0);
    (seconds * 1000.0) as u32
}

/// Loads the modules and waits for the device.
fn prepare(job: &Job) -> Result<(), String> {
    for module in &job.modules {
        load(module).map_err(|e| {
            format!("cannot load {}: {e} (the kernel's reason is on its console)", module.display())
        })?;
    }
    match &job.device {
        Some(device) if !wait_until_there(device) => Err(format!(
            "{} did not appear within {} s: check that the driver is loaded and the device process is running (--log FILE saves the guest's console)",
            device.display(),
            DEVICE_WAIT.as_secs()
        )),
        Some(device) => {
            // In a guest without udev, create the name that the guest package's udev rule would
            // add. This fails if the name exists already.
            let _ = std::os::unix::fs::symlink(device, NVIDIACTL);
            Ok(())
        }
        None => Ok(()),
    }
}

/// Waits for a device node; returns whether it appeared.
fn wait_until_there(node: &Path) -> bool {
    let start = Instant::now();
    while !node.exists() {
        if start.elapsed() > DEVICE_WAIT {
            return false;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    true
}

fn load(module: &Path) -> io::Result<()> {
    let file = File::open(module)?;
    // SAFETY: finit_module takes an open descriptor, a zero-terminated string, and flags.
    let result =
        unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
    let error = io::Error::last_os_error();
    if result == 0 || error.raw_os_error() == Some(libc::EEXIST) { Ok(()) } else { Err(error) }
}

/// Runs the command, relays its output, and returns its exit code.
fn run(job: &Job, channel: &Channel) -> Result<i32, String> {
    let (program, arguments) = job.command.split_first().ok_or("the job has no command")?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(job.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&job.cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            let code = match error.kind() {
                io::ErrorKind::NotFound => EXIT_NOT_FOUND,
                _ => EXIT_NOT_EXECUTABLE,
            };
            let cwd = job.cwd.display();
            let text = if job.cwd.is_dir() {
                format!("vcuda-run: cannot run '{program}' in the guest: {error}\n")
            } else {
                format!("vcuda-run: the guest has no directory '{cwd}'\n")
            };
            send(channel, &Frame::Stderr(text.into_bytes()))?;
            return Ok(code);
        }
    };
    let (done, relays) = mpsc::channel();
    let stdout = child.stdout.take().ok_or("the command's standard output is not a pipe")?;
    let stderr = child.stderr.take().ok_or("the command's standard error is not a pipe")?;
    relay(stdout, Frame::Stdout, channel, done.clone());
    relay(stderr, Frame::Stderr, channel, done);
    let status = wait_for(child.id() as libc::pid_t)?;
    // A pipe reaches end of file only when the last process that has it open exits, and a child of
    // the command may run for long, so wait only until a deadline.
    let deadline = Instant::now() + DRAIN_WAIT;
    for _ in 0..2 {
        let left = deadline.saturating_duration_since(Instant::now());
        let _ = relays.recv_timeout(left);
    }
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, signal) => 128 + signal.unwrap_or(0),
    })
}

/// Starts a thread that sends the output from a pipe to the host.
fn relay(
    mut pipe: impl Read + Send + 'static,
    frame: fn(Vec<u8>) -> Frame,
    channel: &Channel,
    done: mpsc::Sender<()>,
) {
    let channel = channel.clone();
    std::thread::spawn(move || {
        let mut buffer = vec![0; MAX_PAYLOAD];
        while let Ok(len) = pipe.read(&mut buffer) {
            if len == 0 || send(&channel, &frame(buffer[..len].to_vec())).is_err() {
                break;
            }
        }
        let _ = done.send(());
    });
}

/// Waits for the command. If this is the guest's first process, it also reaps orphans.
fn wait_for(child: libc::pid_t) -> Result<ExitStatus, String> {
    let which = if std::process::id() == 1 { -1 } else { child };
    loop {
        let mut status = 0;
        // SAFETY: `status` outlives the call.
        let pid = unsafe { libc::waitpid(which, &mut status, 0) };
        if pid == child {
            return Ok(ExitStatus::from_raw(status));
        }
        if pid < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(format!("cannot wait for the command: {error}"));
            }
        }
    }
}

/// Sends a file to the host if it exists. If it doesn't exist, sends nothing, and the host reports
/// that the file is missing.
fn send_file(channel: &Channel, index: u32, path: &Path) -> Result<(), String> {
    let Ok(mut file) = File::open(path) else { return Ok(()) };
    send(channel, &Frame::FileStart(index))?;
    let mut buffer = vec![0; MAX_PAYLOAD];
    loop {
        let len = match file.read(&mut buffer) {
            Ok(len) => len,
            Err(error) => {
                let text = format!("vcuda-run: cannot read {}: {error}\n", path.display());
                return send(channel, &Frame::Stderr(text.into_bytes()));
            }
        };
        if len == 0 {
            return send(channel, &Frame::FileEnd);
        }
        send(channel, &Frame::FileData(buffer[..len].to_vec()))?;
    }
}
