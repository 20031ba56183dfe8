#include "harness/measure/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace plumbline {
namespace {

// One field after another; of sizes, smallest first, so that a failure that needs no size ends at once.
class Shrinker {
 public:
  explicit Shrinker(const Problem& problem) : from_(canonical(problem)) {}

  std::vector<ReduceStep> steps() {
    const Problem defaults;
    feature("inputs", &Problem::inputs, defaults.inputs);
    feature("lengths", &Problem::lengths, defaults.lengths);
    feature("window", &Problem::window_right, defaults.window_right);
    feature("window", &Problem::window_left, defaults.window_left);
    feature("mask", &Problem::mask, defaults.mask);
    feature("padding", &Problem::padding, defaults.padding);
    feature("layout", &Problem::layout, Layout::ragged);
    feature("layout", &Problem::layout, defaults.layout);
    feature("page_size", &Problem::page_size, defaults.page_size);
    feature("law", &Problem::law, defaults.law);
    feature("v_law", &Problem::v_law, defaults.v_law);
    feature("k_scale", &Problem::k_scale, defaults.k_scale);
    feature("v_scale", &Problem::v_scale, defaults.v_scale);
    feature("scale", &Problem::scale, defaults.scale);
    feature("fill", &Problem::fill, Fill::zeros);
    feature("lse", &Problem::lse, false);
    feature("out_dtype", &Problem::out_dtype, defaults.out_dtype);
    feature("seed", &Problem::seed, defaults.seed);
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

  template <class Value>
  void feature(const char* what, Value Problem::*member, const Value& to) {
    // Ragged is smaller than paged and not smaller than padded.
    if constexpr (std::is_same_v<Value, Layout>) {
      if (to == Layout::ragged && !from_.is_paged()) return;
    }
    Problem problem = from_;
    problem.*member = to;
    add(fmt::format("{} at its default", what), problem);
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
      for (const std::int64_t group : {std::int64_t{1}, from_.group() / 2, from_.group() - 1, from_.group()}) {
        if (kv < 1 || group < 1) continue;
        Problem problem = from_;
        problem.heads_kv = kv;
        problem.heads_q = kv * group;
        add(fmt::format("heads {}x{} -> {}x{}", from_.heads_q, from_.heads_kv, problem.heads_q, problem.heads_kv), problem);
      }
    }
  }

  Problem from_;
  std::vector<ReduceStep> steps_;
  std::set<std::string> ids_;
};

}  // namespace

std::vector<ReduceStep> smaller_problems(const Problem& problem) { return Shrinker(problem).steps(); }

Reduced reduce(const Problem& problem, const std::function<bool(const Problem&)>& fails, const std::function<bool()>& stop) {
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
