//! Atomic operations on a single value.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::lanes::{f32_of, f64_of, from_f32, from_f64, ftz};
use super::round::{self, BF16, F16, Mode, Small};
use crate::ptx::ir::AtomicOp;

fn half_add(format: Small, a: u64, b: u64) -> u64 {
    let sum = round::add_odd(format.decode(a as u16), format.decode(b as u16));
    u64::from(format.encode(Mode::Nearest, sum))
}

/// Returns the new value that an atomic operation computes from the old value and the operands.
pub fn apply(op: AtomicOp, size: u8, old: u64, b: u64, c: u64) -> u64 {
    let cut = |v: u64| match size {
        2 => v & 0xffff,
        4 => v & 0xffff_ffff,
        _ => v,
    };
    let signed = |v: u64| match size {
        2 => i64::from(v as i16),
        4 => i64::from(v as i32),
        _ => v as i64,
    };
    let (b, c) = (cut(b), cut(c));
    cut(match op {
        AtomicOp::AddInt => old.wrapping_add(b),
        AtomicOp::AddF32 => from_f32(f32_of(old) + f32_of(b)),
        AtomicOp::AddF32Flush => from_f32(ftz(ftz(f32_of(old)) + ftz(f32_of(b)))),
        AtomicOp::AddF64 => from_f64(f64_of(old) + f64_of(b)),
        AtomicOp::AddF16 => half_add(F16, old, b),
        AtomicOp::AddBf16 => half_add(BF16, old, b),
        AtomicOp::AddF16x2 => half_add(F16, old, b) | half_add(F16, old >> 16, b >> 16) << 16,
        AtomicOp::AddBf16x2 => half_add(BF16, old, b) | half_add(BF16, old >> 16, b >> 16) << 16,
        AtomicOp::MinS => signed(old).min(signed(b)) as u64,
        AtomicOp::MaxS => signed(old).max(signed(b)) as u64,
        AtomicOp::MinU => old.min(b),
        AtomicOp::MaxU => old.max(b),
        AtomicOp::Inc => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Dec => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        AtomicOp::And => old & b,
        AtomicOp::Or => old | b,
        AtomicOp::Xor => old ^ b,
        AtomicOp::Exch => b,
        AtomicOp::Cas => {
            if old == b {
                c
            } else {
                old
            }
        }
    })
}

macro_rules! update {
    ($atomic:ty, $int:ty, $address:expr, $op:expr, $size:expr, $b:expr, $c:expr) => {{
        // SAFETY: the caller guarantees that the address is valid and aligned.
        let cell = unsafe { <$atomic>::from_ptr($address as *mut $int) };
        if $op == AtomicOp::AddInt {
            return u64::from(cell.fetch_add($b as $int, Ordering::SeqCst));
        }
        let mut old = cell.load(Ordering::Relaxed);
        loop {
            let new = apply($op, $size, u64::from(old), $b, $c) as $int;
            match cell.compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed) {
                Ok(_) => return u64::from(old),
                Err(now) => old = now,
            }
        }
    }};
}

/// Executes `op` on memory that the host and other blocks may access at the same time. Returns the
/// old value.
///
/// # Safety
/// The address must be valid for reads and writes of `size` bytes, and aligned to it.
pub unsafe fn global(op: AtomicOp, size: u8, address: u64, b: u64, c: u64) -> u64 {
    let op = if op == AtomicOp::AddF32 { AtomicOp::AddF32Flush } else { op };
    match size {
        2 => update!(AtomicU16, u16, address, op, size, b, c),
        4 => update!(AtomicU32, u32, address, op, size, b, c),
        _ => update!(AtomicU64, u64, address, op, size, b, c),
    }
}

/// Executes `op` on memory that no other host thread accesses. Returns the old value.
pub fn private(op: AtomicOp, bytes: &mut [u8], b: u64, c: u64) -> u64 {
    let size = bytes.len();
    let mut word = [0; 8];
    word[..size].copy_from_slice(bytes);
    let old = u64::from_le_bytes(word);
    let new = apply(op, size as u8, old, b, c);
    bytes.copy_from_slice(&new.to_le_bytes()[..size]);
    old
}
