// Reads typed members of a TOML table. Wrong members become errors with line and remedy.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/config.h"

namespace plumbline {

class TableReader {
 public:
  TableReader(const ConfigNode& table, Errors& errors) : table_(table), errors_(errors) {}

  // Returns "" if the text is absent or wrong. A required text must not be blank.
  std::string text(std::string_view key, bool required = false);
  // Returns the required text `key`, made of letters, digits, _ and -.
  std::string plain_name(std::string_view key);
  // Returns the text's index among `words`, or `otherwise` if it is absent or wrong.
  std::size_t word(std::string_view key, std::span<const std::string_view> words,
                   std::size_t otherwise);
  // Returns false if it is absent or wrong.
  bool boolean(std::string_view key);
  // Returns the entries of a list of texts.
  std::vector<const ConfigNode*> texts(std::string_view key, bool required = false);
  // Returns the tables of [[key]].
  std::vector<const ConfigNode*> tables(std::string_view key);

 private:
  const ConfigNode& table_;
  Errors& errors_;
};

}  // namespace plumbline
