// Matches suites with the available kernels, filters the cases, and reports patterns without a
// match.
#include "harness/suite/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "harness/base/text.h"
#include "harness/suite/gpu_case.h"

namespace plumbline {
namespace {

// On the CPU, "*/flash" does not match the GPU providers, which would refuse that device. They
// match only by name.
bool is_out_of_place(const std::string& kernel, const std::string& pattern,
                     const std::string& device) {
  return device == "cpu" && is_gpu_kernel(kernel) &&
         !pattern.starts_with(kernel.substr(0, kernel.find('/') + 1));
}

std::vector<OfferedKernel> matching(const std::vector<OfferedKernel>& kernels,
                                    const std::string& pattern, const std::string& device) {
  std::vector<OfferedKernel> found;
  std::ranges::copy_if(kernels, std::back_inserter(found), [&](const auto& k) {
    return glob_match(pattern, k.name) && !is_out_of_place(k.name, pattern, device);
  });
  return found;
}

std::string names(const std::vector<OfferedKernel>& kernels, bool with_tensor_cores = false) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, kernels.size()); ++i) {
    const OfferedKernel& kernel = kernels[i];
    text += (text.empty() ? "" : ", ") + kernel.name +
            (with_tensor_cores ? fmt::format(" ({})", kernel.tensor_cores) : "");
  }
  return kernels.size() <= most ? text
                                : fmt::format("{} and {} more (`plumbline list --kernels`)", text,
                                              kernels.size() - most);
}

// Returns "did you mean cpu/flash? " for the pattern's letters without wildcards, or "" if none is
// near.
std::string meant_kernel(std::string_view pattern, const std::vector<OfferedKernel>& kernels) {
  std::string letters(pattern);
  std::erase_if(letters, [](char c) { return c == '*' || c == '?'; });
  return did_you_mean(letters, texts_of(kernels, &OfferedKernel::name));
}

// Chooses kernels by pattern, device and tensor-core mode. A pattern without a kernel is one error
// per group, unless the filter's globs drop the case for every kernel that the pattern matches.
class KernelChoice {
 public:
  explicit KernelChoice(const std::vector<OfferedKernel>& kernels) : kernels_(kernels) {}
  Errors errors;
  bool left_out = false;  // the filter dropped a case that would be an error

  // Returns false if the filter's globs drop the case for a kernel.
  using Selects = std::function<bool(const OfferedKernel&)>;

  std::vector<OfferedKernel> of(const SuiteCase& c, const Selects& selects) {
    std::vector<OfferedKernel> found = matching(kernels_, c.kernel_pattern, c.device);
    const std::vector<OfferedKernel> all_found = found;
    const auto report = [&](const SuiteCase& of, std::string message, std::string remedy) {
      if (all_found.empty() || std::ranges::any_of(all_found, selects)) {
        add_error(of, std::move(message), std::move(remedy));
      } else {
        left_out = true;
      }
    };
    if (found.empty()) {
      report(c, fmt::format("no kernel matches \"{}\"", c.kernel_pattern),
             missing_kernel_remedy(c.kernel_pattern, kernels_));
      return found;
    }
    const std::string matched = names(found);
    std::erase_if(found,
                  [&](const OfferedKernel& kernel) { return !may_run_on(kernel, c.device); });
    if (found.empty()) {
      report(c, fmt::format("no kernel that matches \"{}\" runs on {}", c.kernel_pattern, c.device),
             fmt::format("it matches {}: correct the devices or the pattern", matched));
      return found;
    }
    // With --kernel, cases of another operation than the kernels' are left out without an error.
    const std::string_view asked = operation_of(c.problem);
    std::erase_if(found, [&](const OfferedKernel& kernel) { return kernel.question != asked; });
    if (found.empty()) {
      if (c.kernel_line == 0) return found;
      const auto remedy = fmt::format("it matches {}: correct the pattern or the merge", matched);
      report(c, fmt::format("no kernel that matches \"{}\" is one for {}", c.kernel_pattern, asked),
             remedy);
      return found;
    }
    if (c.tensor_cores.empty()) return found;
    const std::string all = names(found, true);
    std::erase_if(found, [&](const OfferedKernel& k) {
      return std::ranges::find(c.tensor_cores, k.tensor_cores) == c.tensor_cores.end();
    });
    if (found.empty()) {
      report(c,
             fmt::format("no kernel that matches \"{}\" has tensor_cores {}", c.kernel_pattern,
                         fmt::join(c.tensor_cores, " or ")),
             fmt::format("it matches {}: correct tensor_cores or the pattern", all));
    }
    return found;
  }

