// Fuzz target: the tensors of an accepted file are inside it and do not overlap.
#include "harness/problem/recorded_facts.h"
#include "harness/problem/safetensors.h"
#include "tests/fuzz/target.h"

namespace plumbline::fuzz {

void safetensors(std::string_view input) {
  const auto* first = reinterpret_cast<const std::byte*>(input.data());
  const auto file = parse_safetensors("input", {first, first + input.size()});
  if (!file) return require_helpful(file.error(), "input", Lines::none);
  std::uint64_t sum = 0;
  for (const auto& [name, tensor] : file->tensors) {
    for (std::size_t i = 0; i < tensor.bytes; ++i)
      sum += static_cast<std::uint64_t>(tensor.data[i]);
  }
  require(sum <= 255 * input.size(), "tensors do not overlap");
  const auto facts = read_facts("input", *file);
  if (!facts) return require_helpful(facts.error(), "input", Lines::none);
  require(validate(facts->shape).empty(), "recorded facts make a problem");
}

}  // namespace plumbline::fuzz
