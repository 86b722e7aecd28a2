//! The `vm` commands.

use std::io::{self, Write};
use std::time::Duration;

use control_api::{
    ApiError, Class, ErrorCode, PausedBy, SETTINGS, SwapState, Values, VmGpuStats, VmInfo,
    VmOrigin, VmState, format_size,
};
use serde_json::json;

use super::output::Output;
use super::path::vm_path;
use crate::cli::{NAME, SetArgs, VmCommand};
use crate::client::Client;
use crate::error::CtlError;
use crate::table::{Side, Table, count, percent, printable, time, timestamp};
use crate::wait;

/// Maximum length of the reason for a failure in `vm ls`, in characters. `vm show` prints the whole
/// reason.
const MAX_REASON: usize = 40;

pub(super) async fn run(
    client: &Client,
    output: &Output,
    command: &VmCommand,
) -> Result<(), CtlError> {
    match command {
        VmCommand::Add(args) => {
            let spec = args.settings.spec(&args.name, 0)?;
            // The server also checks this. Checking here reports mistakes even if no server is
            // running.
            spec.check()?;
            let vm: VmInfo = client.post("/v1/vms", &spec).await?;
            warn_if_failed(output, &vm);
            warn_if_in_file(output, &vm);
            output.answer(&vm, |out| writeln!(out, "{}", vm.socket.display()))
        }
        VmCommand::Set(args) => set(client, output, args).await,
        VmCommand::Pause { names } => {
            each(output, names, async |name| act(client, output, name, "pause").await).await
        }
        VmCommand::Resume { names } => {
            each(output, names, async |name| act(client, output, name, "resume").await).await
        }
        VmCommand::SwapOut { names } => {
            each(output, names, async |name| swap(client, output, name, "swap-out").await).await
        }
        VmCommand::SwapIn { names } => {
            each(output, names, async |name| swap(client, output, name, "swap-in").await).await
        }
        VmCommand::Restart { names } => {
            each(output, names, async |name| act(client, output, name, "restart").await).await
        }
        VmCommand::Reset { names, to_file: _ } => {
            each(output, names, async |name| act(client, output, name, "reset").await).await
        }
        VmCommand::Rm { force, names } => {
            each(output, names, async |name| remove(client, output, name, *force).await).await
        }
        VmCommand::Restore { names } => {
            each(output, names, async |name| act(client, output, name, "restore").await).await
        }
        VmCommand::Ls(args) => {
            let vms: Vec<VmInfo> = client.get("/v1/vms").await?;
            // Leave out VMs that aren't added, because the list is used as input of other commands,
            // which need VMs that exist.
            let added = vms.iter().filter(|vm| vm.state != VmState::NotAdded);
            let names: Vec<String> = added.map(|vm| vm.name.clone()).collect();
            output.list(args, &vms, &names, |out, is_wide| list(&vms, is_wide, out))
        }
        VmCommand::Show { names } => {
            each(output, names, async |name| {
                let vm: VmInfo = client.get(&vm_path(name)?).await?;
                output.answer(&vm, |out| details(&vm, out))
            })
            .await
        }
    }
}

/// Runs a command for each of these VMs. If vcudad refuses it for one of several VMs, prints the
/// error and continues.
async fn each(
    output: &Output,
    names: &[String],
    command: impl AsyncFn(&str) -> Result<(), CtlError>,
) -> Result<(), CtlError> {
    if let [name] = names {
        return command(name).await;
    }
    let mut failed = 0;
    for name in names {
        match command(name).await {
            Ok(()) => {}
            Err(CtlError::Refused(error)) => {
                output.refused(name, &error);
                failed += 1;
            }
            // This isn't a refusal, but an error that would occur for the other VMs, too.
            Err(error) => return Err(error),
        }
    }
    match failed {
        0 => Ok(()),
        failed => Err(CtlError::Several { failed, all: names.len() }),
    }
}

async fn set(client: &Client, output: &Output, args: &SetArgs) -> Result<(), CtlError> {
    let vm: VmInfo = client.patch(&vm_path(&args.name)?, &args.change.0).await?;
    warn_if_failed(output, &vm);
    output.answer(&vm, |_| Ok(()))
}

/// Removes a VM. Warns if the configuration file still contains the VM.
async fn remove(client: &Client, output: &Output, name: &str, force: bool) -> Result<(), CtlError> {
    let path = vm_path(name)?;
    // With this parameter, vcudad refuses to remove a VM that has sessions. A vcudad of the
    // previous release ignores the parameter and removes the VM.
    let query = if force { "" } else { "?if_idle=true" };
    client.delete(&format!("{path}{query}")).await?;
    if let Ok(vm) = client.get::<VmInfo>(&path).await
        && vm.state == VmState::NotAdded
    {
        let text = format!(
            "VM '{name}' is still in the configuration file, but stays removed; to bring it back with \
             the file's settings, run {NAME} vm restore {name}"
        );
        output.warn(&text);
    }
    output.answer(&json!({"removed": name}), |_| Ok(()))
}

