// Hashes canonical texts to 128-bit keys, and writes the text that identifies a machine class.
#include "harness/store/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "harness/store/store.h"

namespace plumbline {

std::size_t KeyHash::operator()(const Key& key) const {
  std::size_t first = 0;
  std::memcpy(&first, key.data(), sizeof first);
  return first;
}

Key key_of(std::string_view canonical_text) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(canonical_text.data(), canonical_text.size()));
  Key key;
  std::copy(std::begin(canonical.digest), std::end(canonical.digest), key.begin());
  return key;
}

std::string hex(const Key& key) { return fmt::format("{:02x}", fmt::join(key, "")); }

std::string canonical_text(std::initializer_list<std::string_view> fields) {
  std::string text;
  for (std::string_view field : fields)
    text.append(std::to_string(field.size())).append(1, ':').append(field);
  return text;
}

Key machine_key(const MachineClass& machine) {
  return key_of(canonical_text({"machine class", machine.device_kind, machine.arch, machine.model,
                                std::to_string(machine.memory_bytes), machine.clock_policy}));
}

}  // namespace plumbline
