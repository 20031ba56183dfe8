// Recognises tensors of gradients and of dropout by their names.
#include "harness/check/not_judged.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "harness/base/text.h"
#include "harness/check/tensor_set.h"

namespace plumbline {
namespace {

using namespace std::string_view_literals;

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

template <std::size_t n>
bool is_one_of(const std::array<std::string_view, n>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool is_of_gradients(const std::string& name) {
  static constexpr std::array names{"do"sv,     "d_o"sv,        "d_out"sv, "dq"sv,    "d_q"sv,
                                    "dk"sv,     "d_k"sv,        "dv"sv,    "d_v"sv,   "dqkv"sv,
                                    "dkv"sv,    "ds"sv,         "dp"sv,    "dlse"sv,  "dbias"sv,
                                    "d_bias"sv, "dattn_bias"sv, "dsink"sv, "dsinks"sv};
  return is_one_of(names, name) || name.starts_with("dout") || name.starts_with("grad_") ||
         name.ends_with("_grad") || name.ends_with(".grad");
}

bool is_zero(std::string_view text) {
  const auto number = parse_real(text);
  return (number && *number == 0) || is_one_of(std::array{"none"sv, "false"sv, ""sv}, lower(text));
}

// Returns true if the tensor's only number is 0, such as a dropout_p that drops nothing.
bool holds_zero(const TensorData& tensor) {
  if (element_count(tensor) != 1) return false;
  if (const auto dtype = float_dtype(tensor.dtype)) return decode_at(*dtype, tensor.data, 0) == 0;
  return tensor.dtype != "BOOL" && integer_at(tensor, 0) == 0;
}

}  // namespace

UnjudgedParts find_unjudged_parts(const std::map<std::string, TensorData>& tensors,
                                  const std::map<std::string, std::string>& attributes,
                                  std::vector<std::string>& unused_names) {
  UnjudgedParts open;
  std::erase_if(unused_names, [&](const std::string& name) {
    const bool of_gradients = is_of_gradients(lower(name));
    const auto tensor = tensors.find(name);
    const bool of_dropout = lower(name).starts_with("dropout");
    if (of_gradients) open.gradients.push_back(name);
    if (of_dropout && !(tensor != tensors.end() && holds_zero(tensor->second)))
      open.dropout.push_back(name);
    return of_gradients || of_dropout;
  });
  static constexpr std::array shares{"dropout"sv, "dropout_p"sv, "p_dropout"sv, "dropout_rate"sv,
                                     "attention_dropout"sv};
  for (const auto& [name, value] : attributes) {
    if (is_one_of(shares, lower(name)) && !is_zero(value))
      open.dropout.push_back(printable(fmt::format("{} = {}", name, value.substr(0, 40))));
  }
  return open;
}

std::vector<NotJudged> tensors_not_judged(const UnjudgedParts& open, std::size_t tensors) {
  std::vector<NotJudged> result;
  const auto add = [&](const std::vector<std::string>& names, const char* why) {
    if (names.empty()) return;
    const auto count = std::ranges::count_if(names, [](const std::string& name) {
      return name.find(" = ") == std::string::npos;  // not an attribute
    });
    result.push_back({"tensors", count, static_cast<std::int64_t>(tensors), why, names});
  };
  add(open.gradients, "nothing judges gradients yet");
  add(open.dropout, "nothing judges dropout yet");
  return result;
}

std::string listed(const std::vector<std::string>& names) {
  if (names.size() < 2) return names.empty() ? "" : names.front();
  return fmt::format("{} and {}", fmt::join(names.begin(), names.end() - 1, ", "), names.back());
}

}  // namespace plumbline
