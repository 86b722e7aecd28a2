//! Checks `/metrics` against the rules of the text format and the queries in the dashboard.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::net::TcpStream;

use control_api::{ComputeSpec, Percent, Stats, VmGpuStats, VmStats, Wait, WaitReason};
use control_server::metrics::{Format, encode};
use serde_json::{Value, json};

use crate::client::{Answer, answer, ask, connect};
use crate::fake::Fake;

/// A parsed page: metric families with their kinds, and samples with their labels.
#[derive(Default)]
struct Page {
    kinds: HashMap<String, String>,
    helps: HashSet<String>,
    units: HashMap<String, String>,
    samples: Vec<(String, String, f64)>,
}

fn is_name(name: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == ':');
    first && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
}

/// Checks labels in the format `a="b",c="d"`.
fn check_labels(mut text: &str) {
    while !text.is_empty() {
        let (name, rest) = text.split_once("=\"").unwrap_or_else(|| panic!("labels: {text}"));
        assert!(is_name(name) && !name.contains(':'), "{name}");
        let mut end = None;
        let mut characters = rest.char_indices();
        while let Some((at, c)) = characters.next() {
            match c {
                '\\' => {
                    let (_, escaped) = characters.next().unwrap();
                    assert!(['\\', '"', 'n'].contains(&escaped), "{text}");
                }
                '"' => {
                    end = Some(at);
                    break;
                }
                _ => {}
            }
        }
        let rest = &rest[end.unwrap_or_else(|| panic!("no end: {text}")) + 1..];
        text = if rest.is_empty() { rest } else { rest.strip_prefix(',').unwrap() };
    }
}

fn parse(text: &str) -> Page {
    let mut page = Page::default();
    let body = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
    for line in body.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (what, name, rest) = (words.next(), words.next(), words.next());
            let (name, rest) = (name.unwrap().to_owned(), rest.unwrap_or_default().to_owned());
            assert!(is_name(&name), "{line}");
            match what.unwrap() {
                "HELP" => assert!(!rest.is_empty() && page.helps.insert(name), "{line}"),
                "TYPE" => assert!(page.kinds.insert(name, rest).is_none(), "{line}"),
                "UNIT" => {
                    assert!(name.ends_with(&format!("_{rest}")), "{line}");
                    page.units.insert(name, rest);
                }
                _ => panic!("{line}"),
            }
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').unwrap()),
            None => (series, ""),
        };
        assert!(is_name(name), "{line}");
        check_labels(labels);
        let family = name.strip_suffix("_total").unwrap_or(name);
        let kind = page.kinds.get(family).or(page.kinds.get(name)).map(String::as_str);
        match kind.unwrap_or_else(|| panic!("no TYPE before {line}")) {
            "counter" => assert!(name.ends_with("_total") && value >= 0.0, "{line}"),
            "gauge" => {}
            other => panic!("{other}"),
        }
        assert!(page.helps.contains(family) || page.helps.contains(name), "{line}");
        page.samples.push((name.to_owned(), labels.to_owned(), value));
    }
    let series: HashSet<_> = page.samples.iter().map(|(name, labels, _)| (name, labels)).collect();
    assert_eq!(series.len(), page.samples.len(), "a series occurs twice");
    page
}

/// A part of the `Accept` header that Prometheus sends.
const ACCEPT: &str =
    "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3";

fn scrape(fake: &Fake, accept: &str) -> Answer {
    let mut stream = connect(&fake.socket);
    let head = format!("host: x\r\naccept: {accept}\r\nconnection: close");
    write!(stream, "GET /metrics HTTP/1.1\r\n{head}\r\n\r\n").unwrap();
    answer(stream)
}

fn fake() -> Fake {
    let fake = Fake::start();
    let body = json!({"name": "web", "memory": {"max": 1u64 << 30}});
    assert_eq!(ask(&fake.socket, "POST", "/v1/vms", &body.to_string()).status, 201);
    fake
}

fn page() -> Page {
    let scraped = scrape(&fake(), ACCEPT);
    assert!(scraped.head.contains("content-type: application/openmetrics-text"), "{scraped:?}");
    parse(&scraped.body)
}

