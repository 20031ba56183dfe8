// The table of a problem's fields. Suites, ids, the database, dumps and the reduction of failing
// cases walk it, so that a new field is a member of Problem, a row here and a column in
// baselines/schema.sql.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "harness/problem/problem.h"

namespace plumbline {

// How `plumbline reduce` shrinks a field: it removes a feature, makes a size smaller, and keeps an
// identity, because a failure with another identity is another failure.
enum class FieldRole { feature, size, identity };

struct FieldTraits {
  std::string_view key = {};      // in suites, contracts and messages; for a member also its column
  std::string_view segment = {};  // its key in an id; "" if the dtype or the shape states it
  FieldRole role = FieldRole::feature;
  std::string_view simplest = {};  // value after reduction; "" = that of Problem{}
  bool written = true;             // false: fields_to_set() uses the pair's key, or its members'
};

// A member of Problem, whose default is that of Problem{}.
template <class T>
struct ProblemField : FieldTraits {
  T Problem::*member = nullptr;
  double least = -std::numeric_limits<double>::max();  // bounds of numbers
  double most = std::numeric_limits<double>::max();
};

// A key that sets two members. With a segment its text is "first,second". Otherwise it sets both to
// one value, and its text is their value, or "" if they differ.
struct FieldPair : FieldTraits {
  ProblemField<std::int64_t> first, second;
};

namespace problem_fields {

template <class T>
constexpr ProblemField<T> field(std::string_view key, std::string_view segment, T Problem::*member,
                                std::string_view simplest = {}) {
  return {{.key = key, .segment = segment, .simplest = simplest}, member};
}

template <class T>
constexpr ProblemField<T> number(std::string_view key, std::string_view segment, T Problem::*member,
                                 double least, double most = std::numeric_limits<double>::max()) {
  return {{.key = key, .segment = segment}, member, least, most};
}

constexpr ProblemField<std::int64_t> size(std::string_view key, std::int64_t Problem::*member,
                                          double least, double most) {
  return {{.key = key, .role = FieldRole::size}, member, least, most};
}

constexpr FieldPair pair(std::string_view key, std::string_view segment,
                         ProblemField<std::int64_t> first, ProblemField<std::int64_t> second) {
  const bool as_one = !segment.empty();
  first.written = second.written = !as_one;
  return {{.key = key, .segment = segment, .role = first.role, .written = as_one}, first, second};
}

}  // namespace problem_fields

// Calls visit(field) for every key that set_field accepts, in canonical order: ProblemField<T> for
// each member, and FieldPair before its two members. Recorded inputs come first, because later
// fields may change what they set.
template <class Visit>
constexpr void for_each_field(Visit&& visit) {
  using namespace problem_fields;
  const auto visit_pair = [&](const FieldPair& fields) {
    visit(fields);
    visit(fields.first);
    visit(fields.second);
  };
  // No kernel supports a sequence of 2^24 rows. The bounds keep every offset within 64 bits.
  constexpr double longest = 1 << 24;
  visit(field("inputs", "inputs", &Problem::inputs));
  auto dtype = field("dtype", "", &Problem::dtype);
  dtype.role = FieldRole::identity;
  visit(dtype);
  visit(field("kv_dtype", "kv", &Problem::kv_dtype));
  visit(field("out_dtype", "out", &Problem::out_dtype));
  visit(size("batch", &Problem::batch, 1, 65536));
  visit_pair(pair("heads", "", size("heads_q", &Problem::heads_q, 1, 4096),
                  size("heads_kv", &Problem::heads_kv, 1, 4096)));
  visit_pair(pair("seq", "", size("seq_q", &Problem::seq_q, 0, longest),
                  size("seq_kv", &Problem::seq_kv, 0, longest)));
  visit_pair(pair("head_dim", "", size("head_dim_qk", &Problem::head_dim_qk, 1, 1024),
                  size("head_dim_vo", &Problem::head_dim_vo, 1, 1024)));
  visit(field("mask", "mask", &Problem::mask));
  visit_pair(pair("window", "window", number("window_left", "", &Problem::window_left, -1, longest),
                  number("window_right", "", &Problem::window_right, -1, longest)));
  visit(field("layout", "layout", &Problem::layout));
  visit(field("lengths", "lengths", &Problem::lengths));
  visit(field("padding", "padding", &Problem::padding));
  visit(number("page_size", "page", &Problem::page_size, 1, 1024));
  visit(field("fill", "fill", &Problem::fill, "zeros"));  // simpler than garbage
  visit(field("law", "law", &Problem::law));
  visit(field("v_law", "v", &Problem::v_law));
  visit(field("k_scale", "k_scale", &Problem::k_scale));
  visit(field("v_scale", "v_scale", &Problem::v_scale));
  visit(number("scale", "scale", &Problem::scale, 0));
  visit(number("softcap", "softcap", &Problem::softcap, 0));
  visit(field("alibi", "alibi", &Problem::alibi));
  visit(field("sinks", "sinks", &Problem::sinks));
  visit(field("kv_scales", "kv_scales", &Problem::kv_scales));
  visit(number("scale_block", "scale_block", &Problem::scale_block, 1, longest));
  visit(field("view", "view", &Problem::view));
  visit(field("merge", "merge", &Problem::merge));
  visit(field("lse", "lse", &Problem::lse, "false"));  // a call without it does less
  visit(field("seed", "seed", &Problem::seed));
}

// Calls visit(field) only for members.
template <class Visit>
constexpr void for_each_member(Visit&& visit) {
  for_each_field([&](const auto& field) {
    if constexpr (requires { field.member; }) visit(field);
  });
}

}  // namespace plumbline
