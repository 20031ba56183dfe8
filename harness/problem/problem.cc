// Sets and validates the fields of a problem from text, and names the values of every enumeration.
#include "harness/problem/problem.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "harness/base/text.h"
#include "harness/problem/recorded_inputs.h"

namespace plumbline {
namespace {

using namespace std::string_view_literals;
using Message = std::optional<std::string>;

constexpr std::array layout_names{"padded_bshd"sv, "padded_bhsd"sv, "ragged"sv, "paged_nhd"sv,
                                  "paged_hnd"sv};
constexpr std::array mask_names{"none"sv,      "causal_top_left"sv, "causal_bottom_right"sv,
                                "prefix_lm"sv, "block_diagonal"sv,  "custom"sv};
constexpr std::array padding_names{"right"sv, "left"sv};
constexpr std::array lengths_names{"full"sv,  "random"sv,   "near_full"sv,
                                   "third"sv, "one_long"sv, "with_zero"sv};
constexpr std::array fill_names{"garbage"sv, "zeros"sv, "nan"sv};
constexpr std::array law_names{"normal"sv,          "uniform"sv, "llm"sv,     "peaky"sv,
                               "near_uniform"sv,    "sink"sv,    "needle"sv,  "exact"sv,
                               "negative_logits"sv, "ramp"sv,    "extreme"sv, "near_ties"sv};
constexpr std::array v_law_names{"normal"sv, "uniform"sv, "large_mean"sv, "constant"sv,
                                 "grid"sv,   "band"sv,    "tiny_output"sv};
constexpr std::array alibi_names{"none"sv, "standard"sv, "random"sv};
constexpr std::array sinks_names{"none"sv, "normal"sv, "large"sv};
constexpr std::array kv_scales_names{"tensor"sv, "head"sv, "batch_head"sv};
constexpr std::array view_names{"plain"sv, "strided"sv, "packed_qkv"sv, "packed_kv"sv, "v_in_k"sv};
constexpr std::array float_dtype_names{"fp32"sv, "fp16"sv, "bf16"sv, "e4m3"sv, "e5m2"sv};
constexpr std::array optional_dtype_names{"none"sv, "fp32"sv, "fp16"sv,
                                          "bf16"sv, "e4m3"sv, "e5m2"sv};

// Ranges of the integer fields. A sequence of 2^24 rows is beyond any kernel's reach; the bounds
// keep every offset within 64 bits.
struct IntegerField {
  std::string_view key;
  std::int64_t Problem::*member;
  std::int64_t least;
  std::int64_t most;
};
constexpr std::int64_t longest = 1 << 24;
constexpr std::array<IntegerField, 10> integer_fields{{
    {"batch", &Problem::batch, 1, 65536},
    {"heads_q", &Problem::heads_q, 1, 4096},
    {"heads_kv", &Problem::heads_kv, 1, 4096},
    {"seq_q", &Problem::seq_q, 0, longest},
    {"seq_kv", &Problem::seq_kv, 0, longest},
    {"head_dim_qk", &Problem::head_dim_qk, 1, 1024},
    {"head_dim_vo", &Problem::head_dim_vo, 1, 1024},
    {"window_left", &Problem::window_left, -1, longest},
    {"window_right", &Problem::window_right, -1, longest},
    {"page_size", &Problem::page_size, 1, 1024},
}};

struct RealField {
  std::string_view key;
  double Problem::*member;
  double least;
};
constexpr double lowest = std::numeric_limits<double>::lowest();
constexpr std::array<RealField, 4> real_fields{{
    {"k_scale", &Problem::k_scale, lowest},
    {"v_scale", &Problem::v_scale, lowest},
    {"scale", &Problem::scale, 0},
    {"softcap", &Problem::softcap, 0},
}};

// Keys that set two members at once.
struct PairField {
  std::string_view key;
  std::string_view first;
  std::string_view second;
};
constexpr std::array<PairField, 3> pair_fields{{
    {"heads", "heads_q", "heads_kv"},
    {"seq", "seq_q", "seq_kv"},
    {"head_dim", "head_dim_qk", "head_dim_vo"},
}};

constexpr std::array all_fields{
    "inputs"sv,  "dtype"sv,       "kv_dtype"sv,     "out_dtype"sv,   "batch"sv,
    "heads"sv,   "heads_q"sv,     "heads_kv"sv,     "seq"sv,         "seq_q"sv,
    "seq_kv"sv,  "head_dim"sv,    "head_dim_qk"sv,  "head_dim_vo"sv, "mask"sv,
    "window"sv,  "window_left"sv, "window_right"sv, "layout"sv,      "lengths"sv,
    "padding"sv, "page_size"sv,   "fill"sv,         "law"sv,         "v_law"sv,
    "k_scale"sv, "v_scale"sv,     "scale"sv,        "softcap"sv,     "alibi"sv,
    "sinks"sv,   "kv_scales"sv,   "view"sv,         "lse"sv,         "seed"sv,
};

template <class Fields>
auto find_field(const Fields& fields, std::string_view key) {
  const auto* found = fields.data();
  const auto* end = found + fields.size();
  while (found != end && found->key != key) ++found;
  return found == end ? nullptr : found;
}

Message not_one_of(std::string_view key, std::string_view value,
                   std::span<const std::string_view> names) {
  const auto near = nearest_word(value, names);
  return fmt::format("{}: \"{}\" is not one of {}{}", key, value, fmt::join(names, ", "),
                     near ? fmt::format("; did you mean {}?", *near) : "");
}

template <class Enum>
Message set_enum(Enum& target, std::span<const std::string_view> names, std::string_view key,
                 std::string_view value) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == value) {
      target = static_cast<Enum>(i);
      return std::nullopt;
    }
  }
  return not_one_of(key, value, names);
}

