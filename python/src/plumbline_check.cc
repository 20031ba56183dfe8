// The judge as a C library: reads dumps from structs and returns JSON.
#include "python/src/plumbline_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "harness/base/floating_point_state.h"
#include "harness/check/diff.h"
#include "harness/cli/commands/judge_program.h"
#include "harness/report/check_text.h"
#include "harness/report/diff_text.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

// Styles for a pipe: twelve lines, and the whole report.
constexpr Style plain{.piped = true}, in_full{.verbose = true, .piped = true};

struct NoProblem {
  std::string text;
};
struct SpecOfOtherDtype : NoProblem {};

// Throws if the stated spec is a rounding model for some dtypes, but not for the dump's.
void require_rung_of_dtype(const Dump& dump) {
  if (dump.spec.empty()) return;
  auto found = find_rung(dump.spec, dump.problem());
  if (found) return;
  for (Error& error : found.error())
    error.file = dump.name, error.message = printable(std::move(error.message));
  for (const DType dtype : {DType::f32, DType::bf16, DType::e4m3}) {
    Problem other;
    other.dtype = dtype;
    if (find_rung(dump.spec, other)) throw SpecOfOtherDtype{{to_string(found.error())}};
  }
}

template <class T>
T value_or_throw(Result<T> result) {
  if (!result) throw NoProblem{to_string(result.error())};
  return std::move(*result);
}

char* allocated(std::string_view text) { return strndup(text.data(), text.size()); }

Dump dump_of(const plumbline_check_dump& stated) {
  std::map<std::string, TensorData> tensors;
  for (std::size_t i = 0; i < stated.count; ++i) {
    const plumbline_check_tensor& tensor = stated.tensors[i];
    tensors[tensor.name] = {tensor.dtype,
                            {tensor.shape, tensor.shape + tensor.rank},
                            static_cast<const std::byte*>(tensor.data),
                            tensor.bytes};
  }
  Dump dump = value_or_throw(
      make_dump(stated.name, tensors, Json::parse(stated.attributes).get<Attributes>()));
  require_rung_of_dtype(dump);
  return dump;
}

template <class Report>
std::string answer_json(const Report& report, double percent, const std::string& data) {
  const OutputReport brief = report_of(report, plain);
  const Json all = {{"answer", std::string(name(report.answer))},
                    {"sentence", report.sentence},
                    {"percent", fmt::format("{}", percent)},
                    {"text", render(brief, plain)},
                    {"report", json_of(brief)},
                    {"report_in_full", json_of(report_of(report, in_full))},
                    {"data", Json::parse(data)}};
  // a name may contain invalid UTF-8
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string check_json(const plumbline_check_dump& stated) {
  const CheckReport report = value_or_throw(check(dump_of(stated)));
  const double percent = report.trials.empty() ? std::numeric_limits<double>::quiet_NaN()
                                               : report.judged_trial().percent_of_limit();
  return answer_json(report, percent, json_of_checks({report}));
}

std::string diff_json(const plumbline_check_dump& a, const plumbline_check_dump& b) {
  const Dump dump_a = dump_of(a), dump_b = dump_of(b);
  const DiffReport report = value_or_throw(diff(dump_a, dump_b));
  const double percent = report.limit > 0 ? 100 * report.outcome.max_sigma / report.limit : 0;
  return answer_json(report, percent, json_of_diffs({report}, report.answer));
}

std::string printed(const char* report, int32_t width, int32_t taken, bool verbose) {
  Style style{.verbose = verbose, .piped = width <= 0};
  if (width > 0) style.width = width;
  return render(value_or_throw(report_from_json(report)), style,
                static_cast<std::size_t>(std::max(taken, 0)));
}

template <class Question>
plumbline_check_status answered(char** answer, const Question& question) {
  *answer = nullptr;
  const UsualFloatingPoint state;
  try {
    *answer = allocated(question());
    return *answer == nullptr ? PLUMBLINE_CHECK_INTERNAL : PLUMBLINE_CHECK_OK;
  } catch (const SpecOfOtherDtype& other) {
    *answer = allocated(other.text);
    return PLUMBLINE_CHECK_SPEC_OF_OTHER_DTYPE;
  } catch (const NoProblem& none) {
    *answer = allocated(none.text);
    return PLUMBLINE_CHECK_NO_PROBLEM;
  } catch (const std::exception& error) {
    *answer = allocated(error.what());
    return PLUMBLINE_CHECK_INTERNAL;
  }
}

}  // namespace
}  // namespace plumbline

const char* plumbline_check_version() { return PLUMBLINE_VERSION; }

int32_t plumbline_check_interface() { return PLUMBLINE_CHECK_INTERFACE; }
const char* plumbline_check_row_outputs() {
  static const std::string names = [] {
    std::string text;
    for (const plumbline::NamedOutput& output : plumbline::row_outputs)
      text.append(text.empty() ? "" : ",").append(output.name);
    return text;
  }();
  return names.c_str();
}

plumbline_check_status plumbline_check(const plumbline_check_dump* dump, char** answer) {
  return plumbline::answered(answer, [&] { return plumbline::check_json(*dump); });
}

plumbline_check_status plumbline_check_diff(const plumbline_check_dump* a,
                                            const plumbline_check_dump* b, char** answer) {
  return plumbline::answered(answer, [&] { return plumbline::diff_json(*a, *b); });
}

plumbline_check_status plumbline_check_print(const char* report, int32_t width, int32_t taken,
                                             int32_t verbose, char** text) {
  return plumbline::answered(
      text, [&] { return plumbline::printed(report, width, taken, verbose != 0); });
}

void plumbline_check_free(char* answer) { std::free(answer); }

int32_t plumbline_check_command(int32_t argc, const char* const* argv) {
  const plumbline::UsualFloatingPoint state;
  const int code = plumbline::cli::run_judge(argc, argv);
  std::fflush(stdout);
  return code;
}