 private:
  void add_error(const SuiteCase& c, std::string message, std::string remedy) {
    // A pattern of --kernel is in no file.
    const std::string file = c.kernel_line > 0 ? c.file : "";
    if (!reported_.insert({file, c.kernel_line, c.kernel_pattern}).second) return;
    errors.push_back({file, c.kernel_line, std::move(message), std::move(remedy)});
  }

  const std::vector<OfferedKernel>& kernels_;
  std::set<std::tuple<std::string, int, std::string>> reported_;
};

// Expected failures of suites. A case is judged once, even if several groups and diffs have it, so
// an expectation for one of them applies to all. Entries that cover no case are errors if the
// provider of their kernels is loaded. Otherwise they cannot be checked.
class Expectations {
 public:
  explicit Expectations(const std::vector<OfferedKernel>& kernels) : kernels_(kernels) {}

  void add(const PlannedCase& c) {
    if (c.expected) of_case_.try_emplace({c.suite, c.case_id}, *c.expected);
  }

  void hand_to(Plan& plan) const {
    const auto hand = [&](PlannedCase& c) {
      if (const auto found = of_case_.find({c.suite, c.case_id}); found != of_case_.end())
        c.expected = found->second;
    };
    for (PlannedCase& c : plan.cases) hand(c);
    for (PlannedDiff& d : plan.diffs) hand(d.a), hand(d.b);
  }

  void see(const SuiteCase& c, const std::vector<OfferedKernel>& found) {
    for (const auto& rule : c.failures) {
      auto at =
          std::ranges::find_if(used_, [&](const auto& entry) { return entry.first == rule.get(); });
      if (at == used_.end()) at = used_.insert(at, {rule.get(), false});
      at->second = at->second || std::ranges::any_of(found, [&](const auto& k) {
                     return rule->covers(k.name, c.device);
                   });
    }
  }

  void add_errors(Errors& errors) const {
    for (const auto& [rule, used] : used_) {
      if (used || !is_loaded(*rule)) continue;
      errors.push_back({rule->what.file, rule->what.line,
                        fmt::format("no case has a kernel that the expected failure names: {}",
                                    fmt::join(rule->kernels, ", ")),
                        "correct its kernels, or remove the entry"});
    }
  }

 private:
  bool is_loaded(const FailureRule& rule) const {
    return std::ranges::all_of(rule.kernels, [&](const std::string& glob) {
      const std::string provider = glob.substr(0, glob.find('/') + 1);
      return std::ranges::any_of(kernels_,
                                 [&](const auto& k) { return k.name.starts_with(provider); });
    });
  }

  const std::vector<OfferedKernel>& kernels_;
  std::vector<std::pair<const FailureRule*, bool>> used_;
  std::map<std::pair<std::string, std::string>, ExpectedFailure> of_case_;  // by suite and case id
};

// Returns the names that the filter's globs are compared with.
std::vector<std::string> names_of_case(const PlannedCase& p) {
  return {p.suite + "/" + p.group + "/" + p.case_id, p.case_id};
}

// The cases of suites that this run cannot measure.
class AbsentCaseFinder {
 public:
  AbsentCaseFinder(const std::vector<OfferedKernel>& kernels, const RunEnvironment& here,
                   const CaseFilter& filter)
      : kernels_(kernels), here_(here), filter_(filter) {}
  std::vector<AbsentCases> list;

  // Returns true if the case is absent, and counts it if the filter selects it.
  bool takes(const SuiteCase& c) {
    const std::string why = reason(c);
    if (!why.empty()) count(c, c.suite, c.group, why);
    return !why.empty();
  }
  bool takes(const SuiteDiff& d) {
    const std::string why_a = reason(d.a), why = why_a.empty() ? reason(d.b) : why_a;
    if (!why.empty()) count(d.a, d.suite, d.name, why);
    return !why.empty();
  }