Message set_dtype(DType& target, std::span<const std::string_view> names, std::string_view key,
                  std::string_view value) {
  for (const std::string_view allowed : names) {
    if (allowed == value) {
      target = *parse<DType>(value);
      return std::nullopt;
    }
  }
  return not_one_of(key, value, names);
}

Message integer_range_message(const IntegerField& field, std::string_view value) {
  return fmt::format("{}: \"{}\" is not an integer from {} to {}", field.key, value, field.least,
                     field.most);
}

Message set_integer(Problem& problem, const IntegerField& field, std::string_view value) {
  const auto number = parse_integer(value);
  if (!number || *number < field.least || *number > field.most)
    return integer_range_message(field, value);
  problem.*field.member = *number;
  return std::nullopt;
}

bool in_range(const RealField& field, double value) {
  return std::isfinite(value) && value >= field.least;
}

Message real_range_message(const RealField& field, std::string_view value) {
  return fmt::format("{}: \"{}\" is not a finite number{}", field.key, value,
                     field.least == 0 ? " of at least 0" : "");
}

Message set_real(Problem& problem, const RealField& field, std::string_view value) {
  const auto number = parse_real(value);
  if (!number || !in_range(field, *number)) return real_range_message(field, value);
  problem.*field.member = *number;
  return std::nullopt;
}

Message set_window(Problem& problem, std::string_view value) {
  const auto parts = split(value, ',');
  if (parts.size() != 2)
    return fmt::format("window: \"{}\" is not two integers \"left,right\" (-1 = unlimited)", value);
  Problem changed = problem;  // a value that is refused changes nothing
  if (auto message = set_field(changed, "window_left", parts[0])) return message;
  if (auto message = set_field(changed, "window_right", parts[1])) return message;
  problem = std::move(changed);
  return std::nullopt;
}

Message set_lse(Problem& problem, std::string_view value) {
  const auto wanted = parse_boolean(value);
  if (!wanted) return fmt::format("lse: \"{}\" is not true or false", value);
  problem.lse = *wanted;
  return std::nullopt;
}

Message set_seed(Problem& problem, std::string_view value) {
  const auto seed = parse_unsigned(value);
  if (!seed)
    return fmt::format("seed: \"{}\" is not an integer from 0 to {}", value,
                       std::numeric_limits<std::uint64_t>::max());
  problem.seed = *seed;
  return std::nullopt;
}

