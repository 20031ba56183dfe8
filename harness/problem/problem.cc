// Sets the fields of a problem from text, and finds everything wrong with a problem.
#include "harness/problem/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>
#include <utility>

#include "harness/base/text.h"
#include "harness/problem/problem_fields.h"
#include "harness/problem/recorded_inputs.h"

namespace plumbline {
namespace {

using Message = std::optional<std::string>;

constexpr auto all_keys = [] {
  constexpr std::size_t count = [] {
    std::size_t keys = 0;
    for_each_field([&](const auto&) { ++keys; });
    return keys;
  }();
  std::array<std::string_view, count> keys;
  std::size_t next = 0;
  for_each_field([&](const auto& field) { keys[next++] = field.key; });
  return keys;
}();

using IntegerField = ProblemField<std::int64_t>;
using RealField = ProblemField<double>;

Message not_one_of(std::string_view key, std::string_view value,
                   std::span<const std::string_view> names) {
  const auto near = nearest_word(value, names);
  return fmt::format("{}: \"{}\" is not one of {}{}", key, value, fmt::join(names, ", "),
                     near ? fmt::format("; did you mean {}?", *near) : "");
}

template <class Enum>
Message set_value(Enum& target, std::string_view key, std::string_view value) {
  const auto parsed = parse<Enum>(value);
  if (!parsed) return not_one_of(key, value, names_of<Enum>);
  target = *parsed;
  return std::nullopt;
}

Message set_value(DType& target, std::string_view key, std::string_view value) {
  constexpr auto optional_dtypes = [] {
    std::array<std::string_view, stored_dtypes.size() + 1> words{name(DType::none)};
    for (std::size_t i = 0; i < stored_dtypes.size(); ++i) words[i + 1] = name(stored_dtypes[i]);
    return words;
  }();
  // only K, V and the output may have `none`, their default
  const auto allowed = std::span(optional_dtypes).subspan(key == "dtype" ? 1 : 0);
  if (std::ranges::find(allowed, value) == allowed.end()) return not_one_of(key, value, allowed);
  target = *parse<DType>(value);
  return std::nullopt;
}

Message set_value(bool& target, std::string_view key, std::string_view value) {
  const auto wanted = parse_boolean(value);
  if (!wanted) return fmt::format("{}: \"{}\" is not true or false", key, value);
  target = *wanted;
  return std::nullopt;
}

Message set_value(std::uint64_t& target, std::string_view key, std::string_view value) {
  const auto number = parse_unsigned(value);
  if (!number)
    return fmt::format("{}: \"{}\" is not an integer from 0 to {}", key, value,
                       std::numeric_limits<std::uint64_t>::max());
  target = *number;
  return std::nullopt;
}

template <class T>
bool in_range(const ProblemField<T>& field, T value) {
  const auto number = static_cast<double>(value);
  return number >= field.least && number <= field.most;  // false for NaN and infinities
}

std::string range_message(const IntegerField& field, std::string_view value) {
  return fmt::format("{}: \"{}\" is not an integer from {} to {}", field.key, value, field.least,
                     field.most);
}

std::string range_message(const RealField& field, std::string_view value) {
  return fmt::format("{}: \"{}\" is not a finite number{}", field.key, value,
                     field.least == 0 ? " of at least 0" : "");
}

template <class T>
Message set(Problem& problem, const ProblemField<T>& field, std::string_view value) {
  return set_value(problem.*field.member, field.key, value);
}

Message set(Problem& problem, const IntegerField& field, std::string_view value) {
  const auto number = parse_integer(value);
  if (!number || !in_range(field, *number)) return range_message(field, value);
  problem.*field.member = *number;
  return std::nullopt;
}

Message set(Problem& problem, const RealField& field, std::string_view value) {
  const auto number = parse_real(value);
  if (!number || !in_range(field, *number)) return range_message(field, value);
  problem.*field.member = *number;
  return std::nullopt;
}

Message set(Problem& problem, const FieldPair& fields, std::string_view value) {
  if (fields.segment.empty()) {
    IntegerField both = fields.first;
    both.key = fields.key;  // messages name the key that the user wrote
    if (auto message = set(problem, both, value)) return message;
    problem.*fields.second.member = problem.*fields.first.member;
    return std::nullopt;
  }
  const auto parts = split(value, ',');
  if (parts.size() != 2)
    return fmt::format("{}: \"{}\" is not two integers \"left,right\" (-1 = unlimited)", fields.key,
                       value);
  Problem changed = problem;  // a refused value changes nothing
  if (auto message = set(changed, fields.first, parts[0])) return message;
  if (auto message = set(changed, fields.second, parts[1])) return message;
  problem = std::move(changed);
  return std::nullopt;
}

// Sets recorded inputs, the only text field.
Message set(Problem& problem, const ProblemField<std::string>& field, std::string_view value) {
  if (value.empty()) {
    problem.*field.member = "";
    return std::nullopt;
  }
  const auto recorded = recorded_inputs(value);
  if (recorded) {
    adopt(problem, **recorded);
    return std::nullopt;
  }
  std::string message = fmt::format("{}: ", field.key);
  for (const Error& error : recorded.error())
    message += error.to_string() + (&error == &recorded.error().back() ? "" : "\n  ");
  return message;
}

// "NAME" matches any recording of that name, "NAME@DIGEST" only the one with this digest.
bool names_inputs(const Problem& problem, std::string_view value) {
  return problem.inputs == value ||
         (!value.empty() && problem.inputs.starts_with(std::string(value) + "@"));
}

void validate_ranges(const Problem& problem, std::vector<std::string>& wrong) {
  for_each_member([&]<class T>(const ProblemField<T>& field) {
    if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) {
      const T value = problem.*field.member;
      if (!in_range(field, value)) wrong.push_back(range_message(field, fmt::format("{}", value)));
    }
  });
}

void validate_dtypes(const Problem& problem, std::vector<std::string>& wrong) {
  const DType dtype = problem.dtype;
  const bool fp8 = problem.has_fp8_q();
  if (dtype != DType::f32 && size_in_bytes(dtype) != 2 && !fp8) {
    wrong.push_back(fmt::format("dtype {}: Q is in fp32, fp16, bf16, e4m3 or e5m2", name(dtype)));
  }
  if (problem.kv() != dtype && !(problem.has_fp8_kv() && size_in_bytes(dtype) <= 2)) {
    const auto names = texts_of(fp8_dtypes, [](DType narrow) { return name(narrow); });
    wrong.push_back(
        fmt::format("kv_dtype {} with dtype {}: K and V are in the dtype of Q, or in {} "
                    "beside Q in fp16, bf16 or fp8",
                    name(problem.kv()), name(dtype), fmt::join(names, " or ")));
  }
  const DType out = problem.out();
  // Partial outputs in fp32 may be merged into 16 bits.
  const bool narrows = problem.is_merge() && size_in_bytes(out) == 2;
  if (is_fp8(out)) {
    if (problem.is_merge() || dtype == DType::f32) {
      wrong.push_back(
          fmt::format("out_dtype {} with dtype {}{}: an fp8 output needs attention with Q in fp16, "
                      "bf16 or fp8",
                      name(out), name(dtype), problem.is_merge() ? " in a merge" : ""));
    }
    if (std::abs(problem.v_scale) > 1) {
      wrong.push_back(
          fmt::format("out_dtype {} with v_scale {}: outputs of v_scale above 1 may "
                      "exceed the range that the output's scale leaves",
                      name(out), problem.v_scale));
    }
  } else if (!fp8 && out != dtype && out != DType::f32 && !narrows) {
    wrong.push_back(
        fmt::format("out_dtype {} with dtype {}: the output is in the dtype of Q, in fp32 or fp8",
                    name(out), name(dtype)));
  }
}

void validate_merge(const Problem& p, std::vector<std::string>& wrong) {
  const auto needs = [&](bool fulfilled, std::string_view what) {
    if (!fulfilled) wrong.push_back(fmt::format("merge {} needs {}", name(p.merge), what));
  };
  needs(p.padding == Padding::right, "padding right: a token's parts come first");
  needs(p.head_dim_qk == 1, "head_dim_qk 1: the LSE of a part is stored as its key");
  needs(p.seq_q == 1, "seq_q 1: batch counts the tokens, seq_kv their parts");
  needs(p.heads_q == p.heads_kv, "heads_q equal to heads_kv");
  needs(!p.has_fp8_q(), "dtype fp32, fp16 or bf16 for the partial outputs");
  needs(p.kv() == p.dtype, "no kv_dtype: dtype is the partial outputs' dtype");
  needs(!p.is_paged(), "a padded or ragged layout");
  needs(p.mask == Mask::none || p.mask == Mask::custom,
        "mask none, or custom for parts without keys");
  needs(p.window_left < 0 && p.window_right < 0, "no window");
  needs(p.scale == 0, "no scale: the base of the LSEs sets it");
  needs(p.softcap == 0 && p.alibi == Alibi::none && p.sinks == Sinks::none,
        "no softcap, ALiBi or sinks: they are in the LSEs");
  needs(p.view == View::plain || p.view == View::strided, "view plain or strided");
  needs(p.inputs.empty(), "generated inputs");
}

void validate_view(const Problem& p, std::vector<std::string>& wrong) {
  const auto needs = [&](bool fulfilled, std::string_view what) {
    if (!fulfilled) wrong.push_back(fmt::format("view {} needs {}", name(p.view), what));
  };
  const bool heads_last = p.layout == Layout::padded_bshd || p.layout == Layout::ragged;
  switch (p.view) {
    case View::plain:
    case View::strided:
      return;
    case View::packed_qkv:
      needs(heads_last, "layout padded_bshd or ragged");
      needs(p.seq_q == p.seq_kv, "seq_q equal to seq_kv");
      needs(p.head_dim_qk == p.head_dim_vo, "head_dim_qk equal to head_dim_vo");
      needs(p.kv() == p.dtype, "K and V in the dtype of Q");
      needs(p.lengths != Lengths::with_zero && p.lengths != Lengths::serving,
            "query lengths equal to key lengths, not lengths with_zero or serving");
      return;
    case View::packed_kv:
      needs(heads_last || p.layout == Layout::paged_nhd, "layout padded_bshd, ragged or paged_nhd");
      needs(p.head_dim_qk == p.head_dim_vo, "head_dim_qk equal to head_dim_vo");
      return;
    case View::v_in_k:
      needs(p.head_dim_vo <= p.head_dim_qk, "head_dim_vo of at most head_dim_qk");
      needs(!p.has_fp8_kv(), "K and V not in fp8: V would have K's scale");
      needs(p.inputs.empty(), "generated inputs");
      needs(p.v_law == VLaw::normal && p.v_scale == 1,
            "v_law and v_scale at their defaults: V is part of K");
      return;
    case View::far:
      needs(p.fill == Fill::zeros, "fill zeros: gaps of gigabytes are not written");
      return;
  }
}

void validate_features(const Problem& p, std::vector<std::string>& wrong) {
  if (p.has_fp8_kv() && !p.inputs.empty())
    wrong.push_back(fmt::format("kv_dtype {} needs generated inputs", name(p.kv())));
  if (is_fp8(p.out()) && !p.inputs.empty()) {
    wrong.push_back(fmt::format(
        "out_dtype {} needs generated inputs: the output's scale is drawn for their range",
        name(p.out())));
  }
  constexpr double max_mask_bits = 0x1p33;  // 1 GiB
  if (p.has_mask_bits() &&
      static_cast<double>(p.batch) * static_cast<double>(p.seq_q) * static_cast<double>(p.seq_kv) >
          max_mask_bits) {
    wrong.push_back(
        fmt::format("mask {} of batch {} x seq_q {} x seq_kv {} bits is larger than 1 GiB",
                    name(p.mask), p.batch, p.seq_q, p.seq_kv));
  }
  if (p.has_mask_bits() && (p.window_left >= 0 || p.window_right >= 0)) {
    wrong.push_back(fmt::format("mask {} cannot have a window", name(p.mask)));
  }
  validate_view(p, wrong);
  if (p.is_merge()) validate_merge(p, wrong);
}

Problem with_resolved_dtypes(Problem problem) {
  problem.kv_dtype = problem.kv();
  problem.out_dtype = problem.out();
  return problem;
}

}  // namespace

