// Places tensors between canaries, calls a kernel through its C ABI, and decodes its outputs.
#include "tests/kernels/call.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace plumbline::testing {
namespace {

constexpr std::size_t canary_bytes = 64;
constexpr std::byte canary{0xa5};

// Memory of exactly the requested size between two canaries.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : bytes_(bytes), memory_(bytes + 2 * canary_bytes, canary) {}
  std::byte* data() { return memory_.data() + canary_bytes; }
  bool intact() const {
    const auto whole = [](std::byte value) { return value == canary; };
    return std::all_of(memory_.begin(), memory_.begin() + canary_bytes, whole) &&
           std::all_of(memory_.end() - canary_bytes, memory_.end(), whole);
  }
  void fill(std::byte value) { std::fill_n(data(), bytes_, value); }

 private:
  std::size_t bytes_;
  std::vector<std::byte> memory_;
};

// Returns an approximately normal number with variance 1: the sum of four uniform numbers in (-1,
// 1) times sqrt(3) / 2.
float token_value(std::uint64_t tensor, std::int64_t sample, std::int64_t head,
                  std::int64_t position, std::int64_t d) {
  std::uint64_t x = tensor;
  for (const std::int64_t part : {sample, head, position, d}) {  // splitmix64 of each part
    x += 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(part);
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
    x ^= x >> 31U;
  }
  float sum = 0;
  for (int i = 0; i < 4; ++i) sum += static_cast<float>(x >> (16 * i) & 0xffffU) / 32768.0F - 1.0F;
  return std::round(sum * 0.8660254F * 256) / 256;  // exact in fp16 and tf32
}

std::vector<std::byte> nan_filled(const TensorShape& shape, std::int64_t stretch) {
  const std::vector<float> nan(static_cast<std::size_t>(shape.elements * stretch),
                               std::numeric_limits<float>::quiet_NaN());
  std::vector<std::byte> bytes(nan.size() * size_in_bytes(shape.dtype));
  encode(shape.dtype, nan, bytes.data());
  return bytes;
}

void put(const TensorShape& shape, std::vector<std::byte>& bytes, std::int64_t element,
         float value) {
  encode(shape.dtype, std::span(&value, 1),
         bytes.data() + static_cast<std::size_t>(element) * size_in_bytes(shape.dtype));
}

plumbline_tensor tensor_of(const TensorShape& shape, const void* data, std::int64_t stretch) {
  plumbline_tensor tensor{};
  tensor.struct_size = sizeof tensor;
  tensor.dtype = static_cast<std::uint32_t>(shape.dtype);
  tensor.rank = static_cast<std::uint32_t>(shape.rank);
  for (std::size_t i = 0; i < 4; ++i) {
    tensor.extent[i] = shape.extent[i];
    tensor.stride[i] = shape.stride[i] * stretch;
  }
  tensor.data = const_cast<void*>(data);
  tensor.bytes = shape.bytes() * static_cast<std::uint64_t>(stretch);
  return tensor;
}

plumbline_tensor index_tensor(const std::vector<std::int32_t>& values, std::int64_t columns) {
  plumbline_tensor tensor{};
  tensor.struct_size = sizeof tensor;
  if (values.empty()) return tensor;
  tensor.dtype = PLUMBLINE_I32;
  tensor.rank = columns == 1 ? 1 : 2;
  tensor.extent[0] = static_cast<std::int64_t>(values.size()) / columns;
  tensor.stride[0] = columns;
  tensor.extent[1] = columns == 1 ? 0 : columns;
  tensor.stride[1] = columns == 1 ? 0 : 1;
  tensor.data = const_cast<std::int32_t*>(values.data());
  tensor.bytes = values.size() * sizeof(std::int32_t);
  return tensor;
}

