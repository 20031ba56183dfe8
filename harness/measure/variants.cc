// Builds each invariance's calls: other batches, chunks, layouts, page orders, fills and views.
#include "harness/measure/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "harness/measure/variant_call.h"

namespace plumbline {
namespace {

// Extra keys of a longer neighbour or cache; not a multiple of any tile.
constexpr std::int64_t more_keys = 67;
// Elements between the rows of a view; keeps rows aligned to 64 bytes.
constexpr std::int64_t row_gap = 32;
constexpr std::size_t max_solo_samples = 4;  // samples that run alone

// Batch

std::int64_t longest_sample(const Geometry& base) {
  const auto& keys = base.seqlens_kv;
  std::int64_t longest = -1;
  for (std::int64_t sample = 0; sample < base.problem().batch; ++sample) {
    if (base.length_q(sample) == 0) continue;
    if (longest < 0 ||
        keys[static_cast<std::size_t>(sample)] > keys[static_cast<std::size_t>(longest)])
      longest = sample;
  }
  return longest;
}

Variants alone(const Geometry& base) {
  const std::int64_t batch = base.problem().batch;
  if (batch == 1) return {{}, "the batch has one sample"};
  std::vector<std::int64_t> chosen;
  for (std::int64_t sample = 0; sample < batch; ++sample) {
    if (base.length_q(sample) > 0 && base.length_kv(sample) > 0) chosen.push_back(sample);
  }
  // Keep the first and the last sample, and the longest and the shortest between them.
  if (chosen.size() > max_solo_samples) {
    std::sort(chosen.begin() + 1, chosen.end() - 1, [&](std::int64_t a, std::int64_t b) {
      return base.length_kv(a) > base.length_kv(b);
    });
    chosen = {chosen.front(), chosen[1], chosen[chosen.size() - 2], chosen.back()};
  }
  Variants result;
  for (const std::int64_t sample : chosen) {
    Samples samples;
    samples.add_whole(base, sample);
    result.calls.push_back(
        make_sample_call(base, fmt::format("sample {} alone", sample), samples, 0, 0));
  }
  return result;
}

Variants other_positions(const Geometry& base) {
  const Problem& problem = base.problem();
  const auto call = [&](std::string words, const std::vector<std::int64_t>& order) {
    Samples samples;
    for (const std::int64_t sample : order) {
      if (sample >= 0) samples.add_whole(base, sample);
      if (sample < 0) samples.add({}, base.length_q(0), base.length_kv(0));
    }
    return make_sample_call(base, std::move(words), samples, problem.seq_q, problem.seq_kv);
  };
  if (problem.batch == 1) return {{call("after two other samples", {-1, -1, 0})}, ""};
  std::vector<std::int64_t> order(static_cast<std::size_t>(problem.batch));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::reverse(order);
  Variants result{{call("samples in reverse order", order)}, ""};
  std::rotate(order.begin(), order.begin() + 1, order.end());
  if (problem.batch > 2)
    result.calls.push_back(
        call("samples in reverse order, then the first moved to the end", order));
  return result;
}

Variants other_neighbours(const Geometry& base) {
  const Problem& problem = base.problem();
  const std::int64_t kept = longest_sample(base);
  const auto call = [&](std::string words, bool nan) {
    const std::int64_t rows = problem.seq_q == 1 ? 1 : problem.seq_q + 5,
                       keys = problem.seq_kv + more_keys;
    Samples samples;
    for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
      if (sample == kept) {
        samples.add_whole(base, sample);
      } else {
        samples.add({-1, 0, nan}, nan ? base.length_q(sample) : rows,
                    nan ? base.length_kv(sample) : keys);
      }
    }
    if (problem.batch == 1)
      samples.add({-1, 0, nan}, nan ? base.length_q(0) : rows, nan ? base.length_kv(0) : keys);
    return make_sample_call(base, std::move(words), samples, problem.seq_q, problem.seq_kv);
  };
  return {{call(fmt::format("sample {} beside longer samples of other values", kept), false),
           call(fmt::format("sample {} beside samples of NaN", kept), true)},
          ""};
}

// Prefill and decode

bool has_window(const Problem& problem) {
  return problem.window_left >= 0 || problem.window_right >= 0;
}
bool has_several_rows(const Geometry& base) {
  return std::ranges::any_of(base.seqlens_q, [](std::int32_t rows) { return rows > 1; });
}

// Returns the number of a sample's keys after its rows before `end`, if the keys of later rows do
// not exist yet.
std::int64_t keys_before(const Geometry& base, std::int64_t sample, std::int64_t end) {
  if (base.problem().mask == Mask::none) return base.length_kv(sample);
  return std::max<std::int64_t>(0, base.length_kv(sample) - base.length_q(sample) + end);
}

Variants chunked(const Geometry& base) {
  const Problem& problem = base.problem();
  if (!has_several_rows(base)) return {{}, "no sample has several query rows"};
  if (problem.mask == Mask::causal_top_left)
    return {{}, "under a top-left mask a later chunk would align with key 0"};
  if (problem.mask == Mask::none && has_window(problem))
    return {{}, "a window without a causal mask looks at later keys"};
  if (problem.mask == Mask::none && problem.alibi != Alibi::none)
    return {{}, "ALiBi without a causal mask counts distances from the last key"};
  Samples first, second;
  for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
    const std::int64_t rows = base.length_q(sample), cut = (rows * 2 + 4) / 5;
    if (cut > 0) first.add({sample, 0, false}, cut, keys_before(base, sample, cut));
    if (rows > cut) second.add({sample, cut, false}, rows - cut, base.length_kv(sample));
  }
  Variants result;
  if (std::accumulate(first.keys.begin(), first.keys.end(), 0) > 0) {
    result.calls.push_back(
        make_sample_call(base, "the first two fifths of each sample's query rows", first, 0, 0));
  }
  result.calls.push_back(make_sample_call(
      base, "the query rows after the first two fifths, as a second chunk", second, 0, 0));
  return result;
}

