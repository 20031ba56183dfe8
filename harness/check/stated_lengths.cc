// Reads a dump's lengths, offsets and page tables, and checks them against the tensor shapes.
#include "harness/check/stated_lengths.h"

#include <fmt/format.h>

#include <limits>
#include <numeric>

namespace plumbline {
namespace {

using Lengths32 = std::vector<std::int32_t>;

class LengthsReader {
 public:
  LengthsReader(const Problem& problem, const DumpSizes& sizes, TensorSet& tensors,
                const std::optional<ImpliedLengths>& implied)
      : problem_(problem), sizes_(sizes), tensors_(tensors), implied_(implied) {}

  std::optional<StatedLayout> read() {
    auto q = from_tensors("q");
    auto kv = from_tensors("kv");
    if (failed_) return std::nullopt;
    StatedLayout layout;
    if (problem_.is_padded()) {
      if (!kv && implied_) kv = implied_->lengths;
      if (!q && implied_ && problem_.seq_q == problem_.seq_kv) q = implied_->lengths;
      layout.seqlens_q = q.value_or(full(problem_.seq_q));
      layout.seqlens_kv = kv.value_or(full(problem_.seq_kv));
      if (!within("q", layout.seqlens_q, problem_.seq_q) ||
          !within("kv", layout.seqlens_kv, problem_.seq_kv))
        return std::nullopt;
    } else {
      if (!q && problem_.is_paged()) q = queries_of_pages();
      if (!q || !kv) return missing(!q ? "q" : "kv");
      layout.seqlens_q = std::move(*q), layout.seqlens_kv = std::move(*kv);
      if (!adds_up("q", layout.seqlens_q, sizes_.rows_q * std::max<std::int64_t>(sizes_.batch, 1)))
        return std::nullopt;
      if (!problem_.is_paged() && !adds_up("k", layout.seqlens_kv, sizes_.rows_kv))
        return std::nullopt;
    }
    if (layout.seqlens_q.size() != layout.seqlens_kv.size()) {
      return wrong(fmt::format("lengths of {} samples are stated for q, of {} for k",
                               layout.seqlens_q.size(), layout.seqlens_kv.size()));
    }
    if (problem_.is_paged() && !read_page_table(layout)) return std::nullopt;
    return layout;
  }

 private:
  std::nullopt_t wrong(
      std::string message,
      std::string remedy = "docs/dump-format.md has the index tensors of each layout") {
    tensors_.add(std::move(message), std::move(remedy));
    failed_ = true;
    return std::nullopt;
  }

  std::nullopt_t missing(std::string_view side) {
    return wrong(fmt::format("layout {} needs the lengths of {}", name(problem_.layout), side),
                 fmt::format("add cu_seqlens_{} [batch + 1] or seqlens_{} [batch]", side, side));
  }

  Lengths32 full(std::int64_t length) const {
    return Lengths32(static_cast<std::size_t>(problem_.batch), static_cast<std::int32_t>(length));
  }

  // Returns the lengths of one side, from offsets or lengths. Both may be there if they agree.
  std::optional<Lengths32> from_tensors(const std::string& side) {
    std::optional<Lengths32> by_offsets, by_lengths;
    const std::string own = "cu_seqlens_" + side;
    for (const std::string& tensor : {own, std::string("cu_seqlens")}) {
      if (tensors_.find(tensor) == nullptr || by_offsets) continue;
      by_offsets = differences(tensor);
      if (!by_offsets) return std::nullopt;
    }
    if (tensors_.find("seqlens_" + side) != nullptr) {
      by_lengths = lengths("seqlens_" + side);
      if (!by_lengths) return std::nullopt;
    }
    if (by_offsets && by_lengths && *by_offsets != *by_lengths) {
      return wrong(fmt::format("{} and seqlens_{} state different lengths", own, side),
                   "leave one of them out");
    }
    return by_offsets ? by_offsets : by_lengths;
  }

  std::optional<Lengths32> lengths(const std::string& tensor) {
    const auto values = tensors_.integers(tensor, 1);
    if (!values) return failed_ = true, std::nullopt;
    Lengths32 result;
    for (std::size_t i = 0; i < values->size(); ++i) {
      const std::int64_t value = (*values)[i];
      if (value < 0 || value > std::numeric_limits<std::int32_t>::max()) {
        return wrong(
            fmt::format("tensor {}: element {} is {}, which is out of range", tensor, i, value));
      }
      result.push_back(static_cast<std::int32_t>(value));
    }
    if (result.empty()) return wrong(fmt::format("tensor {} is empty: there is no sample", tensor));
    return result;
  }

