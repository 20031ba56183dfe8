// Renders the tables of an audit and of a calibration, for a terminal and as Markdown.
#include "harness/report/audit_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "harness/judge/exit_code.h"
#include "harness/outcome/statistics_table.h"
#include "harness/report/format.h"
#include "harness/report/markdown_table.h"

namespace plumbline {
namespace {

using Row = std::vector<std::string>;

// A table whose first `text_columns` columns are text.
struct Table {
  std::string title;
  Row columns;
  std::vector<Row> rows;
  std::size_t text_columns;
};
using TableWriter = std::function<std::string(const Table&)>;

std::string share(int part, int whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * part / whole);
}

// Adds a mutant's cells. Mutants that differ only in dtype share a row, which lists their dtypes in
// the second column.
void add_merged(Table& table, const std::string& dtype, Row cells) {
  for (Row& row : table.rows) {
    const bool same = row[0] == cells[0] &&
                      std::equal(row.begin() + 2, row.end(), cells.begin() + 2, cells.end());
    if (same) {
      row[1] += " " + dtype;
      return;
    }
  }
  table.rows.push_back(std::move(cells));
}

Table rules_table(const AuditReport& report) {
  Table table{"Mutants caught, and legal kernels flagged, by rule", {"rule"}, {}, 1};
  for (const AuditRow& row : report.rows) {
    table.columns.push_back(row.dtype + " caught");
    table.columns.push_back("flagged");
  }
  const auto add =
      [&](std::string name,
          const std::function<std::pair<std::string, std::string>(const AuditRow&)>& cells) {
        Row line{std::move(name)};
        for (const AuditRow& row : report.rows) {
          auto [caught, flagged] = cells(row);
          line.push_back(std::move(caught));
          line.push_back(std::move(flagged));
        }
        table.rows.push_back(std::move(line));
      };
  add("plumbline", [](const AuditRow& r) {
    return std::pair{share(r.caught, r.mutants), fmt::format("{}/{}", r.legal_flagged, r.legal)};
  });
  add("plumbline without LSE", [](const AuditRow& r) {
    return std::pair{share(r.caught_without_lse, r.mutants), std::string()};
  });
  const auto rules = third_party_rules();
  for (std::size_t i = 0; i < rule_count; ++i) {
    add(std::string(rules[i].name), [i](const AuditRow& r) {
      const auto& of = r.rules[i];
      return of.applies ? std::pair{share(of.caught, r.mutants),
                                    fmt::format("{}/{}", of.legal_flagged, r.legal)}
                        : std::pair{std::string("-"), std::string("-")};
    });
  }
  return table;
}

// Cells are "3 of 4": mutants caught, among those whose bug changed an output.
Table classes_table(const AuditReport& report) {
  Table table{"Mutants caught, by class", {"provider", "class"}, {}, 2};
  for (const AuditRow& row : report.rows) table.columns.push_back(row.dtype);
  std::vector<std::pair<std::string, std::string>> classes;
  for (const MutantResult& m : report.mutants) {
    const std::pair of{m.mutant->provider, m.mutant->bug_class};
    if (std::find(classes.begin(), classes.end(), of) == classes.end()) classes.push_back(of);
  }
  for (const auto& [provider, bug_class] : classes) {
    Row line{provider, bug_class};
    for (const AuditRow& row : report.rows) {
      int counted = 0, caught = 0;
      for (const MutantResult& m : report.mutants) {
        if (m.dtype != row.dtype || m.mutant->provider != provider ||
            m.mutant->bug_class != bug_class || !m.counts())
          continue;
        ++counted;
        caught += m.caught;
      }
      line.push_back(counted == 0 ? "-" : fmt::format("{} of {}", caught, counted));
    }
    table.rows.push_back(std::move(line));
  }
  return table;
}

Table survivors_table(const AuditReport& report) {
  Table table{"Survivors", {"mutant", "dtype", "class", "what", "reviewed"}, {}, 5};
  for (const MutantResult& m : report.mutants) {
    if (!m.survives()) continue;
    add_merged(table, m.dtype,
               {m.mutant->name, m.dtype, m.mutant->bug_class, m.mutant->what,
                m.reviewed.empty() ? "no" : m.reviewed});
  }
  return table;
}

Table lse_table(const AuditReport& report) {
  Table table{"Caught by the LSE alone", {"mutant", "dtype", "class", "what"}, {}, 4};
  for (const MutantResult& m : report.mutants) {
    if (!m.counts() || !m.caught || m.caught_without_lse) continue;
    add_merged(table, m.dtype, {m.mutant->name, m.dtype, m.mutant->bug_class, m.mutant->what});
  }
  return table;
}

Table alarms_table(const AuditReport& report) {
  Table table{"False alarms", {"kernel", "dtype", "first case", "why", "alarms"}, {}, 4};
  for (const LegalResult& l : report.legal) {
    if (l.false_alarms > 0)
      table.rows.push_back(
          {l.kernel, l.dtype, l.first_case, l.why, std::to_string(l.false_alarms)});
  }
  return table;
}

Table diagnosis_table(const AuditReport& report) {
  Table table{
      "Diagnoses other than expected", {"mutant", "dtype", "expected", "location", "fault"}, {}, 5};
  for (const MutantResult& m : report.mutants) {
    if (!m.counts() || m.failures == 0 || m.diagnosed == DiagnosisResult::right ||
        m.diagnosed == DiagnosisResult::not_stated)
      continue;
    add_merged(table, m.dtype,
               {m.mutant->name, m.dtype, fmt::format("{}", fmt::join(m.mutant->diagnosis, " or ")),
                m.location, m.fault});
  }
  return table;
}

std::string headline(const AuditReport& report) {
  std::string text =
      fmt::format("{} over {} problems: {} runs, {:.0f} s\n", fmt::join(report.suites, ", "),
                  report.problems, report.trials, report.seconds);
  for (const AuditRow& row : report.rows) {
    text += fmt::format(
        "{}: {} of {} mutants caught, {} without LSE; {} pass allclose 1e-2 in a case "
        "that the judge fails, {} in all cases; "
        "{} false alarms in {} runs of {}\n",
        row.dtype, row.caught, row.mutants, row.caught_without_lse, row.slip_allclose_1e2,
        row.pass_allclose_1e2, row.false_alarms, row.legal_trials,
        plural(static_cast<std::size_t>(row.legal), "legal kernel"));
  }
  const auto& d = report.diagnoses;
  return text + fmt::format("diagnosis: {} right, {} wrong, {} none, {} without an expectation\n",
                            d[0], d[1], d[2], d[3]);
}

std::string closing(const AuditReport& report) {
  std::string text;
  const auto add = [&](std::string_view sentence, const std::vector<std::string>& list) {
    if (!list.empty()) text += fmt::format(fmt::runtime(sentence), fmt::join(list, ", ")) + "\n";
  };
  add("mutants that changed no bit on this suite, not counted: {}", report.inert);
  add("breakers, judged by `run --invariances`, not here: {}", report.breakers);
  add("mutants reviewed as survivors, but caught: {}; remove them from baselines/audit.toml",
      report.reviews_to_drop);
  add("not run: no mutant of class {} has a dtype of these cases", report.not_run);
  add("mistrusted: no mutant of class {} was caught, so a pass proves nothing", report.mistrusted);
  return text +
         fmt::format(
             "{}\n",
             report.exit_code() == exit_fine ? "audit passed"
             : report.exit_code() == exit_nothing
                 ? "nothing was measured"
                 : fmt::format(
                       "audit failed: {}, {}, {}",
                       plural(static_cast<std::size_t>(report.unreviewed_survivors()),
                              "unreviewed survivor"),
                       plural(static_cast<std::size_t>(report.false_alarms()), "false alarm"),
                       fmt::format("{} mistrusted", plural(report.mistrusted.size(), "claim"))));
}

std::string rendered(const AuditReport& report, const TableWriter& write) {
  std::string text = headline(report) + "\n" + write(rules_table(report));
  for (const Table& table : {classes_table(report), survivors_table(report), lse_table(report),
                             alarms_table(report), diagnosis_table(report)}) {
    if (!table.rows.empty()) text += write(table);
  }
  return text + closing(report);
}

TableWriter text_writer(const Style& style) {
  return [&style](const Table& table) {
    return table.title + "\n" + render_table(table.columns, table.rows, style) + "\n";
  };
}
std::string write_markdown(const Table& table) {
  return "### " + table.title + "\n\n" +
         markdown_table(table.columns, table.rows, table.text_columns);
}

std::string headroom(const Headroom& h) {
  return h.limit > 0 ? fmt::format("{:.3g}/{:.3g} {:.0f} %", h.value, h.limit, h.percent()) : "-";
}

std::string rendered(const CalibrationReport& report, const TableWriter& write) {
  Table table{
      "Largest value of each statistic against its limit", {"tier", "Q", "out", "runs"}, {}, 3};
  for (const Statistic& statistic : deciding_statistics)
    table.columns.emplace_back(statistic.heading);
  table.columns.emplace_back("suite");
  for (const CalibrationRow& row : report.rows) {
    std::vector<std::string> cells{row.tier, row.dtype, row.out, std::to_string(row.runs)};
    for (const Statistic& statistic : deciding_statistics)
      cells.push_back(headroom(row.statistics[statistic]));
    cells.push_back(headroom(row.suite));
    table.rows.push_back(std::move(cells));
  }
  std::string text =
      fmt::format("{}, seeds {} to {}: {} runs of {} legal kernels, {:.0f} s\n\n",
                  fmt::join(report.suites, ", "), report.first_seed, report.last_seed, report.runs,
                  report.kernels.size(), report.seconds);
  text += write(table);
  for (const std::string& alarm : report.alarms) text += fmt::format("false alarm: {}\n", alarm);
  return text + fmt::format(
                    "{} false alarms in {} runs, {} in {} suite statistics; {} runs not measured\n",
                    report.false_alarms, report.runs, report.suite_alarms, report.suite_sums,
                    report.not_measured);
}

}  // namespace

std::string render_audit(const AuditReport& report, const Style& style) {
  return rendered(report, text_writer(style));
}
std::string render_audit_markdown(const AuditReport& report) {
  return "## Audit\n\n" + rendered(report, write_markdown);
}
std::string render_calibration(const CalibrationReport& report, const Style& style) {
  return rendered(report, text_writer(style));
}
std::string render_calibration_markdown(const CalibrationReport& report) {
  return "## Calibration\n\n" + rendered(report, write_markdown);
}

}  // namespace plumbline