/// Warns if a VM that was added has the same name as a VM in the configuration file, because it
/// doesn't get the settings in that file.
fn warn_if_in_file(output: &Output, vm: &VmInfo) {
    if vm.differs_from_file.is_empty() {
        return;
    }
    let name = &vm.name;
    let keys: Vec<&str> = vm.differs_from_file.keys().map(String::as_str).collect();
    let text = format!(
        "VM '{name}' is also in the configuration file, with other values of {}; to use those, run \
         {NAME} vm rm {name} and {NAME} vm restore {name}",
        keys.join(", ")
    );
    output.warn(&text);
}

/// Performs an action on a VM, such as a pause. Warns if the VM is still paused after it was
/// resumed.
async fn act(client: &Client, output: &Output, name: &str, action: &str) -> Result<(), CtlError> {
    let vm: VmInfo = client.act(&format!("{}/{action}", vm_path(name)?)).await?;
    warn_if_failed(output, &vm);
    if action == "resume" && vm.state == VmState::Paused {
        let text = format!("VM '{}' is still paused by {}", vm.name, pausers(&vm));
        output.warn(&text);
    }
    output.answer(&vm, |_| Ok(()))
}

/// How often to query a VM whose memory is moving.
const SWAP_CHECK: Duration = Duration::from_millis(50);

/// Takes a VM's memory off its GPUs, or puts it back, and waits until the move has ended. vcudad
/// gives up on a swap-out that takes too long. A swap-in has no time limit.
async fn swap(client: &Client, output: &Output, name: &str, action: &str) -> Result<(), CtlError> {
    let path = vm_path(name)?;
    let mut vm: VmInfo = client.act(&format!("{path}/{action}")).await?;
    while matches!(vm.stats.swap, SwapState::Leaving | SwapState::Returning) {
        tokio::time::sleep(SWAP_CHECK).await;
        vm = client.get(&path).await?;
    }
    let message = match (action, vm.stats.swap) {
        ("swap-out", SwapState::OnGpu) => format!(
            "the memory of VM '{name}' is on its GPUs: it couldn't leave, or had to return at once; \
             for the reason, run {NAME} events --since 1m"
        ),
        ("swap-in", SwapState::Away) => format!(
            "the memory of VM '{name}' can't return yet, and vcudad will keep trying; for the \
             reason, run {NAME} events --since 1m"
        ),
        _ => return output.answer(&vm, |_| Ok(())),
    };
    Err(ApiError::new(ErrorCode::Conflict, message).into())
}

/// Warns if the VM's settings were saved, but the VM isn't running because of a failure.
fn warn_if_failed(output: &Output, vm: &VmInfo) {
    if vm.state == VmState::Failed {
        let (name, reason) = (&vm.name, vm.failure.as_deref().unwrap_or("see vcudad's log"));
        let text = format!(
            "VM '{name}' has failed ({reason}); its settings are saved and take effect once it is \
             restarted: {NAME} vm restart {name}"
        );
        output.warn(&text);
    }
}

fn class_name(class: Class) -> &'static str {
    match class {
        Class::Batch => "batch",
        Class::Latency => "latency",
    }
}

fn list(vms: &[VmInfo], is_wide: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(&[
        ("NAME", Side::Left),
        ("STATE", Side::Left),
        ("VMM", Side::Left),
        ("GPU", Side::Left),
        ("MEMORY", Side::Right),
        ("MAX", Side::Right),
        ("WEIGHT", Side::Right),
        ("CAP", Side::Right),
        ("MIN", Side::Right),
        ("SHARE", Side::Right),
        ("CLASS", Side::Left),
        ("SESSIONS", Side::Right),
    ]);
    if is_wide {
        table.widen(&[
            ("ORIGIN", Side::Left),
            ("PID", Side::Right),
            ("PEAK", Side::Right),
            ("WAITED", Side::Right),
            ("LAUNCHES", Side::Right),
            ("SOCKET", Side::Left),
        ]);
    }
    for vm in vms {
        let gpus = &vm.stats.gpus;
        let numbers: Vec<String> = gpus.iter().map(|gpu| gpu.gpu.to_string()).collect();
        let sum =
            |value: fn(&VmGpuStats) -> u64| gpus.iter().map(value).fold(0, u64::saturating_add);
        // `Iterator::sum` isn't suitable, because it returns -0.0 for an empty list.
        let share = gpus.iter().fold(0.0, |sum, gpu| sum + gpu.share_10s);
        let share = share / gpus.len().max(1) as f64;
        let compute = &vm.settings.compute;
        table.row([
            vm.name.clone(),
            short_state(vm),
            connected(vm),
            numbers.join(","),
            format_size(sum(|gpu| gpu.memory_used)),
            format_size(sum(|gpu| gpu.memory_max)),
            compute.weight.to_string(),
            compute.max.to_string(),
            compute.min.to_string(),
            percent(share),
            class_name(vm.settings.class).to_owned(),
            vm.stats.sessions.to_string(),
        ]);
        if is_wide {
            let origin = match vm.origin {
                VmOrigin::File => "file",
                VmOrigin::Api => "api",
            };
            table.widen_row([
                origin.to_owned(),
                vm.device_pid.map_or("-".into(), |pid| pid.to_string()),
                format_size(sum(|gpu| gpu.memory_peak)),
                time(sum(|gpu| gpu.throttled_ns)),
                count(vm.stats.activity.launches as f64),
                vm.socket.display().to_string(),
            ]);
        }
    }
    let mut out = out;
    table.print(&mut out)
}

