// The extension behind the Python package: check and diff over arrays, with the command's text.
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "harness/check/diff.h"
#include "harness/report/check_text.h"
#include "harness/report/diff_text.h"
#include "python/src/tensors.h"

namespace nb = nanobind;

namespace plumbline::python {
namespace {

// answer, sentence, percent of the limit, text, JSON
using Report = std::tuple<std::string, std::string, double, std::string, std::string>;

// What goes to a file or a pipe: no colour, 120 columns.
constexpr Style plain{};

template <class T>
T value_or_raise(Result<T> result) {
  if (!result) throw nb::value_error(to_string(result.error()).c_str());
  return std::move(*result);
}

Report check_arrays(const std::string& name, const nb::dict& tensors, const Attributes& stated) {
  const auto views = tensors_of(tensors);
  const nb::gil_scoped_release release;
  const Dump dump = value_or_raise(make_dump(name, views, stated));
  const CheckReport report = value_or_raise(check(dump));
  const double percent =
      report.trials.empty() ? 0 : report.trials[report.judged].percent_of_limit();
  return {std::string(plumbline::name(report.answer)), report.sentence, percent,
          render_check(report, plain), json_of_checks({report})};
}

using Side = std::pair<nb::dict, Attributes>;
Report diff_arrays(const std::array<std::string, 2>& names, const Side& a, const Side& b) {
  const auto views_a = tensors_of(a.first), views_b = tensors_of(b.first);
  const nb::gil_scoped_release release;
  const Dump dump_a = value_or_raise(make_dump(names[0], views_a, a.second)),
             dump_b = value_or_raise(make_dump(names[1], views_b, b.second));
  const DiffReport report = value_or_raise(diff(dump_a, dump_b));
  const double percent = report.limit > 0 ? 100 * report.outcome.max_sigma / report.limit : 0;
  return {std::string(plumbline::name(report.answer)), report.sentence, percent,
          render_diff(report, plain), json_of_diffs({report}, report.answer)};
}

}  // namespace
}  // namespace plumbline::python

NB_MODULE(_plumbline, module) {
  module.attr("version") = PLUMBLINE_VERSION;
  module.def("contiguous", &plumbline::python::contiguous);
  module.def("check", &plumbline::python::check_arrays);
  module.def("diff", &plumbline::python::diff_arrays);
}
