// Judges a wrong output again under other readings of its tensors.
#include "harness/check/other_readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "harness/compare/statistics.h"
#include "harness/diagnose/alternative_search.h"

namespace plumbline {
namespace {

constexpr double reading_cost = 5e7;        // see select_rows
constexpr std::int64_t max_permuted = 256;  // samples or heads
constexpr std::int64_t probes = 3;          // rows examined in each sample and head
constexpr double same_answer_rms = 3;       // rms of (output - reference) / sigma over a row
constexpr double same_lse_sigmas = 2 * Limits{}.lse;
constexpr std::size_t min_correlated_elements = 256;  // elements needed for a correlation
// Outputs of other problems correlate with the reference by chance if rows have much in common, as
// means of many values of V do. Most wrong outputs of this problem correlate by more than 0.9.
constexpr double min_correlation = 0.2;
// Largest share of an unrelated output's elements that may be within the peak limit.
constexpr double max_near_share = 0.1;

class Readings {
 public:
  Readings(const Dump& dump, const RoundingSpec& spec)
      : dump_(dump), geometry_(*dump.geometry), problem_(dump.problem()), spec_(spec) {}

  std::vector<std::string> run() const {
    if (problem_.is_merge() || problem_.head_dim_vo == 0 || geometry_.total_q() == 0) return {};
    for (const auto& reading :
         {&Readings::other_layout, &Readings::q_and_k, &Readings::k_and_v, &Readings::permuted}) {
      if (auto sentences = (this->*reading)(); !sentences.empty()) return sentences;
    }
    return {};
  }

 private:
  // Returns true if the spec that judged the dump, or a rounding model of the ladder, explains the
  // output for this geometry and these inputs.
  bool explains(const Geometry& geometry, const InputView& inputs, bool with_lse) const {
    const RowSelection rows = select_rows(geometry, reading_cost);
    const auto elements =
        static_cast<std::int64_t>(rows.rows.size()) * geometry.problem().head_dim_vo;
    OutputView outputs = dump_.outputs();
    for (const RowOutput output : all<RowOutput>()) {
      if (!with_lse || output != RowOutput::lse) outputs.*row_output_data[output] = nullptr;
    }
    std::vector<RoundingSpec> specs{spec_};
    for (const Rung& rung : ladder(geometry.problem())) specs.push_back(rung.spec);
    return std::ranges::any_of(specs, [&](RoundingSpec spec) {
      spec.lse_base = dump_.lse_base;
      return would_explain(geometry, inputs, outputs, spec, rows,
                           default_limits(spec, geometry.problem(), elements));
    });
  }

  static Layout exchanged(Layout layout) {
    switch (layout) {
      case Layout::padded_bshd:
        return Layout::padded_bhsd;
      case Layout::padded_bhsd:
        return Layout::padded_bshd;
      case Layout::paged_nhd:
        return Layout::paged_hnd;
      case Layout::paged_hnd:
        return Layout::paged_nhd;
      case Layout::ragged:
        break;
    }
    return layout;
  }

  // Returns a geometry for the same bytes with heads and rows (tokens of a page) exchanged. Returns
  // nullopt if the file has other tensors by head or row, whose order would be a guess.
  std::optional<Geometry> in_other_layout() const {
    const bool is_plain = !dump_.mask_tensor && geometry_.bias == nullptr &&
                          !problem_.has_fp8_kv() && problem_.alibi == Alibi::none &&
                          problem_.sinks == Sinks::none;
    if (!is_plain || problem_.layout == Layout::ragged) return std::nullopt;
    Problem other = problem_;
    other.layout = exchanged(problem_.layout);
    other.lse = false;
    StatedLayout layout = layout_of(dump_);
    if (problem_.is_paged()) {
      std::swap(other.page_size, other.heads_kv);
    } else {
      std::swap(other.seq_q, other.heads_q);
      std::swap(other.seq_kv, other.heads_kv);
      if (problem_.lengths == Lengths::full) {
        std::ranges::fill(layout.seqlens_q, static_cast<std::int32_t>(other.seq_q));
        std::ranges::fill(layout.seqlens_kv, static_cast<std::int32_t>(other.seq_kv));
      }
    }
    if (other.heads_kv < 1 || other.heads_q % other.heads_kv != 0 || !fits(other, layout) ||
        !validate(other).empty())
      return std::nullopt;
    return Geometry(other, std::move(layout));
  }

  // Returns true if the lengths fit the tensors, or the page table, of another problem.
  static bool fits(const Problem& other, const StatedLayout& layout) {
    for (std::size_t b = 0; b < layout.seqlens_kv.size(); ++b) {
      const std::int64_t keys = layout.seqlens_kv[b];
      if (!other.is_paged()) {
        if (layout.seqlens_q[b] > other.seq_q || keys > other.seq_kv) return false;
        continue;
      }
      const std::int64_t needed = (keys + other.page_size - 1) / other.page_size;
      if (needed > layout.pages_per_sample) return false;
      const auto first =
          layout.page_table.begin() + static_cast<std::ptrdiff_t>(b) * layout.pages_per_sample;
      if (std::any_of(first, first + needed, [](std::int32_t page) { return page < 0; }))
        return false;
    }
    return true;
  }

