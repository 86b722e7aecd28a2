//! Recorded messages. A guest and a host may differ by one release, so the present code must decode
//! the messages in `fixtures/VERSION` to the recorded values, and encode the same bytes.
//!
//! Recorded bytes never change while the host accepts drivers of that version. The recorded text
//! changes only if a field is renamed, or reserved bytes get a meaning. To record new calls, set
//! `VIRTIO_CUDA_WRITE_FIXTURES=1`, which adds lines to the newest version's file.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write};
use std::mem::offset_of;
use std::path::PathBuf;

use virtio_cuda_protocol::calls::*;
use virtio_cuda_protocol::codec::{Answer, Array, Call, DecodeError, Element, Names, Writer};
use virtio_cuda_protocol::graph::{self, Dependency};
use virtio_cuda_protocol::ids::*;
use virtio_cuda_protocol::plain::Plain;
use virtio_cuda_protocol::structs::*;
use virtio_cuda_protocol::uapi::{self, VERSION_MAJOR, VERSION_MINOR};
use virtio_cuda_protocol::{each_answer, each_call};

/// A kind of message.
struct Kind {
    /// Creates a message for a new recording.
    sample: fn() -> Vec<u8>,
    /// Decodes a message. Returns its text, and its bytes as the present code encodes them.
    recode: fn(&[u8]) -> Recoded,
}

type Recoded = Result<(String, Vec<u8>), DecodeError>;

/// Returns all kinds of messages by their names.
fn kinds() -> BTreeMap<String, Kind> {
    let mut kinds = BTreeMap::new();
    macro_rules! calls {
        ($($call:ident { $($argument:ident),* } => $answer:ty),* $(,)?) => { $(
            let name = format!("call {:03} {}", <$call as Call>::OPCODE, stringify!($call));
            kinds.insert(name, Kind {
                sample: || {
                    let _values = &mut Values(0);
                    encoded(&$call { $($argument: _values.next()),* })
                },
                recode: |bytes| recode_call::<$call>(bytes),
            });
        )* };
    }
    each_call!(calls);
    macro_rules! answers {
        ($($answer:ident { $($value:ident),* }),* $(,)?) => { $(
            kinds.insert(format!("answer {}", stringify!($answer)), Kind {
                sample: || {
                    let values = &mut Values(0);
                    let mut writer = Writer::new();
                    $answer { $($value: values.next()),* }.encode(&mut writer);
                    writer.as_bytes().to_vec()
                },
                recode: |bytes| {
                    let answer = $answer::decode(bytes)?;
                    let mut writer = Writer::new();
                    answer.encode(&mut writer);
                    Ok((format!("{answer:?}"), writer.as_bytes().to_vec()))
                },
            });
        )* };
    }
    each_answer!(answers);
    macro_rules! plain {
        ($($t:ident)*) => { $(
            kinds.insert(format!("struct {}", stringify!($t)), Kind {
                sample: || (1..=size_of::<uapi::$t>()).map(|byte| byte as u8).collect(),
                recode: |bytes| {
                    let value = uapi::$t::from_bytes(bytes).ok_or(DecodeError::Short)?;
                    Ok((format!("{value:?}"), value.as_bytes().to_vec()))
                },
            });
        )* };
    }
    plain! {
        Config Hdr Resp Hello SessionCreate SessionDestroy Segment RegionAttach RegionDetach Query
        Facts Gpu GpuUse Limits Process ProcessUse Event Cmd Reply
    }
    macro_rules! constants {
        ($($name:ident)*) => { $(
            kinds.insert(format!("constant {}", stringify!($name)), Kind {
                sample: || (uapi::$name as u64).to_le_bytes().to_vec(),
                recode: |_| {
                    let value = uapi::$name as u64;
                    Ok((value.to_string(), value.to_le_bytes().to_vec()))
                },
            });
        )* };
    }
    constants! {
        MAGIC QUEUE_CONTROL QUEUE_EVENT QUEUE_COMMAND CAP_RING CAP_PINNED CAP_USER CAP_QUERY CAP_FILES
        CTRL_HELLO CTRL_SESSION_CREATE CTRL_SESSION_DESTROY CTRL_REGION_ATTACH CTRL_REGION_DETACH
        CTRL_QUERY OK ERR_INVALID ERR_NO_SESSION ERR_EXISTS ERR_LIMIT ERR_NO_WORKER ERR_UNSUPPORTED
        ERR_MEMORY ERR_BUSY REGION_RING REGION_PINNED REGION_USER GPU_ECC GPU_PEER_SHIFT UTILIZATION_NONE
        SLOWED_KNOWN SLOWED_BY_CAP SLOWED_BY_TURNS SLOWED_BY_PAUSE LIMIT_NONE
        EVENT_WAKE EVENT_ENDED ENDED_DESTROYED ENDED_PROTOCOL ENDED_WORKER ENDED_HOST CMD_DOORBELL
        CMD_SUBMIT CMD_WAITED RING_HEADER_BYTES SLEEPS_ALL SLEEPS_FULL REPLY_DONE REPLY_OUTPUT
    }
    kinds.insert(
        "layout Ring".into(),
        Kind {
            sample: || words(&ring().1),
            recode: |_| {
                let (text, offsets) = ring();
                Ok((text, words(&offsets)))
            },
        },
    );
    kinds.insert("graph".into(), Kind { sample: sample_graph, recode: recode_graph });
    kinds
}

