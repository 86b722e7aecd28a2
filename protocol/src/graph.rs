//! Graphs, as they travel to be instantiated.
//!
//! The number of nodes, then each node: a byte string with the numbers (le32) of the nodes that it
//! depends on, all of which stand before it, then its step. A step is a number for its kind, then
//! its words and byte strings. All as [`codec`](crate::codec) has them.

use crate::codec::{DecodeError, Reader, Writer};
use crate::limits::GRAPH_NODES_MAX;

/// A kernel node's launch, packed as `vcudaLaunch` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel<'a> {
    /// Id of a function or kernel.
    pub f: u64,
    /// Grid and block, in CUDA's order.
    pub dims: [u32; 6],
    /// Dynamic shared memory.
    pub shared: u32,
    /// The parameter buffer.
    pub params: &'a [u8],
    /// Launch attributes.
    pub attributes: &'a [u8],
}

/// One side of a copy: an address that the GPU sees, and how far rows and slices are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Of the first byte.
    pub address: u64,
    /// Bytes from row to row.
    pub pitch: u64,
    /// Rows from slice to slice.
    pub height: u64,
}

/// A copy node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    /// To.
    pub dst: Side,
    /// From.
    pub src: Side,
    /// Bytes of a row.
    pub width: u64,
    /// Rows of a slice.
    pub height: u64,
    /// Slices.
    pub depth: u64,
}

/// A memset node, as `vcudaMemset` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memset {
    /// Address of the first byte.
    pub dst: u64,
    /// Bytes from row to row.
    pub pitch: u64,
    /// Bytes of an element: 1, 2 or 4.
    pub element_size: u32,
    /// The element.
    pub value: u32,
    /// Elements of a row.
    pub width: u64,
    /// Rows.
    pub height: u64,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// Joins what it depends on.
    Empty,
    /// Launches.
    Kernel(Kernel<'a>),
    /// Copies.
    Copy(Copy),
    /// Sets.
    Memset(Memset),
    /// Stops for a function of the guest's, as `vcudaHostFunc` does, each time it is reached.
    HostFunc {
        /// The token.
        token: u64,
    },
    /// Waits for an event.
    EventWait {
        /// Its id.
        event: u64,
    },
    /// Records an event.
    EventRecord {
        /// Its id.
        event: u64,
    },
}

/// Kinds of steps: `CUgraphNodeType`.
mod kind {
    pub const KERNEL: u32 = 0;
    pub const COPY: u32 = 1;
    pub const MEMSET: u32 = 2;
    pub const HOST: u32 = 3;
    pub const EMPTY: u32 = 5;
    pub const WAIT: u32 = 6;
    pub const RECORD: u32 = 7;
}

fn narrow(word: u64) -> Result<u32, DecodeError> {
    u32::try_from(word).map_err(|_| DecodeError::Range)
}

fn put_side(side: &Side, writer: &mut Writer) {
    [side.address, side.pitch, side.height].into_iter().for_each(|word| writer.word(word));
}

fn side(reader: &mut Reader<'_>) -> Result<Side, DecodeError> {
    Ok(Side { address: reader.word()?, pitch: reader.word()?, height: reader.word()? })
}

impl<'a> Step<'a> {
    /// `CUgraphNodeType`.
    pub fn kind(&self) -> u32 {
        match self {
            Self::Kernel(_) => kind::KERNEL,
            Self::Copy(_) => kind::COPY,
            Self::Memset(_) => kind::MEMSET,
            Self::HostFunc { .. } => kind::HOST,
            Self::Empty => kind::EMPTY,
            Self::EventWait { .. } => kind::WAIT,
            Self::EventRecord { .. } => kind::RECORD,
        }
    }

    /// Appends the step.
    pub fn encode(&self, writer: &mut Writer) {
        writer.word(self.kind().into());
        match self {
            Self::Empty => {}
            Self::Kernel(kernel) => {
                writer.word(kernel.f);
                kernel.dims.iter().for_each(|dim| writer.word((*dim).into()));
                writer.word(kernel.shared.into());
                writer.bytes(kernel.params);
                writer.bytes(kernel.attributes);
            }
            Self::Copy(copy) => {
                put_side(&copy.dst, writer);
                put_side(&copy.src, writer);
                [copy.width, copy.height, copy.depth].iter().for_each(|word| writer.word(*word));
            }
            Self::Memset(set) => {
                let (size, value) = (set.element_size.into(), set.value.into());
                for word in [set.dst, set.pitch, size, value, set.width, set.height] {
                    writer.word(word);
                }
            }
            Self::HostFunc { token: word }
            | Self::EventWait { event: word }
            | Self::EventRecord { event: word } => writer.word(*word),
        }
    }

