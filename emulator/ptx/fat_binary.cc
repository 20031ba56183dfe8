// Reads fat binaries (layout: fat_binary.h) and checks all bounds first.
#include "emulator/ptx/fat_binary.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

namespace plumbline::ptx {
namespace {

constexpr std::uint32_t container_magic = 0xba55ed50, wrapper_magic = 0x466243b1;
constexpr std::uint64_t container_header = 16, entry_header = 64;
constexpr std::uint16_t kind_ptx = 1, kind_elf = 2;
constexpr std::uint64_t flag_lz4 = 0x2000, flag_zstd = 0x8000, flag_exact = 0x100000,
                        flag_family = 0x200000;
// Limit for all PTX that one call decompresses; otherwise a malicious file could exhaust memory.
constexpr std::uint64_t max_text_bytes = 1U << 30U;

using Bytes = std::span<const std::byte>;
using Unexpected = tl::unexpected<std::string>;

// The caller has checked that the bytes exist.
template <class T>
T value_at(const std::byte* bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes + offset, sizeof value);
  return value;
}

template <class... Arguments>
Unexpected wrong(std::size_t offset, fmt::format_string<Arguments...> text,
                 Arguments&&... arguments) {
  return Unexpected(fmt::format("byte {}: ", offset) +
                    fmt::format(text, std::forward<Arguments>(arguments)...));
}

// An entry's header, and its payload within the file.
struct Entry {
  std::size_t offset, payload_offset;
  std::uint64_t payload_bytes, plain_bytes, flags;
  std::uint32_t packed_bytes, arch;
  std::uint16_t kind;
};

class Reader {
 public:
  explicit Reader(Bytes file) : file_(file) {}

  tl::expected<std::vector<FatBinaryEntry>, std::string> read() {
    for (std::size_t at = skip_zeros(0); at < file_.size(); at = skip_zeros(at)) {
      auto end = container(at);
      if (!end) return Unexpected(std::move(end.error()));
      at = *end;
      ++containers_;
    }
    if (containers_ == 0) return wrong(file_.size(), "the file ends without a fat binary");
    return std::move(entries_);
  }

 private:
  std::size_t skip_zeros(std::size_t at) const {
    while (at < file_.size() && file_[at] == std::byte{0}) ++at;
    return at;
  }

  // Returns the offset of the container's end.
  tl::expected<std::size_t, std::string> container(std::size_t at) {
    if (file_.size() - at < container_header)
      return wrong(at, "the header of a fat binary has {} bytes, but {} are left", container_header,
                   file_.size() - at);
    const auto bytes = fat_binary_bytes(file_.data() + at);
    if (!bytes) return wrong(at, "{}", bytes.error());
    if (*bytes > file_.size() - at)
      return wrong(at, "the fat binary has {} bytes, but {} are left", *bytes, file_.size() - at);
    const std::size_t end = at + static_cast<std::size_t>(*bytes);
    std::size_t next = at + value_at<std::uint16_t>(file_.data() + at, 6);
    while (next < end) {
      const auto entry = header(next, end);
      if (!entry) return Unexpected(entry.error());
      auto read = content(*entry);
      if (!read) return Unexpected(std::move(read.error()));
      entries_.push_back(std::move(*read));
      next = entry->payload_offset + static_cast<std::size_t>(entry->payload_bytes);
    }
    return end;
  }

