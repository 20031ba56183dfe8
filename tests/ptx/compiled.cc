// Builds and compiles the tests' kernels.
#include "tests/ptx/compiled.h"

#include <fmt/format.h>

namespace plumbline::ptx {

std::string module_text(std::string_view parameters, std::string_view body,
                        std::string_view outside) {
  return fmt::format(R"(.version 8.4
.target sm_90
.address_size 64
{}
.visible .entry k({})
{{
.reg .pred %p<8>;
.reg .b16 %h<32>;
.reg .b32 %r<64>;
.reg .f32 %f<64>;
.reg .b64 %y<64>;
{}
ret;
}}
)",
                     outside, parameters, body);
}

tl::expected<Kernel, std::string> compiled(std::string_view text, const Options& options) {
  const auto module = parse(text);
  if (!module)
    return tl::unexpected(fmt::format("{}: {}", module.error().line, module.error().text));
  CompileOptions how;
  how.cache = "ptx_cache";
  return compile(*module, "k", "k.ptx", options, how);
}

}  // namespace plumbline::ptx
