//! Chooses a VM's GPUs, and checks that they have room for its quota. No I/O.

use std::fmt;

use control_api::{ApiError, ErrorCode, GpuRequest, Percent, VmSpec, format_size};

use memory_ledger::GpuId;

#[cfg(test)]
mod tests;

/// A GPU's capacity, and how much of it is already promised to VMs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Capacity {
    pub(crate) gpu: GpuId,
    pub(crate) uuid: String,
    /// Bytes that may be promised: the GPU's memory without the reserve, times memory.overcommit.
    pub(crate) memory: u64,
    /// Bytes already promised to VMs.
    pub(crate) memory_promised: u64,
    /// GPU time that may be guaranteed, in basis points: 10000 times compute.overcommit.
    pub(crate) time: u64,
    /// GPU time already guaranteed, in basis points.
    pub(crate) time_promised: u64,
    /// Sum of the weights of the VMs on the GPU.
    pub(crate) weights: u64,
    /// True if the GPU had a fault, so that no more VMs may be placed on it.
    pub(crate) faulty: bool,
}

/// The part of a VM's quota for which each of its GPUs must have room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    /// The VM's memory.max, in bytes.
    pub(crate) memory: u64,
    /// The VM's compute.min.
    pub(crate) min: Percent,
}

/// The reason why a VM can't be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlacementError {
    /// The host doesn't have this GPU.
    NoGpu { request: GpuRequest, count: usize },
    /// Two requests name the same GPU.
    Twice { gpu: GpuId },
    /// The GPU had a fault, so no more VMs may be placed on it.
    Faulty { gpu: GpuId },
    /// The VM's memory.max doesn't fit on the GPU.
    Memory { gpu: GpuId, asked: u64, promised: u64, room: u64 },
    /// The VM's compute.min doesn't fit on the GPU.
    Time { gpu: GpuId, asked: Percent, promised: Percent, room: Percent },
    /// The VM requests more GPUs than the host has.
    TooMany { asked: usize, count: usize },
    /// No GPU has room. Contains the reason for each GPU. Empty if the VM already has every GPU.
    NoneFits(Vec<PlacementError>),
}

impl std::error::Error for PlacementError {}

impl fmt::Display for PlacementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = std::slice::from_ref(self);
        let refusals = match self {
            Self::NoGpu { request, count: 1 } => {
                return write!(f, "there is no GPU {request}: this host has one GPU, index 0");
            }
            Self::NoGpu { request, count } => {
                let last = count.saturating_sub(1);
                return write!(
                    f,
                    "there is no GPU {request}: this host has {count} GPUs, index 0 to {last}"
                );
            }
            Self::Twice { gpu } => return write!(f, "GPU {} is requested twice", gpu.0),
            Self::TooMany { asked, count: 1 } => {
                return write!(f, "{asked} GPUs are requested, but this host has one");
            }
            Self::TooMany { asked, count } => {
                return write!(f, "{asked} GPUs are requested, but this host has {count}");
            }
            Self::Faulty { .. } | Self::Memory { .. } | Self::Time { .. } => one,
            Self::NoneFits(refusals) => refusals,
        };
        // If two sizes look the same when rounded to three digits, print all sizes exactly.
        let looks_equal = refusals.iter().any(|refusal| match refusal {
            Self::Memory { asked, promised, room, .. } => {
                format_size(*asked) == format_size(room.saturating_sub(*promised))
            }
            _ => false,
        });
        let size = |bytes| match looks_equal {
            true => format!("{bytes} bytes"),
            false => format_size(bytes),
        };
        match refusals.first() {
            Some(Self::Memory { asked, .. }) => write!(f, "{} does not fit", size(*asked))?,
            Some(Self::Time { asked, .. }) => write!(f, "{asked} does not fit")?,
            _ => f.write_str("no GPU is available")?,
        }
        for (place, refusal) in refusals.iter().enumerate() {
            f.write_str(if place == 0 { ": " } else { "; " })?;
            match refusal {
                Self::Memory { gpu, promised, room, .. } => {
                    let left = size(room.saturating_sub(*promised));
                    write!(f, "GPU {} has {left} left to promise", gpu.0)?;
                }
                Self::Time { gpu, promised, room, .. } => {
                    let left = room.basis_points().saturating_sub(promised.basis_points());
                    let left = Percent::from_basis_points(left);
                    write!(f, "GPU {} has {left} left to guarantee", gpu.0)?;
                }
                Self::Faulty { gpu } => {
                    write!(
                        f,
                        "GPU {} had a fault and takes no VMs until vcudad is restarted",
                        gpu.0
                    )?;
                }
                other => write!(f, "{other}")?,
            }
        }
        let of_memory = |refusal: &Self| matches!(refusal, Self::Memory { .. });
        let of_time = |refusal: &Self| matches!(refusal, Self::Time { .. });
        if refusals.iter().any(of_memory) {
            f.write_str(". Lower memory.max, or raise memory.overcommit")?;
        }
        if refusals.iter().any(of_time) {
            f.write_str(". Lower compute.min, or raise compute.overcommit")?;
        }
        Ok(())
    }
}

