// Groups refusals by kernel and reason, and finds the fields that separate them from what ran.
#include "harness/contract/suggest_support.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>

#include "harness/problem/field_text.h"
#include "harness/problem/problem_fields.h"

namespace plumbline {
namespace {

constexpr std::string_view device_key = "device", square_key = "square", group_key = "group";
// Fields for which kernels seldom refuse a problem. Kernels do not see the fields from `fill` on.
constexpr std::array<std::string_view, 13> seldom{"scale",   "lengths",  "seq_q", "seq_kv", "batch",
                                                  "heads_q", "heads_kv", "fill",  "law",    "v_law",
                                                  "k_scale", "v_scale",  "seed"};

// Returns all fields, likelier reasons first. `window` stands for its two members. `inputs` is left
// out, because other fields describe recorded inputs.
std::vector<std::string> all_fields() {
  std::vector<std::string> fields{std::string(device_key)};
  for_each_field([&](const auto& field) {
    const bool is_seldom = std::find(seldom.begin(), seldom.end(), field.key) != seldom.end();
    if (field.written && field.key != "inputs" && !is_seldom) fields.emplace_back(field.key);
  });
  fields.emplace_back(square_key);
  fields.emplace_back(group_key);
  fields.insert(fields.end(), seldom.begin(), seldom.end());
  return fields;
}

std::string value_of(const TriedProblem& asked, const std::string& key) {
  const Problem& p = asked.problem;
  if (key == device_key)
    return asked.place.device.starts_with("cuda:") ? "cuda:*" : asked.place.device;
  if (key == square_key) return p.seq_q == p.seq_kv ? "true" : "false";
  if (key == group_key) return std::to_string(p.group());
  Problem resolved = p;
  resolved.kv_dtype = p.kv();
  resolved.out_dtype = p.out();
  return field_text(resolved, key);
}

// Returns a reason without its numbers, so that "head_dim 80 is not a multiple of 16" and "head_dim
// 24 …" are equal.
std::string kind_of(const std::string& reason) {
  std::string kind;
  for (const char c : reason) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0)
      kind += c;
    else if (kind.empty() || kind.back() != '#')
      kind += '#';
  }
  return kind;
}

using Values = std::vector<std::string>;
// A problem with its value for each field.
struct Example {
  const TriedProblem* asked;
  Values values;
};
// The values that refusals have for each field; empty if the field does not matter.
using Conditions = std::vector<Values>;

bool holds(const Conditions& conditions, const Example& example) {
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const Values& any = conditions[i];
    if (!any.empty() && std::find(any.begin(), any.end(), example.values[i]) == any.end())
      return false;
  }
  return true;
}

// The problems that a run gave to one kernel.
class KernelRefusals {
 public:
  explicit KernelRefusals(const std::vector<std::string>& fields) : fields_(fields) {}

  void add(const TriedProblem& asked) {
    Example example{&asked, {}};
    for (const std::string& field : fields_) example.values.push_back(value_of(asked, field));
    (asked.refused ? refused_[kind_of(asked.reason)] : ran_).push_back(std::move(example));
  }

  void list(SuggestedSupport& into) const {
    for (const auto& [kind, refusals] : refused_) explain(refusals, into);
  }

 private:
  const Example* first_that_ran(const Conditions& conditions) const {
    const auto found = std::find_if(ran_.begin(), ran_.end(), [&](const Example& example) {
      return holds(conditions, example);
    });
    return found == ran_.end() ? nullptr : &*found;
  }

  // Returns the values of these refusals in each field that is needed to exclude ran_.
  Conditions conditions_of(const std::vector<Example>& refusals) const {
    Conditions all(fields_.size());
    for (const Example& refusal : refusals) {
      for (std::size_t i = 0; i < fields_.size(); ++i) {
        if (std::find(all[i].begin(), all[i].end(), refusal.values[i]) == all[i].end())
          all[i].push_back(refusal.values[i]);
      }
    }
    for (std::size_t i = fields_.size(); i-- > 0;) {
      const Values left_out = std::exchange(all[i], {});
      if (first_that_ran(all) != nullptr) all[i] = left_out;
    }
    return all;
  }

  // Explains refusals that share a reason by one entry, or by several if one entry would cover a
  // problem that ran.
  void explain(std::vector<Example> refusals, SuggestedSupport& into) const {
    while (!refusals.empty()) {
      Conditions conditions = conditions_of(refusals);
      if (first_that_ran(conditions) != nullptr) conditions = conditions_of({refusals.front()});
      const auto rest =
          std::stable_partition(refusals.begin(), refusals.end(),
                                [&](const Example& refusal) { return holds(conditions, refusal); });
      const std::vector<Example> explained(refusals.begin(), rest);
      if (const Example* const ran = first_that_ran(conditions))
        into.inseparable.emplace_back(explained.front().asked->case_id, ran->asked->case_id);
      else
        into.entries.push_back(entry_of(conditions, explained));
      refusals.erase(refusals.begin(), rest);
    }
  }

  SuggestedEntry entry_of(const Conditions& conditions,
                          const std::vector<Example>& refusals) const {
    const TriedProblem& first = *refusals.front().asked;
    SuggestedEntry suggested{{}, refusals.size(), first.case_id, ran_.empty()};
    suggested.entry.kernels = {first.kernel};
    suggested.entry.reason = first.reason;
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (conditions[i].empty()) continue;
      if (fields_[i] == device_key)
        suggested.entry.devices = conditions[i];
      else
        suggested.entry.where.push_back({fields_[i], conditions[i]});
    }
    return suggested;
  }

  const std::vector<std::string>& fields_;
  std::map<std::string, std::vector<Example>> refused_;  // by kind_of() of their reasons
  std::vector<Example> ran_;
};

std::string values_text(const SupportTable::Condition& condition) {
  const bool is_bare = condition.field == square_key || condition.field == group_key;
  Values values;
  for (const std::string& value : condition.values)
    values.push_back(is_bare ? value : toml_value(condition.field, value));
  return fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace

SuggestedSupport suggest_support(const std::vector<TriedProblem>& asked) {
  const std::vector<std::string> fields = all_fields();
  std::map<std::string, KernelRefusals> kernels;
  // A run stores its outcomes in the order in which workers finish.
  std::vector<const TriedProblem*> by_case;
  for (const TriedProblem& problem : asked) by_case.push_back(&problem);
  std::ranges::stable_sort(by_case, {}, &TriedProblem::case_id);
  for (const TriedProblem* problem : by_case)
    kernels.try_emplace(problem->kernel, fields).first->second.add(*problem);
  SuggestedSupport suggested;
  for (const auto& [kernel, of_kernel] : kernels) of_kernel.list(suggested);
  return suggested;
}

std::string entry_text(const SupportTable::Entry& entry) {
  std::string text =
      fmt::format("[[unsupported]]\nkernel = {}\n", toml_string(entry.kernels.front()));
  Values where, devices;
  for (const auto& condition : entry.where)
    where.push_back(fmt::format("{} = {}", condition.field, values_text(condition)));
  if (!where.empty()) text += fmt::format("where = {{ {} }}\n", fmt::join(where, ", "));
  for (const std::string& device : entry.devices) devices.push_back(toml_string(device));
  if (!devices.empty()) text += fmt::format("device = [{}]\n", fmt::join(devices, ", "));
  return text + fmt::format("reason = {}\n", toml_string(entry.reason));
}

}  // namespace plumbline