double Problem::softmax_scale() const {
  if (is_merge() && scale == 0) return merge == Merge::base_2 ? std::numbers::ln2 : 1;
  return scale == 0 ? 1 / std::sqrt(static_cast<double>(head_dim_qk)) : scale;
}

Problem canonical(const Problem& problem) {
  const Problem defaults;
  Problem result = problem;
  if (problem.kv() == problem.dtype) result.kv_dtype = DType::none;
  if (problem.out() == problem.default_out()) result.out_dtype = DType::none;
  if (!problem.is_paged()) result.page_size = defaults.page_size;
  if (problem.is_causal()) result.window_right = defaults.window_right;
  if (!problem.has_fp8_kv()) result.kv_scales = defaults.kv_scales;
  if (result.kv_scales != KvScales::block) result.scale_block = defaults.scale_block;
  // -0 equals 0 but would be printed differently.
  for_each_member([&]<class T>(const ProblemField<T>& field) {
    if constexpr (std::is_same_v<T, double>) result.*field.member += 0.0;
  });
  return result;
}

std::span<const std::string_view> field_names() { return all_keys; }

std::optional<std::string> set_field(Problem& problem, std::string_view key,
                                     std::string_view value) {
  bool known = false;
  Message message;
  for_each_field([&](const auto& field) {
    if (field.key != key) return;
    known = true;
    message = set(problem, field, value);
  });
  if (!known)
    message = fmt::format("\"{}\" is not a problem field; {}", key, suggestion(key, all_keys));
  return message;
}

