// Writes PTX texts into an uncompressed fat binary, as nvcc lays it out (fat_binary.h).
#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <optional>

#include "emulator/ptx/fat_binary.h"
#include "emulator/ptx/parse.h"

namespace plumbline::ptx {
namespace {

using WriteError = tl::unexpected<std::string>;

struct Version {
  std::uint16_t major, minor;
};

std::optional<Version> version_of(std::string_view text) {
  unsigned major = 0, minor = 0;
  const bool has_two =
      std::sscanf(parse_head(text).version.c_str(), "%5u.%5u", &major, &minor) == 2;
  if (!has_two || major > 0xffff || minor > 0xffff) return std::nullopt;
  return Version{static_cast<std::uint16_t>(major), static_cast<std::uint16_t>(minor)};
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
  // 1 to 8 zeros follow the text, up to a multiple of 8 bytes.
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
    return WriteError("no .version with two numbers at the beginning: is this PTX?");
  FatBinaryEntry made;
  char variant = '\0';
  const std::string target = parse_head(text).target;
  if (std::sscanf(target.c_str(), "sm_%d%c", &made.arch, &variant) < 1 || made.arch < 0)
    return WriteError("no .target with an architecture such as sm_80");
  if (variant == 'a' || variant == 'f') made.variant = variant;
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
          fmt::format("the entry for {} is not PTX or has no valid .version", architecture(entry)));
    if (entry.text.find('\0') != std::string::npos)
      return WriteError(fmt::format("the PTX for {} contains a zero byte", architecture(entry)));
    put_entry(to, entry, *version);
  }
  const u64 content = to.bytes().size() - 16;
  std::memcpy(to.bytes().data() + 8, &content, sizeof content);
  return std::move(to.bytes());
}

}  // namespace plumbline::ptx
