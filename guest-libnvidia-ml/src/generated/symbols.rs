// Generated from NVIDIA's headers by cuda-api/generate. Do not edit.

/// Every exported name, sorted.
pub const ALL: &[&str] = &[
    "nvmlComputeInstanceDestroy",
    "nvmlComputeInstanceGetInfo",
    "nvmlComputeInstanceGetInfo_v2",
    "nvmlDeviceClearAccountingPids",
    "nvmlDeviceClearCpuAffinity",
    "nvmlDeviceClearEccErrorCounts",
    "nvmlDeviceClearFieldValues",
    "nvmlDeviceCreateGpuInstance",
    "nvmlDeviceCreateGpuInstanceWithPlacement",
    "nvmlDeviceDiscoverGpus",
    "nvmlDeviceFreezeNvLinkUtilizationCounter",
    "nvmlDeviceGetAPIRestriction",
    "nvmlDeviceGetAccountingBufferSize",
    "nvmlDeviceGetAccountingMode",
    "nvmlDeviceGetAccountingPids",
    "nvmlDeviceGetAccountingStats",
    "nvmlDeviceGetActiveVgpus",
    "nvmlDeviceGetAdaptiveClockInfoStatus",
    "nvmlDeviceGetAddressingMode",
    "nvmlDeviceGetApplicationsClock",
    "nvmlDeviceGetArchitecture",
    "nvmlDeviceGetAttributes",
    "nvmlDeviceGetAttributes_v2",
    "nvmlDeviceGetAutoBoostedClocksEnabled",
    "nvmlDeviceGetBAR1MemoryInfo",
    "nvmlDeviceGetBoardId",
    "nvmlDeviceGetBoardPartNumber",
    "nvmlDeviceGetBrand",
    "nvmlDeviceGetBridgeChipInfo",
    "nvmlDeviceGetBusType",
    "nvmlDeviceGetC2cModeInfoV",
    "nvmlDeviceGetCapabilities",
    "nvmlDeviceGetClkMonStatus",
    "nvmlDeviceGetClock",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetClockOffsets",
    "nvmlDeviceGetComputeInstanceId",
    "nvmlDeviceGetComputeMode",
    "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetComputeRunningProcesses_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetConfComputeGpuAttestationReport",
    "nvmlDeviceGetConfComputeGpuCertificate",
    "nvmlDeviceGetConfComputeMemSizeInfo",
    "nvmlDeviceGetConfComputeProtectedMemoryUsage",
    "nvmlDeviceGetCoolerInfo",
    "nvmlDeviceGetCount",
    "nvmlDeviceGetCount_v2",
    "nvmlDeviceGetCpuAffinity",
    "nvmlDeviceGetCpuAffinityWithinScope",
    "nvmlDeviceGetCreatableVgpus",
    "nvmlDeviceGetCudaComputeCapability",
    "nvmlDeviceGetCurrPcieLinkGeneration",
    "nvmlDeviceGetCurrPcieLinkWidth",
    "nvmlDeviceGetCurrentClockFreqs",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetCurrentClocksThrottleReasons",
    "nvmlDeviceGetDecoderUtilization",
    "nvmlDeviceGetDefaultApplicationsClock",
    "nvmlDeviceGetDefaultEccMode",
    "nvmlDeviceGetDetailedEccErrors",
    "nvmlDeviceGetDeviceHandleFromMigDeviceHandle",
    "nvmlDeviceGetDisplayActive",
    "nvmlDeviceGetDisplayMode",
    "nvmlDeviceGetDramEncryptionMode",
    "nvmlDeviceGetDriverModel",
    "nvmlDeviceGetDriverModel_v2",
    "nvmlDeviceGetDynamicPstatesInfo",
    "nvmlDeviceGetEccMode",
    "nvmlDeviceGetEncoderCapacity",
    "nvmlDeviceGetEncoderSessions",
    "nvmlDeviceGetEncoderStats",
    "nvmlDeviceGetEncoderUtilization",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetFBCSessions",
    "nvmlDeviceGetFBCStats",
    "nvmlDeviceGetFanControlPolicy_v2",
    "nvmlDeviceGetFanSpeed",
    "nvmlDeviceGetFanSpeedRPM",
    "nvmlDeviceGetFanSpeed_v2",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetGpcClkMinMaxVfOffset",
    "nvmlDeviceGetGpcClkVfOffset",
    "nvmlDeviceGetGpuFabricInfo",
    "nvmlDeviceGetGpuFabricInfoV",
    "nvmlDeviceGetGpuInstanceById",
    "nvmlDeviceGetGpuInstanceId",
    "nvmlDeviceGetGpuInstancePossiblePlacements",
    "nvmlDeviceGetGpuInstancePossiblePlacements_v2",
    "nvmlDeviceGetGpuInstanceProfileInfo",
    "nvmlDeviceGetGpuInstanceProfileInfoByIdV",
    "nvmlDeviceGetGpuInstanceProfileInfoV",
    "nvmlDeviceGetGpuInstanceRemainingCapacity",
    "nvmlDeviceGetGpuInstances",
    "nvmlDeviceGetGpuMaxPcieLinkGeneration",
    "nvmlDeviceGetGpuOperationMode",
    "nvmlDeviceGetGraphicsRunningProcesses",
    "nvmlDeviceGetGraphicsRunningProcesses_v2",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetGridLicensableFeatures",
    "nvmlDeviceGetGridLicensableFeatures_v2",
    "nvmlDeviceGetGridLicensableFeatures_v3",
    "nvmlDeviceGetGridLicensableFeatures_v4",
    "nvmlDeviceGetGspFirmwareMode",
    "nvmlDeviceGetGspFirmwareVersion",
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetHandleByIndex_v2",
    "nvmlDeviceGetHandleByPciBusId",
    "nvmlDeviceGetHandleByPciBusId_v2",
    "nvmlDeviceGetHandleBySerial",
    "nvmlDeviceGetHandleByUUID",
    "nvmlDeviceGetHandleByUUIDV",
    "nvmlDeviceGetHostVgpuMode",
    "nvmlDeviceGetHostname_v1",
    "nvmlDeviceGetIndex",
    "nvmlDeviceGetInforomConfigurationChecksum",
    "nvmlDeviceGetInforomImageVersion",
    "nvmlDeviceGetInforomVersion",
    "nvmlDeviceGetIrqNum",
    "nvmlDeviceGetJpgUtilization",
    "nvmlDeviceGetLastBBXFlushTime",
    "nvmlDeviceGetMPSComputeRunningProcesses",
    "nvmlDeviceGetMPSComputeRunningProcesses_v2",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetMarginTemperature",
    "nvmlDeviceGetMaxClockInfo",
    "nvmlDeviceGetMaxCustomerBoostClock",
    "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlDeviceGetMaxPcieLinkGeneration",
    "nvmlDeviceGetMaxPcieLinkWidth",
    "nvmlDeviceGetMemClkMinMaxVfOffset",
    "nvmlDeviceGetMemClkVfOffset",
    "nvmlDeviceGetMemoryAffinity",
    "nvmlDeviceGetMemoryBusWidth",
    "nvmlDeviceGetMemoryErrorCounter",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetMemoryInfo_v2",
    "nvmlDeviceGetMigDeviceHandleByIndex",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetMinMaxClockOfPState",
    "nvmlDeviceGetMinMaxFanSpeed",
    "nvmlDeviceGetMinorNumber",
    "nvmlDeviceGetModuleId",
    "nvmlDeviceGetMultiGpuBoard",
    "nvmlDeviceGetName",
    "nvmlDeviceGetNumFans",
    "nvmlDeviceGetNumGpuCores",
    "nvmlDeviceGetNumaNodeId",
    "nvmlDeviceGetNvLinkCapability",
    "nvmlDeviceGetNvLinkErrorCounter",
    "nvmlDeviceGetNvLinkInfo",
    "nvmlDeviceGetNvLinkRemoteDeviceType",
    "nvmlDeviceGetNvLinkRemotePciInfo",
    "nvmlDeviceGetNvLinkRemotePciInfo_v2",
    "nvmlDeviceGetNvLinkState",
    "nvmlDeviceGetNvLinkUtilizationControl",
    "nvmlDeviceGetNvLinkUtilizationCounter",
    "nvmlDeviceGetNvLinkVersion",
    "nvmlDeviceGetNvlinkBwMode",
    "nvmlDeviceGetNvlinkSupportedBwModes",
    "nvmlDeviceGetOfaUtilization",
    "nvmlDeviceGetP2PStatus",
    "nvmlDeviceGetPciInfo",
    "nvmlDeviceGetPciInfoExt",
    "nvmlDeviceGetPciInfo_v2",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetPcieLinkMaxSpeed",
    "nvmlDeviceGetPcieReplayCounter",
    "nvmlDeviceGetPcieSpeed",
    "nvmlDeviceGetPcieThroughput",
    "nvmlDeviceGetPdi",
    "nvmlDeviceGetPerformanceModes",
    "nvmlDeviceGetPerformanceState",
    "nvmlDeviceGetPersistenceMode",
    "nvmlDeviceGetPgpuMetadataString",
    "nvmlDeviceGetPlatformInfo",
    "nvmlDeviceGetPowerManagementDefaultLimit",
    "nvmlDeviceGetPowerManagementLimit",
    "nvmlDeviceGetPowerManagementLimitConstraints",
    "nvmlDeviceGetPowerManagementMode",
    "nvmlDeviceGetPowerMizerMode_v1",
    "nvmlDeviceGetPowerSource",
    "nvmlDeviceGetPowerState",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetProcessUtilization",
    "nvmlDeviceGetProcessesUtilizationInfo",
    "nvmlDeviceGetRemappedRows",
    "nvmlDeviceGetRepairStatus",
    "nvmlDeviceGetRetiredPages",
    "nvmlDeviceGetRetiredPagesPendingStatus",
    "nvmlDeviceGetRetiredPages_v2",
    "nvmlDeviceGetRowRemapperHistogram",
    "nvmlDeviceGetRunningProcessDetailList",
    "nvmlDeviceGetSamples",
    "nvmlDeviceGetSerial",
    "nvmlDeviceGetSramEccErrorStatus",
    "nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts",
    "nvmlDeviceGetSupportedClocksEventReasons",
    "nvmlDeviceGetSupportedClocksThrottleReasons",
    "nvmlDeviceGetSupportedEventTypes",
    "nvmlDeviceGetSupportedGraphicsClocks",
    "nvmlDeviceGetSupportedMemoryClocks",
    "nvmlDeviceGetSupportedPerformanceStates",
    "nvmlDeviceGetSupportedVgpus",
    "nvmlDeviceGetTargetFanSpeed",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetTemperatureThreshold",
    "nvmlDeviceGetTemperatureV",
    "nvmlDeviceGetThermalSettings",
    "nvmlDeviceGetTopologyCommonAncestor",
    "nvmlDeviceGetTopologyNearestGpus",
    "nvmlDeviceGetTotalEccErrors",
    "nvmlDeviceGetTotalEnergyConsumption",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceGetVbiosVersion",
    "nvmlDeviceGetVgpuCapabilities",
    "nvmlDeviceGetVgpuHeterogeneousMode",
    "nvmlDeviceGetVgpuInstancesUtilizationInfo",
    "nvmlDeviceGetVgpuMetadata",
    "nvmlDeviceGetVgpuProcessUtilization",
    "nvmlDeviceGetVgpuProcessesUtilizationInfo",
    "nvmlDeviceGetVgpuSchedulerCapabilities",
    "nvmlDeviceGetVgpuSchedulerLog",
    "nvmlDeviceGetVgpuSchedulerState",
    "nvmlDeviceGetVgpuTypeCreatablePlacements",
    "nvmlDeviceGetVgpuTypeSupportedPlacements",
    "nvmlDeviceGetVgpuUtilization",
    "nvmlDeviceGetViolationStatus",
    "nvmlDeviceGetVirtualizationMode",
    "nvmlDeviceIsMigDeviceHandle",
    "nvmlDeviceModifyDrainState",
    "nvmlDeviceOnSameBoard",
    "nvmlDevicePowerSmoothingActivatePresetProfile",
    "nvmlDevicePowerSmoothingSetState",
    "nvmlDevicePowerSmoothingUpdatePresetProfileParam",
    "nvmlDeviceQueryDrainState",
    "nvmlDeviceReadWritePRM_v1",
    "nvmlDeviceRegisterEvents",
    "nvmlDeviceRemoveGpu",
    "nvmlDeviceRemoveGpu_v2",
    "nvmlDeviceResetApplicationsClocks",
    "nvmlDeviceResetGpuLockedClocks",
    "nvmlDeviceResetMemoryLockedClocks",
    "nvmlDeviceResetNvLinkErrorCounters",
    "nvmlDeviceResetNvLinkUtilizationCounter",
    "nvmlDeviceSetAPIRestriction",
    "nvmlDeviceSetAccountingMode",
    "nvmlDeviceSetApplicationsClocks",
    "nvmlDeviceSetAutoBoostedClocksEnabled",
    "nvmlDeviceSetClockOffsets",
    "nvmlDeviceSetComputeMode",
    "nvmlDeviceSetConfComputeUnprotectedMemSize",
    "nvmlDeviceSetCpuAffinity",
    "nvmlDeviceSetDefaultAutoBoostedClocksEnabled",
    "nvmlDeviceSetDefaultFanSpeed_v2",
    "nvmlDeviceSetDramEncryptionMode",
    "nvmlDeviceSetDriverModel",
    "nvmlDeviceSetEccMode",
    "nvmlDeviceSetFanControlPolicy",
    "nvmlDeviceSetFanSpeed_v2",
    "nvmlDeviceSetGpcClkVfOffset",
    "nvmlDeviceSetGpuLockedClocks",
    "nvmlDeviceSetGpuOperationMode",
    "nvmlDeviceSetHostname_v1",
    "nvmlDeviceSetMemClkVfOffset",
    "nvmlDeviceSetMemoryLockedClocks",
    "nvmlDeviceSetMigMode",
    "nvmlDeviceSetNvLinkDeviceLowPowerThreshold",
    "nvmlDeviceSetNvLinkUtilizationControl",
    "nvmlDeviceSetNvlinkBwMode",
    "nvmlDeviceSetPersistenceMode",
    "nvmlDeviceSetPowerManagementLimit",
    "nvmlDeviceSetPowerManagementLimit_v2",
    "nvmlDeviceSetPowerMizerMode_v1",
    "nvmlDeviceSetTemperatureThreshold",
    "nvmlDeviceSetVgpuCapabilities",
    "nvmlDeviceSetVgpuHeterogeneousMode",
    "nvmlDeviceSetVgpuSchedulerState",
    "nvmlDeviceSetVirtualizationMode",
    "nvmlDeviceValidateInforom",
    "nvmlDeviceWorkloadPowerProfileClearRequestedProfiles",
    "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles",
    "nvmlDeviceWorkloadPowerProfileGetProfilesInfo",
    "nvmlDeviceWorkloadPowerProfileSetRequestedProfiles",
    "nvmlErrorString",
    "nvmlEventSetCreate",
    "nvmlEventSetFree",
    "nvmlEventSetWait",
    "nvmlEventSetWait_v2",
    "nvmlGetExcludedDeviceCount",
    "nvmlGetExcludedDeviceInfoByIndex",
    "nvmlGetVgpuCompatibility",
    "nvmlGetVgpuDriverCapabilities",
    "nvmlGetVgpuVersion",
    "nvmlGpmMetricsGet",
    "nvmlGpmMigSampleGet",
    "nvmlGpmQueryDeviceSupport",
    "nvmlGpmQueryIfStreamingEnabled",
    "nvmlGpmSampleAlloc",
    "nvmlGpmSampleFree",
    "nvmlGpmSampleGet",
    "nvmlGpmSetStreamingEnabled",
    "nvmlGpuInstanceCreateComputeInstance",
    "nvmlGpuInstanceCreateComputeInstanceWithPlacement",
    "nvmlGpuInstanceDestroy",
    "nvmlGpuInstanceGetActiveVgpus",
    "nvmlGpuInstanceGetComputeInstanceById",
    "nvmlGpuInstanceGetComputeInstancePossiblePlacements",
    "nvmlGpuInstanceGetComputeInstanceProfileInfo",
    "nvmlGpuInstanceGetComputeInstanceProfileInfoV",
    "nvmlGpuInstanceGetComputeInstanceRemainingCapacity",
    "nvmlGpuInstanceGetComputeInstances",
    "nvmlGpuInstanceGetCreatableVgpus",
    "nvmlGpuInstanceGetInfo",
    "nvmlGpuInstanceGetVgpuHeterogeneousMode",
    "nvmlGpuInstanceGetVgpuSchedulerLog",
    "nvmlGpuInstanceGetVgpuSchedulerState",
    "nvmlGpuInstanceGetVgpuTypeCreatablePlacements",
    "nvmlGpuInstanceSetVgpuHeterogeneousMode",
    "nvmlGpuInstanceSetVgpuSchedulerState",
    "nvmlInit",
    "nvmlInitWithFlags",
    "nvmlInit_v2",
    "nvmlInternalGetExportTable",
    "nvmlSetVgpuVersion",
    "nvmlShutdown",
    "nvmlSystemEventSetCreate",
    "nvmlSystemEventSetFree",
    "nvmlSystemEventSetWait",
    "nvmlSystemGetConfComputeCapabilities",
    "nvmlSystemGetConfComputeGpusReadyState",
    "nvmlSystemGetConfComputeKeyRotationThresholdInfo",
    "nvmlSystemGetConfComputeSettings",
    "nvmlSystemGetConfComputeState",
    "nvmlSystemGetCudaDriverVersion",
    "nvmlSystemGetCudaDriverVersion_v2",
    "nvmlSystemGetDriverBranch",
    "nvmlSystemGetDriverVersion",
    "nvmlSystemGetHicVersion",
    "nvmlSystemGetNVMLVersion",
    "nvmlSystemGetNvlinkBwMode",
    "nvmlSystemGetProcessName",
    "nvmlSystemGetTopologyGpuSet",
    "nvmlSystemRegisterEvents",
    "nvmlSystemSetConfComputeGpusReadyState",
    "nvmlSystemSetConfComputeKeyRotationThresholdInfo",
    "nvmlSystemSetNvlinkBwMode",
    "nvmlUnitGetCount",
    "nvmlUnitGetDevices",
    "nvmlUnitGetFanSpeedInfo",
    "nvmlUnitGetHandleByIndex",
    "nvmlUnitGetLedState",
    "nvmlUnitGetPsuInfo",
    "nvmlUnitGetTemperature",
    "nvmlUnitGetUnitInfo",
    "nvmlUnitSetLedState",
    "nvmlVgpuInstanceClearAccountingPids",
    "nvmlVgpuInstanceGetAccountingMode",
    "nvmlVgpuInstanceGetAccountingPids",
    "nvmlVgpuInstanceGetAccountingStats",
    "nvmlVgpuInstanceGetEccMode",
    "nvmlVgpuInstanceGetEncoderCapacity",
    "nvmlVgpuInstanceGetEncoderSessions",
    "nvmlVgpuInstanceGetEncoderStats",
    "nvmlVgpuInstanceGetFBCSessions",
    "nvmlVgpuInstanceGetFBCStats",
    "nvmlVgpuInstanceGetFbUsage",
    "nvmlVgpuInstanceGetFrameRateLimit",
    "nvmlVgpuInstanceGetGpuInstanceId",
    "nvmlVgpuInstanceGetGpuPciId",
    "nvmlVgpuInstanceGetLicenseInfo",
    "nvmlVgpuInstanceGetLicenseInfo_v2",
    "nvmlVgpuInstanceGetLicenseStatus",
    "nvmlVgpuInstanceGetMdevUUID",
    "nvmlVgpuInstanceGetMetadata",
    "nvmlVgpuInstanceGetPlacementId",
    "nvmlVgpuInstanceGetRuntimeStateSize",
    "nvmlVgpuInstanceGetType",
    "nvmlVgpuInstanceGetUUID",
    "nvmlVgpuInstanceGetVmDriverVersion",
    "nvmlVgpuInstanceGetVmID",
    "nvmlVgpuInstanceSetEncoderCapacity",
    "nvmlVgpuTypeGetBAR1Info",
    "nvmlVgpuTypeGetCapabilities",
    "nvmlVgpuTypeGetClass",
    "nvmlVgpuTypeGetDeviceID",
    "nvmlVgpuTypeGetFbReservation",
    "nvmlVgpuTypeGetFrameRateLimit",
    "nvmlVgpuTypeGetFramebufferSize",
    "nvmlVgpuTypeGetGpuInstanceProfileId",
    "nvmlVgpuTypeGetGspHeapSize",
    "nvmlVgpuTypeGetLicense",
    "nvmlVgpuTypeGetMaxInstances",
    "nvmlVgpuTypeGetMaxInstancesPerGpuInstance",
    "nvmlVgpuTypeGetMaxInstancesPerVm",
    "nvmlVgpuTypeGetName",
    "nvmlVgpuTypeGetNumDisplayHeads",
    "nvmlVgpuTypeGetResolution",
];

