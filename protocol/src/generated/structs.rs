//! Made from `api.table` by `cargo xtask codegen`; not to be edited.
//!
//! Structures that travel within calls and answers.

use crate::codec::{Array, DecodeError, Element, Reader, Word, Writer};
use crate::ids::*;

/// One device, as this VM sees it.
///
/// total_memory is the VM's quota or the device's memory, whichever is smaller, in bytes. name and
/// pci_bus_id end with a zero byte. Bit i of known is set if the device has attribute i; the values of
/// all other attributes are 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceFacts {
    /// `total_memory`.
    pub total_memory: u64,
    /// `uuid`.
    pub uuid: [u8; 16],
    /// `name`.
    pub name: [u8; 128],
    /// `pci_bus_id`.
    pub pci_bus_id: [u8; 32],
    /// `known`.
    pub known: [u64; 4],
    /// `attributes`.
    pub attributes: [i32; 160],
}

impl DeviceFacts {
    /// Appends the structure.
    pub fn encode(&self, writer: &mut Writer) {
        writer.word(self.total_memory.to_word());
        writer.packed(&self.uuid);
        writer.packed(&self.name);
        writer.packed(&self.pci_bus_id);
        writer.packed(&self.known);
        writer.packed(&self.attributes);
    }

    /// Takes the structure.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            total_memory: <u64>::from_word(reader.word()?)?,
            uuid: reader.packed()?,
            name: reader.packed()?,
            pci_bus_id: reader.packed()?,
            known: reader.packed()?,
            attributes: reader.packed()?,
        })
    }
}

impl Element for DeviceFacts {
    const BYTES: usize = 856;
    const ZERO: Self = Self {
        total_memory: 0,
        uuid: [0; 16],
        name: [0; 128],
        pci_bus_id: [0; 32],
        known: [0; 4],
        attributes: [0; 160],
    };
    fn put(&self, writer: &mut Writer) {
        self.encode(writer);
    }
    fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// Three dimensions of a grid or block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dim3 {
    /// `x`.
    pub x: u32,
    /// `y`.
    pub y: u32,
    /// `z`.
    pub z: u32,
}

impl Dim3 {
    /// Appends the structure.
    pub fn encode(&self, writer: &mut Writer) {
        writer.word(self.x.to_word());
        writer.word(self.y.to_word());
        writer.word(self.z.to_word());
    }

    /// Takes the structure.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            x: <u32>::from_word(reader.word()?)?,
            y: <u32>::from_word(reader.word()?)?,
            z: <u32>::from_word(reader.word()?)?,
        })
    }
}

impl Element for Dim3 {
    const BYTES: usize = 24;
    const ZERO: Self = Self { x: 0, y: 0, z: 0 };
    fn put(&self, writer: &mut Writer) {
        self.encode(writer);
    }
    fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// A launch attribute: a CUlaunchAttributeID of protocol::options, and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaunchAttribute {
    /// `id`.
    pub id: u32,
    /// `value`.
    pub value: [u64; 8],
}

impl LaunchAttribute {
    /// Appends the structure.
    pub fn encode(&self, writer: &mut Writer) {
        writer.word(self.id.to_word());
        writer.packed(&self.value);
    }

    /// Takes the structure.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { id: <u32>::from_word(reader.word()?)?, value: reader.packed()? })
    }
}

impl Element for LaunchAttribute {
    const BYTES: usize = 72;
    const ZERO: Self = Self { id: 0, value: [0; 8] };
    fn put(&self, writer: &mut Writer) {
        self.encode(writer);
    }
    fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// A CUjit_option of protocol::options, and its value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JitOption {
    /// `option`.
    pub option: u32,
    /// `value`.
    pub value: u64,
}

impl JitOption {
    /// Appends the structure.
    pub fn encode(&self, writer: &mut Writer) {
        writer.word(self.option.to_word());
        writer.word(self.value.to_word());
    }

    /// Takes the structure.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            option: <u32>::from_word(reader.word()?)?,
            value: <u64>::from_word(reader.word()?)?,
        })
    }
}

impl Element for JitOption {
    const BYTES: usize = 16;
    const ZERO: Self = Self { option: 0, value: 0 };
    fn put(&self, writer: &mut Writer) {
        self.encode(writer);
    }
    fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// A CUlibraryOption and its value. The worker ignores them: they say how the guest keeps the image.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LibraryOption {
    /// `option`.
    pub option: u32,
    /// `value`.
    pub value: u64,
}

impl LibraryOption {
    /// Appends the structure.
    pub fn encode(&self, writer: &mut Writer) {
        writer.word(self.option.to_word());
        writer.word(self.value.to_word());
    }

    /// Takes the structure.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            option: <u32>::from_word(reader.word()?)?,
            value: <u64>::from_word(reader.word()?)?,
        })
    }
}

