// Content-addressed keys: equal things have equal keys on every machine. A key is the XXH3-128 of a
// canonical text.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

namespace plumbline {

struct MachineClass;

using Key = std::array<unsigned char, 16>;
struct KeyHash {  // a key already is a hash
  std::size_t operator()(const Key& key) const;
};

Key key_of(std::string_view canonical_text);
std::string hex(const Key& key);  // 32 lower-case hexadecimal digits

// Returns each field after its length, "5:hello0:2:ab", so that different lists give different
// texts.
std::string canonical_text(std::initializer_list<std::string_view> fields);
Key machine_key(const MachineClass& machine);

}  // namespace plumbline
