// Fat binaries of PTX texts, as nvcc writes them without compression (fat_binary.h has the layout).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "emulator/ptx/fat_binary.h"

namespace plumbline::ptx {
namespace {

using WriteError = tl::unexpected<std::string>;

// What follows a directive of a module up to the end of the line ("sm_90a, debug"), comments apart.
std::optional<std::string_view> directive(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    if (text.starts_with("//")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*")) {
      text.remove_prefix(std::min(text.find("*/", 2), text.size()));
    } else if (text.starts_with(name)) {
      text.remove_prefix(name.size());
      text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
      return text.substr(0, text.find_first_of("\r\n/"));
    } else {
      text.remove_prefix(1);
    }
  }
  return std::nullopt;
}

// The number that the text begins with, which is taken from it.
std::optional<int> number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

struct Version {
  std::uint16_t major, minor;
};

std::optional<Version> version_of(std::string_view text) {
  auto said = directive(text, ".version");
  if (!said) return std::nullopt;
  const auto major = number(*said);
  if (!major || !said->starts_with('.')) return std::nullopt;
  said->remove_prefix(1);
  const auto minor = number(*said);
  if (!minor || *major > 0xffff || *minor > 0xffff) return std::nullopt;
  return Version{static_cast<std::uint16_t>(*major), static_cast<std::uint16_t>(*minor)};
}

class Writer {
 public:
  template <class T>
  Writer& put(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  void put(std::string_view text, std::size_t padded) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + padded);
    std::memcpy(bytes_.data() + at, text.data(), text.size());
  }
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

void put_entry(Writer& to, const FatBinaryEntry& entry, Version version) {
  constexpr u32 own = 80, options = 64, no_options = 72;
  constexpr u64 linux_64_bits = 0x11, exact = 0x100000, family = 0x200000;
  const u64 flags = linux_64_bits | (entry.variant == 'a'   ? exact
                                     : entry.variant == 'f' ? family
                                                            : 0);
  // With at least one zero at its end.
  const u64 padded = entry.text.size() / 8 * 8 + 8;
  to.put(u16{1}).put(u16{0x101}).put(own).put(padded);
  to.put(u32{0}).put(options).put(version.minor).put(version.major);
  to.put(static_cast<u32>(entry.arch)).put(u64{0}).put(flags).put(u64{0}).put(u64{0});
  to.put(no_options).put(u32{0}).put(u64{0});
  to.put(entry.text, padded);
}

}  // namespace

tl::expected<FatBinaryEntry, std::string> ptx_entry(std::string text) {
  if (!version_of(text))
    return WriteError("no .version with two numbers, which PTX begins with: is it PTX?");
  FatBinaryEntry made;
  std::string_view target = directive(text, ".target").value_or("");
  if (target.starts_with("sm_")) target.remove_prefix(3);
  const auto arch = number(target);
  if (!arch) return WriteError("no .target with an architecture such as sm_80");
  made.arch = *arch;
  if (target.starts_with('a') || target.starts_with('f')) made.variant = target.front();
  made.bytes = text.size();
  made.text = std::move(text);
  return made;
}

tl::expected<std::vector<std::byte>, std::string> write_fat_binary(
    std::span<const FatBinaryEntry> entries) {
  Writer to;
  to.put(u32{0xba55ed50}).put(u16{1}).put(u16{16}).put(u64{0});
  for (const FatBinaryEntry& entry : entries) {
    const auto version = version_of(entry.text);
    if (entry.kind != CodeKind::ptx || !version)
      return WriteError(
          fmt::format("an entry for {} that is no PTX with a .version", architecture(entry)));
    if (entry.text.find('\0') != std::string::npos)
      return WriteError(fmt::format("PTX for {} with a zero byte in it", architecture(entry)));
    put_entry(to, entry, *version);
  }
  const u64 content = to.bytes().size() - 16;
  std::memcpy(to.bytes().data() + 8, &content, sizeof content);
  return std::move(to.bytes());
}

}  // namespace plumbline::ptx