Message set_inputs(Problem& problem, std::string_view value) {
  if (value.empty()) {
    problem.inputs.clear();
    return std::nullopt;
  }
  const auto recorded = recorded_inputs(value);
  if (recorded) {
    adopt(problem, **recorded);
    return std::nullopt;
  }
  std::string message = "inputs: ";
  for (const Error& error : recorded.error())
    message += error.to_string() + (&error == &recorded.error().back() ? "" : "\n  ");
  return message;
}

// "NAME" matches a recording of that name, "NAME@DIGEST" this one.
bool names_inputs(const Problem& problem, std::string_view value) {
  return problem.inputs == value ||
         (!value.empty() && problem.inputs.starts_with(std::string(value) + "@"));
}

void validate_ranges(const Problem& problem, std::vector<std::string>& wrong) {
  for (const IntegerField& field : integer_fields) {
    const std::int64_t value = problem.*field.member;
    if (value < field.least || value > field.most)
      wrong.push_back(*integer_range_message(field, std::to_string(value)));
  }
  for (const RealField& field : real_fields) {
    const double value = problem.*field.member;
    if (!in_range(field, value))
      wrong.push_back(*real_range_message(field, fmt::format("{}", value)));
  }
}

void validate_dtypes(const Problem& problem, std::vector<std::string>& wrong) {
  const DType dtype = problem.dtype;
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16) {
    wrong.push_back(fmt::format("dtype {}: Q is in fp32, fp16 or bf16", name(dtype)));
  }
  if (problem.kv() != dtype && !(problem.has_fp8_kv() && size_in_bytes(dtype) == 2)) {
    wrong.push_back(
        fmt::format("kv_dtype {} with dtype {}: K and V are in the dtype of Q, or in e4m3 or e5m2 "
                    "beside Q in fp16 or bf16",
                    name(problem.kv()), name(dtype)));
  }
  if (problem.out() != dtype && problem.out() != DType::f32) {
    wrong.push_back(
        fmt::format("out_dtype {} with dtype {}: the output is in the dtype of Q or in fp32",
                    name(problem.out()), name(dtype)));
  }
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
      needs(p.lengths != Lengths::with_zero,
            "query lengths equal to key lengths, not lengths with_zero");
      return;
    case View::packed_kv:
      needs(heads_last || p.layout == Layout::paged_nhd, "layout padded_bshd, ragged or paged_nhd");
      needs(p.head_dim_qk == p.head_dim_vo, "head_dim_qk equal to head_dim_vo");
      return;
    case View::v_in_k:
      needs(p.head_dim_vo <= p.head_dim_qk, "head_dim_vo of at most head_dim_qk");
      needs(!p.has_fp8_kv(), "K and V in the dtype of Q: V would have K's scale");
      needs(p.inputs.empty(), "generated inputs");
      needs(p.v_law == VLaw::normal && p.v_scale == 1,
            "v_law and v_scale at their defaults: V is K's");
      return;
  }
}

void validate_features(const Problem& p, std::vector<std::string>& wrong) {
  if (p.has_fp8_kv() && !p.inputs.empty())
    wrong.push_back(fmt::format("kv_dtype {} needs generated inputs", name(p.kv_dtype)));
  constexpr double most_mask_bits = 0x1p33;  // 1 GiB
  if (p.has_mask_bits() &&
      static_cast<double>(p.batch) * static_cast<double>(p.seq_q) * static_cast<double>(p.seq_kv) >
          most_mask_bits) {
    wrong.push_back(
        fmt::format("mask {} of batch {} x seq_q {} x seq_kv {} bits is larger than 1 GiB",
                    name(p.mask), p.batch, p.seq_q, p.seq_kv));
  }
  if (p.has_mask_bits() && (p.window_left >= 0 || p.window_right >= 0)) {
    wrong.push_back(fmt::format("mask {} cannot have a window", name(p.mask)));
  }
  validate_view(p, wrong);
}

Problem with_resolved_dtypes(Problem problem) {
  problem.kv_dtype = problem.kv();
  problem.out_dtype = problem.out();
  return problem;
}

}  // namespace