/// Returns text that says whether a VMM is connected, or how many front ends are.
fn connected(vm: &VmInfo) -> String {
    match vm.stats.connections {
        None => "?".into(),
        Some(0) => "no".into(),
        Some(1) => "yes".into(),
        Some(count) => count.to_string(),
    }
}

fn state(vm: &VmInfo) -> &'static str {
    match vm.state {
        VmState::Running => match vm.stats.swap {
            SwapState::OnGpu => "running",
            SwapState::Leaving => "swapping out",
            SwapState::Away => "swapped out",
            SwapState::Returning => "swapping in",
        },
        VmState::Paused => "paused",
        VmState::Failed => "failed",
        VmState::NotAdded => "not added",
    }
}

/// Returns the names of those who have paused a VM, such as the control API.
pub(super) fn pausers(vm: &VmInfo) -> String {
    let names = vm.paused_by.iter().map(|by| match by {
        PausedBy::Api => "the control API",
        PausedBy::Vmm => "the VMM",
    });
    names.collect::<Vec<_>>().join(" and ")
}

/// Returns the state for a column of a table. If the VM has failed, this includes the beginning of
/// the reason.
fn short_state(vm: &VmInfo) -> String {
    let Some(reason) = &vm.failure else { return state(vm).to_owned() };
    let mut short: String = reason.chars().take(MAX_REASON).collect();
    if short.len() < reason.len() {
        short.push('…');
    }
    format!("{}: {short}", state(vm))
}