    /// Takes one step.
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match narrow(reader.word()?)? {
            kind::EMPTY => Self::Empty,
            kind::KERNEL => {
                let f = reader.word()?;
                let mut dims = [0; 6];
                for dim in &mut dims {
                    *dim = narrow(reader.word()?)?;
                }
                let shared = narrow(reader.word()?)?;
                let (params, attributes) = (reader.bytes()?, reader.bytes()?);
                Self::Kernel(Kernel { f, dims, shared, params, attributes })
            }
            kind::COPY => {
                let (dst, src) = (side(reader)?, side(reader)?);
                let (width, height, depth) = (reader.word()?, reader.word()?, reader.word()?);
                Self::Copy(Copy { dst, src, width, height, depth })
            }
            kind::MEMSET => Self::Memset(Memset {
                dst: reader.word()?,
                pitch: reader.word()?,
                element_size: narrow(reader.word()?)?,
                value: narrow(reader.word()?)?,
                width: reader.word()?,
                height: reader.word()?,
            }),
            kind::HOST => Self::HostFunc { token: reader.word()? },
            kind::WAIT => Self::EventWait { event: reader.word()? },
            kind::RECORD => Self::EventRecord { event: reader.word()? },
            _ => return Err(DecodeError::Range),
        })
    }
}

/// Appends a node.
pub fn encode_node(after: &[u32], step: &Step<'_>, writer: &mut Writer) {
    let bytes: Vec<u8> = after.iter().flat_map(|number| number.to_le_bytes()).collect();
    writer.bytes(&bytes);
    step.encode(writer);
}

/// Takes a whole graph apart: calls `each` with what every node depends on, and its step.
pub fn decode<'a, E: From<DecodeError>>(
    bytes: &'a [u8],
    mut each: impl FnMut(&[u32], Step<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = Reader::new(bytes);
    let count = usize::try_from(reader.word()?).map_err(|_| DecodeError::Range)?;
    if count > GRAPH_NODES_MAX {
        return Err(DecodeError::Range.into());
    }
    let mut after = Vec::new();
    for number in 0..count {
        let (numbers, rest) = reader.bytes()?.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(DecodeError::Range.into());
        }
        after.clear();
        after.extend(numbers.iter().map(|bytes| u32::from_le_bytes(*bytes)));
        // Each once, and before the node itself.
        if after.windows(2).any(|pair| pair[0] >= pair[1])
            || after.last().is_some_and(|last| *last as usize >= number)
        {
            return Err(DecodeError::Range.into());
        }
        each(&after, Step::decode(&mut reader)?)?;
    }
    Ok(reader.finish()?)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const STEPS: [Step<'_>; 7] = [
        Step::Empty,
        Step::Kernel(Kernel {
            f: 17,
            dims: [1, 2, 3, 4, 5, 6],
            shared: 7,
            params: &[1, 2, 3],
            attributes: &[0; 72],
        }),
        Step::Copy(Copy {
            dst: Side { address: 1, pitch: 2, height: 3 },
            src: Side { address: 4, pitch: 5, height: 6 },
            width: 7,
            height: 8,
            depth: 9,
        }),
        Step::Memset(Memset { dst: 1, pitch: 2, element_size: 4, value: 3, width: 5, height: 6 }),
        Step::HostFunc { token: 5 },
        Step::EventWait { event: 6 },
        Step::EventRecord { event: 7 },
    ];

    fn all() -> Writer {
        let mut writer = Writer::new();
        writer.word(STEPS.len() as u64);
        for (number, step) in STEPS.iter().enumerate() {
            let after: Vec<u32> = (0..number as u32).collect();
            encode_node(&after, step, &mut writer);
        }
        writer
    }

    #[test]
    fn a_graph_comes_back_as_it_was() {
        let writer = all();
        let mut number = 0;
        decode(writer.as_bytes(), |after, step| {
            assert_eq!((after.len(), step), (number, STEPS[number]));
            number += 1;
            Ok::<_, DecodeError>(())
        })
        .unwrap();
        assert_eq!(number, STEPS.len());
    }

    #[test]
    fn a_graph_cut_short_or_with_more_behind_it_is_refused() {
        let writer = all();
        let bytes = writer.as_bytes();
        let decode = |bytes: &[u8]| decode(bytes, |_, _| Ok::<_, DecodeError>(()));
        for len in (0..bytes.len()).step_by(8) {
            assert!(decode(&bytes[..len]).is_err(), "{len}");
        }
        assert_eq!(decode(&[bytes, &[0; 8]].concat()), Err(DecodeError::Long));
        assert_eq!(decode(&u64::MAX.to_le_bytes()), Err(DecodeError::Range));
    }

    #[test]
    fn a_node_depends_only_on_what_stands_before_it() {
        for (after, fine) in
            [(&[0u32][..], true), (&[1], false), (&[0, 0], false), (&[u32::MAX], false)]
        {
            let mut writer = Writer::new();
            writer.word(2);
            encode_node(&[], &Step::Empty, &mut writer);
            encode_node(after, &Step::Empty, &mut writer);
            let decoded = decode(writer.as_bytes(), |_, _| Ok::<_, DecodeError>(()));
            assert_eq!(decoded.is_ok(), fine, "{after:?}");
        }
    }
}
