// The errors that the declared roundings lead to, to be drawn over those that were measured.
#pragma once

#include <array>
#include <cstdint>

#include "harness/outcome/error_picture.h"

namespace plumbline {

using ErrorCurve = std::array<double, ErrorPicture::bins>;  // elements a bin

// What a picture's elements would look like if each error were the sum of the output's rounding,
// which is uniform, and of all other roundings, whose sum is normal. Their shares of sigma^2 are
// those of the spec that the output was judged by. `rest`: how large the other roundings are, over
// what the spec permits: 1 = as large.
ErrorCurve expected_errors(const ErrorPicture& picture, double rest = 1);

// The `rest` with which the errors' root mean square is `rms`; from 0 to 1, since a spec permits no
// more. Most kernels stay below what they may do: P's rounding, for one, is permitted wherever it
// may fall between powers of two.
double rest_of(const ErrorPicture& picture, double rms);

// Between which counts a bin of a correct kernel lies. Each bin alone misses it once in 4,100
// cases, so that 99 of 100 correct outputs lie within the whole band. Errors of one row have
// roundings in common: `columns` elements count for fewer.
struct ErrorBand {
  ErrorCurve low{}, high{};
};
ErrorBand band_about(const ErrorCurve& expected, std::int64_t columns);

// How many bins of the picture are outside the band; 0 of an empty one.
int bins_outside(const ErrorPicture& picture, const ErrorBand& band);

}  // namespace plumbline
