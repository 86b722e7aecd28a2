// Generated from NVIDIA's headers by cuda-api/generate. Do not edit.

use super::sys::*;
use core::ffi::{c_char, c_void};

pub type nvmlComputeInstanceDestroy =
    unsafe extern "C" fn(computeInstance: nvmlComputeInstance_t) -> nvmlReturn_t;
pub type nvmlComputeInstanceGetInfo = unsafe extern "C" fn(
    computeInstance: nvmlComputeInstance_t,
    info: *mut nvmlComputeInstanceInfo_t,
) -> nvmlReturn_t;
pub type nvmlComputeInstanceGetInfo_v2 = unsafe extern "C" fn(
    computeInstance: nvmlComputeInstance_t,
    info: *mut nvmlComputeInstanceInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceClearAccountingPids = unsafe extern "C" fn(device: nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceClearCpuAffinity = unsafe extern "C" fn(device: nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceClearEccErrorCounts =
    unsafe extern "C" fn(device: nvmlDevice_t, counterType: nvmlEccCounterType_t) -> nvmlReturn_t;
pub type nvmlDeviceClearFieldValues = unsafe extern "C" fn(
    device: nvmlDevice_t,
    valuesCount: i32,
    values: *mut nvmlFieldValue_t,
) -> nvmlReturn_t;
pub type nvmlDeviceCreateGpuInstance = unsafe extern "C" fn(
    device: nvmlDevice_t,
    profileId: u32,
    gpuInstance: *mut nvmlGpuInstance_t,
) -> nvmlReturn_t;
pub type nvmlDeviceCreateGpuInstanceWithPlacement = unsafe extern "C" fn(
    device: nvmlDevice_t,
    profileId: u32,
    placement: *const nvmlGpuInstancePlacement_t,
    gpuInstance: *mut nvmlGpuInstance_t,
) -> nvmlReturn_t;
pub type nvmlDeviceDiscoverGpus = unsafe extern "C" fn(pciInfo: *mut nvmlPciInfo_t) -> nvmlReturn_t;
pub type nvmlDeviceFreezeNvLinkUtilizationCounter = unsafe extern "C" fn(
    device: nvmlDevice_t,
    link: u32,
    counter: u32,
    freeze: nvmlEnableState_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetAPIRestriction = unsafe extern "C" fn(
    device: nvmlDevice_t,
    apiType: nvmlRestrictedAPI_t,
    isRestricted: *mut nvmlEnableState_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetAccountingBufferSize =
    unsafe extern "C" fn(device: nvmlDevice_t, bufferSize: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetAccountingMode =
    unsafe extern "C" fn(device: nvmlDevice_t, mode: *mut nvmlEnableState_t) -> nvmlReturn_t;
pub type nvmlDeviceGetAccountingPids =
    unsafe extern "C" fn(device: nvmlDevice_t, count: *mut u32, pids: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetAccountingStats = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pid: u32,
    stats: *mut nvmlAccountingStats_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetActiveVgpus = unsafe extern "C" fn(
    device: nvmlDevice_t,
    vgpuCount: *mut u32,
    vgpuInstances: *mut nvmlVgpuInstance_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetAdaptiveClockInfoStatus =
    unsafe extern "C" fn(device: nvmlDevice_t, adaptiveClockStatus: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetAddressingMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    mode: *mut nvmlDeviceAddressingMode_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetApplicationsClock = unsafe extern "C" fn(
    device: nvmlDevice_t,
    clockType: nvmlClockType_t,
    clockMHz: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetArchitecture =
    unsafe extern "C" fn(device: nvmlDevice_t, arch: *mut nvmlDeviceArchitecture_t) -> nvmlReturn_t;
pub type nvmlDeviceGetAttributes = unsafe extern "C" fn(
    device: nvmlDevice_t,
    attributes: *mut nvmlDeviceAttributes_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetAttributes_v2 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    attributes: *mut nvmlDeviceAttributes_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetAutoBoostedClocksEnabled = unsafe extern "C" fn(
    device: nvmlDevice_t,
    isEnabled: *mut nvmlEnableState_t,
    defaultIsEnabled: *mut nvmlEnableState_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetBAR1MemoryInfo =
    unsafe extern "C" fn(device: nvmlDevice_t, bar1Memory: *mut nvmlBAR1Memory_t) -> nvmlReturn_t;
pub type nvmlDeviceGetBoardId =
    unsafe extern "C" fn(device: nvmlDevice_t, boardId: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetBoardPartNumber = unsafe extern "C" fn(
    device: nvmlDevice_t,
    partNumber: *mut c_char,
    length: u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetBrand =
    unsafe extern "C" fn(device: nvmlDevice_t, type_: *mut nvmlBrandType_t) -> nvmlReturn_t;
pub type nvmlDeviceGetBridgeChipInfo = unsafe extern "C" fn(
    device: nvmlDevice_t,
    bridgeHierarchy: *mut nvmlBridgeChipHierarchy_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetBusType =
    unsafe extern "C" fn(device: nvmlDevice_t, type_: *mut nvmlBusType_t) -> nvmlReturn_t;
pub type nvmlDeviceGetC2cModeInfoV = unsafe extern "C" fn(
    device: nvmlDevice_t,
    c2cModeInfo: *mut nvmlC2cModeInfo_v1_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetCapabilities =
    unsafe extern "C" fn(device: nvmlDevice_t, caps: *mut nvmlDeviceCapabilities_t) -> nvmlReturn_t;
pub type nvmlDeviceGetClkMonStatus =
    unsafe extern "C" fn(device: nvmlDevice_t, status: *mut nvmlClkMonStatus_t) -> nvmlReturn_t;
pub type nvmlDeviceGetClock = unsafe extern "C" fn(
    device: nvmlDevice_t,
    clockType: nvmlClockType_t,
    clockId: nvmlClockId_t,
    clockMHz: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetClockInfo = unsafe extern "C" fn(
    device: nvmlDevice_t,
    type_: nvmlClockType_t,
    clock: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetClockOffsets =
    unsafe extern "C" fn(device: nvmlDevice_t, info: *mut nvmlClockOffset_t) -> nvmlReturn_t;
pub type nvmlDeviceGetComputeInstanceId =
    unsafe extern "C" fn(device: nvmlDevice_t, id: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetComputeMode =
    unsafe extern "C" fn(device: nvmlDevice_t, mode: *mut nvmlComputeMode_t) -> nvmlReturn_t;
pub type nvmlDeviceGetComputeRunningProcesses = unsafe extern "C" fn(
    device: nvmlDevice_t,
    infoCount: *mut u32,
    infos: *mut nvmlProcessInfo_v1_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetComputeRunningProcesses_v2 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    infoCount: *mut u32,
    infos: *mut nvmlProcessInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetComputeRunningProcesses_v3 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    infoCount: *mut u32,
    infos: *mut nvmlProcessInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetConfComputeGpuAttestationReport = unsafe extern "C" fn(
    device: nvmlDevice_t,
    gpuAtstReport: *mut nvmlConfComputeGpuAttestationReport_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetConfComputeGpuCertificate = unsafe extern "C" fn(
    device: nvmlDevice_t,
    gpuCert: *mut nvmlConfComputeGpuCertificate_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetConfComputeMemSizeInfo = unsafe extern "C" fn(
    device: nvmlDevice_t,
    memInfo: *mut nvmlConfComputeMemSizeInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetConfComputeProtectedMemoryUsage =
    unsafe extern "C" fn(device: nvmlDevice_t, memory: *mut nvmlMemory_t) -> nvmlReturn_t;
pub type nvmlDeviceGetCoolerInfo =
    unsafe extern "C" fn(device: nvmlDevice_t, coolerInfo: *mut nvmlCoolerInfo_t) -> nvmlReturn_t;
pub type nvmlDeviceGetCount = unsafe extern "C" fn(deviceCount: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetCount_v2 = unsafe extern "C" fn(deviceCount: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetCpuAffinity =
    unsafe extern "C" fn(device: nvmlDevice_t, cpuSetSize: u32, cpuSet: *mut u64) -> nvmlReturn_t;
pub type nvmlDeviceGetCpuAffinityWithinScope = unsafe extern "C" fn(
    device: nvmlDevice_t,
    cpuSetSize: u32,
    cpuSet: *mut u64,
    scope: nvmlAffinityScope_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetCreatableVgpus = unsafe extern "C" fn(
    device: nvmlDevice_t,
    vgpuCount: *mut u32,
    vgpuTypeIds: *mut nvmlVgpuTypeId_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetCudaComputeCapability =
    unsafe extern "C" fn(device: nvmlDevice_t, major: *mut i32, minor: *mut i32) -> nvmlReturn_t;
pub type nvmlDeviceGetCurrPcieLinkGeneration =
    unsafe extern "C" fn(device: nvmlDevice_t, currLinkGen: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetCurrPcieLinkWidth =
    unsafe extern "C" fn(device: nvmlDevice_t, currLinkWidth: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetCurrentClockFreqs = unsafe extern "C" fn(
    device: nvmlDevice_t,
    currentClockFreqs: *mut nvmlDeviceCurrentClockFreqs_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetCurrentClocksEventReasons =
    unsafe extern "C" fn(device: nvmlDevice_t, clocksEventReasons: *mut u64) -> nvmlReturn_t;
pub type nvmlDeviceGetCurrentClocksThrottleReasons =
    unsafe extern "C" fn(device: nvmlDevice_t, clocksThrottleReasons: *mut u64) -> nvmlReturn_t;
pub type nvmlDeviceGetDecoderUtilization = unsafe extern "C" fn(
    device: nvmlDevice_t,
    utilization: *mut u32,
    samplingPeriodUs: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetDefaultApplicationsClock = unsafe extern "C" fn(
    device: nvmlDevice_t,
    clockType: nvmlClockType_t,
    clockMHz: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetDefaultEccMode =
    unsafe extern "C" fn(device: nvmlDevice_t, defaultMode: *mut nvmlEnableState_t) -> nvmlReturn_t;
pub type nvmlDeviceGetDetailedEccErrors = unsafe extern "C" fn(
    device: nvmlDevice_t,
    errorType: nvmlMemoryErrorType_t,
    counterType: nvmlEccCounterType_t,
    eccCounts: *mut nvmlEccErrorCounts_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetDeviceHandleFromMigDeviceHandle =
    unsafe extern "C" fn(migDevice: nvmlDevice_t, device: *mut nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceGetDisplayActive =
    unsafe extern "C" fn(device: nvmlDevice_t, isActive: *mut nvmlEnableState_t) -> nvmlReturn_t;
pub type nvmlDeviceGetDisplayMode =
    unsafe extern "C" fn(device: nvmlDevice_t, display: *mut nvmlEnableState_t) -> nvmlReturn_t;
pub type nvmlDeviceGetDramEncryptionMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    current: *mut nvmlDramEncryptionInfo_t,
    pending: *mut nvmlDramEncryptionInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetDriverModel = unsafe extern "C" fn(
    device: nvmlDevice_t,
    current: *mut nvmlDriverModel_t,
    pending: *mut nvmlDriverModel_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetDriverModel_v2 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    current: *mut nvmlDriverModel_t,
    pending: *mut nvmlDriverModel_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetDynamicPstatesInfo = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pDynamicPstatesInfo: *mut nvmlGpuDynamicPstatesInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetEccMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    current: *mut nvmlEnableState_t,
    pending: *mut nvmlEnableState_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetEncoderCapacity = unsafe extern "C" fn(
    device: nvmlDevice_t,
    encoderQueryType: nvmlEncoderType_t,
    encoderCapacity: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetEncoderSessions = unsafe extern "C" fn(
    device: nvmlDevice_t,
    sessionCount: *mut u32,
    sessionInfos: *mut nvmlEncoderSessionInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetEncoderStats = unsafe extern "C" fn(
    device: nvmlDevice_t,
    sessionCount: *mut u32,
    averageFps: *mut u32,
    averageLatency: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetEncoderUtilization = unsafe extern "C" fn(
    device: nvmlDevice_t,
    utilization: *mut u32,
    samplingPeriodUs: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetEnforcedPowerLimit =
    unsafe extern "C" fn(device: nvmlDevice_t, limit: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetFBCSessions = unsafe extern "C" fn(
    device: nvmlDevice_t,
    sessionCount: *mut u32,
    sessionInfo: *mut nvmlFBCSessionInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetFBCStats =
    unsafe extern "C" fn(device: nvmlDevice_t, fbcStats: *mut nvmlFBCStats_t) -> nvmlReturn_t;
pub type nvmlDeviceGetFanControlPolicy_v2 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    fan: u32,
    policy: *mut nvmlFanControlPolicy_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetFanSpeed =
    unsafe extern "C" fn(device: nvmlDevice_t, speed: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetFanSpeedRPM =
    unsafe extern "C" fn(device: nvmlDevice_t, fanSpeed: *mut nvmlFanSpeedInfo_t) -> nvmlReturn_t;
pub type nvmlDeviceGetFanSpeed_v2 =
    unsafe extern "C" fn(device: nvmlDevice_t, fan: u32, speed: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetFieldValues = unsafe extern "C" fn(
    device: nvmlDevice_t,
    valuesCount: i32,
    values: *mut nvmlFieldValue_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGpcClkMinMaxVfOffset = unsafe extern "C" fn(
    device: nvmlDevice_t,
    minOffset: *mut i32,
    maxOffset: *mut i32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGpcClkVfOffset =
    unsafe extern "C" fn(device: nvmlDevice_t, offset: *mut i32) -> nvmlReturn_t;
pub type nvmlDeviceGetGpuFabricInfo = unsafe extern "C" fn(
    device: nvmlDevice_t,
    gpuFabricInfo: *mut nvmlGpuFabricInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGpuFabricInfoV = unsafe extern "C" fn(
    device: nvmlDevice_t,
    gpuFabricInfo: *mut nvmlGpuFabricInfoV_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGpuInstanceById = unsafe extern "C" fn(
    device: nvmlDevice_t,
    id: u32,
    gpuInstance: *mut nvmlGpuInstance_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGpuInstanceId =
    unsafe extern "C" fn(device: nvmlDevice_t, id: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetGpuInstancePossiblePlacements = unsafe extern "C" fn(
    device: nvmlDevice_t,
    profileId: u32,
    placements: *mut nvmlGpuInstancePlacement_t,
    count: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGpuInstancePossiblePlacements_v2 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    profileId: u32,
    placements: *mut nvmlGpuInstancePlacement_t,
    count: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGpuInstanceProfileInfo = unsafe extern "C" fn(
    device: nvmlDevice_t,
    profile: u32,
    info: *mut nvmlGpuInstanceProfileInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGpuInstanceProfileInfoByIdV = unsafe extern "C" fn(
    device: nvmlDevice_t,
    profileId: u32,
    info: *mut nvmlGpuInstanceProfileInfo_v2_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGpuInstanceProfileInfoV = unsafe extern "C" fn(
    device: nvmlDevice_t,
    profile: u32,
    info: *mut nvmlGpuInstanceProfileInfo_v2_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGpuInstanceRemainingCapacity =
    unsafe extern "C" fn(device: nvmlDevice_t, profileId: u32, count: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetGpuInstances = unsafe extern "C" fn(
    device: nvmlDevice_t,
    profileId: u32,
    gpuInstances: *mut nvmlGpuInstance_t,
    count: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGpuMaxPcieLinkGeneration =
    unsafe extern "C" fn(device: nvmlDevice_t, maxLinkGenDevice: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetGpuOperationMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    current: *mut nvmlGpuOperationMode_t,
    pending: *mut nvmlGpuOperationMode_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGraphicsRunningProcesses = unsafe extern "C" fn(
    device: nvmlDevice_t,
    infoCount: *mut u32,
    infos: *mut nvmlProcessInfo_v1_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGraphicsRunningProcesses_v2 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    infoCount: *mut u32,
    infos: *mut nvmlProcessInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGraphicsRunningProcesses_v3 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    infoCount: *mut u32,
    infos: *mut nvmlProcessInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGridLicensableFeatures = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pGridLicensableFeatures: *mut nvmlGridLicensableFeatures_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGridLicensableFeatures_v2 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pGridLicensableFeatures: *mut nvmlGridLicensableFeatures_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGridLicensableFeatures_v3 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pGridLicensableFeatures: *mut nvmlGridLicensableFeatures_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGridLicensableFeatures_v4 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pGridLicensableFeatures: *mut nvmlGridLicensableFeatures_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGspFirmwareMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    isEnabled: *mut u32,
    defaultMode: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetGspFirmwareVersion =
    unsafe extern "C" fn(device: nvmlDevice_t, version: *mut c_char) -> nvmlReturn_t;
pub type nvmlDeviceGetHandleByIndex =
    unsafe extern "C" fn(index: u32, device: *mut nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceGetHandleByIndex_v2 =
    unsafe extern "C" fn(index: u32, device: *mut nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceGetHandleByPciBusId =
    unsafe extern "C" fn(pciBusId: *const c_char, device: *mut nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceGetHandleByPciBusId_v2 =
    unsafe extern "C" fn(pciBusId: *const c_char, device: *mut nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceGetHandleBySerial =
    unsafe extern "C" fn(serial: *const c_char, device: *mut nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceGetHandleByUUID =
    unsafe extern "C" fn(uuid: *const c_char, device: *mut nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceGetHandleByUUIDV =
    unsafe extern "C" fn(uuid: *const nvmlUUID_t, device: *mut nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceGetHostVgpuMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pHostVgpuMode: *mut nvmlHostVgpuMode_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetHostname_v1 =
    unsafe extern "C" fn(device: nvmlDevice_t, hostname: *mut nvmlHostname_v1_t) -> nvmlReturn_t;
pub type nvmlDeviceGetIndex =
    unsafe extern "C" fn(device: nvmlDevice_t, index: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetInforomConfigurationChecksum =
    unsafe extern "C" fn(device: nvmlDevice_t, checksum: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetInforomImageVersion =
    unsafe extern "C" fn(device: nvmlDevice_t, version: *mut c_char, length: u32) -> nvmlReturn_t;
pub type nvmlDeviceGetInforomVersion = unsafe extern "C" fn(
    device: nvmlDevice_t,
    object: nvmlInforomObject_t,
    version: *mut c_char,
    length: u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetIrqNum =
    unsafe extern "C" fn(device: nvmlDevice_t, irqNum: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetJpgUtilization = unsafe extern "C" fn(
    device: nvmlDevice_t,
    utilization: *mut u32,
    samplingPeriodUs: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetLastBBXFlushTime = unsafe extern "C" fn(
    device: nvmlDevice_t,
    timestamp: *mut u64,
    durationUs: *mut u64,
) -> nvmlReturn_t;
pub type nvmlDeviceGetMPSComputeRunningProcesses = unsafe extern "C" fn(
    device: nvmlDevice_t,
    infoCount: *mut u32,
    infos: *mut nvmlProcessInfo_v1_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetMPSComputeRunningProcesses_v2 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    infoCount: *mut u32,
    infos: *mut nvmlProcessInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetMPSComputeRunningProcesses_v3 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    infoCount: *mut u32,
    infos: *mut nvmlProcessInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetMarginTemperature = unsafe extern "C" fn(
    device: nvmlDevice_t,
    marginTempInfo: *mut nvmlMarginTemperature_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetMaxClockInfo = unsafe extern "C" fn(
    device: nvmlDevice_t,
    type_: nvmlClockType_t,
    clock: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetMaxCustomerBoostClock = unsafe extern "C" fn(
    device: nvmlDevice_t,
    clockType: nvmlClockType_t,
    clockMHz: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetMaxMigDeviceCount =
    unsafe extern "C" fn(device: nvmlDevice_t, count: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetMaxPcieLinkGeneration =
    unsafe extern "C" fn(device: nvmlDevice_t, maxLinkGen: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetMaxPcieLinkWidth =
    unsafe extern "C" fn(device: nvmlDevice_t, maxLinkWidth: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetMemClkMinMaxVfOffset = unsafe extern "C" fn(
    device: nvmlDevice_t,
    minOffset: *mut i32,
    maxOffset: *mut i32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetMemClkVfOffset =
    unsafe extern "C" fn(device: nvmlDevice_t, offset: *mut i32) -> nvmlReturn_t;
pub type nvmlDeviceGetMemoryAffinity = unsafe extern "C" fn(
    device: nvmlDevice_t,
    nodeSetSize: u32,
    nodeSet: *mut u64,
    scope: nvmlAffinityScope_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetMemoryBusWidth =
    unsafe extern "C" fn(device: nvmlDevice_t, busWidth: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetMemoryErrorCounter = unsafe extern "C" fn(
    device: nvmlDevice_t,
    errorType: nvmlMemoryErrorType_t,
    counterType: nvmlEccCounterType_t,
    locationType: nvmlMemoryLocation_t,
    count: *mut u64,
) -> nvmlReturn_t;
pub type nvmlDeviceGetMemoryInfo =
    unsafe extern "C" fn(device: nvmlDevice_t, memory: *mut nvmlMemory_t) -> nvmlReturn_t;
pub type nvmlDeviceGetMemoryInfo_v2 =
    unsafe extern "C" fn(device: nvmlDevice_t, memory: *mut nvmlMemory_v2_t) -> nvmlReturn_t;
pub type nvmlDeviceGetMigDeviceHandleByIndex = unsafe extern "C" fn(
    device: nvmlDevice_t,
    index: u32,
    migDevice: *mut nvmlDevice_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetMigMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    currentMode: *mut u32,
    pendingMode: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetMinMaxClockOfPState = unsafe extern "C" fn(
    device: nvmlDevice_t,
    type_: nvmlClockType_t,
    pstate: nvmlPstates_t,
    minClockMHz: *mut u32,
    maxClockMHz: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetMinMaxFanSpeed = unsafe extern "C" fn(
    device: nvmlDevice_t,
    minSpeed: *mut u32,
    maxSpeed: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetMinorNumber =
    unsafe extern "C" fn(device: nvmlDevice_t, minorNumber: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetModuleId =
    unsafe extern "C" fn(device: nvmlDevice_t, moduleId: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetMultiGpuBoard =
    unsafe extern "C" fn(device: nvmlDevice_t, multiGpuBool: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetName =
    unsafe extern "C" fn(device: nvmlDevice_t, name: *mut c_char, length: u32) -> nvmlReturn_t;
pub type nvmlDeviceGetNumFans =
    unsafe extern "C" fn(device: nvmlDevice_t, numFans: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetNumGpuCores =
    unsafe extern "C" fn(device: nvmlDevice_t, numCores: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetNumaNodeId =
    unsafe extern "C" fn(device: nvmlDevice_t, node: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetNvLinkCapability = unsafe extern "C" fn(
    device: nvmlDevice_t,
    link: u32,
    capability: nvmlNvLinkCapability_t,
    capResult: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetNvLinkErrorCounter = unsafe extern "C" fn(
    device: nvmlDevice_t,
    link: u32,
    counter: nvmlNvLinkErrorCounter_t,
    counterValue: *mut u64,
) -> nvmlReturn_t;
pub type nvmlDeviceGetNvLinkInfo =
    unsafe extern "C" fn(device: nvmlDevice_t, info: *mut nvmlNvLinkInfo_t) -> nvmlReturn_t;
pub type nvmlDeviceGetNvLinkRemoteDeviceType = unsafe extern "C" fn(
    device: nvmlDevice_t,
    link: u32,
    pNvLinkDeviceType: *mut nvmlIntNvLinkDeviceType_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetNvLinkRemotePciInfo =
    unsafe extern "C" fn(device: nvmlDevice_t, link: u32, pci: *mut nvmlPciInfo_t) -> nvmlReturn_t;
pub type nvmlDeviceGetNvLinkRemotePciInfo_v2 =
    unsafe extern "C" fn(device: nvmlDevice_t, link: u32, pci: *mut nvmlPciInfo_t) -> nvmlReturn_t;
pub type nvmlDeviceGetNvLinkState = unsafe extern "C" fn(
    device: nvmlDevice_t,
    link: u32,
    isActive: *mut nvmlEnableState_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetNvLinkUtilizationControl = unsafe extern "C" fn(
    device: nvmlDevice_t,
    link: u32,
    counter: u32,
    control: *mut nvmlNvLinkUtilizationControl_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetNvLinkUtilizationCounter = unsafe extern "C" fn(
    device: nvmlDevice_t,
    link: u32,
    counter: u32,
    rxcounter: *mut u64,
    txcounter: *mut u64,
) -> nvmlReturn_t;
pub type nvmlDeviceGetNvLinkVersion =
    unsafe extern "C" fn(device: nvmlDevice_t, link: u32, version: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetNvlinkBwMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    getBwMode: *mut nvmlNvlinkGetBwMode_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetNvlinkSupportedBwModes = unsafe extern "C" fn(
    device: nvmlDevice_t,
    supportedBwMode: *mut nvmlNvlinkSupportedBwModes_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetOfaUtilization = unsafe extern "C" fn(
    device: nvmlDevice_t,
    utilization: *mut u32,
    samplingPeriodUs: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetP2PStatus = unsafe extern "C" fn(
    device1: nvmlDevice_t,
    device2: nvmlDevice_t,
    p2pIndex: nvmlGpuP2PCapsIndex_t,
    p2pStatus: *mut nvmlGpuP2PStatus_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetPciInfo =
    unsafe extern "C" fn(device: nvmlDevice_t, pci: *mut nvmlPciInfo_t) -> nvmlReturn_t;
pub type nvmlDeviceGetPciInfoExt =
    unsafe extern "C" fn(device: nvmlDevice_t, pci: *mut nvmlPciInfoExt_t) -> nvmlReturn_t;
pub type nvmlDeviceGetPciInfo_v2 =
    unsafe extern "C" fn(device: nvmlDevice_t, pci: *mut nvmlPciInfo_t) -> nvmlReturn_t;
pub type nvmlDeviceGetPciInfo_v3 =
    unsafe extern "C" fn(device: nvmlDevice_t, pci: *mut nvmlPciInfo_t) -> nvmlReturn_t;
pub type nvmlDeviceGetPcieLinkMaxSpeed =
    unsafe extern "C" fn(device: nvmlDevice_t, maxSpeed: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetPcieReplayCounter =
    unsafe extern "C" fn(device: nvmlDevice_t, value: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetPcieSpeed =
    unsafe extern "C" fn(device: nvmlDevice_t, pcieSpeed: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetPcieThroughput = unsafe extern "C" fn(
    device: nvmlDevice_t,
    counter: nvmlPcieUtilCounter_t,
    value: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetPdi =
    unsafe extern "C" fn(device: nvmlDevice_t, pdi: *mut nvmlPdi_t) -> nvmlReturn_t;
pub type nvmlDeviceGetPerformanceModes = unsafe extern "C" fn(
    device: nvmlDevice_t,
    perfModes: *mut nvmlDevicePerfModes_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetPerformanceState =
    unsafe extern "C" fn(device: nvmlDevice_t, pState: *mut nvmlPstates_t) -> nvmlReturn_t;
pub type nvmlDeviceGetPersistenceMode =
    unsafe extern "C" fn(device: nvmlDevice_t, mode: *mut nvmlEnableState_t) -> nvmlReturn_t;
pub type nvmlDeviceGetPgpuMetadataString = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pgpuMetadata: *mut c_char,
    bufferSize: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetPlatformInfo = unsafe extern "C" fn(
    device: nvmlDevice_t,
    platformInfo: *mut nvmlPlatformInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetPowerManagementDefaultLimit =
    unsafe extern "C" fn(device: nvmlDevice_t, defaultLimit: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetPowerManagementLimit =
    unsafe extern "C" fn(device: nvmlDevice_t, limit: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetPowerManagementLimitConstraints = unsafe extern "C" fn(
    device: nvmlDevice_t,
    minLimit: *mut u32,
    maxLimit: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetPowerManagementMode =
    unsafe extern "C" fn(device: nvmlDevice_t, mode: *mut nvmlEnableState_t) -> nvmlReturn_t;
pub type nvmlDeviceGetPowerMizerMode_v1 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    powerMizerMode: *mut nvmlDevicePowerMizerModes_v1_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetPowerSource =
    unsafe extern "C" fn(device: nvmlDevice_t, powerSource: *mut nvmlPowerSource_t) -> nvmlReturn_t;
pub type nvmlDeviceGetPowerState =
    unsafe extern "C" fn(device: nvmlDevice_t, pState: *mut nvmlPstates_t) -> nvmlReturn_t;
pub type nvmlDeviceGetPowerUsage =
    unsafe extern "C" fn(device: nvmlDevice_t, power: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetProcessUtilization = unsafe extern "C" fn(
    device: nvmlDevice_t,
    utilization: *mut nvmlProcessUtilizationSample_t,
    processSamplesCount: *mut u32,
    lastSeenTimeStamp: u64,
) -> nvmlReturn_t;
pub type nvmlDeviceGetProcessesUtilizationInfo = unsafe extern "C" fn(
    device: nvmlDevice_t,
    procesesUtilInfo: *mut nvmlProcessesUtilizationInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetRemappedRows = unsafe extern "C" fn(
    device: nvmlDevice_t,
    corrRows: *mut u32,
    uncRows: *mut u32,
    isPending: *mut u32,
    failureOccurred: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetRepairStatus = unsafe extern "C" fn(
    device: nvmlDevice_t,
    repairStatus: *mut nvmlRepairStatus_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetRetiredPages = unsafe extern "C" fn(
    device: nvmlDevice_t,
    cause: nvmlPageRetirementCause_t,
    pageCount: *mut u32,
    addresses: *mut u64,
) -> nvmlReturn_t;
pub type nvmlDeviceGetRetiredPagesPendingStatus =
    unsafe extern "C" fn(device: nvmlDevice_t, isPending: *mut nvmlEnableState_t) -> nvmlReturn_t;
pub type nvmlDeviceGetRetiredPages_v2 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    cause: nvmlPageRetirementCause_t,
    pageCount: *mut u32,
    addresses: *mut u64,
    timestamps: *mut u64,
) -> nvmlReturn_t;
pub type nvmlDeviceGetRowRemapperHistogram = unsafe extern "C" fn(
    device: nvmlDevice_t,
    values: *mut nvmlRowRemapperHistogramValues_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetRunningProcessDetailList =
    unsafe extern "C" fn(device: nvmlDevice_t, plist: *mut nvmlProcessDetailList_t) -> nvmlReturn_t;
pub type nvmlDeviceGetSamples = unsafe extern "C" fn(
    device: nvmlDevice_t,
    type_: nvmlSamplingType_t,
    lastSeenTimeStamp: u64,
    sampleValType: *mut nvmlValueType_t,
    sampleCount: *mut u32,
    samples: *mut nvmlSample_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetSerial =
    unsafe extern "C" fn(device: nvmlDevice_t, serial: *mut c_char, length: u32) -> nvmlReturn_t;
pub type nvmlDeviceGetSramEccErrorStatus = unsafe extern "C" fn(
    device: nvmlDevice_t,
    status: *mut nvmlEccSramErrorStatus_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts = unsafe extern "C" fn(
    device: nvmlDevice_t,
    errorCounts: *mut nvmlEccSramUniqueUncorrectedErrorCounts_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetSupportedClocksEventReasons = unsafe extern "C" fn(
    device: nvmlDevice_t,
    supportedClocksEventReasons: *mut u64,
) -> nvmlReturn_t;
pub type nvmlDeviceGetSupportedClocksThrottleReasons = unsafe extern "C" fn(
    device: nvmlDevice_t,
    supportedClocksThrottleReasons: *mut u64,
) -> nvmlReturn_t;
pub type nvmlDeviceGetSupportedEventTypes =
    unsafe extern "C" fn(device: nvmlDevice_t, eventTypes: *mut u64) -> nvmlReturn_t;
pub type nvmlDeviceGetSupportedGraphicsClocks = unsafe extern "C" fn(
    device: nvmlDevice_t,
    memoryClockMHz: u32,
    count: *mut u32,
    clocksMHz: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetSupportedMemoryClocks = unsafe extern "C" fn(
    device: nvmlDevice_t,
    count: *mut u32,
    clocksMHz: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetSupportedPerformanceStates = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pstates: *mut nvmlPstates_t,
    size: u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetSupportedVgpus = unsafe extern "C" fn(
    device: nvmlDevice_t,
    vgpuCount: *mut u32,
    vgpuTypeIds: *mut nvmlVgpuTypeId_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetTargetFanSpeed =
    unsafe extern "C" fn(device: nvmlDevice_t, fan: u32, targetSpeed: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceGetTemperature = unsafe extern "C" fn(
    device: nvmlDevice_t,
    sensorType: nvmlTemperatureSensors_t,
    temp: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetTemperatureThreshold = unsafe extern "C" fn(
    device: nvmlDevice_t,
    thresholdType: nvmlTemperatureThresholds_t,
    temp: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetTemperatureV =
    unsafe extern "C" fn(device: nvmlDevice_t, temperature: *mut nvmlTemperature_t) -> nvmlReturn_t;
pub type nvmlDeviceGetThermalSettings = unsafe extern "C" fn(
    device: nvmlDevice_t,
    sensorIndex: u32,
    pThermalSettings: *mut nvmlGpuThermalSettings_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetTopologyCommonAncestor = unsafe extern "C" fn(
    device1: nvmlDevice_t,
    device2: nvmlDevice_t,
    pathInfo: *mut nvmlGpuTopologyLevel_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetTopologyNearestGpus = unsafe extern "C" fn(
    device: nvmlDevice_t,
    level: nvmlGpuTopologyLevel_t,
    count: *mut u32,
    deviceArray: *mut nvmlDevice_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetTotalEccErrors = unsafe extern "C" fn(
    device: nvmlDevice_t,
    errorType: nvmlMemoryErrorType_t,
    counterType: nvmlEccCounterType_t,
    eccCounts: *mut u64,
) -> nvmlReturn_t;
pub type nvmlDeviceGetTotalEnergyConsumption =
    unsafe extern "C" fn(device: nvmlDevice_t, energy: *mut u64) -> nvmlReturn_t;
pub type nvmlDeviceGetUUID =
    unsafe extern "C" fn(device: nvmlDevice_t, uuid: *mut c_char, length: u32) -> nvmlReturn_t;
pub type nvmlDeviceGetUtilizationRates =
    unsafe extern "C" fn(device: nvmlDevice_t, utilization: *mut nvmlUtilization_t) -> nvmlReturn_t;
pub type nvmlDeviceGetVbiosVersion =
    unsafe extern "C" fn(device: nvmlDevice_t, version: *mut c_char, length: u32) -> nvmlReturn_t;
pub type nvmlDeviceGetVgpuCapabilities = unsafe extern "C" fn(
    device: nvmlDevice_t,
    capability: nvmlDeviceVgpuCapability_t,
    capResult: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetVgpuHeterogeneousMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pHeterogeneousMode: *mut nvmlVgpuHeterogeneousMode_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetVgpuInstancesUtilizationInfo = unsafe extern "C" fn(
    device: nvmlDevice_t,
    vgpuUtilInfo: *mut nvmlVgpuInstancesUtilizationInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetVgpuMetadata = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pgpuMetadata: *mut nvmlVgpuPgpuMetadata_t,
    bufferSize: *mut u32,
) -> nvmlReturn_t;
pub type nvmlDeviceGetVgpuProcessUtilization = unsafe extern "C" fn(
    device: nvmlDevice_t,
    lastSeenTimeStamp: u64,
    vgpuProcessSamplesCount: *mut u32,
    utilizationSamples: *mut nvmlVgpuProcessUtilizationSample_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetVgpuProcessesUtilizationInfo = unsafe extern "C" fn(
    device: nvmlDevice_t,
    vgpuProcUtilInfo: *mut nvmlVgpuProcessesUtilizationInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetVgpuSchedulerCapabilities = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pCapabilities: *mut nvmlVgpuSchedulerCapabilities_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetVgpuSchedulerLog = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pSchedulerLog: *mut nvmlVgpuSchedulerLog_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetVgpuSchedulerState = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pSchedulerState: *mut nvmlVgpuSchedulerGetState_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetVgpuTypeCreatablePlacements = unsafe extern "C" fn(
    device: nvmlDevice_t,
    vgpuTypeId: nvmlVgpuTypeId_t,
    pPlacementList: *mut nvmlVgpuPlacementList_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetVgpuTypeSupportedPlacements = unsafe extern "C" fn(
    device: nvmlDevice_t,
    vgpuTypeId: nvmlVgpuTypeId_t,
    pPlacementList: *mut nvmlVgpuPlacementList_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetVgpuUtilization = unsafe extern "C" fn(
    device: nvmlDevice_t,
    lastSeenTimeStamp: u64,
    sampleValType: *mut nvmlValueType_t,
    vgpuInstanceSamplesCount: *mut u32,
    utilizationSamples: *mut nvmlVgpuInstanceUtilizationSample_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetViolationStatus = unsafe extern "C" fn(
    device: nvmlDevice_t,
    perfPolicyType: nvmlPerfPolicyType_t,
    violTime: *mut nvmlViolationTime_t,
) -> nvmlReturn_t;
pub type nvmlDeviceGetVirtualizationMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pVirtualMode: *mut nvmlGpuVirtualizationMode,
) -> nvmlReturn_t;
pub type nvmlDeviceIsMigDeviceHandle =
    unsafe extern "C" fn(device: nvmlDevice_t, isMigDevice: *mut u32) -> nvmlReturn_t;
pub type nvmlDeviceModifyDrainState =
    unsafe extern "C" fn(pciInfo: *mut nvmlPciInfo_t, newState: nvmlEnableState_t) -> nvmlReturn_t;
pub type nvmlDeviceOnSameBoard = unsafe extern "C" fn(
    device1: nvmlDevice_t,
    device2: nvmlDevice_t,
    onSameBoard: *mut i32,
) -> nvmlReturn_t;
pub type nvmlDevicePowerSmoothingActivatePresetProfile = unsafe extern "C" fn(
    device: nvmlDevice_t,
    profile: *mut nvmlPowerSmoothingProfile_t,
) -> nvmlReturn_t;
pub type nvmlDevicePowerSmoothingSetState = unsafe extern "C" fn(
    device: nvmlDevice_t,
    state: *mut nvmlPowerSmoothingState_t,
) -> nvmlReturn_t;
pub type nvmlDevicePowerSmoothingUpdatePresetProfileParam = unsafe extern "C" fn(
    device: nvmlDevice_t,
    profile: *mut nvmlPowerSmoothingProfile_t,
) -> nvmlReturn_t;
pub type nvmlDeviceQueryDrainState = unsafe extern "C" fn(
    pciInfo: *mut nvmlPciInfo_t,
    currentState: *mut nvmlEnableState_t,
) -> nvmlReturn_t;
pub type nvmlDeviceReadWritePRM_v1 =
    unsafe extern "C" fn(device: nvmlDevice_t, buffer: *mut nvmlPRMTLV_v1_t) -> nvmlReturn_t;
pub type nvmlDeviceRegisterEvents = unsafe extern "C" fn(
    device: nvmlDevice_t,
    eventTypes: u64,
    set: nvmlEventSet_t,
) -> nvmlReturn_t;
pub type nvmlDeviceRemoveGpu = unsafe extern "C" fn(pciInfo: *mut nvmlPciInfo_t) -> nvmlReturn_t;
pub type nvmlDeviceRemoveGpu_v2 = unsafe extern "C" fn(
    pciInfo: *mut nvmlPciInfo_t,
    gpuState: nvmlDetachGpuState_t,
    linkState: nvmlPcieLinkState_t,
) -> nvmlReturn_t;
pub type nvmlDeviceResetApplicationsClocks =
    unsafe extern "C" fn(device: nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceResetGpuLockedClocks =
    unsafe extern "C" fn(device: nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceResetMemoryLockedClocks =
    unsafe extern "C" fn(device: nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceResetNvLinkErrorCounters =
    unsafe extern "C" fn(device: nvmlDevice_t, link: u32) -> nvmlReturn_t;
pub type nvmlDeviceResetNvLinkUtilizationCounter =
    unsafe extern "C" fn(device: nvmlDevice_t, link: u32, counter: u32) -> nvmlReturn_t;
pub type nvmlDeviceSetAPIRestriction = unsafe extern "C" fn(
    device: nvmlDevice_t,
    apiType: nvmlRestrictedAPI_t,
    isRestricted: nvmlEnableState_t,
) -> nvmlReturn_t;
pub type nvmlDeviceSetAccountingMode =
    unsafe extern "C" fn(device: nvmlDevice_t, mode: nvmlEnableState_t) -> nvmlReturn_t;
pub type nvmlDeviceSetApplicationsClocks = unsafe extern "C" fn(
    device: nvmlDevice_t,
    memClockMHz: u32,
    graphicsClockMHz: u32,
) -> nvmlReturn_t;
pub type nvmlDeviceSetAutoBoostedClocksEnabled =
    unsafe extern "C" fn(device: nvmlDevice_t, enabled: nvmlEnableState_t) -> nvmlReturn_t;
pub type nvmlDeviceSetClockOffsets =
    unsafe extern "C" fn(device: nvmlDevice_t, info: *mut nvmlClockOffset_t) -> nvmlReturn_t;
pub type nvmlDeviceSetComputeMode =
    unsafe extern "C" fn(device: nvmlDevice_t, mode: nvmlComputeMode_t) -> nvmlReturn_t;
pub type nvmlDeviceSetConfComputeUnprotectedMemSize =
    unsafe extern "C" fn(device: nvmlDevice_t, sizeKiB: u64) -> nvmlReturn_t;
pub type nvmlDeviceSetCpuAffinity = unsafe extern "C" fn(device: nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceSetDefaultAutoBoostedClocksEnabled = unsafe extern "C" fn(
    device: nvmlDevice_t,
    enabled: nvmlEnableState_t,
    flags: u32,
) -> nvmlReturn_t;
pub type nvmlDeviceSetDefaultFanSpeed_v2 =
    unsafe extern "C" fn(device: nvmlDevice_t, fan: u32) -> nvmlReturn_t;
pub type nvmlDeviceSetDramEncryptionMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    dramEncryption: *const nvmlDramEncryptionInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceSetDriverModel = unsafe extern "C" fn(
    device: nvmlDevice_t,
    driverModel: nvmlDriverModel_t,
    flags: u32,
) -> nvmlReturn_t;
pub type nvmlDeviceSetEccMode =
    unsafe extern "C" fn(device: nvmlDevice_t, ecc: nvmlEnableState_t) -> nvmlReturn_t;
pub type nvmlDeviceSetFanControlPolicy = unsafe extern "C" fn(
    device: nvmlDevice_t,
    fan: u32,
    policy: nvmlFanControlPolicy_t,
) -> nvmlReturn_t;
pub type nvmlDeviceSetFanSpeed_v2 =
    unsafe extern "C" fn(device: nvmlDevice_t, fan: u32, speed: u32) -> nvmlReturn_t;
pub type nvmlDeviceSetGpcClkVfOffset =
    unsafe extern "C" fn(device: nvmlDevice_t, offset: i32) -> nvmlReturn_t;
pub type nvmlDeviceSetGpuLockedClocks = unsafe extern "C" fn(
    device: nvmlDevice_t,
    minGpuClockMHz: u32,
    maxGpuClockMHz: u32,
) -> nvmlReturn_t;
pub type nvmlDeviceSetGpuOperationMode =
    unsafe extern "C" fn(device: nvmlDevice_t, mode: nvmlGpuOperationMode_t) -> nvmlReturn_t;
pub type nvmlDeviceSetHostname_v1 =
    unsafe extern "C" fn(device: nvmlDevice_t, hostname: *mut nvmlHostname_v1_t) -> nvmlReturn_t;
pub type nvmlDeviceSetMemClkVfOffset =
    unsafe extern "C" fn(device: nvmlDevice_t, offset: i32) -> nvmlReturn_t;
pub type nvmlDeviceSetMemoryLockedClocks = unsafe extern "C" fn(
    device: nvmlDevice_t,
    minMemClockMHz: u32,
    maxMemClockMHz: u32,
) -> nvmlReturn_t;
pub type nvmlDeviceSetMigMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    mode: u32,
    activationStatus: *mut nvmlReturn_t,
) -> nvmlReturn_t;
pub type nvmlDeviceSetNvLinkDeviceLowPowerThreshold =
    unsafe extern "C" fn(device: nvmlDevice_t, info: *mut nvmlNvLinkPowerThres_t) -> nvmlReturn_t;
pub type nvmlDeviceSetNvLinkUtilizationControl = unsafe extern "C" fn(
    device: nvmlDevice_t,
    link: u32,
    counter: u32,
    control: *mut nvmlNvLinkUtilizationControl_t,
    reset: u32,
) -> nvmlReturn_t;
pub type nvmlDeviceSetNvlinkBwMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    setBwMode: *mut nvmlNvlinkSetBwMode_t,
) -> nvmlReturn_t;
pub type nvmlDeviceSetPersistenceMode =
    unsafe extern "C" fn(device: nvmlDevice_t, mode: nvmlEnableState_t) -> nvmlReturn_t;
pub type nvmlDeviceSetPowerManagementLimit =
    unsafe extern "C" fn(device: nvmlDevice_t, limit: u32) -> nvmlReturn_t;
pub type nvmlDeviceSetPowerManagementLimit_v2 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    powerValue: *mut nvmlPowerValue_v2_t,
) -> nvmlReturn_t;
pub type nvmlDeviceSetPowerMizerMode_v1 = unsafe extern "C" fn(
    device: nvmlDevice_t,
    powerMizerMode: *mut nvmlDevicePowerMizerModes_v1_t,
) -> nvmlReturn_t;
pub type nvmlDeviceSetTemperatureThreshold = unsafe extern "C" fn(
    device: nvmlDevice_t,
    thresholdType: nvmlTemperatureThresholds_t,
    temp: *mut i32,
) -> nvmlReturn_t;
pub type nvmlDeviceSetVgpuCapabilities = unsafe extern "C" fn(
    device: nvmlDevice_t,
    capability: nvmlDeviceVgpuCapability_t,
    state: nvmlEnableState_t,
) -> nvmlReturn_t;
pub type nvmlDeviceSetVgpuHeterogeneousMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pHeterogeneousMode: *const nvmlVgpuHeterogeneousMode_t,
) -> nvmlReturn_t;
pub type nvmlDeviceSetVgpuSchedulerState = unsafe extern "C" fn(
    device: nvmlDevice_t,
    pSchedulerState: *mut nvmlVgpuSchedulerSetState_t,
) -> nvmlReturn_t;
pub type nvmlDeviceSetVirtualizationMode = unsafe extern "C" fn(
    device: nvmlDevice_t,
    virtualMode: nvmlGpuVirtualizationMode,
) -> nvmlReturn_t;
pub type nvmlDeviceValidateInforom = unsafe extern "C" fn(device: nvmlDevice_t) -> nvmlReturn_t;
pub type nvmlDeviceWorkloadPowerProfileClearRequestedProfiles =
    unsafe extern "C" fn(
        device: nvmlDevice_t,
        requestedProfiles: *mut nvmlWorkloadPowerProfileRequestedProfiles_t,
    ) -> nvmlReturn_t;
pub type nvmlDeviceWorkloadPowerProfileGetCurrentProfiles = unsafe extern "C" fn(
    device: nvmlDevice_t,
    currentProfiles: *mut nvmlWorkloadPowerProfileCurrentProfiles_t,
) -> nvmlReturn_t;
pub type nvmlDeviceWorkloadPowerProfileGetProfilesInfo = unsafe extern "C" fn(
    device: nvmlDevice_t,
    profilesInfo: *mut nvmlWorkloadPowerProfileProfilesInfo_t,
) -> nvmlReturn_t;
pub type nvmlDeviceWorkloadPowerProfileSetRequestedProfiles = unsafe extern "C" fn(
    device: nvmlDevice_t,
    requestedProfiles: *mut nvmlWorkloadPowerProfileRequestedProfiles_t,
) -> nvmlReturn_t;
pub type nvmlErrorString = unsafe extern "C" fn(result: nvmlReturn_t) -> *const c_char;
pub type nvmlEventSetCreate = unsafe extern "C" fn(set: *mut nvmlEventSet_t) -> nvmlReturn_t;
pub type nvmlEventSetFree = unsafe extern "C" fn(set: nvmlEventSet_t) -> nvmlReturn_t;
pub type nvmlEventSetWait = unsafe extern "C" fn(
    set: nvmlEventSet_t,
    data: *mut nvmlEventData_t,
    timeoutms: u32,
) -> nvmlReturn_t;
pub type nvmlEventSetWait_v2 = unsafe extern "C" fn(
    set: nvmlEventSet_t,
    data: *mut nvmlEventData_t,
    timeoutms: u32,
) -> nvmlReturn_t;
pub type nvmlGetExcludedDeviceCount = unsafe extern "C" fn(deviceCount: *mut u32) -> nvmlReturn_t;
pub type nvmlGetExcludedDeviceInfoByIndex =
    unsafe extern "C" fn(index: u32, info: *mut nvmlExcludedDeviceInfo_t) -> nvmlReturn_t;
pub type nvmlGetVgpuCompatibility = unsafe extern "C" fn(
    vgpuMetadata: *mut nvmlVgpuMetadata_t,
    pgpuMetadata: *mut nvmlVgpuPgpuMetadata_t,
    compatibilityInfo: *mut nvmlVgpuPgpuCompatibility_t,
) -> nvmlReturn_t;
pub type nvmlGetVgpuDriverCapabilities = unsafe extern "C" fn(
    capability: nvmlVgpuDriverCapability_t,
    capResult: *mut u32,
) -> nvmlReturn_t;
pub type nvmlGetVgpuVersion = unsafe extern "C" fn(
    supported: *mut nvmlVgpuVersion_t,
    current: *mut nvmlVgpuVersion_t,
) -> nvmlReturn_t;
pub type nvmlGpmMetricsGet =
    unsafe extern "C" fn(metricsGet: *mut nvmlGpmMetricsGet_t) -> nvmlReturn_t;
pub type nvmlGpmMigSampleGet = unsafe extern "C" fn(
    device: nvmlDevice_t,
    gpuInstanceId: u32,
    gpmSample: nvmlGpmSample_t,
) -> nvmlReturn_t;
pub type nvmlGpmQueryDeviceSupport =
    unsafe extern "C" fn(device: nvmlDevice_t, gpmSupport: *mut nvmlGpmSupport_t) -> nvmlReturn_t;
pub type nvmlGpmQueryIfStreamingEnabled =
    unsafe extern "C" fn(device: nvmlDevice_t, state: *mut u32) -> nvmlReturn_t;
pub type nvmlGpmSampleAlloc = unsafe extern "C" fn(gpmSample: *mut nvmlGpmSample_t) -> nvmlReturn_t;
pub type nvmlGpmSampleFree = unsafe extern "C" fn(gpmSample: nvmlGpmSample_t) -> nvmlReturn_t;
pub type nvmlGpmSampleGet =
    unsafe extern "C" fn(device: nvmlDevice_t, gpmSample: nvmlGpmSample_t) -> nvmlReturn_t;
pub type nvmlGpmSetStreamingEnabled =
    unsafe extern "C" fn(device: nvmlDevice_t, state: u32) -> nvmlReturn_t;
pub type nvmlGpuInstanceCreateComputeInstance = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    profileId: u32,
    computeInstance: *mut nvmlComputeInstance_t,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceCreateComputeInstanceWithPlacement = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    profileId: u32,
    placement: *const nvmlComputeInstancePlacement_t,
    computeInstance: *mut nvmlComputeInstance_t,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceDestroy =
    unsafe extern "C" fn(gpuInstance: nvmlGpuInstance_t) -> nvmlReturn_t;
pub type nvmlGpuInstanceGetActiveVgpus = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    pVgpuInstanceInfo: *mut nvmlActiveVgpuInstanceInfo_t,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceGetComputeInstanceById = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    id: u32,
    computeInstance: *mut nvmlComputeInstance_t,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceGetComputeInstancePossiblePlacements = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    profileId: u32,
    placements: *mut nvmlComputeInstancePlacement_t,
    count: *mut u32,
)
    -> nvmlReturn_t;
pub type nvmlGpuInstanceGetComputeInstanceProfileInfo = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    profile: u32,
    engProfile: u32,
    info: *mut nvmlComputeInstanceProfileInfo_t,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceGetComputeInstanceProfileInfoV = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    profile: u32,
    engProfile: u32,
    info: *mut nvmlComputeInstanceProfileInfo_v2_t,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceGetComputeInstanceRemainingCapacity = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    profileId: u32,
    count: *mut u32,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceGetComputeInstances = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    profileId: u32,
    computeInstances: *mut nvmlComputeInstance_t,
    count: *mut u32,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceGetCreatableVgpus = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    pVgpus: *mut nvmlVgpuTypeIdInfo_t,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceGetInfo = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    info: *mut nvmlGpuInstanceInfo_t,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceGetVgpuHeterogeneousMode = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    pHeterogeneousMode: *mut nvmlVgpuHeterogeneousMode_t,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceGetVgpuSchedulerLog = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    pSchedulerLogInfo: *mut nvmlVgpuSchedulerLogInfo_t,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceGetVgpuSchedulerState = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    pSchedulerStateInfo: *mut nvmlVgpuSchedulerStateInfo_t,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceGetVgpuTypeCreatablePlacements = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    pCreatablePlacementInfo: *mut nvmlVgpuCreatablePlacementInfo_t,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceSetVgpuHeterogeneousMode = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    pHeterogeneousMode: *const nvmlVgpuHeterogeneousMode_t,
) -> nvmlReturn_t;
pub type nvmlGpuInstanceSetVgpuSchedulerState = unsafe extern "C" fn(
    gpuInstance: nvmlGpuInstance_t,
    pScheduler: *mut nvmlVgpuSchedulerState_t,
) -> nvmlReturn_t;
pub type nvmlInit = unsafe extern "C" fn() -> nvmlReturn_t;
pub type nvmlInitWithFlags = unsafe extern "C" fn(flags: u32) -> nvmlReturn_t;
pub type nvmlInit_v2 = unsafe extern "C" fn() -> nvmlReturn_t;
pub type nvmlInternalGetExportTable = unsafe extern "C" fn(
    ppExportTable: *mut *const c_void,
    pExportTableId: *const [u8; 16],
) -> nvmlReturn_t;
pub type nvmlSetVgpuVersion =
    unsafe extern "C" fn(vgpuVersion: *mut nvmlVgpuVersion_t) -> nvmlReturn_t;
pub type nvmlShutdown = unsafe extern "C" fn() -> nvmlReturn_t;
pub type nvmlSystemEventSetCreate =
    unsafe extern "C" fn(request: *mut nvmlSystemEventSetCreateRequest_t) -> nvmlReturn_t;
pub type nvmlSystemEventSetFree =
    unsafe extern "C" fn(request: *mut nvmlSystemEventSetFreeRequest_t) -> nvmlReturn_t;
pub type nvmlSystemEventSetWait =
    unsafe extern "C" fn(request: *mut nvmlSystemEventSetWaitRequest_t) -> nvmlReturn_t;
pub type nvmlSystemGetConfComputeCapabilities =
    unsafe extern "C" fn(capabilities: *mut nvmlConfComputeSystemCaps_t) -> nvmlReturn_t;
pub type nvmlSystemGetConfComputeGpusReadyState =
    unsafe extern "C" fn(isAcceptingWork: *mut u32) -> nvmlReturn_t;
pub type nvmlSystemGetConfComputeKeyRotationThresholdInfo = unsafe extern "C" fn(
    pKeyRotationThrInfo: *mut nvmlConfComputeGetKeyRotationThresholdInfo_t,
) -> nvmlReturn_t;
pub type nvmlSystemGetConfComputeSettings =
    unsafe extern "C" fn(settings: *mut nvmlSystemConfComputeSettings_t) -> nvmlReturn_t;
pub type nvmlSystemGetConfComputeState =
    unsafe extern "C" fn(state: *mut nvmlConfComputeSystemState_t) -> nvmlReturn_t;
pub type nvmlSystemGetCudaDriverVersion =
    unsafe extern "C" fn(cudaDriverVersion: *mut i32) -> nvmlReturn_t;
pub type nvmlSystemGetCudaDriverVersion_v2 =
    unsafe extern "C" fn(cudaDriverVersion: *mut i32) -> nvmlReturn_t;
pub type nvmlSystemGetDriverBranch = unsafe extern "C" fn(
    branchInfo: *mut nvmlSystemDriverBranchInfo_t,
    length: u32,
) -> nvmlReturn_t;
pub type nvmlSystemGetDriverVersion =
    unsafe extern "C" fn(version: *mut c_char, length: u32) -> nvmlReturn_t;
pub type nvmlSystemGetHicVersion =
    unsafe extern "C" fn(hwbcCount: *mut u32, hwbcEntries: *mut nvmlHwbcEntry_t) -> nvmlReturn_t;
pub type nvmlSystemGetNVMLVersion =
    unsafe extern "C" fn(version: *mut c_char, length: u32) -> nvmlReturn_t;
pub type nvmlSystemGetNvlinkBwMode = unsafe extern "C" fn(nvlinkBwMode: *mut u32) -> nvmlReturn_t;
pub type nvmlSystemGetProcessName =
    unsafe extern "C" fn(pid: u32, name: *mut c_char, length: u32) -> nvmlReturn_t;
pub type nvmlSystemGetTopologyGpuSet = unsafe extern "C" fn(
    cpuNumber: u32,
    count: *mut u32,
    deviceArray: *mut nvmlDevice_t,
) -> nvmlReturn_t;
pub type nvmlSystemRegisterEvents =
    unsafe extern "C" fn(request: *mut nvmlSystemRegisterEventRequest_t) -> nvmlReturn_t;
pub type nvmlSystemSetConfComputeGpusReadyState =
    unsafe extern "C" fn(isAcceptingWork: u32) -> nvmlReturn_t;
pub type nvmlSystemSetConfComputeKeyRotationThresholdInfo = unsafe extern "C" fn(
    pKeyRotationThrInfo: *mut nvmlConfComputeSetKeyRotationThresholdInfo_t,
) -> nvmlReturn_t;
pub type nvmlSystemSetNvlinkBwMode = unsafe extern "C" fn(nvlinkBwMode: u32) -> nvmlReturn_t;
pub type nvmlUnitGetCount = unsafe extern "C" fn(unitCount: *mut u32) -> nvmlReturn_t;
pub type nvmlUnitGetDevices = unsafe extern "C" fn(
    unit: nvmlUnit_t,
    deviceCount: *mut u32,
    devices: *mut nvmlDevice_t,
) -> nvmlReturn_t;
pub type nvmlUnitGetFanSpeedInfo =
    unsafe extern "C" fn(unit: nvmlUnit_t, fanSpeeds: *mut nvmlUnitFanSpeeds_t) -> nvmlReturn_t;
pub type nvmlUnitGetHandleByIndex =
    unsafe extern "C" fn(index: u32, unit: *mut nvmlUnit_t) -> nvmlReturn_t;
pub type nvmlUnitGetLedState =
    unsafe extern "C" fn(unit: nvmlUnit_t, state: *mut nvmlLedState_t) -> nvmlReturn_t;
pub type nvmlUnitGetPsuInfo =
    unsafe extern "C" fn(unit: nvmlUnit_t, psu: *mut nvmlPSUInfo_t) -> nvmlReturn_t;
pub type nvmlUnitGetTemperature =
    unsafe extern "C" fn(unit: nvmlUnit_t, type_: u32, temp: *mut u32) -> nvmlReturn_t;
pub type nvmlUnitGetUnitInfo =
    unsafe extern "C" fn(unit: nvmlUnit_t, info: *mut nvmlUnitInfo_t) -> nvmlReturn_t;
pub type nvmlUnitSetLedState =
    unsafe extern "C" fn(unit: nvmlUnit_t, color: nvmlLedColor_t) -> nvmlReturn_t;
pub type nvmlVgpuInstanceClearAccountingPids =
    unsafe extern "C" fn(vgpuInstance: nvmlVgpuInstance_t) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetAccountingMode = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    mode: *mut nvmlEnableState_t,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetAccountingPids = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    count: *mut u32,
    pids: *mut u32,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetAccountingStats = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    pid: u32,
    stats: *mut nvmlAccountingStats_t,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetEccMode = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    eccMode: *mut nvmlEnableState_t,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetEncoderCapacity = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    encoderCapacity: *mut u32,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetEncoderSessions = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    sessionCount: *mut u32,
    sessionInfo: *mut nvmlEncoderSessionInfo_t,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetEncoderStats = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    sessionCount: *mut u32,
    averageFps: *mut u32,
    averageLatency: *mut u32,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetFBCSessions = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    sessionCount: *mut u32,
    sessionInfo: *mut nvmlFBCSessionInfo_t,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetFBCStats = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    fbcStats: *mut nvmlFBCStats_t,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetFbUsage =
    unsafe extern "C" fn(vgpuInstance: nvmlVgpuInstance_t, fbUsage: *mut u64) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetFrameRateLimit = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    frameRateLimit: *mut u32,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetGpuInstanceId =
    unsafe extern "C" fn(vgpuInstance: nvmlVgpuInstance_t, gpuInstanceId: *mut u32) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetGpuPciId = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    vgpuPciId: *mut c_char,
    length: *mut u32,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetLicenseInfo = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    licenseInfo: *mut nvmlVgpuLicenseInfo_t,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetLicenseInfo_v2 = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    licenseInfo: *mut nvmlVgpuLicenseInfo_t,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetLicenseStatus =
    unsafe extern "C" fn(vgpuInstance: nvmlVgpuInstance_t, licensed: *mut u32) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetMdevUUID = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    mdevUuid: *mut c_char,
    size: u32,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetMetadata = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    vgpuMetadata: *mut nvmlVgpuMetadata_t,
    bufferSize: *mut u32,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetPlacementId = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    pPlacement: *mut nvmlVgpuPlacementId_t,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetRuntimeStateSize = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    pState: *mut nvmlVgpuRuntimeState_t,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetType = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    vgpuTypeId: *mut nvmlVgpuTypeId_t,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetUUID = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    uuid: *mut c_char,
    size: u32,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetVmDriverVersion = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    version: *mut c_char,
    length: u32,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceGetVmID = unsafe extern "C" fn(
    vgpuInstance: nvmlVgpuInstance_t,
    vmId: *mut c_char,
    size: u32,
    vmIdType: *mut nvmlVgpuVmIdType,
) -> nvmlReturn_t;
pub type nvmlVgpuInstanceSetEncoderCapacity =
    unsafe extern "C" fn(vgpuInstance: nvmlVgpuInstance_t, encoderCapacity: u32) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetBAR1Info = unsafe extern "C" fn(
    vgpuTypeId: nvmlVgpuTypeId_t,
    bar1Info: *mut nvmlVgpuTypeBar1Info_t,
) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetCapabilities = unsafe extern "C" fn(
    vgpuTypeId: nvmlVgpuTypeId_t,
    capability: nvmlVgpuCapability_t,
    capResult: *mut u32,
) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetClass = unsafe extern "C" fn(
    vgpuTypeId: nvmlVgpuTypeId_t,
    vgpuTypeClass: *mut c_char,
    size: *mut u32,
) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetDeviceID = unsafe extern "C" fn(
    vgpuTypeId: nvmlVgpuTypeId_t,
    deviceID: *mut u64,
    subsystemID: *mut u64,
) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetFbReservation =
    unsafe extern "C" fn(vgpuTypeId: nvmlVgpuTypeId_t, fbReservation: *mut u64) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetFrameRateLimit =
    unsafe extern "C" fn(vgpuTypeId: nvmlVgpuTypeId_t, frameRateLimit: *mut u32) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetFramebufferSize =
    unsafe extern "C" fn(vgpuTypeId: nvmlVgpuTypeId_t, fbSize: *mut u64) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetGpuInstanceProfileId = unsafe extern "C" fn(
    vgpuTypeId: nvmlVgpuTypeId_t,
    gpuInstanceProfileId: *mut u32,
) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetGspHeapSize =
    unsafe extern "C" fn(vgpuTypeId: nvmlVgpuTypeId_t, gspHeapSize: *mut u64) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetLicense = unsafe extern "C" fn(
    vgpuTypeId: nvmlVgpuTypeId_t,
    vgpuTypeLicenseString: *mut c_char,
    size: u32,
) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetMaxInstances = unsafe extern "C" fn(
    device: nvmlDevice_t,
    vgpuTypeId: nvmlVgpuTypeId_t,
    vgpuInstanceCount: *mut u32,
) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetMaxInstancesPerGpuInstance =
    unsafe extern "C" fn(pMaxInstance: *mut nvmlVgpuTypeMaxInstance_t) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetMaxInstancesPerVm = unsafe extern "C" fn(
    vgpuTypeId: nvmlVgpuTypeId_t,
    vgpuInstanceCountPerVm: *mut u32,
) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetName = unsafe extern "C" fn(
    vgpuTypeId: nvmlVgpuTypeId_t,
    vgpuTypeName: *mut c_char,
    size: *mut u32,
) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetNumDisplayHeads =
    unsafe extern "C" fn(vgpuTypeId: nvmlVgpuTypeId_t, numDisplayHeads: *mut u32) -> nvmlReturn_t;
pub type nvmlVgpuTypeGetResolution = unsafe extern "C" fn(
    vgpuTypeId: nvmlVgpuTypeId_t,
    displayIndex: u32,
    xdim: *mut u32,
    ydim: *mut u32,
) -> nvmlReturn_t;