impl PlacementError {
    /// Returns the name of the setting that caused the error.
    pub(crate) fn field(&self) -> &'static str {
        match self {
            Self::Memory { .. } => "memory.max",
            Self::Time { .. } => "compute.min",
            Self::NoneFits(all) => all.first().map_or("gpus", Self::field),
            _ => "gpus",
        }
    }

    /// Returns true if the GPUs are full, so that the VM might fit later or with a smaller quota.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Self::Memory { .. } | Self::Time { .. } | Self::NoneFits(_))
    }
}

impl From<PlacementError> for ApiError {
    fn from(error: PlacementError) -> Self {
        let code = if error.is_full() { ErrorCode::NoRoom } else { ErrorCode::Invalid };
        Self::new(code, error.to_string()).of(error.field())
    }
}

impl Capacity {
    /// Checks whether a demand fits in addition to what the GPU has already promised.
    pub(crate) fn check(&self, demand: &Demand) -> Result<(), PlacementError> {
        let (gpu, asked) = (self.gpu, demand.memory);
        if self.faulty {
            return Err(PlacementError::Faulty { gpu });
        }
        self.check_memory(asked)?;
        self.check_time(demand.min)
    }

    pub(crate) fn check_memory(&self, asked: u64) -> Result<(), PlacementError> {
        let (gpu, room, promised) = (self.gpu, self.memory, self.memory_promised);
        match promised.checked_add(asked) {
            Some(sum) if sum <= room => Ok(()),
            _ => Err(PlacementError::Memory { gpu, asked, promised, room }),
        }
    }

    pub(crate) fn check_time(&self, asked: Percent) -> Result<(), PlacementError> {
        if asked == Percent::NONE
            || self.time_promised + u64::from(asked.basis_points()) <= self.time
        {
            return Ok(());
        }
        let percent =
            |points: u64| Percent::from_basis_points(points.try_into().unwrap_or(u32::MAX));
        Err(PlacementError::Time {
            gpu: self.gpu,
            asked,
            promised: percent(self.time_promised),
            room: percent(self.time),
        })
    }

    /// Returns the GPU's rank for placement. The lowest rank is chosen: the GPU with the lowest sum
    /// of weights, then the least guaranteed time, then the least free memory, so that GPUs with a
    /// lot of free memory are kept for large VMs.
    fn rank(&self) -> (u64, u64, u64, GpuId) {
        (self.weights, self.time_promised, self.free_memory(), self.gpu)
    }

    /// Promises a VM its quota.
    pub(crate) fn promise(&mut self, spec: &VmSpec) {
        self.memory_promised = self.memory_promised.saturating_add(spec.memory.max);
        self.time_promised += u64::from(spec.compute.min.basis_points());
        self.weights += u64::from(spec.compute.weight);
    }

    /// Takes back the promises to a VM.
    pub(crate) fn release(&mut self, spec: &VmSpec) {
        self.memory_promised = self.memory_promised.saturating_sub(spec.memory.max);
        let min = u64::from(spec.compute.min.basis_points());
        self.time_promised = self.time_promised.saturating_sub(min);
        self.weights = self.weights.saturating_sub(spec.compute.weight.into());
    }

    /// Returns the number of bytes that may still be promised.
    pub(crate) fn free_memory(&self) -> u64 {
        self.memory.saturating_sub(self.memory_promised)
    }
}

/// Chooses a VM's GPUs. The result is in the order of the requests. Requests that name a GPU are
/// placed first, so that a request for `any` never takes a GPU that a later request names.
pub(crate) fn place(
    capacities: &[Capacity],
    requests: &[GpuRequest],
    demand: &Demand,
) -> Result<Vec<GpuId>, PlacementError> {
    if requests.len() > capacities.len() {
        let (asked, count) = (requests.len(), capacities.len());
        return Err(PlacementError::TooMany { asked, count });
    }
    let mut placed: Vec<Option<GpuId>> = Vec::new();
    for request in requests {
        let named = match request {
            GpuRequest::Any => None,
            GpuRequest::Index(index) => {
                Some(capacities.iter().find(|capacity| capacity.gpu.0 == *index))
            }
            GpuRequest::Uuid(uuid) => {
                Some(capacities.iter().find(|capacity| capacity.uuid.eq_ignore_ascii_case(uuid)))
            }
        };
        let Some(found) = named else {
            placed.push(None);
            continue;
        };
        let missing =
            || PlacementError::NoGpu { request: request.clone(), count: capacities.len() };
        let capacity = found.ok_or_else(missing)?;
        if placed.contains(&Some(capacity.gpu)) {
            return Err(PlacementError::Twice { gpu: capacity.gpu });
        }
        capacity.check(demand)?;
        placed.push(Some(capacity.gpu));
    }
    for place in 0..placed.len() {
        if placed[place].is_some() {
            continue;
        }
        let mut refusals = Vec::new();
        let free = capacities.iter().filter(|capacity| !placed.contains(&Some(capacity.gpu)));
        let fits = free.filter(|capacity| match capacity.check(demand) {
            Ok(()) => true,
            Err(refusal) => {
                refusals.push(refusal);
                false
            }
        });
        let best = fits.min_by_key(|capacity| capacity.rank()).map(|capacity| capacity.gpu);
        placed[place] = Some(best.ok_or(PlacementError::NoneFits(refusals))?);
    }
    Ok(placed.into_iter().flatten().collect())
}
