// The error histogram that the declared roundings predict, drawn over the measured one.
#pragma once

#include <array>
#include <cstdint>

#include "harness/outcome/error_picture.h"

namespace plumbline {

using ErrorCurve = std::array<double, ErrorPicture::bins>;  // elements per bin

// Returns the expected histogram if each error is the output's rounding, which is uniform, plus all
// other roundings, whose sum is normal. The spec that judged the output states their shares of
// sigma^2. `rest`: standard deviation of the other roundings over the permitted one.
ErrorCurve expected_errors(const ErrorPicture& picture, double rest = 1);

// Returns the `rest`, from 0 to 1, for which the errors have the root mean square `rms`. Most
// kernels stay below 1, because they round less than their spec permits.
double rest_of(const ErrorPicture& picture, double rms);

// The counts that a bin of a correct kernel may have. A single bin lies outside in one of 4,100
// cases, so 99 of 100 correct outputs lie within the whole band. The errors of a row's `columns`
// elements share roundings, so they count as fewer independent errors.
struct ErrorBand {
  ErrorCurve low{}, high{};
};
ErrorBand band_about(const ErrorCurve& expected, std::int64_t columns);

// Returns how many bins of the picture are outside the band; 0 for an empty picture.
int bins_outside(const ErrorPicture& picture, const ErrorBand& band);

}  // namespace plumbline