/// Returns the fields of the ring's header and their offsets.
fn ring() -> (String, Vec<usize>) {
    macro_rules! offsets {
        ($($field:ident)*) => {
            [$((stringify!($field), offset_of!(uapi::Ring, $field))),*]
        };
    }
    let fields = offsets! {
        tail guest_sleeps head host_sleeps posted_error host_func host_funcs_begun host_funcs_ended
    };
    (format!("{fields:?}"), fields.map(|(_, offset)| offset).into())
}

fn words(values: &[usize]) -> Vec<u8> {
    values.iter().flat_map(|value| (*value as u64).to_le_bytes()).collect()
}

fn encoded<'a, C: Call<'a>>(call: &C) -> Vec<u8> {
    let mut writer = Writer::new();
    call.encode(&mut writer);
    writer.as_bytes().to_vec()
}

fn recode_call<'a, C: Call<'a> + Debug>(bytes: &'a [u8]) -> Recoded {
    let call = C::decode(bytes)?;
    Ok((format!("{call:?}"), encoded(&call)))
}

fn encoded_graph(nodes: &[(Vec<Dependency>, Step<'_>)]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.word(nodes.len() as u64);
    nodes.iter().for_each(|(after, step)| graph::encode_node(after, step, &mut writer));
    writer.as_bytes().to_vec()
}

/// Returns an encoded graph with a node of each kind. Each node depends on the previous one.
fn sample_graph() -> Vec<u8> {
    let values = &mut Values(0);
    let steps = [
        Step::Kernel(values.next()),
        Step::Copy(values.next()),
        Step::Memset(values.next()),
        Step::HostFunc(values.next()),
        Step::Empty,
        Step::EventWait(values.next()),
        Step::EventRecord(values.next()),
        Step::MemoryOperations(values.next()),
        Step::Conditional(values.next()),
    ];
    let on = |node: usize| Dependency {
        node: node as u32,
        from_port: (node % 4) as u8,
        programmatic: node % 2 == 1,
    };
    let after = |number: usize| number.checked_sub(1).map(on).into_iter().collect();
    let nodes = steps.into_iter().enumerate();
    encoded_graph(&nodes.map(|(number, step)| (after(number), step)).collect::<Vec<_>>())
}

fn recode_graph(bytes: &[u8]) -> Recoded {
    let mut nodes = Vec::new();
    graph::decode(bytes, |after, step| {
        nodes.push((after.to_vec(), step));
        Ok::<_, DecodeError>(())
    })?;
    Ok((format!("{nodes:?}"), encoded_graph(&nodes)))
}

/// Creates sample values. Each value occurs only once in a message, so that swapped fields are
/// noticed.
struct Values(u8);

impl Values {
    fn next<T: Sample>(&mut self) -> T {
        T::sample(self)
    }

    fn number(&mut self) -> u8 {
        self.0 = self.0.wrapping_add(1);
        self.0
    }
}

trait Sample {
    fn sample(values: &mut Values) -> Self;
}

macro_rules! numbers {
    ($($t:ty: $high:expr),*) => { $(
        impl Sample for $t {
            fn sample(values: &mut Values) -> Self {
                <$t>::from(values.number()) | $high
            }
        }
    )* };
}
// Set the highest bit in each sample, so that the encoding shows the type's size and sign.
numbers! { u8: 0, u32: 0x8000_0000, u64: 1 << 63, i32: i32::MIN, i64: i64::MIN, usize: 1 << 63 }

impl Sample for f32 {
    fn sample(values: &mut Values) -> Self {
        f32::from(values.number()) + 0.5
    }
}

macro_rules! ids {
    ($($t:ident)*) => { $(
        impl Sample for $t {
            fn sample(values: &mut Values) -> Self {
                Self(values.next())
            }
        }
    )* };
}
ids! {
    ContextId StreamId EventId ModuleId LibraryId KernelId FuncId FunctionId GraphExecId ValuesId
    LinkId PoolId ArrayId MipmapId GreenId TexRefId SurfRefId BlobId
}

impl<T: Sample, const N: usize> Sample for [T; N] {
    fn sample(values: &mut Values) -> Self {
        std::array::from_fn(|_| values.next())
    }
}

impl<T: Sample> Sample for Vec<T> {
    fn sample(values: &mut Values) -> Self {
        values.next::<[T; 3]>().into()
    }
}

impl<T: Sample + Element> Sample for Array<'static, T> {
    fn sample(values: &mut Values) -> Self {
        (&*values.next::<Vec<T>>().leak()).into()
    }
}

impl Sample for &'static [u8] {
    fn sample(values: &mut Values) -> Self {
        values.next::<Vec<u8>>().leak()
    }
}

