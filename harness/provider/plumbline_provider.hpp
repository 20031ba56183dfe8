// A C++17 layer over the C ABI of plumbline_provider.h, for providers in C++: dispatch from a table
// of kernels, checks, reasons, options, and a default description. Depends only on that header and
// the standard library.
//
// An author writes one class, `Mine` below, and exports it:
//
//   struct Mine : plumbline::provider::Library {
//     struct Kernel { const char* name; /* other properties of a kernel */ };
//     struct Plan { /* what run and describe need to know of a problem */ };
//     static const char* name() { return "mine"; }      // kernels are called mine/NAME
//     static const char* version() { return "1.0"; }
//     static const std::vector<Kernel>& kernels();      // any table with [] and size()
//     // Returns why a kernel does not support the problem on that device, or "". If the device is
//     // missing, it throws Refused(PLUMBLINE_NO_DEVICE, why).
//     static std::string refusal(const Kernel&, const plumbline_problem&, const plumbline_device&);
//     static Plan prepare(const Kernel&, const plumbline_problem&, const plumbline_tensors&,
//                         const plumbline_device&, std::uint64_t& workspace_bytes);
//     static void run(Plan&, const plumbline_tensors&, void* stream);
//     // `description` comes filled in for a host kernel that rounds only its output.
//     static void describe(const Plan&, plumbline_description& description);
//   };
//   const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version,
//                                                    const char* options) {
//     return plumbline::provider::serve<Mine>(abi_version, options);
//   }
//
// refusal(), prepare(), run() and describe() may throw. `Refused` carries the status and the reason
// for plumbline. std::bad_alloc is reported as out of memory, any other exception as an error with
// its what(). plumbline_provider.h says when each is called, and what `run` writes into padded rows
// and rows that see no key. tests/sample_provider/sample_provider.cpp is a complete provider.
#ifndef PLUMBLINE_PROVIDER_HPP_
#define PLUMBLINE_PROVIDER_HPP_

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "plumbline_provider.h"

