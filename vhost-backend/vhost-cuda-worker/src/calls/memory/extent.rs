//! Determines the bytes that copies and memsets access.

use crate::driver::{CuError, CuResult};

/// Returns the number of bytes from the first byte of a box to its last one. Rows begin every
/// `pitch` bytes, and slices every `pitch * slice_height` bytes. As CUDA requires, fails if the
/// pitch is less than the box's width or the slice height is less than its height, unless there is
/// only one row or one slice. In particular, this refuses a pitch or height of 0, for which the
/// driver would use the size of the box instead.
pub(in crate::calls) fn span(
    pitch: u64,
    slice_height: u64,
    [width, height, depth]: [u64; 3],
) -> CuResult<u64> {
    if width == 0 || height == 0 || depth == 0 {
        return Ok(0);
    }
    let rows_overlap = pitch < width && (height > 1 || depth > 1);
    let slices_overlap = slice_height < height && depth > 1;
    if rows_overlap || slices_overlap {
        return Err(CuError::INVALID_VALUE);
    }
    let offset = |count: u64, step: Option<u64>| match count {
        1 => Some(0),
        count => step.and_then(|step| (count - 1).checked_mul(step)),
    };
    let rows = offset(height, Some(pitch));
    let slices = offset(depth, pitch.checked_mul(slice_height));
    let last = rows.zip(slices).and_then(|(rows, slices)| rows.checked_add(slices));
    last.and_then(|last| last.checked_add(width)).ok_or(CuError::INVALID_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_box_ends_with_its_last_row() {
        assert_eq!(span(16, 4, [10, 1, 1]), Ok(10));
        assert_eq!(span(16, 4, [10, 3, 1]), Ok(32 + 10));
        assert_eq!(span(16, 4, [10, 3, 2]), Ok(64 + 32 + 10));
        for empty in [[0, 1, 1], [1, 0, 1], [1, 1, 0]] {
            assert_eq!(span(0, 0, empty), Ok(0));
        }
    }

    #[test]
    fn a_single_row_or_slice_needs_no_pitch_or_height() {
        assert_eq!(span(0, 0, [10, 1, 1]), Ok(10));
        assert_eq!(span(u64::MAX, u64::MAX, [10, 1, 1]), Ok(10));
        assert_eq!(span(10, 0, [10, 3, 1]), Ok(30));
    }

    #[test]
    fn rows_and_slices_must_not_overlap() {
        for (pitch, height, size) in [
            (0, 0, [10, 2, 1]),
            (9, 0, [10, 2, 1]),
            (0, 1, [10, 1, 2]),
            (10, 0, [10, 1, 2]),
            (10, 2, [10, 3, 2]),
        ] {
            assert_eq!(span(pitch, height, size), Err(CuError::INVALID_VALUE), "{size:?}");
        }
    }

    #[test]
    fn sizes_that_overflow_are_refused() {
        for (pitch, height, size) in [
            (u64::MAX, 4, [10, 2, 1]),
            (10, 4, [10, u64::MAX, 1]),
            (1 << 40, 1 << 40, [10, 1, 2]),
            (u64::MAX, u64::MAX, [u64::MAX, 1, 2]),
            (u64::MAX, 1, [u64::MAX, 2, 1]),
        ] {
            assert_eq!(span(pitch, height, size), Err(CuError::INVALID_VALUE), "{size:?}");
        }
    }

    proptest! {
        /// The driver replaces a pitch or a height of 0 by the width or height of the box. Even
        /// then, no byte that it accesses may be beyond the span.
        #[test]
        fn the_driver_accesses_nothing_beyond_the_span(
            pitch in 0u64..12, slice_height in 0u64..6,
            width in 1u64..10, height in 1u64..5, depth in 1u64..4,
        ) {
            if let Ok(span) = span(pitch, slice_height, [width, height, depth]) {
                let row = if pitch == 0 { width } else { pitch };
                let slice = if slice_height == 0 { height } else { slice_height };
                let last = (depth - 1) * slice * row + (height - 1) * row + width;
                prop_assert!(last <= span);
            }
        }
    }
}
