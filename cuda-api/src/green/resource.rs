//! Sets of SMs, and the `CUdevResource` that represents one.

use crate::error::{CuError, CuResult};
use crate::sys::{
    CUdevResource, CUdevResource_st__bindgen_ty_1 as Union, CUdevResourceType, CUdevSmResource,
};

const SM: CUdevResourceType = CUdevResourceType::CU_DEV_RESOURCE_TYPE_SM;
const MAGIC: &[u8; 16] = b"virtio-cuda sms1";
const WHOLE: u32 = u32::MAX;
const REST: u32 = u32::MAX - 1;

/// A number of SMs, and the units in which they can be split.
pub type Sms = CUdevSmResource;

/// The arguments of a split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// The maximum number of groups. 0 counts the groups that could be made.
    pub groups: u32,
    /// The flags (`CUdevSmResourceSplit_flags`).
    pub flags: u32,
    /// The minimum number of SMs in a group.
    pub min_count: u32,
}

/// The result of a split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The number of groups.
    pub made: u32,
    /// The SMs in each group.
    pub group: Sms,
    /// The SMs that are in no group.
    pub rest: Sms,
}

/// A part of a device's or a green context's SMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of the SMs.
    Whole,
    /// A group of a split, by its index.
    Group(u32),
    /// The SMs that are in no group of a split.
    Rest,
}

impl Part {
    /// Returns the number that encodes the part in a `CUdevResource`.
    pub fn number(self) -> u32 {
        match self {
            Self::Whole => WHOLE,
            Self::Rest => REST,
            Self::Group(index) => index,
        }
    }

    /// Returns the part that a number encodes ([`Self::number`]).
    pub fn from_number(number: u32) -> Self {
        match number {
            WHOLE => Self::Whole,
            REST => Self::Rest,
            index => Self::Group(index),
        }
    }
}

/// A set of SMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The ordinal of the device.
    pub device: i32,
    /// The library's id of the green context whose SMs were split, or 0 for the device's.
    pub source: u64,
    /// The split that made the part. All zero for [`Part::Whole`].
    pub split: Split,
    pub part: Part,
    pub sms: Sms,
}

impl Resource {
    /// Returns the structure for the program.
    pub fn to_c(self) -> CUdevResource {
        let Split { groups, flags, min_count } = self.split;
        let mut hidden = [0; 92];
        hidden[..16].copy_from_slice(MAGIC);
        hidden[16..24].copy_from_slice(&self.source.to_le_bytes());
        let numbers = [self.device as u32, groups, flags, min_count, self.part.number()];
        for (to, number) in hidden[24..].chunks_exact_mut(4).zip(numbers) {
            to.copy_from_slice(&number.to_le_bytes());
        }
        let mut visible = Union { _oversize: [0; 48] };
        visible.sm = self.sms;
        CUdevResource { type_: SM, _internal_padding: hidden, __bindgen_anon_1: visible }
    }

    /// Returns the set that a program's structure represents. The program may have changed the
    /// structure, so the library must check all values in the result.
    pub fn from_c(resource: &CUdevResource) -> CuResult<Self> {
        if resource.type_ != SM {
            return Err(CuError::INVALID_RESOURCE_TYPE);
        }
        let hidden = &resource._internal_padding;
        if hidden[..16] != MAGIC[..] {
            return Err(CuError::INVALID_RESOURCE_CONFIGURATION);
        }
        let number = |at: usize| {
            hidden[at..at + 4].iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
        };
        Ok(Self {
            device: number(24) as i32,
            source: u64::from(number(16)) | u64::from(number(20)) << 32,
            split: Split { groups: number(28), flags: number(32), min_count: number(36) },
            part: Part::from_number(number(40)),
            // SAFETY: all variants of the union are plain bytes, of which every value is valid.
            sms: unsafe { resource.__bindgen_anon_1.sm },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_structure_keeps_the_description() {
        let sms = Sms { smCount: 16, minSmPartitionSize: 8, smCoscheduledAlignment: 8 };
        let split = Split { groups: 7, flags: 1, min_count: 9 };
        for part in [Part::Whole, Part::Group(3), Part::Rest] {
            let resource = Resource { device: 2, source: u64::MAX - 5, split, part, sms };
            assert_eq!(Resource::from_c(&resource.to_c()), Ok(resource));
        }
    }

    #[test]
    fn other_structures_are_refused() {
        let resource = Resource {
            device: 0,
            source: 0,
            split: Split::default(),
            part: Part::Whole,
            sms: Sms::default(),
        };
        let mut other = resource.to_c();
        other.type_ = CUdevResourceType::CU_DEV_RESOURCE_TYPE_INVALID;
        assert_eq!(Resource::from_c(&other), Err(CuError::INVALID_RESOURCE_TYPE));
        let mut other = resource.to_c();
        other._internal_padding[0] += 1;
        assert_eq!(Resource::from_c(&other), Err(CuError::INVALID_RESOURCE_CONFIGURATION));
    }
}
