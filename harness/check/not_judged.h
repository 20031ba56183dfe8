// The parts of a dump that no result covers: how many rows or tensors, and why.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/problem/safetensors.h"

namespace plumbline {

// Rows or tensors that were given but not judged. Rows count once for each head.
struct NotJudged {
  std::string what;                     // "rows" or "tensors"
  std::int64_t count = 0, of = 0;       // `of`: all that were given
  std::string why;                      // "padding by the mask of valid keys"
  std::vector<std::string> names = {};  // of tensors
};

// Gradients and dropout in a dump, which are not judged yet.
struct UnjudgedParts {
  std::vector<std::string> gradients;  // tensor names: "dk", "dq"
  // Tensor names, and attributes with a dropout probability: "dropout_p = 0.1".
  std::vector<std::string> dropout;
};

// Moves tensors of gradients and dropout from `unused_names` to the result, and adds attributes
// that state dropout. Dropout of 0 is left out.
UnjudgedParts find_unjudged_parts(const std::map<std::string, TensorData>& tensors,
                                  const std::map<std::string, std::string>& attributes,
                                  std::vector<std::string>& unused_names);

// Returns one entry for gradients and one for dropout, if there are any. `tensors`: the dump's
// number of tensors.
std::vector<NotJudged> tensors_not_judged(const UnjudgedParts& open, std::size_t tensors);

// Returns "dk, dout, dq and dv".
std::string listed(const std::vector<std::string>& names);

}  // namespace plumbline