Variants decoded(const Geometry& base) {
  const Problem& problem = base.problem();
  if (!has_several_rows(base)) return {{}, "no sample has several query rows: this is a decode"};
  if (problem.mask == Mask::causal_top_left)
    return {{}, "under a top-left mask the last row does not align with the last key"};
  Samples last, middle;
  for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
    const std::int64_t rows = base.length_q(sample), row = rows / 2;
    if (rows > 0 && base.length_kv(sample) > 0)
      last.add({sample, rows - 1, false}, 1, base.length_kv(sample));
    const std::int64_t keys = keys_before(base, sample, row + 1);
    if (row > 0 && row + 1 < rows && keys > 0) middle.add({sample, row, false}, 1, keys);
  }
  Variants result;
  if (!last.sources.empty())
    result.calls.push_back(
        make_sample_call(base, "each sample's last row decoded alone", last, 0, 0));
  if (problem.mask == Mask::causal_bottom_right && !middle.sources.empty()) {
    result.calls.push_back(
        make_sample_call(base, "each sample's middle row decoded alone", middle, 0, 0));
  }
  if (result.calls.empty()) result.missing = "no last row sees a key";
  return result;
}

Variants other_splits(const Geometry& base, const std::string& split_option) {
  if (split_option.empty())
    return {{}, "the contract names no provider option that sets the number of splits"};
  Variants result;
  for (const int splits : {1, 2, 3, 7}) {
    VariantCall call =
        same_call(base, fmt::format("{} KV {}", splits, splits == 1 ? "split" : "splits"));
    call.provider_option = fmt::format("{}={}", split_option, splits);
    result.calls.push_back(std::move(call));
  }
  return result;
}

// Memory layout

