// Chooses tiles and splits by batch, length, layout or number of calls, as real heuristics do.
#include "kernels/mutants/schedule.h"

#include <algorithm>

#include "kernels/mutants/block.h"
#include "kernels/mutants/stale.h"

namespace plumbline::mutants {
namespace {

constexpr std::int64_t narrow_tile = 16, usual_tile = 32, wide_tile = 64;
constexpr std::int64_t multiprocessors = 16;  // the device that the heuristics assume
constexpr std::int64_t workers = 4;           // they share a batch's tiles
constexpr std::int64_t calls_until_compiled = 2;

std::int64_t divided_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

bool packed(const plumbline_tensor& tensor) {
  std::int64_t stride = 1;
  for (auto i = static_cast<int>(tensor.rank) - 1; i >= 0; --i) {
    if (tensor.stride[i] != stride) return false;
    stride *= tensor.extent[i];
  }
  return true;
}

}  // namespace

Schedule::Schedule(const Sequence& sequence, const plumbline_tensors& tensors, Change change,
                   int requested_splits)
    : sequence_(sequence),
      problem_(sequence.problem()),
      change_(change),
      splits_asked_(requested_splits),
      is_packed_(packed(tensors.q) && packed(tensors.k) && packed(tensors.v)),
      tile_keys_(choose_tile_keys()) {}

std::int64_t Schedule::choose_tile_keys() const {
  if (is(Change::varies_prefill_decode) && problem_.seq_q == 1) return wide_tile;
  if (is(Change::varies_run_to_run) && count_call_of_shape(problem_) > calls_until_compiled)
    return wide_tile;
  if (is(Change::varies_strides) && !is_packed_) return narrow_tile;
  const bool fits = problem_.page_size % 8 == 0 && problem_.page_size >= 8 &&
                    problem_.page_size <= Scratch::max_tile_keys;
  if (is(Change::varies_page_size) && cpu::is_paged(problem_.layout) && fits)
    return problem_.page_size;
  return usual_tile;
}

// Returns the number of keys that the cache has room for.
std::int64_t Schedule::capacity() const {
  const cpu::TokenTensor& k = sequence_.attention().k;
  if (k.page_table != nullptr) return k.pages_per_sample * k.page_size;
  return cpu::is_padded(problem_.layout) ? k.extent : problem_.seq_kv;
}

std::int64_t Schedule::keys_per_split(std::int64_t sample) const {
  std::int64_t keys = length(sample), splits = 1;
  if (is(Change::varies_solo))
    splits = std::clamp<std::int64_t>(multiprocessors / (problem_.batch * problem_.heads_q), 1, 4);
  if (is(Change::varies_split)) splits = std::clamp<std::int64_t>(splits_asked_, 1, max_splits);
  if (is(Change::varies_neighbour)) {
    splits = 2;
    for (std::int64_t other = 0; other < problem_.batch; ++other)
      keys = std::max(keys, length(other));
  }
  if (is(Change::varies_capacity)) splits = 2, keys = std::max(keys, capacity());
  if (is(Change::varies_workspace))
    splits = std::clamp<std::int64_t>(divided_up(keys, wide_tile), 1, max_splits);
  return std::max(usual_tile, cpu::round_up(divided_up(keys, splits), usual_tile));
}

// Lays the tiles of all samples end to end and gives each worker an equal share. A sample is split
// where a share ends.
std::vector<Range> Schedule::splits_of_work_queue(std::int64_t sample) const {
  std::int64_t total = 0, before = 0;
  for (std::int64_t other = 0; other < problem_.batch; ++other) {
    if (other == sample) before = total;
    total += divided_up(length(other), usual_tile);
  }
  const std::int64_t share = std::max<std::int64_t>(1, divided_up(total, workers));
  std::vector<Range> splits;
  for (std::int64_t begin = 0; begin < length(sample);) {
    const std::int64_t tile = before + begin / usual_tile;
    const std::int64_t end = std::min(length(sample), begin + (share - tile % share) * usual_tile);
    splits.push_back({begin, end});
    begin = end;
  }
  return splits;
}

std::vector<Range> Schedule::splits(std::int64_t sample) const {
  std::vector<Range> splits;
  if (is(Change::varies_position)) splits = splits_of_work_queue(sample);
  const std::int64_t step = keys_per_split(sample);
  for (std::int64_t begin = 0; begin < length(sample) && !is(Change::varies_position);
       begin += step) {
    splits.push_back({begin, std::min(length(sample), begin + step)});
  }
  if (splits.empty()) splits.push_back({});
  return splits;
}

// Returns the key of the sample from which tiles are counted: 0, or, with varies_layout, the first
// token of K's memory, which may lie before the sample.
std::int64_t Schedule::origin(std::int64_t sample) const {
  if (!is(Change::varies_layout)) return 0;
  const cpu::TokenTensor& k = sequence_.attention().k;
  return k.cu_seqlens != nullptr ? -k.cu_seqlens[sample] : -k.first(sample);
}

void Schedule::cut(Range keys, std::int64_t origin, std::vector<Range>& tiles) const {
  while (keys.begin < keys.end) {
    const std::int64_t end =
        std::min(keys.end, keys.begin + tile_keys_ - (keys.begin - origin) % tile_keys_);
    tiles.push_back({keys.begin, end});
    keys.begin = end;
  }
}

std::vector<Range> Schedule::tiles(std::int64_t sample, Range split) const {
  std::vector<Range> tiles;
  // the cached tokens first, then those of this call
  if (is(Change::varies_chunked_prefill)) {
    const std::int64_t cached =
        std::max<std::int64_t>(0, length(sample) - sequence_.length_q(sample));
    cut({0, cached}, 0, tiles);
    cut({cached, length(sample)}, cached, tiles);
    return tiles;
  }
  cut(split, origin(sample), tiles);
  const cpu::TokenTensor& k = sequence_.attention().k;
  if (is(Change::varies_page_order) && k.page_table != nullptr) {
    const auto page = [&](const Range& tile) {
      return k.page_table[sample * k.pages_per_sample + tile.begin / k.page_size];
    };
    std::stable_sort(tiles.begin(), tiles.end(),
                     [&](const Range& a, const Range& b) { return page(a) < page(b); });
  }
  return tiles;
}

}  // namespace plumbline::mutants
