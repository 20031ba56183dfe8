// Merges the results of splits from sums that are taken once for each row and block of keys.
#include "harness/diagnose/split_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <set>
#include <utility>
#include <vector>

namespace plumbline {
namespace {

constexpr std::int64_t block_keys = 16;   // splits are multiples of it
constexpr std::int64_t small_splits = 8;  // blocks up to which every size is tried
constexpr std::int64_t max_splits = 8;

// A row's sums over a block of keys: exp(s - maximum) and exp(s - maximum) V.
struct BlockSums {
  double weight = 0;
  std::vector<double> o;
  double lse_weight = 0;  // the weight that a split's LSE counts
};
struct RowSums {
  double maximum = -std::numeric_limits<double>::infinity();
  double missing_bias = 0;  // the part of the logits that the spec's LSE lacks
  std::vector<BlockSums> blocks;
};

// How splits are kept and merged. A function that is not set changes nothing.
struct SplitRule {
  DType partial = DType::none;  // dtype of partial outputs
  std::size_t last_tile = 0;    // blocks of the last tile, which each split's LSE lacks; 0: none
  std::function<double(double)> kept_lse = nullptr;  // an LSE as kept, in natural units
  std::function<double(double below_largest)> weight =
      nullptr;  // weight at a distance from the largest LSE
};

class SplitRows {
 public:
  SplitRows(const FailingOutput& failing, const ExplanationRanking& ranking)
      : geometry_(*failing.geometry), answers_(ranking.answers()) {
    for (const std::size_t r : ranking.rows()) rows_.push_back(sums_of(answers_.row(r)));
  }

  // Returns the sizes of splits to try, in blocks.
  std::set<std::int64_t> sizes() const {
    std::size_t most = 0;
    for (const RowSums& row : rows_) most = std::max(most, row.blocks.size());
    const auto blocks = static_cast<std::int64_t>(most);
    std::set<std::int64_t> sizes;
    for (std::int64_t size = 1; size < blocks && size <= small_splits; ++size) sizes.insert(size);
    for (std::int64_t splits = 2; splits <= max_splits; ++splits) {
      for (const std::int64_t tile : {1, 2, 4, 8}) {  // whole tiles for each split
        const std::int64_t size = (blocks + splits * tile - 1) / (splits * tile) * tile;
        if (size < blocks) sizes.insert(size);
      }
    }
    return sizes;
  }

  CalculatedRow merged(std::size_t n, std::int64_t size, const SplitRule& rule) const {
    const RowSums& row = rows_[n];
    std::vector<BlockSums> parts = parts_of(row, static_cast<std::size_t>(size), rule.last_tile);
    std::vector<double> lses;
    for (const BlockSums& part : parts) {
      const double lse = row.maximum + std::log(part.lse_weight);
      lses.push_back(rule.kept_lse ? rule.kept_lse(lse) : lse);
    }
    const double largest = *std::ranges::max_element(lses);
    CalculatedRow answer;
    answer.has_stated_values = true;
    answer.o.assign(parts.front().o.size(), 0);
    answer.o_tie.assign(answer.o.size(), 0);
    double sum = 0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const double w = rule.weight ? rule.weight(lses[i] - largest) : std::exp(lses[i] - largest);
      sum += w;
      for (std::size_t j = 0; j < answer.o.size(); ++j) {
        const double x = parts[i].o[j] / parts[i].weight, kept = round_to(x, rule.partial);
        answer.o[j] += w * kept;
        // The stated sigma covers fp32 errors of splits of the right weight only.
        answer.o_tie[j] =
            std::hypot(answer.o_tie[j], w * tie_at(x, kept, rule.partial, fp32_error * std::abs(x)),
                       w * fp32_error * kept);
      }
    }
    for (double& x : answer.o) x /= sum;
    for (double& x : answer.o_tie) x /= sum;
    answer.lse = largest + std::log(sum) - row.missing_bias;
    return answer;
  }

