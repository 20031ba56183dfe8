// Recomputes single rows with another head, fp8 scale, slope or sink, and returns one that fits.
#include "harness/diagnose/row_variation.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numbers>
#include <utility>
#include <vector>

#include "harness/diagnose/error_parts.h"
#include "harness/diagnose/row_calculator.h"

namespace plumbline {
namespace {

constexpr double variation_cost_limit = 2e6;  // multiply-adds of one variation
constexpr std::size_t rows_of_a_head = 3, rows_of_all = 8;

// Returns the rows with the largest errors for each wrong query head.
std::map<std::int64_t, std::vector<std::size_t>> wrong_heads(const FailingOutput& failing) {
  const Reference& reference = *failing.reference;
  const auto heads = error_by(reference, *failing.comparison,
                              [](const RowId& id) { return std::int64_t{id.head}; });
  std::map<std::int64_t, std::vector<std::pair<double, std::size_t>>> by_error;
  for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
    const std::int64_t head = reference.selection.rows[r].head;
    if (reference.visible[r] > 0 && heads.at(head).is_wrong())
      by_error[head].emplace_back(-squared_error(failing, r), r);
  }
  std::map<std::int64_t, std::vector<std::size_t>> wrong;
  for (auto& [head, rows] : by_error) {
    std::ranges::sort(rows);
    for (std::size_t i = 0; i < std::min(rows_of_a_head, rows.size()); ++i)
      wrong[head].push_back(rows[i].second);
  }
  return wrong;
}

// A query head, the key head that it reads and the stated one.
struct OtherHead {
  std::int64_t query_head, key_head, stated;
};

enum class Reads { both, only_k, only_v };

// Returns for each query head in `wrong` the key head that explains its rows. Returns an empty list
// if a query head has none.
std::vector<OtherHead> heads_read(const FailingOutput& failing, const RowCalculator& rows,
                                  const std::map<std::int64_t, std::vector<std::size_t>>& wrong,
                                  Reads reads) {
  const Problem& problem = failing.geometry->problem();
  std::vector<OtherHead> found;
  for (const auto& [head, of_head] : wrong) {
    const std::int64_t stated = head / problem.group();
    std::int64_t other = 0;
    for (; other < problem.heads_kv; ++other) {
      if (failing.late()) return {};
      const auto explains = [&](std::size_t r) {
        RowVariation variation = rows.stated(rows.row(r));
        if (reads != Reads::only_v) variation.key_head = other;
        if (reads != Reads::only_k) variation.value_head = other;
        return rows.explains(r, variation);
      };
      if (other != stated && std::ranges::all_of(of_head, explains)) break;
    }
    if (other == problem.heads_kv) return {};
    found.push_back({head, other, stated});
  }
  return found;
}

std::string in_words(const std::vector<OtherHead>& heads, const Problem& problem,
                     std::string_view what) {
  const auto all_by = [&](const std::function<std::int64_t(std::int64_t)>& rule) {
    std::int64_t by_rule = 0;
    for (std::int64_t head = 0; head < problem.heads_q; ++head)
      by_rule += rule(head) != head / problem.group() ? 1 : 0;
    return std::ranges::all_of(
               heads, [&](const OtherHead& h) { return rule(h.query_head) == h.key_head; }) &&
           by_rule == static_cast<std::int64_t>(heads.size());
  };
  if (all_by([&](std::int64_t head) { return head % problem.heads_kv; })) {
    return fmt::format("query head h reads {}key head h % {} instead of h / {}", what,
                       problem.heads_kv, problem.group());
  }
  if (all_by([](std::int64_t) { return 0; }))
    return fmt::format("every query head reads {}key head 0", what);
  std::string text = fmt::format("query head {} reads {}key head {} instead of {}",
                                 heads[0].query_head, what, heads[0].key_head, heads[0].stated);
  for (std::size_t i = 1; i < std::min<std::size_t>(3, heads.size()); ++i) {
    text += fmt::format(", {} reads {} instead of {}", heads[i].query_head, heads[i].key_head,
                        heads[i].stated);
  }
  return heads.size() > 3 ? text + fmt::format(", and {} more heads", heads.size() - 3) : text;
}

// Returns true if `vary(row)` explains all these rows, and the stated problem does not.
template <class Vary>
bool all_explained(const RowCalculator& rows, const std::vector<std::size_t>& indices,
                   const Vary& vary) {
  return !rows.are_right(indices) && std::ranges::all_of(indices, [&](std::size_t r) {
    return rows.explains(r, vary(rows.row(r)));
  });
}

// Returns for each head in `indices` the sink that gives a row's output its size.
std::map<std::int64_t, double> fitted_sinks(const FailingOutput& failing, const RowCalculator& rows,
                                            const std::vector<std::size_t>& indices) {
  const std::vector<double> got = rows_of(*failing.geometry, failing.outputs, *failing.reference);
  const auto columns = static_cast<std::size_t>(failing.reference->columns);
  std::map<std::int64_t, std::pair<double, double>> best;  // head -> weight of the fit, sink
  for (const std::size_t r : indices) {
    RowVariation variation = rows.stated(rows.row(r));
    variation.sink = -std::numeric_limits<double>::infinity();
    const CalculatedRow without = rows.answer(rows.row(r), variation);
    double along = 0, squared = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      along += got[r * columns + j] * without.o[j];
      squared += without.o[j] * without.o[j];
    }
    const double share = along / squared;  // the keys' share of the softmax
    if (!(share > 0 && share < 1)) continue;
    // A share near 0 or 1 gives the sink with few digits.
    auto& [weight, sink] = best[rows.row(r).head];
    if (share * (1 - share) <= weight) continue;
    weight = share * (1 - share);
    sink = without.lse + rows.missing_bias(rows.row(r)) + std::log((1 - share) / share);
  }
  std::map<std::int64_t, double> sinks;
  for (const auto& [head, fit] : best) sinks[head] = fit.second;
  return sinks;
}

