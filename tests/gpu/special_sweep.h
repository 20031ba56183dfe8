// Compares a special function unit with its model over many operands, reports the differences so
// that the model can be corrected, and writes results to files. The unit is a function, so that
// tests need no GPU.
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

// Like GpuSpecialUnit::run: fills results; returns "" on success.
using SpecialUnit = std::function<std::string(Special, const SpecialOperands&, std::size_t count,
                                              std::uint32_t* results)>;

std::string_view ptx_name(Special);

// The function of emulator/ptx that computes an instruction in translated kernels. Its table has
// `slices` slices; slice_of returns the slice for an operand (for divisions: the divisor).
struct SpecialModel {
  Special instruction;
  std::uint32_t (*of_one)(std::uint32_t) = nullptr;
  std::uint32_t (*of_two)(std::uint32_t, std::uint32_t) = nullptr;
  int slices = 0;
  int (*slice_of)(std::uint32_t) = nullptr;
};
std::span<const SpecialModel> special_models();
const SpecialModel& special_model(Special);  // an instruction with one fp32 operand

struct SpecialDifference {
  std::uint64_t place;  // in the order of the operands
  std::uint32_t a, b;   // b: only for divisions
  std::uint32_t unit, model;
};

// Returns the steps from one fp32 number to another. Infinities are next to the largest numbers;
// the two zeros are 0 steps apart. nullopt if one is a NaN.
std::optional<std::int64_t> ulps(std::uint32_t from, std::uint32_t to);

struct SpecialCount {
  std::uint64_t differing = 0;
  SpecialDifference first{};  // if differing > 0
};

struct SpecialComparison {
  static constexpr std::size_t examples = 20;
  static constexpr int far = 5;  // this many ulp and more are counted together

  std::string error;  // the unit's error; the other fields then cover earlier operands
  std::uint64_t operands = 0;
  std::uint64_t differing = 0;     // other bits, unless both are NaN
  std::uint64_t nan_payloads = 0;  // both are NaN, with other bits
  std::uint64_t one_nan = 0;       // part of differing: one of the two is a NaN
  std::vector<SpecialDifference> first;
  std::optional<SpecialDifference> first_payload;
  std::int64_t largest_ulps = 0;  // absolute value
  std::optional<SpecialDifference> largest;
  std::array<std::uint64_t, 2 * far + 1> by_ulps{};  // unit - model: <= -far to >= far
  std::array<SpecialCount, 512> by_exponent;         // sign and exponent of a; for divisions of b
  std::vector<SpecialCount> by_slice;
};

// Compares operands first, first + stride, … modulo 2^32, in portions that fit the buffer.
SpecialComparison compare_operands(const SpecialUnit&, const SpecialModel&, std::uint32_t first,
                                   std::uint32_t stride, std::uint64_t count,
                                   std::span<std::uint32_t> buffer);
// For divisions: compares pairs of random words; in every other pair the numbers are between 2^-8
// and 2^8.
SpecialComparison compare_pairs(const SpecialUnit&, const SpecialModel&, std::uint64_t count,
                                std::span<std::uint32_t> buffer);
std::string report(const SpecialModel&, const SpecialComparison&);

// The largest error over operands in order, with its operand and result. `what` compares the result
// of an operand with an exact function and returns the error.
struct LargestError {
  std::string error;  // error of the unit
  double largest = 0;
  std::uint32_t operand = 0, result = 0;
};
LargestError largest_error(const SpecialUnit&, Special, std::uint32_t first, std::uint32_t stride,
                           std::uint64_t count, std::span<std::uint32_t> buffer,
                           const std::function<double(float, float)>& what);

// Properties of an odd function that grows to 1, over the positive operands first, first + 1, …
struct OddFacts {
  std::string error;  // error of the unit
  std::uint64_t operands = 0;
  std::uint64_t not_odd = 0;  // f(-x) and -f(x) have other bits
  std::optional<std::uint32_t> first_not_odd;
  std::uint64_t decreasing = 0;                   // f(x) is below f of the previous operand
  std::optional<std::uint32_t> first_not_itself;  // f(x) has other bits than x
  std::optional<std::uint32_t> ones_from;         // f(x) = 1 from here on
};
OddFacts odd_facts(const SpecialUnit&, Special, std::uint32_t first, std::uint64_t count,
                   std::span<std::uint32_t> buffer);
std::string report(Special, const OddFacts&);

// A gzip file of sections. A section is a line of text, "plumbline-special 1 PTX KIND COUNT FIRST
// STRIDE", and COUNT values of 32 bits. FIRST (hex) and STRIDE give the operands: the words FIRST +
// i * STRIDE. FIRST "fractions": the numbers i * 2^-23, and in the second half of COUNT their
// negatives. KIND "difference": unit - model in ulp, limited to +-2^30; 0 between the two zeros,
// -2^31 if one of the two is a NaN. KIND "result": the unit's result minus that of the previous
// operand, modulo 2^32; the first is stored unchanged.
//
// A value v is stored as (v << 1) ^ (v >> 31), so that small values have small words. The words are
// stored as four planes: the lowest bytes of all words, then the next. evidence/gpu.md reads it in
// Python.
class SpecialDump {
 public:
  explicit SpecialDump(std::filesystem::path file);  // uses a temporary name until finish()
  ~SpecialDump();
  SpecialDump(const SpecialDump&) = delete;
  SpecialDump& operator=(const SpecialDump&) = delete;
  void section(std::string_view header, std::span<const std::int32_t> values);
  std::string finish();  // "" on success: the file is complete

 private:
  std::filesystem::path file_;
  void* gzip_ = nullptr;
  bool failed_ = false;
};

// Writes the differences of ex2, rcp, rsqrt or lg2 over the range of its table: rcp [1, 2), rsqrt
// [1, 4), lg2 [0.5, 2), ex2 the fractions of both signs. Writes nothing if there are none. Returns
// "" on success.
std::string dump_differences(const SpecialUnit&, const SpecialModel&,
                             std::span<std::uint32_t> buffer, const std::filesystem::path& file);
// Writes the results of operands in order.
std::string dump_results(const SpecialUnit&, Special, std::uint32_t first, std::uint32_t stride,
                         std::uint64_t count, std::span<std::uint32_t> buffer, SpecialDump&);

}  // namespace plumbline::testing
