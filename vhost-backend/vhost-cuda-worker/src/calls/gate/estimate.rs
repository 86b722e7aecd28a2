//! Estimates of how long gated calls take on the GPU, from measurements of calls of the same kind.

use protocol::calls as api;
use protocol::codec::Call;
use protocol::ids::{FuncId, GraphExecId};

use crate::calls::tables::id_map::IdMap;
use crate::executor::Command;

/// The maximum number of kinds of call with an estimate. When it is exceeded, all estimates are
/// dropped.
const MAX_KINDS: usize = 4096;
/// The estimate, in ns, for a kernel or graph whose time hasn't been measured yet.
const UNKNOWN: u64 = 250_000;
/// The estimate, in ns, for a [`Kind::Signal`]. It isn't measured, because waits can take any time.
const SIGNAL: u64 = 5_000;
/// A copy to the device counts as running on a copy engine if [`size`] of its length exceeds this,
/// which means from 64 KiB. On an H200, 24 KiB would do; the margin is for other drivers.
const ENGINE: u32 = 16;
/// The smallest and the largest possible estimate, in ns.
const LEAST: u64 = 1_000;
const MOST: u64 = 1 << 42;

/// Calls that should take about the same time on the GPU, and so share one estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::calls) enum Kind {
    /// Launches of a function or kernel, by its id and the base-2 logarithm of the number of
    /// blocks.
    Kernel(FuncId, u32),
    /// Copies between host and device, by the base-2 logarithm of their size in bytes.
    HostCopy(HostPath, u32),
    /// Memsets and copies within device memory, by the base-2 logarithm of their size in bytes.
    DeviceCopy(u32),
    /// Event records, and values that a stream writes or waits for.
    Signal,
    /// Any other gated call, by its opcode and the executable graph that it launches, if any.
    Other(u32, GraphExecId),
}

/// The path that the bytes take in a copy between host and device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::calls) enum HostPath {
    /// To the device, from bytes in the command's own arguments.
    Inline,
    /// To the device, from host memory that the GPU reads directly.
    In,
    /// From the device, to host memory that the GPU writes directly, or to the worker's memory.
    Out,
}

/// Returns the base-2 logarithm of a size, rounded down, plus 1. Calls with the same result share
/// an estimate.
fn size(value: u64) -> u32 {
    64 - value.leading_zeros()
}

impl Kind {
    /// Returns the kind of a gated command. A command that can't be decoded gets some kind, too; it
    /// is refused elsewhere. `is_host` returns whether an address is one of host memory.
    pub(super) fn of(command: &Command<'_>, is_host: impl Fn(u64) -> bool) -> Self {
        let kernel = |f, x: u32, y: u32, z: u32| {
            let blocks = u64::from(x).saturating_mul(y.into()).saturating_mul(z.into());
            Self::Kernel(f, size(blocks))
        };
        let other = Self::Other(command.opcode, GraphExecId(0));
        fn decode<'a, C: Call<'a>>(command: &Command<'a>) -> Option<C> {
            C::decode(command.args).ok()
        }
        let host = |path: HostPath, len: usize| Self::HostCopy(path, size(len as u64));
        let kind = match command.opcode {
            api::VcudaLaunch::OPCODE => decode::<api::VcudaLaunch<'_>>(command)
                .map(|call| kernel(call.f, call.grid_x, call.grid_y, call.grid_z)),
            api::VcudaLaunchEvent::OPCODE => decode::<api::VcudaLaunchEvent<'_>>(command)
                .map(|call| kernel(call.f, call.grid_x, call.grid_y, call.grid_z)),
            api::VcudaLaunchCooperative::OPCODE => {
                decode::<api::VcudaLaunchCooperative<'_>>(command)
                    .map(|call| kernel(call.f, call.grid_x, call.grid_y, call.grid_z))
            }
            api::VcudaCopyIn::OPCODE => decode::<api::VcudaCopyIn<'_>>(command)
                .map(|call| host(HostPath::Inline, call.data.len())),
            api::VcudaCopyInStaged::OPCODE => {
                decode::<api::VcudaCopyInStaged>(command).map(|call| host(HostPath::In, call.len))
            }
            api::VcudaCopyOut::OPCODE => {
                decode::<api::VcudaCopyOut>(command).map(|call| host(HostPath::Out, call.len))
            }
            api::VcudaCopyOutStaged::OPCODE => {
                decode::<api::VcudaCopyOutStaged>(command).map(|call| host(HostPath::Out, call.len))
            }
            api::VcudaCopy::OPCODE => decode::<api::VcudaCopy>(command).map(|call| {
                match (is_host(call.dst), is_host(call.src)) {
                    (false, false) => Self::DeviceCopy(size(call.len as u64)),
                    (false, true) => host(HostPath::In, call.len),
                    (true, _) => host(HostPath::Out, call.len),
                }
            }),
            api::CuGraphLaunch::OPCODE => decode::<api::CuGraphLaunch>(command)
                .map(|call| Self::Other(command.opcode, call.h_graph)),
            api::CuEventRecordWithFlags::OPCODE
            | api::VcudaStreamMemoryOperation::OPCODE
            | api::VcudaStreamWaitInterprocessEvent::OPCODE => Some(Self::Signal),
            api::VcudaMemset::OPCODE => decode::<api::VcudaMemset>(command)
                .map(|call| Self::DeviceCopy(size(call.width.saturating_mul(call.height) as u64))),
            _ => None,
        };
        kind.unwrap_or(other)
    }

