// The fields of a problem as texts: the inverse of set_field. Ids, written suites and the reduction
// of failing cases use these functions for all fields of problem_fields.h.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/problem/problem.h"

namespace plumbline {

// Returns the text with which set_field(problem, key, …) sets the field to its current value. For a
// key that sets two members (`heads`, `seq`, `head_dim`), returns the value of both, or "" if they
// differ. `key` is one of field_names().
std::string field_text(const Problem& problem, std::string_view key);

// Return a basic string of TOML, and a field's value as TOML writes it: numbers and truth values
// without quotes.
std::string toml_string(std::string_view text);
std::string toml_value(std::string_view key, const std::string& text);

// Returns the keys and values with which set_field turns Problem{} into `problem`, in the order of
// field_names(): always the dtype, heads, lengths and dimensions, and every other field that would
// otherwise have another value. For recorded inputs, reads the file's header, as set_field does.
std::vector<std::pair<std::string_view, std::string>> fields_to_set(const Problem& problem);

// Returns a case as a group of a suite, which read_suite expands to this case alone:
//   [[group]]
//   name = "…"
//   reason = "…"
//   kernels = ["cpu/flash"]
//   set = { dtype = "bf16", heads_q = 1, … }
std::string group_text(const Case& c, std::string_view name, std::string_view reason);

}  // namespace plumbline