  tl::expected<Entry, std::string> header(std::size_t at, std::size_t end) const {
    if (end - at < entry_header)
      return wrong(at, "the header of an entry has at least {} bytes, but {} are left",
                   entry_header, end - at);
    const std::byte* const from = file_.data() + at;
    const auto header_bytes = value_at<std::uint32_t>(from, 4);
    if (header_bytes < entry_header || header_bytes > end - at)
      return wrong(at + 4, "an entry's header of {} bytes: {} to {} are possible", header_bytes,
                   entry_header, end - at);
    Entry entry{};
    entry.offset = at;
    entry.payload_offset = at + header_bytes;
    entry.kind = value_at<std::uint16_t>(from, 0);
    entry.payload_bytes = value_at<std::uint64_t>(from, 8);
    entry.packed_bytes = value_at<std::uint32_t>(from, 16);
    entry.arch = value_at<std::uint32_t>(from, 28);
    entry.flags = value_at<std::uint64_t>(from, 40);
    entry.plain_bytes = value_at<std::uint64_t>(from, 56);
    if (entry.payload_bytes > end - entry.payload_offset)
      return wrong(at + 8, "an entry's code has {} bytes, but {} are left", entry.payload_bytes,
                   end - entry.payload_offset);
    if (entry.packed_bytes > entry.payload_bytes)
      return wrong(at + 16, "{} compressed bytes in a payload of {} bytes", entry.packed_bytes,
                   entry.payload_bytes);
    if (entry.arch > 10'000) return wrong(at + 28, "no architecture has number {}", entry.arch);
    return entry;
  }

  tl::expected<FatBinaryEntry, std::string> content(const Entry& entry) {
    FatBinaryEntry made;
    made.kind = entry.kind == kind_ptx   ? CodeKind::ptx
                : entry.kind == kind_elf ? CodeKind::machine_code
                                         : CodeKind::other;
    made.arch = static_cast<int>(entry.arch);
    if ((entry.flags & flag_exact) != 0) made.variant = 'a';
    if ((entry.flags & flag_family) != 0) made.variant = 'f';
    made.packing = (entry.flags & flag_zstd) != 0  ? Packing::zstd
                   : (entry.flags & flag_lz4) != 0 ? Packing::lz4
                                                   : Packing::none;
    made.bytes = made.packing == Packing::none ? entry.payload_bytes : entry.plain_bytes;
    made.container = containers_;
    if (made.kind != CodeKind::ptx) return made;
    auto text = plain(entry, made.packing);
    if (!text) return Unexpected(std::move(text.error()));
    text->resize(text->find_last_not_of('\0') + 1);
    if (const std::size_t zero = text->find('\0'); zero != std::string::npos)
      return wrong(entry.payload_offset, "PTX with a zero after {} bytes, and text after it", zero);
    made.bytes = text->size();
    made.text = std::move(*text);
    return made;
  }

  tl::expected<std::string, std::string> plain(const Entry& entry, Packing packing) {
    const char* const from =
        reinterpret_cast<const char*>(file_.data()) + entry.payload_offset;  // NOLINT
    if (packing == Packing::none) {
      if (entry.packed_bytes == 0) return std::string(from, entry.payload_bytes);
      return wrong(entry.offset + 40,
                   "code that is compressed in a way that is not known: flags {:#x}", entry.flags);
    }
    if (entry.plain_bytes > max_text_bytes - decompressed_)
      return wrong(entry.offset + 56, "{} bytes of PTX: more than {} bytes in the whole file",
                   entry.plain_bytes, max_text_bytes);
    decompressed_ += entry.plain_bytes;
    return packing == Packing::zstd ? unzstd(entry, from) : unlz4(entry, from);
  }

  static tl::expected<std::string, std::string> unlz4(const Entry& entry, const char* from) {
    // A byte of an LZ4 block expands to at most 255 bytes.
    if (entry.packed_bytes > std::numeric_limits<int>::max() ||
        entry.plain_bytes / 255 > entry.packed_bytes)
      return wrong(entry.payload_offset, "{} bytes of LZ4 cannot expand to {} bytes",
                   entry.packed_bytes, entry.plain_bytes);
    std::string text(entry.plain_bytes, '\0');
    const int count = LZ4_decompress_safe(from, text.data(), static_cast<int>(entry.packed_bytes),
                                          static_cast<int>(text.size()));
    if (count < 0)
      return wrong(entry.payload_offset, "no LZ4 block that expands to {} bytes", text.size());
    if (static_cast<std::size_t>(count) != text.size())
      return wrong(entry.payload_offset, "{} bytes by LZ4, and the entry's header says {}", count,
                   text.size());
    return text;
  }

  static tl::expected<std::string, std::string> unzstd(const Entry& entry, const char* from) {
    // Checked before memory is allocated.
    const unsigned long long size = ZSTD_getFrameContentSize(from, entry.packed_bytes);
    if (size == ZSTD_CONTENTSIZE_ERROR)
      return wrong(entry.payload_offset, "no zstd frame begins here");
    if (size != ZSTD_CONTENTSIZE_UNKNOWN && size != entry.plain_bytes)
      return wrong(entry.payload_offset, "{} bytes by zstd, and the entry's header says {}", size,
                   entry.plain_bytes);
    std::string text(entry.plain_bytes, '\0');
    const std::size_t count = ZSTD_decompress(text.data(), text.size(), from, entry.packed_bytes);
    if (ZSTD_isError(count) != 0)
      return wrong(entry.payload_offset, "zstd: {}", ZSTD_getErrorName(count));
    if (count != text.size())
      return wrong(entry.payload_offset, "{} bytes by zstd, and the entry's header says {}", count,
                   text.size());
    return text;
  }

  Bytes file_;
  std::vector<FatBinaryEntry> entries_;
  std::size_t containers_ = 0;
  std::uint64_t decompressed_ = 0;
};

}  // namespace

std::string architecture(const FatBinaryEntry& entry) {
  return fmt::format("sm_{}{}", entry.arch,
                     entry.variant == '\0' ? std::string() : std::string(1, entry.variant));
}

std::string_view name(CodeKind kind) {
  return kind == CodeKind::ptx ? "PTX" : kind == CodeKind::machine_code ? "machine code" : "other";
}

std::string_view name(Packing packing) {
  return packing == Packing::none ? "-" : packing == Packing::lz4 ? "LZ4" : "zstd";
}

tl::expected<std::vector<FatBinaryEntry>, std::string> read_fat_binary(Bytes file) {
  return Reader(file).read();
}

tl::expected<std::uint64_t, std::string> fat_binary_bytes(const void* header) {
  const auto* const from = static_cast<const std::byte*>(header);
  const auto magic = value_at<std::uint32_t>(from, 0);
  const auto version = value_at<std::uint16_t>(from, 4), own = value_at<std::uint16_t>(from, 6);
  const auto content = value_at<std::uint64_t>(from, 8);
  if (magic != container_magic)
    return Unexpected(fmt::format("no fat binary begins here: {:#010x} instead of {:#010x}", magic,
                                  container_magic));
  if (version != 1)
    return Unexpected(fmt::format("a fat binary of version {}: only 1 is known", version));
  if (own < container_header)
    return Unexpected(fmt::format("a fat binary's header of {} bytes: at least {} are needed", own,
                                  container_header));
  if (content > std::numeric_limits<std::uint64_t>::max() - own)
    return Unexpected(
        fmt::format("a fat binary of {} bytes and a header of {}: too large", content, own));
  return own + content;
}

tl::expected<Bytes, std::string> registered_fat_binary(const void* wrapper) {
  const auto* const from = static_cast<const std::byte*>(wrapper);
  if (const auto magic = value_at<std::uint32_t>(from, 0); magic != wrapper_magic)
    return Unexpected(
        fmt::format("the registered data is not a fat binary: {:#010x} instead of "
                    "{:#010x}",
                    magic, wrapper_magic));
  const auto* const data = value_at<const std::byte*>(from, 8);
  const auto bytes = fat_binary_bytes(data);
  if (!bytes) return Unexpected(bytes.error());
  return Bytes(data, static_cast<std::size_t>(*bytes));
}

tl::expected<const FatBinaryEntry*, std::string> choose_ptx(std::span<const FatBinaryEntry> entries,
                                                            emulator::Arch arch) {
  const int wanted = static_cast<int>(arch);
  const FatBinaryEntry* best = nullptr;
  std::string there;
  // 'a' ranks above 'f', and 'f' above no variant.
  const auto rank = [](const FatBinaryEntry& entry) {
    return std::pair(entry.arch, entry.variant == 'a' ? 2 : entry.variant == 'f' ? 1 : 0);
  };
  for (const FatBinaryEntry& entry : entries) {
    there += fmt::format("{}{} for {}", there.empty() ? "" : ", ", name(entry.kind),
                         architecture(entry));
    const bool fits = entry.variant == 'a'   ? entry.arch == wanted
                      : entry.variant == 'f' ? entry.arch / 10 == wanted / 10
                                             : true;
    if (entry.kind != CodeKind::ptx || !fits || entry.arch > wanted) continue;
    if (best == nullptr || rank(entry) > rank(*best)) best = &entry;
  }
  if (best != nullptr) return best;
  return Unexpected(
      fmt::format("a fat binary without PTX for {}: it has {}\n  remedy: compile with -gencode "
                  "arch=compute_80,code=compute_80",
                  emulator::name(arch), there.empty() ? "nothing" : there));
}

}  // namespace plumbline::ptx
