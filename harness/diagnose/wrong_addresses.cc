// Lists wrong addresses of keys and wrong softcaps that a kernel may have, as explanations to rank.
#include "harness/diagnose/wrong_addresses.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

namespace plumbline {
namespace {

using Map = std::function<KeyAddress(KeyAddress)>;

enum class KvReads { both, only_v, only_k };
struct Reading {
  KvReads reads;
  std::string_view what;
};
constexpr std::array readings{Reading{KvReads::both, "K and V"}, Reading{KvReads::only_v, "V"},
                              Reading{KvReads::only_k, "K"}};

ExplanationRanking::Vary reading(const ExplanationRanking& ranking, KvReads reads, const Map& map) {
  return [&ranking, reads, map](const RowId& id) {
    RowVariation variation = ranking.answers().stated(id);
    if (reads != KvReads::only_v) variation.key_address = map;
    if (reads != KvReads::only_k) variation.value_address = map;
    return variation;
  };
}

void add_neighbours(const Geometry& geometry, ExplanationRanking& ranking) {
  for (const auto& [step, which] : {std::pair{1, "next"}, {-1, "previous"}}) {
    // The last (or first) key has no neighbour. The kernel may read this key's V, V of the key at
    // the other end, or zeros.
    for (const int at_end : {0, 1, 2}) {
      const Map map = [&geometry, step = step, at_end](KeyAddress place) {
        const std::int64_t length = geometry.length_kv(place.sample), key = place.key + step;
        if (key >= 0 && key < length) return KeyAddress{place.sample, key};
        return at_end == 0 ? place
                           : KeyAddress{place.sample, at_end == 1 ? length - 1 - place.key : -1};
      };
      ranking.add("V of a neighbour",
                  fmt::format("each key's weight is multiplied by V of the {} key", which),
                  reading(ranking, KvReads::only_v, map));
    }
  }
}

// The pages of a problem, by entry of its page table.
class Pages {
 public:
  explicit Pages(const Geometry& geometry)
      : geometry_(geometry), size_(geometry.problem().page_size) {
    for (std::size_t entry = 0; entry < geometry.page_table.size(); ++entry) {
      if (geometry.page_table[entry] >= 0)
        entry_of_[geometry.page_table[entry]] = static_cast<std::int64_t>(entry);
    }
  }

  std::int64_t size() const { return size_; }
  std::int64_t row(std::int64_t sample) const { return sample * geometry_.pages_per_sample; }
  std::int64_t count(std::int64_t sample) const {
    return (geometry_.length_kv(sample) + size_ - 1) / size_;
  }
  // Returns the address of a key in the page of a page table entry; key -1
  // (zeros) if there is no page.
  KeyAddress by_entry(std::int64_t entry, std::int64_t key) const {
    if (entry < 0 || entry >= static_cast<std::int64_t>(geometry_.page_table.size()) ||
        geometry_.page_table[static_cast<std::size_t>(entry)] < 0)
      return {0, -1};
    return {entry / geometry_.pages_per_sample,
            entry % geometry_.pages_per_sample * size_ + key % size_};
  }
  // Returns the address of a key in a physical page; key -1 (zeros) if no entry has it.
  KeyAddress by_page(std::int64_t page, std::int64_t key) const {
    const auto at = entry_of_.find(static_cast<std::int32_t>(page));
    return at == entry_of_.end() ? KeyAddress{0, -1} : by_entry(at->second, key);
  }
  const std::map<std::int32_t, std::int64_t>& entries() const { return entry_of_; }

