// Recomputes some rows under each explanation.
#include "harness/diagnose/wrong_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "harness/diagnose/row_calculator.h"

namespace plumbline {
namespace {

constexpr double cost_limit = 2e6;  // multiply-adds of one explanation
constexpr std::size_t worst_rows = 4;

// The row that a row's output would be, and what it would be computed from.
struct Explanation {
  std::string sentence;
  std::function<RowId(RowId)> place;
  std::function<void(RowVariation&, const RowId&)> vary;
  std::function<void(std::vector<double>&)> change_output;
};

class PlaceSearch {
 public:
  explicit PlaceSearch(const FailingOutput& failing)
      : geometry_(*failing.geometry),
        problem_(geometry_.problem()),
        calculator_(failing),
        rows_(informative_rows(failing, worst_rows, cost_limit)) {}

  std::string sentence() const {
    for (const Explanation& explanation : all()) {
      if (explains(explanation)) return explanation.sentence;
    }
    return "";
  }

 private:
  bool explains(const Explanation& explanation) const {
    return !rows_.empty() && std::ranges::all_of(rows_, [&](std::size_t r) {
      const RowId id = calculator_.row(r), place = explanation.place ? explanation.place(id) : id;
      if (!is_row(place)) return false;
      RowVariation variation = calculator_.stated(place);
      if (explanation.vary) explanation.vary(variation, place);
      CalculatedRow answer = calculator_.answer(place, variation);
      if (explanation.change_output) {
        explanation.change_output(answer.o);
        answer.has_stated_values = false;
      }
      return calculator_.fits(calculator_.misfit(r, answer));
    });
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
      all.push_back({std::move(sentence), std::move(of), nullptr, nullptr});
    };
    place("each row has the output of the next row", [](RowId id) { return ++id.row, id; });
    place("each row has the output of the row before", [](RowId id) { return --id.row, id; });
    place("rows are exchanged in pairs", [](RowId id) { return id.row ^= 1, id; });
    place("rows are in reversed order",
          [&](RowId id) { return id.row = geometry_.length_q(id.sample) - 1 - id.row, id; });
    if (heads > 1) {
      place("query heads are exchanged in pairs", [](RowId id) { return id.head ^= 1, id; });
      place("query heads are in reversed order",
            [=](RowId id) { return id.head = heads - 1 - id.head, id; });
      place("the output has another layout: heads before rows, read as rows before heads",
            [&](RowId id) { return transposed(id); });
    }
    if (batch > 1) {
      place("samples are exchanged: each has the output of the next sample",
            [=](RowId id) { return id.sample = (id.sample + 1) % batch, id; });
    }
  }

  // Explanations by another Q, K or V.
  void add_tensors(std::vector<Explanation>& all) const {
    const auto vary = [&](std::string sentence,
                          std::function<void(RowVariation&, const RowId&)> of) {
      all.push_back({std::move(sentence), nullptr, std::move(of), nullptr});
    };
    const auto query = [&](std::string sentence, std::function<RowId(RowId)> of) {
      vary(std::move(sentence), [this, of](RowVariation& variation, const RowId& id) {
        const RowId place = of(id);
        if (is_query(place)) variation.query = place;
      });
    };
    const std::int64_t batch = problem_.batch;
    if (batch > 1) {
      query("Q of sample 0 is read for every sample", [](RowId id) { return id.sample = 0, id; });
      query("Q of the next sample is read",
            [=](RowId id) { return id.sample = (id.sample + 1) % batch, id; });
      vary("K and V of the next sample are read", [=](RowVariation& variation, const RowId&) {
        variation.key_address = variation.value_address = [=](KeyAddress at) {
          return KeyAddress{(at.sample + 1) % batch, at.key};
        };
      });
    }
    if (problem_.heads_q > 1) {
      query("Q has another layout: heads before rows, read as rows before heads",
            [this](RowId id) { return transposed(id); });
    }
    if (problem_.head_dim_qk == problem_.head_dim_vo) {
      vary("K and V are exchanged", [](RowVariation& variation, const RowId&) {
        variation.key_is_value = variation.value_is_key = true;
      });
      vary("K is read in place of V",
           [](RowVariation& variation, const RowId&) { variation.value_is_key = true; });
      vary("V is read in place of K",
           [](RowVariation& variation, const RowId&) { variation.key_is_value = true; });
    }
    for (const double factor : {0.5, 2.0}) {
      if (!problem_.has_fp8_kv()) break;
      vary(fmt::format("K and V are {} as large: e4m3 read as e4m3fnuz, or the reverse",
                       factor < 1 ? "half" : "twice"),
           [=](RowVariation& variation, const RowId&) {
             variation.key_factor = variation.value_factor = factor;
           });
    }
  }

