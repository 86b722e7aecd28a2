// Generated from NVIDIA's headers by cuda-api/generate. Do not edit.

#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]
#![allow(
    missing_docs,
    unpredictable_function_pointer_comparisons,
    clippy::all,
    clippy::undocumented_unsafe_blocks
)]

use core::ffi::{c_char, c_void};

pub const NVML_API_VERSION: u32 = 13;

pub const NVML_API_VERSION_STR: &[u8; 3] = b"13\0";

pub const NVML_VALUE_NOT_AVAILABLE: i32 = -1;

pub const NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE: u32 = 32;

pub const NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE: u32 = 16;

pub const NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT: &[u8; 17] = b"%04X:%02X:%02X.0\0";

pub const NVML_DEVICE_PCI_BUS_ID_FMT: &[u8; 17] = b"%08X:%02X:%02X.0\0";

pub const NVML_NVLINK_MAX_LINKS: u32 = 18;

pub const NVML_MAX_PHYSICAL_BRIDGE: u32 = 128;

pub const NVML_MAX_THERMAL_SENSORS_PER_GPU: u32 = 3;

pub const NVML_DEVICE_UUID_ASCII_LEN: u32 = 41;

pub const NVML_DEVICE_UUID_BINARY_LEN: u32 = 16;

pub const NVML_MAX_GPU_PERF_PSTATES: u32 = 16;

pub const NVML_PERF_MODES_BUFFER_SIZE: u32 = 2048;

pub const NVML_POWER_MIZER_MODE_ADAPTIVE: u32 = 0;

pub const NVML_POWER_MIZER_MODE_PREFER_MAXIMUM_PERFORMANCE: u32 = 1;

pub const NVML_POWER_MIZER_MODE_AUTO: u32 = 2;

pub const NVML_POWER_MIZER_MODE_PREFER_CONSISTENT_PERFORMANCE: u32 = 3;

pub const NVML_DEVICE_HOSTNAME_BUFFER_SIZE: u32 = 64;

pub const NVML_GSP_FIRMWARE_VERSION_BUF_SIZE: u32 = 64;

pub const NVML_DEVICE_ARCH_KEPLER: u32 = 2;

pub const NVML_DEVICE_ARCH_MAXWELL: u32 = 3;

pub const NVML_DEVICE_ARCH_PASCAL: u32 = 4;

pub const NVML_DEVICE_ARCH_VOLTA: u32 = 5;

pub const NVML_DEVICE_ARCH_TURING: u32 = 6;

pub const NVML_DEVICE_ARCH_AMPERE: u32 = 7;

pub const NVML_DEVICE_ARCH_ADA: u32 = 8;

pub const NVML_DEVICE_ARCH_HOPPER: u32 = 9;

pub const NVML_DEVICE_ARCH_BLACKWELL: u32 = 10;

pub const NVML_DEVICE_ARCH_UNKNOWN: u32 = 4294967295;

pub const NVML_BUS_TYPE_UNKNOWN: u32 = 0;

pub const NVML_BUS_TYPE_PCI: u32 = 1;

pub const NVML_BUS_TYPE_PCIE: u32 = 2;

pub const NVML_BUS_TYPE_FPCI: u32 = 3;

pub const NVML_BUS_TYPE_AGP: u32 = 4;

pub const NVML_FAN_POLICY_TEMPERATURE_CONTINOUS_SW: u32 = 0;

pub const NVML_FAN_POLICY_MANUAL: u32 = 1;

pub const NVML_POWER_SOURCE_AC: u32 = 0;

pub const NVML_POWER_SOURCE_BATTERY: u32 = 1;

pub const NVML_POWER_SOURCE_UNDERSIZED: u32 = 2;

pub const NVML_PCIE_LINK_MAX_SPEED_INVALID: u32 = 0;

pub const NVML_PCIE_LINK_MAX_SPEED_2500MBPS: u32 = 1;

pub const NVML_PCIE_LINK_MAX_SPEED_5000MBPS: u32 = 2;

pub const NVML_PCIE_LINK_MAX_SPEED_8000MBPS: u32 = 3;

pub const NVML_PCIE_LINK_MAX_SPEED_16000MBPS: u32 = 4;

pub const NVML_PCIE_LINK_MAX_SPEED_32000MBPS: u32 = 5;

pub const NVML_PCIE_LINK_MAX_SPEED_64000MBPS: u32 = 6;

pub const NVML_ADAPTIVE_CLOCKING_INFO_STATUS_DISABLED: u32 = 0;

pub const NVML_ADAPTIVE_CLOCKING_INFO_STATUS_ENABLED: u32 = 1;

pub const NVML_MAX_GPU_UTILIZATIONS: u32 = 8;

pub const NVML_PCIE_ATOMICS_CAP_FETCHADD32: u32 = 1;

pub const NVML_PCIE_ATOMICS_CAP_FETCHADD64: u32 = 2;

pub const NVML_PCIE_ATOMICS_CAP_SWAP32: u32 = 4;

pub const NVML_PCIE_ATOMICS_CAP_SWAP64: u32 = 8;

pub const NVML_PCIE_ATOMICS_CAP_CAS32: u32 = 16;

pub const NVML_PCIE_ATOMICS_CAP_CAS64: u32 = 32;

pub const NVML_PCIE_ATOMICS_CAP_CAS128: u32 = 64;

pub const NVML_PCIE_ATOMICS_OPS_MAX: u32 = 7;

pub const NVML_POWER_SCOPE_GPU: u32 = 0;

pub const NVML_POWER_SCOPE_MODULE: u32 = 1;

pub const NVML_POWER_SCOPE_MEMORY: u32 = 2;

pub const NVML_GRID_LICENSE_EXPIRY_NOT_AVAILABLE: u32 = 0;

pub const NVML_GRID_LICENSE_EXPIRY_INVALID: u32 = 1;

pub const NVML_GRID_LICENSE_EXPIRY_VALID: u32 = 2;

pub const NVML_GRID_LICENSE_EXPIRY_NOT_APPLICABLE: u32 = 3;

pub const NVML_GRID_LICENSE_EXPIRY_PERMANENT: u32 = 4;

pub const NVML_GRID_LICENSE_BUFFER_SIZE: u32 = 128;

pub const NVML_VGPU_NAME_BUFFER_SIZE: u32 = 64;

pub const NVML_GRID_LICENSE_FEATURE_MAX_COUNT: u32 = 3;

pub const NVML_INVALID_VGPU_PLACEMENT_ID: u32 = 65535;

pub const NVML_VGPU_VIRTUALIZATION_CAP_MIGRATION_NO: u32 = 0;

pub const NVML_VGPU_VIRTUALIZATION_CAP_MIGRATION_YES: u32 = 1;

pub const NVML_VGPU_PGPU_VIRTUALIZATION_CAP_MIGRATION_NO: u32 = 0;

pub const NVML_VGPU_PGPU_VIRTUALIZATION_CAP_MIGRATION_YES: u32 = 1;

pub const NVML_VGPU_PGPU_HETEROGENEOUS_MODE: u32 = 0;

pub const NVML_VGPU_PGPU_HOMOGENEOUS_MODE: u32 = 1;

pub const NVML_VGPU_SCHEDULER_POLICY_UNKNOWN: u32 = 0;

pub const NVML_VGPU_SCHEDULER_POLICY_BEST_EFFORT: u32 = 1;

pub const NVML_VGPU_SCHEDULER_POLICY_EQUAL_SHARE: u32 = 2;

pub const NVML_VGPU_SCHEDULER_POLICY_FIXED_SHARE: u32 = 3;

pub const NVML_SUPPORTED_VGPU_SCHEDULER_POLICY_COUNT: u32 = 3;

pub const NVML_SCHEDULER_SW_MAX_LOG_ENTRIES: u32 = 200;

pub const NVML_VGPU_SCHEDULER_ARR_DEFAULT: u32 = 0;

pub const NVML_VGPU_SCHEDULER_ARR_DISABLE: u32 = 1;

pub const NVML_VGPU_SCHEDULER_ARR_ENABLE: u32 = 2;

pub const NVML_VGPU_SCHEDULER_ENGINE_TYPE_GRAPHICS: u32 = 1;

pub const NVML_GRID_LICENSE_STATE_UNKNOWN: u32 = 0;

pub const NVML_GRID_LICENSE_STATE_UNINITIALIZED: u32 = 1;

pub const NVML_GRID_LICENSE_STATE_UNLICENSED_UNRESTRICTED: u32 = 2;

pub const NVML_GRID_LICENSE_STATE_UNLICENSED_RESTRICTED: u32 = 3;

pub const NVML_GRID_LICENSE_STATE_UNLICENSED: u32 = 4;

pub const NVML_GRID_LICENSE_STATE_LICENSED: u32 = 5;

pub const NVML_FI_DEV_ECC_CURRENT: u32 = 1;

pub const NVML_FI_DEV_ECC_PENDING: u32 = 2;

pub const NVML_FI_DEV_ECC_SBE_VOL_TOTAL: u32 = 3;

pub const NVML_FI_DEV_ECC_DBE_VOL_TOTAL: u32 = 4;

pub const NVML_FI_DEV_ECC_SBE_AGG_TOTAL: u32 = 5;

pub const NVML_FI_DEV_ECC_DBE_AGG_TOTAL: u32 = 6;

pub const NVML_FI_DEV_ECC_SBE_VOL_L1: u32 = 7;

pub const NVML_FI_DEV_ECC_DBE_VOL_L1: u32 = 8;

pub const NVML_FI_DEV_ECC_SBE_VOL_L2: u32 = 9;

pub const NVML_FI_DEV_ECC_DBE_VOL_L2: u32 = 10;

pub const NVML_FI_DEV_ECC_SBE_VOL_DEV: u32 = 11;

pub const NVML_FI_DEV_ECC_DBE_VOL_DEV: u32 = 12;

pub const NVML_FI_DEV_ECC_SBE_VOL_REG: u32 = 13;

pub const NVML_FI_DEV_ECC_DBE_VOL_REG: u32 = 14;

pub const NVML_FI_DEV_ECC_SBE_VOL_TEX: u32 = 15;

pub const NVML_FI_DEV_ECC_DBE_VOL_TEX: u32 = 16;

pub const NVML_FI_DEV_ECC_DBE_VOL_CBU: u32 = 17;

pub const NVML_FI_DEV_ECC_SBE_AGG_L1: u32 = 18;

pub const NVML_FI_DEV_ECC_DBE_AGG_L1: u32 = 19;

pub const NVML_FI_DEV_ECC_SBE_AGG_L2: u32 = 20;

pub const NVML_FI_DEV_ECC_DBE_AGG_L2: u32 = 21;

pub const NVML_FI_DEV_ECC_SBE_AGG_DEV: u32 = 22;

pub const NVML_FI_DEV_ECC_DBE_AGG_DEV: u32 = 23;

pub const NVML_FI_DEV_ECC_SBE_AGG_REG: u32 = 24;

pub const NVML_FI_DEV_ECC_DBE_AGG_REG: u32 = 25;

pub const NVML_FI_DEV_ECC_SBE_AGG_TEX: u32 = 26;

pub const NVML_FI_DEV_ECC_DBE_AGG_TEX: u32 = 27;

pub const NVML_FI_DEV_ECC_DBE_AGG_CBU: u32 = 28;

pub const NVML_FI_DEV_RETIRED_SBE: u32 = 29;

pub const NVML_FI_DEV_RETIRED_DBE: u32 = 30;

pub const NVML_FI_DEV_RETIRED_PENDING: u32 = 31;

pub const NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L0: u32 = 32;

pub const NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L1: u32 = 33;

pub const NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L2: u32 = 34;

pub const NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L3: u32 = 35;

pub const NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L4: u32 = 36;

pub const NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L5: u32 = 37;

pub const NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL: u32 = 38;

pub const NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L0: u32 = 39;

pub const NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L1: u32 = 40;

pub const NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L2: u32 = 41;

pub const NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L3: u32 = 42;

pub const NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L4: u32 = 43;

pub const NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L5: u32 = 44;

pub const NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL: u32 = 45;

pub const NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L0: u32 = 46;

pub const NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L1: u32 = 47;

pub const NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L2: u32 = 48;

pub const NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L3: u32 = 49;

pub const NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L4: u32 = 50;

pub const NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L5: u32 = 51;

pub const NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL: u32 = 52;

pub const NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L0: u32 = 53;

pub const NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L1: u32 = 54;

pub const NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L2: u32 = 55;

pub const NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L3: u32 = 56;

pub const NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L4: u32 = 57;

pub const NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L5: u32 = 58;

pub const NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL: u32 = 59;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L0: u32 = 60;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L1: u32 = 61;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L2: u32 = 62;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L3: u32 = 63;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L4: u32 = 64;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L5: u32 = 65;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C0_TOTAL: u32 = 66;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L0: u32 = 67;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L1: u32 = 68;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L2: u32 = 69;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L3: u32 = 70;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L4: u32 = 71;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L5: u32 = 72;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C1_TOTAL: u32 = 73;

pub const NVML_FI_DEV_PERF_POLICY_POWER: u32 = 74;

pub const NVML_FI_DEV_PERF_POLICY_THERMAL: u32 = 75;

pub const NVML_FI_DEV_PERF_POLICY_SYNC_BOOST: u32 = 76;

pub const NVML_FI_DEV_PERF_POLICY_BOARD_LIMIT: u32 = 77;

pub const NVML_FI_DEV_PERF_POLICY_LOW_UTILIZATION: u32 = 78;

pub const NVML_FI_DEV_PERF_POLICY_RELIABILITY: u32 = 79;

pub const NVML_FI_DEV_PERF_POLICY_TOTAL_APP_CLOCKS: u32 = 80;

pub const NVML_FI_DEV_PERF_POLICY_TOTAL_BASE_CLOCKS: u32 = 81;

pub const NVML_FI_DEV_MEMORY_TEMP: u32 = 82;

pub const NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION: u32 = 83;

pub const NVML_FI_DEV_NVLINK_SPEED_MBPS_L0: u32 = 84;

pub const NVML_FI_DEV_NVLINK_SPEED_MBPS_L1: u32 = 85;

pub const NVML_FI_DEV_NVLINK_SPEED_MBPS_L2: u32 = 86;

pub const NVML_FI_DEV_NVLINK_SPEED_MBPS_L3: u32 = 87;

pub const NVML_FI_DEV_NVLINK_SPEED_MBPS_L4: u32 = 88;

pub const NVML_FI_DEV_NVLINK_SPEED_MBPS_L5: u32 = 89;

pub const NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON: u32 = 90;

pub const NVML_FI_DEV_NVLINK_LINK_COUNT: u32 = 91;

pub const NVML_FI_DEV_RETIRED_PENDING_SBE: u32 = 92;

pub const NVML_FI_DEV_RETIRED_PENDING_DBE: u32 = 93;

pub const NVML_FI_DEV_PCIE_REPLAY_COUNTER: u32 = 94;

pub const NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER: u32 = 95;

pub const NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L6: u32 = 96;

pub const NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L7: u32 = 97;

pub const NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L8: u32 = 98;

pub const NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L9: u32 = 99;

pub const NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L10: u32 = 100;

pub const NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L11: u32 = 101;

pub const NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L6: u32 = 102;

pub const NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L7: u32 = 103;

pub const NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L8: u32 = 104;

pub const NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L9: u32 = 105;

pub const NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L10: u32 = 106;

pub const NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_L11: u32 = 107;

pub const NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L6: u32 = 108;

pub const NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L7: u32 = 109;

pub const NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L8: u32 = 110;

pub const NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L9: u32 = 111;

pub const NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L10: u32 = 112;

pub const NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L11: u32 = 113;

pub const NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L6: u32 = 114;

pub const NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L7: u32 = 115;

pub const NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L8: u32 = 116;

pub const NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L9: u32 = 117;

pub const NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L10: u32 = 118;

pub const NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L11: u32 = 119;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L6: u32 = 120;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L7: u32 = 121;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L8: u32 = 122;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L9: u32 = 123;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L10: u32 = 124;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C0_L11: u32 = 125;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L6: u32 = 126;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L7: u32 = 127;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L8: u32 = 128;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L9: u32 = 129;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L10: u32 = 130;

pub const NVML_FI_DEV_NVLINK_BANDWIDTH_C1_L11: u32 = 131;

pub const NVML_FI_DEV_NVLINK_SPEED_MBPS_L6: u32 = 132;

pub const NVML_FI_DEV_NVLINK_SPEED_MBPS_L7: u32 = 133;

pub const NVML_FI_DEV_NVLINK_SPEED_MBPS_L8: u32 = 134;

pub const NVML_FI_DEV_NVLINK_SPEED_MBPS_L9: u32 = 135;

pub const NVML_FI_DEV_NVLINK_SPEED_MBPS_L10: u32 = 136;

pub const NVML_FI_DEV_NVLINK_SPEED_MBPS_L11: u32 = 137;

pub const NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX: u32 = 138;

pub const NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX: u32 = 139;

pub const NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_TX: u32 = 140;

pub const NVML_FI_DEV_NVLINK_THROUGHPUT_RAW_RX: u32 = 141;

pub const NVML_FI_DEV_REMAPPED_COR: u32 = 142;

pub const NVML_FI_DEV_REMAPPED_UNC: u32 = 143;

pub const NVML_FI_DEV_REMAPPED_PENDING: u32 = 144;

pub const NVML_FI_DEV_REMAPPED_FAILURE: u32 = 145;

pub const NVML_FI_DEV_NVLINK_REMOTE_NVLINK_ID: u32 = 146;

pub const NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT: u32 = 147;

pub const NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L0: u32 = 148;

pub const NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L1: u32 = 149;

pub const NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L2: u32 = 150;

pub const NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L3: u32 = 151;

pub const NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L4: u32 = 152;

pub const NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L5: u32 = 153;

pub const NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L6: u32 = 154;

pub const NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L7: u32 = 155;

pub const NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L8: u32 = 156;

pub const NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L9: u32 = 157;

pub const NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L10: u32 = 158;

pub const NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_L11: u32 = 159;

pub const NVML_FI_DEV_NVLINK_ECC_DATA_ERROR_COUNT_TOTAL: u32 = 160;

pub const NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY: u32 = 161;

pub const NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY: u32 = 162;

pub const NVML_FI_DEV_NVLINK_ERROR_DL_CRC: u32 = 163;

pub const NVML_FI_DEV_NVLINK_GET_SPEED: u32 = 164;

pub const NVML_FI_DEV_NVLINK_GET_STATE: u32 = 165;

pub const NVML_FI_DEV_NVLINK_GET_VERSION: u32 = 166;

pub const NVML_FI_DEV_NVLINK_GET_POWER_STATE: u32 = 167;

pub const NVML_FI_DEV_NVLINK_GET_POWER_THRESHOLD: u32 = 168;

pub const NVML_FI_DEV_PCIE_L0_TO_RECOVERY_COUNTER: u32 = 169;

pub const NVML_FI_DEV_C2C_LINK_COUNT: u32 = 170;

pub const NVML_FI_DEV_C2C_LINK_GET_STATUS: u32 = 171;

pub const NVML_FI_DEV_C2C_LINK_GET_MAX_BW: u32 = 172;

pub const NVML_FI_DEV_PCIE_COUNT_CORRECTABLE_ERRORS: u32 = 173;

pub const NVML_FI_DEV_PCIE_COUNT_NAKS_RECEIVED: u32 = 174;

pub const NVML_FI_DEV_PCIE_COUNT_RECEIVER_ERROR: u32 = 175;

pub const NVML_FI_DEV_PCIE_COUNT_BAD_TLP: u32 = 176;

pub const NVML_FI_DEV_PCIE_COUNT_NAKS_SENT: u32 = 177;

pub const NVML_FI_DEV_PCIE_COUNT_BAD_DLLP: u32 = 178;

pub const NVML_FI_DEV_PCIE_COUNT_NON_FATAL_ERROR: u32 = 179;

pub const NVML_FI_DEV_PCIE_COUNT_FATAL_ERROR: u32 = 180;

pub const NVML_FI_DEV_PCIE_COUNT_UNSUPPORTED_REQ: u32 = 181;

pub const NVML_FI_DEV_PCIE_COUNT_LCRC_ERROR: u32 = 182;

pub const NVML_FI_DEV_PCIE_COUNT_LANE_ERROR: u32 = 183;

pub const NVML_FI_DEV_IS_RESETLESS_MIG_SUPPORTED: u32 = 184;

pub const NVML_FI_DEV_POWER_AVERAGE: u32 = 185;

pub const NVML_FI_DEV_POWER_INSTANT: u32 = 186;

pub const NVML_FI_DEV_POWER_MIN_LIMIT: u32 = 187;

pub const NVML_FI_DEV_POWER_MAX_LIMIT: u32 = 188;

pub const NVML_FI_DEV_POWER_DEFAULT_LIMIT: u32 = 189;

pub const NVML_FI_DEV_POWER_CURRENT_LIMIT: u32 = 190;

pub const NVML_FI_DEV_ENERGY: u32 = 191;

pub const NVML_FI_DEV_POWER_REQUESTED_LIMIT: u32 = 192;

pub const NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT: u32 = 193;

pub const NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT: u32 = 194;

pub const NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT: u32 = 195;

pub const NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT: u32 = 196;

pub const NVML_FI_DEV_PCIE_COUNT_TX_BYTES: u32 = 197;

pub const NVML_FI_DEV_PCIE_COUNT_RX_BYTES: u32 = 198;

pub const NVML_FI_DEV_IS_MIG_MODE_INDEPENDENT_MIG_QUERY_CAPABLE: u32 = 199;

pub const NVML_FI_DEV_NVLINK_GET_POWER_THRESHOLD_MAX: u32 = 200;

pub const NVML_FI_DEV_NVLINK_COUNT_XMIT_PACKETS: u32 = 201;

pub const NVML_FI_DEV_NVLINK_COUNT_XMIT_BYTES: u32 = 202;

pub const NVML_FI_DEV_NVLINK_COUNT_RCV_PACKETS: u32 = 203;

pub const NVML_FI_DEV_NVLINK_COUNT_RCV_BYTES: u32 = 204;

pub const NVML_FI_DEV_NVLINK_COUNT_VL15_DROPPED: u32 = 205;

pub const NVML_FI_DEV_NVLINK_COUNT_MALFORMED_PACKET_ERRORS: u32 = 206;

pub const NVML_FI_DEV_NVLINK_COUNT_BUFFER_OVERRUN_ERRORS: u32 = 207;

pub const NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS: u32 = 208;

pub const NVML_FI_DEV_NVLINK_COUNT_RCV_REMOTE_ERRORS: u32 = 209;

pub const NVML_FI_DEV_NVLINK_COUNT_RCV_GENERAL_ERRORS: u32 = 210;

pub const NVML_FI_DEV_NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS: u32 = 211;

pub const NVML_FI_DEV_NVLINK_COUNT_XMIT_DISCARDS: u32 = 212;

pub const NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_SUCCESSFUL_EVENTS: u32 = 213;

pub const NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS: u32 = 214;

pub const NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS: u32 = 215;

pub const NVML_FI_DEV_NVLINK_COUNT_RAW_BER_LANE0: u32 = 216;

pub const NVML_FI_DEV_NVLINK_COUNT_RAW_BER_LANE1: u32 = 217;

pub const NVML_FI_DEV_NVLINK_COUNT_RAW_BER: u32 = 218;

pub const NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_ERRORS: u32 = 219;

pub const NVML_FI_DEV_NVLINK_COUNT_EFFECTIVE_BER: u32 = 220;

pub const NVML_FI_DEV_NVLINK_COUNT_SYMBOL_ERRORS: u32 = 221;

pub const NVML_FI_DEV_NVLINK_COUNT_SYMBOL_BER: u32 = 222;

pub const NVML_FI_DEV_NVLINK_GET_POWER_THRESHOLD_MIN: u32 = 223;

pub const NVML_FI_DEV_NVLINK_GET_POWER_THRESHOLD_UNITS: u32 = 224;

pub const NVML_FI_DEV_NVLINK_GET_POWER_THRESHOLD_SUPPORTED: u32 = 225;

pub const NVML_FI_DEV_RESET_STATUS: u32 = 226;

pub const NVML_FI_DEV_DRAIN_AND_RESET_STATUS: u32 = 227;

pub const NVML_FI_DEV_PCIE_OUTBOUND_ATOMICS_MASK: u32 = 228;

pub const NVML_FI_DEV_PCIE_INBOUND_ATOMICS_MASK: u32 = 229;

pub const NVML_FI_DEV_GET_GPU_RECOVERY_ACTION: u32 = 230;

pub const NVML_FI_DEV_C2C_LINK_ERROR_INTR: u32 = 231;

pub const NVML_FI_DEV_C2C_LINK_ERROR_REPLAY: u32 = 232;

pub const NVML_FI_DEV_C2C_LINK_ERROR_REPLAY_B2B: u32 = 233;

pub const NVML_FI_DEV_C2C_LINK_POWER_STATE: u32 = 234;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_0: u32 = 235;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_1: u32 = 236;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_2: u32 = 237;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_3: u32 = 238;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_4: u32 = 239;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_5: u32 = 240;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_6: u32 = 241;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_7: u32 = 242;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_8: u32 = 243;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_9: u32 = 244;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_10: u32 = 245;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_11: u32 = 246;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_12: u32 = 247;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_13: u32 = 248;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_14: u32 = 249;

pub const NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_15: u32 = 250;

pub const NVML_FI_PWR_SMOOTHING_ENABLED: u32 = 251;

pub const NVML_FI_PWR_SMOOTHING_PRIV_LVL: u32 = 252;

pub const NVML_FI_PWR_SMOOTHING_IMM_RAMP_DOWN_ENABLED: u32 = 253;

pub const NVML_FI_PWR_SMOOTHING_APPLIED_TMP_CEIL: u32 = 254;

pub const NVML_FI_PWR_SMOOTHING_APPLIED_TMP_FLOOR: u32 = 255;

pub const NVML_FI_PWR_SMOOTHING_MAX_PERCENT_TMP_FLOOR_SETTING: u32 = 256;

pub const NVML_FI_PWR_SMOOTHING_MIN_PERCENT_TMP_FLOOR_SETTING: u32 = 257;

pub const NVML_FI_PWR_SMOOTHING_HW_CIRCUITRY_PERCENT_LIFETIME_REMAINING: u32 = 258;

pub const NVML_FI_PWR_SMOOTHING_MAX_NUM_PRESET_PROFILES: u32 = 259;

pub const NVML_FI_PWR_SMOOTHING_PROFILE_PERCENT_TMP_FLOOR: u32 = 260;

pub const NVML_FI_PWR_SMOOTHING_PROFILE_RAMP_UP_RATE: u32 = 261;

pub const NVML_FI_PWR_SMOOTHING_PROFILE_RAMP_DOWN_RATE: u32 = 262;

pub const NVML_FI_PWR_SMOOTHING_PROFILE_RAMP_DOWN_HYST_VAL: u32 = 263;

pub const NVML_FI_PWR_SMOOTHING_ACTIVE_PRESET_PROFILE: u32 = 264;

pub const NVML_FI_PWR_SMOOTHING_ADMIN_OVERRIDE_PERCENT_TMP_FLOOR: u32 = 265;

pub const NVML_FI_PWR_SMOOTHING_ADMIN_OVERRIDE_RAMP_UP_RATE: u32 = 266;

pub const NVML_FI_PWR_SMOOTHING_ADMIN_OVERRIDE_RAMP_DOWN_RATE: u32 = 267;

pub const NVML_FI_PWR_SMOOTHING_ADMIN_OVERRIDE_RAMP_DOWN_HYST_VAL: u32 = 268;

pub const NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP: u32 = 74;

pub const NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST: u32 = 76;

pub const NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN: u32 = 269;

pub const NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN: u32 = 270;

pub const NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN: u32 = 271;

pub const NVML_FI_DEV_POWER_SYNC_BALANCING_FREQ: u32 = 272;

pub const NVML_FI_DEV_POWER_SYNC_BALANCING_AF: u32 = 273;

pub const NVML_FI_MAX: u32 = 274;

pub const NVML_NVLINK_LOW_POWER_THRESHOLD_UNIT_100US: u32 = 0;

pub const NVML_NVLINK_LOW_POWER_THRESHOLD_UNIT_50US: u32 = 1;

pub const NVML_NVLINK_POWER_STATE_HIGH_SPEED: u32 = 0;

pub const NVML_NVLINK_POWER_STATE_LOW: u32 = 1;

pub const NVML_NVLINK_LOW_POWER_THRESHOLD_MIN: u32 = 1;

pub const NVML_NVLINK_LOW_POWER_THRESHOLD_MAX: u32 = 8191;

pub const NVML_NVLINK_LOW_POWER_THRESHOLD_RESET: u32 = 4294967295;

pub const NVML_NVLINK_LOW_POWER_THRESHOLD_DEFAULT: u32 = 4294967295;

pub const NVML_C2C_POWER_STATE_FULL_POWER: u32 = 0;

pub const NVML_C2C_POWER_STATE_LOW_POWER: u32 = 1;

pub const NVML_NVFBC_SESSION_FLAG_DIFFMAP_ENABLED: u32 = 1;

pub const NVML_NVFBC_SESSION_FLAG_CLASSIFICATIONMAP_ENABLED: u32 = 2;

pub const NVML_NVFBC_SESSION_FLAG_CAPTURE_WITH_WAIT_NO_WAIT: u32 = 4;

pub const NVML_NVFBC_SESSION_FLAG_CAPTURE_WITH_WAIT_INFINITE: u32 = 8;

pub const NVML_NVFBC_SESSION_FLAG_CAPTURE_WITH_WAIT_TIMEOUT: u32 = 16;

pub const NVML_CC_SYSTEM_CPU_CAPS_NONE: u32 = 0;

pub const NVML_CC_SYSTEM_CPU_CAPS_AMD_SEV: u32 = 1;

pub const NVML_CC_SYSTEM_CPU_CAPS_INTEL_TDX: u32 = 2;

pub const NVML_CC_SYSTEM_CPU_CAPS_AMD_SEV_SNP: u32 = 3;

pub const NVML_CC_SYSTEM_CPU_CAPS_AMD_SNP_VTOM: u32 = 4;

pub const NVML_CC_SYSTEM_GPUS_CC_NOT_CAPABLE: u32 = 0;

pub const NVML_CC_SYSTEM_GPUS_CC_CAPABLE: u32 = 1;

pub const NVML_CC_SYSTEM_DEVTOOLS_MODE_OFF: u32 = 0;

pub const NVML_CC_SYSTEM_DEVTOOLS_MODE_ON: u32 = 1;

pub const NVML_CC_SYSTEM_ENVIRONMENT_UNAVAILABLE: u32 = 0;

pub const NVML_CC_SYSTEM_ENVIRONMENT_SIM: u32 = 1;

pub const NVML_CC_SYSTEM_ENVIRONMENT_PROD: u32 = 2;

pub const NVML_CC_SYSTEM_FEATURE_DISABLED: u32 = 0;

pub const NVML_CC_SYSTEM_FEATURE_ENABLED: u32 = 1;

pub const NVML_CC_SYSTEM_MULTIGPU_NONE: u32 = 0;

pub const NVML_CC_SYSTEM_MULTIGPU_PROTECTED_PCIE: u32 = 1;

pub const NVML_CC_SYSTEM_MULTIGPU_NVLE: u32 = 2;

pub const NVML_CC_ACCEPTING_CLIENT_REQUESTS_FALSE: u32 = 0;

pub const NVML_CC_ACCEPTING_CLIENT_REQUESTS_TRUE: u32 = 1;

pub const NVML_GPU_CERT_CHAIN_SIZE: u32 = 4096;

pub const NVML_GPU_ATTESTATION_CERT_CHAIN_SIZE: u32 = 5120;

pub const NVML_CC_GPU_CEC_NONCE_SIZE: u32 = 32;

pub const NVML_CC_GPU_ATTESTATION_REPORT_SIZE: u32 = 8192;

pub const NVML_CC_GPU_CEC_ATTESTATION_REPORT_SIZE: u32 = 4096;

pub const NVML_CC_CEC_ATTESTATION_REPORT_NOT_PRESENT: u32 = 0;

pub const NVML_CC_CEC_ATTESTATION_REPORT_PRESENT: u32 = 1;

pub const NVML_CC_KEY_ROTATION_THRESHOLD_ATTACKER_ADVANTAGE_MIN: u32 = 50;

pub const NVML_CC_KEY_ROTATION_THRESHOLD_ATTACKER_ADVANTAGE_MAX: u32 = 65;

pub const NVML_GPU_FABRIC_UUID_LEN: u32 = 16;

pub const NVML_GPU_FABRIC_STATE_NOT_SUPPORTED: u32 = 0;

pub const NVML_GPU_FABRIC_STATE_NOT_STARTED: u32 = 1;

pub const NVML_GPU_FABRIC_STATE_IN_PROGRESS: u32 = 2;

pub const NVML_GPU_FABRIC_STATE_COMPLETED: u32 = 3;

pub const NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_NOT_SUPPORTED: u32 = 0;

pub const NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_TRUE: u32 = 1;

pub const NVML_GPU_FABRIC_HEALTH_MASK_DEGRADED_BW_FALSE: u32 = 2;

pub const NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_DEGRADED_BW: u32 = 0;

pub const NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_DEGRADED_BW: u32 = 3;

pub const NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_RECOVERY_NOT_SUPPORTED: u32 = 0;

pub const NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_RECOVERY_TRUE: u32 = 1;

pub const NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_RECOVERY_FALSE: u32 = 2;

pub const NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_RECOVERY: u32 = 2;

pub const NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_ROUTE_RECOVERY: u32 = 3;

pub const NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_UNHEALTHY_NOT_SUPPORTED: u32 = 0;

pub const NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_UNHEALTHY_TRUE: u32 = 1;

pub const NVML_GPU_FABRIC_HEALTH_MASK_ROUTE_UNHEALTHY_FALSE: u32 = 2;

pub const NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY: u32 = 4;

pub const NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_ROUTE_UNHEALTHY: u32 = 3;

pub const NVML_GPU_FABRIC_HEALTH_MASK_ACCESS_TIMEOUT_RECOVERY_NOT_SUPPORTED: u32 = 0;

pub const NVML_GPU_FABRIC_HEALTH_MASK_ACCESS_TIMEOUT_RECOVERY_TRUE: u32 = 1;

pub const NVML_GPU_FABRIC_HEALTH_MASK_ACCESS_TIMEOUT_RECOVERY_FALSE: u32 = 2;

pub const NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_ACCESS_TIMEOUT_RECOVERY: u32 = 6;

pub const NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_ACCESS_TIMEOUT_RECOVERY: u32 = 3;

pub const NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NOT_SUPPORTED: u32 = 0;

pub const NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NONE: u32 = 1;

pub const NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCORRECT_SYSGUID: u32 = 2;

pub const NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCORRECT_CHASSIS_SN: u32 = 3;

pub const NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NO_PARTITION: u32 = 4;

pub const NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INSUFFICIENT_NVLINKS: u32 = 5;

pub const NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCOMPATIBLE_GPU_FW: u32 = 6;

pub const NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INVALID_LOCATION: u32 = 7;

pub const NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION: u32 = 8;

pub const NVML_GPU_FABRIC_HEALTH_MASK_WIDTH_INCORRECT_CONFIGURATION: u32 = 15;

pub const NVML_GPU_FABRIC_HEALTH_SUMMARY_NOT_SUPPORTED: u32 = 0;

pub const NVML_GPU_FABRIC_HEALTH_SUMMARY_HEALTHY: u32 = 1;

pub const NVML_GPU_FABRIC_HEALTH_SUMMARY_UNHEALTHY: u32 = 2;

pub const NVML_GPU_FABRIC_HEALTH_SUMMARY_LIMITED_CAPACITY: u32 = 3;

pub const NVML_INIT_FLAG_NO_GPUS: u32 = 1;

pub const NVML_INIT_FLAG_NO_ATTACH: u32 = 2;

pub const NVML_DEVICE_INFOROM_VERSION_BUFFER_SIZE: u32 = 16;

pub const NVML_DEVICE_UUID_BUFFER_SIZE: u32 = 80;

pub const NVML_DEVICE_UUID_V2_BUFFER_SIZE: u32 = 96;

pub const NVML_DEVICE_PART_NUMBER_BUFFER_SIZE: u32 = 80;

pub const NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE: u32 = 80;

pub const NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE: u32 = 80;

pub const NVML_DEVICE_NAME_BUFFER_SIZE: u32 = 64;

pub const NVML_DEVICE_NAME_V2_BUFFER_SIZE: u32 = 96;

pub const NVML_DEVICE_SERIAL_BUFFER_SIZE: u32 = 30;

pub const NVML_DEVICE_VBIOS_VERSION_BUFFER_SIZE: u32 = 32;

pub const NVML_AFFINITY_SCOPE_NODE: u32 = 0;

pub const NVML_AFFINITY_SCOPE_SOCKET: u32 = 1;

pub const NVML_NVLINK_BER_MANTISSA_SHIFT: u32 = 8;

pub const NVML_NVLINK_BER_MANTISSA_WIDTH: u32 = 15;

pub const NVML_NVLINK_BER_EXP_SHIFT: u32 = 0;

pub const NVML_NVLINK_BER_EXP_WIDTH: u32 = 255;

pub const NVML_NVLINK_STATE_INACTIVE: u32 = 0;

pub const NVML_NVLINK_STATE_ACTIVE: u32 = 1;

pub const NVML_NVLINK_STATE_SLEEP: u32 = 2;

pub const NVML_NVLINK_TOTAL_SUPPORTED_BW_MODES: u32 = 23;

pub const NVML_NVLINK_FIRMWARE_UCODE_TYPE_MSE: u32 = 1;

pub const NVML_NVLINK_FIRMWARE_UCODE_TYPE_NETIR: u32 = 2;

pub const NVML_NVLINK_FIRMWARE_UCODE_TYPE_NETIR_UPHY: u32 = 3;

pub const NVML_NVLINK_FIRMWARE_UCODE_TYPE_NETIR_CLN: u32 = 4;

pub const NVML_NVLINK_FIRMWARE_UCODE_TYPE_NETIR_DLN: u32 = 5;

pub const NVML_NVLINK_FIRMWARE_VERSION_LENGTH: u32 = 100;

pub const NVML_PRM_DATA_MAX_SIZE: u32 = 496;

pub const NVML_DEVICE_MIG_DISABLE: u32 = 0;

pub const NVML_DEVICE_MIG_ENABLE: u32 = 1;

pub const NVML_GPU_INSTANCE_PROFILE_1_SLICE: u32 = 0;

pub const NVML_GPU_INSTANCE_PROFILE_2_SLICE: u32 = 1;

pub const NVML_GPU_INSTANCE_PROFILE_3_SLICE: u32 = 2;

pub const NVML_GPU_INSTANCE_PROFILE_4_SLICE: u32 = 3;

pub const NVML_GPU_INSTANCE_PROFILE_7_SLICE: u32 = 4;

pub const NVML_GPU_INSTANCE_PROFILE_8_SLICE: u32 = 5;

