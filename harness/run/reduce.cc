// Proposes smaller problems, one changed field at a time, and continues from each that still fails.
#include "harness/run/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cctype>
#include <set>
#include <type_traits>

#include "harness/problem/field_text.h"
#include "harness/problem/problem_fields.h"

namespace plumbline {
namespace {

// Lists the smaller problems, one changed field each. Sizes are tried smallest first, so a failure
// that does not depend on a size shrinks in one step.
class Shrinker {
 public:
  explicit Shrinker(const Problem& problem) : from_(canonical(problem)) {}

  std::vector<ReduceStep> steps() {
    for_each_field([&](const auto& field) {
      if (field.role == FieldRole::feature) features(field);
    });
    for_each_field([&](const auto& field) {
      if (field.role == FieldRole::size) sizes(field);
    });
    return std::move(steps_);
  }

 private:
  void add(std::string what, const Problem& to) {
    const Problem problem = canonical(to);
    if (problem == from_ || !validate(problem).empty()) return;
    if (ids_.insert(problem_id(problem)).second) steps_.push_back({std::move(what), problem});
  }

  // Sets the field to its simplest value. Paged layouts first become ragged.
  void features(const FieldTraits& field) {
    if (field.key == "layout" && from_.is_paged())
      feature(field.key, std::string(name(Layout::ragged)));
    feature(field.key, field.simplest.empty() ? field_text(Problem{}, field.key)
                                              : std::string(field.simplest));
  }
  void feature(std::string_view key, const std::string& text) {
    Problem problem = from_;
    [[maybe_unused]] const auto refused = set_field(problem, key, text);
    assert(!refused);
    add(fmt::format("{} {} -> {}", key, field_text(from_, key),
                    text.empty() ? "drawn by the input law" : text),
        problem);
  }

  void sizes(const FieldPair& fields) {
    if (fields.key == "heads") return heads();
    if (from_.*fields.first.member == from_.*fields.second.member)
      size(fields.key, {fields.first.member, fields.second.member});
  }
  template <class T>
  void sizes(const ProblemField<T>& field) {
    if constexpr (std::is_same_v<T, std::int64_t>) {
      if (!field.key.starts_with("heads")) size(field.key, {field.member});
    }
  }
  void size(std::string_view what, const std::vector<std::int64_t Problem::*>& members) {
    const std::int64_t now = from_.*members.front();
    const bool of_keys = std::ranges::find(members, &Problem::seq_kv) != members.end();
    const std::int64_t least = of_keys ? 2 : 1;
    std::vector<std::int64_t> smaller{least};
    for (std::int64_t divisor = 16; divisor > 1; divisor /= 2) smaller.push_back(now / divisor);
    smaller.push_back(now - now / 4);
    smaller.push_back(now - 1);
    for (const std::int64_t to : smaller) {
      if (to < least || to >= now) continue;
      Problem problem = from_;
      for (const auto member : members) problem.*member = to;
      add(fmt::format("{} {} -> {}", what, now, to), problem);
    }
  }
  // heads_kv must divide heads_q, so each step sets both.
  void heads() {
    for (const std::int64_t kv : {std::int64_t{1}, from_.heads_kv / 2, from_.heads_kv}) {
      for (const std::int64_t group :
           {std::int64_t{1}, from_.group() / 2, from_.group() - 1, from_.group()}) {
        if (kv < 1 || group < 1) continue;
        Problem problem = from_;
        problem.heads_kv = kv;
        problem.heads_q = kv * group;
        add(fmt::format("heads {}x{} -> {}x{}", from_.heads_q, from_.heads_kv, problem.heads_q,
                        problem.heads_kv),
            problem);
      }
    }
  }

  Problem from_;
  std::vector<ReduceStep> steps_;
  std::set<std::string> ids_;
};

}  // namespace

std::vector<ReduceStep> smaller_problems(const Problem& problem) {
  return Shrinker(problem).steps();
}

Reduced reduce(const Problem& problem, const std::function<bool(const Problem&)>& fails,
               const std::function<bool()>& stop) {
  Reduced reduced{canonical(problem), {}, 0};
  std::set<std::string> passed;  // these problems are not tried again
  for (bool shrunk = true; shrunk && !stop();) {
    shrunk = false;
    for (ReduceStep& step : smaller_problems(reduced.problem)) {
      if (stop()) break;
      if (passed.count(problem_id(step.problem)) > 0) continue;
      ++reduced.tried;
      if (!fails(step.problem)) {
        passed.insert(problem_id(step.problem));
        continue;
      }
      reduced.problem = step.problem;
      reduced.steps.push_back(std::move(step));
      shrunk = true;
      break;
    }
  }
  return reduced;
}

bool keeps_cause(std::string_view first, std::string_view second) {
  if (!first.starts_with("would be explained")) return true;
  const auto without_numbers = [](std::string_view text) {
    std::string kept;
    for (const char c : text) {
      const bool of_number = std::isdigit(static_cast<unsigned char>(c)) != 0;
      // "0.07" and "3, 5" count as one number each, because the length of a list may change.
      if (of_number) {
        while (!kept.empty() &&
               std::string_view("., #").find(kept.back()) != std::string_view::npos)
          kept.pop_back();
        kept += " #";
      } else {
        kept += c;
      }
    }
    return kept;
  };
  return without_numbers(first) == without_numbers(second);
}

}  // namespace plumbline
