// The host side of the reference library, shared by the GPU and the emulator, which differ in
// memory and launches.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/provider/plumbline_provider.h"
#include "kernels/reference_gpu/row.h"

namespace plumbline::reference_gpu {

// Operations of a machine. Every failure throws std::runtime_error with a sentence.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) = 0;
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;
  virtual void run_rows(unsigned blocks, const RowParameters& parameters) = 0;
  virtual void run_units(unsigned blocks, const UnitParameters& parameters) = 0;
  // The number of blocks that can run at a time, and the bytes of memory for scratch.
  virtual unsigned blocks() = 0;
  virtual std::size_t scratch_bytes() = 0;
};

// Memory of the machine for one computation.
class Memory {
 public:
  explicit Memory(Machine& machine) : machine_(machine) {}
  ~Memory() {
    for (void* memory : all_) machine_.release(memory);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  template <class T>
  T* make(std::int64_t count) {
    all_.push_back(machine_.allocate(static_cast<std::size_t>(count > 0 ? count : 1) * sizeof(T)));
    return static_cast<T*>(all_.back());
  }
  template <class T>
  const T* copy(const T* from, std::int64_t count) {
    T* const to = make<T>(count);
    machine_.upload(to, from, static_cast<std::size_t>(count) * sizeof(T));
    return to;
  }

 private:
  Machine& machine_;
  std::vector<void*> all_;
};

inline Scratch make_scratch(Machine& machine, Memory& memory,
                            const plumbline_reference_request& request, unsigned& blocks) {
  std::int64_t max_keys = 1;
  for (std::int64_t r = 0; r < request.row_count; ++r) {
    const std::int64_t keys = request.rows[r].end - request.rows[r].begin;
    max_keys = keys > max_keys ? keys : max_keys;
  }
  Scratch scratch{};
  scratch.capacity = 1;
  while (scratch.capacity < max_keys) scratch.capacity *= 2;
  constexpr std::size_t bytes_per_key =
      3 * sizeof(double) + sizeof(std::uint64_t) + sizeof(std::int32_t);
  const std::size_t fitting =
      machine.scratch_bytes() / (static_cast<std::size_t>(scratch.capacity) * bytes_per_key);
  if (fitting == 0)
    throw std::runtime_error("no memory for a row of " + std::to_string(max_keys) + " keys");
  blocks = machine.blocks();
  if (blocks > fitting) blocks = static_cast<unsigned>(fitting);
  if (blocks > request.row_count) blocks = static_cast<unsigned>(request.row_count);
  const std::int64_t size = scratch.capacity * blocks;
  scratch.s = memory.make<double>(size);
  scratch.p = memory.make<double>(size);
  scratch.sd = memory.make<double>(size);
  scratch.label = memory.make<std::uint64_t>(size);
  scratch.order = memory.make<std::int32_t>(size);
  return scratch;
}

inline void check(const plumbline_reference_request& request) {
  if (request.struct_size < sizeof(plumbline_reference_request))
    throw std::runtime_error("the request is older than this library: rebuild both");
  if (request.dtype != PLUMBLINE_F32 && request.dtype != PLUMBLINE_F16 &&
      request.dtype != PLUMBLINE_BF16) {
    throw std::runtime_error("K and V of dtype " + std::to_string(request.dtype) +
                             ": only fp32, fp16 and bf16 are supported");
  }
}

inline void compute(Machine& machine, const plumbline_reference_request& request) {
  check(request);
  if (request.row_count == 0) return;
  Memory memory(machine);
  RowParameters p{};
  p.dtype = request.dtype;
  p.dim_qk = request.dim_qk;
  p.dim_vo = request.dim_vo;
  p.scale = request.scale;
  p.model = request.model;
  p.row_count = request.row_count;
  p.q = memory.copy(request.q, request.row_count * request.dim_qk);
  p.k = memory.copy(static_cast<const std::byte*>(request.k),
                    static_cast<std::int64_t>(request.k_bytes));
  p.v = memory.copy(static_cast<const std::byte*>(request.v),
                    static_cast<std::int64_t>(request.v_bytes));
  p.k_offsets = memory.copy(request.k_offsets, request.offset_count);
  p.v_offsets = memory.copy(request.v_offsets, request.offset_count);
  p.groups = memory.copy(request.groups, request.group_count);
  p.rows = memory.copy(request.rows, request.row_count);
  const std::int64_t elements = request.row_count * request.dim_vo;
  p.o = memory.make<double>(elements);
  p.variance = memory.make<double>(elements);
  p.bound = memory.make<double>(elements);
  p.lse = memory.make<double>(request.row_count);
  p.lse_variance = memory.make<double>(request.row_count);
  p.repeats = memory.make<std::int32_t>(request.row_count);
  double* const group_unit = memory.make<double>(request.group_count);
  p.group_unit = group_unit;
  unsigned blocks = 0;
  p.scratch = make_scratch(machine, memory, request, blocks);

  machine.run_units(static_cast<unsigned>(request.group_count),
                    {p.dtype, p.dim_vo, p.v, p.v_offsets, p.groups, group_unit});
  machine.run_rows(blocks, p);

  const auto fetch = [&](double* to, const double* from, std::int64_t count) {
    machine.download(to, from, static_cast<std::size_t>(count) * sizeof(double));
  };
  fetch(request.o, p.o, elements);
  fetch(request.variance, p.variance, elements);
  fetch(request.bound, p.bound, elements);
  fetch(request.lse, p.lse, request.row_count);
  fetch(request.lse_variance, p.lse_variance, request.row_count);
  machine.download(request.repeats, p.repeats,
                   static_cast<std::size_t>(request.row_count) * sizeof(std::int32_t));
}

// `compute` for the ABI: throws nothing, and runs one computation at a time.
inline const char* compute_guarded(Machine& machine,
                                   const plumbline_reference_request* request) noexcept {
  static std::mutex mutex;
  thread_local std::string text;
  try {
    const std::lock_guard lock(mutex);
    compute(machine, *request);
    return nullptr;
  } catch (const std::exception& error) {
    text = error.what();
  } catch (...) {
    text = "unknown failure";
  }
  return text.c_str();
}

// Returns the exported table of a library whose device is a `Computer`.
template <class Computer>
const plumbline_reference_library* library_of(std::int32_t (*device_count)(),
                                              const char* (*device_name)()) {
  static const plumbline_reference_library library{
      PLUMBLINE_REFERENCE_ABI, sizeof(plumbline_reference_library), device_count, device_name,
      [](const plumbline_reference_request* request) {
        static Computer machine;
        return compute_guarded(machine, request);
      }};
  return &library;
}

}  // namespace plumbline::reference_gpu
