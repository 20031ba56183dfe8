// The entry point of libFuzzer. PLUMBLINE_FUZZ_TARGET is the function of this program.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  plumbline::fuzz::PLUMBLINE_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
