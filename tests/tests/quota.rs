//! memory.max: what a guest sees of it, and that it holds.

use virtio_cuda_tests::{A, B, Host};

fn allocation(host: &Host, vm: virtio_cuda_tests::Vm, size: &str) -> String {
    let output = host.run(vm, "deviceinfo", &["alloc", size]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_guest_sees_its_quota_as_the_devices_memory() {
    let host = Host::start(&[A, B]);
    assert_eq!(host.memory(A).1, 2048);
    assert_eq!(host.memory(B).1, 3072);
}

#[test]
fn an_allocation_past_the_quota_is_refused_and_the_program_goes_on() {
    let host = Host::start(&[A, B]);
    assert!(allocation(&host, A, "1G").contains("granted"));
    assert!(allocation(&host, A, "2049M").contains("refused (cudaErrorMemoryAllocation)"));
    assert!(allocation(&host, B, "2049M").contains("granted"));
}

#[test]
fn the_quota_is_the_vms_and_not_the_processs() {
    let host = Host::start(&[A]);
    let (free, _) = host.memory(A);
    let (mut first, _) = host.spawn(A, "spin", &["hold=1024", "idle", "3"]);
    let with_first = host.memory(A).0;
    assert!(with_first + 1024 <= free, "{with_first} of {free}");
    assert!(allocation(&host, A, &format!("{}M", with_first + 2)).contains("refused"));
    assert!(first.wait().unwrap().success());
    assert_eq!(host.memory(A).0, free);
}

#[test]
fn programs_that_use_all_there_is_get_exactly_the_quota() {
    let host = Host::start(&[A]);
    let output = host.run(A, "outofmemory", &[]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
}

#[test]
fn every_way_of_taking_memory_is_charged_and_threads_at_once_get_no_more_than_there_is() {
    let host = Host::start(&[A]);
    let output = host.run(A, "../quota/memoryquota", &["2048"]);
    assert!(output.status.success(), "{output:?}\n{}", host.log());
}
