//! Texture objects and surface objects, in the form in which the interpreter uses them.

use std::sync::Arc;

use super::coordinate::Wrap;
use super::format::{Conversion, Format};

/// Texels in memory: an array, a level of a mipmapped array, or linear memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Image {
    /// The address of the first texel.
    pub address: u64,
    pub format: Format,
    /// The width in texels. Like the other sizes, it's at least 1.
    pub width: u32,
    /// The height in rows.
    pub height: u32,
    /// The number of slices or layers.
    pub depth: u32,
    /// Whether `depth` is a number of layers.
    pub layered: bool,
    /// The distance between rows in bytes.
    pub pitch: u64,
    /// The distance between slices or layers in bytes.
    pub slice: u64,
}

impl Image {
    /// Returns the width, the height, and the depth of the image, in texels.
    pub fn sizes(&self) -> [u32; 3] {
        [self.width, self.height, self.depth]
    }

    /// Returns the address of the texel at column `x`, row `y`, and a slice or layer.
    pub fn texel(&self, [x, y, slice]: [u32; 3]) -> u64 {
        let row = u64::from(slice) * self.slice + u64::from(y) * self.pitch;
        self.address + row + u64::from(x) * self.format.bytes() as u64
    }
}

/// A texture object, with the properties that determine how it's read.
#[derive(Debug, Clone)]
pub struct Texture {
    /// The levels of a mipmapped array, or one element for other resources. Never empty.
    pub levels: Vec<Image>,
    /// How the texture returns integers.
    pub conversion: Conversion,
    /// The addressing mode for coordinates outside the texture, for each dimension.
    pub wraps: [Wrap; 3],
    /// Whether coordinates between 0 and 1 cover the texture.
    pub normalized: bool,
    /// Whether to interpolate between texels.
    pub linear: bool,
    /// Whether to interpolate between levels.
    pub linear_levels: bool,
    /// The bias that is added to the requested level.
    pub bias: f32,
    /// The lowest level that may be used.
    pub min_level: f32,
    /// The highest level that may be used.
    pub max_level: f32,
    /// The components of texels outside the texture, if the addressing mode is [`Wrap::Border`].
    pub border: [u32; 4],
}

/// Finds the objects for the handles that kernels use.
pub trait Objects: Sync {
    /// Returns a texture object, if its memory still exists.
    fn texture(&self, handle: u64) -> Option<Arc<Texture>>;
    /// Returns a surface object, if its memory still exists.
    fn surface(&self, handle: u64) -> Option<Arc<Image>>;
}
