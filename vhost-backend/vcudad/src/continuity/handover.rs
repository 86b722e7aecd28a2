//! Hands everything over to another vcudad, which continues with the VMs' processes. Sessions
//! continue without interruption.
//!
//! The broker writes what it knows to a memory file as JSON. The spawner keeps the descriptors that
//! the other vcudad also needs, such as the sockets to the processes. The other vcudad gets the
//! file in one of three ways:
//!
//! - On SIGUSR2, the broker asks the program at its path whether it can take over. If so, it
//!   executes that program in the same process, which inherits the file and the sockets to the
//!   spawner.
//! - On SIGTERM, if the spawner outlives the broker, the broker leaves the file with the spawner
//!   and exits. A vcudad that is started later gets the file from the spawner.
//! - If the broker crashes or is killed, the spawner has the file that the broker has kept current:
//!   see [`crate::continuity::journal`].
//!
//! In the first two cases, the broker first lets all evicted kernels continue, and stops its
//! threads. The workers' gates stay as they are: each window ends at its planned time, and no new
//! window begins until the other program has started its scheduler.
//!
//! The other program ignores fields that it doesn't know, and fills in those that are missing. A
//! change that can't be read in that way needs a new [`VERSION`].

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};
use serde::{Deserialize, Serialize};

use crate::continuity::journal::Handling;
use crate::continuity::kept_fd::KeptFd;
use crate::continuity::record::Change;
use crate::gpu::gpus::Gpus;
use crate::processes::process::ChildRecord;
use crate::processes::spawner::{Spawner, SpawnerRecord};
use crate::sessions::table::SessionsRecord;
use crate::settings::reload::FixedSettings;
use crate::usage::record::Record;
use crate::vm::cgroup::Cgroups;
use crate::vm::vms::VmsRecord;
use host_ipc::gpu::Probed;
use host_ipc::spawner::ProcessId;

/// The version of the handover's format.
const VERSION: u32 = 3;
/// Maximum size of a file that is read, in bytes. A file with 10,000 sessions has about 10 MiB.
const MAX_SIZE: u64 = 1 << 28;
/// Name of the argument that asks whether a program can take over. Its value is the format version
/// that the running program writes.
pub const ACCEPTS: &str = "--accepts-handover";
/// Name of the argument that says that root has started the broker.
pub const AS_ROOT: &str = "--as-root";
/// Name of the argument whose value is the number of the memory file's descriptor.
pub const FROM: &str = "--handover-fd";
/// How long the new program may take to say whether it can take over.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// Everything that the new program needs to know about the VMs and their processes.
#[derive(Serialize, Deserialize)]
pub(crate) struct HandoverState {
    /// The number of the process that the spawner was last asked to start.
    pub(crate) last_process: ProcessId,
    pub(crate) driver: Probed,
    pub(crate) has_jail: bool,
    /// Why workers have no jail, if they have none.
    #[serde(default)]
    pub(crate) no_jail: Option<String>,
    /// Whether the broker took kernels off GPUs.
    pub(crate) evicts: bool,
    pub(crate) gpus: Gpus,
    pub(crate) cgroups: Cgroups,
    pub(crate) supervisor: Option<ChildRecord>,
    pub(crate) vms: VmsRecord,
    pub(crate) sessions: SessionsRecord,
    /// The values of the settings that stay as they are until the spawner is restarted.
    pub(crate) fixed: FixedSettings,
    /// The text of the configuration file that was applied last. A broker uses it if the file has
    /// an error when it's started.
    #[serde(default)]
    pub(crate) config: Option<String>,
    /// The usage of VMs. `None` in the record that is kept in case of a crash, because the state
    /// directory has the usage.
    #[serde(default)]
    pub(crate) usage: Option<Record>,
}

impl HandoverState {
    /// Applies a change that the broker recorded after it had written this state.
    fn change(&mut self, change: Change) -> Result<(), String> {
        match change {
            Change::Vm(vm) => self.vms.change(*vm)?,
            Change::Gpus(gpus) => self.gpus = gpus,
            Change::Counts(counts) => {
                (self.last_process, self.supervisor) = (counts.last_process, counts.supervisor);
                self.sessions.set_counts(counts.workers);
            }
            Change::Session(change) => self.sessions.change(change)?,
        }
        Ok(())
    }
}

