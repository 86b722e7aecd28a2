//! Finds out whether vcudad is stopped, by SIGSTOP or a debugger. The socket of a stopped vcudad
//! still accepts connections, but requests get no response.

use std::path::Path;

const VCUDAD: &str = "vcudad";

/// The entry of a process in /proc.
struct Entry {
    name: String,
    is_stopped: bool,
    parent: u32,
}

/// Returns the process ID of the vcudad to which a socket belongs, if that vcudad is stopped.
/// `listener` is the process that has opened the socket: vcudad itself, a child of vcudad, or a
/// spawner to which vcudad has connected.
pub(crate) fn stopped_vcudad(proc: &Path, listener: u32) -> Option<u32> {
    let parent = entry(proc, listener).map(|entry| entry.parent);
    let is_vcudad = |id: &u32| entry(proc, *id).is_some_and(|entry| entry.name == VCUDAD);
    let vcudad = std::iter::once(listener).chain(parent).find(is_vcudad);
    let vcudad = vcudad.or_else(|| {
        let spawner = option(&arguments(proc, listener), "--listen")?;
        let ids = std::fs::read_dir(proc).ok()?.flatten();
        let mut ids = ids.filter_map(|name| name.file_name().to_str()?.parse().ok());
        ids.find(|id| {
            is_vcudad(id) && option(&arguments(proc, *id), "--spawner").as_ref() == Some(&spawner)
        })
    });
    vcudad.filter(|id| entry(proc, *id).is_some_and(|entry| entry.is_stopped))
}

/// Returns the arguments of a process.
fn arguments(proc: &Path, id: u32) -> Vec<String> {
    let text = std::fs::read(proc.join(id.to_string()).join("cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&text).split('\0').map(str::to_owned).collect()
}

/// Returns the value of a command line option, which is the next argument or follows `=`.
fn option(arguments: &[String], name: &str) -> Option<String> {
    let mut arguments = arguments.iter();
    let found = arguments.find_map(|word| word.strip_prefix(name))?;
    found.strip_prefix('=').or(arguments.next().map(String::as_str)).map(str::to_owned)
}

fn entry(proc: &Path, id: u32) -> Option<Entry> {
    // The format is `ID (NAME) STATE PARENT …`. The name may contain spaces and parentheses, so
    // search for the last closing one.
    let text = std::fs::read(proc.join(id.to_string()).join("stat")).ok()?;
    let text = String::from_utf8_lossy(&text);
    let (start, rest) = text.rsplit_once(')')?;
    let (_, name) = start.split_once('(')?;
    let mut words = rest.split_whitespace();
    let is_stopped = matches!(words.next()?, "T" | "t");
    Some(Entry { name: name.into(), is_stopped, parent: words.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_vcudad_of_the_socket_counts() {
        let folder =
            std::env::temp_dir().join(format!("virtio-cuda-ctl-stopped-{}", std::process::id()));
        for (id, stat, arguments) in [
            (1, "1 (systemd) S 0 1", "init"),
            (10, "10 (vcudad) T 1 10", "vcudad\0--config\0a"),
            (11, "11 (vhost-cuda-spaw) S 10 10", "vhost-cuda-spawner\0--calls-fd\x003"),
            (20, "20 (vcudad) S 1 20", "vcudad\0--spawner\0/run/a"),
            (21, "21 (a) b (c) S 20 20", "a"),
            (30, "30 (vhost-cuda-spaw) S 1 30", "vhost-cuda-spawner\0--listen\0/run/a\0"),
            (40, "40 (vcudad) t 1 40", "vcudad\0--spawner=/run/b\0--config\0b\0"),
            (41, "41 (vhost-cuda-spaw) S 1 41", "vhost-cuda-spawner\0--listen=/run/b\0"),
        ] {
            let folder = folder.join(id.to_string());
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("stat"), stat).unwrap();
            std::fs::write(folder.join("cmdline"), arguments).unwrap();
        }
        let find = |listener| stopped_vcudad(&folder, listener);
        assert_eq!([10, 11, 40, 41].map(find), [Some(10), Some(10), Some(40), Some(40)]);
        assert_eq!([20, 21, 30, 99].map(find), [None; 4]);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