// Returns a dense tensor; an absent one if there are no values.
template <class T>
plumbline_tensor side_tensor(DType dtype, const std::vector<T>& values,
                             std::initializer_list<std::int64_t> extent) {
  if (values.empty()) return tensor_of({}, nullptr, 1);
  TensorShape shape;
  shape.dtype = dtype;
  shape.elements = static_cast<std::int64_t>(values.size());
  std::int64_t stride = shape.elements;
  for (const std::int64_t n : extent) {
    stride /= n;
    shape.extent[static_cast<std::size_t>(shape.rank)] = n;
    shape.stride[static_cast<std::size_t>(shape.rank++)] = stride;
  }
  return tensor_of(shape, values.data(), 1);
}

// Returns a tensor [batch, heads], or [batch, heads, blocks] if blocks of tokens have their own
// scales; stride 0 if one scale serves all.
plumbline_tensor scale_tensor(const Problem& problem, const std::vector<float>& values,
                              std::int64_t heads) {
  if (problem.scale_tokens() > 0 && !values.empty()) {
    const auto blocks = static_cast<std::int64_t>(values.size()) / (problem.batch * heads);
    return side_tensor(DType::f32, values, {problem.batch, heads, blocks});
  }
  plumbline_tensor tensor = side_tensor(DType::f32, values, {problem.batch, heads});
  if (problem.kv_scales != KvScales::batch_head) tensor.stride[0] = 0;
  if (problem.kv_scales == KvScales::tensor) tensor.stride[1] = 0;
  return tensor;
}

plumbline_tensors bind_tensors(const Geometry& geometry, const Inputs& inputs, std::byte* out,
                               std::byte* lse, std::int64_t stretch) {
  plumbline_tensors tensors{};
  tensors.struct_size = sizeof tensors;
  tensors.q = tensor_of(geometry.q, inputs.q.data(), stretch);
  tensors.k = tensor_of(geometry.k, inputs.k.data(), stretch);
  tensors.v = tensor_of(geometry.v, inputs.v.data(), stretch);
  tensors.out = tensor_of(geometry.out, out, stretch);
  tensors.lse = tensor_of(geometry.lse, lse, stretch);
  tensors.cu_seqlens_q = index_tensor(geometry.cu_seqlens_q, 1);
  tensors.cu_seqlens_kv = index_tensor(geometry.cu_seqlens_kv, 1);
  tensors.seqlens_q = index_tensor(geometry.seqlens_q, 1);
  tensors.seqlens_kv = index_tensor(geometry.seqlens_kv, 1);
  tensors.page_table =
      index_tensor(geometry.page_table, std::max<std::int64_t>(1, geometry.pages_per_sample));
  if (!geometry.page_table.empty()) tensors.page_table.rank = 2;
  const Problem& problem = geometry.problem();
  if (!problem.is_merge())
    tensors.mask = side_tensor(DType::i32, geometry.mask_bits,
                               {problem.batch, problem.seq_q, geometry.mask_words});
  tensors.alibi_slopes = side_tensor(DType::f32, inputs.side.alibi_slopes, {problem.heads_q});
  tensors.sinks = side_tensor(DType::f32, inputs.side.sinks, {problem.heads_q});
  tensors.q_scale = scale_tensor(problem, inputs.side.q_scale, problem.heads_q);
  tensors.k_scale = scale_tensor(problem, inputs.side.k_scale, problem.heads_kv);
  tensors.v_scale = scale_tensor(problem, inputs.side.v_scale, problem.heads_kv);
  return tensors;
}

