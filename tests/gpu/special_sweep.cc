// Compares on all cores, and writes the report.
#include "tests/gpu/special_sweep.h"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <mutex>

namespace plumbline::testing {
namespace {

constexpr std::size_t grain = 1U << 16U;  // operands per task

bool is_nan(std::uint32_t x) { return (x & 0x7fffffffU) > 0x7f800000U; }

void keep(std::optional<SpecialDifference>& first, const SpecialDifference& difference) {
  if (!first || difference.place < first->place) first = difference;
}
void count(SpecialCount& into, const SpecialDifference& difference) {
  if (into.differing++ == 0 || difference.place < into.first.place) into.first = difference;
}
void add(SpecialCount& into, const SpecialCount& other) {
  if (other.differing == 0) return;
  if (into.differing == 0 || other.first.place < into.first.place) into.first = other.first;
  into.differing += other.differing;
}
void keep_largest(SpecialComparison& into, std::int64_t distance, const SpecialDifference& at) {
  if (distance < into.largest_ulps || distance == 0) return;
  if (distance == into.largest_ulps && into.largest && into.largest->place < at.place) return;
  into.largest_ulps = distance;
  into.largest = at;
}

// Records one operand, or pair, whose bits differ.
void record(SpecialComparison& into, const SpecialModel& model, const SpecialDifference& d) {
  if (is_nan(d.unit) && is_nan(d.model)) {
    ++into.nan_payloads;
    keep(into.first_payload, d);
    return;
  }
  ++into.differing;
  if (into.first.size() < SpecialComparison::examples) into.first.push_back(d);
  const std::uint32_t x = model.of_two != nullptr ? d.b : d.a;
  count(into.by_exponent[x >> 23U], d);
  count(into.by_slice[static_cast<std::size_t>(model.slice_of(x))], d);
  const std::optional<std::int64_t> distance = ulps(d.model, d.unit);
  if (!distance) {
    ++into.one_nan;
    return;
  }
  constexpr std::int64_t far = SpecialComparison::far;
  ++into.by_ulps[static_cast<std::size_t>(std::clamp(*distance, -far, far) + far)];
  keep_largest(into, std::abs(*distance), d);
}

void merge(SpecialComparison& into, const SpecialComparison& part) {
  into.differing += part.differing;
  into.nan_payloads += part.nan_payloads;
  into.one_nan += part.one_nan;
  std::vector<SpecialDifference> both;
  std::ranges::merge(into.first, part.first, std::back_inserter(both), {},
                     &SpecialDifference::place, &SpecialDifference::place);
  both.resize(std::min(both.size(), SpecialComparison::examples));
  into.first = std::move(both);
  if (part.first_payload) keep(into.first_payload, *part.first_payload);
  if (part.largest) keep_largest(into, part.largest_ulps, *part.largest);
  for (std::size_t i = 0; i < part.by_ulps.size(); ++i) into.by_ulps[i] += part.by_ulps[i];
  for (std::size_t i = 0; i < part.by_exponent.size(); ++i)
    add(into.by_exponent[i], part.by_exponent[i]);
  for (std::size_t i = 0; i < part.by_slice.size(); ++i) add(into.by_slice[i], part.by_slice[i]);
}

SpecialComparison empty_comparison(const SpecialModel& model) {
  SpecialComparison comparison;
  comparison.by_slice.resize(static_cast<std::size_t>(model.slices));
  return comparison;
}

// Compares the results of operands or pairs; difference(i, result) returns both results for operand
// i.
template <class Difference>
void compare(SpecialComparison& into, const SpecialModel& model, std::span<const std::uint32_t> of,
             const Difference& difference) {
  std::mutex mutex;
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, of.size(), grain), [&](const auto& range) {
    std::optional<SpecialComparison> part;
    for (std::size_t i = range.begin(); i < range.end(); ++i) {
      const SpecialDifference d = difference(i, of[i]);
      if (d.unit == d.model) continue;
      if (!part) part = empty_comparison(model);
      record(*part, model, d);
    }
    if (!part) return;
    const std::lock_guard lock(mutex);
    merge(into, *part);
  });
  into.operands += of.size();
}

std::uint64_t mixed(std::uint64_t x) {  // SplitMix64
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ x >> 30U) * 0xbf58476d1ce4e5b9U;
  x = (x ^ x >> 27U) * 0x94d049bb133111ebU;
  return x ^ x >> 31U;
}
// Returns the first or the second word of a pair.
std::uint32_t random_word(std::uint64_t pair, bool second) {
  const std::uint64_t random = mixed(2 * pair + (second ? 1 : 0));
  const auto word = static_cast<std::uint32_t>(random);
  if (pair % 2 == 0) return word;
  const auto exponent = static_cast<std::uint32_t>(119 + (random >> 32U) % 16);  // biased
  return (word & 0x807fffffU) | exponent << 23U;
}

