//! Runs every target on its inputs in `corpus/`.

use std::path::PathBuf;
use std::process::Command;

fn names() -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_virtio-cuda-fuzz")).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

fn corpus() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

#[test]
fn every_target_accepts_its_inputs() {
    for name in names() {
        let folder = corpus().join(&name);
        let mut inputs: Vec<PathBuf> = std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .map(|entry| entry.unwrap().path())
            .collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "{} is empty", folder.display());
        // Run each target in its own process, because an input can take over the process of its
        // target.
        let temporary = tempfile::tempdir().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_virtio-cuda-fuzz"))
            .env("TMPDIR", temporary.path())
            .arg(&name)
            .args(&inputs)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {}\n{said}", output.status);
    }
}

#[test]
fn every_corpus_has_a_target() {
    let names = names();
    let folders = std::fs::read_dir(corpus()).unwrap().map(|entry| entry.unwrap().path());
    for folder in folders.filter(|path| path.is_dir()) {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(names.contains(&name), "there is no target for {}", folder.display());
    }
}
