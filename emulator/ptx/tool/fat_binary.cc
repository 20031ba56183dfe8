// Writes and lists fat binaries.
#include "emulator/ptx/tool/fat_binary.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include "emulator/ptx/fat_binary.h"

namespace plumbline::ptx {

using Text = tl::expected<std::string, std::string>;

Text contents(const std::string& path, std::string_view remedy) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (in) return text.str();
  return tl::unexpected(fmt::format("{}: cannot be read\n  remedy: {}", path, remedy));
}

Text pack(const std::vector<std::string>& paths, const std::string& output) {
  std::vector<FatBinaryEntry> entries;
  for (const std::string& path : paths) {
    auto text = contents(path);
    if (!text) return text;
    auto entry = ptx_entry(std::move(*text));
    if (!entry)
      return tl::unexpected(fmt::format(
          "{}: {}\n  remedy: name a file of PTX, as written by nvcc -ptx", path, entry.error()));
    entries.push_back(std::move(*entry));
  }
  const auto bytes = write_fat_binary(entries);
  if (!bytes) return tl::unexpected(fmt::format("{}: {}", output, bytes.error()));
  std::ofstream out(output, std::ios::binary);
  for (const std::byte byte : *bytes) out.put(static_cast<char>(byte));
  out.close();
  if (!out)
    return tl::unexpected(
        fmt::format("{}: cannot be written: {}\n  remedy: name a file in a folder that can be "
                    "written to",
                    output, std::generic_category().message(errno)));
  return fmt::format("{}: {} bytes, PTX of {} file{}\n", output, bytes->size(), paths.size(),
                     paths.size() == 1 ? "" : "s");
}

Text list(const std::string& path) {
  constexpr std::string_view remedy =
      "name a fat binary: nvcc -fatbin writes one, and objcopy -O binary -j .nv_fatbin "
      "--set-section-flags .nv_fatbin=alloc extracts one from a library";
  auto file = contents(path, remedy);
  if (!file) return file;
  const auto entries = read_fat_binary(std::as_bytes(std::span(*file)));
  if (!entries)
    return tl::unexpected(fmt::format("{}: {}\n  remedy: {}", path, entries.error(), remedy));
  std::string text = fmt::format("{:<9} {:<12} {:<12} {:>10} {:>11}\n", "container", "kind",
                                 "architecture", "bytes", "compression");
  for (const FatBinaryEntry& entry : *entries)
    text += fmt::format("{:<9} {:<12} {:<12} {:>10} {:>11}\n", entry.container, name(entry.kind),
                        architecture(entry), entry.bytes, name(entry.packing));
  return text;
}

}  // namespace plumbline::ptx