/// Calls a macro with each exported name and its index in [`ALL`].
macro_rules! for_each_symbol {
    (($($callback:tt)+)) => {
        $($callback)+! {
            nvmlComputeInstanceDestroy 0
            nvmlComputeInstanceGetInfo 1
            nvmlComputeInstanceGetInfo_v2 2
            nvmlDeviceClearAccountingPids 3
            nvmlDeviceClearCpuAffinity 4
            nvmlDeviceClearEccErrorCounts 5
            nvmlDeviceClearFieldValues 6
            nvmlDeviceCreateGpuInstance 7
            nvmlDeviceCreateGpuInstanceWithPlacement 8
            nvmlDeviceDiscoverGpus 9
            nvmlDeviceFreezeNvLinkUtilizationCounter 10
            nvmlDeviceGetAPIRestriction 11
            nvmlDeviceGetAccountingBufferSize 12
            nvmlDeviceGetAccountingMode 13
            nvmlDeviceGetAccountingPids 14
            nvmlDeviceGetAccountingStats 15
            nvmlDeviceGetActiveVgpus 16
            nvmlDeviceGetAdaptiveClockInfoStatus 17
            nvmlDeviceGetAddressingMode 18
            nvmlDeviceGetApplicationsClock 19
            nvmlDeviceGetArchitecture 20
            nvmlDeviceGetAttributes 21
            nvmlDeviceGetAttributes_v2 22
            nvmlDeviceGetAutoBoostedClocksEnabled 23
            nvmlDeviceGetBAR1MemoryInfo 24
            nvmlDeviceGetBoardId 25
            nvmlDeviceGetBoardPartNumber 26
            nvmlDeviceGetBrand 27
            nvmlDeviceGetBridgeChipInfo 28
            nvmlDeviceGetBusType 29
            nvmlDeviceGetC2cModeInfoV 30
            nvmlDeviceGetCapabilities 31
            nvmlDeviceGetClkMonStatus 32
            nvmlDeviceGetClock 33
            nvmlDeviceGetClockInfo 34
            nvmlDeviceGetClockOffsets 35
            nvmlDeviceGetComputeInstanceId 36
            nvmlDeviceGetComputeMode 37
            nvmlDeviceGetComputeRunningProcesses 38
            nvmlDeviceGetComputeRunningProcesses_v2 39
            nvmlDeviceGetComputeRunningProcesses_v3 40
            nvmlDeviceGetConfComputeGpuAttestationReport 41
            nvmlDeviceGetConfComputeGpuCertificate 42
            nvmlDeviceGetConfComputeMemSizeInfo 43
            nvmlDeviceGetConfComputeProtectedMemoryUsage 44
            nvmlDeviceGetCoolerInfo 45
            nvmlDeviceGetCount 46
            nvmlDeviceGetCount_v2 47
            nvmlDeviceGetCpuAffinity 48
            nvmlDeviceGetCpuAffinityWithinScope 49
            nvmlDeviceGetCreatableVgpus 50
            nvmlDeviceGetCudaComputeCapability 51
            nvmlDeviceGetCurrPcieLinkGeneration 52
            nvmlDeviceGetCurrPcieLinkWidth 53
            nvmlDeviceGetCurrentClockFreqs 54
            nvmlDeviceGetCurrentClocksEventReasons 55
            nvmlDeviceGetCurrentClocksThrottleReasons 56
            nvmlDeviceGetDecoderUtilization 57
            nvmlDeviceGetDefaultApplicationsClock 58
            nvmlDeviceGetDefaultEccMode 59
            nvmlDeviceGetDetailedEccErrors 60
            nvmlDeviceGetDeviceHandleFromMigDeviceHandle 61
            nvmlDeviceGetDisplayActive 62
            nvmlDeviceGetDisplayMode 63
            nvmlDeviceGetDramEncryptionMode 64
            nvmlDeviceGetDriverModel 65
            nvmlDeviceGetDriverModel_v2 66
            nvmlDeviceGetDynamicPstatesInfo 67
            nvmlDeviceGetEccMode 68
            nvmlDeviceGetEncoderCapacity 69
            nvmlDeviceGetEncoderSessions 70
            nvmlDeviceGetEncoderStats 71
            nvmlDeviceGetEncoderUtilization 72
            nvmlDeviceGetEnforcedPowerLimit 73
            nvmlDeviceGetFBCSessions 74
            nvmlDeviceGetFBCStats 75
            nvmlDeviceGetFanControlPolicy_v2 76
            nvmlDeviceGetFanSpeed 77
            nvmlDeviceGetFanSpeedRPM 78
            nvmlDeviceGetFanSpeed_v2 79
            nvmlDeviceGetFieldValues 80
            nvmlDeviceGetGpcClkMinMaxVfOffset 81
            nvmlDeviceGetGpcClkVfOffset 82
            nvmlDeviceGetGpuFabricInfo 83
            nvmlDeviceGetGpuFabricInfoV 84
            nvmlDeviceGetGpuInstanceById 85
            nvmlDeviceGetGpuInstanceId 86
            nvmlDeviceGetGpuInstancePossiblePlacements 87
            nvmlDeviceGetGpuInstancePossiblePlacements_v2 88
            nvmlDeviceGetGpuInstanceProfileInfo 89
            nvmlDeviceGetGpuInstanceProfileInfoByIdV 90
            nvmlDeviceGetGpuInstanceProfileInfoV 91
            nvmlDeviceGetGpuInstanceRemainingCapacity 92
            nvmlDeviceGetGpuInstances 93
            nvmlDeviceGetGpuMaxPcieLinkGeneration 94
            nvmlDeviceGetGpuOperationMode 95
            nvmlDeviceGetGraphicsRunningProcesses 96
            nvmlDeviceGetGraphicsRunningProcesses_v2 97
            nvmlDeviceGetGraphicsRunningProcesses_v3 98
            nvmlDeviceGetGridLicensableFeatures 99
            nvmlDeviceGetGridLicensableFeatures_v2 100
            nvmlDeviceGetGridLicensableFeatures_v3 101
            nvmlDeviceGetGridLicensableFeatures_v4 102
            nvmlDeviceGetGspFirmwareMode 103
            nvmlDeviceGetGspFirmwareVersion 104
            nvmlDeviceGetHandleByIndex 105
            nvmlDeviceGetHandleByIndex_v2 106
            nvmlDeviceGetHandleByPciBusId 107
            nvmlDeviceGetHandleByPciBusId_v2 108
            nvmlDeviceGetHandleBySerial 109
            nvmlDeviceGetHandleByUUID 110
            nvmlDeviceGetHandleByUUIDV 111
            nvmlDeviceGetHostVgpuMode 112
            nvmlDeviceGetHostname_v1 113
            nvmlDeviceGetIndex 114
            nvmlDeviceGetInforomConfigurationChecksum 115
            nvmlDeviceGetInforomImageVersion 116
            nvmlDeviceGetInforomVersion 117
            nvmlDeviceGetIrqNum 118
            nvmlDeviceGetJpgUtilization 119
            nvmlDeviceGetLastBBXFlushTime 120
            nvmlDeviceGetMPSComputeRunningProcesses 121
            nvmlDeviceGetMPSComputeRunningProcesses_v2 122
            nvmlDeviceGetMPSComputeRunningProcesses_v3 123
            nvmlDeviceGetMarginTemperature 124
            nvmlDeviceGetMaxClockInfo 125
            nvmlDeviceGetMaxCustomerBoostClock 126
            nvmlDeviceGetMaxMigDeviceCount 127
            nvmlDeviceGetMaxPcieLinkGeneration 128
            nvmlDeviceGetMaxPcieLinkWidth 129
            nvmlDeviceGetMemClkMinMaxVfOffset 130
            nvmlDeviceGetMemClkVfOffset 131
            nvmlDeviceGetMemoryAffinity 132
            nvmlDeviceGetMemoryBusWidth 133
            nvmlDeviceGetMemoryErrorCounter 134
            nvmlDeviceGetMemoryInfo 135
            nvmlDeviceGetMemoryInfo_v2 136
            nvmlDeviceGetMigDeviceHandleByIndex 137
            nvmlDeviceGetMigMode 138
            nvmlDeviceGetMinMaxClockOfPState 139
            nvmlDeviceGetMinMaxFanSpeed 140
            nvmlDeviceGetMinorNumber 141
            nvmlDeviceGetModuleId 142
            nvmlDeviceGetMultiGpuBoard 143
            nvmlDeviceGetName 144
            nvmlDeviceGetNumFans 145
            nvmlDeviceGetNumGpuCores 146
            nvmlDeviceGetNumaNodeId 147
            nvmlDeviceGetNvLinkCapability 148
            nvmlDeviceGetNvLinkErrorCounter 149
            nvmlDeviceGetNvLinkInfo 150
            nvmlDeviceGetNvLinkRemoteDeviceType 151
            nvmlDeviceGetNvLinkRemotePciInfo 152
            nvmlDeviceGetNvLinkRemotePciInfo_v2 153
            nvmlDeviceGetNvLinkState 154
            nvmlDeviceGetNvLinkUtilizationControl 155
            nvmlDeviceGetNvLinkUtilizationCounter 156
            nvmlDeviceGetNvLinkVersion 157
            nvmlDeviceGetNvlinkBwMode 158
            nvmlDeviceGetNvlinkSupportedBwModes 159
            nvmlDeviceGetOfaUtilization 160
            nvmlDeviceGetP2PStatus 161
            nvmlDeviceGetPciInfo 162
            nvmlDeviceGetPciInfoExt 163
            nvmlDeviceGetPciInfo_v2 164
            nvmlDeviceGetPciInfo_v3 165
            nvmlDeviceGetPcieLinkMaxSpeed 166
            nvmlDeviceGetPcieReplayCounter 167
            nvmlDeviceGetPcieSpeed 168
            nvmlDeviceGetPcieThroughput 169
            nvmlDeviceGetPdi 170
            nvmlDeviceGetPerformanceModes 171
            nvmlDeviceGetPerformanceState 172
            nvmlDeviceGetPersistenceMode 173
            nvmlDeviceGetPgpuMetadataString 174
            nvmlDeviceGetPlatformInfo 175
            nvmlDeviceGetPowerManagementDefaultLimit 176
            nvmlDeviceGetPowerManagementLimit 177
            nvmlDeviceGetPowerManagementLimitConstraints 178
            nvmlDeviceGetPowerManagementMode 179
            nvmlDeviceGetPowerMizerMode_v1 180
            nvmlDeviceGetPowerSource 181
            nvmlDeviceGetPowerState 182
            nvmlDeviceGetPowerUsage 183
            nvmlDeviceGetProcessUtilization 184
            nvmlDeviceGetProcessesUtilizationInfo 185
            nvmlDeviceGetRemappedRows 186
            nvmlDeviceGetRepairStatus 187
            nvmlDeviceGetRetiredPages 188
            nvmlDeviceGetRetiredPagesPendingStatus 189
            nvmlDeviceGetRetiredPages_v2 190
            nvmlDeviceGetRowRemapperHistogram 191
            nvmlDeviceGetRunningProcessDetailList 192
            nvmlDeviceGetSamples 193
            nvmlDeviceGetSerial 194
            nvmlDeviceGetSramEccErrorStatus 195
            nvmlDeviceGetSramUniqueUncorrectedEccErrorCounts 196
            nvmlDeviceGetSupportedClocksEventReasons 197
            nvmlDeviceGetSupportedClocksThrottleReasons 198
            nvmlDeviceGetSupportedEventTypes 199
            nvmlDeviceGetSupportedGraphicsClocks 200
            nvmlDeviceGetSupportedMemoryClocks 201
            nvmlDeviceGetSupportedPerformanceStates 202
            nvmlDeviceGetSupportedVgpus 203
            nvmlDeviceGetTargetFanSpeed 204
            nvmlDeviceGetTemperature 205
            nvmlDeviceGetTemperatureThreshold 206
            nvmlDeviceGetTemperatureV 207
            nvmlDeviceGetThermalSettings 208
            nvmlDeviceGetTopologyCommonAncestor 209
            nvmlDeviceGetTopologyNearestGpus 210
            nvmlDeviceGetTotalEccErrors 211
            nvmlDeviceGetTotalEnergyConsumption 212
            nvmlDeviceGetUUID 213
            nvmlDeviceGetUtilizationRates 214
            nvmlDeviceGetVbiosVersion 215
            nvmlDeviceGetVgpuCapabilities 216
            nvmlDeviceGetVgpuHeterogeneousMode 217
            nvmlDeviceGetVgpuInstancesUtilizationInfo 218
            nvmlDeviceGetVgpuMetadata 219
            nvmlDeviceGetVgpuProcessUtilization 220
            nvmlDeviceGetVgpuProcessesUtilizationInfo 221
            nvmlDeviceGetVgpuSchedulerCapabilities 222
            nvmlDeviceGetVgpuSchedulerLog 223
            nvmlDeviceGetVgpuSchedulerState 224
            nvmlDeviceGetVgpuTypeCreatablePlacements 225
            nvmlDeviceGetVgpuTypeSupportedPlacements 226
            nvmlDeviceGetVgpuUtilization 227
            nvmlDeviceGetViolationStatus 228
            nvmlDeviceGetVirtualizationMode 229
            nvmlDeviceIsMigDeviceHandle 230
            nvmlDeviceModifyDrainState 231
            nvmlDeviceOnSameBoard 232
            nvmlDevicePowerSmoothingActivatePresetProfile 233
            nvmlDevicePowerSmoothingSetState 234
            nvmlDevicePowerSmoothingUpdatePresetProfileParam 235
            nvmlDeviceQueryDrainState 236
            nvmlDeviceReadWritePRM_v1 237
            nvmlDeviceRegisterEvents 238
            nvmlDeviceRemoveGpu 239
            nvmlDeviceRemoveGpu_v2 240
            nvmlDeviceResetApplicationsClocks 241
            nvmlDeviceResetGpuLockedClocks 242
            nvmlDeviceResetMemoryLockedClocks 243
            nvmlDeviceResetNvLinkErrorCounters 244
            nvmlDeviceResetNvLinkUtilizationCounter 245
            nvmlDeviceSetAPIRestriction 246
            nvmlDeviceSetAccountingMode 247
            nvmlDeviceSetApplicationsClocks 248
            nvmlDeviceSetAutoBoostedClocksEnabled 249
            nvmlDeviceSetClockOffsets 250
            nvmlDeviceSetComputeMode 251
            nvmlDeviceSetConfComputeUnprotectedMemSize 252
            nvmlDeviceSetCpuAffinity 253
            nvmlDeviceSetDefaultAutoBoostedClocksEnabled 254
            nvmlDeviceSetDefaultFanSpeed_v2 255
            nvmlDeviceSetDramEncryptionMode 256
            nvmlDeviceSetDriverModel 257
            nvmlDeviceSetEccMode 258
            nvmlDeviceSetFanControlPolicy 259
            nvmlDeviceSetFanSpeed_v2 260
            nvmlDeviceSetGpcClkVfOffset 261
            nvmlDeviceSetGpuLockedClocks 262
            nvmlDeviceSetGpuOperationMode 263
            nvmlDeviceSetHostname_v1 264
            nvmlDeviceSetMemClkVfOffset 265
            nvmlDeviceSetMemoryLockedClocks 266
            nvmlDeviceSetMigMode 267
            nvmlDeviceSetNvLinkDeviceLowPowerThreshold 268
            nvmlDeviceSetNvLinkUtilizationControl 269
            nvmlDeviceSetNvlinkBwMode 270
            nvmlDeviceSetPersistenceMode 271
            nvmlDeviceSetPowerManagementLimit 272
            nvmlDeviceSetPowerManagementLimit_v2 273
            nvmlDeviceSetPowerMizerMode_v1 274
            nvmlDeviceSetTemperatureThreshold 275
            nvmlDeviceSetVgpuCapabilities 276
            nvmlDeviceSetVgpuHeterogeneousMode 277
            nvmlDeviceSetVgpuSchedulerState 278
            nvmlDeviceSetVirtualizationMode 279
            nvmlDeviceValidateInforom 280
            nvmlDeviceWorkloadPowerProfileClearRequestedProfiles 281
            nvmlDeviceWorkloadPowerProfileGetCurrentProfiles 282
            nvmlDeviceWorkloadPowerProfileGetProfilesInfo 283
            nvmlDeviceWorkloadPowerProfileSetRequestedProfiles 284
            nvmlErrorString 285
            nvmlEventSetCreate 286
            nvmlEventSetFree 287
            nvmlEventSetWait 288
            nvmlEventSetWait_v2 289
            nvmlGetExcludedDeviceCount 290
            nvmlGetExcludedDeviceInfoByIndex 291
            nvmlGetVgpuCompatibility 292
            nvmlGetVgpuDriverCapabilities 293
            nvmlGetVgpuVersion 294
            nvmlGpmMetricsGet 295
            nvmlGpmMigSampleGet 296
            nvmlGpmQueryDeviceSupport 297
            nvmlGpmQueryIfStreamingEnabled 298
            nvmlGpmSampleAlloc 299
            nvmlGpmSampleFree 300
            nvmlGpmSampleGet 301
            nvmlGpmSetStreamingEnabled 302
            nvmlGpuInstanceCreateComputeInstance 303
            nvmlGpuInstanceCreateComputeInstanceWithPlacement 304
            nvmlGpuInstanceDestroy 305
            nvmlGpuInstanceGetActiveVgpus 306
            nvmlGpuInstanceGetComputeInstanceById 307
            nvmlGpuInstanceGetComputeInstancePossiblePlacements 308
            nvmlGpuInstanceGetComputeInstanceProfileInfo 309
            nvmlGpuInstanceGetComputeInstanceProfileInfoV 310
            nvmlGpuInstanceGetComputeInstanceRemainingCapacity 311
            nvmlGpuInstanceGetComputeInstances 312
            nvmlGpuInstanceGetCreatableVgpus 313
            nvmlGpuInstanceGetInfo 314
            nvmlGpuInstanceGetVgpuHeterogeneousMode 315
            nvmlGpuInstanceGetVgpuSchedulerLog 316
            nvmlGpuInstanceGetVgpuSchedulerState 317
            nvmlGpuInstanceGetVgpuTypeCreatablePlacements 318
            nvmlGpuInstanceSetVgpuHeterogeneousMode 319
            nvmlGpuInstanceSetVgpuSchedulerState 320
            nvmlInit 321
            nvmlInitWithFlags 322
            nvmlInit_v2 323
            nvmlInternalGetExportTable 324
            nvmlSetVgpuVersion 325
            nvmlShutdown 326
            nvmlSystemEventSetCreate 327
            nvmlSystemEventSetFree 328
            nvmlSystemEventSetWait 329
            nvmlSystemGetConfComputeCapabilities 330
            nvmlSystemGetConfComputeGpusReadyState 331
            nvmlSystemGetConfComputeKeyRotationThresholdInfo 332
            nvmlSystemGetConfComputeSettings 333
            nvmlSystemGetConfComputeState 334
            nvmlSystemGetCudaDriverVersion 335
            nvmlSystemGetCudaDriverVersion_v2 336
            nvmlSystemGetDriverBranch 337
            nvmlSystemGetDriverVersion 338
            nvmlSystemGetHicVersion 339
            nvmlSystemGetNVMLVersion 340
            nvmlSystemGetNvlinkBwMode 341
            nvmlSystemGetProcessName 342
            nvmlSystemGetTopologyGpuSet 343
            nvmlSystemRegisterEvents 344
            nvmlSystemSetConfComputeGpusReadyState 345
            nvmlSystemSetConfComputeKeyRotationThresholdInfo 346
            nvmlSystemSetNvlinkBwMode 347
            nvmlUnitGetCount 348
            nvmlUnitGetDevices 349
            nvmlUnitGetFanSpeedInfo 350
            nvmlUnitGetHandleByIndex 351
            nvmlUnitGetLedState 352
            nvmlUnitGetPsuInfo 353
            nvmlUnitGetTemperature 354
            nvmlUnitGetUnitInfo 355
            nvmlUnitSetLedState 356
            nvmlVgpuInstanceClearAccountingPids 357
            nvmlVgpuInstanceGetAccountingMode 358
            nvmlVgpuInstanceGetAccountingPids 359
            nvmlVgpuInstanceGetAccountingStats 360
            nvmlVgpuInstanceGetEccMode 361
            nvmlVgpuInstanceGetEncoderCapacity 362
            nvmlVgpuInstanceGetEncoderSessions 363
            nvmlVgpuInstanceGetEncoderStats 364
            nvmlVgpuInstanceGetFBCSessions 365
            nvmlVgpuInstanceGetFBCStats 366
            nvmlVgpuInstanceGetFbUsage 367
            nvmlVgpuInstanceGetFrameRateLimit 368
            nvmlVgpuInstanceGetGpuInstanceId 369
            nvmlVgpuInstanceGetGpuPciId 370
            nvmlVgpuInstanceGetLicenseInfo 371
            nvmlVgpuInstanceGetLicenseInfo_v2 372
            nvmlVgpuInstanceGetLicenseStatus 373
            nvmlVgpuInstanceGetMdevUUID 374
            nvmlVgpuInstanceGetMetadata 375
            nvmlVgpuInstanceGetPlacementId 376
            nvmlVgpuInstanceGetRuntimeStateSize 377
            nvmlVgpuInstanceGetType 378
            nvmlVgpuInstanceGetUUID 379
            nvmlVgpuInstanceGetVmDriverVersion 380
            nvmlVgpuInstanceGetVmID 381
            nvmlVgpuInstanceSetEncoderCapacity 382
            nvmlVgpuTypeGetBAR1Info 383
            nvmlVgpuTypeGetCapabilities 384
            nvmlVgpuTypeGetClass 385
            nvmlVgpuTypeGetDeviceID 386
            nvmlVgpuTypeGetFbReservation 387
            nvmlVgpuTypeGetFrameRateLimit 388
            nvmlVgpuTypeGetFramebufferSize 389
            nvmlVgpuTypeGetGpuInstanceProfileId 390
            nvmlVgpuTypeGetGspHeapSize 391
            nvmlVgpuTypeGetLicense 392
            nvmlVgpuTypeGetMaxInstances 393
            nvmlVgpuTypeGetMaxInstancesPerGpuInstance 394
            nvmlVgpuTypeGetMaxInstancesPerVm 395
            nvmlVgpuTypeGetName 396
            nvmlVgpuTypeGetNumDisplayHeads 397
            nvmlVgpuTypeGetResolution 398
        }
    };
}
pub(crate) use for_each_symbol;
