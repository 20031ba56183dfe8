// Reads typed members of a TOML table; what is wrong becomes an error with line and remedy.
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

  // "" where the text is absent or wrong; a required one must not be blank.
  std::string text(std::string_view key, bool required = false);
  // The required text `key`, of letters, digits, _ and -.
  std::string plain_name(std::string_view key);
  // Index of the text among `words`, `otherwise` where it is absent or wrong.
  std::size_t word(std::string_view key, std::span<const std::string_view> words,
                   std::size_t otherwise);
  // false where it is absent or wrong.
  bool boolean(std::string_view key);
  // The entries of a list of texts.
  std::vector<const ConfigNode*> texts(std::string_view key, bool required = false);
  // The tables of [[key]].
  std::vector<const ConfigNode*> tables(std::string_view key);

 private:
  const ConfigNode& table_;
  Errors& errors_;
};

}  // namespace plumbline
