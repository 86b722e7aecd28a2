//! Looks up special registers by name.

use crate::ptx::ir::{Fixed, Volatile};

/// A special register, by whether its value can change in a function.
pub(crate) enum Special {
    Fixed(Fixed),
    Volatile(Volatile),
}

/// Returns the special register with this name, or `None` if there is none.
pub(crate) fn special(name: &str) -> Option<Special> {
    if name == "WARP_SZ" {
        return Some(Special::Fixed(Fixed::Const(32)));
    }
    let name = name.strip_prefix('%')?;
    let (base, axis) = match name.split_once('.') {
        Some((base, "x")) => (base, 0),
        Some((base, "y")) => (base, 1),
        Some((base, "z")) => (base, 2),
        Some(_) => return None,
        None => (name, 0),
    };
    Some(Special::Fixed(match base {
        "tid" => Fixed::Tid(axis),
        "ntid" => Fixed::Ntid(axis),
        "ctaid" => Fixed::Ctaid(axis),
        "nctaid" => Fixed::Nctaid(axis),
        "laneid" => Fixed::LaneId,
        "warpid" => Fixed::WarpId,
        "nwarpid" => Fixed::NWarpId,
        "smid" => Fixed::SmId,
        "nsmid" => Fixed::NSmId,
        "gridid" => Fixed::GridId,
        "lanemask_eq" => Fixed::LaneMaskEq,
        "lanemask_le" => Fixed::LaneMaskLe,
        "lanemask_lt" => Fixed::LaneMaskLt,
        "lanemask_ge" => Fixed::LaneMaskGe,
        "lanemask_gt" => Fixed::LaneMaskGt,
        "dynamic_smem_size" => Fixed::DynamicSharedSize,
        "total_smem_size" | "aggr_smem_size" => Fixed::TotalSharedSize,
        "cluster_ctaid" => Fixed::ClusterCtaid(axis),
        "cluster_nctaid" => Fixed::ClusterNctaid(axis),
        "clusterid" => Fixed::ClusterId(axis),
        "nclusterid" => Fixed::NClusterId(axis),
        "cluster_ctarank" => Fixed::ClusterCtaRank,
        "cluster_nctarank" => Fixed::ClusterNctaRank,
        "clock" | "clock_lo" => return Some(Special::Volatile(Volatile::Clock)),
        "clock_hi" => return Some(Special::Volatile(Volatile::ClockHi)),
        "clock64" => return Some(Special::Volatile(Volatile::Clock64)),
        "globaltimer" => return Some(Special::Volatile(Volatile::GlobalTimer)),
        "globaltimer_lo" => return Some(Special::Volatile(Volatile::GlobalTimerLo)),
        "globaltimer_hi" => return Some(Special::Volatile(Volatile::GlobalTimerHi)),
        _ => {
            let n = base.strip_prefix("envreg")?.parse().ok().filter(|n| *n < 32)?;
            Fixed::EnvReg(n)
        }
    }))
}
