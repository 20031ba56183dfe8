// The sentinel's loop. Never change its computation, because stored times are ratios to it. Always
// compiled with -O2 and without sanitizers (CMakeLists.txt).
#include "harness/provider/child/sentinel.h"

#include <benchmark/benchmark.h>

namespace plumbline {

namespace {
constexpr int order = 112;
using Matrix = float[order][order];

// Integers divided by 8, so that no product is subnormal or overflows.
void fill(Matrix& m, int step) {
  for (int i = 0; i < order; ++i) {
    for (int j = 0; j < order; ++j) m[i][j] = static_cast<float>((i * step + j * 5) % 17 - 8) / 8;
  }
}
}  // namespace

// C = A B in fp32, in the fixed order i, k, j. Excluded from --coverage.
__attribute__((no_profile_instrument_function)) void run_sentinel() {
  static Matrix a, b, c;
  static const bool filled = (fill(a, 3), fill(b, 7), true);
  benchmark::DoNotOptimize(filled);
  for (int i = 0; i < order; ++i) {
    for (int j = 0; j < order; ++j) c[i][j] = 0;
    for (int k = 0; k < order; ++k) {
      for (int j = 0; j < order; ++j) c[i][j] += a[i][k] * b[k][j];
    }
  }
  benchmark::DoNotOptimize(&c);
  benchmark::ClobberMemory();
}

}  // namespace plumbline
