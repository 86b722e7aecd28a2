//! The objects that workers may allocate.
//!
//! Numbers and structures are those in NVIDIA's open kernel modules, release 580 (`class/cl*.h`,
//! `nvos.h`, and `alloc/alloc_channel.h`). The list contains the classes that libcuda allocated on
//! an H200, and the corresponding classes of other GPUs. The driver resolves handles of objects in
//! the parameters within the allocating client. Fields that name another client, and fields that
//! only the kernel or the driver's own tests need, must have the values that libcuda passes.
//!
//! These classes are deliberately not in the list:
//!
//! | class | reason |
//! |---|---|
//! | clients (0, 1, 0x41) | the driver records the process that allocates them, to which NVML attributes memory and GPU time. libcuda allocates them in `cuInit`, before the worker has a filter |
//! | memory at addresses of the calling process (0x71) | it would be the supervisor's memory |
//! | MIG slices (0xc637, 0xc638) and MIG's settings (0xc639, 0xc640) | the driver creates a descriptor in the calling process, so the supervisor can't allocate them for a worker. libcuda allocates them before it creates its first context, and a worker with a MIG slice creates that context before it has a filter |
//! | exported, imported, and multicast fabric memory (0xe0, 0xf9, 0xfb, 0xfd) | they name memory of others, and guests can't use them |

use host_ipc::messages::class::{CHANNEL_GROUP, DEVICE};

/// A class of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// Size of the parameters. 0 if there are none.
    pub size: usize,
    /// The rules that the parameters must follow.
    pub rules: &'static [Rule],
}

/// A requirement for parameters. Offsets and lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The handle at this offset is 0 or the allocating client's own handle.
    OwnClient(usize),
    /// All bytes in this range are 0.
    Zero { at: usize, length: usize },
    /// None of these bits is set in the 32-bit number at this offset.
    Clear { at: usize, bits: u32 },
    /// The 32-bit number at this offset equals `value`.
    Is { at: usize, value: u32 },
}

/// Returns the class with this number, or `None` if workers may not allocate it.
pub fn find(number: u32) -> Option<&'static Class> {
    let at = CLASSES.binary_search_by_key(&number, |(number, _)| *number).ok()?;
    Some(&CLASSES[at].1)
}

const fn plain(size: usize) -> Class {
    Class { size, rules: &[] }
}

/// Memory (NV_MEMORY_ALLOCATION_PARAMS). The driver chooses the memory's location: libcuda doesn't
/// request a physical address (FIXED_ADDRESS_ALLOCATE, USE_BEGIN_END) or for protected regions
/// (WPR1, WPR2).
const MEMORY: Class = Class {
    size: 128,
    rules: &[
        Rule::Clear { at: 8, bits: 0x10 | 0x2_0000 | 0xc000_0000 },
        // An address that only the kernel may pass.
        Rule::Zero { at: 96, length: 8 },
        // Internal flags, which must be 0. One of them keeps the memory's earlier contents instead
        // of clearing them.
        Rule::Zero { at: 112, length: 4 },
    ],
};

/// A range of virtual addresses, which libcuda chooses itself. Its parameters are also
/// NV_MEMORY_ALLOCATION_PARAMS.
const VIRTUAL: Class = Class {
    size: 128,
    rules: &[Rule::Zero { at: 96, length: 8 }, Rule::Zero { at: 112, length: 4 }],
};

/// A channel (NV_CHANNEL_ALLOC_PARAMS).
const CHANNEL: Class = Class {
    size: 368,
    rules: &[
        // The flags PRIVILEGED_CHANNEL, SKIP_SCRUBBER, and VGPU_PLUGIN_CONTEXT.
        Rule::Clear { at: 20, bits: 1 << 5 | 1 << 23 | 1 << 26 },
        // The fields from instanceMem to SubProcessID, which must be 0: physical memory of the
        // channel's data structures, internal flags, and process IDs.
        Rule::Zero { at: 144, length: 160 },
    ],
};

/// Access to a GPU's doorbells, without parameters. From Hopper on, it has parameters
/// (NV_HOPPER_USERMODE_A_PARAMS), whose second byte requests privileges and must be 0.
const DOORBELL: Class = plain(0);
const DOORBELL_IN_BAR1: Class = Class { size: 2, rules: &[Rule::Zero { at: 1, length: 1 }] };

/// A copy engine (NVB0B5_ALLOCATION_PARAMETERS) or compute engine (NV_GR_ALLOCATION_PARAMETERS).
const COPY: Class = plain(8);
const COMPUTE: Class = plain(16);

