// The fields of a problem as texts: the inverse of set_field. Ids, suites that are written and the
// reduction of failing cases walk field_names() through these, so that none of them has a list of
// fields of its own.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/problem/problem.h"

namespace plumbline {

// What set_field(problem, key, …) takes to give the field its present value. For a key that sets
// two members at once (`heads`, `seq`, `head_dim`) the value of both, "" if they differ. `key` is
// one of field_names().
std::string field_text(const Problem& problem, std::string_view key);

// As a basic string of TOML, and the value of a field as TOML writes it: numbers and truth values
// without quotes.
std::string toml_string(std::string_view text);
std::string toml_value(std::string_view key, const std::string& text);

// Keys and values that make `problem` out of Problem{} by set_field, in this order: the dtype, the
// shape, and every other field that does not have the value it would have without being set. Of
// recorded inputs it reads the file's header, as set_field does.
std::vector<std::pair<std::string_view, std::string>> fields_to_set(const Problem& problem);

// A case as a group of a suite, which read_suite expands to this case alone:
//   [[group]]
//   name = "…"
//   reason = "…"
//   kernels = ["cpu/flash"]
//   set = { dtype = "bf16", heads_q = 1, … }
std::string group_text(const Case& c, std::string_view name, std::string_view reason);

}  // namespace plumbline
