//! A fake NVML for the host, which `vcudad` loads instead of NVIDIA's. It reports the GPUs,
//! processes, and faults that a test specifies (see `tests/nvml/nvml.c`).

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Host, Vm, softgpu_memory};

/// The fake NVML that a host's `vcudad` has loaded, and the file that determines what it reports.
pub struct Nvml {
    file: PathBuf,
    lines: String,
    library: PathBuf,
}

impl Nvml {
    /// Restarts a host's `vcudad` with a fake NVML that reports the host's softgpu devices.
    pub fn install(host: &mut Host, vms: &[Vm]) -> Self {
        let library = host.dir.join("libnvidia-ml.so.1");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("nvml/nvml.c");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let mut compile = Command::new(compiler);
        compile.args(["-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"]).arg(&library);
        let built = compile.arg(&source).output().expect("a C compiler is installed");
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let (file, lines) = (host.dir.join("nvml.txt"), String::new());
        let mut nvml = Self { file, lines, library: library.clone() };
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

    /// Makes the fake NVML report the memory that the workers have allocated on softgpu.
    pub fn report_softgpu(&mut self, host: &Host) {
        self.say(&format!("softgpu {}", softgpu_memory(&host.dir).display()));
    }

    /// Lets a program use the fake NVML, and returns the path of the library.
    pub fn let_use(&self, program: &mut Command) -> &Path {
        program.env("STAND_IN_NVML", &self.file);
        &self.library
    }

    /// Adds a line to the file that the fake NVML reads. `nvml.c` documents the lines.
    pub fn say(&mut self, line: &str) {
        writeln!(self.lines, "{line}").unwrap();
        self.write();
    }

    fn write(&self) {
        // Replace the file atomically, so that readers see either all old or all new lines.
        let new = self.file.with_extension("new");
        std::fs::write(&new, &self.lines).unwrap();
        std::fs::rename(new, &self.file).unwrap();
    }
}