// A tensor that is moved to the provider's device and back. Does nothing for host-only providers
// and absent tensors.
class OnDevice {
 public:
  OnDevice(const plumbline_provider& provider, const plumbline_device& device,
           plumbline_tensor& tensor)
      : memory_(tensor.rank == 0 ? nullptr : provider.memory),
        device_(device),
        host_(tensor.data),
        bytes_(tensor.bytes) {
    if (memory_ == nullptr) return;
    EXPECT_EQ(memory_->allocate(&device_, bytes_, &data_), 0);
    EXPECT_EQ(memory_->copy_to_device(&device_, data_, host_, bytes_), 0);
    tensor.data = data_;
    tensor.memory_space = device.memory_space;
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() {
    if (memory_ == nullptr) return;
    EXPECT_EQ(memory_->copy_to_host(&device_, host_, data_, bytes_), 0);
    EXPECT_EQ(memory_->release(&device_, data_), 0);
  }

 private:
  const plumbline_device_memory* memory_;
  plumbline_device device_;
  void* host_;
  std::uint64_t bytes_;
  void* data_ = nullptr;
};

// Decodes the outputs, with valid and padded rows separate.
void read_outputs(const Geometry& geometry, const std::byte* out, const std::byte* lse,
                  std::int64_t stretch, Answer& answer) {
  const Problem& problem = geometry.problem();
  const auto read = [&](std::vector<double>& values, std::vector<double>& lses, std::int64_t out_at,
                        std::int64_t lse_at) {
    for (std::int64_t d = 0; d < problem.head_dim_vo; ++d) {
      values.push_back(
          decode_at(problem.out(), out, static_cast<std::size_t>((out_at + d) * stretch)));
    }
    if (problem.lse)
      lses.push_back(decode_at(DType::f32, lse, static_cast<std::size_t>(lse_at * stretch)));
  };
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    for (std::int64_t h = 0; h < problem.heads_q; ++h) {
      for (std::int64_t row = 0; row < geometry.length_q(b); ++row) {
        read(answer.out, answer.lse, geometry.out_offset(b, row, h),
             geometry.lse_offset(b, row, h));
      }
      if (!problem.is_padded()) continue;
      for (std::int64_t row = 0; row < problem.seq_q; ++row) {
        if (geometry.padded_row_is_valid(b, row)) continue;
        const std::int64_t lse_at =
            b * geometry.lse.stride[0] + row * geometry.lse.stride[1] + h * geometry.lse.stride[2];
        read(answer.padded_out, answer.padded_lse, geometry.padded_out_offset(b, row, h), lse_at);
      }
    }
  }
}

}  // namespace

Library::Library(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(handle, nullptr) << dlerror();
  if (handle != nullptr)
    get_ =
        reinterpret_cast<plumbline_get_provider_function>(dlsym(handle, "plumbline_get_provider"));
  EXPECT_NE(get_, nullptr);
}

const plumbline_provider* Library::provider(const std::string& options,
                                            std::uint32_t abi_version) const {
  return get_(abi_version, options.c_str());
}

const Library& cpu_library() {
  static const Library library(PLUMBLINE_CPU_LIBRARY);
  return library;
}

std::uint32_t kernel_index(const plumbline_provider& provider, const std::string& name) {
  for (std::uint32_t i = 0; i < provider.kernel_count; ++i) {
    if (name == provider.kernel_name(i)) return i;
  }
  ADD_FAILURE() << "no kernel " << name;
  return 0;
}

RowIndex::RowIndex(const Geometry& geometry)
    : heads_(static_cast<std::size_t>(geometry.problem().heads_q)) {
  for (const std::int32_t length : geometry.seqlens_q) {
    first_.push_back(rows_);
    lengths_.push_back(static_cast<std::size_t>(length));
    rows_ += static_cast<std::size_t>(length) * heads_;
  }
}

std::size_t RowIndex::row(std::int64_t sample, std::int64_t head, std::int64_t row) const {
  const auto b = static_cast<std::size_t>(sample);
  return first_[b] + static_cast<std::size_t>(head) * lengths_[b] + static_cast<std::size_t>(row);
}

