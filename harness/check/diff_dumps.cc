// Compares two dumps: checks that they state the same problem, finds the rows that correspond, and
// chooses those that are compared with fp64.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "harness/base/floating_point_state.h"
#include "harness/check/diff_measured.h"
#include "harness/check/examine.h"
#include "harness/compare/statistics.h"
#include "harness/reference/reference_context.h"

namespace plumbline {
namespace {

// A valid row of a sample in a, `row_a`, and the corresponding one in b, `row_b`.
struct RowPair {
  std::int32_t sample = 0, head = 0, row_a = 0, row_b = 0;
};

const std::byte* element(const std::vector<std::byte>& tensor, std::int64_t offset, DType dtype) {
  return tensor.data() + static_cast<std::size_t>(offset) * size_in_bytes(dtype);
}

tl::unexpected<Errors> different_problem(std::string message) {
  return fail("a and b state different problems: " + std::move(message),
              "diff compares two outputs of the same q, k and v under the same mask and "
              "scale; write both dumps from one call's inputs");
}

// Returns the index of the first of `n` elements whose bits differ, or -1.
std::int64_t first_difference(const std::byte* a, const std::byte* b, std::int64_t n, DType dtype) {
  const std::size_t size = size_in_bytes(dtype);
  if (std::memcmp(a, b, static_cast<std::size_t>(n) * size) == 0) return -1;
  for (std::int64_t j = 0; j < n; ++j) {
    if (std::memcmp(a + static_cast<std::size_t>(j) * size, b + static_cast<std::size_t>(j) * size,
                    size) != 0)
      return j;
  }
  return -1;
}

std::string difference_text(std::string_view tensor, std::string_view place, const std::byte* a,
                            const std::byte* b, DType dtype) {
  return fmt::format("{} differs first at {}: {:.9g} in a, {:.9g} in b", tensor, place,
                     decode_at(dtype, a, 0), decode_at(dtype, b, 0));
}

// Returns the scale of an fp8 output, "none" for other outputs.
std::string out_scale(const Dump& dump) {
  const std::vector<float>& scale = dump.geometry->side.out_scale;
  return scale.empty() ? "none" : fmt::format("{:.9g}", scale.front());
}

Result<void> same_shapes(const Dump& a, const Dump& b) {
  const Problem &x = a.problem(), &y = b.problem();
  struct Field {
    std::string_view what;
    std::string a, b;
  };
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  const auto word = [](DType dtype) { return std::string(name(dtype)); };
  for (const Field& field :
       {Field{"dtype of q", word(x.dtype), word(y.dtype)},
        Field{"dtype of k and v", word(x.kv()), word(y.kv())},
        Field{"merge", std::string(name(x.merge)), std::string(name(y.merge))},
        Field{"batch", number(x.batch), number(y.batch)},
        Field{"heads_q", number(x.heads_q), number(y.heads_q)},
        Field{"heads_kv", number(x.heads_kv), number(y.heads_kv)},
        Field{"head_dim_qk", number(x.head_dim_qk), number(y.head_dim_qk)},
        Field{"head_dim_vo", number(x.head_dim_vo), number(y.head_dim_vo)},
        Field{"scale of out", out_scale(a), out_scale(b)},
        Field{"softcap", fmt::format("{:.9g}", x.softcap), fmt::format("{:.9g}", y.softcap)},
        Field{"scale", fmt::format("{:.9g}", x.softmax_scale()),
              fmt::format("{:.9g}", y.softmax_scale())}}) {
    if (field.a != field.b)
      return different_problem(
          fmt::format("{} is {} in a and {} in b", field.what, field.a, field.b));
  }
  for (std::int64_t sample = 0; sample < x.batch; ++sample) {
    const std::int64_t keys_a = a.geometry->length_kv(sample),
                       keys_b = b.geometry->length_kv(sample);
    if (keys_a != keys_b)
      return different_problem(
          fmt::format("sample {} has {} keys in a and {} in b", sample, keys_a, keys_b));
  }
  return {};
}

using Scales = std::vector<float> SideInputs::*;
// Returns the scale of an fp8 tensor at `at`; 1 for other dtypes.
float scale_of(const Dump& dump, Scales scales, std::size_t at) {
  const std::vector<float>& values = dump.geometry->side.*scales;
  return values.empty() ? 1.0F : values[at];
}
tl::unexpected<Errors> other_scale(std::string_view name, const std::string& place, float a,
                                   float b) {
  return different_problem(fmt::format(
      "the scale of {} differs first at {}: {:.9g} in a, {:.9g} in b", name, place, a, b));
}

// Geometry::k_offset or Geometry::v_offset.
using Offset = std::int64_t (Geometry::*)(std::int64_t, std::int64_t, std::int64_t) const;
Result<void> same_keys(const Dump& a, const Dump& b, std::string_view name,
                       std::vector<std::byte> Dump::*tensor, Offset offset, std::int64_t columns,
                       Scales scales) {
  const Problem& problem = a.problem();
  const Geometry &ga = *a.geometry, &gb = *b.geometry;
  const DType dtype = name == "k" ? ga.k.dtype : ga.v.dtype;
  for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
    for (std::int64_t key = 0; key < ga.length_kv(sample); ++key) {
      if (problem.is_merge() && !ga.sees(sample, 0, key)) continue;  // empty part
      for (std::int64_t head = 0; head < problem.heads_kv; ++head) {
        const auto scale = [&](const Dump& dump) {
          return scale_of(dump, scales, kv_scale_at(dump.problem(), sample, key, head));
        };
        if (scale(a) != scale(b)) {
          return other_scale(name, fmt::format("sample {} key {} head {}", sample, key, head),
                             scale(a), scale(b));
        }
        const std::byte* x = element(a.*tensor, (ga.*offset)(sample, key, head), dtype);
        const std::byte* y = element(b.*tensor, (gb.*offset)(sample, key, head), dtype);
        const std::int64_t j = first_difference(x, y, columns, dtype);
        if (j < 0) continue;
        const auto bytes = static_cast<std::size_t>(j) * size_in_bytes(dtype);
        return different_problem(difference_text(
            name, fmt::format("sample {} key {} head {} column {}", sample, key, head, j),
            x + bytes, y + bytes, dtype));
      }
    }
  }
  return {};
}

// Returns an error unless row `ra` of a head in a and `rb` in b have equal keys, bias, slope and
// sink.
Result<void> same_logits(const Geometry& a, const Geometry& b, std::int64_t sample,
                         std::int64_t head, std::int64_t ra, std::int64_t rb) {
  const KeyRange keys = a.visible_keys(sample, ra, head), of_b = b.visible_keys(sample, rb, head);
  if (keys.size() != of_b.size() || (keys.size() > 0 && keys != of_b)) {
    return different_problem(
        fmt::format("row {} of sample {} sees keys [{}, {}) in a and [{}, {}) in "
                    "b",
                    ra, sample, keys.begin, keys.end, of_b.begin, of_b.end));
  }
  const std::string place = fmt::format("sample {} head {} row {}", sample, head, ra);
  const RowId row_a{static_cast<std::int32_t>(sample), static_cast<std::int32_t>(head),
                    static_cast<std::int32_t>(ra)},
      row_b{row_a.sample, row_a.head, static_cast<std::int32_t>(rb)};
  const LogitShape of_row_a = logit_shape(a, a.side, row_a),
                   of_row_b = logit_shape(b, b.side, row_b);
  for (std::int64_t key = keys.begin; key < keys.end; ++key) {
    const bool in_a = a.sees(sample, ra, key, head), in_b = b.sees(sample, rb, key, head);
    if (in_a != in_b)
      return different_problem(
          fmt::format("{} sees key {} only in {}", place, key, in_a ? "a" : "b"));
    if (in_a && of_row_a.bias(key) != of_row_b.bias(key)) {
      return different_problem(
          fmt::format("what is added to the logit of key {} in {} is {:.9g} in a "
                      "and {:.9g} in b",
                      key, place, of_row_a.bias(key), of_row_b.bias(key)));
    }
  }
  const double sink_a = lse_without_keys(a.side, head, true),
               sink_b = lse_without_keys(b.side, head, true);
  if (sink_a == sink_b) return {};
  return different_problem(
      fmt::format("the sink of head {} is {:.9g} in a and {:.9g} in b", head, sink_a, sink_b));
}

// Rows that both dumps have.
struct CommonRows {
  std::vector<RowPair> pairs;     // with a visible key, ordered by (sample, head, row)
  std::int64_t without_keys = 0;  // rows that see no key
};

// Returns an error if q, its scales, the visible keys, biases or sinks differ, or if no row
// corresponds.
Result<CommonRows> corresponding_rows(const Dump& a, const Dump& b) {
  const Problem& problem = a.problem();
  const Geometry &ga = *a.geometry, &gb = *b.geometry;
  CommonRows rows;
  for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
    const std::int64_t common = std::min(ga.length_q(sample), gb.length_q(sample));
    for (std::int64_t head = 0; head < problem.heads_q; ++head) {
      for (std::int64_t from_end = common; from_end > 0; --from_end) {
        const std::int64_t ra = ga.length_q(sample) - from_end, rb = gb.length_q(sample) - from_end;
        if (auto same = same_logits(ga, gb, sample, head, ra, rb); !same)
          return tl::unexpected(same.error());
        const auto scale = [&](const Dump& dump, std::int64_t row) {
          return scale_of(dump, &SideInputs::q_scale,
                          q_scale_at(dump.problem(), sample, row, head));
        };
        if (scale(a, ra) != scale(b, rb)) {
          return other_scale("q", fmt::format("sample {} head {} row {}", sample, head, ra),
                             scale(a, ra), scale(b, rb));
        }
        const std::byte* x = element(a.q, ga.q_offset(sample, ra, head), ga.q.dtype);
        const std::byte* y = element(b.q, gb.q_offset(sample, rb, head), ga.q.dtype);
        const std::int64_t j = first_difference(x, y, problem.head_dim_qk, ga.q.dtype);
        if (j >= 0) {
          const auto bytes = static_cast<std::size_t>(j) * size_in_bytes(ga.q.dtype);
          return different_problem(difference_text(
              "q", fmt::format("sample {} head {} row {} column {}", sample, head, ra, j),
              x + bytes, y + bytes, ga.q.dtype));
        }
        if (ga.visible_count(sample, ra, head) == 0) {
          ++rows.without_keys;
          continue;
        }
        rows.pairs.push_back({static_cast<std::int32_t>(sample), static_cast<std::int32_t>(head),
                              static_cast<std::int32_t>(ra), static_cast<std::int32_t>(rb)});
      }
    }
  }
  if (rows.pairs.empty()) return different_problem("they have no row with a visible key in common");
  return rows;
}