pub const NVML_GPU_INSTANCE_PROFILE_6_SLICE: u32 = 6;

pub const NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1: u32 = 7;

pub const NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1: u32 = 8;

pub const NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2: u32 = 9;

pub const NVML_GPU_INSTANCE_PROFILE_1_SLICE_GFX: u32 = 10;

pub const NVML_GPU_INSTANCE_PROFILE_2_SLICE_GFX: u32 = 11;

pub const NVML_GPU_INSTANCE_PROFILE_4_SLICE_GFX: u32 = 12;

pub const NVML_GPU_INSTANCE_PROFILE_1_SLICE_NO_ME: u32 = 13;

pub const NVML_GPU_INSTANCE_PROFILE_2_SLICE_NO_ME: u32 = 14;

pub const NVML_GPU_INSTANCE_PROFILE_1_SLICE_ALL_ME: u32 = 15;

pub const NVML_GPU_INSTANCE_PROFILE_2_SLICE_ALL_ME: u32 = 16;

pub const NVML_GPU_INSTANCE_PROFILE_COUNT: u32 = 17;

pub const NVML_GPU_INSTANCE_PROFILE_CAPS_P2P: u32 = 1;

pub const NVML_GPU_INTSTANCE_PROFILE_CAPS_P2P: u32 = 1;

pub const NVML_GPU_INSTANCE_PROFILE_CAPS_GFX: u32 = 2;

pub const NVML_COMPUTE_INSTANCE_PROFILE_CAPS_GFX: u32 = 1;

pub const NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE: u32 = 0;

pub const NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE: u32 = 1;

pub const NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE: u32 = 2;

pub const NVML_COMPUTE_INSTANCE_PROFILE_4_SLICE: u32 = 3;

pub const NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE: u32 = 4;

pub const NVML_COMPUTE_INSTANCE_PROFILE_8_SLICE: u32 = 5;

pub const NVML_COMPUTE_INSTANCE_PROFILE_6_SLICE: u32 = 6;

pub const NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE_REV1: u32 = 7;

pub const NVML_COMPUTE_INSTANCE_PROFILE_COUNT: u32 = 8;

pub const NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_SHARED: u32 = 0;

pub const NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT: u32 = 1;

pub const NVML_GPM_METRICS_GET_VERSION: u32 = 1;

pub const NVML_GPM_SUPPORT_VERSION: u32 = 1;

pub const NVML_DEV_CAP_EGM: u32 = 1;

pub const NVML_255_MASK_BITS_PER_ELEM: u32 = 32;

pub const NVML_255_MASK_NUM_ELEMS: u32 = 8;

pub const NVML_WORKLOAD_POWER_MAX_PROFILES: u32 = 255;

pub const NVML_POWER_SMOOTHING_MAX_NUM_PROFILES: u32 = 5;

pub const NVML_POWER_SMOOTHING_NUM_PROFILE_PARAMS: u32 = 4;

pub const NVML_POWER_SMOOTHING_ADMIN_OVERRIDE_NOT_SET: u32 = 4294967295;

pub const NVML_POWER_SMOOTHING_PROFILE_PARAM_PERCENT_TMP_FLOOR: u32 = 0;

pub const NVML_POWER_SMOOTHING_PROFILE_PARAM_RAMP_UP_RATE: u32 = 1;

pub const NVML_POWER_SMOOTHING_PROFILE_PARAM_RAMP_DOWN_RATE: u32 = 2;

pub const NVML_POWER_SMOOTHING_PROFILE_PARAM_RAMP_DOWN_HYSTERESIS: u32 = 3;

#[repr(C)]
#[derive(Debug)]
pub struct nvmlDevice_st {
    _unused: [u8; 0],
}

pub type nvmlDevice_t = *mut nvmlDevice_st;

#[repr(C)]
#[derive(Debug)]
pub struct nvmlGpuInstance_st {
    _unused: [u8; 0],
}

