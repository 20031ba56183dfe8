// Fuzz target: a fat binary is read, or refused with the byte of the error. Its PTX, written as a
// fat binary of our own, is read again.
#include <span>

#include "emulator/ptx/fat_binary.h"
#include "tests/fuzz/target.h"

namespace plumbline::fuzz {

void fat_binary(std::string_view input) {
  namespace ptx = plumbline::ptx;
  // A copy of exactly this size, so that AddressSanitizer detects a read past its end.
  const std::vector<char> bytes(input.begin(), input.end());
  const auto entries = ptx::read_fat_binary(std::as_bytes(std::span(bytes)));
  if (!entries) {
    require(entries.error().starts_with("byte ") && entries.error().size() > 12,
            "an error names the byte and says what is wrong");
    return;
  }
  const auto chosen = ptx::choose_ptx(*entries, emulator::Arch::sm_90);
  require(chosen ? (*chosen)->kind == ptx::CodeKind::ptx && (*chosen)->arch <= 90
                 : chosen.error().find("remedy: ") != std::string::npos,
          "PTX for no newer architecture is chosen, or a remedy is named");
  for (const ptx::FatBinaryEntry& entry : *entries) {
    require(entry.kind == ptx::CodeKind::ptx || entry.text.empty(), "only PTX has a text");
    if (entry.text.size() > 1U << 20U) continue;  // skips large texts that a few bytes expand to
    const auto again = ptx::ptx_entry(entry.text);
    if (!again) continue;
    const auto written = ptx::write_fat_binary(std::span(&*again, 1));
    require(written.has_value(), "PTX with a .version and a .target can be written");
    const auto read = ptx::read_fat_binary(*written);
    require(read && read->size() == 1 && read->front().text == entry.text &&
                read->front().arch == again->arch && read->front().variant == again->variant,
            "what was written is read again");
  }
}

}  // namespace plumbline::fuzz
