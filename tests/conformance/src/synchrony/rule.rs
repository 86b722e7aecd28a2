//! When NVIDIA's driver 580 returns from copies and memsets, as observed on an H200.

use super::memory::Kind;
use std::time::Duration;

/// How long the gate is closed for a call that should wait. Longer isn't safer: a call that wrongly
/// returns does so at once, and one that waits can't be mistaken for it.
const BRIEF: Duration = Duration::from_millis(1);
/// How long the gate is closed for a call that should return.
const PATIENT: Duration = Duration::from_secs(5);

/// When a copy in a batch may read its source (CUmemcpySrcAccessOrder).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Stream,
    DuringCall,
    Any,
}

/// The rule for an entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A copy.
    Copy,
    /// A copy whose name says that its source is host memory.
    CopyFromHost,
    /// A copy whose name says that its destination is host memory.
    CopyToHost,
    Memset,
    /// A copy in a batch.
    Batch(Order),
}

use Kind::*;

fn is_host(kind: Kind) -> bool {
    matches!(kind, Pageable | Pinned | Registered | WriteCombined)
}

fn is_managed(kind: Kind) -> bool {
    matches!(kind, Managed | Variable)
}

fn is_device(kind: Kind) -> bool {
    !is_host(kind) && !is_managed(kind)
}

impl Rule {
    /// Returns the letter for a call, or `*` if more than one is right.
    fn expected(self, streamed: bool, (src, dst): (Kind, Kind)) -> char {
        match self {
            Rule::Batch(_) => '*',
            Rule::Memset if streamed || is_device(dst) => 'R',
            Rule::Memset => 'W',
            _ if !streamed && is_device(src) && is_device(dst) => 'R',
            _ if !streamed => 'W',
            _ if is_host(src) && is_host(dst) => 'W',
            // Managed memory is host memory in a virtual machine, and can be device memory elsewhere.
            _ if !is_device(src) && !is_device(dst) => '*',
            Rule::CopyFromHost if is_managed(src) => 'W',
            Rule::CopyToHost if is_managed(dst) => 'W',
            _ if src == Pageable => 'S',
            _ if dst == Pageable => 'W',
            _ => 'R',
        }
    }

    /// Returns how long a call is given to return while work before it is held back.
    pub fn limit(self, streamed: bool, kinds: (Kind, Kind)) -> Duration {
        match self.expected(streamed, kinds) {
            'R' | 'S' => PATIENT,
            _ => BRIEF,
        }
    }

    /// Returns whether a copy must be done when a call that waits has returned. The last part of a
    /// copy from pageable to device memory needn't be.
    pub fn done(self, (src, dst): (Kind, Kind)) -> bool {
        let pageable = src == Pageable || is_managed(src);
        !(matches!(self, Rule::Batch(_)) || pageable && is_device(dst))
    }

    /// Returns the letter to print for an observed letter. Fails with the observed letter if it's
    /// wrong.
    pub fn judge(self, streamed: bool, kinds: (Kind, Kind), seen: char) -> Result<char, char> {
        // For calls that may either wait or return, `u` is right wherever `R` is: on a busy
        // machine, the gate may open before such a call has returned.
        let right = match self {
            Rule::Batch(Order::Stream) => "WSRu",
            // For a copy to managed memory, NVIDIA's driver reads a pageable source even after the
            // call.
            Rule::Batch(Order::DuringCall) if kinds == (Pageable, Managed) => "WSRXu",
            Rule::Batch(Order::DuringCall) => "WSX",
            Rule::Batch(Order::Any) => "WSRXu",
            _ => match self.expected(streamed, kinds) {
                '*' => "WwSRu",
                expected if expected == seen => return Ok(seen),
                _ => "",
            },
        };
        if right.contains(seen) { Ok('*') } else { Err(seen) }
    }
}