 private:
  // Returns why the case is absent, or "". The plan itself reports kernels that our providers lack.
  std::string reason(const SuiteCase& c) const {
    const std::string provider = c.kernel_pattern.substr(0, c.kernel_pattern.find('/'));
    if (const auto missing_providers = here_.missing_providers.find(provider);
        missing_providers != here_.missing_providers.end())
      return missing_providers->second;
    if (device_kind(c.device) != "cuda") return "";
    const auto& devices = here_.cuda_devices;
    if (devices && std::ranges::find(*devices, c.device) == devices->end())
      return fmt::format("{} is not here", c.device);
    const bool is_loaded =
        provider.find_first_of("*?") != std::string::npos || is_gpu_kernel(c.kernel_pattern) ||
        std::ranges::any_of(kernels_,
                            [&](const auto& k) { return k.name.starts_with(provider + "/"); });
    return is_loaded ? "" : fmt::format("the provider {} is not loaded", provider);
  }

  void count(const SuiteCase& c, const std::string& suite, const std::string& group,
             const std::string& why) {
    const std::string id = case_id({c.kernel_pattern, c.device, c.problem});
    const bool is_selected = selects_tier(filter_, c.tier) &&
                             selects_name(filter_, {fmt::format("{}/{}/{}", suite, group, id), id});
    if (!is_selected) return;
    auto at = std::ranges::find_if(list, [&](const AbsentCases& a) {
      return a.suite == suite && a.group == group && a.why == why;
    });
    if (at == list.end()) at = list.insert(at, {suite, group, why, 0});
    ++at->count;
  }

  const std::vector<OfferedKernel>& kernels_;
  const RunEnvironment& here_;
  const CaseFilter& filter_;
};

}  // namespace

bool may_run_on(const OfferedKernel& kernel, std::string_view device) {
  return kernel.devices.empty() ||
         std::ranges::find(kernel.devices, device_kind(device)) != kernel.devices.end();
}

std::vector<std::string> absent_lines(const std::vector<AbsentCases>& absent) {
  std::vector<std::string> lines;
  std::set<std::string> told;
  for (const AbsentCases& first : absent) {
    if (!told.insert(first.why).second) continue;
    int count = 0;
    std::string groups;
    for (const AbsentCases& entry : absent) {
      if (entry.why != first.why) continue;
      count += entry.count;
      groups += fmt::format("{}{}/{} ({})", groups.empty() ? "" : ", ", entry.suite, entry.group,
                            entry.count);
    }
    lines.push_back(fmt::format("not measured, for {}: {} case{}: {}", first.why, count,
                                count == 1 ? "" : "s", groups));
  }
  return lines;
}

std::string missing_kernel_remedy(std::string_view pattern,
                                  const std::vector<OfferedKernel>& kernels) {
  const std::string provider = provider_of(pattern);
  std::vector<OfferedKernel> of_provider;
  std::ranges::copy_if(kernels, std::back_inserter(of_provider),
                       [&](const auto& k) { return provider_of(k.name) == provider; });
  const bool loaded = !of_provider.empty();
  if (provider == "emulated" && !loaded) {
    return "the emulator's kernels are in plumbline_emulated.so beside plumbline_cpu.so: build the "
           "target plumbline_emulated, or name the "
           "file with --provider";
  }
  if (provider == "cuda" && !loaded) {
    return "plumbline_cuda.so is loaded only if it was built (with nvcc) and a CUDA device exists "
           "(see `plumbline doctor`); without a device, run the same kernels on the emulator: "
           "--device emulated:sm_90";
  }
  const std::string meant = meant_kernel(pattern, kernels);
  if (loaded) return fmt::format("{}{} has {}", meant, provider, names(of_provider));
  // The loaded kernels may have another provider name than the suite expects.
  std::vector<OfferedKernel> own;
  std::ranges::copy_if(kernels, std::back_inserter(own), [](const auto& k) {
    const std::string name = provider_of(k.name);
    return name != "cpu" && name != "emulated" && name != "cuda";
  });
  if (!own.empty()) {
    return fmt::format(
        "{}no provider called \"{}\" is loaded; there are {}. To run those, add --kernel '{}/*'; "
        "--provider loads another",
        meant, provider, names(own), provider_of(own.back().name));
  }
  std::vector<std::string> providers;
  for (const OfferedKernel& kernel : kernels) {
    if (const std::string globs = provider_of(kernel.name) + "/*";
        std::ranges::find(providers, globs) == providers.end())
      providers.push_back(globs);
  }
  return fmt::format(
      "{}no provider called \"{}\" is loaded; there are {}. --provider loads another", meant,
      provider, fmt::join(providers, ", "));
}

