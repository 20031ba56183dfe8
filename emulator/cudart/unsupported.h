// Functions of CUDA's run-time that are not emulated: the names in cuda_runtime_api.h of CUDA 12.6
// and 13.0 that this folder does not define. Programs that call them link; calls return an error.
#pragma once

// clang-format off
#define PLUMBLINE_CUDART_UNSUPPORTED(X) \
  X(cudaArrayGetInfo) X(cudaArrayGetMemoryRequirements) X(cudaArrayGetPlane) \
  X(cudaArrayGetSparseProperties) X(cudaChooseDevice) X(cudaCreateChannelDesc) \
  X(cudaCreateSurfaceObject) X(cudaCreateTextureObject) X(cudaCtxResetPersistingL2Cache) \
  X(cudaDestroyExternalMemory) X(cudaDestroyExternalSemaphore) X(cudaDestroySurfaceObject) \
  X(cudaDestroyTextureObject) X(cudaDeviceCanAccessPeer) X(cudaDeviceDisablePeerAccess) \
  X(cudaDeviceEnablePeerAccess) X(cudaDeviceFlushGPUDirectRDMAWrites) \
  X(cudaDeviceGetByPCIBusId) X(cudaDeviceGetCacheConfig) X(cudaDeviceGetDefaultMemPool) \
  X(cudaDeviceGetGraphMemAttribute) X(cudaDeviceGetHostAtomicCapabilities) \
  X(cudaDeviceGetLimit) X(cudaDeviceGetMemPool) X(cudaDeviceGetNvSciSyncAttributes) \
  X(cudaDeviceGetP2PAtomicCapabilities) X(cudaDeviceGetP2PAttribute) X(cudaDeviceGetPCIBusId) \
  X(cudaDeviceGetSharedMemConfig) X(cudaDeviceGetStreamPriorityRange) \
  X(cudaDeviceGetTexture1DLinearMaxWidth) X(cudaDeviceGraphMemTrim) \
  X(cudaDeviceRegisterAsyncNotification) X(cudaDeviceSetCacheConfig) \
  X(cudaDeviceSetGraphMemAttribute) X(cudaDeviceSetLimit) X(cudaDeviceSetMemPool) \
  X(cudaDeviceSetSharedMemConfig) X(cudaDeviceUnregisterAsyncNotification) \
  X(cudaEventElapsedTime_v2) X(cudaEventRecordWithFlags) X(cudaExternalMemoryGetMappedBuffer) \
  X(cudaExternalMemoryGetMappedMipmappedArray) X(cudaFreeArray) X(cudaFreeMipmappedArray) \
  X(cudaFuncGetName) X(cudaFuncGetParamInfo) X(cudaFuncSetSharedMemConfig) \
  X(cudaGetChannelDesc) X(cudaGetDeviceFlags) X(cudaGetDeviceProperties) \
  X(cudaGetDeviceProperties_v2) X(cudaGetDriverEntryPoint) X(cudaGetDriverEntryPointByVersion) \
  X(cudaGetExportTable) X(cudaGetFuncBySymbol) X(cudaGetKernel) X(cudaGetMipmappedArrayLevel) \
  X(cudaGetSurfaceObjectResourceDesc) X(cudaGetTextureObjectResourceDesc) \
  X(cudaGetTextureObjectResourceViewDesc) X(cudaGetTextureObjectTextureDesc) \
  X(cudaGraphAddChildGraphNode) X(cudaGraphAddDependencies) X(cudaGraphAddDependencies_v2) \
  X(cudaGraphAddEmptyNode) X(cudaGraphAddEventRecordNode) X(cudaGraphAddEventWaitNode) \
  X(cudaGraphAddExternalSemaphoresSignalNode) X(cudaGraphAddExternalSemaphoresWaitNode) \
  X(cudaGraphAddHostNode) X(cudaGraphAddKernelNode) X(cudaGraphAddMemAllocNode) \
  X(cudaGraphAddMemFreeNode) X(cudaGraphAddMemcpyNode) X(cudaGraphAddMemcpyNode1D) \
  X(cudaGraphAddMemcpyNodeFromSymbol) X(cudaGraphAddMemcpyNodeToSymbol) \
  X(cudaGraphAddMemsetNode) X(cudaGraphAddNode) X(cudaGraphAddNode_v2) \
  X(cudaGraphChildGraphNodeGetGraph) X(cudaGraphClone) X(cudaGraphConditionalHandleCreate) \
  X(cudaGraphCreate) X(cudaGraphDebugDotPrint) X(cudaGraphDestroy) X(cudaGraphDestroyNode) \
  X(cudaGraphEventRecordNodeGetEvent) X(cudaGraphEventRecordNodeSetEvent) \
  X(cudaGraphEventWaitNodeGetEvent) X(cudaGraphEventWaitNodeSetEvent) \
  X(cudaGraphExecChildGraphNodeSetParams) X(cudaGraphExecDestroy) \
  X(cudaGraphExecEventRecordNodeSetEvent) X(cudaGraphExecEventWaitNodeSetEvent) \
  X(cudaGraphExecExternalSemaphoresSignalNodeSetParams) \
  X(cudaGraphExecExternalSemaphoresWaitNodeSetParams) X(cudaGraphExecGetFlags) \
  X(cudaGraphExecHostNodeSetParams) X(cudaGraphExecKernelNodeSetParams) \
  X(cudaGraphExecMemcpyNodeSetParams) X(cudaGraphExecMemcpyNodeSetParams1D) \
  X(cudaGraphExecMemcpyNodeSetParamsFromSymbol) X(cudaGraphExecMemcpyNodeSetParamsToSymbol) \
  X(cudaGraphExecMemsetNodeSetParams) X(cudaGraphExecNodeSetParams) X(cudaGraphExecUpdate) \
  X(cudaGraphExternalSemaphoresSignalNodeGetParams) \
  X(cudaGraphExternalSemaphoresSignalNodeSetParams) \
  X(cudaGraphExternalSemaphoresWaitNodeGetParams) \
  X(cudaGraphExternalSemaphoresWaitNodeSetParams) X(cudaGraphGetEdges) X(cudaGraphGetEdges_v2) \
  X(cudaGraphGetNodes) X(cudaGraphGetRootNodes) X(cudaGraphHostNodeGetParams) \
  X(cudaGraphHostNodeSetParams) X(cudaGraphInstantiate) X(cudaGraphInstantiateWithFlags) \
  X(cudaGraphInstantiateWithParams) X(cudaGraphKernelNodeCopyAttributes) \
  X(cudaGraphKernelNodeGetAttribute) X(cudaGraphKernelNodeGetParams) \
  X(cudaGraphKernelNodeSetAttribute) X(cudaGraphKernelNodeSetParams) X(cudaGraphLaunch) \
  X(cudaGraphMemAllocNodeGetParams) X(cudaGraphMemFreeNodeGetParams) \
  X(cudaGraphMemcpyNodeGetParams) X(cudaGraphMemcpyNodeSetParams) \
  X(cudaGraphMemcpyNodeSetParams1D) X(cudaGraphMemcpyNodeSetParamsFromSymbol) \
  X(cudaGraphMemcpyNodeSetParamsToSymbol) X(cudaGraphMemsetNodeGetParams) \
  X(cudaGraphMemsetNodeSetParams) X(cudaGraphNodeFindInClone) X(cudaGraphNodeGetDependencies) \
  X(cudaGraphNodeGetDependencies_v2) X(cudaGraphNodeGetDependentNodes) \
  X(cudaGraphNodeGetDependentNodes_v2) X(cudaGraphNodeGetEnabled) X(cudaGraphNodeGetType) \
  X(cudaGraphNodeSetEnabled) X(cudaGraphNodeSetParams) X(cudaGraphReleaseUserObject) \
  X(cudaGraphRemoveDependencies) X(cudaGraphRemoveDependencies_v2) X(cudaGraphRetainUserObject) \
  X(cudaGraphUpload) X(cudaGraphicsMapResources) X(cudaGraphicsResourceGetMappedMipmappedArray) \
  X(cudaGraphicsResourceGetMappedPointer) X(cudaGraphicsResourceSetMapFlags) \
  X(cudaGraphicsSubResourceGetMappedArray) X(cudaGraphicsUnmapResources) \
  X(cudaGraphicsUnregisterResource) X(cudaHostGetFlags) X(cudaImportExternalMemory) \
  X(cudaImportExternalSemaphore) X(cudaInitDevice) X(cudaIpcCloseMemHandle) \
  X(cudaIpcGetEventHandle) X(cudaIpcGetMemHandle) X(cudaIpcOpenEventHandle) \
  X(cudaIpcOpenMemHandle) X(cudaKernelSetAttributeForDevice) X(cudaLaunchCooperativeKernel) \
  X(cudaLaunchCooperativeKernelMultiDevice) X(cudaLibraryEnumerateKernels) \
  X(cudaLibraryGetGlobal) X(cudaLibraryGetKernel) X(cudaLibraryGetKernelCount) \
  X(cudaLibraryGetManaged) X(cudaLibraryGetUnifiedFunction) X(cudaLibraryLoadData) \
  X(cudaLibraryLoadFromFile) X(cudaLibraryUnload) X(cudaLogsCurrent) X(cudaLogsDumpToFile) \
  X(cudaLogsDumpToMemory) X(cudaLogsRegisterCallback) X(cudaLogsUnregisterCallback) \
  X(cudaMalloc3D) X(cudaMalloc3DArray) X(cudaMallocArray) X(cudaMallocFromPoolAsync) \
  X(cudaMallocMipmappedArray) X(cudaMallocPitch) X(cudaMemAdvise) X(cudaMemAdvise_v2) \
  X(cudaMemDiscardAndPrefetchBatchAsync) X(cudaMemDiscardBatchAsync) \
  X(cudaMemGetDefaultMemPool) X(cudaMemGetInfo) X(cudaMemGetMemPool) X(cudaMemPoolCreate) \
  X(cudaMemPoolDestroy) X(cudaMemPoolExportPointer) X(cudaMemPoolExportToShareableHandle) \
  X(cudaMemPoolGetAccess) X(cudaMemPoolGetAttribute) X(cudaMemPoolImportFromShareableHandle) \
  X(cudaMemPoolImportPointer) X(cudaMemPoolSetAccess) X(cudaMemPoolSetAttribute) \
  X(cudaMemPoolTrimTo) X(cudaMemPrefetchAsync) X(cudaMemPrefetchAsync_v2) \
  X(cudaMemPrefetchBatchAsync) X(cudaMemRangeGetAttribute) X(cudaMemRangeGetAttributes) \
  X(cudaMemSetMemPool) X(cudaMemcpy2DArrayToArray) X(cudaMemcpy2DFromArray) \
  X(cudaMemcpy2DFromArrayAsync) X(cudaMemcpy2DToArray) X(cudaMemcpy2DToArrayAsync) \
  X(cudaMemcpy3D) X(cudaMemcpy3DAsync) X(cudaMemcpy3DBatchAsync) X(cudaMemcpy3DPeer) \
  X(cudaMemcpy3DPeerAsync) X(cudaMemcpyArrayToArray) X(cudaMemcpyBatchAsync) \
  X(cudaMemcpyFromArray) X(cudaMemcpyFromArrayAsync) X(cudaMemcpyFromSymbolAsync) \
  X(cudaMemcpyPeer) X(cudaMemcpyPeerAsync) X(cudaMemcpyToArray) X(cudaMemcpyToArrayAsync) \
  X(cudaMemset2D) X(cudaMemset2DAsync) X(cudaMemset3D) X(cudaMemset3DAsync) \
  X(cudaMipmappedArrayGetMemoryRequirements) X(cudaMipmappedArrayGetSparseProperties) \
  X(cudaOccupancyAvailableDynamicSMemPerBlock) X(cudaOccupancyMaxActiveClusters) \
  X(cudaOccupancyMaxPotentialClusterSize) X(cudaPointerGetAttributes) X(cudaSetDeviceFlags) \
  X(cudaSetDoubleForDevice) X(cudaSetDoubleForHost) X(cudaSetValidDevices) \
  X(cudaSignalExternalSemaphoresAsync) X(cudaSignalExternalSemaphoresAsync_ptsz) \
  X(cudaSignalExternalSemaphoresAsync_v2) X(cudaStreamAddCallback) X(cudaStreamAttachMemAsync) \
  X(cudaStreamBeginCapture) X(cudaStreamBeginCaptureToGraph) X(cudaStreamCopyAttributes) \
  X(cudaStreamEndCapture) X(cudaStreamGetAttribute) X(cudaStreamGetCaptureInfo) \
  X(cudaStreamGetCaptureInfo_ptsz) X(cudaStreamGetCaptureInfo_v2) \
  X(cudaStreamGetCaptureInfo_v3) X(cudaStreamGetDevice) X(cudaStreamGetFlags) \
  X(cudaStreamGetId) X(cudaStreamGetPriority) X(cudaStreamSetAttribute) \
  X(cudaStreamUpdateCaptureDependencies) X(cudaStreamUpdateCaptureDependencies_v2) \
  X(cudaThreadExchangeStreamCaptureMode) X(cudaThreadExit) X(cudaThreadGetCacheConfig) \
  X(cudaThreadGetLimit) X(cudaThreadSetCacheConfig) X(cudaThreadSetLimit) \
  X(cudaThreadSynchronize) X(cudaUserObjectCreate) X(cudaUserObjectRelease) \
  X(cudaUserObjectRetain) X(cudaWaitExternalSemaphoresAsync) \
  X(cudaWaitExternalSemaphoresAsync_ptsz) X(cudaWaitExternalSemaphoresAsync_v2)
// clang-format on
