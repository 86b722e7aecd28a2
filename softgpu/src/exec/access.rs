//! Memory accesses by a warp.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::address::resolve;
use super::atomics;
use super::block_state::BlockState;
use super::lanes::each_lane;
use super::memory::Fault;
use super::private::{self, Division};
use super::warp::{Group, Warp};
use crate::ptx::ir::{Access, Address, Atomic, Lanes, Space, WARP, WINDOW_SHIFT};

fn extended(value: u64, size: u8, signed: bool) -> u64 {
    match (size, signed) {
        (1, true) => value as i8 as u64,
        (2, true) => value as i16 as u64,
        (4, true) => value as i32 as u64,
        _ => value,
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

/// Reads memory that the host and other blocks may access at the same time.
///
/// # Safety
/// The address must be valid for reads of `size` bytes, and aligned to it.
pub(crate) unsafe fn read_global(address: u64, size: u8) -> u64 {
    // SAFETY: the caller guarantees a valid, aligned address. Relaxed atomics make data races
    // defined behavior.
    unsafe {
        match size {
            1 => AtomicU8::from_ptr(address as *mut u8).load(Ordering::Relaxed).into(),
            2 => AtomicU16::from_ptr(address as *mut u16).load(Ordering::Relaxed).into(),
            4 => AtomicU32::from_ptr(address as *mut u32).load(Ordering::Relaxed).into(),
            _ => AtomicU64::from_ptr(address as *mut u64).load(Ordering::Relaxed),
        }
    }
}

/// Writes memory that the host and other blocks may access at the same time.
///
/// # Safety
/// The address must be valid for writes of `size` bytes, and aligned to it.
pub(crate) unsafe fn write_global(address: u64, size: u8, value: u64) {
    // SAFETY: the caller guarantees a valid, aligned address. Relaxed atomics make data races
    // defined behavior.
    unsafe {
        match size {
            1 => AtomicU8::from_ptr(address as *mut u8).store(value as u8, Ordering::Relaxed),
            2 => AtomicU16::from_ptr(address as *mut u16).store(value as u16, Ordering::Relaxed),
            4 => AtomicU32::from_ptr(address as *mut u32).store(value as u32, Ordering::Relaxed),
            _ => AtomicU64::from_ptr(address as *mut u64).store(value, Ordering::Relaxed),
        }
    }
}

impl Warp {
    /// Returns each active lane's address, and the space that contains all of them. If they are in
    /// different spaces, returns generic addresses and `Generic`.
    fn addresses(&self, group: &Group, at: &Address, mask: u32) -> Result<(Lanes, Space), Fault> {
        let mut add = at.offset as u64;
        if at.frame {
            add = add.wrapping_add(group.local_base.into());
        }
        let base = &self.regs[group.base + at.base as usize];
        let mut addresses = [0; WARP];
        for (address, base) in addresses.iter_mut().zip(base) {
            *address = base.wrapping_add(add);
        }
        if at.space != Space::Generic {
            if at.space == Space::Shared {
                // Addresses in shared memory may be in 32-bit registers, so ignore the upper bits.
                addresses.iter_mut().for_each(|a| *a &= 0xffff_ffff);
            }
            return Ok((addresses, at.space));
        }
        let lead = addresses[mask.trailing_zeros() as usize];
        let (space, _) = resolve(lead)?;
        let mut mixed = false;
        each_lane!(mask, i, {
            mixed |= (addresses[i] ^ lead) >> WINDOW_SHIFT != 0;
        });
        if mixed {
            return Ok((addresses, Space::Generic));
        }
        if space != Space::Global {
            addresses.iter_mut().for_each(|a| *a &= (1 << WINDOW_SHIFT) - 1);
        }
        Ok((addresses, space))
    }

    /// Fails if a lane's access to global memory isn't allowed or isn't aligned. To save time,
    /// checks the span that contains all of the accesses first. Checks each access by itself only
    /// if the span isn't allowed as a whole.
    fn check(
        block: &mut BlockState<'_>,
        addresses: &Lanes,
        mask: u32,
        bytes: u64,
        write: bool,
    ) -> Result<(), Fault> {
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        each_lane!(mask, i, {
            low = low.min(addresses[i]);
            high = high.max(addresses[i]);
            bits |= addresses[i];
        });
        if bits & (bytes - 1) != 0 {
            return Err(Fault::Misaligned);
        }
        let Some(span) = (high - low).checked_add(bytes) else { return Err(Fault::IllegalAddress) };
        if span < 1 << 20 && block.allows(low, span, write) {
            return Ok(());
        }
        let mut rest = mask;
        while rest != 0 {
            let i = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if !block.allows(addresses[i], bytes, write) {
                return Err(Fault::IllegalAddress);
            }
        }
        Ok(())
    }

    pub(crate) fn load(
        &mut self,
        block: &mut BlockState<'_>,
        group: &Group,
        access: &Access,
        mask: u32,
    ) -> Result<(), Fault> {
        let (addresses, space) = self.addresses(group, &access.at, mask)?;
        let (size, signed) = (access.size, access.signed);
        let bytes = u64::from(size) * access.regs.len() as u64;
        if space == Space::Global {
            Self::check(block, &addresses, mask, bytes, false)?;
            for (n, slot) in access.regs.iter().enumerate() {
                let Some(slot) = slot else { continue };
                let skip = n as u64 * u64::from(size);
                let register = &mut self.regs[group.base + *slot as usize];
                each_lane!(mask, i, {
                    // SAFETY: the code above checked that the access is allowed and aligned.
                    let value = unsafe { read_global(addresses[i] + skip, size) };
                    register[i] = extended(value, size, signed);
                });
            }
            return Ok(());
        }
        if space == Space::Generic {
            return self.load_mixed(block, group, access, &addresses, mask);
        }
        let (memory, division) = match space {
            Space::Local => (self.local.as_slice(), Division::PerLane(self.stride as usize)),
            Space::Shared => common(block.shared_bytes()),
            _ => common(block.launch.params.as_slice()),
        };
        let mut indices = division.indices(&addresses, mask, bytes)?;
        for slot in &access.regs {
            if let Some(slot) = slot {
                let register = &mut self.regs[group.base + *slot as usize];
                private::load(register, memory, &indices, mask, (size, signed));
            }
            indices.iter_mut().for_each(|index| *index += usize::from(size));
        }
        Ok(())
    }

    /// Loads from generic addresses that aren't all in the same space.
    fn load_mixed(
        &mut self,
        block: &mut BlockState<'_>,
        group: &Group,
        access: &Access,
        addresses: &Lanes,
        mask: u32,
    ) -> Result<(), Fault> {
        let bytes = u64::from(access.size) * access.regs.len() as u64;
        for (n, slot) in access.regs.iter().enumerate() {
            let Some(slot) = slot else { continue };
            let skip = n as u64 * u64::from(access.size);
            let mut rest = mask;
            while rest != 0 {
                let i = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                if addresses[i] & (bytes - 1) != 0 {
                    return Err(Fault::Misaligned);
                }
                let value =
                    self.read(block, Space::Generic, addresses[i] + skip, access.size, i)?;
                self.regs[group.base + *slot as usize][i] =
                    extended(value, access.size, access.signed);
            }
        }
        Ok(())
    }

    pub(crate) fn store(
        &mut self,
        block: &mut BlockState<'_>,
        group: &Group,
        access: &Access,
        mask: u32,
    ) -> Result<(), Fault> {
        let (addresses, space) = self.addresses(group, &access.at, mask)?;
        let size = access.size;
        let bytes = u64::from(size) * access.regs.len() as u64;
        let (memory, division) = match space {
            Space::Global => {
                Self::check(block, &addresses, mask, bytes, true)?;
                for (n, slot) in access.regs.iter().enumerate() {
                    let Some(slot) = slot else { continue };
                    let skip = n as u64 * u64::from(size);
                    let values = &self.regs[group.base + *slot as usize];
                    each_lane!(mask, i, {
                        // SAFETY: the code above checked that the access is allowed and aligned.
                        unsafe { write_global(addresses[i] + skip, size, values[i]) };
                    });
                }
                return Ok(());
            }
            Space::Generic => return self.store_mixed(block, group, access, &addresses, mask),
            Space::Param => return Err(Fault::IllegalAddress),
            Space::Local => (self.local.as_mut_slice(), Division::PerLane(self.stride as usize)),
            Space::Shared => {
                let memory = block.shared_bytes();
                let len = memory.len();
                (memory, Division::Common(len))
            }
        };
        let mut indices = division.indices(&addresses, mask, bytes)?;
        for slot in &access.regs {
            if let Some(slot) = slot {
                let values = &self.regs[group.base + *slot as usize];
                private::store(memory, values, &indices, mask, size);
            }
            indices.iter_mut().for_each(|index| *index += usize::from(size));
        }
        Ok(())
    }

    /// Stores to generic addresses that aren't all in the same space.
    fn store_mixed(
        &mut self,
        block: &mut BlockState<'_>,
        group: &Group,
        access: &Access,
        addresses: &Lanes,
        mask: u32,
    ) -> Result<(), Fault> {
        let bytes = u64::from(access.size) * access.regs.len() as u64;
        for (n, slot) in access.regs.iter().enumerate() {
            let Some(slot) = slot else { continue };
            let skip = n as u64 * u64::from(access.size);
            let values = self.regs[group.base + *slot as usize];
            let mut rest = mask;
            while rest != 0 {
                let i = rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let address = addresses[i];
                if address & (bytes - 1) != 0 {
                    return Err(Fault::Misaligned);
                }
                self.write(block, Space::Generic, address + skip, access.size, i, values[i])?;
            }
        }
        Ok(())
    }

    /// Reads a value of `size` bytes for one lane.
    pub(crate) fn read(
        &mut self,
        block: &mut BlockState<'_>,
        space: Space,
        address: u64,
        size: u8,
        lane: usize,
    ) -> Result<u64, Fault> {
        let (space, at) = match space {
            Space::Generic => resolve(address)?,
            space => (space, address),
        };
        let len = usize::from(size);
        Ok(match space {
            Space::Global | Space::Generic => {
                if at & u64::from(size - 1) != 0 {
                    return Err(Fault::Misaligned);
                }
                if !block.allows(at, size.into(), false) {
                    return Err(Fault::IllegalAddress);
                }
                // SAFETY: the code above checked that the access is allowed and aligned.
                unsafe { read_global(at, size) }
            }
            Space::Shared => word(part(block.shared_bytes(), at, len)?),
            Space::Local => word(self.local_part(lane, at, len)?),
            Space::Param => {
                let params = block.launch.params.as_slice();
                let at = usize::try_from(at).map_err(|_| Fault::IllegalAddress)?;
                word(
                    at.checked_add(len)
                        .and_then(|e| params.get(at..e))
                        .ok_or(Fault::IllegalAddress)?,
                )
            }
        })
    }

    fn write(
        &mut self,
        block: &mut BlockState<'_>,
        space: Space,
        address: u64,
        size: u8,
        lane: usize,
        value: u64,
    ) -> Result<(), Fault> {
        let (space, at) = match space {
            Space::Generic => resolve(address)?,
            space => (space, address),
        };
        let len = usize::from(size);
        let bytes = &value.to_le_bytes()[..len];
        match space {
            Space::Global | Space::Generic => {
                if at & u64::from(size - 1) != 0 {
                    return Err(Fault::Misaligned);
                }
                if !block.allows(at, size.into(), true) {
                    return Err(Fault::IllegalAddress);
                }
                // SAFETY: the code above checked that the access is allowed and aligned.
                unsafe { write_global(at, size, value) };
            }
            Space::Shared => part(block.shared_bytes(), at, len)?.copy_from_slice(bytes),
            Space::Local => self.local_part(lane, at, len)?.copy_from_slice(bytes),
            Space::Param => return Err(Fault::IllegalAddress),
        }
        Ok(())
    }

    fn local_part(&mut self, lane: usize, at: u64, len: usize) -> Result<&mut [u8], Fault> {
        let stride = self.stride as usize;
        part(&mut self.local[lane * stride..][..stride], at, len)
    }

    pub(crate) fn atomic(
        &mut self,
        block: &mut BlockState<'_>,
        group: &Group,
        atomic: &Atomic,
        mask: u32,
    ) -> Result<(), Fault> {
        let (addresses, space) = self.addresses(group, &atomic.at, mask)?;
        let b = self.regs[group.base + atomic.b as usize];
        let c = self.regs[group.base + atomic.c as usize];
        let mut rest = mask;
        while rest != 0 {
            let i = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let (space, at) = match space {
                Space::Generic => resolve(addresses[i])?,
                space => (space, addresses[i]),
            };
            let bytes = u64::from(atomic.size);
            if at & (bytes - 1) != 0 {
                return Err(Fault::Misaligned);
            }
            let old = match space {
                Space::Shared => {
                    let place = part(block.shared_bytes(), at, atomic.size.into())?;
                    atomics::private(atomic.op, place, b[i], c[i])
                }
                Space::Global | Space::Generic => {
                    if !block.allows(at, bytes, true) {
                        return Err(Fault::IllegalAddress);
                    }
                    // SAFETY: the code above checked that the access is allowed and aligned.
                    unsafe { atomics::global(atomic.op, atomic.size, at, b[i], c[i]) }
                }
                // The hardware doesn't support atomic operations on local memory or parameters.
                Space::Local | Space::Param => return Err(Fault::IllegalAddress),
            };
            if let Some(d) = atomic.old {
                self.regs[group.base + d as usize][i] = old;
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    pub(crate) fn copy(
        &mut self,
        block: &mut BlockState<'_>,
        group: &Group,
        to: &Address,
        from: &Address,
        size: u32,
        source: Option<u16>,
        mask: u32,
    ) -> Result<(), Fault> {
        let (to, to_space) = self.addresses(group, to, mask)?;
        let (from, from_space) = self.addresses(group, from, mask)?;
        let mut rest = mask;
        while rest != 0 {
            let i = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            let real = source.map_or(size, |s| self.regs[group.base + s as usize][i] as u32);
            if (to[i] | from[i]) & u64::from(size - 1) != 0 {
                return Err(Fault::Misaligned);
            }
            for word in 0..u64::from(size / 4) {
                let at = word * 4;
                let value = match real.saturating_sub(at as u32) {
                    0 => 0,
                    left => {
                        let value = self.read(block, from_space, from[i] + at, 4, i)?;
                        if left >= 4 { value } else { value & ((1 << (8 * left)) - 1) }
                    }
                };
                self.write(block, to_space, to[i] + at, 4, i, value)?;
            }
        }
        Ok(())
    }
}

fn common(memory: &[u8]) -> (&[u8], Division) {
    (memory, Division::Common(memory.len()))
}

fn part(bytes: &mut [u8], at: u64, len: usize) -> Result<&mut [u8], Fault> {
    let at = usize::try_from(at).map_err(|_| Fault::IllegalAddress)?;
    at.checked_add(len).and_then(|end| bytes.get_mut(at..end)).ok_or(Fault::IllegalAddress)
}
