// Formulas of a whole row: the largest error of its products, and the shift of its LSE by rounded
// logits.
#include "harness/reference/exact_scales.h"

#include <limits>

#include "harness/reference/cells.h"

namespace plumbline {

// u_P + u sqrt(n) + u_sp + ceil(n/16) u_tile + the errors of 1 / l and of a product. If P is
// truncated, u_P counts twice. If sums are truncated, ceil(n/L) f_out is added; if V's scale
// multiplies them, u32.
double max_product_error(const Model& model, std::int64_t n, bool scaled_outside) {
  const double truncation = model.pv.toward_zero ? step_loss(model.pv, n) : 0;
  const double tiles = std::ceil(static_cast<double>(n) / smallest_tile);
  return model.largest_p * model.u_p + model.pv.u * std::sqrt(static_cast<double>(n)) + truncation +
         model.u_split + tiles * model.u_tile + model.reciprocal_error + model.product_error +
         (scaled_outside ? u32 : 0);
}

double lse_shift(const double* held, const double* p, KeyRange keys, std::optional<double> sink,
                 double lse) {
  double m = sink.value_or(-std::numeric_limits<double>::infinity());
  for (std::int64_t k = keys.begin; k < keys.end; ++k) m = p[k] > 0 ? std::max(m, held[k]) : m;
  double sum = sink ? std::exp(*sink - m) : 0;
  for (std::int64_t k = keys.begin; k < keys.end; ++k) sum += p[k] > 0 ? std::exp(held[k] - m) : 0;
  return m + std::log(sum) - lse;
}

}  // namespace plumbline