fn details(vm: &VmInfo, out: &mut dyn Write) -> io::Result<()> {
    let settings = &vm.settings;
    let mut line = |name: &str, value: String| writeln!(out, "{name:<23} {}", printable(&value));
    line("name", vm.name.clone())?;
    let origin = match vm.origin {
        VmOrigin::File => "the configuration file",
        VmOrigin::Api => "the control API",
    };
    line("origin", origin.into())?;
    let pid = vm.device_pid.map(|pid| format!(", process {pid}")).unwrap_or_default();
    let reason = vm.failure.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    line("state", format!("{}{pid}{reason}", state(vm)))?;
    if !vm.paused_by.is_empty() {
        line("paused by", pausers(vm))?;
    }
    line("socket", vm.socket.display().to_string())?;
    let values = Values::of(settings).0;
    // Leave out the name and the socket, which were printed above. The settings don't contain the
    // socket if it has the default path.
    for setting in SETTINGS.iter().filter(|setting| !["name", "socket"].contains(&setting.key)) {
        let text = values.get(setting.key).and_then(|value| setting.text(value));
        text.map_or(Ok(()), |text| line(setting.key, text))?;
    }
    for (key, value) in &vm.differs_from_file {
        let file = value.file.as_deref().unwrap_or("unset");
        let since = match value.since_ms {
            Some(since) => format!("; changed with vm set at {}", timestamp(since)),
            None => String::new(),
        };
        line("differs from the file", format!("{key} ({file} in the file{since})"))?;
    }
    let stats = &vm.stats;
    let most = settings.sessions.max.map(|max| format!(" of {max}")).unwrap_or_default();
    let front_ends = match stats.connections {
        None => "unknown until the device process is restarted".into(),
        Some(0) => "none: no VMM is connected".into(),
        Some(count) => format!("{count} of {} connected", stats.connections_max),
    };
    line("front ends", front_ends)?;
    line("sessions", format!("{}{most}, {} in total", stats.sessions, stats.sessions_total))?;
    line("launches", stats.activity.launches.to_string())?;
    let refused = stats.refused;
    for (name, count) in [
        ("refused sessions", refused.sessions_max + refused.session_starts),
        ("refused front ends", refused.connections_max + refused.memory_not_sealed),
    ] {
        if count > 0 {
            line(name, count.to_string())?;
        }
    }
    let refused = stats.refused_calls;
    if refused != Default::default() {
        let (calls, operations) = (refused.system_calls, refused.driver_operations);
        line("refused calls", format!("{calls} system calls, {operations} driver operations"))?;
    }
    for gpu in &stats.gpus {
        writeln!(out, "GPU {} ({})", gpu.gpu, printable(&gpu.uuid))?;
        let mut line =
            |name: &str, value: String| writeln!(out, "  {name:<21} {}", printable(&value));
        line("memory", {
            let (used, max) = (format_size(gpu.memory_used), format_size(gpu.memory_max));
            format!("{used} of {max}, peak {}", format_size(gpu.memory_peak))
        })?;
        line("  charged", format_size(gpu.memory_charged))?;
        if gpu.memory_resident < gpu.memory_charged {
            line("  on the GPU", format_size(gpu.memory_resident))?;
        }
        for (kind, bytes) in gpu.memory_by_kind.iter().filter(|(_, bytes)| **bytes > 0) {
            line(&format!("  {kind}"), format_size(*bytes))?;
        }
        line("refused allocations", gpu.memory_rejected.to_string())?;
        let shares =
            format!("{} over 1 s, {} over 10 s", percent(gpu.share_1s), percent(gpu.share_10s));
        line("share", format!("{shares}, {} promised", percent(gpu.share_promised)))?;
        line("GPU time", time(gpu.gpu_ns))?;
        line("  concurrent copies", time(gpu.copied_ns))?;
        line("waited", time(gpu.throttled_ns))?;
        if let Some(waiting) = &gpu.waits_for {
            line("waits for", wait::reason(waiting, &stats.compute))?;
        }
        if gpu.evicted {
            line("kernels", "evicted".into())?;
        }
        line("windows", gpu.windows.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use control_api::VmStats;

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn options_become_settings() {
        let words = "vcudactl vm add web --memory-max 4G --gpus 0,GPU-12ab --compute-weight 30 \
            --compute-max 25% --class latency --uid 61300 --compute-kernel-timeout 2s";
        let cli = Cli::try_parse_from(words.split_whitespace()).unwrap();
        let Command::Vm(VmCommand::Add(args)) = cli.command else { panic!() };
        let spec = args.settings.spec(&args.name, 0).unwrap();
        spec.check().unwrap();
        let json = json!({
            "name": "web", "gpus": ["0", "GPU-12ab"], "memory": {"max": 4u64 << 30},
            "compute": {"weight": 30, "max": "25%", "min": "0%", "kernel_timeout": "2s"},
            "class": "latency", "sharing": "exclusive", "uid": 61300,
        });
        assert_eq!(serde_json::to_value(&spec).unwrap(), json);
    }

    #[test]
    fn every_setting_that_has_a_value_is_shown() {
        let words = "vcudactl vm add web --memory-max 4G --gpus 0,GPU-12ab --memory-session-max 1536M \
            --sharing mps --mps-active-thread-percentage 12.5% --cpu-max 1000 --pids-max 9 --uid 7 \
            --host-memory-max 2G --env-allow CUDA_LAUNCH_BLOCKING --socket-group 0 \
            --compute-kernel-timeout 2s --mps-pinned-memory-limit 2G --socket-path /run/web";
        let cli = Cli::try_parse_from(words.split_whitespace()).unwrap();
        let Command::Vm(VmCommand::Add(args)) = cli.command else { panic!() };
        let spec = args.settings.spec(&args.name, 0).unwrap().with_defaults();
        let info = json!({
            "name": "web", "origin": "api", "state": "running", "socket": "/run/web",
            "settings": spec, "stats": VmStats::default(),
        });
        let mut text = Vec::new();
        details(&serde_json::from_value(info).unwrap(), &mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for setting in SETTINGS {
            let shown = |line: &str| line.split(' ').next() == Some(setting.key);
            assert_eq!(text.lines().filter(|line| shown(line)).count(), 1, "{}", setting.key);
        }
        for line in ["gpus                    0,GPU-12ab", "memory.session_max      1.50G"] {
            assert!(text.lines().any(|shown| shown == line), "{line}: {text}");
        }
    }

    #[test]
    fn a_patch_holds_only_the_given_options() {
        let words = "vcudactl vm set web --compute-kernel-timeout none --class batch";
        let cli = Cli::try_parse_from(words.split_whitespace()).unwrap();
        let Command::Vm(VmCommand::Set(args)) = cli.command else { panic!() };
        let json = json!({"compute": {"kernel_timeout": null}, "class": "batch"});
        assert_eq!(serde_json::to_value(&args.change.0).unwrap(), json);
    }
}
