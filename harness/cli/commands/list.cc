// plumbline list: prints what a run would do, without running a kernel.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "harness/cli/command_end.h"
#include "harness/cli/commands/commands.h"
#include "harness/cli/envelope.h"
#include "harness/cli/formats.h"
#include "harness/cli/session.h"
#include "harness/report/json_value.h"
#include "harness/run/shards.h"

namespace plumbline::cli {
namespace {

struct ListOptions {
  ProviderOptions providers;
  CaseOptions cases;
  bool kernels = false, suites = false, count = false, expected = false;
  std::string format = "text";
};

std::map<std::string, int> cases_by_group(const Plan& plan) {
  std::map<std::string, int> groups;
  for (const auto& c : plan.cases) ++groups[c.suite + "/" + c.group];
  for (const auto& d : plan.diffs) groups[d.suite + "/" + d.name] += 1;
  return groups;
}

std::string counts_as_json(const Plan& plan) {
  const auto groups = json_list(cases_by_group(plan), [](const auto& group) -> Json {
    return {{"group", group.first}, {"cases", group.second}};
  });
  return json_text({{"groups", groups}, {"total", plan.size()}});
}

std::string counts(const Plan& plan) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [group, n] : cases_by_group(plan)) rows.push_back({group, std::to_string(n)});
  rows.push_back({"total", std::to_string(plan.size())});
  return render_table({"suite/group", "cases"}, rows, output_style());
}

std::string as_json(const Plan& plan) {
  const auto case_json = [](const PlannedCase& c) -> Json {
    return {JSON_FIELDS(c, suite, group, tier),
            {"case", c.case_id},
            JSON_FIELDS(c, c.kernel, c.device, tensor_cores, timed, reason)};
  };
  const auto diff_json = [](const PlannedDiff& d) -> Json {
    return {JSON_FIELDS(d, suite, name, tier),
            {"a", d.a.case_id},
            {"b", d.b.case_id},
            JSON_FIELDS(d, reason)};
  };
  return json_text({JSON_FIELDS_BY(list_of(case_json), plan, cases),
                    JSON_FIELDS_BY(list_of(diff_json), plan, diffs),
                    {"not_measured", absent_lines(plan.absent)}});
}

std::string as_text(const Plan& plan) {
  std::string text;
  for (const auto& c : plan.cases) {
    const std::string tensor_cores =
        c.tensor_cores == "none" ? "" : fmt::format("  (tensor cores {})", c.tensor_cores);
    text += fmt::format("{}/{}/{}{}{}\n", c.suite, c.group, c.case_id, tensor_cores,
                        c.timed ? "  (timed)" : "");
  }
  for (const auto& d : plan.diffs)
    text += fmt::format("{}/{}  diff {}  and  {}\n", d.suite, d.name, d.a.case_id, d.b.case_id);
  return text;
}

// Returns the cases that their suites expect to fail. The sides of diffs come last.
std::vector<const PlannedCase*> expected_failures(const Plan& plan) {
  std::vector<const PlannedCase*> found;
  std::set<std::pair<std::string, std::string>> seen;
  const auto add = [&](const PlannedCase& c) {
    if (c.expected && seen.insert({c.suite, c.case_id}).second) found.push_back(&c);
  };
  for (const auto& c : plan.cases) add(c);
  for (const auto& d : plan.diffs) add(d.a), add(d.b);
  return found;
}

std::string expected_as_json(const std::vector<const PlannedCase*>& cases) {
  const auto rows = json_list(cases, [](const PlannedCase* c) -> Json {
    const ExpectedFailure& expected = *c->expected;
    const int days = days_left(expected, today());
    return {JSON_FIELDS(*c, suite, group),
            {"case", c->case_id},
            JSON_FIELDS(expected, issue, expires),
            {"days_left", days},
            {"expired", days <= 0},
            JSON_FIELDS(expected, reason, file, line)};
  });
  return json_text({{"expected_failures", rows}});
}

std::string expected_as_text(const std::vector<const PlannedCase*>& cases) {
  std::vector<std::vector<std::string>> rows;
  for (const auto* c : cases) {
    const int days = days_left(*c->expected, today());
    rows.push_back({fmt::format("{}/{}/{}", c->suite, c->group, c->case_id), c->expected->issue,
                    c->expected->expires, days > 0 ? std::to_string(days) : "EXPIRED",
                    c->expected->reason});
  }
  if (rows.empty()) return "no case is expected to fail\n";
  return render_table({"suite/group/case", "issue", "expires", "days left", "reason"}, rows,
                      output_style());
}