  void add_columns(std::vector<Explanation>& all) const {
    const auto half = static_cast<std::size_t>(problem_.head_dim_vo / 2);
    const auto output = [&](std::string sentence, std::function<void(std::vector<double>&)> of) {
      all.push_back({std::move(sentence), nullptr, nullptr, std::move(of)});
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
      all.push_back({std::move(sentence), nullptr,
                     [of](RowVariation& variation, const RowId&) { variation.change_query = of; },
                     nullptr});
    };
    for (const std::size_t cut : {8UL, 16UL, 32UL, 64UL}) {
      if (cut >= dims) break;
      query(fmt::format("the last {} dimensions of Q K^T are left out", cut),
            [=](std::span<double> q) { std::ranges::fill(q.last(cut), 0.0); });
    }
    if (dims % 2 != 0) return;
    all.push_back({"the first half of K's dimensions is repeated in place of the second half",
                   nullptr,
                   [=](RowVariation& variation, const RowId&) {
                     variation.change_key = [=](std::span<double> k) {
                       std::ranges::copy(k.first(dims / 2),
                                         k.begin() + static_cast<std::ptrdiff_t>(dims / 2));
                     };
                   },
                   nullptr});
  }

  // Explanations by keys from a bound on.
  void add_keys(std::vector<Explanation>& all) const {
    const auto keys = [&](std::string sentence, std::function<KeyAddress(KeyAddress)> of) {
      all.push_back({std::move(sentence), nullptr,
                     [of](RowVariation& variation, const RowId&) {
                       variation.key_address = variation.value_address = of;
                     },
                     nullptr});
    };
    for (std::int64_t bound = 16; bound < problem_.seq_kv; bound *= 2) {
      keys(fmt::format("keys from {} on are read from key 0 on: an offset modulo {}", bound, bound),
           [=](KeyAddress at) {
             return KeyAddress{at.sample, at.key % bound};
           });
      keys(fmt::format("keys from {} on are zero vectors", bound), [=](KeyAddress at) {
        return at.key < bound ? at : KeyAddress{at.sample, -1};
      });
    }
  }

  RowId transposed(RowId id) const {
    const std::int64_t rows = geometry_.length_q(id.sample),
                       at = id.row * problem_.heads_q + id.head;
    id.head = at / rows;
    id.row = at % rows;
    return id;
  }
  bool is_query(const RowId& id) const {
    return id.row >= 0 && id.row < geometry_.length_q(id.sample) && id.head >= 0 &&
           id.head < problem_.heads_q;
  }
  bool is_row(const RowId& id) const {
    return is_query(id) && geometry_.visible_count(id.sample, id.row, id.head) > 0;
  }

  const Geometry& geometry_;
  const Problem& problem_;
  const RowCalculator calculator_;
  const std::vector<std::size_t> rows_;
};

}  // namespace

std::string wrong_places(const FailingOutput& failing) {
  return failing.geometry->problem().is_merge() ? "" : PlaceSearch(failing).sentence();
}

}  // namespace plumbline
