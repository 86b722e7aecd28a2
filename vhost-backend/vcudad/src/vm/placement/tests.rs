//! Tests for placement: which GPUs are chosen, and which VMs are refused.

use proptest::prelude::*;

use super::*;

const GIB: u64 = 1 << 30;

fn room(index: u32, memory: u64, promised: u64, weights: u64) -> Capacity {
    Capacity {
        gpu: GpuId(index),
        uuid: format!("GPU-{index}"),
        memory,
        memory_promised: promised,
        time: 10_000,
        time_promised: 0,
        weights,
        faulty: false,
    }
}

fn demand(memory: u64, min: u32) -> Demand {
    Demand { memory, min: Percent::from_basis_points(min) }
}

fn any(count: usize) -> Vec<GpuRequest> {
    vec![GpuRequest::Any; count]
}

#[test]
fn any_takes_an_idle_gpu_first_and_then_the_tightest_fit() {
    let capacities = [room(0, 80 * GIB, 0, 100), room(1, 80 * GIB, 0, 0), room(2, 40 * GIB, 0, 0)];
    let placed = |memory| place(&capacities, &any(1), &demand(memory, 0)).unwrap();
    assert_eq!(placed(10 * GIB), [GpuId(2)]);
    assert_eq!(placed(50 * GIB), [GpuId(1)]);
    let all = place(&capacities, &any(3), &demand(GIB, 0)).unwrap();
    assert_eq!(all, [GpuId(2), GpuId(1), GpuId(0)]);
}

#[test]
fn named_gpus_keep_their_position_and_any_avoids_them() {
    let capacities = [room(0, GIB, 0, 0), room(1, GIB, 0, 0), room(2, GIB, 0, 50)];
    let requests = [GpuRequest::Any, GpuRequest::Uuid("gpu-1".into()), GpuRequest::Index(0)];
    let placed = place(&capacities, &requests, &demand(GIB, 0)).unwrap();
    assert_eq!(placed, [GpuId(2), GpuId(1), GpuId(0)]);
}

#[test]
fn a_vm_that_does_not_fit_is_refused_with_the_numbers() {
    let capacities = [room(0, 10 * GIB, 8 * GIB, 0)];
    let refused =
        |requests: &[GpuRequest], wants| place(&capacities, requests, &wants).unwrap_err();
    let error = refused(&any(1), demand(3 * GIB, 0));
    assert_eq!((error.field(), error.is_full()), ("memory.max", true));
    assert_eq!(
        error.to_string(),
        "3G does not fit: GPU 0 has 2G left to promise. Lower memory.max, or raise memory.overcommit"
    );
    // Sizes that look the same when rounded to three digits are printed exactly.
    let rooms = [room(0, 3 * GIB - 1, 0, 0)];
    let says = place(&rooms, &any(1), &demand(3 * GIB + 2, 0)).unwrap_err().to_string();
    assert!(says.contains("3221225474 bytes") && says.contains("3221225471 bytes"), "{says}");
    let error = refused(&[GpuRequest::Index(0)], demand(u64::MAX, 0));
    assert!(matches!(error, PlacementError::Memory { .. }), "{error}");
    let error = refused(&[GpuRequest::Index(1)], demand(GIB, 0));
    assert_eq!(error.to_string(), "there is no GPU 1: this host has one GPU, index 0");
    let error = refused(&any(2), demand(GIB, 0));
    assert_eq!(error.to_string(), "2 GPUs are requested, but this host has one");
    let twice = [room(0, GIB, 0, 0), room(1, GIB, 0, 0)];
    let same = [GpuRequest::Index(0), GpuRequest::Uuid("GPU-0".into())];
    let error = place(&twice, &same, &demand(1, 0)).unwrap_err();
    assert_eq!(error, PlacementError::Twice { gpu: GpuId(0) });
}

#[test]
fn guarantees_add_up_to_at_most_the_whole_gpu() {
    let mut capacities = [room(0, GIB, 0, 0)];
    capacities[0].time_promised = 7_000;
    assert!(place(&capacities, &any(1), &demand(1, 3_000)).is_ok());
    let error = place(&capacities, &any(1), &demand(1, 3_001)).unwrap_err();
    assert_eq!((error.field(), error.is_full()), ("compute.min", true));
    let says = error.to_string();
    assert!(says.contains("30.01% does not fit: GPU 0 has 30% left to guarantee"), "{says}");
    // VMs without a guarantee fit on any GPU, even if more time is guaranteed than the GPU has.
    capacities[0].time_promised = 12_000;
    assert!(place(&capacities, &any(1), &demand(1, 0)).is_ok());
}

#[test]
fn a_gpu_with_a_fault_gets_no_vm() {
    let mut capacities = [room(0, GIB, 0, 0), room(1, GIB, 0, 500)];
    capacities[0].faulty = true;
    assert_eq!(place(&capacities, &any(1), &demand(1, 0)), Ok(vec![GpuId(1)]));
    let error = place(&capacities, &[GpuRequest::Index(0)], &demand(1, 0)).unwrap_err();
    assert_eq!(error, PlacementError::Faulty { gpu: GpuId(0) });
}

fn a_room() -> impl Strategy<Value = Capacity> {
    (0u64..64, 0u64..80, 0u64..15_000, 0u64..1000, prop::bool::weighted(0.2)).prop_map(
        |(memory, promised, time, weights, faulty)| Capacity {
            time_promised: time,
            faulty,
            ..room(0, memory, promised, weights)
        },
    )
}

proptest! {
    /// A placed VM gets the requested number of different healthy GPUs, and each of them has room
    /// for it. A VM that requests `any` is refused only if too few GPUs have room.
    #[test]
    fn placement_keeps_its_promises(
        capacities in prop::collection::vec(a_room(), 1..8),
        named in prop::collection::vec(prop::option::of(0u32..9), 1..5),
        memory in 0u64..64,
        min in 0u32..10_001,
    ) {
        let mut capacities = capacities;
        for (index, room) in capacities.iter_mut().enumerate() {
            room.gpu = GpuId(index as u32);
            room.uuid = format!("GPU-{index}");
        }
        let request = |named: &Option<u32>| named.map_or(GpuRequest::Any, GpuRequest::Index);
        let requests: Vec<GpuRequest> = named.iter().map(request).collect();
        let wants = demand(memory, min);
        match place(&capacities, &requests, &wants) {
            Ok(placed) => {
                prop_assert_eq!(placed.len(), requests.len());
                for (place, gpu) in placed.iter().enumerate() {
                    prop_assert!(!placed[..place].contains(gpu));
                    let room = &capacities[gpu.0 as usize];
                    prop_assert!(!room.faulty);
                    prop_assert!(room.memory_promised + memory <= room.memory);
                    prop_assert!(min == 0 || room.time_promised + u64::from(min) <= room.time);
                    prop_assert!(named[place].is_none_or(|index| index == gpu.0));
                }
            }
            Err(PlacementError::NoneFits(_)) => {
                let fits = capacities.iter().filter(|room| room.check(&wants).is_ok()).count();
                prop_assert!(fits < requests.len());
            }
            Err(_) => {}
        }
    }
}