namespace plumbline::provider {

// ---- Enums of the C ABI ----

// The dtypes, in the order of plumbline_dtype.
struct Dtype {
  const char* name;
  std::int64_t bytes;
};
inline constexpr Dtype dtypes[] = {{"none", 0}, {"fp32", 4}, {"fp16", 2}, {"bf16", 2}, {"e4m3", 1},
                                   {"e5m2", 1}, {"tf32", 4}, {"fp64", 8}, {"int32", 4}};
constexpr const char* dtype_name(std::uint32_t dtype) {
  return dtype < std::size(dtypes) ? dtypes[dtype].name : "an unknown dtype";
}
constexpr std::int64_t dtype_bytes(std::uint32_t dtype) { return dtypes[dtype].bytes; }
constexpr bool is_fp8(std::uint32_t dtype) {
  return dtype == PLUMBLINE_E4M3 || dtype == PLUMBLINE_E5M2;
}
constexpr bool is_16_bit(std::uint32_t dtype) {
  return dtype == PLUMBLINE_F16 || dtype == PLUMBLINE_BF16;
}

// Returns true if the problem needs PLUMBLINE_FEATURE_FP8_SCALES.
constexpr bool needs_fp8_scales(const plumbline_problem& problem) {
  return is_fp8(problem.dtype_q) || problem.scale_tokens != 0;
}

constexpr bool is_padded(std::uint32_t layout) {
  return layout == PLUMBLINE_PADDED_BSHD || layout == PLUMBLINE_PADDED_BHSD;
}
constexpr bool is_paged(std::uint32_t layout) {
  return layout == PLUMBLINE_PAGED_NHD || layout == PLUMBLINE_PAGED_HND;
}

// Returns a zeroed struct of the C ABI with its struct_size.
template <class Struct>
constexpr Struct sized() {
  Struct result{};
  result.struct_size = sizeof(Struct);
  return result;
}

// Returns true if a struct from plumbline has the field; an older plumbline's may be shorter.
//   has_field(tensors, &plumbline_tensors::device_seqlens_q)
template <class Struct, class Field>
bool has_field(const Struct& passed, Field Struct::*field) {
  static const Struct whole{};
  const auto* const begin = reinterpret_cast<const char*>(&whole);
  const auto* const end = reinterpret_cast<const char*>(&(whole.*field)) + sizeof(Field);
  return passed.struct_size >= static_cast<std::size_t>(end - begin);
}

// Copies as much of the text as fits, and a terminating zero.
template <std::size_t size>
void copy_text(std::string_view text, char (&field)[size]) {
  const std::size_t count = std::min(text.size(), size - 1);
  std::memcpy(field, text.data(), count);
  field[count] = '\0';
}

// ---- Refusals and failures ----

// Ends a function of the library with a status and a reason.
class Refused : public std::runtime_error {
 public:
  Refused(plumbline_status why, const std::string& reason)
      : std::runtime_error(reason), status(why) {}
  const plumbline_status status;
};

// Returns "" on a device of this memory space, otherwise a refusal that says where `kernels` ("the
// cpu kernels") run.
inline std::string refuse_other_devices(const plumbline_device& device,
                                        plumbline_memory_space space, const std::string& kernels) {
  constexpr const char* where[] = {"device cpu only",
                                   "CUDA devices only, for example --device cuda:0",
                                   "emulated devices only, for example emulated:sm_90"};
  return device.memory_space == space ? "" : kernels + " run on " + where[space];
}

// ---- Outputs ----

// Returns the tensor of an output that the kernel declares; nullptr if the call does not want it or
// plumbline is too old to pass `outputs`.
inline const plumbline_tensor* find_output(const plumbline_tensors& tensors,
                                           std::string_view name) {
  if (!has_field(tensors, &plumbline_tensors::outputs)) return nullptr;
  for (std::uint32_t i = 0; i < tensors.output_count; ++i) {
    if (tensors.outputs[i].name == name) return &tensors.outputs[i].tensor;
  }
  return nullptr;
}

// ---- Inputs of a planner ----

// Returns a copy of an index array in the memory space of Q, for example
// &plumbline_tensors::device_cu_seqlens_q; nullptr if the array is absent, or if plumbline is too
// old to pass it.
inline const std::int32_t* device_indices(const plumbline_tensors& tensors,
                                          plumbline_tensor plumbline_tensors::*copy) {
  if (!has_field(tensors, copy) || (tensors.*copy).rank == 0) return nullptr;
  return static_cast<const std::int32_t*>((tensors.*copy).data);
}

// Returns the stream on which `prepare` may enqueue work that completes before `run`; nullptr means
// the default stream. An older plumbline does not wait for the stream.
inline void* planning_stream(const plumbline_tensors& tensors) {
  return has_field(tensors, &plumbline_tensors::stream) ? tensors.stream : nullptr;
}

// Allocates memory of a plan, in `prepare` (plumbline_tensors.allocate). A refusal names `what`
// ("index arrays"). Returns nullptr if an older plumbline cannot allocate.
inline void* plan_memory(const plumbline_tensors& tensors, std::uint64_t bytes,
                         const std::string& what) {
  if (!has_field(tensors, &plumbline_tensors::allocate_context) || tensors.allocate == nullptr)
    return nullptr;
  void* memory = nullptr;
  const plumbline_status status = tensors.allocate(tensors.allocate_context, bytes, &memory);
  if (status == PLUMBLINE_OK) return memory;
  throw Refused(status, "no " + std::to_string(bytes) + " bytes of plan memory for " + what);
}

// ---- Roundings and promises ----

// Returns the spec of a kernel that rounds only its output, and sums by fused multiply-add in fp32.
inline plumbline_rounding_spec unrounded(std::uint32_t dtype_out) {
  auto spec = sized<plumbline_rounding_spec>();
  spec.p_dtype = PLUMBLINE_F32;
  spec.p_prescale = 1;
  spec.split_partial_dtype = PLUMBLINE_F32;
  spec.qk_accumulator = spec.pv_accumulator = {PLUMBLINE_F32, 0, 24, 1};
  spec.out_dtype = dtype_out;
  return spec;
}

// Returns the same promise for each transformation of a problem.
inline plumbline_promises promises(plumbline_promise level) {
  const std::uint32_t one = level;
  return {sizeof(plumbline_promises), one, one, one, one, one, one, one};
}

// ---- Options: "key=value,key=value" after the library's name ----

template <class Target>
struct Option {
  std::string_view name;
  std::string_view allowed;  // description of its values: "1 to 256"
  bool (*set)(Target&, std::string_view value);
};

// Sets the options of the text, in order, and returns the first error or "". `whose` ("of the cpu
// provider") is inserted into the error.
template <class Target, class Table>
std::string read_options(std::string_view text, const Table& known, Target& target,
                         const std::string& whose = "") {
  const std::string of = whose.empty() ? "" : " " + whose;
  std::string wrong;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::string_view key = item.substr(0, item.find('='));
    const std::string_view value = item.substr(std::min(item.size(), key.size() + 1));
    const auto option = std::find_if(std::begin(known), std::end(known),
                                     [&](const auto& one) { return one.name == key; });
    const bool is_known = option != std::end(known);
    if ((is_known && option->set(target, value)) || !wrong.empty()) continue;
    if (is_known) {
      wrong = "option " + std::string(key) + "=" + std::string(value) + of + ": expected " +
              std::string(option->allowed);
      continue;
    }
    std::string names;
    for (const auto& one : known) names += (names.empty() ? "" : ", ") + std::string(one.name);
    wrong = "unknown option '" + std::string(key) + "'" + of + " (known: " + names + ")";
  }
  return wrong;
}

