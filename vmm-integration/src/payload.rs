//! Collects files for a guest that can't see the host's file system: the command and what it needs.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{RunError, existing};
use crate::job::Job;

/// The directory for vcuda-run's files in the guest.
pub const FOLDER: &str = "/virtio-cuda";
/// The directory for libcuda.so.1 in the guest.
pub const LIBRARIES: &str = "/virtio-cuda/lib";
const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
/// Libraries that were separate before glibc 2.34. Older programs still link to them by name.
const OLD_GLIBC: [&str; 3] = ["libpthread.so.0", "libdl.so.2", "librt.so.1"];

/// Files given by options, to be copied to the guest.
#[derive(Clone, Copy, Debug)]
pub struct Brought<'a> {
    /// Files and directories, each as `SRC[:DEST]`.
    pub files: &'a [String],
    /// The guest's libcuda.so.1.
    pub libcuda: Option<&'a Path>,
    /// Kernel modules in load order.
    pub modules: &'a [PathBuf],
}

/// The software that the guest already contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guest {
    /// The guest contains no software: programs and libraries come from the host.
    Bare,
    /// The guest contains programs, but not the host's libraries.
    Initramfs,
    /// The guest is a complete system with programs and libraries.
    System,
}

/// A file to copy to the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The file's contents.
    pub bytes: Vec<u8>,
    /// The file's permissions.
    pub mode: u32,
}

/// The files to copy to a guest.
#[derive(Clone, Debug, Default)]
pub struct Payload {
    /// Files by their path in the guest, without the leading slash.
    pub files: BTreeMap<PathBuf, Entry>,
}

impl Payload {
    /// Collects all files, and changes the paths in `job` to those in the guest.
    pub fn gather(job: &mut Job, brought: &Brought, guest: Guest) -> Result<Payload, RunError> {
        let mut payload = Payload::default();
        let library_path = job
            .env
            .iter()
            .find(|(name, _)| name == "LD_LIBRARY_PATH")
            .map(|(_, value)| value.clone())
            .unwrap_or_default();
        let bring = |payload: &mut Payload, source: &Path, dest: &Path| {
            payload.add(source, dest)?;
            payload.add_libraries(source, &library_path, guest)
        };
        if let Some(program) = job.command.first_mut()
            && let Some(path) = host_program(program, guest)
        {
            bring(&mut payload, &path, &path)?;
            *program = path.display().to_string();
        }
        for text in brought.files {
            let (source, dest) = match text.split_once(':') {
                Some((source, dest)) => (source, PathBuf::from(dest)),
                None => (text.as_str(), PathBuf::from(text)),
            };
            let source = existing("--file", Path::new(source))?;
            let dest = if dest.is_absolute() { dest } else { Path::new("/").join(dest) };
            for (file, relative) in walk(&source)? {
                let dest = if relative.as_os_str().is_empty() {
                    dest.clone()
                } else {
                    dest.join(relative)
                };
                bring(&mut payload, &file, &dest)?;
            }
        }
        if let Some(libcuda) = brought.libcuda {
            let libcuda = existing("--libcuda", libcuda)?;
            bring(&mut payload, &libcuda, &Path::new(LIBRARIES).join("libcuda.so.1"))?;
        }
        for (number, module) in brought.modules.iter().enumerate() {
            let name = module.file_name().unwrap_or_default().to_string_lossy();
            let dest = format!("{FOLDER}/modules/{number:02}-{name}");
            payload.add(module, Path::new(&dest))?;
            job.modules.push(dest.into());
        }
        if guest != Guest::System {
            for name in OLD_GLIBC {
                let path = Path::new("/lib/x86_64-linux-gnu").join(name);
                if path.exists() {
                    payload.add(&path, &path)?;
                }
            }
        }
        Ok(payload)
    }

    /// Adds a file with the given contents.
    pub fn put(&mut self, dest: impl AsRef<Path>, bytes: Vec<u8>, mode: u32) {
        self.files.insert(guest_path(dest.as_ref()), Entry { bytes, mode });
    }

    /// Adds a file from the host.
    pub fn add(&mut self, source: &Path, dest: &Path) -> Result<(), RunError> {
        let read = || -> io::Result<Entry> {
            let mode = fs::metadata(source)?.permissions().mode() & 0o7777;
            Ok(Entry { bytes: fs::read(source)?, mode })
        };
        let entry = read().map_err(RunError::host(format!("cannot read {}", source.display())))?;
        self.files.insert(guest_path(dest), entry);
        Ok(())
    }

    /// Adds the shared libraries that a host program or library needs.
    pub fn add_libraries(
        &mut self,
        file: &Path,
        library_path: &str,
        guest: Guest,
    ) -> Result<(), RunError> {
        for library in libraries(file, library_path) {
            let dest = guest_path(&library);
            let of_the_system = dest.starts_with("usr/lib") || dest.starts_with("usr/lib64");
            if !(self.files.contains_key(&dest) || guest == Guest::System && of_the_system) {
                self.add(&library, &library)?;
            }
        }
        Ok(())
    }
}

