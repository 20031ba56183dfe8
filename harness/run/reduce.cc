// Proposes smaller problems, one field after another, and goes on from each that still fails.
#include "harness/run/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <set>

#include "harness/problem/field_text.h"

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 10> sizes{"batch",       "heads",      "heads_q", "heads_kv",
                                                 "seq",         "seq_q",      "seq_kv",  "head_dim",
                                                 "head_dim_qk", "head_dim_vo"};

// One field after another; of sizes, smallest first, so that a failure that needs no size ends at
// once.
class Shrinker {
 public:
  explicit Shrinker(const Problem& problem) : from_(canonical(problem)) {}

  std::vector<ReduceStep> steps() {
    for (const std::string_view key : field_names()) features(key);
    size("batch", {&Problem::batch});
    heads();
    both("seq", &Problem::seq_q, &Problem::seq_kv);
    size("seq_q", {&Problem::seq_q});
    size("seq_kv", {&Problem::seq_kv});
    both("head_dim", &Problem::head_dim_qk, &Problem::head_dim_vo);
    size("head_dim_qk", {&Problem::head_dim_qk});
    size("head_dim_vo", {&Problem::head_dim_vo});
    return std::move(steps_);
  }

 private:
  void add(std::string what, const Problem& to) {
    const Problem problem = canonical(to);
    if (problem == from_ || !validate(problem).empty()) return;
    if (ids_.insert(problem_id(problem)).second) steps_.push_back({std::move(what), problem});
  }

  // The field without its feature: at its default, but for fills (zeros are simpler than garbage),
  // the LSE (not to ask for it is less) and pages (ragged comes between them and a padded layout).
  // Sizes shrink apart; a failure of one dtype is that of no other.
  void features(std::string_view key) {
    if (std::find(sizes.begin(), sizes.end(), key) != sizes.end() || key == "dtype") return;
    if (key == "layout" && from_.is_paged()) feature(key, std::string(name(Layout::ragged)));
    if (key == "fill") return feature(key, std::string(name(Fill::zeros)));
    if (key == "lse") return feature(key, "false");
    feature(key, field_text(Problem{}, key));
  }
  void feature(std::string_view key, const std::string& text) {
    Problem problem = from_;
    [[maybe_unused]] const auto refused = set_field(problem, key, text);
    assert(!refused);
    add(fmt::format("{} {} -> {}", key, field_text(from_, key),
                    text.empty() ? "drawn by its law" : text),
        problem);
  }

  void size(const char* what, const std::vector<std::int64_t Problem::*>& members) {
    const std::int64_t now = from_.*members.front();
    std::vector<std::int64_t> smaller{1};
    for (std::int64_t divisor = 16; divisor > 1; divisor /= 2) smaller.push_back(now / divisor);
    smaller.push_back(now - now / 4);
    smaller.push_back(now - 1);
    for (const std::int64_t to : smaller) {
      if (to < 1 || to >= now) continue;
      Problem problem = from_;
      for (const auto member : members) problem.*member = to;
      add(fmt::format("{} {} -> {}", what, now, to), problem);
    }
  }
  void both(const char* what, std::int64_t Problem::*a, std::int64_t Problem::*b) {
    if (from_.*a == from_.*b) size(what, {a, b});
  }
  // heads_kv must divide heads_q: both at once, then the group.
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
  std::set<std::string> passed;  // a problem that does not fail is not asked about again
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

}  // namespace plumbline
