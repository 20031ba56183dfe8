// The tensors of a dump by the names they may have, and their contents as dtypes of ours.
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

  // By its name or an alias of it; nullptr if absent.
  const TensorData* find(const std::string& name) const;
  // Names of the tensors that `find` and its callers have not asked for.
  std::vector<std::string> unasked() const;
  // As find, with an error where it is absent.
  const TensorData* need(const std::string& name);
  // A list of integers (I32, I64, …) as int64; nullopt if absent, of another dtype or not of rank
  // `rank` (0 = any).
  std::optional<std::vector<std::int64_t>> integers(const std::string& name, std::size_t rank);
  // The tensor's elements in `dtype`: copied where they have it, else converted: exactly, or
  // rounded once to nearest even. Error naming the first that is no such number, or that rounds to
  // infinity.
  enum class Narrowing { exact, rounds };
  std::optional<std::vector<std::byte>> floats(const std::string& name, const TensorData& tensor,
                                               DType dtype, Narrowing narrowing = Narrowing::exact);
  // Whether all elements of a tensor of floats are numbers of `dtype`.
  static bool fits(const TensorData& tensor, DType dtype);

  void add(std::string message, std::string remedy);

 private:
  void check_sizes();

  const std::string& dump_;
  const std::map<std::string, TensorData>& tensors_;
  Errors& errors_;
  mutable std::set<std::string> asked_;  // as the dump spells them
};

// Element `index` of an integer tensor (BOOL, U8, I8, …, I64); nullopt for other dtypes.
std::optional<std::int64_t> integer_at(const TensorData& tensor, std::size_t index);
std::size_t element_count(const TensorData& tensor);

}  // namespace plumbline
