// Checks every field of a kernel's description, and converts the C structs into our types.
#include "harness/provider/description_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

namespace plumbline {

namespace {

// Collects the first fault; each check names the field it looks at.
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
  // A floating-point dtype; `none_allowed` where PLUMBLINE_DTYPE_NONE means "not done".
  void dtype(const char* field, std::uint32_t value, bool none_allowed) {
    if (value == PLUMBLINE_DTYPE_NONE ? !none_allowed : value > PLUMBLINE_F64)
      note("{} has no meaning {}", field, value);
  }
  void relative_error(const char* field, double value) {
    if (!(value >= 0 && value < 1)) note("{} is {}, not in [0, 1)", field, value);
  }
  void accumulator(const char* field, const plumbline_accumulator& a) {
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
  const bool usable = std::none_of(name.begin(), name.end(), is_control) &&
                      name.find('/') == std::string_view::npos && !name.starts_with("device=") &&
                      is_utf8(name);
  if (usable) return "";
  return fmt::format(
      "is \"{}\": a name is UTF-8 without control bytes and '/', and does not begin with device=",
      shown(std::string(name)));
}

void check_spec(Checker& check, const plumbline_rounding_spec& spec) {
  check.dtype("p_dtype", spec.p_dtype, false);
  int exponent = 0;
  if (!(spec.p_prescale > 0 && std::isfinite(spec.p_prescale) &&
        std::frexp(spec.p_prescale, &exponent) == 0.5)) {
    check.note("p_prescale is {}, not a power of two", spec.p_prescale);
  }
  check.at_most("denominator_from_rounded_p", spec.denominator_from_rounded_p, 1);
  check.dtype("s_rounded", spec.s_rounded, true);
  check.dtype("q_prescaled", spec.q_prescaled, true);
  check.dtype("split_partial_dtype", spec.split_partial_dtype, false);
  check.accumulator("qk_accumulator", spec.qk_accumulator);
  check.accumulator("pv_accumulator", spec.pv_accumulator);
  check.relative_error("exp2_rel_error", spec.exp2_rel_error);
  check.relative_error("tanh_rel_error", spec.tanh_rel_error);
  check.dtype("kv_dequantized_to", spec.kv_dequantized_to, true);
  check.dtype("out_dtype", spec.out_dtype, false);
  if (spec.lse_base != 0 && spec.lse_base != 2)
    check.note("lse_base has no meaning {}", spec.lse_base);
  check.at_most("lse_excludes_sink", spec.lse_excludes_sink, 1);
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

Accumulator to_accumulator(const plumbline_accumulator& a) {
  return {static_cast<DType>(a.dtype), a.toward_zero != 0, static_cast<int>(a.fraction_bits),
          static_cast<int>(a.products_per_step)};
}

RoundingSpec to_spec(const plumbline_rounding_spec& s) {
  RoundingSpec spec;
  spec.p_dtype = static_cast<DType>(s.p_dtype);
  spec.p_prescale = s.p_prescale;
  spec.denominator_from_rounded_p = s.denominator_from_rounded_p != 0;
  spec.s_rounded = static_cast<DType>(s.s_rounded);
  spec.q_prescaled = static_cast<DType>(s.q_prescaled);
  spec.split_partial_dtype = static_cast<DType>(s.split_partial_dtype);
  spec.qk_accumulator = to_accumulator(s.qk_accumulator);
  spec.pv_accumulator = to_accumulator(s.pv_accumulator);
  spec.exp2_rel_error = s.exp2_rel_error;
  spec.tanh_rel_error = s.tanh_rel_error;
  spec.kv_dequantized_to = static_cast<DType>(s.kv_dequantized_to);
  spec.out_dtype = static_cast<DType>(s.out_dtype);
  spec.lse_base = static_cast<int>(s.lse_base);
  spec.lse_includes_sink = s.lse_excludes_sink == 0;
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
  check.at_most("padding_policy", d.padding_policy, PLUMBLINE_PADDED_ROWS_ATTENDED);
  check_spec(check, d.spec);
  check_promises(check, d.promises);
  check.minus_one_or_more("registers_per_thread", d.registers_per_thread);
  check.minus_one_or_more("spill_bytes_per_thread", d.spill_bytes_per_thread);
  check.minus_one_or_more("shared_memory_bytes", d.shared_memory_bytes);
  check.minus_one_or_more("stack_bytes_per_thread", d.stack_bytes_per_thread);
  return check.fault;
}

std::string names_fault(std::string_view provider, const std::vector<std::string>& kernels,
                        const std::vector<std::string>& tensor_cores) {
  if (const std::string fault = name_fault(provider); !fault.empty())
    return fmt::format("the provider's name {}", fault);
  if (tensor_cores.size() != kernels.size()) {
    return fmt::format("{} kernels, and {} words that say whether they use tensor cores",
                       kernels.size(), tensor_cores.size());
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
  }
  return "";
}

Description to_description(const plumbline_description& d) {
  Description description;
  description.launched = d.launched;
  description.build_id = d.build_id;
  description.tensor_cores = d.tensor_cores;
  description.padding_policy = static_cast<PaddingPolicy>(d.padding_policy);
  description.spec = to_spec(d.spec);
  description.promises = to_promises(d.promises);
  description.registers_per_thread = d.registers_per_thread;
  description.spill_bytes_per_thread = d.spill_bytes_per_thread;
  description.shared_memory_bytes = d.shared_memory_bytes;
  description.stack_bytes_per_thread = d.stack_bytes_per_thread;
  description.device_arch = d.device_arch;
  return description;
}

}  // namespace plumbline
