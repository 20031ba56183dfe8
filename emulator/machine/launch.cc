// Checks a launch against CUDA's limits, runs its blocks in parallel, and reports the first fault.
#include "emulator/machine/launch.h"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "emulator/machine/block.h"
#include "emulator/machine/denormals.h"

namespace plumbline::emulator {
namespace {

// Reuses the stacks of blocks: mapping 128 of them costs more than a small launch.
class BlockPool {
 public:
  std::unique_ptr<Block> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Block>();
    std::unique_ptr<Block> block = std::move(free_.back());
    free_.pop_back();
    return block;
  }
  void give(std::unique_ptr<Block> block) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(block));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> free_;
};

BlockPool& pool() {
  static BlockPool blocks;
  return blocks;
}

// Returns an error text if the launch exceeds CUDA's limits.
std::string refusal(const LaunchOptions& options, const Grid& grid) {
  const Dim3 blocks = grid.blocks, threads = grid.threads;
  const std::uint64_t count = std::uint64_t{threads.x} * threads.y * threads.z;
  if (count == 0 || count > max_threads || threads.z > 64) {
    return fmt::format("a block of {} x {} x {} threads: 1 to {} are possible, at most 64 in z",
                       threads.x, threads.y, threads.z, max_threads);
  }
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0 || blocks.x > 0x7fffffffU ||
      blocks.y > 65535 || blocks.z > 65535) {
    return fmt::format(
        "a grid of {} x {} x {} blocks: 1 to 2147483647 x 65535 x 65535 are possible", blocks.x,
        blocks.y, blocks.z);
  }
  if (grid.shared_bytes > max_shared_bytes(options.arch)) {
    return fmt::format("{} bytes of shared memory: {} has {} for a block", grid.shared_bytes,
                       name(options.arch), max_shared_bytes(options.arch));
  }
  return {};
}

// Collects the first failure and the visited sites of a launch.
class Findings {
 public:
  // Returns false for blocks after the first failed one (by index). They need not run, because the
  // failure with the lowest index is reported.
  [[nodiscard]] bool needed(std::uint64_t block) const {
    return block < first_failed_.load(std::memory_order_relaxed);
  }
  void failed(std::uint64_t block, std::string text) {
    const std::lock_guard lock(mutex_);
    if (block >= first_failed_) return;
    first_failed_ = block;
    text_ = std::move(text);
  }
  void visited(const std::vector<Visit>& visits, std::set<SyncSite>& sites) {
    const std::lock_guard lock(mutex_);
    for (const Visit& visit : visits)
      sites.insert({file_of(visit.where), visit.where.line(), name(visit.call)});
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::mutex mutex_;
  std::atomic<std::uint64_t> first_failed_ = UINT64_MAX;
  std::string text_;
};

void run_blocks(const Grid& grid, std::uint64_t begin, std::uint64_t end, Findings& findings) {
  try {
    const Denormals denormals(grid.options.flushes_denormals);
    std::unique_ptr<Block> block = pool().take();
    for (std::uint64_t number = begin; number < end && findings.needed(number); ++number) {
      if (std::string failure = block->run(grid, number); !failure.empty())
        findings.failed(number, std::move(failure));
    }
    if (grid.options.sites != nullptr) {
      findings.visited(block->visits(), *grid.options.sites);
      block->clear_visits();
    }
    pool().give(std::move(block));
  } catch (const std::bad_alloc&) {
    findings.failed(begin,
                    "no memory for the stacks of a block (each thread needs two mappings: see "
                    "vm.max_map_count)");
  }
}

}  // namespace

std::size_t max_shared_bytes(Arch arch) {
  return static_cast<std::size_t>(facts(arch).block_shared_kib) << 10U;
}

std::string launch(const LaunchOptions& options, Dim3 grid, Dim3 block, std::size_t shared_bytes,
                   KernelCall kernel) {
  const Grid whole{options, grid, block, shared_bytes, kernel};
  if (std::string text = refusal(options, whole); !text.empty()) return text;
  Findings findings;
  const std::uint64_t count = std::uint64_t{grid.x} * grid.y * grid.z;
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, count), [&](const auto& range) {
    run_blocks(whole, range.begin(), range.end(), findings);
  });
  return findings.text();
}

}  // namespace plumbline::emulator
