//! Explains why the device refuses a request: the limit, its value, and how to change it.

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

/// Explains a status of a refused request. `config` has the limits, if they are known.
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
             for a context; the host's operator can see the reason with vcudactl events --since 10m"
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
             reached memory.host_max, which its operator can raise"
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

    /// Every status is explained for every request, and those of limits with the value and the remedy.
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
}
