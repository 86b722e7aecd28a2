//! Tests the vhost-user backend descriptor, whose schema is QEMU's docs/interop/vhost-user.json,
//! and the program that it names.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;

/// The type `VhostUserBackend` of the schema: three members and an optional list of tags.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Descriptor {
    description: String,
    #[serde(rename = "type")]
    kind: String,
    binary: String,
    #[serde(default)]
    tags: Vec<String>,
}

fn descriptor() -> Descriptor {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("50-vhost-device-cuda.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn test_the_descriptor_has_what_the_schema_requires() {
    let descriptor = descriptor();
    assert!(!descriptor.description.is_empty() && !descriptor.kind.is_empty());
    assert!(Path::new(&descriptor.binary).is_absolute());
    assert!(descriptor.binary.ends_with("/vhost-device-cuda"));
    assert!(descriptor.tags.is_empty(), "tags are for debugging");
}

/// With --print-capabilities, the program ignores all other options. The printed type must match
/// the descriptor's.
#[test]
fn test_the_program_prints_the_capabilities_of_its_descriptor() {
    let exe = std::env::current_exe().unwrap();
    let program = exe.ancestors().nth(2).unwrap().join("vhost-device-cuda");
    let output = Command::new(&program)
        .args([
            "--socket-path",
            "/no/such/folder/socket",
            "--print-capabilities",
            "--no-such-option",
        ])
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}: cargo build --workspace", program.display()));
    assert!(output.status.success());
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(value["type"], descriptor().kind);
}
