// Compares a special function unit with its model over many operands, says where they differ so
// that the model can be mended, and writes results to files for later study. The unit is a
// function, so that tests need no GPU.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/gpu/special_functions.h"

namespace plumbline::testing {

// As GpuSpecialUnit::run: fills results; empty text: done.
using SpecialUnit = std::function<std::string(Special, const SpecialOperands&, std::size_t count,
                                              std::uint32_t* results)>;

std::string_view ptx_name(Special);

// What an instruction gives by emulator/ptx, as translated kernels call it. The model's table has
// `slices`, and slice_of says which one an operand (of a division: the divisor) takes.
struct SpecialModel {
  Special instruction;
  std::uint32_t (*of_one)(std::uint32_t) = nullptr;
  std::uint32_t (*of_two)(std::uint32_t, std::uint32_t) = nullptr;
  int slices = 0;
  int (*slice_of)(std::uint32_t) = nullptr;
};
std::span<const SpecialModel> special_models();
const SpecialModel& special_model(Special);  // of one of fp32

struct SpecialDifference {
  std::uint64_t place;  // in the order of the operands
  std::uint32_t a, b;   // b: of a division
  std::uint32_t unit, model;
};

// Steps from one fp32 number to another, infinities next to the largest numbers; 0 between the two
// zeros. Nothing where one is a NaN.
std::optional<std::int64_t> ulps(std::uint32_t from, std::uint32_t to);

struct SpecialCount {
  std::uint64_t differing = 0;
  SpecialDifference first{};  // where differing > 0
};

struct SpecialComparison {
  static constexpr std::size_t examples = 20;
  static constexpr int far = 5;  // so many ulp and more are counted together

  std::string error;  // of the unit; then the rest is of what came before
  std::uint64_t operands = 0;
  std::uint64_t differing = 0;     // in bits, unless both are NaN
  std::uint64_t nan_payloads = 0;  // both are NaN, of other bits
  std::uint64_t one_nan = 0;       // of differing: one of the two is a NaN
  std::vector<SpecialDifference> first;
  std::optional<SpecialDifference> first_payload;
  std::int64_t largest_ulps = 0;  // without its sign
  std::optional<SpecialDifference> largest;
  std::array<std::uint64_t, 2 * far + 1> by_ulps{};  // unit - model: -far or less to far or more
  std::array<SpecialCount, 512> by_exponent;         // sign and exponent of a; of a division: of b
  std::vector<SpecialCount> by_slice;
};

// Operands first, first + stride, … modulo 2^32, in portions that fit the buffer.
SpecialComparison compare_operands(const SpecialUnit&, const SpecialModel&, std::uint32_t first,
                                   std::uint32_t stride, std::uint64_t count,
                                   std::span<std::uint32_t> buffer);
// Of a division: pairs of random words, every other one of numbers between 2^-8 and 2^8.
SpecialComparison compare_pairs(const SpecialUnit&, const SpecialModel&, std::uint64_t count,
                                std::span<std::uint32_t> buffer);
std::string report(const SpecialModel&, const SpecialComparison&);

// The largest error against an exact function over operands in order, and where; `what` of an
// operand and the result is the error.
struct LargestError {
  std::string error;  // of the unit
  double largest = 0;
  std::uint32_t operand = 0, result = 0;
};
LargestError largest_error(const SpecialUnit&, Special, std::uint32_t first, std::uint32_t stride,
                           std::uint64_t count, std::span<std::uint32_t> buffer,
                           const std::function<double(float, float)>& what);

// What an odd function that grows to 1 does over the positive operands first, first + 1, …
struct OddFacts {
  std::string error;  // of the unit
  std::uint64_t operands = 0;
  std::uint64_t not_odd = 0;  // f(-x) has not the bits of -f(x)
  std::optional<std::uint32_t> first_not_odd;
  std::uint64_t decreasing = 0;                   // f(x) is below that of the operand before
  std::optional<std::uint32_t> first_not_itself;  // f(x) has other bits than x
  std::optional<std::uint32_t> ones_from;         // from there on f(x) is 1
};
OddFacts odd_facts(const SpecialUnit&, Special, std::uint32_t first, std::uint64_t count,
                   std::span<std::uint32_t> buffer);
std::string report(Special, const OddFacts&);

// A gzip file of sections. A section is a line of text, "plumbline-special 1 PTX KIND COUNT FIRST
// STRIDE", and COUNT values of 32 bits. FIRST (hex) and STRIDE say the operands: the words FIRST +
// i * STRIDE, or for FIRST "fractions" the numbers i * 2^-23, then, from half of COUNT on, their
// negatives. KIND "difference": unit - model in ulp, of the two zeros 0, limited to +-2^30; -2^31
// where one of the two is a NaN. KIND "result": the unit's result less that of the operand before
// it, modulo 2^32; the first is itself.
// A value v is stored as (v << 1) ^ (v >> 31), so that small ones have small words, and the words
// as four planes: the lowest bytes of all, then the next. docs/gpu.md reads it in Python.
class SpecialDump {
 public:
  explicit SpecialDump(std::filesystem::path file);  // written under another name until finish()
  ~SpecialDump();
  SpecialDump(const SpecialDump&) = delete;
  SpecialDump& operator=(const SpecialDump&) = delete;
  void section(std::string_view header, std::span<const std::int32_t> values);
  std::string finish();  // empty text: the file is there, whole

 private:
  std::filesystem::path file_;
  void* gzip_ = nullptr;
  bool failed_ = false;
};

// The differences of one of the four functions that have a table, over what its table is for: rcp
// [1, 2), rsqrt [1, 4), lg2 [0.5, 2), ex2 the fractions of both signs. Nothing is written where
// none differs. Empty text: done.
std::string dump_differences(const SpecialUnit&, const SpecialModel&,
                             std::span<std::uint32_t> buffer, const std::filesystem::path& file);
// The results of operands in order.
std::string dump_results(const SpecialUnit&, Special, std::uint32_t first, std::uint32_t stride,
                         std::uint64_t count, std::span<std::uint32_t> buffer, SpecialDump&);

}  // namespace plumbline::testing
