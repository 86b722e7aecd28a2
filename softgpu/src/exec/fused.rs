//! Fused multiply-add with the CPU's FMA instruction. Without the instruction, each lane would need
//! a library call.

use super::lanes::{each_lane, f32_of, f64_of, from_f32, from_f64};
use crate::ptx::ir::Lanes;

/// Returns whether the CPU has the FMA instruction.
pub fn available() -> bool {
    std::arch::is_x86_feature_detected!("fma") && std::arch::is_x86_feature_detected!("avx2")
}

#[target_feature(enable = "fma,avx2")]
fn lanes_f32(d: &mut Lanes, a: &Lanes, b: &Lanes, c: &Lanes, mask: u32) {
    each_lane!(mask, i, {
        d[i] = from_f32(f32_of(a[i]).mul_add(f32_of(b[i]), f32_of(c[i])));
    });
}

#[target_feature(enable = "fma,avx2")]
fn lanes_f64(d: &mut Lanes, a: &Lanes, b: &Lanes, c: &Lanes, mask: u32) {
    each_lane!(mask, i, {
        d[i] = from_f64(f64_of(a[i]).mul_add(f64_of(b[i]), f64_of(c[i])));
    });
}

/// Computes `a * b + c` on singles in the lanes in `mask`. The CPU must have the FMA instruction.
pub fn f32(d: &mut Lanes, a: &Lanes, b: &Lanes, c: &Lanes, mask: u32) {
    debug_assert!(available());
    // SAFETY: lowering selects this function only if the CPU has the FMA instruction.
    unsafe { lanes_f32(d, a, b, c, mask) }
}

/// Computes `a * b + c` on doubles in the lanes in `mask`. The CPU must have the FMA instruction.
pub fn f64(d: &mut Lanes, a: &Lanes, b: &Lanes, c: &Lanes, mask: u32) {
    debug_assert!(available());
    // SAFETY: lowering selects this function only if the CPU has the FMA instruction.
    unsafe { lanes_f64(d, a, b, c, mask) }
}
