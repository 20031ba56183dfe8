// Compiles and launches small kernels given as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/ptx/compile.h"

namespace plumbline::ptx {

// Returns a module with a kernel `k`: `body` between its braces, registers declared. `parameters`
// is used as given, ".param .u64 in". Registers: %p<8> predicates, %h<32> of 16 bits, %r<64>,
// %f<64> of 32, %y<64> of 64.
std::string module_text(std::string_view parameters, std::string_view body,
                        std::string_view outside = "");

// Compiles the text. The tests have their own cache, in the working directory.
tl::expected<Kernel, std::string> compiled(std::string_view text, const Options& = {});

// The parameter block of a launch: one value for each parameter of the kernel.
class Arguments {
 public:
  explicit Arguments(const Kernel& kernel)
      : kernel_(kernel), bytes_(kernel.facts.parameter_bytes) {}
  template <class T>
  Arguments& add(const T& value) {
    const Parameter& parameter = kernel_.facts.parameters.at(next_++);
    std::memcpy(bytes_.data() + parameter.offset, &value, sizeof value);
    return *this;
  }
  [[nodiscard]] const std::byte* data() const { return bytes_.data(); }

 private:
  const Kernel& kernel_;
  std::vector<std::byte> bytes_;
  std::size_t next_ = 0;
};

}  // namespace plumbline::ptx
