//! The arguments of the driver's ioctls, as bytes.
//!
//! Names, numbers and layouts are those in release 580 of NVIDIA's open kernel modules. The comment
//! on each gives its header. All numbers have the byte order of the host.

use super::objects::Channel;

/// The major number of the device nodes (NV_MAJOR_DEVICE_NUMBER, nv.h): nvidiactl, and one node for
/// each GPU.
pub const MAJOR: u32 = 195;

/// The ioctl RM_FREE. The numbers of this and the next ioctls are from nv_escape.h (RM's ioctls)
/// and nv-ioctl-numbers.h (the nodes' ioctls).
pub const RM_FREE: u8 = 0x29;
pub const RM_CONTROL: u8 = 0x2a;
pub const RM_ALLOC: u8 = 0x2b;
pub const CARD_INFO: u8 = 0xc8;
pub const REGISTER_FD: u8 = 0xc9;

/// Class of a client: NV01_ROOT_CLIENT (nvos.h). The next constant is the class of a subdevice:
/// NV20_SUBDEVICE_0 (cl2080.h).
pub const CLIENT: u32 = 0x41;
pub const SUBDEVICE: u32 = 0x2080;

/// The control operation NV0000_CTRL_CMD_GPU_GET_ID_INFO_V2 (ctrl0000gpu.h).
pub const GPU_GET_ID_INFO: u32 = 0x205;
/// The control operation NV2080_CTRL_CMD_GPU_GET_GID_INFO (ctrl2080gpu.h).
pub const GPU_GET_GID_INFO: u32 = 0x2080_014a;
/// The control operation NV2080_CTRL_CMD_FIFO_DISABLE_CHANNELS (ctrl2080fifo.h).
pub const FIFO_DISABLE_CHANNELS: u32 = 0x2080_110b;
/// The control operation NVA06C_CTRL_CMD_SET_TIMESLICE (ctrla06c.h).
pub const SET_TIMESLICE: u32 = 0xa06c_0103;

/// Returns the request code of an ioctl that reads and writes an argument of this size.
pub const fn request(number: u8, size: usize) -> u32 {
    const READ_AND_WRITE: u32 = 3 << 30;
    READ_AND_WRITE | (size as u32) << 16 | (b'F' as u32) << 8 | number as u32
}

/// The argument of RM_ALLOC, which creates an object (NVOS64_PARAMETERS, nvos.h).
pub mod alloc {
    use super::*;

    pub const SIZE: usize = 48;
    /// The size of the shorter argument, which has no field for requested rights
    /// (NVOS21_PARAMETERS).
    pub const SHORT_SIZE: usize = 32;
    pub const CLIENT: usize = 0;
    pub const PARENT: usize = 4;
    pub const HANDLE: usize = 8;
    pub const CLASS: usize = 12;
    pub const PARAMETERS: usize = 16;
    pub const STATUS: usize = 40;
    /// Offset of the status in the shorter argument.
    pub const SHORT_STATUS: usize = 28;

    /// Encodes an argument that lets the driver choose the handle. The class determines the size of
    /// the parameters, so the argument gives the size as 0, as libcuda does.
    pub fn encode(client: u32, parent: u32, class: u32, parameters: u64) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        put(&mut bytes, CLIENT, client);
        put(&mut bytes, PARENT, parent);
        put(&mut bytes, CLASS, class);
        put_u64(&mut bytes, PARAMETERS, parameters);
        bytes
    }
}

/// The argument of RM_FREE, which frees an object and all objects under it (NVOS00_PARAMETERS,
/// nvos.h).
pub mod free {
    pub const SIZE: usize = 16;
    pub const CLIENT: usize = 0;
    pub const HANDLE: usize = 8;
    pub const STATUS: usize = 12;
}

/// The argument of RM_CONTROL, which performs a control operation on an object (NVOS54_PARAMETERS,
/// nvos.h).
pub mod control {
    use super::*;

    pub const SIZE: usize = 32;
    pub const CLIENT: usize = 0;
    pub const OBJECT: usize = 4;
    pub const COMMAND: usize = 8;
    pub const PARAMETERS: usize = 16;
    pub const LENGTH: usize = 24;
    pub const STATUS: usize = 28;

    pub fn encode(
        client: u32,
        object: u32,
        command: u32,
        parameters: u64,
        length: u32,
    ) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        put(&mut bytes, CLIENT, client);
        put(&mut bytes, OBJECT, object);
        put(&mut bytes, COMMAND, command);
        put_u64(&mut bytes, PARAMETERS, parameters);
        put(&mut bytes, LENGTH, length);
        bytes
    }
}

/// Parameters that create a device (NV0080_ALLOC_PARAMETERS, cl0080.h).
pub mod device {
    use super::*;