// Setters for an Option. Return false if the text is not a number in the range, or not a choice.
template <class Number>
bool set_number(Number& field, std::string_view text, std::common_type_t<Number> lowest,
                std::common_type_t<Number> highest) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  if (!(value >= lowest && value <= highest)) return false;
  field = value;
  return true;
}
template <class Field>
bool set_choice(Field& field, std::string_view text,
                std::initializer_list<std::pair<std::string_view, Field>> choices) {
  for (const auto& [name, value] : choices) {
    if (name == text) return field = value, true;
  }
  return false;
}
// Sets a member of the target from "1" or "0": set_flag<&Settings::reverse>.
template <auto field, class Target>
bool set_flag(Target& target, std::string_view text) {
  int value = 0;
  if (!set_number(value, text, 0, 1)) return false;
  target.*field = value != 0;
  return true;
}

// ---- The library ----

// Defaults of an author's class.
struct Library {
  // "on", "off" or "none".
  template <class Kernel>
  static const char* tensor_cores(const Kernel&) {
    return "none";
  }
  // The operation of a kernel: attention, or merges of states.
  template <class Kernel>
  static plumbline_question question(const Kernel&) {
    return PLUMBLINE_ATTENTION;
  }
  // Outputs beyond out and lse, comma-separated; find_output() returns their tensors.
  template <class Kernel>
  static const char* outputs(const Kernel&) {
    return "";
  }
  // nullptr: host memory.
  static const plumbline_device_memory* memory() { return nullptr; }
  // plumbline_feature bits. refusal() then also gets problems that need these features.
  static std::uint64_t features() { return 0; }
  // Sets the options from the text after the library's name, and returns an error or "". After an
  // error, every query fails with it. plumbline sends a query before the first case.
  static std::string set_options(std::string_view text) {
    return text.empty() ? "" : "unknown option '" + std::string(text) + "' (it takes none)";
  }
};

// Implements the functions of plumbline_provider for an author's class.
template <class Author>
class Interface {
 public:
  static const plumbline_provider* serve(std::uint32_t abi_version, const char* options) {
    if (abi_version != PLUMBLINE_ABI_VERSION) return nullptr;
    try {
      wrong_options() = Author::set_options(options == nullptr ? "" : options);
      static const plumbline_provider provider = make();
      return &provider;
    } catch (...) {
      return nullptr;
    }
  }

 private:
  // The contents of a plumbline_plan.
  struct Planned {
    std::uint32_t kernel;
    std::uint32_t dtype_out, lse_base;
    typename Author::Plan plan;
  };
  static Planned* planned(plumbline_plan* plan) { return reinterpret_cast<Planned*>(plan); }
  static const Planned* planned(const plumbline_plan* plan) {
    return reinterpret_cast<const Planned*>(plan);
  }

  static std::string& wrong_options() {
    static std::string wrong;
    return wrong;
  }
  static bool exists(std::uint32_t kernel) { return kernel < Author::kernels().size(); }

  static plumbline_provider make() {
    auto provider = sized<plumbline_provider>();
    provider.abi_version = PLUMBLINE_ABI_VERSION;
    provider.name = Author::name();
    provider.version = Author::version();
    provider.kernel_count = static_cast<std::uint32_t>(Author::kernels().size());
    provider.kernel_name = kernel_name;
    provider.query = query;
    provider.prepare = prepare;
    provider.run = run;
    provider.describe = describe;
    provider.destroy = destroy;
    provider.memory = Author::memory();
    provider.kernel_tensor_cores = kernel_tensor_cores;
    provider.features = Author::features();
    provider.kernel_question = kernel_question;
    provider.kernel_outputs = kernel_outputs;
    return provider;
  }

  static plumbline_status answer(plumbline_status status, const char* text, char* reason,
                                 std::size_t reason_bytes) {
    if (reason == nullptr || reason_bytes == 0) return status;
    const std::size_t count = std::min(std::strlen(text), reason_bytes - 1);
    std::memcpy(reason, text, count);
    reason[count] = '\0';
    return status;
  }

