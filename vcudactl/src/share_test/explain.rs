//! Explains why a VM's share can't be tested, or why a step of a test has failed: the limit that
//! was reached, its value, and what to do.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;

use control_api::{VmInfo, VmState, format_size};

use super::child::Failure;
use crate::cli::NAME;
use crate::cuda::is_root;
use crate::wait;

/// The error CUDA_ERROR_OUT_OF_MEMORY.
const OUT_OF_MEMORY: i32 = 2;
/// The error CUDA_ERROR_LAUNCH_TIMEOUT.
const LAUNCH_TIMEOUT: i32 = 702;

/// Returns the reason why no program can run in the VM now, if there is one. `pausers` contains the
/// names of those who have paused the VM.
pub(crate) fn cannot_run(vm: &VmInfo, pausers: &str) -> Option<String> {
    let name = &vm.name;
    let reason = || vm.failure.as_deref().unwrap_or("see vcudad's log");
    match vm.state {
        VmState::Running => None,
        VmState::Paused => Some(format!(
            "VM '{name}' is paused by {pausers}, so the program would wait; run {NAME} vm resume {name}, \
             or let the VMM continue"
        )),
        VmState::Failed => Some(format!(
            "VM '{name}' has failed: {}; remove the cause, and run {NAME} vm restart {name}",
            reason()
        )),
        VmState::NotAdded => Some(format!("vcudad doesn't serve VM '{name}': {}", reason())),
    }
}

/// Returns the probable cause of a failure, and what to do. `before` and `after` are the states of
/// the VM before and after the test.
pub(crate) fn explain(failure: &Failure, before: &VmInfo, after: &VmInfo) -> String {
    let name = &after.name;
    let (was, is) = (&before.stats.refused, &after.stats.refused);
    if is.memory_not_sealed > was.memory_not_sealed {
        return "the VMM's memory isn't sealed, so only one front end can be connected; stop the VM for \
                the test, or use memory-backend-memfd"
            .into();
    }
    if is.connections_max > was.connections_max {
        let max = after.stats.connections_max;
        return format!(
            "as many front ends are connected as connections.max permits ({max}); disconnect one, or \
             raise it"
        );
    }
    if is.sessions_max > was.sessions_max {
        let max = after.stats.sessions_max;
        return format!(
            "as many programs use a GPU as sessions.max permits ({max}); end one of them ({NAME} session \
             ls --vm {name}), or run {NAME} vm set {name} --sessions-max N"
        );
    }
    if is.session_starts > was.session_starts {
        return "too many sessions of the VM start at once; try again later".into();
    }
    let rejected = |vm: &VmInfo| vm.stats.gpus.iter().map(|gpu| gpu.memory_rejected).sum::<u64>();
    if failure.code == OUT_OF_MEMORY || rejected(after) > rejected(before) {
        let index = failure.gpu.and_then(|gpu| usize::try_from(gpu).ok()).unwrap_or(0);
        let Some(gpu) = before.stats.gpus.get(index) else { return look(name) };
        let (used, max) = (format_size(gpu.memory_used), format_size(gpu.memory_max));
        let per_session = match after.settings.memory.session_max {
            Some(max) => format!(" and of memory.session_max ({})", format_size(max)),
            None => String::new(),
        };
        return format!(
            "before the test, the VM used {used} of memory.max ({max}) on GPU {}; the program needs \
             room for a context and 8M more{per_session}; run {NAME} vm set {name} --memory-max SIZE",
            gpu.gpu
        );
    }
    if failure.code == LAUNCH_TIMEOUT {
        return format!(
            "the kernel ran longer than compute.kernel_timeout; see {NAME} vm show {name}"
        );
    }
    let mode = std::fs::metadata(&after.socket).map_or(0o777, |meta| meta.mode());
    if failure.step == "connect" && is_root() && mode & 0o020 == 0 {
        return format!(
            "the test program runs as nobody with the group of {}, which may not connect to it \
             (socket_mode)",
            after.socket.display()
        );
    }
    if failure.step == "connect"
        && let Err(error) = UnixStream::connect(&after.socket)
    {
        let path = after.socket.display();
        return match error.kind() {
            ErrorKind::PermissionDenied => {
                format!("you may not connect to {path}; use sudo, or join its group (socket_group)")
            }
            _ => format!(
                "nothing listens on {path} ({error}); see {NAME} events --vm {name} --since 10m"
            ),
        };
    }
    let waiting = after.stats.gpus.iter().find_map(|gpu| {
        let waits = wait::reason(gpu.waits_for.as_ref()?, &after.stats.compute);
        Some(format!("on GPU {}, the VM waits for: {waits}; {}", gpu.gpu, look(name)))
    });
    waiting.unwrap_or_else(|| look(name))
}

fn look(name: &str) -> String {
    format!("see {NAME} events --vm {name} --since 10m, and journalctl -u vcudad")
}
