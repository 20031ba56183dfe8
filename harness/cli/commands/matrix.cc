// plumbline matrix: compares the cases of a run over all architectures.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/report/arch_matrix.h"
#include "harness/store/stored.h"

namespace plumbline::cli {
namespace {

struct MatrixOptions {
  DatabaseOption database;
  std::vector<std::string> runs{"latest"};
  std::vector<std::string> expect_equal;  // "emulated:sm_90=cuda:0"
  std::string format = "text";
};

struct LoadedRuns {
  std::vector<StoredOutcome> outcomes;  // in the order of the runs
  std::string reproduce;                // of the first run
};

LoadedRuns load(Store& store, const std::vector<std::string>& runs) {
  LoadedRuns loaded;
  for (const std::string& text : runs) {
    auto run_id = need(store.resolve_run(text), exit_usage);
    const auto run = need(store.run(run_id), exit_usage);
    auto outcomes = need(store.outcomes(run_id), exit_usage);
    if (loaded.reproduce.empty()) loaded.reproduce = reproduce_command(run.info);
    std::move(outcomes.begin(), outcomes.end(), std::back_inserter(loaded.outcomes));
  }
  return loaded;
}

std::string devices(const ArchMatrix& matrix) {
  std::vector<std::string> names;
  for (const auto& column : matrix.columns) names.push_back(column.device);
  return fmt::format("{}", fmt::join(names, ", "));
}

// Checks one expectation. Returns exit_fine, or reports what is wrong and returns another exit
// code.
int check_equal(const std::string& expectation, const LoadedRuns& loaded,
                const ArchMatrix& matrix) {
  const std::size_t equals = expectation.find('=');
  const std::string a = expectation.substr(0, equals),
                    b = equals == std::string::npos ? "" : expectation.substr(equals + 1);
  if (a.empty() || b.empty() || a == b) {
    return report_errors(
        {{"", 0, fmt::format("--expect-equal \"{}\" does not name two devices", expectation),
          "write A=B, as in --expect-equal emulated:sm_90=cuda:0"}},
        exit_usage);
  }
  const ArchMatrix::Bits bits = compare_bits(loaded.outcomes, a, b);
  if (bits.common == 0) {
    return report_errors(
        {{"", 0, fmt::format("no case ran on both {} and {}: nothing was compared", a, b),
          "run the same cases on both, or name two of these devices: " + devices(matrix)}},
        exit_nothing);
  }
  if (bits.equal == bits.common) return exit_fine;
  fmt::print(stderr, "{}", first_difference(bits, loaded.reproduce));
  return exit_failure;
}

struct MatrixReport {
  const ArchMatrix& matrix;
  const std::string& reproduce;
};
constexpr std::array matrix_formats{
    Format<MatrixReport>{"text",
                         [](const MatrixReport& report, const Style& style) {
                           return render_matrix(report.matrix, report.reproduce, style);
                         }},
    Format<MatrixReport>{"markdown",
                         [](const MatrixReport& report, const Style&) {
                           return render_matrix_markdown(report.matrix, report.reproduce);
                         }},
    Format<MatrixReport>{"json", nullptr, [](const MatrixReport& report) {
                           return json_of_matrix(report.matrix, report.reproduce);
                         }}};

int show_matrix(const MatrixOptions& options) {
  auto store = need(options.database.open(true));
  const auto loaded = load(*store, options.runs);
  const ArchMatrix matrix = arch_matrix(loaded.outcomes);
  if (matrix.columns.empty()) {
    end_command(exit_nothing,
                fmt::format("no case of run {} ran on a GPU or an emulated one",
                            fmt::join(options.runs, ", ")),
                "run a suite with arch = [\"sm_80\", \"sm_90\"], or --device emulated:sm_90");
  }
  write_as(matrix_formats, options.format, MatrixReport{matrix, loaded.reproduce});
  int code = exit_fine;
  for (const std::string& expectation : options.expect_equal) {
    const int of_this = check_equal(expectation, loaded, matrix);
    if (code == exit_fine) code = of_this;
  }
  return code;
}

}  // namespace

void add_matrix(Command app, int& exit_code) {
  auto [command, options] =
      add_verb(app, exit_code, show_matrix, "matrix",
               "Compare the cases of a run over architectures: percent of the limits, and bits");
  command
      .add_option("run", options.runs,
                  "Run ids, unique prefixes, latest or latest~N; all their cases are compared")
      .capture_default_str();
  options.database.add_to(command);
  command.add_option(
      "--expect-equal", options.expect_equal, "A=B",
      "Two devices, A=B: exit 1 if the bits of a case differ between them; repeat for more");
  add_format(command, options.format, matrix_formats);
  command.footer(
      "Examples:\n"
      "  plumbline run cases/pr.toml --device emulated:sm_80 --device emulated:sm_90 --db runs.db; "
      "plumbline matrix --db runs.db\n"
      "  plumbline matrix latest --format markdown\n"
      "  plumbline matrix --expect-equal emulated:sm_90=cuda:0\n"
      "Exit codes: 0 fine, 1 an expectation does not hold, 2 usage, 3 infrastructure, 4 nothing to "
      "compare.");
}

}  // namespace plumbline::cli
