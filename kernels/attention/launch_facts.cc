// Writes the launch parameters of the instances of one source file, for `plumbline resources`. The
// compiler knows neither these nor the tiles (format: harness/resources/launch_facts.h).
//   launch_facts NAME > NAME.launch.toml
#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "kernels/attention/instances.h"

namespace plumbline::attention {
namespace {

std::span<const Instance> instances_of(std::string_view source) {
  for (const InstanceSource& known : instance_sources) {
    if (known.name == source) return known.instances();
  }
  return {};
}

// Returns the name as in reports: "PrefillMma<Half, float, 64, 64, 64>".
std::string displayed(const char* mangled) {
  char* demangled = abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr);
  std::string text = demangled == nullptr ? mangled : demangled;
  std::free(demangled);
  for (const std::string space : {"plumbline::", "attention::"}) {
    for (std::size_t at = text.find(space); at != text.npos; at = text.find(space))
      text.erase(at, space.size());
  }
  for (std::size_t at = text.find("> >"); at != text.npos; at = text.find("> >"))
    text.erase(at + 1, 1);
  return text;
}

void print_launch(const Instance& instance, int head_dim) {
  const int rows = instance.head_dim == 0 && instance.shared_bytes > 0
                       ? 2 * head_dim * static_cast<int>(sizeof(float))
                       : 0;
  std::printf("\n[[launch]]\nkernel = \"%s<%s*\"\n", instance.symbol,
              displayed(instance.argument).c_str());
  if (instance.head_dim == 0 && rows > 0) std::printf("name = \"head_dim %d\"\n", head_dim);
  std::printf("threads = %d\ndynamic_shared_bytes = %d\ntensor_cores = %s\n", instance.threads,
              instance.shared_bytes + rows, instance.tensor_cores ? "true" : "false");
  // A prediction from the tiles is only valid if S and O are in registers and Q, K and V in shared
  // memory, in the dtype of the inputs.
  if (!instance.tensor_cores) return;
  std::printf("tile_q = %d\ntile_kv = %d\nhead_dim_qk = %d\nstages = %d\nelement_bytes = %d\n",
              instance.tile_q, instance.tile_kv, head_dim, instance.stages,
              instance.dtype == PLUMBLINE_F32 ? 4 : 2);
}

}  // namespace
}  // namespace plumbline::attention

int main(int count, char** arguments) {
  using namespace plumbline::attention;
  const auto instances = instances_of(count == 2 ? arguments[1] : "");
  if (instances.empty()) {
    std::fprintf(stderr, "usage: launch_facts NAME, where kernels/attention/NAME.cu has kernels\n");
    return 2;
  }
  std::printf(
      "# How kernels/attention/%s.cu launches its kernels. Written by "
      "kernels/attention/launch_facts.cc.\nschema = 1\n",
      arguments[1]);
  for (const Instance& instance : instances) {
    const bool any_head_dim = instance.head_dim == 0 && instance.shared_bytes > 0;
    if (!any_head_dim) print_launch(instance, instance.head_dim);
    for (const int head_dim : {64, 128, 256}) {
      if (any_head_dim) print_launch(instance, head_dim);
    }
  }
  return 0;
}
