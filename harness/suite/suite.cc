// Names the tiers, and decides by tier, glob and shard which cases a filter selects.
#include "harness/suite/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace plumbline {
namespace {

constexpr std::array<std::string_view, 4> tier_names{"smoke", "pr", "nightly", "full"};

bool any_matches(const std::vector<std::string>& patterns, const std::vector<std::string>& texts) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& text) { return glob_match(pattern, text); });
  });
}

}  // namespace

std::string_view name(Tier tier) { return tier_names.at(static_cast<std::size_t>(tier)); }

std::optional<Tier> parse_tier(std::string_view text) {
  const auto found = std::find(tier_names.begin(), tier_names.end(), text);
  if (found == tier_names.end()) return std::nullopt;
  return static_cast<Tier>(found - tier_names.begin());
}

bool selects_tier(const CaseFilter& filter, Tier tier) {
  return !filter.tier || tier <= *filter.tier;
}

bool selects_name(const CaseFilter& filter, const std::vector<std::string>& texts) {
  return (filter.match.empty() || any_matches(filter.match, texts)) &&
         !any_matches(filter.exclude, texts);
}

bool selects_shard(const CaseFilter& filter, std::string_view case_id) {
  return filter.shards == 1 || shard_of(case_id, filter.shards) == filter.shard;
}

}  // namespace plumbline