 private:
  const Geometry& geometry_;
  const std::int64_t size_;
  std::map<std::int32_t, std::int64_t> entry_of_;  // by page
};

// Adds rules by which a kernel may look up the wrong page.
void add_page_rules(const Geometry& geometry, const Pages& pages, ExplanationRanking& ranking) {
  const std::int64_t batch = geometry.problem().batch;
  // Maps to another page of the same sample, if the sample has that page.
  const auto within = [&pages](std::int64_t (*other)(std::int64_t)) {
    return [&pages, other](KeyAddress place) {
      const std::int64_t page = other(place.key / pages.size());
      return page < 0 || page >= pages.count(place.sample)
                 ? place
                 : pages.by_entry(pages.row(place.sample) + page, place.key);
    };
  };
  const auto of_sample = [&pages](const std::function<std::int64_t(std::int64_t)>& other) {
    return [&pages, other](KeyAddress place) {
      return pages.by_entry(pages.row(other(place.sample)) + place.key / pages.size(), place.key);
    };
  };
  const std::array<std::pair<std::string_view, Map>, 8> rules{{
      {"pages that are exchanged in pairs, 0 with 1 and 2 with 3",
       within([](std::int64_t page) { return page ^ 1; })},
      {"the sample's pages in reversed order",
       [&pages](KeyAddress place) {
         const std::int64_t page = pages.count(place.sample) - 1 - place.key / pages.size();
         return pages.by_entry(pages.row(place.sample) + page, place.key);
       }},
      {"the next page", within([](std::int64_t page) { return page + 1; })},
      {"the page before", within([](std::int64_t page) { return page - 1; })},
      {"the pages of the next sample",
       of_sample([batch](std::int64_t sample) { return (sample + 1) % batch; })},
      {"the pages of sample 0", of_sample([](std::int64_t) { return 0; })},
      {"the page of a page table whose rows are only as long as the sample needs",
       [&pages](KeyAddress place) {
         return pages.by_entry(place.sample * pages.count(place.sample) + place.key / pages.size(),
                               place.key);
       }},
      {"the page whose number is the place in the page table",
       [&pages](KeyAddress place) {
         return pages.by_page(pages.row(place.sample) + place.key / pages.size(), place.key);
       }},
  }};
  for (const auto& [reads, what] : readings) {
    for (const auto& [where, map] : rules) {
      ranking.add("pages", fmt::format("a wrong page is read: {} of {}", what, where),
                  reading(ranking, reads, map));
    }
  }
}

// Adds maps that change one page table entry: every page of the worst row to every other page.
void add_single_pages(const Geometry& geometry, const Pages& pages, ExplanationRanking& ranking) {
  constexpr double max_work = 3e7;  // multiply-adds
  if (ranking.rows().empty()) return;
  const std::size_t worst = ranking.rows().front();
  const RowId& id = ranking.answers().row(worst);
  const Problem& problem = geometry.problem();
  const KeyRange keys = geometry.visible_keys(id.sample, id.row, id.head);
  if (keys.size() == 0) return;
  const std::int64_t first = keys.begin / pages.size(), last = (keys.end - 1) / pages.size();
  const double work = static_cast<double>((last - first + 1) * keys.size()) *
                      static_cast<double>(pages.entries().size()) *
                      static_cast<double>(3 * (problem.head_dim_qk + problem.head_dim_vo));
  if (!(work <= max_work)) return;
  for (std::int64_t page = first; page <= last; ++page) {
    for (const auto& [other, entry] : pages.entries()) {
      if (ranking.is_cut()) return;
      if (entry == pages.row(id.sample) + page) continue;
      const Map map = [&pages, sample = id.sample, page, entry = entry](KeyAddress place) {
        return place.sample == sample && place.key / pages.size() == page
                   ? pages.by_entry(entry, place.key)
                   : place;
      };
      const KeyAddress found = pages.by_entry(entry, 0);
      for (const auto& [reads, what] : readings) {
        ranking.add("pages",
                    fmt::format("a wrong page is read: {} of page {} of sample {} from page {} of "
                                "sample {}",
                                what, page, id.sample, found.key / pages.size(), found.sample),
                    reading(ranking, reads, map));
      }
    }
  }
}

// Adds wrong softcaps that equal no other value of the cap (alternative_problems.cc tries other
// values).
void add_softcaps(const Problem& problem, ExplanationRanking& ranking) {
  if (problem.softcap == 0) return;
  const auto add = [&](std::string_view how, auto logit) {
    ranking.add("softcap", fmt::format("the softcap is in the wrong place: {}", how),
                [&ranking, logit](const RowId& id) {
                  RowVariation variation = ranking.answers().stated(id);
                  variation.logit = logit;
                  return variation;
                });
  };
  const double scale = problem.softmax_scale(), cap = problem.softcap;
  add("ALiBi's bias is added before it, not after it",
      [=](const LogitShape& shape, double product, std::int64_t key) {
        return shape.capped(scale * product + shape.bias(key));
      });
  add("logits are not divided by the cap before tanh",
      [=](const LogitShape& shape, double product, std::int64_t key) {
        return cap * std::tanh(scale * product) + shape.bias(key);
      });
}

}  // namespace

void add_wrong_addresses(const FailingOutput& failing, ExplanationRanking& ranking) {
  const Geometry& geometry = *failing.geometry;
  add_neighbours(geometry, ranking);
  add_softcaps(geometry.problem(), ranking);
  if (!geometry.problem().is_paged()) return;
  const Pages pages(geometry);
  add_page_rules(geometry, pages, ranking);
  add_single_pages(geometry, pages, ranking);
}

}  // namespace plumbline
