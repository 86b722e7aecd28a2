//! Entry points for pointer attributes, which are determined from the map of the program's memory.

use crate::context::current;
use crate::driver::{Driver, driver};
use crate::error::CuError;
use crate::memory::{Allocation, Kind};
use cuda_api::args::{In, Out};
use cuda_api::pointers::{Address, Described, get, get_all, mapping};
use cuda_api::sys::CUpointer_attribute as A;
use std::ffi::c_void;

fn describe(driver: &Driver, address: u64, found: &Allocation) -> Described {
    let is_managed = found.kind.is_managed();
    let offset = match found.base <= address && address - found.base < found.len.max(1) {
        true => address - found.base,
        false => address - found.device_address,
    };
    let extent = (found.base, found.len);
    // With NVIDIA's driver, memory of a pool or a graph belongs to no context.
    let is_stream_ordered = matches!(found.kind, Kind::Pool(_) | Kind::Graph);
    let reservation = match found.kind {
        Kind::Mapped => driver.memory.reserved_at(found.base),
        _ => None,
    };
    Described {
        context: if is_stream_ordered { 0 } else { found.context as u64 },
        is_host: !found.kind.is_device() && !is_managed,
        device_pointer: found.device_address + offset,
        host_pointer: (is_managed || !found.kind.is_device()).then_some(found.base + offset),
        is_managed,
        sync_memops: found.sync_memops,
        is_allocated: found.kind == Kind::Device,
        id: found.id,
        ordinal: found.device,
        range: reservation.unwrap_or(extent),
        mapping: match found.kind {
            Kind::Mapped | Kind::Registered { .. } => extent,
            _ => mapping(extent, is_stream_ordered),
        },
        pool: match found.kind {
            Kind::Pool(handle) => handle as u64,
            _ => 0,
        },
    }
}

fn find(driver: &Driver, address: u64) -> Option<Allocation> {
    driver.memory.find(address).or_else(|| driver.memory.find_device(address))
}

fn look_up(driver: &Driver, address: u64) -> Address {
    match (find(driver, address), driver.memory.reserved_at(address)) {
        (Some(found), _) => Address::Memory(describe(driver, address, &found)),
        (None, Some(reservation)) => Address::Reserved(address, reservation),
        (None, None) => Address::Unknown(address),
    }
}

entries! {
    fn cuPointerGetAttribute(out: Out<c_void>, attribute: A, address: u64) {
        // SAFETY: the program passes a pointer to the attribute's type.
        unsafe { get(out, attribute, &look_up(driver()?, address)) }
    }

    /// The only attribute that can be set is CU_POINTER_ATTRIBUTE_SYNC_MEMOPS.
    fn cuPointerSetAttribute(value: In<c_void>, attribute: u32, address: u64) {
        let driver = driver()?;
        current()?;
        if A(attribute) != A::CU_POINTER_ATTRIBUTE_SYNC_MEMOPS {
            return Err(CuError::INVALID_VALUE);
        }
        // SAFETY: the program passes a pointer to an unsigned integer.
        let value: u32 = unsafe { value.cast() }.get()?;
        let may_be_marked =
            |kind: Kind| kind.is_device() || matches!(kind, Kind::Managed { .. });
        let found = find(driver, address).filter(|found| may_be_marked(found.kind));
        driver.memory.set_sync_memops(found.ok_or(CuError::INVALID_VALUE)?.base, value != 0);
        Ok(())
    }

    fn cuPointerGetAttributes(
        count: u32, attributes: In<A>, outs: In<Out<c_void>>, address: u64,
    ) {
        let address = look_up(driver()?, address);
        // SAFETY: both arrays have `count` elements, which are pointers to the attributes' types.
        unsafe { get_all(count as usize, attributes, outs, &address) }
    }
}
