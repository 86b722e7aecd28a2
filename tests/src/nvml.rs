//! A stand-in for the host's NVML, which `vcudad` loads by name as it does NVIDIA's: what the GPUs'
//! processes hold, and the faults that a test wants (`tests/nvml/nvml.c`).

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Host, Vm};

/// The stand-in of a host.
pub struct Nvml {
    file: PathBuf,
    lines: String,
}

impl Nvml {
    /// Gives a host its NVML, which knows its GPUs: `vcudad` is started again with it.
    pub fn install(host: &mut Host, vms: &[Vm]) -> Self {
        let library = host.dir.join("libnvidia-ml.so.1");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("nvml/nvml.c");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let mut compile = Command::new(compiler);
        compile.args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]).arg(&library);
        let built = compile.arg(&source).output().expect("there is a C compiler");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let mut nvml = Self { file: host.dir.join("nvml.txt"), lines: String::new() };
        for gpu in host.ask(&["gpu", "ls"]).as_array().unwrap() {
            let (uuid, bytes) = (gpu["uuid"].as_str().unwrap(), &gpu["memory_total"]);
            writeln!(nvml.lines, "gpu {uuid} {bytes}").unwrap();
        }
        nvml.write();
        for (name, value) in [("LD_LIBRARY_PATH", &host.dir), ("STAND_IN_NVML", &nvml.file)] {
            host.env.push((name.into(), value.display().to_string()));
        }
        host.restart(vms);
        nvml
    }

    /// Adds a line: `nvml.c` has a list of them.
    pub fn say(&mut self, line: &str) {
        writeln!(self.lines, "{line}").unwrap();
        self.write();
    }

    fn write(&self) {
        // Its reader sees all of the old lines or all of the new.
        let new = self.file.with_extension("new");
        std::fs::write(&new, &self.lines).unwrap();
        std::fs::rename(new, &self.file).unwrap();
    }
}