std::string described(const SpecialModel& model, const SpecialDifference& d) {
  const auto number = [](std::uint32_t x) {
    return fmt::format("{:08x} ({:.9g})", x, std::bit_cast<float>(x));
  };
  const std::optional<std::int64_t> distance = ulps(d.model, d.unit);
  return fmt::format("{}{}: GPU {}, model {}{}", number(d.a),
                     model.of_two != nullptr ? " / " + number(d.b) : "", number(d.unit),
                     number(d.model), distance ? fmt::format(", {:+} ulp", *distance) : "");
}

void report_exponents(std::string& text, const SpecialModel& model,
                      const SpecialComparison& comparison) {
  text += fmt::format("  by sign and exponent of the {}, and the first of each:\n",
                      model.of_two != nullptr ? "divisor" : "operand");
  for (std::size_t i = 0; i < comparison.by_exponent.size(); ++i) {
    const SpecialCount& count = comparison.by_exponent[i];
    if (count.differing == 0) continue;
    const std::size_t exponent = i % 256;
    const std::string power = exponent == 0 ? "0 and denormal"
                              : exponent == 255
                                  ? "infinity and NaN"
                                  : fmt::format("2^{}", static_cast<int>(exponent) - 127);
    text += fmt::format("    {}{}: {}; {}\n", i < 256 ? '+' : '-', power, count.differing,
                        described(model, count.first));
  }
}
void report_slices(std::string& text, const SpecialComparison& comparison) {
  constexpr std::size_t columns = 8;
  text += "  by slice of the model's table:\n";
  for (std::size_t i = 0; i < comparison.by_slice.size(); i += columns) {
    text += fmt::format("    {:3}:", i);
    for (std::size_t k = i; k < std::min(i + columns, comparison.by_slice.size()); ++k)
      text += fmt::format(" {:9}", comparison.by_slice[k].differing);
    text += '\n';
  }
}
void report_ulps(std::string& text, const SpecialComparison& comparison) {
  constexpr int far = SpecialComparison::far;
  text += "  GPU - model in ulp:";
  for (int i = -far; i <= far; ++i) {
    const std::uint64_t n = comparison.by_ulps[static_cast<std::size_t>(i + far)];
    if (n == 0) continue;
    if (i == 0) {
      text += fmt::format(" zeros of the other sign {},", n);
    } else {
      text += fmt::format(" {:+}{} {},", i, std::abs(i) == far ? " and beyond" : "", n);
    }
  }
  text += fmt::format(" one a NaN {}\n", comparison.one_nan);
}

}  // namespace

std::optional<std::int64_t> ulps(std::uint32_t from, std::uint32_t to) {
  if (is_nan(from) || is_nan(to)) return std::nullopt;
  const auto ordered = [](std::uint32_t x) {
    const std::int64_t magnitude = x & 0x7fffffffU;
    return x >> 31U != 0 ? -magnitude : magnitude;
  };
  return ordered(to) - ordered(from);
}

SpecialComparison compare_operands(const SpecialUnit& unit, const SpecialModel& model,
                                   std::uint32_t first, std::uint32_t stride, std::uint64_t count,
                                   std::span<std::uint32_t> buffer) {
  SpecialComparison comparison = empty_comparison(model);
  for (std::uint64_t done = 0; done < count;) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), count - done));
    const std::uint32_t begin = first + static_cast<std::uint32_t>(done) * stride;
    comparison.error = unit(model.instruction, {nullptr, nullptr, begin, stride}, n, buffer.data());
    if (!comparison.error.empty()) return comparison;
    compare(comparison, model, buffer.first(n), [&](std::size_t i, std::uint32_t result) {
      const std::uint32_t x = begin + static_cast<std::uint32_t>(i) * stride;
      return SpecialDifference{done + i, x, 0, result, model.of_one(x)};
    });
    done += n;
  }
  return comparison;
}

SpecialComparison compare_pairs(const SpecialUnit& unit, const SpecialModel& model,
                                std::uint64_t count, std::span<std::uint32_t> buffer) {
  SpecialComparison comparison = empty_comparison(model);
  const std::size_t most = std::min<std::size_t>(buffer.size(), std::size_t{1} << 22U);
  std::vector<std::uint32_t> a(most), b(most);
  for (std::uint64_t done = 0; done < count;) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(most, count - done));
    tbb::parallel_for(std::size_t{0}, n, [&](std::size_t i) {
      a[i] = random_word(done + i, false);
      b[i] = random_word(done + i, true);
    });
    comparison.error = unit(model.instruction, {a.data(), b.data(), 0, 0}, n, buffer.data());
    if (!comparison.error.empty()) return comparison;
    compare(comparison, model, buffer.first(n), [&](std::size_t i, std::uint32_t result) {
      return SpecialDifference{done + i, a[i], b[i], result, model.of_two(a[i], b[i])};
    });
    done += n;
  }
  return comparison;
}

