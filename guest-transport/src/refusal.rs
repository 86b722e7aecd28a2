//! Explains why the device refuses a request: the limit, its value, and how to change it.

use std::path::Path;

use protocol::uapi::{
    Config, ERR_BUSY, ERR_EXISTS, ERR_INVALID, ERR_LIMIT, ERR_MEMORY, ERR_NO_SESSION,
    ERR_NO_WORKER, ERR_UNSUPPORTED,
};

/// A request that a limit of the host can refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Starts a session.
    Session,
    /// Lets the session's worker access pages of the program.
    Region,
    Other,
}

/// Explains the status with which the device refused a request. `config` contains the limits, if
/// they are known.
pub(crate) fn explain(request: Request, status: u32, config: Option<&Config>) -> String {
    let value = |of: fn(&Config) -> u64| config.map_or("unknown".into(), |c| of(c).to_string());
    match (request, status) {
        (Request::Session, ERR_LIMIT) => format!(
            "this VM may have {} sessions at once (the host's setting sessions.max), and only a few may \
             start at the same time; end other programs that use the GPU, or have the host's operator \
             raise it: vcudactl vm set NAME --sessions-max N",
            value(|config| config.max_sessions.into())
        ),
        (Request::Session, ERR_NO_WORKER) => {
            "the host couldn't start a worker for it, for example because the VM's memory.max has no room \
             for a context, or the VM's processes on the host have reached a limit; the host's operator \
             can see the reason with vcudactl events --since 10m"
                .into()
        }
        (Request::Region, ERR_LIMIT) => format!(
            "a session of this VM may pin {} bytes (the host's setting pinned.max) in {} regions, and no \
             more than the guest's memory; release pinned memory, or have the host's operator add the VM \
             with a higher pinned.max",
            value(|config| config.pinned_max),
            value(|config| config.max_regions.into())
        ),
        (Request::Region, ERR_MEMORY) => {
            "the host couldn't map the pages, for example because the VM's processes on the host have \
             reached memory.host_max, which the host's operator can raise"
                .into()
        }
        (_, ERR_BUSY) => "too many requests are in progress; try again later".into(),
        (_, ERR_NO_SESSION) => "the session has ended; the host's log says why".into(),
        (_, ERR_UNSUPPORTED) => {
            "the host doesn't support it; it may be of an earlier version than the guest".into()
        }
        (_, ERR_INVALID | ERR_EXISTS) => format!(
            "the host takes the request for invalid (status {status}); check that guest and host have \
             the same version"
        ),
        (_, ERR_LIMIT) => "it exceeds a limit of the host, whose log says which".into(),
        (_, ERR_MEMORY) => "the host couldn't map the pages".into(),
        _ => format!("status {status}, which this version doesn't know"),
    }
}

/// Explains the limits that the guest's driver enforces itself. The driver returns the same error
/// for them as for limits of the host. `parameters` is the directory with the driver's parameters.
/// Returns an empty text if the driver has no such limits.
pub(crate) fn explain_guest(request: Request, parameters: &Path) -> String {
    let value = |name: &str| {
        let text = std::fs::read_to_string(parameters.join(name)).ok()?;
        Some(text.trim().to_owned())
    };
    // Drivers without this parameter are older, and have no limits per user.
    let Some(share) = value("user_share") else { return String::new() };
    match request {
        Request::Session => format!(
            ". In this guest, a user without CAP_SYS_RESOURCE may have {share}% of them; root can raise \
             the parameter user_share of the driver virtio_cuda"
        ),
        Request::Region => {
            let locked = match value("memlock").as_deref() {
                Some("Y") => " RLIMIT_MEMLOCK applies, too (the parameter memlock).",
                _ => "",
            };
            let max = value("pinned_max").unwrap_or_else(|| "unknown".into());
            format!(
                ". In this guest, all programs together may pin {max} MiB (0 means any), and those of a \
                 user without CAP_SYS_RESOURCE {share}% of that.{locked} Root can raise the parameters \
                 pinned_max and user_share of the driver virtio_cuda"
            )
        }
        Request::Other => String::new(),
    }
}

/// Returns the status for which the kernel driver returns this error.
pub(crate) fn status_of(errno: i32) -> Option<u32> {
    match errno {
        libc::EDQUOT => Some(ERR_LIMIT),
        libc::EREMOTEIO => Some(ERR_NO_WORKER),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::plain::Plain;

    /// Every status is explained for every request, and the explanation of a limit contains its
    /// value and how to change it.
    #[test]
    fn every_status_is_explained() {
        let config =
            Config { max_sessions: 77, max_regions: 88, pinned_max: 99 << 20, ..Config::zeroed() };
        for request in [Request::Session, Request::Region, Request::Other] {
            for status in 1..=8 {
                let text = explain(request, status, Some(&config));
                assert!(
                    text.len() > 30 && !text.contains("unknown"),
                    "{request:?} {status}: {text}"
                );
            }
        }
        for (request, status, words) in [
            (Request::Session, ERR_LIMIT, &["77", "sessions.max", "vcudactl vm set"][..]),
            (Request::Session, ERR_NO_WORKER, &["memory.max", "vcudactl events"]),
            (Request::Region, ERR_LIMIT, &["103809024 bytes", "pinned.max", "operator"]),
            (Request::Region, ERR_MEMORY, &["memory.host_max", "operator"]),
        ] {
            let text = explain(request, status, Some(&config));
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
        }
        assert!(explain(Request::Other, 9, None).contains("status 9"));
    }

    /// For its own limits, the guest's driver returns the same error as for limits of the host, so
    /// the explanation contains both.
    #[test]
    fn the_guests_own_limits_are_explained_with_their_values() {
        let name = format!("virtio-cuda-parameters-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let explain = |request| explain_guest(request, &folder);
        for request in [Request::Session, Request::Region, Request::Other] {
            assert_eq!(explain(request), "");
        }
        std::fs::create_dir_all(&folder).unwrap();
        for (name, value) in [("user_share", "42\n"), ("pinned_max", "777\n"), ("memlock", "N\n")] {
            std::fs::write(folder.join(name), value).unwrap();
        }
        let text = explain(Request::Session);
        assert!(text.contains("42% of them") && text.contains("user_share"), "{text}");
        let text = explain(Request::Region);
        assert!(text.contains("777 MiB") && text.contains("42% of that. Root"), "{text}");
        std::fs::write(folder.join("memlock"), "Y\n").unwrap();
        let text = explain(Request::Region);
        assert!(text.contains("RLIMIT_MEMLOCK applies"), "{text}");
        assert_eq!(explain(Request::Other), "");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
