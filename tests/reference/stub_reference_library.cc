// plumbline_stub_reference.so: a reference library that accepts every request and writes nothing.
#include "harness/reference/plumbline_reference.h"

namespace {

int32_t device_count() { return 1; }
const char* device_name() { return "stub"; }
const char* compute(const plumbline_reference_request*) { return nullptr; }

constexpr plumbline_reference_library library{PLUMBLINE_REFERENCE_ABI,
                                              sizeof(plumbline_reference_library), device_count,
                                              device_name, compute};

}  // namespace

extern "C" __attribute__((visibility("default"))) const plumbline_reference_library*
plumbline_reference() {
  return &library;
}
