// Reads the dot products recorded on real GPUs, as the raw bits that mma.sync takes.
#include "tests/emulator/recordings.h"

#include <zlib.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace plumbline::testing {
namespace {

using emulator::MmaFormat;

std::string unzipped(const std::filesystem::path& path) {
  const std::unique_ptr<gzFile_s, decltype(&gzclose)> file(gzopen(path.c_str(), "rb"), gzclose);
  if (!file) throw std::runtime_error(path.string() + ": cannot be opened");
  std::string text;
  std::array<char, 65536> buffer;
  int count = 0;
  while ((count = gzread(file.get(), buffer.data(), buffer.size())) > 0)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  int error = Z_OK;  // a file that ends early, too
  gzerror(file.get(), &error);
  if (count < 0 || error != Z_OK)
    throw std::runtime_error(path.string() + ": is not a gzip file, or a damaged one");
  return text;
}

// Rounds to nearest even; exact where the value has the format.
std::uint32_t encode(float value, int exponent_bits, int fraction_bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(std::signbit(value))
                             << (exponent_bits + fraction_bits);
  const int min_exponent = 2 - (1 << (exponent_bits - 1));
  const float magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (!std::isfinite(magnitude))
    return sign | ((1u << exponent_bits) - 1) << fraction_bits | (std::isnan(value) ? 1u : 0u);
  const int exponent = std::max(std::ilogb(magnitude), min_exponent);
  const auto kept = static_cast<std::uint32_t>(
      std::nearbyint(std::ldexp(static_cast<double>(magnitude), fraction_bits - exponent)));
  return sign | ((static_cast<std::uint32_t>(exponent - min_exponent) << fraction_bits) + kept);
}

float decode(std::uint32_t bits, int exponent_bits, int fraction_bits) {
  const int field = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1),
            min_exponent = 2 - (1 << (exponent_bits - 1));
  const std::uint32_t fraction = bits & ((1u << fraction_bits) - 1),
                      leading = field == 0 ? 0 : 1u << fraction_bits;
  float value = std::ldexp(static_cast<float>(fraction + leading),
                           std::max(field - 1, 0) + min_exponent - fraction_bits);
  // e4m3's last field does not occur in recordings
  if (field == (1 << exponent_bits) - 1) value = fraction == 0 ? INFINITY : NAN;
  return (bits >> (exponent_bits + fraction_bits)) & 1 ? -value : value;
}

struct Layout {
  MmaFormat format;
  const char* name;
  int exponent_bits, fraction_bits;
};
constexpr Layout layouts[] = {{MmaFormat::f16, "fp16", 5, 10},
                              {MmaFormat::bf16, "bf16", 8, 7},
                              {MmaFormat::tf32, "tf32", 8, 10},
                              {MmaFormat::e4m3, "e4m3", 4, 3},
                              {MmaFormat::e5m2, "e5m2", 5, 2}};

const Layout* find_layout(const std::string& name) {
  for (const Layout& layout : layouts) {
    if (name == layout.name) return &layout;
  }
  return nullptr;
}

// An operand's raw bits as the instruction takes them: tf32 in an fp32 register.
std::optional<std::uint32_t> operand(const Layout& layout, std::uint32_t f32_bits) {
  const std::uint32_t bits =
      encode(std::bit_cast<float>(f32_bits), layout.exponent_bits, layout.fraction_bits);
  if (std::bit_cast<std::uint32_t>(decode(bits, layout.exponent_bits, layout.fraction_bits)) !=
      f32_bits)
    return std::nullopt;
  return layout.format == MmaFormat::tf32 ? f32_bits : bits;
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

std::uint32_t f16_from_f32(std::uint32_t bits) { return encode(std::bit_cast<float>(bits), 5, 10); }
std::uint32_t f32_from_f16(std::uint32_t bits) {
  return std::bit_cast<std::uint32_t>(decode(bits, 5, 10));
}

Recording read_recording(const std::filesystem::path& path) {
  const std::string name = path.filename().string(), stem = name.substr(0, name.find('.'));
  const std::size_t dash = stem.rfind('-');
  const Layout* layout = dash == std::string::npos ? nullptr : find_layout(stem.substr(dash + 1));
  if (layout == nullptr)
    throw std::runtime_error(
        path.string() +
        ": the name does not say GPU-FORMAT, FORMAT one of fp16, bf16, tf32, e4m3, e5m2");
  Recording recording{stem, stem.substr(0, dash), layout->format, 0, {}};

  std::istringstream text(unzipped(path));
  std::string line;
  std::getline(text, line);
  const std::size_t columns = fields(line).size();
  recording.k = static_cast<int>(columns - 3) / 2;
  const auto k = static_cast<std::size_t>(recording.k);
  if (columns < 5 || columns != 2 * k + 3 || k > 32 || fields(line)[2 * k] != "c") {
    throw std::runtime_error(path.string() + ":1: expected a0,…,b0,…,c,d_fp32,d_fp16");
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

std::filesystem::path recordings_folder() {
  const char* data = std::getenv("PLUMBLINE_DATA");
  const std::filesystem::path folder =
      data != nullptr ? data : PLUMBLINE_SOURCE_DIRECTORY "/../shared/data";
  return folder / "tensor-core-recordings";
}

}  // namespace plumbline::testing
