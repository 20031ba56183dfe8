// One forward pass, 4 heads of 512 x 512, head_dim 64, bf16: the emulated kernels beside cpu/flash, both through the provider ABI.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "harness/problem/geometry.h"
#include "harness/problem/inputs.h"
#include "harness/provider/plumbline_provider.h"

namespace plumbline {
namespace {

Problem problem() {
  Problem p;
  p.dtype = DType::bf16;
  p.heads_q = p.heads_kv = 4;
  p.seq_q = p.seq_kv = 512;
  return p;
}

plumbline_tensor tensor(const TensorShape& shape, std::vector<std::byte>& storage, std::uint32_t memory_space) {
  storage.resize(shape.bytes() + 16);
  plumbline_tensor t{};
  t.struct_size = sizeof t;
  t.dtype = static_cast<std::uint32_t>(shape.dtype);
  t.memory_space = memory_space;
  t.rank = static_cast<std::uint32_t>(shape.rank);
  std::copy(shape.extent.begin(), shape.extent.end(), t.extent);
  std::copy(shape.stride.begin(), shape.stride.end(), t.stride);
  t.data = storage.data();
  t.bytes = shape.bytes();
  return t;
}

// A kernel with everything but its run behind it.
class Prepared {
 public:
  Prepared(const std::string& library, const std::string& kernel, const std::string& arch) : geometry_(problem()) {
    const std::string path = std::string(PLUMBLINE_BINARY_DIRECTORY) + "/lib/plumbline/" + library;
    void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return;
    provider_ = reinterpret_cast<plumbline_get_provider_function>(dlsym(handle, "plumbline_get_provider"))(PLUMBLINE_ABI_VERSION, "");
    const std::uint32_t space = arch.empty() ? PLUMBLINE_HOST : PLUMBLINE_EMULATED;
    place_tensors(space);
    plumbline_device device{};
    device.struct_size = sizeof device;
    device.memory_space = space;
    std::strncpy(device.arch, arch.c_str(), sizeof device.arch - 1);
    std::uint64_t bytes = 0;
    const plumbline_problem asked = abi_problem();
    for (std::uint32_t k = 0; k < provider_->kernel_count; ++k) {
      if (provider_->kernel_name(k) != kernel) continue;
      ok_ = provider_->prepare(k, &asked, &tensors_, &device, &plan_, &bytes, reason_.data(), reason_.size()) == PLUMBLINE_OK;
    }
    workspace_.resize(bytes);
    tensors_.workspace.data = workspace_.data();
    tensors_.workspace.bytes = bytes;
  }
  ~Prepared() {
    if (plan_ != nullptr) provider_->destroy(plan_);
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  bool run() { return ok_ && provider_->run(plan_, &tensors_, nullptr, reason_.data(), reason_.size()) == PLUMBLINE_OK; }
  const char* reason() const { return reason_.data(); }

 private:
  plumbline_problem abi_problem() const {
    const Problem& p = geometry_.problem();
    plumbline_problem asked{};
    asked.struct_size = sizeof asked;
    asked.dtype_q = asked.dtype_kv = asked.dtype_out = static_cast<std::uint32_t>(p.dtype);
    asked.batch = p.batch;
    asked.heads_q = p.heads_q;
    asked.heads_kv = p.heads_kv;
    asked.seq_q = asked.total_q = p.seq_q;
    asked.seq_kv = asked.total_kv = p.seq_kv;
    asked.head_dim_qk = p.head_dim_qk;
    asked.head_dim_vo = p.head_dim_vo;
    asked.window_left = asked.window_right = -1;
    asked.scale = p.softmax_scale();
    return asked;
  }
  void place_tensors(std::uint32_t space) {
    tensors_.struct_size = sizeof tensors_;
    tensors_.q = tensor(geometry_.q, q_, space);
    tensors_.k = tensor(geometry_.k, k_, space);
    tensors_.v = tensor(geometry_.v, v_, space);
    tensors_.out = tensor(geometry_.out, out_, space);
    fill_inputs(geometry_, q_.data(), k_.data(), v_.data());
    for (plumbline_tensor* lengths : {&tensors_.seqlens_q, &tensors_.seqlens_kv}) {
      lengths->struct_size = sizeof *lengths;
      lengths->dtype = PLUMBLINE_I32;
      lengths->rank = 1;
      lengths->extent[0] = lengths->stride[0] = 1;
      lengths->data = &length_;
      lengths->bytes = sizeof length_;
    }
  }

  Geometry geometry_;
  const plumbline_provider* provider_ = nullptr;
  plumbline_plan* plan_ = nullptr;
  plumbline_tensors tensors_{};
  std::vector<std::byte> q_, k_, v_, out_, workspace_;
  std::int32_t length_ = 512;
  std::array<char, 256> reason_{};
  bool ok_ = false;
};

double cpu_flash_s = 0;  // of the benchmark that comes first

void forward(benchmark::State& state, const char* library, const char* kernel, const char* arch) {
  Prepared call(library, kernel, arch);
  const auto start = std::chrono::steady_clock::now();
  std::int64_t runs = 0;
  for (auto _ : state) {
    if (!call.run()) state.SkipWithError(call.reason());
    ++runs;
  }
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / static_cast<double>(runs);
  if (*arch == '\0') cpu_flash_s = s;
  state.counters["times_cpu_flash"] = cpu_flash_s > 0 ? s / cpu_flash_s : 0;
}
BENCHMARK_CAPTURE(forward, cpu_flash, "plumbline_cpu.so", "flash", "")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(forward, prefill_mma_sm_80, "plumbline_emulated.so", "prefill_mma", "emulated:sm_80")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(forward, prefill_mma_sm_90, "plumbline_emulated.so", "prefill_mma", "emulated:sm_90")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(forward, prefill_simt, "plumbline_emulated.so", "prefill_simt", "emulated:sm_90")
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace plumbline