Result<CommonRows> find_common_rows(const Dump& a, const Dump& b) {
  for (const auto& [letter, dump] : {std::pair{"a", &a}, std::pair{"b", &b}}) {
    if (dump->out.empty())
      return fail(fmt::format("{} ({}) has no output", letter, dump->name), "add the tensor out");
  }
  if (auto same = same_shapes(a, b); !same) return tl::unexpected(same.error());
  const Problem& problem = a.problem();
  if (auto same = same_keys(a, b, "k", &Dump::k, &Geometry::k_offset, problem.head_dim_qk,
                            &SideInputs::k_scale);
      !same)
    return tl::unexpected(same.error());
  if (auto same = same_keys(a, b, "v", &Dump::v, &Geometry::v_offset, problem.head_dim_vo,
                            &SideInputs::v_scale);
      !same)
    return tl::unexpected(same.error());
  return corresponding_rows(a, b);
}

std::vector<double> output_row(const Dump& dump, std::int32_t sample, std::int32_t row,
                               std::int32_t head) {
  const DType dtype = dump.problem().out();
  std::vector<double> values(static_cast<std::size_t>(dump.problem().head_dim_vo));
  decode(dtype, element(dump.out, dump.geometry->out_offset(sample, row, head), dtype), values);
  return values;
}

