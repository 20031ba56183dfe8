// Recomputes some rows under each explanation.
#include "harness/diagnose/wrong_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/diagnose/error_parts.h"
#include "harness/diagnose/fp8_factors.h"
#include "harness/diagnose/key_bounds.h"
#include "harness/diagnose/row_calculator.h"

namespace plumbline {
namespace {

constexpr double place_cost_limit = 2e6;  // multiply-adds of one explanation
constexpr std::size_t place_rows = 4;

// Describes where a row's output comes from. A function that is not set changes nothing.
struct Explanation {
  std::string sentence;
  std::function<RowId(RowId)> place = nullptr;  // the row whose output it would be
  std::function<RowId(RowId)> query = nullptr;  // the row whose Q would be read
  std::function<void(RowVariation&)> vary = nullptr;
  std::function<void(std::vector<double>&)> change_output = nullptr;
};

// An element of K or V of a sample.
struct Element {
  std::int64_t key = 0, head = 0, dim = 0;
};

class PlaceSearch {
 public:
  explicit PlaceSearch(const FailingOutput& failing)
      : failing_(failing),
        geometry_(*failing.geometry),
        problem_(geometry_.problem()),
        calculator_(failing),
        rows_(informative_rows(failing, place_rows, place_cost_limit)) {
    for (const std::size_t r : rows_) is_wrong_.push_back(!calculator_.is_right(r));
  }

  std::string sentence() const {
    if (std::ranges::count(is_wrong_, true) == 0) return "";
    for (const Explanation& explanation : all()) {
      if (failing_.late()) break;
      // A kernel may store O and the LSE by different rules.
      if (explains(explanation, false) || (explanation.place && explains(explanation, true)))
        return explanation.sentence;
    }
    return "";
  }

 private:
  // A row without an answer does not count, for example a last row that has no next row. An
  // explanation must fit all rows that count. These must be at least half of the rows, and include
  // two wrong rows if there are as many.
  bool explains(const Explanation& explanation, bool lse_as_stated) const {
    std::size_t tested = 0, wrong = 0;
    for (std::size_t n = 0; n < rows_.size(); ++n) {
      const auto answer = answer_of(explanation, calculator_.row(rows_[n]), lse_as_stated);
      if (!answer) continue;
      if (!calculator_.fits(calculator_.misfit(rows_[n], *answer))) return false;
      ++tested;
      wrong += is_wrong_[n] ? 1 : 0;
    }
    const auto all_wrong = static_cast<std::size_t>(std::ranges::count(is_wrong_, true));
    return 2 * tested >= rows_.size() && tested >= std::min<std::size_t>(2, rows_.size()) &&
           wrong >= std::min<std::size_t>(2, all_wrong);
  }

  std::optional<CalculatedRow> answer_of(const Explanation& explanation, const RowId& id,
                                         bool lse_as_stated) const {
    const RowId place = explanation.place ? explanation.place(id) : id,
                query = explanation.query ? explanation.query(place) : place;
    if (!calculator_.is_row(place) || !calculator_.is_query(query)) return std::nullopt;
    RowVariation variation = calculator_.stated(place);
    variation.query = query;
    if (explanation.vary) explanation.vary(variation);
    CalculatedRow answer = calculator_.answer(place, variation);
    if (explanation.change_output) {
      explanation.change_output(answer.o);
      answer.has_stated_values = false;
    }
    if (lse_as_stated) answer.lse = calculator_.answer(id, calculator_.stated(id)).lse;
    return answer;
  }

  std::vector<Explanation> all() const {
    std::vector<Explanation> found;
    add_rows(found);
    add_tensors(found);
    add_columns(found);
    add_keys(found);
    return found;
  }

