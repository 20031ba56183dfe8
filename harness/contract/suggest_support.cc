// Learns rules from refused problems and those that ran: the smallest sets of fields that tell a
// refused problem from every one that ran, each widened as far as those allow.
#include "harness/contract/suggest_support.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstdint>
#include <map>
#include <set>

#include "harness/problem/field_text.h"
#include "harness/problem/problem_fields.h"

namespace plumbline {
namespace {

constexpr std::string_view device_key = "device", square_key = "square", group_key = "group";

// What a condition may be about. Of two that explain the same the cheaper one is taken, and of two
// of one cost the one that comes first.
struct Field {
  std::string key;
  double cost = 1;
};

double cost_of(std::string_view key) {
  // Sizes are seldom why a kernel refuses a problem, and what no kernel sees never is.
  constexpr std::pair<std::string_view, double> costs[] = {
      {"group", 1.5}, {"scale", 2},    {"lengths", 2},  {"seq_q", 4},    {"seq_kv", 4},
      {"batch", 6},   {"fill", 16},    {"heads_q", 6},  {"heads_kv", 6}, {"law", 16},
      {"v_law", 16},  {"k_scale", 16}, {"v_scale", 16}, {"seed", 64}};
  for (const auto& [name, cost] : costs) {
    if (name == key) return cost;
  }
  return 1;
}

// `window` in place of its two members. Recorded inputs are seen by their other fields.
std::vector<Field> all_fields() {
  std::vector<Field> fields{{std::string(device_key)}};
  for_each_field([&](const auto& field) {
    if (field.written && field.key != "inputs")
      fields.push_back({std::string(field.key), cost_of(field.key)});
  });
  for (const std::string_view derived : {square_key, group_key})
    fields.push_back({std::string(derived), cost_of(derived)});
  return fields;
}

std::string value_of(const AskedProblem& asked, const std::string& key) {
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

// A reason without its numbers: "head_dim 80 is not a multiple of 16" and "head_dim 24 …" are one.
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

using FieldSet = std::uint64_t;  // bit i: field i

// A problem with the text of each field.
struct Example {
  const AskedProblem* asked = nullptr;
  std::vector<std::string> values;
  std::string kind;  // of its reason
  bool is_explained = false;
};

struct Rule {
  std::vector<std::pair<std::size_t, SupportTable::Condition>> conditions;  // with their field
  std::vector<std::size_t> covered;  // refusals, explained before or not
  double cost = 0;
  std::string kind;  // of the reason that it is for

  bool holds(const Example& example, std::size_t except = SIZE_MAX) const {
    return std::all_of(conditions.begin(), conditions.end(), [&](const auto& condition) {
      const auto& [field, what] = condition;
      if (field == except) return true;
      const bool is_one = std::find(what.values.begin(), what.values.end(),
                                    example.values[field]) != what.values.end();
      return is_one != what.is_negated;
    });
  }
};

// The rules of one kernel.
class Learner {
 public:
  explicit Learner(const std::vector<Field>& fields) : fields_(fields) {}

  void add(const AskedProblem& asked) {
    Example example{&asked, {}, kind_of(asked.reason)};
    for (const Field& field : fields_) example.values.push_back(value_of(asked, field.key));
    (asked.refused ? refused_ : ran_).push_back(std::move(example));
  }

  void learn(SuggestedSupport& into) {
    std::vector<Rule> rules;
    for (Example& refusal : refused_) {
      if (refusal.is_explained) continue;
      const auto differing = differences(refusal);
      if (!differing.empty() && differing.front() == 0) {
        into.inseparable.emplace_back(refusal.asked->case_id, equal_to(refusal).asked->case_id);
        refusal.is_explained = true;
        continue;
      }
      rules.push_back(best_rule(refusal, differing));
      for (const std::size_t index : rules.back().covered) refused_[index].is_explained = true;
    }
    drop_superfluous(rules);
    for (const Rule& rule : rules) into.entries.push_back(entry_of(rule));
  }

 private:
  // Of each problem that ran the fields in which it differs, the smallest sets alone: a rule that
  // has one field of each of them covers the refusal and nothing that ran.
  std::vector<FieldSet> differences(const Example& refusal) const {
    std::set<FieldSet> all;
    for (const Example& ran : ran_) {
      FieldSet differing = 0;
      for (std::size_t i = 0; i < fields_.size(); ++i)
        differing |= FieldSet{ran.values[i] != refusal.values[i]} << i;
      all.insert(differing);
    }
    std::vector<FieldSet> smallest(all.begin(), all.end());
    std::sort(smallest.begin(), smallest.end(), [](FieldSet a, FieldSet b) {
      return std::pair(std::popcount(a), a) < std::pair(std::popcount(b), b);
    });
    std::vector<FieldSet> kept;
    for (const FieldSet set : smallest) {
      const auto is_within = [&](FieldSet smaller) { return (smaller & ~set) == 0; };
      if (std::none_of(kept.begin(), kept.end(), is_within)) kept.push_back(set);
    }
    return kept;
  }

  const Example& equal_to(const Example& refusal) const {
    return *std::find_if(ran_.begin(), ran_.end(),
                         [&](const Example& ran) { return ran.values == refusal.values; });
  }

  static bool tells_apart(FieldSet chosen, const std::vector<FieldSet>& differing) {
    return std::all_of(differing.begin(), differing.end(),
                       [&](FieldSet set) { return (set & chosen) != 0; });
  }

  static bool needs_each(FieldSet chosen, const std::vector<FieldSet>& differing) {
    for (FieldSet rest = chosen; rest != 0; rest &= rest - 1) {
      if (tells_apart(chosen & ~(rest & -rest), differing)) return false;
    }
    return true;
  }

  // Of the rules on at most three fields the one that explains most for what it costs; where there
  // is none, one on as few fields as leaving out the dearest ones one by one gives.
  Rule best_rule(const Example& refusal, const std::vector<FieldSet>& differing) const {
    Rule best;
    double most = -1;
    const auto consider = [&](FieldSet chosen) {
      Rule rule = widened(refusal, chosen);
      const double value = static_cast<double>(explained_alike(rule)) / rule.cost;
      if (value <= most) return;
      most = value;
      best = std::move(rule);
    };
    const auto extend = [&](auto&& self, FieldSet chosen, std::size_t first, int left) -> void {
      if (tells_apart(chosen, differing)) {
        if (needs_each(chosen, differing)) consider(chosen);
        return;
      }
      if (left == 0) return;
      for (std::size_t i = first; i < fields_.size(); ++i)
        self(self, chosen | FieldSet{1} << i, i + 1, left - 1);
    };
    constexpr int most_fields = 3;
    extend(extend, 0, 0, most_fields);
    if (most < 0) consider(without_the_dearest(differing));
    return best;
  }

  FieldSet without_the_dearest(const std::vector<FieldSet>& differing) const {
    std::vector<std::size_t> order(fields_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = order.size() - 1 - i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return fields_[a].cost > fields_[b].cost;
    });
    FieldSet chosen = (FieldSet{1} << fields_.size()) - 1;
    for (const std::size_t i : order) {
      const FieldSet less = chosen & ~(FieldSet{1} << i);
      if (tells_apart(less, differing)) chosen = less;
    }
    return chosen;
  }

  // Refusals for the same reason that no rule explains yet.
  std::size_t explained_alike(const Rule& rule) const {
    return static_cast<std::size_t>(
        std::count_if(rule.covered.begin(), rule.covered.end(), [&](std::size_t index) {
          return !refused_[index].is_explained && refused_[index].kind == rule.kind;
        }));
  }

  // The rule of these fields' values in the refusal, each condition then as wide as what ran under
  // the others allows.
  Rule widened(const Example& refusal, FieldSet chosen) const {
    Rule rule;
    rule.kind = refusal.kind;
    rule.cost = 0.5;  // of an entry: one that says nothing of fields explains most
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if ((chosen >> i & 1) == 0) continue;
      rule.conditions.push_back({i, {fields_[i].key, {refusal.values[i]}}});
      rule.cost += fields_[i].cost;
    }
    for (auto& [field, condition] : rule.conditions) widen(rule, field, condition);
    std::erase_if(rule.conditions, [](const auto& condition) {
      return condition.second.is_negated && condition.second.values.empty();
    });
    for (std::size_t i = 0; i < refused_.size(); ++i) {
      if (rule.holds(refused_[i])) rule.covered.push_back(i);
    }
    return rule;
  }