// The equal elements of all common rows, with or without a reference. NaN equals nothing, and -0
// equals 0.
struct AllRows {
  std::int64_t elements = 0, equal = 0;
  std::vector<DiffCell> heads;     // sets only sample, head and bit_equal
  std::vector<std::size_t> worst;  // the pair with the largest difference, for each head
};

AllRows compare_all_rows(const Dump& a, const Dump& b, const std::vector<RowPair>& pairs) {
  AllRows all;
  double largest = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const RowPair& pair = pairs[i];
    if (all.heads.empty() || all.heads.back().sample != pair.sample ||
        all.heads.back().head != pair.head) {
      all.heads.push_back({pair.sample, pair.head, 0, true});
      all.worst.push_back(i);
      largest = 0;
    }
    const auto x = output_row(a, pair.sample, pair.row_a, pair.head),
               y = output_row(b, pair.sample, pair.row_b, pair.head);
    for (std::size_t j = 0; j < x.size(); ++j) {
      ++all.elements;
      if (x[j] == y[j]) {
        ++all.equal;
        continue;
      }
      all.heads.back().bit_equal = false;
      if (exceeds(std::abs(x[j] - y[j]), largest))
        largest = std::abs(x[j] - y[j]), all.worst.back() = i;
    }
  }
  return all;
}

