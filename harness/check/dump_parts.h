// The common part of making dumps of attention and of merges.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "harness/check/attributes.h"
#include "harness/check/tensor_set.h"

namespace plumbline {

// The tensors and attributes of a dump, and what was made of them so far. The arguments of the
// constructor must outlive it.
class DumpParts {
 public:
  DumpParts(const std::string& name, const std::map<std::string, TensorData>& tensors,
            const Attributes& attributes)
      : name_(name),
        all_(tensors),
        attributes_(attributes),
        stated_(read_attributes(name, attributes, errors_)),
        tensors_(name, tensors, errors_) {}

 protected:
  bool add(std::string message, std::string remedy) {
    errors_.push_back({name_, 0, std::move(message), std::move(remedy)});
    return false;
  }
  Errors printable_errors() {
    for (Error& error : errors_) error.message = printable(std::move(error.message));
    return std::move(errors_);
  }
  // Call this after all known tensors were looked up.
  void note_unjudged_parts() {
    dump_.unused_tensors = tensors_.unused_names();
    dump_.open = find_unjudged_parts(all_, attributes_, dump_.unused_tensors);
    dump_.not_judged = tensors_not_judged(dump_.open, all_.size());
  }

  const std::string& name_;
  const std::map<std::string, TensorData>& all_;
  const Attributes& attributes_;
  Errors errors_;
  StatedAttributes stated_;
  TensorSet tensors_;
  Problem problem_;
  StatedLayout layout_;
  Dump dump_;
};

}  // namespace plumbline
