//! Compares the Rust mirror with the C header. A C program prints the values that the compiler
//! takes from the header, and each line is compared with the mirror.

use std::mem::{offset_of, size_of};
use std::process::Command;
use virtio_cuda_protocol::uapi::*;

/// Returns C expressions, with the values that they must have according to the Rust mirror.
fn expectations() -> Vec<(String, u64)> {
    let mut all: Vec<(String, u64)> = Vec::new();
    macro_rules! constants { ($($name:ident)*) => { $(
        all.push((concat!("VIRTIO_CUDA_", stringify!($name)).into(), $name as u64));
    )* } }
    constants! {
        MAGIC VERSION_MAJOR VERSION_MINOR QUEUE_CONTROL QUEUE_EVENT QUEUE_COMMAND NUM_QUEUES
        CAP_RING CAP_PINNED CAP_USER CTRL_HELLO CTRL_SESSION_CREATE CTRL_SESSION_DESTROY
        CTRL_REGION_ATTACH CTRL_REGION_DETACH OK ERR_INVALID ERR_NO_SESSION ERR_EXISTS ERR_LIMIT
        ERR_NO_WORKER ERR_UNSUPPORTED ERR_MEMORY ERR_BUSY ENV_MAX IOC_ENV_MAX REGION_RING REGION_PINNED
        REGION_USER EVENT_WAKE EVENT_ENDED ENDED_DESTROYED ENDED_PROTOCOL ENDED_WORKER ENDED_HOST
        CMD_DOORBELL CMD_SUBMIT RING_HEADER_BYTES RING_MIN_BYTES RING_MAX_BYTES CMD_MAX_BYTES
        CMD_WAITED IOC_TYPE IOC_INFO IOC_START IOC_ALLOC IOC_PIN IOC_RELEASE IOC_KICK IOC_WAIT
        IOC_SUBMIT IOC_QUERY CAP_QUERY CAP_FILES CTRL_QUERY QUERY_MAX GPU_ECC GPU_PEER_SHIFT UTILIZATION_NONE SLEEPS_ALL
        SLOWED_KNOWN SLOWED_BY_CAP SLOWED_BY_TURNS SLOWED_BY_PAUSE LIMIT_NONE
        SLEEPS_FULL REPLY_DONE REPLY_OUTPUT
    }
    macro_rules! structs { ($($rust:ident $c:literal { $($field:ident $cfield:literal)* })*) => { $(
        all.push((concat!("sizeof(struct virtio_cuda_", $c, ")").into(), size_of::<$rust>() as u64));
        $( all.push((
            concat!("offsetof(struct virtio_cuda_", $c, ", ", $cfield, ")").into(),
            offset_of!($rust, $field) as u64,
        )); )*
    )* } }
    structs! {
        Config "config" { magic "magic" version_major "version_major" version_minor "version_minor"
            capabilities "capabilities" max_sessions "max_sessions" max_regions "max_regions"
            max_segments "max_segments" pinned_max "pinned_max" max_plain "max_plain"
            reserved "reserved" }
        Hdr "hdr" { kind "type" session "session" }
        Resp "resp" { status "status" len "len" }
        Hello "hello" { hdr "hdr" epoch "epoch" version_major "version_major"
            version_minor "version_minor" reserved "reserved" }
        SessionCreate "session_create" { hdr "hdr" pid "pid" env_len "env_len" }
        SessionDestroy "session_destroy" { hdr "hdr" }
        Segment "segment" { addr "addr" len "len" }
        RegionAttach "region_attach" { hdr "hdr" region "region" kind "kind" vaddr "vaddr"
            len "len" ring_bytes "ring_bytes" nr_segments "nr_segments" }
        RegionDetach "region_detach" { hdr "hdr" region "region" reserved "reserved" }
        Query "query" { hdr "hdr" reserved "reserved" }
        Facts "facts" { gpus "gpus" gpu_bytes "gpu_bytes" processes "processes"
            process_bytes "process_bytes" cuda_version "cuda_version"
            module_loading "module_loading" driver "driver" }
        Gpu "gpu" { uuid "uuid" name "name" pci_bus_id "pci_bus_id" memory_total "memory_total"
            memory_used "memory_used" utilization "utilization" flags "flags"
            compute_major "compute_major" compute_minor "compute_minor"
            multiprocessors "multiprocessors" clock_khz "clock_khz"
            memory_clock_khz "memory_clock_khz" memory_bus_bits "memory_bus_bits"
            pci_device "pci_device" pci_subsystem "pci_subsystem"
            pcie_link_max "pcie_link_max" pcie_link "pcie_link" nvlinks "nvlinks" }
        Attributes "attributes" { known "known" values "values" }
        Process "process" { pid "pid" session "session" gpu "gpu" reserved "reserved"
            memory_used "memory_used" }
        GpuUse "gpu_use" { slowed "slowed" reserved "reserved" }
        Limits "limits" { session_max "session_max" host_max "host_max" pids_max "pids_max" }
        ProcessUse "process_use" { utilization "utilization" reserved "reserved" }
        Event "event" { kind "type" session "session" value "value" reserved "reserved" }
        Ring "ring" { tail "tail" guest_sleeps "guest_sleeps" head "head"
            host_sleeps "host_sleeps" posted_error "posted_error" host_func "host_func"
            host_funcs_begun "host_funcs_begun" turn_ns "turn_ns"
            host_funcs_ended "host_funcs_ended" }
        Cmd "cmd" { len "len" opcode "opcode" flags "flags" thread "thread" ctx "ctx"
            reply "reply" reply_len "reply_len" }
        Reply "reply" { state "state" result "result" len "len" posted_error "posted_error" }
        IocInfo "ioc_info" { config "config" }
        IocStart "ioc_start" { env "env" env_len "env_len" ring_bytes "ring_bytes"
            arena_bytes "arena_bytes" mmap_offset "mmap_offset" session "session"
            reserved "reserved" }
        IocAlloc "ioc_alloc" { vaddr "vaddr" len "len" mmap_offset "mmap_offset" region "region"
            reserved "reserved" }
        IocPin "ioc_pin" { vaddr "vaddr" len "len" region "region" reserved "reserved" }
        IocRelease "ioc_release" { region "region" reserved "reserved" }
        IocWait "ioc_wait" { seen "seen" timeout_ms "timeout_ms" }
        IocSubmit "ioc_submit" { cmd "cmd" reply "reply" cmd_len "cmd_len" reply_len "reply_len" }
        IocQuery "ioc_query" { answer "answer" answer_len "answer_len" reserved "reserved" }
    }
    all
}

#[test]
fn mirror_matches_the_header() {
    let expected = expectations();
    let prints: String = expected
        .iter()
        .map(|(expr, _)| format!("printf(\"%llu\\n\", (unsigned long long)({expr}));\n"))
        .collect();
    let program = format!(
        "#include <stddef.h>\n#include <stdio.h>\n#include <uapi/virtio_cuda.h>\n\
         int main(void) {{\n{prints}return 0;\n}}\n"
    );
    let dir = std::env::temp_dir().join(format!("virtio-cuda-header-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let source = dir.join("header.c");
    std::fs::write(&source, program).unwrap();
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    let built = Command::new("cc")
        .args(["-Wall", "-Werror", "-I", include, "-o"])
        .arg(dir.join("header"))
        .arg(&source)
        .output()
        .expect("cc runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let output = Command::new(dir.join("header")).output().unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for ((expr, rust), c) in expected.iter().zip(text.lines()) {
        assert_eq!(*rust, c.parse::<u64>().unwrap(), "{expr}");
    }
    assert_eq!(text.lines().count(), expected.len());
}