std::string sinks_of_heads(const FailingOutput& failing, const RowCalculator& rows,
                           const std::vector<std::size_t>& indices) {
  const auto sinks = fitted_sinks(failing, rows, indices);
  const auto vary = [&](const RowId& id) {
    RowVariation variation = rows.stated(id);
    if (const auto at = sinks.find(id.head); at != sinks.end()) variation.sink = at->second;
    return variation;
  };
  if (sinks.empty() || !all_explained(rows, indices, vary)) return "";
  std::string text;
  for (const auto& [head, sink] : sinks) {
    const double stated = rows.side().sinks[static_cast<std::size_t>(head)];
    if (std::abs(sink - stated) < 0.01 * (1 + std::abs(stated))) continue;
    text += fmt::format("{} {:.3g} instead of {:.3g} for head {}", text.empty() ? "" : ",", sink,
                        stated, head);
  }
  return text.empty() ? "" : "would be explained by other attention sinks:" + text;
}

// Returns the stated slope of a query head of one sample. Heads are counted modulo their number.
using StatedSlope = std::function<double(std::int64_t head)>;
// Returns the slope that a kernel may use instead.
using OtherSlope = std::function<double(const StatedSlope& stated, std::int64_t head)>;

std::vector<std::pair<std::string, OtherSlope>> other_slopes_of(const Problem& problem) {
  const std::int64_t heads = problem.heads_q, group = problem.group();
  const auto next_power = static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(heads)));
  const auto geometric = [](double count) {
    return [=](const StatedSlope&, std::int64_t head) {
      return std::exp2(-8 * static_cast<double>(head + 1) / count);
    };
  };
  return {
      {"each head had the ALiBi slope of the next head",
       [](const StatedSlope& stated, std::int64_t head) { return stated(head + 1); }},
      {"each head had the ALiBi slope of the head before",
       [](const StatedSlope& stated, std::int64_t head) { return stated(head - 1); }},
      {"all heads had the ALiBi slope of head 0",
       [](const StatedSlope& stated, std::int64_t) { return stated(0); }},
      {fmt::format("query head h had ALiBi slope h / {}: that of its key head's number", group),
       [=](const StatedSlope& stated, std::int64_t head) { return stated(head / group); }},
      {fmt::format("query head h had ALiBi slope h % {}: that of its place beside its key head",
                   group),
       [=](const StatedSlope& stated, std::int64_t head) { return stated(head % group); }},
      {fmt::format("the ALiBi slopes were those of {} heads, the next power of two", next_power),
       geometric(next_power)},
      {fmt::format("the ALiBi slopes were 2^(-8 (h + 1) / {}), as for a power of two", heads),
       geometric(static_cast<double>(heads))},
      {"the heads had the ALiBi slopes in reversed order",
       [=](const StatedSlope& stated, std::int64_t head) { return stated(heads - 1 - head); }},
      {"the ALiBi slopes were multiplied by the softmax scale",
       [&](const StatedSlope& stated, std::int64_t head) {
         return stated(head) * problem.softmax_scale();
       }},
      {"the ALiBi slopes were multiplied by ln 2: log2(e) is missing",
       [](const StatedSlope& stated, std::int64_t head) {
         return stated(head) * std::numbers::ln2;
       }},
      {"the ALiBi slopes had the other sign",
       [](const StatedSlope& stated, std::int64_t head) { return -stated(head); }},
  };
}

}  // namespace