pub type nvmlGpuInstance_t = *mut nvmlGpuInstance_st;

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlPciInfoExt_t {
    pub version: u32,
    pub domain: u32,
    pub bus: u32,
    pub device: u32,
    pub pciDeviceId: u32,
    pub pciSubSystemId: u32,
    pub baseClass: u32,
    pub subClass: u32,
    pub busId: [c_char; 32],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlPciInfoExt_v1_t"][::core::mem::size_of::<nvmlPciInfoExt_t>() - 64usize];
    ["Alignment of nvmlPciInfoExt_v1_t"][::core::mem::align_of::<nvmlPciInfoExt_t>() - 4usize];
    ["Offset of field: nvmlPciInfoExt_v1_t::version"]
        [::core::mem::offset_of!(nvmlPciInfoExt_t, version) - 0usize];
    ["Offset of field: nvmlPciInfoExt_v1_t::domain"]
        [::core::mem::offset_of!(nvmlPciInfoExt_t, domain) - 4usize];
    ["Offset of field: nvmlPciInfoExt_v1_t::bus"]
        [::core::mem::offset_of!(nvmlPciInfoExt_t, bus) - 8usize];
    ["Offset of field: nvmlPciInfoExt_v1_t::device"]
        [::core::mem::offset_of!(nvmlPciInfoExt_t, device) - 12usize];
    ["Offset of field: nvmlPciInfoExt_v1_t::pciDeviceId"]
        [::core::mem::offset_of!(nvmlPciInfoExt_t, pciDeviceId) - 16usize];
    ["Offset of field: nvmlPciInfoExt_v1_t::pciSubSystemId"]
        [::core::mem::offset_of!(nvmlPciInfoExt_t, pciSubSystemId) - 20usize];
    ["Offset of field: nvmlPciInfoExt_v1_t::baseClass"]
        [::core::mem::offset_of!(nvmlPciInfoExt_t, baseClass) - 24usize];
    ["Offset of field: nvmlPciInfoExt_v1_t::subClass"]
        [::core::mem::offset_of!(nvmlPciInfoExt_t, subClass) - 28usize];
    ["Offset of field: nvmlPciInfoExt_v1_t::busId"]
        [::core::mem::offset_of!(nvmlPciInfoExt_t, busId) - 32usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlPciInfo_t {
    pub busIdLegacy: [c_char; 16],
    pub domain: u32,
    pub bus: u32,
    pub device: u32,
    pub pciDeviceId: u32,
    pub pciSubSystemId: u32,
    pub busId: [c_char; 32],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlPciInfo_st"][::core::mem::size_of::<nvmlPciInfo_t>() - 68usize];
    ["Alignment of nvmlPciInfo_st"][::core::mem::align_of::<nvmlPciInfo_t>() - 4usize];
    ["Offset of field: nvmlPciInfo_st::busIdLegacy"]
        [::core::mem::offset_of!(nvmlPciInfo_t, busIdLegacy) - 0usize];
    ["Offset of field: nvmlPciInfo_st::domain"]
        [::core::mem::offset_of!(nvmlPciInfo_t, domain) - 16usize];
    ["Offset of field: nvmlPciInfo_st::bus"][::core::mem::offset_of!(nvmlPciInfo_t, bus) - 20usize];
    ["Offset of field: nvmlPciInfo_st::device"]
        [::core::mem::offset_of!(nvmlPciInfo_t, device) - 24usize];
    ["Offset of field: nvmlPciInfo_st::pciDeviceId"]
        [::core::mem::offset_of!(nvmlPciInfo_t, pciDeviceId) - 28usize];
    ["Offset of field: nvmlPciInfo_st::pciSubSystemId"]
        [::core::mem::offset_of!(nvmlPciInfo_t, pciSubSystemId) - 32usize];
    ["Offset of field: nvmlPciInfo_st::busId"]
        [::core::mem::offset_of!(nvmlPciInfo_t, busId) - 36usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlEccErrorCounts_t {
    pub l1Cache: u64,
    pub l2Cache: u64,
    pub deviceMemory: u64,
    pub registerFile: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlEccErrorCounts_st"][::core::mem::size_of::<nvmlEccErrorCounts_t>() - 32usize];
    ["Alignment of nvmlEccErrorCounts_st"]
        [::core::mem::align_of::<nvmlEccErrorCounts_t>() - 8usize];
    ["Offset of field: nvmlEccErrorCounts_st::l1Cache"]
        [::core::mem::offset_of!(nvmlEccErrorCounts_t, l1Cache) - 0usize];
    ["Offset of field: nvmlEccErrorCounts_st::l2Cache"]
        [::core::mem::offset_of!(nvmlEccErrorCounts_t, l2Cache) - 8usize];
    ["Offset of field: nvmlEccErrorCounts_st::deviceMemory"]
        [::core::mem::offset_of!(nvmlEccErrorCounts_t, deviceMemory) - 16usize];
    ["Offset of field: nvmlEccErrorCounts_st::registerFile"]
        [::core::mem::offset_of!(nvmlEccErrorCounts_t, registerFile) - 24usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlUtilization_t {
    pub gpu: u32,
    pub memory: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlUtilization_st"][::core::mem::size_of::<nvmlUtilization_t>() - 8usize];
    ["Alignment of nvmlUtilization_st"][::core::mem::align_of::<nvmlUtilization_t>() - 4usize];
    ["Offset of field: nvmlUtilization_st::gpu"]
        [::core::mem::offset_of!(nvmlUtilization_t, gpu) - 0usize];
    ["Offset of field: nvmlUtilization_st::memory"]
        [::core::mem::offset_of!(nvmlUtilization_t, memory) - 4usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlMemory_t {
    pub total: u64,
    pub free: u64,
    pub used: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlMemory_st"][::core::mem::size_of::<nvmlMemory_t>() - 24usize];
    ["Alignment of nvmlMemory_st"][::core::mem::align_of::<nvmlMemory_t>() - 8usize];
    ["Offset of field: nvmlMemory_st::total"]
        [::core::mem::offset_of!(nvmlMemory_t, total) - 0usize];
    ["Offset of field: nvmlMemory_st::free"][::core::mem::offset_of!(nvmlMemory_t, free) - 8usize];
    ["Offset of field: nvmlMemory_st::used"][::core::mem::offset_of!(nvmlMemory_t, used) - 16usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlMemory_v2_t {
    pub version: u32,
    pub total: u64,
    pub reserved: u64,
    pub free: u64,
    pub used: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlMemory_v2_st"][::core::mem::size_of::<nvmlMemory_v2_t>() - 40usize];
    ["Alignment of nvmlMemory_v2_st"][::core::mem::align_of::<nvmlMemory_v2_t>() - 8usize];
    ["Offset of field: nvmlMemory_v2_st::version"]
        [::core::mem::offset_of!(nvmlMemory_v2_t, version) - 0usize];
    ["Offset of field: nvmlMemory_v2_st::total"]
        [::core::mem::offset_of!(nvmlMemory_v2_t, total) - 8usize];
    ["Offset of field: nvmlMemory_v2_st::reserved"]
        [::core::mem::offset_of!(nvmlMemory_v2_t, reserved) - 16usize];
    ["Offset of field: nvmlMemory_v2_st::free"]
        [::core::mem::offset_of!(nvmlMemory_v2_t, free) - 24usize];
    ["Offset of field: nvmlMemory_v2_st::used"]
        [::core::mem::offset_of!(nvmlMemory_v2_t, used) - 32usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlBAR1Memory_t {
    pub bar1Total: u64,
    pub bar1Free: u64,
    pub bar1Used: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlBAR1Memory_st"][::core::mem::size_of::<nvmlBAR1Memory_t>() - 24usize];
    ["Alignment of nvmlBAR1Memory_st"][::core::mem::align_of::<nvmlBAR1Memory_t>() - 8usize];
    ["Offset of field: nvmlBAR1Memory_st::bar1Total"]
        [::core::mem::offset_of!(nvmlBAR1Memory_t, bar1Total) - 0usize];
    ["Offset of field: nvmlBAR1Memory_st::bar1Free"]
        [::core::mem::offset_of!(nvmlBAR1Memory_t, bar1Free) - 8usize];
    ["Offset of field: nvmlBAR1Memory_st::bar1Used"]
        [::core::mem::offset_of!(nvmlBAR1Memory_t, bar1Used) - 16usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlProcessInfo_v1_t {
    pub pid: u32,
    pub usedGpuMemory: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlProcessInfo_v1_st"][::core::mem::size_of::<nvmlProcessInfo_v1_t>() - 16usize];
    ["Alignment of nvmlProcessInfo_v1_st"]
        [::core::mem::align_of::<nvmlProcessInfo_v1_t>() - 8usize];
    ["Offset of field: nvmlProcessInfo_v1_st::pid"]
        [::core::mem::offset_of!(nvmlProcessInfo_v1_t, pid) - 0usize];
    ["Offset of field: nvmlProcessInfo_v1_st::usedGpuMemory"]
        [::core::mem::offset_of!(nvmlProcessInfo_v1_t, usedGpuMemory) - 8usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlProcessInfo_t {
    pub pid: u32,
    pub usedGpuMemory: u64,
    pub gpuInstanceId: u32,
    pub computeInstanceId: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlProcessInfo_v2_st"][::core::mem::size_of::<nvmlProcessInfo_t>() - 24usize];
    ["Alignment of nvmlProcessInfo_v2_st"][::core::mem::align_of::<nvmlProcessInfo_t>() - 8usize];
    ["Offset of field: nvmlProcessInfo_v2_st::pid"]
        [::core::mem::offset_of!(nvmlProcessInfo_t, pid) - 0usize];
    ["Offset of field: nvmlProcessInfo_v2_st::usedGpuMemory"]
        [::core::mem::offset_of!(nvmlProcessInfo_t, usedGpuMemory) - 8usize];
    ["Offset of field: nvmlProcessInfo_v2_st::gpuInstanceId"]
        [::core::mem::offset_of!(nvmlProcessInfo_t, gpuInstanceId) - 16usize];
    ["Offset of field: nvmlProcessInfo_v2_st::computeInstanceId"]
        [::core::mem::offset_of!(nvmlProcessInfo_t, computeInstanceId) - 20usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlProcessDetail_v1_t {
    pub pid: u32,
    pub usedGpuMemory: u64,
    pub gpuInstanceId: u32,
    pub computeInstanceId: u32,
    pub usedGpuCcProtectedMemory: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlProcessDetail_v1_t"][::core::mem::size_of::<nvmlProcessDetail_v1_t>() - 32usize];
    ["Alignment of nvmlProcessDetail_v1_t"]
        [::core::mem::align_of::<nvmlProcessDetail_v1_t>() - 8usize];
    ["Offset of field: nvmlProcessDetail_v1_t::pid"]
        [::core::mem::offset_of!(nvmlProcessDetail_v1_t, pid) - 0usize];
    ["Offset of field: nvmlProcessDetail_v1_t::usedGpuMemory"]
        [::core::mem::offset_of!(nvmlProcessDetail_v1_t, usedGpuMemory) - 8usize];
    ["Offset of field: nvmlProcessDetail_v1_t::gpuInstanceId"]
        [::core::mem::offset_of!(nvmlProcessDetail_v1_t, gpuInstanceId) - 16usize];
    ["Offset of field: nvmlProcessDetail_v1_t::computeInstanceId"]
        [::core::mem::offset_of!(nvmlProcessDetail_v1_t, computeInstanceId) - 20usize];
    ["Offset of field: nvmlProcessDetail_v1_t::usedGpuCcProtectedMemory"]
        [::core::mem::offset_of!(nvmlProcessDetail_v1_t, usedGpuCcProtectedMemory) - 24usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlProcessDetailList_t {
    pub version: u32,
    pub mode: u32,
    pub numProcArrayEntries: u32,
    pub procArray: *mut nvmlProcessDetail_v1_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlProcessDetailList_v1_t"]
        [::core::mem::size_of::<nvmlProcessDetailList_t>() - 24usize];
    ["Alignment of nvmlProcessDetailList_v1_t"]
        [::core::mem::align_of::<nvmlProcessDetailList_t>() - 8usize];
    ["Offset of field: nvmlProcessDetailList_v1_t::version"]
        [::core::mem::offset_of!(nvmlProcessDetailList_t, version) - 0usize];
    ["Offset of field: nvmlProcessDetailList_v1_t::mode"]
        [::core::mem::offset_of!(nvmlProcessDetailList_t, mode) - 4usize];
    ["Offset of field: nvmlProcessDetailList_v1_t::numProcArrayEntries"]
        [::core::mem::offset_of!(nvmlProcessDetailList_t, numProcArrayEntries) - 8usize];
    ["Offset of field: nvmlProcessDetailList_v1_t::procArray"]
        [::core::mem::offset_of!(nvmlProcessDetailList_t, procArray) - 16usize];
};

impl Default for nvmlProcessDetailList_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlDeviceAttributes_t {
    pub multiprocessorCount: u32,
    pub sharedCopyEngineCount: u32,
    pub sharedDecoderCount: u32,
    pub sharedEncoderCount: u32,
    pub sharedJpegCount: u32,
    pub sharedOfaCount: u32,
    pub gpuInstanceSliceCount: u32,
    pub computeInstanceSliceCount: u32,
    pub memorySizeMB: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlDeviceAttributes_st"][::core::mem::size_of::<nvmlDeviceAttributes_t>() - 40usize];
    ["Alignment of nvmlDeviceAttributes_st"]
        [::core::mem::align_of::<nvmlDeviceAttributes_t>() - 8usize];
    ["Offset of field: nvmlDeviceAttributes_st::multiprocessorCount"]
        [::core::mem::offset_of!(nvmlDeviceAttributes_t, multiprocessorCount) - 0usize];
    ["Offset of field: nvmlDeviceAttributes_st::sharedCopyEngineCount"]
        [::core::mem::offset_of!(nvmlDeviceAttributes_t, sharedCopyEngineCount) - 4usize];
    ["Offset of field: nvmlDeviceAttributes_st::sharedDecoderCount"]
        [::core::mem::offset_of!(nvmlDeviceAttributes_t, sharedDecoderCount) - 8usize];
    ["Offset of field: nvmlDeviceAttributes_st::sharedEncoderCount"]
        [::core::mem::offset_of!(nvmlDeviceAttributes_t, sharedEncoderCount) - 12usize];
    ["Offset of field: nvmlDeviceAttributes_st::sharedJpegCount"]
        [::core::mem::offset_of!(nvmlDeviceAttributes_t, sharedJpegCount) - 16usize];
    ["Offset of field: nvmlDeviceAttributes_st::sharedOfaCount"]
        [::core::mem::offset_of!(nvmlDeviceAttributes_t, sharedOfaCount) - 20usize];
    ["Offset of field: nvmlDeviceAttributes_st::gpuInstanceSliceCount"]
        [::core::mem::offset_of!(nvmlDeviceAttributes_t, gpuInstanceSliceCount) - 24usize];
    ["Offset of field: nvmlDeviceAttributes_st::computeInstanceSliceCount"]
        [::core::mem::offset_of!(nvmlDeviceAttributes_t, computeInstanceSliceCount) - 28usize];
    ["Offset of field: nvmlDeviceAttributes_st::memorySizeMB"]
        [::core::mem::offset_of!(nvmlDeviceAttributes_t, memorySizeMB) - 32usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlC2cModeInfo_v1_t {
    pub isC2cEnabled: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlC2cModeInfo_v1_t"][::core::mem::size_of::<nvmlC2cModeInfo_v1_t>() - 4usize];
    ["Alignment of nvmlC2cModeInfo_v1_t"][::core::mem::align_of::<nvmlC2cModeInfo_v1_t>() - 4usize];
    ["Offset of field: nvmlC2cModeInfo_v1_t::isC2cEnabled"]
        [::core::mem::offset_of!(nvmlC2cModeInfo_v1_t, isC2cEnabled) - 0usize];
};

impl nvmlDeviceAddressingModeType_t {
    pub const NVML_DEVICE_ADDRESSING_MODE_NONE: nvmlDeviceAddressingModeType_t =
        nvmlDeviceAddressingModeType_t(0);
    pub const NVML_DEVICE_ADDRESSING_MODE_HMM: nvmlDeviceAddressingModeType_t =
        nvmlDeviceAddressingModeType_t(1);
    pub const NVML_DEVICE_ADDRESSING_MODE_ATS: nvmlDeviceAddressingModeType_t =
        nvmlDeviceAddressingModeType_t(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlDeviceAddressingModeType_t(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlDeviceAddressingMode_t {
    pub version: u32,
    pub value: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlDeviceAddressingMode_v1_t"]
        [::core::mem::size_of::<nvmlDeviceAddressingMode_t>() - 8usize];
    ["Alignment of nvmlDeviceAddressingMode_v1_t"]
        [::core::mem::align_of::<nvmlDeviceAddressingMode_t>() - 4usize];
    ["Offset of field: nvmlDeviceAddressingMode_v1_t::version"]
        [::core::mem::offset_of!(nvmlDeviceAddressingMode_t, version) - 0usize];
    ["Offset of field: nvmlDeviceAddressingMode_v1_t::value"]
        [::core::mem::offset_of!(nvmlDeviceAddressingMode_t, value) - 4usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlRepairStatus_t {
    pub version: u32,
    pub bChannelRepairPending: u32,
    pub bTpcRepairPending: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlRepairStatus_v1_t"][::core::mem::size_of::<nvmlRepairStatus_t>() - 12usize];
    ["Alignment of nvmlRepairStatus_v1_t"][::core::mem::align_of::<nvmlRepairStatus_t>() - 4usize];
    ["Offset of field: nvmlRepairStatus_v1_t::version"]
        [::core::mem::offset_of!(nvmlRepairStatus_t, version) - 0usize];
    ["Offset of field: nvmlRepairStatus_v1_t::bChannelRepairPending"]
        [::core::mem::offset_of!(nvmlRepairStatus_t, bChannelRepairPending) - 4usize];
    ["Offset of field: nvmlRepairStatus_v1_t::bTpcRepairPending"]
        [::core::mem::offset_of!(nvmlRepairStatus_t, bTpcRepairPending) - 8usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlRowRemapperHistogramValues_t {
    pub max: u32,
    pub high: u32,
    pub partial: u32,
    pub low: u32,
    pub none: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlRowRemapperHistogramValues_st"]
        [::core::mem::size_of::<nvmlRowRemapperHistogramValues_t>() - 20usize];
    ["Alignment of nvmlRowRemapperHistogramValues_st"]
        [::core::mem::align_of::<nvmlRowRemapperHistogramValues_t>() - 4usize];
    ["Offset of field: nvmlRowRemapperHistogramValues_st::max"]
        [::core::mem::offset_of!(nvmlRowRemapperHistogramValues_t, max) - 0usize];
    ["Offset of field: nvmlRowRemapperHistogramValues_st::high"]
        [::core::mem::offset_of!(nvmlRowRemapperHistogramValues_t, high) - 4usize];
    ["Offset of field: nvmlRowRemapperHistogramValues_st::partial"]
        [::core::mem::offset_of!(nvmlRowRemapperHistogramValues_t, partial) - 8usize];
    ["Offset of field: nvmlRowRemapperHistogramValues_st::low"]
        [::core::mem::offset_of!(nvmlRowRemapperHistogramValues_t, low) - 12usize];
    ["Offset of field: nvmlRowRemapperHistogramValues_st::none"]
        [::core::mem::offset_of!(nvmlRowRemapperHistogramValues_t, none) - 16usize];
};

impl nvmlBridgeChipType_t {
    pub const NVML_BRIDGE_CHIP_PLX: nvmlBridgeChipType_t = nvmlBridgeChipType_t(0);
    pub const NVML_BRIDGE_CHIP_BRO4: nvmlBridgeChipType_t = nvmlBridgeChipType_t(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlBridgeChipType_t(pub u32);

impl nvmlNvLinkUtilizationCountUnits_t {
    pub const NVML_NVLINK_COUNTER_UNIT_CYCLES: nvmlNvLinkUtilizationCountUnits_t =
        nvmlNvLinkUtilizationCountUnits_t(0);
    pub const NVML_NVLINK_COUNTER_UNIT_PACKETS: nvmlNvLinkUtilizationCountUnits_t =
        nvmlNvLinkUtilizationCountUnits_t(1);
    pub const NVML_NVLINK_COUNTER_UNIT_BYTES: nvmlNvLinkUtilizationCountUnits_t =
        nvmlNvLinkUtilizationCountUnits_t(2);
    pub const NVML_NVLINK_COUNTER_UNIT_RESERVED: nvmlNvLinkUtilizationCountUnits_t =
        nvmlNvLinkUtilizationCountUnits_t(3);
    pub const NVML_NVLINK_COUNTER_UNIT_COUNT: nvmlNvLinkUtilizationCountUnits_t =
        nvmlNvLinkUtilizationCountUnits_t(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlNvLinkUtilizationCountUnits_t(pub u32);

impl nvmlNvLinkUtilizationCountPktTypes_t {
    pub const NVML_NVLINK_COUNTER_PKTFILTER_NOP: nvmlNvLinkUtilizationCountPktTypes_t =
        nvmlNvLinkUtilizationCountPktTypes_t(1);
    pub const NVML_NVLINK_COUNTER_PKTFILTER_READ: nvmlNvLinkUtilizationCountPktTypes_t =
        nvmlNvLinkUtilizationCountPktTypes_t(2);
    pub const NVML_NVLINK_COUNTER_PKTFILTER_WRITE: nvmlNvLinkUtilizationCountPktTypes_t =
        nvmlNvLinkUtilizationCountPktTypes_t(4);
    pub const NVML_NVLINK_COUNTER_PKTFILTER_RATOM: nvmlNvLinkUtilizationCountPktTypes_t =
        nvmlNvLinkUtilizationCountPktTypes_t(8);
    pub const NVML_NVLINK_COUNTER_PKTFILTER_NRATOM: nvmlNvLinkUtilizationCountPktTypes_t =
        nvmlNvLinkUtilizationCountPktTypes_t(16);
    pub const NVML_NVLINK_COUNTER_PKTFILTER_FLUSH: nvmlNvLinkUtilizationCountPktTypes_t =
        nvmlNvLinkUtilizationCountPktTypes_t(32);
    pub const NVML_NVLINK_COUNTER_PKTFILTER_RESPDATA: nvmlNvLinkUtilizationCountPktTypes_t =
        nvmlNvLinkUtilizationCountPktTypes_t(64);
    pub const NVML_NVLINK_COUNTER_PKTFILTER_RESPNODATA: nvmlNvLinkUtilizationCountPktTypes_t =
        nvmlNvLinkUtilizationCountPktTypes_t(128);
    pub const NVML_NVLINK_COUNTER_PKTFILTER_ALL: nvmlNvLinkUtilizationCountPktTypes_t =
        nvmlNvLinkUtilizationCountPktTypes_t(255);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlNvLinkUtilizationCountPktTypes_t(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlNvLinkUtilizationControl_t {
    pub units: nvmlNvLinkUtilizationCountUnits_t,
    pub pktfilter: nvmlNvLinkUtilizationCountPktTypes_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlNvLinkUtilizationControl_st"]
        [::core::mem::size_of::<nvmlNvLinkUtilizationControl_t>() - 8usize];
    ["Alignment of nvmlNvLinkUtilizationControl_st"]
        [::core::mem::align_of::<nvmlNvLinkUtilizationControl_t>() - 4usize];
    ["Offset of field: nvmlNvLinkUtilizationControl_st::units"]
        [::core::mem::offset_of!(nvmlNvLinkUtilizationControl_t, units) - 0usize];
    ["Offset of field: nvmlNvLinkUtilizationControl_st::pktfilter"]
        [::core::mem::offset_of!(nvmlNvLinkUtilizationControl_t, pktfilter) - 4usize];
};

impl Default for nvmlNvLinkUtilizationControl_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl nvmlNvLinkCapability_t {
    pub const NVML_NVLINK_CAP_P2P_SUPPORTED: nvmlNvLinkCapability_t = nvmlNvLinkCapability_t(0);
    pub const NVML_NVLINK_CAP_SYSMEM_ACCESS: nvmlNvLinkCapability_t = nvmlNvLinkCapability_t(1);
    pub const NVML_NVLINK_CAP_P2P_ATOMICS: nvmlNvLinkCapability_t = nvmlNvLinkCapability_t(2);
    pub const NVML_NVLINK_CAP_SYSMEM_ATOMICS: nvmlNvLinkCapability_t = nvmlNvLinkCapability_t(3);
    pub const NVML_NVLINK_CAP_SLI_BRIDGE: nvmlNvLinkCapability_t = nvmlNvLinkCapability_t(4);
    pub const NVML_NVLINK_CAP_VALID: nvmlNvLinkCapability_t = nvmlNvLinkCapability_t(5);
    pub const NVML_NVLINK_CAP_COUNT: nvmlNvLinkCapability_t = nvmlNvLinkCapability_t(6);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlNvLinkCapability_t(pub u32);

impl nvmlNvLinkErrorCounter_t {
    pub const NVML_NVLINK_ERROR_DL_REPLAY: nvmlNvLinkErrorCounter_t = nvmlNvLinkErrorCounter_t(0);
    pub const NVML_NVLINK_ERROR_DL_RECOVERY: nvmlNvLinkErrorCounter_t = nvmlNvLinkErrorCounter_t(1);
    pub const NVML_NVLINK_ERROR_DL_CRC_FLIT: nvmlNvLinkErrorCounter_t = nvmlNvLinkErrorCounter_t(2);
    pub const NVML_NVLINK_ERROR_DL_CRC_DATA: nvmlNvLinkErrorCounter_t = nvmlNvLinkErrorCounter_t(3);
    pub const NVML_NVLINK_ERROR_DL_ECC_DATA: nvmlNvLinkErrorCounter_t = nvmlNvLinkErrorCounter_t(4);
    pub const NVML_NVLINK_ERROR_COUNT: nvmlNvLinkErrorCounter_t = nvmlNvLinkErrorCounter_t(5);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlNvLinkErrorCounter_t(pub u32);

impl nvmlIntNvLinkDeviceType_t {
    pub const NVML_NVLINK_DEVICE_TYPE_GPU: nvmlIntNvLinkDeviceType_t = nvmlIntNvLinkDeviceType_t(0);
    pub const NVML_NVLINK_DEVICE_TYPE_IBMNPU: nvmlIntNvLinkDeviceType_t =
        nvmlIntNvLinkDeviceType_t(1);
    pub const NVML_NVLINK_DEVICE_TYPE_SWITCH: nvmlIntNvLinkDeviceType_t =
        nvmlIntNvLinkDeviceType_t(2);
    pub const NVML_NVLINK_DEVICE_TYPE_UNKNOWN: nvmlIntNvLinkDeviceType_t =
        nvmlIntNvLinkDeviceType_t(255);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlIntNvLinkDeviceType_t(pub u32);

impl nvmlGpuTopologyLevel_t {
    pub const NVML_TOPOLOGY_INTERNAL: nvmlGpuTopologyLevel_t = nvmlGpuTopologyLevel_t(0);
    pub const NVML_TOPOLOGY_SINGLE: nvmlGpuTopologyLevel_t = nvmlGpuTopologyLevel_t(10);
    pub const NVML_TOPOLOGY_MULTIPLE: nvmlGpuTopologyLevel_t = nvmlGpuTopologyLevel_t(20);
    pub const NVML_TOPOLOGY_HOSTBRIDGE: nvmlGpuTopologyLevel_t = nvmlGpuTopologyLevel_t(30);
    pub const NVML_TOPOLOGY_NODE: nvmlGpuTopologyLevel_t = nvmlGpuTopologyLevel_t(40);
    pub const NVML_TOPOLOGY_SYSTEM: nvmlGpuTopologyLevel_t = nvmlGpuTopologyLevel_t(50);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlGpuTopologyLevel_t(pub u32);

impl nvmlGpuP2PStatus_t {
    pub const NVML_P2P_STATUS_OK: nvmlGpuP2PStatus_t = nvmlGpuP2PStatus_t(0);
    pub const NVML_P2P_STATUS_CHIPSET_NOT_SUPPORED: nvmlGpuP2PStatus_t = nvmlGpuP2PStatus_t(1);
    pub const NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED: nvmlGpuP2PStatus_t = nvmlGpuP2PStatus_t(1);
    pub const NVML_P2P_STATUS_GPU_NOT_SUPPORTED: nvmlGpuP2PStatus_t = nvmlGpuP2PStatus_t(2);
    pub const NVML_P2P_STATUS_IOH_TOPOLOGY_NOT_SUPPORTED: nvmlGpuP2PStatus_t =
        nvmlGpuP2PStatus_t(3);
    pub const NVML_P2P_STATUS_DISABLED_BY_REGKEY: nvmlGpuP2PStatus_t = nvmlGpuP2PStatus_t(4);
    pub const NVML_P2P_STATUS_NOT_SUPPORTED: nvmlGpuP2PStatus_t = nvmlGpuP2PStatus_t(5);
    pub const NVML_P2P_STATUS_UNKNOWN: nvmlGpuP2PStatus_t = nvmlGpuP2PStatus_t(6);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlGpuP2PStatus_t(pub u32);

impl nvmlGpuP2PCapsIndex_t {
    pub const NVML_P2P_CAPS_INDEX_READ: nvmlGpuP2PCapsIndex_t = nvmlGpuP2PCapsIndex_t(0);
    pub const NVML_P2P_CAPS_INDEX_WRITE: nvmlGpuP2PCapsIndex_t = nvmlGpuP2PCapsIndex_t(1);
    pub const NVML_P2P_CAPS_INDEX_NVLINK: nvmlGpuP2PCapsIndex_t = nvmlGpuP2PCapsIndex_t(2);
    pub const NVML_P2P_CAPS_INDEX_ATOMICS: nvmlGpuP2PCapsIndex_t = nvmlGpuP2PCapsIndex_t(3);
    pub const NVML_P2P_CAPS_INDEX_PCI: nvmlGpuP2PCapsIndex_t = nvmlGpuP2PCapsIndex_t(4);
    pub const NVML_P2P_CAPS_INDEX_PROP: nvmlGpuP2PCapsIndex_t = nvmlGpuP2PCapsIndex_t(4);
    pub const NVML_P2P_CAPS_INDEX_UNKNOWN: nvmlGpuP2PCapsIndex_t = nvmlGpuP2PCapsIndex_t(5);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlGpuP2PCapsIndex_t(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlBridgeChipInfo_t {
    pub type_: nvmlBridgeChipType_t,
    pub fwVersion: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlBridgeChipInfo_st"][::core::mem::size_of::<nvmlBridgeChipInfo_t>() - 8usize];
    ["Alignment of nvmlBridgeChipInfo_st"]
        [::core::mem::align_of::<nvmlBridgeChipInfo_t>() - 4usize];
    ["Offset of field: nvmlBridgeChipInfo_st::type_"]
        [::core::mem::offset_of!(nvmlBridgeChipInfo_t, type_) - 0usize];
    ["Offset of field: nvmlBridgeChipInfo_st::fwVersion"]
        [::core::mem::offset_of!(nvmlBridgeChipInfo_t, fwVersion) - 4usize];
};

impl Default for nvmlBridgeChipInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlBridgeChipHierarchy_t {
    pub bridgeCount: u8,
    pub bridgeChipInfo: [nvmlBridgeChipInfo_t; 128],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlBridgeChipHierarchy_st"]
        [::core::mem::size_of::<nvmlBridgeChipHierarchy_t>() - 1028usize];
    ["Alignment of nvmlBridgeChipHierarchy_st"]
        [::core::mem::align_of::<nvmlBridgeChipHierarchy_t>() - 4usize];
    ["Offset of field: nvmlBridgeChipHierarchy_st::bridgeCount"]
        [::core::mem::offset_of!(nvmlBridgeChipHierarchy_t, bridgeCount) - 0usize];
    ["Offset of field: nvmlBridgeChipHierarchy_st::bridgeChipInfo"]
        [::core::mem::offset_of!(nvmlBridgeChipHierarchy_t, bridgeChipInfo) - 4usize];
};

impl Default for nvmlBridgeChipHierarchy_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl nvmlSamplingType_t {
    pub const NVML_TOTAL_POWER_SAMPLES: nvmlSamplingType_t = nvmlSamplingType_t(0);
    pub const NVML_GPU_UTILIZATION_SAMPLES: nvmlSamplingType_t = nvmlSamplingType_t(1);
    pub const NVML_MEMORY_UTILIZATION_SAMPLES: nvmlSamplingType_t = nvmlSamplingType_t(2);
    pub const NVML_ENC_UTILIZATION_SAMPLES: nvmlSamplingType_t = nvmlSamplingType_t(3);
    pub const NVML_DEC_UTILIZATION_SAMPLES: nvmlSamplingType_t = nvmlSamplingType_t(4);
    pub const NVML_PROCESSOR_CLK_SAMPLES: nvmlSamplingType_t = nvmlSamplingType_t(5);
    pub const NVML_MEMORY_CLK_SAMPLES: nvmlSamplingType_t = nvmlSamplingType_t(6);
    pub const NVML_MODULE_POWER_SAMPLES: nvmlSamplingType_t = nvmlSamplingType_t(7);
    pub const NVML_JPG_UTILIZATION_SAMPLES: nvmlSamplingType_t = nvmlSamplingType_t(8);
    pub const NVML_OFA_UTILIZATION_SAMPLES: nvmlSamplingType_t = nvmlSamplingType_t(9);
    pub const NVML_SAMPLINGTYPE_COUNT: nvmlSamplingType_t = nvmlSamplingType_t(10);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlSamplingType_t(pub u32);

impl nvmlPcieUtilCounter_t {
    pub const NVML_PCIE_UTIL_TX_BYTES: nvmlPcieUtilCounter_t = nvmlPcieUtilCounter_t(0);
    pub const NVML_PCIE_UTIL_RX_BYTES: nvmlPcieUtilCounter_t = nvmlPcieUtilCounter_t(1);
    pub const NVML_PCIE_UTIL_COUNT: nvmlPcieUtilCounter_t = nvmlPcieUtilCounter_t(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlPcieUtilCounter_t(pub u32);

impl nvmlValueType_t {
    pub const NVML_VALUE_TYPE_DOUBLE: nvmlValueType_t = nvmlValueType_t(0);
    pub const NVML_VALUE_TYPE_UNSIGNED_INT: nvmlValueType_t = nvmlValueType_t(1);
    pub const NVML_VALUE_TYPE_UNSIGNED_LONG: nvmlValueType_t = nvmlValueType_t(2);
    pub const NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: nvmlValueType_t = nvmlValueType_t(3);
    pub const NVML_VALUE_TYPE_SIGNED_LONG_LONG: nvmlValueType_t = nvmlValueType_t(4);
    pub const NVML_VALUE_TYPE_SIGNED_INT: nvmlValueType_t = nvmlValueType_t(5);
    pub const NVML_VALUE_TYPE_UNSIGNED_SHORT: nvmlValueType_t = nvmlValueType_t(6);
    pub const NVML_VALUE_TYPE_COUNT: nvmlValueType_t = nvmlValueType_t(7);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlValueType_t(pub u32);

#[repr(C)]
#[derive(Copy, Clone)]
pub union nvmlValue_t {
    pub dVal: f64,
    pub siVal: i32,
    pub uiVal: u32,
    pub ulVal: u64,
    pub ullVal: u64,
    pub sllVal: i64,
    pub usVal: u16,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlValue_st"][::core::mem::size_of::<nvmlValue_t>() - 8usize];
    ["Alignment of nvmlValue_st"][::core::mem::align_of::<nvmlValue_t>() - 8usize];
    ["Offset of field: nvmlValue_st::dVal"][::core::mem::offset_of!(nvmlValue_t, dVal) - 0usize];
    ["Offset of field: nvmlValue_st::siVal"][::core::mem::offset_of!(nvmlValue_t, siVal) - 0usize];
    ["Offset of field: nvmlValue_st::uiVal"][::core::mem::offset_of!(nvmlValue_t, uiVal) - 0usize];
    ["Offset of field: nvmlValue_st::ulVal"][::core::mem::offset_of!(nvmlValue_t, ulVal) - 0usize];
    ["Offset of field: nvmlValue_st::ullVal"]
        [::core::mem::offset_of!(nvmlValue_t, ullVal) - 0usize];
    ["Offset of field: nvmlValue_st::sllVal"]
        [::core::mem::offset_of!(nvmlValue_t, sllVal) - 0usize];
    ["Offset of field: nvmlValue_st::usVal"][::core::mem::offset_of!(nvmlValue_t, usVal) - 0usize];
};

impl Default for nvmlValue_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct nvmlSample_t {
    pub timeStamp: u64,
    pub sampleValue: nvmlValue_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlSample_st"][::core::mem::size_of::<nvmlSample_t>() - 16usize];
    ["Alignment of nvmlSample_st"][::core::mem::align_of::<nvmlSample_t>() - 8usize];
    ["Offset of field: nvmlSample_st::timeStamp"]
        [::core::mem::offset_of!(nvmlSample_t, timeStamp) - 0usize];
    ["Offset of field: nvmlSample_st::sampleValue"]
        [::core::mem::offset_of!(nvmlSample_t, sampleValue) - 8usize];
};

impl Default for nvmlSample_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl nvmlPerfPolicyType_t {
    pub const NVML_PERF_POLICY_POWER: nvmlPerfPolicyType_t = nvmlPerfPolicyType_t(0);
    pub const NVML_PERF_POLICY_THERMAL: nvmlPerfPolicyType_t = nvmlPerfPolicyType_t(1);
    pub const NVML_PERF_POLICY_SYNC_BOOST: nvmlPerfPolicyType_t = nvmlPerfPolicyType_t(2);
    pub const NVML_PERF_POLICY_BOARD_LIMIT: nvmlPerfPolicyType_t = nvmlPerfPolicyType_t(3);
    pub const NVML_PERF_POLICY_LOW_UTILIZATION: nvmlPerfPolicyType_t = nvmlPerfPolicyType_t(4);
    pub const NVML_PERF_POLICY_RELIABILITY: nvmlPerfPolicyType_t = nvmlPerfPolicyType_t(5);
    pub const NVML_PERF_POLICY_TOTAL_APP_CLOCKS: nvmlPerfPolicyType_t = nvmlPerfPolicyType_t(10);
    pub const NVML_PERF_POLICY_TOTAL_BASE_CLOCKS: nvmlPerfPolicyType_t = nvmlPerfPolicyType_t(11);
    pub const NVML_PERF_POLICY_COUNT: nvmlPerfPolicyType_t = nvmlPerfPolicyType_t(12);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlPerfPolicyType_t(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlViolationTime_t {
    pub referenceTime: u64,
    pub violationTime: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlViolationTime_st"][::core::mem::size_of::<nvmlViolationTime_t>() - 16usize];
    ["Alignment of nvmlViolationTime_st"][::core::mem::align_of::<nvmlViolationTime_t>() - 8usize];
    ["Offset of field: nvmlViolationTime_st::referenceTime"]
        [::core::mem::offset_of!(nvmlViolationTime_t, referenceTime) - 0usize];
    ["Offset of field: nvmlViolationTime_st::violationTime"]
        [::core::mem::offset_of!(nvmlViolationTime_t, violationTime) - 8usize];
};

impl nvmlThermalTarget_t {
    pub const NVML_THERMAL_TARGET_NONE: nvmlThermalTarget_t = nvmlThermalTarget_t(0);
    pub const NVML_THERMAL_TARGET_GPU: nvmlThermalTarget_t = nvmlThermalTarget_t(1);
    pub const NVML_THERMAL_TARGET_MEMORY: nvmlThermalTarget_t = nvmlThermalTarget_t(2);
    pub const NVML_THERMAL_TARGET_POWER_SUPPLY: nvmlThermalTarget_t = nvmlThermalTarget_t(4);
    pub const NVML_THERMAL_TARGET_BOARD: nvmlThermalTarget_t = nvmlThermalTarget_t(8);
    pub const NVML_THERMAL_TARGET_VCD_BOARD: nvmlThermalTarget_t = nvmlThermalTarget_t(9);
    pub const NVML_THERMAL_TARGET_VCD_INLET: nvmlThermalTarget_t = nvmlThermalTarget_t(10);
    pub const NVML_THERMAL_TARGET_VCD_OUTLET: nvmlThermalTarget_t = nvmlThermalTarget_t(11);
    pub const NVML_THERMAL_TARGET_ALL: nvmlThermalTarget_t = nvmlThermalTarget_t(15);
    pub const NVML_THERMAL_TARGET_UNKNOWN: nvmlThermalTarget_t = nvmlThermalTarget_t(-1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlThermalTarget_t(pub i32);

impl nvmlThermalController_t {
    pub const NVML_THERMAL_CONTROLLER_NONE: nvmlThermalController_t = nvmlThermalController_t(0);
    pub const NVML_THERMAL_CONTROLLER_GPU_INTERNAL: nvmlThermalController_t =
        nvmlThermalController_t(1);
    pub const NVML_THERMAL_CONTROLLER_ADM1032: nvmlThermalController_t = nvmlThermalController_t(2);
    pub const NVML_THERMAL_CONTROLLER_ADT7461: nvmlThermalController_t = nvmlThermalController_t(3);
    pub const NVML_THERMAL_CONTROLLER_MAX6649: nvmlThermalController_t = nvmlThermalController_t(4);
    pub const NVML_THERMAL_CONTROLLER_MAX1617: nvmlThermalController_t = nvmlThermalController_t(5);
    pub const NVML_THERMAL_CONTROLLER_LM99: nvmlThermalController_t = nvmlThermalController_t(6);
    pub const NVML_THERMAL_CONTROLLER_LM89: nvmlThermalController_t = nvmlThermalController_t(7);
    pub const NVML_THERMAL_CONTROLLER_LM64: nvmlThermalController_t = nvmlThermalController_t(8);
    pub const NVML_THERMAL_CONTROLLER_G781: nvmlThermalController_t = nvmlThermalController_t(9);
    pub const NVML_THERMAL_CONTROLLER_ADT7473: nvmlThermalController_t =
        nvmlThermalController_t(10);
    pub const NVML_THERMAL_CONTROLLER_SBMAX6649: nvmlThermalController_t =
        nvmlThermalController_t(11);
    pub const NVML_THERMAL_CONTROLLER_VBIOSEVT: nvmlThermalController_t =
        nvmlThermalController_t(12);
    pub const NVML_THERMAL_CONTROLLER_OS: nvmlThermalController_t = nvmlThermalController_t(13);
    pub const NVML_THERMAL_CONTROLLER_NVSYSCON_CANOAS: nvmlThermalController_t =
        nvmlThermalController_t(14);
    pub const NVML_THERMAL_CONTROLLER_NVSYSCON_E551: nvmlThermalController_t =
        nvmlThermalController_t(15);
    pub const NVML_THERMAL_CONTROLLER_MAX6649R: nvmlThermalController_t =
        nvmlThermalController_t(16);
    pub const NVML_THERMAL_CONTROLLER_ADT7473S: nvmlThermalController_t =
        nvmlThermalController_t(17);
    pub const NVML_THERMAL_CONTROLLER_UNKNOWN: nvmlThermalController_t =
        nvmlThermalController_t(-1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlThermalController_t(pub i32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGpuThermalSettings_t {
    pub count: u32,
    pub sensor: [nvmlGpuThermalSettings_t__bindgen_ty_1; 3],
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGpuThermalSettings_t__bindgen_ty_1 {
    pub controller: nvmlThermalController_t,
    pub defaultMinTemp: i32,
    pub defaultMaxTemp: i32,
    pub currentTemp: i32,
    pub target: nvmlThermalTarget_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpuThermalSettings_t__bindgen_ty_1"]
        [::core::mem::size_of::<nvmlGpuThermalSettings_t__bindgen_ty_1>() - 20usize];
    ["Alignment of nvmlGpuThermalSettings_t__bindgen_ty_1"]
        [::core::mem::align_of::<nvmlGpuThermalSettings_t__bindgen_ty_1>() - 4usize];
    ["Offset of field: nvmlGpuThermalSettings_t__bindgen_ty_1::controller"]
        [::core::mem::offset_of!(nvmlGpuThermalSettings_t__bindgen_ty_1, controller) - 0usize];
    ["Offset of field: nvmlGpuThermalSettings_t__bindgen_ty_1::defaultMinTemp"]
        [::core::mem::offset_of!(nvmlGpuThermalSettings_t__bindgen_ty_1, defaultMinTemp) - 4usize];
    ["Offset of field: nvmlGpuThermalSettings_t__bindgen_ty_1::defaultMaxTemp"]
        [::core::mem::offset_of!(nvmlGpuThermalSettings_t__bindgen_ty_1, defaultMaxTemp) - 8usize];
    ["Offset of field: nvmlGpuThermalSettings_t__bindgen_ty_1::currentTemp"]
        [::core::mem::offset_of!(nvmlGpuThermalSettings_t__bindgen_ty_1, currentTemp) - 12usize];
    ["Offset of field: nvmlGpuThermalSettings_t__bindgen_ty_1::target"]
        [::core::mem::offset_of!(nvmlGpuThermalSettings_t__bindgen_ty_1, target) - 16usize];
};

impl Default for nvmlGpuThermalSettings_t__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpuThermalSettings_t"]
        [::core::mem::size_of::<nvmlGpuThermalSettings_t>() - 64usize];
    ["Alignment of nvmlGpuThermalSettings_t"]
        [::core::mem::align_of::<nvmlGpuThermalSettings_t>() - 4usize];
    ["Offset of field: nvmlGpuThermalSettings_t::count"]
        [::core::mem::offset_of!(nvmlGpuThermalSettings_t, count) - 0usize];
    ["Offset of field: nvmlGpuThermalSettings_t::sensor"]
        [::core::mem::offset_of!(nvmlGpuThermalSettings_t, sensor) - 4usize];
};

impl Default for nvmlGpuThermalSettings_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl nvmlCoolerControl_t {
    pub const NVML_THERMAL_COOLER_SIGNAL_NONE: nvmlCoolerControl_t = nvmlCoolerControl_t(0);
    pub const NVML_THERMAL_COOLER_SIGNAL_TOGGLE: nvmlCoolerControl_t = nvmlCoolerControl_t(1);
    pub const NVML_THERMAL_COOLER_SIGNAL_VARIABLE: nvmlCoolerControl_t = nvmlCoolerControl_t(2);
    pub const NVML_THERMAL_COOLER_SIGNAL_COUNT: nvmlCoolerControl_t = nvmlCoolerControl_t(3);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlCoolerControl_t(pub u32);

impl nvmlCoolerTarget_t {
    pub const NVML_THERMAL_COOLER_TARGET_NONE: nvmlCoolerTarget_t = nvmlCoolerTarget_t(1);
    pub const NVML_THERMAL_COOLER_TARGET_GPU: nvmlCoolerTarget_t = nvmlCoolerTarget_t(2);
    pub const NVML_THERMAL_COOLER_TARGET_MEMORY: nvmlCoolerTarget_t = nvmlCoolerTarget_t(4);
    pub const NVML_THERMAL_COOLER_TARGET_POWER_SUPPLY: nvmlCoolerTarget_t = nvmlCoolerTarget_t(8);
    pub const NVML_THERMAL_COOLER_TARGET_GPU_RELATED: nvmlCoolerTarget_t = nvmlCoolerTarget_t(14);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlCoolerTarget_t(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlCoolerInfo_t {
    pub version: u32,
    pub index: u32,
    pub signalType: nvmlCoolerControl_t,
    pub target: nvmlCoolerTarget_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlCoolerInfo_v1_t"][::core::mem::size_of::<nvmlCoolerInfo_t>() - 16usize];
    ["Alignment of nvmlCoolerInfo_v1_t"][::core::mem::align_of::<nvmlCoolerInfo_t>() - 4usize];
    ["Offset of field: nvmlCoolerInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlCoolerInfo_t, version) - 0usize];
    ["Offset of field: nvmlCoolerInfo_v1_t::index"]
        [::core::mem::offset_of!(nvmlCoolerInfo_t, index) - 4usize];
    ["Offset of field: nvmlCoolerInfo_v1_t::signalType"]
        [::core::mem::offset_of!(nvmlCoolerInfo_t, signalType) - 8usize];
    ["Offset of field: nvmlCoolerInfo_v1_t::target"]
        [::core::mem::offset_of!(nvmlCoolerInfo_t, target) - 12usize];
};

impl Default for nvmlCoolerInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl nvmlUUIDType_t {
    pub const NVML_UUID_TYPE_NONE: nvmlUUIDType_t = nvmlUUIDType_t(0);
    pub const NVML_UUID_TYPE_ASCII: nvmlUUIDType_t = nvmlUUIDType_t(1);
    pub const NVML_UUID_TYPE_BINARY: nvmlUUIDType_t = nvmlUUIDType_t(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlUUIDType_t(pub u32);

#[repr(C)]
#[derive(Copy, Clone)]
pub union nvmlUUIDValue_t {
    pub str_: [c_char; 41],
    pub bytes: [u8; 16],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlUUIDValue_t"][::core::mem::size_of::<nvmlUUIDValue_t>() - 41usize];
    ["Alignment of nvmlUUIDValue_t"][::core::mem::align_of::<nvmlUUIDValue_t>() - 1usize];
    ["Offset of field: nvmlUUIDValue_t::str_"]
        [::core::mem::offset_of!(nvmlUUIDValue_t, str_) - 0usize];
    ["Offset of field: nvmlUUIDValue_t::bytes"]
        [::core::mem::offset_of!(nvmlUUIDValue_t, bytes) - 0usize];
};

impl Default for nvmlUUIDValue_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct nvmlUUID_t {
    pub version: u32,
    pub type_: u32,
    pub value: nvmlUUIDValue_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlUUID_v1_t"][::core::mem::size_of::<nvmlUUID_t>() - 52usize];
    ["Alignment of nvmlUUID_v1_t"][::core::mem::align_of::<nvmlUUID_t>() - 4usize];
    ["Offset of field: nvmlUUID_v1_t::version"]
        [::core::mem::offset_of!(nvmlUUID_t, version) - 0usize];
    ["Offset of field: nvmlUUID_v1_t::type_"][::core::mem::offset_of!(nvmlUUID_t, type_) - 4usize];
    ["Offset of field: nvmlUUID_v1_t::value"][::core::mem::offset_of!(nvmlUUID_t, value) - 8usize];
};

impl Default for nvmlUUID_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlPdi_t {
    pub version: u32,
    pub value: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlPdi_v1_t"][::core::mem::size_of::<nvmlPdi_t>() - 16usize];
    ["Alignment of nvmlPdi_v1_t"][::core::mem::align_of::<nvmlPdi_t>() - 8usize];
    ["Offset of field: nvmlPdi_v1_t::version"]
        [::core::mem::offset_of!(nvmlPdi_t, version) - 0usize];
    ["Offset of field: nvmlPdi_v1_t::value"][::core::mem::offset_of!(nvmlPdi_t, value) - 8usize];
};

impl nvmlEnableState_t {
    pub const NVML_FEATURE_DISABLED: nvmlEnableState_t = nvmlEnableState_t(0);
    pub const NVML_FEATURE_ENABLED: nvmlEnableState_t = nvmlEnableState_t(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlEnableState_t(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlDramEncryptionInfo_t {
    pub version: u32,
    pub encryptionState: nvmlEnableState_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlDramEncryptionInfo_v1_t"]
        [::core::mem::size_of::<nvmlDramEncryptionInfo_t>() - 8usize];
    ["Alignment of nvmlDramEncryptionInfo_v1_t"]
        [::core::mem::align_of::<nvmlDramEncryptionInfo_t>() - 4usize];
    ["Offset of field: nvmlDramEncryptionInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlDramEncryptionInfo_t, version) - 0usize];
    ["Offset of field: nvmlDramEncryptionInfo_v1_t::encryptionState"]
        [::core::mem::offset_of!(nvmlDramEncryptionInfo_t, encryptionState) - 4usize];
};

impl Default for nvmlDramEncryptionInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl nvmlBrandType_t {
    pub const NVML_BRAND_UNKNOWN: nvmlBrandType_t = nvmlBrandType_t(0);
    pub const NVML_BRAND_QUADRO: nvmlBrandType_t = nvmlBrandType_t(1);
    pub const NVML_BRAND_TESLA: nvmlBrandType_t = nvmlBrandType_t(2);
    pub const NVML_BRAND_NVS: nvmlBrandType_t = nvmlBrandType_t(3);
    pub const NVML_BRAND_GRID: nvmlBrandType_t = nvmlBrandType_t(4);
    pub const NVML_BRAND_GEFORCE: nvmlBrandType_t = nvmlBrandType_t(5);
    pub const NVML_BRAND_TITAN: nvmlBrandType_t = nvmlBrandType_t(6);
    pub const NVML_BRAND_NVIDIA_VAPPS: nvmlBrandType_t = nvmlBrandType_t(7);
    pub const NVML_BRAND_NVIDIA_VPC: nvmlBrandType_t = nvmlBrandType_t(8);
    pub const NVML_BRAND_NVIDIA_VCS: nvmlBrandType_t = nvmlBrandType_t(9);
    pub const NVML_BRAND_NVIDIA_VWS: nvmlBrandType_t = nvmlBrandType_t(10);
    pub const NVML_BRAND_NVIDIA_CLOUD_GAMING: nvmlBrandType_t = nvmlBrandType_t(11);
    pub const NVML_BRAND_NVIDIA_VGAMING: nvmlBrandType_t = nvmlBrandType_t(11);
    pub const NVML_BRAND_QUADRO_RTX: nvmlBrandType_t = nvmlBrandType_t(12);
    pub const NVML_BRAND_NVIDIA_RTX: nvmlBrandType_t = nvmlBrandType_t(13);
    pub const NVML_BRAND_NVIDIA: nvmlBrandType_t = nvmlBrandType_t(14);
    pub const NVML_BRAND_GEFORCE_RTX: nvmlBrandType_t = nvmlBrandType_t(15);
    pub const NVML_BRAND_TITAN_RTX: nvmlBrandType_t = nvmlBrandType_t(16);
    pub const NVML_BRAND_COUNT: nvmlBrandType_t = nvmlBrandType_t(18);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlBrandType_t(pub u32);

impl nvmlTemperatureThresholds_t {
    pub const NVML_TEMPERATURE_THRESHOLD_SHUTDOWN: nvmlTemperatureThresholds_t =
        nvmlTemperatureThresholds_t(0);
    pub const NVML_TEMPERATURE_THRESHOLD_SLOWDOWN: nvmlTemperatureThresholds_t =
        nvmlTemperatureThresholds_t(1);
    pub const NVML_TEMPERATURE_THRESHOLD_MEM_MAX: nvmlTemperatureThresholds_t =
        nvmlTemperatureThresholds_t(2);
    pub const NVML_TEMPERATURE_THRESHOLD_GPU_MAX: nvmlTemperatureThresholds_t =
        nvmlTemperatureThresholds_t(3);
    pub const NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_MIN: nvmlTemperatureThresholds_t =
        nvmlTemperatureThresholds_t(4);
    pub const NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_CURR: nvmlTemperatureThresholds_t =
        nvmlTemperatureThresholds_t(5);
    pub const NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_MAX: nvmlTemperatureThresholds_t =
        nvmlTemperatureThresholds_t(6);
    pub const NVML_TEMPERATURE_THRESHOLD_GPS_CURR: nvmlTemperatureThresholds_t =
        nvmlTemperatureThresholds_t(7);
    pub const NVML_TEMPERATURE_THRESHOLD_COUNT: nvmlTemperatureThresholds_t =
        nvmlTemperatureThresholds_t(8);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlTemperatureThresholds_t(pub u32);

impl nvmlTemperatureSensors_t {
    pub const NVML_TEMPERATURE_GPU: nvmlTemperatureSensors_t = nvmlTemperatureSensors_t(0);
    pub const NVML_TEMPERATURE_COUNT: nvmlTemperatureSensors_t = nvmlTemperatureSensors_t(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlTemperatureSensors_t(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlMarginTemperature_t {
    pub version: u32,
    pub marginTemperature: i32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlMarginTemperature_v1_t"]
        [::core::mem::size_of::<nvmlMarginTemperature_t>() - 8usize];
    ["Alignment of nvmlMarginTemperature_v1_t"]
        [::core::mem::align_of::<nvmlMarginTemperature_t>() - 4usize];
    ["Offset of field: nvmlMarginTemperature_v1_t::version"]
        [::core::mem::offset_of!(nvmlMarginTemperature_t, version) - 0usize];
    ["Offset of field: nvmlMarginTemperature_v1_t::marginTemperature"]
        [::core::mem::offset_of!(nvmlMarginTemperature_t, marginTemperature) - 4usize];
};

impl nvmlComputeMode_t {
    pub const NVML_COMPUTEMODE_DEFAULT: nvmlComputeMode_t = nvmlComputeMode_t(0);
    pub const NVML_COMPUTEMODE_EXCLUSIVE_THREAD: nvmlComputeMode_t = nvmlComputeMode_t(1);
    pub const NVML_COMPUTEMODE_PROHIBITED: nvmlComputeMode_t = nvmlComputeMode_t(2);
    pub const NVML_COMPUTEMODE_EXCLUSIVE_PROCESS: nvmlComputeMode_t = nvmlComputeMode_t(3);
    pub const NVML_COMPUTEMODE_COUNT: nvmlComputeMode_t = nvmlComputeMode_t(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlComputeMode_t(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlClkMonFaultInfo_t {
    pub clkApiDomain: u32,
    pub clkDomainFaultMask: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlClkMonFaultInfo_struct"]
        [::core::mem::size_of::<nvmlClkMonFaultInfo_t>() - 8usize];
    ["Alignment of nvmlClkMonFaultInfo_struct"]
        [::core::mem::align_of::<nvmlClkMonFaultInfo_t>() - 4usize];
    ["Offset of field: nvmlClkMonFaultInfo_struct::clkApiDomain"]
        [::core::mem::offset_of!(nvmlClkMonFaultInfo_t, clkApiDomain) - 0usize];
    ["Offset of field: nvmlClkMonFaultInfo_struct::clkDomainFaultMask"]
        [::core::mem::offset_of!(nvmlClkMonFaultInfo_t, clkDomainFaultMask) - 4usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlClkMonStatus_t {
    pub bGlobalStatus: u32,
    pub clkMonListSize: u32,
    pub clkMonList: [nvmlClkMonFaultInfo_t; 32],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlClkMonStatus_status"][::core::mem::size_of::<nvmlClkMonStatus_t>() - 264usize];
    ["Alignment of nvmlClkMonStatus_status"]
        [::core::mem::align_of::<nvmlClkMonStatus_t>() - 4usize];
    ["Offset of field: nvmlClkMonStatus_status::bGlobalStatus"]
        [::core::mem::offset_of!(nvmlClkMonStatus_t, bGlobalStatus) - 0usize];
    ["Offset of field: nvmlClkMonStatus_status::clkMonListSize"]
        [::core::mem::offset_of!(nvmlClkMonStatus_t, clkMonListSize) - 4usize];
    ["Offset of field: nvmlClkMonStatus_status::clkMonList"]
        [::core::mem::offset_of!(nvmlClkMonStatus_t, clkMonList) - 8usize];
};

impl nvmlMemoryErrorType_t {
    pub const NVML_MEMORY_ERROR_TYPE_CORRECTED: nvmlMemoryErrorType_t = nvmlMemoryErrorType_t(0);
    pub const NVML_MEMORY_ERROR_TYPE_UNCORRECTED: nvmlMemoryErrorType_t = nvmlMemoryErrorType_t(1);
    pub const NVML_MEMORY_ERROR_TYPE_COUNT: nvmlMemoryErrorType_t = nvmlMemoryErrorType_t(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlMemoryErrorType_t(pub u32);

impl nvmlNvlinkVersion_t {
    pub const NVML_NVLINK_VERSION_INVALID: nvmlNvlinkVersion_t = nvmlNvlinkVersion_t(0);
    pub const NVML_NVLINK_VERSION_1_0: nvmlNvlinkVersion_t = nvmlNvlinkVersion_t(1);
    pub const NVML_NVLINK_VERSION_2_0: nvmlNvlinkVersion_t = nvmlNvlinkVersion_t(2);
    pub const NVML_NVLINK_VERSION_2_2: nvmlNvlinkVersion_t = nvmlNvlinkVersion_t(3);
    pub const NVML_NVLINK_VERSION_3_0: nvmlNvlinkVersion_t = nvmlNvlinkVersion_t(4);
    pub const NVML_NVLINK_VERSION_3_1: nvmlNvlinkVersion_t = nvmlNvlinkVersion_t(5);
    pub const NVML_NVLINK_VERSION_4_0: nvmlNvlinkVersion_t = nvmlNvlinkVersion_t(6);
    pub const NVML_NVLINK_VERSION_5_0: nvmlNvlinkVersion_t = nvmlNvlinkVersion_t(7);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlNvlinkVersion_t(pub u32);

impl nvmlEccCounterType_t {
    pub const NVML_VOLATILE_ECC: nvmlEccCounterType_t = nvmlEccCounterType_t(0);
    pub const NVML_AGGREGATE_ECC: nvmlEccCounterType_t = nvmlEccCounterType_t(1);
    pub const NVML_ECC_COUNTER_TYPE_COUNT: nvmlEccCounterType_t = nvmlEccCounterType_t(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlEccCounterType_t(pub u32);

impl nvmlClockType_t {
    pub const NVML_CLOCK_GRAPHICS: nvmlClockType_t = nvmlClockType_t(0);
    pub const NVML_CLOCK_SM: nvmlClockType_t = nvmlClockType_t(1);
    pub const NVML_CLOCK_MEM: nvmlClockType_t = nvmlClockType_t(2);
    pub const NVML_CLOCK_VIDEO: nvmlClockType_t = nvmlClockType_t(3);
    pub const NVML_CLOCK_COUNT: nvmlClockType_t = nvmlClockType_t(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlClockType_t(pub u32);

impl nvmlClockId_t {
    pub const NVML_CLOCK_ID_CURRENT: nvmlClockId_t = nvmlClockId_t(0);
    pub const NVML_CLOCK_ID_APP_CLOCK_TARGET: nvmlClockId_t = nvmlClockId_t(1);
    pub const NVML_CLOCK_ID_APP_CLOCK_DEFAULT: nvmlClockId_t = nvmlClockId_t(2);
    pub const NVML_CLOCK_ID_CUSTOMER_BOOST_MAX: nvmlClockId_t = nvmlClockId_t(3);
    pub const NVML_CLOCK_ID_COUNT: nvmlClockId_t = nvmlClockId_t(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlClockId_t(pub u32);

impl nvmlDriverModel_t {
    pub const NVML_DRIVER_WDDM: nvmlDriverModel_t = nvmlDriverModel_t(0);
    pub const NVML_DRIVER_WDM: nvmlDriverModel_t = nvmlDriverModel_t(1);
    pub const NVML_DRIVER_MCDM: nvmlDriverModel_t = nvmlDriverModel_t(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlDriverModel_t(pub u32);

impl nvmlPstates_t {
    pub const NVML_PSTATE_0: nvmlPstates_t = nvmlPstates_t(0);
    pub const NVML_PSTATE_1: nvmlPstates_t = nvmlPstates_t(1);
    pub const NVML_PSTATE_2: nvmlPstates_t = nvmlPstates_t(2);
    pub const NVML_PSTATE_3: nvmlPstates_t = nvmlPstates_t(3);
    pub const NVML_PSTATE_4: nvmlPstates_t = nvmlPstates_t(4);
    pub const NVML_PSTATE_5: nvmlPstates_t = nvmlPstates_t(5);
    pub const NVML_PSTATE_6: nvmlPstates_t = nvmlPstates_t(6);
    pub const NVML_PSTATE_7: nvmlPstates_t = nvmlPstates_t(7);
    pub const NVML_PSTATE_8: nvmlPstates_t = nvmlPstates_t(8);
    pub const NVML_PSTATE_9: nvmlPstates_t = nvmlPstates_t(9);
    pub const NVML_PSTATE_10: nvmlPstates_t = nvmlPstates_t(10);
    pub const NVML_PSTATE_11: nvmlPstates_t = nvmlPstates_t(11);
    pub const NVML_PSTATE_12: nvmlPstates_t = nvmlPstates_t(12);
    pub const NVML_PSTATE_13: nvmlPstates_t = nvmlPstates_t(13);
    pub const NVML_PSTATE_14: nvmlPstates_t = nvmlPstates_t(14);
    pub const NVML_PSTATE_15: nvmlPstates_t = nvmlPstates_t(15);
    pub const NVML_PSTATE_UNKNOWN: nvmlPstates_t = nvmlPstates_t(32);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlPstates_t(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlClockOffset_t {
    pub version: u32,
    pub type_: nvmlClockType_t,
    pub pstate: nvmlPstates_t,
    pub clockOffsetMHz: i32,
    pub minClockOffsetMHz: i32,
    pub maxClockOffsetMHz: i32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlClockOffset_v1_t"][::core::mem::size_of::<nvmlClockOffset_t>() - 24usize];
    ["Alignment of nvmlClockOffset_v1_t"][::core::mem::align_of::<nvmlClockOffset_t>() - 4usize];
    ["Offset of field: nvmlClockOffset_v1_t::version"]
        [::core::mem::offset_of!(nvmlClockOffset_t, version) - 0usize];
    ["Offset of field: nvmlClockOffset_v1_t::type_"]
        [::core::mem::offset_of!(nvmlClockOffset_t, type_) - 4usize];
    ["Offset of field: nvmlClockOffset_v1_t::pstate"]
        [::core::mem::offset_of!(nvmlClockOffset_t, pstate) - 8usize];
    ["Offset of field: nvmlClockOffset_v1_t::clockOffsetMHz"]
        [::core::mem::offset_of!(nvmlClockOffset_t, clockOffsetMHz) - 12usize];
    ["Offset of field: nvmlClockOffset_v1_t::minClockOffsetMHz"]
        [::core::mem::offset_of!(nvmlClockOffset_t, minClockOffsetMHz) - 16usize];
    ["Offset of field: nvmlClockOffset_v1_t::maxClockOffsetMHz"]
        [::core::mem::offset_of!(nvmlClockOffset_t, maxClockOffsetMHz) - 20usize];
};

impl Default for nvmlClockOffset_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlFanSpeedInfo_t {
    pub version: u32,
    pub fan: u32,
    pub speed: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlFanSpeedInfo_v1_t"][::core::mem::size_of::<nvmlFanSpeedInfo_t>() - 12usize];
    ["Alignment of nvmlFanSpeedInfo_v1_t"][::core::mem::align_of::<nvmlFanSpeedInfo_t>() - 4usize];
    ["Offset of field: nvmlFanSpeedInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlFanSpeedInfo_t, version) - 0usize];
    ["Offset of field: nvmlFanSpeedInfo_v1_t::fan"]
        [::core::mem::offset_of!(nvmlFanSpeedInfo_t, fan) - 4usize];
    ["Offset of field: nvmlFanSpeedInfo_v1_t::speed"]
        [::core::mem::offset_of!(nvmlFanSpeedInfo_t, speed) - 8usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlDevicePerfModes_t {
    pub version: u32,
    pub str_: [c_char; 2048],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlDevicePerfModes_v1_t"]
        [::core::mem::size_of::<nvmlDevicePerfModes_t>() - 2052usize];
    ["Alignment of nvmlDevicePerfModes_v1_t"]
        [::core::mem::align_of::<nvmlDevicePerfModes_t>() - 4usize];
    ["Offset of field: nvmlDevicePerfModes_v1_t::version"]
        [::core::mem::offset_of!(nvmlDevicePerfModes_t, version) - 0usize];
    ["Offset of field: nvmlDevicePerfModes_v1_t::str_"]
        [::core::mem::offset_of!(nvmlDevicePerfModes_t, str_) - 4usize];
};

impl Default for nvmlDevicePerfModes_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlDeviceCurrentClockFreqs_t {
    pub version: u32,
    pub str_: [c_char; 2048],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlDeviceCurrentClockFreqs_v1_t"]
        [::core::mem::size_of::<nvmlDeviceCurrentClockFreqs_t>() - 2052usize];
    ["Alignment of nvmlDeviceCurrentClockFreqs_v1_t"]
        [::core::mem::align_of::<nvmlDeviceCurrentClockFreqs_t>() - 4usize];
    ["Offset of field: nvmlDeviceCurrentClockFreqs_v1_t::version"]
        [::core::mem::offset_of!(nvmlDeviceCurrentClockFreqs_t, version) - 0usize];
    ["Offset of field: nvmlDeviceCurrentClockFreqs_v1_t::str_"]
        [::core::mem::offset_of!(nvmlDeviceCurrentClockFreqs_t, str_) - 4usize];
};

impl Default for nvmlDeviceCurrentClockFreqs_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlDevicePowerMizerModes_v1_t {
    pub currentMode: u32,
    pub mode: u32,
    pub supportedPowerMizerModes: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlDevicePowerMizerModes_v1_t"]
        [::core::mem::size_of::<nvmlDevicePowerMizerModes_v1_t>() - 12usize];
    ["Alignment of nvmlDevicePowerMizerModes_v1_t"]
        [::core::mem::align_of::<nvmlDevicePowerMizerModes_v1_t>() - 4usize];
    ["Offset of field: nvmlDevicePowerMizerModes_v1_t::currentMode"]
        [::core::mem::offset_of!(nvmlDevicePowerMizerModes_v1_t, currentMode) - 0usize];
    ["Offset of field: nvmlDevicePowerMizerModes_v1_t::mode"]
        [::core::mem::offset_of!(nvmlDevicePowerMizerModes_v1_t, mode) - 4usize];
    ["Offset of field: nvmlDevicePowerMizerModes_v1_t::supportedPowerMizerModes"][::core::mem::offset_of!(
        nvmlDevicePowerMizerModes_v1_t,
        supportedPowerMizerModes
    ) - 8usize];
};

impl nvmlGpuOperationMode_t {
    pub const NVML_GOM_ALL_ON: nvmlGpuOperationMode_t = nvmlGpuOperationMode_t(0);
    pub const NVML_GOM_COMPUTE: nvmlGpuOperationMode_t = nvmlGpuOperationMode_t(1);
    pub const NVML_GOM_LOW_DP: nvmlGpuOperationMode_t = nvmlGpuOperationMode_t(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlGpuOperationMode_t(pub u32);

impl nvmlInforomObject_t {
    pub const NVML_INFOROM_OEM: nvmlInforomObject_t = nvmlInforomObject_t(0);
    pub const NVML_INFOROM_ECC: nvmlInforomObject_t = nvmlInforomObject_t(1);
    pub const NVML_INFOROM_POWER: nvmlInforomObject_t = nvmlInforomObject_t(2);
    pub const NVML_INFOROM_DEN: nvmlInforomObject_t = nvmlInforomObject_t(3);
    pub const NVML_INFOROM_COUNT: nvmlInforomObject_t = nvmlInforomObject_t(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlInforomObject_t(pub u32);

impl nvmlReturn_t {
    pub const NVML_SUCCESS: nvmlReturn_t = nvmlReturn_t(0);
    pub const NVML_ERROR_UNINITIALIZED: nvmlReturn_t = nvmlReturn_t(1);
    pub const NVML_ERROR_INVALID_ARGUMENT: nvmlReturn_t = nvmlReturn_t(2);
    pub const NVML_ERROR_NOT_SUPPORTED: nvmlReturn_t = nvmlReturn_t(3);
    pub const NVML_ERROR_NO_PERMISSION: nvmlReturn_t = nvmlReturn_t(4);
    pub const NVML_ERROR_ALREADY_INITIALIZED: nvmlReturn_t = nvmlReturn_t(5);
    pub const NVML_ERROR_NOT_FOUND: nvmlReturn_t = nvmlReturn_t(6);
    pub const NVML_ERROR_INSUFFICIENT_SIZE: nvmlReturn_t = nvmlReturn_t(7);
    pub const NVML_ERROR_INSUFFICIENT_POWER: nvmlReturn_t = nvmlReturn_t(8);
    pub const NVML_ERROR_DRIVER_NOT_LOADED: nvmlReturn_t = nvmlReturn_t(9);
    pub const NVML_ERROR_TIMEOUT: nvmlReturn_t = nvmlReturn_t(10);
    pub const NVML_ERROR_IRQ_ISSUE: nvmlReturn_t = nvmlReturn_t(11);
    pub const NVML_ERROR_LIBRARY_NOT_FOUND: nvmlReturn_t = nvmlReturn_t(12);
    pub const NVML_ERROR_FUNCTION_NOT_FOUND: nvmlReturn_t = nvmlReturn_t(13);
    pub const NVML_ERROR_CORRUPTED_INFOROM: nvmlReturn_t = nvmlReturn_t(14);
    pub const NVML_ERROR_GPU_IS_LOST: nvmlReturn_t = nvmlReturn_t(15);
    pub const NVML_ERROR_RESET_REQUIRED: nvmlReturn_t = nvmlReturn_t(16);
    pub const NVML_ERROR_OPERATING_SYSTEM: nvmlReturn_t = nvmlReturn_t(17);
    pub const NVML_ERROR_LIB_RM_VERSION_MISMATCH: nvmlReturn_t = nvmlReturn_t(18);
    pub const NVML_ERROR_IN_USE: nvmlReturn_t = nvmlReturn_t(19);
    pub const NVML_ERROR_MEMORY: nvmlReturn_t = nvmlReturn_t(20);
    pub const NVML_ERROR_NO_DATA: nvmlReturn_t = nvmlReturn_t(21);
    pub const NVML_ERROR_VGPU_ECC_NOT_SUPPORTED: nvmlReturn_t = nvmlReturn_t(22);
    pub const NVML_ERROR_INSUFFICIENT_RESOURCES: nvmlReturn_t = nvmlReturn_t(23);
    pub const NVML_ERROR_FREQ_NOT_SUPPORTED: nvmlReturn_t = nvmlReturn_t(24);
    pub const NVML_ERROR_ARGUMENT_VERSION_MISMATCH: nvmlReturn_t = nvmlReturn_t(25);
    pub const NVML_ERROR_DEPRECATED: nvmlReturn_t = nvmlReturn_t(26);
    pub const NVML_ERROR_NOT_READY: nvmlReturn_t = nvmlReturn_t(27);
    pub const NVML_ERROR_GPU_NOT_FOUND: nvmlReturn_t = nvmlReturn_t(28);
    pub const NVML_ERROR_INVALID_STATE: nvmlReturn_t = nvmlReturn_t(29);
    pub const NVML_ERROR_RESET_TYPE_NOT_SUPPORTED: nvmlReturn_t = nvmlReturn_t(30);
    pub const NVML_ERROR_UNKNOWN: nvmlReturn_t = nvmlReturn_t(999);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlReturn_t(pub u32);

impl nvmlMemoryLocation_t {
    pub const NVML_MEMORY_LOCATION_L1_CACHE: nvmlMemoryLocation_t = nvmlMemoryLocation_t(0);
    pub const NVML_MEMORY_LOCATION_L2_CACHE: nvmlMemoryLocation_t = nvmlMemoryLocation_t(1);
    pub const NVML_MEMORY_LOCATION_DRAM: nvmlMemoryLocation_t = nvmlMemoryLocation_t(2);
    pub const NVML_MEMORY_LOCATION_DEVICE_MEMORY: nvmlMemoryLocation_t = nvmlMemoryLocation_t(2);
    pub const NVML_MEMORY_LOCATION_REGISTER_FILE: nvmlMemoryLocation_t = nvmlMemoryLocation_t(3);
    pub const NVML_MEMORY_LOCATION_TEXTURE_MEMORY: nvmlMemoryLocation_t = nvmlMemoryLocation_t(4);
    pub const NVML_MEMORY_LOCATION_TEXTURE_SHM: nvmlMemoryLocation_t = nvmlMemoryLocation_t(5);
    pub const NVML_MEMORY_LOCATION_CBU: nvmlMemoryLocation_t = nvmlMemoryLocation_t(6);
    pub const NVML_MEMORY_LOCATION_SRAM: nvmlMemoryLocation_t = nvmlMemoryLocation_t(7);
    pub const NVML_MEMORY_LOCATION_COUNT: nvmlMemoryLocation_t = nvmlMemoryLocation_t(8);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlMemoryLocation_t(pub u32);

impl nvmlPageRetirementCause_t {
    pub const NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS: nvmlPageRetirementCause_t =
        nvmlPageRetirementCause_t(0);
    pub const NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR: nvmlPageRetirementCause_t =
        nvmlPageRetirementCause_t(1);
    pub const NVML_PAGE_RETIREMENT_CAUSE_COUNT: nvmlPageRetirementCause_t =
        nvmlPageRetirementCause_t(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlPageRetirementCause_t(pub u32);

impl nvmlRestrictedAPI_t {
    pub const NVML_RESTRICTED_API_SET_APPLICATION_CLOCKS: nvmlRestrictedAPI_t =
        nvmlRestrictedAPI_t(0);
    pub const NVML_RESTRICTED_API_SET_AUTO_BOOSTED_CLOCKS: nvmlRestrictedAPI_t =
        nvmlRestrictedAPI_t(1);
    pub const NVML_RESTRICTED_API_COUNT: nvmlRestrictedAPI_t = nvmlRestrictedAPI_t(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlRestrictedAPI_t(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlProcessUtilizationSample_t {
    pub pid: u32,
    pub timeStamp: u64,
    pub smUtil: u32,
    pub memUtil: u32,
    pub encUtil: u32,
    pub decUtil: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlProcessUtilizationSample_st"]
        [::core::mem::size_of::<nvmlProcessUtilizationSample_t>() - 32usize];
    ["Alignment of nvmlProcessUtilizationSample_st"]
        [::core::mem::align_of::<nvmlProcessUtilizationSample_t>() - 8usize];
    ["Offset of field: nvmlProcessUtilizationSample_st::pid"]
        [::core::mem::offset_of!(nvmlProcessUtilizationSample_t, pid) - 0usize];
    ["Offset of field: nvmlProcessUtilizationSample_st::timeStamp"]
        [::core::mem::offset_of!(nvmlProcessUtilizationSample_t, timeStamp) - 8usize];
    ["Offset of field: nvmlProcessUtilizationSample_st::smUtil"]
        [::core::mem::offset_of!(nvmlProcessUtilizationSample_t, smUtil) - 16usize];
    ["Offset of field: nvmlProcessUtilizationSample_st::memUtil"]
        [::core::mem::offset_of!(nvmlProcessUtilizationSample_t, memUtil) - 20usize];
    ["Offset of field: nvmlProcessUtilizationSample_st::encUtil"]
        [::core::mem::offset_of!(nvmlProcessUtilizationSample_t, encUtil) - 24usize];
    ["Offset of field: nvmlProcessUtilizationSample_st::decUtil"]
        [::core::mem::offset_of!(nvmlProcessUtilizationSample_t, decUtil) - 28usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlProcessUtilizationInfo_v1_t {
    pub timeStamp: u64,
    pub pid: u32,
    pub smUtil: u32,
    pub memUtil: u32,
    pub encUtil: u32,
    pub decUtil: u32,
    pub jpgUtil: u32,
    pub ofaUtil: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlProcessUtilizationInfo_v1_t"]
        [::core::mem::size_of::<nvmlProcessUtilizationInfo_v1_t>() - 40usize];
    ["Alignment of nvmlProcessUtilizationInfo_v1_t"]
        [::core::mem::align_of::<nvmlProcessUtilizationInfo_v1_t>() - 8usize];
    ["Offset of field: nvmlProcessUtilizationInfo_v1_t::timeStamp"]
        [::core::mem::offset_of!(nvmlProcessUtilizationInfo_v1_t, timeStamp) - 0usize];
    ["Offset of field: nvmlProcessUtilizationInfo_v1_t::pid"]
        [::core::mem::offset_of!(nvmlProcessUtilizationInfo_v1_t, pid) - 8usize];
    ["Offset of field: nvmlProcessUtilizationInfo_v1_t::smUtil"]
        [::core::mem::offset_of!(nvmlProcessUtilizationInfo_v1_t, smUtil) - 12usize];
    ["Offset of field: nvmlProcessUtilizationInfo_v1_t::memUtil"]
        [::core::mem::offset_of!(nvmlProcessUtilizationInfo_v1_t, memUtil) - 16usize];
    ["Offset of field: nvmlProcessUtilizationInfo_v1_t::encUtil"]
        [::core::mem::offset_of!(nvmlProcessUtilizationInfo_v1_t, encUtil) - 20usize];
    ["Offset of field: nvmlProcessUtilizationInfo_v1_t::decUtil"]
        [::core::mem::offset_of!(nvmlProcessUtilizationInfo_v1_t, decUtil) - 24usize];
    ["Offset of field: nvmlProcessUtilizationInfo_v1_t::jpgUtil"]
        [::core::mem::offset_of!(nvmlProcessUtilizationInfo_v1_t, jpgUtil) - 28usize];
    ["Offset of field: nvmlProcessUtilizationInfo_v1_t::ofaUtil"]
        [::core::mem::offset_of!(nvmlProcessUtilizationInfo_v1_t, ofaUtil) - 32usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlProcessesUtilizationInfo_t {
    pub version: u32,
    pub processSamplesCount: u32,
    pub lastSeenTimeStamp: u64,
    pub procUtilArray: *mut nvmlProcessUtilizationInfo_v1_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlProcessesUtilizationInfo_v1_t"]
        [::core::mem::size_of::<nvmlProcessesUtilizationInfo_t>() - 24usize];
    ["Alignment of nvmlProcessesUtilizationInfo_v1_t"]
        [::core::mem::align_of::<nvmlProcessesUtilizationInfo_t>() - 8usize];
    ["Offset of field: nvmlProcessesUtilizationInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlProcessesUtilizationInfo_t, version) - 0usize];
    ["Offset of field: nvmlProcessesUtilizationInfo_v1_t::processSamplesCount"]
        [::core::mem::offset_of!(nvmlProcessesUtilizationInfo_t, processSamplesCount) - 4usize];
    ["Offset of field: nvmlProcessesUtilizationInfo_v1_t::lastSeenTimeStamp"]
        [::core::mem::offset_of!(nvmlProcessesUtilizationInfo_t, lastSeenTimeStamp) - 8usize];
    ["Offset of field: nvmlProcessesUtilizationInfo_v1_t::procUtilArray"]
        [::core::mem::offset_of!(nvmlProcessesUtilizationInfo_t, procUtilArray) - 16usize];
};

impl Default for nvmlProcessesUtilizationInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlEccSramErrorStatus_t {
    pub version: u32,
    pub aggregateUncParity: u64,
    pub aggregateUncSecDed: u64,
    pub aggregateCor: u64,
    pub volatileUncParity: u64,
    pub volatileUncSecDed: u64,
    pub volatileCor: u64,
    pub aggregateUncBucketL2: u64,
    pub aggregateUncBucketSm: u64,
    pub aggregateUncBucketPcie: u64,
    pub aggregateUncBucketMcu: u64,
    pub aggregateUncBucketOther: u64,
    pub bThresholdExceeded: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlEccSramErrorStatus_v1_t"]
        [::core::mem::size_of::<nvmlEccSramErrorStatus_t>() - 104usize];
    ["Alignment of nvmlEccSramErrorStatus_v1_t"]
        [::core::mem::align_of::<nvmlEccSramErrorStatus_t>() - 8usize];
    ["Offset of field: nvmlEccSramErrorStatus_v1_t::version"]
        [::core::mem::offset_of!(nvmlEccSramErrorStatus_t, version) - 0usize];
    ["Offset of field: nvmlEccSramErrorStatus_v1_t::aggregateUncParity"]
        [::core::mem::offset_of!(nvmlEccSramErrorStatus_t, aggregateUncParity) - 8usize];
    ["Offset of field: nvmlEccSramErrorStatus_v1_t::aggregateUncSecDed"]
        [::core::mem::offset_of!(nvmlEccSramErrorStatus_t, aggregateUncSecDed) - 16usize];
    ["Offset of field: nvmlEccSramErrorStatus_v1_t::aggregateCor"]
        [::core::mem::offset_of!(nvmlEccSramErrorStatus_t, aggregateCor) - 24usize];
    ["Offset of field: nvmlEccSramErrorStatus_v1_t::volatileUncParity"]
        [::core::mem::offset_of!(nvmlEccSramErrorStatus_t, volatileUncParity) - 32usize];
    ["Offset of field: nvmlEccSramErrorStatus_v1_t::volatileUncSecDed"]
        [::core::mem::offset_of!(nvmlEccSramErrorStatus_t, volatileUncSecDed) - 40usize];
    ["Offset of field: nvmlEccSramErrorStatus_v1_t::volatileCor"]
        [::core::mem::offset_of!(nvmlEccSramErrorStatus_t, volatileCor) - 48usize];
    ["Offset of field: nvmlEccSramErrorStatus_v1_t::aggregateUncBucketL2"]
        [::core::mem::offset_of!(nvmlEccSramErrorStatus_t, aggregateUncBucketL2) - 56usize];
    ["Offset of field: nvmlEccSramErrorStatus_v1_t::aggregateUncBucketSm"]
        [::core::mem::offset_of!(nvmlEccSramErrorStatus_t, aggregateUncBucketSm) - 64usize];
    ["Offset of field: nvmlEccSramErrorStatus_v1_t::aggregateUncBucketPcie"]
        [::core::mem::offset_of!(nvmlEccSramErrorStatus_t, aggregateUncBucketPcie) - 72usize];
    ["Offset of field: nvmlEccSramErrorStatus_v1_t::aggregateUncBucketMcu"]
        [::core::mem::offset_of!(nvmlEccSramErrorStatus_t, aggregateUncBucketMcu) - 80usize];
    ["Offset of field: nvmlEccSramErrorStatus_v1_t::aggregateUncBucketOther"]
        [::core::mem::offset_of!(nvmlEccSramErrorStatus_t, aggregateUncBucketOther) - 88usize];
    ["Offset of field: nvmlEccSramErrorStatus_v1_t::bThresholdExceeded"]
        [::core::mem::offset_of!(nvmlEccSramErrorStatus_t, bThresholdExceeded) - 96usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlPlatformInfo_v1_t {
    pub version: u32,
    pub ibGuid: [u8; 16],
    pub rackGuid: [u8; 16],
    pub chassisPhysicalSlotNumber: u8,
    pub computeSlotIndex: u8,
    pub nodeIndex: u8,
    pub peerType: u8,
    pub moduleId: u8,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlPlatformInfo_v1_t"][::core::mem::size_of::<nvmlPlatformInfo_v1_t>() - 44usize];
    ["Alignment of nvmlPlatformInfo_v1_t"]
        [::core::mem::align_of::<nvmlPlatformInfo_v1_t>() - 4usize];
    ["Offset of field: nvmlPlatformInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlPlatformInfo_v1_t, version) - 0usize];
    ["Offset of field: nvmlPlatformInfo_v1_t::ibGuid"]
        [::core::mem::offset_of!(nvmlPlatformInfo_v1_t, ibGuid) - 4usize];
    ["Offset of field: nvmlPlatformInfo_v1_t::rackGuid"]
        [::core::mem::offset_of!(nvmlPlatformInfo_v1_t, rackGuid) - 20usize];
    ["Offset of field: nvmlPlatformInfo_v1_t::chassisPhysicalSlotNumber"]
        [::core::mem::offset_of!(nvmlPlatformInfo_v1_t, chassisPhysicalSlotNumber) - 36usize];
    ["Offset of field: nvmlPlatformInfo_v1_t::computeSlotIndex"]
        [::core::mem::offset_of!(nvmlPlatformInfo_v1_t, computeSlotIndex) - 37usize];
    ["Offset of field: nvmlPlatformInfo_v1_t::nodeIndex"]
        [::core::mem::offset_of!(nvmlPlatformInfo_v1_t, nodeIndex) - 38usize];
    ["Offset of field: nvmlPlatformInfo_v1_t::peerType"]
        [::core::mem::offset_of!(nvmlPlatformInfo_v1_t, peerType) - 39usize];
    ["Offset of field: nvmlPlatformInfo_v1_t::moduleId"]
        [::core::mem::offset_of!(nvmlPlatformInfo_v1_t, moduleId) - 40usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlPlatformInfo_t {
    pub version: u32,
    pub ibGuid: [u8; 16],
    pub chassisSerialNumber: [u8; 16],
    pub slotNumber: u8,
    pub trayIndex: u8,
    pub hostId: u8,
    pub peerType: u8,
    pub moduleId: u8,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlPlatformInfo_v2_t"][::core::mem::size_of::<nvmlPlatformInfo_t>() - 44usize];
    ["Alignment of nvmlPlatformInfo_v2_t"][::core::mem::align_of::<nvmlPlatformInfo_t>() - 4usize];
    ["Offset of field: nvmlPlatformInfo_v2_t::version"]
        [::core::mem::offset_of!(nvmlPlatformInfo_t, version) - 0usize];
    ["Offset of field: nvmlPlatformInfo_v2_t::ibGuid"]
        [::core::mem::offset_of!(nvmlPlatformInfo_t, ibGuid) - 4usize];
    ["Offset of field: nvmlPlatformInfo_v2_t::chassisSerialNumber"]
        [::core::mem::offset_of!(nvmlPlatformInfo_t, chassisSerialNumber) - 20usize];
    ["Offset of field: nvmlPlatformInfo_v2_t::slotNumber"]
        [::core::mem::offset_of!(nvmlPlatformInfo_t, slotNumber) - 36usize];
    ["Offset of field: nvmlPlatformInfo_v2_t::trayIndex"]
        [::core::mem::offset_of!(nvmlPlatformInfo_t, trayIndex) - 37usize];
    ["Offset of field: nvmlPlatformInfo_v2_t::hostId"]
        [::core::mem::offset_of!(nvmlPlatformInfo_t, hostId) - 38usize];
    ["Offset of field: nvmlPlatformInfo_v2_t::peerType"]
        [::core::mem::offset_of!(nvmlPlatformInfo_t, peerType) - 39usize];
    ["Offset of field: nvmlPlatformInfo_v2_t::moduleId"]
        [::core::mem::offset_of!(nvmlPlatformInfo_t, moduleId) - 40usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlHostname_v1_t {
    pub value: [c_char; 64],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlHostname_v1_t"][::core::mem::size_of::<nvmlHostname_v1_t>() - 64usize];
    ["Alignment of nvmlHostname_v1_t"][::core::mem::align_of::<nvmlHostname_v1_t>() - 1usize];
    ["Offset of field: nvmlHostname_v1_t::value"]
        [::core::mem::offset_of!(nvmlHostname_v1_t, value) - 0usize];
};

impl Default for nvmlHostname_v1_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlEccSramUniqueUncorrectedErrorEntry_v1_t {
    pub unit: u32,
    pub location: u32,
    pub sublocation: u32,
    pub extlocation: u32,
    pub address: u32,
    pub isParity: u32,
    pub count: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlEccSramUniqueUncorrectedErrorEntry_v1_t"]
        [::core::mem::size_of::<nvmlEccSramUniqueUncorrectedErrorEntry_v1_t>() - 28usize];
    ["Alignment of nvmlEccSramUniqueUncorrectedErrorEntry_v1_t"]
        [::core::mem::align_of::<nvmlEccSramUniqueUncorrectedErrorEntry_v1_t>() - 4usize];
    ["Offset of field: nvmlEccSramUniqueUncorrectedErrorEntry_v1_t::unit"]
        [::core::mem::offset_of!(nvmlEccSramUniqueUncorrectedErrorEntry_v1_t, unit) - 0usize];
    ["Offset of field: nvmlEccSramUniqueUncorrectedErrorEntry_v1_t::location"]
        [::core::mem::offset_of!(nvmlEccSramUniqueUncorrectedErrorEntry_v1_t, location) - 4usize];
    ["Offset of field: nvmlEccSramUniqueUncorrectedErrorEntry_v1_t::sublocation"][::core::mem::offset_of!(
        nvmlEccSramUniqueUncorrectedErrorEntry_v1_t,
        sublocation
    ) - 8usize];
    ["Offset of field: nvmlEccSramUniqueUncorrectedErrorEntry_v1_t::extlocation"][::core::mem::offset_of!(
        nvmlEccSramUniqueUncorrectedErrorEntry_v1_t,
        extlocation
    ) - 12usize];
    ["Offset of field: nvmlEccSramUniqueUncorrectedErrorEntry_v1_t::address"]
        [::core::mem::offset_of!(nvmlEccSramUniqueUncorrectedErrorEntry_v1_t, address) - 16usize];
    ["Offset of field: nvmlEccSramUniqueUncorrectedErrorEntry_v1_t::isParity"]
        [::core::mem::offset_of!(nvmlEccSramUniqueUncorrectedErrorEntry_v1_t, isParity) - 20usize];
    ["Offset of field: nvmlEccSramUniqueUncorrectedErrorEntry_v1_t::count"]
        [::core::mem::offset_of!(nvmlEccSramUniqueUncorrectedErrorEntry_v1_t, count) - 24usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlEccSramUniqueUncorrectedErrorCounts_t {
    pub version: u32,
    pub entryCount: u32,
    pub entries: *mut nvmlEccSramUniqueUncorrectedErrorEntry_v1_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlEccSramUniqueUncorrectedErrorCounts_v1_t"]
        [::core::mem::size_of::<nvmlEccSramUniqueUncorrectedErrorCounts_t>() - 16usize];
    ["Alignment of nvmlEccSramUniqueUncorrectedErrorCounts_v1_t"]
        [::core::mem::align_of::<nvmlEccSramUniqueUncorrectedErrorCounts_t>() - 8usize];
    ["Offset of field: nvmlEccSramUniqueUncorrectedErrorCounts_v1_t::version"]
        [::core::mem::offset_of!(nvmlEccSramUniqueUncorrectedErrorCounts_t, version) - 0usize];
    ["Offset of field: nvmlEccSramUniqueUncorrectedErrorCounts_v1_t::entryCount"]
        [::core::mem::offset_of!(nvmlEccSramUniqueUncorrectedErrorCounts_t, entryCount) - 4usize];
    ["Offset of field: nvmlEccSramUniqueUncorrectedErrorCounts_v1_t::entries"]
        [::core::mem::offset_of!(nvmlEccSramUniqueUncorrectedErrorCounts_t, entries) - 8usize];
};

impl Default for nvmlEccSramUniqueUncorrectedErrorCounts_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

pub type nvmlDeviceArchitecture_t = u32;

pub type nvmlBusType_t = u32;

pub type nvmlFanControlPolicy_t = u32;

pub type nvmlPowerSource_t = u32;

impl nvmlGpuUtilizationDomainId_t {
    pub const NVML_GPU_UTILIZATION_DOMAIN_GPU: nvmlGpuUtilizationDomainId_t =
        nvmlGpuUtilizationDomainId_t(0);
    pub const NVML_GPU_UTILIZATION_DOMAIN_FB: nvmlGpuUtilizationDomainId_t =
        nvmlGpuUtilizationDomainId_t(1);
    pub const NVML_GPU_UTILIZATION_DOMAIN_VID: nvmlGpuUtilizationDomainId_t =
        nvmlGpuUtilizationDomainId_t(2);
    pub const NVML_GPU_UTILIZATION_DOMAIN_BUS: nvmlGpuUtilizationDomainId_t =
        nvmlGpuUtilizationDomainId_t(3);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlGpuUtilizationDomainId_t(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGpuDynamicPstatesInfo_t {
    pub flags: u32,
    pub utilization: [nvmlGpuDynamicPstatesInfo_st__bindgen_ty_1; 8],
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGpuDynamicPstatesInfo_st__bindgen_ty_1 {
    pub bIsPresent: u32,
    pub percentage: u32,
    pub incThreshold: u32,
    pub decThreshold: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpuDynamicPstatesInfo_st__bindgen_ty_1"]
        [::core::mem::size_of::<nvmlGpuDynamicPstatesInfo_st__bindgen_ty_1>() - 16usize];
    ["Alignment of nvmlGpuDynamicPstatesInfo_st__bindgen_ty_1"]
        [::core::mem::align_of::<nvmlGpuDynamicPstatesInfo_st__bindgen_ty_1>() - 4usize];
    ["Offset of field: nvmlGpuDynamicPstatesInfo_st__bindgen_ty_1::bIsPresent"]
        [::core::mem::offset_of!(nvmlGpuDynamicPstatesInfo_st__bindgen_ty_1, bIsPresent) - 0usize];
    ["Offset of field: nvmlGpuDynamicPstatesInfo_st__bindgen_ty_1::percentage"]
        [::core::mem::offset_of!(nvmlGpuDynamicPstatesInfo_st__bindgen_ty_1, percentage) - 4usize];
    ["Offset of field: nvmlGpuDynamicPstatesInfo_st__bindgen_ty_1::incThreshold"][::core::mem::offset_of!(
        nvmlGpuDynamicPstatesInfo_st__bindgen_ty_1,
        incThreshold
    ) - 8usize];
    ["Offset of field: nvmlGpuDynamicPstatesInfo_st__bindgen_ty_1::decThreshold"][::core::mem::offset_of!(
        nvmlGpuDynamicPstatesInfo_st__bindgen_ty_1,
        decThreshold
    ) - 12usize];
};

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpuDynamicPstatesInfo_st"]
        [::core::mem::size_of::<nvmlGpuDynamicPstatesInfo_t>() - 132usize];
    ["Alignment of nvmlGpuDynamicPstatesInfo_st"]
        [::core::mem::align_of::<nvmlGpuDynamicPstatesInfo_t>() - 4usize];
    ["Offset of field: nvmlGpuDynamicPstatesInfo_st::flags"]
        [::core::mem::offset_of!(nvmlGpuDynamicPstatesInfo_t, flags) - 0usize];
    ["Offset of field: nvmlGpuDynamicPstatesInfo_st::utilization"]
        [::core::mem::offset_of!(nvmlGpuDynamicPstatesInfo_t, utilization) - 4usize];
};

pub type nvmlPowerScopeType_t = u8;

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlPowerValue_v2_t {
    pub version: u32,
    pub powerScope: nvmlPowerScopeType_t,
    pub powerValueMw: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlPowerValue_v2_t"][::core::mem::size_of::<nvmlPowerValue_v2_t>() - 12usize];
    ["Alignment of nvmlPowerValue_v2_t"][::core::mem::align_of::<nvmlPowerValue_v2_t>() - 4usize];
    ["Offset of field: nvmlPowerValue_v2_t::version"]
        [::core::mem::offset_of!(nvmlPowerValue_v2_t, version) - 0usize];
    ["Offset of field: nvmlPowerValue_v2_t::powerScope"]
        [::core::mem::offset_of!(nvmlPowerValue_v2_t, powerScope) - 4usize];
    ["Offset of field: nvmlPowerValue_v2_t::powerValueMw"]
        [::core::mem::offset_of!(nvmlPowerValue_v2_t, powerValueMw) - 8usize];
};

impl nvmlGpuVirtualizationMode {
    pub const NVML_GPU_VIRTUALIZATION_MODE_NONE: nvmlGpuVirtualizationMode =
        nvmlGpuVirtualizationMode(0);
    pub const NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH: nvmlGpuVirtualizationMode =
        nvmlGpuVirtualizationMode(1);
    pub const NVML_GPU_VIRTUALIZATION_MODE_VGPU: nvmlGpuVirtualizationMode =
        nvmlGpuVirtualizationMode(2);
    pub const NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU: nvmlGpuVirtualizationMode =
        nvmlGpuVirtualizationMode(3);
    pub const NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA: nvmlGpuVirtualizationMode =
        nvmlGpuVirtualizationMode(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlGpuVirtualizationMode(pub u32);

impl nvmlHostVgpuMode_t {
    pub const NVML_HOST_VGPU_MODE_NON_SRIOV: nvmlHostVgpuMode_t = nvmlHostVgpuMode_t(0);
    pub const NVML_HOST_VGPU_MODE_SRIOV: nvmlHostVgpuMode_t = nvmlHostVgpuMode_t(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlHostVgpuMode_t(pub u32);

impl nvmlVgpuVmIdType {
    pub const NVML_VGPU_VM_ID_DOMAIN_ID: nvmlVgpuVmIdType = nvmlVgpuVmIdType(0);
    pub const NVML_VGPU_VM_ID_UUID: nvmlVgpuVmIdType = nvmlVgpuVmIdType(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlVgpuVmIdType(pub u32);

impl nvmlVgpuGuestInfoState_t {
    pub const NVML_VGPU_INSTANCE_GUEST_INFO_STATE_UNINITIALIZED: nvmlVgpuGuestInfoState_t =
        nvmlVgpuGuestInfoState_t(0);
    pub const NVML_VGPU_INSTANCE_GUEST_INFO_STATE_INITIALIZED: nvmlVgpuGuestInfoState_t =
        nvmlVgpuGuestInfoState_t(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlVgpuGuestInfoState_t(pub u32);

impl nvmlGridLicenseFeatureCode_t {
    pub const NVML_GRID_LICENSE_FEATURE_CODE_UNKNOWN: nvmlGridLicenseFeatureCode_t =
        nvmlGridLicenseFeatureCode_t(0);
    pub const NVML_GRID_LICENSE_FEATURE_CODE_VGPU: nvmlGridLicenseFeatureCode_t =
        nvmlGridLicenseFeatureCode_t(1);
    pub const NVML_GRID_LICENSE_FEATURE_CODE_NVIDIA_RTX: nvmlGridLicenseFeatureCode_t =
        nvmlGridLicenseFeatureCode_t(2);
    pub const NVML_GRID_LICENSE_FEATURE_CODE_VWORKSTATION: nvmlGridLicenseFeatureCode_t =
        nvmlGridLicenseFeatureCode_t(2);
    pub const NVML_GRID_LICENSE_FEATURE_CODE_GAMING: nvmlGridLicenseFeatureCode_t =
        nvmlGridLicenseFeatureCode_t(3);
    pub const NVML_GRID_LICENSE_FEATURE_CODE_COMPUTE: nvmlGridLicenseFeatureCode_t =
        nvmlGridLicenseFeatureCode_t(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlGridLicenseFeatureCode_t(pub u32);

impl nvmlVgpuCapability_t {
    pub const NVML_VGPU_CAP_NVLINK_P2P: nvmlVgpuCapability_t = nvmlVgpuCapability_t(0);
    pub const NVML_VGPU_CAP_GPUDIRECT: nvmlVgpuCapability_t = nvmlVgpuCapability_t(1);
    pub const NVML_VGPU_CAP_MULTI_VGPU_EXCLUSIVE: nvmlVgpuCapability_t = nvmlVgpuCapability_t(2);
    pub const NVML_VGPU_CAP_EXCLUSIVE_TYPE: nvmlVgpuCapability_t = nvmlVgpuCapability_t(3);
    pub const NVML_VGPU_CAP_EXCLUSIVE_SIZE: nvmlVgpuCapability_t = nvmlVgpuCapability_t(4);
    pub const NVML_VGPU_CAP_COUNT: nvmlVgpuCapability_t = nvmlVgpuCapability_t(5);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlVgpuCapability_t(pub u32);

impl nvmlVgpuDriverCapability_t {
    pub const NVML_VGPU_DRIVER_CAP_HETEROGENEOUS_MULTI_VGPU: nvmlVgpuDriverCapability_t =
        nvmlVgpuDriverCapability_t(0);
    pub const NVML_VGPU_DRIVER_CAP_WARM_UPDATE: nvmlVgpuDriverCapability_t =
        nvmlVgpuDriverCapability_t(1);
    pub const NVML_VGPU_DRIVER_CAP_COUNT: nvmlVgpuDriverCapability_t =
        nvmlVgpuDriverCapability_t(2);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlVgpuDriverCapability_t(pub u32);

impl nvmlDeviceVgpuCapability_t {
    pub const NVML_DEVICE_VGPU_CAP_FRACTIONAL_MULTI_VGPU: nvmlDeviceVgpuCapability_t =
        nvmlDeviceVgpuCapability_t(0);
    pub const NVML_DEVICE_VGPU_CAP_HETEROGENEOUS_TIMESLICE_PROFILES: nvmlDeviceVgpuCapability_t =
        nvmlDeviceVgpuCapability_t(1);
    pub const NVML_DEVICE_VGPU_CAP_HETEROGENEOUS_TIMESLICE_SIZES: nvmlDeviceVgpuCapability_t =
        nvmlDeviceVgpuCapability_t(2);
    pub const NVML_DEVICE_VGPU_CAP_READ_DEVICE_BUFFER_BW: nvmlDeviceVgpuCapability_t =
        nvmlDeviceVgpuCapability_t(3);
    pub const NVML_DEVICE_VGPU_CAP_WRITE_DEVICE_BUFFER_BW: nvmlDeviceVgpuCapability_t =
        nvmlDeviceVgpuCapability_t(4);
    pub const NVML_DEVICE_VGPU_CAP_DEVICE_STREAMING: nvmlDeviceVgpuCapability_t =
        nvmlDeviceVgpuCapability_t(5);
    pub const NVML_DEVICE_VGPU_CAP_MINI_QUARTER_GPU: nvmlDeviceVgpuCapability_t =
        nvmlDeviceVgpuCapability_t(6);
    pub const NVML_DEVICE_VGPU_CAP_COMPUTE_MEDIA_ENGINE_GPU: nvmlDeviceVgpuCapability_t =
        nvmlDeviceVgpuCapability_t(7);
    pub const NVML_DEVICE_VGPU_CAP_WARM_UPDATE: nvmlDeviceVgpuCapability_t =
        nvmlDeviceVgpuCapability_t(8);
    pub const NVML_DEVICE_VGPU_CAP_HOMOGENEOUS_PLACEMENTS: nvmlDeviceVgpuCapability_t =
        nvmlDeviceVgpuCapability_t(9);
    pub const NVML_DEVICE_VGPU_CAP_MIG_TIMESLICING_SUPPORTED: nvmlDeviceVgpuCapability_t =
        nvmlDeviceVgpuCapability_t(10);
    pub const NVML_DEVICE_VGPU_CAP_MIG_TIMESLICING_ENABLED: nvmlDeviceVgpuCapability_t =
        nvmlDeviceVgpuCapability_t(11);
    pub const NVML_DEVICE_VGPU_CAP_COUNT: nvmlDeviceVgpuCapability_t =
        nvmlDeviceVgpuCapability_t(12);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlDeviceVgpuCapability_t(pub u32);

pub type nvmlVgpuTypeId_t = u32;

pub type nvmlVgpuInstance_t = u32;

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuHeterogeneousMode_t {
    pub version: u32,
    pub mode: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuHeterogeneousMode_v1_t"]
        [::core::mem::size_of::<nvmlVgpuHeterogeneousMode_t>() - 8usize];
    ["Alignment of nvmlVgpuHeterogeneousMode_v1_t"]
        [::core::mem::align_of::<nvmlVgpuHeterogeneousMode_t>() - 4usize];
    ["Offset of field: nvmlVgpuHeterogeneousMode_v1_t::version"]
        [::core::mem::offset_of!(nvmlVgpuHeterogeneousMode_t, version) - 0usize];
    ["Offset of field: nvmlVgpuHeterogeneousMode_v1_t::mode"]
        [::core::mem::offset_of!(nvmlVgpuHeterogeneousMode_t, mode) - 4usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuPlacementId_t {
    pub version: u32,
    pub placementId: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuPlacementId_v1_t"][::core::mem::size_of::<nvmlVgpuPlacementId_t>() - 8usize];
    ["Alignment of nvmlVgpuPlacementId_v1_t"]
        [::core::mem::align_of::<nvmlVgpuPlacementId_t>() - 4usize];
    ["Offset of field: nvmlVgpuPlacementId_v1_t::version"]
        [::core::mem::offset_of!(nvmlVgpuPlacementId_t, version) - 0usize];
    ["Offset of field: nvmlVgpuPlacementId_v1_t::placementId"]
        [::core::mem::offset_of!(nvmlVgpuPlacementId_t, placementId) - 4usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuPlacementList_v1_t {
    pub version: u32,
    pub placementSize: u32,
    pub count: u32,
    pub placementIds: *mut u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuPlacementList_v1_t"]
        [::core::mem::size_of::<nvmlVgpuPlacementList_v1_t>() - 24usize];
    ["Alignment of nvmlVgpuPlacementList_v1_t"]
        [::core::mem::align_of::<nvmlVgpuPlacementList_v1_t>() - 8usize];
    ["Offset of field: nvmlVgpuPlacementList_v1_t::version"]
        [::core::mem::offset_of!(nvmlVgpuPlacementList_v1_t, version) - 0usize];
    ["Offset of field: nvmlVgpuPlacementList_v1_t::placementSize"]
        [::core::mem::offset_of!(nvmlVgpuPlacementList_v1_t, placementSize) - 4usize];
    ["Offset of field: nvmlVgpuPlacementList_v1_t::count"]
        [::core::mem::offset_of!(nvmlVgpuPlacementList_v1_t, count) - 8usize];
    ["Offset of field: nvmlVgpuPlacementList_v1_t::placementIds"]
        [::core::mem::offset_of!(nvmlVgpuPlacementList_v1_t, placementIds) - 16usize];
};

impl Default for nvmlVgpuPlacementList_v1_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuPlacementList_t {
    pub version: u32,
    pub placementSize: u32,
    pub count: u32,
    pub placementIds: *mut u32,
    pub mode: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuPlacementList_v2_t"]
        [::core::mem::size_of::<nvmlVgpuPlacementList_t>() - 32usize];
    ["Alignment of nvmlVgpuPlacementList_v2_t"]
        [::core::mem::align_of::<nvmlVgpuPlacementList_t>() - 8usize];
    ["Offset of field: nvmlVgpuPlacementList_v2_t::version"]
        [::core::mem::offset_of!(nvmlVgpuPlacementList_t, version) - 0usize];
    ["Offset of field: nvmlVgpuPlacementList_v2_t::placementSize"]
        [::core::mem::offset_of!(nvmlVgpuPlacementList_t, placementSize) - 4usize];
    ["Offset of field: nvmlVgpuPlacementList_v2_t::count"]
        [::core::mem::offset_of!(nvmlVgpuPlacementList_t, count) - 8usize];
    ["Offset of field: nvmlVgpuPlacementList_v2_t::placementIds"]
        [::core::mem::offset_of!(nvmlVgpuPlacementList_t, placementIds) - 16usize];
    ["Offset of field: nvmlVgpuPlacementList_v2_t::mode"]
        [::core::mem::offset_of!(nvmlVgpuPlacementList_t, mode) - 24usize];
};

impl Default for nvmlVgpuPlacementList_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuTypeBar1Info_t {
    pub version: u32,
    pub bar1Size: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuTypeBar1Info_v1_t"]
        [::core::mem::size_of::<nvmlVgpuTypeBar1Info_t>() - 16usize];
    ["Alignment of nvmlVgpuTypeBar1Info_v1_t"]
        [::core::mem::align_of::<nvmlVgpuTypeBar1Info_t>() - 8usize];
    ["Offset of field: nvmlVgpuTypeBar1Info_v1_t::version"]
        [::core::mem::offset_of!(nvmlVgpuTypeBar1Info_t, version) - 0usize];
    ["Offset of field: nvmlVgpuTypeBar1Info_v1_t::bar1Size"]
        [::core::mem::offset_of!(nvmlVgpuTypeBar1Info_t, bar1Size) - 8usize];
};

#[repr(C)]
#[derive(Copy, Clone)]
pub struct nvmlVgpuInstanceUtilizationSample_t {
    pub vgpuInstance: nvmlVgpuInstance_t,
    pub timeStamp: u64,
    pub smUtil: nvmlValue_t,
    pub memUtil: nvmlValue_t,
    pub encUtil: nvmlValue_t,
    pub decUtil: nvmlValue_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuInstanceUtilizationSample_st"]
        [::core::mem::size_of::<nvmlVgpuInstanceUtilizationSample_t>() - 48usize];
    ["Alignment of nvmlVgpuInstanceUtilizationSample_st"]
        [::core::mem::align_of::<nvmlVgpuInstanceUtilizationSample_t>() - 8usize];
    ["Offset of field: nvmlVgpuInstanceUtilizationSample_st::vgpuInstance"]
        [::core::mem::offset_of!(nvmlVgpuInstanceUtilizationSample_t, vgpuInstance) - 0usize];
    ["Offset of field: nvmlVgpuInstanceUtilizationSample_st::timeStamp"]
        [::core::mem::offset_of!(nvmlVgpuInstanceUtilizationSample_t, timeStamp) - 8usize];
    ["Offset of field: nvmlVgpuInstanceUtilizationSample_st::smUtil"]
        [::core::mem::offset_of!(nvmlVgpuInstanceUtilizationSample_t, smUtil) - 16usize];
    ["Offset of field: nvmlVgpuInstanceUtilizationSample_st::memUtil"]
        [::core::mem::offset_of!(nvmlVgpuInstanceUtilizationSample_t, memUtil) - 24usize];
    ["Offset of field: nvmlVgpuInstanceUtilizationSample_st::encUtil"]
        [::core::mem::offset_of!(nvmlVgpuInstanceUtilizationSample_t, encUtil) - 32usize];
    ["Offset of field: nvmlVgpuInstanceUtilizationSample_st::decUtil"]
        [::core::mem::offset_of!(nvmlVgpuInstanceUtilizationSample_t, decUtil) - 40usize];
};

impl Default for nvmlVgpuInstanceUtilizationSample_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct nvmlVgpuInstanceUtilizationInfo_v1_t {
    pub timeStamp: u64,
    pub vgpuInstance: nvmlVgpuInstance_t,
    pub smUtil: nvmlValue_t,
    pub memUtil: nvmlValue_t,
    pub encUtil: nvmlValue_t,
    pub decUtil: nvmlValue_t,
    pub jpgUtil: nvmlValue_t,
    pub ofaUtil: nvmlValue_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuInstanceUtilizationInfo_v1_t"]
        [::core::mem::size_of::<nvmlVgpuInstanceUtilizationInfo_v1_t>() - 64usize];
    ["Alignment of nvmlVgpuInstanceUtilizationInfo_v1_t"]
        [::core::mem::align_of::<nvmlVgpuInstanceUtilizationInfo_v1_t>() - 8usize];
    ["Offset of field: nvmlVgpuInstanceUtilizationInfo_v1_t::timeStamp"]
        [::core::mem::offset_of!(nvmlVgpuInstanceUtilizationInfo_v1_t, timeStamp) - 0usize];
    ["Offset of field: nvmlVgpuInstanceUtilizationInfo_v1_t::vgpuInstance"]
        [::core::mem::offset_of!(nvmlVgpuInstanceUtilizationInfo_v1_t, vgpuInstance) - 8usize];
    ["Offset of field: nvmlVgpuInstanceUtilizationInfo_v1_t::smUtil"]
        [::core::mem::offset_of!(nvmlVgpuInstanceUtilizationInfo_v1_t, smUtil) - 16usize];
    ["Offset of field: nvmlVgpuInstanceUtilizationInfo_v1_t::memUtil"]
        [::core::mem::offset_of!(nvmlVgpuInstanceUtilizationInfo_v1_t, memUtil) - 24usize];
    ["Offset of field: nvmlVgpuInstanceUtilizationInfo_v1_t::encUtil"]
        [::core::mem::offset_of!(nvmlVgpuInstanceUtilizationInfo_v1_t, encUtil) - 32usize];
    ["Offset of field: nvmlVgpuInstanceUtilizationInfo_v1_t::decUtil"]
        [::core::mem::offset_of!(nvmlVgpuInstanceUtilizationInfo_v1_t, decUtil) - 40usize];
    ["Offset of field: nvmlVgpuInstanceUtilizationInfo_v1_t::jpgUtil"]
        [::core::mem::offset_of!(nvmlVgpuInstanceUtilizationInfo_v1_t, jpgUtil) - 48usize];
    ["Offset of field: nvmlVgpuInstanceUtilizationInfo_v1_t::ofaUtil"]
        [::core::mem::offset_of!(nvmlVgpuInstanceUtilizationInfo_v1_t, ofaUtil) - 56usize];
};

impl Default for nvmlVgpuInstanceUtilizationInfo_v1_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuInstancesUtilizationInfo_t {
    pub version: u32,
    pub sampleValType: nvmlValueType_t,
    pub vgpuInstanceCount: u32,
    pub lastSeenTimeStamp: u64,
    pub vgpuUtilArray: *mut nvmlVgpuInstanceUtilizationInfo_v1_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuInstancesUtilizationInfo_v1_t"]
        [::core::mem::size_of::<nvmlVgpuInstancesUtilizationInfo_t>() - 32usize];
    ["Alignment of nvmlVgpuInstancesUtilizationInfo_v1_t"]
        [::core::mem::align_of::<nvmlVgpuInstancesUtilizationInfo_t>() - 8usize];
    ["Offset of field: nvmlVgpuInstancesUtilizationInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlVgpuInstancesUtilizationInfo_t, version) - 0usize];
    ["Offset of field: nvmlVgpuInstancesUtilizationInfo_v1_t::sampleValType"]
        [::core::mem::offset_of!(nvmlVgpuInstancesUtilizationInfo_t, sampleValType) - 4usize];
    ["Offset of field: nvmlVgpuInstancesUtilizationInfo_v1_t::vgpuInstanceCount"]
        [::core::mem::offset_of!(nvmlVgpuInstancesUtilizationInfo_t, vgpuInstanceCount) - 8usize];
    ["Offset of field: nvmlVgpuInstancesUtilizationInfo_v1_t::lastSeenTimeStamp"]
        [::core::mem::offset_of!(nvmlVgpuInstancesUtilizationInfo_t, lastSeenTimeStamp) - 16usize];
    ["Offset of field: nvmlVgpuInstancesUtilizationInfo_v1_t::vgpuUtilArray"]
        [::core::mem::offset_of!(nvmlVgpuInstancesUtilizationInfo_t, vgpuUtilArray) - 24usize];
};

impl Default for nvmlVgpuInstancesUtilizationInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuProcessUtilizationSample_t {
    pub vgpuInstance: nvmlVgpuInstance_t,
    pub pid: u32,
    pub processName: [c_char; 64],
    pub timeStamp: u64,
    pub smUtil: u32,
    pub memUtil: u32,
    pub encUtil: u32,
    pub decUtil: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuProcessUtilizationSample_st"]
        [::core::mem::size_of::<nvmlVgpuProcessUtilizationSample_t>() - 96usize];
    ["Alignment of nvmlVgpuProcessUtilizationSample_st"]
        [::core::mem::align_of::<nvmlVgpuProcessUtilizationSample_t>() - 8usize];
    ["Offset of field: nvmlVgpuProcessUtilizationSample_st::vgpuInstance"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationSample_t, vgpuInstance) - 0usize];
    ["Offset of field: nvmlVgpuProcessUtilizationSample_st::pid"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationSample_t, pid) - 4usize];
    ["Offset of field: nvmlVgpuProcessUtilizationSample_st::processName"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationSample_t, processName) - 8usize];
    ["Offset of field: nvmlVgpuProcessUtilizationSample_st::timeStamp"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationSample_t, timeStamp) - 72usize];
    ["Offset of field: nvmlVgpuProcessUtilizationSample_st::smUtil"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationSample_t, smUtil) - 80usize];
    ["Offset of field: nvmlVgpuProcessUtilizationSample_st::memUtil"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationSample_t, memUtil) - 84usize];
    ["Offset of field: nvmlVgpuProcessUtilizationSample_st::encUtil"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationSample_t, encUtil) - 88usize];
    ["Offset of field: nvmlVgpuProcessUtilizationSample_st::decUtil"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationSample_t, decUtil) - 92usize];
};

impl Default for nvmlVgpuProcessUtilizationSample_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuProcessUtilizationInfo_v1_t {
    pub processName: [c_char; 64],
    pub timeStamp: u64,
    pub vgpuInstance: nvmlVgpuInstance_t,
    pub pid: u32,
    pub smUtil: u32,
    pub memUtil: u32,
    pub encUtil: u32,
    pub decUtil: u32,
    pub jpgUtil: u32,
    pub ofaUtil: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuProcessUtilizationInfo_v1_t"]
        [::core::mem::size_of::<nvmlVgpuProcessUtilizationInfo_v1_t>() - 104usize];
    ["Alignment of nvmlVgpuProcessUtilizationInfo_v1_t"]
        [::core::mem::align_of::<nvmlVgpuProcessUtilizationInfo_v1_t>() - 8usize];
    ["Offset of field: nvmlVgpuProcessUtilizationInfo_v1_t::processName"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationInfo_v1_t, processName) - 0usize];
    ["Offset of field: nvmlVgpuProcessUtilizationInfo_v1_t::timeStamp"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationInfo_v1_t, timeStamp) - 64usize];
    ["Offset of field: nvmlVgpuProcessUtilizationInfo_v1_t::vgpuInstance"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationInfo_v1_t, vgpuInstance) - 72usize];
    ["Offset of field: nvmlVgpuProcessUtilizationInfo_v1_t::pid"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationInfo_v1_t, pid) - 76usize];
    ["Offset of field: nvmlVgpuProcessUtilizationInfo_v1_t::smUtil"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationInfo_v1_t, smUtil) - 80usize];
    ["Offset of field: nvmlVgpuProcessUtilizationInfo_v1_t::memUtil"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationInfo_v1_t, memUtil) - 84usize];
    ["Offset of field: nvmlVgpuProcessUtilizationInfo_v1_t::encUtil"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationInfo_v1_t, encUtil) - 88usize];
    ["Offset of field: nvmlVgpuProcessUtilizationInfo_v1_t::decUtil"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationInfo_v1_t, decUtil) - 92usize];
    ["Offset of field: nvmlVgpuProcessUtilizationInfo_v1_t::jpgUtil"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationInfo_v1_t, jpgUtil) - 96usize];
    ["Offset of field: nvmlVgpuProcessUtilizationInfo_v1_t::ofaUtil"]
        [::core::mem::offset_of!(nvmlVgpuProcessUtilizationInfo_v1_t, ofaUtil) - 100usize];
};

impl Default for nvmlVgpuProcessUtilizationInfo_v1_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuProcessesUtilizationInfo_t {
    pub version: u32,
    pub vgpuProcessCount: u32,
    pub lastSeenTimeStamp: u64,
    pub vgpuProcUtilArray: *mut nvmlVgpuProcessUtilizationInfo_v1_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuProcessesUtilizationInfo_v1_t"]
        [::core::mem::size_of::<nvmlVgpuProcessesUtilizationInfo_t>() - 24usize];
    ["Alignment of nvmlVgpuProcessesUtilizationInfo_v1_t"]
        [::core::mem::align_of::<nvmlVgpuProcessesUtilizationInfo_t>() - 8usize];
    ["Offset of field: nvmlVgpuProcessesUtilizationInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlVgpuProcessesUtilizationInfo_t, version) - 0usize];
    ["Offset of field: nvmlVgpuProcessesUtilizationInfo_v1_t::vgpuProcessCount"]
        [::core::mem::offset_of!(nvmlVgpuProcessesUtilizationInfo_t, vgpuProcessCount) - 4usize];
    ["Offset of field: nvmlVgpuProcessesUtilizationInfo_v1_t::lastSeenTimeStamp"]
        [::core::mem::offset_of!(nvmlVgpuProcessesUtilizationInfo_t, lastSeenTimeStamp) - 8usize];
    ["Offset of field: nvmlVgpuProcessesUtilizationInfo_v1_t::vgpuProcUtilArray"]
        [::core::mem::offset_of!(nvmlVgpuProcessesUtilizationInfo_t, vgpuProcUtilArray) - 16usize];
};

impl Default for nvmlVgpuProcessesUtilizationInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuRuntimeState_t {
    pub version: u32,
    pub size: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuRuntimeState_v1_t"]
        [::core::mem::size_of::<nvmlVgpuRuntimeState_t>() - 16usize];
    ["Alignment of nvmlVgpuRuntimeState_v1_t"]
        [::core::mem::align_of::<nvmlVgpuRuntimeState_t>() - 8usize];
    ["Offset of field: nvmlVgpuRuntimeState_v1_t::version"]
        [::core::mem::offset_of!(nvmlVgpuRuntimeState_t, version) - 0usize];
    ["Offset of field: nvmlVgpuRuntimeState_v1_t::size"]
        [::core::mem::offset_of!(nvmlVgpuRuntimeState_t, size) - 8usize];
};

#[repr(C)]
#[derive(Copy, Clone)]
pub union nvmlVgpuSchedulerParams_t {
    pub vgpuSchedDataWithARR: nvmlVgpuSchedulerParams_t__bindgen_ty_1,
    pub vgpuSchedData: nvmlVgpuSchedulerParams_t__bindgen_ty_2,
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuSchedulerParams_t__bindgen_ty_1 {
    pub avgFactor: u32,
    pub timeslice: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuSchedulerParams_t__bindgen_ty_1"]
        [::core::mem::size_of::<nvmlVgpuSchedulerParams_t__bindgen_ty_1>() - 8usize];
    ["Alignment of nvmlVgpuSchedulerParams_t__bindgen_ty_1"]
        [::core::mem::align_of::<nvmlVgpuSchedulerParams_t__bindgen_ty_1>() - 4usize];
    ["Offset of field: nvmlVgpuSchedulerParams_t__bindgen_ty_1::avgFactor"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerParams_t__bindgen_ty_1, avgFactor) - 0usize];
    ["Offset of field: nvmlVgpuSchedulerParams_t__bindgen_ty_1::timeslice"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerParams_t__bindgen_ty_1, timeslice) - 4usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuSchedulerParams_t__bindgen_ty_2 {
    pub timeslice: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuSchedulerParams_t__bindgen_ty_2"]
        [::core::mem::size_of::<nvmlVgpuSchedulerParams_t__bindgen_ty_2>() - 4usize];
    ["Alignment of nvmlVgpuSchedulerParams_t__bindgen_ty_2"]
        [::core::mem::align_of::<nvmlVgpuSchedulerParams_t__bindgen_ty_2>() - 4usize];
    ["Offset of field: nvmlVgpuSchedulerParams_t__bindgen_ty_2::timeslice"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerParams_t__bindgen_ty_2, timeslice) - 0usize];
};

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuSchedulerParams_t"]
        [::core::mem::size_of::<nvmlVgpuSchedulerParams_t>() - 8usize];
    ["Alignment of nvmlVgpuSchedulerParams_t"]
        [::core::mem::align_of::<nvmlVgpuSchedulerParams_t>() - 4usize];
    ["Offset of field: nvmlVgpuSchedulerParams_t::vgpuSchedDataWithARR"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerParams_t, vgpuSchedDataWithARR) - 0usize];
    ["Offset of field: nvmlVgpuSchedulerParams_t::vgpuSchedData"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerParams_t, vgpuSchedData) - 0usize];
};

impl Default for nvmlVgpuSchedulerParams_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuSchedulerLogEntry_t {
    pub timestamp: u64,
    pub timeRunTotal: u64,
    pub timeRun: u64,
    pub swRunlistId: u32,
    pub targetTimeSlice: u64,
    pub cumulativePreemptionTime: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuSchedulerLogEntries_st"]
        [::core::mem::size_of::<nvmlVgpuSchedulerLogEntry_t>() - 48usize];
    ["Alignment of nvmlVgpuSchedulerLogEntries_st"]
        [::core::mem::align_of::<nvmlVgpuSchedulerLogEntry_t>() - 8usize];
    ["Offset of field: nvmlVgpuSchedulerLogEntries_st::timestamp"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLogEntry_t, timestamp) - 0usize];
    ["Offset of field: nvmlVgpuSchedulerLogEntries_st::timeRunTotal"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLogEntry_t, timeRunTotal) - 8usize];
    ["Offset of field: nvmlVgpuSchedulerLogEntries_st::timeRun"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLogEntry_t, timeRun) - 16usize];
    ["Offset of field: nvmlVgpuSchedulerLogEntries_st::swRunlistId"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLogEntry_t, swRunlistId) - 24usize];
    ["Offset of field: nvmlVgpuSchedulerLogEntries_st::targetTimeSlice"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLogEntry_t, targetTimeSlice) - 32usize];
    ["Offset of field: nvmlVgpuSchedulerLogEntries_st::cumulativePreemptionTime"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLogEntry_t, cumulativePreemptionTime) - 40usize];
};

#[repr(C)]
#[derive(Copy, Clone)]
pub struct nvmlVgpuSchedulerLog_t {
    pub engineId: u32,
    pub schedulerPolicy: u32,
    pub arrMode: u32,
    pub schedulerParams: nvmlVgpuSchedulerParams_t,
    pub entriesCount: u32,
    pub logEntries: [nvmlVgpuSchedulerLogEntry_t; 200],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuSchedulerLog_st"]
        [::core::mem::size_of::<nvmlVgpuSchedulerLog_t>() - 9624usize];
    ["Alignment of nvmlVgpuSchedulerLog_st"]
        [::core::mem::align_of::<nvmlVgpuSchedulerLog_t>() - 8usize];
    ["Offset of field: nvmlVgpuSchedulerLog_st::engineId"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLog_t, engineId) - 0usize];
    ["Offset of field: nvmlVgpuSchedulerLog_st::schedulerPolicy"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLog_t, schedulerPolicy) - 4usize];
    ["Offset of field: nvmlVgpuSchedulerLog_st::arrMode"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLog_t, arrMode) - 8usize];
    ["Offset of field: nvmlVgpuSchedulerLog_st::schedulerParams"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLog_t, schedulerParams) - 12usize];
    ["Offset of field: nvmlVgpuSchedulerLog_st::entriesCount"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLog_t, entriesCount) - 20usize];
    ["Offset of field: nvmlVgpuSchedulerLog_st::logEntries"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLog_t, logEntries) - 24usize];
};

impl Default for nvmlVgpuSchedulerLog_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct nvmlVgpuSchedulerGetState_t {
    pub schedulerPolicy: u32,
    pub arrMode: u32,
    pub schedulerParams: nvmlVgpuSchedulerParams_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuSchedulerGetState_st"]
        [::core::mem::size_of::<nvmlVgpuSchedulerGetState_t>() - 16usize];
    ["Alignment of nvmlVgpuSchedulerGetState_st"]
        [::core::mem::align_of::<nvmlVgpuSchedulerGetState_t>() - 4usize];
    ["Offset of field: nvmlVgpuSchedulerGetState_st::schedulerPolicy"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerGetState_t, schedulerPolicy) - 0usize];
    ["Offset of field: nvmlVgpuSchedulerGetState_st::arrMode"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerGetState_t, arrMode) - 4usize];
    ["Offset of field: nvmlVgpuSchedulerGetState_st::schedulerParams"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerGetState_t, schedulerParams) - 8usize];
};

impl Default for nvmlVgpuSchedulerGetState_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union nvmlVgpuSchedulerSetParams_t {
    pub vgpuSchedDataWithARR: nvmlVgpuSchedulerSetParams_t__bindgen_ty_1,
    pub vgpuSchedData: nvmlVgpuSchedulerSetParams_t__bindgen_ty_2,
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuSchedulerSetParams_t__bindgen_ty_1 {
    pub avgFactor: u32,
    pub frequency: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuSchedulerSetParams_t__bindgen_ty_1"]
        [::core::mem::size_of::<nvmlVgpuSchedulerSetParams_t__bindgen_ty_1>() - 8usize];
    ["Alignment of nvmlVgpuSchedulerSetParams_t__bindgen_ty_1"]
        [::core::mem::align_of::<nvmlVgpuSchedulerSetParams_t__bindgen_ty_1>() - 4usize];
    ["Offset of field: nvmlVgpuSchedulerSetParams_t__bindgen_ty_1::avgFactor"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerSetParams_t__bindgen_ty_1, avgFactor) - 0usize];
    ["Offset of field: nvmlVgpuSchedulerSetParams_t__bindgen_ty_1::frequency"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerSetParams_t__bindgen_ty_1, frequency) - 4usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuSchedulerSetParams_t__bindgen_ty_2 {
    pub timeslice: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuSchedulerSetParams_t__bindgen_ty_2"]
        [::core::mem::size_of::<nvmlVgpuSchedulerSetParams_t__bindgen_ty_2>() - 4usize];
    ["Alignment of nvmlVgpuSchedulerSetParams_t__bindgen_ty_2"]
        [::core::mem::align_of::<nvmlVgpuSchedulerSetParams_t__bindgen_ty_2>() - 4usize];
    ["Offset of field: nvmlVgpuSchedulerSetParams_t__bindgen_ty_2::timeslice"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerSetParams_t__bindgen_ty_2, timeslice) - 0usize];
};

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuSchedulerSetParams_t"]
        [::core::mem::size_of::<nvmlVgpuSchedulerSetParams_t>() - 8usize];
    ["Alignment of nvmlVgpuSchedulerSetParams_t"]
        [::core::mem::align_of::<nvmlVgpuSchedulerSetParams_t>() - 4usize];
    ["Offset of field: nvmlVgpuSchedulerSetParams_t::vgpuSchedDataWithARR"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerSetParams_t, vgpuSchedDataWithARR) - 0usize];
    ["Offset of field: nvmlVgpuSchedulerSetParams_t::vgpuSchedData"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerSetParams_t, vgpuSchedData) - 0usize];
};

impl Default for nvmlVgpuSchedulerSetParams_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct nvmlVgpuSchedulerSetState_t {
    pub schedulerPolicy: u32,
    pub enableARRMode: u32,
    pub schedulerParams: nvmlVgpuSchedulerSetParams_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuSchedulerSetState_st"]
        [::core::mem::size_of::<nvmlVgpuSchedulerSetState_t>() - 16usize];
    ["Alignment of nvmlVgpuSchedulerSetState_st"]
        [::core::mem::align_of::<nvmlVgpuSchedulerSetState_t>() - 4usize];
    ["Offset of field: nvmlVgpuSchedulerSetState_st::schedulerPolicy"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerSetState_t, schedulerPolicy) - 0usize];
    ["Offset of field: nvmlVgpuSchedulerSetState_st::enableARRMode"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerSetState_t, enableARRMode) - 4usize];
    ["Offset of field: nvmlVgpuSchedulerSetState_st::schedulerParams"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerSetState_t, schedulerParams) - 8usize];
};

impl Default for nvmlVgpuSchedulerSetState_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuSchedulerCapabilities_t {
    pub supportedSchedulers: [u32; 3],
    pub maxTimeslice: u32,
    pub minTimeslice: u32,
    pub isArrModeSupported: u32,
    pub maxFrequencyForARR: u32,
    pub minFrequencyForARR: u32,
    pub maxAvgFactorForARR: u32,
    pub minAvgFactorForARR: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuSchedulerCapabilities_st"]
        [::core::mem::size_of::<nvmlVgpuSchedulerCapabilities_t>() - 40usize];
    ["Alignment of nvmlVgpuSchedulerCapabilities_st"]
        [::core::mem::align_of::<nvmlVgpuSchedulerCapabilities_t>() - 4usize];
    ["Offset of field: nvmlVgpuSchedulerCapabilities_st::supportedSchedulers"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerCapabilities_t, supportedSchedulers) - 0usize];
    ["Offset of field: nvmlVgpuSchedulerCapabilities_st::maxTimeslice"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerCapabilities_t, maxTimeslice) - 12usize];
    ["Offset of field: nvmlVgpuSchedulerCapabilities_st::minTimeslice"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerCapabilities_t, minTimeslice) - 16usize];
    ["Offset of field: nvmlVgpuSchedulerCapabilities_st::isArrModeSupported"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerCapabilities_t, isArrModeSupported) - 20usize];
    ["Offset of field: nvmlVgpuSchedulerCapabilities_st::maxFrequencyForARR"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerCapabilities_t, maxFrequencyForARR) - 24usize];
    ["Offset of field: nvmlVgpuSchedulerCapabilities_st::minFrequencyForARR"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerCapabilities_t, minFrequencyForARR) - 28usize];
    ["Offset of field: nvmlVgpuSchedulerCapabilities_st::maxAvgFactorForARR"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerCapabilities_t, maxAvgFactorForARR) - 32usize];
    ["Offset of field: nvmlVgpuSchedulerCapabilities_st::minAvgFactorForARR"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerCapabilities_t, minAvgFactorForARR) - 36usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuLicenseExpiry_t {
    pub year: u32,
    pub month: u16,
    pub day: u16,
    pub hour: u16,
    pub min: u16,
    pub sec: u16,
    pub status: u8,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuLicenseExpiry_st"]
        [::core::mem::size_of::<nvmlVgpuLicenseExpiry_t>() - 16usize];
    ["Alignment of nvmlVgpuLicenseExpiry_st"]
        [::core::mem::align_of::<nvmlVgpuLicenseExpiry_t>() - 4usize];
    ["Offset of field: nvmlVgpuLicenseExpiry_st::year"]
        [::core::mem::offset_of!(nvmlVgpuLicenseExpiry_t, year) - 0usize];
    ["Offset of field: nvmlVgpuLicenseExpiry_st::month"]
        [::core::mem::offset_of!(nvmlVgpuLicenseExpiry_t, month) - 4usize];
    ["Offset of field: nvmlVgpuLicenseExpiry_st::day"]
        [::core::mem::offset_of!(nvmlVgpuLicenseExpiry_t, day) - 6usize];
    ["Offset of field: nvmlVgpuLicenseExpiry_st::hour"]
        [::core::mem::offset_of!(nvmlVgpuLicenseExpiry_t, hour) - 8usize];
    ["Offset of field: nvmlVgpuLicenseExpiry_st::min"]
        [::core::mem::offset_of!(nvmlVgpuLicenseExpiry_t, min) - 10usize];
    ["Offset of field: nvmlVgpuLicenseExpiry_st::sec"]
        [::core::mem::offset_of!(nvmlVgpuLicenseExpiry_t, sec) - 12usize];
    ["Offset of field: nvmlVgpuLicenseExpiry_st::status"]
        [::core::mem::offset_of!(nvmlVgpuLicenseExpiry_t, status) - 14usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuLicenseInfo_t {
    pub isLicensed: u8,
    pub licenseExpiry: nvmlVgpuLicenseExpiry_t,
    pub currentState: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuLicenseInfo_st"][::core::mem::size_of::<nvmlVgpuLicenseInfo_t>() - 24usize];
    ["Alignment of nvmlVgpuLicenseInfo_st"]
        [::core::mem::align_of::<nvmlVgpuLicenseInfo_t>() - 4usize];
    ["Offset of field: nvmlVgpuLicenseInfo_st::isLicensed"]
        [::core::mem::offset_of!(nvmlVgpuLicenseInfo_t, isLicensed) - 0usize];
    ["Offset of field: nvmlVgpuLicenseInfo_st::licenseExpiry"]
        [::core::mem::offset_of!(nvmlVgpuLicenseInfo_t, licenseExpiry) - 4usize];
    ["Offset of field: nvmlVgpuLicenseInfo_st::currentState"]
        [::core::mem::offset_of!(nvmlVgpuLicenseInfo_t, currentState) - 20usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGridLicenseExpiry_t {
    pub year: u32,
    pub month: u16,
    pub day: u16,
    pub hour: u16,
    pub min: u16,
    pub sec: u16,
    pub status: u8,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGridLicenseExpiry_st"]
        [::core::mem::size_of::<nvmlGridLicenseExpiry_t>() - 16usize];
    ["Alignment of nvmlGridLicenseExpiry_st"]
        [::core::mem::align_of::<nvmlGridLicenseExpiry_t>() - 4usize];
    ["Offset of field: nvmlGridLicenseExpiry_st::year"]
        [::core::mem::offset_of!(nvmlGridLicenseExpiry_t, year) - 0usize];
    ["Offset of field: nvmlGridLicenseExpiry_st::month"]
        [::core::mem::offset_of!(nvmlGridLicenseExpiry_t, month) - 4usize];
    ["Offset of field: nvmlGridLicenseExpiry_st::day"]
        [::core::mem::offset_of!(nvmlGridLicenseExpiry_t, day) - 6usize];
    ["Offset of field: nvmlGridLicenseExpiry_st::hour"]
        [::core::mem::offset_of!(nvmlGridLicenseExpiry_t, hour) - 8usize];
    ["Offset of field: nvmlGridLicenseExpiry_st::min"]
        [::core::mem::offset_of!(nvmlGridLicenseExpiry_t, min) - 10usize];
    ["Offset of field: nvmlGridLicenseExpiry_st::sec"]
        [::core::mem::offset_of!(nvmlGridLicenseExpiry_t, sec) - 12usize];
    ["Offset of field: nvmlGridLicenseExpiry_st::status"]
        [::core::mem::offset_of!(nvmlGridLicenseExpiry_t, status) - 14usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGridLicensableFeature_t {
    pub featureCode: nvmlGridLicenseFeatureCode_t,
    pub featureState: u32,
    pub licenseInfo: [c_char; 128],
    pub productName: [c_char; 128],
    pub featureEnabled: u32,
    pub licenseExpiry: nvmlGridLicenseExpiry_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGridLicensableFeature_st"]
        [::core::mem::size_of::<nvmlGridLicensableFeature_t>() - 284usize];
    ["Alignment of nvmlGridLicensableFeature_st"]
        [::core::mem::align_of::<nvmlGridLicensableFeature_t>() - 4usize];
    ["Offset of field: nvmlGridLicensableFeature_st::featureCode"]
        [::core::mem::offset_of!(nvmlGridLicensableFeature_t, featureCode) - 0usize];
    ["Offset of field: nvmlGridLicensableFeature_st::featureState"]
        [::core::mem::offset_of!(nvmlGridLicensableFeature_t, featureState) - 4usize];
    ["Offset of field: nvmlGridLicensableFeature_st::licenseInfo"]
        [::core::mem::offset_of!(nvmlGridLicensableFeature_t, licenseInfo) - 8usize];
    ["Offset of field: nvmlGridLicensableFeature_st::productName"]
        [::core::mem::offset_of!(nvmlGridLicensableFeature_t, productName) - 136usize];
    ["Offset of field: nvmlGridLicensableFeature_st::featureEnabled"]
        [::core::mem::offset_of!(nvmlGridLicensableFeature_t, featureEnabled) - 264usize];
    ["Offset of field: nvmlGridLicensableFeature_st::licenseExpiry"]
        [::core::mem::offset_of!(nvmlGridLicensableFeature_t, licenseExpiry) - 268usize];
};

impl Default for nvmlGridLicensableFeature_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGridLicensableFeatures_t {
    pub isGridLicenseSupported: i32,
    pub licensableFeaturesCount: u32,
    pub gridLicensableFeatures: [nvmlGridLicensableFeature_t; 3],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGridLicensableFeatures_st"]
        [::core::mem::size_of::<nvmlGridLicensableFeatures_t>() - 860usize];
    ["Alignment of nvmlGridLicensableFeatures_st"]
        [::core::mem::align_of::<nvmlGridLicensableFeatures_t>() - 4usize];
    ["Offset of field: nvmlGridLicensableFeatures_st::isGridLicenseSupported"]
        [::core::mem::offset_of!(nvmlGridLicensableFeatures_t, isGridLicenseSupported) - 0usize];
    ["Offset of field: nvmlGridLicensableFeatures_st::licensableFeaturesCount"]
        [::core::mem::offset_of!(nvmlGridLicensableFeatures_t, licensableFeaturesCount) - 4usize];
    ["Offset of field: nvmlGridLicensableFeatures_st::gridLicensableFeatures"]
        [::core::mem::offset_of!(nvmlGridLicensableFeatures_t, gridLicensableFeatures) - 8usize];
};

impl Default for nvmlGridLicensableFeatures_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl nvmlDeviceGpuRecoveryAction_s {
    pub const NVML_GPU_RECOVERY_ACTION_NONE: nvmlDeviceGpuRecoveryAction_s =
        nvmlDeviceGpuRecoveryAction_s(0);
    pub const NVML_GPU_RECOVERY_ACTION_GPU_RESET: nvmlDeviceGpuRecoveryAction_s =
        nvmlDeviceGpuRecoveryAction_s(1);
    pub const NVML_GPU_RECOVERY_ACTION_NODE_REBOOT: nvmlDeviceGpuRecoveryAction_s =
        nvmlDeviceGpuRecoveryAction_s(2);
    pub const NVML_GPU_RECOVERY_ACTION_DRAIN_P2P: nvmlDeviceGpuRecoveryAction_s =
        nvmlDeviceGpuRecoveryAction_s(3);
    pub const NVML_GPU_RECOVERY_ACTION_DRAIN_AND_RESET: nvmlDeviceGpuRecoveryAction_s =
        nvmlDeviceGpuRecoveryAction_s(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlDeviceGpuRecoveryAction_s(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuTypeIdInfo_t {
    pub version: u32,
    pub vgpuCount: u32,
    pub vgpuTypeIds: *mut nvmlVgpuTypeId_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuTypeIdInfo_v1_t"][::core::mem::size_of::<nvmlVgpuTypeIdInfo_t>() - 16usize];
    ["Alignment of nvmlVgpuTypeIdInfo_v1_t"]
        [::core::mem::align_of::<nvmlVgpuTypeIdInfo_t>() - 8usize];
    ["Offset of field: nvmlVgpuTypeIdInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlVgpuTypeIdInfo_t, version) - 0usize];
    ["Offset of field: nvmlVgpuTypeIdInfo_v1_t::vgpuCount"]
        [::core::mem::offset_of!(nvmlVgpuTypeIdInfo_t, vgpuCount) - 4usize];
    ["Offset of field: nvmlVgpuTypeIdInfo_v1_t::vgpuTypeIds"]
        [::core::mem::offset_of!(nvmlVgpuTypeIdInfo_t, vgpuTypeIds) - 8usize];
};

impl Default for nvmlVgpuTypeIdInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuTypeMaxInstance_t {
    pub version: u32,
    pub vgpuTypeId: nvmlVgpuTypeId_t,
    pub maxInstancePerGI: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuTypeMaxInstance_v1_t"]
        [::core::mem::size_of::<nvmlVgpuTypeMaxInstance_t>() - 12usize];
    ["Alignment of nvmlVgpuTypeMaxInstance_v1_t"]
        [::core::mem::align_of::<nvmlVgpuTypeMaxInstance_t>() - 4usize];
    ["Offset of field: nvmlVgpuTypeMaxInstance_v1_t::version"]
        [::core::mem::offset_of!(nvmlVgpuTypeMaxInstance_t, version) - 0usize];
    ["Offset of field: nvmlVgpuTypeMaxInstance_v1_t::vgpuTypeId"]
        [::core::mem::offset_of!(nvmlVgpuTypeMaxInstance_t, vgpuTypeId) - 4usize];
    ["Offset of field: nvmlVgpuTypeMaxInstance_v1_t::maxInstancePerGI"]
        [::core::mem::offset_of!(nvmlVgpuTypeMaxInstance_t, maxInstancePerGI) - 8usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlActiveVgpuInstanceInfo_t {
    pub version: u32,
    pub vgpuCount: u32,
    pub vgpuInstances: *mut nvmlVgpuInstance_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlActiveVgpuInstanceInfo_v1_t"]
        [::core::mem::size_of::<nvmlActiveVgpuInstanceInfo_t>() - 16usize];
    ["Alignment of nvmlActiveVgpuInstanceInfo_v1_t"]
        [::core::mem::align_of::<nvmlActiveVgpuInstanceInfo_t>() - 8usize];
    ["Offset of field: nvmlActiveVgpuInstanceInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlActiveVgpuInstanceInfo_t, version) - 0usize];
    ["Offset of field: nvmlActiveVgpuInstanceInfo_v1_t::vgpuCount"]
        [::core::mem::offset_of!(nvmlActiveVgpuInstanceInfo_t, vgpuCount) - 4usize];
    ["Offset of field: nvmlActiveVgpuInstanceInfo_v1_t::vgpuInstances"]
        [::core::mem::offset_of!(nvmlActiveVgpuInstanceInfo_t, vgpuInstances) - 8usize];
};

impl Default for nvmlActiveVgpuInstanceInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct nvmlVgpuSchedulerState_t {
    pub version: u32,
    pub engineId: u32,
    pub schedulerPolicy: u32,
    pub enableARRMode: u32,
    pub schedulerParams: nvmlVgpuSchedulerSetParams_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuSchedulerState_v1_t"]
        [::core::mem::size_of::<nvmlVgpuSchedulerState_t>() - 24usize];
    ["Alignment of nvmlVgpuSchedulerState_v1_t"]
        [::core::mem::align_of::<nvmlVgpuSchedulerState_t>() - 4usize];
    ["Offset of field: nvmlVgpuSchedulerState_v1_t::version"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerState_t, version) - 0usize];
    ["Offset of field: nvmlVgpuSchedulerState_v1_t::engineId"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerState_t, engineId) - 4usize];
    ["Offset of field: nvmlVgpuSchedulerState_v1_t::schedulerPolicy"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerState_t, schedulerPolicy) - 8usize];
    ["Offset of field: nvmlVgpuSchedulerState_v1_t::enableARRMode"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerState_t, enableARRMode) - 12usize];
    ["Offset of field: nvmlVgpuSchedulerState_v1_t::schedulerParams"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerState_t, schedulerParams) - 16usize];
};

impl Default for nvmlVgpuSchedulerState_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct nvmlVgpuSchedulerStateInfo_t {
    pub version: u32,
    pub engineId: u32,
    pub schedulerPolicy: u32,
    pub arrMode: u32,
    pub schedulerParams: nvmlVgpuSchedulerParams_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuSchedulerStateInfo_v1_t"]
        [::core::mem::size_of::<nvmlVgpuSchedulerStateInfo_t>() - 24usize];
    ["Alignment of nvmlVgpuSchedulerStateInfo_v1_t"]
        [::core::mem::align_of::<nvmlVgpuSchedulerStateInfo_t>() - 4usize];
    ["Offset of field: nvmlVgpuSchedulerStateInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerStateInfo_t, version) - 0usize];
    ["Offset of field: nvmlVgpuSchedulerStateInfo_v1_t::engineId"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerStateInfo_t, engineId) - 4usize];
    ["Offset of field: nvmlVgpuSchedulerStateInfo_v1_t::schedulerPolicy"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerStateInfo_t, schedulerPolicy) - 8usize];
    ["Offset of field: nvmlVgpuSchedulerStateInfo_v1_t::arrMode"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerStateInfo_t, arrMode) - 12usize];
    ["Offset of field: nvmlVgpuSchedulerStateInfo_v1_t::schedulerParams"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerStateInfo_t, schedulerParams) - 16usize];
};

impl Default for nvmlVgpuSchedulerStateInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct nvmlVgpuSchedulerLogInfo_t {
    pub version: u32,
    pub engineId: u32,
    pub schedulerPolicy: u32,
    pub arrMode: u32,
    pub schedulerParams: nvmlVgpuSchedulerParams_t,
    pub entriesCount: u32,
    pub logEntries: [nvmlVgpuSchedulerLogEntry_t; 200],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuSchedulerLogInfo_v1_t"]
        [::core::mem::size_of::<nvmlVgpuSchedulerLogInfo_t>() - 9632usize];
    ["Alignment of nvmlVgpuSchedulerLogInfo_v1_t"]
        [::core::mem::align_of::<nvmlVgpuSchedulerLogInfo_t>() - 8usize];
    ["Offset of field: nvmlVgpuSchedulerLogInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLogInfo_t, version) - 0usize];
    ["Offset of field: nvmlVgpuSchedulerLogInfo_v1_t::engineId"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLogInfo_t, engineId) - 4usize];
    ["Offset of field: nvmlVgpuSchedulerLogInfo_v1_t::schedulerPolicy"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLogInfo_t, schedulerPolicy) - 8usize];
    ["Offset of field: nvmlVgpuSchedulerLogInfo_v1_t::arrMode"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLogInfo_t, arrMode) - 12usize];
    ["Offset of field: nvmlVgpuSchedulerLogInfo_v1_t::schedulerParams"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLogInfo_t, schedulerParams) - 16usize];
    ["Offset of field: nvmlVgpuSchedulerLogInfo_v1_t::entriesCount"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLogInfo_t, entriesCount) - 24usize];
    ["Offset of field: nvmlVgpuSchedulerLogInfo_v1_t::logEntries"]
        [::core::mem::offset_of!(nvmlVgpuSchedulerLogInfo_t, logEntries) - 32usize];
};

impl Default for nvmlVgpuSchedulerLogInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuCreatablePlacementInfo_t {
    pub version: u32,
    pub vgpuTypeId: nvmlVgpuTypeId_t,
    pub count: u32,
    pub placementIds: *mut u32,
    pub placementSize: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuCreatablePlacementInfo_v1_t"]
        [::core::mem::size_of::<nvmlVgpuCreatablePlacementInfo_t>() - 32usize];
    ["Alignment of nvmlVgpuCreatablePlacementInfo_v1_t"]
        [::core::mem::align_of::<nvmlVgpuCreatablePlacementInfo_t>() - 8usize];
    ["Offset of field: nvmlVgpuCreatablePlacementInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlVgpuCreatablePlacementInfo_t, version) - 0usize];
    ["Offset of field: nvmlVgpuCreatablePlacementInfo_v1_t::vgpuTypeId"]
        [::core::mem::offset_of!(nvmlVgpuCreatablePlacementInfo_t, vgpuTypeId) - 4usize];
    ["Offset of field: nvmlVgpuCreatablePlacementInfo_v1_t::count"]
        [::core::mem::offset_of!(nvmlVgpuCreatablePlacementInfo_t, count) - 8usize];
    ["Offset of field: nvmlVgpuCreatablePlacementInfo_v1_t::placementIds"]
        [::core::mem::offset_of!(nvmlVgpuCreatablePlacementInfo_t, placementIds) - 16usize];
    ["Offset of field: nvmlVgpuCreatablePlacementInfo_v1_t::placementSize"]
        [::core::mem::offset_of!(nvmlVgpuCreatablePlacementInfo_t, placementSize) - 24usize];
};

impl Default for nvmlVgpuCreatablePlacementInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlNvLinkPowerThres_t {
    pub lowPwrThreshold: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlNvLinkPowerThres_st"][::core::mem::size_of::<nvmlNvLinkPowerThres_t>() - 4usize];
    ["Alignment of nvmlNvLinkPowerThres_st"]
        [::core::mem::align_of::<nvmlNvLinkPowerThres_t>() - 4usize];
    ["Offset of field: nvmlNvLinkPowerThres_st::lowPwrThreshold"]
        [::core::mem::offset_of!(nvmlNvLinkPowerThres_t, lowPwrThreshold) - 0usize];
};

#[repr(C)]
#[derive(Copy, Clone)]
pub struct nvmlFieldValue_t {
    pub fieldId: u32,
    pub scopeId: u32,
    pub timestamp: i64,
    pub latencyUsec: i64,
    pub valueType: nvmlValueType_t,
    pub nvmlReturn: nvmlReturn_t,
    pub value: nvmlValue_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlFieldValue_st"][::core::mem::size_of::<nvmlFieldValue_t>() - 40usize];
    ["Alignment of nvmlFieldValue_st"][::core::mem::align_of::<nvmlFieldValue_t>() - 8usize];
    ["Offset of field: nvmlFieldValue_st::fieldId"]
        [::core::mem::offset_of!(nvmlFieldValue_t, fieldId) - 0usize];
    ["Offset of field: nvmlFieldValue_st::scopeId"]
        [::core::mem::offset_of!(nvmlFieldValue_t, scopeId) - 4usize];
    ["Offset of field: nvmlFieldValue_st::timestamp"]
        [::core::mem::offset_of!(nvmlFieldValue_t, timestamp) - 8usize];
    ["Offset of field: nvmlFieldValue_st::latencyUsec"]
        [::core::mem::offset_of!(nvmlFieldValue_t, latencyUsec) - 16usize];
    ["Offset of field: nvmlFieldValue_st::valueType"]
        [::core::mem::offset_of!(nvmlFieldValue_t, valueType) - 24usize];
    ["Offset of field: nvmlFieldValue_st::nvmlReturn"]
        [::core::mem::offset_of!(nvmlFieldValue_t, nvmlReturn) - 28usize];
    ["Offset of field: nvmlFieldValue_st::value"]
        [::core::mem::offset_of!(nvmlFieldValue_t, value) - 32usize];
};

impl Default for nvmlFieldValue_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug)]
pub struct nvmlUnit_st {
    _unused: [u8; 0],
}

pub type nvmlUnit_t = *mut nvmlUnit_st;

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlHwbcEntry_t {
    pub hwbcId: u32,
    pub firmwareVersion: [c_char; 32],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlHwbcEntry_st"][::core::mem::size_of::<nvmlHwbcEntry_t>() - 36usize];
    ["Alignment of nvmlHwbcEntry_st"][::core::mem::align_of::<nvmlHwbcEntry_t>() - 4usize];
    ["Offset of field: nvmlHwbcEntry_st::hwbcId"]
        [::core::mem::offset_of!(nvmlHwbcEntry_t, hwbcId) - 0usize];
    ["Offset of field: nvmlHwbcEntry_st::firmwareVersion"]
        [::core::mem::offset_of!(nvmlHwbcEntry_t, firmwareVersion) - 4usize];
};

impl nvmlFanState_t {
    pub const NVML_FAN_NORMAL: nvmlFanState_t = nvmlFanState_t(0);
    pub const NVML_FAN_FAILED: nvmlFanState_t = nvmlFanState_t(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlFanState_t(pub u32);

impl nvmlLedColor_t {
    pub const NVML_LED_COLOR_GREEN: nvmlLedColor_t = nvmlLedColor_t(0);
    pub const NVML_LED_COLOR_AMBER: nvmlLedColor_t = nvmlLedColor_t(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlLedColor_t(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlLedState_t {
    pub cause: [c_char; 256],
    pub color: nvmlLedColor_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlLedState_st"][::core::mem::size_of::<nvmlLedState_t>() - 260usize];
    ["Alignment of nvmlLedState_st"][::core::mem::align_of::<nvmlLedState_t>() - 4usize];
    ["Offset of field: nvmlLedState_st::cause"]
        [::core::mem::offset_of!(nvmlLedState_t, cause) - 0usize];
    ["Offset of field: nvmlLedState_st::color"]
        [::core::mem::offset_of!(nvmlLedState_t, color) - 256usize];
};

impl Default for nvmlLedState_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlUnitInfo_t {
    pub name: [c_char; 96],
    pub id: [c_char; 96],
    pub serial: [c_char; 96],
    pub firmwareVersion: [c_char; 96],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlUnitInfo_st"][::core::mem::size_of::<nvmlUnitInfo_t>() - 384usize];
    ["Alignment of nvmlUnitInfo_st"][::core::mem::align_of::<nvmlUnitInfo_t>() - 1usize];
    ["Offset of field: nvmlUnitInfo_st::name"]
        [::core::mem::offset_of!(nvmlUnitInfo_t, name) - 0usize];
    ["Offset of field: nvmlUnitInfo_st::id"][::core::mem::offset_of!(nvmlUnitInfo_t, id) - 96usize];
    ["Offset of field: nvmlUnitInfo_st::serial"]
        [::core::mem::offset_of!(nvmlUnitInfo_t, serial) - 192usize];
    ["Offset of field: nvmlUnitInfo_st::firmwareVersion"]
        [::core::mem::offset_of!(nvmlUnitInfo_t, firmwareVersion) - 288usize];
};

impl Default for nvmlUnitInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlPSUInfo_t {
    pub state: [c_char; 256],
    pub current: u32,
    pub voltage: u32,
    pub power: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlPSUInfo_st"][::core::mem::size_of::<nvmlPSUInfo_t>() - 268usize];
    ["Alignment of nvmlPSUInfo_st"][::core::mem::align_of::<nvmlPSUInfo_t>() - 4usize];
    ["Offset of field: nvmlPSUInfo_st::state"]
        [::core::mem::offset_of!(nvmlPSUInfo_t, state) - 0usize];
    ["Offset of field: nvmlPSUInfo_st::current"]
        [::core::mem::offset_of!(nvmlPSUInfo_t, current) - 256usize];
    ["Offset of field: nvmlPSUInfo_st::voltage"]
        [::core::mem::offset_of!(nvmlPSUInfo_t, voltage) - 260usize];
    ["Offset of field: nvmlPSUInfo_st::power"]
        [::core::mem::offset_of!(nvmlPSUInfo_t, power) - 264usize];
};

impl Default for nvmlPSUInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlUnitFanInfo_t {
    pub speed: u32,
    pub state: nvmlFanState_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlUnitFanInfo_st"][::core::mem::size_of::<nvmlUnitFanInfo_t>() - 8usize];
    ["Alignment of nvmlUnitFanInfo_st"][::core::mem::align_of::<nvmlUnitFanInfo_t>() - 4usize];
    ["Offset of field: nvmlUnitFanInfo_st::speed"]
        [::core::mem::offset_of!(nvmlUnitFanInfo_t, speed) - 0usize];
    ["Offset of field: nvmlUnitFanInfo_st::state"]
        [::core::mem::offset_of!(nvmlUnitFanInfo_t, state) - 4usize];
};

impl Default for nvmlUnitFanInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlUnitFanSpeeds_t {
    pub fans: [nvmlUnitFanInfo_t; 24],
    pub count: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlUnitFanSpeeds_st"][::core::mem::size_of::<nvmlUnitFanSpeeds_t>() - 196usize];
    ["Alignment of nvmlUnitFanSpeeds_st"][::core::mem::align_of::<nvmlUnitFanSpeeds_t>() - 4usize];
    ["Offset of field: nvmlUnitFanSpeeds_st::fans"]
        [::core::mem::offset_of!(nvmlUnitFanSpeeds_t, fans) - 0usize];
    ["Offset of field: nvmlUnitFanSpeeds_st::count"]
        [::core::mem::offset_of!(nvmlUnitFanSpeeds_t, count) - 192usize];
};

impl Default for nvmlUnitFanSpeeds_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug)]
pub struct nvmlEventSet_st {
    _unused: [u8; 0],
}

pub type nvmlEventSet_t = *mut nvmlEventSet_st;

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlEventData_t {
    pub device: nvmlDevice_t,
    pub eventType: u64,
    pub eventData: u64,
    pub gpuInstanceId: u32,
    pub computeInstanceId: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlEventData_st"][::core::mem::size_of::<nvmlEventData_t>() - 32usize];
    ["Alignment of nvmlEventData_st"][::core::mem::align_of::<nvmlEventData_t>() - 8usize];
    ["Offset of field: nvmlEventData_st::device"]
        [::core::mem::offset_of!(nvmlEventData_t, device) - 0usize];
    ["Offset of field: nvmlEventData_st::eventType"]
        [::core::mem::offset_of!(nvmlEventData_t, eventType) - 8usize];
    ["Offset of field: nvmlEventData_st::eventData"]
        [::core::mem::offset_of!(nvmlEventData_t, eventData) - 16usize];
    ["Offset of field: nvmlEventData_st::gpuInstanceId"]
        [::core::mem::offset_of!(nvmlEventData_t, gpuInstanceId) - 24usize];
    ["Offset of field: nvmlEventData_st::computeInstanceId"]
        [::core::mem::offset_of!(nvmlEventData_t, computeInstanceId) - 28usize];
};

impl Default for nvmlEventData_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug)]
pub struct nvmlSystemEventSet_st {
    _unused: [u8; 0],
}

pub type nvmlSystemEventSet_t = *mut nvmlSystemEventSet_st;

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlSystemEventSetCreateRequest_t {
    pub version: u32,
    pub set: nvmlSystemEventSet_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlSystemEventSetCreateRequest_v1_t"]
        [::core::mem::size_of::<nvmlSystemEventSetCreateRequest_t>() - 16usize];
    ["Alignment of nvmlSystemEventSetCreateRequest_v1_t"]
        [::core::mem::align_of::<nvmlSystemEventSetCreateRequest_t>() - 8usize];
    ["Offset of field: nvmlSystemEventSetCreateRequest_v1_t::version"]
        [::core::mem::offset_of!(nvmlSystemEventSetCreateRequest_t, version) - 0usize];
    ["Offset of field: nvmlSystemEventSetCreateRequest_v1_t::set"]
        [::core::mem::offset_of!(nvmlSystemEventSetCreateRequest_t, set) - 8usize];
};

impl Default for nvmlSystemEventSetCreateRequest_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlSystemEventSetFreeRequest_t {
    pub version: u32,
    pub set: nvmlSystemEventSet_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlSystemEventSetFreeRequest_v1_t"]
        [::core::mem::size_of::<nvmlSystemEventSetFreeRequest_t>() - 16usize];
    ["Alignment of nvmlSystemEventSetFreeRequest_v1_t"]
        [::core::mem::align_of::<nvmlSystemEventSetFreeRequest_t>() - 8usize];
    ["Offset of field: nvmlSystemEventSetFreeRequest_v1_t::version"]
        [::core::mem::offset_of!(nvmlSystemEventSetFreeRequest_t, version) - 0usize];
    ["Offset of field: nvmlSystemEventSetFreeRequest_v1_t::set"]
        [::core::mem::offset_of!(nvmlSystemEventSetFreeRequest_t, set) - 8usize];
};

impl Default for nvmlSystemEventSetFreeRequest_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlSystemRegisterEventRequest_t {
    pub version: u32,
    pub eventTypes: u64,
    pub set: nvmlSystemEventSet_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlSystemRegisterEventRequest_v1_t"]
        [::core::mem::size_of::<nvmlSystemRegisterEventRequest_t>() - 24usize];
    ["Alignment of nvmlSystemRegisterEventRequest_v1_t"]
        [::core::mem::align_of::<nvmlSystemRegisterEventRequest_t>() - 8usize];
    ["Offset of field: nvmlSystemRegisterEventRequest_v1_t::version"]
        [::core::mem::offset_of!(nvmlSystemRegisterEventRequest_t, version) - 0usize];
    ["Offset of field: nvmlSystemRegisterEventRequest_v1_t::eventTypes"]
        [::core::mem::offset_of!(nvmlSystemRegisterEventRequest_t, eventTypes) - 8usize];
    ["Offset of field: nvmlSystemRegisterEventRequest_v1_t::set"]
        [::core::mem::offset_of!(nvmlSystemRegisterEventRequest_t, set) - 16usize];
};

impl Default for nvmlSystemRegisterEventRequest_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlSystemEventData_v1_t {
    pub eventType: u64,
    pub gpuId: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlSystemEventData_v1_t"]
        [::core::mem::size_of::<nvmlSystemEventData_v1_t>() - 16usize];
    ["Alignment of nvmlSystemEventData_v1_t"]
        [::core::mem::align_of::<nvmlSystemEventData_v1_t>() - 8usize];
    ["Offset of field: nvmlSystemEventData_v1_t::eventType"]
        [::core::mem::offset_of!(nvmlSystemEventData_v1_t, eventType) - 0usize];
    ["Offset of field: nvmlSystemEventData_v1_t::gpuId"]
        [::core::mem::offset_of!(nvmlSystemEventData_v1_t, gpuId) - 8usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlSystemEventSetWaitRequest_t {
    pub version: u32,
    pub timeoutms: u32,
    pub set: nvmlSystemEventSet_t,
    pub data: *mut nvmlSystemEventData_v1_t,
    pub dataSize: u32,
    pub numEvent: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlSystemEventSetWaitRequest_v1_t"]
        [::core::mem::size_of::<nvmlSystemEventSetWaitRequest_t>() - 32usize];
    ["Alignment of nvmlSystemEventSetWaitRequest_v1_t"]
        [::core::mem::align_of::<nvmlSystemEventSetWaitRequest_t>() - 8usize];
    ["Offset of field: nvmlSystemEventSetWaitRequest_v1_t::version"]
        [::core::mem::offset_of!(nvmlSystemEventSetWaitRequest_t, version) - 0usize];
    ["Offset of field: nvmlSystemEventSetWaitRequest_v1_t::timeoutms"]
        [::core::mem::offset_of!(nvmlSystemEventSetWaitRequest_t, timeoutms) - 4usize];
    ["Offset of field: nvmlSystemEventSetWaitRequest_v1_t::set"]
        [::core::mem::offset_of!(nvmlSystemEventSetWaitRequest_t, set) - 8usize];
    ["Offset of field: nvmlSystemEventSetWaitRequest_v1_t::data"]
        [::core::mem::offset_of!(nvmlSystemEventSetWaitRequest_t, data) - 16usize];
    ["Offset of field: nvmlSystemEventSetWaitRequest_v1_t::dataSize"]
        [::core::mem::offset_of!(nvmlSystemEventSetWaitRequest_t, dataSize) - 24usize];
    ["Offset of field: nvmlSystemEventSetWaitRequest_v1_t::numEvent"]
        [::core::mem::offset_of!(nvmlSystemEventSetWaitRequest_t, numEvent) - 28usize];
};

impl Default for nvmlSystemEventSetWaitRequest_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlAccountingStats_t {
    pub gpuUtilization: u32,
    pub memoryUtilization: u32,
    pub maxMemoryUsage: u64,
    pub time: u64,
    pub startTime: u64,
    pub isRunning: u32,
    pub reserved: [u32; 5],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlAccountingStats_st"][::core::mem::size_of::<nvmlAccountingStats_t>() - 56usize];
    ["Alignment of nvmlAccountingStats_st"]
        [::core::mem::align_of::<nvmlAccountingStats_t>() - 8usize];
    ["Offset of field: nvmlAccountingStats_st::gpuUtilization"]
        [::core::mem::offset_of!(nvmlAccountingStats_t, gpuUtilization) - 0usize];
    ["Offset of field: nvmlAccountingStats_st::memoryUtilization"]
        [::core::mem::offset_of!(nvmlAccountingStats_t, memoryUtilization) - 4usize];
    ["Offset of field: nvmlAccountingStats_st::maxMemoryUsage"]
        [::core::mem::offset_of!(nvmlAccountingStats_t, maxMemoryUsage) - 8usize];
    ["Offset of field: nvmlAccountingStats_st::time"]
        [::core::mem::offset_of!(nvmlAccountingStats_t, time) - 16usize];
    ["Offset of field: nvmlAccountingStats_st::startTime"]
        [::core::mem::offset_of!(nvmlAccountingStats_t, startTime) - 24usize];
    ["Offset of field: nvmlAccountingStats_st::isRunning"]
        [::core::mem::offset_of!(nvmlAccountingStats_t, isRunning) - 32usize];
    ["Offset of field: nvmlAccountingStats_st::reserved"]
        [::core::mem::offset_of!(nvmlAccountingStats_t, reserved) - 36usize];
};

impl nvmlEncoderType_t {
    pub const NVML_ENCODER_QUERY_H264: nvmlEncoderType_t = nvmlEncoderType_t(0);
    pub const NVML_ENCODER_QUERY_HEVC: nvmlEncoderType_t = nvmlEncoderType_t(1);
    pub const NVML_ENCODER_QUERY_AV1: nvmlEncoderType_t = nvmlEncoderType_t(2);
    pub const NVML_ENCODER_QUERY_UNKNOWN: nvmlEncoderType_t = nvmlEncoderType_t(255);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlEncoderType_t(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlEncoderSessionInfo_t {
    pub sessionId: u32,
    pub pid: u32,
    pub vgpuInstance: nvmlVgpuInstance_t,
    pub codecType: nvmlEncoderType_t,
    pub hResolution: u32,
    pub vResolution: u32,
    pub averageFps: u32,
    pub averageLatency: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlEncoderSessionInfo_st"]
        [::core::mem::size_of::<nvmlEncoderSessionInfo_t>() - 32usize];
    ["Alignment of nvmlEncoderSessionInfo_st"]
        [::core::mem::align_of::<nvmlEncoderSessionInfo_t>() - 4usize];
    ["Offset of field: nvmlEncoderSessionInfo_st::sessionId"]
        [::core::mem::offset_of!(nvmlEncoderSessionInfo_t, sessionId) - 0usize];
    ["Offset of field: nvmlEncoderSessionInfo_st::pid"]
        [::core::mem::offset_of!(nvmlEncoderSessionInfo_t, pid) - 4usize];
    ["Offset of field: nvmlEncoderSessionInfo_st::vgpuInstance"]
        [::core::mem::offset_of!(nvmlEncoderSessionInfo_t, vgpuInstance) - 8usize];
    ["Offset of field: nvmlEncoderSessionInfo_st::codecType"]
        [::core::mem::offset_of!(nvmlEncoderSessionInfo_t, codecType) - 12usize];
    ["Offset of field: nvmlEncoderSessionInfo_st::hResolution"]
        [::core::mem::offset_of!(nvmlEncoderSessionInfo_t, hResolution) - 16usize];
    ["Offset of field: nvmlEncoderSessionInfo_st::vResolution"]
        [::core::mem::offset_of!(nvmlEncoderSessionInfo_t, vResolution) - 20usize];
    ["Offset of field: nvmlEncoderSessionInfo_st::averageFps"]
        [::core::mem::offset_of!(nvmlEncoderSessionInfo_t, averageFps) - 24usize];
    ["Offset of field: nvmlEncoderSessionInfo_st::averageLatency"]
        [::core::mem::offset_of!(nvmlEncoderSessionInfo_t, averageLatency) - 28usize];
};

impl Default for nvmlEncoderSessionInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl nvmlFBCSessionType_t {
    pub const NVML_FBC_SESSION_TYPE_UNKNOWN: nvmlFBCSessionType_t = nvmlFBCSessionType_t(0);
    pub const NVML_FBC_SESSION_TYPE_TOSYS: nvmlFBCSessionType_t = nvmlFBCSessionType_t(1);
    pub const NVML_FBC_SESSION_TYPE_CUDA: nvmlFBCSessionType_t = nvmlFBCSessionType_t(2);
    pub const NVML_FBC_SESSION_TYPE_VID: nvmlFBCSessionType_t = nvmlFBCSessionType_t(3);
    pub const NVML_FBC_SESSION_TYPE_HWENC: nvmlFBCSessionType_t = nvmlFBCSessionType_t(4);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlFBCSessionType_t(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlFBCStats_t {
    pub sessionsCount: u32,
    pub averageFPS: u32,
    pub averageLatency: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlFBCStats_st"][::core::mem::size_of::<nvmlFBCStats_t>() - 12usize];
    ["Alignment of nvmlFBCStats_st"][::core::mem::align_of::<nvmlFBCStats_t>() - 4usize];
    ["Offset of field: nvmlFBCStats_st::sessionsCount"]
        [::core::mem::offset_of!(nvmlFBCStats_t, sessionsCount) - 0usize];
    ["Offset of field: nvmlFBCStats_st::averageFPS"]
        [::core::mem::offset_of!(nvmlFBCStats_t, averageFPS) - 4usize];
    ["Offset of field: nvmlFBCStats_st::averageLatency"]
        [::core::mem::offset_of!(nvmlFBCStats_t, averageLatency) - 8usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlFBCSessionInfo_t {
    pub sessionId: u32,
    pub pid: u32,
    pub vgpuInstance: nvmlVgpuInstance_t,
    pub displayOrdinal: u32,
    pub sessionType: nvmlFBCSessionType_t,
    pub sessionFlags: u32,
    pub hMaxResolution: u32,
    pub vMaxResolution: u32,
    pub hResolution: u32,
    pub vResolution: u32,
    pub averageFPS: u32,
    pub averageLatency: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlFBCSessionInfo_st"][::core::mem::size_of::<nvmlFBCSessionInfo_t>() - 48usize];
    ["Alignment of nvmlFBCSessionInfo_st"]
        [::core::mem::align_of::<nvmlFBCSessionInfo_t>() - 4usize];
    ["Offset of field: nvmlFBCSessionInfo_st::sessionId"]
        [::core::mem::offset_of!(nvmlFBCSessionInfo_t, sessionId) - 0usize];
    ["Offset of field: nvmlFBCSessionInfo_st::pid"]
        [::core::mem::offset_of!(nvmlFBCSessionInfo_t, pid) - 4usize];
    ["Offset of field: nvmlFBCSessionInfo_st::vgpuInstance"]
        [::core::mem::offset_of!(nvmlFBCSessionInfo_t, vgpuInstance) - 8usize];
    ["Offset of field: nvmlFBCSessionInfo_st::displayOrdinal"]
        [::core::mem::offset_of!(nvmlFBCSessionInfo_t, displayOrdinal) - 12usize];
    ["Offset of field: nvmlFBCSessionInfo_st::sessionType"]
        [::core::mem::offset_of!(nvmlFBCSessionInfo_t, sessionType) - 16usize];
    ["Offset of field: nvmlFBCSessionInfo_st::sessionFlags"]
        [::core::mem::offset_of!(nvmlFBCSessionInfo_t, sessionFlags) - 20usize];
    ["Offset of field: nvmlFBCSessionInfo_st::hMaxResolution"]
        [::core::mem::offset_of!(nvmlFBCSessionInfo_t, hMaxResolution) - 24usize];
    ["Offset of field: nvmlFBCSessionInfo_st::vMaxResolution"]
        [::core::mem::offset_of!(nvmlFBCSessionInfo_t, vMaxResolution) - 28usize];
    ["Offset of field: nvmlFBCSessionInfo_st::hResolution"]
        [::core::mem::offset_of!(nvmlFBCSessionInfo_t, hResolution) - 32usize];
    ["Offset of field: nvmlFBCSessionInfo_st::vResolution"]
        [::core::mem::offset_of!(nvmlFBCSessionInfo_t, vResolution) - 36usize];
    ["Offset of field: nvmlFBCSessionInfo_st::averageFPS"]
        [::core::mem::offset_of!(nvmlFBCSessionInfo_t, averageFPS) - 40usize];
    ["Offset of field: nvmlFBCSessionInfo_st::averageLatency"]
        [::core::mem::offset_of!(nvmlFBCSessionInfo_t, averageLatency) - 44usize];
};

impl Default for nvmlFBCSessionInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl nvmlDetachGpuState_t {
    pub const NVML_DETACH_GPU_KEEP: nvmlDetachGpuState_t = nvmlDetachGpuState_t(0);
    pub const NVML_DETACH_GPU_REMOVE: nvmlDetachGpuState_t = nvmlDetachGpuState_t(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlDetachGpuState_t(pub u32);

impl nvmlPcieLinkState_t {
    pub const NVML_PCIE_LINK_KEEP: nvmlPcieLinkState_t = nvmlPcieLinkState_t(0);
    pub const NVML_PCIE_LINK_SHUT_DOWN: nvmlPcieLinkState_t = nvmlPcieLinkState_t(1);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlPcieLinkState_t(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlConfComputeSystemCaps_t {
    pub cpuCaps: u32,
    pub gpusCaps: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlConfComputeSystemCaps_st"]
        [::core::mem::size_of::<nvmlConfComputeSystemCaps_t>() - 8usize];
    ["Alignment of nvmlConfComputeSystemCaps_st"]
        [::core::mem::align_of::<nvmlConfComputeSystemCaps_t>() - 4usize];
    ["Offset of field: nvmlConfComputeSystemCaps_st::cpuCaps"]
        [::core::mem::offset_of!(nvmlConfComputeSystemCaps_t, cpuCaps) - 0usize];
    ["Offset of field: nvmlConfComputeSystemCaps_st::gpusCaps"]
        [::core::mem::offset_of!(nvmlConfComputeSystemCaps_t, gpusCaps) - 4usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlConfComputeSystemState_t {
    pub environment: u32,
    pub ccFeature: u32,
    pub devToolsMode: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlConfComputeSystemState_st"]
        [::core::mem::size_of::<nvmlConfComputeSystemState_t>() - 12usize];
    ["Alignment of nvmlConfComputeSystemState_st"]
        [::core::mem::align_of::<nvmlConfComputeSystemState_t>() - 4usize];
    ["Offset of field: nvmlConfComputeSystemState_st::environment"]
        [::core::mem::offset_of!(nvmlConfComputeSystemState_t, environment) - 0usize];
    ["Offset of field: nvmlConfComputeSystemState_st::ccFeature"]
        [::core::mem::offset_of!(nvmlConfComputeSystemState_t, ccFeature) - 4usize];
    ["Offset of field: nvmlConfComputeSystemState_st::devToolsMode"]
        [::core::mem::offset_of!(nvmlConfComputeSystemState_t, devToolsMode) - 8usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlSystemConfComputeSettings_t {
    pub version: u32,
    pub environment: u32,
    pub ccFeature: u32,
    pub devToolsMode: u32,
    pub multiGpuMode: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlSystemConfComputeSettings_v1_t"]
        [::core::mem::size_of::<nvmlSystemConfComputeSettings_t>() - 20usize];
    ["Alignment of nvmlSystemConfComputeSettings_v1_t"]
        [::core::mem::align_of::<nvmlSystemConfComputeSettings_t>() - 4usize];
    ["Offset of field: nvmlSystemConfComputeSettings_v1_t::version"]
        [::core::mem::offset_of!(nvmlSystemConfComputeSettings_t, version) - 0usize];
    ["Offset of field: nvmlSystemConfComputeSettings_v1_t::environment"]
        [::core::mem::offset_of!(nvmlSystemConfComputeSettings_t, environment) - 4usize];
    ["Offset of field: nvmlSystemConfComputeSettings_v1_t::ccFeature"]
        [::core::mem::offset_of!(nvmlSystemConfComputeSettings_t, ccFeature) - 8usize];
    ["Offset of field: nvmlSystemConfComputeSettings_v1_t::devToolsMode"]
        [::core::mem::offset_of!(nvmlSystemConfComputeSettings_t, devToolsMode) - 12usize];
    ["Offset of field: nvmlSystemConfComputeSettings_v1_t::multiGpuMode"]
        [::core::mem::offset_of!(nvmlSystemConfComputeSettings_t, multiGpuMode) - 16usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlConfComputeMemSizeInfo_t {
    pub protectedMemSizeKib: u64,
    pub unprotectedMemSizeKib: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlConfComputeMemSizeInfo_st"]
        [::core::mem::size_of::<nvmlConfComputeMemSizeInfo_t>() - 16usize];
    ["Alignment of nvmlConfComputeMemSizeInfo_st"]
        [::core::mem::align_of::<nvmlConfComputeMemSizeInfo_t>() - 8usize];
    ["Offset of field: nvmlConfComputeMemSizeInfo_st::protectedMemSizeKib"]
        [::core::mem::offset_of!(nvmlConfComputeMemSizeInfo_t, protectedMemSizeKib) - 0usize];
    ["Offset of field: nvmlConfComputeMemSizeInfo_st::unprotectedMemSizeKib"]
        [::core::mem::offset_of!(nvmlConfComputeMemSizeInfo_t, unprotectedMemSizeKib) - 8usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlConfComputeGpuCertificate_t {
    pub certChainSize: u32,
    pub attestationCertChainSize: u32,
    pub certChain: [u8; 4096],
    pub attestationCertChain: [u8; 5120],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlConfComputeGpuCertificate_st"]
        [::core::mem::size_of::<nvmlConfComputeGpuCertificate_t>() - 9224usize];
    ["Alignment of nvmlConfComputeGpuCertificate_st"]
        [::core::mem::align_of::<nvmlConfComputeGpuCertificate_t>() - 4usize];
    ["Offset of field: nvmlConfComputeGpuCertificate_st::certChainSize"]
        [::core::mem::offset_of!(nvmlConfComputeGpuCertificate_t, certChainSize) - 0usize];
    ["Offset of field: nvmlConfComputeGpuCertificate_st::attestationCertChainSize"][::core::mem::offset_of!(
        nvmlConfComputeGpuCertificate_t,
        attestationCertChainSize
    ) - 4usize];
    ["Offset of field: nvmlConfComputeGpuCertificate_st::certChain"]
        [::core::mem::offset_of!(nvmlConfComputeGpuCertificate_t, certChain) - 8usize];
    ["Offset of field: nvmlConfComputeGpuCertificate_st::attestationCertChain"][::core::mem::offset_of!(
        nvmlConfComputeGpuCertificate_t,
        attestationCertChain
    ) - 4104usize];
};

impl Default for nvmlConfComputeGpuCertificate_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlConfComputeGpuAttestationReport_t {
    pub isCecAttestationReportPresent: u32,
    pub attestationReportSize: u32,
    pub cecAttestationReportSize: u32,
    pub nonce: [u8; 32],
    pub attestationReport: [u8; 8192],
    pub cecAttestationReport: [u8; 4096],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlConfComputeGpuAttestationReport_st"]
        [::core::mem::size_of::<nvmlConfComputeGpuAttestationReport_t>() - 12332usize];
    ["Alignment of nvmlConfComputeGpuAttestationReport_st"]
        [::core::mem::align_of::<nvmlConfComputeGpuAttestationReport_t>() - 4usize];
    ["Offset of field: nvmlConfComputeGpuAttestationReport_st::isCecAttestationReportPresent"][::core::mem::offset_of!(
        nvmlConfComputeGpuAttestationReport_t,
        isCecAttestationReportPresent
    )
        - 0usize];
    ["Offset of field: nvmlConfComputeGpuAttestationReport_st::attestationReportSize"][::core::mem::offset_of!(
        nvmlConfComputeGpuAttestationReport_t,
        attestationReportSize
    ) - 4usize];
    ["Offset of field: nvmlConfComputeGpuAttestationReport_st::cecAttestationReportSize"][::core::mem::offset_of!(
        nvmlConfComputeGpuAttestationReport_t,
        cecAttestationReportSize
    )
        - 8usize];
    ["Offset of field: nvmlConfComputeGpuAttestationReport_st::nonce"]
        [::core::mem::offset_of!(nvmlConfComputeGpuAttestationReport_t, nonce) - 12usize];
    ["Offset of field: nvmlConfComputeGpuAttestationReport_st::attestationReport"][::core::mem::offset_of!(
        nvmlConfComputeGpuAttestationReport_t,
        attestationReport
    ) - 44usize];
    ["Offset of field: nvmlConfComputeGpuAttestationReport_st::cecAttestationReport"][::core::mem::offset_of!(
        nvmlConfComputeGpuAttestationReport_t,
        cecAttestationReport
    )
        - 8236usize];
};

impl Default for nvmlConfComputeGpuAttestationReport_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlConfComputeSetKeyRotationThresholdInfo_t {
    pub version: u32,
    pub maxAttackerAdvantage: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlConfComputeSetKeyRotationThresholdInfo_st"]
        [::core::mem::size_of::<nvmlConfComputeSetKeyRotationThresholdInfo_t>() - 16usize];
    ["Alignment of nvmlConfComputeSetKeyRotationThresholdInfo_st"]
        [::core::mem::align_of::<nvmlConfComputeSetKeyRotationThresholdInfo_t>() - 8usize];
    ["Offset of field: nvmlConfComputeSetKeyRotationThresholdInfo_st::version"]
        [::core::mem::offset_of!(nvmlConfComputeSetKeyRotationThresholdInfo_t, version) - 0usize];
    ["Offset of field: nvmlConfComputeSetKeyRotationThresholdInfo_st::maxAttackerAdvantage"][::core::mem::offset_of!(
        nvmlConfComputeSetKeyRotationThresholdInfo_t,
        maxAttackerAdvantage
    )
        - 8usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlConfComputeGetKeyRotationThresholdInfo_t {
    pub version: u32,
    pub attackerAdvantage: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlConfComputeGetKeyRotationThresholdInfo_st"]
        [::core::mem::size_of::<nvmlConfComputeGetKeyRotationThresholdInfo_t>() - 16usize];
    ["Alignment of nvmlConfComputeGetKeyRotationThresholdInfo_st"]
        [::core::mem::align_of::<nvmlConfComputeGetKeyRotationThresholdInfo_t>() - 8usize];
    ["Offset of field: nvmlConfComputeGetKeyRotationThresholdInfo_st::version"]
        [::core::mem::offset_of!(nvmlConfComputeGetKeyRotationThresholdInfo_t, version) - 0usize];
    ["Offset of field: nvmlConfComputeGetKeyRotationThresholdInfo_st::attackerAdvantage"][::core::mem::offset_of!(
        nvmlConfComputeGetKeyRotationThresholdInfo_t,
        attackerAdvantage
    )
        - 8usize];
};

pub type nvmlGpuFabricState_t = u8;

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGpuFabricInfo_t {
    pub clusterUuid: [u8; 16],
    pub status: nvmlReturn_t,
    pub cliqueId: u32,
    pub state: nvmlGpuFabricState_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpuFabricInfo_t"][::core::mem::size_of::<nvmlGpuFabricInfo_t>() - 28usize];
    ["Alignment of nvmlGpuFabricInfo_t"][::core::mem::align_of::<nvmlGpuFabricInfo_t>() - 4usize];
    ["Offset of field: nvmlGpuFabricInfo_t::clusterUuid"]
        [::core::mem::offset_of!(nvmlGpuFabricInfo_t, clusterUuid) - 0usize];
    ["Offset of field: nvmlGpuFabricInfo_t::status"]
        [::core::mem::offset_of!(nvmlGpuFabricInfo_t, status) - 16usize];
    ["Offset of field: nvmlGpuFabricInfo_t::cliqueId"]
        [::core::mem::offset_of!(nvmlGpuFabricInfo_t, cliqueId) - 20usize];
    ["Offset of field: nvmlGpuFabricInfo_t::state"]
        [::core::mem::offset_of!(nvmlGpuFabricInfo_t, state) - 24usize];
};

impl Default for nvmlGpuFabricInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGpuFabricInfo_v2_t {
    pub version: u32,
    pub clusterUuid: [u8; 16],
    pub status: nvmlReturn_t,
    pub cliqueId: u32,
    pub state: nvmlGpuFabricState_t,
    pub healthMask: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpuFabricInfo_v2_t"][::core::mem::size_of::<nvmlGpuFabricInfo_v2_t>() - 36usize];
    ["Alignment of nvmlGpuFabricInfo_v2_t"]
        [::core::mem::align_of::<nvmlGpuFabricInfo_v2_t>() - 4usize];
    ["Offset of field: nvmlGpuFabricInfo_v2_t::version"]
        [::core::mem::offset_of!(nvmlGpuFabricInfo_v2_t, version) - 0usize];
    ["Offset of field: nvmlGpuFabricInfo_v2_t::clusterUuid"]
        [::core::mem::offset_of!(nvmlGpuFabricInfo_v2_t, clusterUuid) - 4usize];
    ["Offset of field: nvmlGpuFabricInfo_v2_t::status"]
        [::core::mem::offset_of!(nvmlGpuFabricInfo_v2_t, status) - 20usize];
    ["Offset of field: nvmlGpuFabricInfo_v2_t::cliqueId"]
        [::core::mem::offset_of!(nvmlGpuFabricInfo_v2_t, cliqueId) - 24usize];
    ["Offset of field: nvmlGpuFabricInfo_v2_t::state"]
        [::core::mem::offset_of!(nvmlGpuFabricInfo_v2_t, state) - 28usize];
    ["Offset of field: nvmlGpuFabricInfo_v2_t::healthMask"]
        [::core::mem::offset_of!(nvmlGpuFabricInfo_v2_t, healthMask) - 32usize];
};

impl Default for nvmlGpuFabricInfo_v2_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGpuFabricInfoV_t {
    pub version: u32,
    pub clusterUuid: [u8; 16],
    pub status: nvmlReturn_t,
    pub cliqueId: u32,
    pub state: nvmlGpuFabricState_t,
    pub healthMask: u32,
    pub healthSummary: u8,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpuFabricInfo_v3_t"][::core::mem::size_of::<nvmlGpuFabricInfoV_t>() - 40usize];
    ["Alignment of nvmlGpuFabricInfo_v3_t"]
        [::core::mem::align_of::<nvmlGpuFabricInfoV_t>() - 4usize];
    ["Offset of field: nvmlGpuFabricInfo_v3_t::version"]
        [::core::mem::offset_of!(nvmlGpuFabricInfoV_t, version) - 0usize];
    ["Offset of field: nvmlGpuFabricInfo_v3_t::clusterUuid"]
        [::core::mem::offset_of!(nvmlGpuFabricInfoV_t, clusterUuid) - 4usize];
    ["Offset of field: nvmlGpuFabricInfo_v3_t::status"]
        [::core::mem::offset_of!(nvmlGpuFabricInfoV_t, status) - 20usize];
    ["Offset of field: nvmlGpuFabricInfo_v3_t::cliqueId"]
        [::core::mem::offset_of!(nvmlGpuFabricInfoV_t, cliqueId) - 24usize];
    ["Offset of field: nvmlGpuFabricInfo_v3_t::state"]
        [::core::mem::offset_of!(nvmlGpuFabricInfoV_t, state) - 28usize];
    ["Offset of field: nvmlGpuFabricInfo_v3_t::healthMask"]
        [::core::mem::offset_of!(nvmlGpuFabricInfoV_t, healthMask) - 32usize];
    ["Offset of field: nvmlGpuFabricInfo_v3_t::healthSummary"]
        [::core::mem::offset_of!(nvmlGpuFabricInfoV_t, healthSummary) - 36usize];
};

impl Default for nvmlGpuFabricInfoV_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlSystemDriverBranchInfo_t {
    pub version: u32,
    pub branch: [c_char; 80],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlSystemDriverBranchInfo_v1_t"]
        [::core::mem::size_of::<nvmlSystemDriverBranchInfo_t>() - 84usize];
    ["Alignment of nvmlSystemDriverBranchInfo_v1_t"]
        [::core::mem::align_of::<nvmlSystemDriverBranchInfo_t>() - 4usize];
    ["Offset of field: nvmlSystemDriverBranchInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlSystemDriverBranchInfo_t, version) - 0usize];
    ["Offset of field: nvmlSystemDriverBranchInfo_v1_t::branch"]
        [::core::mem::offset_of!(nvmlSystemDriverBranchInfo_t, branch) - 4usize];
};

impl Default for nvmlSystemDriverBranchInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

pub type nvmlAffinityScope_t = u32;

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlTemperature_t {
    pub version: u32,
    pub sensorType: nvmlTemperatureSensors_t,
    pub temperature: i32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlTemperature_v1_t"][::core::mem::size_of::<nvmlTemperature_t>() - 12usize];
    ["Alignment of nvmlTemperature_v1_t"][::core::mem::align_of::<nvmlTemperature_t>() - 4usize];
    ["Offset of field: nvmlTemperature_v1_t::version"]
        [::core::mem::offset_of!(nvmlTemperature_t, version) - 0usize];
    ["Offset of field: nvmlTemperature_v1_t::sensorType"]
        [::core::mem::offset_of!(nvmlTemperature_t, sensorType) - 4usize];
    ["Offset of field: nvmlTemperature_v1_t::temperature"]
        [::core::mem::offset_of!(nvmlTemperature_t, temperature) - 8usize];
};

impl Default for nvmlTemperature_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl nvmlClockLimitId_t {
    pub const NVML_CLOCK_LIMIT_ID_RANGE_START: nvmlClockLimitId_t = nvmlClockLimitId_t(4294967040);
    pub const NVML_CLOCK_LIMIT_ID_TDP: nvmlClockLimitId_t = nvmlClockLimitId_t(4294967041);
    pub const NVML_CLOCK_LIMIT_ID_UNLIMITED: nvmlClockLimitId_t = nvmlClockLimitId_t(4294967042);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlClockLimitId_t(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlNvlinkSupportedBwModes_t {
    pub version: u32,
    pub bwModes: [u8; 23],
    pub totalBwModes: u8,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlNvlinkSupportedBwModes_v1_t"]
        [::core::mem::size_of::<nvmlNvlinkSupportedBwModes_t>() - 28usize];
    ["Alignment of nvmlNvlinkSupportedBwModes_v1_t"]
        [::core::mem::align_of::<nvmlNvlinkSupportedBwModes_t>() - 4usize];
    ["Offset of field: nvmlNvlinkSupportedBwModes_v1_t::version"]
        [::core::mem::offset_of!(nvmlNvlinkSupportedBwModes_t, version) - 0usize];
    ["Offset of field: nvmlNvlinkSupportedBwModes_v1_t::bwModes"]
        [::core::mem::offset_of!(nvmlNvlinkSupportedBwModes_t, bwModes) - 4usize];
    ["Offset of field: nvmlNvlinkSupportedBwModes_v1_t::totalBwModes"]
        [::core::mem::offset_of!(nvmlNvlinkSupportedBwModes_t, totalBwModes) - 27usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlNvlinkGetBwMode_t {
    pub version: u32,
    pub bIsBest: u32,
    pub bwMode: u8,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlNvlinkGetBwMode_v1_t"][::core::mem::size_of::<nvmlNvlinkGetBwMode_t>() - 12usize];
    ["Alignment of nvmlNvlinkGetBwMode_v1_t"]
        [::core::mem::align_of::<nvmlNvlinkGetBwMode_t>() - 4usize];
    ["Offset of field: nvmlNvlinkGetBwMode_v1_t::version"]
        [::core::mem::offset_of!(nvmlNvlinkGetBwMode_t, version) - 0usize];
    ["Offset of field: nvmlNvlinkGetBwMode_v1_t::bIsBest"]
        [::core::mem::offset_of!(nvmlNvlinkGetBwMode_t, bIsBest) - 4usize];
    ["Offset of field: nvmlNvlinkGetBwMode_v1_t::bwMode"]
        [::core::mem::offset_of!(nvmlNvlinkGetBwMode_t, bwMode) - 8usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlNvlinkSetBwMode_t {
    pub version: u32,
    pub bSetBest: u32,
    pub bwMode: u8,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlNvlinkSetBwMode_v1_t"][::core::mem::size_of::<nvmlNvlinkSetBwMode_t>() - 12usize];
    ["Alignment of nvmlNvlinkSetBwMode_v1_t"]
        [::core::mem::align_of::<nvmlNvlinkSetBwMode_t>() - 4usize];
    ["Offset of field: nvmlNvlinkSetBwMode_v1_t::version"]
        [::core::mem::offset_of!(nvmlNvlinkSetBwMode_t, version) - 0usize];
    ["Offset of field: nvmlNvlinkSetBwMode_v1_t::bSetBest"]
        [::core::mem::offset_of!(nvmlNvlinkSetBwMode_t, bSetBest) - 4usize];
    ["Offset of field: nvmlNvlinkSetBwMode_v1_t::bwMode"]
        [::core::mem::offset_of!(nvmlNvlinkSetBwMode_t, bwMode) - 8usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlNvLinkInfo_v1_t {
    pub version: u32,
    pub isNvleEnabled: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlNvLinkInfo_v1_t"][::core::mem::size_of::<nvmlNvLinkInfo_v1_t>() - 8usize];
    ["Alignment of nvmlNvLinkInfo_v1_t"][::core::mem::align_of::<nvmlNvLinkInfo_v1_t>() - 4usize];
    ["Offset of field: nvmlNvLinkInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlNvLinkInfo_v1_t, version) - 0usize];
    ["Offset of field: nvmlNvLinkInfo_v1_t::isNvleEnabled"]
        [::core::mem::offset_of!(nvmlNvLinkInfo_v1_t, isNvleEnabled) - 4usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlNvlinkFirmwareVersion_t {
    pub ucodeType: u8,
    pub major: u32,
    pub minor: u32,
    pub subMinor: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlNvlinkFirmwareVersion_t"]
        [::core::mem::size_of::<nvmlNvlinkFirmwareVersion_t>() - 16usize];
    ["Alignment of nvmlNvlinkFirmwareVersion_t"]
        [::core::mem::align_of::<nvmlNvlinkFirmwareVersion_t>() - 4usize];
    ["Offset of field: nvmlNvlinkFirmwareVersion_t::ucodeType"]
        [::core::mem::offset_of!(nvmlNvlinkFirmwareVersion_t, ucodeType) - 0usize];
    ["Offset of field: nvmlNvlinkFirmwareVersion_t::major"]
        [::core::mem::offset_of!(nvmlNvlinkFirmwareVersion_t, major) - 4usize];
    ["Offset of field: nvmlNvlinkFirmwareVersion_t::minor"]
        [::core::mem::offset_of!(nvmlNvlinkFirmwareVersion_t, minor) - 8usize];
    ["Offset of field: nvmlNvlinkFirmwareVersion_t::subMinor"]
        [::core::mem::offset_of!(nvmlNvlinkFirmwareVersion_t, subMinor) - 12usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlNvlinkFirmwareInfo_t {
    pub firmwareVersion: [nvmlNvlinkFirmwareVersion_t; 100],
    pub numValidEntries: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlNvlinkFirmwareInfo_t"]
        [::core::mem::size_of::<nvmlNvlinkFirmwareInfo_t>() - 1604usize];
    ["Alignment of nvmlNvlinkFirmwareInfo_t"]
        [::core::mem::align_of::<nvmlNvlinkFirmwareInfo_t>() - 4usize];
    ["Offset of field: nvmlNvlinkFirmwareInfo_t::firmwareVersion"]
        [::core::mem::offset_of!(nvmlNvlinkFirmwareInfo_t, firmwareVersion) - 0usize];
    ["Offset of field: nvmlNvlinkFirmwareInfo_t::numValidEntries"]
        [::core::mem::offset_of!(nvmlNvlinkFirmwareInfo_t, numValidEntries) - 1600usize];
};

impl Default for nvmlNvlinkFirmwareInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlNvLinkInfo_t {
    pub version: u32,
    pub isNvleEnabled: u32,
    pub firmwareInfo: nvmlNvlinkFirmwareInfo_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlNvLinkInfo_v2_t"][::core::mem::size_of::<nvmlNvLinkInfo_t>() - 1612usize];
    ["Alignment of nvmlNvLinkInfo_v2_t"][::core::mem::align_of::<nvmlNvLinkInfo_t>() - 4usize];
    ["Offset of field: nvmlNvLinkInfo_v2_t::version"]
        [::core::mem::offset_of!(nvmlNvLinkInfo_t, version) - 0usize];
    ["Offset of field: nvmlNvLinkInfo_v2_t::isNvleEnabled"]
        [::core::mem::offset_of!(nvmlNvLinkInfo_t, isNvleEnabled) - 4usize];
    ["Offset of field: nvmlNvLinkInfo_v2_t::firmwareInfo"]
        [::core::mem::offset_of!(nvmlNvLinkInfo_t, firmwareInfo) - 8usize];
};

impl Default for nvmlNvLinkInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuVersion_t {
    pub minVersion: u32,
    pub maxVersion: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuVersion_st"][::core::mem::size_of::<nvmlVgpuVersion_t>() - 8usize];
    ["Alignment of nvmlVgpuVersion_st"][::core::mem::align_of::<nvmlVgpuVersion_t>() - 4usize];
    ["Offset of field: nvmlVgpuVersion_st::minVersion"]
        [::core::mem::offset_of!(nvmlVgpuVersion_t, minVersion) - 0usize];
    ["Offset of field: nvmlVgpuVersion_st::maxVersion"]
        [::core::mem::offset_of!(nvmlVgpuVersion_t, maxVersion) - 4usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuMetadata_t {
    pub version: u32,
    pub revision: u32,
    pub guestInfoState: nvmlVgpuGuestInfoState_t,
    pub guestDriverVersion: [c_char; 80],
    pub hostDriverVersion: [c_char; 80],
    pub reserved: [u32; 6],
    pub vgpuVirtualizationCaps: u32,
    pub guestVgpuVersion: u32,
    pub opaqueDataSize: u32,
    pub opaqueData: [c_char; 4],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuMetadata_st"][::core::mem::size_of::<nvmlVgpuMetadata_t>() - 212usize];
    ["Alignment of nvmlVgpuMetadata_st"][::core::mem::align_of::<nvmlVgpuMetadata_t>() - 4usize];
    ["Offset of field: nvmlVgpuMetadata_st::version"]
        [::core::mem::offset_of!(nvmlVgpuMetadata_t, version) - 0usize];
    ["Offset of field: nvmlVgpuMetadata_st::revision"]
        [::core::mem::offset_of!(nvmlVgpuMetadata_t, revision) - 4usize];
    ["Offset of field: nvmlVgpuMetadata_st::guestInfoState"]
        [::core::mem::offset_of!(nvmlVgpuMetadata_t, guestInfoState) - 8usize];
    ["Offset of field: nvmlVgpuMetadata_st::guestDriverVersion"]
        [::core::mem::offset_of!(nvmlVgpuMetadata_t, guestDriverVersion) - 12usize];
    ["Offset of field: nvmlVgpuMetadata_st::hostDriverVersion"]
        [::core::mem::offset_of!(nvmlVgpuMetadata_t, hostDriverVersion) - 92usize];
    ["Offset of field: nvmlVgpuMetadata_st::reserved"]
        [::core::mem::offset_of!(nvmlVgpuMetadata_t, reserved) - 172usize];
    ["Offset of field: nvmlVgpuMetadata_st::vgpuVirtualizationCaps"]
        [::core::mem::offset_of!(nvmlVgpuMetadata_t, vgpuVirtualizationCaps) - 196usize];
    ["Offset of field: nvmlVgpuMetadata_st::guestVgpuVersion"]
        [::core::mem::offset_of!(nvmlVgpuMetadata_t, guestVgpuVersion) - 200usize];
    ["Offset of field: nvmlVgpuMetadata_st::opaqueDataSize"]
        [::core::mem::offset_of!(nvmlVgpuMetadata_t, opaqueDataSize) - 204usize];
    ["Offset of field: nvmlVgpuMetadata_st::opaqueData"]
        [::core::mem::offset_of!(nvmlVgpuMetadata_t, opaqueData) - 208usize];
};

impl Default for nvmlVgpuMetadata_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuPgpuMetadata_t {
    pub version: u32,
    pub revision: u32,
    pub hostDriverVersion: [c_char; 80],
    pub pgpuVirtualizationCaps: u32,
    pub reserved: [u32; 5],
    pub hostSupportedVgpuRange: nvmlVgpuVersion_t,
    pub opaqueDataSize: u32,
    pub opaqueData: [c_char; 4],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuPgpuMetadata_st"]
        [::core::mem::size_of::<nvmlVgpuPgpuMetadata_t>() - 128usize];
    ["Alignment of nvmlVgpuPgpuMetadata_st"]
        [::core::mem::align_of::<nvmlVgpuPgpuMetadata_t>() - 4usize];
    ["Offset of field: nvmlVgpuPgpuMetadata_st::version"]
        [::core::mem::offset_of!(nvmlVgpuPgpuMetadata_t, version) - 0usize];
    ["Offset of field: nvmlVgpuPgpuMetadata_st::revision"]
        [::core::mem::offset_of!(nvmlVgpuPgpuMetadata_t, revision) - 4usize];
    ["Offset of field: nvmlVgpuPgpuMetadata_st::hostDriverVersion"]
        [::core::mem::offset_of!(nvmlVgpuPgpuMetadata_t, hostDriverVersion) - 8usize];
    ["Offset of field: nvmlVgpuPgpuMetadata_st::pgpuVirtualizationCaps"]
        [::core::mem::offset_of!(nvmlVgpuPgpuMetadata_t, pgpuVirtualizationCaps) - 88usize];
    ["Offset of field: nvmlVgpuPgpuMetadata_st::reserved"]
        [::core::mem::offset_of!(nvmlVgpuPgpuMetadata_t, reserved) - 92usize];
    ["Offset of field: nvmlVgpuPgpuMetadata_st::hostSupportedVgpuRange"]
        [::core::mem::offset_of!(nvmlVgpuPgpuMetadata_t, hostSupportedVgpuRange) - 112usize];
    ["Offset of field: nvmlVgpuPgpuMetadata_st::opaqueDataSize"]
        [::core::mem::offset_of!(nvmlVgpuPgpuMetadata_t, opaqueDataSize) - 120usize];
    ["Offset of field: nvmlVgpuPgpuMetadata_st::opaqueData"]
        [::core::mem::offset_of!(nvmlVgpuPgpuMetadata_t, opaqueData) - 124usize];
};

impl Default for nvmlVgpuPgpuMetadata_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

impl nvmlVgpuVmCompatibility_t {
    pub const NVML_VGPU_VM_COMPATIBILITY_NONE: nvmlVgpuVmCompatibility_t =
        nvmlVgpuVmCompatibility_t(0);
    pub const NVML_VGPU_VM_COMPATIBILITY_COLD: nvmlVgpuVmCompatibility_t =
        nvmlVgpuVmCompatibility_t(1);
    pub const NVML_VGPU_VM_COMPATIBILITY_HIBERNATE: nvmlVgpuVmCompatibility_t =
        nvmlVgpuVmCompatibility_t(2);
    pub const NVML_VGPU_VM_COMPATIBILITY_SLEEP: nvmlVgpuVmCompatibility_t =
        nvmlVgpuVmCompatibility_t(4);
    pub const NVML_VGPU_VM_COMPATIBILITY_LIVE: nvmlVgpuVmCompatibility_t =
        nvmlVgpuVmCompatibility_t(8);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlVgpuVmCompatibility_t(pub u32);

impl nvmlVgpuPgpuCompatibilityLimitCode_t {
    pub const NVML_VGPU_COMPATIBILITY_LIMIT_NONE: nvmlVgpuPgpuCompatibilityLimitCode_t =
        nvmlVgpuPgpuCompatibilityLimitCode_t(0);
    pub const NVML_VGPU_COMPATIBILITY_LIMIT_HOST_DRIVER: nvmlVgpuPgpuCompatibilityLimitCode_t =
        nvmlVgpuPgpuCompatibilityLimitCode_t(1);
    pub const NVML_VGPU_COMPATIBILITY_LIMIT_GUEST_DRIVER: nvmlVgpuPgpuCompatibilityLimitCode_t =
        nvmlVgpuPgpuCompatibilityLimitCode_t(2);
    pub const NVML_VGPU_COMPATIBILITY_LIMIT_GPU: nvmlVgpuPgpuCompatibilityLimitCode_t =
        nvmlVgpuPgpuCompatibilityLimitCode_t(4);
    pub const NVML_VGPU_COMPATIBILITY_LIMIT_OTHER: nvmlVgpuPgpuCompatibilityLimitCode_t =
        nvmlVgpuPgpuCompatibilityLimitCode_t(2147483648);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlVgpuPgpuCompatibilityLimitCode_t(pub u32);

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlVgpuPgpuCompatibility_t {
    pub vgpuVmCompatibility: nvmlVgpuVmCompatibility_t,
    pub compatibilityLimitCode: nvmlVgpuPgpuCompatibilityLimitCode_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlVgpuPgpuCompatibility_st"]
        [::core::mem::size_of::<nvmlVgpuPgpuCompatibility_t>() - 8usize];
    ["Alignment of nvmlVgpuPgpuCompatibility_st"]
        [::core::mem::align_of::<nvmlVgpuPgpuCompatibility_t>() - 4usize];
    ["Offset of field: nvmlVgpuPgpuCompatibility_st::vgpuVmCompatibility"]
        [::core::mem::offset_of!(nvmlVgpuPgpuCompatibility_t, vgpuVmCompatibility) - 0usize];
    ["Offset of field: nvmlVgpuPgpuCompatibility_st::compatibilityLimitCode"]
        [::core::mem::offset_of!(nvmlVgpuPgpuCompatibility_t, compatibilityLimitCode) - 4usize];
};

impl Default for nvmlVgpuPgpuCompatibility_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlExcludedDeviceInfo_t {
    pub pciInfo: nvmlPciInfo_t,
    pub uuid: [c_char; 80],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlExcludedDeviceInfo_st"]
        [::core::mem::size_of::<nvmlExcludedDeviceInfo_t>() - 148usize];
    ["Alignment of nvmlExcludedDeviceInfo_st"]
        [::core::mem::align_of::<nvmlExcludedDeviceInfo_t>() - 4usize];
    ["Offset of field: nvmlExcludedDeviceInfo_st::pciInfo"]
        [::core::mem::offset_of!(nvmlExcludedDeviceInfo_t, pciInfo) - 0usize];
    ["Offset of field: nvmlExcludedDeviceInfo_st::uuid"]
        [::core::mem::offset_of!(nvmlExcludedDeviceInfo_t, uuid) - 68usize];
};

impl Default for nvmlExcludedDeviceInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Copy, Clone)]
pub struct nvmlPRMTLV_v1_t {
    pub dataSize: u32,
    pub status: u32,
    pub __bindgen_anon_1: nvmlPRMTLV_v1_t__bindgen_ty_1,
}

#[repr(C)]
#[derive(Copy, Clone)]
pub union nvmlPRMTLV_v1_t__bindgen_ty_1 {
    pub inData: [u8; 496],
    pub outData: [u8; 496],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlPRMTLV_v1_t__bindgen_ty_1"]
        [::core::mem::size_of::<nvmlPRMTLV_v1_t__bindgen_ty_1>() - 496usize];
    ["Alignment of nvmlPRMTLV_v1_t__bindgen_ty_1"]
        [::core::mem::align_of::<nvmlPRMTLV_v1_t__bindgen_ty_1>() - 1usize];
    ["Offset of field: nvmlPRMTLV_v1_t__bindgen_ty_1::inData"]
        [::core::mem::offset_of!(nvmlPRMTLV_v1_t__bindgen_ty_1, inData) - 0usize];
    ["Offset of field: nvmlPRMTLV_v1_t__bindgen_ty_1::outData"]
        [::core::mem::offset_of!(nvmlPRMTLV_v1_t__bindgen_ty_1, outData) - 0usize];
};

impl Default for nvmlPRMTLV_v1_t__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlPRMTLV_v1_t"][::core::mem::size_of::<nvmlPRMTLV_v1_t>() - 504usize];
    ["Alignment of nvmlPRMTLV_v1_t"][::core::mem::align_of::<nvmlPRMTLV_v1_t>() - 4usize];
    ["Offset of field: nvmlPRMTLV_v1_t::dataSize"]
        [::core::mem::offset_of!(nvmlPRMTLV_v1_t, dataSize) - 0usize];
    ["Offset of field: nvmlPRMTLV_v1_t::status"]
        [::core::mem::offset_of!(nvmlPRMTLV_v1_t, status) - 4usize];
};

impl Default for nvmlPRMTLV_v1_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGpuInstancePlacement_t {
    pub start: u32,
    pub size: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpuInstancePlacement_st"]
        [::core::mem::size_of::<nvmlGpuInstancePlacement_t>() - 8usize];
    ["Alignment of nvmlGpuInstancePlacement_st"]
        [::core::mem::align_of::<nvmlGpuInstancePlacement_t>() - 4usize];
    ["Offset of field: nvmlGpuInstancePlacement_st::start"]
        [::core::mem::offset_of!(nvmlGpuInstancePlacement_t, start) - 0usize];
    ["Offset of field: nvmlGpuInstancePlacement_st::size"]
        [::core::mem::offset_of!(nvmlGpuInstancePlacement_t, size) - 4usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGpuInstanceProfileInfo_t {
    pub id: u32,
    pub isP2pSupported: u32,
    pub sliceCount: u32,
    pub instanceCount: u32,
    pub multiprocessorCount: u32,
    pub copyEngineCount: u32,
    pub decoderCount: u32,
    pub encoderCount: u32,
    pub jpegCount: u32,
    pub ofaCount: u32,
    pub memorySizeMB: u64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpuInstanceProfileInfo_st"]
        [::core::mem::size_of::<nvmlGpuInstanceProfileInfo_t>() - 48usize];
    ["Alignment of nvmlGpuInstanceProfileInfo_st"]
        [::core::mem::align_of::<nvmlGpuInstanceProfileInfo_t>() - 8usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_st::id"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_t, id) - 0usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_st::isP2pSupported"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_t, isP2pSupported) - 4usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_st::sliceCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_t, sliceCount) - 8usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_st::instanceCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_t, instanceCount) - 12usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_st::multiprocessorCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_t, multiprocessorCount) - 16usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_st::copyEngineCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_t, copyEngineCount) - 20usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_st::decoderCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_t, decoderCount) - 24usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_st::encoderCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_t, encoderCount) - 28usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_st::jpegCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_t, jpegCount) - 32usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_st::ofaCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_t, ofaCount) - 36usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_st::memorySizeMB"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_t, memorySizeMB) - 40usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGpuInstanceProfileInfo_v2_t {
    pub version: u32,
    pub id: u32,
    pub isP2pSupported: u32,
    pub sliceCount: u32,
    pub instanceCount: u32,
    pub multiprocessorCount: u32,
    pub copyEngineCount: u32,
    pub decoderCount: u32,
    pub encoderCount: u32,
    pub jpegCount: u32,
    pub ofaCount: u32,
    pub memorySizeMB: u64,
    pub name: [c_char; 96],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpuInstanceProfileInfo_v2_st"]
        [::core::mem::size_of::<nvmlGpuInstanceProfileInfo_v2_t>() - 152usize];
    ["Alignment of nvmlGpuInstanceProfileInfo_v2_st"]
        [::core::mem::align_of::<nvmlGpuInstanceProfileInfo_v2_t>() - 8usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v2_st::version"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v2_t, version) - 0usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v2_st::id"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v2_t, id) - 4usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v2_st::isP2pSupported"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v2_t, isP2pSupported) - 8usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v2_st::sliceCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v2_t, sliceCount) - 12usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v2_st::instanceCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v2_t, instanceCount) - 16usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v2_st::multiprocessorCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v2_t, multiprocessorCount) - 20usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v2_st::copyEngineCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v2_t, copyEngineCount) - 24usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v2_st::decoderCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v2_t, decoderCount) - 28usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v2_st::encoderCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v2_t, encoderCount) - 32usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v2_st::jpegCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v2_t, jpegCount) - 36usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v2_st::ofaCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v2_t, ofaCount) - 40usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v2_st::memorySizeMB"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v2_t, memorySizeMB) - 48usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v2_st::name"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v2_t, name) - 56usize];
};

impl Default for nvmlGpuInstanceProfileInfo_v2_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGpuInstanceProfileInfo_v3_t {
    pub version: u32,
    pub id: u32,
    pub sliceCount: u32,
    pub instanceCount: u32,
    pub multiprocessorCount: u32,
    pub copyEngineCount: u32,
    pub decoderCount: u32,
    pub encoderCount: u32,
    pub jpegCount: u32,
    pub ofaCount: u32,
    pub memorySizeMB: u64,
    pub name: [c_char; 96],
    pub capabilities: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpuInstanceProfileInfo_v3_st"]
        [::core::mem::size_of::<nvmlGpuInstanceProfileInfo_v3_t>() - 152usize];
    ["Alignment of nvmlGpuInstanceProfileInfo_v3_st"]
        [::core::mem::align_of::<nvmlGpuInstanceProfileInfo_v3_t>() - 8usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v3_st::version"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v3_t, version) - 0usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v3_st::id"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v3_t, id) - 4usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v3_st::sliceCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v3_t, sliceCount) - 8usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v3_st::instanceCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v3_t, instanceCount) - 12usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v3_st::multiprocessorCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v3_t, multiprocessorCount) - 16usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v3_st::copyEngineCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v3_t, copyEngineCount) - 20usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v3_st::decoderCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v3_t, decoderCount) - 24usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v3_st::encoderCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v3_t, encoderCount) - 28usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v3_st::jpegCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v3_t, jpegCount) - 32usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v3_st::ofaCount"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v3_t, ofaCount) - 36usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v3_st::memorySizeMB"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v3_t, memorySizeMB) - 40usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v3_st::name"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v3_t, name) - 48usize];
    ["Offset of field: nvmlGpuInstanceProfileInfo_v3_st::capabilities"]
        [::core::mem::offset_of!(nvmlGpuInstanceProfileInfo_v3_t, capabilities) - 144usize];
};

impl Default for nvmlGpuInstanceProfileInfo_v3_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGpuInstanceInfo_t {
    pub device: nvmlDevice_t,
    pub id: u32,
    pub profileId: u32,
    pub placement: nvmlGpuInstancePlacement_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpuInstanceInfo_st"][::core::mem::size_of::<nvmlGpuInstanceInfo_t>() - 24usize];
    ["Alignment of nvmlGpuInstanceInfo_st"]
        [::core::mem::align_of::<nvmlGpuInstanceInfo_t>() - 8usize];
    ["Offset of field: nvmlGpuInstanceInfo_st::device"]
        [::core::mem::offset_of!(nvmlGpuInstanceInfo_t, device) - 0usize];
    ["Offset of field: nvmlGpuInstanceInfo_st::id"]
        [::core::mem::offset_of!(nvmlGpuInstanceInfo_t, id) - 8usize];
    ["Offset of field: nvmlGpuInstanceInfo_st::profileId"]
        [::core::mem::offset_of!(nvmlGpuInstanceInfo_t, profileId) - 12usize];
    ["Offset of field: nvmlGpuInstanceInfo_st::placement"]
        [::core::mem::offset_of!(nvmlGpuInstanceInfo_t, placement) - 16usize];
};

impl Default for nvmlGpuInstanceInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlComputeInstancePlacement_t {
    pub start: u32,
    pub size: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlComputeInstancePlacement_st"]
        [::core::mem::size_of::<nvmlComputeInstancePlacement_t>() - 8usize];
    ["Alignment of nvmlComputeInstancePlacement_st"]
        [::core::mem::align_of::<nvmlComputeInstancePlacement_t>() - 4usize];
    ["Offset of field: nvmlComputeInstancePlacement_st::start"]
        [::core::mem::offset_of!(nvmlComputeInstancePlacement_t, start) - 0usize];
    ["Offset of field: nvmlComputeInstancePlacement_st::size"]
        [::core::mem::offset_of!(nvmlComputeInstancePlacement_t, size) - 4usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlComputeInstanceProfileInfo_t {
    pub id: u32,
    pub sliceCount: u32,
    pub instanceCount: u32,
    pub multiprocessorCount: u32,
    pub sharedCopyEngineCount: u32,
    pub sharedDecoderCount: u32,
    pub sharedEncoderCount: u32,
    pub sharedJpegCount: u32,
    pub sharedOfaCount: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlComputeInstanceProfileInfo_st"]
        [::core::mem::size_of::<nvmlComputeInstanceProfileInfo_t>() - 36usize];
    ["Alignment of nvmlComputeInstanceProfileInfo_st"]
        [::core::mem::align_of::<nvmlComputeInstanceProfileInfo_t>() - 4usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_st::id"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_t, id) - 0usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_st::sliceCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_t, sliceCount) - 4usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_st::instanceCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_t, instanceCount) - 8usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_st::multiprocessorCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_t, multiprocessorCount) - 12usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_st::sharedCopyEngineCount"][::core::mem::offset_of!(
        nvmlComputeInstanceProfileInfo_t,
        sharedCopyEngineCount
    ) - 16usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_st::sharedDecoderCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_t, sharedDecoderCount) - 20usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_st::sharedEncoderCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_t, sharedEncoderCount) - 24usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_st::sharedJpegCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_t, sharedJpegCount) - 28usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_st::sharedOfaCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_t, sharedOfaCount) - 32usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlComputeInstanceProfileInfo_v2_t {
    pub version: u32,
    pub id: u32,
    pub sliceCount: u32,
    pub instanceCount: u32,
    pub multiprocessorCount: u32,
    pub sharedCopyEngineCount: u32,
    pub sharedDecoderCount: u32,
    pub sharedEncoderCount: u32,
    pub sharedJpegCount: u32,
    pub sharedOfaCount: u32,
    pub name: [c_char; 96],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlComputeInstanceProfileInfo_v2_st"]
        [::core::mem::size_of::<nvmlComputeInstanceProfileInfo_v2_t>() - 136usize];
    ["Alignment of nvmlComputeInstanceProfileInfo_v2_st"]
        [::core::mem::align_of::<nvmlComputeInstanceProfileInfo_v2_t>() - 4usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v2_st::version"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v2_t, version) - 0usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v2_st::id"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v2_t, id) - 4usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v2_st::sliceCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v2_t, sliceCount) - 8usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v2_st::instanceCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v2_t, instanceCount) - 12usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v2_st::multiprocessorCount"][::core::mem::offset_of!(
        nvmlComputeInstanceProfileInfo_v2_t,
        multiprocessorCount
    ) - 16usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v2_st::sharedCopyEngineCount"][::core::mem::offset_of!(
        nvmlComputeInstanceProfileInfo_v2_t,
        sharedCopyEngineCount
    ) - 20usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v2_st::sharedDecoderCount"][::core::mem::offset_of!(
        nvmlComputeInstanceProfileInfo_v2_t,
        sharedDecoderCount
    ) - 24usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v2_st::sharedEncoderCount"][::core::mem::offset_of!(
        nvmlComputeInstanceProfileInfo_v2_t,
        sharedEncoderCount
    ) - 28usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v2_st::sharedJpegCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v2_t, sharedJpegCount) - 32usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v2_st::sharedOfaCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v2_t, sharedOfaCount) - 36usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v2_st::name"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v2_t, name) - 40usize];
};

impl Default for nvmlComputeInstanceProfileInfo_v2_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlComputeInstanceProfileInfo_v3_t {
    pub version: u32,
    pub id: u32,
    pub sliceCount: u32,
    pub instanceCount: u32,
    pub multiprocessorCount: u32,
    pub sharedCopyEngineCount: u32,
    pub sharedDecoderCount: u32,
    pub sharedEncoderCount: u32,
    pub sharedJpegCount: u32,
    pub sharedOfaCount: u32,
    pub name: [c_char; 96],
    pub capabilities: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlComputeInstanceProfileInfo_v3_st"]
        [::core::mem::size_of::<nvmlComputeInstanceProfileInfo_v3_t>() - 140usize];
    ["Alignment of nvmlComputeInstanceProfileInfo_v3_st"]
        [::core::mem::align_of::<nvmlComputeInstanceProfileInfo_v3_t>() - 4usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v3_st::version"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v3_t, version) - 0usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v3_st::id"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v3_t, id) - 4usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v3_st::sliceCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v3_t, sliceCount) - 8usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v3_st::instanceCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v3_t, instanceCount) - 12usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v3_st::multiprocessorCount"][::core::mem::offset_of!(
        nvmlComputeInstanceProfileInfo_v3_t,
        multiprocessorCount
    ) - 16usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v3_st::sharedCopyEngineCount"][::core::mem::offset_of!(
        nvmlComputeInstanceProfileInfo_v3_t,
        sharedCopyEngineCount
    ) - 20usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v3_st::sharedDecoderCount"][::core::mem::offset_of!(
        nvmlComputeInstanceProfileInfo_v3_t,
        sharedDecoderCount
    ) - 24usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v3_st::sharedEncoderCount"][::core::mem::offset_of!(
        nvmlComputeInstanceProfileInfo_v3_t,
        sharedEncoderCount
    ) - 28usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v3_st::sharedJpegCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v3_t, sharedJpegCount) - 32usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v3_st::sharedOfaCount"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v3_t, sharedOfaCount) - 36usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v3_st::name"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v3_t, name) - 40usize];
    ["Offset of field: nvmlComputeInstanceProfileInfo_v3_st::capabilities"]
        [::core::mem::offset_of!(nvmlComputeInstanceProfileInfo_v3_t, capabilities) - 136usize];
};

impl Default for nvmlComputeInstanceProfileInfo_v3_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlComputeInstanceInfo_t {
    pub device: nvmlDevice_t,
    pub gpuInstance: nvmlGpuInstance_t,
    pub id: u32,
    pub profileId: u32,
    pub placement: nvmlComputeInstancePlacement_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlComputeInstanceInfo_st"]
        [::core::mem::size_of::<nvmlComputeInstanceInfo_t>() - 32usize];
    ["Alignment of nvmlComputeInstanceInfo_st"]
        [::core::mem::align_of::<nvmlComputeInstanceInfo_t>() - 8usize];
    ["Offset of field: nvmlComputeInstanceInfo_st::device"]
        [::core::mem::offset_of!(nvmlComputeInstanceInfo_t, device) - 0usize];
    ["Offset of field: nvmlComputeInstanceInfo_st::gpuInstance"]
        [::core::mem::offset_of!(nvmlComputeInstanceInfo_t, gpuInstance) - 8usize];
    ["Offset of field: nvmlComputeInstanceInfo_st::id"]
        [::core::mem::offset_of!(nvmlComputeInstanceInfo_t, id) - 16usize];
    ["Offset of field: nvmlComputeInstanceInfo_st::profileId"]
        [::core::mem::offset_of!(nvmlComputeInstanceInfo_t, profileId) - 20usize];
    ["Offset of field: nvmlComputeInstanceInfo_st::placement"]
        [::core::mem::offset_of!(nvmlComputeInstanceInfo_t, placement) - 24usize];
};

impl Default for nvmlComputeInstanceInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug)]
pub struct nvmlComputeInstance_st {
    _unused: [u8; 0],
}

pub type nvmlComputeInstance_t = *mut nvmlComputeInstance_st;

impl nvmlGpmMetricId_t {
    pub const NVML_GPM_METRIC_GRAPHICS_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(1);
    pub const NVML_GPM_METRIC_SM_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(2);
    pub const NVML_GPM_METRIC_SM_OCCUPANCY: nvmlGpmMetricId_t = nvmlGpmMetricId_t(3);
    pub const NVML_GPM_METRIC_INTEGER_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(4);
    pub const NVML_GPM_METRIC_ANY_TENSOR_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(5);
    pub const NVML_GPM_METRIC_DFMA_TENSOR_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(6);
    pub const NVML_GPM_METRIC_HMMA_TENSOR_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(7);
    pub const NVML_GPM_METRIC_IMMA_TENSOR_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(9);
    pub const NVML_GPM_METRIC_DRAM_BW_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(10);
    pub const NVML_GPM_METRIC_FP64_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(11);
    pub const NVML_GPM_METRIC_FP32_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(12);
    pub const NVML_GPM_METRIC_FP16_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(13);
    pub const NVML_GPM_METRIC_PCIE_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(20);
    pub const NVML_GPM_METRIC_PCIE_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(21);
    pub const NVML_GPM_METRIC_NVDEC_0_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(30);
    pub const NVML_GPM_METRIC_NVDEC_1_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(31);
    pub const NVML_GPM_METRIC_NVDEC_2_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(32);
    pub const NVML_GPM_METRIC_NVDEC_3_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(33);
    pub const NVML_GPM_METRIC_NVDEC_4_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(34);
    pub const NVML_GPM_METRIC_NVDEC_5_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(35);
    pub const NVML_GPM_METRIC_NVDEC_6_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(36);
    pub const NVML_GPM_METRIC_NVDEC_7_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(37);
    pub const NVML_GPM_METRIC_NVJPG_0_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(40);
    pub const NVML_GPM_METRIC_NVJPG_1_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(41);
    pub const NVML_GPM_METRIC_NVJPG_2_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(42);
    pub const NVML_GPM_METRIC_NVJPG_3_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(43);
    pub const NVML_GPM_METRIC_NVJPG_4_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(44);
    pub const NVML_GPM_METRIC_NVJPG_5_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(45);
    pub const NVML_GPM_METRIC_NVJPG_6_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(46);
    pub const NVML_GPM_METRIC_NVJPG_7_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(47);
    pub const NVML_GPM_METRIC_NVOFA_0_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(50);
    pub const NVML_GPM_METRIC_NVOFA_1_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(51);
    pub const NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(60);
    pub const NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(61);
    pub const NVML_GPM_METRIC_NVLINK_L0_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(62);
    pub const NVML_GPM_METRIC_NVLINK_L0_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(63);
    pub const NVML_GPM_METRIC_NVLINK_L1_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(64);
    pub const NVML_GPM_METRIC_NVLINK_L1_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(65);
    pub const NVML_GPM_METRIC_NVLINK_L2_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(66);
    pub const NVML_GPM_METRIC_NVLINK_L2_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(67);
    pub const NVML_GPM_METRIC_NVLINK_L3_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(68);
    pub const NVML_GPM_METRIC_NVLINK_L3_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(69);
    pub const NVML_GPM_METRIC_NVLINK_L4_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(70);
    pub const NVML_GPM_METRIC_NVLINK_L4_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(71);
    pub const NVML_GPM_METRIC_NVLINK_L5_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(72);
    pub const NVML_GPM_METRIC_NVLINK_L5_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(73);
    pub const NVML_GPM_METRIC_NVLINK_L6_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(74);
    pub const NVML_GPM_METRIC_NVLINK_L6_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(75);
    pub const NVML_GPM_METRIC_NVLINK_L7_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(76);
    pub const NVML_GPM_METRIC_NVLINK_L7_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(77);
    pub const NVML_GPM_METRIC_NVLINK_L8_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(78);
    pub const NVML_GPM_METRIC_NVLINK_L8_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(79);
    pub const NVML_GPM_METRIC_NVLINK_L9_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(80);
    pub const NVML_GPM_METRIC_NVLINK_L9_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(81);
    pub const NVML_GPM_METRIC_NVLINK_L10_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(82);
    pub const NVML_GPM_METRIC_NVLINK_L10_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(83);
    pub const NVML_GPM_METRIC_NVLINK_L11_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(84);
    pub const NVML_GPM_METRIC_NVLINK_L11_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(85);
    pub const NVML_GPM_METRIC_NVLINK_L12_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(86);
    pub const NVML_GPM_METRIC_NVLINK_L12_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(87);
    pub const NVML_GPM_METRIC_NVLINK_L13_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(88);
    pub const NVML_GPM_METRIC_NVLINK_L13_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(89);
    pub const NVML_GPM_METRIC_NVLINK_L14_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(90);
    pub const NVML_GPM_METRIC_NVLINK_L14_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(91);
    pub const NVML_GPM_METRIC_NVLINK_L15_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(92);
    pub const NVML_GPM_METRIC_NVLINK_L15_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(93);
    pub const NVML_GPM_METRIC_NVLINK_L16_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(94);
    pub const NVML_GPM_METRIC_NVLINK_L16_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(95);
    pub const NVML_GPM_METRIC_NVLINK_L17_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(96);
    pub const NVML_GPM_METRIC_NVLINK_L17_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(97);
    pub const NVML_GPM_METRIC_C2C_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(100);
    pub const NVML_GPM_METRIC_C2C_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(101);
    pub const NVML_GPM_METRIC_C2C_DATA_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(102);
    pub const NVML_GPM_METRIC_C2C_DATA_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(103);
    pub const NVML_GPM_METRIC_C2C_LINK0_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(104);
    pub const NVML_GPM_METRIC_C2C_LINK0_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(105);
    pub const NVML_GPM_METRIC_C2C_LINK0_DATA_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(106);
    pub const NVML_GPM_METRIC_C2C_LINK0_DATA_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(107);
    pub const NVML_GPM_METRIC_C2C_LINK1_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(108);
    pub const NVML_GPM_METRIC_C2C_LINK1_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(109);
    pub const NVML_GPM_METRIC_C2C_LINK1_DATA_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(110);
    pub const NVML_GPM_METRIC_C2C_LINK1_DATA_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(111);
    pub const NVML_GPM_METRIC_C2C_LINK2_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(112);
    pub const NVML_GPM_METRIC_C2C_LINK2_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(113);
    pub const NVML_GPM_METRIC_C2C_LINK2_DATA_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(114);
    pub const NVML_GPM_METRIC_C2C_LINK2_DATA_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(115);
    pub const NVML_GPM_METRIC_C2C_LINK3_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(116);
    pub const NVML_GPM_METRIC_C2C_LINK3_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(117);
    pub const NVML_GPM_METRIC_C2C_LINK3_DATA_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(118);
    pub const NVML_GPM_METRIC_C2C_LINK3_DATA_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(119);
    pub const NVML_GPM_METRIC_C2C_LINK4_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(120);
    pub const NVML_GPM_METRIC_C2C_LINK4_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(121);
    pub const NVML_GPM_METRIC_C2C_LINK4_DATA_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(122);
    pub const NVML_GPM_METRIC_C2C_LINK4_DATA_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(123);
    pub const NVML_GPM_METRIC_C2C_LINK5_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(124);
    pub const NVML_GPM_METRIC_C2C_LINK5_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(125);
    pub const NVML_GPM_METRIC_C2C_LINK5_DATA_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(126);
    pub const NVML_GPM_METRIC_C2C_LINK5_DATA_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(127);
    pub const NVML_GPM_METRIC_C2C_LINK6_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(128);
    pub const NVML_GPM_METRIC_C2C_LINK6_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(129);
    pub const NVML_GPM_METRIC_C2C_LINK6_DATA_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(130);
    pub const NVML_GPM_METRIC_C2C_LINK6_DATA_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(131);
    pub const NVML_GPM_METRIC_C2C_LINK7_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(132);
    pub const NVML_GPM_METRIC_C2C_LINK7_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(133);
    pub const NVML_GPM_METRIC_C2C_LINK7_DATA_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(134);
    pub const NVML_GPM_METRIC_C2C_LINK7_DATA_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(135);
    pub const NVML_GPM_METRIC_C2C_LINK8_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(136);
    pub const NVML_GPM_METRIC_C2C_LINK8_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(137);
    pub const NVML_GPM_METRIC_C2C_LINK8_DATA_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(138);
    pub const NVML_GPM_METRIC_C2C_LINK8_DATA_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(139);
    pub const NVML_GPM_METRIC_C2C_LINK9_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(140);
    pub const NVML_GPM_METRIC_C2C_LINK9_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(141);
    pub const NVML_GPM_METRIC_C2C_LINK9_DATA_TX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(142);
    pub const NVML_GPM_METRIC_C2C_LINK9_DATA_RX_PER_SEC: nvmlGpmMetricId_t = nvmlGpmMetricId_t(143);
    pub const NVML_GPM_METRIC_C2C_LINK10_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(144);
    pub const NVML_GPM_METRIC_C2C_LINK10_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(145);
    pub const NVML_GPM_METRIC_C2C_LINK10_DATA_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(146);
    pub const NVML_GPM_METRIC_C2C_LINK10_DATA_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(147);
    pub const NVML_GPM_METRIC_C2C_LINK11_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(148);
    pub const NVML_GPM_METRIC_C2C_LINK11_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(149);
    pub const NVML_GPM_METRIC_C2C_LINK11_DATA_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(150);
    pub const NVML_GPM_METRIC_C2C_LINK11_DATA_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(151);
    pub const NVML_GPM_METRIC_C2C_LINK12_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(152);
    pub const NVML_GPM_METRIC_C2C_LINK12_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(153);
    pub const NVML_GPM_METRIC_C2C_LINK12_DATA_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(154);
    pub const NVML_GPM_METRIC_C2C_LINK12_DATA_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(155);
    pub const NVML_GPM_METRIC_C2C_LINK13_TOTAL_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(156);
    pub const NVML_GPM_METRIC_C2C_LINK13_TOTAL_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(157);
    pub const NVML_GPM_METRIC_C2C_LINK13_DATA_TX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(158);
    pub const NVML_GPM_METRIC_C2C_LINK13_DATA_RX_PER_SEC: nvmlGpmMetricId_t =
        nvmlGpmMetricId_t(159);
    pub const NVML_GPM_METRIC_HOSTMEM_CACHE_HIT: nvmlGpmMetricId_t = nvmlGpmMetricId_t(160);
    pub const NVML_GPM_METRIC_HOSTMEM_CACHE_MISS: nvmlGpmMetricId_t = nvmlGpmMetricId_t(161);
    pub const NVML_GPM_METRIC_PEERMEM_CACHE_HIT: nvmlGpmMetricId_t = nvmlGpmMetricId_t(162);
    pub const NVML_GPM_METRIC_PEERMEM_CACHE_MISS: nvmlGpmMetricId_t = nvmlGpmMetricId_t(163);
    pub const NVML_GPM_METRIC_DRAM_CACHE_HIT: nvmlGpmMetricId_t = nvmlGpmMetricId_t(164);
    pub const NVML_GPM_METRIC_DRAM_CACHE_MISS: nvmlGpmMetricId_t = nvmlGpmMetricId_t(165);
    pub const NVML_GPM_METRIC_NVENC_0_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(166);
    pub const NVML_GPM_METRIC_NVENC_1_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(167);
    pub const NVML_GPM_METRIC_NVENC_2_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(168);
    pub const NVML_GPM_METRIC_NVENC_3_UTIL: nvmlGpmMetricId_t = nvmlGpmMetricId_t(169);
    pub const NVML_GPM_METRIC_GR0_CTXSW_CYCLES_ELAPSED: nvmlGpmMetricId_t = nvmlGpmMetricId_t(170);
    pub const NVML_GPM_METRIC_GR0_CTXSW_CYCLES_ACTIVE: nvmlGpmMetricId_t = nvmlGpmMetricId_t(171);
    pub const NVML_GPM_METRIC_GR0_CTXSW_REQUESTS: nvmlGpmMetricId_t = nvmlGpmMetricId_t(172);
    pub const NVML_GPM_METRIC_GR0_CTXSW_CYCLES_PER_REQ: nvmlGpmMetricId_t = nvmlGpmMetricId_t(173);
    pub const NVML_GPM_METRIC_GR0_CTXSW_ACTIVE_PCT: nvmlGpmMetricId_t = nvmlGpmMetricId_t(174);
    pub const NVML_GPM_METRIC_GR1_CTXSW_CYCLES_ELAPSED: nvmlGpmMetricId_t = nvmlGpmMetricId_t(175);
    pub const NVML_GPM_METRIC_GR1_CTXSW_CYCLES_ACTIVE: nvmlGpmMetricId_t = nvmlGpmMetricId_t(176);
    pub const NVML_GPM_METRIC_GR1_CTXSW_REQUESTS: nvmlGpmMetricId_t = nvmlGpmMetricId_t(177);
    pub const NVML_GPM_METRIC_GR1_CTXSW_CYCLES_PER_REQ: nvmlGpmMetricId_t = nvmlGpmMetricId_t(178);
    pub const NVML_GPM_METRIC_GR1_CTXSW_ACTIVE_PCT: nvmlGpmMetricId_t = nvmlGpmMetricId_t(179);
    pub const NVML_GPM_METRIC_GR2_CTXSW_CYCLES_ELAPSED: nvmlGpmMetricId_t = nvmlGpmMetricId_t(180);
    pub const NVML_GPM_METRIC_GR2_CTXSW_CYCLES_ACTIVE: nvmlGpmMetricId_t = nvmlGpmMetricId_t(181);
    pub const NVML_GPM_METRIC_GR2_CTXSW_REQUESTS: nvmlGpmMetricId_t = nvmlGpmMetricId_t(182);
    pub const NVML_GPM_METRIC_GR2_CTXSW_CYCLES_PER_REQ: nvmlGpmMetricId_t = nvmlGpmMetricId_t(183);
    pub const NVML_GPM_METRIC_GR2_CTXSW_ACTIVE_PCT: nvmlGpmMetricId_t = nvmlGpmMetricId_t(184);
    pub const NVML_GPM_METRIC_GR3_CTXSW_CYCLES_ELAPSED: nvmlGpmMetricId_t = nvmlGpmMetricId_t(185);
    pub const NVML_GPM_METRIC_GR3_CTXSW_CYCLES_ACTIVE: nvmlGpmMetricId_t = nvmlGpmMetricId_t(186);
    pub const NVML_GPM_METRIC_GR3_CTXSW_REQUESTS: nvmlGpmMetricId_t = nvmlGpmMetricId_t(187);
    pub const NVML_GPM_METRIC_GR3_CTXSW_CYCLES_PER_REQ: nvmlGpmMetricId_t = nvmlGpmMetricId_t(188);
    pub const NVML_GPM_METRIC_GR3_CTXSW_ACTIVE_PCT: nvmlGpmMetricId_t = nvmlGpmMetricId_t(189);
    pub const NVML_GPM_METRIC_GR4_CTXSW_CYCLES_ELAPSED: nvmlGpmMetricId_t = nvmlGpmMetricId_t(190);
    pub const NVML_GPM_METRIC_GR4_CTXSW_CYCLES_ACTIVE: nvmlGpmMetricId_t = nvmlGpmMetricId_t(191);
    pub const NVML_GPM_METRIC_GR4_CTXSW_REQUESTS: nvmlGpmMetricId_t = nvmlGpmMetricId_t(192);
    pub const NVML_GPM_METRIC_GR4_CTXSW_CYCLES_PER_REQ: nvmlGpmMetricId_t = nvmlGpmMetricId_t(193);
    pub const NVML_GPM_METRIC_GR4_CTXSW_ACTIVE_PCT: nvmlGpmMetricId_t = nvmlGpmMetricId_t(194);
    pub const NVML_GPM_METRIC_GR5_CTXSW_CYCLES_ELAPSED: nvmlGpmMetricId_t = nvmlGpmMetricId_t(195);
    pub const NVML_GPM_METRIC_GR5_CTXSW_CYCLES_ACTIVE: nvmlGpmMetricId_t = nvmlGpmMetricId_t(196);
    pub const NVML_GPM_METRIC_GR5_CTXSW_REQUESTS: nvmlGpmMetricId_t = nvmlGpmMetricId_t(197);
    pub const NVML_GPM_METRIC_GR5_CTXSW_CYCLES_PER_REQ: nvmlGpmMetricId_t = nvmlGpmMetricId_t(198);
    pub const NVML_GPM_METRIC_GR5_CTXSW_ACTIVE_PCT: nvmlGpmMetricId_t = nvmlGpmMetricId_t(199);
    pub const NVML_GPM_METRIC_GR6_CTXSW_CYCLES_ELAPSED: nvmlGpmMetricId_t = nvmlGpmMetricId_t(200);
    pub const NVML_GPM_METRIC_GR6_CTXSW_CYCLES_ACTIVE: nvmlGpmMetricId_t = nvmlGpmMetricId_t(201);
    pub const NVML_GPM_METRIC_GR6_CTXSW_REQUESTS: nvmlGpmMetricId_t = nvmlGpmMetricId_t(202);
    pub const NVML_GPM_METRIC_GR6_CTXSW_CYCLES_PER_REQ: nvmlGpmMetricId_t = nvmlGpmMetricId_t(203);
    pub const NVML_GPM_METRIC_GR6_CTXSW_ACTIVE_PCT: nvmlGpmMetricId_t = nvmlGpmMetricId_t(204);
    pub const NVML_GPM_METRIC_GR7_CTXSW_CYCLES_ELAPSED: nvmlGpmMetricId_t = nvmlGpmMetricId_t(205);
    pub const NVML_GPM_METRIC_GR7_CTXSW_CYCLES_ACTIVE: nvmlGpmMetricId_t = nvmlGpmMetricId_t(206);
    pub const NVML_GPM_METRIC_GR7_CTXSW_REQUESTS: nvmlGpmMetricId_t = nvmlGpmMetricId_t(207);
    pub const NVML_GPM_METRIC_GR7_CTXSW_CYCLES_PER_REQ: nvmlGpmMetricId_t = nvmlGpmMetricId_t(208);
    pub const NVML_GPM_METRIC_GR7_CTXSW_ACTIVE_PCT: nvmlGpmMetricId_t = nvmlGpmMetricId_t(209);
    pub const NVML_GPM_METRIC_MAX: nvmlGpmMetricId_t = nvmlGpmMetricId_t(210);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlGpmMetricId_t(pub u32);

#[repr(C)]
#[derive(Debug)]
pub struct nvmlGpmSample_st {
    _unused: [u8; 0],
}

pub type nvmlGpmSample_t = *mut nvmlGpmSample_st;

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq)]
pub struct nvmlGpmMetric_t {
    pub metricId: u32,
    pub nvmlReturn: nvmlReturn_t,
    pub value: f64,
    pub metricInfo: nvmlGpmMetric_t__bindgen_ty_1,
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGpmMetric_t__bindgen_ty_1 {
    pub shortName: *mut c_char,
    pub longName: *mut c_char,
    pub unit: *mut c_char,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpmMetric_t__bindgen_ty_1"]
        [::core::mem::size_of::<nvmlGpmMetric_t__bindgen_ty_1>() - 24usize];
    ["Alignment of nvmlGpmMetric_t__bindgen_ty_1"]
        [::core::mem::align_of::<nvmlGpmMetric_t__bindgen_ty_1>() - 8usize];
    ["Offset of field: nvmlGpmMetric_t__bindgen_ty_1::shortName"]
        [::core::mem::offset_of!(nvmlGpmMetric_t__bindgen_ty_1, shortName) - 0usize];
    ["Offset of field: nvmlGpmMetric_t__bindgen_ty_1::longName"]
        [::core::mem::offset_of!(nvmlGpmMetric_t__bindgen_ty_1, longName) - 8usize];
    ["Offset of field: nvmlGpmMetric_t__bindgen_ty_1::unit"]
        [::core::mem::offset_of!(nvmlGpmMetric_t__bindgen_ty_1, unit) - 16usize];
};

impl Default for nvmlGpmMetric_t__bindgen_ty_1 {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpmMetric_t"][::core::mem::size_of::<nvmlGpmMetric_t>() - 40usize];
    ["Alignment of nvmlGpmMetric_t"][::core::mem::align_of::<nvmlGpmMetric_t>() - 8usize];
    ["Offset of field: nvmlGpmMetric_t::metricId"]
        [::core::mem::offset_of!(nvmlGpmMetric_t, metricId) - 0usize];
    ["Offset of field: nvmlGpmMetric_t::nvmlReturn"]
        [::core::mem::offset_of!(nvmlGpmMetric_t, nvmlReturn) - 4usize];
    ["Offset of field: nvmlGpmMetric_t::value"]
        [::core::mem::offset_of!(nvmlGpmMetric_t, value) - 8usize];
    ["Offset of field: nvmlGpmMetric_t::metricInfo"]
        [::core::mem::offset_of!(nvmlGpmMetric_t, metricInfo) - 16usize];
};

impl Default for nvmlGpmMetric_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq)]
pub struct nvmlGpmMetricsGet_t {
    pub version: u32,
    pub numMetrics: u32,
    pub sample1: nvmlGpmSample_t,
    pub sample2: nvmlGpmSample_t,
    pub metrics: [nvmlGpmMetric_t; 210],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpmMetricsGet_t"][::core::mem::size_of::<nvmlGpmMetricsGet_t>() - 8424usize];
    ["Alignment of nvmlGpmMetricsGet_t"][::core::mem::align_of::<nvmlGpmMetricsGet_t>() - 8usize];
    ["Offset of field: nvmlGpmMetricsGet_t::version"]
        [::core::mem::offset_of!(nvmlGpmMetricsGet_t, version) - 0usize];
    ["Offset of field: nvmlGpmMetricsGet_t::numMetrics"]
        [::core::mem::offset_of!(nvmlGpmMetricsGet_t, numMetrics) - 4usize];
    ["Offset of field: nvmlGpmMetricsGet_t::sample1"]
        [::core::mem::offset_of!(nvmlGpmMetricsGet_t, sample1) - 8usize];
    ["Offset of field: nvmlGpmMetricsGet_t::sample2"]
        [::core::mem::offset_of!(nvmlGpmMetricsGet_t, sample2) - 16usize];
    ["Offset of field: nvmlGpmMetricsGet_t::metrics"]
        [::core::mem::offset_of!(nvmlGpmMetricsGet_t, metrics) - 24usize];
};

impl Default for nvmlGpmMetricsGet_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlGpmSupport_t {
    pub version: u32,
    pub isSupportedDevice: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlGpmSupport_t"][::core::mem::size_of::<nvmlGpmSupport_t>() - 8usize];
    ["Alignment of nvmlGpmSupport_t"][::core::mem::align_of::<nvmlGpmSupport_t>() - 4usize];
    ["Offset of field: nvmlGpmSupport_t::version"]
        [::core::mem::offset_of!(nvmlGpmSupport_t, version) - 0usize];
    ["Offset of field: nvmlGpmSupport_t::isSupportedDevice"]
        [::core::mem::offset_of!(nvmlGpmSupport_t, isSupportedDevice) - 4usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlDeviceCapabilities_t {
    pub version: u32,
    pub capMask: u32,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlDeviceCapabilities_v1_t"]
        [::core::mem::size_of::<nvmlDeviceCapabilities_t>() - 8usize];
    ["Alignment of nvmlDeviceCapabilities_v1_t"]
        [::core::mem::align_of::<nvmlDeviceCapabilities_t>() - 4usize];
    ["Offset of field: nvmlDeviceCapabilities_v1_t::version"]
        [::core::mem::offset_of!(nvmlDeviceCapabilities_t, version) - 0usize];
    ["Offset of field: nvmlDeviceCapabilities_v1_t::capMask"]
        [::core::mem::offset_of!(nvmlDeviceCapabilities_t, capMask) - 4usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlMask255_t {
    pub mask: [u32; 8],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlMask255_t"][::core::mem::size_of::<nvmlMask255_t>() - 32usize];
    ["Alignment of nvmlMask255_t"][::core::mem::align_of::<nvmlMask255_t>() - 4usize];
    ["Offset of field: nvmlMask255_t::mask"][::core::mem::offset_of!(nvmlMask255_t, mask) - 0usize];
};

impl nvmlPowerProfileType_t {
    pub const NVML_POWER_PROFILE_MAX_P: nvmlPowerProfileType_t = nvmlPowerProfileType_t(0);
    pub const NVML_POWER_PROFILE_MAX_Q: nvmlPowerProfileType_t = nvmlPowerProfileType_t(1);
    pub const NVML_POWER_PROFILE_COMPUTE: nvmlPowerProfileType_t = nvmlPowerProfileType_t(2);
    pub const NVML_POWER_PROFILE_MEMORY_BOUND: nvmlPowerProfileType_t = nvmlPowerProfileType_t(3);
    pub const NVML_POWER_PROFILE_NETWORK: nvmlPowerProfileType_t = nvmlPowerProfileType_t(4);
    pub const NVML_POWER_PROFILE_BALANCED: nvmlPowerProfileType_t = nvmlPowerProfileType_t(5);
    pub const NVML_POWER_PROFILE_LLM_INFERENCE: nvmlPowerProfileType_t = nvmlPowerProfileType_t(6);
    pub const NVML_POWER_PROFILE_LLM_TRAINING: nvmlPowerProfileType_t = nvmlPowerProfileType_t(7);
    pub const NVML_POWER_PROFILE_RBM: nvmlPowerProfileType_t = nvmlPowerProfileType_t(8);
    pub const NVML_POWER_PROFILE_DCPCIE: nvmlPowerProfileType_t = nvmlPowerProfileType_t(9);
    pub const NVML_POWER_PROFILE_HMMA_SPARSE: nvmlPowerProfileType_t = nvmlPowerProfileType_t(10);
    pub const NVML_POWER_PROFILE_HMMA_DENSE: nvmlPowerProfileType_t = nvmlPowerProfileType_t(11);
    pub const NVML_POWER_PROFILE_SYNC_BALANCED: nvmlPowerProfileType_t = nvmlPowerProfileType_t(12);
    pub const NVML_POWER_PROFILE_HPC: nvmlPowerProfileType_t = nvmlPowerProfileType_t(13);
    pub const NVML_POWER_PROFILE_MIG: nvmlPowerProfileType_t = nvmlPowerProfileType_t(14);
    pub const NVML_POWER_PROFILE_MAX: nvmlPowerProfileType_t = nvmlPowerProfileType_t(15);
}

#[repr(transparent)]
#[derive(Debug, Copy, Clone, Hash, PartialEq, Eq)]
pub struct nvmlPowerProfileType_t(pub u32);

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlWorkloadPowerProfileInfo_t {
    pub version: u32,
    pub profileId: u32,
    pub priority: u32,
    pub conflictingMask: nvmlMask255_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlWorkloadPowerProfileInfo_v1_t"]
        [::core::mem::size_of::<nvmlWorkloadPowerProfileInfo_t>() - 44usize];
    ["Alignment of nvmlWorkloadPowerProfileInfo_v1_t"]
        [::core::mem::align_of::<nvmlWorkloadPowerProfileInfo_t>() - 4usize];
    ["Offset of field: nvmlWorkloadPowerProfileInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlWorkloadPowerProfileInfo_t, version) - 0usize];
    ["Offset of field: nvmlWorkloadPowerProfileInfo_v1_t::profileId"]
        [::core::mem::offset_of!(nvmlWorkloadPowerProfileInfo_t, profileId) - 4usize];
    ["Offset of field: nvmlWorkloadPowerProfileInfo_v1_t::priority"]
        [::core::mem::offset_of!(nvmlWorkloadPowerProfileInfo_t, priority) - 8usize];
    ["Offset of field: nvmlWorkloadPowerProfileInfo_v1_t::conflictingMask"]
        [::core::mem::offset_of!(nvmlWorkloadPowerProfileInfo_t, conflictingMask) - 12usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlWorkloadPowerProfileProfilesInfo_t {
    pub version: u32,
    pub perfProfilesMask: nvmlMask255_t,
    pub perfProfile: [nvmlWorkloadPowerProfileInfo_t; 255],
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlWorkloadPowerProfileProfilesInfo_v1_t"]
        [::core::mem::size_of::<nvmlWorkloadPowerProfileProfilesInfo_t>() - 11256usize];
    ["Alignment of nvmlWorkloadPowerProfileProfilesInfo_v1_t"]
        [::core::mem::align_of::<nvmlWorkloadPowerProfileProfilesInfo_t>() - 4usize];
    ["Offset of field: nvmlWorkloadPowerProfileProfilesInfo_v1_t::version"]
        [::core::mem::offset_of!(nvmlWorkloadPowerProfileProfilesInfo_t, version) - 0usize];
    ["Offset of field: nvmlWorkloadPowerProfileProfilesInfo_v1_t::perfProfilesMask"][::core::mem::offset_of!(
        nvmlWorkloadPowerProfileProfilesInfo_t,
        perfProfilesMask
    ) - 4usize];
    ["Offset of field: nvmlWorkloadPowerProfileProfilesInfo_v1_t::perfProfile"]
        [::core::mem::offset_of!(nvmlWorkloadPowerProfileProfilesInfo_t, perfProfile) - 36usize];
};

impl Default for nvmlWorkloadPowerProfileProfilesInfo_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlWorkloadPowerProfileCurrentProfiles_t {
    pub version: u32,
    pub perfProfilesMask: nvmlMask255_t,
    pub requestedProfilesMask: nvmlMask255_t,
    pub enforcedProfilesMask: nvmlMask255_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlWorkloadPowerProfileCurrentProfiles_v1_t"]
        [::core::mem::size_of::<nvmlWorkloadPowerProfileCurrentProfiles_t>() - 100usize];
    ["Alignment of nvmlWorkloadPowerProfileCurrentProfiles_v1_t"]
        [::core::mem::align_of::<nvmlWorkloadPowerProfileCurrentProfiles_t>() - 4usize];
    ["Offset of field: nvmlWorkloadPowerProfileCurrentProfiles_v1_t::version"]
        [::core::mem::offset_of!(nvmlWorkloadPowerProfileCurrentProfiles_t, version) - 0usize];
    ["Offset of field: nvmlWorkloadPowerProfileCurrentProfiles_v1_t::perfProfilesMask"][::core::mem::offset_of!(
        nvmlWorkloadPowerProfileCurrentProfiles_t,
        perfProfilesMask
    ) - 4usize];
    ["Offset of field: nvmlWorkloadPowerProfileCurrentProfiles_v1_t::requestedProfilesMask"][::core::mem::offset_of!(
        nvmlWorkloadPowerProfileCurrentProfiles_t,
        requestedProfilesMask
    )
        - 36usize];
    ["Offset of field: nvmlWorkloadPowerProfileCurrentProfiles_v1_t::enforcedProfilesMask"][::core::mem::offset_of!(
        nvmlWorkloadPowerProfileCurrentProfiles_t,
        enforcedProfilesMask
    )
        - 68usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq, Eq)]
pub struct nvmlWorkloadPowerProfileRequestedProfiles_t {
    pub version: u32,
    pub requestedProfilesMask: nvmlMask255_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlWorkloadPowerProfileRequestedProfiles_v1_t"]
        [::core::mem::size_of::<nvmlWorkloadPowerProfileRequestedProfiles_t>() - 36usize];
    ["Alignment of nvmlWorkloadPowerProfileRequestedProfiles_v1_t"]
        [::core::mem::align_of::<nvmlWorkloadPowerProfileRequestedProfiles_t>() - 4usize];
    ["Offset of field: nvmlWorkloadPowerProfileRequestedProfiles_v1_t::version"]
        [::core::mem::offset_of!(nvmlWorkloadPowerProfileRequestedProfiles_t, version) - 0usize];
    ["Offset of field: nvmlWorkloadPowerProfileRequestedProfiles_v1_t::requestedProfilesMask"][::core::mem::offset_of!(
        nvmlWorkloadPowerProfileRequestedProfiles_t,
        requestedProfilesMask
    )
        - 4usize];
};

#[repr(C)]
#[derive(Debug, Default, Copy, Clone, PartialEq)]
pub struct nvmlPowerSmoothingProfile_t {
    pub version: u32,
    pub profileId: u32,
    pub paramId: u32,
    pub value: f64,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlPowerSmoothingProfile_v1_t"]
        [::core::mem::size_of::<nvmlPowerSmoothingProfile_t>() - 24usize];
    ["Alignment of nvmlPowerSmoothingProfile_v1_t"]
        [::core::mem::align_of::<nvmlPowerSmoothingProfile_t>() - 8usize];
    ["Offset of field: nvmlPowerSmoothingProfile_v1_t::version"]
        [::core::mem::offset_of!(nvmlPowerSmoothingProfile_t, version) - 0usize];
    ["Offset of field: nvmlPowerSmoothingProfile_v1_t::profileId"]
        [::core::mem::offset_of!(nvmlPowerSmoothingProfile_t, profileId) - 4usize];
    ["Offset of field: nvmlPowerSmoothingProfile_v1_t::paramId"]
        [::core::mem::offset_of!(nvmlPowerSmoothingProfile_t, paramId) - 8usize];
    ["Offset of field: nvmlPowerSmoothingProfile_v1_t::value"]
        [::core::mem::offset_of!(nvmlPowerSmoothingProfile_t, value) - 16usize];
};

#[repr(C)]
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub struct nvmlPowerSmoothingState_t {
    pub version: u32,
    pub state: nvmlEnableState_t,
}

#[allow(clippy::unnecessary_operation, clippy::identity_op)]
const _: () = {
    ["Size of nvmlPowerSmoothingState_v1_t"]
        [::core::mem::size_of::<nvmlPowerSmoothingState_t>() - 8usize];
    ["Alignment of nvmlPowerSmoothingState_v1_t"]
        [::core::mem::align_of::<nvmlPowerSmoothingState_t>() - 4usize];
    ["Offset of field: nvmlPowerSmoothingState_v1_t::version"]
        [::core::mem::offset_of!(nvmlPowerSmoothingState_t, version) - 0usize];
    ["Offset of field: nvmlPowerSmoothingState_v1_t::state"]
        [::core::mem::offset_of!(nvmlPowerSmoothingState_t, state) - 4usize];
};

impl Default for nvmlPowerSmoothingState_t {
    fn default() -> Self {
        let mut s = ::core::mem::MaybeUninit::<Self>::uninit();
        unsafe {
            ::core::ptr::write_bytes(s.as_mut_ptr(), 0, 1);
            s.assume_init()
        }
    }
}

pub type nvmlActiveVgpuInstanceInfo_v1_t = nvmlActiveVgpuInstanceInfo_t;

pub type nvmlClkMonFaultInfo_struct = nvmlClkMonFaultInfo_t;

pub type nvmlClkMonStatus_status = nvmlClkMonStatus_t;

pub type nvmlClockOffset_v1_t = nvmlClockOffset_t;

pub type nvmlConfComputeGetKeyRotationThresholdInfo_v1_t =
    nvmlConfComputeGetKeyRotationThresholdInfo_t;

pub type nvmlConfComputeSetKeyRotationThresholdInfo_v1_t =
    nvmlConfComputeSetKeyRotationThresholdInfo_t;

pub type nvmlCoolerInfo_v1_t = nvmlCoolerInfo_t;

pub type nvmlDeviceAddressingMode_v1_t = nvmlDeviceAddressingMode_t;

pub type nvmlDeviceCapabilities_v1_t = nvmlDeviceCapabilities_t;

pub type nvmlDeviceCurrentClockFreqs_v1_t = nvmlDeviceCurrentClockFreqs_t;

pub type nvmlDeviceGpuRecoveryAction_t = nvmlDeviceGpuRecoveryAction_s;

pub type nvmlDevicePerfModes_v1_t = nvmlDevicePerfModes_t;

pub type nvmlDramEncryptionInfo_v1_t = nvmlDramEncryptionInfo_t;

pub type nvmlEccSramErrorStatus_v1_t = nvmlEccSramErrorStatus_t;

pub type nvmlEccSramUniqueUncorrectedErrorCounts_v1_t = nvmlEccSramUniqueUncorrectedErrorCounts_t;

pub type nvmlFanSpeedInfo_v1_t = nvmlFanSpeedInfo_t;

pub type nvmlGpuFabricInfo_v3_t = nvmlGpuFabricInfoV_t;

pub type nvmlGpuVirtualizationMode_t = nvmlGpuVirtualizationMode;

pub type nvmlMarginTemperature_v1_t = nvmlMarginTemperature_t;

pub type nvmlNvLinkInfo_v2_t = nvmlNvLinkInfo_t;

pub type nvmlNvlinkGetBwMode_v1_t = nvmlNvlinkGetBwMode_t;

pub type nvmlNvlinkSetBwMode_v1_t = nvmlNvlinkSetBwMode_t;

pub type nvmlNvlinkSupportedBwModes_v1_t = nvmlNvlinkSupportedBwModes_t;

pub type nvmlPciInfoExt_v1_t = nvmlPciInfoExt_t;

pub type nvmlPdi_v1_t = nvmlPdi_t;

pub type nvmlPlatformInfo_v2_t = nvmlPlatformInfo_t;

pub type nvmlPowerSmoothingProfile_v1_t = nvmlPowerSmoothingProfile_t;

pub type nvmlPowerSmoothingState_v1_t = nvmlPowerSmoothingState_t;

pub type nvmlProcessDetailList_v1_t = nvmlProcessDetailList_t;

pub type nvmlProcessInfo_v2_t = nvmlProcessInfo_t;

pub type nvmlProcessesUtilizationInfo_v1_t = nvmlProcessesUtilizationInfo_t;

pub type nvmlRepairStatus_v1_t = nvmlRepairStatus_t;

pub type nvmlSystemConfComputeSettings_v1_t = nvmlSystemConfComputeSettings_t;

pub type nvmlSystemDriverBranchInfo_v1_t = nvmlSystemDriverBranchInfo_t;

pub type nvmlSystemEventSetCreateRequest_v1_t = nvmlSystemEventSetCreateRequest_t;

pub type nvmlSystemEventSetFreeRequest_v1_t = nvmlSystemEventSetFreeRequest_t;

pub type nvmlSystemEventSetWaitRequest_v1_t = nvmlSystemEventSetWaitRequest_t;

pub type nvmlSystemRegisterEventRequest_v1_t = nvmlSystemRegisterEventRequest_t;

pub type nvmlTemperature_v1_t = nvmlTemperature_t;

pub type nvmlUUID_v1_t = nvmlUUID_t;

pub type nvmlVgpuCreatablePlacementInfo_v1_t = nvmlVgpuCreatablePlacementInfo_t;

pub type nvmlVgpuHeterogeneousMode_v1_t = nvmlVgpuHeterogeneousMode_t;

pub type nvmlVgpuInstancesUtilizationInfo_v1_t = nvmlVgpuInstancesUtilizationInfo_t;

pub type nvmlVgpuPlacementId_v1_t = nvmlVgpuPlacementId_t;

pub type nvmlVgpuPlacementList_v2_t = nvmlVgpuPlacementList_t;

pub type nvmlVgpuProcessesUtilizationInfo_v1_t = nvmlVgpuProcessesUtilizationInfo_t;

pub type nvmlVgpuRuntimeState_v1_t = nvmlVgpuRuntimeState_t;

pub type nvmlVgpuSchedulerLogInfo_v1_t = nvmlVgpuSchedulerLogInfo_t;

pub type nvmlVgpuSchedulerStateInfo_v1_t = nvmlVgpuSchedulerStateInfo_t;

pub type nvmlVgpuSchedulerState_v1_t = nvmlVgpuSchedulerState_t;

pub type nvmlVgpuTypeBar1Info_v1_t = nvmlVgpuTypeBar1Info_t;

pub type nvmlVgpuTypeIdInfo_v1_t = nvmlVgpuTypeIdInfo_t;

pub type nvmlVgpuTypeMaxInstance_v1_t = nvmlVgpuTypeMaxInstance_t;

pub type nvmlVgpuVmIdType_t = nvmlVgpuVmIdType;

pub type nvmlWorkloadPowerProfileCurrentProfiles_v1_t = nvmlWorkloadPowerProfileCurrentProfiles_t;

pub type nvmlWorkloadPowerProfileInfo_v1_t = nvmlWorkloadPowerProfileInfo_t;

pub type nvmlWorkloadPowerProfileProfilesInfo_v1_t = nvmlWorkloadPowerProfileProfilesInfo_t;

pub type nvmlWorkloadPowerProfileRequestedProfiles_v1_t =
    nvmlWorkloadPowerProfileRequestedProfiles_t;