std::string_view name(Layout layout) { return layout_names.at(static_cast<std::size_t>(layout)); }
std::string_view name(Mask mask) { return mask_names.at(static_cast<std::size_t>(mask)); }
std::string_view name(Padding padding) {
  return padding_names.at(static_cast<std::size_t>(padding));
}
std::string_view name(Lengths lengths) {
  return lengths_names.at(static_cast<std::size_t>(lengths));
}
std::string_view name(Fill fill) { return fill_names.at(static_cast<std::size_t>(fill)); }
std::string_view name(Law law) { return law_names.at(static_cast<std::size_t>(law)); }
std::string_view name(VLaw law) { return v_law_names.at(static_cast<std::size_t>(law)); }
std::string_view name(Alibi alibi) { return alibi_names.at(static_cast<std::size_t>(alibi)); }
std::string_view name(Sinks sinks) { return sinks_names.at(static_cast<std::size_t>(sinks)); }
std::string_view name(KvScales scales) {
  return kv_scales_names.at(static_cast<std::size_t>(scales));
}
std::string_view name(View view) { return view_names.at(static_cast<std::size_t>(view)); }

double Problem::softmax_scale() const {
  return scale == 0 ? 1 / std::sqrt(static_cast<double>(head_dim_qk)) : scale;
}

Problem canonical(const Problem& problem) {
  const Problem defaults;
  Problem result = problem;
  if (problem.kv() == problem.dtype) result.kv_dtype = DType::none;
  if (problem.out() == problem.dtype) result.out_dtype = DType::none;
  if (!problem.is_paged()) result.page_size = defaults.page_size;
  if (problem.is_causal()) result.window_right = defaults.window_right;
  if (!problem.has_fp8_kv()) result.kv_scales = defaults.kv_scales;
  // -0 equals 0 but would print differently
  for (const RealField& field : real_fields) result.*field.member += 0.0;
  return result;
}

std::span<const std::string_view> field_names() { return all_fields; }

std::optional<std::string> set_field(Problem& problem, std::string_view key,
                                     std::string_view value) {
  if (key == "dtype") return set_dtype(problem.dtype, float_dtype_names, key, value);
  if (key == "kv_dtype") return set_dtype(problem.kv_dtype, optional_dtype_names, key, value);
  if (key == "out_dtype") return set_dtype(problem.out_dtype, optional_dtype_names, key, value);
  if (key == "mask") return set_enum(problem.mask, mask_names, key, value);
  if (key == "layout") return set_enum(problem.layout, layout_names, key, value);
  if (key == "lengths") return set_enum(problem.lengths, lengths_names, key, value);
  if (key == "padding") return set_enum(problem.padding, padding_names, key, value);
  if (key == "fill") return set_enum(problem.fill, fill_names, key, value);
  if (key == "law") return set_enum(problem.law, law_names, key, value);
  if (key == "v_law") return set_enum(problem.v_law, v_law_names, key, value);
  if (key == "alibi") return set_enum(problem.alibi, alibi_names, key, value);
  if (key == "sinks") return set_enum(problem.sinks, sinks_names, key, value);
  if (key == "kv_scales") return set_enum(problem.kv_scales, kv_scales_names, key, value);
  if (key == "view") return set_enum(problem.view, view_names, key, value);
  if (key == "inputs") return set_inputs(problem, value);
  if (key == "window") return set_window(problem, value);
  if (key == "lse") return set_lse(problem, value);
  if (key == "seed") return set_seed(problem, value);
  if (const auto* field = find_field(integer_fields, key))
    return set_integer(problem, *field, value);
  if (const auto* field = find_field(real_fields, key)) return set_real(problem, *field, value);
  if (const auto* pair = find_field(pair_fields, key)) {
    IntegerField both = *find_field(integer_fields, pair->first);
    both.key = key;  // messages name what the user wrote
    if (auto message = set_integer(problem, both, value)) return message;
    return set_field(problem, pair->second, value);
  }
  return fmt::format("\"{}\" is not a problem field; {}", key, suggestion(key, all_fields));
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
  if (!wrong.empty()) return wrong;  // what follows divides and multiplies the sizes
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