std::string other_key_heads(const FailingOutput& failing) {
  const Problem& problem = failing.geometry->problem();
  if (problem.heads_kv < 2 || problem.heads_kv > 64) return "";
  const auto wrong = wrong_heads(failing);
  if (wrong.empty()) return "";
  const RowCalculator rows(failing);
  for (const auto& [reads, what] :
       {std::pair{Reads::both, ""}, {Reads::only_v, "V of "}, {Reads::only_k, "K of "}}) {
    if (const auto heads = heads_read(failing, rows, wrong, reads); !heads.empty())
      return in_words(heads, problem, what);
  }
  return "";
}

std::string other_fp8_scales(const FailingOutput& failing) {
  const Problem& problem = failing.geometry->problem();
  if (!problem.has_fp8_kv()) return "";
  const RowCalculator rows(failing);
  const auto indices = informative_rows(failing, rows_of_all, variation_cost_limit);
  const SideInputs& side = rows.side();
  // Return the stated scale of a key.
  using Scale = std::function<double(std::int64_t sample, std::int64_t key, std::int64_t head)>;
  const Scale k = [&](std::int64_t sample, std::int64_t key, std::int64_t head) {
    return double{side.k_scale[kv_scale_at(problem, sample, key, head)]};
  };
  const Scale v = [&](std::int64_t sample, std::int64_t key, std::int64_t head) {
    return double{side.v_scale[kv_scale_at(problem, sample, key, head)]};
  };
  // The scales to use for K and V in a row.
  struct Other {
    std::string sentence;
    std::function<std::pair<Scale, Scale>(const RowId&)> scales;
  };
  const auto with = [](const Scale& of_k, const Scale& of_v) {
    return [=](const RowId&) { return std::pair{of_k, of_v}; };
  };
  const Scale none = [](std::int64_t, std::int64_t, std::int64_t) { return 1.0; };
  const auto at_head = [](const Scale& scale, std::int64_t head) {
    return Scale([=](std::int64_t sample, std::int64_t key, std::int64_t) {
      return scale(sample, key, head);
    });
  };
  const auto at_sample_0 = [](const Scale& scale) {
    return Scale(
        [=](std::int64_t, std::int64_t key, std::int64_t head) { return scale(0, key, head); });
  };
  const auto squared = [](const Scale& scale) {
    return Scale([=](std::int64_t sample, std::int64_t key, std::int64_t head) {
      return std::pow(scale(sample, key, head), 2);
    });
  };
  const auto first = [](const Scale& scale) {
    return Scale([=](std::int64_t, std::int64_t, std::int64_t) { return scale(0, 0, 0); });
  };
  std::vector<Other> others{
      {"K's fp8 scale were not applied", with(none, v)},
      {"V's fp8 scale were not applied", with(k, none)},
      {"K's fp8 scale were applied twice", with(squared(k), v)},
      {"V's fp8 scale were applied twice", with(k, squared(v))},
      {"all of K and V took the fp8 scales of sample 0 and key head 0", with(first(k), first(v))},
      {"V were multiplied by the fp8 scale of K", with(k, k)},
      {"every head took the fp8 scales of key head 0", with(at_head(k, 0), at_head(v, 0))},
      {fmt::format("query head h took the fp8 scales of key head h % {}", problem.heads_kv),
       [&](const RowId& id) {
         const std::int64_t head = id.head % problem.heads_kv;
         return std::pair{at_head(k, head), at_head(v, head)};
       }},
      {"every sample took the fp8 scales of sample 0", with(at_sample_0(k), at_sample_0(v))},
  };
  if (problem.has_fp8_q()) {
    others.push_back({"Q's fp8 scale were not applied", [&](const RowId& id) {
                        const std::size_t at = q_scale_at(problem, id.sample, id.row, id.head);
                        const double of_q = double{side.q_scale[at]};
                        return std::pair{Scale([&, of_q](std::int64_t sample, std::int64_t key,
                                                         std::int64_t head) {
                                           return k(sample, key, head) / of_q;
                                         }),
                                         v};
                      }});
  }
  for (const Other& other : others) {
    const auto vary = [&](const RowId& id) {
      RowVariation variation = rows.stated(id);
      const auto scales = other.scales(id);
      variation.read_key = [&, of_k = scales.first](std::int64_t sample, std::int64_t key,
                                                    std::int64_t head, std::span<double> to) {
        rows.read_key(sample, key, head, to);
        const double factor = of_k(sample, key, head) / k(sample, key, head);
        for (double& x : to) x *= factor;
      };
      variation.read_value = [&, of_v = scales.second](std::int64_t sample, std::int64_t key,
                                                       std::int64_t head, std::span<double> to) {
        rows.read_value(sample, key, head, to);
        const double factor = of_v(sample, key, head) / v(sample, key, head);
        for (double& x : to) x *= factor;
      };
      return variation;
    };
    if (all_explained(rows, indices, vary)) return "would be explained if " + other.sentence;
  }
  if (problem.softcap == 0) return "";
  const auto scaled_late = [&](const RowId& id) {
    RowVariation variation = rows.stated(id);
    variation.logit = [&, id, head = variation.key_head](const LogitShape& shape, double product,
                                                         std::int64_t key) {
      const double scale = k(id.sample, key, head);
      return scale * shape.capped(problem.softmax_scale() * product / scale) + shape.bias(key);
    };
    return variation;
  };
  if (all_explained(rows, indices, scaled_late))
    return "would be explained if K's fp8 scale multiplied logits after the softcap";
  return "";
}

