// Functions that compiler-generated code calls to register fat binaries, kernels and variables.
#include <cstddef>

#include "emulator/cudart/device.h"

using plumbline::cudart::Device;
using plumbline::cudart::Module;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(Device::instance().add_module(wrapper));
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void** handle) {
  Device::instance().remove_module(reinterpret_cast<Module*>(handle));
}
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, void*,
                            void*, void*, void*, int*) {
  Device::instance().add_function(host, reinterpret_cast<Module*>(handle), name);
}
void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, std::size_t bytes,
                       int, int) {
  Device::instance().add_symbol(host, reinterpret_cast<Module*>(handle), name, bytes);
}
// A managed variable is a host pointer to memory that both sides access.
void __cudaRegisterManagedVar(void** handle, void** host, char*, const char* name, int,
                              std::size_t bytes, int, int) {
  Device::instance().add_symbol(host, reinterpret_cast<Module*>(handle), name, bytes);
  const auto found = Device::instance().symbol(host);
  *host = found ? found->first : nullptr;
}

}  // extern "C"
