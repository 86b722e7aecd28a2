//! Starts vhost-device-cuda as a broker for one VM, with all processes that it starts.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU16, Ordering};

use crate::folder::Folder;
use crate::programs::{program, softgpu, wait_for};

/// The running device programs for one VM. Dropping this value ends them.
pub struct Device {
    child: Child,
    pub socket: PathBuf,
    folder: Folder,
}

impl Device {
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with("softgpu".as_ref(), arguments, &[])
    }

    /// Does the same as [`Self::start`], with the given driver library and environment variables.
    pub fn start_with(library: &Path, arguments: &[&str], env: &[(&str, &str)]) -> Self {
        static LAST: AtomicU16 = AtomicU16::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let folder = Folder::new(&number.to_string());
        let socket = folder.join("socket");
        let child = Command::new(program("vhost-device-cuda"))
            .arg("--driver-library")
            .arg(library)
            .arg("--socket-path")
            .arg(&socket)
            .args(arguments)
            .envs(env.iter().copied())
            .env("VIRTIO_CUDA_SOFTGPU", softgpu())
            .stderr(std::fs::File::create(folder.join("log")).unwrap())
            .spawn()
            .unwrap();
        let device = Self { child, socket, folder };
        wait_for("the socket", || device.socket.exists());
        device
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the log of all the device programs.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(self.folder.join("log")).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Asks the programs to exit, and waits for them.
    pub fn end(&mut self) -> std::process::ExitStatus {
        // SAFETY: `kill` accesses no memory. The child hasn't been waited for, so it still has this
        // ID.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        self.child.wait().unwrap()
    }

    /// Returns the IDs of the program's processes that were started for the device's broker.
    pub fn processes(&self, program: &str) -> Vec<u32> {
        let spawners = children(self.child.id(), "vhost-cuda-spawner");
        spawners.into_iter().flat_map(|spawner| children(spawner, program)).collect()
    }
}

/// Returns the IDs of a process's children that run the given program.
fn children(of: u32, program: &str) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        let Some((name, rest)) = stat.rsplit_once(") ") else { continue };
        let mut fields = rest.split(' ');
        let (state, parent) = (fields.next(), fields.next());
        let ours = parent == Some(&of.to_string()) && state != Some("Z");
        // The kernel truncates names to 15 characters.
        if ours && name.ends_with(&program[..program.len().min(15)]) {
            found.push(pid);
        }
    }
    found
}

impl Drop for Device {
    fn drop(&mut self) {
        self.end();
        if std::thread::panicking() {
            eprintln!("{:.10000}", self.log());
        }
    }
}