Variants other_page_orders(const Geometry& base) {
  const Problem problem = with_other_values(base.problem());
  if (!problem.is_paged()) return {{}, "the layout has no pages"};
  Variants result;
  const auto add = [&](std::string words, PageOrder order) {
    StatedLayout stated = stated_as(base);
    lay_out_pages(problem, order, problem.seed, stated);
    result.calls.push_back(make_full_call(base, std::move(words), problem, std::move(stated)));
  };
  add("pages in reverse order", PageOrder::reversed);
  add("pages in another random order", PageOrder::shuffled);
  return result;
}

Variants other_page_sizes(const Geometry& base) {
  if (!base.problem().is_paged()) return {{}, "the layout has no pages"};
  Variants result;
  for (const std::int64_t size : {base.problem().page_size * 2, base.problem().page_size / 2}) {
    if (size == 0) continue;
    Problem problem = with_other_values(base.problem());
    problem.page_size = size;
    StatedLayout stated = stated_as(base);
    lay_out_pages(problem, PageOrder::shuffled, problem.seed, stated);
    result.calls.push_back(
        make_full_call(base, fmt::format("pages of {} keys", size), problem, std::move(stated)));
  }
  return result;
}

Variants other_layouts(const Geometry& base) {
  struct Target {
    Layout layout;
    Padding padding;
  };
  constexpr Target targets[] = {
      {Layout::padded_bshd, Padding::right}, {Layout::padded_bshd, Padding::left},
      {Layout::padded_bhsd, Padding::right}, {Layout::ragged, Padding::right},
      {Layout::paged_nhd, Padding::right},   {Layout::paged_hnd, Padding::right}};
  Variants result;
  for (const auto& [layout, padding] : targets) {
    Problem problem = with_other_values(base.problem());
    const bool padded = layout == Layout::padded_bshd || layout == Layout::padded_bhsd;
    if (layout == problem.layout && (!padded || padding == problem.padding)) continue;
    problem.layout = layout;
    problem.padding = padding;
    StatedLayout stated{base.seqlens_q, base.seqlens_kv, {}, 0, 0, {}, base.side};
    if (problem.is_paged()) lay_out_pages(problem, PageOrder::shuffled, problem.seed, stated);
    result.calls.push_back(
        make_full_call(base,
                       fmt::format("layout {}{}", name(layout),
                                   padding == Padding::left ? ", padded on the left" : ""),
                       problem, std::move(stated)));
  }
  return result;
}

Variants other_fills(const Geometry& base) {
  const Problem& problem = base.problem();
  const auto full = [](const std::vector<std::int32_t>& lengths, std::int64_t seq) {
    return std::ranges::all_of(lengths, [&](std::int32_t length) { return length == seq; });
  };
  const bool gaps =
      problem.is_paged() || (problem.is_padded() && !(full(base.seqlens_q, problem.seq_q) &&
                                                      full(base.seqlens_kv, problem.seq_kv)));
  if (!gaps) return {{}, "no tensor has padding"};
  Variants result;
  for (const Fill fill : {Fill::garbage, Fill::zeros, Fill::nan}) {
    if (fill == problem.fill) continue;
    Problem filled = with_other_values(problem);
    filled.fill = fill;
    result.calls.push_back(make_full_call(base, fmt::format("padding filled with {}", name(fill)),
                                          filled, stated_as(base)));
  }
  return result;
}

Variants other_workspaces(const Geometry& base) {
  Variants result{{same_call(base, "workspace full of zeros"),
                   same_call(base, "workspace full of small numbers (bytes 0x3C)")},
                  ""};
  result.calls[0].workspace_byte = 0;
  result.calls[1].workspace_byte = 0x3C;
  return result;
}