// Returns the pairs whose rows of `a` the reference would choose, and each head's worst pair.
std::vector<RowPair> chosen_pairs(const Dump& a, const std::vector<RowPair>& pairs,
                                  const AllRows& all, double cost_limit) {
  const auto before = [](const RowPair& pair, const RowId& id) {
    return std::tie(pair.sample, pair.head, pair.row_a) < std::tie(id.sample, id.head, id.row);
  };
  std::vector<bool> chosen(pairs.size(), false);
  for (const RowId& id : select_rows(*a.geometry, cost_limit).rows) {
    const auto found = std::lower_bound(pairs.begin(), pairs.end(), id, before);
    if (found != pairs.end() && RowId{found->sample, found->head, found->row_a} == id)
      chosen[found - pairs.begin()] = true;
  }
  for (const std::size_t i : all.worst) chosen[i] = true;
  std::vector<RowPair> result;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (chosen[i]) result.push_back(pairs[i]);
  }
  return result;
}

RowSelection selection(const std::vector<RowPair>& pairs, std::int32_t RowPair::*row,
                       std::size_t total) {
  RowSelection rows;
  for (const RowPair& pair : pairs) rows.rows.push_back({pair.sample, pair.head, pair.*row});
  rows.sampled = pairs.size() < total;
  rows.rows_total = static_cast<std::int64_t>(total);
  return rows;
}

// Judges a dump by itself and measures it at the compared rows. check() may have skipped some of
// these rows, so an element beyond its limit in them is also a bug.
Result<MeasuredSide> measured(const Dump& dump, const RowSelection& rows,
                              const CheckOptions& options) {
  auto report = check(dump, options);
  if (!report) return tl::unexpected(report.error());
  if (report->trials.empty())
    return fail(fmt::format("{}: nothing could be judged: {}", dump.name, report->sentence));
  const RungTrial& trial = report->trials[report->judged];
  // A spec that is stated field by field has no name of its own.
  const std::string spec_name = trial.rung.name == "spec" ? "the stated spec" : trial.rung.name;
  MeasuredSide side{dump.name,       spec_name,      trial.rung.spec, {},
                    trial.judgement, report->answer, report->sentence};
  side.unused_tensors = report->unused_tensors;
  side.not_judged = report->not_judged;
  side.measurement.outcome = outcome_of(dump, trial);
  if (report->answer == Answer::bug && !report->suggestions.empty())
    side.measurement.outcome.cause = report->suggestions.front();
  side.measurement.geometry = dump.geometry;
  const auto reference = std::make_shared<const Reference>(
      compute_reference(*dump.geometry, dump.inputs(), side.spec, rows));
  side.measurement.reference = reference;
  side.measurement.rows = rows_of(*dump.geometry, dump.outputs(), *reference);

  const ErrorStatistics errors = compare(*dump.geometry, dump.outputs(), *reference).statistics;
  const Limits limits = default_limits(side.spec, dump.problem(), errors.elements);
  const bool explained = side.answer == Answer::rounding || !dump.open.gradients.empty();
  if (explained && side.answer != Answer::bug && !within(errors.peak, limits.peak)) {
    side.answer = Answer::bug;
    side.judgement.findings.push_back(
        {FindingKind::peak, errors.peak, limits.peak,
         fmt::format("in the rows compared with fp64, the largest error is {:.4g} of its legal "
                     "standard deviations; the limit is {:.3g}",
                     errors.peak, limits.peak)});
  }
  return side;
}