impl Sample for &'static str {
    fn sample(values: &mut Values) -> Self {
        format!("name {}", values.number()).leak()
    }
}

impl Sample for Names {
    fn sample(_: &mut Values) -> Self {
        let mut names = Self::default();
        names.push(c"first");
        names.push(c"second");
        names
    }
}

macro_rules! structures {
    ($($t:ident $(<$lifetime:lifetime>)? { $($member:ident),* })*) => { $(
        impl Sample for $t $(<$lifetime>)? {
            fn sample(values: &mut Values) -> Self {
                Self { $($member: values.next()),* }
            }
        }
    )* };
}
structures! {
    DeviceFacts { total_memory, uuid, name, pci_bus_id, known, attributes }
    Dim3 { x, y, z }
    LaunchAttribute { id, value }
    JitOption { option, value }
    LibraryOption { option, value }
    CopySide { address, pitch, height }
    MemoryOperation { operation, address, value, flags }
    ArrayDescriptor { width, height, depth, format, channels, flags }
    BoxSide { array, address, pitch, height, x, y, z }
    BoxSize { width, height, depth }
    TextureResource {
        kind, array, mipmap, address, format, channels, width, height, pitch, bytes, flags
    }
    MemoryAccess { device, flags }
    ParameterPlace { offset, size }
    FunctionAttribute { result, value }
    CopyStep { dst, src, width, height, depth }
    MemsetStep { dst, pitch, element_size, value, width, height }
    HostFuncStep { token }
    EventWaitStep { event }
    EventRecordStep { event }
    KernelStep<'static> { f, grid, block, shared, params, attributes }
    MemoryOperationsStep<'static> { operations }
    ConditionalStep<'static> { values, handle, kind, size, bodies }
}

impl Sample for Step<'static> {
    fn sample(values: &mut Values) -> Self {
        Self::Kernel(values.next())
    }
}

/// The recording of one version: the text and the bytes of each message.
type Recording = BTreeMap<String, (String, Vec<u8>)>;

fn path(version: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/fixtures", version].iter().collect()
}

/// Reads a recording, which has three lines for each message: its name, its text, and its bytes.
fn read(version: &str) -> Recording {
    let text = std::fs::read_to_string(path(version)).unwrap_or_default();
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    let message = |lines: &[&str]| {
        let bytes = lines[2].trim().as_bytes().chunks(2).map(byte).collect();
        (lines[0].to_owned(), (lines[1].trim().to_owned(), bytes))
    };
    lines.chunks(3).map(message).collect()
}

fn write(version: &str, recording: &Recording) {
    let mut text = String::from(
        "# Messages between guest and host: the name, the decoded values, and the bytes of each.\n\
         # Recorded by tests/fixtures.rs. Messages are added, but their bytes never change.\n",
    );
    for (name, (values, bytes)) in recording {
        let bytes: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "{name}\n {values}\n {bytes}").unwrap();
    }
    std::fs::write(path(version), text).unwrap();
}

/// Returns the versions whose messages the present code must decode and encode.
fn versions() -> Vec<String> {
    let files = std::fs::read_dir(path("")).unwrap();
    let versions = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    // Only versions with the present major version count, because a device refuses drivers with
    // another one.
    let major = format!("{VERSION_MAJOR}.");
    versions.filter(|version| version.starts_with(&major)).collect()
}

#[test]
fn recorded_messages_have_the_same_values_and_bytes_today() {
    let kinds = kinds();
    assert!(!versions().is_empty());
    for version in versions() {
        for (name, (text, bytes)) in read(&version) {
            let kind = kinds.get(&name).unwrap_or_else(|| panic!("{version} has {name}"));
            let today = (kind.recode)(&bytes);
            assert_eq!(today, Ok((text, bytes)), "{name} of version {version}");
        }
    }
}

#[test]
fn every_message_of_todays_version_is_recorded() {
    let version = format!("{VERSION_MAJOR}.{VERSION_MINOR}");
    let mut recording = read(&version);
    let mut missing = Vec::new();
    for (name, kind) in kinds() {
        if recording.contains_key(&name) {
            continue;
        }
        let bytes = (kind.sample)();
        let (text, again) = (kind.recode)(&bytes).unwrap();
        assert_eq!(again, bytes, "{name}");
        recording.insert(name.clone(), (text, bytes));
        missing.push(name);
    }
    if std::env::var_os("VIRTIO_CUDA_WRITE_FIXTURES").is_some() {
        write(&version, &recording);
    } else {
        assert!(missing.is_empty(), "set VIRTIO_CUDA_WRITE_FIXTURES=1 to record {missing:?}");
    }
}