Variants larger_cache(const Geometry& base) {
  Problem problem = with_other_values(base.problem());
  problem.seq_kv += more_keys;
  StatedLayout stated = stated_as(base);
  if (!problem.is_paged()) {
    return {{make_full_call(base, fmt::format("room for {} keys a sample", problem.seq_kv), problem,
                            std::move(stated))},
            ""};
  }
  const std::int64_t columns =
      std::max(stated.pages_per_sample + 1, pages_for(problem.seq_kv, problem.page_size));
  std::vector<std::int32_t> table(static_cast<std::size_t>(problem.batch * columns), -1);
  for (std::int64_t sample = 0; sample < problem.batch; ++sample) {
    std::copy_n(stated.page_table.begin() + sample * stated.pages_per_sample,
                stated.pages_per_sample, table.begin() + sample * columns);
  }
  stated.page_table = std::move(table);
  stated.pages_per_sample = columns;
  stated.page_count += problem.batch * (more_keys / problem.page_size + 1);
  return {{make_full_call(
              base, fmt::format("{} pages, a page table of {} columns", stated.page_count, columns),
              problem, stated)},
          ""};
}

Variants views(const Geometry& base) {
  const Problem problem = with_other_values(base.problem());
  const auto call = [&](std::string words, bool of_heads) {
    Geometry geometry(problem, stated_as(base));
    std::vector<TensorShape*> shapes{&geometry.q, &geometry.k, &geometry.v};
    if (of_heads) shapes.push_back(&geometry.out);
    for (TensorShape* shape : shapes) {
      const auto rank = static_cast<std::size_t>(shape->rank);
      widen(*shape, of_heads ? rank - 2 : rank - 1, of_heads ? problem.heads_kv + 1 : row_gap);
    }
    VariantCall made = same_call(base, std::move(words));
    made.geometry = std::make_shared<const Geometry>(std::move(geometry));
    return made;
  };
  return {{call(fmt::format("Q, K and V as views with {} elements between rows", row_gap), false),
           call("Q, K, V and the output as views of tensors with more heads", true)},
          ""};
}

// State that earlier calls leave

Variants again(const Geometry& base) {
  Variants result{{same_call(base, "the same call again"),
                   same_call(base, "again, after a call with other values")},
                  ""};
  for (VariantCall& call : result.calls) call.threads_reversed = true;
  auto other = std::make_shared<VariantCall>(same_call(base, "other values"));
  for (SampleSource& source : other->samples) source.sample = -1;
  result.calls[1].before = std::move(other);
  return result;
}

Variants after_another_scale(const Geometry& base) {
  Problem problem = with_other_values(base.problem());
  problem.scale = 0.375 * base.problem().softmax_scale();
  VariantCall call = same_call(
      base, fmt::format("in a process whose first call had the scale {:.4g}", problem.scale));
  call.own_process = true;
  call.before = std::make_shared<const VariantCall>(
      make_full_call(base, "another scale", problem, stated_as(base)));
  return {{std::move(call)}, ""};
}

// Keys that no row sees

// 0xFF bytes are NaN in every format, 0x7B bytes a large number: 61,280 in fp16.
Variants other_hidden_keys(const Geometry& base) {
  bool hides = false;
  for (std::int64_t sample = 0; sample < base.problem().batch; ++sample) {
    const std::vector<bool> seen = seen_keys(base, sample);
    hides = hides || (base.length_q(sample) > 0 && std::ranges::find(seen, false) != seen.end());
  }
  if (!hides) return {{}, "some row sees each key"};
  Variants result;
  for (const auto& [words, byte] :
       {std::pair{"keys that no row sees filled with NaN", 0xFF},
        std::pair{"keys that no row sees filled with huge numbers", 0x7B}}) {
    result.calls.push_back(own_call(base));
    result.calls.back().words = words;
    result.calls.back().hidden_byte = byte;
  }
  return result;
}

Variants with_or_without_lse(const Geometry& base) {
  Problem problem = with_other_values(base.problem());
  problem.lse = !problem.lse;
  return {{make_full_call(base, problem.lse ? "LSE requested" : "LSE not requested", problem,
                          stated_as(base))},
          ""};
}

}  // namespace

