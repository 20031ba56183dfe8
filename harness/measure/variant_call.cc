// Builds one transformed call: its samples, lengths and pages.
#include "harness/measure/variant_call.h"

#include <memory>
#include <numeric>

#include "harness/base/counter_hash.h"

namespace plumbline {
namespace {

constexpr std::int64_t spare_pages = 3;  // used by no sample
constexpr std::uint64_t page_stream = 0x7061676573u;

std::vector<SampleSource> all_samples(const Geometry& base) {
  std::vector<SampleSource> sources(static_cast<std::size_t>(base.problem().batch));
  for (std::size_t i = 0; i < sources.size(); ++i) sources[i].sample = static_cast<std::int64_t>(i);
  return sources;
}

}  // namespace

Problem with_other_values(Problem problem) {
  problem.inputs.clear();
  problem.seed += 1;
  return problem;
}

StatedLayout stated_as(const Geometry& geometry) {
  return {geometry.seqlens_q,    geometry.seqlens_kv,
          geometry.page_table,   geometry.pages_per_sample,
          geometry.page_count(), {},
          geometry.side};
}

void lay_out_pages(const Problem& problem, PageOrder order, std::uint64_t seed,
                   StatedLayout& stated) {
  std::int64_t used = 0, widest = 1;
  for (const std::int32_t length : stated.seqlens_kv) {
    const std::int64_t pages = pages_for(length, problem.page_size);
    used += pages;
    widest = std::max(widest, pages);
  }
  stated.pages_per_sample = widest;
  stated.page_count = used + spare_pages;
  std::vector<std::int32_t> pages(static_cast<std::size_t>(stated.page_count));
  std::iota(pages.begin(), pages.end(), 0);
  if (order == PageOrder::reversed) std::ranges::reverse(pages);
  for (std::int64_t i = stated.page_count - 1; order == PageOrder::shuffled && i > 0; --i) {
    const std::uint64_t bits = counter_hash(seed, page_stream, static_cast<std::uint64_t>(i));
    std::swap(pages[static_cast<std::size_t>(i)],
              pages[static_cast<std::size_t>(uniform_in(bits, 0, i))]);
  }
  stated.page_table.assign(static_cast<std::size_t>(problem.batch * widest), -1);
  auto next = pages.begin();
  for (std::size_t sample = 0; sample < stated.seqlens_kv.size(); ++sample) {
    const std::int64_t count = pages_for(stated.seqlens_kv[sample], problem.page_size);
    std::copy_n(next, count,
                stated.page_table.begin() + static_cast<std::int64_t>(sample) * widest);
    next += count;
  }
}

VariantCall make_sample_call(const Geometry& base, std::string words, const Samples& samples,
                             std::int64_t seq_q, std::int64_t seq_kv) {
  Problem problem = with_other_values(base.problem());
  problem.batch = static_cast<std::int64_t>(samples.sources.size());
  problem.seq_q = std::max(seq_q, samples.max_row_count());
  problem.seq_kv = std::max(seq_kv, samples.max_key_count());
  StatedLayout stated{samples.rows, samples.keys, {}, 0, 0, {}, base.side};
  if (problem.is_paged()) lay_out_pages(problem, PageOrder::shuffled, base.problem().seed, stated);
  return {std::move(words),
          std::make_shared<const Geometry>(problem, std::move(stated)),
          samples.sources,
          nullptr,
          false,
          "",
          0xFF,
          false,
          std::nullopt};
}

VariantCall make_full_call(const Geometry& base, std::string words, const Problem& problem,
                           StatedLayout stated) {
  return {std::move(words),
          std::make_shared<const Geometry>(problem, std::move(stated)),
          all_samples(base),
          nullptr,
          false,
          "",
          0xFF,
          false,
          std::nullopt};
}
VariantCall same_call(const Geometry& base, std::string words) {
  return make_full_call(base, std::move(words), with_other_values(base.problem()), stated_as(base));
}

}  // namespace plumbline