Inputs make_inputs(const Geometry& geometry, const CallSetup& setup) {
  const Problem& problem = geometry.problem();
  Inputs inputs{nan_filled(geometry.q, setup.stretch), nan_filled(geometry.k, setup.stretch),
                nan_filled(geometry.v, setup.stretch), side_inputs(problem)};
  for (std::int64_t b = 0; b < problem.batch; ++b) {
    const std::int64_t id =
        setup.sample_ids.empty() ? b : setup.sample_ids[static_cast<std::size_t>(b)];
    const std::int64_t first_position = geometry.length_kv(b) - geometry.length_q(b);
    for (std::int64_t row = 0; row < geometry.length_q(b); ++row) {
      for (std::int64_t h = 0; h < problem.heads_q; ++h) {
        for (std::int64_t d = 0; d < problem.head_dim_qk; ++d) {
          const float value = token_value(1, id, h, first_position + row, d);
          put(geometry.q, inputs.q, (geometry.q_offset(b, row, h) + d) * setup.stretch, value);
        }
      }
    }
    for (std::int64_t key = 0; key < geometry.length_kv(b); ++key) {
      for (std::int64_t h = 0; h < problem.heads_kv; ++h) {
        for (std::int64_t d = 0; d < problem.head_dim_qk; ++d) {
          put(geometry.k, inputs.k, (geometry.k_offset(b, key, h) + d) * setup.stretch,
              token_value(2, id, h, key, d));
        }
        for (std::int64_t d = 0; d < problem.head_dim_vo; ++d) {
          put(geometry.v, inputs.v, (geometry.v_offset(b, key, h) + d) * setup.stretch,
              token_value(3, id, h, key, d));
        }
      }
    }
  }
  return inputs;
}

plumbline_problem abi_problem(const Geometry& geometry) {
  const Problem& p = geometry.problem();
  plumbline_problem problem{};
  problem.struct_size = sizeof problem;
  problem.dtype_q = static_cast<std::uint32_t>(p.dtype);
  problem.dtype_kv = static_cast<std::uint32_t>(p.kv());
  problem.dtype_out = static_cast<std::uint32_t>(p.out());
  problem.layout = static_cast<std::uint32_t>(p.layout);
  problem.mask = p.has_mask_bits() ? static_cast<std::uint32_t>(PLUMBLINE_MASK_CUSTOM)
                                   : static_cast<std::uint32_t>(p.mask);
  problem.padding = static_cast<std::uint32_t>(p.padding);
  problem.lse_wanted = p.lse ? 1 : 0;
  problem.batch = p.batch;
  problem.heads_q = p.heads_q;
  problem.heads_kv = p.heads_kv;
  problem.seq_q = p.seq_q;
  problem.seq_kv = p.seq_kv;
  problem.head_dim_qk = p.head_dim_qk;
  problem.head_dim_vo = p.head_dim_vo;
  if (!p.is_padded()) problem.total_q = geometry.total_q(), problem.total_kv = geometry.total_kv();
  if (p.is_paged()) problem.page_size = p.page_size, problem.page_count = geometry.page_count();
  problem.window_left = p.window_left;
  problem.window_right = p.window_right;
  problem.scale = p.softmax_scale();
  problem.softcap = p.softcap;
  problem.has_alibi = p.alibi != Alibi::none ? 1 : 0;
  problem.has_sink = p.sinks != Sinks::none ? 1 : 0;
  problem.scale_tokens = p.scale_tokens();
  if (!p.is_merge()) return problem;
  problem.mask = PLUMBLINE_MASK_NONE;
  problem.question = PLUMBLINE_MERGE;
  problem.merge_lse_base = p.merge == Merge::base_2 ? 2 : 0;
  return problem;
}

plumbline_device first_device(const plumbline_provider& provider) {
  plumbline_device device{};
  device.struct_size = sizeof device;
  const bool emulated = std::strcmp(provider.name, "emulated") == 0;
  const char* arch = emulated ? "emulated:sm_90" : provider.memory == nullptr ? "x86-64-v3" : "";
  device.memory_space = emulated                     ? PLUMBLINE_EMULATED
                        : provider.memory == nullptr ? PLUMBLINE_HOST
                                                     : PLUMBLINE_CUDA;
  std::strncpy(device.arch, arch, sizeof device.arch - 1);
  return device;
}

