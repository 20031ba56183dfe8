// Describes why a block cannot continue.
#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "emulator/machine/block.h"

namespace plumbline::emulator {

namespace {

// In the order of Call.
constexpr std::array<const char*, 39> names{"__syncthreads",
                                            "__syncwarp",
                                            "named_barrier_sync",
                                            "named_barrier_arrive",
                                            "cp_async",
                                            "cp_async_wait",
                                            "__shfl_sync",
                                            "__shfl_up_sync",
                                            "__shfl_down_sync",
                                            "__shfl_xor_sync",
                                            "__ballot_sync",
                                            "__any_sync",
                                            "__all_sync",
                                            "match.sync",
                                            "redux.sync",
                                            "ldmatrix_x1",
                                            "ldmatrix_x1_trans",
                                            "ldmatrix_x2",
                                            "ldmatrix_x2_trans",
                                            "ldmatrix_x4",
                                            "ldmatrix_x4_trans",
                                            "stmatrix_x1",
                                            "stmatrix_x1_trans",
                                            "stmatrix_x2",
                                            "stmatrix_x2_trans",
                                            "stmatrix_x4",
                                            "stmatrix_x4_trans",
                                            "mma_f16",
                                            "mma_f16 (fp16 accumulators)",
                                            "mma_bf16",
                                            "mma_tf32",
                                            "mma_e4m3",
                                            "mma_e5m2",
                                            "mma_f16 (k = 8)",
                                            "mma_f16 (k = 8, fp16 accumulators)",
                                            "mma_bf16 (k = 8)",
                                            "mma_tf32 (k = 4)",
                                            "mma_e4m3 (k = 16)",
                                            "mma_e5m2 (k = 16)"};
static_assert(names.size() == static_cast<std::size_t>(Call::mma_e5m2_k16) + 1);

}  // namespace

const char* name(Call call) { return names[static_cast<std::size_t>(call)]; }

bool same_location(const Where& a, const Where& b) {
  return a.line() == b.line() &&
         (a.file_name() == b.file_name() || std::strcmp(a.file_name(), b.file_name()) == 0);
}

std::string file_of(const Where& where) {
  const std::string_view path = where.file_name();
  return std::string(path.substr(path.rfind('/') + 1));  // npos + 1 = 0
}

std::string place(const Where& where) { return fmt::format("{}:{}", file_of(where), where.line()); }

std::string lane_list(unsigned lanes) {
  std::string text;
  while (lanes != 0) {
    const auto first = static_cast<unsigned>(std::countr_zero(lanes));
    const auto count = static_cast<unsigned>(std::countr_one(lanes >> first));
    if (!text.empty()) text += ", ";
    text += count == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + count - 1);
    lanes &= count == warp_size ? 0U : ~(((1U << count) - 1U) << first);
  }
  return text;
}

std::string Block::prefix() const {
  return fmt::format("block ({}, {}, {}): ", context_.index.x, context_.index.y, context_.index.z);
}

void Block::fail_at(Call call, const Where& where, std::string what) {
  const Lane& lane = self();
  std::string text = fmt::format("warp {} lane {}, {} at {}: {}", lane.warp, lane.lane, name(call),
                                 place(where), what);
  std::string().swap(what);  // see Block::fail
  fail(std::move(text));
}

void fail_at(std::string what, Where where) {
  const Lane& lane = Block::self();
  std::string text =
      fmt::format("warp {} lane {} at {}: {}", lane.warp, lane.lane, place(where), what);
  std::string().swap(what);  // see Block::fail
  Block::of(lane).fail(std::move(text));
}

std::string Block::describe_wait(unsigned warp, const Wait& wait) const {
  std::string text = fmt::format("in {} at {}", name(wait.call), place(wait.where));
  if (wait.call == Call::named_barrier_sync) {
    const NamedBarrier& barrier = named_barriers_[wait.detail];
    text += fmt::format(" (barrier {}: {} of {} threads have arrived)", wait.detail,
                        barrier.arrived, barrier.expected);
  } else if (wait.call != Call::syncthreads) {
    unsigned missing = wait.detail;
    for (unsigned i = 0; i < warps_[warp].gatherings; ++i) {
      const Gathering& gathering = warps_[warp].gathering[i];
      if (gathering.mask == wait.detail) missing &= ~gathering.arrived;
    }
    text += fmt::format(" (waits for lanes {})", lane_list(missing));
  }
  return text;
}

// Returns one line for each group of lanes in the same state, lowest lane first. Lanes that can run
// are omitted.
std::string Block::describe_lanes(unsigned warp) const {
  const Warp& state = warps_[warp];
  std::vector<std::pair<std::string, unsigned>> groups;
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    const unsigned bit = 1U << lane;
    if ((state.lanes & ~state.ready & bit) == 0) continue;
    const std::string what = (state.finished & bit) != 0
                                 ? "finished"
                                 : describe_wait(warp, lanes_[warp * warp_size + lane].wait);
    auto group = groups.begin();
    while (group != groups.end() && group->first != what) ++group;
    if (group == groups.end()) group = groups.insert(group, {what, 0U});
    group->second |= bit;
  }
  std::string text;
  for (const auto& [what, lanes] : groups)
    text += fmt::format(" lanes {} {}\n", lane_list(lanes), what);
  return text;
}

std::string Block::describe_stuck() const {
  bool only_block_barrier = true;
  for (const Warp& warp : warps_) {
    const auto first = static_cast<std::size_t>(&warp - warps_.data()) * warp_size;
    for (unsigned rest = warp.lanes & ~warp.ready & ~warp.finished; rest != 0; rest &= rest - 1) {
      only_block_barrier &=
          lanes_[first + static_cast<unsigned>(std::countr_zero(rest))].wait.call ==
          Call::syncthreads;
    }
  }
  std::string text = only_block_barrier ? "divergent barrier" : "deadlock";
  for (unsigned w = 0; w < warps_.size();) {
    const std::string lanes = describe_lanes(w);
    unsigned end = w + 1;
    while (end < warps_.size() && describe_lanes(end) == lanes) ++end;
    const std::string which =
        end == w + 1 ? fmt::format("warp {}", w) : fmt::format("warps {}-{}", w, end - 1);
    for (std::string_view rest = lanes; !rest.empty();) {
      const std::size_t length = rest.find('\n');
      text += fmt::format("\n  {}{}", which, rest.substr(0, length));
      rest.remove_prefix(length + 1);
    }
    w = end;
  }
  return text;
}

}  // namespace plumbline::emulator
