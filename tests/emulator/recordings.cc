// Reads and writes recorded dot products; operands are the raw bits that mma.sync takes.
#include "tests/emulator/recordings.h"

#include <fmt/core.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "tests/emulator/fragments.h"

namespace plumbline::testing {
namespace {

using emulator::MmaAccumulator;
using emulator::MmaFormat;

std::string unzipped(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, decltype(&gzclose)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw std::runtime_error(path.string() + ": cannot be opened");
  std::string text;
  std::array<char, 65536> buffer;
  int count = 0;
  while ((count = gzread(file.get(), buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  int error = Z_OK;  // also set for a truncated file
  gzerror(file.get(), &error);
  if (count < 0 || error != Z_OK)
    throw std::runtime_error(path.string() + ": is not a gzip file, or a damaged one");
  return text;
}

// The IEEE 754 layout of an operand format; e4m3 has a NaN of each sign instead of infinities.
struct Layout {
  MmaFormat format;
  const char* name;
  int exponent_bits, fraction_bits;
  bool has_infinity = true;

  std::uint32_t last_field() const { return (1u << exponent_bits) - 1; }
  std::uint32_t infinity() const { return last_field() << fraction_bits; }
  int min_exponent() const { return 2 - (1 << (exponent_bits - 1)); }
};
constexpr Layout layouts[] = {{MmaFormat::f16, "fp16", 5, 10},
                              {MmaFormat::bf16, "bf16", 8, 7},
                              {MmaFormat::tf32, "tf32", 8, 10},
                              {MmaFormat::e4m3, "e4m3", 4, 3, false},
                              {MmaFormat::e5m2, "e5m2", 5, 2}};

// Rounds to nearest even; exact if the format has the value. A NaN's payload keeps its high bits.
std::uint32_t encode(std::uint32_t f32_bits, const Layout& to) {
  const std::uint32_t sign = f32_bits >> 31 << (to.exponent_bits + to.fraction_bits),
                      e4m3_nan = to.infinity() | ((1u << to.fraction_bits) - 1);
  const float magnitude = std::fabs(std::bit_cast<float>(f32_bits));
  if (std::isnan(magnitude)) {
    const std::uint32_t payload = (f32_bits & 0x7fffff) >> (23 - to.fraction_bits);
    return sign | (to.has_infinity ? to.infinity() | std::max(payload, 1u) : e4m3_nan);
  }
  if (magnitude == 0) return sign;
  std::uint32_t bits = ~0u >> 1;
  if (std::isfinite(magnitude)) {
    const int exponent = std::max(std::ilogb(magnitude), to.min_exponent());
    const auto kept = static_cast<std::uint32_t>(
        std::nearbyint(std::ldexp(static_cast<double>(magnitude), to.fraction_bits - exponent)));
    bits = (static_cast<std::uint32_t>(exponent - to.min_exponent()) << to.fraction_bits) + kept;
  }
  return sign | std::min(bits, to.has_infinity ? to.infinity() : e4m3_nan);
}

// Returns the value as fp32 bits.
std::uint32_t decode(std::uint32_t bits, const Layout& from) {
  const int fraction_bits = from.fraction_bits;
  const std::uint32_t field = (bits >> fraction_bits) & from.last_field(),
                      fraction = bits & ((1u << fraction_bits) - 1),
                      leading = field == 0 ? 0 : 1u << fraction_bits,
                      sign = bits >> (from.exponent_bits + fraction_bits) << 31;
  if (field == from.last_field()) {
    if (from.has_infinity) return sign | 0x7f800000 | fraction << (23 - fraction_bits);
    if (fraction == (1u << fraction_bits) - 1) return sign | 0x7fc00000;
  }
  const float value =
      std::ldexp(static_cast<float>(fraction + leading),
                 std::max(static_cast<int>(field) - 1, 0) + from.min_exponent() - fraction_bits);
  return sign | std::bit_cast<std::uint32_t>(value);
}

const Layout* find_layout(const std::string& name) {
  for (const Layout& layout : layouts) {
    if (name == layout.name) return &layout;
  }
  return nullptr;
}
const Layout& layout_of(MmaFormat format) {
  return *std::find_if(std::begin(layouts), std::end(layouts),
                       [&](const Layout& layout) { return layout.format == format; });
}

// Returns an operand's raw bits for the instruction: tf32 in an fp32 register.
std::optional<std::uint32_t> operand(const Layout& layout, std::uint32_t f32_bits) {
  const std::uint32_t bits = encode(f32_bits, layout);
  if (decode(bits, layout) != f32_bits) return std::nullopt;
  return layout.format == MmaFormat::tf32 ? f32_bits : bits;
}
std::uint32_t f32_of_operand(const Layout& layout, std::uint32_t raw) {
  return layout.format == MmaFormat::tf32 ? raw : decode(raw, layout);
}

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> split(1);
  for (const char c : line) {
    if (c == ',')
      split.emplace_back();
    else if (c != '\r')
      split.back() += c;
  }
  return split;
}

}  // namespace

std::uint32_t f16_from_f32(std::uint32_t bits) { return encode(bits, layout_of(MmaFormat::f16)); }
std::uint32_t f32_from_f16(std::uint32_t bits) { return decode(bits, layout_of(MmaFormat::f16)); }

std::uint32_t start_of(const RecordedRow& row, MmaAccumulator accumulator) {
  return accumulator == MmaAccumulator::f32 ? row.c : f16_from_f32(row.c);
}
std::uint32_t result_of(const RecordedRow& row, MmaAccumulator accumulator) {
  return accumulator == MmaAccumulator::f32 ? *row.d_f32 : f16_from_f32(*row.d_f16);
}

Recording read_recording(const std::filesystem::path& path) {
  const std::string file = path.filename().string(), stem = file.substr(0, file.find('.'));
  const std::size_t dash = stem.rfind('-');
  const std::string machine = stem.substr(0, dash),
                    rest = dash == std::string::npos ? "" : stem.substr(dash + 1);
  Recording recording{stem, machine, MmaFormat::f16, 0, {}, std::nullopt};
  if (emulator::parse_arch(machine)) recording.instruction = parse_instruction(rest);
  const Layout* layout =
      recording.instruction ? &layout_of(recording.instruction->format) : find_layout(rest);
  if (layout == nullptr)
    throw std::runtime_error(
        path.string() +
        ": the name says neither GPU-FORMAT, FORMAT one of fp16, bf16, tf32, e4m3, e5m2, nor "
        "ARCH-INSTRUCTION such as sm_90-bf16_f32_k16");
  recording.format = layout->format;

  std::istringstream text(unzipped(path));
  std::string line;
  std::getline(text, line);
  const std::size_t columns = fields(line).size();
  recording.k = static_cast<int>(columns - 3) / 2;
  const auto k = static_cast<std::size_t>(recording.k);
  if (columns < 5 || columns != 2 * k + 3 || k > 32 || fields(line)[2 * k] != "c") {
    throw std::runtime_error(path.string() + ":1: expected a0,…,b0,…,c,d_fp32,d_fp16");
  }
  if (recording.instruction && recording.instruction->k != recording.k) {
    throw std::runtime_error(path.string() + ":1: " + std::to_string(recording.k) +
                             " columns a, but the name says k" +
                             std::to_string(recording.instruction->k));
  }
  for (int number = 2; std::getline(text, line); ++number) {
    const std::vector<std::string> row = fields(line);
    const auto bad = [&](const std::string& what) {
      return std::runtime_error(path.string() + ":" + std::to_string(number) + ": " + what);
    };
    if (row.size() != columns)
      throw bad(std::to_string(row.size()) + " fields, not " + std::to_string(columns));
    const auto bits = [&](std::size_t column) {
      std::uint32_t value = 0;
      const char* end = row[column].data() + row[column].size();
      const auto [stop, error] = std::from_chars(row[column].data(), end, value, 16);
      if (error != std::errc{} || stop != end)
        throw bad("'" + row[column] + "' is no hexadecimal number");
      return value;
    };
    const auto element = [&](std::size_t column) {
      const auto raw = operand(*layout, bits(column));
      if (!raw) throw bad(row[column] + " is no " + layout->name);
      return *raw;
    };
    RecordedRow recorded;
    for (std::size_t i = 0; i < k; ++i) recorded.a[i] = element(i);
    for (std::size_t i = 0; i < k; ++i) recorded.b[i] = element(k + i);
    recorded.c = bits(2 * k);
    if (!row[2 * k + 1].empty()) recorded.d_f32 = bits(2 * k + 1);
    if (!row[2 * k + 2].empty()) recorded.d_f16 = bits(2 * k + 2);
    recording.rows.push_back(recorded);
  }
  return recording;
}

void write_recording(const Recording& recording, const std::filesystem::path& folder) {
  const Layout& layout = layout_of(recording.format);
  const auto k = static_cast<std::size_t>(recording.k);
  std::string text;
  for (const char* operand : {"a", "b"}) {
    for (std::size_t i = 0; i < k; ++i) text += fmt::format("{}{},", operand, i);
  }
  text += "c,d_fp32,d_fp16\n";
  for (const RecordedRow& row : recording.rows) {
    for (const auto* operands : {&row.a, &row.b}) {
      for (std::size_t i = 0; i < k; ++i)
        text += fmt::format("{:08x},", f32_of_operand(layout, (*operands)[i]));
    }
    text += fmt::format("{:08x},{},{}\n", row.c, row.d_f32 ? fmt::format("{:08x}", *row.d_f32) : "",
                        row.d_f16 ? fmt::format("{:08x}", *row.d_f16) : "");
  }
  const std::filesystem::path path = folder / (recording.name + ".csv.gz");
  const gzFile file = gzopen(path.c_str(), "wb6");
  const bool written =
      file != nullptr && gzwrite(file, text.data(), static_cast<unsigned>(text.size())) != 0;
  const bool closed = file != nullptr && gzclose(file) == Z_OK;
  if (!written || !closed) throw std::runtime_error(path.string() + ": cannot be written");
}

std::filesystem::path recordings_folder(const std::filesystem::path& source, const char* data) {
  if (data != nullptr) return std::filesystem::path(data) / "tensor-core-recordings";
  if (std::filesystem::exists(source / ".recordings")) return source / ".recordings";
  return source.parent_path() / "shared" / "data" / "tensor-core-recordings";
}

}  // namespace plumbline::testing