std::string other_sinks(const FailingOutput& failing) {
  const Problem& problem = failing.geometry->problem();
  if (problem.sinks == Sinks::none) return "";
  const RowCalculator rows(failing);
  const auto indices = informative_rows(failing, rows_of_all, variation_cost_limit);
  using Sink = std::function<double(double stated, std::int64_t head)>;
  const std::vector<std::pair<std::string, Sink>> others{
      {"the attention sinks were multiplied by ln 2: log2(e) is missing",
       [](double stated, std::int64_t) { return stated * std::numbers::ln2; }},
      {"the attention sinks were multiplied by the softmax scale",
       [&](double stated, std::int64_t) { return stated * problem.softmax_scale(); }},
      {"each head had the attention sink of the next",
       [&](double, std::int64_t head) {
         return double{rows.side().sinks[static_cast<std::size_t>((head + 1) % problem.heads_q)]};
       }},
  };
  for (const auto& [sentence, sink] : others) {
    const auto vary = [&, &sink = sink](const RowId& id) {
      RowVariation variation = rows.stated(id);
      variation.sink = sink(variation.sink, id.head);
      return variation;
    };
    if (all_explained(rows, indices, vary)) return "would be explained if " + sentence;
  }
  const auto without_exponential = [&](const RowId& id) {
    RowVariation variation = rows.stated(id);
    variation.adds_sink_itself = true;
    return variation;
  };
  if (all_explained(rows, indices, without_exponential))
    return "would be explained if the attention sinks were added to the sum without an exponential";
  return sinks_of_heads(failing, rows, indices);
}

std::string other_slopes(const FailingOutput& failing) {
  const Problem& problem = failing.geometry->problem();
  const RowCalculator rows(failing);
  const std::vector<float>& slopes = rows.side().alibi_slopes;
  if (slopes.empty()) return "";
  const auto indices = informative_rows(failing, rows_of_all, variation_cost_limit);
  const std::int64_t heads = problem.heads_q;
  for (const auto& [sentence, slope] : other_slopes_of(problem)) {
    const auto vary = [&, &slope = slope](const RowId& id) {
      RowVariation variation = rows.stated(id);
      const auto stated = [&](std::int64_t head) {
        RowId other = id;
        other.head = static_cast<std::int32_t>((head + heads) % heads);
        return rows.shape(other).alibi;
      };
      variation.alibi = slope(stated, id.head);
      return variation;
    };
    if (all_explained(rows, indices, vary)) return "would be explained if " + sentence;
  }
  return "";
}

std::string exchanged_heads(const FailingOutput& failing) {
  const Problem& problem = failing.geometry->problem();
  const auto wrong = wrong_heads(failing);
  if (wrong.size() < 2 || problem.heads_q > 64) return "";
  const RowCalculator rows(failing);
  std::string text;
  std::size_t found = 0;
  for (const auto& [head, of_head] : wrong) {
    std::int64_t other = 0;
    for (; other < problem.heads_q; ++other) {
      if (failing.late()) return "";
      const auto explains = [&, other](std::size_t r) {
        RowId place = rows.row(r);
        place.head = other;
        return rows.is_row(place) &&
               rows.fits(rows.misfit(r, rows.answer(place, rows.stated(place))));
      };
      if (other != head && std::ranges::all_of(of_head, explains)) break;
    }
    if (other == problem.heads_q) return "";
    if (++found <= 3)
      text += fmt::format("{}query head {} has the output of query head {}",
                          text.empty() ? "" : ", ", head, other);
  }
  if (found > 3) text += fmt::format(", and {} more heads", found - 3);
  return "heads are exchanged: " + text;
}

}  // namespace plumbline
