// Checks every field of a kernel's description, and converts the C structs into C++ types.
#include "harness/provider/description_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <type_traits>

#include "harness/problem/contradictory_flags.h"
#include "harness/problem/dtype.h"
#include "harness/problem/outputs.h"
#include "harness/provider/abi_spec_fields.h"

namespace plumbline {

namespace {

// Keeps the first fault; each check names its field.
class Checker {
 public:
  std::string fault;

  void text(const char* field, const char* value, std::size_t capacity) {
    if (std::memchr(value, '\0', capacity) == nullptr)
      note("{} does not end with a NUL within its {} bytes", field, capacity);
  }
  void at_most(const char* field, std::uint32_t value, std::uint32_t largest) {
    if (value > largest) note("{} has no meaning {}", field, value);
  }
  // Fields of a rounding spec. Dtypes must be floating-point.
  void field(const char* field, spec_kind::Format, std::uint32_t dtype) {
    if (dtype == PLUMBLINE_DTYPE_NONE) note("{} has no meaning {}", field, dtype);
    this->field(field, spec_kind::Step{}, dtype);
  }
  void field(const char* field, spec_kind::Step, std::uint32_t dtype) {
    if (dtype == PLUMBLINE_I32 || dtype >= all<DType>().size())
      note("{} has no meaning {}", field, dtype);
  }
  void field(const char* field, spec_kind::Factor, double value) {
    if (!(value > 0 && std::isfinite(value))) note("{} is {}, not a positive number", field, value);
  }
  void field(const char* field, spec_kind::Flag, std::uint32_t value) { at_most(field, value, 1); }
  void field(const char* field, spec_kind::RelativeError, double value) {
    if (!(value >= 0 && value < 1)) note("{} is {}, not in [0, 1)", field, value);
  }
  void field(const char* field, spec_kind::Maximum, std::uint32_t value) {
    at_most(field, value, names_of<MaximumOfP>.size() - 1);
  }
  void field(const char* field, spec_kind::LseBase, std::uint32_t value) {
    if (value != 0 && value != 2) note("{} has no meaning {}", field, value);
  }
  void field(const char* field, spec_kind::Sums, const plumbline_accumulator& a) {
    if (a.dtype != PLUMBLINE_F32 && a.dtype != PLUMBLINE_F16)
      note("{}.dtype has no meaning {}", field, a.dtype);
    at_most(fmt::format("{}.toward_zero", field).c_str(), a.toward_zero, 1);
    if (a.fraction_bits < 1 || a.fraction_bits > 53)
      note("{}.fraction_bits is {}, not in 1..53", field, a.fraction_bits);
    if (a.products_per_step < 1 || a.products_per_step > 4096) {
      note("{}.products_per_step is {}, not in 1..4096", field, a.products_per_step);
    }
  }
  void minus_one_or_more(const char* field, std::int64_t value) {
    if (value < -1) note("{} is {}, not -1 (unknown) or more", field, value);
  }
  template <class... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    if (fault.empty()) fault = "description: " + fmt::format(format, std::forward<Args>(args)...);
  }
};

std::string shown(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7F; }, '?');
  return text;
}

bool is_utf8(std::string_view text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

std::string name_fault(std::string_view name) {
  constexpr std::size_t longest = 128;
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
  if (name.empty()) return "is empty";
  if (name.size() > longest) return fmt::format("has more than {} bytes", longest);
  const bool usable = std::ranges::none_of(name, is_control) &&
                      name.find('/') == std::string_view::npos && !name.starts_with("device=") &&
                      is_utf8(name);
  if (usable) return "";
  return fmt::format(
      "is \"{}\": a name is UTF-8 without control bytes or '/', and does not begin with device=",
      shown(std::string(name)));
}

void check_promises(Checker& check, const plumbline_promises& promises) {
  check.at_most("promises.run_to_run", promises.run_to_run, PLUMBLINE_PROMISE_BITWISE);
  check.at_most("promises.batch", promises.batch, PLUMBLINE_PROMISE_BITWISE);
  check.at_most("promises.layout", promises.layout, PLUMBLINE_PROMISE_BITWISE);
  check.at_most("promises.page", promises.page, PLUMBLINE_PROMISE_BITWISE);
  check.at_most("promises.split", promises.split, PLUMBLINE_PROMISE_BITWISE);
  check.at_most("promises.prefill_decode", promises.prefill_decode, PLUMBLINE_PROMISE_BITWISE);
  check.at_most("promises.lse", promises.lse, PLUMBLINE_PROMISE_BITWISE);
}

void convert(std::uint32_t from, DType& to) { to = static_cast<DType>(from); }
void convert(std::uint32_t from, MaximumOfP& to) { to = static_cast<MaximumOfP>(from); }
void convert(std::uint32_t from, bool& to) { to = from != 0; }
void convert(std::uint32_t from, int& to) { to = static_cast<int>(from); }
void convert(double from, double& to) { to = from; }
void convert(const plumbline_accumulator& from, Accumulator& to) {
  to = {static_cast<DType>(from.dtype), from.toward_zero != 0, static_cast<int>(from.fraction_bits),
        static_cast<int>(from.products_per_step)};
}

RoundingSpec to_spec(const plumbline_description& d) {
  RoundingSpec spec;
  for_each_spec_field([&]<class Kind, class Of>(const char*, Kind, Of of) {
    if constexpr (std::is_same_v<Kind, spec_kind::LseIncludesSink>) {
      spec.lse_includes_sink = d.spec.lse_excludes_sink == 0;
    } else if constexpr (std::is_invocable_v<Of, const plumbline_rounding_spec&>) {
      convert(of(d.spec), of(spec));
    } else {
      convert(of(d.more_roundings), of(spec));
    }
  });
  return spec;
}

Promises to_promises(const plumbline_promises& p) {
  const auto promise = [](std::uint32_t value) { return static_cast<Promise>(value); };
  return {promise(p.run_to_run), promise(p.batch),          promise(p.layout), promise(p.page),
          promise(p.split),      promise(p.prefill_decode), promise(p.lse)};
}

}  // namespace

