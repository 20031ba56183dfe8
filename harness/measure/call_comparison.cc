// Compares two outputs row by row: which bits are equal, and the largest difference in sigmas.
#include "harness/measure/call_comparison.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <tuple>

#include "harness/compare/statistics.h"

namespace plumbline {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// One row of an output, and the values that the row outputs have for it.
struct Row {
  Row(const Geometry& geometry, const OutputView& outputs, const RowId& id)
      : dtype(geometry.problem().out()),
        out(static_cast<const std::byte*>(outputs.out) +
            static_cast<std::size_t>(geometry.out_offset(id.sample, id.row, id.head)) *
                size_in_bytes(dtype)) {
    for (const RowOutput output : all<RowOutput>()) {
      if (const void* data = outputs.*row_output_data[output]; data != nullptr)
        rows[output] =
            static_cast<const float*>(data) + geometry.lse_offset(id.sample, id.row, id.head);
    }
  }

  double value(std::int64_t column) const {
    return decode_at(dtype, out, static_cast<std::size_t>(column));
  }
  bool same_bits(const Row& other, std::int64_t column) const {
    const std::size_t size = size_in_bytes(dtype), at = static_cast<std::size_t>(column) * size;
    return std::memcmp(out + at, other.out + at, size) == 0 && !std::isnan(value(column));
  }
  bool both_have(RowOutput output, const Row& other) const {
    return rows[output] != nullptr && other.rows[output] != nullptr;
  }
  bool same_bits(RowOutput output, const Row& other) const {
    const float value = *rows[output];
    return std::bit_cast<std::uint32_t>(value) ==
               std::bit_cast<std::uint32_t>(*other.rows[output]) &&
           !std::isnan(value);
  }

  DType dtype;
  const std::byte* out;
  PerRowOutput<const float*> rows;
};

class RowComparison {
 public:
  RowComparison(const Row& a, const Row& b, std::int64_t columns) {
    double scale = 0;
    for (std::int64_t j = 0; j < columns; ++j) {
      if (a.same_bits(b, j)) continue;
      ++other_bits;
      const double difference = std::abs(a.value(j) - b.value(j));
      largest = std::isnan(difference) ? infinity : std::max(largest, difference);
    }
    elements = columns;
    for (const RowOutput output : all<RowOutput>()) {
      if (!a.both_have(output, b)) continue;
      ++elements;
      other_bits += a.same_bits(output, b) ? 0 : 1;
    }
    if (other_bits == 0) return;
    for (std::int64_t j = 0; j < columns; ++j) scale = std::max(scale, std::abs(a.value(j)));
    if (scale > 0) largest /= scale;
  }
  std::int64_t elements = 0, other_bits = 0;
  double largest = 0;
};

// Returns |a - b| in standard deviations of the difference of two correct outputs. Infinite if
// sigma is 0.
double in_sigmas(double a, double b, double sigma) {
  if (a == b) return 0;  // +0 and -0, or both -inf
  const double sigmas = std::abs(a - b) / (std::numbers::sqrt2 * sigma);
  return std::isnan(sigmas) ? infinity : sigmas;
}

}  // namespace

BitComparison compare_bits(const Geometry& base, const OutputView& a, const VariantCall& call,
                           const OutputView& b) {
  BitComparison result;
  const Problem& problem = base.problem();
  for (std::size_t sample = 0; sample < call.samples.size(); ++sample) {
    const SampleSource& source = call.samples[sample];
    if (source.sample < 0) continue;
    const std::int64_t rows = call.geometry->length_q(static_cast<std::int64_t>(sample));
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t head = 0; head < problem.heads_q; ++head) {
        const auto of = [&](std::int64_t which, std::int64_t at) {
          return RowId{static_cast<std::int32_t>(which), static_cast<std::int32_t>(head),
                       static_cast<std::int32_t>(at)};
        };
        const RowPair pair{of(source.sample, source.first_row + row),
                           of(static_cast<std::int64_t>(sample), row), 0};
        const RowComparison compared(Row(base, a, pair.of_case),
                                     Row(*call.geometry, b, pair.of_call), problem.head_dim_vo);
        result.elements += compared.elements;
        result.other_bits += compared.other_bits;
        if (compared.other_bits > 0)
          result.rows.push_back({pair.of_case, pair.of_call, compared.largest});
      }
    }
  }
  return result;
}

std::vector<RowPair> affordable(std::vector<RowPair> pairs, const Geometry& base,
                                double cost_limit) {
  const auto order = [](const RowPair& pair) {
    return std::tie(pair.of_case.sample, pair.of_case.head, pair.of_case.row);
  };
  std::ranges::sort(pairs, [&](const RowPair& x, const RowPair& y) {
    return x.largest != y.largest ? x.largest > y.largest : order(x) < order(y);
  });
  const auto dims = static_cast<double>(base.problem().head_dim_qk + base.problem().head_dim_vo);
  double cost = 0;
  std::size_t kept = 0;
  for (; kept < pairs.size(); ++kept) {
    cost +=
        dims * static_cast<double>(
                   base.visible_keys(pairs[kept].of_case.sample, pairs[kept].of_case.row).size());
    if (kept > 0 && cost > cost_limit) break;
  }
  pairs.resize(kept);
  std::ranges::sort(pairs, [&](const RowPair& x, const RowPair& y) { return order(x) < order(y); });
  return pairs;
}

LargestDifference largest_difference(const Geometry& base, const OutputView& a,
                                     const VariantCall& call, const OutputView& b,
                                     const std::vector<RowPair>& pairs, const Reference& reference,
                                     const Limits& limits) {
  LargestDifference largest;
  double nearest = -1;
  const auto consider = [&](const LargestDifference& difference, double limit) {
    const double of_limit = difference.sigmas / limit;
    if (of_limit <= nearest) return;
    nearest = of_limit;
    largest = difference;
    largest.limit = limit;
  };
  for (std::size_t r = 0; r < pairs.size(); ++r) {
    const auto& [of_case, of_call, unused] = pairs[r];
    const Row x(base, a, of_case), y(*call.geometry, b, of_call);
    for (std::int64_t j = 0; j < reference.columns; ++j) {
      if (x.same_bits(y, j)) continue;
      const auto at = r * static_cast<std::size_t>(reference.columns) + static_cast<std::size_t>(j);
      const double u = x.value(j), v = y.value(j);
      consider({"out",
                {of_case.sample, of_case.head, of_case.row, j},
                u,
                v,
                in_sigmas(u, v, double{reference.sigma[at]}),
                std::abs(u - v) / ulp(reference.o[at], x.dtype)},
               limits.peak);
    }
    for (const RowOutput output : all<RowOutput>()) {
      if (!x.both_have(output, y) || x.same_bits(output, y)) continue;
      // Both LSEs have the kernel's own base.
      const bool is_binary = output == RowOutput::lse && a.lse_base == 2;
      const double natural = is_binary ? std::numbers::ln2 : 1;
      const double u = double{*x.rows[output]}, v = double{*y.rows[output]};
      const double value = (reference.*reference_rows[output].value)[r],
                   sigma = double{(reference.*reference_rows[output].sigma)[r]};
      consider({std::string(name(output)),
                {of_case.sample, of_case.head, of_case.row, column_of(output)},
                u,
                v,
                in_sigmas(natural * u, natural * v, sigma),
                std::abs(u - v) / ulp(value / natural, DType::f32)},
               limits.*row_statistics[output].limit);
    }
  }
  return largest;
}

}  // namespace plumbline
