//! Generates encoded graphs.

use protocol::codec::Writer;
use protocol::graph::{Dependency, encode_bodies, encode_node};
use protocol::structs::{ConditionalStep, Step};

use crate::world::World;

/// The deepest nesting of generated bodies. It exceeds the worker's limit, so that the limit is
/// tested.
const DEPTH: usize = 40;

/// Returns an encoded graph with a few nodes. `depth` is the number of graphs in whose bodies it is
/// nested.
pub fn graph(world: &mut World<'_>, depth: usize) -> Vec<u8> {
    let count = world.input.below(6);
    let mut writer = Writer::new();
    writer.word(count as u64);
    for number in 0..count as u32 {
        let mut after = Vec::new();
        for node in 0..number {
            if world.input.one_in(3) {
                let (from_port, programmatic) = match world.input.below(16) {
                    0 => (world.input.byte() & 3, world.input.one_in(2)),
                    _ => (0, false),
                };
                after.push(Dependency { node, from_port, programmatic });
            }
        }
        let step = match world.input.below(8) {
            0 => Step::Conditional(conditional(world, depth)),
            _ => world.make("step"),
        };
        encode_node(&after, &step, &mut writer);
    }
    writer.as_bytes().to_vec()
}

fn conditional(world: &mut World<'_>, depth: usize) -> ConditionalStep<'static> {
    let (values, handle) = (world.make("values"), world.input.below(4) as u64);
    let (kind, size) = (world.input.below(4) as u32, world.input.pick(&[1, 1, 2, 0, 9]));
    ConditionalStep { values, handle, kind, size, bodies: bodies(world, depth + 1).leak() }
}

/// Returns the encoded bodies of a conditional node.
pub fn bodies(world: &mut World<'_>, depth: usize) -> Vec<u8> {
    let count = if depth >= DEPTH { 0 } else { world.input.below(3) };
    let bodies: Vec<_> = (0..count).map(|_| graph(world, depth)).collect();
    encode_bodies(bodies.iter().map(Vec::as_slice)).as_bytes().to_vec()
}