  void add_rows(std::vector<Explanation>& all) const {
    const std::int64_t heads = problem_.heads_q, batch = problem_.batch;
    const auto place = [&](std::string sentence, std::function<RowId(RowId)> of) {
      all.push_back({.sentence = std::move(sentence), .place = std::move(of)});
    };
    place("each row has the output of the next row", [](RowId id) { return ++id.row, id; });
    place("each row has the output of the row before", [](RowId id) { return --id.row, id; });
    place("rows are exchanged in pairs", [](RowId id) { return id.row ^= 1, id; });
    place("the wrong rows are exchanged in pairs", [wrong = wrong_rows()](RowId id) {
      if (wrong.contains({id.sample, id.row})) id.row ^= 1;
      return id;
    });
    place("rows are in reversed order",
          [&](RowId id) { return id.row = geometry_.length_q(id.sample) - 1 - id.row, id; });
    if (heads > 1) {
      place("query heads are exchanged in pairs", [](RowId id) { return id.head ^= 1, id; });
      place("query heads are in reversed order",
            [=](RowId id) { return id.head = heads - 1 - id.head, id; });
      place("the output has another layout: heads before rows, read as rows before heads",
            [&](RowId id) { return calculator_.with_heads_first(id); });
      place("the output has another layout: rows before heads, read as heads before rows",
            [&](RowId id) { return calculator_.with_rows_first(id); });
    }
    if (batch > 1) {
      place("samples are exchanged: each has the output of the next sample",
            [=](RowId id) { return id.sample = (id.sample + 1) % batch, id; });
    }
  }

  // Returns (sample, row) of clearly wrong rows.
  std::set<std::pair<std::int64_t, std::int64_t>> wrong_rows() const {
    const auto rows = error_by(*failing_.reference, *failing_.comparison, [](const RowId& id) {
      return std::tuple<std::int64_t, std::int64_t, std::int64_t>{id.sample, id.row, id.head};
    });
    std::set<std::pair<std::int64_t, std::int64_t>> wrong;
    for (const auto& [place, row] : rows) {
      if (row.is_wrong()) wrong.emplace(std::get<0>(place), std::get<1>(place));
    }
    return wrong;
  }

  // Explanations by another Q, K or V.
  void add_tensors(std::vector<Explanation>& all) const {
    const auto vary = [&](std::string sentence, std::function<void(RowVariation&)> of) {
      all.push_back({.sentence = std::move(sentence), .vary = std::move(of)});
    };
    const auto query = [&](std::string sentence, std::function<RowId(RowId)> of) {
      all.push_back({.sentence = std::move(sentence), .query = std::move(of)});
    };
    const std::int64_t batch = problem_.batch;
    if (batch > 1) {
      query("Q of sample 0 is read for every sample", [](RowId id) { return id.sample = 0, id; });
      query("Q of the next sample is read",
            [=](RowId id) { return id.sample = (id.sample + 1) % batch, id; });
      vary("K and V of the next sample are read", [=, this](RowVariation& variation) {
        variation.key_address = variation.value_address = [=, this](KeyAddress at) {
          const std::int64_t next = (at.sample + 1) % batch;
          return KeyAddress{next, at.key < geometry_.length_kv(next) ? at.key : -1};
        };
      });
    }
    if (!problem_.is_padded()) {
      query("Q of a sample is read from the offset of its keys", [this](RowId id) {
        const std::int64_t token =
            geometry_.cu_seqlens_kv[static_cast<std::size_t>(id.sample)] + id.row;
        const auto after = std::ranges::upper_bound(geometry_.cu_seqlens_q, token);
        const auto sample = after - geometry_.cu_seqlens_q.begin() - 1;
        if (after == geometry_.cu_seqlens_q.end()) return id.row = -1, id;  // after the end
        id.sample = static_cast<decltype(id.sample)>(sample);
        id.row = static_cast<decltype(id.row)>(
            token - geometry_.cu_seqlens_q[static_cast<std::size_t>(sample)]);
        return id;
      });
    }
    if (problem_.heads_q > 1) {
      query("Q has another layout: heads before rows, read as rows before heads",
            [this](RowId id) { return calculator_.with_heads_first(id); });
      query("Q has another layout: rows before heads, read as heads before rows",
            [this](RowId id) { return calculator_.with_rows_first(id); });
    }
    if (problem_.group() == 1 && geometry_.seqlens_q == geometry_.seqlens_kv) {
      vary("Q and K are exchanged", [this](RowVariation& variation) {
        variation.read_query = [this](const RowId& id, std::span<double> to) {
          calculator_.read_key(id.sample, id.row, id.head, to);
        };
        variation.read_key = [this](std::int64_t sample, std::int64_t key, std::int64_t head,
                                    std::span<double> to) {
          RowId id;
          id.sample = static_cast<decltype(id.sample)>(sample);
          id.row = static_cast<decltype(id.row)>(key);
          id.head = static_cast<decltype(id.head)>(head);
          calculator_.read_query(id, to);
        };
      });
    }
    if (problem_.head_dim_qk == problem_.head_dim_vo) {
      vary("K and V are exchanged",
           [](RowVariation& variation) { variation.key_is_value = variation.value_is_key = true; });
      vary("K is read in place of V",
           [](RowVariation& variation) { variation.value_is_key = true; });
      vary("V is read in place of K",
           [](RowVariation& variation) { variation.key_is_value = true; });
    }
    add_layouts(all);
    add_rounded_inputs(all);
  }

