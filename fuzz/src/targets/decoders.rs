//! Decodes bytes as the arguments and the reply of every call, and as the other structures that
//! guest and host exchange. If decoding succeeds, encoding the value must result in bytes that
//! decode to the same value.

use protocol::calls::*;
use protocol::codec::{Answer, Call, DecodeError, Names, Reader, Writer};
use protocol::graph;
use protocol::structs::{ConditionalStep, Step};

type Recode = fn(&[u8]) -> Result<Vec<u8>, DecodeError>;

fn call<'a, C: Call<'a>>(bytes: &'a [u8]) -> Result<Vec<u8>, DecodeError> {
    let call = C::decode(bytes)?;
    let mut writer = Writer::new();
    call.encode(&mut writer);
    Ok(writer.as_bytes().to_vec())
}

fn answer<A: Answer>(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let answer = A::decode(bytes)?;
    let mut writer = Writer::new();
    answer.encode(&mut writer);
    Ok(writer.as_bytes().to_vec())
}

fn whole_graph(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut nodes = Vec::new();
    graph::decode(bytes, |after, step| {
        if let Step::Conditional(step) = &step {
            bodies(step)?;
        }
        nodes.push((after.to_vec(), step));
        Ok::<_, DecodeError>(())
    })?;
    let mut writer = Writer::new();
    writer.word(nodes.len() as u64);
    nodes.iter().for_each(|(after, step)| graph::encode_node(after, step, &mut writer));
    Ok(writer.as_bytes().to_vec())
}

/// Reads the bodies of a conditional node, which need not be valid graphs.
fn bodies(step: &ConditionalStep<'_>) -> Result<(), DecodeError> {
    // Limit the number of bodies that are read, because a guest may claim any number.
    let mut count = 0;
    let read = graph::decode_bodies(step, |_, body| {
        count += 1;
        assert!(count <= step.bodies.len() / 8, "there are more bodies than lengths of bodies");
        let _ = whole_graph(body);
        Ok::<_, DecodeError>(())
    });
    let _ = read;
    Ok(())
}

fn names(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let names = Names::from_bytes(bytes)?;
    let joined: Vec<u8> = names.iter().flat_map(|name| [name.as_bytes(), b"\0"].concat()).collect();
    assert_eq!(joined, names.as_bytes());
    Ok(joined)
}

fn step(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut reader = Reader::new(bytes);
    let step = Step::decode(&mut reader)?;
    reader.finish()?;
    let mut writer = Writer::new();
    step.encode(&mut writer);
    Ok(writer.as_bytes().to_vec())
}

macro_rules! decoders {
    ($($call:ident { $($argument:ident),* } => $answer:ty),* $(,)?) => {
        const DECODERS: &[Recode] =
            &[whole_graph, names, step, $(|bytes| call::<$call>(bytes), answer::<$answer>),*];
    };
}
protocol::each_call!(decoders);

/// Runs the target. The first two bytes select the decoder.
pub fn run(bytes: &[u8]) {
    let Some((number, bytes)) = bytes.split_first_chunk() else { return };
    let recode = DECODERS[usize::from(u16::from_le_bytes(*number)) % DECODERS.len()];
    let Ok(encoded) = recode(bytes) else { return };
    assert_eq!(recode(&encoded).as_ref(), Ok(&encoded), "from {bytes:02x?}");
}
