// The options that `plumbline check` and `plumbline diff` share for what a dump states in words.
#pragma once

#include <map>
#include <string>

#include "harness/check/dump.h"
#include "harness/cli/command_line.h"

namespace plumbline::cli {

// What a dump leaves unstated: one option for each name of attribute_names(). What is stated here
// wins over the file's metadata.
struct AttributeOptions {
  void add_to(Command command, const std::string& group = "");
  // The attributes that were stated.
  Attributes stated() const;
  // " --layout padded_bhsd --causal": the options again, for a command to paste.
  std::string as_typed() const;

 private:
  Attributes texts_;
  std::map<std::string, bool> flags_{{"causal", false}, {"is_causal", false}};
};

}  // namespace plumbline::cli