  std::vector<std::string> other_layout() const {
    const auto geometry = in_other_layout();
    if (!geometry || !explains(*geometry, dump_.inputs(), false)) return {};
    const std::string_view layout = name(geometry->problem().layout);
    std::vector<std::string> sentences{
        fmt::format("would be explained if the layout were {0}, not {1}: if it is, state layout = "
                    "{0}, because then the stated problem is wrong, not the output",
                    layout, name(problem_.layout))};
    if (dump_.name.ends_with(".safetensors"))
      sentences.push_back(fmt::format("plumbline check {} --layout {}", dump_.name, layout));
    return sentences;
  }

  std::vector<std::string> q_and_k() const {
    const TensorShape &q = geometry_.q, &k = geometry_.k;
    if (q.dtype != k.dtype || q.extent != k.extent || q.stride != k.stride || is_fp8(q.dtype) ||
        geometry_.seqlens_q != geometry_.seqlens_kv || problem_.is_paged())
      return {};
    if (!explains(geometry_, {dump_.k.data(), dump_.q.data(), dump_.v.data()}, true)) return {};
    return {"would be explained if q and k were exchanged",
            "check the order of the kernel's arguments, and of the tensors where the dump is "
            "written"};
  }

  std::vector<std::string> k_and_v() const {
    const TensorShape &k = geometry_.k, &v = geometry_.v;
    if (k.dtype != v.dtype || k.extent != v.extent || k.stride != v.stride) return {};
    StatedLayout layout = layout_of(dump_);
    if (layout.side) std::swap(layout.side->k_scale, layout.side->v_scale);
    const Geometry geometry(problem_, std::move(layout));
    if (!explains(geometry, {dump_.q.data(), dump_.v.data(), dump_.k.data()}, true)) return {};
    return {"would be explained if k and v were exchanged",
            "check the order of the kernel's arguments, and of the tensors where the dump is "
            "written"};
  }

  // Returns a few row indices that all samples have, spread over the shortest sample.
  std::vector<std::int32_t> probe_rows() const {
    const std::int64_t rows = *std::ranges::min_element(geometry_.seqlens_q);
    std::vector<std::int32_t> chosen;
    for (std::int64_t i = 0; i < std::min(rows, probes); ++i)
      chosen.push_back(static_cast<std::int32_t>((rows - 1) - i * rows / probes));
    std::ranges::sort(chosen);
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return chosen;
  }

  std::vector<std::string> permuted() const {
    const std::vector<std::int32_t> rows = probe_rows();
    if (rows.empty()) return {};
    const auto all = [](std::int64_t n) {
      std::vector<std::int32_t> indices(static_cast<std::size_t>(n));
      std::iota(indices.begin(), indices.end(), 0);
      return indices;
    };
    const auto ends = [](std::int64_t n) {
      return n > 1 ? std::vector<std::int32_t>{0, static_cast<std::int32_t>(n - 1)}
                   : std::vector<std::int32_t>{0};
    };
    if (problem_.batch > 1 && problem_.batch <= max_permuted) {
      const std::string samples = exchange(all(problem_.batch), ends(problem_.heads_q), rows, true);
      if (!samples.empty()) return {samples};
    }
    if (problem_.heads_q > 1 && problem_.heads_q <= max_permuted) {
      const std::string heads = exchange(ends(problem_.batch), all(problem_.heads_q), rows, false);
      if (!heads.empty()) return {heads};
    }
    return {};
  }

  // Returns in words which result each sample (or head) of the output holds; "" if one holds no
  // sample's (head's) result, or each holds its own.
  std::string exchange(const std::vector<std::int32_t>& samples,
                       const std::vector<std::int32_t>& heads,
                       const std::vector<std::int32_t>& rows, bool of_samples) const {
    RowSelection selection;
    selection.sampled = true;
    selection.rows_total = geometry_.total_q() * problem_.heads_q;
    for (const std::int32_t sample : samples) {
      for (const std::int32_t head : heads) {
        for (const std::int32_t row : rows) selection.rows.push_back({sample, head, row});
      }
    }
    const Reference reference = compute_reference(geometry_, dump_.inputs(), spec_, selection);
    if (!is_finite(reference)) return "";
    const Got got = got_at(reference);
    const std::size_t of_head = rows.size(), of_sample = of_head * heads.size();
    // Returns the rows of the n-th sample or head, in the order of the selection.
    const auto rows_at = [&](std::size_t n) {
      std::vector<std::size_t> at;
      for (std::size_t r = 0; r < selection.rows.size(); ++r) {
        if ((of_samples ? r / of_sample : r % of_sample / of_head) == n) at.push_back(r);
      }
      return at;
    };
    const std::size_t count = of_samples ? samples.size() : heads.size();
    std::vector<std::vector<std::size_t>> at;
    for (std::size_t n = 0; n < count; ++n) at.push_back(rows_at(n));
    std::vector<std::size_t> holds(count);
    for (std::size_t n = 0; n < count; ++n) {
      holds[n] = n;
      if (holds_answer(reference, got, at[n], at[n])) continue;
      std::size_t other = 0;
      while (other < count && !holds_answer(reference, got, at[n], at[other])) ++other;
      if (other == count) return "";
      holds[n] = other;
    }
    return exchange_text(holds, of_samples ? "sample" : "head");
  }