  // Explanations by K and V whose memory has another order of dimensions.
  void add_layouts(std::vector<Explanation>& all) const {
    if (problem_.is_paged() || problem_.scale_tokens() > 0) return;
    // A kernel may order all seq_kv keys of a padded sample, or its valid keys alone.
    if (problem_.is_padded()) add_layouts(all, true);
    add_layouts(all, false);
  }

  // `counts_padding`: the order is that of all keys of a padded sample, not of its valid ones.
  void add_layouts(std::vector<Explanation>& all, bool counts_padding) const {
    const std::int64_t heads = problem_.heads_kv;
    const auto add = [&](std::string_view how, const auto& place) {
      for (const bool is_value : {true, false}) {
        if (auto read = reader(is_value, counts_padding, place)) {
          all.push_back(
              {.sentence = fmt::format("{} has another layout: {}", is_value ? "V" : "K", how),
               .vary = [read, is_value](RowVariation& variation) {
                 (is_value ? variation.read_value : variation.read_key) = read;
               }});
        }
      }
    };
    add("dimensions before keys (transposed)",
        [heads](std::int64_t at, std::int64_t keys, std::int64_t) {
          return Element{at % keys, at / keys % heads, at / keys / heads};
        });
    if (heads == 1) return;
    add("heads before keys", [](std::int64_t at, std::int64_t keys, std::int64_t dims) {
      return Element{at / dims % keys, at / dims / keys, at % dims};
    });
    add("heads before dimensions before keys",
        [](std::int64_t at, std::int64_t keys, std::int64_t dims) {
          return Element{at % keys, at / keys / dims, at / keys % dims};
        });
  }

  // Returns a function that reads each element of a vector from the element that `place` returns
  // for its offset in the stated order: keys, heads, dimensions. Returns an empty function if this
  // would cost too much.
  template <class Place>
  decltype(RowVariation::read_key) reader(bool is_value, bool counts_padding,
                                          const Place& place) const {
    constexpr double max_reads = 4e6;  // elements of one row
    const std::int64_t dims = is_value ? problem_.head_dim_vo : problem_.head_dim_qk;
    if (static_cast<double>(problem_.seq_kv * dims) * static_cast<double>(dims) > max_reads)
      return nullptr;
    const auto read_vector = is_value ? &RowCalculator::read_value : &RowCalculator::read_key;
    return [=, this](std::int64_t sample, std::int64_t key, std::int64_t head,
                     std::span<double> to) {
      std::vector<double> whole(to.size());
      const std::int64_t length = geometry_.length_kv(sample),
                         keys = counts_padding ? problem_.seq_kv : length,
                         first = problem_.padding == Padding::left ? keys - length : 0;
      for (std::size_t j = 0; j < to.size(); ++j) {
        const Element from =
            place(((first + key) * problem_.heads_kv + head) * dims + static_cast<std::int64_t>(j),
                  keys, dims);
        (calculator_.*read_vector)(sample, from.key - first, from.head, whole);
        to[j] = whole[static_cast<std::size_t>(from.dim)];
      }
    };
  }