const CLASSES: [(u32, Class); 43] = [
    // The classes NV01_MEMORY_SYSTEM and NV01_MEMORY_LOCAL_USER
    (0x3e, MEMORY),
    (0x40, MEMORY),
    // NV01_EVENT_OS_EVENT: it belongs to an object of the client. The driver doesn't use the
    // descriptor at offset 16 to open a file. It only compares its number with those that the
    // worker has registered.
    (0x79, Class { size: 24, rules: &[Rule::OwnClient(0), Rule::Is { at: 8, value: 0x79 }] }),
    // NV01_DEVICE_0: hClientShare and hTargetClient name clients, and hTargetDevice a device of the
    // latter. The range from offset 32 is only for the kernel.
    (
        DEVICE,
        Class {
            size: 56,
            rules: &[Rule::OwnClient(4), Rule::OwnClient(8), Rule::Zero { at: 32, length: 16 }],
        },
    ),
    // The class RM_USER_SHARED_DATA
    (0xde, plain(8)),
    // The class NV_MEMORY_FABRIC
    (0xf8, plain(48)),
    // The classes NV20_SUBDEVICE_0 and NV2081_BINAPI
    (0x2080, plain(4)),
    (0x2081, plain(4)),
    // NV50_P2P, for access to the memory of another GPU: the mailbox, which must be 0, is an
    // address that the driver keeps for all users of the GPU.
    (0x503b, Class { size: 72, rules: &[Rule::Zero { at: 16, length: 12 }] }),
    // The class NV50_THIRD_PARTY_P2P
    (0x503c, plain(4)),
    // The class NV50_MEMORY_VIRTUAL
    (0x50a0, VIRTUAL),
    // GT200_DEBUGGER: hAppClient names the client whose object is debugged.
    (0x83de, Class { size: 12, rules: &[Rule::Zero { at: 0, length: 4 }, Rule::OwnClient(4)] }),
    // The class FERMI_CONTEXT_SHARE_A
    (0x9067, plain(12)),
    // The class GF100_SUBDEVICE_MASTER
    (0x90e6, plain(0)),
    // FERMI_VASPACE_A: the index must request a new address space, not an existing one. The flags
    // IS_FLA and SKIP_SCRUB_MEMPOOL, and the range at offset 16, are only for the kernel.
    // ENABLE_NVLINK_ATS_TEST would give the GPU access to the memory of the calling process, which
    // is the supervisor.
    (
        0x90f1,
        Class {
            size: 56,
            rules: &[
                Rule::Is { at: 0, value: 0 },
                Rule::Clear { at: 4, bits: 1 << 9 | 1 << 10 | 1 << 14 },
                Rule::Zero { at: 16, length: 16 },
                // The ID of a process's address space (PASID), which must be 0.
                Rule::Zero { at: 48, length: 4 },
            ],
        },
    ),
    // KEPLER_CHANNEL_GROUP_A: the byte at offset 16, which must be 0, says whether the caller is a
    // vGPU plugin.
    (CHANNEL_GROUP, Class { size: 20, rules: &[Rule::Zero { at: 16, length: 1 }] }),
    // Classes of Volta GPUs
    (0xc361, DOORBELL),
    (0xc36f, CHANNEL),
    (0xc3b5, COPY),
    (0xc3c0, COMPUTE),
    // Classes of Turing GPUs
    (0xc461, DOORBELL),
    (0xc46f, CHANNEL),
    // Classes of Ampere GPUs
    (0xc561, DOORBELL),
    (0xc56f, CHANNEL),
    // Classes of Turing GPUs
    (0xc5b5, COPY),
    (0xc5c0, COMPUTE),
    // Classes of Hopper GPUs
    (0xc661, DOORBELL_IN_BAR1),
    // Classes of Ampere GPUs: the first of two versions of each engine
    (0xc6b5, COPY),
    (0xc6c0, COMPUTE),
    // Classes of Blackwell GPUs
    (0xc761, DOORBELL_IN_BAR1),
    // Classes of Ampere GPUs
    (0xc7b5, COPY),
    (0xc7c0, COMPUTE),
    // Classes of Hopper GPUs
    (0xc86f, CHANNEL),
    (0xc8b5, COPY),
    // Classes of Blackwell GPUs
    (0xc96f, CHANNEL),
    (0xc9b5, COPY),
    // Classes of Ada GPUs
    (0xc9c0, COMPUTE),
    // Classes of Blackwell GPUs: the second of two versions of channels and copy engines
    (0xca6f, CHANNEL),
    (0xcab5, COPY),
    // NV_CONFIDENTIAL_COMPUTE: hClient names a client.
    (0xcb33, Class { size: 4, rules: &[Rule::OwnClient(0)] }),
    // Classes of Hopper GPUs
    (0xcbc0, COMPUTE),
    // Classes of Blackwell GPUs
    (0xcdc0, COMPUTE),
    (0xcec0, COMPUTE),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_for_the_search() {
        assert!(CLASSES.is_sorted_by(|(one, _), (next, _)| one < next));
    }

    #[test]
    fn rules_concern_only_the_parameters() {
        for (number, class) in CLASSES {
            for rule in class.rules {
                let end = match *rule {
                    Rule::OwnClient(at) | Rule::Clear { at, .. } | Rule::Is { at, .. } => at + 4,
                    Rule::Zero { at, length } => at + length,
                };
                assert!(end <= class.size, "{number:#x}");
            }
        }
    }

    #[test]
    fn what_acts_on_the_calling_process_or_on_others_is_not_listed() {
        let never = [
            0, 1, 0x41, 0x71, 0xe0, 0xf9, 0xfb, 0xfd, 0xc637, 0xc638, 0xc639, 0xc640, 0x78, 0x7e,
            0x3f, 0x2082, 0x90cc, 0xb2cc,
        ];
        for class in never {
            assert_eq!(find(class), None, "{class:#x}");
        }
    }
}