std::string description_fault(const plumbline_description& d) {
  Checker check;
  check.text("launched", d.launched, sizeof d.launched);
  check.text("build_id", d.build_id, sizeof d.build_id);
  check.text("tensor_cores", d.tensor_cores, sizeof d.tensor_cores);
  check.text("device_arch", d.device_arch, sizeof d.device_arch);
  if (!check.fault.empty()) return check.fault;
  const std::string_view tensor_cores = d.tensor_cores;
  if (tensor_cores != "on" && tensor_cores != "off" && tensor_cores != "none") {
    check.note("tensor_cores is \"{}\", not \"on\", \"off\" or \"none\"", tensor_cores);
  }
  check.at_most("padding_policy", d.padding_policy, PLUMBLINE_PADDED_ROWS_ANYTHING);
  for_each_abi_spec_field<plumbline_rounding_spec>(
      [&](const char* name, auto kind, auto of) { check.field(name, kind, of(d.spec)); });
  for_each_abi_spec_field<plumbline_more_roundings>(
      [&](const char* name, auto kind, auto of) { check.field(name, kind, of(d.more_roundings)); });
  check_promises(check, d.promises);
  check.minus_one_or_more("registers_per_thread", d.registers_per_thread);
  check.minus_one_or_more("spill_bytes_per_thread", d.spill_bytes_per_thread);
  check.minus_one_or_more("shared_memory_bytes", d.shared_memory_bytes);
  check.minus_one_or_more("stack_bytes_per_thread", d.stack_bytes_per_thread);
  if (!check.fault.empty()) return check.fault;
  const RoundingSpec spec = to_spec(d);
  if (const std::string pair = contradictory_flags(spec); !pair.empty()) check.note("{}", pair);
  for (const FlagOfRounding& flag : flags_of_roundings) {
    // A kernel for several dtypes may keep its flags in problems where it rounds to fp32.
    if (is_idle(flag, spec) && spec.*flag.dtype != DType::f32)
      check.note("{}", idle_sentence(flag));
  }
  return check.fault;
}

std::string outputs_fault(const std::vector<std::string>& kernels,
                          const std::vector<std::vector<std::string>>& outputs) {
  if (outputs.size() != kernels.size())
    return fmt::format("{} kernels, but {} entries of outputs", kernels.size(), outputs.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    for (const std::string& output : outputs[i]) {
      const auto known = parse<RowOutput>(output);
      if (known && *known != RowOutput::lse) continue;
      std::string others;
      for (const RowOutput other : further_row_outputs)
        others += fmt::format("{}{}", others.empty() ? "" : ", ", name(other));
      return fmt::format("kernel {} declares the output \"{}\"; beyond out and lse there {}",
                         kernels[i], shown(output.substr(0, 80)),
                         others.empty() ? "is none" : "are: " + others);
    }
  }
  return "";
}

std::string names_fault(std::string_view provider, const std::vector<std::string>& kernels,
                        const std::vector<std::string>& tensor_cores,
                        const std::vector<std::string>& questions) {
  if (const std::string fault = name_fault(provider); !fault.empty())
    return fmt::format("the provider's name {}", fault);
  if (tensor_cores.size() != kernels.size()) {
    return fmt::format("{} kernels, but {} entries of tensor_cores", kernels.size(),
                       tensor_cores.size());
  }
  if (questions.size() != kernels.size()) {
    return fmt::format("{} kernels, but {} entries of questions", kernels.size(), questions.size());
  }
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (const std::string fault = name_fault(kernels[i]); !fault.empty())
      return fmt::format("the name of kernel {} {}", i, fault);
    if (!seen.insert(kernels[i]).second)
      return fmt::format("two kernels are called {}", kernels[i]);
    if (const std::string& word = tensor_cores[i];
        word != "on" && word != "off" && word != "none") {
      return fmt::format(R"(tensor_cores of kernel {} is "{}", not "on", "off" or "none")",
                         kernels[i], shown(word.substr(0, 80)));
    }
    if (const std::string& word = questions[i]; word != "attention" && word != "merge") {
      return fmt::format(R"(the question of kernel {} is "{}", not "attention" or "merge")",
                         kernels[i], shown(word.substr(0, 80)));
    }
  }
  return "";
}

Description to_description(const plumbline_description& d) {
  Description description;
  description.launched = d.launched;
  description.build_id = d.build_id;
  description.tensor_cores = d.tensor_cores;
  description.padding_policy = static_cast<PaddingPolicy>(d.padding_policy);
  description.spec = to_spec(d);
  description.promises = to_promises(d.promises);
  description.registers_per_thread = d.registers_per_thread;
  description.spill_bytes_per_thread = d.spill_bytes_per_thread;
  description.shared_memory_bytes = d.shared_memory_bytes;
  description.stack_bytes_per_thread = d.stack_bytes_per_thread;
  description.device_arch = d.device_arch;
  return description;
}

}  // namespace plumbline
