// plumbline_planted_cpu.so: a variant of the provider "cpu" with a regression planted in some of
// its calls. Provider and kernels have cpu's names, so their results continue its series. The
// options are in the variable PLANTED_OPTIONS, which plumbline does not record (options after a
// provider's file would begin new series), or after the file:
//
//   PLANTED_OPTIONS=slow=0.05,part=3/8 plumbline run … --provider …/plumbline_planted_cpu.so
//
//   slow=0.05        adds this share to the CPU time of the thread; from 1 on, slow is cpu's own
//                    option, which repeats the whole computation
//   flip=0.03        moves this share of the output's elements by one ulp, up or down
//   bit=1            changes the lowest bit of one element of the output
//   mix=0.2          applies cpu's own options to this share of the elements only, so that errors
//                    grow a little; a larger share includes the elements of a smaller one
//   only=cpu/flash*  plants only in kernels with this name
//   part=3/8         plants only in the problems of part 3 of 8 (from 0), by a hash of the problem
//   same_build=1     keeps cpu's build id, like a fault of memory or driver rather than a new build
//
// All other options are cpu's (kernels/cpu/variants.h) and apply to the same calls only:
// partials=16,undeclared=1 stores split partials in 16 bits without declaring it. If something is
// planted, the launch description ends with ", planted" and the options.
#include <dlfcn.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "harness/provider/plumbline_provider.hpp"

namespace {

using plumbline::provider::set_number;

struct Planted {
  double slow = 0, flip = 0, mix = 0;
  bool bit = false, same_build = false;
  std::string only;
  int part = 0, parts = 1;
  std::string of_cpu;  // cpu's own options
  std::string text;    // all options

  bool changes_output() const { return flip > 0 || bit; }
};

const plumbline_provider* (*get_cpu)(std::uint32_t, const char*) = nullptr;
const plumbline_provider* cpu = nullptr;
std::uint32_t abi = 0;
Planted planted;

bool set(Planted& to, std::string_view key, std::string_view value) {
  int flag = 0;
  if (key == "slow" && set_number(to.slow, value, 0, 0.999)) return true;
  if (key == "flip") return set_number(to.flip, value, 0, 1);
  if (key == "mix") return set_number(to.mix, value, 0, 1);
  if (key == "bit") return set_number(flag, value, 0, 1) && (to.bit = flag != 0, true);
  if (key == "same_build")
    return set_number(flag, value, 0, 1) && (to.same_build = flag != 0, true);
  if (key == "only") return to.only = value, !value.empty();
  if (key == "part") {
    const std::size_t slash = value.find('/');
    return slash != value.npos && set_number(to.parts, value.substr(slash + 1), 1, 1'000'000) &&
           set_number(to.part, value.substr(0, slash), 0, to.parts - 1);
  }
  to.of_cpu += (to.of_cpu.empty() ? "" : ",") + std::string(key) + "=" + std::string(value);
  return true;
}

bool read(std::string_view text, Planted& to) {
  to.text = text;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    const std::string_view value =
        equals == item.npos ? std::string_view() : item.substr(equals + 1);
    if (!set(to, item.substr(0, equals), value)) {
      std::fprintf(stderr,
                   "PLANTED_OPTIONS: %.*s is not understood; tests/planted/planted_cpu.cc "
                   "lists what is\n",
                   static_cast<int>(item.size()), item.data());
      return false;
    }
  }
  return true;
}

std::uint64_t mixed(std::uint64_t x) {  // the finaliser of MurmurHash3
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdU;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53U;
  return x ^ (x >> 33);
}

