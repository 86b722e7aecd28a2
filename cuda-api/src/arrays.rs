//! The sizes of arrays, of their elements, and of the levels of mipmapped arrays.

use crate::error::CuError;
use crate::sys::{
    CUDA_ARRAY3D_CUBEMAP, CUDA_ARRAY3D_DESCRIPTOR, CUDA_ARRAY3D_LAYERED, CUarray_format as F,
};

/// Returns the size in bytes of an array's element. Returns `None` for a format or a number of
/// channels that this project doesn't support.
pub fn element_size(format: F, channels: u32) -> Option<u64> {
    let channel = match format {
        F::CU_AD_FORMAT_UNSIGNED_INT8 | F::CU_AD_FORMAT_SIGNED_INT8 => 1,
        F::CU_AD_FORMAT_UNSIGNED_INT16 | F::CU_AD_FORMAT_SIGNED_INT16 | F::CU_AD_FORMAT_HALF => 2,
        F::CU_AD_FORMAT_UNSIGNED_INT32 | F::CU_AD_FORMAT_SIGNED_INT32 | F::CU_AD_FORMAT_FLOAT => 4,
        _ => return None,
    };
    matches!(channels, 1 | 2 | 4).then_some(channel * u64::from(channels))
}

/// Returns the error for a format without an [`element_size`].
pub fn format_error(format: F) -> CuError {
    match format.0 {
        // CUDA defines these formats (block-compressed, normalized, and with several planes), but
        // this project doesn't support them.
        80 | 145..=169 | 176..=181 | 192..=203 => CuError::NOT_SUPPORTED,
        _ => CuError::INVALID_VALUE,
    }
}

/// The size of an array: its width in bytes, its height in rows, and its depth in slices or layers.
/// Each is at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The size of an element in bytes.
    pub element: u64,
    /// The width in bytes.
    pub width: u64,
    /// The height in rows.
    pub height: u64,
    /// The depth in slices or layers.
    pub depth: u64,
}

impl Extent {
    /// Returns the size of an array. Returns `None` if the array has an unsupported format or is
    /// too large.
    pub fn of(array: &CUDA_ARRAY3D_DESCRIPTOR) -> Option<Self> {
        let element = element_size(array.Format, array.NumChannels)?;
        let width = element.checked_mul(array.Width.max(1) as u64)?;
        let (height, depth) = (array.Height.max(1) as u64, array.Depth.max(1) as u64);
        width.checked_mul(height)?.checked_mul(depth)?;
        Some(Self { element, width, height, depth })
    }

    /// Returns whether a box of the size `size` that begins at `at` lies inside the array and
    /// consists of whole elements. `at` and `size` contain bytes, rows, and slices, in this order.
    pub fn contains(&self, at: [u64; 3], size: [u64; 3]) -> bool {
        let ends = at.into_iter().zip(size).zip([self.width, self.height, self.depth]);
        ends.into_iter().all(|((at, size), end)| at.checked_add(size).is_some_and(|to| to <= end))
            && at[0].is_multiple_of(self.element)
            && size[0].is_multiple_of(self.element)
    }

    /// Returns the size of the array in bytes.
    pub fn bytes(&self) -> u64 {
        self.width * self.height * self.depth
    }
}

/// Returns whether the depth of an array is a number of layers.
fn has_layers(array: &CUDA_ARRAY3D_DESCRIPTOR) -> bool {
    array.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP) != 0
}

/// Returns the properties of a level of a mipmapped array whose first level is `first`.
pub fn level(first: &CUDA_ARRAY3D_DESCRIPTOR, level: u32) -> CUDA_ARRAY3D_DESCRIPTOR {
    let smaller = |size: usize| match size {
        0 => 0,
        _ => size.checked_shr(level).unwrap_or(0).max(1),
    };
    CUDA_ARRAY3D_DESCRIPTOR {
        Width: smaller(first.Width),
        Height: smaller(first.Height),
        Depth: if has_layers(first) { first.Depth } else { smaller(first.Depth) },
        ..*first
    }
}

/// Returns the largest number of levels that a mipmapped array with this first level can have.
pub fn most_levels(first: &CUDA_ARRAY3D_DESCRIPTOR) -> u32 {
    let depth = if has_layers(first) { 0 } else { first.Depth };
    let largest = first.Width.max(first.Height).max(depth);
    usize::BITS - largest.max(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(width: usize, height: usize, depth: usize, flags: u32) -> CUDA_ARRAY3D_DESCRIPTOR {
        CUDA_ARRAY3D_DESCRIPTOR {
            Width: width,
            Height: height,
            Depth: depth,
            Format: F::CU_AD_FORMAT_FLOAT,
            NumChannels: 2,
            Flags: flags,
        }
    }

    #[test]
    fn a_box_must_lie_inside_the_array_and_consist_of_whole_elements() {
        let extent = Extent::of(&array(10, 4, 0, 0)).unwrap();
        assert_eq!(extent.bytes(), 320);
        assert!(extent.contains([0, 0, 0], [80, 4, 1]));
        assert!(extent.contains([72, 3, 0], [8, 1, 1]));
        for (at, size) in [
            ([8, 0, 0], [80, 1, 1]),
            ([0, 1, 0], [8, 4, 1]),
            ([0, 0, 1], [8, 1, 1]),
            ([4, 0, 0], [8, 1, 1]),
            ([0, 0, 0], [4, 1, 1]),
            ([u64::MAX, 0, 0], [8, 1, 1]),
            ([0, u64::MAX, 0], [8, 2, 1]),
        ] {
            assert!(!extent.contains(at, size), "{at:?} {size:?}");
        }
        assert!(Extent::of(&array(usize::MAX, 4, 0, 0)).is_none());
    }

    #[test]
    fn levels_shrink_to_one_element_but_keep_their_layers() {
        let first = array(100, 0, 0, 0);
        assert_eq!((level(&first, 3).Width, level(&first, 3).Height), (12, 0));
        assert_eq!((most_levels(&first), level(&first, 99).Width), (7, 1));
        let layers = array(8, 4, 5, CUDA_ARRAY3D_LAYERED);
        assert_eq!((most_levels(&layers), level(&layers, 3).Depth), (4, 5));
        assert_eq!(level(&array(8, 8, 8, 0), 2).Depth, 2);
    }
}
