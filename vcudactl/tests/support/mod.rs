//! A fake vcudad, and a pseudoterminal in which vcudactl runs.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_vcudactl");

/// A fake vcudad. It calls a function with each request's method, path, and body, and sends the
/// result.
pub struct Server {
    pub folder: PathBuf,
    pub socket: PathBuf,
}

impl Server {
    pub fn start(
        answer: impl Fn(&str, &str, &str) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("virtio-cuda-ctl-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let socket = folder.join("control.sock");
        listen(&socket, answer);
        Self { folder, socket }
    }
}

/// Starts to serve requests at a socket. The server runs until the test's process ends.
pub fn listen(
    socket: &Path,
    answer: impl Fn(&str, &str, &str) -> (u16, String) + Send + Sync + 'static,
) {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap() <= 2 {
                    break;
                }
                head.push(line.trim_end().to_ascii_lowercase());
            }
            let Some(first) = head.first() else { continue };
            let words: Vec<&str> = first.split(' ').collect();
            let length = head.iter().find_map(|line| line.strip_prefix("content-length: "));
            let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
            reader.read_exact(&mut body).unwrap();
            let body = String::from_utf8(body).unwrap();
            let (status, text) = answer(&words[0].to_uppercase(), words[1], &body);
            let length = text.len();
            let answer = format!(
                "HTTP/1.1 {status} x\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
            );
            let _ = stream.write_all(answer.as_bytes());
        }
    });
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn run(command: &mut Command) -> (i32, String, String) {
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// Runs vcudactl, and returns its exit code, standard output and standard error.
pub fn vcudactl(socket: &Path, words: &[&str]) -> (i32, String, String) {
    run(Command::new(PROGRAM).arg("--socket").arg(socket).args(words).env_remove("COLUMNS"))
}

/// Runs vcudactl as an unprivileged user, from a copy that this user can read.
pub fn vcudactl_as_nobody(socket: &Path, words: &[&str]) -> (i32, String, String) {
    let copy = socket.with_file_name("vcudactl");
    // Let another process (`cp`) write the copy. If this process wrote it, a child that another
    // test starts at that time could inherit the open file, and the copy couldn't be executed while
    // it's open for writing.
    assert!(
        copy.exists() || Command::new("cp").arg(PROGRAM).arg(&copy).status().unwrap().success()
    );
    let mut command = Command::new(&copy);
    command.arg("--socket").arg(socket).args(words);
    // SAFETY: geteuid takes no arguments and can't fail.
    if unsafe { libc::geteuid() } == 0 {
        command.uid(65_534).gid(65_534);
    }
    run(&mut command)
}

/// A vcudactl process in a terminal with 100 columns and 30 rows.
pub struct Terminal {
    pub child: Child,
    main: File,
    /// The terminal's other end, which the program uses. It's kept open, so that the terminal's
    /// modes can be read after the program has exited.
    other: OwnedFd,
    /// The terminal's modes before the program was started.
    pub modes_before: [u32; 4],
    seen: String,
}

/// Runs vcudactl in a new pseudoterminal.
pub fn pty(socket: &Path, words: &[&str]) -> Terminal {
    let (mut main, mut other) = (-1, -1);
    let size = libc::winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: both descriptor variables and `size` are live, and the name and the modes may be
    // null.
    let code = unsafe {
        libc::openpty(&mut main, &mut other, std::ptr::null_mut(), std::ptr::null(), &size)
    };
    assert_eq!(code, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: openpty just opened both descriptors, and nothing else owns them.
    let (main, other) = unsafe { (File::from_raw_fd(main), OwnedFd::from_raw_fd(other)) };
    // SAFETY: `main` is an open descriptor, and F_SETFL takes an integer.
    unsafe { libc::fcntl(main.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    let modes_before = modes(&other);
    let end = || Stdio::from(other.try_clone().unwrap());
    let mut command = Command::new(PROGRAM);
    command.arg("--socket").arg(socket).args(words).env("TERM", "xterm-256color");
    command.stdin(end()).stdout(end()).stderr(end());
    // SAFETY: both calls are async-signal-safe system calls and access no memory of this process.
    unsafe {
        command.pre_exec(|| {
            if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                return Err(std::io::Error::last_os_error());
            }
            Ok(())
        });
    }
    let child = command.spawn().unwrap();
    Terminal { child, main, other, modes_before, seen: String::new() }
}

impl Terminal {
    /// Reads the available output. If there is none, waits briefly.
    pub fn drain(&mut self) {
        let mut bytes = [0u8; 1 << 16];
        match self.main.read(&mut bytes) {
            Ok(count) => self.seen.push_str(&String::from_utf8_lossy(&bytes[..count])),
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    }

    /// Reads output until it contains `text`. Then discards all output that was read so far.
    pub fn read_until(&mut self, text: &str) {
        let start = Instant::now();
        while !self.seen.contains(text) {
            assert!(start.elapsed() < Duration::from_secs(60), "no {text} in {}", self.seen);
            self.drain();
        }
        self.seen.clear();
    }

    pub fn write(&mut self, keys: &[u8]) {
        self.main.write_all(keys).unwrap();
    }

    pub fn resize(&self, columns: u16, rows: u16) {
        let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        // SAFETY: `size` is a live variable of the type that this ioctl reads.
        assert_eq!(unsafe { libc::ioctl(self.main.as_raw_fd(), libc::TIOCSWINSZ, &size) }, 0);
    }

    /// Returns the terminal's input, output, control and local flags.
    pub fn modes(&self) -> [u32; 4] {
        modes(&self.other)
    }
}

fn modes(terminal: &OwnedFd) -> [u32; 4] {
    // SAFETY: termios is a struct of integers, so all zeroes is a valid value.
    let mut modes: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: `modes` is a termios that tcgetattr may write.
    assert_eq!(unsafe { libc::tcgetattr(terminal.as_raw_fd(), &mut modes) }, 0);
    [modes.c_iflag, modes.c_oflag, modes.c_cflag, modes.c_lflag]
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns bash's completions of a command line with our completion script.
pub fn completions(socket: &Path, line: &str) -> Vec<String> {
    const SCRIPT: &str = "set -e; source <(\"$PROGRAM\" completions bash); \
        vcudactl() { \"$PROGRAM\" \"$@\"; }; \
        COMP_WORDS=(vcudactl --socket \"$SOCKET\" $LINE); \
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
        _vcudactl_with_names vcudactl \"${COMP_WORDS[COMP_CWORD]}\" \
        \"${COMP_WORDS[COMP_CWORD-1]}\"; printf '%s\\n' \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", SCRIPT]).env("PROGRAM", PROGRAM);
    let (code, out, err) = run(bash.env("SOCKET", socket).env("LINE", line));
    assert_eq!(code, 0, "{err}");
    let mut words: Vec<String> = out.split_whitespace().map(str::to_owned).collect();
    words.sort();
    words
}