std::uint64_t hash(std::string_view kernel, const plumbline_problem& p) {
  std::uint64_t value = 0;
  const auto add = [&](auto field) {
    value = mixed(value * 31 + static_cast<std::uint64_t>(field) + 1);
  };
  for (const char c : kernel) add(c);
  for (const auto field : {p.dtype_q, p.dtype_kv, p.dtype_out, p.layout, p.mask, p.padding})
    add(field);
  for (const auto field :
       {p.batch, p.heads_q, p.heads_kv, p.seq_q, p.seq_kv, p.head_dim_qk, p.head_dim_vo, p.total_q,
        p.total_kv, p.page_size, p.window_left, p.window_right})
    add(field);
  return value;
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Moving by one ulp must keep a number finite and must not change its sign. Elements that are 0
// (including padding), infinite or NaN are left alone.
template <class Bits>
bool may_change(Bits bits, std::uint32_t dtype) {
  const Bits exponent = dtype == PLUMBLINE_F32   ? static_cast<Bits>(0x7f800000U)
                        : dtype == PLUMBLINE_F16 ? static_cast<Bits>(0x7c00U)
                                                 : static_cast<Bits>(0x7f80U);
  const auto magnitude = static_cast<Bits>(bits & (std::numeric_limits<Bits>::max() >> 1));
  return (bits & exponent) != exponent && magnitude != 0;
}

// Calls change(bits, index of the element) for each element of a tensor.
template <class Bits, class Change>
void for_each_element(const plumbline_tensor& tensor, const Change& change) {
  std::array<std::int64_t, 4> extent{1, 1, 1, 1}, stride{0, 0, 0, 0};
  for (std::uint32_t i = 0; i < tensor.rank && i < 4; ++i) {
    extent.at(i) = tensor.extent[i];
    stride.at(i) = tensor.stride[i];
  }
  auto* data = static_cast<Bits*>(tensor.data);
  std::uint64_t number = 0;
  for (std::int64_t a = 0; a < extent[0]; ++a) {
    for (std::int64_t b = 0; b < extent[1]; ++b) {
      for (std::int64_t c = 0; c < extent[2]; ++c) {
        for (std::int64_t d = 0; d < extent[3]; ++d)
          change(data[a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3]], number++);
      }
    }
  }
}

template <class Bits>
void change_output(const plumbline_tensor& out) {
  constexpr std::uint64_t middle = 100;  // not the first element, which a test may check by chance
  const auto below =
      static_cast<std::uint64_t>(planted.flip * static_cast<double>(std::uint64_t{1} << 53));
  bool to_change = planted.bit;
  for_each_element<Bits>(out, [&](Bits& bits, std::uint64_t number) {
    if (!may_change(bits, out.dtype)) return;
    const std::uint64_t drawn = mixed(number + 1);
    if (drawn >> 11 < below) bits = static_cast<Bits>((drawn & 1) != 0 ? bits + 1 : bits - 1);
    if (to_change && number >= middle) bits ^= 1, to_change = false;
  });
}

// cpu's own plan, and whether something is planted in it. With mix, also the plan for the changed
// elements.
struct Plan {
  plumbline_plan* inner;
  bool is_planted;
  plumbline_plan* mixed_in = nullptr;
};
Plan& of(plumbline_plan* plan) { return *reinterpret_cast<Plan*>(plan); }
const Plan& of(const plumbline_plan* plan) { return *reinterpret_cast<const Plan*>(plan); }

bool is_planted(std::uint32_t kernel, const plumbline_problem& problem) {
  const std::string name = std::string("cpu/") + cpu->kernel_name(kernel);
  if (!planted.only.empty() && ::fnmatch(planted.only.c_str(), name.c_str(), 0) != 0) return false;
  return hash(name, problem) % static_cast<std::uint64_t>(planted.parts) ==
         static_cast<std::uint64_t>(planted.part);
}

plumbline_status prepare(std::uint32_t kernel, const plumbline_problem* problem,
                         const plumbline_tensors* tensors, const plumbline_device* device,
                         plumbline_plan** plan, std::uint64_t* workspace_bytes, char* reason,
                         std::size_t reason_bytes) {
  // A plan of cpu keeps the options that are set when it is made.
  const auto plan_of_cpu = [&](const std::string& options, plumbline_plan** made) {
    get_cpu(abi, options.c_str());
    std::uint64_t bytes = 0;
    const plumbline_status status =
        cpu->prepare(kernel, problem, tensors, device, made, &bytes, reason, reason_bytes);
    if (status == PLUMBLINE_OK) *workspace_bytes = std::max(*workspace_bytes, bytes);
    return status;
  };
  const bool here = is_planted(kernel, *problem), mixes = here && planted.mix > 0;
  Plan made{nullptr, here};
  *workspace_bytes = 0;
  plumbline_status status = plan_of_cpu(here && !mixes ? planted.of_cpu : "", &made.inner);
  if (status == PLUMBLINE_OK && mixes) status = plan_of_cpu(planted.of_cpu, &made.mixed_in);
  if (status == PLUMBLINE_OK) *plan = reinterpret_cast<plumbline_plan*>(new Plan(made));
  return status;
}

