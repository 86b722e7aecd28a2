//! The control operations that workers may perform.
//!
//! Numbers and structures are those in NVIDIA's open kernel modules, release 580 (`ctrl*.h`). The
//! list contains the operations that libcuda performed on an H200, and those that it may perform
//! with several GPUs: operations that only read, and operations on objects of the caller's own
//! client. It deliberately doesn't contain operations that name other clients' objects in their
//! parameters, such as operations that stop or restart channels.

/// The form of an operation's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameters {
    /// The parameters contain no pointers and no descriptors.
    Plain,
    /// The parameters have the size `size`. They contain a number of entries at offset 0, and
    /// pointers to `lists`, each with that number of entries.
    Lists { size: usize, lists: &'static [List] },
    /// The parameters have the size `size`. At the offset `pointer`, they contain a pointer that
    /// the driver doesn't need.
    Unused { size: usize, pointer: usize },
    /// The parameters contain a descriptor of one of NVIDIA's devices at this offset.
    Descriptor { at: usize },
    /// The parameters have the size `size`. They contain a descriptor at the offset `descriptor`,
    /// and handles of objects that the driver makes available through the descriptor. `room` is the
    /// offset of the 16-bit number of objects for which the driver allocates space at the
    /// descriptor's first export. It is `None` if the driver allocates space for one object.
    Export { size: usize, descriptor: usize, handles: Handles, room: Option<usize> },
    /// The parameters have the size `size`. They contain a descriptor at the offset `descriptor`,
    /// and handles for the objects that the driver creates from those exported to the descriptor.
    /// `parent` is the offset of the handle of their parent.
    Import { size: usize, descriptor: usize, parent: usize, handles: Handles },
    /// The parameters are a 64-bit number, which must not exceed this value.
    AtMost(u64),
}

/// A list to which parameters point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List {
    /// Offset in the parameters of the pointer to the list.
    pub pointer: usize,
    /// Size of an entry in bytes.
    pub entry: usize,
}

/// Position of the handles in parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handles {
    /// Offset in the parameters of the first handle.
    pub at: usize,
    /// Maximum number of handles.
    pub most: usize,
    /// Offset of the 16-bit number of handles. `None` if there is exactly one handle.
    pub number: Option<usize>,
}

/// The timeslice of a channel group that libcuda sets, in microseconds. A longer timeslice would
/// delay other VMs.
const TIMESLICE: u64 = 2048;

/// Returns the form of an operation's parameters, or `None` if workers may not perform it.
pub fn find(command: u32) -> Option<Parameters> {
    if let Ok(at) = SPECIAL.binary_search_by_key(&command, |(command, _)| *command) {
        return Some(SPECIAL[at].1);
    }
    PLAIN.binary_search(&command).is_ok().then_some(Parameters::Plain)
}

const SPECIAL: [(u32, Parameters); 11] = [
    // The operation SYSTEM_GET_BUILD_VERSION
    (
        0x101,
        Parameters::Lists {
            size: 40,
            lists: &[
                List { pointer: 8, entry: 1 },
                List { pointer: 16, entry: 1 },
                List { pointer: 24, entry: 1 },
            ],
        },
    ),
    // The operation GPU_GET_ID_INFO
    (0x202, Parameters::Unused { size: 40, pointer: 16 }),
    // The operation OS_UNIX_EXPORT_OBJECT_TO_FD
    (
        0x3d05,
        Parameters::Export {
            size: 24,
            descriptor: 16,
            handles: Handles { at: 12, most: 1, number: None },
            room: None,
        },
    ),
    // The operation OS_UNIX_IMPORT_OBJECT_FROM_FD
    (
        0x3d06,
        Parameters::Import {
            size: 20,
            descriptor: 0,
            parent: 12,
            handles: Handles { at: 16, most: 1, number: None },
        },
    ),
    // The operation OS_UNIX_GET_EXPORT_OBJECT_INFO
    (0x3d08, Parameters::Descriptor { at: 0 }),
    // The operation OS_UNIX_EXPORT_OBJECTS_TO_FD
    (
        0x3d0b,
        Parameters::Export {
            size: 2128,
            descriptor: 0,
            handles: Handles { at: 76, most: 512, number: Some(2124) },
            room: Some(8),
        },
    ),
    // The operation OS_UNIX_IMPORT_OBJECTS_FROM_FD
    (
        0x3d0c,
        Parameters::Import {
            size: 652,
            descriptor: 0,
            parent: 4,
            handles: Handles { at: 8, most: 128, number: Some(648) },
        },
    ),
    // The operation GET_SURFACE_INFO of memory
    (0x41_0110, Parameters::Lists { size: 16, lists: &[List { pointer: 8, entry: 8 }] }),
    // The operation FIFO_GET_CHANNELLIST
    (
        0x80_170d,
        Parameters::Lists {
            size: 24,
            lists: &[List { pointer: 8, entry: 4 }, List { pointer: 16, entry: 4 }],
        },
    ),
    // The operation GR_GET_INFO
    (0x2080_1201, Parameters::Lists { size: 32, lists: &[List { pointer: 8, entry: 8 }] }),
    // The operation SET_TIMESLICE of a channel group
    (0xa06c_0103, Parameters::AtMost(TIMESLICE)),
];

