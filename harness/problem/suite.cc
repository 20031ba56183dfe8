#include "harness/problem/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 4> tier_names{"smoke", "pr", "nightly", "full"};

bool any_matches(const std::vector<std::string>& patterns, std::string_view full_id, std::string_view bare_id) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return glob_match(pattern, full_id) || glob_match(pattern, bare_id); });
}

}  // namespace

std::string_view name(Tier tier) { return tier_names.at(static_cast<std::size_t>(tier)); }

std::optional<Tier> parse_tier(std::string_view text) {
  const auto found = std::find(tier_names.begin(), tier_names.end(), text);
  if (found == tier_names.end()) return std::nullopt;
  return static_cast<Tier>(found - tier_names.begin());
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, star_text = 0;  // the last '*' and where its match ends so far
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool selects(const CaseFilter& filter, const SuiteCase& c) {
  if (filter.tier && c.tier > *filter.tier) return false;
  const std::string bare_id = case_id({c.kernel_pattern, c.device, c.problem});
  const std::string full_id = fmt::format("{}/{}/{}", c.suite, c.group, bare_id);
  if (!filter.match.empty() && !any_matches(filter.match, full_id, bare_id)) return false;
  if (any_matches(filter.exclude, full_id, bare_id)) return false;
  return shard_of(bare_id, filter.shards) == filter.shard;
}

std::vector<SuiteCase> filter_cases(std::vector<SuiteCase> cases, const CaseFilter& filter) {
  cases.erase(std::remove_if(cases.begin(), cases.end(), [&](const SuiteCase& c) { return !selects(filter, c); }), cases.end());
  return cases;
}

}  // namespace plumbline