impl Element for LibraryOption {
    const BYTES: usize = 16;
    const ZERO: Self = Self { option: 0, value: 0 };
    fn put(&self, writer: &mut Writer) {
        self.encode(writer);
    }
    fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// The place of a parameter in a kernel's parameter buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterPlace {
    /// `offset`.
    pub offset: u64,
    /// `size`.
    pub size: u64,
}

impl ParameterPlace {
    /// Appends the structure.
    pub fn encode(&self, writer: &mut Writer) {
        writer.word(self.offset.to_word());
        writer.word(self.size.to_word());
    }

    /// Takes the structure.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            offset: <u64>::from_word(reader.word()?)?,
            size: <u64>::from_word(reader.word()?)?,
        })
    }
}

impl Element for ParameterPlace {
    const BYTES: usize = 16;
    const ZERO: Self = Self { offset: 0, size: 0 };
    fn put(&self, writer: &mut Writer) {
        self.encode(writer);
    }
    fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// One side of a copy: the address of its first byte, its bytes per row, and its rows per slice.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CopySide {
    /// `address`, an address of device-visible memory.
    pub address: u64,
    /// `pitch`.
    pub pitch: u64,
    /// `height`.
    pub height: u64,
}

impl CopySide {
    /// Appends the structure.
    pub fn encode(&self, writer: &mut Writer) {
        writer.word(self.address.to_word());
        writer.word(self.pitch.to_word());
        writer.word(self.height.to_word());
    }

    /// Takes the structure.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            address: <u64>::from_word(reader.word()?)?,
            pitch: <u64>::from_word(reader.word()?)?,
            height: <u64>::from_word(reader.word()?)?,
        })
    }
}

impl Element for CopySide {
    const BYTES: usize = 24;
    const ZERO: Self = Self { address: 0, pitch: 0, height: 0 };
    fn put(&self, writer: &mut Writer) {
        self.encode(writer);
    }
    fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// Launches, as vcudaLaunch does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KernelStep<'a> {
    /// Id of a function or a kernel.
    pub f: FuncId,
    /// `grid`.
    pub grid: Dim3,
    /// `block`.
    pub block: Dim3,
    /// `shared`.
    pub shared: u32,
    /// `params`.
    pub params: &'a [u8],
    /// `attributes`.
    pub attributes: Array<'a, LaunchAttribute>,
}

impl<'a> KernelStep<'a> {
    /// Appends the structure.
    pub fn encode(&self, writer: &mut Writer) {
        writer.word(self.f.to_word());
        self.grid.encode(writer);
        self.block.encode(writer);
        writer.word(self.shared.to_word());
        writer.bytes(self.params.as_ref());
        writer.array(self.attributes);
    }

    /// Takes the structure.
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            f: <FuncId>::from_word(reader.word()?)?,
            grid: Dim3::decode(reader)?,
            block: Dim3::decode(reader)?,
            shared: <u32>::from_word(reader.word()?)?,
            params: reader.bytes()?,
            attributes: reader.array(crate::limits::LAUNCH_ATTRIBUTES_MAX)?,
        })
    }
}

/// Copies: width in bytes, height in rows, depth in slices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CopyStep {
    /// `dst`.
    pub dst: CopySide,
    /// `src`.
    pub src: CopySide,
    /// `width`.
    pub width: u64,
    /// `height`.
    pub height: u64,
    /// `depth`.
    pub depth: u64,
}

impl CopyStep {
    /// Appends the structure.
    pub fn encode(&self, writer: &mut Writer) {
        self.dst.encode(writer);
        self.src.encode(writer);
        writer.word(self.width.to_word());
        writer.word(self.height.to_word());
        writer.word(self.depth.to_word());
    }

    /// Takes the structure.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            dst: CopySide::decode(reader)?,
            src: CopySide::decode(reader)?,
            width: <u64>::from_word(reader.word()?)?,
            height: <u64>::from_word(reader.word()?)?,
            depth: <u64>::from_word(reader.word()?)?,
        })
    }
}

impl Element for CopyStep {
    const BYTES: usize = 72;
    const ZERO: Self =
        Self { dst: CopySide::ZERO, src: CopySide::ZERO, width: 0, height: 0, depth: 0 };
    fn put(&self, writer: &mut Writer) {
        self.encode(writer);
    }
    fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// Sets memory, as vcudaMemset does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemsetStep {
    /// `dst`, an address of device-visible memory.
    pub dst: u64,
    /// `pitch`.
    pub pitch: u64,
    /// `elementSize`.
    pub element_size: u32,
    /// `value`.
    pub value: u32,
    /// `width`.
    pub width: u64,
    /// `height`.
    pub height: u64,
}

