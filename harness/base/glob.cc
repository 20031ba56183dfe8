// Matches patterns of * and ? without recursion, and checks if one text can match two patterns.
#include "harness/base/glob.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace plumbline {

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  // the last '*', and the end of its match so far
  std::size_t star = std::string_view::npos, star_text = 0;
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

bool globs_overlap(std::string_view a, std::string_view b) {
  // reach[j]: the part of `a` processed so far and the first j characters of `b` can match a common
  // text.
  std::vector<bool> reach(b.size() + 1, false);
  reach[0] = true;
  for (std::size_t j = 0; j < b.size() && b[j] == '*'; ++j) reach[j + 1] = true;
  for (const char of_a : a) {
    std::vector<bool> next(b.size() + 1, false);
    if (of_a == '*') next[0] = reach[0];
    for (std::size_t j = 0; j < b.size(); ++j) {
      const char of_b = b[j];
      if (of_a == '*' || of_b == '*') {
        next[j + 1] = reach[j + 1] || next[j];
      } else {
        next[j + 1] = reach[j] && (of_a == '?' || of_b == '?' || of_a == of_b);
      }
    }
    reach = std::move(next);
  }
  return reach[b.size()];
}

}  // namespace plumbline