 private:
  RowSums sums_of(const RowId& id) const {
    const std::vector<KeyLogit> logits = answers_.seen_logits(id);
    RowSums row;
    row.missing_bias = answers_.missing_bias(id);
    for (const auto& [key, logit] : logits) row.maximum = std::max(row.maximum, logit);
    const auto columns = static_cast<std::size_t>(geometry_.problem().head_dim_vo);
    std::vector<double> value(columns);
    for (const auto& [key, logit] : logits) {
      const auto at = static_cast<std::size_t>(key / block_keys);
      while (row.blocks.size() <= at) row.blocks.push_back({0, std::vector<double>(columns)});
      const double p = std::exp(logit - row.maximum);
      answers_.read_value(id.sample, key, id.head / geometry_.problem().group(), value);
      row.blocks[at].weight += p;
      for (std::size_t j = 0; j < columns; ++j) row.blocks[at].o[j] += p * value[j];
    }
    return row;
  }

  // Returns the sums of each split that sees keys.
  static std::vector<BlockSums> parts_of(const RowSums& row, std::size_t size,
                                         std::size_t last_tile) {
    std::vector<BlockSums> parts;
    for (std::size_t begin = 0; begin < row.blocks.size(); begin += size) {
      BlockSums part = row.blocks[begin];
      const std::size_t end = std::min(begin + size, row.blocks.size()),
                        cut = last_tile == 0 ? end
                                             : begin + (end - begin - 1) / last_tile * last_tile;
      part.lse_weight = cut > begin ? part.weight : 0;
      for (std::size_t b = begin + 1; b < end; ++b) {
        part.weight += row.blocks[b].weight;
        if (b < cut) part.lse_weight += row.blocks[b].weight;
        for (std::size_t j = 0; j < part.o.size(); ++j) part.o[j] += row.blocks[b].o[j];
      }
      if (part.lse_weight == 0) part.lse_weight = part.weight;
      if (part.weight > 0) parts.push_back(std::move(part));
    }
    return parts;
  }

  const Geometry& geometry_;
  const RowCalculator& answers_;
  std::vector<RowSums> rows_;
};

struct NamedRule {
  std::string kind, what;
  SplitRule rule;
};

std::vector<NamedRule> rules() {
  std::vector<NamedRule> rules;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    rules.push_back({dtype == DType::f16 ? pv_in_fp16 : o_in_bf16,
                     fmt::format("the partial output of each split is rounded to {}", name(dtype)),
                     {.partial = dtype}});
    for (const double unit : {std::numbers::ln2, 1.0}) {
      rules.push_back(
          {"partial LSE",
           fmt::format("the LSE of each split is rounded to {}{}", name(dtype),
                       unit == 1 ? "" : ", in base 2"),
           {.kept_lse = [=](double lse) { return round_to(lse / unit, dtype) * unit; }}});
    }
  }
  for (const std::size_t blocks : {1, 2, 4, 8}) {
    rules.push_back({"partial LSE",
                     fmt::format("the LSE of each split lacks its last tile of {} keys",
                                 static_cast<std::int64_t>(blocks) * block_keys),
                     {.last_tile = blocks}});
  }
  rules.push_back({"split weights",
                   "the splits are merged with equal weights",
                   {.weight = [](double) { return 1.0; }}});
  for (const double factor : {std::numbers::log2e, std::numbers::ln2}) {
    rules.push_back({"split weights",
                     "the splits' weights have the wrong base",
                     {.weight = [=](double below) { return std::exp(factor * below); }}});
  }
  return rules;
}

}  // namespace

void add_split_results(const FailingOutput& failing, ExplanationRanking& ranking) {
  const bool has_sinks = failing.geometry->problem().sinks != Sinks::none;
  if (failing.geometry->problem().is_merge() || has_sinks || ranking.rows().empty()) return;
  const SplitRows rows(failing, ranking);
  const std::vector<NamedRule> all_rules = rules();
  for (const std::int64_t size : rows.sizes()) {
    for (const NamedRule& named : all_rules) {
      // A split of one tile has nothing but its last tile, so it would be as stated.
      if (size <= static_cast<std::int64_t>(named.rule.last_tile)) continue;
      ranking.add_answers(named.kind,
                          fmt::format("{} (splits of {} keys)", named.what, size * block_keys),
                          [&](std::size_t n) { return rows.merged(n, size, named.rule); });
    }
  }
}

}  // namespace plumbline
