// Reads batch, heads, lengths and head dims from a dump's tensor shapes and names every mismatch.
#include "harness/check/shapes.h"

#include <fmt/format.h>

#include <array>

namespace plumbline {
namespace {

// A tensor's extents by meaning. `rows`: positions of a padded tensor, rows of a ragged one, or
// tokens of a page.
struct Extents {
  std::int64_t outer = 0, rows = 0, heads = 0, dim = 0;
};

class ShapeReader {
 public:
  ShapeReader(Layout layout, std::vector<std::string>& misfits)
      : layout_(layout), misfits_(misfits) {}

  DumpSizes read(const DumpShapes& shapes) {
    const bool paged = layout_ == Layout::paged_nhd || layout_ == Layout::paged_hnd;
    const auto q = queries("q", shapes.q), k = keys("k", shapes.k), v = keys("v", shapes.v);
    const auto out = shapes.out ? queries("out", *shapes.out) : std::nullopt;
    if (!q || !k || !v || (shapes.out && !out)) return {};
    const auto [sq, sk, sv] =
        std::array{shape_text(shapes.q), shape_text(shapes.k), shape_text(shapes.v)};
    same("the head dimension", "q", sq, q->dim, "k", sk, k->dim);
    same("the number of heads", "k", sk, k->heads, "v", sv, v->heads);
    same(paged ? "the page size" : "the number of keys", "k", sk, k->rows, "v", sv, v->rows);
    if (!paged) same("the batch", "q", sq, q->outer, "k", sk, k->outer);
    same(paged ? "the number of pages" : "the batch", "k", sk, k->outer, "v", sv, v->outer);
    if (k->heads > 0 && q->heads % k->heads != 0) {
      misfits_.push_back(fmt::format("q {} has {} heads, which is not a multiple of the {} of k {}",
                                     sq, q->heads, k->heads, sk));
    }
    if (out) compare_output(*q, sq, *v, sv, *out, shape_text(*shapes.out));

    DumpSizes sizes;
    sizes.heads_q = q->heads, sizes.heads_kv = k->heads;
    sizes.head_dim_qk = q->dim, sizes.head_dim_vo = v->dim;
    sizes.rows_q = q->rows, sizes.rows_kv = k->rows;
    if (layout_ == Layout::padded_bshd || layout_ == Layout::padded_bhsd) {
      sizes.batch = q->outer, sizes.seq_q = q->rows, sizes.seq_kv = k->rows;
    } else if (paged) {
      sizes.page_count = k->outer, sizes.page_size = k->rows;
      if (shapes.q.size() == 4) sizes.batch = q->outer, sizes.seq_q = q->rows;
    }
    return sizes;
  }

 private:
  void compare_output(const Extents& q, const std::string& sq, const Extents& v,
                      const std::string& sv, const Extents& out, const std::string& so) {
    same("the batch", "q", sq, q.outer, "out", so, out.outer);
    same("the number of rows", "q", sq, q.rows, "out", so, out.rows);
    same("the number of heads", "q", sq, q.heads, "out", so, out.heads);
    same("the head dimension", "v", sv, v.dim, "out", so, out.dim);
  }

  void same(std::string_view what, std::string_view name_a, const std::string& shape_a,
            std::int64_t a, std::string_view name_b, const std::string& shape_b, std::int64_t b) {
    if (a == b) return;
    misfits_.push_back(fmt::format("{} of {} {} is {}, that of {} {} is {}", what, name_a, shape_a,
                                   a, name_b, shape_b, b));
  }

  std::optional<Extents> wrong_rank(std::string_view name, const Shape& shape,
                                    std::string_view allowed) {
    misfits_.push_back(
        fmt::format("{} {} has rank {}, not {}", name, shape_text(shape), shape.size(), allowed));
    return std::nullopt;
  }

  std::optional<Extents> queries(std::string_view name, const Shape& shape) {
    switch (layout_) {
      case Layout::padded_bshd:
      case Layout::padded_bhsd:
        return padded(name, shape);
      case Layout::ragged:
        return ragged(name, shape);
      case Layout::paged_nhd:
      case Layout::paged_hnd:
        break;
    }
    if (shape.size() == 4) return Extents{shape[0], shape[1], shape[2], shape[3]};
    if (shape.size() == 3) return Extents{1, shape[0], shape[1], shape[2]};
    return wrong_rank(name, shape, "3 (rows, heads, dim) or 4 (batch, seq, heads, dim)");
  }

  std::optional<Extents> keys(std::string_view name, const Shape& shape) {
    if (layout_ != Layout::paged_nhd && layout_ != Layout::paged_hnd) return queries(name, shape);
    if (shape.size() != 4)
      return wrong_rank(name, shape,
                        "4 (pages, tokens, heads, dim); split a joint K and V cache into k and v");
    if (layout_ == Layout::paged_hnd) return Extents{shape[0], shape[2], shape[1], shape[3]};
    return Extents{shape[0], shape[1], shape[2], shape[3]};
  }

  std::optional<Extents> padded(std::string_view name, Shape shape) {
    const Shape given = shape;
    if (shape.size() == 2)
      shape.insert(layout_ == Layout::padded_bhsd ? shape.begin() : shape.begin() + 1, 1);
    if (shape.size() == 3) shape.insert(shape.begin(), 1);
    if (shape.size() != 4) return wrong_rank(name, given, "2, 3 or 4");
    if (layout_ == Layout::padded_bhsd) return Extents{shape[0], shape[2], shape[1], shape[3]};
    return Extents{shape[0], shape[1], shape[2], shape[3]};
  }

  std::optional<Extents> ragged(std::string_view name, const Shape& shape) {
    if (shape.size() == 2) return Extents{1, shape[0], 1, shape[1]};
    if (shape.size() == 3) return Extents{1, shape[0], shape[1], shape[2]};
    return wrong_rank(name, shape, "3 (rows, heads, dim)");
  }

  Layout layout_;
  std::vector<std::string>& misfits_;
};

}  // namespace

DumpSizes read_sizes(Layout layout, const DumpShapes& shapes, std::vector<std::string>& misfits) {
  return ShapeReader(layout, misfits).read(shapes);
}

}  // namespace plumbline
