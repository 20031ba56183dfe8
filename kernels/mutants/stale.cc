// Keeps the last call's lengths, page table, scales and plans for the mutants that reuse them.
#include "kernels/mutants/stale.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace plumbline::mutants {
namespace {

// A planner that reads the new lengths too late: it uses those of the last call with the same
// number of samples.
void use_stale_lengths(cpu::Attention& attention) {
  static std::map<std::int64_t, std::vector<std::int32_t>> kept;
  static std::vector<std::int32_t> used;
  const std::int64_t batch = attention.problem.batch;
  const std::vector<std::int32_t> current(attention.lengths_kv, attention.lengths_kv + batch);
  auto [at, first_time] = kept.try_emplace(batch, current);
  used = at->second;
  at->second = current;
  for (std::int32_t& length : used)
    length = static_cast<std::int32_t>(std::min<std::int64_t>(length, attention.problem.seq_kv));
  attention.lengths_kv = used.data();
}

// The kernel does not wait for the page table's upload, so it still sees the last call's entries.
void use_stale_page_table(cpu::Attention& attention) {
  static std::vector<std::int32_t> kept, used;
  const std::int32_t* table = attention.k.page_table;
  if (table == nullptr) return;
  std::vector<std::int32_t> current(table,
                                    table + attention.problem.batch * attention.k.pages_per_sample);
  used = current;
  std::copy_n(kept.begin(), std::min(kept.size(), used.size()), used.begin());
  kept = std::move(current);
  attention.k.page_table = attention.v.page_table = used.data();
}

// The kernel does not wait for the copy of the scales.
void use_stale_scales(cpu::Attention& attention) {
  static std::vector<float> kept_k, kept_v, used_k, used_v;
  const auto exchange = [&](cpu::TokenScales& scales, std::vector<float>& kept,
                            std::vector<float>& used) {
    if (scales.data == nullptr || scales.tokens > 0) return;
    const std::int64_t heads = attention.problem.heads_kv;
    std::vector<float> current;
    for (std::int64_t i = 0; i < attention.problem.batch * heads; ++i)
      current.push_back(scales.at(i / heads, i % heads, 0));
    used = current;
    std::copy_n(kept.begin(), std::min(kept.size(), used.size()), used.begin());
    kept = std::move(current);
    scales = {{used.data(), heads, 1, 1}};
  };
  exchange(attention.k_scale, kept_k, used_k);
  exchange(attention.v_scale, kept_v, used_v);
}

// The kernel does not wait for the copy of the sinks.
void use_stale_sinks(cpu::HeadValues& sinks, std::int64_t heads) {
  static std::vector<float> kept, used;
  if (sinks.data == nullptr) return;
  std::vector<float> current;
  for (std::int64_t head = 0; head < heads; ++head) current.push_back(sinks.at(0, head));
  used = current;
  std::copy_n(kept.begin(), std::min(kept.size(), used.size()), used.begin());
  kept = std::move(current);
  sinks = {used.data(), 0, 1};
}

// The cache key of plans and compiled kernels.
using Shape = std::array<std::int64_t, 8>;
Shape shape_of(const plumbline_problem& p) {
  return {p.dtype_q, p.layout, p.batch, p.heads_q, p.heads_kv, p.seq_q, p.seq_kv, p.head_dim_qk};
}

// The plan holds the scale, but its cache key does not.
double scale_of_plan(const plumbline_problem& problem) {
  static std::map<Shape, double> plans;
  return plans.try_emplace(shape_of(problem), problem.scale).first->second;
}

}  // namespace

void keep_stale_state(cpu::Attention& attention, Change change) {
  if (change == Change::stale_lengths) use_stale_lengths(attention);
  if (change == Change::stale_page_table) use_stale_page_table(attention);
  if (change == Change::stale_kv_scales) use_stale_scales(attention);
  if (change == Change::stale_sinks) use_stale_sinks(attention.sinks, attention.problem.heads_q);
  if (change == Change::stale_scale_of_last_call) {
    static double scale = attention.problem.scale;
    attention.problem.scale = std::exchange(scale, attention.problem.scale);
  }
  if (change == Change::stale_scale) {
    static std::optional<double> scale;
    if (!scale) scale = attention.problem.scale;
    attention.problem.scale = *scale;
  }
  if (change == Change::varies_two_scales)
    attention.problem.scale = scale_of_plan(attention.problem);
}

std::int64_t count_call_of_shape(const plumbline_problem& problem) {
  static std::map<Shape, std::int64_t> calls;
  return ++calls[shape_of(problem)];
}

std::uint32_t stale_mask(std::uint32_t mask) {
  static const std::uint32_t first = mask;
  return first;
}

float* stale_accumulator(std::int64_t count) {
  static std::vector<float> accumulator;
  if (static_cast<std::int64_t>(accumulator.size()) < count)
    accumulator.resize(static_cast<std::size_t>(count), 0.0F);
  return accumulator.data();
}

float exchange_stale_lse(std::int64_t index, float lse) {
  static std::map<std::int64_t, float> kept;
  auto [at, first_time] = kept.try_emplace(index, lse);
  return first_time ? lse : std::exchange(at->second, lse);
}

namespace {
std::uint64_t calls = 0;
}
bool is_odd_call() { return calls % 2 != 0; }
void count_call() { ++calls; }

}  // namespace plumbline::mutants
