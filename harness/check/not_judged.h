// What a dump holds and no answer covers: how many rows or tensors, and why.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/problem/safetensors.h"

namespace plumbline {

// Rows or tensors that were given and not judged. Rows are those of all heads.
struct NotJudged {
  std::string what;                     // "rows" or "tensors"
  std::int64_t count = 0, of = 0;       // of all that were given
  std::string why;                      // "padding by the mask of valid keys"
  std::vector<std::string> names = {};  // of tensors
};

// What tensors and attributes ask that is not judged yet.
struct OpenQuestions {
  std::vector<std::string> gradients;  // names of tensors: "dk", "dq"
  // names of tensors, and attributes that say how much is dropped: "dropout_p = 0.1"
  std::vector<std::string> dropout;
};

// Sorts the tensors that nothing asked for: those of questions that are not judged yet go to
// `open`, and out of `unasked`. Attributes that state dropout, other than 0, go to `open`, too.
OpenQuestions open_questions(const std::map<std::string, TensorData>& tensors,
                             const std::map<std::string, std::string>& attributes,
                             std::vector<std::string>& unasked);

// One entry for gradients and one for dropout, where they are asked for among `tensors` tensors.
std::vector<NotJudged> tensors_not_judged(const OpenQuestions& open, std::size_t tensors);

// "dk, dout, dq and dv"
std::string listed(const std::vector<std::string>& names);

}  // namespace plumbline