std::string report(const SpecialModel& model, const SpecialComparison& comparison) {
  std::string text = fmt::format("{}: {} operands, {} differ in bits, {} in the bits of a NaN\n",
                                 ptx_name(model.instruction), comparison.operands,
                                 comparison.differing, comparison.nan_payloads);
  if (!comparison.error.empty()) text += fmt::format("  ended early: {}\n", comparison.error);
  if (comparison.first_payload)
    text +=
        fmt::format("  first NaN of other bits: {}\n", described(model, *comparison.first_payload));
  if (comparison.differing == 0) return text;
  report_ulps(text, comparison);
  if (comparison.largest)
    text += fmt::format("  largest difference: {}\n", described(model, *comparison.largest));
  text += fmt::format("  the first {}:\n", comparison.first.size());
  for (const SpecialDifference& d : comparison.first)
    text += fmt::format("    {}\n", described(model, d));
  report_exponents(text, model, comparison);
  report_slices(text, comparison);
  return text;
}

LargestError largest_error(const SpecialUnit& unit, Special instruction, std::uint32_t first,
                           std::uint32_t stride, std::uint64_t count,
                           std::span<std::uint32_t> buffer,
                           const std::function<double(float, float)>& what) {
  LargestError all;
  for (std::uint64_t done = 0; done < count;) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), count - done));
    const std::uint32_t begin = first + static_cast<std::uint32_t>(done) * stride;
    all.error = unit(instruction, {nullptr, nullptr, begin, stride}, n, buffer.data());
    if (!all.error.empty()) return all;
    std::mutex mutex;
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, n, grain), [&](const auto& range) {
      LargestError part{"", -1, 0, 0};
      for (std::size_t i = range.begin(); i < range.end(); ++i) {
        const std::uint32_t x = begin + static_cast<std::uint32_t>(i) * stride;
        const double error = what(std::bit_cast<float>(x), std::bit_cast<float>(buffer[i]));
        // NaN is the largest possible error.
        if (!(error <= part.largest) && !std::isnan(part.largest)) part = {"", error, x, buffer[i]};
      }
      const std::lock_guard lock(mutex);
      if (!(part.largest <= all.largest) && !std::isnan(all.largest)) all = part;
    });
    done += n;
  }
  return all;
}

OddFacts odd_facts(const SpecialUnit& unit, Special instruction, std::uint32_t first,
                   std::uint64_t count, std::span<std::uint32_t> buffer) {
  constexpr std::uint32_t sign = 1U << 31U, one = 0x3f800000U;
  OddFacts facts;
  const std::size_t half = buffer.size() / 2;
  std::uint32_t before = 0;
  for (std::uint64_t done = 0; done < count;) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(half, count - done));
    const std::uint32_t begin = first + static_cast<std::uint32_t>(done);
    const auto positive = buffer.first(n), negative = buffer.subspan(half, n);
    facts.error = unit(instruction, {nullptr, nullptr, begin, 1}, n, positive.data());
    if (facts.error.empty())
      facts.error = unit(instruction, {nullptr, nullptr, begin | sign, 1}, n, negative.data());
    if (!facts.error.empty()) return facts;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t x = begin + static_cast<std::uint32_t>(i), result = positive[i];
      if (negative[i] != (result ^ sign)) {
        ++facts.not_odd;
        if (!facts.first_not_odd) facts.first_not_odd = x;
      }
      if (result < before) ++facts.decreasing;  // bits of positive numbers are in order
      before = result;
      if (result != x && !facts.first_not_itself) facts.first_not_itself = x;
      if (result != one) facts.ones_from.reset();
      if (result == one && !facts.ones_from) facts.ones_from = x;
    }
    done += n;
    facts.operands = done;
  }
  return facts;
}

std::string report(Special instruction, const OddFacts& facts) {
  const auto place = [](const std::optional<std::uint32_t>& x) {
    return x ? fmt::format("{:08x} ({:.9g})", *x, std::bit_cast<float>(*x)) : "none";
  };
  return fmt::format(
      "{}: {} positive operands; not odd at {}, the first {}; below the result before at {}\n"
      "  the first result that is not its operand: {}; all are 1 from: {}{}\n",
      ptx_name(instruction), facts.operands, facts.not_odd, place(facts.first_not_odd),
      facts.decreasing, place(facts.first_not_itself), place(facts.ones_from),
      facts.error.empty() ? "" : "; ended early: " + facts.error);
}

}  // namespace plumbline::testing
