// Reads a kernel's outputs row by row for the rough pass and describes the worst element.
#include "harness/compare/unreferenced_rows.h"

#include <cmath>
#include <cstddef>

#include "harness/compare/statistics.h"
#include "harness/outcome/statistics_table.h"
#include "harness/problem/problem.h"
#include "harness/reference/rough_pass.h"

namespace plumbline {
namespace {

RowReader rows_of(const Geometry& geometry, const OutputView& outputs) {
  const auto read = [&geometry, outputs](const RowId& id, std::span<double> output) {
    const DType dtype = geometry.problem().out();
    const auto offset = static_cast<std::size_t>(geometry.out_offset(id.sample, id.row, id.head)) *
                        size_in_bytes(dtype);
    decode(dtype, static_cast<const std::byte*>(outputs.out) + offset, output);
    if (outputs.lse == nullptr) return std::nan("");
    return lse_at(geometry, outputs, id);
  };
  const Limits limits;
  return {read, outputs.lse != nullptr, limits.lse / limits.peak};
}

}  // namespace

std::optional<WorstElement> check_unreferenced_rows(
    const Geometry& geometry, const InputView& inputs, const OutputView& outputs,
    const RoundingSpec& spec, const Reference& reference, ErrorStatistics& statistics) {
  if (!reference.selection.sampled) return std::nullopt;
  const RoughPass pass =
      compare_unreferenced_rows(geometry, inputs, spec, reference, rows_of(geometry, outputs));
  if (pass.rows == 0) return std::nullopt;
  statistics.has_elsewhere = true;
  statistics.elsewhere = pass.largest;
  WorstElement worst;
  worst.element = {pass.row.sample, pass.row.head, pass.row.row, pass.column};
  worst.got = pass.got, worst.expected = pass.expected;
  worst.sigma = pass.largest > 0 ? std::abs(pass.got - pass.expected) / pass.largest : 0;
  worst.ulp = pass.column < 0 ? 0 : ulp(pass.expected, geometry.problem().out());
  worst.visible_keys = geometry.visible_count(pass.row.sample, pass.row.row, pass.row.head);
  return worst;
}

}  // namespace plumbline
