// What the readers of a folder of resources share.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/config.h"

namespace plumbline {

// What `read(NAME)` answers for all NAME with `ending` of a folder, by name; empty where it is not
// there. Errors of all files at once.
template <class Source, class Read>
Result<std::vector<Source>> read_all(const std::filesystem::path& directory,
                                     std::string_view ending, Read read) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(directory, ignored)) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(ending)) names.push_back(file.substr(0, file.size() - ending.size()));
  }
  std::sort(names.begin(), names.end());
  std::vector<Source> sources;
  Errors errors;
  for (const std::string& name : names) {
    Result<Source> source = read(name);
    if (source)
      sources.push_back(std::move(*source));
    else
      errors.insert(errors.end(), source.error().begin(), source.error().end());
  }
  if (!errors.empty()) return tl::unexpected(errors);
  return sources;
}

inline void require_schema(const ConfigNode& file, Errors& errors) {
  const ConfigNode* schema = file.find("schema");
  if (schema == nullptr || schema->kind != ConfigNode::Kind::integer || schema->number != 1)
    errors.push_back(
        (schema == nullptr ? file : *schema).error("the schema is not 1", "write schema = 1"));
}

}  // namespace plumbline