  // The outputs at the reference's rows, [R, D] and [R]. `lse` is empty if the dump has none.
  struct Got {
    std::vector<double> o, lse;
  };
  Got got_at(const Reference& reference) const {
    const OutputView outputs = dump_.outputs();
    Got got{rows_of(geometry_, outputs, reference), {}};
    if (outputs.lse == nullptr) return got;
    for (const RowId& id : reference.selection.rows)
      got.lse.push_back(lse_at(geometry_, outputs, id));
    return got;
  }

  // Returns true if output and LSE at rows `mine` are those of rows `theirs`, up to rounding.
  static bool holds_answer(const Reference& reference, const Got& got,
                           const std::vector<std::size_t>& mine,
                           const std::vector<std::size_t>& theirs) {
    const auto columns = static_cast<std::size_t>(reference.columns);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      if (reference.visible[theirs[i]] == 0) return false;
      double squares = 0;
      for (std::size_t j = 0; j < columns; ++j) {
        const std::size_t at = theirs[i] * columns + j;
        const double error = got.o[mine[i] * columns + j] - reference.o[at];
        if (error != 0) squares += error * error / (reference.sigma[at] * reference.sigma[at]);
      }
      const double most = same_answer_rms * same_answer_rms * static_cast<double>(columns);
      if (!(squares <= most)) return false;
      if (got.lse.empty()) continue;
      const double of_lse = std::abs(got.lse[mine[i]] - reference.lse[theirs[i]]);
      if (!(of_lse <= same_lse_sigmas * reference.lse_sigma[theirs[i]])) return false;
    }
    return true;
  }

  static std::string exchange_text(const std::vector<std::size_t>& holds, std::string_view what) {
    constexpr std::size_t max_named = 3;
    std::string text;
    std::size_t moved = 0;
    for (std::size_t n = 0; n < holds.size(); ++n) {
      if (holds[n] == n || ++moved > max_named) continue;
      text += moved == 1 ? fmt::format("{0} {1} of the output contains the result of {0} {2}", what,
                                       n, holds[n])
                         : fmt::format(", {} that of {}", n, holds[n]);
    }
    if (moved == 0) return "";
    if (moved > max_named) text += fmt::format(" and so on, {} in all", moved);
    return fmt::format("would be explained if {}s were exchanged: {}", what, text);
  }

  const Dump& dump_;
  const Geometry& geometry_;
  const Problem& problem_;
  const RoundingSpec& spec_;
};

// Centred sums of products of the elements of output and reference.
struct Correlation {
  std::size_t count = 0, near = 0;
  double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
  void add(double x, double y) {
    ++count;
    const double dx = x - mean_x, dy = y - mean_y;
    mean_x += dx / static_cast<double>(count);
    mean_y += dy / static_cast<double>(count);
    xx += dx * (x - mean_x);
    yy += dy * (y - mean_y);
    xy += dx * (y - mean_y);
  }
  double value() const { return xy / std::sqrt(xx * yy); }
};

}  // namespace

std::vector<std::string> other_readings(const Dump& dump, const RoundingSpec& spec) {
  return Readings(dump, spec).run();
}

std::string unrelated(const Dump& dump, const Examination& judged) {
  const Reference& reference = judged.reference;
  const auto columns = static_cast<std::size_t>(reference.columns);
  const std::vector<double> got = rows_of(*dump.geometry, dump.outputs(), reference);
  const double limit =
      default_limits(judged.trial.rung.spec, dump.problem(), static_cast<std::int64_t>(got.size()))
          .peak;
  Correlation correlation;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (reference.visible[i / columns] == 0) continue;
    if (!std::isfinite(got[i])) return "";
    correlation.add(got[i], reference.o[i]);
    if (std::abs(judged.comparison.z[i]) <= limit) ++correlation.near;
  }
  if (correlation.count < min_correlated_elements || correlation.yy == 0) return "";
  if (correlation.xx == 0) {
    return fmt::format(
        "the output is {:.6g} in every element: it was never written, for example because the "
        "kernel did not run",
        correlation.mean_x);
  }
  const double near =
      static_cast<double>(correlation.near) / static_cast<double>(correlation.count);
  if (near > max_near_share || !(std::abs(correlation.value()) < min_correlation)) return "";
  return fmt::format(
      "the output does not match these inputs at all (correlation {:+.2f} over {} "
      "elements): it was computed from other inputs, or its tensors have another layout",
      correlation.value(), correlation.count);
}

}  // namespace plumbline
