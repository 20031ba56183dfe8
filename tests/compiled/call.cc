// Builds the structs of the C interface, and runs the kernel.
#include "tests/compiled/call.h"

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <random>

namespace plumbline::compiled::test {
namespace {

template <class Value>
plumbline_tensor tensor(std::vector<Value>& values, std::uint32_t dtype, std::uint32_t space,
                        std::vector<std::int64_t> extents) {
  auto made = provider::sized<plumbline_tensor>();
  made.dtype = dtype;
  made.memory_space = space;
  made.rank = static_cast<std::uint32_t>(extents.size());
  std::int64_t stride = 1;
  for (std::size_t i = extents.size(); i-- > 0;) {
    made.extent[i] = extents[i];
    made.stride[i] = stride;
    stride *= extents[i];
  }
  made.data = values.data();
  made.bytes = values.size() * sizeof(Value);
  return made;
}

std::int32_t total(const std::vector<std::int32_t>& lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), 0);
}
std::vector<std::int32_t> sums(const std::vector<std::int32_t>& lengths) {
  std::vector<std::int32_t> all{0};
  for (const std::int32_t one : lengths) all.push_back(all.back() + one);
  return all;
}

plumbline_problem problem_of(const Ragged& of) {
  auto p = provider::sized<plumbline_problem>();
  p.dtype_q = p.dtype_kv = p.dtype_out = of.dtype;
  p.layout = PLUMBLINE_RAGGED_THD;
  p.mask = of.mask;
  p.lse_wanted = 1;
  p.batch = static_cast<std::int64_t>(of.rows.size());
  p.heads_q = of.heads_q;
  p.heads_kv = of.heads_kv;
  p.seq_q = *std::max_element(of.rows.begin(), of.rows.end());
  p.seq_kv = *std::max_element(of.keys.begin(), of.keys.end());
  p.head_dim_qk = p.head_dim_vo = of.head_dim;
  p.total_q = total(of.rows);
  p.total_kv = total(of.keys);
  p.window_left = p.window_right = -1;
  p.scale = of.scale;
  return p;
}

}  // namespace

void fill(Ragged& of, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  const auto values = [&](std::int64_t tokens, std::int64_t heads) {
    std::vector<std::uint16_t> all(static_cast<std::size_t>(tokens * heads * of.head_dim));
    for (std::uint16_t& one : all) {
      const float x = normal(random);
      one = of.dtype == PLUMBLINE_BF16
                ? static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16U)
                : std::bit_cast<std::uint16_t>(static_cast<_Float16>(x));
    }
    return all;
  };
  of.q = values(total(of.rows), of.heads_q);
  of.k = values(total(of.keys), of.heads_kv);
  of.v = values(total(of.keys), of.heads_kv);
}

Loaded::Loaded(const std::string& path, const std::string& options) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto get =
      reinterpret_cast<plumbline_get_provider_function>(dlsym(library, "plumbline_get_provider"));
  provider_ = get(PLUMBLINE_ABI_VERSION, options.c_str());
}

KernelResult Loaded::run_problem(const std::string& kernel, const std::string& arch,
                                 const Ragged& of) const {
  KernelResult answer;
  const plumbline_problem p = problem_of(of);
  auto device = provider::sized<plumbline_device>();
  device.memory_space = PLUMBLINE_EMULATED;
  provider::copy_text("emulated:" + arch, device.arch);

  Ragged copy = of;
  answer.out.assign(copy.q.size(), 0x7fff);
  answer.lse.assign(static_cast<std::size_t>(p.total_q * p.heads_q), 0);
  std::vector<std::int32_t> sums_q = sums(of.rows), sums_kv = sums(of.keys);
  const auto on = [&](std::vector<std::uint16_t>& values, std::int64_t tokens, std::int64_t heads) {
    return tensor(values, of.dtype, PLUMBLINE_EMULATED, {tokens, heads, of.head_dim});
  };
  auto tensors = provider::sized<plumbline_tensors>();
  tensors.q = on(copy.q, p.total_q, p.heads_q);
  tensors.k = on(copy.k, p.total_kv, p.heads_kv);
  tensors.v = on(copy.v, p.total_kv, p.heads_kv);
  tensors.out = on(answer.out, p.total_q, p.heads_q);
  tensors.lse = tensor(answer.lse, PLUMBLINE_F32, PLUMBLINE_EMULATED, {p.total_q, p.heads_q});
  tensors.cu_seqlens_q = tensor(sums_q, PLUMBLINE_I32, PLUMBLINE_HOST, {p.batch + 1});
  tensors.cu_seqlens_kv = tensor(sums_kv, PLUMBLINE_I32, PLUMBLINE_HOST, {p.batch + 1});
  tensors.seqlens_q = tensor(copy.rows, PLUMBLINE_I32, PLUMBLINE_HOST, {p.batch});
  tensors.seqlens_kv = tensor(copy.keys, PLUMBLINE_I32, PLUMBLINE_HOST, {p.batch});

  std::uint32_t number = 0;
  while (number < provider_->kernel_count && kernel != provider_->kernel_name(number)) ++number;
  std::vector<char> reason(2048);
  plumbline_plan* plan = nullptr;
  std::uint64_t bytes = 0;
  if (provider_->prepare(number, &p, &tensors, &device, &plan, &bytes, reason.data(),
                         reason.size()) != PLUMBLINE_OK) {
    answer.error = reason.data();
    return answer;
  }
  std::vector<std::uint8_t> workspace(bytes, 0xff);
  tensors.workspace =
      tensor(workspace, PLUMBLINE_F32, PLUMBLINE_EMULATED, {static_cast<std::int64_t>(bytes)});
  if (provider_->run(plan, &tensors, nullptr, reason.data(), reason.size()) != PLUMBLINE_OK)
    answer.error = reason.data();
  auto description = provider::sized<plumbline_description>();
  provider_->describe(plan, &description);
  answer.launched = description.launched;
  answer.shared_memory_bytes = description.shared_memory_bytes;
  provider_->destroy(plan);
  return answer;
}

}  // namespace plumbline::compiled::test
