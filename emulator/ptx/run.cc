// Implements Machine, the functions that translated kernels call, with the emulator.
#include "emulator/ptx/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <functional>
#include <iterator>
#include <mutex>
#include <utility>

#include "emulator/machine/collectives.h"
#include "emulator/ptx/special_functions.h"

namespace plumbline::ptx {
namespace {

using emulator::Call;

struct Running {
  const Kernel* kernel;
  const Launch* launch;
  std::uint32_t shared_bytes;
  std::vector<Range> allocations;  // at the start of the launch, in ascending order
  std::uint64_t number;            // number of the launch in this process
};

// The allocation that each access instruction used last, in launch `number`. The blocks on one OS
// thread share the list. A list for each emulated thread would hardly be reused, because a thread
// executes most of these instructions only once.
struct Sites {
  std::uint64_t number = 0;
  std::vector<Range> met;
};
Range* sites_of(const Running& running) {
  static thread_local Sites sites;
  if (sites.number != running.number) {
    sites.number = running.number;
    sites.met.assign(static_cast<std::size_t>(running.kernel->facts.sites), {});
  }
  return sites.met.data();
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

template <class T, auto operation>
std::uint64_t combined(const std::uint64_t* values, unsigned mask, unsigned) {
  auto result = static_cast<T>(values[std::countr_zero(mask)]);
  each_lane(mask & (mask - 1),
            [&](unsigned i) { result = operation(result, static_cast<T>(values[i])); });
  return static_cast<std::uint32_t>(result);
}
constexpr auto smaller = [](auto a, auto b) { return std::min(a, b); };
constexpr auto larger = [](auto a, auto b) { return std::max(a, b); };

Range allocation(const Thread& thread, std::uint64_t address, std::size_t bytes, Where where) {
  const auto& running = *static_cast<const Running*>(thread.launch);
  const std::uint64_t module = thread.module;
  const std::size_t module_bytes = running.kernel->facts.module_bytes;
  if (address >= module && address + bytes <= module + module_bytes)
    return {module, module + module_bytes};
  const auto next =
      std::upper_bound(running.allocations.begin(), running.allocations.end(), address,
                       [](std::uint64_t at, const Range& range) { return at < range.begin; });
  if (next == running.allocations.begin() || address + bytes > std::prev(next)->end) {
    // A statement of its own: fail_at() does not return, so temporaries in its call would leak.
    std::string what = fmt::format("global memory: out of bounds, {} bytes {}", bytes,
                                   running.launch->allocations->describe(address));
    emulator::fail_at(std::move(what), where);
  }
  return *std::prev(next);
}

__attribute__((noreturn)) void fail(const char* what, std::uint64_t detail, Where where) {
  emulator::fail_at(detail == no_detail ? what : fmt::format("{} {}", what, detail), where);
}

using U = std::uint32_t;
using S = std::int32_t;

// Converts the result of an emulator function to the stack to resume.
template <auto arrive>
constexpr auto resumed =
    [](auto... arguments) { return emulator::stack_to_resume(arrive(arguments...)); };

constexpr Machine machine{
    .arrive = emulator::arrive_to_stack,
    .sync_threads = resumed<emulator::arrive_at_syncthreads>,
    .barrier = resumed<emulator::arrive_at_named_barrier>,
    .sync_warp = resumed<emulator::arrive_at_syncwarp>,
    .converge = resumed<emulator::arrive_to_converge>,
    .check_row =
        [](Call call, std::uint64_t row, Where where) {
          emulator::check_row(call, reinterpret_cast<const void*>(row), where);
        },
    .unmasked =
        [](unsigned mask, unsigned from, Where where) {
          emulator::shuffle(Call::shfl, mask, 0, static_cast<int>(from), 32, where);
        },
    .same_value = same_value,
    .redux = {combined<U, std::plus<>{}>, combined<U, smaller>, combined<U, larger>,
              combined<S, smaller>, combined<S, larger>, combined<U, std::bit_and<>{}>,
              combined<U, std::bit_or<>{}>, combined<U, std::bit_xor<>{}>},
    .cp_async =
        [](std::uint64_t shared, std::uint64_t global, std::size_t bytes, std::size_t source_bytes,
           Where where) {
          emulator::cp_async(reinterpret_cast<void*>(shared), reinterpret_cast<const void*>(global),
                             bytes, source_bytes, where);
        },
    .cp_async_commit = emulator::cp_async_commit,
    .cp_async_wait = emulator::cp_async_wait,
    .ex2 = special_ex2,
    .lg2 = special_lg2,
    .rcp = special_rcp,
    .rsqrt = special_rsqrt,
    .sqrt = special_sqrt,
    .sin = special_sin,
    .cos = special_cos,
    .tanh = special_tanh,
    .allocation = allocation,
    .fail = fail,
};

// Entry of each thread.
void run_thread(const void* call) {
  const auto& running = *static_cast<const Running*>(call);
  emulator::ThreadContext& of = *emulator::current;
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
      .exchange = of.exchange,
      .stack_pointer = of.fiber.stack_pointer(),
      .shared = reinterpret_cast<std::uint64_t>(block.shared),
      .shared_bytes = running.shared_bytes,
      .lockstep = running.launch->options.lanes == emulator::Lanes::lockstep,
      .checked = running.launch->allocations != nullptr,
      .module = reinterpret_cast<std::uint64_t>(running.launch->module_memory),
      .sites = sites_of(running),
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
    // The address is nearer to the start of this allocation than to that of the next one.
    if (next == ends_.end() || address - before->first < next->first - address) {
      return fmt::format("at byte {} of an allocation of {} bytes", address - before->first, bytes);
    }
  }
  if (next == ends_.end())
    return fmt::format("at {:#x}, which is not allocated", address & address_bits);
  return fmt::format("{} bytes before an allocation of {} bytes", next->first - address,
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
  static std::atomic<std::uint64_t> launches = 0;
  assert(launch.options.fault == nullptr);
  const std::size_t bytes = dynamic_shared_offset(kernel.facts) + launch.dynamic_shared_bytes;
  const Running running{
      &kernel, &launch, static_cast<std::uint32_t>(bytes),
      launch.allocations == nullptr ? std::vector<Range>() : launch.allocations->ranges(),
      ++launches};
  emulator::LaunchOptions options = launch.options;
  options.flushes_denormals = kernel.facts.host_flushes;
  std::string text = emulator::launch(options, launch.grid, launch.block, bytes,
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
