// The providers "cuda" and "emulated" as seen by the libraries that export or extend them.
#pragma once

#include <string_view>

#include "harness/provider/plumbline_provider.h"

namespace plumbline::attention {

// The provider of this library, with these options from now on (options.h). Throws std::bad_alloc.
const plumbline_provider& provider_with(std::string_view options);

}  // namespace plumbline::attention
