// Content-addressed keys: the same thing has the same key on every machine. A key is the XXH3-128
// of a canonical text.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

namespace plumbline {

struct MachineClass;

using Key = std::array<unsigned char, 16>;
struct KeyHash {  // a key is a hash
  std::size_t operator()(const Key& key) const;
};

Key key_of(std::string_view canonical_text);
std::string hex(const Key& key);  // 32 lower-case digits

// "5:hello0:2:ab": every field with its length in front, so that no two lists of fields share a
// text.
std::string canonical_text(std::initializer_list<std::string_view> fields);
Key machine_key(const MachineClass& machine);

}  // namespace plumbline
