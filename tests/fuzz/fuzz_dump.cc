// Fuzz target: an accepted dump is a valid problem and has as many bytes as its shapes require.
#include "harness/check/dump.h"
#include "tests/fuzz/target.h"

namespace plumbline::fuzz {

void dump(std::string_view input) {
  const auto* first = reinterpret_cast<const std::byte*>(input.data());
  const auto file = parse_safetensors("input", {first, first + input.size()});
  if (!file) return;  // the target `safetensors` checks these errors
  const auto made = make_dump("input", file->tensors, file->metadata);
  if (!made) return require_helpful(made.error(), "input", Lines::none);
  const Geometry& geometry = *made->geometry;
  require(validate(geometry.problem()).empty(), "a dump holds a problem");
  require(made->q.size() == geometry.q.bytes() && made->k.size() == geometry.k.bytes() &&
              made->v.size() == geometry.v.bytes(),
          "a dump holds as many bytes as its shapes say");
}

}  // namespace plumbline::fuzz
