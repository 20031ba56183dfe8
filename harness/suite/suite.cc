// Selects cases by tier and glob.
#include "harness/suite/suite.h"

#include <algorithm>

namespace plumbline {
namespace {

bool any_matches(const std::vector<std::string>& patterns, const std::vector<std::string>& texts) {
  return std::ranges::any_of(patterns, [&](const std::string& pattern) {
    return std::ranges::any_of(texts,
                               [&](const std::string& text) { return glob_match(pattern, text); });
  });
}

}  // namespace

bool selects_tier(const CaseFilter& filter, Tier tier) {
  return !filter.tier || tier <= *filter.tier;
}

bool selects_name(const CaseFilter& filter, const std::vector<std::string>& texts) {
  return (filter.match.empty() || any_matches(filter.match, texts)) &&
         !any_matches(filter.exclude, texts);
}

}  // namespace plumbline
