// Parses the NVIDIA driver's version from the text of its kernel module.
#pragma once

#include <algorithm>
#include <string>

namespace plumbline::attention {

// Returns the line's first word that consists of digits and dots, or "" without one. Example,
// the first line of /proc/driver/nvidia/version:
//   NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build (…)
inline std::string first_version(const std::string& line) {
  for (std::size_t begin = 0; begin < line.size();) {
    begin = std::min(line.find_first_not_of(" \t", begin), line.size());
    const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    const std::string word = line.substr(begin, end - begin);
    const bool digits_and_dots = word.find_first_not_of("0123456789.") == word.npos;
    if (digits_and_dots && word.find('.') != word.npos && word.front() != '.') return word;
    begin = end;
  }
  return "";
}

}  // namespace plumbline::attention