/// The part of a handover for a program that is executed in the same process and inherits
/// descriptors.
#[derive(Serialize, Deserialize)]
pub(crate) struct Inheritance {
    /// The path at which the next version of the program will be installed.
    pub(crate) program: PathBuf,
    pub(crate) spawner: SpawnerRecord,
    /// Whether there is a control API socket.
    pub(crate) has_control: bool,
    /// Whether there is a control API socket that is only for reading.
    #[serde(default)]
    pub(crate) has_read: bool,
}

/// Everything that one program hands over to the next.
#[derive(Serialize, Deserialize)]
pub(crate) struct Handover {
    version: u32,
    /// `None` for a program that is started as another process.
    pub(crate) inheritance: Option<Inheritance>,
    pub(crate) state: HandoverState,
}

impl Handover {
    /// Reads the state that the previous program has written, and applies the changes that it has
    /// added to the file. Treats the file as untrusted. Also returns whose message the previous
    /// program was handling when it ended.
    pub(crate) fn read(file: File) -> io::Result<(Self, Handling)> {
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        let (mut file, mut text) = (file.take(MAX_SIZE), Vec::new());
        file.get_mut().rewind()?;
        file.read_to_end(&mut text)?;
        Self::parse(&text).map_err(io::Error::other)
    }

    /// Encodes a handover.
    pub(crate) fn encode(
        state: HandoverState,
        inheritance: Option<Inheritance>,
    ) -> io::Result<Vec<u8>> {
        Ok(serde_json::to_vec(&Self { version: VERSION, inheritance, state })?)
    }

    /// Writes a handover to a memory file.
    pub(crate) fn write(
        state: HandoverState,
        inheritance: Option<Inheritance>,
    ) -> io::Result<OwnedFd> {
        let mut file = File::from(memfd_create("handover", MemfdFlags::CLOEXEC)?);
        file.write_all(&Handling::Done.line())?;
        file.write_all(&Self::encode(state, inheritance)?)?;
        file.write_all(b"\n")?;
        Ok(file.into())
    }

    /// Parses a handover and the changes that follow it.
    fn parse(text: &[u8]) -> Result<(Self, Handling), String> {
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        fn from<'a, T: Deserialize<'a>>(line: Option<&'a [u8]>) -> Result<T, String> {
            let line = line.ok_or("it is too short")?;
            serde_json::from_slice(line).map_err(|error| error.to_string())
        }
        // Ignore a line that isn't complete: the previous program ended while it was writing it.
        let mut lines = text.split_inclusive(|byte| *byte == b'\n').filter(|l| l.ends_with(b"\n"));
        let handling = from(lines.next())?;
        let state = lines.next();
        let Version { version } = from(state)?;
        if version != VERSION {
            return Err(format!("its format is version {version}, and this program's {VERSION}"));
        }
        let mut handover: Self = from(state)?;
        for line in lines {
            let change: Change = from(Some(line))?;
            handover.state.change(change)?;
        }
        Ok((handover, handling))
    }
}

/// The state and the descriptors that this program inherits from the program that this process
/// executed before.
pub struct Inherited {
    pub(crate) inheritance: Inheritance,
    pub(crate) state: HandoverState,
}

impl Inherited {
    /// Returns true if the spawner, which starts the VMs' processes, runs as root. This process
    /// itself doesn't run as root, even if the previous program was started by root.
    pub fn has_root(&self) -> bool {
        self.inheritance.spawner.is_root()
    }

    /// Reads the memory file with this descriptor.
    pub fn read(fd: RawFd) -> io::Result<Self> {
        let (Handover { inheritance, state, .. }, _) =
            Handover::read(File::from(KeptFd::inherited(fd).take()?))?;
        let inheritance = inheritance.ok_or_else(|| io::Error::other("it is for another one"))?;
        Ok(Self { inheritance, state })
    }
}

/// Returns true if this program can take over from one that writes this version of the format.
pub fn accepts(version: u32) -> bool {
    version == VERSION
}

/// The program that takes over.
pub(crate) struct Successor {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Successor {
    /// Returns the successor: the program at `path`, or, if `path` is `None`, the program at the
    /// path of this one. It gets the same arguments as this program. This must be called before an
    /// upgrade puts another file at that path.
    pub(crate) fn find(path: Option<PathBuf>) -> io::Result<Self> {
        let program = path.map_or_else(std::env::current_exe, Ok)?;
        let mut arguments = Vec::new();
        let mut all = std::env::args_os().skip(1);
        while let Some(argument) = all.next() {
            match argument == FROM {
                true => drop(all.next()),
                false => arguments.push(argument),
            }
        }
        Ok(Self { program, arguments })
    }

