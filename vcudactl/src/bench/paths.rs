//! The command lines of the measuring program, natively and through a device.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::cli::BENCH_PROGRAM;
use crate::cuda::{STDIN_LIBRARY, through_device};
use crate::error::CtlError;

/// The environment variables that a native program keeps: those that select the libraries and the
/// GPU, and the one that determines the directory of the driver's cache. Other variables could
/// affect the measurements.
const KEPT: [&str; 4] = ["LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HOME"];

/// The libraries and the device with which the two sides are measured. A side that isn't measured
/// is `None`.
#[derive(Debug)]
pub(crate) struct Paths {
    /// The library of native programs: a path, or a name that the dynamic loader finds.
    pub(crate) native: Option<PathBuf>,
    /// The UUID of the GPU that native programs use. If it's `None`, they use the first GPU.
    pub(crate) gpu: Option<String>,
    /// The path of the guest's library, and that of the device's socket.
    pub(crate) device: Option<(PathBuf, PathBuf)>,
}

/// A side of the comparison: native, or through the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Native,
    Device,
}

impl Side {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Device => "device",
        }
    }
}

impl Paths {
    /// Returns the command that takes these measurements on a side. Returns `None` if the side
    /// isn't measured.
    pub(super) fn command(
        &self,
        side: Side,
        quick: bool,
        names: &[&str],
    ) -> Result<Option<Command>, CtlError> {
        let (mut command, library) = match side {
            Side::Native => {
                let Some(library) = &self.native else { return Ok(None) };
                (self.native_command(), library.clone())
            }
            Side::Device => {
                let Some((library, socket)) = &self.device else { return Ok(None) };
                (through_device(library, socket)?, PathBuf::from(STDIN_LIBRARY))
            }
        };
        command.arg(BENCH_PROGRAM).arg("--library").arg(library);
        command.args(quick.then_some("--quick")).args(names);
        Ok(Some(command))
    }

    fn native_command(&self) -> Command {
        let mut command = Command::new("/proc/self/exe");
        let kept = KEPT.map(|name| (name, std::env::var_os(name)));
        let kept = kept.into_iter().filter_map(|(name, value)| Some((name, value?)));
        command.env_clear().envs(kept).stdin(Stdio::null());
        if let Some(gpu) = &self.gpu {
            command.env("CUDA_VISIBLE_DEVICES", OsString::from(gpu));
        }
        command
    }
}
