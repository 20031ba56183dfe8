// Shared by the readers of a folder of resource files.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/config.h"

namespace plumbline {

// Returns `read(NAME)` for every file NAME + `ending` of a folder, by name; empty if the folder
// does not exist. Returns the errors of all files together.
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