Answer call(const std::string& kernel, const Geometry& geometry, const Inputs& inputs,
            const CallSetup& setup) {
  const Library& library = setup.library == nullptr ? cpu_library() : *setup.library;
  const plumbline_provider& provider = *library.provider(setup.options);
  const std::uint32_t index = kernel_index(provider, kernel);
  const plumbline_problem problem = abi_problem(geometry);
  plumbline_device device = first_device(provider);
  if (!setup.arch.empty()) std::strncpy(device.arch, setup.arch.c_str(), sizeof device.arch - 1);
  if (setup.arch.starts_with("emulated:")) device.memory_space = PLUMBLINE_EMULATED;
  const Inputs before = inputs;

  Answer answer;
  std::array<char, 256> reason{};
  const auto finished = [&](plumbline_status status) {
    answer.status = status;
    answer.reason = reason.data();
    return status != PLUMBLINE_OK;
  };
  if (finished(provider.query(index, &problem, &device, reason.data(), reason.size())))
    return answer;

  Guarded out(geometry.out.bytes() * static_cast<std::size_t>(setup.stretch));
  Guarded lse(geometry.lse.bytes() * static_cast<std::size_t>(setup.stretch));
  const std::byte poison{setup.left_over_outputs ? std::uint8_t{0x47} : std::uint8_t{0xff}};
  out.fill(poison);
  lse.fill(poison);
  plumbline_tensors tensors = bind_tensors(geometry, inputs, out.data(), lse.data(), setup.stretch);
  tensors.threads_reversed = setup.threads_reversed ? 1 : 0;
  {
    const OnDevice q(provider, device, tensors.q), k(provider, device, tensors.k),
        v(provider, device, tensors.v);
    const OnDevice mask(provider, device, tensors.mask),
        slopes(provider, device, tensors.alibi_slopes);
    const OnDevice sinks(provider, device, tensors.sinks),
        q_scale(provider, device, tensors.q_scale), k_scale(provider, device, tensors.k_scale);
    const OnDevice v_scale(provider, device, tensors.v_scale);
    const OnDevice device_out(provider, device, tensors.out),
        device_lse(provider, device, tensors.lse);
    plumbline_plan* plan = nullptr;
    std::uint64_t& bytes = answer.workspace_bytes;
    if (finished(provider.prepare(index, &problem, &tensors, &device, &plan, &bytes, reason.data(),
                                  reason.size())))
      return answer;
    Guarded workspace(bytes);
    workspace.fill(setup.workspace_fill);
    tensors.workspace.struct_size = sizeof tensors.workspace;
    tensors.workspace.rank = bytes == 0 ? 0 : 1;
    tensors.workspace.data = workspace.data();
    tensors.workspace.bytes = bytes;
    const OnDevice device_workspace(provider, device, tensors.workspace);

    finished(provider.run(plan, &tensors, nullptr, reason.data(), reason.size()));
    EXPECT_EQ(provider.memory == nullptr ? 0 : provider.memory->synchronize(&device, nullptr), 0);
    answer.description.struct_size = sizeof answer.description;
    EXPECT_EQ(provider.describe(plan, &answer.description), PLUMBLINE_OK);
    provider.destroy(plan);
    EXPECT_TRUE(workspace.intact()) << kernel << " wrote beyond its workspace";
  }
  EXPECT_TRUE(out.intact() && lse.intact()) << kernel << " wrote beyond its outputs";
  EXPECT_TRUE(before.q == inputs.q && before.k == inputs.k && before.v == inputs.v &&
              before.side == inputs.side)
      << kernel << " changed its inputs";
  read_outputs(geometry, out.data(), lse.data(), setup.stretch, answer);
  return answer;
}

Answer call(const std::string& kernel, const Problem& problem, const CallSetup& setup) {
  const Geometry geometry(problem);
  return call(kernel, geometry, make_inputs(geometry, setup), setup);
}

}  // namespace plumbline::testing