/// Both formats have the same samples. In Prometheus' text format, a family of counters has the
/// same name as its samples.
#[test]
fn clients_that_do_not_accept_open_metrics_get_prometheus_text_format() {
    let fake = fake();
    let open = scrape(&fake, ACCEPT).body;
    for accept in ["*/*", "text/plain"] {
        let scraped = scrape(&fake, accept);
        assert!(scraped.head.contains("content-type: text/plain; version=0.0.4"), "{scraped:?}");
        let samples = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with('#'));
            lines.map(str::to_owned).collect::<HashSet<_>>()
        };
        assert_eq!(samples(&scraped.body), samples(&open));
        let mut family = "";
        for line in scraped.body.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                family = rest.split(' ').next().unwrap();
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert_eq!(name, family);
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            } else {
                assert_eq!(line.split(['{', ' ']).next(), Some(family), "{line}");
            }
        }
    }
}

#[test]
fn metrics_follow_the_format_and_have_the_expected_values() {
    let page = page();
    let value = |name: &str, labels: &str| {
        let found = page.samples.iter().find(|sample| sample.0 == name && sample.1 == labels);
        found.unwrap_or_else(|| panic!("no {name}{{{labels}}}")).2
    };
    let share = "vm=\"web\",gpu=\"0\"";
    assert_eq!(value("virtio_cuda_memory_used_bytes", share), 4096.0);
    assert_eq!(value("virtio_cuda_memory_limit_bytes", share), (1u64 << 30) as f64);
    assert_eq!(value("virtio_cuda_gpu_time_seconds_total", share), 1.5);
    assert_eq!(value("virtio_cuda_launches_total", "vm=\"web\""), 12_345.0);
    assert_eq!(value("virtio_cuda_config_last_reload_successful", ""), 0.0);
    assert_eq!(value("virtio_cuda_config_last_reload_time_seconds", ""), 1.7e9);
    let copied = "vm=\"web\",direction=\"host_to_device\"";
    assert_eq!(value("virtio_cuda_copied_bytes_total", copied), (1u64 << 40) as f64);
    assert_eq!(value("virtio_cuda_gpu_ledger_difference_bytes", "gpu=\"0\""), 904.0);
    for name in [
        "memory_rejected_total",
        "throttled_seconds_total",
        "windows_total",
        "handovers_total",
        "handover_seconds_total",
        "ring_depth_bytes",
        "sessions",
        "device_restarts_total",
        "refused_calls_total",
        "workers",
        "scheduler_restarts_total",
        "gpu_faults_total",
    ] {
        let name = format!("virtio_cuda_{name}");
        assert!(page.samples.iter().any(|sample| sample.0 == name), "no {name}");
    }
}

#[test]
fn a_vm_waits_for_at_most_one_reason() {
    let vm = |name: &str, waits_for: Option<Wait>, evicted: bool| VmStats {
        name: name.into(),
        compute: ComputeSpec {
            weight: 300,
            max: Percent::from_basis_points(1250),
            min: Percent::from_basis_points(500),
            ..ComputeSpec::default()
        },
        gpus: vec![VmGpuStats { waits_for, evicted, share_promised: 0.75, ..Default::default() }],
        ..VmStats::default()
    };
    // In this test, each VM's name is the reason for which it waits.
    let waiting = |reason: WaitReason| {
        let wait = Wait { reason, vm: Some("other".into()) };
        vm(reason.name(), Some(wait), reason == WaitReason::Turn)
    };
    let mut vms: Vec<VmStats> = WaitReason::ALL.into_iter().map(waiting).collect();
    vms.push(vm("busy", None, false));
    let page = parse(&encode(&Stats { vms, ..Stats::default() }, Format::OpenMetrics));
    let value = |name: &str, labels: &str| {
        let name = format!("virtio_cuda_{name}");
        let mut found = page.samples.iter().filter(|one| one.0 == name && one.1 == labels);
        let value = found.next().unwrap_or_else(|| panic!("no {name}{{{labels}}}")).2;
        assert!(found.next().is_none(), "{name}{{{labels}}} twice");
        value
    };
    for vm in WaitReason::ALL.map(WaitReason::name).into_iter().chain(["busy"]) {
        for reason in WaitReason::ALL.map(WaitReason::name) {
            let labels = format!("vm=\"{vm}\",gpu=\"0\",reason=\"{reason}\"");
            assert_eq!(value("waiting", &labels), f64::from(vm == reason), "{labels}");
        }
        let share = format!("vm=\"{vm}\",gpu=\"0\"");
        assert_eq!(value("evicted", &share), f64::from(vm == "turn"), "{vm}");
        assert_eq!(value("share_promised_ratio", &share), 0.75);
        let whole = format!("vm=\"{vm}\"");
        let compute = ["compute_weight", "compute_max_ratio", "compute_min_ratio"];
        assert_eq!(compute.map(|name| value(name, &whole)), [300.0, 0.125, 0.05]);
    }
}