std::vector<bool> seen_keys(const Geometry& geometry, std::int64_t sample) {
  const auto count = static_cast<std::size_t>(geometry.length_kv(sample));
  std::vector<bool> seen(count);
  // The number of ranges that begin at a key, less those that end there.
  std::vector<std::int64_t> begun(count + 1);
  for (std::int64_t head = 0; head < geometry.mask_heads; ++head) {
    for (std::int64_t row = 0; row < geometry.length_q(sample); ++row) {
      const KeyRange keys = geometry.visible_keys(sample, row, head);
      if (!geometry.has_hidden_keys()) {
        ++begun[static_cast<std::size_t>(keys.begin)];
        --begun[static_cast<std::size_t>(keys.begin + keys.size())];
        continue;
      }
      for (std::int64_t key = keys.begin; key < keys.end; ++key) {
        if (!seen[static_cast<std::size_t>(key)])
          seen[static_cast<std::size_t>(key)] = geometry.sees(sample, row, key, head);
      }
    }
  }
  if (geometry.has_hidden_keys()) return seen;
  std::partial_sum(begun.begin(), begun.end(), begun.begin());
  for (std::size_t key = 0; key < count; ++key) seen[key] = begun[key] > 0;
  return seen;
}

VariantCall own_call(const Geometry& geometry) {
  StatedLayout stated = stated_as(geometry);
  stated.mask_bits = geometry.mask_bits;  // a problem with another seed draws other bits
  return make_full_call(geometry, "the case as it is", with_other_values(geometry.problem()),
                        std::move(stated));
}

Variants variants(Invariance invariance, const Geometry& geometry,
                  const std::string& split_option) {
  if (longest_sample(geometry) < 0) return {{}, "no sample has a query row"};
  const Problem& problem = geometry.problem();
  if (problem.view != View::plain) return {{}, "Q, K and V lie in views"};
  // These calls state the mask bits and side inputs of the case.
  if (invariance == Invariance::hidden_keys && !problem.is_merge() && problem.inputs.empty())
    return other_hidden_keys(geometry);
  if (problem.has_mask_bits() || problem.has_fp8_kv() || problem.alibi == Alibi::random ||
      problem.sinks != Sinks::none) {
    return {{},
            "masks of bits, fp8 scales, random slopes and sinks are drawn by the seed, which other "
            "problems do not share"};
  }
  constexpr std::array of_merges{Invariance::run_to_run, Invariance::solo,    Invariance::position,
                                 Invariance::workspace,  Invariance::strides, Invariance::lse};
  if (problem.is_merge() && std::ranges::find(of_merges, invariance) == of_merges.end())
    return {{}, "this invariance changes nothing in a merge"};
  switch (invariance) {
    case Invariance::run_to_run:
      return again(geometry);
    case Invariance::solo:
      return alone(geometry);
    case Invariance::position:
      return other_positions(geometry);
    case Invariance::neighbour:
      return other_neighbours(geometry);
    case Invariance::chunked_prefill:
      return chunked(geometry);
    case Invariance::prefill_decode:
      return decoded(geometry);
    case Invariance::split:
      return other_splits(geometry, split_option);
    case Invariance::page_order:
      return other_page_orders(geometry);
    case Invariance::page_size:
      return other_page_sizes(geometry);
    case Invariance::layout:
      return other_layouts(geometry);
    case Invariance::padding:
      return other_fills(geometry);
    case Invariance::workspace:
      return other_workspaces(geometry);
    case Invariance::capacity:
      return larger_cache(geometry);
    case Invariance::strides:
      return views(geometry);
    case Invariance::lse:
      return with_or_without_lse(geometry);
    case Invariance::two_scales:
      return after_another_scale(geometry);
    case Invariance::hidden_keys:
      return {{}, "recorded inputs cannot be filled"};
  }
  return {};
}

}  // namespace plumbline