std::string kernels_as_json(const std::vector<ProviderInfo>& providers) {
  Json kernels = Json::array();
  for (const auto& [library, hello] : providers) {
    for (std::size_t i = 0; i < hello.kernels.size(); ++i) {
      kernels.push_back({{"kernel", hello.kernels[i]},
                         {"tensor_cores", hello.tensor_cores[i]},
                         JSON_FIELDS(hello, provider, version),
                         {"library", library}});
    }
  }
  return json_text({{"kernels", std::move(kernels)}});
}

void print_kernels(const std::vector<ProviderInfo>& providers) {
  for (const auto& [library, hello] : providers) {
    for (std::size_t i = 0; i < hello.kernels.size(); ++i) {
      const std::string& tensor_cores = hello.tensor_cores[i];
      fmt::print("{}{}", hello.kernels[i],
                 tensor_cores == "none" ? "" : fmt::format("  (tensor cores {})", tensor_cores));
      if (!hello.kernel_devices[i].empty())
        fmt::print("  on {}", fmt::join(hello.kernel_devices[i], ", "));
      fmt::print("{}", i + 1 < hello.kernels.size() ? "\n" : "");
    }
    fmt::print("  (provider {} {}, {})\n", hello.provider, hello.version, library);
  }
}

int list_suites(const std::string& format) {
  const auto suites = bundled_suites();
  if (format == "json") {
    print_json(json_text({{"suites", suites}}));
  } else {
    for (const std::string& suite : suites) fmt::print("{}\n", suite);
  }
  return exit_fine;
}

int list(ListOptions& options) {
  if (options.suites) return list_suites(options.format);
  MeasureOptions measure;
  options.providers.use_in(measure);
  const auto providers = need(discover(measure));
  if (options.kernels) {
    options.format == "json" ? print_json(kernels_as_json(providers)) : print_kernels(providers);
    return exit_fine;
  }
  if (options.cases.suites.empty())
    end_command(exit_usage, "name suite files, --kernels or --suites",
                "for example plumbline list cases/smoke.toml");
  const auto kernels = offered_kernels(providers);
  auto suites = need(options.cases.read(providers), exit_usage);
  auto plan = need(make_plan(suites, kernels, options.cases.filter,
                             {std::nullopt, run_environment(providers).missing_providers}),
                   exit_usage);
  const CaseFilter& filter = options.cases.filter;
  plan = part_of(plan, filter.shard, filter.shards);
  if (options.format == "json") {
    print_json(options.expected ? expected_as_json(expected_failures(plan))
               : options.count  ? counts_as_json(plan)
                                : as_json(plan));
  } else {
    fmt::print("{}", options.expected ? expected_as_text(expected_failures(plan))
                     : options.count  ? counts(plan)
                                      : as_text(plan));
  }
  if (options.format == "json") return exit_fine;
  for (const std::string& line : absent_lines(plan.absent)) fmt::print(stderr, "{}\n", line);
  return exit_fine;
}

}  // namespace

void add_list(Command app, int& exit_code) {
  auto [command, options] = add_verb(app, exit_code, list, "list",
                                     "List the cases of suites, or the kernels of providers");
  options.cases.add_to(command);
  options.cases.add_seed_to(command);
  options.providers.add_to(command);
  command.add_flag("--kernels", options.kernels, "List kernels instead");
  command.add_flag("--suites", options.suites, "Instead, list the suites that come with plumbline")
      .excludes("--kernels");
  command.add_flag("--count", options.count, "Count cases by suite and group");
  command
      .add_flag("--expected", options.expected,
                "List the cases that suites expect to fail, until when and why")
      .excludes("--count");
  add_format(command, options.format, {"text", "json"});
  command.footer(
      "Examples:\n  plumbline list cases/smoke.toml\n  plumbline list cases/nightly.toml --count\n"
      "  plumbline list cases/nightly.toml --expected\n  plumbline list cases/pr.toml --device "
      "emulated:sm_90\n"
      "  plumbline list --kernels");
}

}  // namespace plumbline::cli