    /// Returns whether calls of this kind use only a copy engine, and so leave the engine that runs
    /// kernels free. The driver uses the kernel engine for short copies to the device (up to 24 KiB
    /// on an H200) and for all copies within the device.
    pub(super) fn only_copies(self) -> bool {
        match self {
            Self::HostCopy(HostPath::In, bytes) => bytes > ENGINE,
            Self::HostCopy(HostPath::Out, _) => true,
            _ => false,
        }
    }
}

/// The estimated time of each kind of call, in ns.
#[derive(Default)]
pub(in crate::calls) struct Estimates {
    known: IdMap<Kind, u64>,
}

impl Estimates {
    /// Returns the estimated time of a kind of call in ns, and whether that is based on a
    /// measurement or on a known transfer rate.
    pub(super) fn of(&self, kind: Kind) -> (u64, bool) {
        match (self.known.get(&kind), kind) {
            (_, Kind::Signal) => (SIGNAL, true),
            (Some(ns), _) => (*ns, true),
            // Assume 10 GB/s, and 5 us to start the copy.
            (None, Kind::HostCopy(_, size)) => (5_000 + (1u64 << size.min(40)) / 10, true),
            // Assume 1 TB/s, and 3 us to start the copy.
            (None, Kind::DeviceCopy(size)) => (3_000 + (1u64 << size.min(40)) / 1000, true),
            (None, _) => (UNKNOWN, false),
        }
    }

    /// Updates the estimates after calls that ran one after another took `took` ns in total.
    /// `kinds` contains each kind among them with its estimate, and `expected` is the estimated
    /// total time. `alone` says that `took` includes nothing else, such as the context switch at
    /// the beginning of a window or another VM's work.
    pub(super) fn learn(&mut self, kinds: &[(Kind, u64)], expected: u64, took: u64, alone: bool) {
        if self.known.len() > MAX_KINDS {
            self.known.clear();
        }
        for (kind, share) in kinds {
            let (before, measured) = self.of(*kind);
            // Divide the time among the calls, in proportion to their estimates.
            let part = u128::from(took) * u128::from(*share) / u128::from(expected.max(1));
            let now = u64::try_from(part).unwrap_or(MOST).clamp(LEAST, MOST);
            let next = match measured {
                false => now,
                // Always accept a shorter time: if the measurement includes other work, the call
                // itself took even less.
                true if now < before => before / 2 + now / 2,
                true if !alone => before,
                // Adapt to longer times quickly, because calls that take longer than estimated
                // overrun the window.
                true if now > before * 2 => before / 2 + now / 2,
                true => before - before / 8 + now / 8,
            };
            self.known.insert(*kind, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const F: Kind = Kind::Kernel(FuncId(9), 3);

    #[test]
    fn the_first_measurement_replaces_the_default() {
        let mut estimates = Estimates::default();
        assert_eq!(estimates.of(F), (UNKNOWN, false));
        estimates.learn(&[(F, UNKNOWN)], UNKNOWN, 20_000, true);
        assert_eq!(estimates.of(F), (20_000, true));
    }

    #[test]
    fn estimates_follow_large_changes_quickly() {
        let mut estimates = Estimates::default();
        estimates.learn(&[(F, UNKNOWN)], UNKNOWN, 100_000, true);
        estimates.learn(&[(F, 100_000)], 400_000, 4_000_000, true);
        assert_eq!(estimates.of(F).0, 550_000);
        estimates.learn(&[(F, 550_000)], 550_000, 100_000, true);
        assert_eq!(estimates.of(F).0, (550_000 + 100_000) / 2);
    }

    #[test]
    fn measurements_with_a_context_switch_only_shorten_an_estimate() {
        let mut estimates = Estimates::default();
        estimates.learn(&[(F, UNKNOWN)], UNKNOWN, 400_000, false);
        estimates.learn(&[(F, 400_000)], 400_000, 20_000, false);
        assert_eq!(estimates.of(F).0, 210_000);
        estimates.learn(&[(F, 210_000)], 210_000, 2_000_000, false);
        assert_eq!(estimates.of(F).0, 210_000);
    }

    #[test]
    fn calls_queued_with_an_old_estimate_do_not_inflate_it() {
        let mut estimates = Estimates::default();
        // Many launches of a new kernel are in flight before the first has finished.
        for _ in 0..200 {
            estimates.learn(&[(F, UNKNOWN)], UNKNOWN, 3_000_000, true);
        }
        let (now, _) = estimates.of(F);
        assert!((2_900_000..=3_000_000).contains(&now), "{now}");
    }

    #[test]
    fn the_time_of_two_kinds_is_divided_by_their_estimates() {
        let (mut estimates, g) = (Estimates::default(), Kind::Kernel(FuncId(10), 3));
        estimates.learn(&[(F, UNKNOWN)], UNKNOWN, 100_000, true);
        estimates.learn(&[(g, UNKNOWN)], UNKNOWN, 300_000, true);
        for _ in 0..100 {
            let each = [F, g].map(|kind| (kind, estimates.of(kind).0));
            estimates.learn(&each, each[0].1 + each[1].1, 800_000, true);
        }
        let (f, g) = (estimates.of(F).0, estimates.of(g).0);
        assert!(
            (780_000..=810_000).contains(&(f + g)) && (29..=31).contains(&(g * 10 / f)),
            "{f} {g}"
        );
    }
}