    pub const SIZE: usize = 56;
    pub const NUMBER: usize = 0;
    /// Offset of the client whose address space the device uses (hClientShare).
    pub const SHARES_WITH: usize = 4;

    pub fn encode(number: u32, client: u32) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        put(&mut bytes, NUMBER, number);
        put(&mut bytes, SHARES_WITH, client);
        bytes
    }
}

/// Parameters that create a channel group (NV_CHANNEL_GROUP_ALLOCATION_PARAMETERS, nvos.h).
pub mod channel_group {
    pub const ENGINE: usize = 12;
}

/// Parameters of [`FIFO_DISABLE_CHANNELS`] (NV2080_CTRL_FIFO_DISABLE_CHANNELS_PARAMS). The fields
/// bOnlyDisableScheduling and bRewindGpPut (bytes at offsets 8 and 9) and pRunlistPreemptEvent
/// (offset 16) stay 0. As a result, the operation returns when the channels are off the GPU.
pub mod disable_channels {
    use super::*;

    pub const SIZE: usize = 536;
    /// Maximum number of channels.
    pub const MAX: usize = 64;
    /// Offset of a byte: 1 to disable, 0 to enable.
    pub const DISABLE: usize = 0;
    pub const COUNT: usize = 4;
    pub const CLIENTS: usize = 24;
    pub const CHANNELS: usize = 280;

    /// Encodes the parameters for up to [`MAX`] channels. Further channels are left out.
    pub fn encode(disable: bool, channels: &[Channel]) -> [u8; SIZE] {
        let channels = &channels[..channels.len().min(MAX)];
        let mut bytes = [0; SIZE];
        bytes[DISABLE] = disable.into();
        put(&mut bytes, COUNT, channels.len() as u32);
        for (index, channel) in channels.iter().enumerate() {
            put(&mut bytes, CLIENTS + 4 * index, channel.client);
            put(&mut bytes, CHANNELS + 4 * index, channel.handle);
        }
        bytes
    }
}

/// Parameters of [`SET_TIMESLICE`] (NVA06C_CTRL_TIMESLICE_PARAMS), in microseconds.
pub fn timeslice(microseconds: u64) -> [u8; 8] {
    microseconds.to_ne_bytes()
}

/// Parameters of [`GPU_GET_ID_INFO`] (NV0000_CTRL_GPU_GET_ID_INFO_V2_PARAMS).
pub mod id_info {
    use super::*;

    pub const SIZE: usize = 32;
    pub const ID: usize = 0;
    /// Offset of the GPU's number, which processes use when they create device objects
    /// (deviceInstance).
    pub const NUMBER: usize = 8;

    pub fn encode(id: u32) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        put(&mut bytes, ID, id);
        bytes
    }
}

/// Parameters of [`GPU_GET_GID_INFO`] (NV2080_CTRL_GPU_GET_GID_INFO_PARAMS).
pub mod gid_info {
    use super::*;

    pub const SIZE: usize = 268;
    pub const FLAGS: usize = 4;
    pub const LENGTH: usize = 8;
    pub const DATA: usize = 12;
    /// The flags FORMAT_BINARY and TYPE_SHA1, which request the 16 bytes of the GPU's UUID.
    const BINARY: u32 = 2;

    pub fn encode() -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        put(&mut bytes, FLAGS, BINARY);
        bytes
    }

    /// Returns the UUID, or `None` if the answer says that it has another length than 16 bytes.
    pub fn uuid(answer: &[u8; SIZE]) -> Option<[u8; 16]> {
        let uuid = answer[DATA..DATA + 16].try_into().ok()?;
        (get(answer, LENGTH) == 16).then_some(uuid)
    }
}

/// The argument of CARD_INFO, which returns the list of GPUs (nv_ioctl_card_info_t, nv-ioctl.h).
pub mod card_info {
    use super::*;

    /// Size of one GPU's entry, in bytes.
    const ENTRY: usize = 72;
    /// Offset in an entry of a byte: 1 if the entry describes a GPU.
    const VALID: usize = 0;
    const ID: usize = 16;
    const MINOR: usize = 56;
    pub const SIZE: usize = 32 * ENTRY;

    /// A GPU in the answer to CARD_INFO.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Card {
        /// The GPU's ID in RM.
        pub id: u32,
        /// The minor number of the GPU's device node, which is also part of the node's name.
        pub minor: u32,
    }

    /// Returns the GPUs in an answer.
    pub fn cards(answer: &[u8; SIZE]) -> Vec<Card> {
        let entries = answer.chunks_exact(ENTRY).filter(|entry| entry[VALID] != 0);
        entries.map(|entry| Card { id: get(entry, ID), minor: get(entry, MINOR) }).collect()
    }
}