    /// Asks the program whether it can take over. `is_root` says whether this broker was started by
    /// root, because the defaults in the configuration depend on that. An error says why the
    /// program can't take over.
    pub(crate) fn ask(&self, is_root: bool) -> Result<(), String> {
        let fail = |error: io::Error| format!("cannot run {}: {error}", self.program.display());
        let mut command = Command::new(&self.program);
        command.arg(ACCEPTS).arg(VERSION.to_string()).args(is_root.then_some(AS_ROOT));
        command.args(&self.arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(fail)?;
        let began = Instant::now();
        let status: ExitStatus = loop {
            match child.try_wait().map_err(fail)? {
                Some(status) => break status,
                None if began.elapsed() < ANSWER_TIME => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                None => {
                    let _ = child.kill().and_then(|()| child.wait());
                    return Err(format!("{} doesn't answer", self.program.display()));
                }
            }
        };
        if status.success() {
            return Ok(());
        }
        let mut text = Vec::new();
        if let Some(stderr) = child.stderr.take() {
            let _ = stderr.take(4096).read_to_end(&mut text);
        }
        let text = String::from_utf8_lossy(&text);
        Err(format!("{} cannot take over: {}", self.program.display(), text.trim()))
    }

    /// Writes the handover to a memory file, for this successor to read.
    pub(crate) fn with(
        self,
        state: HandoverState,
        spawner: &Spawner,
        (has_control, has_read): (bool, bool),
    ) -> io::Result<Replacement> {
        let program = self.program.clone();
        let inheritance =
            Inheritance { program, spawner: spawner.record()?, has_control, has_read };
        let file = Handover::write(state, Some(inheritance))?;
        Ok(Replacement { successor: self, file })
    }
}

/// A program that takes over, with the memory file that it reads.
pub struct Replacement {
    successor: Successor,
    file: OwnedFd,
}

impl Replacement {
    /// Executes the program in this process. If that fails, executes the current program again.
    /// Returns only if both fail.
    pub fn execute(self) -> io::Error {
        let Self { successor: Successor { program, arguments }, file } = self;
        let fd = match KeptFd::keep(&file) {
            Ok(fd) => fd.number().to_string(),
            Err(error) => return error,
        };
        let own = Path::new("/proc/self/exe");
        let mut failure = None;
        for path in [program.as_path(), own] {
            let options = [program.clone().into_os_string(), FROM.into(), fd.clone().into()];
            let words = options.into_iter().chain(arguments.iter().cloned());
            let error = execute(path, words);
            failure.get_or_insert(error);
        }
        failure.unwrap_or_else(|| io::Error::other("no program"))
    }
}

/// Executes a program with the environment and the signal mask of this process. (The standard
/// library's function unblocks all signals. A signal that arrives before the new program blocks
/// signals would end the process.)
fn execute(path: &Path, words: impl Iterator<Item = OsString>) -> io::Error {
    let to_c = |word: OsString| CString::new(word.into_vec());
    let words: Result<Vec<CString>, _> = words.map(to_c).collect();
    let (Ok(words), Ok(path)) = (words, to_c(path.as_os_str().to_owned())) else {
        return io::Error::from(io::ErrorKind::InvalidInput);
    };
    let mut pointers: Vec<*const libc::c_char> = words.iter().map(|word| word.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: the path and the words are C strings that outlive the call, and the list of words
    // ends with a null pointer.
    unsafe { libc::execv(path.as_ptr(), pointers.as_ptr()) };
    io::Error::last_os_error()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_of_the_format_is_refused() {
        let refused = Handover::parse(b"\"Done\"\n{\"version\":9,\"new\":true}\n").err();
        assert_eq!(refused.unwrap(), "its format is version 9, and this program's 3");
        assert!(accepts(VERSION) && !accepts(VERSION + 1));
    }

    #[test]
    fn a_damaged_record_is_refused() {
        for text in ["", "\n", "\"Done\"\n", "null\n{}\n", "\"Done\"\n{\"version\":3}\n", "{}\n"] {
            assert!(Handover::parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
