// Decides by tier and glob which cases a filter selects.
#include "harness/suite/suite.h"

#include <algorithm>

namespace plumbline {
namespace {

bool any_matches(const std::vector<std::string>& patterns, const std::vector<std::string>& texts) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return std::any_of(texts.begin(), texts.end(),
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