/// Returns the 32-bit number at an offset, or 0 if the offset is beyond the end.
pub fn get(bytes: &[u8], at: usize) -> u32 {
    let number = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    number.copied().map(u32::from_ne_bytes).unwrap_or_default()
}

/// Returns the 64-bit number at an offset, or 0 if the offset is beyond the end.
pub fn get_u64(bytes: &[u8], at: usize) -> u64 {
    let number = bytes.get(at..).and_then(|bytes| bytes.first_chunk());
    number.copied().map(u64::from_ne_bytes).unwrap_or_default()
}

fn put(bytes: &mut [u8], at: usize, number: u32) {
    bytes[at..at + 4].copy_from_slice(&number.to_ne_bytes());
}

fn put_u64(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the 32-bit numbers in `bytes` that aren't 0, with their offsets.
    fn numbers(bytes: &[u8]) -> Vec<(usize, u32)> {
        let words = (0..bytes.len()).step_by(4).map(|at| (at, get(bytes, at)));
        words.filter(|(_, number)| *number != 0).collect()
    }

    #[test]
    fn requests_are_those_of_libcuda() {
        assert_eq!(request(RM_ALLOC, alloc::SIZE), 0xc030_462b);
        assert_eq!(request(RM_FREE, free::SIZE), 0xc010_4629);
        assert_eq!(request(RM_CONTROL, control::SIZE), 0xc020_462a);
        assert_eq!(request(REGISTER_FD, 4), 0xc004_46c9);
        assert_eq!(request(CARD_INFO, card_info::SIZE), 0xc900_46c8);
    }

    #[test]
    fn the_calls_have_the_layout_of_the_headers() {
        let bytes = alloc::encode(0xc1d0_014b, 0x5c00_0002, SUBDEVICE, 0x1234_5678_9abc);
        let expected =
            [(0, 0xc1d0_014b), (4, 0x5c00_0002), (12, 0x2080), (16, 0x5678_9abc), (20, 0x1234)];
        assert_eq!(numbers(&bytes), expected);
        let bytes = control::encode(1, 2, FIFO_DISABLE_CHANNELS, 1 << 32 | 3, 536);
        let expected = [(0, 1), (4, 2), (8, 0x2080_110b), (16, 3), (20, 1), (24, 536)];
        assert_eq!(numbers(&bytes), expected);
        assert_eq!(numbers(&device::encode(5, 6)), [(0, 5), (4, 6)]);
        assert_eq!(numbers(&id_info::encode(0x600)), [(0, 0x600)]);
        assert_eq!(numbers(&timeslice(100)), [(0, 100)]);
    }

    #[test]
    fn the_lists_of_clients_and_channels_are_apart() {
        let channels = [3, 4].map(|handle| Channel { client: handle + 10, handle });
        let bytes = disable_channels::encode(true, &channels);
        assert_eq!(numbers(&bytes), [(0, 1), (4, 2), (24, 13), (28, 14), (280, 3), (284, 4)]);
        assert_eq!(numbers(&disable_channels::encode(false, &[])), []);
        let many = vec![Channel { client: 1, handle: 2 }; disable_channels::MAX + 1];
        let bytes = disable_channels::encode(false, &many);
        assert_eq!((get(&bytes, 0), get(&bytes, 4), get(&bytes, 532)), (0, 64, 2));
    }

    #[test]
    fn the_uuid_is_read_only_if_it_is_one() {
        let mut answer = gid_info::encode();
        assert_eq!(numbers(&answer), [(4, 2)]);
        assert_eq!(gid_info::uuid(&answer), None);
        put(&mut answer, gid_info::LENGTH, 16);
        answer[12..28].copy_from_slice(b"0123456789abcdef");
        assert_eq!(gid_info::uuid(&answer), Some(*b"0123456789abcdef"));
    }

    /// The test's first entry is an answer that was recorded on an H200.
    #[test]
    fn gpus_are_those_in_valid_entries() {
        let mut answer = [0; card_info::SIZE];
        let recorded = [1, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0xde, 0x10, 0x35, 0x23, 6, 0, 0, 0];
        answer[..recorded.len()].copy_from_slice(&recorded);
        put(&mut answer, 144, 1);
        put(&mut answer, 144 + 16, 0x700);
        put(&mut answer, 144 + 56, 3);
        let expected = [(6, 0), (0x700, 3)].map(|(id, minor)| card_info::Card { id, minor });
        assert_eq!(card_info::cards(&answer), expected);
    }

    #[test]
    fn numbers_beyond_the_end_are_zero() {
        assert_eq!((get(&[1; 5], 1), get(&[1; 5], 2), get(&[], 9)), (0x0101_0101, 0, 0));
        assert_eq!(get_u64(&[1; 7], 0), 0);
    }
}