/// Converts a path for a guest in which /lib, /lib64, /bin, and /sbin are links into /usr.
fn guest_path(path: &Path) -> PathBuf {
    let relative: PathBuf =
        path.components().filter(|c| matches!(c, std::path::Component::Normal(_))).collect();
    match relative.components().next().and_then(|first| first.as_os_str().to_str()) {
        Some("lib" | "lib64" | "bin" | "sbin") => Path::new("usr").join(relative),
        _ => relative,
    }
}

/// Returns the path of the command's program on the host, if it must be copied.
fn host_program(program: &str, guest: Guest) -> Option<PathBuf> {
    if program.contains('/') {
        let path = std::path::absolute(program).ok().filter(|path| path.is_file())?;
        // Don't copy a program into a complete system's own directories, because it would replace
        // the guest's program.
        let own = guest == Guest::System && guest_path(&path).starts_with("usr");
        return (!own).then_some(path);
    }
    // Only a bare guest needs the host's PATH. A guest with its own root file system looks up names
    // without a directory there.
    let folders = (guest == Guest::Bare).then(|| std::env::var_os("PATH")).flatten()?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// Returns a file, or all files below a directory, each with its path relative to `source`.
fn walk(source: &Path) -> Result<Vec<(PathBuf, PathBuf)>, RunError> {
    let mut files = Vec::new();
    let mut left = vec![source.to_path_buf()];
    while let Some(path) = left.pop() {
        if !path.is_dir() {
            let relative = path.strip_prefix(source).unwrap_or(Path::new("")).to_path_buf();
            files.push((path, relative));
            continue;
        }
        let entries = fs::read_dir(&path)
            .map_err(RunError::host(format!("cannot read the directory {}", path.display())))?;
        left.extend(entries.flatten().map(|entry| entry.path()));
    }
    Ok(files)
}

/// Returns the libraries that the dynamic loader would load for `file`. The list is empty if `file`
/// isn't dynamically linked.
fn libraries(file: &Path, library_path: &str) -> Vec<PathBuf> {
    let is_elf = fs::File::open(file).is_ok_and(|mut file| {
        let mut magic = [0; 4];
        io::Read::read_exact(&mut file, &mut magic).is_ok() && magic == *b"\x7fELF"
    });
    if !is_elf {
        return Vec::new();
    }
    let output =
        Command::new(LOADER).arg("--list").arg(file).env("LD_LIBRARY_PATH", library_path).output();
    let text = output.map(|output| output.stdout).unwrap_or_default();
    parse_list(&String::from_utf8_lossy(&text))
}

/// Parses the paths in the output of `ld.so --list`.
fn parse_list(text: &str) -> Vec<PathBuf> {
    text.lines()
        .filter_map(|line| {
            let line = line.trim();
            let path = line.split_once(" => ").map_or(line, |(_, path)| path);
            let path = path.rsplit_once(" (").map_or(path, |(path, _)| path);
            path.starts_with('/').then(|| path.into())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_the_loaders_list_is_parsed() {
        let text = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibcuda.so.1 => not found\n\
            \tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)\n\
            \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n\tstatically linked\n";
        assert_eq!(
            parse_list(text),
            [
                Path::new("/lib/x86_64-linux-gnu/libc.so.6"),
                Path::new("/lib64/ld-linux-x86-64.so.2")
            ]
        );
    }

    #[test]
    fn test_a_program_comes_with_its_libraries() {
        let mut job = crate::job::Job {
            command: vec!["cat".into(), "/etc/os-release".into()],
            env: vec![],
            cwd: "/".into(),
            modules: vec![],
            device: None,
            channel: "/dev/ttyS1".into(),
            fetch: vec![],
        };
        let brought = Brought { files: &[], libcuda: None, modules: &[] };
        let payload = Payload::gather(&mut job, &brought, Guest::Bare).unwrap();
        let has = |end: &str| payload.files.keys().any(|path| path.ends_with(end));
        assert!(job.command[0].ends_with("/cat") && job.command[0].starts_with('/'));
        assert!(has("cat") && has("libc.so.6") && has("ld-linux-x86-64.so.2"));
        assert!(payload.files.keys().all(|path| path.is_relative() && !path.starts_with("lib")));
        // A complete system already contains both the command and its libraries.
        job.command[0] = "cat".into();
        let payload = Payload::gather(&mut job, &brought, Guest::System).unwrap();
        assert!(payload.files.is_empty() && job.command[0] == "cat");
        job.command[0] = "/bin/cat".into();
        let payload = Payload::gather(&mut job, &brought, Guest::System).unwrap();
        assert!(payload.files.is_empty() && job.command[0] == "/bin/cat");
    }

    #[test]
    fn test_paths_stay_inside_the_guest() {
        assert_eq!(guest_path(Path::new("/lib/a/../../x")), Path::new("usr/lib/a/x"));
        assert_eq!(guest_path(Path::new("../etc/passwd")), Path::new("etc/passwd"));
    }
}