/// Operations whose parameters contain neither pointers nor descriptors.
const PLAIN: [u32; 105] = [
    // Operations on a client: the system, its GPUs, power, and the client itself.
    0x102,
    0x12b,
    0x136,
    0x13a,
    0x1f0,
    0x201,
    0x204,
    0x205,
    0x214,
    0x215,
    0x216,
    0x21b,
    0x275,
    0x279,
    0x27b,
    0x288,
    0x289,
    0xa04,
    0xd01,
    0xd04,
    // Operations on a device.
    0x80_0280,
    0x80_0288,
    0x80_0289,
    0x80_0292,
    0x80_1307,
    0x80_1402,
    0x80_1806,
    0x80_180d,
    0x80_1909,
    // Operations on a subdevice: the GPU's properties.
    0x2080_0102,
    0x2080_0110,
    0x2080_0111,
    0x2080_0119,
    0x2080_012f,
    0x2080_0131,
    0x2080_0133,
    0x2080_013f,
    0x2080_0142,
    0x2080_0145,
    0x2080_0146,
    0x2080_014a,
    0x2080_014b,
    0x2080_0156,
    0x2080_0157,
    0x2080_0170,
    0x2080_018b,
    0x2080_0195,
    0x2080_01a3,
    0x2080_0301,
    0x2080_0403,
    0x2080_0406,
    // Operations on a subdevice: multiprocessors, memory, and buses.
    0x2080_1210,
    0x2080_1218,
    0x2080_121b,
    0x2080_1227,
    0x2080_122a,
    0x2080_122b,
    0x2080_1230,
    0x2080_1303,
    0x2080_1701,
    0x2080_1801,
    0x2080_1803,
    0x2080_1823,
    0x2080_182a,
    0x2080_182b,
    // Operations on a subdevice: performance, watchdog, copy engines, and links.
    0x2080_200a,
    0x2080_2209,
    0x2080_220c,
    0x2080_2210,
    0x2080_2a03,
    0x2080_2a0a,
    0x2080_3001,
    0x2080_3002,
    0x2080_3125,
    0x2080_3601,
    0x2080_3801,
    // Operations that aren't in NVIDIA's headers. libcuda uses them when it starts and when it
    // reads clocks.
    0x2080_8159,
    0x2080_8162,
    0x2080_9001,
    0x2080_9009,
    0x2080_9038,
    0x2080_9064,
    0x2080_a026,
    0x2080_a084,
    0x2081_0108,
    // Operations on memory that other devices access.
    0x503c_0102,
    0x503c_0104,
    0x503c_0105,
    // Operations on the caller's debugger object, with which libcuda learns about faults.
    0x83de_0307,
    0x83de_0309,
    0x83de_030c,
    0x83de_0310,
    0x83de_031f,
    // Operations on the caller's channels.
    0x906f_0101,
    0x906f_0102,
    // Operations on the fault interrupts.
    0x90e6_0102,
    // Operations on the caller's channel groups and channels.
    0xa06c_0101,
    0xa06c_0105,
    0xa06f_0103,
    0xc36f_0101,
    0xc36f_0108,
    // Operations for confidential computing.
    0xc56f_010b,
    0xcb33_0101,
    0xcb33_0104,
    0xcb33_010b,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_for_the_search() {
        assert!(PLAIN.is_sorted());
        assert!(SPECIAL.is_sorted_by_key(|(command, _)| *command));
        assert!(SPECIAL.iter().all(|(command, _)| PLAIN.binary_search(command).is_err()));
    }

    #[test]
    fn channels_of_others_cannot_be_stopped_or_restarted() {
        // Operations that could affect other VMs: FIFO_DISABLE_CHANNELS, RESTART_RUNLIST,
        // SET_INTERLEAVE_LEVEL, GPU_EVICT_CTX, and RC_DISABLE_WATCHDOG.
        for command in [0x2080_110b, 0xa06f_0111, 0xa06c_0107, 0x2080_012c, 0x2080_220a] {
            assert_eq!(find(command), None, "{command:#x}");
        }
    }
}
