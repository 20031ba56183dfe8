// Options of `plumbline check` and `plumbline diff` that describe a dump.
#pragma once

#include <map>
#include <string>

#include "harness/check/dump.h"
#include "harness/cli/command_line.h"

namespace plumbline::cli {

// Attributes that a dump leaves out: one option for each name of attribute_names(). An option
// overrides the file's metadata.
struct AttributeOptions {
  void add_to(Command command, const std::string& group = "");
  // Returns the attributes that the command line states.
  Attributes stated() const;
  // Returns the options for a command to paste: " --layout padded_bhsd --causal".
  std::string as_typed() const;

 private:
  Attributes texts_;
  std::map<std::string, bool> flags_{{"causal", false}, {"is_causal", false}};
};

}  // namespace plumbline::cli
