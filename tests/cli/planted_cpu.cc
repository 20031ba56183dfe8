// plumbline_planted_cpu.so: the provider "cpu" as another build of it would be. It computes with
// the options that the variable PLANTED_OPTIONS holds, which plumbline does not see.
#include <dlfcn.h>

#include <cstdlib>

#include "harness/provider/plumbline_provider.h"

const plumbline_provider* plumbline_get_provider(uint32_t abi_version, const char*) {
  void* library = ::dlopen(PLUMBLINE_CPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto get = reinterpret_cast<decltype(&plumbline_get_provider)>(
      ::dlsym(library, "plumbline_get_provider"));
  const char* planted = std::getenv("PLANTED_OPTIONS");
  return get(abi_version, planted == nullptr ? "" : planted);
}