PlannedCase planned(const SuiteCase& from, const OfferedKernel& kernel) {
  PlannedCase to{from.suite,
                 from.group,
                 from.reason,
                 from.tier,
                 Case{kernel.name, from.device, from.problem},
                 "",
                 from.timed,
                 kernel.tensor_cores};
  to.case_id = case_id(to.c);
  to.file = from.file;
  to.line = from.kernel_line > 0 ? from.kernel_line : from.line;
  for (const auto& rule : from.failures) {
    if (!to.expected && rule->covers(kernel.name, from.device)) to.expected = rule->what;
  }
  return to;
}

Result<Plan> make_plan(const std::vector<Suite>& suites, const std::vector<OfferedKernel>& kernels,
                       const CaseFilter& filter, const RunEnvironment& here) {
  Plan plan;
  AbsentCaseFinder absence(kernels, here, filter);
  KernelChoice choice(kernels);
  Expectations expectations(kernels);
  std::set<std::pair<std::string, std::string>> seen;  // (suite, case id)
  for (const Suite& suite : suites) {
    for (const SuiteCase& c : suite.cases) {
      if (absence.takes(c)) continue;
      const auto selects = [&](const OfferedKernel& kernel) {
        const PlannedCase p = planned(c, kernel);
        return !selects_tier(filter, p.tier) || selects_name(filter, names_of_case(p));
      };
      const std::vector<OfferedKernel> found = choice.of(c, selects);
      if (!suite.redirected) expectations.see(c, found);
      for (const OfferedKernel& kernel : found) {
        PlannedCase p = planned(c, kernel);
        expectations.add(p);
        if (!seen.insert({p.suite, p.case_id}).second || !selects_tier(filter, p.tier)) continue;
        if (!selects_name(filter, names_of_case(p))) {
          plan.partial = true;
        } else {
          plan.cases.push_back(std::move(p));
        }
      }
    }
    for (const SuiteDiff& d : suite.diffs) {
      if (absence.takes(d)) continue;
      // The filter sees a side with its own kernel and the pattern of the other side.
      const auto selects = [&](const SuiteCase& side, const SuiteCase& other) {
        return [&](const OfferedKernel& kernel) {
          return !selects_tier(filter, d.tier) ||
                 selects_name(filter,
                              {d.suite + "/" + d.name, planned(side, kernel).case_id,
                               case_id({other.kernel_pattern, other.device, other.problem})});
        };
      };
      const auto a = choice.of(d.a, selects(d.a, d.b)), b = choice.of(d.b, selects(d.b, d.a));
      if (!suite.redirected) expectations.see(d.a, a), expectations.see(d.b, b);
      if (a.empty() || b.empty()) continue;
      PlannedDiff p{d.suite,
                    d.name,
                    d.reason,
                    d.tier,
                    d.expect,
                    planned(d.a, a.front()),
                    planned(d.b, b.front())};
      expectations.add(p.a), expectations.add(p.b);
      if (!selects_tier(filter, p.tier)) continue;
      if (!selects_name(filter, {p.suite + "/" + p.name, p.a.case_id, p.b.case_id})) {
        plan.partial = true;
      } else {
        plan.diffs.push_back(std::move(p));
      }
    }
  }
  if (choice.errors.empty()) expectations.add_errors(choice.errors);
  if (!choice.errors.empty()) return tl::unexpected(choice.errors);
  plan.partial = plan.partial || choice.left_out;
  expectations.hand_to(plan);
  plan.absent = std::move(absence.list);
  return plan;
}

void use_kernels(std::vector<Suite>& suites, const std::vector<std::string>& globs) {
  for (Suite& suite : suites) {
    suite.redirected = true;
    suite.diffs.clear();
    std::vector<SuiteCase> cases;
    for (const SuiteCase& c : suite.cases) {
      for (const std::string& glob : globs) {
        cases.push_back(c);
        cases.back().kernel_pattern = glob;
        cases.back().kernel_line = 0;
        cases.back().tensor_cores.clear();
      }
    }
    suite.cases = std::move(cases);
  }
}

void use_seed(std::vector<Suite>& suites, std::uint64_t seed) {
  const auto change = [&](SuiteCase& c) {
    if (c.problem.seed == Problem{}.seed) c.problem.seed = seed;
  };
  for (Suite& suite : suites) {
    for (SuiteCase& c : suite.cases) change(c);
    for (SuiteDiff& d : suite.diffs) change(d.a), change(d.b);
  }
}

}  // namespace plumbline
