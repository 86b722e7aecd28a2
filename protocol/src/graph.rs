//! The encoding of graphs that the guest sends to be instantiated.
//!
//! The number of nodes comes first, then each node. A node is an array of its dependencies (le32
//! each, see [`Dependency`]) on nodes that come earlier, followed by the node's step: the number of
//! the step's kind, then the step's members (`choice Step` in `api.table`). Numbers and arrays are
//! encoded as in [`codec`](crate::codec).

use crate::codec::{DecodeError, Reader, Writer};
use crate::limits::GRAPH_NODES_MAX;

pub use crate::structs::{
    ConditionalStep, CopySide, CopyStep, Dim3, EventRecordStep, EventWaitStep, HostFuncStep,
    KernelStep, LaunchAttribute, MemoryOperation, MemoryOperationsStep, MemsetStep, Step,
};

/// The number of bits of a node's number in an encoded dependency.
const NODE_BITS: u32 = 24;
/// The number of bits for the port and the type of the edge, which follow the node's number in an
/// encoded dependency.
const EDGE_BITS: u32 = 3;
const _: () = assert!(GRAPH_NODES_MAX <= 1 << NODE_BITS);

/// The dependency of a node on an earlier one. It is encoded as a number with three fields, from
/// the lowest bit: the earlier node's number (24 bits), the edge's port (2 bits), and the edge's
/// type (1 bit).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dependency {
    /// The number of the earlier node.
    pub node: u32,
    /// The outgoing port of the earlier node (`CUgraphEdgeData::from_port`), from 0 to 3.
    pub from_port: u8,
    /// Whether the edge's type is CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC.
    pub programmatic: bool,
}

impl Dependency {
    /// Creates a dependency that is satisfied when the node has finished.
    pub fn on(node: u32) -> Self {
        Self { node, from_port: 0, programmatic: false }
    }

    fn encoded(self) -> u32 {
        let edge = u32::from(self.from_port & 3) | u32::from(self.programmatic) << 2;
        self.node | edge << NODE_BITS
    }

    fn decoded(word: u32) -> Result<Self, DecodeError> {
        let edge = word >> NODE_BITS;
        if edge >> EDGE_BITS != 0 {
            return Err(DecodeError::Range);
        }
        let node = word & ((1 << NODE_BITS) - 1);
        Ok(Self { node, from_port: (edge & 3) as u8, programmatic: edge >> 2 != 0 })
    }
}

/// Appends a node with its dependencies on earlier nodes.
pub fn encode_node(after: &[Dependency], step: &Step<'_>, writer: &mut Writer) {
    let after: Vec<u32> = after.iter().map(|dependency| dependency.encoded()).collect();
    writer.array(&after);
    step.encode(writer);
}

/// Decodes a whole graph. Calls `each` with every node's step and its dependencies.
pub fn decode<'a, E: From<DecodeError>>(
    bytes: &'a [u8],
    mut each: impl FnMut(&[Dependency], Step<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = Reader::new(bytes);
    let count = usize::try_from(reader.word()?).map_err(|_| DecodeError::Range)?;
    if count > GRAPH_NODES_MAX {
        return Err(DecodeError::Range.into());
    }
    let mut after = Vec::new();
    for number in 0..count {
        after.clear();
        for word in reader.array::<u32>(number)?.iter() {
            after.push(Dependency::decoded(word)?);
        }
        // The numbers of the earlier nodes must be ascending, and less than the node's own number.
        if after.windows(2).any(|pair| pair[0].node >= pair[1].node)
            || after.last().is_some_and(|last| last.node as usize >= number)
        {
            return Err(DecodeError::Range.into());
        }
        each(&after, Step::decode(&mut reader)?)?;
    }
    Ok(reader.finish()?)
}

/// Encodes the bodies of a conditional node, each as an encoded graph.
pub fn encode_bodies<'a>(bodies: impl IntoIterator<Item = &'a [u8]>) -> Writer {
    let mut writer = Writer::new();
    bodies.into_iter().for_each(|body| writer.bytes(body));
    writer
}