// Reports two dumps of which at least one was made with dropout: nothing can be compared.
DiffReport diff_of_dropout(const Dump& a, const Dump& b) {
  DiffReport report;
  report.name = fmt::format("{} and {}", a.name, b.name);
  report.answer = Answer::undecided;
  report.outcome.status = Status::error;
  for (const auto& [side, dump] : {std::pair{&report.a, &a}, std::pair{&report.b, &b}}) {
    side->label = dump->name;
    side->out_dtype = dump->problem().out();
    side->unused_tensors = dump->unused_tensors;
    side->outcome.status = Status::error;
    side->outcome.reason = "not compared";
    report.not_judged.insert(report.not_judged.end(), dump->not_judged.begin(),
                             dump->not_judged.end());
    if (dump->open.dropout.empty()) continue;
    side->why =
        fmt::format("{}: nothing judges a call with dropout yet", listed(dump->open.dropout));
    side->outcome.reason = side->why;
    if (report.sentence.empty()) report.sentence = fmt::format("{}: {}", dump->name, side->why);
  }
  report.outcome.reason = report.sentence;
  return report;
}

// Adds to `not_judged` the rows that the other side lacks, and the rows without keys. Names the
// side in each reason.
void add_rows_not_compared(MeasuredSide& a, MeasuredSide& b, const CommonRows& rows) {
  const auto common = static_cast<std::int64_t>(rows.pairs.size()) + rows.without_keys;
  for (const auto& [letter, side, other] : {std::tuple{"a", &a, "b"}, std::tuple{"b", &b, "a"}}) {
    for (NotJudged& some : side->not_judged) some.why = fmt::format("{}, in {}", some.why, letter);
    const Geometry& geometry = *side->measurement.geometry;
    const std::int64_t valid = geometry.total_q() * geometry.problem().heads_q;
    if (valid > common) {
      side->not_judged.push_back(
          {"rows", valid - common, valid, fmt::format("{} has them, {} has not", letter, other)});
    }
  }
  if (rows.without_keys > 0)
    a.not_judged.push_back({"rows", rows.without_keys, common, "they see no key"});
}

}  // namespace

Result<DiffReport> diff(const Dump& a, const Dump& b, const CheckOptions& options) {
  const UsualFloatingPoint state;
  auto rows = find_common_rows(a, b);
  if (!rows) return tl::unexpected(rows.error());
  if (!a.open.dropout.empty() || !b.open.dropout.empty()) return diff_of_dropout(a, b);
  const std::vector<RowPair>& pairs = rows->pairs;
  const AllRows all = compare_all_rows(a, b, pairs);
  const auto chosen = chosen_pairs(a, pairs, all, options.reference_cost_limit);
  auto side_a = measured(a, selection(chosen, &RowPair::row_a, pairs.size()), options);
  auto side_b = measured(b, selection(chosen, &RowPair::row_b, pairs.size()), options);
  Errors errors;
  if (!side_a) errors = side_a.error();
  if (!side_b) errors.insert(errors.end(), side_b.error().begin(), side_b.error().end());
  if (!errors.empty()) return tl::unexpected(errors);
  add_rows_not_compared(*side_a, *side_b, *rows);

  DiffReport report =
      diff_measured(fmt::format("{} and {}", a.name, b.name), *side_a, *side_b, a.inputs());
  report.outcome.bit_equal_share =
      static_cast<double>(all.equal) / static_cast<double>(all.elements);
  report.outcome.heads = static_cast<std::int64_t>(all.heads.size());
  report.outcome.heads_bit_equal =
      std::ranges::count_if(all.heads, [](const DiffCell& head) { return head.bit_equal; });
  for (std::size_t i = 0; i < report.map.size(); ++i)
    report.map[i].bit_equal = all.heads[i].bit_equal;
  return report;
}

}  // namespace plumbline
