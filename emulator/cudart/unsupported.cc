// Functions that are not emulated return an error with their name.
#include "emulator/cudart/unsupported.h"

#include <cstdio>
#include <string>

#include "emulator/cudart/device.h"

namespace plumbline::cudart {
namespace {

Error refuse(const char* name) {
  std::string text = std::string(name) + " is not emulated";
  // Also on stderr, because few programs print cudaGetErrorString.
  std::fprintf(stderr, "plumbline cudart: %s\n", text.c_str());
  return report(not_supported, std::move(text));
}

}  // namespace
}  // namespace plumbline::cudart

#define PLUMBLINE_DEFINE(name) \
  extern "C" plumbline::cudart::Error name() { return plumbline::cudart::refuse(#name); }
PLUMBLINE_CUDART_UNSUPPORTED(PLUMBLINE_DEFINE)