/// Decodes the bodies of a conditional node. Calls `each` with every encoded graph.
pub fn decode_bodies<'a, E: From<DecodeError>>(
    step: &ConditionalStep<'a>,
    mut each: impl FnMut(usize, &'a [u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut reader = Reader::new(step.bodies);
    for number in 0..step.size as usize {
        each(number, reader.bytes()?)?;
    }
    Ok(reader.finish()?)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ids::{EventId, FuncId, ValuesId};

    fn steps() -> [Step<'static>; 9] {
        const ATTRIBUTES: &[LaunchAttribute] = &[LaunchAttribute { id: 4, value: [9; 8] }];
        const OPERATIONS: &[MemoryOperation] =
            &[MemoryOperation { operation: 2, address: 3, value: 4, flags: 5 }];
        let side = |address| CopySide { address, pitch: 2, height: 3 };
        [
            Step::Empty,
            Step::Kernel(KernelStep {
                f: FuncId(17),
                grid: Dim3 { x: 1, y: 2, z: 3 },
                block: Dim3 { x: 4, y: 5, z: 6 },
                shared: 7,
                params: &[1, 2, 3],
                attributes: ATTRIBUTES.into(),
            }),
            Step::Copy(CopyStep { dst: side(1), src: side(4), width: 7, height: 8, depth: 9 }),
            Step::Memset(MemsetStep {
                dst: 1,
                pitch: 2,
                element_size: 4,
                value: 3,
                width: 5,
                height: 6,
            }),
            Step::HostFunc(HostFuncStep { token: 5 }),
            Step::EventWait(EventWaitStep { event: EventId(6) }),
            Step::EventRecord(EventRecordStep { event: EventId(7) }),
            Step::MemoryOperations(MemoryOperationsStep { operations: OPERATIONS.into() }),
            Step::Conditional(ConditionalStep {
                values: ValuesId(1),
                handle: 2,
                kind: 2,
                size: 3,
                bodies: &[4; 8],
            }),
        ]
    }

    /// Returns dependencies of a node on all earlier nodes, with edges of several kinds.
    fn after(number: usize) -> Vec<Dependency> {
        let edge = |node| ((node % 3) as u8, node % 2 == 1);
        (0..number as u32)
            .map(|node| Dependency { node, from_port: edge(node).0, programmatic: edge(node).1 })
            .collect()
    }

    fn all() -> Writer {
        let mut writer = Writer::new();
        writer.word(steps().len() as u64);
        for (number, step) in steps().iter().enumerate() {
            encode_node(&after(number), step, &mut writer);
        }
        writer
    }

    #[test]
    fn a_graph_decodes_as_it_was_encoded() {
        let writer = all();
        let mut number = 0;
        decode(writer.as_bytes(), |found, step| {
            assert_eq!((found, step), (&after(number)[..], steps()[number]));
            number += 1;
            Ok::<_, DecodeError>(())
        })
        .unwrap();
        assert_eq!(number, steps().len());
    }

    #[test]
    fn bodies_decode_as_they_were_encoded() {
        let bodies: [&[u8]; 2] = [&[1; 16], &[]];
        let writer = encode_bodies(bodies);
        let decoded = |size| {
            let (values, bodies) = (ValuesId(1), writer.as_bytes());
            let step = ConditionalStep { values, handle: 2, kind: 2, size, bodies };
            let mut found = Vec::new();
            decode_bodies(&step, |number, body| {
                found.push((number, body.to_vec()));
                Ok::<_, DecodeError>(())
            })
            .map(|()| found)
        };
        assert_eq!(decoded(2), Ok(vec![(0, vec![1; 16]), (1, vec![])]));
        assert!(decoded(1).is_err() && decoded(3).is_err());
    }

    #[test]
    fn a_truncated_graph_or_one_with_extra_bytes_is_refused() {
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
    fn a_node_depends_only_on_earlier_nodes() {
        let port = 1 << NODE_BITS;
        for (after, fine) in [
            (&[0u32][..], true),
            (&[1], false),
            (&[0, 0], false),
            (&[u32::MAX], false),
            (&[port], true),
            (&[0, port], false),
            (&[8 * port], false),
        ] {
            let mut writer = Writer::new();
            writer.word(2);
            encode_node(&[], &Step::Empty, &mut writer);
            writer.array(after);
            Step::Empty.encode(&mut writer);
            let decoded = decode(writer.as_bytes(), |_, _| Ok::<_, DecodeError>(()));
            assert_eq!(decoded.is_ok(), fine, "{after:?}");
        }
    }
}