  // All values but those of what ran, or those of the refusals, whichever list is shorter. Of truth
  // values always the latter.
  void widen(const Rule& rule, std::size_t field, SupportTable::Condition& condition) const {
    const auto values_of = [&](const std::vector<Example>& examples) {
      std::set<std::string> values;
      for (const Example& example : examples) {
        if (rule.holds(example, field)) values.insert(example.values[field]);
      }
      return values;
    };
    const auto excluded = values_of(ran_);
    auto included = values_of(refused_);
    std::erase_if(included, [&](const std::string& value) { return excluded.contains(value); });
    const bool is_truth = included.contains("true") || included.contains("false");
    condition.is_negated =
        excluded.size() <= included.size() && condition.field != device_key && !is_truth;
    const auto& values = condition.is_negated ? excluded : included;
    condition.values.assign(values.begin(), values.end());
    std::stable_sort(condition.values.begin(), condition.values.end(),
                     [](const auto& a, const auto& b) { return a.size() < b.size(); });
  }

  // Rules whose refusals the others explain, too.
  void drop_superfluous(std::vector<Rule>& rules) const {
    for (std::size_t i = rules.size(); i-- > 0;) {
      const auto& covered = rules[i].covered;
      const bool needed = std::any_of(covered.begin(), covered.end(), [&](std::size_t index) {
        return std::count_if(rules.begin(), rules.end(),
                             [&](const Rule& rule) { return rule.holds(refused_[index]); }) == 1;
      });
      if (!needed) rules.erase(rules.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  SuggestedEntry entry_of(const Rule& rule) const {
    const AskedProblem& first = *refused_[rule.covered.front()].asked;
    SuggestedEntry suggested;
    suggested.entry.kernels = {first.kernel};
    for (const auto& [field, condition] : rule.conditions) {
      if (condition.field == device_key)
        suggested.entry.devices = condition.values;
      else
        suggested.entry.where.push_back(condition);
    }
    std::map<std::string, std::size_t> reasons;
    for (const std::size_t index : rule.covered) {
      const Example& refusal = refused_[index];
      if (refusal.kind == rule.kind) ++reasons[refusal.asked->reason];
    }
    const auto usual =
        std::max_element(reasons.begin(), reasons.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    suggested.entry.reason = usual->first;
    suggested.refusals = rule.covered.size();
    suggested.example = first.case_id;
    suggested.nothing_ran = ran_.empty();
    return suggested;
  }

  const std::vector<Field>& fields_;
  std::vector<Example> refused_, ran_;
};

// The reason without the kernel's name and without numbers.
std::string kind_of(const SupportTable::Entry& entry) {
  std::string reason = entry.reason;
  const std::string& kernel = entry.kernels.front();
  for (const std::string& name : {kernel, kernel.substr(kernel.find('/') + 1)}) {
    if (const std::size_t at = reason.find(name); at != std::string::npos)
      reason.erase(at, name.size());
  }
  return kind_of(reason);
}

// Entries that say the same of several kernels become one, with the first one's reason.
std::vector<SuggestedEntry> merged(const std::vector<SuggestedEntry>& entries) {
  std::vector<SuggestedEntry> result;
  for (const SuggestedEntry& next : entries) {
    const auto same = std::find_if(result.begin(), result.end(), [&](const SuggestedEntry& e) {
      return e.entry.where == next.entry.where && e.entry.devices == next.entry.devices &&
             kind_of(e.entry) == kind_of(next.entry) && e.nothing_ran == next.nothing_ran;
    });
    if (same == result.end()) {
      result.push_back(next);
      continue;
    }
    same->entry.kernels.push_back(next.entry.kernels.front());
    same->refusals += next.refusals;
  }
  return result;
}

std::string list_text(const std::vector<std::string>& texts) {
  return texts.size() == 1 ? texts.front() : fmt::format("[{}]", fmt::join(texts, ", "));
}

std::string strings_text(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(toml_string(text));
  return list_text(quoted);
}

std::string condition_text(const SupportTable::Condition& condition) {
  const bool is_bare = condition.field == square_key || condition.field == group_key;
  std::vector<std::string> values;
  for (const std::string& value : condition.values)
    values.push_back(is_bare ? value : toml_value(condition.field, value));
  return condition.is_negated ? fmt::format("{{ not = [{}] }}", fmt::join(values, ", "))
                              : list_text(values);
}

}  // namespace

SuggestedSupport suggest_support(const std::vector<AskedProblem>& asked) {
  const std::vector<Field> fields = all_fields();
  std::map<std::string, Learner> learners;  // by kernel
  for (const AskedProblem& problem : asked)
    learners.try_emplace(problem.kernel, fields).first->second.add(problem);
  SuggestedSupport suggested;
  for (auto& [kernel, learner] : learners) learner.learn(suggested);
  suggested.entries = merged(suggested.entries);
  return suggested;
}

std::string entry_text(const SupportTable::Entry& entry) {
  std::string text = fmt::format("[[unsupported]]\nkernel = {}\n", strings_text(entry.kernels));
  std::string where, lines;
  for (const auto& condition : entry.where) {
    const std::string what = condition_text(condition);
    where += fmt::format("{}{} = {}", where.empty() ? "" : ", ", condition.field, what);
    lines += fmt::format("where.{} = {}\n", condition.field, what);
  }
  constexpr std::size_t most_columns = 100;
  const std::string line = fmt::format("where = {{ {} }}\n", where);
  if (!where.empty()) text += line.size() <= most_columns ? line : lines;
  if (!entry.devices.empty()) text += fmt::format("device = {}\n", strings_text(entry.devices));
  return text + fmt::format("reason = {}\n", toml_string(entry.reason));
}

}  // namespace plumbline