// Replaces a share of the output's elements by those of another plan.
template <class Bits>
plumbline_status mix_in(plumbline_plan* other, plumbline_tensors tensors, void* stream,
                        char* reason, std::size_t reason_bytes) {
  const plumbline_tensor out = tensors.out;
  const auto* bytes = static_cast<const char*>(out.data);
  std::vector<char> others(bytes, bytes + out.bytes), lse(tensors.lse.bytes);
  tensors.out.data = others.data();
  if (tensors.lse.data != nullptr) tensors.lse.data = lse.data();
  const plumbline_status status = cpu->run(other, &tensors, stream, reason, reason_bytes);
  const auto below =
      static_cast<std::uint64_t>(planted.mix * static_cast<double>(std::uint64_t{1} << 53));
  for_each_element<Bits>(out, [&](Bits& bits, std::uint64_t number) {
    if (mixed(number + 1) >> 11 >= below) return;
    std::memcpy(&bits, others.data() + (reinterpret_cast<const char*>(&bits) - bytes), sizeof bits);
  });
  return status;
}

plumbline_status run(plumbline_plan* plan, const plumbline_tensors* tensors, void* stream,
                     char* reason, std::size_t reason_bytes) {
  const double begun = cpu_seconds();
  plumbline_status status = cpu->run(of(plan).inner, tensors, stream, reason, reason_bytes);
  if (!of(plan).is_planted || status != PLUMBLINE_OK) return status;
  const bool is_f32 = tensors->out.dtype == PLUMBLINE_F32;
  if (plumbline_plan* other = of(plan).mixed_in; other != nullptr) {
    const auto mix = is_f32 ? mix_in<std::uint32_t> : mix_in<std::uint16_t>;
    status = mix(other, *tensors, stream, reason, reason_bytes);
  }
  if (planted.changes_output())
    is_f32 ? change_output<std::uint32_t>(tensors->out)
           : change_output<std::uint16_t>(tensors->out);
  if (planted.slow > 0) {
    const double end = begun + (cpu_seconds() - begun) * (1 + planted.slow);
    while (cpu_seconds() < end) {
    }
  }
  return status;
}

plumbline_status describe(const plumbline_plan* plan, plumbline_description* description) {
  const plumbline_status status = cpu->describe(of(plan).inner, description);
  if (!of(plan).is_planted || planted.text.empty()) return status;
  const auto append = [](auto& field, const std::string& text) {
    const std::size_t used = ::strnlen(field, sizeof field);
    std::snprintf(field + used, sizeof field - used, "%s", text.c_str());
  };
  append(description->launched, ", planted " + planted.text);
  if (planted.same_build || planted.text == planted.of_cpu) return status;  // cpu hashes its own
  std::uint64_t value = 0;
  for (const char c : planted.text) value = mixed(value * 31 + static_cast<unsigned char>(c));
  append(description->build_id, "+" + std::to_string(value % 1'000'000'007));
  return status;
}

void destroy(plumbline_plan* plan) {
  cpu->destroy(of(plan).inner);
  if (of(plan).mixed_in != nullptr) cpu->destroy(of(plan).mixed_in);
  delete &of(plan);
}

}  // namespace

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  void* library = ::dlopen(PLUMBLINE_CPU_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  get_cpu = reinterpret_cast<decltype(get_cpu)>(::dlsym(library, "plumbline_get_provider"));
  const char* variable = std::getenv("PLANTED_OPTIONS");
  std::string text = options == nullptr ? "" : options;
  if (variable != nullptr && *variable != '\0')
    text += (text.empty() ? "" : ",") + std::string(variable);
  planted = {};
  if (get_cpu == nullptr || !read(text, planted)) return nullptr;
  abi = abi_version;
  // Calls cpu with its options, so that wrong ones are refused at once.
  cpu = get_cpu(abi_version, planted.of_cpu.c_str());
  if (cpu == nullptr) return nullptr;
  static plumbline_provider mine;
  mine = *cpu;
  mine.prepare = prepare;
  mine.run = run;
  mine.describe = describe;
  mine.destroy = destroy;
  return &mine;
}
