// Compares the rows with NaN with those that reach a NaN of K or V, for several sizes of tiles.
#include "harness/diagnose/nan_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "harness/diagnose/error_parts.h"

namespace plumbline {
namespace {

constexpr double max_scanned = 1e8;  // elements of K and V

using Columns = std::vector<bool>;

// A stored key with NaN. Places count all keys in the memory of a sample.
struct NanKey {
  std::int64_t place = 0;
  bool of_k = false, of_v = false, of_whole_v = false;
  Columns columns;  // of V
};

enum class NanReads { of_v, of_k, of_both };

// Numbers of keys and of queries whose tiles are read as a whole; 0 = all.
struct TileSizes {
  std::int64_t keys = 0, queries = 0;
};

// A row of the reference with visible keys.
struct OutputRow {
  RowId id;
  Columns columns;  // with NaN
  bool has_nan = false;
};

class NanSearch {
 public:
  explicit NanSearch(const FailingOutput& failing)
      : failing_(failing), geometry_(*failing.geometry), problem_(geometry_.problem()) {
    read_rows();
    read_keys();
  }

  std::string sentence() const {
    const auto wrong = std::ranges::find_if(rows_, &OutputRow::has_nan);
    if (wrong == rows_.end()) return "";
    for (const NanReads reads : {NanReads::of_v, NanReads::of_k, NanReads::of_both}) {
      for (const TileSizes& tiles : sizes()) {
        if (explains(reads, tiles)) return text(*wrong, reads, tiles);
      }
    }
    return "";
  }

 private:
  void read_rows() {
    const Reference& reference = *failing_.reference;
    const std::vector<double> got = rows_of(geometry_, failing_.outputs, reference);
    const auto columns = static_cast<std::size_t>(reference.columns);
    for (std::size_t r = 0; r < reference.selection.rows.size(); ++r) {
      if (reference.visible[r] == 0) continue;
      OutputRow row{reference.selection.rows[r], Columns(columns)};
      for (std::size_t j = 0; j < columns; ++j) row.columns[j] = std::isnan(got[r * columns + j]);
      row.has_nan = std::ranges::count(row.columns, true) > 0;
      rows_.push_back(std::move(row));
    }
    // Heads with NaN are scanned first.
    std::ranges::stable_partition(rows_, &OutputRow::has_nan);
  }

  // Finds the keys with NaN of the rows' heads. Drops rows of heads that are not scanned.
  void read_keys() {
    double scanned = 0;
    for (const OutputRow& row : rows_) {
      const auto place = place_of(row);
      if (keys_.contains(place) || (scanned > max_scanned && !keys_.empty())) continue;
      keys_[place] = nan_keys(row.id.sample, place.second);
      scanned += static_cast<double>(stored_keys(row.id.sample) *
                                     (problem_.head_dim_qk + problem_.head_dim_vo));
    }
    std::erase_if(rows_, [&](const OutputRow& row) { return !keys_.contains(place_of(row)); });
  }

  std::pair<std::int64_t, std::int64_t> place_of(const OutputRow& row) const {
    return {row.id.sample, row.id.head / problem_.group()};
  }

  // Returns the number of keys in the memory of a sample.
  std::int64_t stored_keys(std::int64_t sample) const {
    const std::int64_t length = geometry_.length_kv(sample);
    if (problem_.is_padded()) return problem_.seq_kv;
    return problem_.is_paged() ? pages_for(length, problem_.page_size) * problem_.page_size
                               : length;
  }
  // Returns the place of the sample's first valid key.
  std::int64_t first_place(std::int64_t sample) const {
    const bool is_left = problem_.is_padded() && problem_.padding == Padding::left;
    return is_left ? problem_.seq_kv - geometry_.length_kv(sample) : 0;
  }

  std::vector<NanKey> nan_keys(std::int64_t sample, std::int64_t head) const {
    std::vector<double> k(static_cast<std::size_t>(problem_.head_dim_qk)),
        v(static_cast<std::size_t>(problem_.head_dim_vo));
    const auto load = [](const TensorShape& shape, const void* data, std::int64_t offset,
                         std::span<double> to) {
      decode(shape.dtype,
             static_cast<const std::byte*>(data) +
                 static_cast<std::size_t>(offset) * size_in_bytes(shape.dtype),
             to);
    };
    const auto is_nan = [](double x) { return std::isnan(x); };
    std::vector<NanKey> found;
    for (std::int64_t place = 0; place < stored_keys(sample); ++place) {
      const std::int64_t key = place - first_place(sample);
      load(geometry_.k, failing_.inputs.k, geometry_.k_offset(sample, key, head), k);
      load(geometry_.v, failing_.inputs.v, geometry_.v_offset(sample, key, head), v);
      const auto columns = std::ranges::count_if(v, is_nan);
      NanKey of_key{
          place, std::ranges::any_of(k, is_nan), columns > 0, columns == std::ssize(v), {}};
      if (!of_key.of_k && !of_key.of_v) continue;
      std::ranges::transform(v, std::back_inserter(of_key.columns), is_nan);
      found.push_back(std::move(of_key));
    }
    return found;
  }

