//! Encodes statistics for each scrape: in OpenMetrics, or in Prometheus' own text format for
//! clients that don't ask for OpenMetrics, such as `curl` in front of `promtool check metrics`.

use std::collections::HashSet;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode as encode_registry;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::model::{
    ComputeSpec, GpuSensors, GpuState, Stats, SwapState, VmGpuStats, VmStats, WaitReason,
};

/// Media type of OpenMetrics.
const OPEN_METRICS: &str = "application/openmetrics-text";

/// The formats of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus' text format 0.0.4.
    Prometheus,
}

impl Format {
    /// Returns the format for a client whose `Accept` header contains these media types.
    pub fn accepted(types: &str) -> Self {
        match types.contains(OPEN_METRICS) {
            true => Self::OpenMetrics,
            false => Self::Prometheus,
        }
    }

    /// Returns the value of the response's `Content-Type` header.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

type Labels = Vec<(&'static str, String)>;

/// Metrics for one scrape. By Prometheus convention, names end with the unit.
struct Page {
    registry: Registry,
}

impl Page {
    fn count(
        &mut self,
        name: &str,
        unit: Option<Unit>,
        help: &str,
        samples: impl Iterator<Item = (Labels, u64)>,
    ) {
        let family = Family::<Labels, Counter>::default();
        for (labels, value) in samples {
            family.get_or_create(&labels).inc_by(value);
        }
        match unit {
            Some(unit) => self.registry.register_with_unit(name, help, unit, family),
            None => self.registry.register(name, help, family),
        }
    }

    /// Adds a counter of nanoseconds, exported in seconds.
    fn time(&mut self, name: &str, help: &str, samples: impl Iterator<Item = (Labels, u64)>) {
        let family = Family::<Labels, Counter<f64, AtomicU64>>::default();
        for (labels, nanos) in samples {
            family.get_or_create(&labels).inc_by(seconds(nanos));
        }
        self.registry.register_with_unit(name, help, Unit::Seconds, family);
    }

    fn gauge(
        &mut self,
        name: &str,
        unit: Option<Unit>,
        help: &str,
        samples: impl Iterator<Item = (Labels, f64)>,
    ) {
        let family = Family::<Labels, Gauge<f64, AtomicU64>>::default();
        for (labels, value) in samples {
            family.get_or_create(&labels).set(value);
        }
        match unit {
            Some(unit) => self.registry.register_with_unit(name, help, unit, family),
            None => self.registry.register(name, help, family),
        }
    }
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Encodes all metrics.
pub fn encode(stats: &Stats, format: Format) -> String {
    let mut page = Page { registry: Registry::with_prefix("virtio_cuda") };
    about_memory(&mut page, stats);
    about_compute(&mut page, stats);
    about_vms(&mut page, stats);
    about_gpus(&mut page, stats);
    about_host(&mut page, stats);
    let mut text = String::new();
    if let Err(error) = encode_registry(&mut text, &page.registry) {
        tracing::error!("cannot encode the metrics: {error}");
    }
    match format {
        Format::OpenMetrics => text,
        Format::Prometheus => prometheus(&text),
    }
}

/// Converts metrics from OpenMetrics to Prometheus' text format: in the `# HELP` and `# TYPE`
/// lines, a counter's name includes `_total`, and there are no `# UNIT` lines and no `# EOF`. A
/// newline in a label is escaped, so each line is a comment or a sample.
fn prometheus(open_metrics: &str) -> String {
    let counters: HashSet<&str> = open_metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.strip_suffix(" counter"))
        .collect();
    let mut text = String::with_capacity(open_metrics.len());
    for line in open_metrics.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("UNIT" | "EOF"), ..) => continue,
            (Some("#"), Some(kind), Some(name), Some(rest)) if counters.contains(name) => {
                text.push_str(&format!("# {kind} {name}_total {rest}"));
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

/// Returns one sample per VM and GPU.
fn shares<'a, T: 'a>(
    stats: &'a Stats,
    value: impl Fn(&VmGpuStats) -> T + 'a,
) -> impl Iterator<Item = (Labels, T)> + 'a {
    let vms = stats.vms.iter().flat_map(|vm| vm.gpus.iter().map(move |gpu| (vm, gpu)));
    vms.map(move |(vm, gpu)| (share(vm, gpu), value(gpu)))
}

fn share(vm: &VmStats, gpu: &VmGpuStats) -> Labels {
    vec![("vm", vm.name.clone()), ("gpu", gpu.gpu.to_string())]
}

fn about_memory(page: &mut Page, stats: &Stats) {
    let bytes = || Some(Unit::Bytes);
    let used = shares(stats, |gpu| gpu.memory_used as f64);
    page.gauge("memory_used", bytes(), "Device memory that the VM's programs use", used);
    let charged = shares(stats, |gpu| gpu.memory_charged as f64);
    let help = "Device memory charged to the VM in the ledger";
    page.gauge("memory_charged", bytes(), help, charged);
    let resident = shares(stats, |gpu| gpu.memory_resident as f64);
    let help = "Part of the charged device memory that is on the GPU";
    page.gauge("memory_resident", bytes(), help, resident);
    let away = stats.vms.iter().map(|vm| {
        let is_away = vm.swap != SwapState::OnGpu;
        (vec![("vm", vm.name.clone())], f64::from(u8::from(is_away)))
    });
    let help = "1 if the VM's memory is away from its GPUs, or is leaving or returning";
    page.gauge("swapped_out", None, help, away);
    let limit = shares(stats, |gpu| gpu.memory_max as f64);
    page.gauge("memory_limit", bytes(), "Device memory limit of the VM", limit);
    let peak = shares(stats, |gpu| gpu.memory_peak as f64);
    page.gauge("memory_peak", bytes(), "Highest device memory charge of the VM", peak);
    let kinds = stats.vms.iter().flat_map(|vm| {
        vm.gpus.iter().flat_map(move |gpu| {
            gpu.memory_by_kind.iter().map(move |(kind, bytes)| {
                let mut labels = share(vm, gpu);
                labels.push(("kind", kind.clone()));
                (labels, *bytes as f64)
            })
        })
    });
    page.gauge("memory_kind", bytes(), "Device memory of the VM, by kind of charge", kinds);
    let integral = shares(stats, |gpu| gpu.memory_byte_seconds);
    let help = "Device memory charged to the VM, multiplied by the time for which it was charged";
    page.count("memory", Some(Unit::Other("byte_seconds".into())), help, integral);
    let driver = shares(stats, |gpu| gpu.memory_driver);
    let driver = driver.filter_map(|(labels, bytes)| bytes.map(|bytes| (labels, bytes as f64)));
    page.gauge(
        "memory_driver",
        bytes(),
        "Device memory that the driver reports for the VM",
        driver,
    );
    let rejected = shares(stats, |gpu| gpu.memory_rejected);
    page.count(
        "memory_rejected",
        None,
        "Allocations refused because they exceeded a quota",
        rejected,
    );
}

fn about_compute(page: &mut Page, stats: &Stats) {
    let time = shares(stats, |gpu| gpu.gpu_ns);
    page.time("gpu_time", "GPU time charged to the VM", time);
    let copied = shares(stats, |gpu| gpu.copied_ns);
    page.time("copy_time", "GPU time charged for copies during other VMs' windows", copied);
    let throttled = shares(stats, |gpu| gpu.throttled_ns);
    page.time("throttled", "Time that the VM's work waited for the GPU", throttled);
    let waits = stats.vms.iter().flat_map(|vm| {
        vm.gpus.iter().flat_map(move |gpu| {
            WaitReason::ALL.map(|reason| {
                let mut labels = share(vm, gpu);
                labels.push(("reason", reason.name().to_owned()));
                let waits = gpu.waits_for.as_ref().is_some_and(|wait| wait.reason == reason);
                (labels, f64::from(u8::from(waits)))
            })
        })
    });
    page.gauge("waiting", None, "1 for the reason why the VM's work waits now, else 0", waits);
    let evicted = shares(stats, |gpu| f64::from(u8::from(gpu.evicted)));
    page.gauge("evicted", None, "1 if the VM's kernels are off the GPU now", evicted);
    let windows = shares(stats, |gpu| gpu.windows);
    page.count("windows", None, "Scheduling windows given to the VM", windows);
    let handovers = shares(stats, |gpu| gpu.handovers);
    page.count("handovers", None, "Handovers of a GPU from this VM to another", handovers);
    let handover = shares(stats, |gpu| gpu.handover_ns);
    page.time("handover", "Total duration of handovers", handover);
    let longest = shares(stats, |gpu| seconds(gpu.handover_max_ns));
    page.gauge("handover_max", Some(Unit::Seconds), "Duration of the longest handover", longest);
    let evictions = shares(stats, |gpu| gpu.evictions);
    page.count(
        "evictions",
        None,
        "Times that the VM's kernels were evicted at the end of a window",
        evictions,
    );
    let debt = shares(stats, |gpu| seconds(gpu.debt_ns));
    page.gauge("debt", Some(Unit::Seconds), "GPU time used beyond the share and still owed", debt);
    let recent = shares(stats, |gpu| gpu.share_10s);
    page.gauge("share_ratio", None, "Share of GPU time over the last 10 seconds", recent);
    let promised = shares(stats, |gpu| gpu.share_promised);
    page.gauge("share_promised_ratio", None, "Share of GPU time if all VMs have work", promised);
    let settings = |value: fn(&ComputeSpec) -> f64| {
        stats.vms.iter().map(move |vm| (vec![("vm", vm.name.clone())], value(&vm.compute)))
    };
    let weight = settings(|compute| compute.weight.into());
    page.gauge("compute_weight", None, "The VM's compute.weight", weight);
    let least = settings(|compute| f64::from(compute.min.basis_points()) / 1e4);
    page.gauge("compute_min_ratio", None, "The VM's compute.min, from 0 to 1", least);
    let most = settings(|compute| f64::from(compute.max.basis_points()) / 1e4);
    page.gauge("compute_max_ratio", None, "The VM's compute.max, from 0 to 1", most);
    let timeouts = shares(stats, |gpu| gpu.kernel_timeouts);
    page.count("kernel_timeouts", None, "Kernels that ran longer than their timeout", timeouts);
}

fn about_vms(page: &mut Page, stats: &Stats) {
    let of = |vm: &VmStats| vec![("vm", vm.name.clone())];
    let each = |value: fn(&VmStats) -> u64| stats.vms.iter().map(move |vm| (of(vm), value(vm)));
    let level =
        |value: fn(&VmStats) -> u64| each(value).map(|(labels, value)| (labels, value as f64));
    page.count("launches", None, "Kernel launches", each(|vm| vm.activity.launches));
    let graphs = each(|vm| vm.activity.graph_launches);
    page.count("graph_launches", None, "Graph launches", graphs);
    page.count("calls", None, "CUDA calls executed", each(|vm| vm.activity.calls));
    let copied = stats.vms.iter().flat_map(|vm| {
        let directions = [
            ("host_to_device", vm.activity.bytes_h2d),
            ("device_to_host", vm.activity.bytes_d2h),
            ("device_to_device", vm.activity.bytes_d2d),
        ];
        directions.map(|(direction, bytes)| {
            (vec![("vm", vm.name.clone()), ("direction", direction.to_owned())], bytes)
        })
    });
    page.count("copied", Some(Unit::Bytes), "Bytes copied, by direction", copied);
    let depth = level(|vm| vm.activity.ring_depth);
    page.gauge(
        "ring_depth",
        Some(Unit::Bytes),
        "Bytes in the command rings that workers have not read yet",
        depth,
    );
    let sessions = level(|vm| vm.sessions.into());
    page.gauge("sessions", None, "Guest processes that use a GPU", sessions);
    let paused = level(|vm| vm.paused.into());
    page.gauge("paused", None, "1 if the VM is paused, and thus off its GPUs", paused);
    let failed = level(|vm| vm.failed.into());
    page.gauge("failed", None, "1 if the VM has failed, and thus is not served", failed);
    let limit = level(|vm| vm.sessions_max.into());
    page.gauge("sessions_limit", None, "Maximum number of sessions at once", limit);
    let refused = |reasons: fn(&VmStats) -> [(&'static str, u64); 2]| {
        stats.vms.iter().flat_map(move |vm| {
            reasons(vm).map(|(reason, count)| {
                (vec![("vm", vm.name.clone()), ("reason", reason.to_owned())], count)
            })
        })
    };
    let sessions = refused(|vm| {
        [("sessions_max", vm.refused.sessions_max), ("session_starts", vm.refused.session_starts)]
    });
    let help = "Sessions refused because of sessions.max or the rate limit on session starts";
    page.count("sessions_refused", None, help, sessions);
    let front_ends = refused(|vm| {
        [
            ("connections_max", vm.refused.connections_max),
            ("memory_not_sealed", vm.refused.memory_not_sealed),
        ]
    });
    let help = "Front ends refused because of connections.max, or of memory that is not sealed";
    page.count("connections_refused", None, help, front_ends);
    let connected = stats.vms.iter();
    let connected =
        connected.filter_map(|vm| vm.connections.map(|count| (of(vm), f64::from(count))));
    let help = "Connected front ends: VMMs, or programs without a VM";
    page.gauge("connections", None, help, connected);
    let limit = level(|vm| vm.connections_max.into());
    page.gauge("connections_limit", None, "Maximum number of front ends at once", limit);
    let started = each(|vm| vm.sessions_total);
    page.count("sessions_started", None, "Guest processes that have begun to use a GPU", started);
    let restarts = each(|vm| vm.device_restarts);
    let refused = stats.vms.iter().flat_map(|vm| {
        let kinds = [
            ("system call", vm.refused_calls.system_calls),
            ("driver operation", vm.refused_calls.driver_operations),
        ];
        kinds.map(|(kind, count)| (vec![("vm", vm.name.clone()), ("kind", kind.to_owned())], count))
    });
    let help = "Calls of workers that were refused because workers may not make them";
    page.count("refused_calls", None, help, refused);
    page.count("device_restarts", None, "Restarts of the VM's device process", restarts);
}

fn about_gpus(page: &mut Page, stats: &Stats) {
    let of = |gpu: u32| vec![("gpu", gpu.to_string())];
    let bytes = || Some(Unit::Bytes);
    let info = stats.gpus.iter().map(|gpu| {
        let mut labels = of(gpu.index);
        labels.push(("uuid", gpu.uuid.clone()));
        labels.push(("model", gpu.name.clone()));
        (labels, 1.0)
    });
    page.gauge("gpu_info", None, "The host's GPUs", info);
    let each = |value: fn(&super::model::GpuInfo) -> f64| {
        stats.gpus.iter().map(move |gpu| (of(gpu.index), value(gpu)))
    };
    let size = each(|gpu| gpu.memory_total as f64);
    page.gauge("gpu_memory_size", bytes(), "Memory of the GPU", size);
    let promised = each(|gpu| gpu.memory_promised as f64);
    page.gauge("gpu_memory_promised", bytes(), "Memory promised to VMs", promised);
    let used = each(|gpu| gpu.memory_used as f64);
    page.gauge("gpu_memory_used", bytes(), "Memory that the programs of VMs use", used);
    let differs = stats
        .gpus
        .iter()
        .filter_map(|gpu| gpu.memory_difference.map(|bytes| (of(gpu.index), bytes as f64)));
    let help = "Memory that the driver reports, minus the resident memory in the ledger and \
                the contexts of idle workers";
    page.gauge("gpu_ledger_difference", bytes(), help, differs);
    let excesses = stats.gpus.iter().map(|gpu| (of(gpu.index), gpu.memory_excesses));
    let help =
        "Number of times a worker held more memory than its charge in the ledger plus the slack";
    page.count("gpu_memory_excesses", None, help, excesses);
    let eviction = stats.gpus.iter().map(|gpu| (of(gpu.index), f64::from(u8::from(gpu.eviction))));
    let help = "1 if kernels that outlast their VM's window are taken off the GPU";
    page.gauge("gpu_eviction", None, help, eviction);
    let sensor = |value: fn(&GpuSensors) -> Option<f64>| {
        let gpus = stats.gpus.iter();
        gpus.filter_map(move |gpu| value(&gpu.sensors).map(|value| (of(gpu.index), value)))
    };
    let temperature = sensor(|sensors| sensors.temperature_celsius.map(f64::from));
    let celsius = Some(Unit::Celsius);
    page.gauge("gpu_temperature", celsius, "Temperature of the GPU", temperature);
    let power = sensor(|sensors| sensors.power_mw.map(|power| f64::from(power) / 1e3));
    let watts = Some(Unit::Other("watts".into()));
    page.gauge("gpu_power", watts, "Power consumption of the GPU", power);
    let hertz = || Some(Unit::Other("hertz".into()));
    let clock = sensor(|sensors| sensors.sm_clock_mhz.map(|clock| f64::from(clock) * 1e6));
    page.gauge("gpu_sm_clock", hertz(), "Clock of the GPU's multiprocessors", clock);
    let clock = sensor(|sensors| sensors.memory_clock_mhz.map(|clock| f64::from(clock) * 1e6));
    page.gauge("gpu_memory_clock", hertz(), "Clock of the GPU's memory", clock);
    let healthy = each(|gpu| if gpu.state == GpuState::Healthy { 1.0 } else { 0.0 });
    page.gauge("gpu_healthy", None, "1 if the GPU accepts new VMs, 0 if it had a fault", healthy);
    let faults = stats.gpus.iter().map(|gpu| (of(gpu.index), gpu.faults));
    page.count("gpu_faults", None, "Xids, ECC errors and losses of the GPU", faults);
}

fn about_host(page: &mut Page, stats: &Stats) {
    let workers = &stats.workers;
    let states =
        [("warm", workers.warm), ("assigned", workers.assigned), ("ending", workers.ending)];
    let states = states.map(|(state, count)| (vec![("state", state.to_owned())], count.into()));
    page.gauge("workers", None, "Worker processes", states.into_iter());
    let one = |value: u64| std::iter::once((Labels::new(), value));
    let started = one(workers.started_total);
    page.count("workers_started", None, "Worker processes started", started);
    let killed = one(workers.killed_total);
    page.count("workers_killed", None, "Worker processes that vcudad killed", killed);
    let restarts = one(stats.scheduler.restarts);
    page.count("scheduler_restarts", None, "Restarts of the scheduler thread", restarts);
    let begun = std::iter::once((Labels::new(), stats.started_ms as f64 / 1e3));
    let help = "Start time of vcudad, in Unix time";
    page.gauge("start_time", Some(Unit::Seconds), help, begun);
    let file = || stats.config.iter();
    let applied = file().map(|file| (Labels::new(), f64::from(u8::from(file.refused.is_none()))));
    let help =
        "1 if the configuration file was applied when vcudad last read it, 0 if it was refused";
    page.gauge("config_last_reload_successful", None, help, applied);
    let read = file().map(|file| (Labels::new(), file.read_ms as f64 / 1e3));
    let help = "Time when vcudad last read its configuration file, in Unix time";
    page.gauge("config_last_reload_time", Some(Unit::Seconds), help, read);
    let usage = stats.usage;
    let saved = usage.saved_ms.into_iter().map(|ms| (Labels::new(), ms as f64 / 1e3));
    let help = "Time when the usage of VMs was last saved, in Unix time";
    page.gauge("usage_last_save_time", Some(Unit::Seconds), help, saved);
    let help = "Number of times that the usage of VMs could not be saved";
    page.count("usage_save_failures", None, help, one(usage.failures));
    let help = "Files with the usage of VMs that could not be read and were set aside";
    page.count("usage_files_set_aside", None, help, one(usage.set_aside));
    let help = "Number of times that usage was not recorded because of too many VMs in the month";
    page.count("usage_dropped", None, help, one(usage.dropped));
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    let help = "Version of vcudad";
    page.gauge("build_info", None, help, std::iter::once((version, 1.0)));
}
