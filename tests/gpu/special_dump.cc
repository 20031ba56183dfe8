// Writes results of a special function unit to a file; special_sweep.h has the format.
#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <system_error>

#include "tests/gpu/special_sweep.h"

namespace plumbline::testing {
namespace {

constexpr std::uint32_t binade = 1U << 23U;
constexpr std::uint32_t one = 0x3f800000U;

std::filesystem::path partial(const std::filesystem::path& file) {
  return file.string() + ".partial";
}

std::string header(Special instruction, std::string_view kind, std::uint64_t count,
                   std::string_view first, std::uint32_t stride) {
  return fmt::format("plumbline-special 1 {} {} {} {} {}\n", ptx_name(instruction), kind, count,
                     first, stride);
}
std::string hex(std::uint32_t word) { return fmt::format("{:08x}", word); }

// Returns i * 2^-23; from `half` on, the negatives.
std::uint32_t fraction(std::uint32_t i, std::uint32_t half) {
  const bool negative = i >= half;
  const auto magnitude = static_cast<float>(negative ? i - half : i) * 0x1p-23F;
  return std::bit_cast<std::uint32_t>(negative ? -magnitude : magnitude);
}

std::int32_t limited_difference(std::uint32_t unit, std::uint32_t model) {
  constexpr std::int64_t limit = std::int64_t{1} << 30U;
  if (unit == model) return 0;
  const std::optional<std::int64_t> distance = ulps(model, unit);
  return distance ? static_cast<std::int32_t>(std::clamp(*distance, -limit, limit))
                  : std::numeric_limits<std::int32_t>::min();
}

struct Domain {
  std::uint32_t first, count;
  bool fractions;
};
Domain domain_of(Special instruction) {
  switch (instruction) {
    case Special::ex2_ftz:
      return {0, 2 * binade, true};
    case Special::rsqrt_ftz:
      return {one, 2 * binade, false};
    case Special::lg2_ftz:
      return {one - binade, 2 * binade, false};
    default:
      return {one, binade, false};
  }
}

}  // namespace

SpecialDump::SpecialDump(std::filesystem::path file) : file_(std::move(file)) {
  std::error_code ignored;
  std::filesystem::create_directories(file_.parent_path(), ignored);
  gzip_ = gzopen(partial(file_).c_str(), "wb6");
  failed_ = gzip_ == nullptr;
}
SpecialDump::~SpecialDump() {
  if (gzip_ != nullptr) gzclose(static_cast<gzFile>(gzip_));
}

void SpecialDump::section(std::string_view header, std::span<const std::int32_t> values) {
  const auto write = [this](const void* bytes, std::size_t size) {
    if (failed_ || size == 0) return;
    failed_ = gzwrite(static_cast<gzFile>(gzip_), bytes, static_cast<unsigned>(size)) !=
              static_cast<int>(size);
  };
  write(header.data(), header.size());
  std::vector<std::uint8_t> plane(values.size());
  for (unsigned shift = 0; shift < 32; shift += 8) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto word =
          static_cast<std::uint32_t>(values[i]) << 1U ^ static_cast<std::uint32_t>(values[i] >> 31);
      plane[i] = static_cast<std::uint8_t>(word >> shift);
    }
    write(plane.data(), plane.size());
  }
}

std::string SpecialDump::finish() {
  if (gzip_ != nullptr) failed_ |= gzclose(static_cast<gzFile>(gzip_)) != Z_OK;
  gzip_ = nullptr;
  std::error_code error;
  if (!failed_) std::filesystem::rename(partial(file_), file_, error);
  if (!failed_ && !error) return "";
  return fmt::format("cannot write {}{}", file_.string(), error ? ": " + error.message() : "");
}

std::string dump_differences(const SpecialUnit& unit, const SpecialModel& model,
                             std::span<std::uint32_t> buffer, const std::filesystem::path& file) {
  const Domain domain = domain_of(model.instruction);
  std::vector<std::uint32_t> operands(domain.count);
  tbb::parallel_for(0U, domain.count, [&](std::uint32_t i) {
    operands[i] = domain.fractions ? fraction(i, domain.count / 2) : domain.first + i;
  });
  std::vector<std::int32_t> differences(domain.count);
  for (std::size_t done = 0; done < domain.count;) {
    const std::size_t n = std::min<std::size_t>(buffer.size(), domain.count - done);
    const std::string error =
        unit(model.instruction, {operands.data() + done, nullptr, 0, 0}, n, buffer.data());
    if (!error.empty()) return error;
    tbb::parallel_for(std::size_t{0}, n, [&](std::size_t i) {
      differences[done + i] = limited_difference(buffer[i], model.of_one(operands[done + i]));
    });
    done += n;
  }
  if (std::ranges::all_of(differences, [](std::int32_t d) { return d == 0; })) return "";
  SpecialDump dump(file);
  dump.section(header(model.instruction, "difference", domain.count,
                      domain.fractions ? "fractions" : hex(domain.first), 1),
               differences);
  return dump.finish();
}

std::string dump_results(const SpecialUnit& unit, Special instruction, std::uint32_t first,
                         std::uint32_t stride, std::uint64_t count, std::span<std::uint32_t> buffer,
                         SpecialDump& dump) {
  std::vector<std::int32_t> steps(count);
  std::uint32_t last = 0;
  for (std::uint64_t done = 0; done < count;) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), count - done));
    const std::string error = unit(
        instruction, {nullptr, nullptr, first + static_cast<std::uint32_t>(done) * stride, stride},
        n, buffer.data());
    if (!error.empty()) return error;
    for (std::size_t i = 0; i < n; ++i) {
      steps[done + i] = static_cast<std::int32_t>(buffer[i] - last);
      last = buffer[i];
    }
    done += n;
  }
  dump.section(header(instruction, "result", count, hex(first), stride), steps);
  return "";
}

}  // namespace plumbline::testing