  std::vector<TileSizes> sizes() const {
    std::vector<std::int64_t> keys{16, 32, 64, 128, 256, 0};
    if (problem_.is_paged()) keys.push_back(problem_.page_size);
    std::vector<TileSizes> sizes;
    for (const std::int64_t of_keys : keys) {
      for (const std::int64_t of_queries : {1, 16, 32, 64, 128, 0})
        sizes.push_back({of_keys, of_queries});
    }
    return sizes;
  }

  // Returns the places that a row reads.
  KeyRange reach(const RowId& id, const TileSizes& tiles) const {
    const std::int64_t stored = stored_keys(id.sample), first = first_place(id.sample);
    if (tiles.keys == 0) return {0, stored};
    const std::int64_t last_row = geometry_.length_q(id.sample) - 1,
                       begin = tiles.queries == 0 ? 0 : id.row / tiles.queries * tiles.queries,
                       end = tiles.queries == 0 ? last_row : begin + tiles.queries - 1;
    KeyRange all = geometry_.visible_keys(id.sample, id.row, id.head);
    for (const std::int64_t row : {begin, std::min(end, last_row)}) {
      const KeyRange keys = geometry_.visible_keys(id.sample, row, id.head);
      if (keys.size() > 0) all = {std::min(all.begin, keys.begin), std::max(all.end, keys.end)};
    }
    return {(first + all.begin) / tiles.keys * tiles.keys,
            std::min(stored, (first + all.end + tiles.keys - 1) / tiles.keys * tiles.keys)};
  }

  std::span<const NanKey> keys_in_reach(const OutputRow& row, const TileSizes& tiles) const {
    const KeyRange range = reach(row.id, tiles);
    const std::vector<NanKey>& keys = keys_.at(place_of(row));
    const auto begin = std::ranges::lower_bound(keys, range.begin, {}, &NanKey::place),
               end = std::ranges::lower_bound(keys, range.end, {}, &NanKey::place);
    return {begin, end};
  }

  static bool counts(const NanKey& key, NanReads reads) {
    return reads == NanReads::of_both || (reads == NanReads::of_v ? key.of_v : key.of_k);
  }

  bool explains(NanReads reads, const TileSizes& tiles) const {
    return std::ranges::all_of(rows_, [&](const OutputRow& row) {
      Columns columns(row.columns.size());
      for (const NanKey& key : keys_in_reach(row, tiles)) {
        if (!counts(key, reads)) continue;
        const bool all = key.of_whole_v || (reads != NanReads::of_v && key.of_k);
        for (std::size_t j = 0; j < columns.size(); ++j)
          columns[j] = columns[j] || all || key.columns[j];
        if (all) break;
      }
      return columns == row.columns;
    });
  }

  std::string text(const OutputRow& row, NanReads reads, const TileSizes& tiles) const {
    const NanKey& key = *std::ranges::find_if(
        keys_in_reach(row, tiles), [&](const NanKey& one) { return counts(one, reads); });
    const bool is_v = reads != NanReads::of_k && key.of_v;
    const auto [sample, head] = place_of(row);
    const std::int64_t at = key.place - first_place(sample);
    const bool is_padding = at < 0 || at >= geometry_.length_kv(sample);
    bool is_seen = false;
    for (std::int64_t i = 0; i < geometry_.length_q(sample) && !is_seen && !is_padding; ++i)
      is_seen = geometry_.sees(sample, i, at, row.id.head);
    const std::string place =
        at < 0 ? fmt::format("padded key {}", key.place) : fmt::format("key {}", at);
    return fmt::format(
        "NaN of {} reaches the output: {} of {}, head {}, sample {} is NaN{}",
        !is_padding           ? is_seen ? "keys that the row does not see" : "keys that no row sees"
        : problem_.is_paged() ? "the tail of a page"
                              : "padded keys",
        is_v ? "V" : "K", place, head, sample, is_v ? ", and 0 times NaN is NaN" : "");
  }

  const FailingOutput& failing_;
  const Geometry& geometry_;
  const Problem& problem_;
  std::vector<OutputRow> rows_;  // those with NaN first
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<NanKey>> keys_;  // by sample and head
};

}  // namespace

std::string nan_of_hidden_keys(const FailingOutput& failing) {
  if (failing.faults->nan == 0 || failing.geometry->problem().is_merge()) return "";
  return NanSearch(failing).sentence();
}

}  // namespace plumbline
