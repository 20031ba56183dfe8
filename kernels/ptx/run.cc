// The emulator as the machine of translated kernels.
#include "kernels/ptx/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <mutex>
#include <utility>

#include "kernels/ptx/special_functions.h"

namespace plumbline::ptx {
namespace {

using emulator::Call;

struct Running {
  const Kernel* kernel;
  const Launch* launch;
  std::uint32_t shared_bytes;
  std::vector<Range> allocations;  // when the launch began, in ascending order
};

Call call_of(Mma instruction) {
  switch (instruction) {
    case Mma::f16_k16:
      return Call::mma_f16;
    case Mma::f16_f16_k16:
      return Call::mma_f16_f16;
    case Mma::bf16_k16:
      return Call::mma_bf16;
    case Mma::tf32_k8:
      return Call::mma_tf32;
    case Mma::e4m3_k32:
      return Call::mma_e4m3;
    case Mma::e5m2_k32:
      return Call::mma_e5m2;
    case Mma::f16_k8:
      return Call::mma_f16_k8;
    case Mma::f16_f16_k8:
      return Call::mma_f16_f16_k8;
    case Mma::bf16_k8:
      return Call::mma_bf16_k8;
    case Mma::tf32_k4:
      return Call::mma_tf32_k4;
    case Mma::e4m3_k16:
      return Call::mma_e4m3_k16;
    case Mma::e5m2_k16:
      return Call::mma_e5m2_k16;
  }
  return Call::mma_f16;
}

Call matrix_call(Call x1, int count, bool transposed) {
  const int steps = 2 * (count == 1 ? 0 : count == 2 ? 1 : 2) + (transposed ? 1 : 0);
  return static_cast<Call>(static_cast<int>(x1) + steps);
}

template <class Each>
void each_lane(unsigned mask, const Each& each) {
  for (; mask != 0; mask &= mask - 1) each(static_cast<unsigned>(std::countr_zero(mask)));
}

std::uint64_t same_value(const std::uint64_t* values, unsigned mask, unsigned lane) {
  unsigned lanes = 0;
  each_lane(mask, [&](unsigned i) { lanes |= (values[i] == values[lane] ? 1U : 0U) << i; });
  return lanes;
}

template <class T, class Operation>
std::uint64_t reduced(const std::uint64_t* values, unsigned mask, Operation operation) {
  auto result = static_cast<T>(values[std::countr_zero(mask)]);
  each_lane(mask & (mask - 1),
            [&](unsigned i) { result = operation(result, static_cast<T>(values[i])); });
  return static_cast<std::uint32_t>(result);
}

emulator::Combine combination(Redux operation) {
  using Values = const std::uint64_t*;
  using U = std::uint32_t;
  using S = std::int32_t;
  switch (operation) {
    case Redux::add:
      return [](Values v, unsigned m, unsigned) { return reduced<U>(v, m, std::plus<U>()); };
    case Redux::min_u32:
      return [](Values v, unsigned m, unsigned) {
        return reduced<U>(v, m, [](U a, U b) { return a < b ? a : b; });
      };
    case Redux::max_u32:
      return [](Values v, unsigned m, unsigned) {
        return reduced<U>(v, m, [](U a, U b) { return a > b ? a : b; });
      };
    case Redux::min_s32:
      return [](Values v, unsigned m, unsigned) {
        return reduced<S>(v, m, [](S a, S b) { return a < b ? a : b; });
      };
    case Redux::max_s32:
      return [](Values v, unsigned m, unsigned) {
        return reduced<S>(v, m, [](S a, S b) { return a > b ? a : b; });
      };
    case Redux::and_:
      return [](Values v, unsigned m, unsigned) { return reduced<U>(v, m, std::bit_and<U>()); };
    case Redux::or_:
      return [](Values v, unsigned m, unsigned) { return reduced<U>(v, m, std::bit_or<U>()); };
    case Redux::xor_:
      return [](Values v, unsigned m, unsigned) { return reduced<U>(v, m, std::bit_xor<U>()); };
  }
  return nullptr;
}

Range allocation(const Thread& thread, std::uint64_t address, std::size_t bytes, Where where) {
  const auto& running = *static_cast<const Running*>(thread.launch);
  const std::uint64_t module = thread.module;
  const std::size_t module_bytes = running.kernel->facts.module_bytes;
  if (address >= module && address + bytes <= module + module_bytes)
    return {module, module + module_bytes};
  const auto next =
      std::upper_bound(running.allocations.begin(), running.allocations.end(), address,
                       [](std::uint64_t at, const Range& range) { return at < range.begin; });
  if (next == running.allocations.begin() || address + bytes > std::prev(next)->end)
    emulator::fail_at(fmt::format("global memory: out of bounds, {} bytes {}", bytes,
                                  running.launch->allocations->describe(address)),
                      where);
  return *std::prev(next);
}

__attribute__((noreturn)) void fail(const char* what, std::uint64_t detail, Where where) {
  emulator::fail_at(detail == no_detail ? what : fmt::format("{} {}", what, detail), where);
}

constexpr Machine machine{
    .sync_threads = emulator::sync_threads,
    .barrier =
        [](int id, int threads, Where where) {
          emulator::named_barrier(Call::named_barrier_sync, id, threads, where);
        },
    .barrier_arrive =
        [](int id, int threads, Where where) {
          emulator::named_barrier(Call::named_barrier_arrive, id, threads, where);
        },
    .sync_warp = emulator::sync_warp,
    .shuffle =
        [](unsigned mask, std::uint32_t value, unsigned from, Where where) {
          return static_cast<std::uint32_t>(
              emulator::shuffle(Call::shfl, mask, value, static_cast<int>(from), 32, where));
        },
    .ballot = [](unsigned mask, bool predicate,
                 Where where) { return emulator::ballot(Call::ballot, mask, predicate, where); },
    .match_any =
        [](unsigned mask, std::uint64_t value, Where where) {
          return static_cast<unsigned>(
              emulator::combine(Call::match, mask, value, same_value, where));
        },
    .match_all =
        [](unsigned mask, std::uint64_t value, Where where) {
          const auto lanes =
              static_cast<unsigned>(emulator::combine(Call::match, mask, value, same_value, where));
          return lanes == mask ? mask : 0U;
        },
    .redux =
        [](Redux operation, unsigned mask, std::uint32_t value, Where where) {
          return static_cast<std::uint32_t>(
              emulator::combine(Call::redux, mask, value, combination(operation), where));
        },
    .ldmatrix =
        [](int count, bool transposed, std::uint32_t* r, std::uint64_t row, Where where) {
          emulator::ldmatrix(matrix_call(Call::ldmatrix_x1, count, transposed), r,
                             reinterpret_cast<const void*>(row), where);
        },
    .stmatrix =
        [](int count, bool transposed, const std::uint32_t* r, std::uint64_t row, Where where) {
          emulator::stmatrix(matrix_call(Call::stmatrix_x1, count, transposed), r,
                             reinterpret_cast<void*>(row), where);
        },
    .mma = [](Mma instruction, const std::uint32_t* a, const std::uint32_t* b, std::uint32_t* d,
              Where where) { emulator::mma(call_of(instruction), a, b, d, where); },
    .cp_async =
        [](std::uint64_t shared, std::uint64_t global, std::size_t bytes, std::size_t source_bytes,
           Where where) {
          emulator::cp_async(reinterpret_cast<void*>(shared), reinterpret_cast<const void*>(global),
                             bytes, source_bytes, where);
        },
    .cp_async_commit = emulator::cp_async_commit,
    .cp_async_wait = emulator::cp_async_wait,
    .converge = emulator::converge,
    .ex2 = special_ex2,
    .lg2 = special_lg2,
    .rcp = special_rcp,
    .rsqrt = special_rsqrt,
    .sin = special_sin,
    .cos = special_cos,
    .tanh = special_tanh,
    .allocation = allocation,
    .fail = fail,
};

// Each thread's life.
void run_thread(const void* call) {
  const auto& running = *static_cast<const Running*>(call);
  const emulator::ThreadContext& of = *emulator::current;
  const emulator::BlockContext& block = *of.block;
  const auto index = [](const emulator::Dim3& d) { return Index{d.x, d.y, d.z}; };
  const std::uint32_t number =
      of.index.x + block.dimensions.x * (of.index.y + block.dimensions.y * of.index.z);
  const Thread thread{
      .machine = &machine,
      .tid = index(of.index),
      .ntid = index(block.dimensions),
      .ctaid = index(block.index),
      .nctaid = index(block.grid),
      .lane = number % 32,
      .warp = number / 32,
      .shared = reinterpret_cast<std::uint64_t>(block.shared),
      .shared_bytes = running.shared_bytes,
      .lockstep = running.launch->options.lanes == emulator::Lanes::lockstep,
      .checked = running.launch->allocations != nullptr,
      .module = reinterpret_cast<std::uint64_t>(running.launch->module_memory),
      .launch = &running,
  };
  running.kernel->entry(thread, running.launch->parameters);
}

}  // namespace

void Allocations::add(const void* begin, std::size_t bytes) {
  const std::unique_lock lock(mutex_);
  const auto at = reinterpret_cast<std::uint64_t>(begin);
  if (bytes != 0) ends_[at] = at + bytes;
}

void Allocations::remove(const void* begin) {
  const std::unique_lock lock(mutex_);
  ends_.erase(reinterpret_cast<std::uint64_t>(begin));
}

void Allocations::clear() {
  const std::unique_lock lock(mutex_);
  ends_.clear();
}

std::vector<Range> Allocations::ranges() const {
  const std::shared_lock lock(mutex_);
  std::vector<Range> all;
  all.reserve(ends_.size());
  for (const auto& [begin, end] : ends_) all.push_back({begin, end});
  return all;
}

std::string Allocations::describe(std::uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const auto next = ends_.upper_bound(address);
  if (next != ends_.begin()) {
    const auto before = std::prev(next);
    const std::uint64_t bytes = before->second - before->first;
    // Near its end, or nearer to it than to the next one.
    if (next == ends_.end() || address - before->first < next->first - address) {
      return fmt::format("at byte {} of an allocation of {}", address - before->first, bytes);
    }
  }
  if (next == ends_.end()) return fmt::format("at {:#x}, where nothing is allocated", address);
  return fmt::format("{} bytes before an allocation of {}", next->first - address,
                     next->second - next->first);
}

emulator::LaunchOptions compiled_options(emulator::Arch arch) {
  emulator::LaunchOptions options;
  options.arch = arch;
  options.lanes = emulator::Lanes::lockstep;
  options.barriers = emulator::BarrierMatch::id;
  return options;
}

std::string launch(const Kernel& kernel, const Launch& launch) {
  const std::size_t bytes = dynamic_shared_offset(kernel.facts) + launch.dynamic_shared_bytes;
  const Running running{
      &kernel, &launch, static_cast<std::uint32_t>(bytes),
      launch.allocations == nullptr ? std::vector<Range>() : launch.allocations->ranges()};
  std::string text = emulator::launch(launch.options, launch.grid, launch.block, bytes,
                                      emulator::KernelCall{run_thread, &running});
  return with_source_lines(std::move(text), kernel);
}

std::string with_source_lines(std::string text, const Kernel& kernel) {
  const std::string mark = kernel.name + ":";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
    at += mark.size();
    int line = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9')
      line = 10 * line + (text[at++] - '0');
    const auto found = kernel.facts.source_lines.find(line);
    if (found == kernel.facts.source_lines.end()) continue;
    const auto file = static_cast<std::size_t>(found->second.first);
    if (file >= kernel.source_files.size()) continue;
    const std::string& path = kernel.source_files[file];
    const std::string place =
        fmt::format(" ({}:{})", path.substr(path.rfind('/') + 1), found->second.second);
    text.insert(at, place);
    at += place.size();
  }
  return text;
}

}  // namespace plumbline::ptx