#[test]
fn the_loopback_address_serves_only_metrics() {
    let fake = Fake::start();
    let ask = |method: &str, path: &str| {
        let mut stream = TcpStream::connect(fake.metrics).unwrap();
        let text = format!("{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(text.as_bytes()).unwrap();
        answer(stream)
    };
    let scraped = ask("GET", "/metrics");
    assert_eq!(scraped.status, 200);
    assert!(scraped.body.contains("\nvirtio_cuda_workers{"), "{scraped:?}");
    // Other requests on the metrics address are refused. The error's message names `/metrics`,
    // which exists there, and not `/openapi.json`, which doesn't.
    for (method, path, status) in
        [("GET", "/v1/vms", 404), ("GET", "/openapi.json", 404), ("DELETE", "/metrics", 405)]
    {
        let refused = ask(method, path);
        assert_eq!(refused.status, status, "{method} {path}: {refused:?}");
        let says = refused.json()["message"].as_str().unwrap().to_owned();
        assert!(says.contains("/metrics") && !says.contains("openapi"), "{says}");
    }
}

/// Returns the metric names in a query.
fn names(query: &str) -> impl Iterator<Item = &str> {
    query
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'))
        .filter(|word| word.starts_with("virtio_cuda_"))
}

#[test]
fn the_dashboard_queries_only_existing_metrics() {
    let page = page();
    let exist: HashSet<&str> = page.samples.iter().map(|sample| sample.0.as_str()).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana/virtio-cuda.json");
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut asked = 0;
    let mut look = |query: &str| {
        for name in names(query) {
            assert!(exist.contains(name), "{name} in {query}");
            asked += 1;
        }
    };
    let mut ids = HashSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "two panels have the same ID");
        assert!(panel["title"].is_string());
        for target in panel["targets"].as_array().into_iter().flatten() {
            look(target["expr"].as_str().unwrap());
        }
    }
    for variable in dashboard["templating"]["list"].as_array().unwrap() {
        if let Some(query) = variable["query"]["query"].as_str() {
            look(query);
        }
    }
    assert!(asked >= 15, "{asked}");
}

#[test]
fn the_alert_rules_query_only_existing_metrics() {
    let page = page();
    let exist: HashSet<&str> = page.samples.iter().map(|sample| sample.0.as_str()).collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/prometheus/virtio-cuda.yaml");
    let rules = std::fs::read_to_string(path).unwrap();
    let mut asked = 0;
    // In the rules file, only names of metrics begin with the prefix that `names` searches for.
    for name in names(&rules) {
        assert!(exist.contains(name), "{name}");
        asked += 1;
    }
    let count = |key: &str| rules.lines().filter(|line| line.trim().starts_with(key)).count();
    let alerts: HashSet<&str> =
        rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() >= 12 && asked >= alerts.len(), "{asked}");
    // tests/api.sh runs the test cases in this file. Check that there is a case for each alert.
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/prometheus/alerts.yaml");
    let cases = std::fs::read_to_string(path).unwrap();
    let tested: HashSet<&str> =
        cases.lines().filter_map(|line| line.trim().strip_prefix("alertname: ")).collect();
    assert_eq!(tested, alerts, "alerts with test cases, and all alerts");
    for key in ["- alert: ", "expr: ", "severity: ", "summary: ", "description: "] {
        assert_eq!(count(key), alerts.len(), "{key}");
    }
}

#[test]
fn sensors_are_in_base_units() {
    let page = page();
    for (name, value) in [
        ("gpu_temperature_celsius", 41.0),
        ("gpu_power_watts", 123.4),
        ("gpu_sm_clock_hertz", 1.98e9),
        ("gpu_memory_clock_hertz", 2.619e9),
    ] {
        let name = format!("virtio_cuda_{name}");
        let found: Vec<_> = page.samples.iter().filter(|(of, ..)| *of == name).collect();
        assert!(!found.is_empty() && found.iter().all(|sample| sample.2 == value), "{found:?}");
    }
}