impl MemsetStep {
    /// Appends the structure.
    pub fn encode(&self, writer: &mut Writer) {
        writer.word(self.dst.to_word());
        writer.word(self.pitch.to_word());
        writer.word(self.element_size.to_word());
        writer.word(self.value.to_word());
        writer.word(self.width.to_word());
        writer.word(self.height.to_word());
    }

    /// Takes the structure.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            dst: <u64>::from_word(reader.word()?)?,
            pitch: <u64>::from_word(reader.word()?)?,
            element_size: <u32>::from_word(reader.word()?)?,
            value: <u32>::from_word(reader.word()?)?,
            width: <u64>::from_word(reader.word()?)?,
            height: <u64>::from_word(reader.word()?)?,
        })
    }
}

impl Element for MemsetStep {
    const BYTES: usize = 48;
    const ZERO: Self = Self { dst: 0, pitch: 0, element_size: 0, value: 0, width: 0, height: 0 };
    fn put(&self, writer: &mut Writer) {
        self.encode(writer);
    }
    fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// Waits for one of the guest's functions, as vcudaHostFunc does, each time that it is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostFuncStep {
    /// `token`.
    pub token: u64,
}

impl HostFuncStep {
    /// Appends the structure.
    pub fn encode(&self, writer: &mut Writer) {
        writer.word(self.token.to_word());
    }

    /// Takes the structure.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { token: <u64>::from_word(reader.word()?)? })
    }
}

impl Element for HostFuncStep {
    const BYTES: usize = 8;
    const ZERO: Self = Self { token: 0 };
    fn put(&self, writer: &mut Writer) {
        self.encode(writer);
    }
    fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// Waits for an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventWaitStep {
    /// Id of an event.
    pub event: EventId,
}

impl EventWaitStep {
    /// Appends the structure.
    pub fn encode(&self, writer: &mut Writer) {
        writer.word(self.event.to_word());
    }

    /// Takes the structure.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { event: <EventId>::from_word(reader.word()?)? })
    }
}

impl Element for EventWaitStep {
    const BYTES: usize = 8;
    const ZERO: Self = Self { event: EventId(0) };
    fn put(&self, writer: &mut Writer) {
        self.encode(writer);
    }
    fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// Records an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventRecordStep {
    /// Id of an event.
    pub event: EventId,
}

impl EventRecordStep {
    /// Appends the structure.
    pub fn encode(&self, writer: &mut Writer) {
        writer.word(self.event.to_word());
    }

    /// Takes the structure.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { event: <EventId>::from_word(reader.word()?)? })
    }
}

impl Element for EventRecordStep {
    const BYTES: usize = 8;
    const ZERO: Self = Self { event: EventId(0) };
    fn put(&self, writer: &mut Writer) {
        self.encode(writer);
    }
    fn get(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

/// The action of a graph node, by its CUgraphNodeType.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step<'a> {
    /// Launches, as vcudaLaunch does.
    Kernel(KernelStep<'a>),
    /// Copies: width in bytes, height in rows, depth in slices.
    Copy(CopyStep),
    /// Sets memory, as vcudaMemset does.
    Memset(MemsetStep),
    /// Waits for one of the guest's functions, as vcudaHostFunc does, each time that it is reached.
    HostFunc(HostFuncStep),
    /// Joins the nodes that it depends on.
    Empty,
    /// Waits for an event.
    EventWait(EventWaitStep),
    /// Records an event.
    EventRecord(EventRecordStep),
}

impl<'a> Step<'a> {
    /// The variant's number.
    pub fn kind(&self) -> u32 {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy(_) => 1,
            Self::Memset(_) => 2,
            Self::HostFunc(_) => 3,
            Self::Empty => 5,
            Self::EventWait(_) => 6,
            Self::EventRecord(_) => 7,
        }
    }

    /// Appends the variant's number and members.
    pub fn encode(&self, writer: &mut Writer) {
        writer.word(self.kind().into());
        match self {
            Self::Kernel(value) => value.encode(writer),
            Self::Copy(value) => value.encode(writer),
            Self::Memset(value) => value.encode(writer),
            Self::HostFunc(value) => value.encode(writer),
            Self::Empty => {}
            Self::EventWait(value) => value.encode(writer),
            Self::EventRecord(value) => value.encode(writer),
        }
    }

    /// Takes a variant.
    pub fn decode(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match u32::from_word(reader.word()?)? {
            0 => Self::Kernel(KernelStep::decode(reader)?),
            1 => Self::Copy(CopyStep::decode(reader)?),
            2 => Self::Memset(MemsetStep::decode(reader)?),
            3 => Self::HostFunc(HostFuncStep::decode(reader)?),
            5 => Self::Empty,
            6 => Self::EventWait(EventWaitStep::decode(reader)?),
            7 => Self::EventRecord(EventRecordStep::decode(reader)?),
            _ => return Err(DecodeError::Range),
        })
    }
}
