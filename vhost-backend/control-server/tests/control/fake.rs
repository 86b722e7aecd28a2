//! A fake broker that only stores VMs. It receives requests through the API's real channel.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;

use control_server::handle::{self, About, ControlInbox, Events, Reply, Request, Response};
use control_server::model::{
    Activity, ApiError, ConfigCheck, ConfigInfo, ErrorCode, EventKind, GpuInfo, GpuSensors,
    GpuState, PausedBy, Percent, SessionInfo, Stats, SwapState, UsageReport, UsageRow, UsageSaving,
    VmGpuStats, VmInfo, VmOrigin, VmSpec, VmState, VmStats,
};
use control_server::trace_point::Traces;
use control_server::{Server, ServerConfig, start};

/// A running API with a fake broker. Dropping it stops both.
pub struct Fake {
    pub socket: PathBuf,
    pub read: PathBuf,
    pub metrics: SocketAddr,
    pub events: Events,
    pub traces: Traces,
    pub folder: PathBuf,
    server: Option<Server>,
    end: Arc<AtomicBool>,
    service: Option<JoinHandle<()>>,
}

impl Fake {
    pub fn start() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir()
            .join(format!("virtio-cuda-control-{}-{number}", std::process::id()));
        // A killed test run may have left a directory with this name.
        let _ = std::fs::remove_dir_all(&folder);
        let (socket, read) = (folder.join("run/control.sock"), folder.join("run/read.sock"));
        let (handle, inbox) = handle::channel().unwrap();
        let (events, traces) = (inbox.events().clone(), inbox.traces().clone());
        std::fs::create_dir_all(folder.join("run")).unwrap();
        let config = ServerConfig {
            socket: Some(UnixListener::bind(&socket).unwrap()),
            read: Some(UnixListener::bind(&read).unwrap()),
            metrics_address: Some("127.0.0.1:0".parse().unwrap()),
        };
        let server = start(config, handle).unwrap();
        let end = Arc::new(AtomicBool::new(false));
        let ends = end.clone();
        let service = std::thread::spawn(move || serve(&inbox, &ends));
        let metrics = server.metrics_address().unwrap();
        let (server, service) = (Some(server), Some(service));
        Self { socket, read, metrics, events, traces, folder, server, end, service }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        drop(self.server.take());
        for socket in [&self.socket, &self.read] {
            assert!(UnixStream::connect(socket).is_err(), "the server must close {socket:?}");
        }
        self.end.store(true, Ordering::SeqCst);
        if let Some(service) = self.service.take() {
            service.join().unwrap();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn serve(inbox: &ControlInbox, end: &AtomicBool) {
    let mut vms = BTreeMap::new();
    while !end.load(Ordering::SeqCst) {
        let mut fds = libc::pollfd { fd: inbox.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: the count of 1 matches the single `pollfd`, which outlives the call.
        unsafe { libc::poll(&mut fds, 1, 20) };
        inbox.acknowledge();
        while let Some((request, answer)) = inbox.next() {
            let reply = handle(&mut vms, request, answer.uid(), inbox.events());
            answer.give(reply);
        }
    }
}

fn handle(
    vms: &mut BTreeMap<String, VmSpec>,
    request: Request,
    uid: Option<u32>,
    events: &Events,
) -> Reply {
    let find = |vms: &BTreeMap<String, VmSpec>, name: &str| {
        vms.get(name).cloned().ok_or_else(|| ApiError::no_vm(name))
    };
    match request {
        Request::AddVm(spec) => {
            if vms.contains_key(&spec.name) {
                let message = format!("there is a VM named '{}' already", spec.name);
                return Err(ApiError::new(ErrorCode::Conflict, message).of("name"));
            }
            let about = About { vm: Some(&spec.name), uid, ..About::default() };
            events.publish(EventKind::VmAdded, about, "added");
            vms.insert(spec.name.clone(), (*spec).clone());
            Ok(Response::Vm(Box::new(info(&spec))))
        }
        Request::ListVms => Ok(Response::Vms(vms.values().map(info).collect())),
        Request::ShowVm(name) => Ok(Response::Vm(Box::new(info(&find(vms, &name)?)))),
        Request::SetVm(name, patch) => {
            let changed = patch.applied(&find(vms, &name)?)?;
            changed.check()?;
            let answer = info(&changed);
            vms.insert(name, changed);
            Ok(Response::Vm(Box::new(answer)))
        }
        Request::ResetVm(name) | Request::RestartVm(name) | Request::RestoreVm(name) => {
            Ok(Response::Vm(Box::new(info(&find(vms, &name)?))))
        }
        Request::SetPaused(name, paused) => {
            let info = info(&find(vms, &name)?);
            let (state, paused_by) = match paused {
                true => (VmState::Paused, vec![PausedBy::Api]),
                false => (VmState::Running, Vec::new()),
            };
            Ok(Response::Vm(Box::new(VmInfo { state, paused_by, ..info })))
        }
        Request::SwapVm(name, out) => {
            let mut info = info(&find(vms, &name)?);
            info.stats.swap = if out { SwapState::Leaving } else { SwapState::OnGpu };
            Ok(Response::Vm(Box::new(info)))
        }
        Request::RemoveVm { name, if_idle: _ } => {
            vms.remove(&name).map(|_| Response::Done).ok_or_else(|| ApiError::no_vm(&name))
        }
        Request::ListSessions(vm) => {
            if let Some(vm) = &vm {
                find(vms, vm)?;
            }
            Ok(Response::Sessions(vms.keys().map(|vm| session(vm)).collect()))
        }
        Request::KillSession { vm, session } => {
            find(vms, &vm)?;
            if session == 1 { Ok(Response::Done) } else { Err(ApiError::no_session(&vm, session)) }
        }
        Request::ListGpus => Ok(Response::Gpus(vec![gpu()])),
        Request::CheckConfig(text) if text.contains("colour") => {
            Err(ApiError::new(ErrorCode::Invalid, "line 1: colour: unknown field"))
        }
        Request::CheckConfig(_) => Ok(Response::Checked(ConfigCheck { summary: "added a".into() })),
        Request::Trace => {
            let named = vms.keys().cloned();
            Ok(Response::TraceNames((1..).zip(named).collect()))
        }
        Request::Usage { since_ms } => Ok(Response::Usage(Box::new(UsageReport {
            time_ms: since_ms,
            rows: vms.keys().map(|vm| UsageRow { vm: vm.clone(), ..UsageRow::default() }).collect(),
            ..UsageReport::default()
        }))),
        Request::Stats | Request::Metrics => Ok(Response::Stats(Box::new(Stats {
            time_ms: handle::now_ms(),
            vms: vms.values().map(stats).collect(),
            gpus: vec![gpu()],
            usage: UsageSaving { saved_ms: Some(1_700_000_000_000), ..UsageSaving::default() },
            config: Some(ConfigInfo {
                read_ms: 1_700_000_000_000,
                applied_ms: None,
                refused: Some("line 3: colour: unknown field".into()),
            }),
            ..Stats::default()
        }))),
    }
}

fn info(spec: &VmSpec) -> VmInfo {
    VmInfo {
        name: spec.name.clone(),
        origin: VmOrigin::Api,
        state: VmState::Running,
        paused_by: Vec::new(),
        failure: None,
        differs_from_file: BTreeMap::new(),
        socket: spec.socket.clone().unwrap_or_default(),
        device_pid: Some(7),
        settings: spec.clone(),
        stats: stats(spec),
    }
}

fn stats(spec: &VmSpec) -> VmStats {
    VmStats {
        name: spec.name.clone(),
        sessions: 1,
        sessions_total: 3,
        activity: Activity { launches: 12_345, bytes_h2d: 1 << 40, ..Activity::default() },
        gpus: vec![VmGpuStats {
            uuid: gpu().uuid,
            memory_max: spec.memory.max,
            memory_used: 4096,
            memory_charged: 8192,
            memory_resident: 8192,
            memory_by_kind: [("context".to_owned(), 4096)].into(),
            memory_driver: Some(5000),
            gpu_ns: 1_500_000_000,
            copied_ns: 250_000_000,
            share_10s: 0.25,
            ..VmGpuStats::default()
        }],
        ..VmStats::default()
    }
}

fn session(vm: &str) -> SessionInfo {
    SessionInfo {
        vm: vm.to_owned(),
        id: 1,
        worker_pid: 8,
        started_ms: 1,
        memory: Vec::new(),
        guest_pid: 1,
        program: None,
        gpu_ns: 0,
        activity: Activity::default(),
    }
}

fn gpu() -> GpuInfo {
    GpuInfo {
        index: 0,
        uuid: "GPU-0b6f".into(),
        name: "A \"fast\" one\n".into(),
        pci_bus_id: "0000:01:00.0".into(),
        state: GpuState::Healthy,
        memory_total: 8 << 30,
        memory_reserved: 0,
        memory_promised: 1 << 30,
        memory_used: 4096,
        memory_charged: 8192,
        memory_resident: 8192,
        memory_driver: Some(5000),
        memory_difference: Some(904),
        memory_excesses: 1,
        compute_min: Percent::NONE,
        compute_weight: 100,
        faults: 0,
        last_fault: None,
        eviction: false,
        eviction_unavailable: Some("no NVIDIA device".into()),
        jail: false,
        jail_unavailable: Some("jail = \"off\"".into()),
        sensors: GpuSensors {
            temperature_celsius: Some(41),
            power_mw: Some(123_400),
            sm_clock_mhz: Some(1980),
            memory_clock_mhz: Some(2619),
        },
        vms: vec!["a".into()],
    }
}