bool has_field(const Problem& problem, std::string_view key, std::string_view value) {
  if (key == "inputs") return names_inputs(problem, value);
  const Problem resolved = with_resolved_dtypes(problem);
  Problem changed = resolved;
  return !set_field(changed, key, value) && with_resolved_dtypes(changed) == resolved;
}

std::vector<std::string> validate(const Problem& problem) {
  std::vector<std::string> wrong;
  validate_ranges(problem, wrong);
  validate_dtypes(problem, wrong);
  if (!wrong.empty()) return wrong;  // the following checks divide and multiply the sizes
  if (problem.heads_q % problem.heads_kv != 0) {
    wrong.push_back(
        fmt::format("heads_kv {} does not divide heads_q {}", problem.heads_kv, problem.heads_q));
  }
  validate_features(problem, wrong);
  if (problem.padding == Padding::left && !problem.is_padded()) {
    wrong.push_back(
        fmt::format("padding left needs a padded layout, not {}", name(problem.layout)));
  }
  const auto check_total = [&](std::string_view key, std::int64_t sequence) {
    // cu_seqlens are int32 in the provider ABI.
    if (problem.batch * sequence > std::numeric_limits<std::int32_t>::max()) {
      wrong.push_back(
          fmt::format("batch {} x {} {} exceeds 2^31 - 1 rows", problem.batch, key, sequence));
    }
  };
  check_total("seq_q", problem.seq_q);
  check_total("seq_kv", problem.seq_kv);
  for (std::string& sentence : contradictions(problem)) wrong.push_back(std::move(sentence));
  return wrong;
}

}  // namespace plumbline
