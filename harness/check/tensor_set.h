// The tensors of a dump, by the names that they may have, converted to plumbline's dtypes.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/base/error.h"
#include "harness/problem/safetensors.h"

namespace plumbline {

using Shape = std::vector<std::int64_t>;
std::string shape_text(const Shape& shape);  // "[2, 8, 64]"

class TensorSet {
 public:
  TensorSet(const std::string& dump, const std::map<std::string, TensorData>& tensors,
            Errors& errors);

  // Returns the tensor with this name or an alias of it; nullptr if absent.
  const TensorData* find(const std::string& name) const;
  // Returns the names of the tensors that `find` has not returned yet.
  std::vector<std::string> unused_names() const;
  // Like find, but adds an error if the tensor is absent.
  const TensorData* need(const std::string& name);
  // Returns a list of integers (I32 or I64) as int64; nullopt if it is absent. If it has another
  // dtype or is not of rank `rank` (0 = any), adds an error and returns nullopt.
  std::optional<std::vector<std::int64_t>> integers(const std::string& name, std::size_t rank);
  // Returns the tensor's elements in `dtype`, converted exactly (`exact`) or rounded once to
  // nearest even (`rounds`). If an element is inexact under `exact`, or becomes infinite under
  // `rounds`, adds an error that names the first one and returns nullopt.
  enum class Narrowing { exact, rounds };
  std::optional<std::vector<std::byte>> floats(const std::string& name, const TensorData& tensor,
                                               DType dtype, Narrowing narrowing = Narrowing::exact);
  // Returns true if `dtype` holds all elements of a tensor of floats exactly.
  static bool fits(const TensorData& tensor, DType dtype);

  void add(std::string message, std::string remedy);

 private:
  void check_sizes();

  const std::string& dump_;
  const std::map<std::string, TensorData>& tensors_;
  Errors& errors_;
  mutable std::set<std::string> used_;  // as the dump spells them
};

// Returns element `index` of an integer tensor (BOOL, U8, U32, I8 to I64), otherwise nullopt.
std::optional<std::int64_t> integer_at(const TensorData& tensor, std::size_t index);
std::size_t element_count(const TensorData& tensor);

}  // namespace plumbline
