//! Texture and surface instructions, in the lowered form of PTX.

use super::types::Slot;

/// The geometry of a texture or a surface, as an instruction specifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Geometry {
    D1,
    D2,
    D3,
    Layered1,
    Layered2,
    Cube,
    LayeredCube,
}

impl Geometry {
    /// Parses a modifier such as `2d`.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "1d" => Self::D1,
            "2d" => Self::D2,
            "3d" => Self::D3,
            "a1d" => Self::Layered1,
            "a2d" => Self::Layered2,
            "cube" => Self::Cube,
            "acube" => Self::LayeredCube,
            _ => return None,
        })
    }

    /// Returns whether the geometry has layers. If so, the first operand is the index of the layer.
    pub fn layered(self) -> bool {
        matches!(self, Self::Layered1 | Self::Layered2 | Self::LayeredCube)
    }

    /// Returns whether the coordinates are a direction, which selects one of six faces.
    pub fn cube(self) -> bool {
        matches!(self, Self::Cube | Self::LayeredCube)
    }

    /// Returns the number of coordinates, without the index of the layer.
    pub fn coordinates(self) -> usize {
        match self {
            Self::D1 | Self::Layered1 => 1,
            Self::D2 | Self::Layered2 => 2,
            Self::D3 | Self::Cube | Self::LayeredCube => 3,
        }
    }
}

/// The registers that select an object and a position in it, for texture and surface instructions.
#[derive(Debug)]
pub struct Place {
    /// The geometry that the instruction specifies.
    pub geometry: Geometry,
    /// The register with the object's handle.
    pub object: Slot,
    /// The register with the index of the layer, if the geometry has layers.
    pub layer: Option<Slot>,
    /// The registers with the coordinates. The geometry determines their number.
    pub at: Vec<Slot>,
}

/// How a texture instruction selects the level of a mipmapped array.
#[derive(Debug)]
pub enum Detail {
    /// The first level.
    Base,
    /// The level in this register, which has the same type as the coordinates.
    Level(Slot),
    /// The level whose texels are about as far apart as the registers' derivatives of the
    /// coordinates in the two screen directions say.
    Gradient(Vec<Slot>, Vec<Slot>),
}

/// The kind of read that a texture instruction performs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// The texel at integer coordinates.
    Texel,
    /// The texture at floating-point coordinates, filtered as the texture object specifies.
    Filtered,
    /// The component with this index of each of the texels that linear filtering would use.
    Gather(u8),
}

/// A `tex` or `tld4` instruction.
#[derive(Debug)]
pub struct Fetch {
    /// The texture and the position to read.
    pub place: Place,
    /// The kind of read to perform.
    pub sampling: Sampling,
    /// How to select the level to read.
    pub detail: Detail,
    /// The destination registers of the four components. `None` discards a component.
    pub d: [Option<Slot>; 4],
}

/// The effect of an access outside a surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bounds {
    /// The kernel fails.
    Trap,
    /// The access uses the nearest position in the surface.
    Clamp,
    /// A load returns zero, and a store has no effect.
    Zero,
}

impl Bounds {
    /// Parses a modifier such as `trap`.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "trap" => Self::Trap,
            "clamp" => Self::Clamp,
            "zero" => Self::Zero,
            _ => return None,
        })
    }
}

/// A `suld` or `sust` instruction.
#[derive(Debug)]
pub struct SurfaceAccess {
    /// The surface and the position to access. The first coordinate is in bytes.
    pub place: Place,
    /// Whether the instruction stores, and doesn't load.
    pub store: bool,
    /// The effect of an access outside the surface.
    pub bounds: Bounds,
    /// Element size in bytes: 1, 2, 4 or 8.
    pub size: u8,
    /// The registers of the elements. `None` discards an element.
    pub regs: Vec<Option<Slot>>,
}

/// A property of a texture or a surface that an instruction can query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Property {
    Width,
    Height,
    Depth,
    Layers,
    Levels,
}

impl Property {
    /// Parses a modifier such as `width`.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "width" => Self::Width,
            "height" => Self::Height,
            "depth" => Self::Depth,
            "array_size" => Self::Layers,
            "num_mipmap_levels" => Self::Levels,
            _ => return None,
        })
    }
}

/// A `txq` or `suq` instruction.
#[derive(Debug)]
pub struct Query {
    /// Whether the object is a surface.
    pub surface: bool,
    /// The register with the object's handle.
    pub object: Slot,
    /// The property to query.
    pub property: Property,
    /// The register with the level whose property is queried. `None` means the first level.
    pub level: Option<Slot>,
    pub d: Slot,
}
