// A stub with the name of libnvidia-ml.so.1: two GPUs, of which the second is throttled.
#include <cstdio>
#include <cstring>

namespace {
int devices[2];
int index_of(void* device) { return device == &devices[1] ? 1 : 0; }
}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index > 1) return 2;  // NVML_ERROR_INVALID_ARGUMENT
  *device = &devices[index];
  return 0;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  *device = &devices[1];
  return std::strcmp(uuid, "GPU-second") == 0 ? 0 : 2;
}
int nvmlDeviceGetName(void* device, char* name, unsigned bytes) {
  std::snprintf(name, bytes, "Stub GPU %d", index_of(device));
  return 0;
}
int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  *mhz = index_of(device) == 1 ? 1200 : 1980;
  return type == 1 ? 0 : 2;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void* device, unsigned long long* reasons) {
  *reasons = index_of(device) == 1 ? 0x24 : 0x1;
  return 0;
}
}