  // Explanations by fp32 inputs that are rounded before the products.
  void add_rounded_inputs(std::vector<Explanation>& all) const {
    if (problem_.dtype != DType::f32) return;
    struct Rounding {
      const char* how;
      double (*rounded)(double, DType);
    };
    constexpr std::array roundings{
        Rounding{"rounded", [](double x, DType dtype) { return round_to(x, dtype); }},
        Rounding{"rounded",
                 [](double x, DType dtype) {
                   // ties away from zero
                   const double near = round_to(x, dtype), unit = ulp(x, dtype);
                   return std::abs(x - near) == unit / 2 && std::abs(near) < std::abs(x)
                              ? near + std::copysign(unit, x)
                              : near;
                 }},
        Rounding{"cut off", [](double x, DType dtype) { return truncate_to(x, dtype); }}};
    for (const DType dtype : {DType::bf16, DType::f16, DType::tf32}) {
      for (const Rounding& rounding : roundings) {
        const auto change = [rounded = rounding.rounded, dtype](std::span<double> values) {
          for (double& x : values) x = rounded(x, dtype);
        };
        all.push_back({.sentence = fmt::format("Q, K and V are {} to {} before the products",
                                               rounding.how, name(dtype)),
                       .vary = [change](RowVariation& variation) {
                         variation.change_query = variation.change_key = variation.change_value =
                             change;
                       }});
      }
    }
  }

  void add_columns(std::vector<Explanation>& all) const {
    const auto half = static_cast<std::size_t>(problem_.head_dim_vo / 2);
    const auto output = [&](std::string sentence, std::function<void(std::vector<double>&)> of) {
      all.push_back({.sentence = std::move(sentence), .change_output = std::move(of)});
    };
    output("the output is all zeros", [](std::vector<double>& o) { std::ranges::fill(o, 0.0); });
    output("the output is negated: a wrong sign", [](std::vector<double>& o) {
      for (double& x : o) x = -x;
    });
    output("the halves of the output's columns are exchanged", [=](std::vector<double>& o) {
      std::ranges::rotate(o, o.begin() + static_cast<std::ptrdiff_t>(half));
    });
    const auto dims = static_cast<std::size_t>(problem_.head_dim_qk);
    const auto query = [&](std::string sentence, std::function<void(std::span<double>)> of) {
      all.push_back({.sentence = std::move(sentence),
                     .vary = [of](RowVariation& variation) { variation.change_query = of; }});
    };
    for (const std::size_t cut : {8UL, 16UL, 32UL, 64UL}) {
      if (cut >= dims) break;
      query(fmt::format("the last {} dimensions of Q K^T are left out", cut),
            [=](std::span<double> q) { std::ranges::fill(q.last(cut), 0.0); });
    }
    if (dims % 2 != 0) return;
    all.push_back(
        {.sentence = "the first half of K's dimensions is repeated in place of the second half",
         .vary = [=](RowVariation& variation) {
           variation.change_key = [=](std::span<double> k) {
             std::ranges::copy(k.first(dims / 2),
                               k.begin() + static_cast<std::ptrdiff_t>(dims / 2));
           };
         }});
  }

  // Explanations by keys that are read from key 0 on instead of from a bound on.
  void add_keys(std::vector<Explanation>& all) const {
    const auto wrapped = [&](std::int64_t bound, std::string_view why) {
      all.push_back(
          {.sentence = fmt::format("keys from {} on are read from key 0 on: an offset modulo {}{}",
                                   bound, bound, why),
           .vary = [=](RowVariation& variation) {
             variation.key_address = variation.value_address = [=](KeyAddress at) {
               return KeyAddress{at.sample, at.key % bound};
             };
           }});
    };
    for (const OffsetBound& offset : offset_bounds()) {
      if (!offset.of_sample || problem_.is_paged()) continue;
      const std::int64_t bound = offset.key(geometry_, false, longest_sample(), 0);
      if (bound > 0 && bound < problem_.seq_kv) wrapped(bound, ", where " + offset.text());
    }
    for (std::int64_t bound = 16; bound < problem_.seq_kv; bound *= 2) wrapped(bound, "");
  }

  std::int64_t longest_sample() const {
    return std::ranges::max_element(geometry_.seqlens_kv) - geometry_.seqlens_kv.begin();
  }

  const FailingOutput& failing_;
  const Geometry& geometry_;
  const Problem& problem_;
  const RowCalculator calculator_;
  const std::vector<std::size_t> rows_;
  std::vector<bool> is_wrong_;  // the stated answer does not fit this row
};

std::string place_sentence(const FailingOutput& failing) { return PlaceSearch(failing).sentence(); }

}  // namespace

std::string wrong_places(const FailingOutput& failing) {
  if (failing.geometry->problem().is_merge()) return "";
  for (const auto& explain : {&place_sentence, &zeros_from_a_key, &other_fp8_factors}) {
    if (std::string found = explain(failing); !found.empty()) return found;
  }
  return "";
}

}  // namespace plumbline
