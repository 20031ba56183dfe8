// Entries of a JSON object whose keys are the names of C++ members:
//   Json object = {JSON_FIELDS(score, suite, value), {"share", share_of(score)}};
// is {{"suite", score.suite}, {"value", score.value}, {"share", share_of(score)}}. The key of a
// path or a call is its last name: JSON_FIELDS(report, run.host, exit_code()) has the keys "host"
// and "exit_code". NaN and infinities become null in the text.
#pragma once

#include <string_view>
#include <type_traits>

#include "harness/base/enumeration.h"

namespace plumbline {

constexpr std::string_view json_key(std::string_view path) {
  path = path.substr(0, path.find('('));
  return path.substr(path.find_last_of(".>") + 1);
}

// An enumerator becomes its name. Other headers overload this for their types.
template <class T>
decltype(auto) json_value(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return name(value);
  else
    return (value);
}

}  // namespace plumbline

// `write` converts a member to JSON.
#define JSON_FIELDS_BY(write, value, ...) \
  PLUMBLINE_RESCAN(PLUMBLINE_JSON_FIELD(write, value, __VA_ARGS__))
#define JSON_FIELDS(value, ...) JSON_FIELDS_BY(json_value, value, __VA_ARGS__)

// A macro cannot expand itself. Each of the 84 rescans expands the NEXT_FIELD that the previous
// rescan left, and so adds one field.
#define PLUMBLINE_JSON_FIELD(write, value, member, ...)               \
  {::plumbline::json_key(#member), write((value).member)} __VA_OPT__( \
      , PLUMBLINE_NEXT_FIELD PLUMBLINE_PARENTHESES(write, value, __VA_ARGS__))
#define PLUMBLINE_PARENTHESES ()
#define PLUMBLINE_NEXT_FIELD() PLUMBLINE_JSON_FIELD
#define PLUMBLINE_RESCAN(...) \
  PLUMBLINE_RESCAN16(PLUMBLINE_RESCAN16(PLUMBLINE_RESCAN16(PLUMBLINE_RESCAN16(__VA_ARGS__))))
#define PLUMBLINE_RESCAN16(...) \
  PLUMBLINE_RESCAN4(PLUMBLINE_RESCAN4(PLUMBLINE_RESCAN4(PLUMBLINE_RESCAN4(__VA_ARGS__))))
#define PLUMBLINE_RESCAN4(...) \
  PLUMBLINE_RESCAN1(PLUMBLINE_RESCAN1(PLUMBLINE_RESCAN1(PLUMBLINE_RESCAN1(__VA_ARGS__))))
#define PLUMBLINE_RESCAN1(...) __VA_ARGS__