  std::optional<Lengths32> differences(const std::string& tensor) {
    const auto offsets = lengths(tensor);
    if (!offsets) return std::nullopt;
    if (offsets->front() != 0)
      return wrong(fmt::format("tensor {} starts at {}, not at 0", tensor, offsets->front()));
    if (offsets->size() < 2)
      return wrong(fmt::format("tensor {} has one element: there is no sample", tensor),
                   "write batch + 1 elements");
    Lengths32 result;
    for (std::size_t i = 1; i < offsets->size(); ++i) {
      if ((*offsets)[i] < (*offsets)[i - 1]) {
        return wrong(fmt::format("tensor {} falls from {} to {} at element {}", tensor,
                                 (*offsets)[i - 1], (*offsets)[i], i));
      }
      result.push_back((*offsets)[i] - (*offsets)[i - 1]);
    }
    return result;
  }

  bool within(std::string_view side, const Lengths32& lengths_of, std::int64_t longest) {
    if (lengths_of.size() != static_cast<std::size_t>(problem_.batch)) {
      wrong(fmt::format("{} has lengths of {} samples, but the batch has {}", side,
                        lengths_of.size(), problem_.batch));
      return false;
    }
    for (std::size_t i = 0; i < lengths_of.size(); ++i) {
      if (lengths_of[i] <= longest) continue;
      wrong(fmt::format("the length of {} in sample {} is {}, the tensor has {} positions", side, i,
                        lengths_of[i], longest));
      return false;
    }
    return true;
  }

  bool adds_up(std::string_view tensor, const Lengths32& lengths_of, std::int64_t rows) {
    const auto total = std::accumulate(lengths_of.begin(), lengths_of.end(), std::int64_t{0});
    if (total == rows) return true;
    wrong(
        fmt::format("the lengths of {} add up to {}, the tensor has {} rows", tensor, total, rows),
        "cut off rows that no sample uses, or state all lengths");
    return false;
  }

  // Returns the query lengths of a paged layout that states none: q is [batch, seq, heads, dim] or
  // has one row a sample.
  std::optional<Lengths32> queries_of_pages() const {
    const TensorData* table = tensors_.find("page_table");
    const std::int64_t batch = table != nullptr && table->shape.size() == 2 ? table->shape[0] : 1;
    if (sizes_.batch > 0)
      return Lengths32(static_cast<std::size_t>(sizes_.batch),
                       static_cast<std::int32_t>(sizes_.seq_q));
    if (sizes_.rows_q != batch || batch < 1) return std::nullopt;
    return Lengths32(static_cast<std::size_t>(batch), 1);
  }

  bool read_page_table(StatedLayout& layout) {
    const auto pages = tensors_.integers("page_table", 0);
    const auto batch = static_cast<std::int64_t>(layout.seqlens_kv.size());
    if (!pages) {
      if (tensors_.find("page_table") == nullptr)
        wrong("layout paged needs a page_table",
              "add page_table [batch, pages of the longest sample]");
      return false;
    }
    const Shape& shape = tensors_.find("page_table")->shape;
    if (shape.empty() || shape.size() > 2 || (shape.size() == 2 && shape[0] != batch) ||
        static_cast<std::int64_t>(pages->size()) % batch != 0) {
      wrong(fmt::format("tensor page_table {} is not [{}, pages of the longest sample]",
                        shape_text(shape), batch));
      return false;
    }
    layout.pages_per_sample = static_cast<std::int64_t>(pages->size()) / batch;
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::int64_t needed =
          (layout.seqlens_kv[static_cast<std::size_t>(b)] + problem_.page_size - 1) /
          problem_.page_size;
      if (needed > layout.pages_per_sample) {
        wrong(fmt::format("sample {} has {} keys and needs {} pages of {} keys; page_table has {}",
                          b, layout.seqlens_kv[static_cast<std::size_t>(b)], needed,
                          problem_.page_size, layout.pages_per_sample));
        return false;
      }
      if (!read_pages(layout, *pages, b, needed)) return false;
    }
    return true;
  }

  bool read_pages(StatedLayout& layout, const std::vector<std::int64_t>& pages, std::int64_t b,
                  std::int64_t needed) {
    for (std::int64_t i = 0; i < layout.pages_per_sample; ++i) {
      const std::int64_t page = pages[static_cast<std::size_t>(b * layout.pages_per_sample + i)];
      const bool valid = page >= 0 && page < sizes_.page_count;
      if (i < needed && !valid) {
        wrong(fmt::format("tensor page_table: entry {} of sample {} is {}, k has {} pages", i, b,
                          page, sizes_.page_count));
        return false;
      }
      layout.page_table.push_back(valid ? static_cast<std::int32_t>(page) : -1);
    }
    return true;
  }

  const Problem& problem_;
  const DumpSizes& sizes_;
  TensorSet& tensors_;
  const std::optional<ImpliedLengths>& implied_;
  bool failed_ = false;
};

}  // namespace

std::optional<StatedLayout> stated_lengths(const Problem& problem, const DumpSizes& sizes,
                                           TensorSet& tensors,
                                           const std::optional<ImpliedLengths>& implied) {
  return LengthsReader(problem, sizes, tensors, implied).read();
}

}  // namespace plumbline