  // Runs the body of a function of the C ABI. No exception crosses that interface.
  template <class Body>
  static plumbline_status guarded(char* reason, std::size_t reason_bytes, Body body) {
    try {
      return body();
    } catch (const std::bad_alloc&) {
      return answer(PLUMBLINE_OUT_OF_MEMORY, "out of host memory", reason, reason_bytes);
    } catch (const Refused& refused) {
      return answer(refused.status, refused.what(), reason, reason_bytes);
    } catch (const std::exception& error) {
      return answer(PLUMBLINE_ERROR, error.what(), reason, reason_bytes);
    } catch (...) {
      return answer(PLUMBLINE_ERROR, "an exception of unknown type", reason, reason_bytes);
    }
  }

  // Later fields are optional; the author checks them with has_field.
  static constexpr std::size_t required_tensors_bytes =
      offsetof(plumbline_tensors, device_cu_seqlens_q);

  static void require_size(std::uint32_t size, std::size_t known) {
    if (size < known)
      throw Refused(PLUMBLINE_ERROR, "plumbline is too old for this provider; update plumbline");
  }

  static plumbline_status query(std::uint32_t kernel, const plumbline_problem* problem,
                                const plumbline_device* device, char* reason,
                                std::size_t reason_bytes) {
    return guarded(reason, reason_bytes, [&] {
      if (!exists(kernel)) throw Refused(PLUMBLINE_ERROR, "no such kernel");
      require_size(problem->struct_size, sizeof *problem);
      require_size(device->struct_size, sizeof *device);
      if (!wrong_options().empty()) throw Refused(PLUMBLINE_ERROR, wrong_options());
      const std::string why = Author::refusal(Author::kernels()[kernel], *problem, *device);
      return why.empty() ? PLUMBLINE_OK
                         : answer(PLUMBLINE_UNSUPPORTED, why.c_str(), reason, reason_bytes);
    });
  }

  static plumbline_status prepare(std::uint32_t kernel, const plumbline_problem* problem,
                                  const plumbline_tensors* tensors, const plumbline_device* device,
                                  plumbline_plan** plan, std::uint64_t* workspace_bytes,
                                  char* reason, std::size_t reason_bytes) {
    const plumbline_status supported = query(kernel, problem, device, reason, reason_bytes);
    if (supported != PLUMBLINE_OK) return supported;
    return guarded(reason, reason_bytes, [&] {
      require_size(tensors->struct_size, required_tensors_bytes);
      std::uint64_t bytes = 0;
      auto made = std::make_unique<Planned>(
          Planned{kernel, problem->dtype_out, problem->merge_lse_base,
                  Author::prepare(Author::kernels()[kernel], *problem, *tensors, *device, bytes)});
      *workspace_bytes = bytes;
      *plan = reinterpret_cast<plumbline_plan*>(made.release());
      return PLUMBLINE_OK;
    });
  }

  static plumbline_status run(plumbline_plan* plan, const plumbline_tensors* tensors, void* stream,
                              char* reason, std::size_t reason_bytes) {
    return guarded(reason, reason_bytes, [&] {
      Author::run(planned(plan)->plan, *tensors, stream);
      return PLUMBLINE_OK;
    });
  }

  static plumbline_status describe(const plumbline_plan* plan, plumbline_description* description) {
    return guarded(nullptr, 0, [&] {
      require_size(description->struct_size, sizeof *description);
      copy_text(kernel_tensor_cores(planned(plan)->kernel), description->tensor_cores);
      description->spec = unrounded(planned(plan)->dtype_out);
      description->spec.lse_base = planned(plan)->lse_base;
      description->promises = promises(PLUMBLINE_PROMISE_NONE);
      description->registers_per_thread = description->spill_bytes_per_thread = -1;
      description->shared_memory_bytes = description->stack_bytes_per_thread = -1;
      Author::describe(planned(plan)->plan, *description);
      return PLUMBLINE_OK;
    });
  }

  static void destroy(plumbline_plan* plan) { delete planned(plan); }

  static const char* kernel_name(std::uint32_t kernel) {
    return exists(kernel) ? Author::kernels()[kernel].name : nullptr;
  }
  static const char* kernel_tensor_cores(std::uint32_t kernel) {
    return exists(kernel) ? Author::tensor_cores(Author::kernels()[kernel]) : nullptr;
  }
  static std::uint32_t kernel_question(std::uint32_t kernel) {
    return exists(kernel) ? Author::question(Author::kernels()[kernel]) : PLUMBLINE_ATTENTION;
  }
  static const char* kernel_outputs(std::uint32_t kernel) {
    return exists(kernel) ? Author::outputs(Author::kernels()[kernel]) : nullptr;
  }
};

// The result of plumbline_get_provider. Each class of a library has its own table.
template <class Author>
const plumbline_provider* serve(std::uint32_t abi_version, const char* options) {
  return Interface<Author>::serve(abi_version, options);
}

}  // namespace plumbline::provider

#endif  // PLUMBLINE_PROVIDER_HPP_
