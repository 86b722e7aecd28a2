//! The command line and the REST request for cloud-hypervisor. vcuda-run only prints them; it
//! doesn't start cloud-hypervisor.
//!
//! The command line and the request follow docs/generic-vhost-user.md, `GenericVhostUserConfig`,
//! and the OpenAPI description in cloud-hypervisor 53. In version 52, `device_type` is called
//! `virtio_id`.

use serde::{Deserialize, Serialize};

use crate::error::{RunError, existing};
use crate::options::Options;
use crate::process::shell_word;
use crate::qemu;

/// Number of entries of each queue, a power of two.
pub const QUEUE_SIZE: u16 = 256;

/// The socket of cloud-hypervisor's REST API.
const API_SOCKET: &str = "/run/cloud-hypervisor.sock";
/// The REST endpoint that attaches a device.
const ADD: &str = "http://localhost/api/v1/vm.add-generic-vhost-user";

/// The body of `PUT /api/v1/vm.add-generic-vhost-user`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GenericVhostUser {
    /// The device's socket.
    pub socket: String,
    /// Number of entries of each queue.
    pub queue_sizes: Vec<u16>,
    /// The virtio device id.
    pub device_type: u32,
    /// The ID by which the VMM identifies the device.
    pub id: String,
}

impl GenericVhostUser {
    /// Describes the virtio-cuda device on `socket`.
    pub fn new(socket: &str, device_type: u32) -> GenericVhostUser {
        GenericVhostUser {
            socket: socket.into(),
            queue_sizes: vec![QUEUE_SIZE; qemu::QUEUES as usize],
            device_type,
            id: "cuda0".into(),
        }
    }

    /// Returns the value for `--generic-vhost-user`. `type_key` is the key for the device type,
    /// which depends on the cloud-hypervisor version.
    pub fn argument(&self, type_key: &str) -> String {
        // Quote a path that contains special characters, and double the quotes in it.
        let socket = match self.socket.contains([',', '"', '[', ']']) {
            true => format!("\"{}\"", self.socket.replace('"', "\"\"")),
            false => self.socket.clone(),
        };
        let sizes = self.queue_sizes.iter().map(u16::to_string).collect::<Vec<_>>().join(",");
        format!(
            "socket={socket},{type_key}={},queue_sizes=[{sizes}],id={}",
            self.device_type, self.id
        )
    }

    /// Returns the REST body.
    pub fn body(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Returns the complete command line.
pub fn arguments(options: &Options, device: &GenericVhostUser, type_key: &str) -> Vec<String> {
    let show = |path: &Option<std::path::PathBuf>, other: &str| {
        path.as_ref().map_or(other.to_string(), |path| path.display().to_string())
    };
    let mut words = vec![
        "cloud-hypervisor".into(),
        "--cpus".into(),
        format!("boot={}", options.cpus),
        "--memory".into(),
        // The device maps guest memory, so that memory must be shared.
        format!("size={}M,shared=on", options.mem >> 20),
        "--kernel".into(),
        show(&options.kernel, "vmlinux"),
    ];
    let mut cmdline = "console=ttyS0".to_string();
    match (&options.disk, &options.initrd) {
        (Some(disk), _) => {
            words.extend(["--disk".into(), format!("path={}", disk.display())]);
            cmdline.push_str(" root=LABEL=vcuda-root");
        }
        (None, Some(initrd)) => words.extend(["--initramfs".into(), initrd.display().to_string()]),
        (None, None) => {}
    }
    if let Some(more) = &options.append {
        cmdline = format!("{cmdline} {more}");
    }
    words.extend(["--cmdline".into(), cmdline]);
    words.extend(
        ["--serial", "tty", "--console", "off", "--api-socket", &format!("path={API_SOCKET}")]
            .map(String::from),
    );
    words.extend(["--generic-vhost-user".into(), device.argument(type_key)]);
    words
}

/// Returns the output of `--vmm cloud-hypervisor --print`.
pub fn describe(options: &Options) -> Result<String, RunError> {
    let Some(socket) = &options.socket else {
        return Err(RunError::Usage("--vmm cloud-hypervisor needs --socket PATH".into()));
    };
    let socket = std::path::absolute(socket)
        .map_err(RunError::host(format!("--socket: '{}'", socket.display())))?;
    for (option, path) in
        [("--kernel", &options.kernel), ("--disk", &options.disk), ("--initrd", &options.initrd)]
    {
        if let Some(path) = path {
            existing(option, path)?;
        }
    }
    let device = GenericVhostUser::new(&socket.to_string_lossy(), options.device_id);
    let line = |type_key| {
        let words = arguments(options, &device, type_key);
        words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
    };
    Ok(format!(
        "# cloud-hypervisor 53 or newer\n{}\n\n# cloud-hypervisor 52\n{}\n\n\
         # attach the device to a running VM (with shared=on) over REST; for version 52, replace device_type with virtio_id\n\
         curl --unix-socket {API_SOCKET} -i -X PUT {ADD} -H 'Content-Type: application/json' -d {}\n",
        line("device_type"),
        line("virtio_id"),
        shell_word(&device.body())
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn options(line: &str) -> Options {
        Options::parse_line(line.split(' ').map(OsString::from)).unwrap()
    }

    /// The list contains the keys documented for versions 52 and 53.
    #[test]
    fn test_the_option_has_only_documented_keys() {
        let value = GenericVhostUser::new("/run/vm0.sock", 38).argument("device_type");
        assert_eq!(value, "socket=/run/vm0.sock,device_type=38,queue_sizes=[256,256,256],id=cuda0");
        let documented = [
            "device_type",
            "virtio_id",
            "queue_sizes",
            "socket",
            "id",
            "pci_segment",
            "pci_device_id",
        ];
        let flat = value.replace("[256,256,256]", "[]");
        for pair in flat.split(',') {
            let (key, _) = pair.split_once('=').unwrap();
            assert!(documented.contains(&key), "{key}");
        }
        assert!(QUEUE_SIZE.is_power_of_two());
    }

    #[test]
    fn test_a_socket_with_commas_is_quoted() {
        let value = GenericVhostUser::new("/a,\"b", 38).argument("device_type");
        assert!(value.starts_with("socket=\"/a,\"\"b\",device_type=38,"));
    }

    /// In the OpenAPI description, `GenericVhostUserConfig` requires queue_sizes (an array of
    /// uint16), socket, and device_type.
    #[test]
    fn test_the_body_has_what_the_api_requires() {
        let body = GenericVhostUser::new("/run/vm0.sock", 38).body();
        let value: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!(value["socket"], "/run/vm0.sock");
        assert_eq!(value["device_type"], 38);
        assert_eq!(value["queue_sizes"], serde_json::json!([256, 256, 256]));
    }

    #[test]
    fn test_memory_is_shared() {
        let options = options("vcuda-run --vmm cloud-hypervisor --print --socket /s --mem 8G");
        let text = describe(&options).unwrap();
        assert!(text.contains("--memory size=8192M,shared=on"));
        assert!(text.contains("'socket=/s,device_type=38,queue_sizes=[256,256,256],id=cuda0'"));
        assert!(text.contains("virtio_id=38") && text.contains("vm.add-generic-vhost-user"));
    }
}
