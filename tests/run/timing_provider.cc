// A provider of kernels that differ in their times:
//
//   timing/plain      plain attention in fp32, one row after the other
//   timing/sleeps     as plain, then sleeps for 5 ms: wall time without processor time
//   timing/remembers  computes in the first call of a process; later calls copy its result
//   timing/decays     as plain, but from the third call of a process on the first element is NaN
//   timing/drifts     as decays, with the next number instead of NaN: within rounding, but equal
//                     bits are promised
//
// If PLUMBLINE_TEST_RUNS names a file, each `prepare` appends "process kernel seq_kv" to it.
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "plain_attention.h"
#include "plumbline_provider.hpp"

namespace {

using namespace plumbline::provider;

float keep(float p) { return p; }

struct Timing : Library {
  struct Kernel {
    const char* name;
    bool sleeps = false, remembers = false, decays = false, drifts = false;
  };
  struct Plan {
    const Kernel* kernel;
    plumbline_problem problem;
  };

  static const char* name() { return "timing"; }
  static const char* version() { return "1.0 (tests)"; }
  static const std::vector<Kernel>& kernels() {
    static const std::vector<Kernel> all{{.name = "plain"},
                                         {.name = "sleeps", .sleeps = true},
                                         {.name = "remembers", .remembers = true},
                                         {.name = "decays", .decays = true},
                                         {.name = "drifts", .drifts = true}};
    return all;
  }

  static std::string refusal(const Kernel&, const plumbline_problem& problem,
                             const plumbline_device& device) {
    if (const char* why_not = plain_attention_refusal(problem)) return why_not;
    return refuse_other_devices(device, PLUMBLINE_HOST, "the kernels of this test");
  }

  static Plan prepare(const Kernel& kernel, const plumbline_problem& problem,
                      const plumbline_tensors&, const plumbline_device&, std::uint64_t&) {
    if (const char* file = std::getenv("PLUMBLINE_TEST_RUNS")) {
      std::FILE* runs = std::fopen(file, "a");
      std::fprintf(runs, "%d %s %d\n", static_cast<int>(::getpid()), kernel.name,
                   static_cast<int>(problem.seq_kv));
      std::fclose(runs);
    }
    return {&kernel, problem};
  }

  static void run(Plan& plan, const plumbline_tensors& tensors, void*) {
    static std::vector<char> out, lse;
    static int calls = 0;
    ++calls;
    if (plan.kernel->remembers && out.size() == tensors.out.bytes) {
      std::memcpy(tensors.out.data, out.data(), out.size());
      if (!lse.empty()) std::memcpy(tensors.lse.data, lse.data(), lse.size());
      return;
    }
    plain_attention(plan.problem, tensors, keep);
    float& first = *static_cast<float*>(tensors.out.data);
    if (plan.kernel->decays && calls > 2) first = std::nanf("");
    if (plan.kernel->drifts && calls > 2) first = std::nextafter(first, 1e9F);
    if (plan.kernel->sleeps) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (!plan.kernel->remembers) return;
    const auto bytes_of = [](const plumbline_tensor& t) {
      const char* begin = static_cast<const char*>(t.data);
      return std::vector<char>(begin, begin + t.bytes);
    };
    out = bytes_of(tensors.out);
    if (tensors.lse.rank != 0) lse = bytes_of(tensors.lse);
  }

  static void describe(const Plan& plan, plumbline_description& description) {
    description.padding_policy = PLUMBLINE_PADDED_ROWS_UNTOUCHED;
    copy_text(plan.kernel->name, description.launched);
    copy_text("test-1", description.build_id);
    if (plan.kernel->drifts) description.promises = promises(PLUMBLINE_PROMISE_BITWISE);
  }
};

}  // namespace

const plumbline_provider* plumbline_get_provider(std::uint32_t abi_version, const char* options) {
  return serve<Timing>(abi_version, options);
}
